package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;

/**
 * A job as the queue shows it. Times that did not happen, or are not known, are {@code null}.
 *
 * @param id its id, unsigned
 * @param state its state; check it before you treat the job as alive
 * @param buried why it is buried
 * @param topic its topic
 * @param key its key; empty without one
 * @param due when it is or was due
 * @param priority its priority
 * @param attempts how often it was reserved
 * @param ttr how long a consumer may hold it
 * @param ttrLeft what is left of its lease; zero when it is not reserved
 * @param attributes its attributes
 * @param body its body; empty if bodies were not asked for
 * @param bodyBytes the length of its body, even if the body is not shown
 * @param pushed when it was pushed
 * @param reservedFirst when it was first leased
 * @param reservedLast when it was last leased
 * @param edited when it was last edited
 * @param heldBy who got the last lease: the client's address, its token and its name; empty for none. Only a token with the right
 *     {@code admin} for all topics sees it
 * @param reason the last reason of a release or bury
 * @param finished when it was finished
 * @param version its version, unsigned: {@link Client#reschedule(JobRef, Due, long)} and {@link Client#edit(JobRef, Edit, long)} take it. 0 if
 *     it is not known: in a list, and of a finished job that is no longer remembered
 */
public record JobInfo(long id, JobState state, BuriedReason buried, String topic, String key, Instant due, long priority,
        long attempts, Duration ttr, Duration ttrLeft, Attributes attributes, byte[] body, long bodyBytes, Instant pushed,
        Instant reservedFirst, Instant reservedLast, Instant edited, String heldBy, String reason, Instant finished, long version) {
    static JobInfo of(Response.Job job) {
        return of(job, job, job.body().length, job.finishedMs(), job.version());
    }

    static JobInfo of(Response.Listed job) {
        return of(job, job, Integer.toUnsignedLong(job.bodyBytes()), 0, 0);
    }

    private static JobInfo of(Response.Shown job, Response.Past past, long bodyBytes, long finishedMs, long version) {
        return new JobInfo(job.job(), JobState.of(job.state()), BuriedReason.of(job.buried()), job.topic(), job.key(),
                Millis.instant(job.dueMs()), Integer.toUnsignedLong(job.priority()), Integer.toUnsignedLong(job.attempts()),
                Duration.ofMillis(Integer.toUnsignedLong(job.ttrMs())),
                Duration.ofMillis(Integer.toUnsignedLong(job.ttrLeftMs())), Attributes.decode(job.attributes()), job.body(), bodyBytes,
                Millis.instantOrNull(past.pushedMs()), Millis.instantOrNull(past.reservedFirstMs()),
                Millis.instantOrNull(past.reservedLastMs()), Millis.instantOrNull(past.editedMs()), past.heldBy(), past.reason(),
                Millis.instantOrNull(finishedMs), version);
    }

    /** Its body as UTF-8. */
    public String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    /** Its JSON body as a record, map, list, text, number or boolean. */
    public <T> T json(Class<T> type) {
        return Job.decode(attributes, body, BodyCodec.JSON, type);
    }

    /** From its push to its due time: what it was pushed with, unless it was rescheduled or released since. */
    public Duration delay() {
        return pushed == null ? Duration.ZERO : Duration.between(pushed, due);
    }
}
