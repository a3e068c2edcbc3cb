package io.adjourn.client.internal.session;

import java.util.concurrent.atomic.AtomicReference;

/**
 * A clock that never goes back and that counts the time for which the machine slept, in nanoseconds. The JVM's monotonic
 * clock may stand still meanwhile: a wall clock that leads by more than a second shows it.
 */
public final class Ticker {
    private static final long SLEPT_MIN = 1_000_000_000L;

    private record State(long lead, long slept) {
    }

    private final AtomicReference<State> state = new AtomicReference<>(new State(wall() - System.nanoTime(), 0));

    public long now() {
        long mono = System.nanoTime();
        State seen = state.get();
        long ahead = wall() - mono - seen.lead;
        if (ahead > SLEPT_MIN || ahead < -SLEPT_MIN) {
            // A step back of the wall clock is no sleep.
            state.compareAndSet(seen, new State(seen.lead + ahead, seen.slept + Math.max(0, ahead)));
            seen = state.get();
        }
        return mono + seen.slept;
    }

    private static long wall() {
        return System.currentTimeMillis() * 1_000_000L;
    }
}
