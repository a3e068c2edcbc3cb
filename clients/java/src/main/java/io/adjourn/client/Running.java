package io.adjourn.client;

import io.adjourn.client.internal.session.Hold;
import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.wire.Request;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** Keeps the lease of one running handler: touches it at half of its time, and interrupts the handler when it is lost. */
final class Running {
    private static final Logger LOG = System.getLogger("io.adjourn.client");
    private static final long RETRY = 100_000_000L;

    private final Client client;
    private final Session session;
    private final Job job;
    private final Hold hold;
    private final Thread thread;
    private final long runUntil;
    private final ReentrantLock lock = new ReentrantLock();
    private boolean isOver;
    private boolean isTouching;
    private LostReason told;
    private ScheduledFuture<?> next;

    Running(Client client, Job job, Duration maxRunTime) {
        this.client = client;
        this.session = client.session();
        this.job = job;
        this.hold = job.hold();
        hold.keep();
        this.thread = Thread.currentThread();
        this.runUntil = session.now() + maxRunTime.toNanos();
    }

    Job job() {
        return job;
    }

    /** Looks at the lease, and sees to it that it is looked at again in time. */
    void look() {
        lock.lock();
        try {
            if (isOver) {
                return;
            }
            LostReason lost = hold.lost();
            if (lost != null) {
                tell(lost);
                if (lost.endsLease()) {
                    return;
                }
            } else if (session.now() >= runUntil) {
                tell(LostReason.RUN_TIME_OVER);
            }
            long left = hold.left();
            long toHalf = left - hold.ttr() / 2;
            if (told == null && toHalf <= 0 && !isTouching) {
                isTouching = true;
                touch();
            }
            long wait = told == null && toHalf > 0 ? Math.min(toHalf, runUntil - session.now()) : left;
            lookAgain(Math.max(wait, 1_000_000L));
        } finally {
            lock.unlock();
        }
    }

    private void touch() {
        long sent = session.now();
        client.settle(List.of(job.lease()), leases -> new Request.Touch(0, leases), false).whenComplete((results, error) -> {
            lock.lock();
            try {
                if (error == null && results.get(0).ok()) {
                    hold.touched(sent, hold.ttr());
                } else if (error == null && results.get(0).error() instanceof ServerException.StaleLease) {
                    hold.lose(LostReason.LEASE_LOST);
                } else {
                    LOG.log(Level.WARNING, "the lease of {0} could not be extended: {1}", job,
                            error == null ? results.get(0).error() : error);
                    lookAgainTouching();
                    return;
                }
                isTouching = false;
            } finally {
                lock.unlock();
            }
            look();
        });
    }

    /** A failed touch is tried again after a pause, until the lease is over. */
    private void lookAgainTouching() {
        schedule(() -> {
            lock.lock();
            isTouching = false;
            lock.unlock();
            look();
        }, RETRY);
    }

    /** The handler is to end. */
    void cancel(LostReason reason) {
        lock.lock();
        try {
            if (!isOver) {
                hold.lose(reason);
                tell(reason);
            }
        } finally {
            lock.unlock();
        }
    }

    private void tell(LostReason reason) {
        if (told == null || !told.endsLease() && reason.endsLease()) {
            LOG.log(Level.WARNING, "the handler of {0} is interrupted: {1}", job, reason);
            told = reason;
            hold.lose(reason);
            thread.interrupt();
        }
    }

    /** The handler has ended: its thread is not interrupted any more. Returns why it was, or {@code null}. */
    LostReason over() {
        lock.lock();
        try {
            isOver = true;
            if (next != null) {
                next.cancel(false);
            }
            Thread.interrupted();
            return told;
        } finally {
            lock.unlock();
        }
    }

    private void lookAgain(long nanos) {
        if (next != null) {
            next.cancel(false);
        }
        next = schedule(this::look, nanos);
    }

    private ScheduledFuture<?> schedule(Runnable task, long nanos) {
        try {
            return session.timer().schedule(task, nanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The client has ended: the handler's own look at the clock is all that is left.
            return null;
        }
    }
}
