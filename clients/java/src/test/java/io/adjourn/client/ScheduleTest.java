package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.testing.TestQueue;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Schedules, against a real server whose clock the tests move. */
class ScheduleTest {
    private static final JobTemplate NONE = JobTemplate.of(new byte[0]);

    @Test
    void aScheduleFiresIsShownAndChanged() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            ScheduleRules rules = ScheduleRules.of("* * * * *").overlap(ScheduleRules.Overlap.SKIP);
            JobTemplate template = JobTemplate.text("report").priority(3).attemptsMax(2);
            Scheduled set = client.createSchedule("reports", "minutely", rules, template);
            assertEquals(1, set.version());
            assertThrows(ServerException.Changed.class, () -> client.createSchedule("reports", "minutely", rules, template));
            assertThrows(ServerException.Changed.class, () -> client.setSchedule("reports", "minutely", rules, template, 7));
            assertEquals(set.next(), client.advanceToNext());
            Job job = client.reserve("reports", 9, Duration.ZERO).get(0);
            assertEquals("report", job.text());
            job.finish();

            ScheduleInfo shown = client.schedule("reports", "minutely");
            assertEquals(List.of(new Firing(set.next(), set.next(), 1, set.next(), job.id(), Firing.Outcome.FINISHED)), shown.history());
            assertEquals(new ScheduleState(set.id(), 1, set.next().plusSeconds(60), false, false, ScheduleState.Paused.NOT_PAUSED, "", 1, 0, 0),
                    shown.state());
            assertEquals(rules.origin(shown.rules().origin().orElseThrow()), shown.rules(), "the server's choice of an origin is shown");
            assertEquals("report", shown.template().text());
            assertEquals(OptionalLong.of(3), shown.template().priority());
            assertEquals(2, shown.template().attributes().attemptsMax().orElseThrow());

            ScheduleRules noted = shown.rules().note("as it was shown");
            assertEquals(new Scheduled(set.id(), 2, shown.state().next()),
                    client.setSchedule("reports", "minutely", noted, shown.template(), shown.state().version()));
            ScheduleInfo again = client.schedule("reports", "minutely");
            assertEquals(noted, again.rules());
            assertEquals(shown.history(), again.history());
            assertArrayEquals(shown.template().attributes().encode(), again.template().attributes().encode());
        }
    }

    @Test
    void schedulesAreListedPausedRunAndDeleted() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            Instant start = client.ping();
            ScheduleRules all = ScheduleRules.of("@every 90s").zone("Europe/Berlin").dst(ScheduleRules.Dst.LITERAL)
                    .origin(start.plusSeconds(3600)).start(start.plusSeconds(7200)).end(start.plusSeconds(99_000)).count(9)
                    .jitter(Duration.ofSeconds(3)).missed(ScheduleRules.Missed.ALL).missedWindow(Duration.ofHours(1)).missedMax(7)
                    .overlap(ScheduleRules.Overlap.QUEUE_ONE).failuresMax(5).key("k").note("for people");
            List<String> names = List.of("z", "a");
            names.forEach(name -> client.setSchedule("t", name, all, JobTemplate.text(name).ttr(Duration.ofMinutes(1))));
            List<ListedSchedule> listed = client.schedules("t");
            assertEquals(names, names(listed));
            listed.forEach(one -> assertEquals(all, one.rules()));
            assertEquals("t", listed.get(0).topic());
            assertEquals(Duration.ofSeconds(3), listed.get(0).rules().jitter());
            assertEquals(start.plusSeconds(7200), listed.get(0).rules().start().orElseThrow());

            client.pauseSchedule("t", "z", "for now");
            assertEquals(ScheduleState.Paused.USER, client.schedule("t", "z").state().paused());
            assertEquals("for now", client.schedule("t", "z").state().pauseNote());
            client.resumeSchedule("t", "z");
            assertEquals(ScheduleState.Paused.NOT_PAUSED, client.schedule("t", "z").state().paused());
            long id = client.runSchedule("t", "z");
            Job job = client.reserve("t", 9, Duration.ZERO).get(0);
            assertEquals(id, job.id());
            assertEquals("k", job.key());
            assertThrows(ServerException.KeyExists.class, () -> client.runSchedule("t", "z"));
            client.deleteSchedule("t", "z");
            assertThrows(ServerException.NotFound.class, () -> client.schedule("t", "z"));
        }
    }

    @Test
    void allPagesAreListed() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            int count = Limits.SCHEDULES_LISTED_MAX + 1;
            for (int i = 0; i < count; i++) {
                client.async().setSchedule("t", "s" + i, ScheduleRules.of("@daily"), NONE);
            }
            client.ping();
            Await.until("all are set", () -> client.async().schedules("t").join().size() == count);
        }
    }

    @Test
    void schedulesAreListedByConditions() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            Instant start = Instant.parse("2090-01-01T00:00:00Z");
            List<String> names = List.of("a.1", "a.2", "b.1", "b.2");
            for (int i = 0; i < names.size(); i++) {
                client.setSchedule("t", names.get(i), ScheduleRules.of("@at " + start.plusSeconds(i)), NONE);
            }
            client.pauseSchedule("t", "a.2");
            client.pauseSchedule("t", "b.1");
            ScheduleFilter all = ScheduleFilter.ALL;
            assertEquals(names, names(client.schedules("t", all)));
            assertEquals(List.of("a.1", "a.2"), names(client.schedules("t", all.prefix("a."))));
            assertEquals(List.of("a.2", "b.1"), names(client.schedules("t", all.paused(true))));
            assertEquals(List.of("a.1", "b.2"), names(client.async().schedules("t", all.paused(false)).join()));
            assertEquals(List.of("a.1", "a.2"), names(client.schedules("t", all.nextBefore(start.plusSeconds(2)))));
            ScheduleFilter some = all.prefix("b").paused(true);
            assertEquals(List.of("b.1"), names(client.schedules("t", some.nextBefore(start.plusSeconds(3)))));
            assertEquals(List.of(), names(client.schedules("t", some.nextBefore(start.plusSeconds(2)))));
            assertThrows(UsageException.class, () -> all.nextBefore(Instant.EPOCH));
            assertThrows(UsageException.class, () -> client.schedules("t", all.prefix("n".repeat(Limits.SCHEDULE_NAME_BYTES_MAX + 1))));
        }
    }

    private static List<String> names(List<ListedSchedule> schedules) {
        return schedules.stream().map(ListedSchedule::name).toList();
    }

    @Test
    void aPageMayBeEmptyAndItsAnswerSaysWhereTheNextOneBegins() throws IOException {
        List<Long> begins = new CopyOnWriteArrayList<>();
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            answerPage(peer, begins, 5, 1);
            answerPage(peer, begins, 9);
            answerPage(peer, begins, 0, 12);
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            assertEquals(List.of(1L, 12L), client.schedules("t").stream().map(listed -> listed.state().id()).toList());
            assertEquals(List.of(0L, 5L, 9L), begins);
            client.close(Duration.ofMillis(1));
        }
    }

    /** Answers with a page of schedules of these ids, and notes after which id it was to begin. */
    private static void answerPage(ScriptedServer.Peer peer, List<Long> begins, long after, long... ids) throws IOException {
        ScriptedServer.Request list = peer.next(Opcode.SCHEDULE_LIST);
        begins.add(list.u64(0));
        peer.send(Opcode.SCHEDULES, list.id(), body -> {
            body.u64(after).list(104, ids.length);
            for (long id : ids) {
                body.u64(id).raw(new byte[96]);
            }
        });
    }

    @Test
    void rulesThatCannotBeAreRefused() {
        ScheduleRules rules = ScheduleRules.of("@daily");
        assertThrows(UsageException.class, () -> ScheduleRules.of(""));
        assertThrows(UsageException.class, () -> rules.jitter(Duration.ofMillis(-1)));
        assertThrows(UsageException.class, () -> rules.jitter(Duration.ofDays(1000)));
        assertThrows(UsageException.class, () -> rules.end(Instant.EPOCH));
        assertThrows(UsageException.class, () -> rules.missedMax(-1));
        assertThrows(UsageException.class, () -> rules.overlap(ScheduleRules.Overlap.UNKNOWN));
        try (TestQueue queue = TestQueue.start()) {
            assertThrows(UsageException.class, () -> queue.client().setSchedule("t", "s", rules, NONE, 0));
            assertThrows(ServerException.Invalid.class, () -> queue.client().setSchedule("t", "s", rules.when("0 0 31 2 *"), NONE));
        }
        assertEquals(ScheduleRules.of("@daily"), rules, "it cannot be changed");
    }

    @Test
    void aScheduleOfANewerServerIsShown() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.send(Opcode.SCHEDULE, peer.next(Opcode.SCHEDULE_SHOW).id(), body -> body.u64(4).u64(0).u64(0).u32(1).u32(0).u32(0).u8(9).u8(0)
                    .u16(0).u64(0).u64(0).u64(0).u64(0).u64(0).u32(0).u32(0).u32(0).u8(9).u8(9).u8(9).u16(6).u8(0).u16(0).u16(0)
                    .raw(new byte[] {'@', 'n', 'e', 'v', 'e', 'r'}).u32(-1).u32(0).u16(0).u32(0)
                    .list(41, 1).u64(1).u64(1).u64(1).u64(1).u64(0).u8(99));
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            ScheduleInfo shown = client.schedule("t", "s");
            assertEquals(ScheduleState.Paused.UNKNOWN, shown.state().paused());
            assertEquals(ScheduleRules.Dst.UNKNOWN, shown.rules().dst());
            assertEquals(ScheduleRules.Missed.UNKNOWN, shown.rules().missed());
            assertEquals(ScheduleRules.Overlap.UNKNOWN, shown.rules().overlap());
            assertEquals(Firing.Outcome.UNKNOWN, shown.history().get(0).outcome());
            assertEquals("@never", shown.rules().when());
            assertTrue(shown.template().priority().isEmpty() && shown.state().next() == null);
            client.close(Duration.ofMillis(1));
        }
    }
}
