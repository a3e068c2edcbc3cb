package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.session.Answer;
import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.wire.Bits;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The operations of a {@link Client} without waiting for their answers: {@link Client#async}. A call returns at once; it waits only
 * while too much is under way, or for the first connection if it needs the limits of the server. The future ends with the result,
 * or with the {@link AdjournException} that the call without a future throws; what is chained to it runs in the common pool. To
 * cancel a future does not cancel the request.
 *
 * <p>Jobs are pushed and reserved by {@link Client#pushAsync}, {@link Client#pushAllAsync} and {@link Client#reserveAsync}.
 */
public final class AsyncClient {
    /** In place of a version: only if there is no such schedule. */
    private static final long SCHEDULE_IS_NEW = 0xffff_ffffL;
    /** In place of a topic: the schedules of all topics. */
    private static final String ALL_TOPICS = "";

    private final Client client;
    private final Session session;
    private final boolean isForCallers;

    /** For callers, who may chain anything; or for a client that only waits. */
    AsyncClient(Client client, Session session, boolean isForCallers) {
        this.client = client;
        this.session = session;
        this.isForCallers = isForCallers;
    }

    // ---- leases

    /** As {@link Client#leases}. */
    public CompletableFuture<List<Job>> leases() {
        session.needSession();
        return handOver(leases(0, session.limits().reserveJobsMax(), new ArrayList<>(), true));
    }

    private CompletableFuture<List<Job>> leases(long after, int page, List<Job> all, boolean mayWait) {
        return session.submit(new Request.Leases(after, page), null, mayWait).future().thenCompose(answer -> {
            Response.Leased leased = expect(answer, Response.Leased.class);
            all.addAll(client.jobs(answer.grants()));
            if (!leased.isMarkedMore()) {
                return CompletableFuture.completedFuture(all);
            }
            return leases(leased.jobs().isEmpty() ? after : leased.jobs().get(leased.jobs().size() - 1).job(), page, all, false);
        });
    }

    /** As {@link Client#finish}. */
    public CompletableFuture<List<SettleResult>> finish(List<Lease> leases) {
        return handOver(settle(leases, Request.Finish::new, true));
    }

    /** As {@link Client#release}. */
    public CompletableFuture<List<SettleResult>> release(List<Lease> leases, Release how, String reason) {
        return handOver(settle(leases, part -> new Request.Release(how.delayMs(), part, reason), true));
    }

    /** As {@link Client#touch(List)}. */
    public CompletableFuture<List<SettleResult>> touch(List<Lease> leases) {
        return handOver(settle(leases, part -> new Request.Touch(0, part), true));
    }

    /** As {@link Client#touch(List, Duration)}. */
    public CompletableFuture<List<SettleResult>> touch(List<Lease> leases, Duration ttr) {
        int ttrMs = Millis.u32(Millis.of(ttr), "a time to run in milliseconds");
        return handOver(settle(leases, part -> new Request.Touch(ttrMs, part), true));
    }

    /** As {@link Client#bury}. */
    public CompletableFuture<List<SettleResult>> bury(List<Lease> leases, String reason) {
        return handOver(settle(leases, part -> new Request.Bury(part, reason), true));
    }

    CompletableFuture<List<SettleResult>> settle(List<Lease> leases, Function<List<Lease>, Request> request, boolean mayWait) {
        if (leases.isEmpty()) {
            return CompletableFuture.completedFuture(List.of());
        }
        int part = leases.size() == 1 ? 1 : session.limits().leasesMax();
        CompletableFuture<List<SettleResult>> all = null;
        for (int from = 0; from < leases.size(); from += part) {
            List<Lease> some = List.copyOf(leases.subList(from, Math.min(leases.size(), from + part)));
            CompletableFuture<List<SettleResult>> next = session.submit(request.apply(some), null, mayWait).future()
                    .thenApply(answer -> settled(some, expect(answer, Response.Settled.class)));
            all = all == null ? next : all.thenCombine(next, AsyncClient::both);
        }
        return all;
    }

    private static List<SettleResult> settled(List<Lease> leases, Response.Settled settled) {
        List<SettleResult> results = new ArrayList<>(leases.size());
        for (int i = 0; i < leases.size(); i++) {
            int code = settled.results().get(i).code();
            results.add(new SettleResult(leases.get(i), code == 0 ? null : ServerException.ofItem(code, 0)));
        }
        return results;
    }

    private static <T> List<T> both(List<T> first, List<T> second) {
        List<T> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }

    // ---- one job

    /** As {@link Client#get}. */
    public CompletableFuture<JobInfo> get(JobRef job) {
        return call(new Request.Get(job), Response.Job.class, JobInfo::of);
    }

    /** As {@link Client#delete}. */
    public CompletableFuture<Changed> delete(JobRef job) {
        return change(new Request.Delete(job));
    }

    /** As {@link Client#reschedule(JobRef, Due)}. */
    public CompletableFuture<Changed> reschedule(JobRef job, Due due) {
        return reschedule(job, due, 0);
    }

    /** As {@link Client#reschedule(JobRef, Due, long)}. */
    public CompletableFuture<Changed> reschedule(JobRef job, Due due, long ifVersion) {
        return change(new Request.Reschedule(due.ms(), due.kind(), job, ifVersion));
    }

    /** As {@link Client#edit(JobRef, Edit)}. */
    public CompletableFuture<Changed> edit(JobRef job, Edit edit) {
        return edit(job, edit, 0);
    }

    /** As {@link Client#edit(JobRef, Edit, long)}. */
    public CompletableFuture<Changed> edit(JobRef job, Edit edit, long ifVersion) {
        return change(edit.toWire(job, ifVersion));
    }

    /** As {@link Client#why}. */
    public CompletableFuture<List<Reason>> why(JobRef job) {
        return reasons(new Request.Why(job));
    }

    private CompletableFuture<List<Reason>> reasons(Request request) {
        return call(request, Response.Reasons.class, answer -> answer.reasons().stream().map(Reason::of).toList());
    }

    /** As {@link Client#runNow}. */
    public CompletableFuture<Changed> runNow(JobRef job) {
        return change(new Request.RunNow(job));
    }

    /** As {@link Client#kick}. */
    public CompletableFuture<Changed> kick(JobRef job) {
        return change(new Request.Kick(job));
    }

    /** As {@link Client#peek}. */
    public CompletableFuture<JobInfo> peek(String topic) {
        return call(new Request.Peek(Names.topic(topic)), Response.Job.class, JobInfo::of);
    }

    private CompletableFuture<Changed> change(Request request) {
        return call(request, Response.Changed.class,
                changed -> new Changed(changed.job(), JobState.of(changed.state()), Millis.instant(changed.dueMs()), changed.version()));
    }

    // ---- many jobs

    /** As {@link Client#kickMany}. */
    public CompletableFuture<Long> kickMany(String topic, long jobsMax) {
        return handOver(kickMany(Names.topic(topic), jobsMax, 0, true));
    }

    private CompletableFuture<Long> kickMany(String topic, long left, long before, boolean mayWait) {
        if (left <= 0) {
            return CompletableFuture.completedFuture(before);
        }
        int asked = (int) Math.min(Limits.KICK_JOBS_MAX, left);
        return session.submit(new Request.KickMany(asked, topic), null, mayWait).future().thenCompose(answer -> {
            int jobs = expect(answer, Response.Kicked.class).jobs();
            return kickMany(topic, jobs < asked ? 0 : left - jobs, before + jobs, false);
        });
    }

    /** One page of a list, of at most 1,024 jobs; the first one with an empty cursor. */
    public CompletableFuture<JobPage> list(Filter filter, ListOrder order, int pageJobs, boolean withBodies, byte[] cursor) {
        return call(new Request.ListJobs(pageJobs, order.number(), withBodies ? Bits.ListMarks.BODIES : 0, cursor, filter.encode()), Response.Jobs.class,
                page -> new JobPage(page.jobs().stream().map(JobInfo::of).toList(), page.cursor()));
    }

    /** As {@link Client#count}. */
    public CompletableFuture<Long> count(Filter filter) {
        return call(new Request.Count(filter.encode(), 0, 0, 0), Response.Counted.class, Response.Counted::jobs);
    }

    /** As {@link Client#countByDue}. */
    public CompletableFuture<List<DueBar>> countByDue(Filter filter, Instant start, Duration bar, int bars) {
        if (bars < 1 || bars > Limits.DUE_BARS_MAX || Millis.of(bar) == 0) {
            throw new UsageException(bars + " bars of " + bar + ": 1 to " + Limits.DUE_BARS_MAX + " bars of at least 1 ms");
        }
        return call(new Request.Count(filter.encode(), bars, Millis.of(start), Millis.of(bar)), Response.Counted.class,
                counted -> counted.byDue().stream().map(DueBar::of).toList());
    }

    /** One step of a bulk change, of at most 1,024 jobs; the first one with an empty cursor. */
    public CompletableFuture<BulkStep> bulk(BulkChange change, Filter filter, int stepJobs, byte[] cursor) {
        return call(new Request.Bulk(stepJobs, change.number(), change.dueMs(), cursor, filter.encode(), change.to()),
                Response.Bulked.class, step -> new BulkStep(Integer.toUnsignedLong(step.jobs()),
                        Integer.toUnsignedLong(step.skipped()), step.cursor()));
    }

    // ---- topics

    /** As {@link Client#pause(String)}. */
    public CompletableFuture<Void> pause(String topic) {
        return done(new Request.Pause(Names.topic(topic), 0));
    }

    /** As {@link Client#pause(String, Duration)}. */
    public CompletableFuture<Void> pause(String topic, Duration time) {
        long forMs = Millis.of(time);
        if (forMs == 0) {
            throw new UsageException("a pause lasts longer than zero: without a time it lasts until resume");
        }
        return done(new Request.Pause(Names.topic(topic), forMs));
    }

    /** As {@link Client#resume}. */
    public CompletableFuture<Void> resume(String topic) {
        return done(new Request.Resume(Names.topic(topic)));
    }

    /** As {@link Client#topics}. */
    public CompletableFuture<List<TopicInfo>> topics() {
        return call(new Request.Topics(), Response.TopicCounts.class,
                answer -> answer.topics().stream().map(TopicInfo::of).toList());
    }

    /** As {@link Client#stats}. */
    public CompletableFuture<QueueStats> stats() {
        return call(new Request.Stats(), Response.QueueStats.class, QueueStats::of);
    }

    /** As {@link Client#setTopic}. */
    public CompletableFuture<Void> setTopic(String topic, TopicPolicy change) {
        return done(new Request.TopicSet(Names.topic(topic), change.encode()));
    }

    /** As {@link Client#topicSettings}. */
    public CompletableFuture<TopicSettings> topicSettings(String topic) {
        return call(new Request.TopicShow(Names.topic(topic)), Response.TopicSettings.class,
                s -> new TopicSettings(s.jobs(), s.bytes(), s.isMarkedPaused(), Millis.duration(s.pauseLeftMs()),
                        s.isMarkedAttemptsOfServer(), s.isMarkedBackoffOfServer(), TopicPolicy.decode(s.settings())));
    }

    /** As {@link Client#deleteTopic}. */
    public CompletableFuture<Void> deleteTopic(String topic) {
        return done(new Request.TopicDelete(Names.topic(topic)));
    }

    /** As {@link Client#whyTopic(String)}. */
    public CompletableFuture<List<Reason>> whyTopic(String topic) {
        return reasons(new Request.TopicWhy(Names.topic(topic), ""));
    }

    // ---- groups

    /** As {@link Client#setGroup}. */
    public CompletableFuture<Void> setGroup(String topic, String group, GroupChange change) {
        return done(change.toWire(topic, group));
    }

    /** As {@link Client#groups(String)}. */
    public CompletableFuture<List<GroupInfo>> groups(String topic) {
        return groups(topic, "");
    }

    /** As {@link Client#groups(String, String)}. */
    public CompletableFuture<List<GroupInfo>> groups(String topic, String prefix) {
        return handOver(groups(Names.topic(topic), "", prefix, new ArrayList<>(), true));
    }

    private CompletableFuture<List<GroupInfo>> groups(String topic, String after, String prefix, List<GroupInfo> all, boolean mayWait) {
        Request.GroupList request = new Request.GroupList(Limits.GROUPS_LISTED_MAX, topic, after, prefix);
        return session.submit(request, null, mayWait).future().thenCompose(answer -> {
            Response.Groups page = expect(answer, Response.Groups.class);
            page.groups().forEach(group -> all.add(GroupInfo.of(group)));
            if (page.after().isEmpty()) {
                return CompletableFuture.completedFuture(all);
            }
            return groups(topic, page.after(), prefix, all, false);
        });
    }

    /** As {@link Client#whyTopic(String, String)}. */
    public CompletableFuture<List<Reason>> whyTopic(String topic, String group) {
        return reasons(new Request.TopicWhy(Names.topic(topic), Names.group(group)));
    }

    // ---- schedules

    /** As {@link Client#setSchedule(String, String, ScheduleRules, JobTemplate)}. */
    public CompletableFuture<Scheduled> setSchedule(String topic, String name, ScheduleRules rules, JobTemplate template) {
        return sendSchedule(topic, name, rules, template, 0);
    }

    /** As {@link Client#setSchedule(String, String, ScheduleRules, JobTemplate, long)}. */
    public CompletableFuture<Scheduled> setSchedule(String topic, String name, ScheduleRules rules, JobTemplate template, long ifVersion) {
        if (ifVersion < 1 || ifVersion >= SCHEDULE_IS_NEW) {
            throw new UsageException("no version of a schedule: " + ifVersion);
        }
        return sendSchedule(topic, name, rules, template, ifVersion);
    }

    /** As {@link Client#createSchedule}. */
    public CompletableFuture<Scheduled> createSchedule(String topic, String name, ScheduleRules rules, JobTemplate template) {
        return sendSchedule(topic, name, rules, template, SCHEDULE_IS_NEW);
    }

    private CompletableFuture<Scheduled> sendSchedule(String topic, String name, ScheduleRules rules, JobTemplate template, long ifVersion) {
        return call(new Request.ScheduleSet(Names.topic(topic), name, rules.toWire(), template.toWire(), (int) ifVersion),
                Response.Scheduled.class, Scheduled::of);
    }

    /** As {@link Client#schedule}. */
    public CompletableFuture<ScheduleInfo> schedule(String topic, String name) {
        return call(new Request.ScheduleShow(Names.topic(topic), name), Response.Schedule.class, ScheduleInfo::of);
    }

    /** As {@link Client#schedules()}. */
    public CompletableFuture<List<ListedSchedule>> schedules() {
        return schedules(ScheduleFilter.ALL);
    }

    /** As {@link Client#schedules(ScheduleFilter)}. */
    public CompletableFuture<List<ListedSchedule>> schedules(ScheduleFilter filter) {
        return handOver(schedules(ALL_TOPICS, filter, new byte[0], new ArrayList<>(), true));
    }

    /** As {@link Client#schedules(String)}. */
    public CompletableFuture<List<ListedSchedule>> schedules(String topic) {
        return schedules(topic, ScheduleFilter.ALL);
    }

    /** As {@link Client#schedules(String, ScheduleFilter)}. */
    public CompletableFuture<List<ListedSchedule>> schedules(String topic, ScheduleFilter filter) {
        return handOver(schedules(Names.topic(topic), filter, new byte[0], new ArrayList<>(), true));
    }

    private CompletableFuture<List<ListedSchedule>> schedules(String topic, ScheduleFilter filter, byte[] cursor, List<ListedSchedule> all,
            boolean mayWait) {
        return session.submit(filter.toWire(topic, cursor), null, mayWait).future().thenCompose(answer -> {
            Response.Schedules page = expect(answer, Response.Schedules.class);
            page.schedules().forEach(schedule -> all.add(ListedSchedule.of(schedule)));
            if (page.cursor().length == 0) {
                return CompletableFuture.completedFuture(all);
            }
            return schedules(topic, filter, page.cursor(), all, false);
        });
    }

    /** As {@link Client#runSchedule}. */
    public CompletableFuture<Long> runSchedule(String topic, String name) {
        return call(new Request.ScheduleRun(Names.topic(topic), name), Response.ScheduleRan.class, Response.ScheduleRan::job);
    }

    /** As {@link Client#fillSchedule}. */
    public CompletableFuture<ScheduleFilled> fillSchedule(String topic, String name, Instant from, Instant to, boolean dryRun) {
        return call(new Request.ScheduleFill(Millis.of(from), Millis.of(to.truncatedTo(ChronoUnit.MILLIS)), dryRun ? 1 : 0, Names.topic(topic), name),
                Response.ScheduleFilled.class, ScheduleFilled::of);
    }

    /** As {@link Client#previewSchedule(ScheduleRules, int)}. */
    public CompletableFuture<SchedulePreview> previewSchedule(ScheduleRules rules, int count) {
        return previewSchedule(rules, 0, count);
    }

    /** As {@link Client#previewSchedule(ScheduleRules, Instant, int)}. */
    public CompletableFuture<SchedulePreview> previewSchedule(ScheduleRules rules, Instant after, int count) {
        return previewSchedule(rules, ScheduleRules.time(after.truncatedTo(ChronoUnit.MILLIS)), count);
    }

    private CompletableFuture<SchedulePreview> previewSchedule(ScheduleRules rules, long afterMs, int count) {
        if (count < 1 || count > Limits.INSTANTS_SHOWN_MAX) {
            throw new UsageException(count + " instants: 1 to " + Limits.INSTANTS_SHOWN_MAX);
        }
        return call(new Request.SchedulePreview(rules.toWire(), afterMs, count), Response.Instants.class, SchedulePreview::of);
    }

    /** As {@link Client#pauseSchedule(String, String)}. */
    public CompletableFuture<Void> pauseSchedule(String topic, String name) {
        return pauseSchedule(topic, name, "");
    }

    /** As {@link Client#pauseSchedule(String, String, String)}. */
    public CompletableFuture<Void> pauseSchedule(String topic, String name, String note) {
        return done(new Request.SchedulePause(Names.topic(topic), name, note));
    }

    /** As {@link Client#resumeSchedule}. */
    public CompletableFuture<Void> resumeSchedule(String topic, String name) {
        return done(new Request.ScheduleResume(Names.topic(topic), name));
    }

    /** As {@link Client#deleteSchedule}. */
    public CompletableFuture<Void> deleteSchedule(String topic, String name) {
        return done(new Request.ScheduleDelete(Names.topic(topic), name));
    }

    // ---- the server

    /** As {@link Client#ping}. */
    public CompletableFuture<Instant> ping() {
        return call(new Request.Ping(), Response.Pong.class, pong -> Millis.instant(pong.now()));
    }

    /** As {@link Client#connections}. */
    public CompletableFuture<List<ConnectionInfo>> connections() {
        return handOver(connections(0, new ArrayList<>(), true));
    }

    private CompletableFuture<List<ConnectionInfo>> connections(long after, List<ConnectionInfo> all, boolean mayWait) {
        return session.submit(new Request.Connections(after, Limits.CONNECTIONS_LISTED_MAX), null, mayWait).future().thenCompose(answer -> {
            Response.ConnectionList page = expect(answer, Response.ConnectionList.class);
            page.connections().forEach(connection -> all.add(ConnectionInfo.of(connection)));
            if (!page.isMarkedMore() || page.connections().isEmpty()) {
                return CompletableFuture.completedFuture(all);
            }
            return connections(page.connections().get(page.connections().size() - 1).connection(), all, false);
        });
    }

    /** As {@link Client#disconnect}. */
    public CompletableFuture<Void> disconnect(long connection, boolean endSession) {
        return done(new Request.Disconnect(connection, endSession ? Bits.DisconnectOptions.ENDS_SESSION : 0));
    }

    /** As {@link Client#advance}. */
    public CompletableFuture<Instant> advance(Duration by) {
        return advance(Choice.Step.BY, Millis.of(by));
    }

    /** As {@link Client#advanceToNext}. */
    public CompletableFuture<Instant> advanceToNext() {
        return advance(Choice.Step.TO_NEXT, 0);
    }

    private CompletableFuture<Instant> advance(int step, long byMs) {
        return call(new Request.Advance(step, byMs), Response.Pong.class, pong -> Millis.instant(pong.now()));
    }

    /** As {@link Client#clusterStatus}. */
    public CompletableFuture<ClusterReport> clusterStatus() {
        return call(new Request.ClusterStatus(), Response.ClusterReport.class, ClusterReport::of);
    }

    /** As {@link Client#clusterAdd}. */
    public CompletableFuture<Void> clusterAdd(String peerAddress) {
        return done(new Request.ClusterAdd(peerAddress));
    }

    /** As {@link Client#clusterRemove}. */
    public CompletableFuture<Void> clusterRemove(long node) {
        return done(new Request.ClusterRemove(node));
    }

    /** As {@link Client#clusterTransfer}. */
    public CompletableFuture<Void> clusterTransfer(long node) {
        return done(new Request.ClusterTransfer(node));
    }

    /** As {@link Client#backup}. */
    public CompletableFuture<Backup> backup() {
        return handOver(session.submit(new Request.BackupBegin(), null, true).future().thenApply(this::backup));
    }

    Backup backup(Answer answer) {
        return new Backup(session, expect(answer, Response.BackupReady.class));
    }

    // ---- answers

    private CompletableFuture<Void> done(Request request) {
        return call(request, Response.Done.class, answer -> null);
    }

    private <R extends Response, T> CompletableFuture<T> call(Request request, Class<R> type, Function<R, T> result) {
        return handOver(session.submit(request, null, true).future().thenApply(answer -> result.apply(expect(answer, type))));
    }

    /** What callers chain must not run in the thread that reads the socket. */
    private <T> CompletableFuture<T> handOver(CompletableFuture<T> future) {
        return isForCallers ? future.thenApplyAsync(Function.identity()) : future;
    }

    static <T extends Response> T expect(Answer answer, Class<T> type) {
        if (!type.isInstance(answer.response())) {
            throw new ProtocolException("expected " + type.getSimpleName() + ", not " + answer.response().getClass().getSimpleName());
        }
        return type.cast(answer.response());
    }
}
