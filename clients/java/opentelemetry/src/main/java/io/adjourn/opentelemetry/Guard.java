package io.adjourn.opentelemetry;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** Does single steps of tracing, none of which may fail its caller. Logs the first fault. */
final class Guard {
    private static final Logger LOG = System.getLogger("io.adjourn.client");

    private final AtomicBoolean isLogged = new AtomicBoolean();

    /** The result of a step, or {@code otherwise} if it fails. */
    <T> T get(Supplier<T> step, T otherwise) {
        try {
            return Objects.requireNonNull(step.get());
        } catch (Throwable e) {
            fault(e);
            return otherwise;
        }
    }

    void run(Runnable step) {
        try {
            step.run();
        } catch (Throwable e) {
            fault(e);
        }
    }

    private void fault(Throwable fault) {
        if (isLogged.compareAndSet(false, true)) {
            try {
                LOG.log(Level.WARNING, "a step of tracing failed and is left out; further faults are not logged", fault);
            } catch (Throwable unprintable) {
                // The log itself fails.
            }
        }
    }
}
