package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.internal.wire.Bits;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Edits as they are sent, and against a real server. */
class EditTest {
    private static final Duration WAIT = Duration.ofSeconds(10);
    private static final JobRef JOB = JobRef.id(7);
    private static TestServer server;
    private static Client client;

    @BeforeAll
    static void start() {
        server = new TestServer();
        client = Client.builder().address(server.address()).connect();
    }

    @AfterAll
    static void stop() {
        client.close();
        server.close();
    }

    // ---- what is sent

    @Test
    void eachPartIsNamedAlone() {
        Due due = Due.at(Instant.ofEpochMilli(5));
        List<Header> headers = List.of(new Header("a", "1"), new Header("a", "2"));
        Backoff backoff = Backoff.fixed(Duration.ofSeconds(1));
        Map<Edit, Integer> edits = new LinkedHashMap<>();
        edits.put(Edit.EMPTY.due(due), Bits.Edited.DUE);
        edits.put(Edit.EMPTY.priority(0), Bits.Edited.PRIORITY);
        edits.put(Edit.EMPTY.ttr(Duration.ofSeconds(1)), Bits.Edited.TTR);
        edits.put(Edit.EMPTY.text("x"), Bits.Edited.BODY);
        edits.put(Edit.EMPTY.headers(headers), Bits.Edited.HEADERS);
        edits.put(Edit.EMPTY.expires(due), Bits.Edited.EXPIRES);
        edits.put(Edit.EMPTY.attemptsMax(3), Bits.Edited.ATTEMPTS_MAX);
        edits.put(Edit.EMPTY.backoff(backoff), Bits.Edited.BACKOFF);
        edits.put(Edit.EMPTY.remember(Duration.ofMinutes(1)), Bits.Edited.DEDUPE_RETENTION);
        edits.put(Edit.EMPTY.group("ann"), Bits.Edited.GROUP);
        edits.forEach((edit, part) -> assertEquals(part, edit.toWire(JOB, 0).edited()));
        assertEquals(2 * Bits.Edited.GROUP - 1, edits.values().stream().mapToInt(part -> part).sum(), "every part");
        Request.Edit all = Edit.EMPTY.due(due).priority(9).ttr(Duration.ofSeconds(1)).text("x").headers(headers).expires(due).attemptsMax(3)
                .backoff(backoff).remember(Duration.ofMinutes(1)).group("ann").toWire(JOB, 8);
        assertEquals(2 * Bits.Edited.GROUP - 1, all.edited());
        assertEquals(List.of(5L, 1L, 9L, 1_000L, 8L),
                List.of(all.dueMs(), (long) all.dueKind(), (long) all.priority(), (long) all.ttrMs(), all.ifVersion()));
        assertEquals(JOB, all.ref());
        assertEquals("x", new String(all.body()));
        Attributes attributes = Attributes.decode(all.attributes());
        assertEquals(List.of(new Header("a", "1"), new Header("a", "2"), new Header("content-type", "text/plain; charset=utf-8")),
                attributes.headers());
        assertEquals(due, attributes.expires().orElseThrow());
        assertEquals(3, attributes.attemptsMax().orElseThrow());
        assertEquals(backoff, attributes.backoff().orElseThrow());
        assertEquals(Duration.ofMinutes(1), attributes.dedupeRetention().orElseThrow());
        assertEquals("ann", attributes.group().orElseThrow());
    }

    @Test
    void whatIsTakenAwayIsNamedWithoutAValue() {
        int parts = 0;
        for (Edit.Attribute attribute : Edit.Attribute.values()) {
            Request.Edit sent = Edit.EMPTY.without(attribute).toWire(JOB, 0);
            assertEquals(1, Integer.bitCount(sent.edited()));
            assertEquals(0, sent.attributes().length);
            parts |= sent.edited();
        }
        assertEquals(Bits.Edited.HEADERS | Bits.Edited.EXPIRES | Bits.Edited.ATTEMPTS_MAX | Bits.Edited.BACKOFF | Bits.Edited.DEDUPE_RETENTION
                | Bits.Edited.GROUP, parts);
        Edit last = Edit.EMPTY.attemptsMax(3).without(Edit.Attribute.ATTEMPTS_MAX);
        assertEquals(0, last.toWire(JOB, 0).attributes().length, "the last call counts");
        assertEquals(4, Attributes.decode(last.attemptsMax(4).toWire(JOB, 0).attributes()).attemptsMax().orElseThrow());
    }

    @Test
    void theContentTypeGoesWithTheBody() {
        List<Header> json = List.of(new Header("content-type", "application/json"));
        List<Header> own = List.of(new Header("Content-Type", "text/html"));
        List<Header> other = List.of(new Header("a", "1"));
        assertEquals(json, sentHeaders(Edit.EMPTY.json(Map.of())));
        assertEquals(json, sentHeaders(Edit.EMPTY.json(Map.of()).without(Edit.Attribute.HEADERS)));
        assertEquals(own, sentHeaders(Edit.EMPTY.text("x").headers(own)));
        assertEquals(other, sentHeaders(Edit.EMPTY.headers(other)));
        assertEquals(other, sentHeaders(Edit.EMPTY.text("x").body(new byte[1]).headers(other)));
        assertEquals("application/json", sentHeaders(Edit.EMPTY.headers(other).json(Map.of())).get(1).value());
    }

    private static List<Header> sentHeaders(Edit edit) {
        return Attributes.decode(edit.toWire(JOB, 0).attributes()).headers();
    }

    @Test
    void whatCannotBeIsRefusedBeforeItIsSent() {
        String empty = assertThrows(UsageException.class, () -> client.edit(JOB, Edit.EMPTY)).getMessage();
        assertTrue(empty.contains("at least one part"), empty);
        assertThrows(UsageException.class, () -> client.async().edit(JOB, Edit.EMPTY, 3));
        String none = assertThrows(UsageException.class, () -> Edit.EMPTY.headers(List.of())).getMessage();
        assertTrue(none.contains("without(Attribute.HEADERS)"), none);
        assertThrows(UsageException.class, () -> Edit.EMPTY.remember(Duration.ZERO));
        assertThrows(UsageException.class, () -> Edit.EMPTY.attemptsMax(0));
        assertThrows(UsageException.class, () -> Edit.EMPTY.priority(-1));
        assertThrows(UsageException.class, () -> Edit.EMPTY.ttr(Duration.ofMillis(99)));
        assertThrows(UsageException.class, () -> Edit.EMPTY.delay(Duration.ofMillis(-1)));
        assertThrows(ServerException.TooLarge.class, () -> client.edit(JOB, Edit.EMPTY.body(new byte[2_000_000])));
        byte[] body = {1};
        Edit edit = Edit.EMPTY.body(body);
        body[0] = 2;
        assertArrayEquals(new byte[] {1}, edit.toWire(JOB, 0).body(), "the caller's bytes are copied");
    }

    @Test
    void anEditWithoutAnAnswerIsNotRepeated() throws IOException {
        AtomicBoolean isRepeated = new AtomicBoolean();
        try (ScriptedServer scripted = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.next(Opcode.EDIT);
        }, peer -> {
            peer.welcome(9, 3);
            isRepeated.set(peer.next().is(Opcode.EDIT));
        }); Client other = Client.builder().address(scripted.address()).connect()) {
            assertThrows(OutcomeUnknownException.class, () -> other.edit(JOB, Edit.EMPTY.priority(1)));
            other.close(Duration.ofMillis(1));
        }
        assertTrue(!isRepeated.get());
    }

    // ---- a real server

    @Test
    void anEditChangesOnlyItsParts() {
        JobRef job = JobRef.key("edited", "k");
        client.push("edited", NewJob.text("old").key("k").delay(Duration.ofHours(1)).priority(5).ttr(Duration.ofMinutes(2)).attemptsMax(3)
                .backoff(Backoff.fixed(Duration.ofSeconds(1))).expires(Due.after(Duration.ofHours(9))).remember(Duration.ofHours(1)));
        JobInfo before = client.get(job);
        assertNull(before.edited());
        Instant soon = Instant.parse("2040-01-01T00:00:00.001Z");
        List<Header> headers = List.of(new Header("b", "2"));
        Backoff backoff = Backoff.list(Duration.ofMinutes(1)).jitter(5);
        List<Edit> edits = List.of(Edit.EMPTY.expires(Due.at(soon.plusSeconds(9))), Edit.EMPTY.at(soon), Edit.EMPTY.priority(7),
                Edit.EMPTY.ttr(Duration.ofMinutes(3)), Edit.EMPTY.text("longer"), Edit.EMPTY.headers(headers), Edit.EMPTY.attemptsMax(8),
                Edit.EMPTY.backoff(backoff), Edit.EMPTY.remember(Duration.ofMinutes(1)), Edit.EMPTY.ttr(Duration.ZERO),
                Edit.EMPTY.without(Edit.Attribute.HEADERS), Edit.EMPTY.without(Edit.Attribute.EXPIRES),
                Edit.EMPTY.without(Edit.Attribute.ATTEMPTS_MAX), Edit.EMPTY.without(Edit.Attribute.REMEMBER),
                Edit.EMPTY.without(Edit.Attribute.BACKOFF), Edit.EMPTY.group("ann"), Edit.EMPTY.without(Edit.Attribute.GROUP));
        List<List<String>> changes = new ArrayList<>();
        for (Edit edit : edits) {
            Map<String, Object> old = parts(before);
            long version = before.version();
            Changed changed = client.edit(job, edit, version);
            before = client.get(job);
            assertEquals(JobState.DELAYED, changed.state());
            assertEquals(before.version(), changed.version());
            assertNotEquals(version, changed.version());
            assertNotNull(before.edited());
            assertThrows(ServerException.Changed.class, () -> client.edit(job, edit, version));
            Map<String, Object> now = parts(before);
            changes.add(now.keySet().stream().filter(part -> !now.get(part).equals(old.get(part))).toList());
            assertValue(changes.size(), before, soon, headers, backoff);
        }
        assertEquals(List.of(List.of("expires"), List.of("due"), List.of("priority"), List.of("ttr"), List.of("body"), List.of("headers"),
                List.of("attempts"), List.of("backoff"), List.of("remember"), List.of("ttr"), List.of("headers"), List.of("expires"),
                List.of("attempts"), List.of("remember"), List.of("backoff"), List.of("group"), List.of("group")), changes);
    }

    /** The parts of a job, those that it does not have as an empty text. */
    private static Map<String, Object> parts(JobInfo job) {
        Attributes attributes = job.attributes();
        Map<String, Object> parts = new LinkedHashMap<>(Map.of("due", job.due(), "priority", job.priority(), "ttr", job.ttr(), "body", job.text()));
        parts.put("headers", attributes.headers());
        parts.put("expires", attributes.expires().map(Object.class::cast).orElse(""));
        parts.put("attempts", attributes.attemptsMax().map(Object.class::cast).orElse(""));
        parts.put("backoff", attributes.backoff().map(Object.class::cast).orElse(""));
        parts.put("remember", attributes.dedupeRetention().map(Object.class::cast).orElse(""));
        parts.put("group", attributes.group().orElse(""));
        parts.put("others", List.of(job.id(), job.topic(), job.key(), job.attempts(), job.pushed()));
        return parts;
    }

    private static final Header TEXT = new Header("content-type", "text/plain; charset=utf-8");

    /** What the edit with this number has set, or what is the default then. */
    private static void assertValue(int number, JobInfo job, Instant soon, List<Header> headers, Backoff backoff) {
        Attributes attributes = job.attributes();
        switch (number) {
            case 1 -> assertEquals(Due.at(soon.plusSeconds(9)), attributes.expires().orElseThrow());
            case 2 -> assertEquals(soon, job.due());
            case 3 -> assertEquals(7, job.priority());
            case 4 -> assertEquals(Duration.ofMinutes(3), job.ttr());
            case 5 -> assertEquals("longer", job.text());
            case 6 -> {
                assertEquals(TEXT, attributes.headers().get(0), "it belongs to the body");
                assertEquals(headers, attributes.headers().subList(1, attributes.headers().size()));
            }
            case 7 -> assertEquals(8, attributes.attemptsMax().orElseThrow());
            case 8 -> assertEquals(backoff, attributes.backoff().orElseThrow());
            case 9 -> assertEquals(Duration.ofMinutes(1), attributes.dedupeRetention().orElseThrow());
            case 10 -> assertEquals(Duration.ofMinutes(1), job.ttr());
            case 11 -> assertEquals(List.of(TEXT), attributes.headers());
            case 12 -> assertTrue(attributes.expires().isEmpty());
            case 13 -> assertEquals(25, attributes.attemptsMax().orElseThrow());
            case 14 -> assertTrue(attributes.dedupeRetention().isEmpty());
            case 15 -> assertNotEquals(backoff, attributes.backoff().orElseThrow());
            case 16 -> assertEquals("ann", attributes.group().orElseThrow());
            default -> assertTrue(attributes.group().isEmpty());
        }
    }

    @Test
    void onlyJobsThatNoConsumerHasAreEdited() throws InterruptedException, ExecutionException {
        JobRef job = JobRef.id(client.push("states", NewJob.text("x").delay(Duration.ofHours(1))).id());
        assertEquals(JobState.READY, client.edit(job, Edit.EMPTY.due(Due.NOW).text("y")).state());
        assertThrows(ServerException.ExpiresBeforeDue.class, () -> client.edit(job, Edit.EMPTY.expires(Due.at(Instant.ofEpochMilli(1)))));
        Job reserved = client.reserve("states", 1, WAIT).get(0);
        assertEquals("y", reserved.text());
        AdjournException refused = assertThrows(ServerException.Reserved.class, () -> client.edit(job, Edit.EMPTY.priority(1)));
        assertEquals(Applied.NO, refused.applied());
        reserved.bury("");
        assertThrows(ServerException.WrongState.class, () -> client.edit(job, Edit.EMPTY.delay(Duration.ofHours(1))));
        assertEquals(JobState.BURIED, client.async().edit(job, Edit.EMPTY.text("z")).get().state());
        client.kick(job);
        reserved = client.reserve("states", 1, WAIT).get(0);
        assertEquals("z", reserved.text());
        reserved.finish();
        assertThrows(ServerException.NotFound.class, () -> client.edit(JobRef.key("states", "none"), Edit.EMPTY.priority(1)));
        client.setTopic("states", TopicPolicy.EMPTY.bodyBytesMax(3));
        JobRef small = JobRef.id(client.push("states", NewJob.text("x")).id());
        assertThrows(ServerException.TooLarge.class, () -> client.edit(small, Edit.EMPTY.text("long")));
    }

    @Test
    void aListShowsWhenAJobWasEdited() {
        client.push("listed", NewJob.text("x").key("k").delay(Duration.ofHours(1)));
        client.edit(JobRef.key("listed", "k"), Edit.EMPTY.priority(1));
        JobInfo shown = client.list(Filter.topic("listed")).findFirst().orElseThrow();
        assertEquals(client.get(JobRef.key("listed", "k")).edited(), shown.edited());
        assertTrue(!shown.edited().isBefore(shown.pushed()) && shown.reservedLast() == null);
    }
}
