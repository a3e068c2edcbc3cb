package io.adjourn.client;

/**
 * What became of one lease in a finish, release, touch or bury.
 *
 * @param lease the lease
 * @param error why nothing was changed, else {@code null}
 */
public record SettleResult(Lease lease, AdjournException error) {
    /** Whether it was done. */
    public boolean ok() {
        return error == null;
    }
}
