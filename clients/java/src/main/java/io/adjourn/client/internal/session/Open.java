package io.adjourn.client.internal.session;

import io.adjourn.client.AdjournException;
import io.adjourn.client.internal.wire.Request;
import java.util.concurrent.CompletableFuture;

/** A request without an answer. The session's lock guards all fields that change. */
final class Open implements Exchange.Call {
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

    @Override
    public CompletableFuture<Answer> future() {
        return future;
    }

    boolean isPush() {
        return request instanceof Request.Push;
    }

    boolean isReserve() {
        return request instanceof Request.Reserve;
    }

    /** Nobody wants its answer any more. */
    boolean isUnwanted() {
        return kind == Kind.CALL && (isLeft || future.isDone() && feed == null);
    }

    boolean mayRepeat() {
        return isPush() || request.repeatable();
    }

    /** How much memory it holds, about. */
    long bytes() {
        return request instanceof Request.Push push ? push.jobs().stream().mapToLong(Request.PushJob::frameBytes).sum() : 64;
    }
}
