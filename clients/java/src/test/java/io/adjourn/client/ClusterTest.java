package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Three nodes, of which the leader is killed. */
class ClusterTest {
    private static final class Node {
        final int number;
        final int port = TestServer.freePort();
        final int peerPort = TestServer.freePort();
        Process process;

        Node(int number) {
            this.number = number;
        }

        void start(Path data, List<Node> others) throws IOException {
            List<String> options = new ArrayList<>(List.of("--node", String.valueOf(number), "--peer-listen", "127.0.0.1:" + peerPort,
                    "--heartbeat-ms", "1000"));
            if (others.isEmpty()) {
                options.add("--found");
            } else {
                options.addAll(List.of("--join", String.join(",", others.stream().map(node -> "127.0.0.1:" + node.peerPort).toList())));
            }
            process = TestServer.run(data.resolve("node" + number), port, options);
        }
    }

    @Test
    void theClientFollowsTheLeaderAndNothingIsLostOrDoubled() throws Exception {
        Path data = Files.createTempDirectory("adjourn-java-cluster-");
        List<Node> nodes = List.of(new Node(1), new Node(2), new Node(3));
        try (Client client = Client.builder().address("127.0.0.1:" + nodes.get(0).port).requestTimeout(Duration.ofSeconds(60)).build()) {
            nodes.get(0).start(data, List.of());
            nodes.get(1).start(data, nodes.subList(0, 1));
            nodes.get(2).start(data, nodes.subList(0, 1));
            client.awaitConnected(Duration.ofSeconds(30));
            for (Node node : nodes.subList(1, 3)) {
                Await.until("node " + node.number + " is a member", () -> isAdded(client, node));
            }
            Await.until("all vote", () -> client.clusterStatus().members().stream()
                    .filter(member -> member.role() != ClusterReport.Role.LEARNER).count() == 3);

            Set<String> done = ConcurrentHashMap.newKeySet();
            Worker worker = Worker.builder(client).topic("jobs").concurrency(4).handler(job -> done.add(job.text())).start();
            List<CompletableFuture<PushResult>> pushes = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                pushes.add(client.pushAsync("jobs", NewJob.text("j" + i)));
                if (i == 150) {
                    long leader = client.clusterStatus().leader();
                    nodes.get((int) leader - 1).process.destroyForcibly();
                }
            }
            assertEquals(300, pushes.stream().map(CompletableFuture::join).map(PushResult::id).distinct().count());
            Await.until("all are done", () -> done.size() == 300
                    && client.topics().stream().anyMatch(topic -> topic.totals().finished() == 300));
            assertEquals(300, client.topics().get(0).totals().pushed(), "nothing is doubled");
            assertTrue(worker.stop(Duration.ofSeconds(10)));
        } finally {
            for (Node node : nodes) {
                if (node.process != null) {
                    node.process.destroyForcibly();
                    node.process.waitFor(10, TimeUnit.SECONDS);
                }
            }
            TestServer.delete(data);
        }
    }

    private static boolean isAdded(Client client, Node node) {
        String peer = "127.0.0.1:" + node.peerPort;
        if (client.clusterStatus().members().stream().anyMatch(member -> member.peerAddress().equals(peer))) {
            return true;
        }
        try {
            client.clusterAdd(peer);
            return true;
        } catch (AdjournException e) {
            return false;
        }
    }
}
