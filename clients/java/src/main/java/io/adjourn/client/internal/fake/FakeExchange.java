package io.adjourn.client.internal.fake;

import io.adjourn.client.AdjournException;
import io.adjourn.client.Applied;
import io.adjourn.client.ClientClosedException;
import io.adjourn.client.ErrorCode;
import io.adjourn.client.Filter;
import io.adjourn.client.JobState;
import io.adjourn.client.Lease;
import io.adjourn.client.LostReason;
import io.adjourn.client.ServerException;
import io.adjourn.client.TopicPolicy;
import io.adjourn.client.internal.session.Answer;
import io.adjourn.client.internal.session.Exchange;
import io.adjourn.client.internal.session.Feed;
import io.adjourn.client.internal.session.Grant;
import io.adjourn.client.internal.session.Hold;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.locks.ReentrantLock;

/** Answers requests from memory, on a clock that only {@link #advance} moves. */
public final class FakeExchange implements Exchange {
    private static final long MS = 1_000_000L;

    /** A waiting reserve, or a subscription with credit. */
    static final class Waiter implements Call {
        final CompletableFuture<Answer> future = new CompletableFuture<>();
        final List<String> topics;
        final List<Integer> weights;
        final Feed feed;
        final int jobsMax;
        final long untilMs;
        int credit;

        Waiter(List<String> topics, List<Integer> weights, Feed feed, int jobsMax, long untilMs) {
            this.topics = topics;
            this.weights = weights;
            this.feed = feed;
            this.jobsMax = jobsMax;
            this.untilMs = untilMs;
            this.credit = jobsMax;
        }

        @Override
        public CompletableFuture<Answer> future() {
            return future;
        }
    }

    private record Answered(CompletableFuture<Answer> future) implements Call {
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final FakeState state = new FakeState();
    private final List<Waiter> waiters = new ArrayList<>();
    private final Map<Lease, Hold> holds = new HashMap<>();
    private final ScheduledThreadPoolExecutor timer;
    private List<Runnable> effects = new ArrayList<>();
    private boolean isClosed;

    public FakeExchange(Instant start) {
        state.nowMs = start.toEpochMilli();
        timer = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "adjourn-fake");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
    }

    /** The time on the queue's clock. */
    public Instant time() {
        lock.lock();
        try {
            return Instant.ofEpochMilli(state.nowMs);
        } finally {
            lock.unlock();
        }
    }

    /** Moves the clock; everything that is due on the way happens in its order. */
    public void advance(Duration by) {
        lock.lock();
        try {
            long until = state.nowMs + by.toMillis();
            state.leasesFromMs = until;
            while (true) {
                long next = Math.min(state.next(), waiters.stream().mapToLong(waiter -> waiter.untilMs).min().orElse(Long.MAX_VALUE));
                state.nowMs = Math.max(state.nowMs, Math.min(until, next));
                look();
                if (next > until || next <= state.nowMs && state.nowMs >= until) {
                    break;
                }
            }
            state.nowMs = until;
            look();
        } finally {
            unlock();
        }
    }

    @Override
    public Call submit(Request request, Duration timeout, boolean mayWait) {
        lock.lock();
        try {
            if (isClosed) {
                return new Answered(CompletableFuture.failedFuture(new ClientClosedException("the client is closed")));
            }
            if (request instanceof Request.Reserve reserve) {
                return reserve(reserve);
            }
            Answer answer = answer(request);
            look();
            return new Answered(CompletableFuture.completedFuture(answer));
        } catch (FakeState.Refused refused) {
            return new Answered(CompletableFuture.failedFuture(refusal(refused)));
        } finally {
            unlock();
        }
    }

    @Override
    public Call submitOf(Response.BackupReady backup, Request request) {
        return submit(request, null, false);
    }

    private static AdjournException refusal(FakeState.Refused refused) {
        return ServerException.ofRequest(refused.code.number(), refused.code == ErrorCode.PAUSED, Applied.NO, 0, refused.getMessage());
    }

    private Call reserve(Request.Reserve reserve) {
        if (reserve.waitMs() == 0 && reserve.topics().stream().allMatch(name -> state.topic(name).isPaused)) {
            throw new FakeState.Refused(ErrorCode.PAUSED, "every topic is paused");
        }
        Waiter waiter = new Waiter(reserve.topics(), reserve.weights(), null, reserve.jobsMax(), state.nowMs + reserve.waitMs());
        waiters.add(waiter);
        look();
        return waiter;
    }

    @Override
    public void cancel(Call call) {
        lock.lock();
        try {
            if (call instanceof Waiter waiter && waiters.remove(waiter)) {
                effects.add(() -> waiter.future.complete(new Answer(new Response.Reserved(List.of()), List.of())));
            }
        } finally {
            unlock();
        }
    }

    @Override
    public Call subscribe(Request.Subscribe subscribe, Feed feed) {
        Waiter waiter = new Waiter(subscribe.topics(), subscribe.weights(), feed, subscribe.creditJobs(), Long.MAX_VALUE);
        lock.lock();
        try {
            waiters.add(waiter);
            effects.add(() -> {
                feed.active(true);
                waiter.future.complete(Answer.of(new Response.Subscribed()));
            });
            look();
        } finally {
            unlock();
        }
        return waiter;
    }

    @Override
    public CompletableFuture<?> unsubscribe(Call subscription) {
        lock.lock();
        waiters.remove(subscription);
        lock.unlock();
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public Call credit(Call subscription, int jobs, long bytes) {
        lock.lock();
        try {
            ((Waiter) subscription).credit += jobs;
            look();
            return new Answered(CompletableFuture.completedFuture(Answer.of(new Response.Done())));
        } finally {
            unlock();
        }
    }

    @Override
    public void giveBack(List<Lease> leases, long delayMs) {
        if (!leases.isEmpty()) {
            submit(new Request.Release(delayMs, leases, ""), null, false);
        }
    }

    @Override
    public Limits limits() {
        return new Limits(1_114_112, 1_048_576, 4_096, 4_096, 1_024);
    }

    @Override
    public void awaitConnected(Duration timeout) {
        // It always is.
    }

    @Override
    public boolean isConnected() {
        return !isClosed;
    }

    @Override
    public long now() {
        return System.nanoTime();
    }

    @Override
    public ScheduledExecutorService timer() {
        return timer;
    }

    @Override
    public void handlersLeft(int more) {
        // Nobody else takes the leases.
    }

    @Override
    public void close(Duration deadline) {
        lock.lock();
        try {
            isClosed = true;
            ClientClosedException closed = new ClientClosedException("the client is closed");
            for (Waiter waiter : waiters) {
                effects.add(() -> {
                    waiter.future.completeExceptionally(closed);
                    if (waiter.feed != null) {
                        waiter.feed.ended(closed);
                    }
                });
            }
            waiters.clear();
            timer.shutdownNow();
        } finally {
            unlock();
        }
    }

    // ---- what happens by itself

    /** Ends what is over, and hands out what is ready. */
    private void look() {
        for (FakeJob job : state.lookAtClock()) {
            lost(job.lease());
        }
        for (Waiter waiter : List.copyOf(waiters)) {
            List<Grant> grants = new ArrayList<>();
            while (waiter.credit > 0) {
                FakeJob job = state.reserve(waiter.topics, waiter.weights).orElse(null);
                if (job == null) {
                    break;
                }
                waiter.credit--;
                job.holder = waiter;
                Hold hold = Hold.of(job.lease(), this::now, job.ttrMs * MS);
                holds.put(job.lease(), hold);
                grants.add(new Grant(job.delivered(state.nowMs), hold));
            }
            if (waiter.feed != null) {
                if (!grants.isEmpty()) {
                    effects.add(() -> waiter.feed.delivered(grants));
                }
            } else if (!grants.isEmpty() || waiter.untilMs <= state.nowMs) {
                waiters.remove(waiter);
                Response.Reserved reserved = new Response.Reserved(grants.stream().map(Grant::job).toList());
                effects.add(() -> waiter.future.complete(new Answer(reserved, grants)));
            }
        }
    }

    /** A lease ended without its holder. */
    private void lost(Lease lease) {
        Hold hold = holds.remove(lease);
        FakeJob job = state.jobs.get(lease.job());
        returnCredit(job);
        if (hold != null) {
            hold.lose(LostReason.LEASE_LOST);
            waiters.stream().filter(waiter -> waiter.feed != null).forEach(waiter -> effects.add(waiter.feed::leasesLost));
        }
    }

    private static void returnCredit(FakeJob job) {
        if (job != null && job.holder != null) {
            job.holder.credit++;
            job.holder = null;
        }
    }

    // ---- answers

    private Answer answer(Request request) {
        if (request instanceof Request.Push push) {
            return Answer.of(new Response.Pushed(push.jobs().stream().map(job -> push(push.topic(), job)).toList()));
        } else if (request instanceof Request.Finish finish) {
            return settle(finish.leases(), request);
        } else if (request instanceof Request.Release release) {
            return settle(release.leases(), request);
        } else if (request instanceof Request.Touch touch) {
            return settle(touch.leases(), request);
        } else if (request instanceof Request.Bury bury) {
            return settle(bury.leases(), request);
        } else if (request instanceof Request.Leases leases) {
            List<Grant> grants = state.jobs.values().stream().filter(job -> job.state == JobState.RESERVED && job.id > leases.after())
                    .map(job -> new Grant(job.delivered(state.nowMs), holds.get(job.lease()))).toList();
            return new Answer(new Response.Leased(0, grants.stream().map(Grant::job).toList()), grants);
        }
        return Answer.of(request instanceof Request.OneTopic || request instanceof Request.TopicSet ? ofTopic(request)
                : request instanceof Request.ListJobs || request instanceof Request.Count || request instanceof Request.Bulk
                        || request instanceof Request.KickMany ? ofMany(request) : ofOneOrQueue(request));
    }

    private Response.PushedItem push(String topic, Request.PushJob job) {
        FakeJob before = job.key().isEmpty() ? null : state.jobs.values().stream()
                .filter(other -> other.isKeyed && other.topic.equals(topic) && other.key.equals(job.key())).findFirst().orElse(null);
        Response.PushedItem item = state.push(topic, job);
        if (before != null && before.state == JobState.RESERVED && item.outcome() == 2) {
            taken(before);
        }
        return item;
    }

    /** A reserved job was removed from its holder. */
    private void taken(FakeJob job) {
        returnCredit(job);
        Hold hold = holds.remove(job.lease());
        if (hold != null) {
            // As with a server, the holder finds out when it touches or settles.
            hold.touched(now(), hold.ttr());
        }
    }

    private Answer settle(List<Lease> leases, Request request) {
        List<Integer> results = new ArrayList<>();
        for (Lease lease : leases) {
            FakeJob job = state.leased(lease).orElse(null);
            int code = state.settle(lease, request);
            if (code == 0 && job != null && !(request instanceof Request.Touch)) {
                returnCredit(job);
                holds.remove(lease);
            }
            results.add(code);
        }
        return Answer.of(new Response.Settled(results));
    }

    private Response ofTopic(Request request) {
        if (request instanceof Request.TopicSet set) {
            FakeState.Topic topic = state.topic(set.topic());
            topic.policy = topic.policy.changedBy(TopicPolicy.decode(set.settings()));
            return new Response.Done();
        }
        String name = ((Request.OneTopic) request).topic();
        FakeState.Topic topic = state.existing(name);
        switch (request.opcode()) {
            case PAUSE -> topic.isPaused = true;
            case RESUME -> topic.isPaused = false;
            case TOPIC_SHOW -> {
                return new Response.TopicSettings(state.count(name), state.bytes(name), topic.isPaused ? 1 : 0, topic.policy.encode());
            }
            case TOPIC_DELETE -> {
                if (state.count(name) > 0) {
                    throw new FakeState.Refused(ErrorCode.WRONG_STATE, "the topic has jobs");
                }
                state.topics.remove(name);
            }
            default -> {
                return new Response.Job(state.matching(Filter.topic(name).states(JobState.READY, JobState.DELAYED)).stream()
                        .min(Comparator.<FakeJob, Boolean>comparing(job -> job.state == JobState.DELAYED)
                                .thenComparingLong(job -> job.state == JobState.READY ? job.priority : 0)
                                .thenComparingLong(job -> job.orderMs).thenComparingLong(job -> job.id))
                        .orElseThrow(() -> new FakeState.Refused(ErrorCode.NOT_FOUND, "no job waits")).shown(state.nowMs, true));
            }
        }
        return new Response.Done();
    }

    private Response ofMany(Request request) {
        if (request instanceof Request.Count count) {
            return new Response.Counted(state.matching(Filter.decode(count.filter())).size());
        } else if (request instanceof Request.KickMany kick) {
            List<FakeJob> buried = state.matching(Filter.topic(kick.topic()).states(JobState.BURIED)).stream()
                    .limit(kick.jobsMax()).toList();
            buried.forEach(state::kick);
            return new Response.Kicked(buried.size());
        } else if (request instanceof Request.ListJobs list) {
            return list(list);
        }
        return bulk((Request.Bulk) request);
    }

    private Response list(Request.ListJobs list) {
        Comparator<FakeJob> order = list.order() == 0 ? Comparator.comparingLong(job -> job.dueMs)
                : list.order() == 2 ? Comparator.comparing(job -> job.key) : Comparator.comparingLong(job -> 0);
        List<FakeJob> all = state.matching(Filter.decode(list.filter())).stream()
                .filter(job -> list.order() != 2 || !job.key.isEmpty()).sorted(order.thenComparingLong(job -> job.id)).toList();
        int from = list.cursor().length == 0 ? 0 : Math.min(all.size(), ByteBuffer.wrap(list.cursor()).getInt());
        int to = Math.min(all.size(), from + list.jobsMax());
        byte[] cursor = to < all.size() ? ByteBuffer.allocate(4).putInt(to).array() : new byte[0];
        return new Response.Jobs(cursor, all.subList(from, to).stream().map(job -> job.shown(state.nowMs, list.marks() == 1)).toList());
    }

    private Response bulk(Request.Bulk bulk) {
        long after = bulk.cursor().length == 0 ? 0 : ByteBuffer.wrap(bulk.cursor()).getLong();
        int changed = 0;
        int inTheWay = 0;
        for (FakeJob job : state.matching(Filter.decode(bulk.filter()))) {
            if (job.id <= after) {
                continue;
            }
            if (changed == bulk.jobsMax()) {
                return new Response.Bulked(changed, ByteBuffer.allocate(8).putLong(after).array(), inTheWay);
            }
            after = job.id;
            if (state.isInTheWay(job, bulk)) {
                inTheWay++;
            } else {
                boolean wasReserved = job.state == JobState.RESERVED;
                changed += state.change(job, bulk) ? 1 : 0;
                if (wasReserved && bulk.change() == Request.Bulk.DELETE) {
                    taken(job);
                }
            }
        }
        return new Response.Bulked(changed, new byte[0], inTheWay);
    }

    private Response ofOneOrQueue(Request request) {
        if (request instanceof Request.Delete delete) {
            FakeJob job = state.find(delete.job());
            state.delete(job);
            if (job.state == JobState.RESERVED) {
                taken(job);
            }
            return new Response.Changed(job.id, job.dueMs, job.state.ordinal(), 0);
        } else if (request instanceof Request.Reschedule due) {
            FakeJob job = state.find(due.job());
            state.reschedule(job, due.dueKind() == 1 ? due.dueMs() : state.nowMs + due.dueMs());
            return new Response.Changed(job.id, job.dueMs, job.state.ordinal(), 0);
        } else if (request instanceof Request.OneJob one) {
            FakeJob job = state.find(one.job());
            if (one.opcode() == Opcode.GET) {
                return new Response.Job(job.shown(state.nowMs, true));
            } else if (one.opcode() == Opcode.KICK) {
                state.kick(job);
            } else {
                state.runNow(job);
            }
            return new Response.Changed(job.id, job.dueMs, job.state.ordinal(), 0);
        }
        List<Response.TopicTotals> topics = state.topics.values().stream().map(state::totals).toList();
        return switch (request.opcode()) {
            case PING -> new Response.Pong(state.nowMs, 0);
            case TOPICS -> new Response.TopicCounts(topics);
            case STATS -> new Response.QueueStats(state.nowMs, 0, 1, 1, waiters.size(), 0, 1, new byte[16], sum(topics), topics,
                    List.of());
            case CONNECTIONS -> new Response.ConnectionList(0, List.of());
            default -> throw new FakeState.Refused(ErrorCode.UNSUPPORTED, "the fake has no " + request.opcode());
        };
    }

    private static Response.Totals sum(List<Response.TopicTotals> topics) {
        Response.Totals sum = new Response.Totals(0, 0, 0, 0, 0, 0, 0, 0, 0);
        for (Response.TopicTotals topic : topics) {
            Response.Totals t = topic.totals();
            sum = new Response.Totals(sum.delayed() + t.delayed(), sum.ready() + t.ready(), sum.reserved() + t.reserved(),
                    sum.buried() + t.buried(), sum.pushed() + t.pushed(), sum.finished() + t.finished(), sum.deleted() + t.deleted(),
                    sum.expired() + t.expired(), Math.max(sum.oldestReadyMs(), t.oldestReadyMs()));
        }
        return sum;
    }

    private void unlock() {
        List<Runnable> told = effects;
        effects = new ArrayList<>();
        lock.unlock();
        told.forEach(Runnable::run);
    }
}
