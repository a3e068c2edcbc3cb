package io.adjourn.client.internal.session;

import io.adjourn.client.AdjournException;
import io.adjourn.client.Applied;
import io.adjourn.client.ErrorCode;
import io.adjourn.client.Lease;
import io.adjourn.client.OutcomeUnknownException;
import io.adjourn.client.ProtocolException;
import io.adjourn.client.ServerException;
import io.adjourn.client.internal.wire.Constants;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * What an answer means: for the request that it answers, for the leases that it brings or settles, and for the connection. Jobs
 * that nobody waits for are given back. The session's lock guards it.
 */
final class Answers {
    private static final long MS = 1_000_000L;
    private static final long RETRY_FIRST = 50 * MS;
    private static final long RETRY_MAX = 1_000 * MS;

    private final Guard guard;
    private final Ticker ticker;
    private final Wire wire;
    private final Requests requests;
    private final LeaseBook leases;
    private final Unseen unseen = new Unseen();

    Answers(Guard guard, Ticker ticker, Wire wire, Requests requests, LeaseBook leases) {
        this.guard = guard;
        this.ticker = ticker;
        this.wire = wire;
        this.requests = requests;
        this.leases = leases;
    }

    /** The answer to the request of this id came. */
    void came(int id, Response response) {
        if (!(response instanceof Response.Pong)) {
            wire.moved();
        }
        Open call = requests.get(id);
        if (call == null || !call.onWire) {
            strayJobs(response);
        } else if (response instanceof Response.Error error) {
            if (!error.isMarkedRetryable()) {
                wire.answered();
            }
            refused(call, error);
        } else if (!(response instanceof Response.Unknown)) {
            wire.answered();
            leases.answered(call.sent, response);
            if (response instanceof Response.ClusterReport report) {
                wire.members(report);
            }
            fulfilled(call, response);
        }
    }

    /** A connection is there. If the session goes on with its leases, the server is asked for those whose jobs never came. */
    void lookForUnseen(boolean sessionGoesOn) {
        if (!sessionGoesOn) {
            unseen.close();
        } else if (requests.consumes()) {
            unseen.open();
            requests.ask(new Request.Leases(0, Wire.limit(wire.welcome().reserveJobsMax())));
        }
    }

    // ---- what was asked for

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
            requests.succeed(call, new Answer(leased, good));
        } else if (response instanceof Response.BackupReady ready) {
            requests.backupReady(call, ready);
        } else {
            int asked = items(call.request);
            int found = response instanceof Response.Pushed pushed ? pushed.results().size()
                    : response instanceof Response.Settled settled ? settled.results().size() : 0;
            if (response instanceof Response.Settled settled && asked == found) {
                noteSettled(call.request, settled.results());
            }
            if (asked != found) {
                requests.fail(call, new ProtocolException("the answer has " + found + " results for " + asked + " items"));
            } else {
                requests.succeed(call, Answer.of(response));
            }
        }
    }

    private void noteSettled(Request request, List<Response.SettleResult> results) {
        List<Lease> settled = request instanceof Request.Finish finish ? finish.leases()
                : request instanceof Request.Release release ? release.leases()
                : request instanceof Request.Bury bury ? bury.leases() : List.of();
        for (int i = 0; i < settled.size(); i++) {
            int code = results.get(i).code();
            if (code == 0 || code == ErrorCode.STALE_LEASE.number()) {
                leases.settled(settled.get(i));
            }
        }
    }

    private void fed(Open call, Response response) {
        if (response instanceof Response.Subscribed) {
            requests.uncount(call);
            call.isSubscribed = true;
            call.wasSubscribed = true;
            guard.afterwards(() -> {
                call.feed.active(true);
                call.future.complete(Answer.of(response));
            });
        } else if (response instanceof Response.Deliver deliver) {
            List<Grant> good = granted(deliver.jobs());
            if (call.isLeft) {
                requests.release(good.stream().map(grant -> grant.hold().lease()).toList(), Constants.RELEASE_NOT_STARTED);
            } else if (!good.isEmpty()) {
                guard.afterwards(() -> call.feed.delivered(good));
            }
        }
    }

    private void reserved(Open call, Response.Reserved reserved) {
        List<Grant> good = granted(reserved.jobs());
        List<Lease> given = good.stream().map(grant -> grant.hold().lease()).toList();
        long left = call.waitLeft(ticker.now());
        if (good.isEmpty() && left >= MS && !call.isUnwanted() && !requests.isClosing()) {
            // The server ended the wait early, because it stops or another connection speaks for the session; or the
            // leases were over when they came. One that always answers at once must not be asked all the time.
            requests.retry(call, Math.min(left, nextPause(call)));
        } else if (call.isUnwanted()) {
            requests.forget(call);
            requests.release(given, Constants.RELEASE_NOT_STARTED);
        } else {
            requests.forget(call);
            guard.afterwards(() -> {
                if (!call.future.complete(new Answer(reserved, good))) {
                    giveBack(given);
                }
            });
        }
    }

    private void giveBack(List<Lease> given) {
        guard.lock();
        try {
            requests.release(given, Constants.RELEASE_NOT_STARTED);
        } finally {
            guard.unlock();
        }
    }

    private List<Grant> granted(List<Response.Delivered> jobs) {
        unseen.came(jobs);
        List<Grant> good = new ArrayList<>();
        List<Lease> late = new ArrayList<>();
        leases.take(jobs, good, late);
        requests.release(late, Constants.RELEASE_NOT_STARTED);
        return good;
    }

    private void strayJobs(Response response) {
        List<Response.Delivered> jobs = response instanceof Response.Reserved reserved ? reserved.jobs()
                : response instanceof Response.Deliver deliver ? deliver.jobs() : List.of();
        unseen.came(jobs);
        requests.release(jobs.stream().map(job -> new Lease(job.job(), job.fence())).toList(), Constants.RELEASE_NOT_STARTED);
    }

    /** The answer to a question of this connection's own. */
    private void own(Open call, Response response) {
        requests.forget(call);
        guard.afterwards(() -> call.future.complete(Answer.of(response)));
        if (response instanceof Response.Leased leased && call.request instanceof Request.Leases asked) {
            List<Lease> lost = unseen.among(leased.jobs());
            requests.release(lost, Constants.RELEASE_NOT_STARTED);
            if (!leased.isMarkedMore()) {
                unseen.close();
            } else if (wire.isUp()) {
                long after = leased.jobs().isEmpty() ? asked.after() : leased.jobs().get(leased.jobs().size() - 1).job();
                requests.ask(new Request.Leases(after, asked.jobsMax()));
            }
        }
    }

    // ---- refusals

    private void refused(Open call, Response.Error error) {
        if (!mayBeApplied(error)) {
            call.doubts = Math.max(0, call.doubts - 1);
        }
        ErrorCode code = ErrorCode.of(error.code());
        boolean isElsewhere = code == ErrorCode.NOT_LEADER || code == ErrorCode.NO_LEADER || code == ErrorCode.STOPPING
                || code == ErrorCode.SESSION_UNKNOWN;
        boolean isGoodbye = call.request.opcode() == Opcode.GOODBYE;
        if (isElsewhere && !isGoodbye) {
            wire.drain(new Wire.Elsewhere(error.leader(), Integer.toUnsignedLong(error.retryAfterMs())));
        }
        if (isGoodbye || call.request instanceof Request.Unsubscribe || call.kind == Open.Kind.CONNECTION) {
            if (call.request instanceof Request.Leases && !isElsewhere) {
                unseen.close();
            } else if (call.request.opcode() == Opcode.CLUSTER_STATUS && !error.isMarkedRetryable()) {
                wire.askNoMembers();
            }
            requests.succeed(call, Answer.of(new Response.Done()));
            return;
        }
        AdjournException refusal = ServerException.ofRequest(error.code(), error.isMarkedRetryable(),
                mayBeApplied(error) ? Applied.UNKNOWN : Applied.NO, Integer.toUnsignedLong(error.retryAfterMs()), error.message());
        call.refusal = refusal;
        boolean mayRepeat = (!mayBeApplied(error) || call.mayRepeat()) && !call.isUnwanted();
        if (isElsewhere && mayRepeat) {
            requests.offWire(call);
            return;
        }
        if (error.isMarkedRetryable() && code != ErrorCode.PAUSED && mayRepeat && call.retriesRefusals()) {
            requests.retry(call, Integer.toUnsignedLong(error.retryAfterMs()) * MS + nextPause(call));
            return;
        }
        boolean isDoubtful = call.doubts > 0 && (call.isPush() || mayBeApplied(error) && !call.mayRepeat());
        requests.fail(call, isDoubtful
                ? new OutcomeUnknownException("the server cannot say what became of it: " + error.message(), refusal) : refusal);
    }

    private static boolean mayBeApplied(Response.Error error) {
        return error.applied() != Applied.NO.number();
    }

    /** Between 0 and a bound that grows with each. */
    private static long nextPause(Open call) {
        long bound = Math.min(RETRY_MAX, RETRY_FIRST << Math.min(call.retries, 10));
        call.retries++;
        return ThreadLocalRandom.current().nextLong(bound + 1);
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
}
