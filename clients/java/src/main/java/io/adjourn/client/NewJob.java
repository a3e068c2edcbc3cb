package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Request;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;

/**
 * A job to push. It cannot be changed; each method returns another job.
 *
 * <pre>{@code
 * NewJob.json(new CloseOrder(17)).delay(Duration.ofMinutes(30)).key("order-17").attemptsMax(5)
 * }</pre>
 */
public final class NewJob {
    /** The header that says what a body is. */
    public static final String CONTENT_TYPE = "content-type";
    /** The content type of a text. */
    static final String TEXT = "text/plain; charset=utf-8";

    private final byte[] body;
    private final Due due;
    private final long priority;
    private final long ttrMs;
    private final IfExists ifExists;
    private final String key;
    private final Attributes attributes;

    private NewJob(byte[] body, Due due, long priority, long ttrMs, IfExists ifExists, String key, Attributes attributes) {
        this.body = body;
        this.due = due;
        this.priority = priority;
        this.ttrMs = ttrMs;
        this.ifExists = ifExists;
        this.key = key;
        this.attributes = attributes;
    }

    /** A job with these bytes, as they are. */
    public static NewJob of(byte[] body) {
        return new NewJob(body.clone(), Due.NOW, Limits.PRIORITY_UNSAID, 0, IfExists.REJECT, "", Attributes.NONE);
    }

    /** A job with this text in UTF-8. */
    public static NewJob text(String body) {
        return of(FrameWriter.utf8(body)).header(CONTENT_TYPE, TEXT);
    }

    /** A job whose body is this value as JSON: a record, map, list, text, number, boolean or {@code null}. */
    public static NewJob json(Object value) {
        return encoded(BodyCodec.JSON, value);
    }

    /** A job whose body is this value, encoded by {@code codec}. */
    public static NewJob encoded(BodyCodec codec, Object value) {
        return of(codec.encode(value)).header(CONTENT_TYPE, codec.contentType());
    }

    /** Due this long after the queue accepts it. */
    public NewJob delay(Duration delay) {
        return due(Due.after(delay));
    }

    /** Due at this time. */
    public NewJob at(Instant time) {
        return due(Due.at(time));
    }

    /** Due at this time. */
    public NewJob at(OffsetDateTime time) {
        return due(Due.at(time));
    }

    /** Due at this time. */
    public NewJob at(ZonedDateTime time) {
        return due(Due.at(time));
    }

    /** Due then. */
    public NewJob due(Due newDue) {
        return new NewJob(body, newDue, priority, ttrMs, ifExists, key, attributes);
    }

    /** Lower numbers are reserved first; 0 to 4,294,967,294. Without it the topic's default counts, or 1,024. */
    public NewJob priority(long newPriority) {
        return new NewJob(body, due, checkedPriority(newPriority), ttrMs, ifExists, key, attributes);
    }

    /** How long a consumer may hold it, 100 ms to seven days. Without it the topic's default counts, or a minute. */
    public NewJob ttr(Duration timeToRun) {
        return new NewJob(body, due, priority, checkedTtrMs(timeToRun), ifExists, key, attributes);
    }

    /** Your own id of the job, unique in its topic while the job lives. */
    public NewJob key(String newKey) {
        return new NewJob(body, due, priority, ttrMs, ifExists, Names.key(newKey), attributes);
    }

    /**
     * The group in its topic that it belongs to, such as a tenant: 1 to 255 bytes of UTF-8 without control characters. Groups take turns if
     * the topic's policy says so.
     */
    public NewJob group(String name) {
        return attributes(attributes.withGroup(name));
    }

    /** What happens if there is a job with this key. */
    public NewJob ifExists(IfExists mode) {
        return new NewJob(body, due, priority, ttrMs, mode, key, attributes);
    }

    /** One header more; one of the same name is replaced. */
    public NewJob header(String name, String value) {
        return attributes(attributes.withOnlyHeader(name, value));
    }

    /** After this many failed attempts the job is buried. */
    public NewJob attemptsMax(long attempts) {
        return attributes(attributes.withAttemptsMax(attempts));
    }

    /** How long it waits after a failed attempt. */
    public NewJob backoff(Backoff backoff) {
        return attributes(attributes.withBackoff(backoff));
    }

    /** It is dropped at this time, unless it is reserved. */
    public NewJob expires(Due expires) {
        return attributes(attributes.withExpires(expires));
    }

    /** How long its key stays taken after it was finished, so that a repeated push adds no second job. */
    public NewJob remember(Duration retention) {
        return attributes(attributes.withDedupeRetention(retention));
    }

    /** With {@link IfExists#POSTPONE}: it is due at the latest this long after its first push. */
    public NewJob postponeMax(Duration max) {
        return attributes(attributes.withPostponeMax(max));
    }

    /**
     * It is buried from the start, for this reason, which may be empty: for a job that comes from elsewhere and was set aside
     * there. The job itself does not have this attribute.
     */
    public NewJob buried(String reason) {
        return attributes(attributes.withBuried(reason));
    }

    /** All attributes at once. */
    public NewJob attributes(Attributes newAttributes) {
        return new NewJob(body, due, priority, ttrMs, ifExists, key, newAttributes);
    }

    /** Its attributes. */
    public Attributes attributes() {
        return attributes;
    }

    /** A copy of its body. */
    public byte[] body() {
        return body.clone();
    }

    static long checkedPriority(long priority) {
        if (priority < 0 || priority > Limits.PRIORITY_UNSAID) {
            throw new UsageException("a priority is 0 to 4,294,967,294: " + priority);
        }
        return priority;
    }

    static long checkedTtrMs(Duration timeToRun) {
        long ms = Millis.of(timeToRun);
        if (ms != 0 && (ms < Limits.TTR_MS_MIN || ms > Limits.TTR_MS_MAX)) {
            throw new UsageException("a time to run is 100 ms to seven days: " + timeToRun);
        }
        return ms;
    }

    Request.NewJob toWire() {
        return new Request.NewJob(due.ms(), (int) priority, (int) ttrMs, due.kind(), ifExists.number(), key, attributes.encode(), body);
    }
}
