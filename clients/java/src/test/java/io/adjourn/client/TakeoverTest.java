package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.adjourn.client.ScriptedServer.Peer;
import io.adjourn.client.ScriptedServer.Script;
import io.adjourn.client.internal.wire.Opcode;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A HELLO that was given up may arrive late, and take the session over from the client's own newer connection. */
class TakeoverTest {
    private static final Script GIVEN_UP = peer -> peer.next(Opcode.HELLO);

    private final AtomicInteger pushes = new AtomicInteger();
    private final CountDownLatch welcomedAgain = new CountDownLatch(1);

    private static Client client(ScriptedServer server) {
        return Client.builder().address(server.address()).requestTimeout(Duration.ofSeconds(20)).connect();
    }

    private static void takenOver(Peer peer) throws IOException {
        peer.send(Opcode.GOING_AWAY, 0, body -> body.text16("taken over").u8(3));
    }

    private Script pushThenTakenOver(long session, int marks) {
        return peer -> {
            peer.welcome(session, marks);
            welcomedAgain.countDown();
            assertEquals(1, peer.next(Opcode.PUSH).u64(0));
            pushes.incrementAndGet();
            takenOver(peer);
        };
    }

    @Test
    void theClientComesBackOnceForEachHelloThatItGaveUp() throws IOException {
        Script taken = pushThenTakenOver(9, 3);
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.next(Opcode.PUSH);
        }, GIVEN_UP, GIVEN_UP, taken, taken, taken, taken); Client client = client(server)) {
            assertThrows(OutcomeUnknownException.class, () -> client.push("t", NewJob.text("x")));
            assertThrows(ClientClosedException.class, () -> client.count(Filter.ALL));
            assertEquals(3, pushes.get());
        }
    }

    @Test
    void aHelloThatWasRefusedIsNotCounted() throws Exception {
        try (ScriptedServer server = new ScriptedServer(peer -> peer.welcome(9, 0), peer -> {
            peer.error(peer.next(Opcode.HELLO).id(), ErrorCode.NO_LEADER, true, 0, 0);
        }, pushThenTakenOver(9, 3), pushThenTakenOver(9, 3)); Client client = client(server)) {
            welcomedAgain.await();
            assertThrows(OutcomeUnknownException.class, () -> client.push("t", NewJob.text("x")));
            assertEquals(1, pushes.get());
        }
    }

    @Test
    void aNewSessionCannotBeTakenOverByAHelloThatNamedTheOldOne() throws Exception {
        try (ScriptedServer server = new ScriptedServer(peer -> peer.welcome(9, 0), GIVEN_UP, pushThenTakenOver(10, 0),
                pushThenTakenOver(10, 3)); Client client = client(server)) {
            welcomedAgain.await();
            assertThrows(OutcomeUnknownException.class, () -> client.push("t", NewJob.text("x")));
            assertEquals(1, pushes.get());
        }
    }
}
