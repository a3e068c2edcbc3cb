package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Opcode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Backups are read whole and in order, and end with their connection. */
class BackupTest {
    private static final int MIB = 1 << 20;

    private static Client client(String address) {
        return Client.builder().address(address).requestTimeout(Duration.ofSeconds(20)).connect();
    }

    private static void pushMibs(Client client, int count) {
        for (int i = 0; i < count; i++) {
            byte[] body = new byte[MIB];
            Arrays.fill(body, (byte) ('a' + i));
            client.push("t", NewJob.of(body));
        }
    }

    private static void ready(ScriptedServer.Peer peer, int id, long bytes) throws IOException {
        peer.send(Opcode.BACKUP_READY, id, body -> body.u64(5).u64(1).raw(new byte[16]).u64(bytes));
    }

    private static void data(FrameWriter body, byte[] bytes) {
        body.u32(bytes.length).raw(bytes);
    }

    @Test
    void itIsReadInOrder() throws IOException {
        try (TestServer server = new TestServer(); Client client = client(server.address())) {
            pushMibs(client, 6);
            try (Backup backup = client.backup(); InputStream stream = backup.stream()) {
                byte[] all = stream.readAllBytes();
                assertEquals(backup.bytes(), all.length);
                assertTrue(all.length > 6 * MIB);
                assertEquals("ADJBCKUP", new String(all, 0, 8, StandardCharsets.US_ASCII));
                assertEquals(6, backup.jobs());
                assertTrue(backup.index() > 0 && backup.index() <= client.stats().appliedIndex());
                assertEquals(-1, stream.read());
                // The server does not change it, and parts may be read in any order.
                client.push("t", NewJob.text("another"));
                for (long offset : new long[] {5 * MIB + 17, MIB - 3, 0, backup.bytes() - 5, backup.bytes(), backup.bytes() + 9}) {
                    int from = (int) Math.min(offset, all.length);
                    assertArrayEquals(Arrays.copyOfRange(all, from, Math.min(all.length, from + 4096)), backup.read(offset, 4096));
                }
                try (InputStream byByte = backup.stream()) {
                    assertEquals('A', byByte.read());
                    byte[] next = new byte[7];
                    assertEquals(7, byByte.readNBytes(next, 0, 7));
                    assertEquals("DJBCKUP", new String(next, StandardCharsets.US_ASCII));
                }
                assertThrows(UsageException.class, () -> backup.read(0, MIB + 1));
                assertThrows(UsageException.class, () -> backup.read(-1, 1));
            }
        }
    }

    @Test
    void itEndsWithTheNextOneAndWithItsConnection() throws IOException {
        try (TestServer server = new TestServer(); Client client = client(server.address())) {
            pushMibs(client, 6);
            Backup first = client.async().backup().join();
            InputStream begun = first.stream();
            assertEquals('A', begun.read());
            Backup second = client.backup();
            isLost(first, begun);
            second.close();
            isLost(second, second.stream());
            Backup third = client.backup();
            begun = third.stream();
            assertEquals('A', begun.read());
            server.kill();
            server.start();
            client.push("t", NewJob.text("after"));
            isLost(third, begun);
        }
    }

    private static void isLost(Backup backup, InputStream stream) {
        assertEquals("BACKUP_LOST", assertThrows(BackupLostException.class, () -> backup.read(0, 8)).code());
        assertThrows(BackupLostException.class, stream::readAllBytes);
        assertThrows(BackupLostException.class, stream::readAllBytes, "again");
        backup.close();
    }

    @Test
    void readsAreNotRepeatedOnTheNextConnection() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            ready(peer, peer.next(Opcode.BACKUP_BEGIN).id(), 9 * MIB);
            for (int i = 0; i < 4; i++) {
                assertEquals((long) i * MIB, peer.next(Opcode.BACKUP_READ).u64(0));
            }
        }, peer -> {
            peer.welcome(9, 3);
            peer.send(Opcode.COUNTED, peer.next(Opcode.COUNT).id(), body -> body.u64(7));
            peer.untilEnd();
        }); Client client = client(server.address())) {
            InputStream stream = client.backup().stream();
            assertThrows(BackupLostException.class, stream::read);
            assertEquals(7, client.count(Filter.ALL));
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aServerMayForgetItOrSendTooFewBytes() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            ready(peer, peer.next(Opcode.BACKUP_BEGIN).id(), 100);
            peer.send(Opcode.BACKUP_DATA, peer.next(Opcode.BACKUP_READ).id(), body -> data(body, new byte[99]));
            peer.error(peer.next(Opcode.BACKUP_READ).id(), ErrorCode.NOT_FOUND, false, 0, 0);
            peer.error(peer.next(Opcode.BACKUP_END).id(), ErrorCode.NOT_FOUND, false, 0, 0);
            peer.untilEnd();
        }); Client client = client(server.address())) {
            try (Backup backup = client.backup()) {
                assertThrows(ProtocolException.class, () -> backup.read(0, 100));
                CompletableFuture<byte[]> read = backup.readAsync(0, 100);
                assertEquals(BackupLostException.class, assertThrows(CompletionException.class, read::join).getCause().getClass());
            }
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void oneThatNobodyWaitsForIsReleased() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch left = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            int id = peer.next(Opcode.BACKUP_BEGIN).id();
            begun.countDown();
            try {
                left.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            ready(peer, id, 100);
            peer.next(Opcode.BACKUP_END);
            released.countDown();
            peer.untilEnd();
        }); Client client = client(server.address())) {
            Thread caller = new Thread(() -> {
                assertThrows(InterruptedCallException.class, client::backup);
                left.countDown();
            });
            caller.start();
            begun.await();
            caller.interrupt();
            released.await();
            client.close(Duration.ofMillis(1));
        }
    }
}
