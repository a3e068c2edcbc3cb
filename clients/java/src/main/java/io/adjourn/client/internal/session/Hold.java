package io.adjourn.client.internal.session;

import io.adjourn.client.Lease;
import io.adjourn.client.LostReason;
import java.util.function.LongSupplier;

/** What this client knows of one lease that it holds: when it ends, and whether it is lost. */
public final class Hold {
    /** All leases that were granted between two losses of the session's leases. */
    static final class Epoch {
        private volatile LostReason lost;

        void lose(LostReason reason) {
            lost = reason;
        }
    }

    private final Lease lease;
    private final LongSupplier clock;
    private final Epoch epoch;
    private final long ttr;
    private volatile long deadline;
    private volatile LostReason lost;
    private volatile boolean isKept;

    Hold(Lease lease, LongSupplier clock, Epoch epoch, long ttr, long deadline) {
        this.lease = lease;
        this.clock = clock;
        this.epoch = epoch;
        this.ttr = ttr;
        this.deadline = deadline;
    }

    public Lease lease() {
        return lease;
    }

    /** The length of the lease in nanoseconds, shortened for drift. */
    public long ttr() {
        return ttr;
    }

    /** When it ends, on this client's clock. */
    public long deadline() {
        return deadline;
    }

    /** What is left of it, in nanoseconds. */
    public long left() {
        return deadline - clock.getAsLong();
    }

    public long now() {
        return clock.getAsLong();
    }

    /** A TOUCH that was sent at {@code sent} was answered with 0. */
    public void touched(long sent, long newTtr) {
        deadline = sent + newTtr;
    }

    /** A handler works under it, and gives it back itself when it is lost. */
    public void keep() {
        isKept = true;
    }

    boolean isKept() {
        return isKept;
    }

    /** What ends the lease counts more than what only ends the handler. */
    public void lose(LostReason reason) {
        if (lost == null || !lost.endsLease()) {
            lost = reason;
        }
    }

    /** Why the work is to end; {@code null} while it may go on. Looks at the clock itself. */
    public LostReason lost() {
        if (lost == null || !lost.endsLease()) {
            if (epoch.lost != null) {
                lost = epoch.lost;
            } else if (left() <= 0) {
                lost = LostReason.TIME_OVER;
            }
        }
        return lost;
    }
}
