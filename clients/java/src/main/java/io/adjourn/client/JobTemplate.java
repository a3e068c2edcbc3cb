package io.adjourn.client;

import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Request;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.OptionalLong;

/**
 * What the jobs of a schedule have in common. It cannot be changed; each method that sets a part returns another
 * template.
 *
 * <pre>{@code
 * JobTemplate.json(new Report("daily")).priority(3).attemptsMax(5)
 * }</pre>
 */
public final class JobTemplate {
    private final byte[] body;
    private final long priority;
    private final long ttrMs;
    private final Attributes attributes;

    private JobTemplate(byte[] body, long priority, long ttrMs, Attributes attributes) {
        this.body = body;
        this.priority = priority;
        this.ttrMs = ttrMs;
        this.attributes = attributes;
    }

    /** Jobs with these bytes, as they are. */
    public static JobTemplate of(byte[] body) {
        return new JobTemplate(body.clone(), Limits.PRIORITY_UNSAID, 0, Attributes.NONE);
    }

    /** Jobs with this text in UTF-8. */
    public static JobTemplate text(String body) {
        return of(FrameWriter.utf8(body)).header(NewJob.CONTENT_TYPE, NewJob.TEXT);
    }

    /** Jobs whose body is this value as JSON, as in {@link NewJob#json}. */
    public static JobTemplate json(Object value) {
        return encoded(BodyCodec.JSON, value);
    }

    /** Jobs whose body is this value, encoded by {@code codec}. */
    public static JobTemplate encoded(BodyCodec codec, Object value) {
        return of(codec.encode(value)).header(NewJob.CONTENT_TYPE, codec.contentType());
    }

    /** As {@link NewJob#priority}. */
    public JobTemplate priority(long newPriority) {
        return new JobTemplate(body, NewJob.checkedPriority(newPriority), ttrMs, attributes);
    }

    /** As {@link NewJob#ttr}. */
    public JobTemplate ttr(Duration timeToRun) {
        return new JobTemplate(body, priority, NewJob.checkedTtrMs(timeToRun), attributes);
    }

    /** One header more; one of the same name is replaced. */
    public JobTemplate header(String name, String value) {
        return attributes(attributes.withOnlyHeader(name, value));
    }

    /** After this many failed attempts a job is buried. */
    public JobTemplate attemptsMax(long attempts) {
        return attributes(attributes.withAttemptsMax(attempts));
    }

    /** How long a job waits after a failed attempt. */
    public JobTemplate backoff(Backoff backoff) {
        return attributes(attributes.withBackoff(backoff));
    }

    /** A job is dropped then, unless it is reserved; {@link Due#after} counts from when it is pushed. */
    public JobTemplate expires(Due expires) {
        return attributes(attributes.withExpires(expires));
    }

    /** As {@link NewJob#group}. */
    public JobTemplate group(String name) {
        return attributes(attributes.withGroup(name));
    }

    /** How long the key of a job stays taken after it was finished. */
    public JobTemplate remember(Duration retention) {
        return attributes(attributes.withDedupeRetention(retention));
    }

    /** All attributes at once. */
    public JobTemplate attributes(Attributes newAttributes) {
        return new JobTemplate(body, priority, ttrMs, newAttributes);
    }

    // ---- what it says

    /** A copy of the body. */
    public byte[] body() {
        return body.clone();
    }

    /** The body as UTF-8. */
    public String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    /** The JSON body as a record, map, list, text, number or boolean. */
    public <T> T json(Class<T> type) {
        return Job.decode(attributes, body, BodyCodec.JSON, type);
    }

    /** The priority; empty for the topic's default, or 1,024. */
    public OptionalLong priority() {
        return priority == Limits.PRIORITY_UNSAID ? OptionalLong.empty() : OptionalLong.of(priority);
    }

    /** How long a consumer may hold a job; zero for the topic's default, or a minute. */
    public Duration ttr() {
        return Duration.ofMillis(ttrMs);
    }

    /** The attributes. */
    public Attributes attributes() {
        return attributes;
    }

    Request.JobTemplate toWire() {
        return new Request.JobTemplate((int) priority, (int) ttrMs, attributes.encode(), body);
    }

    static JobTemplate of(Request.JobTemplate w) {
        return new JobTemplate(w.body(), Integer.toUnsignedLong(w.priority()), Integer.toUnsignedLong(w.ttrMs()),
                Attributes.decode(w.attributes()));
    }
}
