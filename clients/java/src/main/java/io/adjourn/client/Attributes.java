package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.Attribute;
import io.adjourn.client.internal.wire.Elements;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * What a job carries besides its body. Attributes that this version does not know are kept as they are.
 */
public final class Attributes {
    /** No attributes. */
    public static final Attributes NONE = new Attributes(Elements.NONE);

    private final Elements elements;

    private Attributes(Elements elements) {
        this.elements = elements;
    }

    /** Decodes the tagged list of the protocol. */
    public static Attributes decode(byte[] bytes) {
        try {
            return bytes.length == 0 ? NONE : new Attributes(Elements.decode(bytes));
        } catch (MalformedFrameException e) {
            throw new ProtocolException("attributes cannot be decoded: " + e.getMessage(), e);
        }
    }

    /** Encodes the tagged list of the protocol. */
    public byte[] encode() {
        return elements.encode();
    }

    /** All headers, in their order. */
    public List<Header> headers() {
        return Attribute.headers(elements);
    }

    /** The first header of this name, without regard to case. */
    public Optional<String> header(String name) {
        return headers().stream().filter(header -> header.name().equalsIgnoreCase(name)).map(Header::value).findFirst();
    }

    /** When the job expires. */
    public Optional<Due> expires() {
        return Attribute.expires(elements);
    }

    /** After this many failed attempts the job is buried. */
    public Optional<Long> attemptsMax() {
        return Attribute.attemptsMax(elements);
    }

    /** How long the job waits after a failed attempt. */
    public Optional<Backoff> backoff() {
        return Attribute.backoff(elements);
    }

    /** The group in its topic that the job belongs to. */
    public Optional<String> group() {
        return Attribute.group(elements);
    }

    /** How long the job is remembered after FINISH. */
    public Optional<Duration> dedupeRetention() {
        return Attribute.dedupeRetentionMs(elements).map(Millis::duration);
    }

    /** When the producer created the job. */
    public Optional<Instant> createdAt() {
        return Attribute.createdAtMs(elements).map(Millis::instant);
    }

    /** The schedule that the job comes from. */
    public Optional<byte[]> scheduleReference() {
        return Attribute.scheduleReference(elements);
    }

    /** A job that is pushed with {@link IfExists#POSTPONE} is due at the latest this long after its first push. */
    public Optional<Duration> postponeMax() {
        return Attribute.postponeMaxMs(elements).map(Millis::duration);
    }

    /** Why a push with these attributes buries its job at once. */
    public Optional<String> buried() {
        return Attribute.buried(elements);
    }

    /** The same with another header. */
    public Attributes withHeader(String name, String value) {
        return new Attributes(elements.and(Attribute.headers(new Header(name, value))));
    }

    /** The same with one header of this name. */
    public Attributes withOnlyHeader(String name, String value) {
        Elements others = elements.without(Attribute.HEADERS);
        for (Header header : headers()) {
            others = header.name().equalsIgnoreCase(name) ? others : others.and(Attribute.headers(header));
        }
        return new Attributes(others.and(Attribute.headers(new Header(name, value))));
    }

    /** The same with an expiry. */
    public Attributes withExpires(Due expires) {
        return with(Attribute.expires(expires));
    }

    /** The same with a limit of attempts. */
    public Attributes withAttemptsMax(long attempts) {
        if (attempts < 1) {
            throw new UsageException("a job has at least one attempt");
        }
        return with(Attribute.attemptsMax(attempts));
    }

    /** The same with a backoff. */
    public Attributes withBackoff(Backoff backoff) {
        return with(Attribute.backoff(backoff));
    }

    /** The same with a group, as for {@link NewJob#group}. */
    public Attributes withGroup(String group) {
        return with(Attribute.group(Names.group(group)));
    }

    /** The same with a retention after FINISH. */
    public Attributes withDedupeRetention(Duration retention) {
        return with(Attribute.dedupeRetentionMs(Millis.of(retention)));
    }

    /** The same with a time of creation. */
    public Attributes withCreatedAt(Instant created) {
        return with(Attribute.createdAtMs(Millis.of(created)));
    }

    /** The same with a schedule reference. */
    public Attributes withScheduleReference(byte[] reference) {
        return with(Attribute.scheduleReference(reference.clone()));
    }

    /** The same with a cap for postponing. */
    public Attributes withPostponeMax(Duration max) {
        return with(Attribute.postponeMaxMs(Millis.of(max)));
    }

    /** The same, and the push buries its job at once, for this reason, which may be empty. */
    public Attributes withBuried(String reason) {
        return with(Attribute.buried(reason));
    }

    /** The same with an attribute of a newer server. */
    public Attributes withUnknown(int tag, byte[] value) {
        return new Attributes(elements.and(new Elements.Element(tag, value.clone())));
    }

    /** The same without attributes of this tag. */
    Attributes without(int tag) {
        return new Attributes(elements.without(tag));
    }

    /** The tags and values that this version does not know. */
    public List<Unknown> unknown() {
        return elements.all().stream().filter(one -> !Attribute.isKnown(one.tag()))
                .map(one -> new Unknown(one.tag(), one.value().clone())).toList();
    }

    /**
     * An attribute of a newer server.
     *
     * @param tag its tag
     * @param value its value
     */
    public record Unknown(int tag, byte[] value) {
    }

    private Attributes with(Elements.Element element) {
        return new Attributes(elements.with(element));
    }
}
