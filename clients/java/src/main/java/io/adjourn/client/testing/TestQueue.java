package io.adjourn.client.testing;

import io.adjourn.client.Client;
import io.adjourn.client.Filter;
import io.adjourn.client.JobInfo;
import io.adjourn.client.JobState;
import io.adjourn.client.ListOrder;
import io.adjourn.client.ServerException;
import io.adjourn.client.TopicInfo;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * A queue for one test: a real server of its own, which keeps its jobs in memory and whose clock only {@link #advance} and
 * {@link #advanceToNext} move. It starts in some ten milliseconds, and ends with {@link #close}, or with the JVM, however that ends.
 *
 * <p>The program {@code adjourn} is the one that the environment variable {@code ADJOURN_BIN} names, or else the one in
 * {@code PATH}. It gets none of the variables {@code ADJOURN_*} of the environment. Give {@link #address} to the code under test, or {@link #client}: it is an ordinary client.
 *
 * <pre>{@code
 * try (TestQueue queue = TestQueue.start()) {
 *     new Shop(queue.client()).order(17);
 *     queue.assertPushed("orders", job -> job.key().equals("order-17") && job.delay().equals(Duration.ofMinutes(30)));
 *     queue.advanceToNext();
 *     assertEquals("17", queue.client().reserve("orders", 1, Duration.ZERO).get(0).text());
 * }
 * }</pre>
 *
 * <p>The queue's times go by its clock. Sockets and the waits of {@code reserve} go by the machine's, and a client counts its leases
 * on its own: a lease that ends because the clock was moved is refused with {@link ServerException.StaleLease}, and a worker finds
 * out when it extends or settles it.
 */
public final class TestQueue implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofMillis(2);

    private final ServerProcess server;
    private final Client client;
    /** Topics that had jobs. The server forgets a topic ten minutes after its last job. */
    private final Set<String> pushedBefore = new TreeSet<>();

    private TestQueue(ServerProcess server) {
        this.server = server;
        this.client = Client.builder().address(server.address()).name("test").connect();
    }

    /** Starts it. Throws {@link io.adjourn.client.UsageException} if there is no such program. */
    public static TestQueue start() {
        ServerProcess server = ServerProcess.start(ServerProcess.binary(System.getenv()));
        try {
            return new TestQueue(server);
        } catch (RuntimeException e) {
            server.close();
            throw e;
        }
    }

    /** Where it listens: for {@code Client.builder().address(...)}. */
    public String address() {
        return server.address();
    }

    /** A client that is connected to it. It is closed with the queue. */
    public Client client() {
        return client;
    }

    // ---- the clock

    /** What its clock shows. It begins with the time of the machine. */
    public Instant now() {
        return client.ping();
    }

    /** Moves its clock, and returns when everything that is due by then is carried out. Returns the new time. */
    public Instant advance(Duration by) {
        keepTopics();
        return client.advance(by);
    }

    /** Moves its clock to the time at which the next delayed job is due. Throws {@link ServerException.NotFound} if none is delayed. */
    public Instant advanceToNext() {
        keepTopics();
        return client.advanceToNext();
    }

    private void keepTopics() {
        client.topics().stream().filter(topic -> topic.totals().pushed() > 0).map(TopicInfo::name).forEach(pushedBefore::add);
    }

    // ---- what a test looks at

    /** A job was pushed to the topic, whatever became of it. */
    public void assertPushed(String topic) {
        if (!hasPushed(topic)) {
            throw new AssertionError("no job was pushed to " + topic + elsewhere());
        }
    }

    /** Such a job was pushed to the topic and is there still, with its body. Returns the first by due time. */
    public JobInfo assertPushed(String topic, Predicate<JobInfo> which) {
        List<JobInfo> there = jobs(Filter.topic(topic));
        return there.stream().filter(which).findFirst()
                .orElseThrow(() -> new AssertionError("no such job is in " + topic + ": " + shown(there) + gone(topic, there)));
    }

    /** No job was ever pushed to the topic. */
    public void assertNotPushed(String topic) {
        if (hasPushed(topic)) {
            List<JobInfo> there = jobs(Filter.topic(topic));
            throw new AssertionError("jobs were pushed to " + topic + ": " + shown(there) + gone(topic, there));
        }
    }

    /** No such job was pushed to the topic. Fails also if jobs of the topic are gone, as they cannot be looked at any more. */
    public void assertNotPushed(String topic, Predicate<JobInfo> which) {
        List<JobInfo> there = jobs(Filter.topic(topic));
        List<JobInfo> such = there.stream().filter(which).toList();
        if (!such.isEmpty()) {
            throw new AssertionError("such jobs were pushed to " + topic + ": " + shown(such));
        }
        String gone = gone(topic, there);
        if (!gone.isEmpty()) {
            throw new AssertionError("nobody can say what was pushed to " + topic + gone);
        }
    }

    /** The jobs of the topic that are delayed or ready, by due time, with their bodies. */
    public List<JobInfo> pending(String topic) {
        return list(Filter.topic(topic).states(JobState.DELAYED, JobState.READY));
    }

    /** No job is delayed, ready, reserved or buried, in any topic. */
    public void assertNothingLeft() {
        List<JobInfo> left = list(Filter.ALL);
        if (!left.isEmpty()) {
            throw new AssertionError("jobs are left: " + shown(left));
        }
    }

    /** As {@link #assertNothingLeft}, once workers have had so much time of the machine's clock for the jobs that are ready. */
    public void assertNothingLeft(Duration patience) throws InterruptedException {
        long end = System.nanoTime() + patience.toNanos();
        while (client.count(Filter.ALL) > 0 && System.nanoTime() < end) {
            Thread.sleep(PAUSE.toMillis());
        }
        assertNothingLeft();
    }

    /** Ends the client, then the server. */
    @Override
    public void close() {
        try {
            client.close();
        } finally {
            server.close();
        }
    }

    private List<JobInfo> list(Filter filter) {
        return client.list(filter, ListOrder.DUE, 100, true).toList();
    }

    /** Those that LIST shows: the remembered ones, too. */
    private List<JobInfo> jobs(Filter filter) {
        return list(filter.states(JobState.DELAYED, JobState.READY, JobState.RESERVED, JobState.BURIED, JobState.FINISHED));
    }

    private long pushed(String topic) {
        return client.topics().stream().filter(one -> one.name().equals(topic)).mapToLong(one -> one.totals().pushed()).sum();
    }

    private boolean hasPushed(String topic) {
        return pushedBefore.contains(topic) || pushed(topic) > 0;
    }

    /** Says how many jobs of the topic are not among those that are there; empty if all are. */
    private String gone(String topic, List<JobInfo> there) {
        long pushed = pushed(topic);
        if (pushed == 0 && pushedBefore.contains(topic)) {
            return "; its jobs are finished or deleted";
        }
        return pushed > there.size() ? "; " + (pushed - there.size()) + " of " + pushed + " jobs are finished or deleted" : "";
    }

    private String elsewhere() {
        keepTopics();
        return pushedBefore.isEmpty() ? ", nor to any other topic" : ", only to " + String.join(", ", pushedBefore);
    }

    private static String shown(List<JobInfo> jobs) {
        return jobs.isEmpty() ? "nothing is there" : jobs.stream().map(TestQueue::shown).collect(Collectors.joining("; "));
    }

    private static String shown(JobInfo job) {
        String name = job.key().isEmpty() ? "job " + Long.toUnsignedString(job.id()) : job.key();
        String reason = job.reason().isEmpty() ? "" : ", " + job.reason();
        return name + " of " + job.topic() + " (" + job.state() + ", due " + job.due() + ", delay " + job.delay() + reason + "): " + job.text();
    }
}
