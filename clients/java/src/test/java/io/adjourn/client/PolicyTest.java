package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Call-backs, parked jobs, versions and idempotency keys, against a real server. */
class PolicyTest {
    private static final Duration WAIT = Duration.ofSeconds(10);
    private static TestServer server;
    private static Client client;

    @BeforeAll
    static void start() {
        server = new TestServer();
        client = Client.builder().address(server.address()).connect();
    }

    @AfterAll
    static void stop() {
        client.close();
        server.close();
    }

    @Test
    void theSettingsOfCallBacksAreSetAndShownAgain() {
        TopicPolicy set = TopicPolicy.EMPTY.callBack("http://127.0.0.1:9/hook").callBackMethod("PUT").callBackHeaders("X-Shop: 7")
                .callBackBody("{}").callBackTimeout(Duration.ofSeconds(7)).callBackConcurrency(3).callBackRate(50)
                .callBackRefused("bury").callBackSuccess("status").callBackRetryIf("{status} == 200").callBackOfJob(true)
                .callBackLog(Duration.ofDays(1)).callBackPaused(true).callBackDelay(Duration.ofMinutes(1));
        client.setTopic("hooks", set);
        TopicPolicy shown = client.topicSettings("hooks").policy();
        assertEquals("http://127.0.0.1:9/hook", shown.callBack().orElseThrow());
        assertEquals("PUT", shown.callBackMethod().orElseThrow());
        assertEquals("X-Shop: 7", shown.callBackHeaders().orElseThrow());
        assertEquals("{}", shown.callBackBody().orElseThrow());
        assertEquals(Duration.ofSeconds(7), shown.callBackTimeout().orElseThrow());
        assertEquals(3, shown.callBackConcurrency().orElseThrow());
        assertEquals(50, shown.callBackRate().orElseThrow());
        assertEquals("bury", shown.callBackRefused().orElseThrow());
        assertEquals("status", shown.callBackSuccess().orElseThrow());
        assertEquals("{status} == 200", shown.callBackRetryIf().orElseThrow());
        assertTrue(shown.callBackOfJob());
        assertEquals(Duration.ofDays(1), shown.callBackLog().orElseThrow());
        assertTrue(shown.callBackPaused());
        assertEquals(Duration.ofMinutes(1), shown.callBackDelay().orElseThrow());
        client.setTopic("hooks", TopicPolicy.EMPTY.callBackPaused(false).without(TopicPolicy.Setting.CALL_BACK_BODY));
        TopicPolicy changed = client.topicSettings("hooks").policy();
        assertFalse(changed.callBackPaused());
        assertTrue(changed.callBackOfJob());
        assertTrue(changed.callBackBody().isEmpty());
    }

    @Test
    void theDefaultsOfTheServerAreMarked() {
        client.setTopic("defaults", TopicPolicy.EMPTY.attemptsMax(3));
        TopicSettings shown = client.topicSettings("defaults");
        assertFalse(shown.attemptsOfServer());
        assertTrue(shown.backoffOfServer());
    }

    @Test
    void aParkedJobWaitsAndNoAttemptIsCounted() {
        client.push("parked", NewJob.text("x").attemptsMax(1));
        Job job = client.reserve("parked", 1, WAIT).get(0);
        job.park(Duration.ofHours(1));
        JobInfo parked = client.get(JobRef.id(job.id()));
        assertEquals(JobState.DELAYED, parked.state());
        assertEquals(0, parked.attempts());
        assertTrue(parked.due().isAfter(Instant.now().plus(Duration.ofMinutes(55))), parked.toString());
        client.runNow(JobRef.id(job.id()));
        Job again = client.reserve("parked", 1, WAIT).get(0);
        assertEquals(1, again.attempts());
        again.park(Duration.ZERO);
        assertEquals(JobState.READY, client.get(JobRef.id(job.id())).state());
    }

    @Test
    void aJobIsRescheduledOnlyIfItIsOfTheVersion() {
        long id = client.push("versions", NewJob.text("x").delay(Duration.ofHours(1))).id();
        long version = client.get(JobRef.id(id)).version();
        Changed changed = client.reschedule(JobRef.id(id), Due.after(Duration.ofHours(2)), version);
        assertTrue(changed.version() != 0 && changed.version() != version);
        assertThrows(ServerException.Changed.class, () -> client.reschedule(JobRef.id(id), Due.NOW, version));
        assertEquals(changed.version(), client.get(JobRef.id(id)).version());
    }

    @Test
    void aListUnderAKeyIsPushedOnceEvenInSeveralRequests() {
        IdempotencyKey key = IdempotencyKey.random();
        List<NewJob> jobs = IntStream.range(0, 5_000).mapToObj(i -> NewJob.of(new byte[] {(byte) i})).toList();
        List<PushResult> first = client.pushAll("keyed", jobs, key);
        assertEquals(5_000, first.stream().filter(PushResult::ok).map(PushResult::id).distinct().count());
        try (Client other = Client.builder().address(server.address()).withoutSession(true).connect()) {
            assertEquals(first, other.pushAll("keyed", jobs, key));
            List<PushResult> shorter = other.pushAll("keyed", jobs.subList(0, 4_999), key);
            assertEquals(4_999, shorter.stream().filter(result -> result.error() instanceof ServerException.SequenceReused).count());
        }
        assertEquals(5_000, client.count(Filter.topic("keyed")));
        assertThrows(ServerException.TooLarge.class,
                () -> client.pushAll("keyed", IntStream.range(0, 8_193).mapToObj(i -> NewJob.text("x")).toList(), IdempotencyKey.random()));
    }

    @Test
    void aKeyWithoutRoomForTheListIsRefusedBeforeAnythingIsSent() {
        IdempotencyKey last = new IdempotencyKey(-1, -1);
        IdempotencyKey lastButOne = new IdempotencyKey(-1, -2);
        NewJob job = NewJob.text("x");
        String refused = assertThrows(UsageException.class, () -> client.pushAll("room", List.of(job, job, job), lastButOne)).getMessage();
        assertTrue(refused.contains("none 2 places behind"), refused);
        assertThrows(UsageException.class, () -> client.pushAllAsync("room", List.of(job, job), last));
        assertThrows(UsageException.class, () -> last.plus(1));
        assertEquals(0, client.count(Filter.topic("room")));
        assertTrue(client.pushAll("room", List.of(), last).isEmpty());
        assertTrue(client.pushAll("room", List.of(job, job), lastButOne).stream().allMatch(PushResult::ok));
        assertEquals(new IdempotencyKey(1, 1), new IdempotencyKey(0, -1).plus(2));
    }

    @Test
    void anEmptyTextTakesNoSettingAway() {
        String refused = assertThrows(UsageException.class, () -> TopicPolicy.EMPTY.callBackBody("")).getMessage();
        assertTrue(refused.contains("without(Setting.CALL_BACK_BODY)"), refused);
        assertThrows(UsageException.class, () -> TopicPolicy.EMPTY.callBackHeaders(""));
        assertThrows(UsageException.class, () -> TopicPolicy.EMPTY.callBackSecrets(null));
    }

    @Test
    void oneJobUnderAKeyIsPushedOnce() {
        IdempotencyKey key = IdempotencyKey.of(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
        long id = client.push("single", NewJob.text("x"), key).id();
        assertEquals(id, client.push("single", NewJob.text("x"), key).id());
        assertThrows(ServerException.SequenceReused.class, () -> client.push("single", NewJob.text("y"), key));
        assertThrows(UsageException.class, () -> IdempotencyKey.of(new byte[16]));
        assertThrows(UsageException.class, () -> IdempotencyKey.of(new byte[15]));
    }
}
