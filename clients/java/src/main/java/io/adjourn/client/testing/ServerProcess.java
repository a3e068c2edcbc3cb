package io.adjourn.client.testing;

import io.adjourn.client.UsageException;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The server of a {@link TestQueue}. It has nothing to save, so it is killed: with its queue, or at the end of the JVM, however that ends. */
final class ServerProcess implements AutoCloseable {
    private static final Pattern LISTENS = Pattern.compile("\"listen\":\"([^\"]+)\"");
    private static final Duration START_MAX = Duration.ofSeconds(20);
    /**
     * A script that runs the server and kills it when the script's standard input ends: the JVM closes it, or has ended. The script ignores
     * signals that a terminal or a build tool sends to all of its processes.
     */
    private static final String GUARD = "trap '' HUP INT TERM; \"$@\" </dev/null & exec >&- 2>&-; read -r _; kill -9 $!; wait $!";

    /** The process of {@link #GUARD}. */
    private final Process guard;
    private final String address;

    private ServerProcess(Process guard, String address) {
        this.guard = guard;
        this.address = address;
    }

    /** The program, as the environment says. */
    static String binary(Map<String, String> environment) {
        String named = environment.getOrDefault("ADJOURN_BIN", "");
        if (!named.isEmpty()) {
            if (!isProgram(Path.of(named))) {
                throw new UsageException("ADJOURN_BIN names no program: " + named);
            }
            return named;
        }
        for (String folder : environment.getOrDefault("PATH", "").split(File.pathSeparator)) {
            Path found = Path.of(folder, "adjourn");
            if (!folder.isEmpty() && isProgram(found)) {
                return found.toString();
            }
        }
        throw new UsageException("a test needs the server: install adjourn in a folder of PATH, or set ADJOURN_BIN to the program");
    }

    private static boolean isProgram(Path path) {
        return Files.isRegularFile(path) && Files.isExecutable(path);
    }

    static ServerProcess start(String binary) {
        return start(binary, START_MAX);
    }

    static ServerProcess start(String binary, Duration wait) {
        Process guard;
        try {
            guard = command(binary, System.getenv()).start();
        } catch (IOException e) {
            throw new UsageException(binary + " cannot be started: " + e.getMessage(), e);
        }
        String line;
        try {
            line = firstLine(guard).orTimeout(wait.toMillis(), TimeUnit.MILLISECONDS).join();
        } catch (CompletionException e) {
            end(guard);
            if (e.getCause() instanceof TimeoutException) {
                throw new UsageException(binary + " did not say within " + wait.toMillis() + " ms that it serves, and was killed", e);
            }
            throw new UsageException(binary + " cannot be started: " + e.getCause().getMessage(), e);
        }
        Matcher said = LISTENS.matcher(line == null ? "" : line);
        if (said.find()) {
            return new ServerProcess(guard, said.group(1));
        }
        end(guard);
        throw new UsageException(binary + " did not serve; what it said is in the output of errors. It has to know --memory and --clock manual");
    }

    /** The command, in this environment. Variables of Adjourn are left out: they may be settings of another server. */
    static ProcessBuilder command(String binary, Map<String, String> environment) {
        ProcessBuilder command = new ProcessBuilder("sh", "-c", GUARD, "adjourn",
                binary, "serve", "--memory", "--clock", "manual", "--listen", "127.0.0.1:0", "--log-level", "warn");
        command.environment().clear();
        command.environment().putAll(environment);
        command.environment().keySet().removeIf(name -> name.startsWith("ADJOURN_"));
        return command.redirectError(ProcessBuilder.Redirect.INHERIT);
    }

    /** One line of JSON, once it serves; {@code null} if it ends before. */
    private static CompletableFuture<String> firstLine(Process guard) {
        CompletableFuture<String> line = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            try {
                line.complete(guard.inputReader(StandardCharsets.UTF_8).readLine());
            } catch (IOException e) {
                line.completeExceptionally(e);
            }
        }, "adjourn-test-server");
        reader.setDaemon(true);
        reader.start();
        return line;
    }

    String address() {
        return address;
    }

    @Override
    public void close() {
        end(guard);
    }

    /** Has the server killed. Waits for its end, so that nothing of it is left when the test is over. */
    private static void end(Process guard) {
        try {
            guard.getOutputStream().close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        guard.onExit().join();
    }
}
