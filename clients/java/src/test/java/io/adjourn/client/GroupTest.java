package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.testing.TestQueue;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Groups, and why jobs do not run, against a real server whose clock the tests move. */
class GroupTest {
    private static final JobRef SECOND = JobRef.key("t", "ann-2");

    /** A topic where a group may have one lease, with three jobs of ann and one of bob. */
    private static TestQueue start() {
        TestQueue queue = TestQueue.start();
        queue.client().setTopic("t", TopicPolicy.EMPTY.groupLeasesMax(1));
        for (String key : List.of("ann-1", "ann-2", "ann-3", "bob-1")) {
            queue.client().push("t", NewJob.text(key).key(key).group(key.substring(0, 3)));
        }
        return queue;
    }

    @Test
    void aGroupGetsNoMoreLeasesThanItMay() {
        try (TestQueue queue = start()) {
            Client client = queue.client();
            List<GroupInfo> before = client.groups("t");
            assertEquals(List.of("ann", "bob"), names(before));
            assertEquals(List.of(3L, 1L), before.stream().map(GroupInfo::ready).toList());
            assertEquals(List.of(Why.NEXT, Why.NEXT), before.stream().map(GroupInfo::hold).toList());
            assertEquals(new GroupInfo("ann", 3, 0, before.get(0).oldestReady(), 1, false, Why.NEXT, null), before.get(0));
            assertEquals(List.of("bob"), names(client.groups("t", "b")));
            assertEquals(List.of(), names(client.async().groups("t", "c").join()));

            List<Job> jobs = client.reserve("t", 9, Duration.ZERO);
            assertEquals(List.of("ann-1", "bob-1"), jobs.stream().map(Job::key).sorted().toList());
            assertTrue(jobs.stream().allMatch(job -> job.key().startsWith(job.attributes().group().orElseThrow())));
            GroupInfo ann = client.groups("t", "ann").get(0);
            assertEquals(List.of(2L, 1L), List.of(ann.ready(), ann.reserved()));
            assertEquals(Why.GROUP_LEASES, ann.hold());
        }
    }

    @Test
    void aGroupGetsAWeightAndIsPaused() {
        try (TestQueue queue = start()) {
            Client client = queue.client();
            client.setGroup("t", "bob", GroupChange.EMPTY.weight(5).paused(true));
            GroupInfo bob = client.groups("t", "bob").get(0);
            assertEquals(5, bob.weight());
            assertTrue(bob.paused());
            assertEquals(Why.GROUP_PAUSED, bob.hold());
            assertEquals(List.of("ann-1"), client.reserve("t", 9, Duration.ZERO).stream().map(Job::key).toList());
            client.async().setGroup("t", "bob", GroupChange.EMPTY.paused(false)).join();
            bob = client.groups("t", "bob").get(0);
            assertEquals(5, bob.weight(), "what is not named stays");
            assertFalse(bob.paused());
            client.setGroup("t", "bob", GroupChange.EMPTY.weight(1));
            assertEquals(1, client.groups("t", "bob").get(0).weight());
        }
    }

    @Test
    void theServerSaysWhyAJobOrATopicWaits() {
        try (TestQueue queue = start()) {
            Client client = queue.client();
            assertEquals(2, client.reserve("t", 9, Duration.ZERO).size());
            Reason first = client.why(SECOND).get(0);
            assertEquals(Why.GROUP_LEASES, first.why());
            assertEquals(1, first.jobs(), "the lease that ann has");
            assertFalse(first.text().isEmpty());
            assertEquals(Why.RESERVED, client.why(JobRef.key("t", "ann-1")).get(0).why());
            assertFalse(client.whyTopic("t").isEmpty());
            assertEquals(Why.GROUP_LEASES, client.whyTopic("t", "ann").get(0).why());
            assertEquals(client.whyTopic("t"), client.async().whyTopic("t").join());
            long later = client.push("t", NewJob.text("x").delay(Duration.ofHours(1))).id();
            Reason delayed = client.async().why(JobRef.id(later)).join().get(0);
            assertEquals(Why.DELAYED, delayed.why());
            assertEquals(client.get(JobRef.id(later)).due(), delayed.until());
            assertThrows(ServerException.NotFound.class, () -> client.why(JobRef.key("t", "none")));
            assertThrows(ServerException.NotFound.class, () -> client.whyTopic("none"));
        }
    }

    @Test
    void jobsAreFoundByTheirGroupAndMovedToAnother() {
        try (TestQueue queue = start()) {
            Client client = queue.client();
            Filter ann = Filter.topic("t").group("ann");
            assertEquals(List.of("ann-1", "ann-2", "ann-3"), client.list(ann).map(JobInfo::key).sorted().toList());
            assertEquals(3, client.count(ann));
            client.edit(SECOND, Edit.EMPTY.group("bob"));
            assertEquals("bob", client.get(SECOND).attributes().group().orElseThrow());
            assertEquals(List.of(2L, 2L), client.groups("t").stream().map(GroupInfo::ready).toList());
            client.edit(SECOND, Edit.EMPTY.without(Edit.Attribute.GROUP));
            assertTrue(client.get(SECOND).attributes().group().isEmpty());
            assertEquals(2, client.bulk(BulkChange.DELETE, ann).mapToLong(BulkStep::jobs).sum());
        }
    }

    @Test
    void theSettingsOfGroupsAreSetAndShownAgain() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            client.setTopic("t", TopicPolicy.EMPTY.fair(true).groupLeasesMax(3).groupPerSecondMax(50).groupBurst(7).groupOrder("fifo")
                    .groupOnBury("continue"));
            TopicPolicy shown = client.topicSettings("t").policy();
            assertTrue(shown.fair());
            assertEquals(3, shown.groupLeasesMax().orElseThrow());
            assertEquals(50, shown.groupPerSecondMax().orElseThrow());
            assertEquals(7, shown.groupBurst().orElseThrow());
            assertEquals("fifo", shown.groupOrder().orElseThrow());
            assertEquals("continue", shown.groupOnBury().orElseThrow());
        }
    }

    @Test
    void aTopicWithoutASettingOfGroupsHasNoTurns() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            client.push("t", NewJob.text("x").group("ann"));
            assertThrows(ServerException.WrongState.class, () -> client.setGroup("t", "ann", GroupChange.EMPTY.weight(2)));
            assertThrows(ServerException.NotFound.class, () -> client.setGroup("none", "ann", GroupChange.EMPTY.weight(2)));
            assertThrows(ServerException.NotFound.class, () -> client.groups("none"));
        }
    }

    private static List<String> names(List<GroupInfo> groups) {
        return groups.stream().map(GroupInfo::name).toList();
    }

    // ---- what is sent, and what is refused before that

    @Test
    void whatCannotBeIsRefusedBeforeItIsSent() {
        String empty = assertThrows(UsageException.class, () -> GroupChange.EMPTY.toWire("t", "ann")).getMessage();
        assertTrue(empty.contains("needs a weight"), empty);
        assertThrows(UsageException.class, () -> GroupChange.EMPTY.weight(0));
        assertThrows(UsageException.class, () -> GroupChange.EMPTY.weight(Limits.GROUP_WEIGHT_MAX + 1));
        assertThrows(UsageException.class, () -> GroupChange.EMPTY.paused(true).toWire("t", ""));
        assertThrows(UsageException.class, () -> GroupChange.EMPTY.paused(true).toWire("no topic", "ann"));
        String tooLong = "é".repeat(Limits.GROUP_BYTES_MAX / 2 + 1);
        for (String group : List.of("", "a\nb", tooLong)) {
            assertThrows(UsageException.class, () -> NewJob.text("x").group(group));
            assertThrows(UsageException.class, () -> JobTemplate.text("x").group(group));
            assertThrows(UsageException.class, () -> Edit.EMPTY.group(group));
            assertThrows(UsageException.class, () -> Filter.ALL.group(group));
        }
        assertEquals("ann", NewJob.text("x").group("ann").attributes().group().orElseThrow());
        assertEquals("ann", JobTemplate.text("x").group("ann").attributes().group().orElseThrow());
        assertEquals(Limits.GROUP_WEIGHT_MAX, GroupChange.EMPTY.weight(Limits.GROUP_WEIGHT_MAX).toWire("t", "ann").weight());
    }

    @Test
    void aPageMayBeEmptyAndItsAnswerSaysWhereTheNextOneBegins() throws IOException {
        List<String> begins = new CopyOnWriteArrayList<>();
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            answerPage(peer, begins, "e", "ann", "dan");
            answerPage(peer, begins, "x");
            answerPage(peer, begins, "", "zoe");
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            assertEquals(List.of("ann", "dan", "zoe"), names(client.groups("t")));
            assertEquals(List.of("", "e", "x"), begins);
            assertThrows(UsageException.class, () -> client.groups("t", "n".repeat(Limits.GROUP_BYTES_MAX + 1)));
            assertThrows(UsageException.class, () -> client.whyTopic("t", ""));
            assertThrows(UsageException.class, () -> client.setGroup("t", "ann", GroupChange.EMPTY));
            client.close(Duration.ofMillis(1));
        }
    }

    /** Answers with a page of groups of these names, and notes after which name it was to begin. */
    private static void answerPage(ScriptedServer.Peer peer, List<String> begins, String after, String... names) throws IOException {
        ScriptedServer.Request list = peer.next(Opcode.GROUP_LIST);
        // The number of groups, and the topic "t", come before it.
        begins.add(new String(list.payload(), 7, list.payload()[6]));
        peer.send(Opcode.GROUPS, list.id(), body -> {
            body.text8(after).list(39, names.length);
            for (String name : names) {
                body.raw(new byte[38]).text8(name);
            }
        });
    }

    @Test
    void whatANewerServerSaysIsShown() throws IOException {
        byte[] ann = FrameWriter.utf8("ann");
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.send(Opcode.GROUPS, peer.next(Opcode.GROUP_LIST).id(), body -> body.text8("").list(41, 1).u64(3).u64(1).u64(1_500).u64(5)
                    .u32(7).u8(99).u8(1).u8(ann.length).u16(0).raw(ann));
            peer.send(Opcode.REASONS, peer.next(Opcode.WHY).id(), body -> body.list(27, 2).u8(99).u64(0).u64(0).u64(0).u16(0)
                    .u8(Why.BEHIND.number()).u64(4).u64(5).u64(17).u16(ann.length).raw(ann));
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).connect()) {
            assertEquals(List.of(new GroupInfo("ann", 3, 1, Duration.ofMillis(1_500), 7, true, Why.UNKNOWN, Instant.ofEpochMilli(5))),
                    client.groups("t"));
            List<Reason> reasons = client.why(SECOND);
            assertEquals(Why.UNKNOWN, reasons.get(0).why());
            assertNull(reasons.get(0).since());
            assertNull(reasons.get(0).until());
            assertEquals(new Reason(Why.BEHIND, Instant.ofEpochMilli(4), Instant.ofEpochMilli(5), 17, "ann"), reasons.get(1));
            client.close(Duration.ofMillis(1));
        }
    }
}
