package io.adjourn.client.internal.session;

import io.adjourn.client.Lease;
import io.adjourn.client.LostReason;
import io.adjourn.client.internal.wire.Response;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How long this client may treat its leases as its own. It counts from moments that are never later than the server's: the
 * sending of the request whose answer shows the server's clock, or proves that the session was connected to the leader. It does
 * no locking of its own.
 */
final class LeaseBook {
    private static final long MS = 1_000_000L;
    private static final int PRUNE_MIN = 1_024;

    private final Ticker ticker;
    private final boolean outlive;
    private Hold.Epoch epoch = new Hold.Epoch();
    private long grace;
    private long proven;
    private boolean presumedLost;
    private long presumedLostAt;
    private long clockSaid;
    private long clockMs;
    /** What was delivered and not settled yet. */
    private final Map<Lease, Hold> held = new HashMap<>();
    private int pruneAt = PRUNE_MIN;

    LeaseBook(Ticker ticker, boolean outlive) {
        this.ticker = ticker;
        this.outlive = outlive;
        this.proven = ticker.now();
    }

    /** A connection is there whose HELLO was sent at {@code said}. */
    void up(Response.Welcome welcome, long said, boolean kept) {
        if (!kept) {
            lose(LostReason.LEASE_LOST);
            held.clear();
        }
        if (!kept || presumedLost) {
            presumedLost = false;
            proven = said;
        }
        grace = lessDrift(Integer.toUnsignedLong(welcome.sessionGraceMs()) * MS);
        clockSaid = said;
        clockMs = welcome.clockMs();
    }

    /** The request that was sent at {@code sent} was answered. */
    void answered(long sent, Response response) {
        if (response instanceof Response.Pong pong && pong.clockMs() != 0 && sent - clockSaid > 0) {
            clockSaid = sent;
            clockMs = pong.clockMs();
        }
        if (proves(response) && (!presumedLost || sent - presumedLostAt > 0)) {
            presumedLost = false;
            proven = sent - proven > 0 ? sent : proven;
        }
    }

    /** Whether it is time to presume the leases lost; they are then. */
    boolean presume(long now) {
        if (outlive || presumedLost || grace == 0 || now - proven < grace) {
            return false;
        }
        presumedLost = true;
        presumedLostAt = now;
        lose(LostReason.PRESUMED_LOST);
        return true;
    }

    /** When the leases were shown to be kept last; the largest number if nothing has to show it. */
    long proven() {
        return outlive ? Long.MAX_VALUE : proven;
    }

    /** Adds those jobs to {@code good} whose leases this client may use, the others to {@code late}. */
    void take(List<Response.Delivered> jobs, List<Grant> good, List<Lease> late) {
        prune();
        for (Response.Delivered job : jobs) {
            Lease lease = new Lease(job.job(), job.fence());
            if (presumedLost) {
                late.add(lease);
                continue;
            }
            long now = ticker.now();
            long left = Integer.toUnsignedLong(job.ttrLeftMs()) * MS;
            if (job.deadlineMs() != 0 && clockMs != 0) {
                left = Math.min(left, clockSaid + (job.deadlineMs() - clockMs) * MS - now);
            }
            long ttr = lessDrift(left);
            if (ttr > 0) {
                Hold hold = new Hold(lease, ticker::now, epoch, ttr, now + ttr);
                held.put(lease, hold);
                good.add(new Grant(job, hold));
            }
        }
    }

    /** A lease was settled, or is over. */
    void settled(Lease lease) {
        held.remove(lease);
    }

    /** The leases that the server may hold although they are presumed lost, but for those whose handler gives them back itself. */
    List<Lease> abandoned() {
        List<Lease> abandoned = held.values().stream().filter(hold -> hold.left() > 0 && !hold.isKept()).map(Hold::lease).toList();
        held.clear();
        return abandoned;
    }

    private void prune() {
        if (held.size() >= pruneAt) {
            held.values().removeIf(hold -> hold.left() <= 0);
            pruneAt = Math.max(PRUNE_MIN, held.size() * 2);
        }
    }

    private void lose(LostReason reason) {
        epoch.lose(reason);
        epoch = new Hold.Epoch();
    }

    static long lessDrift(long nanos) {
        return nanos - nanos / 1000;
    }

    private static boolean proves(Response response) {
        return response instanceof Response.Proof && !(response instanceof Response.Reserved reserved && reserved.jobs().isEmpty())
                && !(response instanceof Response.Deliver deliver && deliver.jobs().isEmpty());
    }
}
