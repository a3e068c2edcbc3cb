package io.adjourn.client;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A real server on a free port, with its data in a temporary folder. */
final class TestServer implements AutoCloseable {
    final int port = freePort();
    final Path data;
    private final List<String> options;
    private Process process;

    TestServer(String... options) {
        this.options = List.of(options);
        try {
            data = Files.createTempDirectory("adjourn-java-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start();
    }

    String address() {
        return "127.0.0.1:" + port;
    }

    void start() {
        try {
            process = run(data, port, options);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Await.until("the server listens", () -> {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                return socket.isConnected();
            } catch (IOException e) {
                return false;
            }
        });
    }

    static Process run(Path data, int port, List<String> options) throws IOException {
        List<String> command = new ArrayList<>(List.of(binary(), "serve", "--data", data.toString(), "--listen", "127.0.0.1:" + port,
                "--log-level", "warn"));
        command.addAll(options);
        File log = data.resolveSibling(data.getFileName() + ".log").toFile();
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(log)).start();
    }

    static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** {@code kill -9}. */
    void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    /** SIGTERM. */
    void terminate() {
        process.destroy();
        awaitEnd();
    }

    long pid() {
        return process.pid();
    }

    /** SIGSTOP or SIGCONT. */
    void signal(String name) {
        try {
            new ProcessBuilder("kill", "-" + name, String.valueOf(pid())).start().waitFor();
            if (name.equals("STOP")) {
                // Its threads go on until the one that gets the signal has its turn.
                Await.until("the server stands still", this::isStopped);
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private boolean isStopped() {
        try (Stream<Path> threads = Files.list(Path.of("/proc", String.valueOf(pid()), "task"))) {
            return threads.allMatch(thread -> {
                try {
                    String shown = Files.readString(thread.resolve("stat"));
                    return shown.charAt(shown.lastIndexOf(')') + 2) == 'T';
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void awaitEnd() {
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the server does not end");
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        kill();
        delete(data);
    }

    static void delete(Path data) {
        try (Stream<Path> files = Files.walk(data)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            Files.deleteIfExists(data.resolveSibling(data.getFileName() + ".log"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String binary() {
        String named = System.getenv("ADJOURN_BIN");
        if (named == null || named.isEmpty()) {
            throw new IllegalStateException("no server: set ADJOURN_BIN, or build target/release/adjourn and run ./test");
        }
        return named;
    }
}
