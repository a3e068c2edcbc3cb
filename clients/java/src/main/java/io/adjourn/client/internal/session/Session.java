package io.adjourn.client.internal.session;

import io.adjourn.client.AdjournException;
import io.adjourn.client.Applied;
import io.adjourn.client.ClientClosedException;
import io.adjourn.client.ConnectionException;
import io.adjourn.client.ErrorCode;
import io.adjourn.client.Lease;
import io.adjourn.client.OutcomeUnknownException;
import io.adjourn.client.ProtocolException;
import io.adjourn.client.RequestTimeoutException;
import io.adjourn.client.ServerException;
import io.adjourn.client.UsageException;
import io.adjourn.client.WrongClusterException;
import io.adjourn.client.internal.wire.FieldTooLongException;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One session with the queue, over one connection after the other: which requests are open, which are on the wire, and what
 * becomes of them when the connection is lost. It does no input or output itself: {@link Connector} does, without this lock.
 *
 * <p>What is told to others (futures, feeds) is told after the lock is free.
 */
public final class Session implements Exchange {
    private static final Logger LOG = System.getLogger("io.adjourn.client");
    private static final long MS = 1_000_000L;
    private static final long SECOND = 1_000 * MS;
    /** Sequence numbers that may be unanswered. */
    private static final long WINDOW = 16_384;
    private static final int OPEN_MAX = 16_384;
    private static final long OPEN_BYTES_MAX = 64L << 20;
    private static final int OUT_BYTES_MAX = 1 << 20;
    private static final long DRAIN_MAX = 2 * SECOND;
    private static final long ANSWER_MAX = 5 * SECOND;
    private static final long MEMBERS_FIRST = SECOND;
    private static final long MEMBERS_EVERY = 5 * SECOND;
    private static final long HEARTBEAT_MIN = 100 * MS;
    private static final long TICK_MAX = 100 * MS;
    private static final long BROWSE_MAX = 600 * SECOND;
    private static final long GIVE_BACK_MAX = 60 * SECOND;
    private static final long RETRY_FIRST = 50 * MS;
    private static final long RETRY_MAX = SECOND;
    private static final long DISCONNECTED_PAUSE_MS = 5_000;

    enum Phase {
        DOWN, UP, DRAINING, ENDED
    }

    /** Where to go after this connection, and when. */
    record Elsewhere(String leader, long pauseMs) {
        static final Elsewhere UNKNOWN = new Elsewhere("", 0);
    }

    private final SessionConfig config;
    private final Ticker ticker = new Ticker();
    private final ReentrantLock lock = new ReentrantLock();
    /** The phase changed, or there is something to write. */
    private final Condition changed = lock.newCondition();
    /** A request has ended. */
    private final Condition room = lock.newCondition();
    private final Condition tick = lock.newCondition();
    private final ScheduledThreadPoolExecutor timer;
    private final Connector connector;
    private final Thread clock;

    private final Map<Integer, Open> open = new LinkedHashMap<>();
    private final ArrayDeque<Open> line = new ArrayDeque<>();
    private final List<Open> later = new ArrayList<>();
    /** Pushes that have numbers, by the first of them. */
    private final TreeMap<Long, Open> numbered = new TreeMap<>();
    private final LeaseBook leases;
    private final Unseen unseen = new Unseen();
    private List<Runnable> effects = new ArrayList<>();

    private Phase phase = Phase.DOWN;
    private AdjournException ended;
    private boolean isClosing;
    private boolean consumes;
    private int handlersLeft;
    private long openBytes;
    private int lastId;
    private long nextSequence = 1;

    private Response.Welcome welcome;
    private List<String> members = List.of();
    private Elsewhere elsewhere = Elsewhere.UNKNOWN;
    private Connector.Link link;
    private Throwable lastFailure;

    private FrameWriter out = new FrameWriter(OUT_BYTES_MAX / 16);
    private int inFlight;
    private boolean answeredHere;
    private long heard;
    private long moved;
    private long spoken;
    private long pinged;
    private long membersDue;
    private long drainUntil;

    public Session(SessionConfig config) {
        this.config = config;
        this.leases = new LeaseBook(ticker, config.leasesOutlive());
        this.timer = new ScheduledThreadPoolExecutor(1, task -> daemon(task, "adjourn-timer"));
        timer.setRemoveOnCancelPolicy(true);
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        this.connector = new Connector(this, config);
        this.clock = daemon(this::runClock, "adjourn-clock");
    }

    /** Starts to connect. */
    public void start() {
        clock.start();
        connector.start();
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    // ---- what callers ask for

    @Override
    public Call submit(Request request, Duration timeout, boolean mayWait) {
        long limit = (timeout == null ? config.requestTimeout() : timeout).toNanos();
        if (request instanceof Request.Reserve reserve) {
            limit += Math.min(reserve.waitMs(), 3_600_000) * MS;
        } else if (browses(request)) {
            limit = Math.max(limit, timeout == null ? BROWSE_MAX : 0);
        }
        lock.lock();
        try {
            Open call = new Open(Open.Kind.CALL, request, null, now(), limit);
            if (mayWait) {
                awaitRoom(call);
            }
            accept(call);
            return call;
        } finally {
            unlock();
        }
    }

    @Override
    public Call subscribe(Request.Subscribe subscribe, Feed feed) {
        lock.lock();
        try {
            Open call = new Open(Open.Kind.CALL, subscribe, feed, now(), config.requestTimeout().toNanos());
            accept(call);
            return call;
        } finally {
            unlock();
        }
    }

    @Override
    public CompletableFuture<?> unsubscribe(Call subscription) {
        Open call = (Open) subscription;
        lock.lock();
        try {
            if (open.get(call.id) != call || call.isLeft) {
                return CompletableFuture.completedFuture(null);
            }
            call.isLeft = true;
            if (!call.onWire) {
                forget(call);
                return CompletableFuture.completedFuture(null);
            }
            Open leave = new Open(Open.Kind.CALL, new Request.Unsubscribe(call.id), null, now(), config.requestTimeout().toNanos());
            accept(leave);
            return leave.future.whenComplete((answer, error) -> forgetLater(call));
        } finally {
            unlock();
        }
    }

    @Override
    public Call credit(Call subscription, int jobs, long bytes) {
        return submit(new Request.Credit(((Open) subscription).id, jobs, bytes), null, false);
    }

    @Override
    public void cancel(Call call) {
        Open left = (Open) call;
        lock.lock();
        try {
            if (open.get(left.id) != left) {
                return;
            }
            left.isLeft = true;
            if (!left.onWire && left.doubts == 0) {
                forget(left);
            } else if (left.onWire && left.isReserve() && phase == Phase.UP) {
                accept(new Open(Open.Kind.CONNECTION, new Request.Cancel(left.id), null, now(), GIVE_BACK_MAX));
            }
        } finally {
            unlock();
        }
    }

    @Override
    public void giveBack(List<Lease> given, long delayMs) {
        lock.lock();
        try {
            release(given, delayMs);
        } finally {
            unlock();
        }
    }

    @Override
    public Limits limits() {
        awaitConnectedOnce(config.requestTimeout(), false);
        lock.lock();
        try {
            return new Limits(Integer.toUnsignedLong(welcome.frameBytesMax()), Integer.toUnsignedLong(welcome.bodyBytesMax()),
                    limit(welcome.pushJobsMax()), limit(welcome.leasesMax()), limit(welcome.reserveJobsMax()));
        } finally {
            unlock();
        }
    }

    @Override
    public void awaitConnected(Duration timeout) {
        awaitConnectedOnce(timeout, true);
    }

    private void awaitConnectedOnce(Duration timeout, boolean now) {
        lock.lock();
        try {
            long left = timeout.toNanos();
            while (ended == null && (now ? phase != Phase.UP : welcome == null)) {
                if (left <= 0) {
                    throw notConnected(timeout);
                }
                left = await(changed, left);
            }
            if (ended != null) {
                throw ended;
            }
        } finally {
            unlock();
        }
    }

    @Override
    public boolean isConnected() {
        lock.lock();
        try {
            return phase == Phase.UP && now() - heard < 2 * heartbeat();
        } finally {
            unlock();
        }
    }

    @Override
    public long now() {
        return ticker.now();
    }

    @Override
    public ScheduledExecutorService timer() {
        return timer;
    }

    @Override
    public void handlersLeft(int more) {
        lock.lock();
        handlersLeft += more;
        lock.unlock();
    }

    @Override
    public void close(Duration deadline) {
        long until = now() + deadline.toNanos();
        lock.lock();
        try {
            if (isClosing) {
                return;
            }
            isClosing = true;
            for (Open call : List.copyOf(open.values())) {
                if (call.isReserve()) {
                    fail(call, closed());
                }
            }
            changed.signalAll();
            while (ended == null && open.values().stream().anyMatch(Session::isAwaited) && now() < until) {
                awaitUninterruptibly(room, until - now());
            }
            if (phase == Phase.UP && handlersLeft == 0) {
                Open goodbye = ask(new Request.Plain(Opcode.GOODBYE));
                while (ended == null && open.get(goodbye.id) == goodbye && now() < until) {
                    awaitUninterruptibly(room, until - now());
                }
            }
            end(closed());
        } finally {
            unlock();
        }
    }

    private static boolean isAwaited(Open call) {
        return call.feed == null && call.kind != Open.Kind.CONNECTION && !call.isUnwanted();
    }

    // ---- taking requests in

    private void awaitRoom(Open call) {
        long left = call.timeout;
        while (ended == null && (open.size() >= OPEN_MAX || openBytes + call.bytes() > OPEN_BYTES_MAX && !open.isEmpty())) {
            if (left <= 0) {
                throw new RequestTimeoutException("too many requests wait to be sent", false, lastFailure);
            }
            left = await(room, left);
        }
    }

    private void accept(Open call) {
        if (ended != null || isClosing && call.kind == Open.Kind.CALL && !settles(call.request)) {
            AdjournException cause = ended != null ? ended : closed();
            effects.add(() -> {
                call.future.completeExceptionally(cause);
                if (call.feed != null) {
                    call.feed.ended(cause);
                }
            });
            return;
        }
        enter(call);
        line.add(call);
        pump();
    }

    private void enter(Open call) {
        do {
            lastId++;
        } while (lastId == 0 || open.containsKey(lastId));
        call.id = lastId;
        open.put(call.id, call);
        openBytes += call.bytes();
        if (open.size() == 1) {
            tick.signalAll();
        }
    }

    private void release(List<Lease> given, long delayMs) {
        if (given.isEmpty() || ended != null) {
            return;
        }
        int part = welcome == null ? 4096 : limit(welcome.leasesMax());
        for (int from = 0; from < given.size(); from += part) {
            List<Lease> some = List.copyOf(given.subList(from, Math.min(given.size(), from + part)));
            accept(new Open(Open.Kind.GIVE_BACK, new Request.Release(delayMs, some, ""), null, now(), GIVE_BACK_MAX));
        }
    }

    // ---- sending

    /** Sends what is in line, as far as the limits allow. */
    private void pump() {
        while (phase == Phase.UP && inFlight < inFlightMax() && out.size() < OUT_BYTES_MAX && !line.isEmpty()) {
            Open next = line.peek();
            if (open.get(next.id) != next || next.onWire) {
                line.poll();
            } else if (next.isPush() && !fitsWindow((Request.Push) next.request)) {
                return;
            } else {
                line.poll();
                send(next);
            }
        }
    }

    private boolean fitsWindow(Request.Push push) {
        return push.sequence() != 0 || numbered.isEmpty() || nextSequence + push.jobs().size() - numbered.firstKey() <= WINDOW;
    }

    private void send(Open call) {
        long now = now();
        if (call.request instanceof Request.Push push && push.sequence() == 0) {
            call.request = push.withSequence(nextSequence);
            numbered.put(nextSequence, call);
            nextSequence += push.jobs().size();
        }
        Request frame = call.request;
        call.wait = browses(frame) ? BROWSE_MAX : 0;
        if (frame instanceof Request.Reserve reserve) {
            long left = Math.max(0, reserve.waitMs() - (now - call.accepted) / MS);
            frame = reserve.withWait(left);
            call.wait = left * MS;
        }
        int start = out.size();
        try {
            frame.encodeFrame(call.id, out);
        } catch (FieldTooLongException e) {
            out.truncate(start);
            fail(call, new UsageException(e.getMessage(), e));
            return;
        }
        long length = out.size() - start - 4L;
        if (length > Integer.toUnsignedLong(welcome.frameBytesMax())) {
            out.truncate(start);
            fail(call, ServerException.ofRequest(ErrorCode.TOO_LARGE.number(), false, Applied.NO, 0,
                    "a frame of " + length + " bytes is above the server's limit"));
            return;
        }
        consumes |= call.isReserve() || call.feed != null;
        call.onWire = true;
        call.sent = now;
        call.doubts++;
        call.counts = true;
        inFlight++;
        changed.signalAll();
    }

    /** Sends a question of this connection's own at once. */
    private Open ask(Request request) {
        Open own = new Open(Open.Kind.CONNECTION, request, null, now(), Long.MAX_VALUE / 2);
        enter(own);
        send(own);
        return own;
    }

    // ---- the connector's side

    /** What the next HELLO says. */
    Request.Hello hello() {
        lock.lock();
        try {
            boolean knows = welcome != null;
            return new Request.Hello(1, 1, config.leasesOutlive() ? 1 : 0, (int) config.heartbeat().toMillis(),
                    knows ? welcome.session() : 0, knows ? welcome.secret() : new byte[16], config.name(), config.token());
        } finally {
            unlock();
        }
    }

    List<String> members() {
        lock.lock();
        try {
            return members;
        } finally {
            unlock();
        }
    }

    Elsewhere takeElsewhere() {
        lock.lock();
        try {
            Elsewhere taken = elsewhere;
            elsewhere = Elsewhere.UNKNOWN;
            return taken;
        } finally {
            unlock();
        }
    }

    /** Waits, unless the session ends; false if it has. */
    boolean pause(long nanos) {
        long until = now() + nanos;
        lock.lock();
        try {
            while (ended == null && now() < until) {
                awaitUninterruptibly(changed, until - now());
            }
            return ended == null;
        } finally {
            unlock();
        }
    }

    void failed(Throwable failure) {
        lock.lock();
        lastFailure = failure;
        lock.unlock();
    }

    /** There is no hope. */
    void giveUp(AdjournException cause) {
        LOG.log(Level.ERROR, "the client gives up: " + cause.getMessage());
        lock.lock();
        try {
            end(cause);
        } finally {
            unlock();
        }
    }

    /** A connection was welcomed. False if the session has ended. */
    boolean up(Response.Welcome said, long helloSent, Connector.Link newLink) {
        lock.lock();
        try {
            if (ended != null) {
                return false;
            }
            if (welcome != null && !Arrays.equals(welcome.clusterId(), said.clusterId())) {
                end(new WrongClusterException("another cluster answers at " + newLink.address()));
                return false;
            }
            boolean resumed = welcome != null && said.resumed() && said.session() == welcome.session();
            boolean kept = config.leasesOutlive() || resumed && said.leasesKept();
            boolean isFirst = welcome == null;
            if (!resumed) {
                renumber();
            }
            if (!kept && !isFirst) {
                tellFeeds(Feed::leasesLost);
            }
            leases.up(said, helloSent, kept);
            welcome = said;
            members = said.members().stream().map(Response.Member::address).toList();
            link = newLink;
            phase = Phase.UP;
            answeredHere = false;
            heard = moved = spoken = pinged = now();
            membersDue = heard + MEMBERS_FIRST;
            lookForUnseen(kept && !config.leasesOutlive() && !isFirst);
            pump();
            changed.signalAll();
            tick.signalAll();
            return true;
        } finally {
            unlock();
        }
    }

    /** The connection is gone. Returns whether it had answered anything. */
    boolean down(Connector.Link lost, Throwable cause) {
        lock.lock();
        try {
            if (link != lost) {
                return false;
            }
            lastFailure = cause;
            link = null;
            phase = ended == null ? Phase.DOWN : Phase.ENDED;
            inFlight = 0;
            out.clear();
            line.clear();
            later.clear();
            for (Open call : List.copyOf(open.values())) {
                afterLoss(call);
            }
            line.addAll(open.values());
            tellFeeds(feed -> feed.active(false));
            changed.signalAll();
            return answeredHere;
        } finally {
            unlock();
        }
    }

    private void afterLoss(Open call) {
        boolean wasOnWire = call.onWire;
        call.onWire = false;
        call.counts = false;
        call.isSubscribed = false;
        boolean isOfConnection = call.kind == Open.Kind.CONNECTION || call.request instanceof Request.Unsubscribe
                || call.request instanceof Request.Credit;
        if (isOfConnection) {
            succeed(call, Answer.of(new Response.Done()));
        } else if (call.isUnwanted()) {
            forget(call);
        } else if (wasOnWire && !call.mayRepeat()) {
            fail(call, new OutcomeUnknownException("the connection was lost before the answer to " + call.request.opcode()));
        }
    }

    /** The session is a new one: numbers start at 1 again. */
    private void renumber() {
        nextSequence = 1;
        numbered.clear();
        for (Open call : List.copyOf(open.values())) {
            if (call.request instanceof Request.Push push) {
                if (call.doubts > 0) {
                    fail(call, new OutcomeUnknownException("the session was forgotten before the push was answered"));
                } else {
                    call.request = push.withSequence(0);
                }
            }
        }
    }

    private void lookForUnseen(boolean sessionGoesOn) {
        if (!sessionGoesOn) {
            unseen.close();
        } else if (consumes) {
            unseen.open();
            ask(new Request.Leases(0, limit(welcome.reserveJobsMax())));
        }
    }

    /**
     * Waits for output of this connection, and exchanges the buffers. Returns {@code null} when the connection is over.
     */
    FrameWriter takeOutput(Connector.Link of, FrameWriter empty) {
        lock.lock();
        try {
            while (link == of && out.size() == 0) {
                awaitUninterruptibly(changed, SECOND);
            }
            if (link != of) {
                return null;
            }
            FrameWriter full = out;
            out = empty;
            out.clear();
            spoken = now();
            pump();
            return full;
        } finally {
            unlock();
        }
    }

    /** The other side took a part of the output. */
    void written(Connector.Link of) {
        lock.lock();
        if (link == of) {
            spoken = moved = now();
            closeIfDrained();
        }
        unlock();
    }

    /** Bytes came. */
    void heard(Connector.Link of, boolean withinFrame) {
        lock.lock();
        if (link == of) {
            heard = now();
            moved = withinFrame ? heard : moved;
        }
        lock.unlock();
    }

    // ---- answers

    void answered(Connector.Link of, int id, Response response) {
        lock.lock();
        try {
            if (link != of) {
                return;
            }
            if (id == 0) {
                unasked(response);
                return;
            }
            if (!(response instanceof Response.Pong)) {
                moved = now();
            }
            Open call = open.get(id);
            if (call == null || !call.onWire) {
                strayJobs(response);
            } else if (response instanceof Response.Error error) {
                answeredHere |= !error.retryable();
                refused(call, error);
            } else if (!(response instanceof Response.Unknown)) {
                answeredHere = true;
                leases.answered(call.sent, response);
                noteMembers(response);
                fulfilled(call, response);
            }
            closeIfDrained();
            pump();
        } finally {
            unlock();
        }
    }

    private void noteMembers(Response response) {
        if (response instanceof Response.ClusterReport report) {
            List<String> named = report.members().stream().map(Response.ClusterMember::clientAddress)
                    .filter(address -> !address.isEmpty()).toList();
            members = named.isEmpty() ? members : named;
        }
    }

    private void strayJobs(Response response) {
        List<Response.Delivered> jobs = response instanceof Response.Reserved reserved ? reserved.jobs()
                : response instanceof Response.Deliver deliver ? deliver.jobs() : List.of();
        unseen.came(jobs);
        release(jobs.stream().map(job -> new Lease(job.job(), job.fence())).toList(), Request.NOT_STARTED);
    }

    private void fulfilled(Open call, Response response) {
        if (call.feed != null) {
            fed(call, response);
        } else if (call.kind == Open.Kind.CONNECTION) {
            own(call, response);
        } else if (response instanceof Response.Reserved reserved && call.isReserve()) {
            reserved(call, reserved);
        } else if (response instanceof Response.Leased leased) {
            List<Grant> good = new ArrayList<>();
            leases.take(leased.jobs(), good, new ArrayList<>());
            if (!call.isUnwanted()) {
                unseen.came(leased.jobs());
            }
            succeed(call, new Answer(leased, good));
        } else {
            int asked = items(call.request);
            int found = response instanceof Response.Pushed pushed ? pushed.results().size()
                    : response instanceof Response.Settled settled ? settled.results().size() : 0;
            if (response instanceof Response.Settled settled && asked == found) {
                noteSettled(call.request, settled.results());
            }
            if (asked != found) {
                fail(call, new ProtocolException("the answer has " + found + " results for " + asked + " items"));
            } else {
                succeed(call, Answer.of(response));
            }
        }
    }

    private void noteSettled(Request request, List<Integer> results) {
        List<Lease> settled = request instanceof Request.Finish finish ? finish.leases()
                : request instanceof Request.Release release ? release.leases()
                : request instanceof Request.Bury bury ? bury.leases() : List.of();
        for (int i = 0; i < settled.size(); i++) {
            if (results.get(i) == 0 || results.get(i) == ErrorCode.STALE_LEASE.number()) {
                leases.settled(settled.get(i));
            }
        }
    }

    private void fed(Open call, Response response) {
        if (response instanceof Response.Subscribed) {
            uncount(call);
            call.isSubscribed = true;
            call.wasSubscribed = true;
            effects.add(() -> {
                call.feed.active(true);
                call.future.complete(Answer.of(response));
            });
        } else if (response instanceof Response.Deliver deliver) {
            List<Grant> good = granted(deliver.jobs());
            if (call.isLeft) {
                release(good.stream().map(grant -> grant.hold().lease()).toList(), Request.NOT_STARTED);
            } else if (!good.isEmpty()) {
                effects.add(() -> call.feed.delivered(good));
            }
        }
    }

    private void reserved(Open call, Response.Reserved reserved) {
        List<Grant> good = granted(reserved.jobs());
        List<Lease> given = good.stream().map(grant -> grant.hold().lease()).toList();
        long left = call.accepted + ((Request.Reserve) call.request).waitMs() * MS - now();
        if (good.isEmpty() && left > 100 * MS && !call.isUnwanted() && !isClosing) {
            // The server ended the wait early, because it stops or another connection speaks for the session; or the
            // leases were over when they came.
            retry(call, RETRY_FIRST);
        } else if (call.isUnwanted()) {
            forget(call);
            release(given, Request.NOT_STARTED);
        } else {
            forget(call);
            effects.add(() -> {
                if (!call.future.complete(new Answer(reserved, good))) {
                    giveBack(given, Request.NOT_STARTED);
                }
            });
        }
    }

    private List<Grant> granted(List<Response.Delivered> jobs) {
        unseen.came(jobs);
        List<Grant> good = new ArrayList<>();
        List<Lease> late = new ArrayList<>();
        leases.take(jobs, good, late);
        release(late, Request.NOT_STARTED);
        return good;
    }

    /** The answer to a question of this connection's own. */
    private void own(Open call, Response response) {
        forget(call);
        effects.add(() -> call.future.complete(Answer.of(response)));
        if (response instanceof Response.Leased leased && call.request instanceof Request.Leases asked) {
            List<Lease> lost = unseen.among(leased.jobs());
            release(lost, Request.NOT_STARTED);
            if (leased.marks() == 0) {
                unseen.close();
            } else if (phase == Phase.UP) {
                long after = leased.jobs().isEmpty() ? asked.after() : leased.jobs().get(leased.jobs().size() - 1).job();
                ask(new Request.Leases(after, asked.jobsMax()));
            }
        }
    }

    private void refused(Open call, Response.Error error) {
        if (!error.mayBeApplied()) {
            call.doubts = Math.max(0, call.doubts - 1);
        }
        ErrorCode code = ErrorCode.of(error.code());
        boolean isElsewhere = code == ErrorCode.NOT_LEADER || code == ErrorCode.NO_LEADER || code == ErrorCode.STOPPING
                || code == ErrorCode.SESSION_UNKNOWN;
        boolean isGoodbye = call.request.opcode() == Opcode.GOODBYE;
        if (isElsewhere && !isGoodbye) {
            drain(new Elsewhere(error.leader(), Integer.toUnsignedLong(error.retryAfterMs())));
        }
        if (isGoodbye || call.request instanceof Request.Unsubscribe || call.kind == Open.Kind.CONNECTION) {
            if (call.request instanceof Request.Leases && !isElsewhere) {
                unseen.close();
            } else if (call.request.opcode() == Opcode.CLUSTER_STATUS && !error.retryable()) {
                membersDue = Long.MAX_VALUE;
            }
            succeed(call, Answer.of(new Response.Done()));
            return;
        }
        AdjournException refusal = ServerException.ofRequest(error.code(), error.retryable(),
                error.mayBeApplied() ? Applied.UNKNOWN : Applied.NO, Integer.toUnsignedLong(error.retryAfterMs()), error.message());
        call.refusal = refusal;
        boolean mayRepeat = (!error.mayBeApplied() || call.mayRepeat()) && !call.isUnwanted();
        if (isElsewhere && mayRepeat) {
            offWire(call);
            return;
        }
        if (error.retryable() && code != ErrorCode.PAUSED && mayRepeat) {
            long pause = Math.min(RETRY_MAX, RETRY_FIRST << Math.min(call.retries, 10));
            call.retries++;
            retry(call, Integer.toUnsignedLong(error.retryAfterMs()) * MS + ThreadLocalRandom.current().nextLong(pause + 1));
            return;
        }
        boolean isDoubtful = call.doubts > 0 && (call.isPush() || error.mayBeApplied() && !call.request.repeatable());
        fail(call, isDoubtful ? new OutcomeUnknownException("the server cannot say what became of it: " + error.message(), refusal)
                : refusal);
    }

    private void offWire(Open call) {
        call.onWire = false;
        call.isSubscribed = false;
        uncount(call);
        if (call.feed != null) {
            effects.add(() -> call.feed.active(false));
        }
    }

    private void retry(Open call, long pause) {
        offWire(call);
        call.notBefore = now() + pause;
        later.add(call);
        tick.signalAll();
    }

    private void unasked(Response response) {
        if (response instanceof Response.GoingAway away) {
            LOG.log(Level.INFO, "the server closes the connection: {0}", away.message());
            if (away.reason() == 3) {
                end(new ClientClosedException("another process has taken the session over"));
                return;
            }
            drain(new Elsewhere("", away.reason() == 4 ? DISCONNECTED_PAUSE_MS : 0));
            closeIfDrained();
        } else if (response instanceof Response.Error error) {
            LOG.log(Level.WARNING, "the server refuses the connection: {0}", error.message());
            drain(new Elsewhere(error.leader(), Integer.toUnsignedLong(error.retryAfterMs())));
        }
    }

    /** Nothing more is sent on this connection. */
    private void drain(Elsewhere next) {
        elsewhere = new Elsewhere(next.leader.isEmpty() ? elsewhere.leader : next.leader, Math.max(next.pauseMs, elsewhere.pauseMs));
        if (phase == Phase.UP) {
            phase = Phase.DRAINING;
            drainUntil = now() + DRAIN_MAX;
            tick.signalAll();
        }
    }

    private void closeIfDrained() {
        if (phase == Phase.DRAINING && out.size() == 0
                && open.values().stream().noneMatch(call -> call.onWire && call.feed == null && call.kind != Open.Kind.CONNECTION)) {
            closeLink("drained");
        }
    }

    // ---- ends

    private void succeed(Open call, Answer answer) {
        forget(call);
        effects.add(() -> call.future.complete(answer));
    }

    private void fail(Open call, AdjournException error) {
        forget(call);
        effects.add(() -> {
            call.future.completeExceptionally(error);
            if (call.feed != null) {
                call.feed.ended(error);
            }
        });
    }

    /** Takes it out of everything. */
    private void forget(Open call) {
        if (open.get(call.id) != call) {
            return;
        }
        open.remove(call.id);
        openBytes -= call.bytes();
        uncount(call);
        call.onWire = false;
        if (call.request instanceof Request.Push push) {
            numbered.remove(push.sequence(), call);
        }
        room.signalAll();
    }

    private void uncount(Open call) {
        if (call.counts) {
            call.counts = false;
            inFlight--;
        }
    }

    private void forgetLater(Open call) {
        lock.lock();
        try {
            forget(call);
        } finally {
            unlock();
        }
    }

    private void end(AdjournException cause) {
        if (ended != null) {
            return;
        }
        ended = cause;
        phase = Phase.ENDED;
        for (Open call : List.copyOf(open.values())) {
            boolean isDoubtful = call.doubts > 0 && call.request.changes();
            fail(call, isDoubtful ? new OutcomeUnknownException("the client ended before the answer", cause) : cause);
        }
        closeLink("the client has ended");
        effects.add(timer::shutdownNow);
        changed.signalAll();
        room.signalAll();
        tick.signalAll();
        effects.add(connector::stop);
    }

    private void closeLink(String why) {
        Connector.Link closing = link;
        if (closing != null) {
            effects.add(() -> closing.close(why));
        }
    }

    // ---- time

    private void runClock() {
        lock.lock();
        try {
            while (ended == null) {
                long next = lookAtClock(now());
                if (ended == null) {
                    awaitUninterruptibly(tick, Math.max(2 * MS, Math.min(next, open.isEmpty() ? SECOND : TICK_MAX)));
                }
            }
        } finally {
            unlock();
        }
    }

    /** Does what is due. Returns for how long nothing else is. */
    private long lookAtClock(long now) {
        if (leases.presume(now)) {
            LOG.log(Level.WARNING, "no answer shows that the leases are kept: they are presumed lost");
            tellFeeds(Feed::leasesLost);
            release(leases.abandoned(), 0);
        }
        long next = SECOND;
        for (Iterator<Open> waiting = later.iterator(); waiting.hasNext();) {
            Open call = waiting.next();
            if (call.notBefore <= now) {
                waiting.remove();
                line.addFirst(call);
            } else {
                next = Math.min(next, call.notBefore - now);
            }
        }
        for (Open call : List.copyOf(open.values())) {
            long left = call.accepted + call.timeout - now;
            if (left <= 0 && !call.wasSubscribed && call.kind != Open.Kind.CONNECTION) {
                expire(call);
            } else if (!call.wasSubscribed && left > 0) {
                next = Math.min(next, left);
            }
        }
        if (phase == Phase.UP || phase == Phase.DRAINING) {
            next = Math.min(next, beat(now));
        }
        pump();
        return next;
    }

    private void expire(Open call) {
        if (call.isUnwanted()) {
            return;
        }
        boolean wasSent = call.doubts > 0;
        AdjournException error;
        if (wasSent && call.request.changes()) {
            error = new OutcomeUnknownException("no answer to " + call.request.opcode() + " in time", lastFailure);
        } else if (call.refusal != null) {
            error = call.refusal;
        } else if (!wasSent && phase == Phase.DOWN) {
            error = notConnected(Duration.ofNanos(call.timeout));
        } else {
            error = new RequestTimeoutException("no answer to " + call.request.opcode() + " in time", wasSent, lastFailure);
        }
        if (call.onWire && call.feed == null) {
            // Its id and its numbers are in use until the answer comes, or the connection is lost.
            call.isLeft = true;
            effects.add(() -> call.future.completeExceptionally(error));
            if (call.isReserve() && phase == Phase.UP) {
                accept(new Open(Open.Kind.CONNECTION, new Request.Cancel(call.id), null, now(), GIVE_BACK_MAX));
            }
            room.signalAll();
        } else {
            fail(call, error);
        }
    }

    /** Heartbeats, and the ends of a connection that time brings. */
    private long beat(long now) {
        long lostAt = heard + 2 * heartbeat();
        if (now >= lostAt) {
            closeLink("nothing came for two heartbeats");
            return TICK_MAX;
        }
        if (phase == Phase.DRAINING) {
            if (now >= drainUntil) {
                closeLink("the server closes the connection");
            }
            return drainUntil - now;
        }
        long patience = Math.max(ANSWER_MAX, 2 * heartbeat());
        for (Open call : open.values()) {
            boolean isAwaited = call.onWire && !call.isSubscribed;
            if (isAwaited && now - Math.max(call.sent + call.wait, moved) >= patience) {
                closeLink(call.request.opcode() + " has had no answer for too long");
                return TICK_MAX;
            }
        }
        if (now >= membersDue) {
            membersDue = now + MEMBERS_EVERY;
            ask(new Request.Plain(Opcode.CLUSTER_STATUS));
        }
        long every = Math.max(HEARTBEAT_MIN,
                Math.min(heartbeat(), Integer.toUnsignedLong(welcome.sessionGraceMs()) * MS / 4));
        long quietSince = Math.min(Math.min(heard, spoken), leases.proven());
        long due = Math.max(quietSince, pinged) + every;
        if (now >= due) {
            pinged = now;
            ask(new Request.Plain(Opcode.PING));
            due = now + every;
        }
        return Math.min(Math.min(due, lostAt), membersDue) - now;
    }

    private long heartbeat() {
        long ms = welcome == null ? 0 : Integer.toUnsignedLong(welcome.heartbeatMs());
        return (ms == 0 ? 60_000 : ms) * MS;
    }

    private int inFlightMax() {
        // Room for heartbeats.
        return Math.max(1, limit(welcome.inFlightMax()) - 4);
    }

    private static int limit(int unsigned) {
        return unsigned <= 0 ? unsigned == 0 ? 1 : Integer.MAX_VALUE : unsigned;
    }

    private static boolean browses(Request request) {
        return switch (request.opcode()) {
            case LIST, COUNT, BULK, PEEK, BACKUP_BEGIN -> true;
            default -> false;
        };
    }

    private static boolean settles(Request request) {
        return switch (request.opcode()) {
            case FINISH, RELEASE, BURY, UNSUBSCRIBE -> true;
            default -> false;
        };
    }

    private static int items(Request request) {
        if (request instanceof Request.Push push) {
            return push.jobs().size();
        } else if (request instanceof Request.Finish finish) {
            return finish.leases().size();
        } else if (request instanceof Request.Release release) {
            return release.leases().size();
        } else if (request instanceof Request.Touch touch) {
            return touch.leases().size();
        } else if (request instanceof Request.Bury bury) {
            return bury.leases().size();
        }
        return 0;
    }

    private static ClientClosedException closed() {
        return new ClientClosedException("the client is closed");
    }

    private ConnectionException notConnected(Duration after) {
        String cause = lastFailure == null ? "" : ": " + lastFailure.getMessage();
        return new ConnectionException("no connection to " + config.addresses() + " within " + after.toMillis() + " ms" + cause,
                lastFailure);
    }

    // ---- the lock

    private void tellFeeds(java.util.function.Consumer<Feed> what) {
        for (Open call : open.values()) {
            if (call.feed != null && !call.isLeft) {
                effects.add(() -> what.accept(call.feed));
            }
        }
    }

    /** Frees the lock, then tells others what happened. */
    private void unlock() {
        // An empty list stays in use: it must not be read without the lock.
        List<Runnable> told = effects.isEmpty() ? List.of() : effects;
        if (!effects.isEmpty()) {
            effects = new ArrayList<>();
        }
        lock.unlock();
        run(told);
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

    private long await(Condition condition, long nanos) {
        if (tell()) {
            return nanos;
        }
        try {
            return condition.awaitNanos(nanos);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new io.adjourn.client.InterruptedCallException("interrupted while waiting for the connection", e);
        }
    }

    private void awaitUninterruptibly(Condition condition, long nanos) {
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
}
