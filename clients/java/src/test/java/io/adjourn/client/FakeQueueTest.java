package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;

/** The fake queue: its clock, and that it answers as a real server does. */
class FakeQueueTest {
    @Test
    void theClockMakesJobsDueAndEndsLeasesAndWaits() throws Exception {
        try (FakeQueue queue = new FakeQueue()) {
            Client client = queue.client();
            client.push("t", NewJob.text("later").delay(Duration.ofMinutes(30)).ttr(Duration.ofSeconds(10)));
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("t")), 1, Duration.ofHours(1));
            queue.advance(Duration.ofMinutes(29));
            assertFalse(waiting.isDone());
            queue.advance(Duration.ofMinutes(1));
            Job job = waiting.get().get(0);
            assertEquals("later", job.text());
            queue.advance(Duration.ofSeconds(10));
            assertEquals(LostReason.LEASE_LOST, job.lost().orElseThrow());
            assertThrows(LeaseLostException.class, job::finish);
            Job again = client.reserve("t", 1, Duration.ZERO).get(0);
            assertEquals(2, again.attempts());
            assertTrue(Long.compareUnsigned(again.fence(), job.fence()) > 0);
            again.finish();
            CompletableFuture<List<Job>> nothing = client.reserveAsync(List.of(TopicShare.of("t")), 1, Duration.ofSeconds(5));
            queue.advance(Duration.ofSeconds(5));
            assertEquals(List.of(), nothing.get());
        }
    }

    @Test
    void aWorkerRunsOnIt() {
        try (FakeQueue queue = new FakeQueue()) {
            CountDownLatch ran = new CountDownLatch(2);
            AtomicReference<LostReason> reason = new AtomicReference<>();
            Worker worker = Worker.builder(queue.client()).topic("t").concurrency(1).handler(job -> {
                ran.countDown();
                if (job.attempts() == 1) {
                    throw new IllegalStateException("the first time");
                } else if (job.attempts() == 2) {
                    try {
                        Thread.sleep(60_000);
                    } catch (InterruptedException e) {
                        reason.set(job.lost().orElse(null));
                        throw e;
                    }
                }
            }).start();
            long id = queue.client().push("t", NewJob.text("x").backoff(Backoff.fixed(Duration.ofMinutes(1)))).id();
            Await.until("it was released", () -> queue.client().get(JobRef.id(id)).state() == JobState.DELAYED);
            assertEquals("the first time", queue.client().get(JobRef.id(id)).reason());
            queue.advance(Duration.ofMinutes(1));
            Await.until("the second attempt", () -> ran.getCount() == 0);
            queue.advance(Duration.ofMinutes(1));
            Await.until("the lease was lost", () -> reason.get() == LostReason.LEASE_LOST);
            queue.advance(Duration.ofMinutes(1));
            Await.until("it is done", () -> queue.client().get(JobRef.id(id)).state() == JobState.FINISHED);
            assertTrue(worker.stop(Duration.ofSeconds(5)));
        }
    }

    @Test
    void aRateLetsJobsThroughAsTimePasses() {
        try (FakeQueue queue = new FakeQueue()) {
            Client client = queue.client();
            client.setTopic("t", TopicPolicy.EMPTY.rate(2));
            client.pushAll("t", Collections.nCopies(3, NewJob.text("x")));
            assertEquals(1, client.reserve("t", 5, Duration.ZERO).size());
            queue.advance(Duration.ofMillis(499));
            assertEquals(0, client.reserve("t", 5, Duration.ZERO).size());
            queue.advance(Duration.ofMillis(1));
            assertEquals(1, client.reserve("t", 5, Duration.ZERO).size());
            CompletableFuture<List<Job>> last = client.reserveAsync(List.of(TopicShare.of("t")), 5, Duration.ofMinutes(1));
            queue.advance(Duration.ofMinutes(1));
            assertEquals(1, last.join().size());
        }
    }

    @Test
    void lateJobsAreBuriedOrDropped() {
        try (FakeQueue queue = new FakeQueue()) {
            Client client = queue.client();
            client.setTopic("buries", TopicPolicy.EMPTY.late(Duration.ofMinutes(1), TopicPolicy.LateAction.BURY, 0));
            client.setTopic("drops", TopicPolicy.EMPTY.late(Duration.ofMinutes(1), TopicPolicy.LateAction.DROP, 0));
            client.push("buries", NewJob.text("x"));
            client.push("drops", NewJob.text("x"));
            queue.advance(Duration.ofMinutes(1).plusMillis(1));
            assertEquals(List.of(), client.reserve(List.of(TopicShare.of("buries"), TopicShare.of("drops")), 5, Duration.ZERO));
            assertEquals(1, client.count(Filter.ALL.buried(BuriedReason.TOO_LATE)));
            assertEquals(1, client.stats().totals().expired());
        }
    }

    @Test
    void noLeaseEndsInTheAdvanceThatBeginsIt() throws InterruptedException {
        try (FakeQueue queue = new FakeQueue()) {
            Client client = queue.client();
            client.push("t", NewJob.text("x").delay(Duration.ofHours(1)).ttr(Duration.ofMinutes(1)).attemptsMax(2));
            try (Subscription jobs = client.subscribe("t", 1)) {
                queue.advance(Duration.ofDays(1));
                Job job = jobs.poll(Duration.ofSeconds(5));
                assertEquals(1, job.attempts());
                assertTrue(job.lost().isEmpty());
                job.finish();
            }
        }
    }

    /** The same steps on the fake and on a real server come to the same. */
    @Test
    void itAnswersAsARealServerDoes() {
        List<Object> real;
        try (TestServer server = new TestServer(); Client client = Client.builder().address(server.address()).connect()) {
            real = steps(client);
        }
        try (FakeQueue queue = new FakeQueue()) {
            assertEquals(String.join("\n", real.stream().map(String::valueOf).toList()),
                    String.join("\n", steps(queue.client()).stream().map(String::valueOf).toList()));
        }
    }

    private static List<Object> steps(Client client) {
        List<Object> seen = new ArrayList<>();
        BiFunction<String, Runnable, Object> attempt = (name, call) -> {
            try {
                call.run();
                return name + ": done";
            } catch (AdjournException e) {
                return name + ": " + e.code();
            }
        };
        NewJob hour = NewJob.text("x").delay(Duration.ofHours(1));
        for (IfExists mode : IfExists.values()) {
            seen.add(attempt.apply("push k " + mode, () -> seen.add(client.push("a", hour.key("k").ifExists(mode)).outcome())));
        }
        seen.add(attempt.apply("run now", () -> seen.add(client.runNow(JobRef.key("a", "k")).state())));
        Job job = client.reserve("a", 5, Duration.ZERO).get(0);
        for (IfExists mode : List.of(IfExists.REJECT, IfExists.KEEP, IfExists.REPLACE, IfExists.POSTPONE)) {
            seen.add(attempt.apply("push reserved " + mode, () -> seen.add(client.push("a", hour.key("k").ifExists(mode)).outcome())));
        }
        seen.add(attempt.apply("reschedule", () -> client.reschedule(JobRef.id(job.id()), Due.NOW)));
        seen.add(attempt.apply("kick", () -> client.kick(JobRef.id(job.id()))));
        seen.add(attempt.apply("bury", () -> job.bury("bad")));
        seen.add(attempt.apply("bury again", () -> job.bury("bad")));
        JobInfo buried = client.get(JobRef.id(job.id()));
        seen.add(buried.state() + " " + buried.buried() + " " + buried.reason() + " " + buried.attempts());
        seen.add(client.kickMany("a", 10));
        Job kicked = client.reserve("a", 1, Duration.ZERO).get(0);
        seen.add(kicked.attempts());
        kicked.finish();
        seen.add(attempt.apply("finish again", kicked::finish));
        seen.add(client.get(JobRef.id(job.id())).state());
        seen.add(attempt.apply("get by key", () -> client.get(JobRef.key("a", "k"))));
        client.push("a", NewJob.text("r").key("once").remember(Duration.ofHours(1)));
        client.reserve("a", 1, Duration.ZERO).get(0).finish();
        seen.add(attempt.apply("push remembered", () -> client.push("a", NewJob.text("r").key("once"))));
        seen.add(client.count(Filter.topic("a")) + " " + client.count(Filter.topic("a").states(JobState.FINISHED)));
        client.setTopic("b", TopicPolicy.EMPTY.deadLetters("dead").attemptsMax(1).jobsMax(2));
        seen.addAll(client.pushAll("b", List.of(NewJob.text("1"), NewJob.text("2").priority(1), NewJob.text("3"),
                hour.expires(Due.after(Duration.ofMinutes(1))))).stream().map(r -> r.ok() ? r.outcome() : r.error().code()).toList());
        Job first = client.reserve("b", 1, Duration.ZERO).get(0);
        seen.add(first.text());
        first.release("dead now");
        seen.add(client.peek("dead").reason() + client.peek("dead").attempts());
        client.pause("b");
        seen.add(attempt.apply("reserve paused", () -> client.reserve("b", 1, Duration.ZERO)));
        seen.add(attempt.apply("delete topic", () -> client.deleteTopic("b")));
        seen.add(client.bulk(BulkChange.moveTo("c"), Filter.topic("b")).mapToLong(BulkStep::jobs).sum());
        seen.add(attempt.apply("delete topic", () -> client.deleteTopic("b")));
        seen.add(attempt.apply("show topic", () -> client.topicSettings("b")));
        seen.add(client.list(Filter.ALL, ListOrder.ID, 2, true).map(j -> j.topic() + ":" + new String(j.body())).toList());
        client.setTopic("limits", TopicPolicy.EMPTY.bytesMax(4).bodyBytesMax(3).leasesMax(1));
        seen.addAll(client.pushAll("limits", List.of(NewJob.text("four"), NewJob.text("abc").key("k"), NewJob.text("de"), NewJob.text("d"),
                NewJob.text("xyz").key("k").ifExists(IfExists.REPLACE), NewJob.text("xyz").key("k").ifExists(IfExists.KEEP))).stream()
                .map(r -> r.ok() ? r.outcome() : r.error().code()).toList());
        seen.add("leases: " + client.reserve("limits", 5, Duration.ZERO).size());
        client.setTopic("letters", TopicPolicy.EMPTY.deadLetters("dead"));
        client.push("letters", NewJob.text("x").key("letter").attemptsMax(1));
        client.reserve("letters", 1, Duration.ZERO).get(0).release("no");
        seen.add(attempt.apply("a dead letter by its key", () -> client.get(JobRef.key("dead", "letter"))));
        seen.add(client.bulk(BulkChange.moveTo("letters"), Filter.topic("dead").keyPrefix("letter")).mapToLong(BulkStep::jobs).sum());
        seen.add(attempt.apply("moved back", () -> client.get(JobRef.key("letters", "letter"))));
        for (String topic : List.of("w1", "w2")) {
            client.pushAll(topic, Collections.nCopies(8, NewJob.text(topic)));
        }
        List<TopicShare> shares = List.of(TopicShare.of("w1", 3), TopicShare.of("w2", 1));
        for (int i = 0; i < 3; i++) {
            seen.add(client.reserve(shares, 3, Duration.ZERO).stream().map(Job::text).toList());
        }
        Map<String, Totals> totals = new java.util.TreeMap<>();
        client.topics().forEach(topic -> totals.put(topic.name(), topic.totals()));
        totals.forEach((name, t) -> seen.add(name + " " + t.delayed() + t.ready() + t.reserved() + t.buried() + " " + t.pushed()
                + t.finished() + t.expired()));
        return seen;
    }
}
