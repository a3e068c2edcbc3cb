package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.session.Grant;
import io.adjourn.client.internal.session.Hold;
import io.adjourn.client.internal.wire.Response;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A job that this client holds under a lease. Delivery is at least once: make the work idempotent, or deduplicate by {@link #id};
 * pass {@link #fence} to systems that can refuse stale writes.
 */
public final class Job {
    private final Client client;
    private final Response.Delivered job;
    private final Hold hold;
    private final Attributes attributes;
    private final AtomicBoolean settled = new AtomicBoolean();

    Job(Client client, Grant grant) {
        this.client = client;
        this.job = grant.job();
        this.hold = grant.hold();
        this.attributes = Attributes.decode(job.attributes());
    }

    /** Its id, unsigned. */
    public long id() {
        return job.job();
    }

    /** Larger for each lease of the job, unsigned. */
    public long fence() {
        return job.fence();
    }

    /** Both together. */
    public Lease lease() {
        return hold.lease();
    }

    /** Its topic. */
    public String topic() {
        return job.topic();
    }

    /** Its key; empty without one. */
    public String key() {
        return job.key();
    }

    /** When it was due, on the server's wall clock. */
    public Instant due() {
        return Millis.instant(job.dueMs());
    }

    /** Its priority. */
    public long priority() {
        return Integer.toUnsignedLong(job.priority());
    }

    /** How often it was reserved, this time included. */
    public long attempts() {
        return Integer.toUnsignedLong(job.attempts());
    }

    /** What it carries besides its body. */
    public Attributes attributes() {
        return attributes;
    }

    /** The first header of this name. */
    public Optional<String> header(String name) {
        return attributes.header(name);
    }

    /** A copy of its body. */
    public byte[] body() {
        return job.body().clone();
    }

    /** Its body as UTF-8. */
    public String text() {
        return new String(job.body(), StandardCharsets.UTF_8);
    }

    /** Its JSON body as a record, map, list, text, number or boolean. */
    public <T> T json(Class<T> type) {
        return decode(BodyCodec.JSON, type);
    }

    /** Its body, decoded by {@code codec}. Throws {@link UsageException} if the header {@code content-type} says something else. */
    public <T> T decode(BodyCodec codec, Class<T> type) {
        return decode(attributes, body(), codec, type);
    }

    static <T> T decode(Attributes attributes, byte[] body, BodyCodec codec, Class<T> type) {
        String said = attributes.header(NewJob.CONTENT_TYPE).orElse(codec.contentType());
        if (!said.split(";")[0].strip().equalsIgnoreCase(codec.contentType())) {
            throw new UsageException("the body is " + said + ", not " + codec.contentType());
        }
        return codec.decode(body, type);
    }

    /** Why the work is to end; empty while it may go on. Looks at the clock: ask it before what must not be done twice. */
    public Optional<LostReason> lost() {
        return Optional.ofNullable(hold.lost());
    }

    /** What is left of the lease, as far as this client knows. */
    public Duration ttrLeft() {
        return Duration.ofNanos(Math.max(0, hold.left()));
    }

    /** The job is done. */
    public void finish() {
        check();
        settled.set(true);
        orThrow(client.finish(java.util.List.of(lease())).get(0));
    }

    /** The attempt failed; the next one is as the job's backoff says. */
    public void release(String reason) {
        settle(Release.BACKOFF, reason);
    }

    /** The attempt failed; the next one is after this time. */
    public void release(Duration delay, String reason) {
        settle(Release.after(delay), reason);
    }

    /** Gives the job back without counting an attempt. */
    public void notStarted() {
        settle(Release.NOT_STARTED, "");
    }

    /** Gives the job back without counting an attempt; it is not ready before this time, at most ten years, has passed. */
    public void park(Duration delay) {
        settle(Release.parked(delay), "");
    }

    /** Sets the job aside until it is kicked or deleted. */
    public void bury(String reason) {
        check();
        settled.set(true);
        orThrow(client.bury(java.util.List.of(lease()), reason).get(0));
    }

    /** Starts the lease again, for the job's own time to run. */
    public void touch() {
        check();
        long sent = hold.now();
        touched(client.touch(java.util.List.of(lease())).get(0), sent, hold.ttr());
    }

    /** Starts the lease again, for this time. */
    public void touch(Duration ttr) {
        check();
        long sent = hold.now();
        touched(client.touch(java.util.List.of(lease()), ttr).get(0), sent, ttr.toNanos() - ttr.toNanos() / 1000);
    }

    @Override
    public String toString() {
        return "job " + Long.toUnsignedString(id()) + " of " + topic() + ", attempt " + attempts();
    }

    Hold hold() {
        return hold;
    }

    /** Whether its holder has settled it, so that nobody else has to. */
    boolean isSettled() {
        return settled.get();
    }

    private void settle(Release how, String reason) {
        check();
        settled.set(true);
        orThrow(client.release(java.util.List.of(lease()), how, reason).get(0));
    }

    private void touched(SettleResult result, long sent, long ttr) {
        if (result.ok()) {
            hold.touched(sent, ttr);
        } else if (result.error() instanceof ServerException.StaleLease) {
            hold.lose(LostReason.LEASE_LOST);
        }
        orThrow(result);
    }

    private void check() {
        LostReason lost = hold.lost();
        if (lost != null && lost.endsLease()) {
            throw new LeaseLostException(lease(), lost);
        }
    }

    private static void orThrow(SettleResult result) {
        if (!result.ok()) {
            throw result.error();
        }
    }
}
