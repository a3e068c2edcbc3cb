package io.adjourn.client.internal.session;

import io.adjourn.client.InterruptedCallException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The session's lock, and what is waited for under it. What others (futures, feeds) are told is told after the lock is free.
 */
final class Guard {
    private static final Logger LOG = System.getLogger("io.adjourn.client");

    private final ReentrantLock lock = new ReentrantLock();
    /** The phase changed, or there is something to write. */
    final Condition changed = lock.newCondition();
    /** A request has ended. */
    final Condition room = lock.newCondition();
    /** The clock has to be looked at anew. */
    final Condition tick = lock.newCondition();
    private List<Runnable> effects = new ArrayList<>();

    void lock() {
        lock.lock();
    }

    /** Frees the lock, then tells others what happened. */
    void unlock() {
        // An empty list stays in use: it must not be read without the lock.
        List<Runnable> told = effects.isEmpty() ? List.of() : effects;
        if (!effects.isEmpty()) {
            effects = new ArrayList<>();
        }
        lock.unlock();
        run(told);
    }

    /** Is run when the lock is free. */
    void afterwards(Runnable effect) {
        effects.add(effect);
    }

    /** Waits for a caller, who may be interrupted. Returns what is left of the time. */
    long await(Condition condition, long nanos) {
        if (tell()) {
            return nanos;
        }
        try {
            return condition.awaitNanos(nanos);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedCallException("interrupted while waiting for the connection", e);
        }
    }

    void awaitUninterruptibly(Condition condition, long nanos) {
        if (tell()) {
            return;
        }
        boolean wasInterrupted = Thread.interrupted();
        try {
            condition.awaitNanos(Math.max(1, nanos));
        } catch (InterruptedException e) {
            wasInterrupted = true;
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Tells others what happened, with the lock free meanwhile. Returns whether there was something to tell: then a signal may
     * have been missed, and the caller looks again before it waits.
     */
    private boolean tell() {
        if (effects.isEmpty()) {
            return false;
        }
        unlock();
        lock.lock();
        return true;
    }

    private static void run(List<Runnable> told) {
        for (Runnable effect : told) {
            try {
                effect.run();
            } catch (RuntimeException e) {
                LOG.log(Level.ERROR, "a listener failed", e);
            }
        }
    }
}
