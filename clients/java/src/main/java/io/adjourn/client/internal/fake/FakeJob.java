package io.adjourn.client.internal.fake;

import io.adjourn.client.Attributes;
import io.adjourn.client.JobState;
import io.adjourn.client.Lease;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;

/** A job of the fake queue. Times are milliseconds on its clock. */
final class FakeJob {
    final long id;
    final long pushedMs;
    String topic;
    String key;
    /** It is found by its key. */
    boolean isKeyed;
    Attributes attributes;
    byte[] body;
    long priority;
    long ttrMs;
    long dueMs;
    /** Where it stands in the order. */
    long orderMs;
    long firstPushMs;
    Long expiresMs;
    JobState state;
    int buried;
    long attempts;
    long fence;
    long leaseEndsMs;
    long reservedFirstMs;
    long reservedLastMs;
    long finishedMs;
    long forgetMs;
    String reason = "";
    FakeExchange.Waiter holder;

    FakeJob(long id, String topic, long nowMs) {
        this.id = id;
        this.topic = topic;
        this.pushedMs = nowMs;
        this.firstPushMs = nowMs;
    }

    Lease lease() {
        return new Lease(id, fence);
    }

    void takes(Request.PushJob job, long dueAtMs, long ttr, long newPriority) {
        key = job.key();
        isKeyed = !key.isEmpty();
        attributes = Attributes.decode(job.attributes());
        body = job.body();
        ttrMs = ttr;
        priority = newPriority;
        dueMs = dueAtMs;
        orderMs = dueAtMs;
    }

    Response.Delivered delivered(long nowMs) {
        return new Response.Delivered(id, fence, dueMs, (int) priority, (int) attempts, (int) (leaseEndsMs - nowMs), topic, key,
                attributes.encode(), body, 0);
    }

    Response.JobFields shown(long nowMs, boolean withBody) {
        boolean isReserved = state == JobState.RESERVED;
        return new Response.JobFields(id, dueMs, state.ordinal(), buried, (int) priority, (int) attempts, (int) ttrMs,
                isReserved ? (int) (leaseEndsMs - nowMs) : 0, topic, key, attributes.encode(), withBody ? body : new byte[0],
                body.length, pushedMs, reservedFirstMs, reservedLastMs, attempts > 0 ? 1 : 0, reason, finishedMs, 0);
    }
}
