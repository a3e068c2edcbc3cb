package io.adjourn.client;

/** Why a handler is to end before it is done. */
public enum LostReason {
    /** The server says that the lease is over. Another consumer may have the job. */
    LEASE_LOST,
    /** The lease has run out, as it could not be extended in time. Another consumer may get the job. */
    TIME_OVER,
    /** No answer has proved for the length of the server's grace that it keeps the leases. Another consumer may get the job. */
    PRESUMED_LOST,
    /** The handler has run for longer than the worker allows. Its lease is still held, and is no longer extended. */
    RUN_TIME_OVER,
    /** The worker stops, and its deadline has passed. The lease is still held. */
    STOPPING;

    /** Whether the job may be another consumer's by now, so that nothing may be settled. */
    public boolean endsLease() {
        return this == LEASE_LOST || this == TIME_OVER || this == PRESUMED_LOST;
    }
}
