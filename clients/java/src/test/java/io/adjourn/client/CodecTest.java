package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.internal.session.Pushes;
import io.adjourn.client.internal.wire.Bits;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Constants;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.RequestEncoder;
import io.adjourn.client.internal.wire.Response;
import io.adjourn.client.internal.wire.ResponseDecoder;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The codec against the frames of protocol.md. */
class CodecTest {
    private static final long NEW_YEAR = 1_767_225_600_000L;
    private static final byte[] NONE = new byte[0];

    private static byte[] secret() {
        byte[] secret = new byte[16];
        for (int i = 0; i < 16; i++) {
            secret[i] = (byte) (0xa0 + i);
        }
        return secret;
    }

    private static Request.Push push(long sequence, String topic, List<Request.NewJob> jobs) {
        return new Request.Push(sequence, topic, jobs, new byte[16], 0);
    }

    private static byte[] utf8(String text) {
        return FrameWriter.utf8(text);
    }

    /** Every request that stands in protocol.md, in its order. */
    private static List<Request> requests() {
        List<Request> r = new ArrayList<>();
        Request.Hello hello = new Request.Hello(1, 1, 0, 0, 0, new byte[16], "billing", NONE);
        Request.Finish finish = new Request.Finish(List.of(new Lease(42, 7)));
        r.addAll(List.of(hello,
                push(1, "orders", List.of(new Request.NewJob(1500, 1024, 0, 0, 0, "", NONE, utf8("close it")))),
                new Request.Reserve(5000, 10, List.of("orders"), List.of()), finish, new Request.Ping(),
                new Request.Goodbye(), hello,
                new Request.Hello(1, 1, 1, 5000, 9, secret(), "cli", utf8("sesame")),
                new Request.Goodbye(), new Request.Hello(1, 1, 2, 0, 0, new byte[16], "web", NONE),
                new Request.Ping()));
        r.add(push(1, "orders", List.of(new Request.NewJob(1500, 1024, 0, 0, 0, "", NONE, utf8("close it")),
                new Request.NewJob(NEW_YEAR, 10, 30_000, 1, 2, "order 17",
                        Attributes.NONE.withHeader("content-type", "text/plain").encode(), utf8("17")))));
        r.add(push(4, "search", List.of(new Request.NewJob(5000, 1024, 0, 0, 4, "shop-3",
                Attributes.NONE.withPostponeMax(Duration.ofMinutes(1)).encode(), utf8("reindex")))));
        IdempotencyKey key = new IdempotencyKey(0xc000_0000_0000_0000L, 2);
        r.add(Pushes.of("orders", List.of(new Request.NewJob(1500, 1024, 0, 0, 0, "", NONE, utf8("close it"))), key, 0));
        r.add(new Request.Reserve(5000, 10, List.of("orders", "mails"), List.of()));
        r.add(new Request.Cancel(6));
        r.add(new Request.ReserveJob(JobRef.id(42)));
        r.add(new Request.Subscribe(100, 1_048_576, List.of("orders"), List.of()));
        r.add(new Request.Credit(7, 50, 65_536));
        r.add(new Request.Unsubscribe(7));
        r.add(new Request.Reserve(5000, 10, List.of("orders", "mails"), List.of(5, 1)));
        r.add(new Request.Leases(41, 10));
        r.add(new Request.Finish(List.of(new Lease(42, 7), new Lease(43, 8))));
        r.add(new Request.Release(Constants.RELEASE_BY_BACKOFF, List.of(new Lease(42, 7)), ""));
        r.add(new Request.Release(30_000, List.of(new Lease(42, 7)), ""));
        r.add(new Request.Touch(0, List.of(new Lease(42, 7))));
        r.add(new Request.Bury(List.of(new Lease(42, 7)), ""));
        r.add(new Request.Bury(List.of(new Lease(42, 7)), "no such address"));
        JobRef byKey = JobRef.key("orders", "order 17");
        r.add(new Request.Get(JobRef.id(42)));
        r.add(new Request.Get(byKey));
        r.add(new Request.Delete(byKey));
        r.add(new Request.Reschedule(NEW_YEAR, 1, JobRef.id(42), 0));
        r.add(new Request.Reschedule(NEW_YEAR, 1, JobRef.id(42), 0xd4a2_773e_5b00_1f9cL));
        r.add(new Request.RunNow(JobRef.id(42)));
        r.add(new Request.Kick(JobRef.id(42)));
        r.add(new Request.KickMany(1000, "orders"));
        r.add(new Request.Edit(0, 7, 0, Bits.Edited.PRIORITY | Bits.Edited.BODY | Bits.Edited.ATTEMPTS_MAX, 0, JobRef.id(42), NONE,
                utf8("close it"), 0));
        byte[] buried = Filter.topic("orders").states(JobState.BURIED).encode();
        r.add(new Request.ListJobs(100, 0, 0, NONE, buried));
        r.add(new Request.Count(Filter.topic("orders").dueBefore(Instant.ofEpochMilli(NEW_YEAR)).encode(), 1, 1_767_218_400_000L, 3_600_000));
        r.add(new Request.Bulk(1024, Choice.Change.KICK, 0, NONE, buried, ""));
        r.add(new Request.Bulk(1024, Choice.Change.MOVE, 0, NONE, buried, "failed"));
        r.addAll(List.of(new Request.Peek("orders"), new Request.Pause("orders", 0), new Request.Pause("orders", 600_000),
                new Request.Resume("orders"), new Request.TopicDelete("orders")));
        r.add(new Request.Topics());
        r.add(new Request.Stats());
        r.add(new Request.TopicSet("orders", TopicPolicy.EMPTY.without(TopicPolicy.Setting.DEAD_LETTERS).rate(50)
                .ttr(Duration.ofSeconds(30)).encode()));
        r.add(new Request.TopicShow("orders"));
        r.addAll(aboutGroups());
        r.addAll(aboutSchedules());
        r.add(new Request.Connections(0, 256));
        r.add(new Request.Disconnect(7, 1));
        r.add(new Request.Advance(Choice.Step.BY, 900_000));
        r.add(new Request.BackupBegin());
        r.add(new Request.BackupRead(0, 8));
        r.add(new Request.BackupEnd());
        r.add(new Request.ClusterStatus());
        r.add(new Request.ClusterAdd("10.0.0.3:7441"));
        r.add(new Request.ClusterRemove(2));
        r.add(new Request.ClusterTransfer(0));
        return r;
    }

    private static List<Request> aboutGroups() {
        return List.of(GroupChange.EMPTY.weight(5).paused(true).toWire("orders", "ann"), new Request.GroupList(100, "orders", "ann", "b"),
                new Request.Why(JobRef.key("orders", "order-17")), new Request.TopicWhy("orders", "ann"));
    }

    private static List<Request> aboutSchedules() {
        ScheduleRules rules = ScheduleRules.of("0 9 * * 1-5").zone("Europe/Berlin").jitter(Duration.ofSeconds(30))
                .missed(ScheduleRules.Missed.LAST).missedWindow(Duration.ofHours(1)).overlap(ScheduleRules.Overlap.SKIP).failuresMax(3);
        return List.of(new Request.ScheduleSet("reports", "morning", rules.toWire(), JobTemplate.of(utf8("report")).toWire(), 1),
                new Request.ScheduleShow("reports", "morning"),
                new Request.ScheduleList(256, 0, Choice.WhichPaused.ACTIVE, "reports", "mo", NONE),
                new Request.ScheduleDelete("reports", "morning"), new Request.SchedulePause("reports", "morning", "for now"),
                new Request.ScheduleResume("reports", "morning"), new Request.ScheduleRun("reports", "morning"),
                new Request.ScheduleFill(1_767_081_600_000L, 1_767_168_000_000L, 0, "reports", "morning"),
                new Request.SchedulePreview(ScheduleRules.of("0 9 * * 1-5").zone("Europe/Berlin").toWire(), 0, 1));
    }

    @Test
    void everyRequestOfTheProtocolIsEncodedToTheByte() {
        List<ProtocolFrames.Frame> frames = ProtocolFrames.requests();
        List<Request> requests = requests();
        assertEquals(frames.size(), requests.size());
        Set<Opcode> seen = new HashSet<>();
        for (int i = 0; i < frames.size(); i++) {
            FrameWriter out = new FrameWriter();
            RequestEncoder.encode(requests.get(i), frames.get(i).requestId(), out);
            assertArrayEquals(frames.get(i).bytes(), out.toBytes(), frames.get(i).text());
            seen.add(requests.get(i).opcode());
        }
        assertEquals(Arrays.stream(Opcode.values()).filter(opcode -> opcode.number() < 0x80).count(), seen.size());
    }

    @Test
    void theLengthOfAPushIsKnownBeforeItIsEncoded() {
        Request.NewJob job = new Request.NewJob(0, 0, 0, 0, 0, "key", NONE, utf8("body"));
        FrameWriter out = new FrameWriter();
        RequestEncoder.encode(Pushes.of("orders", List.of(job, job), IdempotencyKey.of(secret()), 9), 1, out);
        assertEquals(out.size() - 4, Pushes.emptyFrameBytes("orders") + 2 * job.frameBytes());
    }

    @Test
    void everyResponseOfTheProtocolIsDecoded() throws MalformedFrameException {
        Set<Integer> seen = new HashSet<>();
        for (ProtocolFrames.Frame frame : ProtocolFrames.responses()) {
            Response response = ResponseDecoder.decode(frame.opcode(), frame.payload());
            seen.add(frame.opcode());
            // The text is the server's own reading: each number and text of ours must stand there.
            for (String value : values(response)) {
                assertTrue(frame.text().replace("_", "").contains(value), value + " of " + response + " is not in " + frame.text());
            }
        }
        assertEquals(Arrays.stream(Opcode.values()).filter(opcode -> opcode.number() >= 0x80).count(), seen.size());
    }

    /** What can be compared with the server's text. */
    private static List<String> values(Response response) {
        if (response instanceof Response.Welcome w) {
            return List.of("SessionId(" + w.session() + ")", "heartbeatms: " + w.heartbeatMs(), "sessiongracems: " + w.sessionGraceMs(),
                    "framebytesmax: " + w.frameBytesMax(), "inflightmax: " + w.inFlightMax(), "\"" + w.serverName() + "\"",
                    "\"" + w.members().get(0).address() + "\"", "clockms: " + w.clockMs());
        } else if (response instanceof Response.Reserved r && !r.jobs().isEmpty()) {
            return delivered(r.jobs().get(0));
        } else if (response instanceof Response.Deliver d) {
            return delivered(d.jobs().get(0));
        } else if (response instanceof Response.Leased l) {
            return delivered(l.jobs().get(0));
        } else if (response instanceof Response.Job j) {
            return List.of("JobId(" + j.job() + ")", "attempts: " + j.attempts(), "\"" + j.reason(),
                    String.valueOf(j.finishedMs() == 0 ? "finished: None" : j.finishedMs()));
        } else if (response instanceof Response.Jobs j) {
            Response.Listed job = j.jobs().get(0);
            return List.of("\"" + job.reason() + "\"", "bodybytes: " + job.bodyBytes(), "\"" + job.key() + "\"",
                    "Millis(" + job.reservedLastMs() + ")", "\"" + job.heldBy().replace("\"", "\\\"") + "\"");
        } else if (response instanceof Response.QueueStats s) {
            return List.of("uptimems: " + s.uptimeMs(), "appliedindex: " + s.appliedIndex(), "pushed: " + s.totals().pushed(),
                    "oldestreadyms: " + s.topics().get(0).totals().oldestReadyMs(), "\"" + s.topics().get(0).topic() + "\"",
                    "consumers: " + s.topics().get(0).consumers(), "latems: " + s.topics().get(0).lateMs(),
                    "\"" + s.stages().get(0).stage() + "\"", "p999us: " + s.stages().get(0).p999Us());
        } else if (response instanceof Response.ConnectionList c) {
            return List.of("\"" + c.connections().get(0).address() + "\"", "creditbytes: " + c.connections().get(0).creditBytes(),
                    "\"" + c.connections().get(0).topics().get(0) + "\"");
        } else if (response instanceof Response.ClusterReport c) {
            return List.of("commit: " + c.commit(), "aheadms: Some(" + c.members().get(1).aheadMs() + ")",
                    "\"" + c.members().get(2).clientAddress() + "\"");
        } else if (response instanceof Response.Error e) {
            return List.of("retryafterms: " + e.retryAfterMs(), "\"" + e.leader() + "\"", e.message());
        } else if (response instanceof Response.TopicSettings t) {
            return List.of("ttrms: Some(" + TopicPolicy.decode(t.settings()).ttr().orElseThrow().toMillis() + ")", "bytes: " + t.bytes(),
                    "pauseleftms: " + t.pauseLeftMs());
        } else if (response instanceof Response.Bulked b) {
            return List.of("jobs: " + b.jobs(), "skipped: " + b.skipped());
        } else if (response instanceof Response.GoingAway g) {
            return List.of(g.message());
        } else if (response instanceof Response.Pong p) {
            return List.of("Millis(" + p.now() + ")", "clockms: " + p.clockMs());
        }
        return response instanceof Response.Groups || response instanceof Response.Reasons ? ofGroups(response) : ofSchedules(response);
    }

    private static List<String> ofGroups(Response response) {
        if (response instanceof Response.Groups g) {
            Response.GroupState group = g.groups().get(0);
            return List.of("after: Some(\"" + g.after() + "\")", "name: \"" + group.name() + "\"", "ready: " + group.ready(),
                    "reserved: " + group.reserved(), "oldestms: " + group.oldestMs(), "weight: " + group.weight(),
                    "paused: " + (group.paused() != 0), "Millis(" + group.untilMs() + ")");
        } else if (response instanceof Response.Reasons r) {
            Response.Reason reason = r.reasons().get(0);
            return List.of("jobs: " + reason.jobs(), "\"" + reason.text() + "\"",
                    reason.untilMs() == 0 ? "until: None" : "Millis(" + reason.untilMs() + ")");
        }
        return List.of();
    }

    private static List<String> ofSchedules(Response response) {
        if (response instanceof Response.Scheduled s) {
            return List.of("JobId(" + s.schedule() + ")", "version: " + s.version(), "Millis(" + s.nextMs() + ")");
        } else if (response instanceof Response.Schedule s) {
            Response.Firing skipped = s.history().get(1);
            return List.of("JobId(" + s.state().schedule() + ")", "fired: " + s.state().fired(), "jitterms: " + s.rules().jitterMs(),
                    "b\"" + new String(s.template().body()) + "\"", "JobId(" + s.history().get(0).job() + ")",
                    "at: Millis(" + skipped.atMs() + ")", "last: Millis(" + skipped.lastMs() + ")", "instants: " + skipped.instants());
        } else if (response instanceof Response.Schedules s) {
            Response.ListedSchedule one = s.schedules().get(0);
            return List.of("JobId(" + one.scheduleState().schedule() + ")", "\"" + one.scheduleRules().zone() + "\"",
                    "Some(" + one.scheduleRules().windowMs() + ")", "\"" + one.topic() + "\"", "\"" + one.name() + "\"",
                    "cursor: b\"" + new String(s.cursor()) + "\"");
        } else if (response instanceof Response.ScheduleRan r) {
            return List.of("JobId(" + r.job() + ")");
        } else if (response instanceof Response.ScheduleFilled f) {
            return List.of("instants: " + f.instants(), "pushed: " + f.pushed(), "kept: " + f.kept(), "refused: " + f.refused(),
                    f.nextMs() == 0 ? "next: None" : "next: Some(Millis(" + f.nextMs() + "))");
        } else if (response instanceof Response.Instants i) {
            Response.LocalInstant one = i.instants().get(0);
            return List.of("\"" + i.zoneData() + "\"", "(Millis(" + one.instantMs() + "), \"" + one.local() + "\")");
        }
        return List.of();
    }

    private static List<String> delivered(Response.Delivered job) {
        return List.of("JobId(" + job.job() + ")", "Fence(" + job.fence() + ")", "ttrleftms: " + job.ttrLeftMs(),
                "deadlinems: " + job.deadlineMs(), "\"" + job.topic() + "\"", "\"" + new String(job.body()) + "\"");
    }

    @Test
    void whatANewerServerAddsIsSkipped() throws MalformedFrameException {
        for (ProtocolFrames.Frame frame : ProtocolFrames.responses()) {
            if (frame.opcode() == Opcode.JOB.number()) {
                continue;
            }
            byte[] longer = Arrays.copyOf(frame.payload(), frame.payload().length + 5);
            Arrays.fill(longer, frame.payload().length, longer.length, (byte) 0x5a);
            assertEquals(ResponseDecoder.decode(frame.opcode(), frame.payload()).getClass(),
                    ResponseDecoder.decode(frame.opcode(), longer).getClass());
        }
        byte[] wider = new FrameWriter().u16(13).u32(1).u8(0).u16(0).u64(42).u16(9).toBytes();
        assertEquals(42, ((Response.Pushed) ResponseDecoder.decode(0x90, wider)).results().get(0).job());
        assertInstanceOf(Response.Unknown.class, ResponseDecoder.decode(0xb7, new byte[3]));
        byte[] marks = new FrameWriter().u16(99).u8(0xff).u8(1).u32(0).text8("").text16("").toBytes();
        assertTrue(((Response.Error) ResponseDecoder.decode(0xff, marks)).isMarkedRetryable());
    }

    @Test
    void whatIsCutOffOrGarbledIsRefusedAndNothingElseHappens() throws MalformedFrameException {
        Random random = new Random(7);
        for (ProtocolFrames.Frame frame : ProtocolFrames.responses()) {
            byte[] payload = frame.payload();
            for (int length = 0; length < payload.length; length++) {
                decodeOrRefuse(frame.opcode(), Arrays.copyOf(payload, length));
            }
            for (int i = 0; i < 300; i++) {
                byte[] garbled = payload.clone();
                if (garbled.length > 0) {
                    garbled[random.nextInt(garbled.length)] = (byte) random.nextInt();
                }
                decodeOrRefuse(frame.opcode(), garbled);
            }
        }
        assertThrows(MalformedFrameException.class, () -> ResponseDecoder.decode(0x90, new FrameWriter().u16(11).u32(-1).toBytes()));
        assertThrows(MalformedFrameException.class, () -> ResponseDecoder.decode(0x90, new FrameWriter().u16(10).u32(0).toBytes()));
        assertThrows(MalformedFrameException.class,
                () -> ResponseDecoder.decode(0x84, new FrameWriter().u16(1).u8(0xff).toBytes()), "a text that is not UTF-8");
    }

    @Test
    void anOptionalFieldOfAnItemIsThereOrAbsentAndNotThereInPart() throws MalformedFrameException {
        assertEquals(0, deadline(0));
        assertEquals(0x0807_0605_0403_0201L, deadline(8));
        assertEquals(0x0807_0605_0403_0201L, deadline(11), "what a newer server adds is skipped");
        for (int part = 1; part < 8; part++) {
            int bytes = part;
            assertThrows(MalformedFrameException.class, () -> deadline(bytes));
        }
    }

    /** The deadline of a job in RESERVED whose item has so many bytes of it. */
    private static long deadline(int bytes) throws MalformedFrameException {
        byte[] deadline = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        FrameWriter out = new FrameWriter().list(45 + bytes, 1).u64(42).u64(7).u64(0).u32(1).u32(1).u32(1).u8(1).u16(0).u16(0).u32(0)
                .raw(Arrays.copyOf(deadline, bytes)).raw(utf8("t"));
        return ((Response.Reserved) ResponseDecoder.decode(Opcode.RESERVED.number(), out.toBytes())).jobs().get(0).deadlineMs();
    }

    private static void decodeOrRefuse(int opcode, byte[] payload) {
        try {
            assertTrue(ResponseDecoder.decode(opcode, payload) != null);
        } catch (MalformedFrameException e) {
            assertTrue(e.getMessage() != null);
        }
    }

    @Test
    void attributesAreSortedAndKeepWhatIsNotKnown() {
        Attributes attributes = Attributes.NONE.withPostponeMax(Duration.ofSeconds(1)).withUnknown(900, new byte[] {1, 2})
                .withHeader("b", "1").withAttemptsMax(3).withHeader("a", "2").withBackoff(Backoff.list(Duration.ofMillis(5)).jitter(9))
                .withExpires(Due.after(Duration.ofSeconds(2))).withGroup("ann").withScheduleReference(new byte[] {3})
                .withDedupeRetention(Duration.ofHours(1)).withCreatedAt(Instant.ofEpochMilli(5));
        Attributes again = Attributes.decode(attributes.encode());
        assertArrayEquals(attributes.encode(), again.encode());
        assertEquals(List.of(new Header("b", "1"), new Header("a", "2")), again.headers());
        assertEquals(Due.after(Duration.ofSeconds(2)), again.expires().orElseThrow());
        assertEquals(Backoff.list(Duration.ofMillis(5)).jitter(9), again.backoff().orElseThrow());
        assertEquals("ann", again.group().orElseThrow());
        assertEquals(900, again.unknown().get(0).tag());
        assertEquals(1, again.unknown().size());
        assertThrows(ProtocolException.class, () -> Attributes.decode(new byte[] {1, 0, 9, 0}));
        assertEquals(List.of("3"), Attributes.NONE.withHeader("X", "1").withOnlyHeader("x", "3").headers().stream().map(Header::value).toList());
    }
}
