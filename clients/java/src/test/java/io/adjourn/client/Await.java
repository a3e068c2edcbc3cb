package io.adjourn.client;

import java.util.function.BooleanSupplier;

/** Polls for a condition, with a deadline. */
final class Await {
    private static final long PATIENCE = 20_000_000_000L;

    private Await() {
    }

    static void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + PATIENCE;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not in time: " + what);
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
