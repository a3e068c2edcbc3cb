package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.testing.TestQueue;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
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
    void schedulesOfAllTopicsAreListed() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            client.setSchedule("b", "first", ScheduleRules.of("@daily"), NONE);
            client.setSchedule("a", "second", ScheduleRules.of("@daily"), NONE);
            client.setSchedule("b", "third", ScheduleRules.of("@daily"), NONE);
            List<ListedSchedule> all = client.schedules();
            assertEquals(3, all.size());
            assertEquals(List.of("second"), names(all.stream().filter(one -> one.topic().equals("a")).toList()));
            assertEquals(List.of("first", "third"), names(all.stream().filter(one -> one.topic().equals("b")).toList()));
            assertEquals(List.of("second"), names(client.schedules(ScheduleFilter.ALL.prefix("s"))));
            assertThrows(UsageException.class, () -> client.schedules(""), "all topics only if that is meant");
        }
    }

    @Test
    void aPageMayBeEmptyAndItsAnswerSaysWhereTheNextOneBegins() throws IOException {
        List<String> begins = new CopyOnWriteArrayList<>();
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            answerPage(peer, begins, "5", 1);
            answerPage(peer, begins, "9");
            answerPage(peer, begins, "", 12);
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            assertEquals(List.of(1L, 12L), client.schedules().stream().map(listed -> listed.state().id()).toList());
            assertEquals(List.of("", "5", "9"), begins);
            client.close(Duration.ofMillis(1));
        }
    }

    /** Answers with a page of schedules of these ids, and notes at which cursor it was to begin. */
    private static void answerPage(ScriptedServer.Peer peer, List<String> begins, String cursor, long... ids) throws IOException {
        ScriptedServer.Request list = peer.next(Opcode.SCHEDULE_LIST);
        // After 13 fixed bytes, no topic, no prefix, and the length of the cursor.
        begins.add(new String(list.payload(), 17, list.payload().length - 17, StandardCharsets.US_ASCII));
        peer.send(Opcode.SCHEDULES, list.id(), body -> {
            body.list(104, ids.length);
            for (long id : ids) {
                body.u64(id).raw(new byte[96]);
            }
            body.bytes16(cursor.getBytes(StandardCharsets.US_ASCII));
        });
    }

    @Test
    void aTimeThatHasPassedIsCountedAndFilled() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            client.setSchedule("t", "daily", ScheduleRules.of("0 9 * * *"), JobTemplate.text("report"));
            Instant first = Instant.parse("2024-01-01T09:00:00Z");
            List<Instant> days = List.of(first, first.plus(Duration.ofDays(1)), first.plus(Duration.ofDays(2)));
            assertEquals(new ScheduleFilled(null, 3, 0, 0, 0), client.fillSchedule("t", "daily", first, days.get(2), true));
            assertEquals(new ScheduleFilled(null, 2, 2, 0, 0), client.fillSchedule("t", "daily", first, days.get(1), false));
            assertEquals(new ScheduleFilled(null, 3, 1, 2, 0), client.async().fillSchedule("t", "daily", first, days.get(2), false).join());
            List<Job> jobs = client.reserve("t", 9, Duration.ZERO);
            assertEquals(days.stream().map(day -> "daily@" + day.toEpochMilli()).toList(), jobs.stream().map(Job::key).toList());
            assertEquals("report", jobs.get(0).text());
            assertEquals(List.of(), client.schedule("t", "daily").history());
            assertEquals(0, client.schedule("t", "daily").state().fired());

            Instant ahead = client.ping().plusSeconds(3600);
            assertThrows(ServerException.Invalid.class, () -> client.fillSchedule("t", "daily", first, ahead, false));
            assertThrows(ServerException.Invalid.class, () -> client.fillSchedule("t", "daily", days.get(1), first, false));
            assertThrows(ServerException.NotFound.class, () -> client.fillSchedule("t", "weekly", first, days.get(1), false));
        }
    }

    /** The first time is rounded up and the last one is not, so that nothing outside of them counts. */
    @Test
    void aTimeIsFilledInParts() throws IOException {
        List<List<Long>> asked = new CopyOnWriteArrayList<>();
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            for (long next : new long[] {5, 0}) {
                ScriptedServer.Request fill = peer.next(Opcode.SCHEDULE_FILL);
                asked.add(List.of(fill.u64(0), fill.u64(8), (long) fill.payload()[16]));
                peer.send(Opcode.SCHEDULE_FILLED, fill.id(), body -> body.u64(next).u64(12).u32(4).u32(3).u32(2).u32(1));
            }
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            List<ScheduleFilled> parts = new ArrayList<>();
            Instant last = Instant.ofEpochMilli(9).plusNanos(1000);
            for (Instant next = Instant.ofEpochMilli(1).plusNanos(1000); next != null;) {
                ScheduleFilled part = client.fillSchedule("t", "s", next, last, true);
                parts.add(part);
                next = part.next();
            }
            assertEquals(List.of(List.of(2L, 9L, 1L), List.of(5L, 9L, 1L)), asked);
            assertEquals(List.of(new ScheduleFilled(Instant.ofEpochMilli(5), 4, 3, 2, 1), new ScheduleFilled(null, 4, 3, 2, 1)), parts);
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aScheduleIsPreviewedWithoutSettingIt() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            Instant gap = Instant.parse("2024-03-31T01:00:00Z");
            ScheduleRules sundays = ScheduleRules.of("30 2 * * 7").zone("Europe/Berlin");
            SchedulePreview preview = client.previewSchedule(sundays, gap.minusNanos(1000), 2);
            assertEquals(List.of(new LocalInstant(gap, "2024-03-31 03:00:00 +02:00 CEST"),
                    new LocalInstant(Instant.parse("2024-04-07T00:30:00Z"), "2024-04-07 02:30:00 +02:00 CEST")), preview.instants());
            assertFalse(preview.zoneData().isEmpty());
            Instant now = client.ping();
            Instant soon = client.async().previewSchedule(ScheduleRules.of("* * * * *"), 1).join().instants().get(0).instant();
            assertTrue(soon.isAfter(now) && !soon.isAfter(now.plusSeconds(60)), soon + " is next after " + now);
            assertEquals(List.of(), client.previewSchedule(ScheduleRules.of("@at 2024-01-01T00:00:00Z"), gap, 1).instants());
            assertEquals(List.of(), client.schedules(), "it is not set");
            assertThrows(ServerException.Invalid.class, () -> client.previewSchedule(ScheduleRules.of("61 * * * *"), 1));
            assertThrows(ServerException.Invalid.class, () -> client.previewSchedule(sundays.zone("Mars/Olympus"), 1));
            assertThrows(UsageException.class, () -> client.previewSchedule(sundays, 0));
            assertThrows(UsageException.class, () -> client.previewSchedule(sundays, Limits.INSTANTS_SHOWN_MAX + 1));
            assertThrows(UsageException.class, () -> client.previewSchedule(sundays, Instant.EPOCH, 1));
        }
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
