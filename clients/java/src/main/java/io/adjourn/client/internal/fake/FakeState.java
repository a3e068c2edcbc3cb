package io.adjourn.client.internal.fake;

import io.adjourn.client.Backoff;
import io.adjourn.client.Due;
import io.adjourn.client.ErrorCode;
import io.adjourn.client.Filter;
import io.adjourn.client.JobRef;
import io.adjourn.client.JobState;
import io.adjourn.client.Lease;
import io.adjourn.client.TopicPolicy;
import io.adjourn.client.TopicPolicy.Setting;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/** The jobs and topics of the fake queue, and its rules. It knows no connections and no waiting. */
final class FakeState {
    private static final long FINISHED_MS = 60_000;
    private static final long PRIORITY_UNSAID = 0xffff_ffffL;
    private static final long SECOND_US = 1_000_000;
    private static final int BURIED_BY_CONSUMER = 1;
    private static final int ATTEMPTS_USED_UP = 2;
    private static final int TOO_LATE = 3;

    /** A request is refused. */
    static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;
        final ErrorCode code;

        Refused(ErrorCode code, String message) {
            super(message, null, false, false);
            this.code = code;
        }
    }

    static final class Topic {
        final String name;
        TopicPolicy policy = TopicPolicy.EMPTY;
        boolean isPaused;
        long pushed;
        long finished;
        long deleted;
        long expired;
        /** When the deliveries so far are paid for by the rate, in microseconds. */
        long ratedUs;

        Topic(String name) {
            this.name = name;
        }

        /** From when on the rate allows another delivery, in milliseconds; the past without a rate. */
        long mayDeliverMs() {
            long perSecond = policy.number(Setting.RATE).orElse(0L);
            if (perSecond == 0) {
                return Long.MIN_VALUE;
            }
            // At most a tenth of a second's worth comes at once.
            long early = (Math.max(1, perSecond / 10) - 1) * (SECOND_US / perSecond);
            return Math.floorDiv(ratedUs - early + 999, 1_000L);
        }

        void delivered(long nowMs) {
            policy.number(Setting.RATE).filter(rate -> rate > 0)
                    .ifPresent(perSecond -> ratedUs = Math.max(ratedUs, nowMs * 1_000) + SECOND_US / perSecond);
        }
    }

    final TreeMap<Long, FakeJob> jobs = new TreeMap<>();
    final TreeMap<String, Topic> topics = new TreeMap<>();
    private long lastId;
    private long lastFence;
    private final FakeShares shares = new FakeShares();
    long nowMs;
    /** Leases run from here: after an advance of the clock, from its end. Nobody can work on a job on the way. */
    long leasesFromMs;

    // ---- time

    /** When the next thing happens by itself; {@link Long#MAX_VALUE} for never. */
    long next() {
        return jobs.values().stream().mapToLong(this::nextOf).min().orElse(Long.MAX_VALUE);
    }

    private long nextOf(FakeJob job) {
        long expiry = job.expiresMs == null || job.state == JobState.FINISHED ? Long.MAX_VALUE : job.expiresMs;
        return switch (job.state) {
            case DELAYED -> Math.min(job.dueMs, expiry);
            case RESERVED -> job.leaseEndsMs;
            case FINISHED -> job.forgetMs;
            case READY -> {
                long rated = topic(job.topic).mayDeliverMs();
                yield rated > nowMs ? Math.min(rated, expiry) : expiry;
            }
            default -> expiry;
        };
    }

    /** Does what is due. Returns the leases that ended. */
    List<FakeJob> lookAtClock() {
        List<FakeJob> ended = new ArrayList<>();
        for (FakeJob job : List.copyOf(jobs.values())) {
            if (job.state == JobState.RESERVED && job.leaseEndsMs <= nowMs) {
                ended.add(job);
                failed(job, Request.BACKOFF);
            }
            boolean isOver = job.expiresMs != null && job.expiresMs <= nowMs && job.state != JobState.RESERVED
                    && job.state != JobState.FINISHED;
            if (isOver) {
                jobs.remove(job.id);
                topic(job.topic).expired++;
            } else if (job.state == JobState.FINISHED && job.forgetMs <= nowMs) {
                jobs.remove(job.id);
            } else if (job.state == JobState.DELAYED && job.dueMs <= nowMs) {
                job.state = JobState.READY;
            }
        }
        return ended;
    }

    // ---- pushes

    Response.PushedItem push(String name, Request.PushJob job) {
        Topic topic = topic(name);
        long dueMs = job.dueKind() == 1 ? job.dueMs() : nowMs + job.dueMs();
        Optional<FakeJob> old = job.key().isEmpty() ? Optional.empty() : byKey(name, job.key());
        if (old.isPresent()) {
            FakeJob other = old.get();
            boolean isReserved = other.state == JobState.RESERVED;
            boolean isFinished = other.state == JobState.FINISHED;
            switch (job.ifExists()) {
                case 0 -> {
                    return refused(ErrorCode.KEY_EXISTS, other.id);
                }
                case 1 -> {
                    return new Response.PushedItem(1, 0, other.id);
                }
                default -> {
                    if (isReserved && job.ifExists() != 3) {
                        return refused(ErrorCode.RESERVED, other.id);
                    }
                    if (job.ifExists() == 4 && (other.state == JobState.DELAYED || other.state == JobState.READY)) {
                        return postpone(topic, other, job, dueMs);
                    }
                    Optional<ErrorCode> refusal = quota(topic, job, isFinished ? Optional.empty() : old);
                    if (refusal.isPresent()) {
                        return refused(refusal.get(), 0);
                    }
                    jobs.remove(other.id);
                    topic.deleted += isFinished ? 0 : 1;
                    return new Response.PushedItem(2, 0, add(topic, job, dueMs).id);
                }
            }
        }
        FakeJob tried = new FakeJob(0, name, nowMs);
        take(topic, tried, job, dueMs);
        if (tried.expiresMs != null && tried.expiresMs <= dueMs) {
            return refused(ErrorCode.EXPIRES_BEFORE_DUE, 0);
        }
        Optional<ErrorCode> refusal = quota(topic, job, Optional.empty());
        return refusal.isPresent() ? refused(refusal.get(), 0) : new Response.PushedItem(0, 0, add(topic, job, dueMs).id);
    }

    /** Why the topic takes no such job. One that takes the place of another is no more jobs. */
    private Optional<ErrorCode> quota(Topic topic, Request.PushJob job, Optional<FakeJob> replaced) {
        if (topic.policy.number(Setting.BODY_BYTES_MAX).filter(max -> job.body().length > max).isPresent()) {
            return Optional.of(ErrorCode.TOO_LARGE);
        }
        long bytes = bytes(topic.name) - replaced.map(old -> (long) old.body.length).orElse(0L) + job.body().length;
        boolean isTooMany = replaced.isEmpty() && topic.policy.number(Setting.JOBS_MAX).filter(max -> count(topic.name) >= max).isPresent();
        boolean isTooMuch = topic.policy.number(Setting.BYTES_MAX).filter(max -> bytes > max).isPresent();
        return isTooMany || isTooMuch ? Optional.of(ErrorCode.QUOTA) : Optional.empty();
    }

    private static Response.PushedItem refused(ErrorCode code, long job) {
        return new Response.PushedItem(3, code.number(), job);
    }

    private FakeJob add(Topic topic, Request.PushJob pushed, long dueMs) {
        FakeJob job = new FakeJob(++lastId, topic.name, nowMs);
        take(topic, job, pushed, dueMs);
        job.state = dueMs <= nowMs ? JobState.READY : JobState.DELAYED;
        jobs.put(job.id, job);
        topic.pushed++;
        return job;
    }

    private void take(Topic topic, FakeJob job, Request.PushJob pushed, long dueMs) {
        long ttr = pushed.ttrMs() != 0 ? Integer.toUnsignedLong(pushed.ttrMs())
                : topic.policy.number(Setting.TTR).orElse(60_000L);
        long priority = Integer.toUnsignedLong(pushed.priority());
        job.takes(pushed, dueMs, ttr, priority != PRIORITY_UNSAID ? priority : topic.policy.number(Setting.PRIORITY).orElse(1_024L));
        Optional<Due> expires = job.attributes.expires();
        job.expiresMs = expires.map(due -> due.isAt() ? due.ms() : nowMs + due.ms())
                .or(() -> topic.policy.number(Setting.EXPIRES_AFTER).map(after -> dueMs + after)).orElse(null);
    }

    private Response.PushedItem postpone(Topic topic, FakeJob job, Request.PushJob pushed, long dueMs) {
        take(topic, job, pushed, dueMs);
        job.attributes.postponeMax().ifPresent(max -> {
            job.dueMs = Math.min(job.dueMs, job.firstPushMs + max.toMillis());
            job.orderMs = job.dueMs;
        });
        job.state = job.dueMs <= nowMs ? JobState.READY : JobState.DELAYED;
        return new Response.PushedItem(4, 0, job.id);
    }

    // ---- leases

    /** The job that is next among these topics, leased; by their turns if they have weights. Empty without one. */
    Optional<FakeJob> reserve(List<String> names, List<Integer> weights) {
        Optional<FakeJob> next = weights.isEmpty() ? first(names) : shares.next(names, weights, name -> first(List.of(name)));
        next.ifPresent(job -> {
            job.state = JobState.RESERVED;
            topic(job.topic).delivered(nowMs);
            job.attempts++;
            job.fence = ++lastFence;
            job.leaseEndsMs = Math.max(nowMs, leasesFromMs) + job.ttrMs;
            job.reservedLastMs = nowMs;
            job.reservedFirstMs = job.reservedFirstMs == 0 ? nowMs : job.reservedFirstMs;
        });
        return next;
    }

    /** The first job of these topics that may be delivered now; those that are too late are set aside. */
    private Optional<FakeJob> first(List<String> names) {
        while (true) {
            Optional<FakeJob> first = jobs.values().stream()
                    .filter(job -> job.state == JobState.READY && names.contains(job.topic) && mayLease(job.topic))
                    .min(Comparator.<FakeJob>comparingLong(job -> job.priority).thenComparingLong(job -> job.orderMs)
                            .thenComparingLong(job -> job.id));
            if (first.filter(this::isTooLate).isEmpty()) {
                return first;
            }
        }
    }

    /** Buries or drops a job whose first delivery is late, if its topic wants that. */
    private boolean isTooLate(FakeJob job) {
        Topic topic = topic(job.topic);
        Optional<TopicPolicy.Late> late = topic.policy.late();
        if (late.isEmpty() || job.reservedFirstMs != 0 || nowMs - job.dueMs <= late.get().afterMs()) {
            return false;
        }
        if (late.get().action() == TopicPolicy.LateAction.BURY.ordinal()) {
            bury(job, TOO_LATE);
            return true;
        } else if (late.get().action() == TopicPolicy.LateAction.DROP.ordinal()) {
            jobs.remove(job.id);
            topic.expired++;
            return true;
        }
        return false;
    }

    private boolean mayLease(String name) {
        Topic topic = topic(name);
        return !topic.isPaused && topic.mayDeliverMs() <= nowMs && topic.policy.number(Setting.LEASES_MAX).map(max -> jobs.values().stream()
                .filter(job -> job.topic.equals(name) && job.state == JobState.RESERVED).count() < max).orElse(true);
    }

    /** Whether this lease is live. */
    Optional<FakeJob> leased(Lease lease) {
        return Optional.ofNullable(jobs.get(lease.job()))
                .filter(job -> job.state == JobState.RESERVED && job.fence == lease.fence());
    }

    /** 0, or the code. */
    int settle(Lease lease, Request request) {
        Optional<FakeJob> held = leased(lease);
        if (held.isEmpty()) {
            FakeJob job = jobs.get(lease.job());
            boolean isRepeat = request instanceof Request.Finish && job != null && job.state == JobState.FINISHED
                    && job.fence == lease.fence();
            return isRepeat ? 0 : ErrorCode.STALE_LEASE.number();
        }
        FakeJob job = held.get();
        if (request instanceof Request.Finish) {
            finish(job);
        } else if (request instanceof Request.Release release) {
            say(job, release.reason());
            failed(job, release.delayMs());
        } else if (request instanceof Request.Bury bury) {
            say(job, bury.reason());
            bury(job, BURIED_BY_CONSUMER);
        } else if (request instanceof Request.Touch touch) {
            job.leaseEndsMs = nowMs + (touch.ttrMs() == 0 ? job.ttrMs : touch.ttrMs());
        }
        return 0;
    }

    private static void say(FakeJob job, String reason) {
        job.reason = reason.isEmpty() ? job.reason : reason;
    }

    private void finish(FakeJob job) {
        Topic topic = topic(job.topic);
        topic.finished++;
        job.state = JobState.FINISHED;
        job.finishedMs = nowMs;
        long remember = job.attributes.dedupeRetention().map(retention -> retention.toMillis())
                .or(() -> topic.policy.number(Setting.REMEMBER)).orElse(0L);
        job.forgetMs = nowMs + Math.max(FINISHED_MS, remember);
        if (remember == 0) {
            job.key = "";
            job.body = new byte[0];
        }
    }

    private void failed(FakeJob job, long delayMs) {
        if (delayMs == Request.NOT_STARTED) {
            job.attempts--;
            job.state = JobState.READY;
            return;
        }
        Topic topic = topic(job.topic);
        Optional<Long> max = job.attributes.attemptsMax().or(() -> topic.policy.number(Setting.ATTEMPTS_MAX));
        if (max.filter(most -> job.attempts >= most).isPresent()) {
            bury(job, ATTEMPTS_USED_UP);
            return;
        }
        Optional<Backoff> backoff = job.attributes.backoff().or(topic.policy::backoff);
        long wait = delayMs != Request.BACKOFF ? delayMs
                : backoff.map(waits -> waits.waitAfter((int) job.attempts).toMillis()).orElse(0L);
        job.state = wait == 0 ? JobState.READY : JobState.DELAYED;
        if (wait > 0) {
            job.dueMs = nowMs + wait;
            job.orderMs = job.dueMs;
        }
    }

    private void bury(FakeJob job, int why) {
        Optional<String> deadLetters = topic(job.topic).policy.deadLetters();
        if (deadLetters.isPresent()) {
            topic(job.topic).deleted++;
            topic(deadLetters.get()).pushed++;
            job.topic = deadLetters.get();
            // It shows its key, but is not found by it.
            job.isKeyed = false;
            job.attempts = 0;
            job.reservedFirstMs = 0;
            makeReady(job);
        } else {
            job.state = JobState.BURIED;
            job.buried = why;
        }
    }

    // ---- one job

    FakeJob find(JobRef reference) {
        Optional<FakeJob> found = reference instanceof JobRef.Id id ? Optional.ofNullable(jobs.get(id.job()))
                : byKey(((JobRef.Key) reference).topic(), ((JobRef.Key) reference).key());
        return found.orElseThrow(() -> new Refused(ErrorCode.NOT_FOUND, "there is no " + reference));
    }

    private Optional<FakeJob> byKey(String topic, String key) {
        return jobs.values().stream().filter(job -> job.isKeyed && job.topic.equals(topic) && job.key.equals(key)).findFirst();
    }

    void delete(FakeJob job) {
        jobs.remove(job.id);
        topic(job.topic).deleted++;
    }

    void reschedule(FakeJob job, long dueMs) {
        mustWait(job);
        job.dueMs = dueMs;
        job.orderMs = dueMs;
        job.state = dueMs <= nowMs ? JobState.READY : JobState.DELAYED;
    }

    void runNow(FakeJob job) {
        mustWait(job);
        if (job.state == JobState.DELAYED) {
            makeReady(job);
        }
    }

    void kick(FakeJob job) {
        if (job.state != JobState.BURIED) {
            throw new Refused(ErrorCode.WRONG_STATE, "the job is not buried");
        }
        job.attempts = 0;
        job.buried = 0;
        makeReady(job);
    }

    private void makeReady(FakeJob job) {
        job.state = JobState.READY;
        job.dueMs = nowMs;
        job.orderMs = nowMs;
    }

    private static void mustWait(FakeJob job) {
        if (job.state == JobState.RESERVED) {
            throw new Refused(ErrorCode.RESERVED, "the job is reserved");
        }
        if (job.state != JobState.DELAYED && job.state != JobState.READY) {
            throw new Refused(ErrorCode.WRONG_STATE, "the job is neither delayed nor ready");
        }
    }

    // ---- many jobs

    List<FakeJob> matching(Filter filter) {
        return jobs.values().stream().filter(job -> job.state != JobState.FINISHED || !job.key.isEmpty() || job.body.length > 0)
                .filter(job -> filter.matches(job.topic, job.state, job.dueMs, job.key, job.attempts, job.buried, job.reason)).toList();
    }

    /** Whether the job was changed. */
    boolean change(FakeJob job, Request.Bulk bulk) {
        switch (bulk.change()) {
            case Request.Bulk.DELETE -> delete(job);
            case Request.Bulk.KICK -> {
                if (job.state != JobState.BURIED) {
                    return false;
                }
                kick(job);
            }
            case Request.Bulk.RUN_NOW -> {
                if (job.state != JobState.DELAYED) {
                    return false;
                }
                runNow(job);
            }
            case Request.Bulk.RESCHEDULE -> {
                if (job.state != JobState.DELAYED && job.state != JobState.READY || job.dueMs == bulk.dueMs()) {
                    return false;
                }
                reschedule(job, bulk.dueMs());
            }
            default -> {
                if (job.state == JobState.RESERVED) {
                    return false;
                }
                topic(job.topic).deleted++;
                topic(bulk.to()).pushed++;
                job.topic = bulk.to();
                job.isKeyed = !job.key.isEmpty();
            }
        }
        return true;
    }

    boolean isInTheWay(FakeJob job, Request.Bulk bulk) {
        return bulk.change() == Request.Bulk.MOVE && !job.key.isEmpty() && byKey(bulk.to(), job.key).isPresent();
    }

    // ---- topics

    Topic topic(String name) {
        return topics.computeIfAbsent(name, Topic::new);
    }

    Topic existing(String name) {
        Topic topic = topics.get(name);
        if (topic == null) {
            throw new Refused(ErrorCode.NOT_FOUND, "there is no topic " + name);
        }
        return topic;
    }

    long count(String name) {
        return jobs.values().stream().filter(job -> job.topic.equals(name) && job.state != JobState.FINISHED).count();
    }

    /** Bytes of the bodies of these jobs. */
    long bytes(String name) {
        return jobs.values().stream().filter(job -> job.topic.equals(name) && job.state != JobState.FINISHED)
                .mapToLong(job -> job.body.length).sum();
    }

    Response.TopicTotals totals(Topic topic) {
        long[] states = new long[5];
        long oldest = Long.MAX_VALUE;
        for (FakeJob job : jobs.values()) {
            if (job.topic.equals(topic.name)) {
                states[job.state.ordinal()]++;
                oldest = job.state == JobState.READY ? Math.min(oldest, job.dueMs) : oldest;
            }
        }
        return new Response.TopicTotals(topic.isPaused ? 1 : 0, topic.name, new Response.Totals(states[0], states[1], states[2],
                states[3], topic.pushed, topic.finished, topic.deleted, topic.expired,
                oldest == Long.MAX_VALUE ? 0 : Math.max(0, nowMs - oldest)));
    }
}
