package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Instant;

/**
 * One reason why a job, a topic or a group gives nothing to a consumer now.
 *
 * @param why the reason
 * @param since when it began, on the server's wall clock; {@code null} if that is not known
 * @param until when it ends, on the server's wall clock; {@code null} if that is not known
 * @param jobs with {@link Why#BEHIND}: how many jobs come first; with {@link Why#TOPIC_LEASES} and {@link Why#GROUP_LEASES}: how many leases
 *     there are; else 0
 * @param text one sentence for a person. It may change between versions of the server: decide by {@code why}
 */
public record Reason(Why why, Instant since, Instant until, long jobs, String text) {
    static Reason of(Response.Reason r) {
        return new Reason(Why.of(r.why()), Millis.instantOrNull(r.sinceMs()), Millis.instantOrNull(r.untilMs()), r.jobs(), r.text());
    }
}
