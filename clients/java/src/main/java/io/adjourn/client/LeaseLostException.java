package io.adjourn.client;

/** This client holds the lease for lost, and has sent nothing. */
public final class LeaseLostException extends AdjournException {
    private static final long serialVersionUID = 1;

    private final LostReason reason;

    public LeaseLostException(Lease lease, LostReason reason) {
        super("STALE_LEASE", false, Applied.NO, "the lease " + lease + " is lost: " + reason, null);
        this.reason = reason;
    }

    /** Why. */
    public LostReason reason() {
        return reason;
    }
}
