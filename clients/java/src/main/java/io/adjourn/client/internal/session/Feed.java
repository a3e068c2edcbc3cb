package io.adjourn.client.internal.session;

import io.adjourn.client.AdjournException;
import java.util.List;

/** Takes what a subscription delivers. Its methods return quickly and never wait. */
public interface Feed {
    void delivered(List<Grant> grants);

    /** Whether the server has the subscription now. */
    void active(boolean isActive);

    /** Leases were lost: those whose {@link Hold#lost} says so. */
    void leasesLost();

    /** The subscription is over. {@code cause} is {@code null} if it was left. */
    void ended(AdjournException cause);
}
