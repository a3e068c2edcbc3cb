package io.adjourn.client;

import io.adjourn.client.internal.session.Feed;
import io.adjourn.client.internal.session.Grant;
import io.adjourn.client.internal.session.Open;
import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.wire.Constants;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Jobs as they become ready. The end of a lease, however it ends, returns its credit. A job that waits here until half of its
 * lease is over is given back without counting an attempt; so are jobs that nobody has taken when the subscription is closed.
 */
public final class Subscription implements AutoCloseable {
    private final Client client;
    private final Session session;
    private int waitingMax;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Job> waiting = new ArrayDeque<>();
    /** For all that waits. It refers to no job: one that was taken must not stay in the heap with its body until half of its lease. */
    private ScheduledFuture<?> halfTimer;
    /** When it ends. */
    private long nextHalf;
    private Open call;
    /** Done when the server has ended it; {@code null} until it is closed. */
    private CompletableFuture<?> end;
    private boolean isActive;
    private boolean isClosed;
    private AdjournException cause;
    private Runnable onLost = () -> { };

    Subscription(Client client, Session session, int creditJobs) {
        this.client = client;
        this.session = session;
        this.waitingMax = Math.max(1, creditJobs);
    }

    void begun(Open begun) {
        call = begun;
    }

    /** Called when leases were lost. */
    void onLost(Runnable listener) {
        onLost = listener;
    }

    Feed feed() {
        return new Feed() {
            @Override
            public void delivered(List<Grant> grants) {
                take(client.jobs(grants));
            }

            @Override
            public void active(boolean active) {
                locked(() -> isActive = active);
            }

            @Override
            public void leasesLost() {
                dropLost();
                onLost.run();
            }

            @Override
            public void ended(AdjournException why) {
                locked(() -> {
                    cause = cause == null ? why : cause;
                    isActive = false;
                });
            }
        };
    }

    /** The next job, or {@code null} if none came in time. Throws what ended the subscription. */
    public Job poll(Duration wait) throws InterruptedException {
        long left = wait.toNanos();
        lock.lockInterruptibly();
        try {
            while (true) {
                Job job = waiting.poll();
                if (job != null && job.lost().isEmpty()) {
                    return job;
                }
                if (job != null) {
                    continue;
                }
                if (cause != null) {
                    throw cause;
                }
                if (isClosed) {
                    throw new ClientClosedException("the subscription is closed");
                }
                if (left <= 0) {
                    return null;
                }
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }

    /** More jobs, and bytes of bodies, that may be held at once. A reconnect starts with the first credit again. */
    public void credit(int jobs, long bytes) {
        locked(() -> waitingMax += jobs);
        try {
            session.credit(call, jobs, bytes).future().get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedCallException("interrupted while giving credit", e);
        } catch (ExecutionException e) {
            throw Client.unwrap(e);
        }
    }

    /** Whether the server has it now, over a live connection. */
    public boolean isActive() {
        lock.lock();
        try {
            return isActive && !isClosed && cause == null && session.isConnected();
        } finally {
            lock.unlock();
        }
    }

    /** How many jobs wait to be taken. */
    public int waiting() {
        lock.lock();
        try {
            return waiting.size();
        } finally {
            lock.unlock();
        }
    }

    /** Ends it within five seconds: takes no more jobs, and gives back those that nobody has taken. */
    @Override
    public void close() {
        beginClose();
        awaitEnd(Duration.ofSeconds(5));
    }

    /**
     * Takes no more jobs, gives back those that nobody has taken, and does not wait for the server. It unsubscribes first: the
     * server would deliver here again what is given back.
     */
    void beginClose() {
        List<Job> left = new ArrayList<>();
        locked(() -> {
            isClosed = true;
            left.addAll(waiting);
            waiting.clear();
            stopTimer();
        });
        CompletableFuture<?> unsubscribed = session.unsubscribe(call);
        locked(() -> end = end == null ? unsubscribed : end);
        giveBack(left);
    }

    /** Waits until the server has ended it, after {@link #beginClose}. What comes later is given back when it comes. */
    void awaitEnd(Duration deadline) {
        CompletableFuture<?> over;
        lock.lock();
        over = end;
        lock.unlock();
        boolean wasInterrupted = Thread.interrupted();
        try {
            over.get(deadline.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            wasInterrupted = true;
        } catch (ExecutionException | TimeoutException e) {
            // The connection is gone, or slow.
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** What ended it; {@code null} while it goes on. */
    AdjournException cause() {
        lock.lock();
        try {
            return cause;
        } finally {
            lock.unlock();
        }
    }

    private void take(List<Job> jobs) {
        List<Job> tooMany = new ArrayList<>();
        locked(() -> {
            for (Job job : jobs) {
                // After a reconnect the server gives the whole credit again, whatever is held here.
                if (isClosed || waiting.size() >= waitingMax) {
                    tooMany.add(job);
                } else {
                    waiting.add(job);
                    lookAt(halfOf(job));
                }
            }
        });
        giveBack(tooMany);
    }

    /** When half of a waiting job's lease is over, on the session's clock. */
    private static long halfOf(Job job) {
        return job.hold().deadline() - job.hold().ttr() / 2;
    }

    /** Sees to it, under the lock, that what waits is looked at then. */
    private void lookAt(long half) {
        if (halfTimer != null && nextHalf - half <= 0) {
            return;
        }
        stopTimer();
        try {
            halfTimer = session.timer().schedule(this::giveBackAtHalf, half - session.now(), TimeUnit.NANOSECONDS);
            nextHalf = half;
        } catch (RejectedExecutionException e) {
            // The client has ended.
        }
    }

    private void stopTimer() {
        if (halfTimer != null) {
            halfTimer.cancel(false);
            halfTimer = null;
        }
    }

    private void giveBackAtHalf() {
        List<Job> over = new ArrayList<>();
        locked(() -> {
            halfTimer = null;
            long now = session.now();
            for (Iterator<Job> jobs = waiting.iterator(); jobs.hasNext();) {
                Job job = jobs.next();
                if (halfOf(job) - now <= 0) {
                    jobs.remove();
                    over.add(job);
                } else {
                    lookAt(halfOf(job));
                }
            }
        });
        giveBack(over);
    }

    private void dropLost() {
        List<Job> dropped = new ArrayList<>();
        locked(() -> {
            for (Iterator<Job> jobs = waiting.iterator(); jobs.hasNext();) {
                Job job = jobs.next();
                if (job.lost().isPresent()) {
                    jobs.remove();
                    dropped.add(job);
                }
            }
        });
        // The server may hold them for this client still. If not, this does nothing.
        giveBack(dropped);
    }

    private void giveBack(List<Job> jobs) {
        session.giveBack(jobs.stream().map(Job::lease).toList(), Constants.RELEASE_NOT_STARTED);
    }

    private void locked(Runnable change) {
        lock.lock();
        try {
            change.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
