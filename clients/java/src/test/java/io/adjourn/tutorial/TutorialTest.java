package io.adjourn.tutorial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.Client;
import io.adjourn.client.FakeQueue;
import io.adjourn.client.TutorialServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Runs the code of README.md and docs/tutorial.md, and sees to it that it is the code that stands there. */
class TutorialTest {
    private final List<String> log = new CopyOnWriteArrayList<>();

    @Test
    void theCodeRuns() throws Exception {
        try (TutorialServer server = new TutorialServer(); FakeQueue queue = new FakeQueue()) {
            new Tutorial(log, new CountDownLatch(1)).readme(server.address());
            Tutorial tutorial = new Tutorial(log, new CountDownLatch(1));
            tutorial.tutorial(server.address());
            tutorial.fake();
            Client client = queue.client();
            tutorial.unknown(client);
        }
        assertEquals(List.of("closed 17", "already there: true", "waiting: 1"), log.subList(0, 3));
        assertTrue(log.containsAll(List.of("attempt 1", "attempt 2", "closed 18", "consuming: true", "17")), log.toString());
    }

    @Test
    void theDocumentsShowThisCode() throws IOException {
        String code = squeezed(Files.readString(Path.of("src/test/java/io/adjourn/tutorial/Tutorial.java")));
        int blocks = 0;
        for (String document : List.of("README.md", "docs/tutorial.md")) {
            String[] parts = Files.readString(Path.of(document)).split("```java\n");
            for (int i = 1; i < parts.length; i++) {
                String block = parts[i].split("```")[0];
                assertTrue(code.contains(squeezed(block)), document + " shows code that is not run:\n" + block);
                blocks++;
            }
        }
        assertTrue(blocks > 5);
    }

    private static String squeezed(String code) {
        return code.replaceAll("\\s+", " ").strip();
    }
}
