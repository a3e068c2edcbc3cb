package io.adjourn.client.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.UsageException;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where the program is looked for, and that none is left running. */
class ServerProcessTest {
    @TempDir
    private Path folder;

    private Path program(String name, String script) throws IOException {
        Path program = folder.resolve(name);
        Files.writeString(program, "#!/bin/sh\n" + script + "\n");
        return Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
    }

    private static String refused(Map<String, String> environment) {
        return assertThrows(UsageException.class, () -> ServerProcess.binary(environment)).getMessage();
    }

    @Test
    void theProgramIsTheOneThatIsNamedOrElseTheOneInThePath() throws IOException {
        String path = "/nowhere" + File.pathSeparator + File.pathSeparator + folder;
        assertTrue(refused(Map.of("PATH", path)).contains("install adjourn in a folder of PATH, or set ADJOURN_BIN"));
        assertTrue(refused(Map.of()).contains("set ADJOURN_BIN"));
        String installed = program("adjourn", "").toString();
        assertEquals(installed, ServerProcess.binary(Map.of("PATH", path, "ADJOURN_BIN", "")));
        Path other = Files.createDirectories(folder.resolve("other-folder").resolve("adjourn")).getParent();
        assertEquals(installed, ServerProcess.binary(Map.of("PATH", other + File.pathSeparator + path)));
        assertEquals("ADJOURN_BIN names no program: " + other, refused(Map.of("PATH", path, "ADJOURN_BIN", other.toString())));
        String named = program("other", "").toString();
        assertEquals(named, ServerProcess.binary(Map.of("PATH", path, "ADJOURN_BIN", named)));
        assertEquals("ADJOURN_BIN names no program: /nowhere", refused(Map.of("PATH", path, "ADJOURN_BIN", "/nowhere")));
    }

    @Test
    void aProgramThatDoesNotServeIsTold() throws IOException {
        String ends = program("ends", "exit 2").toString();
        assertTrue(assertThrows(UsageException.class, () -> ServerProcess.start(ends)).getMessage().startsWith(ends + " did not serve"));
        String says = program("says", "echo hello; exec sleep 600").toString();
        assertThrows(UsageException.class, () -> ServerProcess.start(says));
        String notToRun = Files.setPosixFilePermissions(Files.createFile(folder.resolve("empty")), PosixFilePermissions.fromString("r--------")).toString();
        assertTrue(assertThrows(UsageException.class, () -> ServerProcess.start(notToRun)).getMessage().startsWith(notToRun + " cannot be started"));
    }

    @Test
    void aProgramThatSaysNothingIsKilled() throws IOException {
        Path number = folder.resolve("number");
        String silent = program("silent", "echo $$ >" + number + "; exec sleep 600").toString();
        String refused = assertThrows(UsageException.class, () -> ServerProcess.start(silent, Duration.ofSeconds(3))).getMessage();
        assertEquals(silent + " did not say within 3000 ms that it serves, and was killed", refused);
        assertFalse(ProcessHandle.of(Long.parseLong(Files.readString(number).trim())).map(ProcessHandle::isAlive).orElse(false));
    }

    @Test
    void theServerGetsNoSettingsOfAnotherOne() {
        Map<String, String> environment = Map.of("PATH", "/bin", "ADJOURN_DATA", "/data", "ADJOURN_BIN", "adjourn", "MY_ADJOURN_", "kept");
        assertEquals(Map.of("PATH", "/bin", "MY_ADJOURN_", "kept"), ServerProcess.command("adjourn", environment).environment());
    }

    /** Starts a queue, a process at the same moment and one later, says the numbers of all three, and waits. */
    public static final class Left {
        public static void main(String[] arguments) throws InterruptedException {
            CompletableFuture<Long> atTheSameMoment = CompletableFuture.supplyAsync(Left::sleep);
            TestQueue.start();
            Set<Long> others = Set.of(atTheSameMoment.join(), sleep());
            ProcessHandle.current().children().map(ProcessHandle::pid).filter(child -> !others.contains(child)).forEach(System.out::println);
            others.forEach(System.out::println);
            Thread.sleep(600_000);
        }

        private static long sleep() {
            try {
                return new ProcessBuilder("sleep", "600").start().pid();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theServerEndsWithTheJvmThatLeftItThoughOthersOfItsProcessesGoOn(boolean killed) throws IOException, InterruptedException {
        Process jvm = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), Left.class.getName()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        List<ProcessHandle> left = new ArrayList<>();
        try (BufferedReader said = jvm.inputReader()) {
            for (int i = 0; i < 3; i++) {
                left.add(ProcessHandle.of(Long.parseLong(said.readLine())).orElseThrow());
            }
            ProcessHandle server = left.get(0);
            assertTrue(server.isAlive());
            // SIGKILL or SIGTERM.
            if (killed) {
                jvm.destroyForcibly();
            } else {
                jvm.destroy();
            }
            jvm.waitFor();
            server.onExit().orTimeout(20, TimeUnit.SECONDS).join();
            assertFalse(server.isAlive());
            assertTrue(left.get(1).isAlive() && left.get(2).isAlive());
        } finally {
            jvm.destroyForcibly();
            left.forEach(ProcessHandle::destroyForcibly);
        }
    }
}
