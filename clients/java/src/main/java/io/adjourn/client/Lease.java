package io.adjourn.client;

/**
 * The right to one job until its deadline. Both numbers are unsigned 64-bit; print them with {@link Long#toUnsignedString}.
 *
 * @param job the job's id
 * @param fence larger for each new lease of the job: pass it to systems that can refuse stale writes
 */
public record Lease(long job, long fence) {
    @Override
    public String toString() {
        return Long.toUnsignedString(job) + "-" + Long.toUnsignedString(fence);
    }
}
