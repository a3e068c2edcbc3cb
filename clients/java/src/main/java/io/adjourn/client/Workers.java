package io.adjourn.client;

import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The workers of a client that run. They stop before GOODBYE, which would give their jobs to other consumers. */
final class Workers {
    private final Set<Worker> running = new LinkedHashSet<>();
    private boolean isClosing;

    /** Throws once the client has begun to close: a worker that started now would not be stopped before GOODBYE. */
    synchronized void checkOpen() {
        if (isClosing) {
            throw new ClientClosedException("the client is closed");
        }
    }

    /** A worker has subscribed. Throws once the client has begun to close. */
    synchronized void add(Worker worker) {
        checkOpen();
        running.add(worker);
    }

    /** A worker has ended. */
    synchronized void remove(Worker worker) {
        running.remove(worker);
    }

    synchronized int count() {
        return running.size();
    }

    /** Stops all of them together, and takes no more. */
    void stop(Duration deadline) {
        Worker.stop(close(), deadline);
    }

    private synchronized List<Worker> close() {
        isClosing = true;
        return List.copyOf(running);
    }
}
