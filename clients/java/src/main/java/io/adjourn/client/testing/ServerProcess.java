package io.adjourn.client.testing;

import io.adjourn.client.UsageException;
import java.io.File;
import java.io.IOException;
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

/**
 * The server of a {@link TestQueue}. It has nothing to save, so it is killed with its queue. It ends by itself when its standard input does: the
 * JVM has the only other end of that pipe, which the operating system closes however the JVM ends. No other process that the JDK starts inherits it.
 */
final class ServerProcess implements AutoCloseable {
    private static final Pattern LISTENS = Pattern.compile("\"listen\":\"([^\"]+)\"");
    private static final Duration START_MAX = Duration.ofSeconds(20);

    private final Process process;
    private final String address;

    private ServerProcess(Process process, String address) {
        this.process = process;
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
        Process process;
        try {
            process = command(binary, System.getenv()).start();
        } catch (IOException e) {
            throw new UsageException(binary + " cannot be started: " + e.getMessage(), e);
        }
        String line;
        try {
            line = firstLine(process).orTimeout(wait.toMillis(), TimeUnit.MILLISECONDS).join();
        } catch (CompletionException e) {
            end(process);
            if (e.getCause() instanceof TimeoutException) {
                throw new UsageException(binary + " did not say within " + wait.toMillis() + " ms that it serves, and was killed", e);
            }
            throw new UsageException(binary + " cannot be started: " + e.getCause().getMessage(), e);
        }
        Matcher said = LISTENS.matcher(line == null ? "" : line);
        if (said.find()) {
            return new ServerProcess(process, said.group(1));
        }
        end(process);
        throw new UsageException(binary + " did not serve; what it said is in the output of errors. It has to know --clock manual and --end-with-stdin");
    }

    /** The command, in this environment. Variables of Adjourn are left out: they may be settings of another server. */
    static ProcessBuilder command(String binary, Map<String, String> environment) {
        ProcessBuilder command = new ProcessBuilder(binary, "serve", "--memory", "--clock", "manual", "--listen", "127.0.0.1:0",
                "--end-with-stdin", "--log-level", "warn");
        command.environment().clear();
        command.environment().putAll(environment);
        command.environment().keySet().removeIf(name -> name.startsWith("ADJOURN_"));
        return command.redirectError(ProcessBuilder.Redirect.INHERIT);
    }

    /** One line of JSON, once it serves; {@code null} if it ends before. */
    private static CompletableFuture<String> firstLine(Process process) {
        CompletableFuture<String> line = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            try {
                line.complete(process.inputReader(StandardCharsets.UTF_8).readLine());
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
        end(process);
    }

    /** Waits for its end, so that nothing of it is left when the test is over. */
    private static void end(Process process) {
        process.destroyForcibly().onExit().join();
    }
}
