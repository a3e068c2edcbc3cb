package io.adjourn.client;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** Keeps the faults of a {@link Tracing} from its pushes and handlers: each push is sent once, and each handler runs once. Logs the first fault. */
final class GuardedTracing implements Tracing {
    private static final Logger LOG = System.getLogger("io.adjourn.client");

    private final Tracing tracing;
    private final AtomicBoolean isLogged = new AtomicBoolean();

    GuardedTracing(Tracing tracing) {
        this.tracing = Objects.requireNonNull(tracing);
    }

    @Override
    public CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs, Pusher next) {
        OnePush push = new OnePush(jobs, next);
        try {
            tracing.push(topic, jobs, push);
        } catch (Throwable e) {
            fault(e);
        }
        return push.outcome();
    }

    @Override
    public void around(Job job, Handler next) throws Exception {
        OneRun run = new OneRun(next);
        try {
            tracing.around(job, run);
        } catch (Throwable e) {
            if (e != run.failure) {
                fault(e);
            }
        }
        run.handle(job);
    }

    private void fault(Throwable fault) {
        if (isLogged.compareAndSet(false, true)) {
            try {
                LOG.log(Level.WARNING, "tracing failed, and jobs go on without it; further faults are not logged", fault);
            } catch (Throwable unprintable) {
                // The log itself fails.
            }
        }
    }

    /** Sends the jobs at the first call. */
    private final class OnePush implements Pusher {
        private final List<NewJob> untraced;
        private final Pusher next;
        private CompletableFuture<List<PushResult>> sent;
        private Throwable thrown;

        OnePush(List<NewJob> untraced, Pusher next) {
            this.untraced = untraced;
            this.next = next;
        }

        @Override
        public synchronized CompletableFuture<List<PushResult>> push(List<NewJob> traced) {
            if (sent == null) {
                try {
                    sent = next.push(valid(traced));
                } catch (Throwable e) {
                    thrown = e;
                    sent = CompletableFuture.failedFuture(e);
                }
            }
            // What the tracing does with its copy does not end the push.
            return sent.copy();
        }

        private List<NewJob> valid(List<NewJob> traced) {
            if (traced == untraced) {
                return untraced;
            }
            try {
                List<NewJob> jobs = List.copyOf(traced);
                if (jobs.size() != untraced.size()) {
                    throw new UsageException("a Tracing pushes as many jobs as it gets");
                }
                return jobs;
            } catch (Throwable e) {
                fault(e);
                return untraced;
            }
        }

        synchronized CompletableFuture<List<PushResult>> outcome() {
            push(untraced);
            if (thrown instanceof RuntimeException e) {
                throw e;
            }
            if (thrown instanceof Error e) {
                throw e;
            }
            return sent;
        }
    }

    /** Runs the handler at the first call; each other call ends as the first. */
    private static final class OneRun implements Handler {
        private final Handler next;
        private boolean hasBegun;
        private Throwable failure;

        OneRun(Handler next) {
            this.next = next;
        }

        @Override
        public void handle(Job job) throws Exception {
            if (!hasBegun) {
                hasBegun = true;
                try {
                    next.handle(job);
                } catch (Throwable e) {
                    failure = e;
                }
            }
            if (failure instanceof Error e) {
                throw e;
            }
            if (failure != null) {
                throw failure instanceof Exception e ? e : new UndeclaredThrowableException(failure);
            }
        }
    }
}
