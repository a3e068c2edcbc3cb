package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every operation against a real server. */
class OperationsTest {
    private static final Duration WAIT = Duration.ofSeconds(10);
    private static TestServer server;
    private static Client client;

    record Order(long id, String note) {
    }

    @BeforeAll
    static void start() {
        server = new TestServer();
        client = Client.builder().address("adjourn://" + server.address()).name("operations").connect();
    }

    @AfterAll
    static void stop() {
        client.close();
        server.close();
    }

    private static Job reserveOne(String topic) {
        List<Job> jobs = client.reserve(topic, 1, WAIT);
        assertEquals(1, jobs.size());
        return jobs.get(0);
    }

    @Test
    void aJobComesBackAsItWasPushed() {
        Instant created = Instant.ofEpochMilli(1_767_225_600_000L);
        NewJob pushed = NewJob.json(new Order(17, "ä \"x\"")).key("order-17").priority(7).ttr(Duration.ofSeconds(30))
                .header("traceparent", "00-1-2-03").attemptsMax(5).remember(Duration.ofMinutes(1))
                .backoff(Backoff.exponential(Duration.ofMillis(10), Duration.ofSeconds(1)).jitter(10))
                .attributes(Attributes.NONE.withHeader("content-type", "application/json").withHeader("traceparent", "00-1-2-03")
                        .withCreatedAt(created).withAttemptsMax(5));
        PushResult result = client.push("whole", pushed);
        assertEquals(PushResult.Outcome.PUSHED, result.outcome());
        Job job = reserveOne("whole");
        assertEquals(result.id(), job.id());
        assertEquals(new Order(17, "ä \"x\""), job.json(Order.class));
        assertEquals("order-17", job.key());
        assertEquals(7, job.priority());
        assertEquals(1, job.attempts());
        assertEquals("00-1-2-03", job.header("TraceParent").orElseThrow());
        assertEquals(5, job.attributes().attemptsMax().orElseThrow());
        assertEquals(created, job.attributes().createdAt().orElseThrow());
        assertTrue(job.ttrLeft().compareTo(Duration.ofSeconds(31)) < 0 && job.ttrLeft().compareTo(Duration.ofSeconds(20)) > 0);
        assertTrue(job.lost().isEmpty());
        job.finish();
        assertEquals(JobState.FINISHED, client.get(JobRef.id(job.id())).state());
    }

    @Test
    void modesOfAPushAndTheErrorsOfOneJob() {
        long first = client.push("modes", NewJob.text("a").key("k").delay(Duration.ofHours(1))).id();
        ServerException.KeyExists exists = assertThrows(ServerException.KeyExists.class,
                () -> client.push("modes", NewJob.text("b").key("k")));
        assertEquals(first, exists.existingJob());
        assertEquals("KEY_EXISTS", exists.code());
        assertFalse(exists.retryable());
        assertEquals(Applied.NO, exists.applied());
        assertEquals(new PushResult(PushResult.Outcome.KEPT, first, null),
                client.push("modes", NewJob.text("b").key("k").ifExists(IfExists.KEEP)));
        assertEquals(new PushResult(PushResult.Outcome.POSTPONED, first, null), client.push("modes",
                NewJob.text("c").key("k").delay(Duration.ofHours(2)).ifExists(IfExists.POSTPONE).postponeMax(Duration.ofDays(1))));
        assertEquals("c", new String(client.get(JobRef.key("modes", "k")).body()));
        PushResult replaced = client.push("modes", NewJob.text("d").key("k").ifExists(IfExists.REPLACE));
        assertEquals(PushResult.Outcome.REPLACED, replaced.outcome());
        Job job = reserveOne("modes");
        assertThrows(ServerException.Reserved.class, () -> client.push("modes", NewJob.text("e").key("k").ifExists(IfExists.REPLACE)));
        client.push("modes", NewJob.text("e").key("k").ifExists(IfExists.REPLACE_ANY));
        assertThrows(ServerException.StaleLease.class, job::finish);
        List<PushResult> mixed = client.pushAll("modes", List.of(NewJob.text("x"), NewJob.text("y").key("k"), NewJob.text("z")
                .delay(Duration.ofHours(1)).expires(Due.after(Duration.ofMinutes(1)))));
        assertTrue(mixed.get(0).ok());
        assertEquals("KEY_EXISTS", mixed.get(1).error().code());
        assertEquals("EXPIRES_BEFORE_DUE", mixed.get(2).error().code());
    }

    @Test
    void aClientWithoutASessionPushesAndLooks() {
        try (Client once = Client.builder().address(server.address()).withoutSession(true).connect()) {
            once.pushAll("once", List.of(NewJob.text("a"), NewJob.text("b")));
            assertTrue(once.push("once", NewJob.text("c")).id() > 0);
            assertEquals(3, once.count(Filter.topic("once")));
            assertThrows(UsageException.class, () -> once.reserve("once", 1, WAIT));
        }
        assertEquals(3, client.reserve("once", 5, WAIT).size());
    }

    @Test
    void aBatchAboveTheLimitsIsSplit() {
        List<NewJob> jobs = IntStream.range(0, 5_000).mapToObj(i -> NewJob.of(new byte[300])).toList();
        List<PushResult> results = client.pushAll("batch", jobs);
        assertEquals(5_000, results.stream().filter(PushResult::ok).map(PushResult::id).distinct().count());
        assertEquals(5_000, client.count(Filter.topic("batch")));
        AdjournException tooLarge = assertThrows(ServerException.TooLarge.class,
                () -> client.push("batch", NewJob.of(new byte[2_000_000])));
        assertEquals(Applied.NO, tooLarge.applied());
        assertEquals(100, client.bulk(BulkChange.DELETE, Filter.topic("batch"), 50, new byte[0]).limit(2).mapToLong(BulkStep::jobs).sum());
        assertEquals(4_900, client.count(Filter.topic("batch")));
    }

    @Test
    void aReserveWaitsAndCanBeLeft() throws Exception {
        CompletableFuture<List<Job>> left = client.reserveAsync(List.of(TopicShare.of("wait")), 1, Duration.ofMinutes(1));
        CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("wait")), 1, Duration.ofMinutes(1));
        Await.until("both wait", () -> client.connections().get(0).reserves() == 2);
        left.cancel(true);
        Await.until("one was cancelled", () -> client.connections().get(0).reserves() == 1);
        client.push("wait", NewJob.text("x").delay(Duration.ofMillis(20)));
        Job job = waiting.get().get(0);
        assertEquals(1, job.attempts());
        job.finish();
        assertEquals(List.of(), client.reserve("wait", 1, Duration.ofMillis(1)));
    }

    @Test
    void leasesAreSettledTouchedAndGivenBack() {
        client.push("settle", NewJob.text("x").backoff(Backoff.fixed(Duration.ofHours(1))).attemptsMax(9));
        Job job = reserveOne("settle");
        assertEquals(List.of(job.lease()), client.leases().stream().filter(j -> j.topic().equals("settle")).map(Job::lease).toList());
        job.touch(Duration.ofSeconds(90));
        assertTrue(job.ttrLeft().compareTo(Duration.ofSeconds(61)) > 0);
        job.touch();
        job.notStarted();
        job = reserveOne("settle");
        assertEquals(1, job.attempts());
        job.release(Duration.ofMillis(1), "try again");
        job = reserveOne("settle");
        assertEquals(2, job.attempts());
        assertEquals("try again", client.get(JobRef.id(job.id())).reason());
        job.release("backs off");
        assertEquals(JobState.DELAYED, client.get(JobRef.id(job.id())).state());
        client.runNow(JobRef.id(job.id()));
        job = reserveOne("settle");
        job.bury("no such address");
        JobInfo buried = client.get(JobRef.id(job.id()));
        assertEquals(BuriedReason.BY_CONSUMER, buried.buried());
        assertEquals("no such address", buried.reason());
        assertEquals(1, client.list(Filter.topic("settle").reasonContains("such")).count());
        assertEquals(JobState.READY, client.kick(JobRef.id(job.id())).state());
        job = reserveOne("settle");
        job.finish();
        List<SettleResult> again = client.finish(List.of(job.lease(), new Lease(job.id(), 1)));
        assertTrue(again.get(0).ok(), "a repeated FINISH is done");
        assertEquals("STALE_LEASE", again.get(1).error().code());
    }

    @Test
    void oneJobIsRescheduledAndDeleted() {
        Instant due = Instant.parse("2040-01-01T00:00:00.001Z");
        long id = client.push("one", NewJob.text("x").at(due).key("a/b")).id();
        assertEquals(due, client.peek("one").due());
        assertEquals(JobState.DELAYED, client.reschedule(JobRef.key("one", "a/b"), Due.at(due.plusSeconds(1))).state());
        assertEquals(due.plusSeconds(1), client.get(JobRef.id(id)).due());
        assertThrows(ServerException.WrongState.class, () -> client.kick(JobRef.id(id)));
        assertEquals(id, client.delete(JobRef.id(id)).job());
        assertThrows(ServerException.NotFound.class, () -> client.get(JobRef.id(id)));
    }

    @Test
    void manyJobsAreListedCountedAndChanged() {
        client.pushAll("many", IntStream.range(0, 25)
                .mapToObj(i -> NewJob.text("b" + i).key(String.format("k%02d", i)).delay(Duration.ofHours(1 + i))).toList());
        List<String> keys = client.list(Filter.topic("many"), ListOrder.KEY, 7, true).map(JobInfo::key).toList();
        assertEquals(IntStream.range(0, 25).mapToObj(i -> String.format("k%02d", i)).toList(), keys);
        assertEquals("b3", new String(client.list(Filter.topic("many"), ListOrder.ID, 2, true).skip(3).findFirst().orElseThrow().body()));
        assertEquals(10, client.count(Filter.topic("many").keyPrefix("k1").states(JobState.DELAYED)));
        List<BulkStep> steps = client.bulk(BulkChange.moveTo("moved"), Filter.topic("many").keyPrefix("k0"), 4, new byte[0]).toList();
        assertEquals(10, steps.stream().mapToLong(BulkStep::jobs).sum());
        assertTrue(steps.size() > 2 && steps.get(steps.size() - 1).isLast());
        assertEquals(10, client.bulk(BulkChange.RUN_NOW, Filter.topic("moved")).mapToLong(BulkStep::jobs).sum());
        client.bury(client.reserve("moved", 3, WAIT).stream().map(Job::lease).toList(), "bad");
        assertEquals(2, client.kickMany("moved", 2));
        assertEquals(1, client.kickMany("moved", 100));
        assertEquals(10, client.bulk(BulkChange.reschedule(Instant.parse("2050-01-01T00:00:00Z")), Filter.topic("moved"))
                .mapToLong(BulkStep::jobs).sum());
    }

    @Test
    void topicsHavePolicies() {
        client.setTopic("policy", TopicPolicy.EMPTY.ttr(Duration.ofSeconds(33)).jobsMax(1).deadLetters("dead")
                .late(Duration.ofMinutes(5), TopicPolicy.LateAction.SPREAD, 1_000).backoff(Backoff.list(Duration.ofSeconds(1)))
                .remember(Duration.ofHours(1)));
        client.push("policy", NewJob.text("x"));
        assertThrows(ServerException.Quota.class, () -> client.push("policy", NewJob.text("y")));
        TopicSettings settings = client.topicSettings("policy");
        assertEquals(Duration.ofSeconds(33), settings.policy().ttr().orElseThrow());
        assertEquals("dead", settings.policy().deadLetters().orElseThrow());
        assertEquals(new TopicPolicy.Late(300_000, 1, 1_000), settings.policy().late().orElseThrow());
        assertEquals(1, settings.jobs());
        client.setTopic("policy", TopicPolicy.EMPTY.without(TopicPolicy.Setting.JOBS_MAX));
        assertFalse(client.topicSettings("policy").policy().has(TopicPolicy.Setting.JOBS_MAX));
        client.pause("policy");
        assertThrows(ServerException.Paused.class, () -> client.reserve("policy", 1, Duration.ZERO));
        assertTrue(client.topicSettings("policy").paused());
        client.resume("policy");
        assertThrows(ServerException.WrongState.class, () -> client.deleteTopic("policy"));
        reserveOne("policy").bury("");
        assertEquals(1, client.topics().stream().filter(t -> t.name().equals("dead")).findFirst().orElseThrow().totals().ready());
        client.deleteTopic("policy");
        assertThrows(ServerException.NotFound.class, () -> client.topicSettings("policy"));
        QueueStats stats = client.stats();
        assertTrue(stats.totals().pushed() > 0);
        assertEquals(List.of("wait", "commit", "apply", "lateness"), stats.stages().stream().map(StageInfo::name).toList());
        StageInfo commit = stats.stages().get(1);
        assertTrue(commit.count() > 0 && commit.p50().compareTo(java.time.Duration.ZERO) > 0, commit.toString());
        assertTrue(commit.p50().compareTo(commit.p99()) <= 0 && commit.p99().compareTo(commit.max()) <= 0, commit.toString());
    }

    @Test
    void aTopicHasANameOfUpTo200Bytes() {
        String longest = "aZ09._:/-+;$()" + "x".repeat(186);
        client.push(longest, NewJob.text("x"));
        Job job = reserveOne(longest);
        assertEquals(longest, job.topic());
        job.finish();
        for (String refused : List.of("", "-a", "a b", "a=b", longest + "x")) {
            assertThrows(UsageException.class, () -> client.push(refused, NewJob.text("x")));
        }
    }

    @Test
    void aPauseEndsByItself() throws Exception {
        client.push("pause", NewJob.text("x"));
        for (Duration refused : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
            assertThrows(UsageException.class, () -> client.pause("pause", refused));
        }
        client.async().pause("pause", Duration.ofHours(1)).get();
        Duration left = client.topicSettings("pause").pauseLeft();
        assertTrue(left.compareTo(Duration.ofMinutes(59)) > 0 && left.compareTo(Duration.ofHours(1)) <= 0, left.toString());
        client.pause("pause");
        assertEquals(Duration.ZERO, client.topicSettings("pause").pauseLeft());
        long paused = System.nanoTime();
        client.pause("pause", Duration.ofSeconds(1));
        assertThrows(ServerException.Paused.class, () -> client.reserve("pause", 1, Duration.ZERO));
        reserveOne("pause").finish();
        Duration lasted = Duration.ofNanos(System.nanoTime() - paused);
        assertTrue(lasted.toMillis() >= 900, lasted.toString());
        TopicSettings after = client.topicSettings("pause");
        assertEquals(Duration.ZERO, after.pauseLeft());
        assertFalse(after.paused());
    }

    @Test
    void weightsShareJobsOut() {
        client.pushAll("heavy", IntStream.range(0, 10).mapToObj(i -> NewJob.text("h")).toList());
        client.pushAll("light", IntStream.range(0, 10).mapToObj(i -> NewJob.text("l")).toList());
        List<Job> jobs = client.reserve(List.of(TopicShare.of("heavy", 3), TopicShare.of("light", 1)), 8, WAIT);
        assertEquals(6, jobs.stream().filter(job -> job.topic().equals("heavy")).count());
        assertTrue(client.finish(jobs.stream().map(Job::lease).toList()).stream().allMatch(SettleResult::ok));
        assertThrows(UsageException.class,
                () -> client.reserve(List.of(TopicShare.of("heavy", 3), TopicShare.of("light")), 8, WAIT));
    }

    @Test
    void aSubscriptionDeliversAndGivesBackWhatNobodyTook() throws Exception {
        try (Subscription subscription = client.subscribe("feed", 3)) {
            assertTrue(subscription.isActive());
            client.pushAll("feed", IntStream.range(0, 5).mapToObj(i -> NewJob.text("f" + i)).toList());
            Await.until("the credit is used", () -> subscription.waiting() == 3);
            subscription.poll(WAIT).finish();
            subscription.credit(1, 1_000);
            Await.until("credit came back and more was given", () -> subscription.waiting() == 4);
        }
        Await.until("they are given back", () -> client.count(Filter.topic("feed").states(JobState.READY)) == 4);
        assertEquals(0, client.list(Filter.topic("feed")).filter(job -> job.attempts() != 0).count(), "no attempt is counted");
    }

    @Test
    void whatWasReservedIsTheCallersAloneWhateverOthersCall() {
        List<CompletableFuture<Void>> callers = IntStream.range(0, 4).mapToObj(n -> CompletableFuture.runAsync(() -> {
            for (int i = 0; i < 60; i++) {
                client.push("own" + n, NewJob.text("x"));
                client.reserve("own" + n, 1, WAIT).get(0).finish();
            }
        }, task -> new Thread(task).start())).toList();
        callers.forEach(CompletableFuture::join);
    }

    @Test
    void theClusterAndTheConnectionsAreShown() {
        ClusterReport report = client.clusterStatus();
        assertEquals(report.leader(), report.node());
        assertEquals(ClusterReport.Role.LEADER, report.members().get(0).role());
        assertThrows(ServerException.Invalid.class, () -> client.clusterRemove(report.node()));
        assertEquals("operations", client.connections().stream().filter(c -> c.session() != 0).findFirst().orElseThrow().clientName());
        assertThrows(ServerException.NotFound.class, () -> client.disconnect(999_999, false));
        assertTrue(Duration.between(client.ping(), Instant.now()).abs().toMinutes() < 1);
    }

    @Test
    void whatCannotBeIsRefusedBeforeItIsSent() {
        assertThrows(UsageException.class, () -> client.push("-topic", NewJob.text("x")));
        assertThrows(UsageException.class, () -> NewJob.text("x").key("a\nb"));
        assertThrows(UsageException.class, () -> NewJob.text("x").delay(Duration.ofMillis(-1)));
        assertThrows(UsageException.class, () -> NewJob.text("x").ttr(Duration.ofMillis(1)));
        assertThrows(UsageException.class, () -> Client.builder().address("adjourn://:1"));
        UsageException noPort = assertThrows(UsageException.class, () -> Client.builder().address("a:b"));
        assertEquals("USAGE", noPort.code());
        assertEquals(Due.after(Duration.ofMillis(2)), Due.after(Duration.ofNanos(1_000_001)), "never early");
    }

    @Test
    void bytesAreLeftAsTheyAre() {
        byte[] bytes = {0, -1, 13, 10};
        client.push("bytes", NewJob.of(bytes));
        client.push("bytes", NewJob.json(Map.of("id", 7, "note", "n")));
        Job job = reserveOne("bytes");
        assertArrayEquals(bytes, job.body());
        assertEquals(Attributes.NONE.headers(), job.attributes().headers());
        assertThrows(UsageException.class, () -> job.json(Order.class));
        Job json = reserveOne("bytes");
        assertEquals(new Order(7, "n"), json.json(Order.class));
        client.finish(List.of(job.lease(), json.lease()));
    }

    @Test
    void operationsWithoutWaiting() throws Exception {
        AsyncClient async = client.async();
        List<NewJob> jobs = IntStream.range(0, 5).mapToObj(i -> NewJob.text("x").key("k" + i).delay(Duration.ofHours(1))).toList();
        client.pushAll("async", jobs);
        // What is chained may wait for other calls: it does not hold up the connection.
        long count = async.get(JobRef.key("async", "k0")).thenApply(job -> client.count(Filter.topic(job.topic())))
                .get(WAIT.toSeconds(), TimeUnit.SECONDS);
        assertEquals(5, count);
        JobPage page = async.list(Filter.topic("async"), ListOrder.KEY, 2, false, new byte[0]).get();
        assertEquals(List.of("k0", "k1"), page.jobs().stream().map(JobInfo::key).toList());
        assertFalse(page.isLast());
        assertEquals("k2", async.list(Filter.topic("async"), ListOrder.KEY, 2, false, page.cursor()).get().jobs().get(0).key());
        assertEquals(JobState.READY, async.runNow(JobRef.key("async", "k0")).get().state());
        Job job = client.reserveAsync(List.of(TopicShare.of("async")), 1, WAIT).get().get(0);
        assertTrue(async.leases().get().stream().anyMatch(held -> held.id() == job.id()));
        assertTrue(async.bury(List.of(job.lease()), "no").get().get(0).ok());
        assertEquals(1, async.kickMany("async", 10).get());
        CompletableFuture<List<SettleResult>> stale = async.finish(List.of(job.lease(), job.lease()));
        assertEquals(2, stale.get().stream().filter(result -> result.error() instanceof ServerException.StaleLease).count());
        assertEquals(3, async.bulk(BulkChange.DELETE, Filter.topic("async"), 3, new byte[0]).get().jobs());
        async.pause("async").thenCompose(done -> async.resume("async")).get();
        assertTrue(async.connections().get().stream().anyMatch(one -> one.clientName().equals("operations")));
        ExecutionException error = assertThrows(ExecutionException.class, () -> async.get(JobRef.key("async", "nobody")).get());
        assertTrue(error.getCause() instanceof ServerException.NotFound, error.toString());
    }
}
