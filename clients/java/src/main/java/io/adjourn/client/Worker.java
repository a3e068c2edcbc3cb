package io.adjourn.client;

import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.wire.Constants;
import io.adjourn.client.internal.wire.Request;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Runs a handler for each job of some topics.
 *
 * <table>
 * <caption>What becomes of a job</caption>
 * <tr><th>the handler</th><th>the job</th></tr>
 * <tr><td>returns</td><td>is finished</td></tr>
 * <tr><td>throws</td><td>is released, to be attempted again as its backoff says; the exception's text is its reason</td></tr>
 * <tr><td>throws {@link RetryJobException} or {@link BuryJobException}</td><td>is released with that delay, or buried</td></tr>
 * <tr><td>takes long</td><td>keeps its lease: it is touched when half of the time is over, up to {@link WorkerBuilder#maxRunTime}</td></tr>
 * <tr><td>takes long, and the lease is lost</td><td>may be another consumer's: the handler is interrupted, {@link Job#lost} says
 * why, and what it returns settles nothing</td></tr>
 * </table>
 *
 * <p>A failure is logged as a warning: once for each job and reason, ten a second at most.
 */
public final class Worker implements AutoCloseable {
    private static final Logger LOG = System.getLogger("io.adjourn.client");
    private static final Duration STOP_MAX = Duration.ofSeconds(30);
    private static final long SETTLE_MAX = 2_000_000_000L;

    private final Client client;
    private final WorkerBuilder config;
    private final Handler handler;
    private final FailureLog failures = new FailureLog();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Set<Running> running = new LinkedHashSet<>();
    private Subscription subscription;
    private int threads;
    private int settling;
    private boolean isStopping;
    private boolean isAbandoned;

    Worker(WorkerBuilder config) {
        this.client = config.client;
        this.config = config;
        Handler wrapped = config.handler;
        for (int i = config.middleware.size() - 1; i >= 0; i--) {
            Middleware middleware = config.middleware.get(i);
            Handler inner = wrapped;
            wrapped = job -> middleware.around(job, inner);
        }
        Handler untraced = wrapped;
        this.handler = job -> client.tracing().around(job, untraced);
    }

    /** Makes a worker. */
    public static WorkerBuilder builder(Client client) {
        return new WorkerBuilder(client);
    }

    void begin() {
        client.workers().checkOpen();
        subscription = client.subscribe(List.copyOf(config.topics), config.concurrency + config.prefetch, Limits.CREDIT_BYTES_MAX);
        subscription.onLost(() -> runningNow().forEach(Running::look));
        try {
            client.workers().add(this);
        } catch (ClientClosedException e) {
            subscription.close();
            throw e;
        }
        startThreads();
    }

    private void startThreads() {
        lock.lock();
        threads = config.concurrency;
        lock.unlock();
        for (int i = 0; i < config.concurrency; i++) {
            try {
                config.threads.newThread(this::work).start();
            } catch (Throwable e) {
                beginStop();
                threadsEnded(config.concurrency - i);
                throw e;
            }
        }
    }

    private void threadsEnded(int ended) {
        lock.lock();
        threads -= ended;
        boolean isOver = threads == 0;
        changed.signalAll();
        lock.unlock();
        if (isOver) {
            // If errors of the JVM have ended them, jobs would still come.
            subscription.beginClose();
            client.workers().remove(this);
        }
    }

    /** Whether it gets jobs, and what it does. */
    public Health health() {
        boolean isActive = subscription.isActive();
        AdjournException cause = subscription.cause();
        int waiting = subscription.waiting();
        lock.lock();
        try {
            return new Health(isActive && !isStopping && threads > 0, running.size(), waiting, threads, cause);
        } finally {
            lock.unlock();
        }
    }

    /** Waits until it has ended: because it was stopped, or by itself; then it throws what ended it. */
    public void join() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (threads > 0) {
                changed.await();
            }
        } finally {
            lock.unlock();
        }
        AdjournException cause = subscription.cause();
        if (cause != null) {
            throw cause;
        }
    }

    /** As {@link #stop} with 30 seconds. */
    @Override
    public void close() {
        stop(STOP_MAX);
    }

    /**
     * Takes no new job, gives back those that no handler has started without counting an attempt, and waits for the handlers.
     * When most of the time is over, those that still run are interrupted. Returns at the deadline in any case: whether all
     * handlers have ended.
     */
    public boolean stop(Duration deadline) {
        return stop(List.of(this), deadline);
    }

    /** Stops workers of one client together: each has the whole time. */
    static boolean stop(List<Worker> workers, Duration deadline) {
        if (workers.isEmpty()) {
            return true;
        }
        Session session = workers.get(0).client.session();
        long until = session.now() + deadline.toNanos();
        long patience = until - Math.min(SETTLE_MAX, deadline.toNanos() / 5);
        workers.forEach(Worker::beginStop);
        workers.forEach(worker -> worker.subscription.awaitEnd(Duration.ofNanos(Math.max(0, patience - session.now()))));
        workers.forEach(worker -> worker.awaitIdle(patience));
        workers.forEach(worker -> worker.runningNow().forEach(one -> one.cancel(LostReason.STOPPING)));
        boolean areIdle = true;
        for (Worker worker : workers) {
            areIdle &= worker.awaitIdle(until);
        }
        workers.forEach(Worker::abandon);
        return areIdle;
    }

    /** Handlers that have not begun do not begin any more, and no more jobs come. */
    private void beginStop() {
        lock.lock();
        try {
            isStopping = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        subscription.beginClose();
    }

    /** The time to stop is over: what still runs is left. */
    private void abandon() {
        lock.lock();
        try {
            if (!isAbandoned && !running.isEmpty()) {
                // GOODBYE would give their leases to other consumers while they still run.
                isAbandoned = true;
                client.session().handlersLeft(running.size());
            }
        } finally {
            lock.unlock();
        }
        client.workers().remove(this);
    }

    private boolean awaitIdle(long until) {
        boolean wasInterrupted = Thread.interrupted();
        lock.lock();
        try {
            while (!running.isEmpty() || settling > 0) {
                long left = until - client.session().now();
                if (left <= 0) {
                    return false;
                }
                try {
                    changed.awaitNanos(left);
                } catch (InterruptedException e) {
                    wasInterrupted = true;
                }
            }
            return true;
        } finally {
            lock.unlock();
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private List<Running> runningNow() {
        lock.lock();
        try {
            return new ArrayList<>(running);
        } finally {
            lock.unlock();
        }
    }

    // ---- one thread

    private void work() {
        try {
            while (true) {
                Job job = next();
                if (job == null) {
                    return;
                }
                run(job);
            }
        } finally {
            threadsEnded(1);
        }
    }

    /** The next job; {@code null} when there are no more. */
    private Job next() {
        while (true) {
            try {
                Job job = subscription.poll(Duration.ofHours(1));
                if (job != null) {
                    return job;
                }
            } catch (InterruptedException e) {
                LOG.log(Level.DEBUG, "an interrupt outside of a handler is ignored");
            } catch (AdjournException e) {
                return null;
            }
        }
    }

    private void run(Job job) {
        Running one = new Running(client, job, config.maxRunTime);
        lock.lock();
        try {
            if (isStopping) {
                client.session().giveBack(List.of(job.lease()), Constants.RELEASE_NOT_STARTED);
                return;
            }
            running.add(one);
        } finally {
            lock.unlock();
        }
        Throwable failure = null;
        LostReason told;
        try {
            one.look();
            handler.handle(job);
        } catch (Throwable e) {
            failure = e;
        } finally {
            told = one.over();
        }
        try {
            settle(job, failure, told);
        } finally {
            ended(one);
        }
        // A stack that was too deep is free again. After other errors of the JVM, this thread can promise nothing.
        if (failure instanceof VirtualMachineError fatal && !(failure instanceof StackOverflowError)) {
            throw fatal;
        }
    }

    private void ended(Running one) {
        lock.lock();
        try {
            running.remove(one);
            if (isAbandoned) {
                client.session().handlersLeft(-1);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    // ---- settling

    /** What goes wrong here must not end the thread, nor leave the job leased. */
    private void settle(Job job, Throwable failure, LostReason told) {
        try {
            settleAs(job, failure, told);
        } catch (Throwable e) {
            client.session().giveBack(List.of(job.lease()), Release.BACKOFF.delayMs());
            warn(job + " is released, because it could not be settled as its handler ended", e);
        }
    }

    private void settleAs(Job job, Throwable failure, LostReason told) {
        LostReason lost = job.lost().orElse(null);
        if (lost != null && lost.endsLease()) {
            if (lost != LostReason.LEASE_LOST) {
                // The server may hold it for this client still. If not, this does nothing.
                client.session().giveBack(List.of(job.lease()), Release.AT_ONCE.delayMs());
            }
        } else if (job.isSettled()) {
            LOG.log(Level.TRACE, "the handler has settled {0} itself", job);
        } else if (failure == null) {
            send(job, "finished", Request.Finish::new);
        } else if (failure instanceof BuryJobException) {
            log(job, "the job is buried", reason(failure), failure);
            sendWithReason(job, "buried", reason(failure), (leases, reason) -> new Request.Bury(leases, reason));
        } else {
            Release how = failure instanceof RetryJobException retry ? Release.after(retry.delay())
                    : told == LostReason.STOPPING ? Release.AT_ONCE : Release.BACKOFF;
            String reason = told == LostReason.STOPPING ? "the worker stopped"
                    : told == LostReason.RUN_TIME_OVER ? "the handler ran for longer than " + config.maxRunTime : reason(failure);
            log(job, "the job is released", reason, failure);
            sendWithReason(job, "released", reason, (leases, why) -> new Request.Release(how.delayMs(), leases, why));
        }
    }

    private void log(Job job, String what, String reason, Throwable failure) {
        failures.note(client.session().now(), job.id(), reason).ifPresent(leftOut -> {
            String more = leftOut == 0 ? "" : " (" + leftOut + " other failures were not logged)";
            warn("the handler of " + job + " failed: " + what + more, failure);
        });
    }

    /** Logs a failure; of one that cannot be printed, the class. */
    private static void warn(String what, Throwable failure) {
        try {
            LOG.log(Level.WARNING, what, failure);
        } catch (Throwable unprintable) {
            try {
                LOG.log(Level.WARNING, what + " (" + failure.getClass().getName() + ", which cannot be printed)");
            } catch (Throwable e) {
                // The log itself fails.
            }
        }
    }

    private interface WithReason {
        Request request(List<Lease> leases, String reason);
    }

    private void sendWithReason(Job job, String done, String reason, WithReason request) {
        send(job, done, leases -> request.request(leases, reason)).whenComplete((results, error) -> {
            if (error != null && cause(error) instanceof ServerException.Unsupported) {
                // Not every member of the cluster knows reasons yet.
                send(job, done, leases -> request.request(leases, ""));
            }
        });
    }

    private CompletableFuture<List<SettleResult>> send(Job job, String done, Function<List<Lease>, Request> request) {
        lock.lock();
        settling++;
        lock.unlock();
        CompletableFuture<List<SettleResult>> answer;
        try {
            answer = client.settle(List.of(job.lease()), request, false);
        } catch (Throwable e) {
            settled();
            throw e;
        }
        answer.whenComplete((results, error) -> {
            if (error != null) {
                LOG.log(Level.WARNING, "{0} could not be {1}: {2}", job, done, error);
            } else if (!results.get(0).ok()) {
                LOG.log(Level.WARNING, "the lease of {0} was over before it was {1}", job, done);
            }
            settled();
        });
        return answer;
    }

    private void settled() {
        lock.lock();
        settling--;
        changed.signalAll();
        lock.unlock();
    }

    private static Throwable cause(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }

    private static String message(Throwable failure) {
        try {
            String message = failure.getMessage();
            return message == null ? failure.getClass().getName() : message;
        } catch (Throwable e) {
            return failure.getClass().getName() + ", whose message failed with " + e.getClass().getName();
        }
    }

    private static String reason(Throwable failure) {
        String text = message(failure);
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        int end = Math.min(utf8.length, Limits.REASON_BYTES_MAX);
        while (end < utf8.length && end > 0 && (utf8[end] & 0xc0) == 0x80) {
            end--;
        }
        return new String(utf8, 0, end, StandardCharsets.UTF_8);
    }
}
