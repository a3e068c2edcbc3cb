// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

import java.util.List;

/** What a server sends: each response with its fields as they are on the wire. Numbers are unsigned. */
public sealed interface Response {
    /**
     * A response that proves that the session was connected to the leader after the request was sent. A frame of jobs that
     * answers a RESERVE needs at least one job for that.
     */
    interface Proof {
    }

    /**
     * A response with an opcode of a newer server.
     *
     * @param opcode its number
     */
    record Unknown(int opcode) implements Response {
    }

    /**
     * The answer to HELLO.
     *
     * @param version the version in use from now on: the newest that both sides speak
     * @param marks what became of the session
     * @param clusterId id of the cluster. A different id after a reconnect means a different queue
     * @param session the session, resumed or new; 0 without one
     * @param secret needed to resume the session; zeros without one. Keep it as safe as a password: it gives access to the
     *     session's leases
     * @param heartbeatMs see heartbeats
     * @param sessionGraceMs how long the queue keeps the leases of a lost connection, see how long a lease is the client's own
     * @param frameBytesMax largest length field of a request
     * @param bodyBytesMax largest body of a job
     * @param pushJobsMax most jobs in one PUSH
     * @param leasesMax most leases in one FINISH, RELEASE, TOUCH or BURY
     * @param reserveJobsMax most jobs that one RESERVE may ask for
     * @param inFlightMax most unanswered requests on the connection
     * @param serverName for the client's logs
     * @param members the nodes of the cluster
     * @param clockMs value of the server's monotonic clock; 0 or absent: not shown
     */
    record Welcome(int version, int marks, byte[] clusterId, long session, byte[] secret, int heartbeatMs, int sessionGraceMs,
            int frameBytesMax, int bodyBytesMax, int pushJobsMax, int leasesMax, int reserveJobsMax, int inFlightMax,
            String serverName, List<Member> members, long clockMs) implements Response {
        /** The session was resumed. */
        public boolean isMarkedResumed() {
            return (marks & 0x1) != 0;
        }

        /** Its leases were kept. */
        public boolean isMarkedLeasesKept() {
            return (marks & 0x2) != 0;
        }
    }

    /**
     * The answer to PING: at some moment after it was sent this node led, and the session was connected to it.
     *
     * @param now the server's wall clock, in milliseconds
     * @param clockMs the server's monotonic clock; 0 or absent: not shown
     */
    record Pong(long now, long clockMs) implements Response, Proof {
    }

    /** It is done. */
    record Done() implements Response {
    }

    /**
     * Unasked, under request id 0: the server is about to close the connection.
     *
     * @param message why, for a person
     * @param reason why, for the client
     */
    record GoingAway(String message, int reason) implements Response {
    }

    /**
     * The outcomes of a PUSH: one per job, in order.
     *
     * @param results one result per job, in order
     */
    record Pushed(List<PushResult> results) implements Response, Proof {
    }

    /**
     * The jobs of a RESERVE; none when the wait was over first.
     *
     * @param jobs the jobs
     */
    record Reserved(List<Delivered> jobs) implements Response, Proof {
    }

    /** The answer to SUBSCRIBE. Jobs follow as DELIVER. */
    record Subscribed() implements Response {
    }

    /**
     * Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session.
     *
     * @param jobs the jobs
     */
    record Deliver(List<Delivered> jobs) implements Response, Proof {
    }

    /**
     * A page of the leases that the session holds.
     *
     * @param marks what is so
     * @param jobs the jobs, by id
     */
    record Leased(int marks, List<Delivered> jobs) implements Response, Proof {
        /** There are more. */
        public boolean isMarkedMore() {
            return (marks & 0x1) != 0;
        }
    }

    /**
     * The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order.
     *
     * @param results one result per lease, in order
     */
    record Settled(List<SettleResult> results) implements Response, Proof {
    }

    /**
     * One job as it stands.
     *
     * @param job its id
     * @param dueMs when it is or was due, on the wall clock
     * @param state where it stands
     * @param buried why it is buried
     * @param priority as pushed
     * @param attempts number of times it was reserved
     * @param ttrMs length of a lease on it
     * @param ttrLeftMs remaining time of its lease; 0 when it is not reserved
     * @param topic its topic
     * @param key the user's own id; empty for none
     * @param attributes its attributes
     * @param body as pushed; empty in a list without bodies
     * @param pushedMs when it was pushed
     * @param reservedFirstMs when it was first leased
     * @param reservedLastMs when it was last leased
     * @param editedMs when it was last edited
     * @param heldBy who got the last lease: the address, the token and the name of the client, as of the start of its session.
     *     Empty for none, and where the asking token lacks the right {@code admin} for all topics
     * @param reason the last reason given with a RELEASE or BURY
     * @param finishedMs when it was finished
     * @param version its version; 0 for a finished job that is no longer remembered
     */
    record Job(long job, long dueMs, int state, int buried, int priority, int attempts, int ttrMs, int ttrLeftMs, String topic,
            String key, byte[] attributes, byte[] body, long pushedMs, long reservedFirstMs, long reservedLastMs, long editedMs,
            String heldBy, String reason, long finishedMs, long version) implements Response, Proof, Shown, Past {
    }

    /**
     * One job was changed.
     *
     * @param job its id
     * @param dueMs when it is due
     * @param state the state in which it is now; for DELETE, the one in which it was
     * @param version its version: after the change, and of a deleted job before it
     */
    record Changed(long job, long dueMs, int state, long version) implements Response, Proof {
    }

    /**
     * Jobs were kicked.
     *
     * @param jobs how many jobs are ready now that were buried
     */
    record Kicked(int jobs) implements Response, Proof {
    }

    /**
     * A page of jobs.
     *
     * @param cursor where the next page goes on; empty if there is none. A page may be short, or empty, and have a cursor
     * @param jobs the jobs, in the order that was asked for
     */
    record Jobs(byte[] cursor, List<Listed> jobs) implements Response {
    }

    /**
     * How many jobs match.
     *
     * @param jobs how many
     * @param byDue if bars were asked for: the jobs that are due before them, each bar, and the jobs that are due after them
     */
    record Counted(long jobs, List<DueBar> byDue) implements Response {
    }

    /**
     * How many jobs were changed.
     *
     * @param jobs how many jobs were changed
     * @param cursor where the next step goes on; empty if this was the last one
     * @param skipped how many met the conditions and were left as they are: their state does not allow the change, or the topic
     *     to which they were to go has their key
     */
    record Bulked(int jobs, byte[] cursor, int skipped) implements Response {
    }

    /**
     * Counts by topic.
     *
     * @param topics each topic, by name
     */
    record TopicCounts(List<TopicCount> topics) implements Response, Proof {
    }

    /**
     * Counts of the queue.
     *
     * @param now the server's wall clock, in milliseconds
     * @param uptimeMs how long the server has been up
     * @param connections open connections
     * @param sessions sessions that the queue knows
     * @param waiting consumers that wait for jobs
     * @param appliedIndex the last index that was applied
     * @param term the Raft term
     * @param stateHash the hash of the state at that index
     * @param totals the sums over all topics
     * @param topics each topic, by name
     * @param stages where the time of the answering node goes
     */
    record QueueStats(long now, long uptimeMs, int connections, int sessions, int waiting, long appliedIndex, long term,
            byte[] stateHash, Totals totals, List<TopicCount> topics, List<Stage> stages) implements Response, Proof {
    }

    /**
     * Clients' connections.
     *
     * @param marks what is so; a page has fewer than asked for if its connections have thousands of subscriptions
     * @param connections the connections, by number
     */
    record ConnectionList(int marks, List<Connection> connections) implements Response, Proof {
        /** There are more. */
        public boolean isMarkedMore() {
            return (marks & 0x1) != 0;
        }
    }

    /**
     * A topic's policy.
     *
     * @param jobs the topic's jobs that are delayed, ready, reserved or buried
     * @param bytes bytes of their bodies. Jobs that are remembered count for neither, nor for the limits
     * @param pauseLeftMs how long its pause lasts; 0 if it is not paused, or until RESUME
     * @param marks what is so
     * @param settings the settings as in TOPIC_SET, with the server's defaults for retries where the topic does not set them
     */
    record TopicSettings(long jobs, long bytes, long pauseLeftMs, int marks, byte[] settings) implements Response {
        /** Reserving is stopped. */
        public boolean isMarkedPaused() {
            return (marks & 0x1) != 0;
        }

        /** attempts is the server's default, and not set here. */
        public boolean isMarkedAttemptsOfServer() {
            return (marks & 0x2) != 0;
        }

        /** The same of backoff. */
        public boolean isMarkedBackoffOfServer() {
            return (marks & 0x4) != 0;
        }
    }

    /**
     * A backup can be read.
     *
     * @param index the last entry of the log that it contains
     * @param jobs how many jobs are in it
     * @param stateHash hash of the state, as in QUEUE_STATS at that index
     * @param bytes how many bytes there are to be read: all of the backup but its footer
     */
    record BackupReady(long index, long jobs, byte[] stateHash, long bytes) implements Response {
    }

    /**
     * A part of a backup.
     *
     * @param data the bytes at that offset; fewer than were asked for only at the end
     */
    record BackupData(byte[] data) implements Response {
    }

    /**
     * When a schedule would fire.
     *
     * @param zoneData the version and the origin of the zone data, for example {@code 2026f, bundled}
     * @param instants the next instants, in order: fewer than were asked for if it fires no more
     */
    record Instants(String zoneData, List<LocalInstant> instants) implements Response, Proof {
    }

    /**
     * The members of the cluster, as one node sees them.
     *
     * @param node the node that reports
     * @param clusterId as in WELCOME
     * @param leader the leader, as far as it knows; 0 for none
     * @param term the Raft term, which grows with each election
     * @param last the last entry in its log
     * @param commit the last entry that it knows to be committed
     * @param featureLevel what all members support; it rises when all are upgraded
     * @param members the voters, then the learners. Empty on a node that waits to be added
     */
    record ClusterReport(long node, byte[] clusterId, long leader, long term, long last, long commit, int featureLevel,
            List<Node> members) implements Response {
    }

    /**
     * A page of groups.
     *
     * @param after where the next page begins; empty on the last one
     * @param groups the groups, by name
     */
    record Groups(String after, List<GroupState> groups) implements Response, Proof {
    }

    /**
     * Why a job, a topic or a group gives nothing to a consumer.
     *
     * @param reasons the reasons, the most important one first; never empty
     */
    record Reasons(List<Reason> reasons) implements Response, Proof {
    }

    /**
     * A schedule is set.
     *
     * @param schedule its id
     * @param version how often it was set
     * @param nextMs its next instant; 0 if there is none
     */
    record Scheduled(long schedule, int version, long nextMs) implements Response, Proof {
    }

    /**
     * One schedule as it stands.
     *
     * @param state where it stands
     * @param pauseNote what the user who paused it noted; empty for nothing
     * @param rules when it fires
     * @param template its jobs
     * @param history what it did of late, the oldest first; at most 20
     */
    record Schedule(ScheduleState state, String pauseNote, Request.ScheduleRules rules, Request.JobTemplate template,
            List<Firing> history) implements Response, Proof {
    }

    /**
     * A page of schedules.
     *
     * @param schedules the schedules: fewer than were asked for, or none, if a page comes to the limit of what is read for it
     * @param cursor where the next page goes on; empty on the last one
     */
    record Schedules(List<ListedSchedule> schedules, byte[] cursor) implements Response, Proof {
    }

    /**
     * A schedule pushed a job.
     *
     * @param job its id
     */
    record ScheduleRan(long job) implements Response, Proof {
    }

    /**
     * A part of a time that has passed is filled, or counted.
     *
     * @param nextMs from when the next part goes on; 0 if this was the last one
     * @param bytes bytes of the bodies of the jobs of this part, also of those that were not pushed: like a push, it counts for
     *     the rates of the token; 0 after a dry run
     * @param instants instants of the schedule in this part
     * @param pushed jobs that were pushed
     * @param kept instants whose job is in the topic already, by its key
     * @param refused jobs that the topic's policy, or a limit of the queue, does not allow
     */
    record ScheduleFilled(long nextMs, long bytes, int instants, int pushed, int kept, int refused) implements Response, Proof {
    }

    /**
     * The request failed as a whole.
     *
     * @param code why: an error code
     * @param marks what is so
     * @param applied its known effect. Read any other number as 1
     * @param retryAfterMs do not try again before this time, whatever the code; the mark retryable is then set. 0: no hint
     * @param leader the client address of the leader, for {@code NOT_LEADER}; empty if unknown
     * @param message one sentence for a person. It may change between versions: decide by the code
     */
    record Error(int code, int marks, int applied, int retryAfterMs, String leader, String message) implements Response {
        /** The same request may succeed later, as it is. */
        public boolean isMarkedRetryable() {
            return (marks & 0x1) != 0;
        }
    }

    /**
     * What became of one pushed job.
     *
     * @param outcome what became of it
     * @param code why it was refused: an error code; else 0
     * @param job the id that the table of outcomes says, or 0
     */
    record PushResult(int outcome, int code, long job) {
    }

    /**
     * What became of one lease.
     *
     * @param code 0: done; else an error code
     */
    record SettleResult(int code) {
    }

    /**
     * A job that is now leased to the session.
     *
     * @param job its id; with fence, the lease: send both to settle the job
     * @param fence the number of the lease
     * @param dueMs when it was due, on the wall clock
     * @param priority as pushed
     * @param attempts number of times it was reserved, including this one
     * @param ttrLeftMs remaining time of the lease when the frame is written
     * @param topic its topic
     * @param key the user's own id; empty for none
     * @param attributes its attributes; empty for none
     * @param body as pushed
     * @param deadlineMs when the lease ends, on the clock that WELCOME and PONG of this connection show as {@code clock_ms}; 0:
     *     not shown
     */
    record Delivered(long job, long fence, long dueMs, int priority, int attempts, int ttrLeftMs, String topic, String key,
            byte[] attributes, byte[] body, long deadlineMs) {
    }

    /** A job as it stands. */
    interface Shown {
        /** Its id. */
        long job();

        /** When it is or was due, on the wall clock. */
        long dueMs();

        /** Where it stands. */
        int state();

        /** Why it is buried. */
        int buried();

        /** As pushed. */
        int priority();

        /** Number of times it was reserved. */
        int attempts();

        /** Length of a lease on it. */
        int ttrMs();

        /** Remaining time of its lease; 0 when it is not reserved. */
        int ttrLeftMs();

        /** Its topic. */
        String topic();

        /** The user's own id; empty for none. */
        String key();

        /** Its attributes. */
        byte[] attributes();

        /** As pushed; empty in a list without bodies. */
        byte[] body();
    }

    /** What happened to a job so far. Times are on the wall clock; 0 means that it did not happen, or is not known. */
    interface Past {
        /** When it was pushed. */
        long pushedMs();

        /** When it was first leased. */
        long reservedFirstMs();

        /** When it was last leased. */
        long reservedLastMs();

        /** When it was last edited. */
        long editedMs();

        /**
         * Who got the last lease: the address, the token and the name of the client, as of the start of its session. Empty for
         * none, and where the asking token lacks the right {@code admin} for all topics.
         */
        String heldBy();

        /** The last reason given with a RELEASE or BURY. */
        String reason();
    }

    /**
     * A job on a page of a list.
     *
     * @param job its id
     * @param dueMs when it is or was due, on the wall clock
     * @param state where it stands
     * @param buried why it is buried
     * @param priority as pushed
     * @param attempts number of times it was reserved
     * @param ttrMs length of a lease on it
     * @param ttrLeftMs remaining time of its lease; 0 when it is not reserved
     * @param topic its topic
     * @param key the user's own id; empty for none
     * @param attributes its attributes
     * @param body as pushed; empty in a list without bodies
     * @param bodyBytes the length of the body, whether it is shown or not
     * @param pushedMs when it was pushed
     * @param reservedFirstMs when it was first leased
     * @param reservedLastMs when it was last leased
     * @param editedMs when it was last edited
     * @param heldBy who got the last lease: the address, the token and the name of the client, as of the start of its session.
     *     Empty for none, and where the asking token lacks the right {@code admin} for all topics
     * @param reason the last reason given with a RELEASE or BURY
     */
    record Listed(long job, long dueMs, int state, int buried, int priority, int attempts, int ttrMs, int ttrLeftMs, String topic,
            String key, byte[] attributes, byte[] body, int bodyBytes, long pushedMs, long reservedFirstMs, long reservedLastMs,
            long editedMs, String heldBy, String reason) implements Shown, Past {
    }

    /**
     * Counts, of one topic or of all.
     *
     * @param delayed jobs whose due time lies ahead
     * @param ready jobs that wait for a consumer
     * @param reserved jobs under a lease
     * @param buried jobs set aside
     * @param pushed jobs pushed or moved here so far
     * @param finished jobs finished so far
     * @param deleted jobs deleted, replaced, or moved to another topic so far
     * @param expired jobs dropped by their expiry so far
     * @param oldestReadyMs time since the oldest ready job was due; 0 without one
     */
    record Totals(long delayed, long ready, long reserved, long buried, long pushed, long finished, long deleted, long expired,
            long oldestReadyMs) {
    }

    /**
     * The counts of one topic.
     *
     * @param marks what is so
     * @param consumers long polls and subscriptions that want its jobs at this moment
     * @param lateMs how late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was
     *     delivered
     * @param topic its name
     * @param totals Counts, of one topic or of all.
     */
    record TopicCount(int marks, int consumers, long lateMs, String topic, Totals totals) {
        /** Reserving is stopped. */
        public boolean isMarkedPaused() {
            return (marks & 0x1) != 0;
        }
    }

    /**
     * How long one stage of the work on a node took, over its last minutes. Times are in microseconds.
     *
     * @param stage its name
     * @param count how many durations there are
     * @param p50Us the median
     * @param p99Us 99 % of them are at most this
     * @param p999Us 99.9 % of them are at most this
     * @param maxUs the longest
     */
    record Stage(String stage, long count, long p50Us, long p99Us, long p999Us, long maxUs) {
    }

    /**
     * The jobs of a COUNT that are due in a part of a time.
     *
     * @param startMs where it begins, on the wall clock, in milliseconds: up to the next one, or without an end. 0 in the first
     *     item: the jobs before the bars
     * @param jobs how many
     */
    record DueBar(long startMs, long jobs) {
    }

    /**
     * One client that is connected to the node.
     *
     * @param connection its number. It is never reused, not by another node and not after a restart
     * @param session the session that it speaks for; 0 before WELCOME, and after the session has ended
     * @param sinceMs when it connected, on the wall clock
     * @param leases leases that the session holds, without those that outlive it
     * @param subscriptions its subscriptions
     * @param reserves its waiting RESERVEs
     * @param creditJobs remaining credit of its subscriptions, in jobs; below 0 counts as 0
     * @param creditBytes the same in bytes
     * @param unsentBytes bytes for it that its socket has not yet accepted, as far as known: what it accepted is reported in
     *     steps of up to 256 KiB, so less than that says nothing
     * @param marks what is so
     * @param address its network address
     * @param clientName the name in its HELLO
     * @param topics some of the topics that it waits for
     */
    record Connection(long connection, long session, long sinceMs, int leases, int subscriptions, int reserves, long creditJobs,
            long creditBytes, long unsentBytes, int marks, String address, String clientName, List<String> topics) {
        /** It waits for more topics than are listed. */
        public boolean isMarkedMoreTopics() {
            return (marks & 0x1) != 0;
        }
    }

    /**
     * One node of the cluster, as clients see it.
     *
     * @param node its number
     * @param marks what is so
     * @param address where clients connect, as {@code host:port}. Behind a proxy or NAT, start each node with
     *     {@code --client-address}, or clients go round
     */
    record Member(long node, int marks, String address) {
        /** It leads. */
        public boolean isMarkedLeads() {
            return (marks & 0x1) != 0;
        }
    }

    /**
     * One member of the cluster, as one node sees it. Unknown values are 0.
     *
     * @param node its number
     * @param role what it is. A newer server may have more roles: show them as unknown
     * @param marks what is so, and what is known
     * @param matched the last entry that it has, durable. Only the leader knows it of other members
     * @param applied the last entry that it reported as applied
     * @param aheadMs how far its wall clock is ahead of the reporting node's; negative if it is behind
     * @param audited members compare the hashes of their states after certain entries: the newest of these that it reported
     * @param peerAddress the address for other members; empty if unknown
     * @param clientAddress the address for clients; empty if unknown
     */
    record Node(long node, int role, int marks, long matched, long applied, long aheadMs, long audited, String peerAddress,
            String clientAddress) {
        /** The reporting node is connected to it, or is it. */
        public boolean isMarkedConnected() {
            return (marks & 0x1) != 0;
        }

        /** matched is known. */
        public boolean isMarkedMatched() {
            return (marks & 0x2) != 0;
        }

        /** applied is known. */
        public boolean isMarkedApplied() {
            return (marks & 0x4) != 0;
        }

        /** ahead_ms is known. */
        public boolean isMarkedAhead() {
            return (marks & 0x8) != 0;
        }

        /** The comparison of states is known. */
        public boolean isMarkedCompared() {
            return (marks & 0x10) != 0;
        }

        /** The states are the same. */
        public boolean isMarkedSameState() {
            return (marks & 0x20) != 0;
        }
    }

    /**
     * Where a group stands.
     *
     * @param ready its jobs that wait for a consumer
     * @param reserved its jobs that a consumer has
     * @param oldestMs for how long the next of them has been ready; 0 if none is
     * @param untilMs until when hold lasts, on the wall clock; 0 if that is not known
     * @param weight how many jobs it gives at a turn
     * @param hold what holds it back
     * @param paused 1 if an operator paused it
     * @param name its name
     */
    record GroupState(long ready, long reserved, long oldestMs, long untilMs, int weight, int hold, int paused, String name) {
    }

    /**
     * One reason why a job, a topic or a group gives nothing now.
     *
     * @param why the reason
     * @param sinceMs when it began, on the wall clock; 0 if that is not known
     * @param untilMs when it ends, on the wall clock; 0 if that is not known
     * @param jobs with {@code behind}: how many jobs come first; with a limit of leases: how many there are; else 0
     * @param text one sentence for a person. It may change between versions: decide by the reason
     */
    record Reason(int why, long sinceMs, long untilMs, long jobs, String text) {
    }

    /**
     * Where a schedule stands.
     *
     * @param schedule its id
     * @param nextMs its next instant; 0 if there is none any more
     * @param fired instants at which it pushed a job
     * @param version how often it was set
     * @param running its jobs that have not ended
     * @param failures jobs that failed one after another until now
     * @param paused why it does not fire at present
     * @param marks what is so
     */
    record ScheduleState(long schedule, long nextMs, long fired, int version, int running, int failures, int paused, int marks) {
        /** Its next instant has come, and is about to be fired. */
        public boolean isMarkedCome() {
            return (marks & 0x1) != 0;
        }

        /** Its next instant has come, and waits until an earlier job has ended. */
        public boolean isMarkedHeld() {
            return (marks & 0x2) != 0;
        }
    }

    /**
     * What a schedule did at an instant, or at several ones.
     *
     * @param instantMs the instant; the first of several that it skipped together
     * @param lastMs the last of them
     * @param instants how many they are; 10,000 means that or more
     * @param atMs when the schedule fired or skipped it
     * @param job the job that it pushed, or 0
     * @param fired what became of it
     */
    record Firing(long instantMs, long lastMs, long instants, long atMs, long job, int fired) {
    }

    /**
     * An instant, and what the clocks of its zone show.
     *
     * @param instantMs the instant
     * @param local date, time, offset and abbreviation in the zone, for example {@code 2027-03-28 03:00:00 +02:00 CEST}
     */
    record LocalInstant(long instantMs, String local) {
    }

    /**
     * A schedule on a page of a list.
     *
     * @param scheduleState Where a schedule stands.
     * @param scheduleRules When a schedule fires, and what it does then.
     * @param topic the topic of its jobs
     * @param name its name
     * @param pauseNote what the user who paused it noted; empty for nothing
     */
    record ListedSchedule(ScheduleState scheduleState, Request.ScheduleRules scheduleRules, String topic, String name,
            String pauseNote) {
    }
}
