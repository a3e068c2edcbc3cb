package io.adjourn.client.internal.session;

import io.adjourn.client.AdjournException;
import io.adjourn.client.Applied;
import io.adjourn.client.BackupLostException;
import io.adjourn.client.ClientClosedException;
import io.adjourn.client.ErrorCode;
import io.adjourn.client.IdempotencyKey;
import io.adjourn.client.Lease;
import io.adjourn.client.Limits;
import io.adjourn.client.OutcomeUnknownException;
import io.adjourn.client.RequestTimeoutException;
import io.adjourn.client.ServerException;
import io.adjourn.client.UsageException;
import io.adjourn.client.internal.wire.FieldTooLongException;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.RequestEncoder;
import io.adjourn.client.internal.wire.Response;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * The requests without an answer: in which order they are sent, under which numbers, and what becomes of them when the connection
 * is lost or their time is over. The session's lock guards it.
 *
 * <pre>
 * accepted --> in line --> on the wire --> answered
 *                 ^             |
 *                 +--- lost ----+--> outcome unknown (not safe to repeat, or the session is new)
 * </pre>
 */
final class Requests {
    private static final long MS = 1_000_000L;
    private static final long SECOND = 1_000 * MS;
    private static final long BROWSE_MAX = 600 * SECOND;
    private static final long CHECKPOINT_MAX = 3_600 * SECOND;
    /**
     * Jobs with keys that may be sent and not answered. The queue remembers 65,536 of them, of all clients, and cannot tell a key
     * that it has forgotten from a new one: a repeat of more jobs than that would push the first ones a second time.
     */
    private static final int KEYED_JOBS_MAX = 8_192;
    private static final int OPEN_MAX = 16_384;
    private static final long OPEN_BYTES_MAX = 64L << 20;
    private static final long GIVE_BACK_MAX = 60 * SECOND;

    private final Guard guard;
    private final Ticker ticker;
    private final Wire wire;
    private final Map<Integer, Open> open = new LinkedHashMap<>();
    private final ArrayDeque<Open> line = new ArrayDeque<>();
    private final List<Open> later = new ArrayList<>();
    /** Pushes that have numbers, by the first of them. */
    private final TreeMap<Long, Open> numbered = new TreeMap<>();
    private AdjournException ended;
    private boolean isClosing;
    private boolean consumes;
    /** The backup that the server holds for the present connection. */
    private Response.BackupReady backup;
    private long openBytes;
    private int lastId;
    private long nextSequence = 1;
    /** The next key, if pushes have keys and no numbers; else {@code null}. */
    IdempotencyKey nextKey;
    /** Jobs with keys that were sent on the present connection and are not answered. */
    private int keyedJobs;

    Requests(Guard guard, Ticker ticker, Wire wire, boolean hasKeys) {
        this.guard = guard;
        this.ticker = ticker;
        this.wire = wire;
        this.nextKey = hasKeys ? IdempotencyKey.random() : null;
    }

    // ---- what is open

    /** The request of this id; {@code null} if it has ended. */
    Open get(int id) {
        return open.get(id);
    }

    boolean isOpen(Open call) {
        return open.get(call.id) == call;
    }

    boolean isEmpty() {
        return open.isEmpty();
    }

    /** All of them, as of now. */
    List<Open> all() {
        return List.copyOf(open.values());
    }

    /** Whether somebody waits for an answer. */
    boolean areAwaited() {
        return open.values().stream()
                .anyMatch(call -> call.feed == null && call.kind != Open.Kind.CONNECTION && !call.isUnwanted());
    }

    /** Whether a reserve or a subscription was ever sent. */
    boolean consumes() {
        return consumes;
    }

    /** Whether the server holds this backup for the present connection. */
    boolean holds(Response.BackupReady other) {
        return backup == other && ended == null;
    }

    /** What ended them all; {@code null} while they go on. */
    AdjournException ended() {
        return ended;
    }

    boolean isClosing() {
        return isClosing;
    }

    // ---- taking requests in

    /** Waits while too much is under way. */
    void awaitRoom(Open call) {
        long left = call.timeout;
        while (ended == null && (open.size() >= OPEN_MAX || openBytes + call.bytes() > OPEN_BYTES_MAX && !open.isEmpty())) {
            if (left <= 0) {
                throw new RequestTimeoutException("too many requests wait to be sent", false, wire.lastFailure());
            }
            left = guard.await(guard.room, left);
        }
    }

    void accept(Open call) {
        if (ended != null || isClosing && call.kind == Open.Kind.CALL && !settles(call.request)) {
            AdjournException cause = ended != null ? ended : closed();
            guard.afterwards(() -> {
                call.future.completeExceptionally(cause);
                if (call.feed != null) {
                    call.feed.ended(cause);
                }
            });
            return;
        }
        if (call.request.opcode() == Opcode.BACKUP_BEGIN || call.request.opcode() == Opcode.BACKUP_END) {
            // The server releases what it holds when it gets the request.
            backup = null;
        }
        if (nextKey != null && call.request instanceof Request.Push push && !Pushes.hasKey(push)) {
            call.request = Pushes.of(push.topic(), push.jobs(), takeKey(push.jobs().size()), 0);
        }
        enter(call);
        line.add(call);
        pump();
    }

    /** A key for the first of these jobs; the others have those that follow. */
    IdempotencyKey takeKey(int jobs) {
        IdempotencyKey key = nextKey.hasRoomFor(jobs) ? nextKey : IdempotencyKey.random();
        nextKey = key.hasRoomFor(jobs + 1L) ? key.plus(jobs) : IdempotencyKey.random();
        return key;
    }

    private void enter(Open call) {
        do {
            lastId++;
        } while (lastId == 0 || open.containsKey(lastId));
        call.id = lastId;
        open.put(call.id, call);
        openBytes += call.bytes();
        if (open.size() == 1) {
            guard.tick.signalAll();
        }
    }

    /** Gives jobs back. Nobody waits for the answer. */
    void release(List<Lease> given, long delayMs) {
        if (given.isEmpty() || ended != null) {
            return;
        }
        int part = wire.welcome() == null ? Limits.LEASES_MAX : Wire.limit(wire.welcome().leasesMax());
        for (int from = 0; from < given.size(); from += part) {
            List<Lease> some = List.copyOf(given.subList(from, Math.min(given.size(), from + part)));
            accept(new Open(Open.Kind.GIVE_BACK, new Request.Release(delayMs, some, ""), null, ticker.now(), GIVE_BACK_MAX));
        }
    }

    /**
     * The server holds a backup. If another request for one is under way, it releases this one for that; if its caller has left, the
     * client lets it go.
     */
    void backupReady(Open call, Response.BackupReady ready) {
        succeed(call, Answer.of(ready));
        if (open.values().stream().anyMatch(other -> other.request.opcode() == Opcode.BACKUP_BEGIN)) {
            return;
        }
        backup = ready;
        if (call.isUnwanted()) {
            accept(new Open(Open.Kind.CONNECTION, new Request.BackupEnd(), null, ticker.now(), GIVE_BACK_MAX));
        }
    }

    /** Tells the server that nobody waits for this reserve any more. */
    void cancelAtServer(Open reserve) {
        accept(new Open(Open.Kind.CONNECTION, new Request.Cancel(reserve.id), null, ticker.now(), GIVE_BACK_MAX));
    }

    // ---- sending

    /** Sends what is in line, as far as the limits allow. */
    void pump() {
        while (wire.isUp() && !wire.isFull() && !line.isEmpty()) {
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
        if (Pushes.hasKey(push)) {
            return keyedJobs == 0 || keyedJobs + push.jobs().size() <= KEYED_JOBS_MAX;
        }
        return Pushes.isKnown(push) || numbered.isEmpty() || nextSequence + push.jobs().size() - numbered.firstKey() <= Limits.PRODUCER_WINDOW_MAX;
    }

    private void send(Open call) {
        long now = ticker.now();
        if (call.request instanceof Request.Push push && !Pushes.isKnown(push)) {
            call.request = Pushes.withSequence(push, nextSequence);
            numbered.put(nextSequence, call);
            nextSequence += push.jobs().size();
        }
        Request frame = call.request;
        call.wait = waitOf(frame);
        if (frame instanceof Request.Reserve reserve) {
            long left = call.waitLeft(now) / MS;
            // 0 would not wait at all, and be a request of another kind.
            frame = new Request.Reserve(reserve.waitMs() == 0 ? 0 : Math.max(1, left), reserve.jobsMax(), reserve.topics(),
                    reserve.weights());
            call.wait = left * MS;
        }
        int start = wire.out().size();
        try {
            RequestEncoder.encode(frame, call.id, wire.out());
        } catch (FieldTooLongException e) {
            wire.out().truncate(start);
            fail(call, new UsageException(e.getMessage(), e));
            return;
        }
        long length = wire.out().size() - start - 4L;
        if (length > Integer.toUnsignedLong(wire.welcome().frameBytesMax())) {
            wire.out().truncate(start);
            fail(call, ServerException.ofRequest(ErrorCode.TOO_LARGE.number(), false, Applied.NO, 0,
                    "a frame of " + length + " bytes is above the server's limit"));
            return;
        }
        consumes |= call.isReserve() || call.feed != null;
        call.onWire = true;
        call.sent = now;
        call.doubts++;
        call.counts = true;
        wire.inFlight++;
        keyedJobs += keyedJobs(call);
        guard.changed.signalAll();
    }

    /** Sends a question of this connection's own at once. */
    Open ask(Request request) {
        Open own = new Open(Open.Kind.CONNECTION, request, null, ticker.now(), Long.MAX_VALUE / 2);
        enter(own);
        send(own);
        return own;
    }

    // ---- the connection changes

    /** The connection is gone: they wait in line for the next one. */
    void lost() {
        line.clear();
        later.clear();
        backup = null;
        keyedJobs = 0;
        all().forEach(this::afterLoss);
        line.addAll(open.values());
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
        } else if (call.isOfBackup()) {
            fail(call, new BackupLostException("its connection was lost", wire.lastFailure()));
        } else if (wasOnWire && !call.mayRepeat()) {
            fail(call, new OutcomeUnknownException("the connection was lost before the answer to " + call.request.opcode()));
        }
    }

    /** The session is a new one, or there is none: numbers start at 1 again. */
    void renumber() {
        nextSequence = 1;
        numbered.clear();
        for (Open call : List.copyOf(open.values())) {
            if (call.request instanceof Request.Push push && !Pushes.hasKey(push)) {
                if (call.doubts > 0) {
                    fail(call, new OutcomeUnknownException("the session was forgotten before the push was answered"));
                } else {
                    call.request = Pushes.withSequence(push, 0);
                }
            }
        }
    }

    /** It was refused and waits for another connection. */
    void offWire(Open call) {
        call.onWire = false;
        call.isSubscribed = false;
        uncount(call);
        if (call.feed != null) {
            guard.afterwards(() -> call.feed.active(false));
        }
    }

    /** It is sent again after a pause. */
    void retry(Open call, long pause) {
        offWire(call);
        call.notBefore = ticker.now() + pause;
        later.add(call);
        guard.tick.signalAll();
    }

    void closeIfDrained() {
        if (wire.isDraining() && wire.out().size() == 0
                && open.values().stream().noneMatch(call -> call.onWire && call.feed == null && call.kind != Open.Kind.CONNECTION)) {
            wire.close("drained");
        }
    }

    void tellFeeds(Consumer<Feed> what) {
        for (Open call : open.values()) {
            if (call.feed != null && !call.isLeft) {
                guard.afterwards(() -> what.accept(call.feed));
            }
        }
    }

    // ---- time

    /** Puts those in line whose pause is over. Returns for how long none is due. */
    long takeUpLater(long now) {
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
        return next;
    }

    /** Ends those whose time is over. Returns for how long no other is. */
    long expire(long now) {
        long next = SECOND;
        for (Open call : all()) {
            long left = call.accepted + call.timeout - now;
            if (left <= 0 && !call.wasSubscribed && call.kind != Open.Kind.CONNECTION) {
                expire(call);
            } else if (!call.wasSubscribed && left > 0) {
                next = Math.min(next, left);
            }
        }
        return next;
    }

    private void expire(Open call) {
        if (call.isUnwanted()) {
            return;
        }
        boolean wasSent = call.doubts > 0;
        AdjournException error;
        if (wasSent && call.changes()) {
            error = new OutcomeUnknownException("no answer to " + call.request.opcode() + " in time", wire.lastFailure());
        } else if (call.refusal != null) {
            error = call.refusal;
        } else if (!wasSent && wire.isDown()) {
            error = wire.notConnected(Duration.ofNanos(call.timeout));
        } else {
            error = new RequestTimeoutException("no answer to " + call.request.opcode() + " in time", wasSent, wire.lastFailure());
        }
        if (call.onWire && call.feed == null) {
            // Its id and its numbers are in use until the answer comes, or the connection is lost.
            call.isLeft = true;
            guard.afterwards(() -> call.future.completeExceptionally(error));
            if (call.isReserve() && wire.isUp()) {
                cancelAtServer(call);
            }
            guard.room.signalAll();
        } else {
            fail(call, error);
        }
    }

    /** The request that has waited too long for its answer on a connection on which others are heard; {@code null} without one. */
    Open stuck(long now) {
        for (Open call : open.values()) {
            if (call.onWire && !call.isSubscribed && now >= wire.stuckAt(call.sent + call.wait)) {
                return call;
            }
        }
        return null;
    }

    // ---- ends

    void succeed(Open call, Answer answer) {
        forget(call);
        guard.afterwards(() -> call.future.complete(answer));
    }

    void fail(Open call, AdjournException error) {
        forget(call);
        guard.afterwards(() -> {
            call.future.completeExceptionally(error);
            if (call.feed != null) {
                call.feed.ended(error);
            }
        });
    }

    /** Takes it out of everything. */
    void forget(Open call) {
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
        guard.room.signalAll();
    }

    /** It does not count among the unanswered requests any more. */
    void uncount(Open call) {
        if (call.counts) {
            call.counts = false;
            wire.inFlight--;
            keyedJobs -= keyedJobs(call);
        }
    }

    private static int keyedJobs(Open call) {
        return call.request instanceof Request.Push push && Pushes.hasKey(push) ? push.jobs().size() : 0;
    }

    /** No new ones are taken, and long polls end. */
    void beginClose() {
        isClosing = true;
        for (Open call : all()) {
            if (call.isReserve()) {
                fail(call, closed());
            }
        }
    }

    void end(AdjournException cause) {
        ended = cause;
        for (Open call : all()) {
            boolean isDoubtful = call.doubts > 0 && call.changes();
            fail(call, isDoubtful ? new OutcomeUnknownException("the client ended before the answer", cause) : cause);
        }
    }

    // ---- kinds of requests

    /** How long the server may take for it on purpose, in nanoseconds: to scan many jobs, or to write a checkpoint. */
    static long waitOf(Request request) {
        return switch (request.opcode()) {
            case LIST, COUNT, BULK, PEEK, ADVANCE -> BROWSE_MAX;
            case BACKUP_BEGIN -> CHECKPOINT_MAX;
            default -> 0;
        };
    }

    private static boolean settles(Request request) {
        return switch (request.opcode()) {
            case FINISH, RELEASE, BURY, UNSUBSCRIBE -> true;
            default -> false;
        };
    }

    static ClientClosedException closed() {
        return new ClientClosedException("the client is closed");
    }
}
