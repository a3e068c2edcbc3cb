package io.adjourn.client.internal.session;

import io.adjourn.client.AdjournException;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import java.util.concurrent.CompletableFuture;

/** A request that was handed over and has no answer yet. The session's lock guards all fields that change. */
public final class Open {
    /** What the request is for. */
    enum Kind {
        /** A caller waits for its answer. */
        CALL,
        /** A heartbeat, a question for the members, or for leases: about one connection. */
        CONNECTION,
        /** A release of jobs that nobody wants. */
        GIVE_BACK
    }

    final Kind kind;
    final CompletableFuture<Answer> future = new CompletableFuture<>();
    final long accepted;
    final long timeout;
    final Feed feed;
    Request request;
    int id;
    /** It was written to the present connection. */
    boolean onWire;
    /** It counts among the unanswered requests of the connection. */
    boolean counts;
    /** The server has the subscription, on the present connection; or had it once. */
    boolean isSubscribed;
    boolean wasSubscribed;
    long sent;
    /** How long the server may take on purpose from then on. */
    long wait;
    /** How many times it was sent without an answer that says that it was not applied. */
    int doubts;
    int retries;
    long notBefore;
    /** Its caller has left. */
    boolean isLeft;
    /** What it was refused with last. */
    AdjournException refusal;

    Open(Kind kind, Request request, Feed feed, long accepted, long timeout) {
        this.kind = kind;
        this.request = request;
        this.feed = feed;
        this.accepted = accepted;
        this.timeout = timeout;
    }

    public CompletableFuture<Answer> future() {
        return future;
    }

    boolean isPush() {
        return request instanceof Request.Push;
    }

    boolean isReserve() {
        return request instanceof Request.Reserve;
    }

    /** About a backup, which ends with its connection. */
    boolean isOfBackup() {
        return request.opcode() == Opcode.BACKUP_READ || request.opcode() == Opcode.BACKUP_END;
    }

    /**
     * Whether it is sent again after a refusal that is retryable. A change of the cluster, a backup and a step of a test's clock are
     * for the caller to repeat.
     */
    boolean retriesRefusals() {
        return switch (request.opcode()) {
            case CLUSTER_ADD, CLUSTER_REMOVE, CLUSTER_TRANSFER, BACKUP_BEGIN, BACKUP_READ, BACKUP_END, ADVANCE -> false;
            default -> true;
        };
    }

    /** Nobody wants its answer any more. */
    boolean isUnwanted() {
        return kind == Kind.CALL && (isLeft || future.isDone() && feed == null);
    }

    /** What is left of the wait of a reserve, in nanoseconds. */
    long waitLeft(long now) {
        return Math.max(0, accepted + ((Request.Reserve) request).waitMs() * 1_000_000L - now);
    }

    boolean mayRepeat() {
        return request.isRepeatable();
    }

    /** Whether it changes the queue, so that a lost answer leaves a doubt. */
    boolean changes() {
        return switch (request.opcode()) {
            case PUSH, FINISH, RELEASE, TOUCH, BURY, DELETE, RESCHEDULE, EDIT, RUN_NOW, KICK, KICK_MANY, BULK, PAUSE, RESUME,
                    DISCONNECT, TOPIC_SET, TOPIC_DELETE, CLUSTER_ADD, CLUSTER_REMOVE, CLUSTER_TRANSFER, ADVANCE, SCHEDULE_SET,
                    SCHEDULE_DELETE, SCHEDULE_PAUSE, SCHEDULE_RESUME, SCHEDULE_RUN -> true;
            case SCHEDULE_FILL -> ((Request.ScheduleFill) request).dryRun() == 0;
            default -> false;
        };
    }

    /** How much memory it holds, about. */
    long bytes() {
        if (request instanceof Request.Push push) {
            return push.jobs().stream().mapToLong(Request.NewJob::frameBytes).sum();
        }
        if (request instanceof Request.ScheduleSet set) {
            return 64L + set.template().attributes().length + set.template().body().length;
        }
        return request instanceof Request.Edit edit ? 64L + edit.attributes().length + edit.body().length : 64;
    }
}
