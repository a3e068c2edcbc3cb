package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** TLS against a real server, with certificates that {@code adjourn cert} made. */
class TlsTest {
    private final List<Path> folders = new ArrayList<>();
    private Path folder;

    @BeforeEach
    void makeCertificates() throws IOException, InterruptedException {
        folder = certificates();
    }

    @AfterEach
    void deleteCertificates() {
        folders.forEach(TestServer::delete);
    }

    @Test
    void jobsGoOverTlsAndAClientComesBack() {
        byte[] large = new byte[1 << 20];
        large[1 << 19] = 7;
        try (TestServer server = server(); Client client = to(server).tlsCa(path("ca.pem")).connect()) {
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("large")), 1, Duration.ofSeconds(20));
            for (int i = 0; i < 100; i++) {
                client.push("small", NewJob.text("x"));
            }
            client.push("large", NewJob.of(large));
            Job job = waiting.join().get(0);
            assertArrayEquals(large, job.body());
            job.finish();
            server.kill();
            server.start();
            client.push("small", NewJob.text("x"));
        }
    }

    @Test
    @Timeout(60)
    void whomAClientDoesNotBelieveItDoesNotTalkTo() throws IOException, InterruptedException {
        Path ca = path("ca.pem");
        Path foreign = certificates().resolve("ca.pem");
        try (TestServer server = server(); TestServer strict = server("--tls-client-ca", ca.toString())) {
            String elsewhere = "adjourns://localhost:" + server.port;
            assertRefused(to(server).tlsCa(foreign), "PKIX");
            assertRefused(to(server), "PKIX");
            assertRefused(Client.builder().address(elsewhere).tlsCa(ca), "localhost");
            assertRefused(to(strict).tlsCa(ca), "certificate_required");
            try (Client client = to(strict).tlsCa(ca).tlsCertificate(path("shop.pem"), path("shop.key")).connect()) {
                client.push("t", NewJob.text("x"));
            }
            AdjournException told = assertThrows(AdjournException.class, () -> Client.builder().address(server.address()).connect());
            assertTrue(told.getMessage().contains("adjourns://"), told.getMessage());
        }
    }

    @Test
    @Timeout(60)
    void aPlainServerIsToldApart() {
        try (TestServer server = new TestServer()) {
            assertRefused(to(server), "");
        }
    }

    @Test
    void whatSaysNothingInAHandshakeIsGivenUpInTime() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            ClientBuilder builder = Client.builder().address("adjourns://127.0.0.1:" + silent.getLocalPort());
            assertThrows(AdjournException.class,
                    () -> builder.connectTimeout(Duration.ofMillis(100)).requestTimeout(Duration.ofMillis(300)).connect());
        }
    }

    @Test
    void aClientClosesWhileAWriteHangs() throws Exception {
        try (TestServer server = server(); Relay relay = new Relay(server.port)) {
            Client client = Client.builder().address("adjourns://" + relay.address()).tlsCa(path("ca.pem")).connect();
            relay.stop();
            List<CompletableFuture<PushResult>> pushes = new ArrayList<>();
            for (int i = 0; i < 32; i++) {
                pushes.add(client.pushAsync("t", NewJob.of(new byte[1 << 20])));
            }
            client.close(Duration.ofMillis(200));
            assertTrue(pushes.get(31).isCompletedExceptionally());
        }
    }

    @Test
    void whatCannotBeIsRefused() throws Exception {
        Path ca = path("ca.pem");
        SSLContext context = SSLContext.getDefault();
        assertUsage("adjourns://", "a:1", builder -> builder.tlsCa(ca));
        assertUsage("adjourns://", "a:1", builder -> builder.sslContext(context));
        assertUsage("one or the other", "adjourns://a:1", builder -> builder.tlsCa(ca).sslContext(context));
        assertUsage("needs its key", "adjourns://a:1", builder -> builder.tlsCertificate(ca, null));
        assertUsage("gone.pem", "adjourns://a:1", builder -> builder.tlsCa(Path.of("gone.pem")));
        assertUsage("no certificate", "adjourns://a:1", builder -> builder.tlsCa(path("shop.key")));
        assertUsage("BEGIN PRIVATE KEY", "adjourns://a:1", builder -> builder.tlsCertificate(ca, ca));
        assertUsage("with all servers or with none", "adjourns://a:1,adjourn://b:1", UnaryOperator.identity());
        assertUsage("with all servers or with none", "a:1", builder -> builder.address("adjourns://b:1"));
        assertUsage("not an address", "tls://a:1", UnaryOperator.identity());
    }

    private static void assertUsage(String reason, String address, UnaryOperator<ClientBuilder> options) {
        UsageException refused = assertThrows(UsageException.class, () -> options.apply(Client.builder().address(address)).build());
        assertTrue(refused.getMessage().contains(reason), refused.getMessage());
    }

    private static void assertRefused(ClientBuilder builder, String reason) {
        // It does not wait that long: what fails would fail again.
        builder.requestTimeout(Duration.ofHours(1));
        ConnectionException refused = assertThrows(ConnectionException.class, builder::connect);
        assertTrue(refused.getMessage().contains("TLS failed: ") && refused.getMessage().contains(reason), refused.getMessage());
        assertEquals(Applied.NO, refused.applied());
    }

    /** Carries one connection, and at some time nothing more of what the client writes. */
    private static final class Relay implements AutoCloseable {
        private final ServerSocket front = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
        private final AtomicBoolean isStopped = new AtomicBoolean();
        private final CountDownLatch over = new CountDownLatch(1);
        private final CompletableFuture<Void> carried;

        Relay(int port) throws IOException {
            carried = CompletableFuture.runAsync(() -> carry(port));
        }

        String address() {
            return "127.0.0.1:" + front.getLocalPort();
        }

        void stop() {
            isStopped.set(true);
        }

        private void carry(int port) {
            try (Socket guest = front.accept(); Socket host = new Socket(InetAddress.getLoopbackAddress(), port)) {
                CompletableFuture.runAsync(() -> copy(host, guest));
                copy(guest, host);
                over.await();
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private void copy(Socket from, Socket to) {
            byte[] bytes = new byte[1 << 14];
            try {
                for (int read = 0; read >= 0 && !isStopped.get(); read = from.getInputStream().read(bytes)) {
                    to.getOutputStream().write(bytes, 0, read);
                }
            } catch (IOException e) {
                // One of them is closed.
            }
        }

        @Override
        public void close() throws IOException {
            over.countDown();
            carried.join();
            front.close();
        }
    }

    private static ClientBuilder to(TestServer server) {
        return Client.builder().address("adjourns://" + server.address());
    }

    private Path path(String name) {
        return folder.resolve(name);
    }

    private TestServer server(String... options) {
        List<String> all = new ArrayList<>(List.of("--tls-cert", path("node-1.pem").toString(), "--tls-key", path("node-1.key").toString()));
        all.addAll(List.of(options));
        return new TestServer(all.toArray(String[]::new));
    }

    /** A CA, a certificate of a server on 127.0.0.1, and one of a client. */
    private Path certificates() throws IOException, InterruptedException {
        Path made = Files.createTempDirectory("adjourn-java-certificates-");
        folders.add(made);
        for (List<String> what : List.of(List.of("node", "1", "--host", "127.0.0.1"), List.of("client", "shop"))) {
            List<String> command = new ArrayList<>(List.of(TestServer.binary(), "cert"));
            command.addAll(what);
            command.addAll(List.of("--dir", made.toString()));
            assertEquals(0, new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor());
        }
        return made;
    }
}
