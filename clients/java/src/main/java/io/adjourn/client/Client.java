package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.session.Answer;
import io.adjourn.client.internal.session.Grant;
import io.adjourn.client.internal.session.Open;
import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.wire.Constants;
import io.adjourn.client.internal.wire.Request;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A session with an Adjourn queue. Thread-safe; one for the whole program is enough. It finds the leader by itself, reconnects
 * for ever, and resumes its session; calls only take longer meanwhile.
 *
 * <p>When the connection is lost, pushes are repeated under the same sequence numbers, or keys without a session, so that the
 * queue accepts each once; reads, {@code finish}, {@code release}, {@code touch}, {@code bury}, {@code delete} by id,
 * {@code pause} and {@code resume}, of schedules too, {@code setTopic} and {@code setGroup} are repeated because that does no harm.
 * Everything else that was sent ends with {@link OutcomeUnknownException}.
 *
 * <p>A call waits for its answer at most for the builder's {@code requestTimeout}. All errors are {@link AdjournException}s.
 */
public final class Client implements AutoCloseable {
    private static final Duration CLOSE_MAX = Duration.ofSeconds(5);
    private static final Duration WORKERS_MAX = Duration.ofSeconds(30);
    private static final Duration WAIT_MAX = Duration.ofMillis(Limits.WAIT_MS_MAX);

    private final Session session;
    private final Producer producer;
    private final Tracing tracing;
    /** What the calls of this class wait for. */
    private final AsyncClient direct;
    private final AsyncClient async;
    /** They stop before the session ends. */
    private final Workers workers = new Workers();

    Client(Session session, UnaryOperator<NewJob> onPush, Tracing tracing) {
        this.session = session;
        this.producer = new Producer(session, onPush, tracing);
        this.tracing = tracing;
        this.direct = new AsyncClient(this, session, false);
        this.async = new AsyncClient(this, session, true);
    }

    /** Makes a client. */
    public static ClientBuilder builder() {
        return new ClientBuilder();
    }

    /** The operations without waiting for their answers. */
    public AsyncClient async() {
        return async;
    }

    // ---- producers

    /** Adds one job. Returns when it is durable; throws what it was refused with. */
    public PushResult push(String topic, NewJob job) {
        return pushAll(topic, List.of(job)).get(0).orThrow();
    }

    /**
     * Adds jobs, in as few requests as the server's limits allow. One result per job, in order: look at each. Throws only if
     * all of them failed with the same request.
     */
    public List<PushResult> pushAll(String topic, List<NewJob> jobs) {
        return await(producer.push(topic, jobs));
    }

    /** As {@link #push}, without waiting for the answer. Waits itself while too much is under way. */
    public CompletableFuture<PushResult> pushAsync(String topic, NewJob job) {
        return pushAllAsync(topic, List.of(job)).thenApply(results -> results.get(0).orThrow());
    }

    /** As {@link #pushAll}, without waiting for the answers. */
    public CompletableFuture<List<PushResult>> pushAllAsync(String topic, List<NewJob> jobs) {
        // What callers chain must not run in the thread that reads the socket.
        return producer.push(topic, jobs).thenApplyAsync(Function.identity());
    }

    /** As {@link #push(String, NewJob)}, under a key: a repeat with the same key adds no second job, in another process too. */
    public PushResult push(String topic, NewJob job, IdempotencyKey key) {
        return pushAll(topic, List.of(job), key).get(0).orThrow();
    }

    /**
     * As {@link #pushAll(String, List)}, under a key: a repeat of the same list with the same key adds no second jobs, in another process
     * too. A job that was refused is pushed anew. The queue remembers the jobs for a day, as long as there are not too many of them. A list
     * has at most {@link Limits#IDEMPOTENT_LIST_JOBS_MAX} jobs; if it needs several requests, they go one after the other, and what follows
     * one that fails is not sent: its jobs have the same error. Throws {@link UsageException} if the key has no room for the jobs.
     */
    public List<PushResult> pushAll(String topic, List<NewJob> jobs, IdempotencyKey key) {
        return await(producer.push(topic, jobs, key));
    }

    /** As {@link #pushAll(String, List, IdempotencyKey)}, without waiting for the answers. */
    public CompletableFuture<List<PushResult>> pushAllAsync(String topic, List<NewJob> jobs, IdempotencyKey key) {
        return producer.push(topic, jobs, key).thenApplyAsync(Function.identity());
    }

    // ---- consumers

    /** Waits until jobs of the topic are ready, and leases up to {@code jobsMax} of them; empty when the wait is over. */
    public List<Job> reserve(String topic, int jobsMax, Duration wait) {
        return reserve(List.of(TopicShare.of(topic)), jobsMax, wait);
    }

    /** As {@link #reserve(String, int, Duration)} for up to 64 topics, in turns by their weights if they have some. */
    public List<Job> reserve(List<TopicShare> topics, int jobsMax, Duration wait) {
        Open call = session.submit(reserveRequest(topics, jobsMax, wait), null, true);
        try {
            return jobs(await(call.future()).grants());
        } catch (InterruptedCallException e) {
            leave(call);
            throw e;
        }
    }

    /** As {@link #reserve(List, int, Duration)}, without waiting. To cancel the future ends the wait. */
    public CompletableFuture<List<Job>> reserveAsync(List<TopicShare> topics, int jobsMax, Duration wait) {
        Open call = session.submit(reserveRequest(topics, jobsMax, wait), null, true);
        CompletableFuture<List<Job>> jobs = new CompletableFuture<>();
        call.future().whenCompleteAsync((answer, error) -> {
            if (error != null) {
                jobs.completeExceptionally(error);
            } else if (!jobs.complete(jobs(answer.grants()))) {
                session.giveBack(leases(answer), Constants.RELEASE_NOT_STARTED);
            }
        });
        jobs.whenComplete((done, error) -> {
            if (error instanceof CancellationException) {
                leave(call);
            }
        });
        return jobs;
    }

    private Request.Reserve reserveRequest(List<TopicShare> topics, int jobsMax, Duration wait) {
        session.needSession();
        if (wait.compareTo(WAIT_MAX) > 0) {
            throw new UsageException("a reserve waits for " + WAIT_MAX + " at most, not for " + wait);
        }
        return new Request.Reserve(Millis.of(wait), jobsMax, TopicShare.names(topics), TopicShare.weights(topics));
    }

    private void leave(Open call) {
        session.cancel(call);
        if (call.future().isDone() && !call.future().isCompletedExceptionally()) {
            session.giveBack(leases(call.future().join()), Constants.RELEASE_NOT_STARTED);
        }
    }

    private static List<Lease> leases(Answer answer) {
        return answer.grants().stream().map(grant -> grant.hold().lease()).toList();
    }

    /** Jobs as they become ready, at most {@code creditJobs} at once. It survives reconnects. */
    public Subscription subscribe(String topic, int creditJobs) {
        return subscribe(List.of(TopicShare.of(topic)), creditJobs, Limits.CREDIT_BYTES_MAX);
    }

    /** As {@link #subscribe(String, int)} for up to 64 topics, and at most so many bytes of bodies at once. */
    public Subscription subscribe(List<TopicShare> topics, int creditJobs, long creditBytes) {
        session.needSession();
        Subscription subscription = new Subscription(this, session, creditJobs);
        Open call = session.subscribe(new Request.Subscribe(creditJobs, creditBytes, TopicShare.names(topics),
                TopicShare.weights(topics)), subscription.feed());
        subscription.begun(call);
        try {
            await(call.future());
        } catch (AdjournException e) {
            session.unsubscribe(call);
            throw e;
        }
        return subscription;
    }

    /** The leases that this session holds, with their jobs, by job id. */
    public List<Job> leases() {
        return await(direct.leases());
    }

    /** The jobs are done. One result per lease. */
    public List<SettleResult> finish(List<Lease> leases) {
        return await(direct.finish(leases));
    }

    /** Gives jobs back; {@code reason} may be empty. */
    public List<SettleResult> release(List<Lease> leases, Release how, String reason) {
        return await(direct.release(leases, how, reason));
    }

    /** Starts leases again, for each job's own time to run. */
    public List<SettleResult> touch(List<Lease> leases) {
        return await(direct.touch(leases));
    }

    /** Starts leases again, for this time. */
    public List<SettleResult> touch(List<Lease> leases, Duration ttr) {
        return await(direct.touch(leases, ttr));
    }

    /** Sets jobs aside until they are kicked or deleted; {@code reason} may be empty. */
    public List<SettleResult> bury(List<Lease> leases, String reason) {
        return await(direct.bury(leases, reason));
    }

    CompletableFuture<List<SettleResult>> settle(List<Lease> leases, Function<List<Lease>, Request> request, boolean mayWait) {
        return direct.settle(leases, request, mayWait);
    }

    // ---- one job

    /** Shows one job. Throws {@link ServerException.NotFound} without one; a finished job is shown for a while: check its state. */
    public JobInfo get(JobRef job) {
        return await(direct.get(job));
    }

    /** Removes one job, whatever its state. */
    public Changed delete(JobRef job) {
        return await(direct.delete(job));
    }

    /** Gives a delayed or ready job a new due time. */
    public Changed reschedule(JobRef job, Due due) {
        return await(direct.reschedule(job, due));
    }

    /**
     * As {@link #reschedule(JobRef, Due)}, only if the job is still of this version, as {@link JobInfo#version} and {@link Changed#version}
     * show it. Throws {@link ServerException.Changed} otherwise.
     */
    public Changed reschedule(JobRef job, Due due, long ifVersion) {
        return await(direct.reschedule(job, due, ifVersion));
    }

    /**
     * Changes parts of a delayed, ready or buried job; all others stay. Throws {@link ServerException.Reserved} if a consumer has it, and
     * {@link ServerException.WrongState} for a new due time of a buried job: kick it first. The builder's {@code onPush} is not called.
     */
    public Changed edit(JobRef job, Edit edit) {
        return await(direct.edit(job, edit));
    }

    /** As {@link #edit(JobRef, Edit)}, only if the job is still of this version, as for {@link #reschedule(JobRef, Due, long)}. */
    public Changed edit(JobRef job, Edit edit, long ifVersion) {
        return await(direct.edit(job, edit, ifVersion));
    }

    /** Says why a job is not running: one reason or several, the most important one first. */
    public List<Reason> why(JobRef job) {
        return await(direct.why(job));
    }

    /** Makes a delayed job ready. */
    public Changed runNow(JobRef job) {
        return await(direct.runNow(job));
    }

    /** Makes a buried job ready; its attempts start at 0 again. */
    public Changed kick(JobRef job) {
        return await(direct.kick(job));
    }

    /** Shows the job of a topic that is next, without reserving it. Throws {@link ServerException.NotFound} without one. */
    public JobInfo peek(String topic) {
        return await(direct.peek(topic));
    }

    // ---- many jobs

    /** Makes up to {@code jobsMax} buried jobs of a topic ready. Returns how many: fewer if no more are buried. */
    public long kickMany(String topic, long jobsMax) {
        return await(direct.kickMany(topic, jobsMax));
    }

    /** The jobs that match, without their bodies, by due time. Pages are fetched as the stream goes on. */
    public Stream<JobInfo> list(Filter filter) {
        return list(filter, ListOrder.DUE, Limits.LIST_JOBS_MAX, false);
    }

    /** As {@link #list(Filter)}, with so many jobs on a page, at most 1,024. */
    public Stream<JobInfo> list(Filter filter, ListOrder order, int pageJobs, boolean withBodies) {
        return Pages.stream(cursor -> {
            JobPage jobs = await(direct.list(filter, order, pageJobs, withBodies, cursor));
            return new Pages.Page<>(jobs.jobs(), jobs.cursor());
        });
    }

    /** How many jobs match. */
    public long count(Filter filter) {
        return await(direct.count(filter));
    }

    /**
     * How many jobs match, by when they are due: before {@code start}, in each of the bars of this length from {@code start} on, and
     * after them.
     *
     * @param bars how many bars, 1 to {@link Limits#DUE_BARS_MAX}
     */
    public List<DueBar> countByDue(Filter filter, Instant start, Duration bar, int bars) {
        return await(direct.countByDue(filter, start, bar, bars));
    }

    /** Changes all jobs that match, step by step as the stream goes on. To stop the stream stops the change. */
    public Stream<BulkStep> bulk(BulkChange change, Filter filter) {
        return bulk(change, filter, Limits.BULK_JOBS_MAX, new byte[0]);
    }

    /** As {@link #bulk(BulkChange, Filter)}, with so many jobs in a step, from the cursor of an earlier step on. */
    public Stream<BulkStep> bulk(BulkChange change, Filter filter, int stepJobs, byte[] from) {
        return Pages.stream(cursor -> {
            BulkStep done = await(direct.bulk(change, filter, stepJobs, cursor.length == 0 ? from : cursor));
            return new Pages.Page<>(List.of(done), done.cursor());
        });
    }

    // ---- topics

    /** Stops the delivery of a topic's jobs, until {@link #resume}. */
    public void pause(String topic) {
        await(direct.pause(topic));
    }

    /**
     * As {@link #pause(String)}, and the pause ends by itself after this time, of which at most ten years count. Of a paused topic only
     * the end of the pause changes.
     */
    public void pause(String topic, Duration time) {
        await(direct.pause(topic, time));
    }

    /** Starts it again. */
    public void resume(String topic) {
        await(direct.resume(topic));
    }

    /** Counts by topic, sorted by name. */
    public List<TopicInfo> topics() {
        return await(direct.topics());
    }

    /** Counts of the whole queue. */
    public QueueStats stats() {
        return await(direct.stats());
    }

    /** Changes what a topic decides for its jobs. Settings that are not named stay as they are. */
    public void setTopic(String topic, TopicPolicy change) {
        await(direct.setTopic(topic, change));
    }

    /** What a topic decides for its jobs. */
    public TopicSettings topicSettings(String topic) {
        return await(direct.topicSettings(topic));
    }

    /** Deletes a topic that has no jobs, with its settings. */
    public void deleteTopic(String topic) {
        await(direct.deleteTopic(topic));
    }

    /** Says why a topic gives no job: one reason or several, the most important one first. */
    public List<Reason> whyTopic(String topic) {
        return await(direct.whyTopic(topic));
    }

    // ---- groups

    /**
     * Changes the settings of one group. Throws {@link ServerException.WrongState} if the topic's policy has none of the settings with which
     * groups take turns and the group has no settings from before, and {@link ServerException.Quota} if 65,536 groups of the topic have
     * settings.
     */
    public void setGroup(String topic, String group, GroupChange change) {
        await(direct.setGroup(topic, group, change));
    }

    /** The groups of a topic that have a ready or reserved job, or settings, by name. */
    public List<GroupInfo> groups(String topic) {
        return await(direct.groups(topic));
    }

    /** As {@link #groups(String)}, only those whose names begin like this. */
    public List<GroupInfo> groups(String topic, String prefix) {
        return await(direct.groups(topic, prefix));
    }

    /** As {@link #whyTopic(String)}, for one group of the topic. */
    public List<Reason> whyTopic(String topic, String group) {
        return await(direct.whyTopic(topic, group));
    }

    // ---- schedules

    /**
     * Creates a schedule, or gives the one of this name another content: everything is replaced, and its history stays. Its name is unique
     * in the topic, which is made if it is new. Throws {@link ServerException.Invalid} if the rules cannot be read or never fire. The
     * builder's {@code onPush} is not called.
     */
    public Scheduled setSchedule(String topic, String name, ScheduleRules rules, JobTemplate template) {
        return await(direct.setSchedule(topic, name, rules, template));
    }

    /**
     * As {@link #setSchedule(String, String, ScheduleRules, JobTemplate)}, only if it is still of this version, as {@link ScheduleState#version}
     * and {@link Scheduled#version} show it. Throws {@link ServerException.Changed} otherwise.
     */
    public Scheduled setSchedule(String topic, String name, ScheduleRules rules, JobTemplate template, long ifVersion) {
        return await(direct.setSchedule(topic, name, rules, template, ifVersion));
    }

    /**
     * As {@link #setSchedule(String, String, ScheduleRules, JobTemplate)}, only if the topic has no schedule of this name. Throws
     * {@link ServerException.Changed} otherwise.
     */
    public Scheduled createSchedule(String topic, String name, ScheduleRules rules, JobTemplate template) {
        return await(direct.createSchedule(topic, name, rules, template));
    }

    /** Shows a schedule, with what it did of late. Throws {@link ServerException.NotFound} without one. */
    public ScheduleInfo schedule(String topic, String name) {
        return await(direct.schedule(topic, name));
    }

    /**
     * The schedules of all topics that the token may read, those of a topic in the order in which they were made. To change many at once,
     * list them by what they have in common, and change each with {@link #pauseSchedule(String, String)}, {@link #resumeSchedule} or
     * {@link #deleteSchedule}:
     *
     * <pre>{@code
     * for (ListedSchedule one : client.schedules(ScheduleFilter.ALL.prefix("tenant-7."))) {
     *     client.pauseSchedule(one.topic(), one.name(), "moved");
     * }
     * }</pre>
     */
    public List<ListedSchedule> schedules() {
        return await(direct.schedules());
    }

    /** As {@link #schedules()}, only those that meet these conditions. */
    public List<ListedSchedule> schedules(ScheduleFilter filter) {
        return await(direct.schedules(filter));
    }

    /** As {@link #schedules()}, only those of one topic. */
    public List<ListedSchedule> schedules(String topic) {
        return await(direct.schedules(topic));
    }

    /** As {@link #schedules()}, only those of one topic that meet these conditions. */
    public List<ListedSchedule> schedules(String topic, ScheduleFilter filter) {
        return await(direct.schedules(topic, filter));
    }

    /**
     * Pushes a job of a schedule now, whether an earlier one has ended or not. Returns its id. The next instant stays. Throws
     * {@link ServerException.KeyExists} if the topic has a job with the key that it would have.
     */
    public long runSchedule(String topic, String name) {
        return await(direct.runSchedule(topic, name));
    }

    /**
     * Pushes jobs for the instants of a schedule in a time that has passed, which may be before it was set. It does one part of that time,
     * and the next call goes on from {@link ScheduleFilled#next}:
     *
     * <pre>{@code
     * long pushed = 0;
     * for (Instant next = from; next != null;) {
     *     ScheduleFilled part = client.fillSchedule("reports", "morning", next, to, false);
     *     pushed += part.pushed();
     *     next = part.next();
     * }
     * }</pre>
     *
     * <p>The jobs are due at once. An instant whose key a job of the topic has gets none, so a part that is filled again pushes no second
     * job while the first is there. A job that is finished is pushed again. The history of the schedule does not show these jobs, and its
     * rule for overlaps does not count them. Throws {@link ServerException.Invalid} if the time is ahead by the server's clock or ends
     * before it begins, and if the rules have a key.
     *
     * @param from the first time that counts
     * @param to the last time that counts
     * @param dryRun pushes nothing, and only counts the instants
     */
    public ScheduleFilled fillSchedule(String topic, String name, Instant from, Instant to, boolean dryRun) {
        return await(direct.fillSchedule(topic, name, from, to, dryRun));
    }

    /** As {@link #previewSchedule(ScheduleRules, Instant, int)}, from now on. */
    public SchedulePreview previewSchedule(ScheduleRules rules, int count) {
        return await(direct.previewSchedule(rules, count));
    }

    /**
     * When a schedule with these rules would fire after a time, without setting it. Without an origin, {@code @every} counts from the
     * start, or else from that time.
     * Throws {@link ServerException.Invalid} if the rules cannot be read.
     *
     * @param count how many instants at most, 1 to {@link Limits#INSTANTS_SHOWN_MAX}
     */
    public SchedulePreview previewSchedule(ScheduleRules rules, Instant after, int count) {
        return await(direct.previewSchedule(rules, after, count));
    }

    /** Lets a schedule fire no more until it is resumed. */
    public void pauseSchedule(String topic, String name) {
        await(direct.pauseSchedule(topic, name));
    }

    /** Lets a schedule fire no more until it is resumed. The note says why, for people. */
    public void pauseSchedule(String topic, String name, String note) {
        await(direct.pauseSchedule(topic, name, note));
    }

    /** Lets a paused schedule fire again. Its rule for missed instants says what happens to those that passed. */
    public void resumeSchedule(String topic, String name) {
        await(direct.resumeSchedule(topic, name));
    }

    /** Forgets a schedule. Its jobs stay. */
    public void deleteSchedule(String topic, String name) {
        await(direct.deleteSchedule(topic, name));
    }

    // ---- the server

    /** Asks whether the server is there. Returns its wall clock. */
    public Instant ping() {
        return await(direct.ping());
    }

    /** The clients that are connected to the leader. */
    public List<ConnectionInfo> connections() {
        return await(direct.connections());
    }

    /** Closes the connection of another client; with {@code endSession} its leases are given back at once. */
    public void disconnect(long connection, boolean endSession) {
        await(direct.disconnect(connection, endSession));
    }

    /**
     * Moves the clock of a server for tests, {@code adjourn serve --memory --clock manual}; any other throws
     * {@link ServerException.Unsupported}. Returns the new time, when everything that is due by then is carried out: a reserve
     * without a wait gets the jobs. A client counts its leases on its own clock, which this does not move.
     */
    public Instant advance(Duration by) {
        return await(direct.advance(by));
    }

    /**
     * As {@link #advance}, to the time at which the next delayed job is due, of all topics. Throws {@link ServerException.NotFound}
     * if no job is delayed.
     */
    public Instant advanceToNext() {
        return await(direct.advanceToNext());
    }

    /** The cluster as the leader sees it. */
    public ClusterReport clusterStatus() {
        return await(direct.clusterStatus());
    }

    /** Adds the node with this peer address. */
    public void clusterAdd(String peerAddress) {
        await(direct.clusterAdd(peerAddress));
    }

    /** Removes a member. */
    public void clusterRemove(long node) {
        await(direct.clusterRemove(node));
    }

    /** Gives leadership to a member; 0 lets the leader choose. */
    public void clusterTransfer(long node) {
        await(direct.clusterTransfer(node));
    }

    /**
     * Takes a backup of the whole queue. Waits until the server has written a checkpoint, which may take minutes, an hour at most. The
     * backup has everything that was answered before this call.
     */
    public Backup backup() {
        Open call = session.submit(new Request.BackupBegin(), null, true);
        try {
            return direct.backup(await(call.future()));
        } catch (InterruptedCallException e) {
            session.cancel(call);
            throw e;
        }
    }

    /** Whether there is a live connection to the leader. */
    public boolean isConnected() {
        return session.isConnected();
    }

    /** Waits for a connection. Before the first one, a certificate that one side does not believe ends it at once. */
    public void awaitConnected(Duration timeout) {
        session.awaitConnected(timeout);
    }

    /** As {@link #close(Duration)}, with thirty seconds for workers whose handlers run, and then five. */
    @Override
    public void close() {
        workers.stop(WORKERS_MAX);
        session.close(CLOSE_MAX);
    }

    /**
     * Stops the workers that still run, waits for the answers to what was asked, ends the session with GOODBYE (its leases are given
     * back at once), and closes the connection; after {@code deadline} in any case. If a handler still runs then, GOODBYE is not
     * said: its job goes to others when its lease, or the session's grace, is over. A handler must not close its client.
     */
    public void close(Duration deadline) {
        long until = session.now() + deadline.toNanos();
        workers.stop(deadline);
        session.close(Duration.ofNanos(Math.max(0, until - session.now())));
    }

    // ---- for the other classes

    Workers workers() {
        return workers;
    }

    Session session() {
        return session;
    }

    Tracing tracing() {
        return tracing;
    }

    List<Job> jobs(List<Grant> grants) {
        return grants.stream().map(grant -> new Job(this, grant)).toList();
    }

    static <T> T await(CompletableFuture<T> future) {
        try {
            return future.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedCallException("interrupted while waiting for an answer", e);
        } catch (ExecutionException e) {
            throw unwrap(e);
        }
    }

    /** The error behind what a future threw. */
    static AdjournException unwrap(Exception wrapped) {
        Throwable cause = wrapped;
        while ((cause instanceof ExecutionException || cause instanceof CompletionException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof AdjournException known) {
            return known;
        }
        return new ProtocolException("a call failed: " + cause, cause);
    }
}
