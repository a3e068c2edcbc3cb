package io.adjourn.client.internal.session;

import io.adjourn.client.AdjournException;
import io.adjourn.client.BackupLostException;
import io.adjourn.client.ClientClosedException;
import io.adjourn.client.ConnectionException;
import io.adjourn.client.Lease;
import io.adjourn.client.Limits;
import io.adjourn.client.UsageException;
import io.adjourn.client.WrongClusterException;
import io.adjourn.client.internal.wire.Bits;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Constants;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;

/**
 * One session with the queue, over one connection after the other. It does no input or output itself: {@link Connector} does,
 * without the lock.
 *
 * <pre>
 * callers --> Session --> Requests --> Wire --> Connector --> server
 *                             ^                     |
 *                             +----- Answers <------+
 * </pre>
 *
 * <p>One lock, the {@link Guard}, is for all of them but the connector.
 */
public final class Session {
    /** The limits of one request. */
    public record RequestLimits(long frameBytesMax, long bodyBytesMax, int pushJobsMax, int leasesMax, int reserveJobsMax) {
    }

    private static final Logger LOG = System.getLogger("io.adjourn.client");
    private static final long MS = 1_000_000L;
    private static final long SECOND = 1_000 * MS;
    private static final long TICK_MAX = 100 * MS;
    private static final long DISCONNECTED_PAUSE_MS = 5_000;

    private final SessionConfig config;
    private final Ticker ticker = new Ticker();
    private final Guard guard = new Guard();
    private final Wire wire;
    private final Requests requests;
    private final LeaseBook leases;
    private final Answers answers;
    private final ScheduledThreadPoolExecutor timer;
    private final Connector connector;
    private final Thread clock;
    private int handlersLeft;
    /** HELLOs that named the session and got no answer. A server may still get one, and then says that the session was taken over. */
    private int hellosGivenUp;
    /** Another process has the session: the client ends with this connection. */
    private boolean isTakenOver;

    public Session(SessionConfig config) {
        this.config = config;
        this.wire = new Wire(guard, ticker, config.addresses());
        this.requests = new Requests(guard, ticker, wire, config.withoutSession());
        this.leases = new LeaseBook(ticker, config.leasesOutlive() || config.withoutSession());
        this.answers = new Answers(guard, ticker, wire, requests, leases);
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

    /** Throws UsageException if there is no session, which could hold leases. */
    public void needSession() {
        if (config.withoutSession()) {
            throw new UsageException("this client has no session: leave out withoutSession to reserve jobs");
        }
    }

    /** Hands a request over. Waits while too much is under way, unless {@code mayWait} is false. */
    public Open submit(Request request, Duration timeout, boolean mayWait) {
        long limit = (timeout == null ? config.requestTimeout() : timeout).toNanos();
        if (request instanceof Request.Reserve reserve) {
            limit += Math.min(reserve.waitMs(), Limits.WAIT_MS_MAX) * MS;
        } else if (timeout == null) {
            limit = Math.max(limit, Requests.waitOf(request));
        }
        guard.lock();
        try {
            Open call = new Open(Open.Kind.CALL, request, null, ticker.now(), limit);
            if (mayWait) {
                requests.awaitRoom(call);
            }
            requests.accept(call);
            return call;
        } finally {
            guard.unlock();
        }
    }

    /** Hands over a request about a backup. It fails with BackupLostException if the server does not hold the backup any more. */
    public Open submitOf(Response.BackupReady backup, Request request) {
        guard.lock();
        try {
            Open call = new Open(Open.Kind.CALL, request, null, ticker.now(), config.requestTimeout().toNanos());
            if (requests.holds(backup)) {
                requests.accept(call);
            } else {
                call.future.completeExceptionally(requests.ended() != null ? requests.ended()
                        : new BackupLostException("the server does not hold it any more", null));
            }
            return call;
        } finally {
            guard.unlock();
        }
    }

    public Open subscribe(Request.Subscribe subscribe, Feed feed) {
        guard.lock();
        try {
            Open call = new Open(Open.Kind.CALL, subscribe, feed, ticker.now(), config.requestTimeout().toNanos());
            requests.accept(call);
            return call;
        } finally {
            guard.unlock();
        }
    }

    /** Ends a subscription; the future is done when no job comes any more. */
    public CompletableFuture<?> unsubscribe(Open call) {
        guard.lock();
        try {
            if (!requests.isOpen(call) || call.isLeft) {
                return CompletableFuture.completedFuture(null);
            }
            call.isLeft = true;
            if (!call.onWire) {
                requests.forget(call);
                return CompletableFuture.completedFuture(null);
            }
            Open leave = new Open(Open.Kind.CALL, new Request.Unsubscribe(call.id), null, ticker.now(),
                    config.requestTimeout().toNanos());
            requests.accept(leave);
            return leave.future.whenComplete((answer, error) -> forgetLater(call));
        } finally {
            guard.unlock();
        }
    }

    private void forgetLater(Open call) {
        guard.lock();
        try {
            requests.forget(call);
        } finally {
            guard.unlock();
        }
    }

    /** Adds credit. */
    public Open credit(Open subscription, int jobs, long bytes) {
        return submit(new Request.Credit(subscription.id, jobs, bytes), null, false);
    }

    /** Ends a wait whose caller has left. Jobs or a backup that come all the same are given back. */
    public void cancel(Open left) {
        guard.lock();
        try {
            if (!requests.isOpen(left)) {
                return;
            }
            left.isLeft = true;
            if (!left.onWire && (left.doubts == 0 || left.isReserve())) {
                requests.forget(left);
            } else if (left.onWire && left.isReserve() && wire.isUp()) {
                requests.cancelAtServer(left);
            }
        } finally {
            guard.unlock();
        }
    }

    /** Releases jobs, again and again until the server has answered. Nobody waits for that. */
    public void giveBack(List<Lease> given, long delayMs) {
        guard.lock();
        try {
            requests.release(given, delayMs);
        } finally {
            guard.unlock();
        }
    }

    /** Waits for the first connection if need be. */
    public RequestLimits limits() {
        awaitConnectedOnce(config.requestTimeout(), false);
        guard.lock();
        try {
            Response.Welcome welcome = wire.welcome();
            return new RequestLimits(Integer.toUnsignedLong(welcome.frameBytesMax()), Integer.toUnsignedLong(welcome.bodyBytesMax()),
                    Wire.limit(welcome.pushJobsMax()), Wire.limit(welcome.leasesMax()), Wire.limit(welcome.reserveJobsMax()));
        } finally {
            guard.unlock();
        }
    }

    /** Waits until there is a connection. */
    public void awaitConnected(Duration timeout) {
        awaitConnectedOnce(timeout, true);
    }

    private void awaitConnectedOnce(Duration timeout, boolean now) {
        guard.lock();
        try {
            long left = timeout.toNanos();
            while (requests.ended() == null && (now ? !wire.isUp() : wire.welcome() == null)) {
                if (now && wire.welcome() == null && wire.missed() != null) {
                    throw wire.missed();
                }
                if (left <= 0) {
                    throw wire.notConnected(timeout);
                }
                left = guard.await(guard.changed, left);
            }
            if (requests.ended() != null) {
                throw requests.ended();
            }
        } finally {
            guard.unlock();
        }
    }

    public boolean isConnected() {
        guard.lock();
        try {
            return wire.isAlive();
        } finally {
            guard.unlock();
        }
    }

    /** This client's clock, in nanoseconds. */
    public long now() {
        return ticker.now();
    }

    /** For short tasks that do not wait. */
    public ScheduledExecutorService timer() {
        return timer;
    }

    /** Handlers that still run although their worker has ended: while there are some, the session is not ended by GOODBYE. */
    public void handlersLeft(int more) {
        guard.lock();
        handlersLeft += more;
        guard.unlock();
    }

    public void close(Duration deadline) {
        long until = ticker.now() + deadline.toNanos();
        guard.lock();
        try {
            if (requests.isClosing()) {
                return;
            }
            requests.beginClose();
            guard.changed.signalAll();
            while (requests.ended() == null && requests.areAwaited() && ticker.now() < until) {
                guard.awaitUninterruptibly(guard.room, until - ticker.now());
            }
            if (wire.isUp() && handlersLeft == 0) {
                Open goodbye = requests.ask(new Request.Goodbye());
                while (requests.ended() == null && requests.isOpen(goodbye) && ticker.now() < until) {
                    guard.awaitUninterruptibly(guard.room, until - ticker.now());
                }
            }
            end(Requests.closed());
        } finally {
            guard.unlock();
        }
    }

    // ---- the connector's side

    /** What the next HELLO says. */
    Request.Hello hello() {
        guard.lock();
        try {
            Response.Welcome known = wire.welcome();
            int options = (config.leasesOutlive() ? Bits.HelloOptions.LEASES_OUTLIVE : 0)
                    | (config.withoutSession() ? Bits.HelloOptions.NO_SESSION : 0);
            return new Request.Hello(Constants.PROTOCOL_VERSION, Constants.PROTOCOL_VERSION, options,
                    (int) config.heartbeat().toMillis(), known == null ? 0 : known.session(), known == null ? new byte[16] : known.secret(),
                    config.name(), config.token());
        } finally {
            guard.unlock();
        }
    }

    /** A HELLO that named the session was written, and nothing answered it. */
    void gaveUpHello() {
        guard.lock();
        hellosGivenUp++;
        guard.unlock();
    }

    List<String> members() {
        guard.lock();
        try {
            return wire.members();
        } finally {
            guard.unlock();
        }
    }

    Wire.Elsewhere takeElsewhere() {
        guard.lock();
        try {
            return wire.takeElsewhere();
        } finally {
            guard.unlock();
        }
    }

    /** Waits, unless the session ends; false if it has. */
    boolean pause(long nanos) {
        long until = ticker.now() + nanos;
        guard.lock();
        try {
            while (requests.ended() == null && ticker.now() < until) {
                guard.awaitUninterruptibly(guard.changed, until - ticker.now());
            }
            return requests.ended() == null;
        } finally {
            guard.unlock();
        }
    }

    void failed(Throwable failure) {
        guard.lock();
        wire.failed(failure);
        guard.unlock();
    }

    /** No address of a round led to the leader; with this reason if that will be the same next time. */
    void missed(ConnectionException reason) {
        guard.lock();
        wire.missed(reason);
        guard.changed.signalAll();
        guard.unlock();
    }

    /** There is no hope. */
    void giveUp(AdjournException cause) {
        LOG.log(Level.ERROR, "the client gives up: " + cause.getMessage());
        guard.lock();
        try {
            end(cause);
        } finally {
            guard.unlock();
        }
    }

    /** A connection was welcomed. False if the session has ended. */
    boolean up(Response.Welcome said, long helloSent, Connector.Link link) {
        guard.lock();
        try {
            if (requests.ended() != null) {
                return false;
            }
            Response.Welcome before = wire.welcome();
            boolean isFirst = before == null;
            if (!isFirst && !Arrays.equals(before.clusterId(), said.clusterId())) {
                end(new WrongClusterException("another cluster answers at " + link.address()));
                return false;
            }
            boolean resumed = !isFirst && said.isMarkedResumed() && said.session() == before.session();
            boolean kept = config.leasesOutlive() || resumed && said.isMarkedLeasesKept();
            if (!resumed) {
                hellosGivenUp = 0;
                requests.renumber();
            }
            if (!kept && !isFirst) {
                requests.tellFeeds(Feed::leasesLost);
            }
            leases.up(said, helloSent, kept);
            wire.up(said, link);
            answers.lookForUnseen(kept && !config.leasesOutlive() && !isFirst);
            requests.pump();
            guard.changed.signalAll();
            guard.tick.signalAll();
            return true;
        } finally {
            guard.unlock();
        }
    }

    /** The connection is gone. Returns whether it had answered anything. */
    boolean down(Connector.Link lost, Throwable cause) {
        guard.lock();
        try {
            if (!wire.is(lost)) {
                return false;
            }
            wire.failed(cause);
            if (isTakenOver) {
                end(new ClientClosedException("another process has taken the session over"));
                return wire.hasAnswered();
            }
            wire.down();
            requests.lost();
            requests.tellFeeds(feed -> feed.active(false));
            guard.changed.signalAll();
            return wire.hasAnswered();
        } finally {
            guard.unlock();
        }
    }

    /** Whether the client has ended, so that the loss of its connection is no news. */
    boolean hasEnded() {
        guard.lock();
        try {
            return requests.ended() != null;
        } finally {
            guard.unlock();
        }
    }

    /**
     * Waits for output of this connection, and exchanges the buffers. Returns {@code null} when the connection is over.
     */
    FrameWriter takeOutput(Connector.Link of, FrameWriter empty) {
        guard.lock();
        try {
            while (wire.is(of) && wire.out().size() == 0) {
                guard.awaitUninterruptibly(guard.changed, SECOND);
            }
            if (!wire.is(of)) {
                return null;
            }
            FrameWriter full = wire.takeOutput(empty);
            requests.pump();
            return full;
        } finally {
            guard.unlock();
        }
    }

    /** The other side took a part of the output. */
    void written(Connector.Link of) {
        guard.lock();
        if (wire.is(of)) {
            wire.written();
            requests.closeIfDrained();
        }
        guard.unlock();
    }

    /** Bytes came. */
    void heard(Connector.Link of, boolean withinFrame) {
        guard.lock();
        if (wire.is(of)) {
            wire.heard(withinFrame);
        }
        guard.unlock();
    }

    void answered(Connector.Link of, int id, Response response) {
        guard.lock();
        try {
            if (!wire.is(of)) {
                return;
            }
            if (id == 0) {
                unasked(response);
                return;
            }
            answers.came(id, response);
            requests.closeIfDrained();
            requests.pump();
        } finally {
            guard.unlock();
        }
    }

    private void unasked(Response response) {
        if (response instanceof Response.GoingAway away) {
            LOG.log(Level.INFO, "the server closes the connection: {0}", away.message());
            if (away.reason() == Choice.GoingAway.SESSION_TAKEN_OVER && hellosGivenUp > 0) {
                // By a HELLO of this client itself, perhaps. Each does that once.
                hellosGivenUp--;
            } else if (away.reason() == Choice.GoingAway.SESSION_TAKEN_OVER) {
                isTakenOver = true;
            }
            wire.drain(new Wire.Elsewhere("", away.reason() == Choice.GoingAway.DISCONNECTED ? DISCONNECTED_PAUSE_MS : 0));
            requests.closeIfDrained();
        } else if (response instanceof Response.Error error) {
            LOG.log(Level.WARNING, "the server refuses the connection: {0}", error.message());
            wire.drain(new Wire.Elsewhere(error.leader(), Integer.toUnsignedLong(error.retryAfterMs())));
        }
    }

    private void end(AdjournException cause) {
        if (requests.ended() != null) {
            return;
        }
        wire.end();
        requests.end(cause);
        wire.close("the client has ended");
        guard.afterwards(timer::shutdownNow);
        guard.changed.signalAll();
        guard.room.signalAll();
        guard.tick.signalAll();
        guard.afterwards(connector::stop);
    }

    // ---- time

    private void runClock() {
        guard.lock();
        try {
            while (requests.ended() == null) {
                long next = lookAtClock(ticker.now());
                if (requests.ended() == null) {
                    guard.awaitUninterruptibly(guard.tick, Math.max(2 * MS, Math.min(next, requests.isEmpty() ? SECOND : TICK_MAX)));
                }
            }
        } finally {
            guard.unlock();
        }
    }

    /** Does what is due. Returns for how long nothing else is. */
    private long lookAtClock(long now) {
        if (leases.presume(now)) {
            LOG.log(Level.WARNING, "no answer shows that the leases are kept: they are presumed lost");
            requests.tellFeeds(Feed::leasesLost);
            requests.release(leases.abandoned(), 0);
        }
        long next = Math.min(requests.takeUpLater(now), requests.expire(now));
        if (wire.isUp() || wire.isDraining()) {
            next = Math.min(next, beat(now));
        }
        requests.pump();
        return next;
    }

    /** Heartbeats, and the ends of a connection that time brings. */
    private long beat(long now) {
        if (now >= wire.silentAt()) {
            wire.close("nothing came for two heartbeats");
            return TICK_MAX;
        }
        if (wire.isDraining()) {
            if (now >= wire.drainUntil()) {
                wire.close("the server closes the connection");
            }
            return wire.drainUntil() - now;
        }
        Open stuck = requests.stuck(now);
        if (stuck != null) {
            wire.close(stuck.request.opcode() + " has had no answer for too long");
            return TICK_MAX;
        }
        if (wire.asksMembers(now)) {
            requests.ask(new Request.ClusterStatus());
        }
        if (wire.pings(now, leases.proven())) {
            requests.ask(new Request.Ping());
        }
        return wire.quietFor(now, leases.proven());
    }
}
