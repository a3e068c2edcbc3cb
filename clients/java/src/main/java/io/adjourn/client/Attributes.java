package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * What a job carries besides its body. Attributes that this version does not know are kept as they are.
 */
public final class Attributes {
    /** No attributes. */
    public static final Attributes NONE = new Attributes(List.of());

    private static final int HEADER = 0x0001;
    private static final int EXPIRES = 0x8002;
    private static final int ATTEMPTS_MAX = 0x8003;
    private static final int BACKOFF = 0x8004;
    private static final int FAIRNESS_KEY = 0x0005;
    private static final int DEDUPE_RETENTION = 0x0006;
    private static final int CREATED_AT = 0x0007;
    private static final int SCHEDULE_REFERENCE = 0x0008;
    private static final int POSTPONE_MAX = 0x0009;
    private static final int CRITICAL = 0x8000;

    private final List<Element> elements;

    private Attributes(List<Element> elements) {
        this.elements = elements;
    }

    /** One element as it is on the wire. */
    record Element(int tag, byte[] value) {
        int order() {
            return tag & ~CRITICAL;
        }
    }

    /** Decodes the tagged list of the protocol. */
    public static Attributes decode(byte[] bytes) {
        try {
            if (bytes.length == 0) {
                return NONE;
            }
            FrameReader in = new FrameReader(bytes);
            List<Element> elements = new ArrayList<>();
            while (in.remaining() > 0) {
                elements.add(new Element(in.u16(), in.bytes16()));
            }
            return new Attributes(List.copyOf(elements));
        } catch (MalformedFrameException e) {
            throw new ProtocolException("attributes cannot be decoded: " + e.getMessage(), e);
        }
    }

    /** Encodes the tagged list of the protocol. */
    public byte[] encode() {
        FrameWriter out = new FrameWriter(64);
        for (Element element : elements) {
            out.u16(element.tag).bytes16(element.value);
        }
        return out.toBytes();
    }

    /** All headers, in their order. */
    public List<Header> headers() {
        List<Header> headers = new ArrayList<>();
        for (Element element : elements) {
            if (element.tag == HEADER) {
                read(element, in -> headers.add(new Header(in.text8(), in.text(in.remaining()))));
            }
        }
        return List.copyOf(headers);
    }

    /** The first header of this name, without regard to case. */
    public Optional<String> header(String name) {
        return headers().stream().filter(header -> header.name().equalsIgnoreCase(name)).map(Header::value).findFirst();
    }

    /** When the job expires. */
    public Optional<Due> expires() {
        return element(EXPIRES, in -> {
            boolean isAt = in.u8() == 1;
            return new Due(in.u64(), isAt);
        });
    }

    /** After this many failed attempts the job is buried. */
    public Optional<Long> attemptsMax() {
        return element(ATTEMPTS_MAX, in -> Integer.toUnsignedLong(in.u32()));
    }

    /** How long the job waits after a failed attempt. */
    public Optional<Backoff> backoff() {
        return element(BACKOFF, Attributes::readBackoff);
    }

    /** The fairness key, reserved for a later version of the server. */
    public Optional<String> fairnessKey() {
        return element(FAIRNESS_KEY, in -> in.text(in.remaining()));
    }

    /** How long the job is remembered after FINISH. */
    public Optional<Duration> dedupeRetention() {
        return element(DEDUPE_RETENTION, in -> Millis.duration(in.u64()));
    }

    /** When the producer created the job. */
    public Optional<Instant> createdAt() {
        return element(CREATED_AT, in -> Millis.instant(in.u64()));
    }

    /** The schedule that the job comes from. */
    public Optional<byte[]> scheduleReference() {
        return element(SCHEDULE_REFERENCE, in -> in.raw(in.remaining()));
    }

    /** A job that is pushed with {@link IfExists#POSTPONE} is due at the latest this long after its first push. */
    public Optional<Duration> postponeMax() {
        return element(POSTPONE_MAX, in -> Millis.duration(in.u64()));
    }

    /** The same with another header. */
    public Attributes withHeader(String name, String value) {
        return add(HEADER, new FrameWriter(64).text8(name).raw(FrameWriter.utf8(value)).toBytes());
    }

    /** The same with one header of this name. */
    public Attributes withOnlyHeader(String name, String value) {
        List<Element> others = new ArrayList<>(elements);
        others.removeIf(element -> element.tag == HEADER
                && new Attributes(List.of(element)).header(name).isPresent());
        return new Attributes(List.copyOf(others)).withHeader(name, value);
    }

    /** The same with an expiry. */
    public Attributes withExpires(Due expires) {
        return set(EXPIRES, new FrameWriter(16).u8(expires.isAt() ? 1 : 0).u64(expires.ms()).toBytes());
    }

    /** The same with a limit of attempts. */
    public Attributes withAttemptsMax(long attempts) {
        if (attempts < 1) {
            throw new UsageException("a job has at least one attempt");
        }
        return set(ATTEMPTS_MAX, new FrameWriter(16).u32(Millis.u32(attempts, "attempts")).toBytes());
    }

    /** The same with a backoff. */
    public Attributes withBackoff(Backoff backoff) {
        return set(BACKOFF, encodeBackoff(backoff));
    }

    /** The same with a fairness key. */
    public Attributes withFairnessKey(String key) {
        return set(FAIRNESS_KEY, FrameWriter.utf8(key));
    }

    /** The same with a retention after FINISH. */
    public Attributes withDedupeRetention(Duration retention) {
        return set(DEDUPE_RETENTION, u64(Millis.of(retention)));
    }

    /** The same with a time of creation. */
    public Attributes withCreatedAt(Instant created) {
        return set(CREATED_AT, u64(Millis.of(created)));
    }

    /** The same with a schedule reference. */
    public Attributes withScheduleReference(byte[] reference) {
        return set(SCHEDULE_REFERENCE, reference.clone());
    }

    /** The same with a cap for postponing. */
    public Attributes withPostponeMax(Duration max) {
        return set(POSTPONE_MAX, u64(Millis.of(max)));
    }

    /** The same with an attribute of a newer server. */
    public Attributes withUnknown(int tag, byte[] value) {
        return add(tag, value.clone());
    }

    /** The tags and values that this version does not know. */
    public List<Unknown> unknown() {
        return elements.stream().filter(e -> e.order() > POSTPONE_MAX || e.order() == 0)
                .map(e -> new Unknown(e.tag, e.value.clone())).toList();
    }

    /**
     * An attribute of a newer server.
     *
     * @param tag its tag
     * @param value its value
     */
    public record Unknown(int tag, byte[] value) {
    }

    static byte[] encodeBackoff(Backoff backoff) {
        FrameWriter out = new FrameWriter(16).u8(backoff.kind()).u8(backoff.jitterPercent());
        backoff.waitsMs().forEach(ms -> out.u32((int) (long) ms));
        return out.toBytes();
    }

    static Backoff readBackoff(FrameReader in) throws MalformedFrameException {
        int kind = in.u8();
        int jitter = in.u8();
        List<Long> waits = new ArrayList<>();
        while (in.remaining() > 0) {
            waits.add(Integer.toUnsignedLong(in.u32()));
        }
        if (jitter > 100 || waits.isEmpty() || waits.size() > 32) {
            throw new MalformedFrameException("a backoff is out of range");
        }
        return new Backoff(kind, jitter, waits);
    }

    private interface Field<T> {
        T read(FrameReader in) throws MalformedFrameException;
    }

    private <T> Optional<T> element(int tag, Field<T> field) {
        return elements.stream().filter(element -> element.tag == tag).findFirst().map(element -> read(element, field));
    }

    private static <T> T read(Element element, Field<T> field) {
        try {
            return field.read(new FrameReader(element.value));
        } catch (MalformedFrameException e) {
            throw new ProtocolException("the attribute " + element.tag + " cannot be decoded: " + e.getMessage(), e);
        }
    }

    private Attributes set(int tag, byte[] value) {
        List<Element> others = new ArrayList<>(elements);
        others.removeIf(element -> element.tag == tag);
        return new Attributes(List.copyOf(others)).add(tag, value);
    }

    private Attributes add(int tag, byte[] value) {
        List<Element> all = new ArrayList<>(elements);
        all.add(new Element(tag, value));
        all.sort(Comparator.comparingInt(Element::order));
        return new Attributes(List.copyOf(all));
    }

    private static byte[] u64(long value) {
        return new FrameWriter(16).u64(value).toBytes();
    }
}
