package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.testing.TestQueue;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** The clock of a server for tests. */
class AdvanceTest {
    @Test
    void aJobIsReservedWhenTheClockHasMovedAndNotBefore() throws Exception {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            Instant start = client.ping();
            client.push("t", NewJob.text("later").delay(Duration.ofMinutes(15)));
            client.push("t", NewJob.text("next").delay(Duration.ofMinutes(20)));
            assertEquals(start.plus(Duration.ofMinutes(15).minusMillis(1)), client.advance(Duration.ofMinutes(15).minusMillis(1)));
            assertEquals(List.of(), client.reserve("t", 2, Duration.ZERO));
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("t")), 1, Duration.ofMinutes(1));
            assertEquals(start.plus(Duration.ofMinutes(15)), client.advance(Duration.ofMillis(1)));
            Job later = waiting.get().get(0);
            assertEquals("later", later.text());
            later.finish();
            assertEquals(start.plus(Duration.ofMinutes(20)), client.async().advanceToNext().get());
            assertEquals("next", client.reserve("t", 2, Duration.ZERO).get(0).text());
            assertThrows(ServerException.NotFound.class, client::advanceToNext);
            assertEquals(start.plus(Duration.ofMinutes(20)), client.ping(), "the clock stays");
        }
    }

    @Test
    void aServerThatIsNotForTestsRefusesIt() {
        try (TestServer other = new TestServer(); Client client = Client.builder().address(other.address()).connect()) {
            assertThrows(ServerException.Unsupported.class, () -> client.advance(Duration.ofMinutes(15)));
            assertThrows(ServerException.Unsupported.class, client::advanceToNext);
            ExecutionException refused = assertThrows(ExecutionException.class, () -> client.async().advance(Duration.ofMinutes(15)).get());
            assertEquals(ServerException.Unsupported.class, refused.getCause().getClass());
        }
    }

    @Test
    void durationsHaveLimits() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            assertThrows(UsageException.class, () -> client.advance(Duration.ofMillis(-1)));
            assertThrows(ServerException.Invalid.class, () -> client.advance(Duration.ofMillis(Limits.DELAY_MS_MAX + 1)));
        }
    }

    @Test
    void itIsNeverRepeated() throws IOException {
        try (ScriptedServer scripted = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.error(peer.next(Opcode.ADVANCE).id(), ErrorCode.BUSY, true, 0, 1);
            // The connection is lost before the answer.
            peer.next(Opcode.ADVANCE);
        }, peer -> {
            peer.welcome(9, 3);
            // Another ADVANCE would come before what is asked later, and end the connection.
            peer.pushed(peer.next(Opcode.PUSH).id(), 5);
            peer.untilEnd();
        }); Client client = Client.builder().address(scripted.address()).connect()) {
            assertThrows(ServerException.Busy.class, client::advanceToNext);
            assertThrows(OutcomeUnknownException.class, () -> client.advance(Duration.ofMinutes(15)));
            assertEquals(5, client.push("t", NewJob.text("x")).id());
            client.close(Duration.ofMillis(1));
        }
    }
}
