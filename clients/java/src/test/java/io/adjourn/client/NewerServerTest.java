package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.adjourn.client.internal.wire.Opcode;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Answers with numbers that this version does not know. */
class NewerServerTest {
    @Test
    void anUnknownOutcomeOfAPushIsInDoubtForThisJobOnly() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.send(Opcode.PUSHED, peer.next(Opcode.PUSH).id(),
                    body -> body.list(11, 2).u8(9).u16(0).u64(42).u8(1).u16(0).u64(41));
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            List<PushResult> results = client.pushAll("t", List.of(NewJob.text("a"), NewJob.text("b")));
            assertEquals(OutcomeUnknownException.class, results.get(0).error().getClass());
            assertEquals(Applied.UNKNOWN, results.get(0).error().applied());
            assertEquals(42, results.get(0).id(), "the job to look at");
            assertEquals(new PushResult(PushResult.Outcome.KEPT, 41, null), results.get(1));
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void unknownStatesAndReasonsAreShownAsUnknown() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.send(Opcode.JOB, peer.next(Opcode.GET).id(), body -> body.u64(42).u64(0).u8(9).u8(8).u32(0).u32(0).u32(0).u32(0).u8(1)
                    .u16(0).u16(0).u32(0).raw(new byte[] {'t'}));
            peer.send(Opcode.CHANGED, peer.next(Opcode.RESCHEDULE).id(), body -> body.u64(42).u64(0).u8(9));
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            JobInfo job = client.get(JobRef.id(42));
            assertEquals(JobState.UNKNOWN, job.state());
            assertEquals(BuriedReason.UNKNOWN, job.buried());
            assertEquals(JobState.UNKNOWN, client.reschedule(JobRef.id(42), Due.at(Instant.now())).state());
            assertThrows(UsageException.class, () -> Filter.ALL.states(JobState.UNKNOWN));
            assertThrows(UsageException.class, () -> Filter.ALL.buried(BuriedReason.UNKNOWN));
            client.close(Duration.ofMillis(1));
        }
    }
}
