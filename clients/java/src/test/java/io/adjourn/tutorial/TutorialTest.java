package io.adjourn.tutorial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.TutorialServer;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the programs of README.md and docs/tutorial.md as a reader does, and compares what they print with the page. */
class TutorialTest {
    private static final String PIECES = "// the pieces of this page, one after the other";
    private static final long RUN_SECONDS_MAX = 60;

    @TempDir
    private Path folder;

    @Test
    void theReadmeRuns() throws Exception {
        List<String> java = blocks("README.md", "java");
        assertEquals(7, java.size());
        assertEquals(blocks("README.md", "text").get(0), run("Orders", java.get(0)));
        // The piece about traces is tested with OpenTelemetry. The one about TLS has no such servers here: it compiles, in the frame of the tutorial.
        String tls = "new Object() { void connect() {" + java.get(1).replace("Path.of", "java.nio.file.Path.of") + "} };";
        String frame = blocks("docs/tutorial.md", "java").get(0);
        assertEquals("", run("Shop", frame.replace(PIECES, tls)));
        String schedule = "record Report(String kind) { } Client client = Client.builder().address(\"adjourn://127.0.0.1:7440\").connect();"
                + java.get(2) + "System.out.println(client.schedule(\"reports\", \"morning\").template().text());"
                + "java.time.Instant from = java.time.Instant.parse(\"2024-01-01T00:00:00Z\"), to = from.plusSeconds(604_800);"
                + java.get(3).replace("Instant next", "java.time.Instant next") + "client.close();";
        assertEquals("{\"kind\":\"daily\"}\n5 instants, 5 jobs pushed\n", run("Shop", frame.replace(PIECES, schedule)));
        String groups = "Client client = Client.builder().address(\"adjourn://127.0.0.1:7440\").connect();" + java.get(4) + "client.close();";
        String printed = run("Shop", frame.replace(PIECES, groups));
        assertTrue(printed.startsWith("ann: 1 ready, "), printed);
    }

    @Test
    void theTestOfTheReadmeIsGreen() throws Exception {
        Path source = Files.writeString(folder.resolve("ShopTest.java"), blocks("README.md", "java").get(6));
        assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", folder.toString(), source.toString()));
        int tests = 0;
        try (URLClassLoader classes = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            Class<?> type = classes.loadClass("ShopTest");
            for (Method test : type.getDeclaredMethods()) {
                if (test.isAnnotationPresent(Test.class)) {
                    call(type, test);
                    tests++;
                }
            }
        }
        assertEquals(2, tests);
    }

    /** As JUnit does: on an object of its own. */
    private static void call(Class<?> type, Method test) throws ReflectiveOperationException {
        Constructor<?> made = type.getDeclaredConstructor();
        made.setAccessible(true);
        Object object = made.newInstance();
        Method stop = type.getDeclaredMethod("stop");
        stop.setAccessible(true);
        test.setAccessible(true);
        try {
            test.invoke(object);
        } finally {
            stop.invoke(object);
        }
    }

    @Test
    void theTutorialRuns() throws Exception {
        List<String> java = new ArrayList<>(blocks("docs/tutorial.md", "java"));
        String frame = java.remove(0);
        assertTrue(frame.contains(PIECES), frame);
        assertEquals(blocks("docs/tutorial.md", "text").get(0), run("Shop", frame.replace(PIECES, String.join("", java))));
    }

    private static List<String> blocks(String page, String language) throws IOException {
        Matcher found = Pattern.compile("(?ms)^```" + language + "\\n(.*?)^```$").matcher(Files.readString(Path.of(page)));
        return found.results().map(block -> block.group(1)).toList();
    }

    /** What the program prints. */
    private String run(String name, String code) throws Exception {
        Path source = folder.resolve(name + ".java");
        try (TutorialServer server = new TutorialServer()) {
            Files.writeString(source, code.replace("127.0.0.1:7440", server.address()));
            Path log = folder.resolve("log");
            Path printed = folder.resolve("printed");
            Process program = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                    System.getProperty("java.class.path"), source.toString())
                    .redirectError(log.toFile()).redirectOutput(printed.toFile()).start();
            boolean hasEnded = program.waitFor(RUN_SECONDS_MAX, TimeUnit.SECONDS);
            program.destroyForcibly();
            String said = Files.readString(log, StandardCharsets.UTF_8);
            assertTrue(hasEnded && program.exitValue() == 0, said);
            return Files.readString(printed, StandardCharsets.UTF_8);
        }
    }
}
