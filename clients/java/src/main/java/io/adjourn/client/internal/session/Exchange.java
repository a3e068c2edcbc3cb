package io.adjourn.client.internal.session;

import io.adjourn.client.Lease;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;

/** Carries requests to a queue: a {@link Session} to a server, or the fake to itself. */
public interface Exchange {
    /** A request that was handed over. */
    interface Call {
        CompletableFuture<Answer> future();
    }

    /** The limits of one request. */
    record Limits(long frameBytesMax, long bodyBytesMax, int pushJobsMax, int leasesMax, int reserveJobsMax) {
    }

    /** Throws UsageException if there is no session, which could hold leases. */
    default void needSession() {
    }

    /** Hands a request over. Waits while too much is under way, unless {@code mayWait} is false. */
    Call submit(Request request, Duration timeout, boolean mayWait);

    /** Hands over a request about a backup. It fails with BackupLostException if the server does not hold the backup any more. */
    Call submitOf(Response.BackupReady backup, Request request);

    /** Ends a wait whose caller has left. Jobs or a backup that come all the same are given back. */
    void cancel(Call call);

    Call subscribe(Request.Subscribe subscribe, Feed feed);

    /** Ends a subscription; the future is done when no job comes any more. */
    CompletableFuture<?> unsubscribe(Call subscription);

    /** Adds credit. */
    Call credit(Call subscription, int jobs, long bytes);

    /** Releases jobs, again and again until the server has answered. Nobody waits for that. */
    void giveBack(List<Lease> leases, long delayMs);

    /** Waits for the first connection if need be. */
    Limits limits();

    /** Waits until there is a connection. */
    void awaitConnected(Duration timeout);

    boolean isConnected();

    /** This client's clock, in nanoseconds. */
    long now();

    /** For short tasks that do not wait. */
    ScheduledExecutorService timer();

    /** Handlers that still run although their worker has ended: while there are some, the session is not ended by GOODBYE. */
    void handlersLeft(int more);

    void close(Duration deadline);
}
