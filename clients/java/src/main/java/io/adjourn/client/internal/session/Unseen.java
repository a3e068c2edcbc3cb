package io.adjourn.client.internal.session;

import io.adjourn.client.Lease;
import io.adjourn.client.internal.wire.Response;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Leases that the server holds for this client although their jobs never arrived, because the connection broke before. Fences
 * only grow, and a connection delivers its jobs in the order of their grants: so of the connections before, everything arrived
 * up to the highest fence that was received, and what the new one grants arrives before the LEASED that shows it.
 */
final class Unseen {
    private long through;
    private final Set<Long> since = new HashSet<>();
    private boolean isOpen;

    void came(List<Response.Delivered> jobs) {
        for (Response.Delivered job : jobs) {
            if (isOpen) {
                since.add(job.fence());
            } else if (Long.compareUnsigned(job.fence(), through) > 0) {
                through = job.fence();
            }
        }
    }

    /** A session was resumed with its leases: what it holds is asked for. */
    void open() {
        isOpen = true;
    }

    /** All is known, or cannot be known. */
    void close() {
        for (long fence : since) {
            through = Long.compareUnsigned(fence, through) > 0 ? fence : through;
        }
        since.clear();
        isOpen = false;
    }

    /** Those that never came. */
    List<Lease> among(List<Response.Delivered> jobs) {
        return jobs.stream().filter(job -> Long.compareUnsigned(job.fence(), through) > 0 && !since.contains(job.fence()))
                .map(job -> new Lease(job.job(), job.fence())).toList();
    }
}
