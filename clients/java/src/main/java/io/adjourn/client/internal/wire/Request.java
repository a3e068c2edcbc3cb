// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

import io.adjourn.client.JobRef;
import io.adjourn.client.Lease;
import java.util.List;

/** What a client sends: each request with its fields as they are on the wire. Numbers are unsigned. */
public sealed interface Request {
    /** Which request it is. */
    Opcode opcode();

    /** Whether carrying it out twice does no more than carrying it out once. A push needs a number for that. */
    default boolean isRepeatable() {
        return switch (opcode()) {
            case PING, GOODBYE, PUSH, RESERVE, SUBSCRIBE, LEASES, FINISH, RELEASE, TOUCH, BURY, GET, PEEK, LIST, COUNT, PAUSE,
                    RESUME, TOPICS, STATS, CONNECTIONS, TOPIC_SET, TOPIC_SHOW, SCHEDULE_PREVIEW, CLUSTER_STATUS, GROUP_SET,
                    GROUP_LIST, WHY, TOPIC_WHY, SCHEDULE_SHOW, SCHEDULE_LIST, SCHEDULE_PAUSE, SCHEDULE_RESUME -> true;
            case DELETE -> ((Delete) this).ref() instanceof JobRef.Id;
            default -> false;
        };
    }

    /**
     * Opens the conversation; the first frame on every connection.
     *
     * @param versionMin the oldest protocol version that the client speaks
     * @param versionMax the newest one
     * @param options what the client wants
     * @param heartbeatMs the heartbeat that the client asks for, see heartbeats; 0 takes the server's
     * @param session the session to resume; 0 opens a new one
     * @param secret the secret of that session; zeros without one
     * @param clientName at most 64 bytes, for the server's logs
     * @param token authentication token, at most 256 bytes; empty for none
     */
    record Hello(int versionMin, int versionMax, int options, int heartbeatMs, long session, byte[] secret, String clientName,
            byte[] token) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.HELLO;
        }
    }

    /** Asks for a PONG. */
    record Ping() implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.PING;
        }
    }

    /** Ends the session: its leases are given back at once (unless they outlive it). */
    record Goodbye() implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.GOODBYE;
        }
    }

    /**
     * Adds jobs to one topic.
     *
     * @param sequence number of the first job, see exactly-once push; 0 for no protection against repeats
     * @param topic the topic of all jobs
     * @param jobs 1 to {@code push_jobs_max} jobs
     * @param idempotency instead of a sequence: a number under which a repeat is known, see idempotency keys. Absent or 0 for
     *     none
     * @param listJobs how many jobs the list has, if it goes in several PUSHes under one idempotency key. Absent or 0: this PUSH
     *     is the whole list
     */
    record Push(long sequence, String topic, List<NewJob> jobs, byte[] idempotency, int listJobs) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.PUSH;
        }
    }

    /**
     * Long-poll: waits for jobs of some topics.
     *
     * @param waitMs answer without a job after this time; at most 3,600,000. 0 does not wait: such a RESERVE is ordered like a
     *     change
     * @param jobsMax 1 to {@code reserve_jobs_max}
     * @param topics 1 to 64 topics
     * @param weights one per topic, in the same order, each at least 1; empty or absent for no weights
     */
    record Reserve(long waitMs, int jobsMax, List<String> topics, List<Integer> weights) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.RESERVE;
        }
    }

    /**
     * Asks for jobs to be sent as they become ready.
     *
     * @param creditJobs most jobs held at once, at most 65,536
     * @param creditBytes most bytes of bodies held at once, at most 268,435,456
     * @param topics as in RESERVE
     * @param weights as in RESERVE
     */
    record Subscribe(int creditJobs, long creditBytes, List<String> topics, List<Integer> weights) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SUBSCRIBE;
        }
    }

    /**
     * Adds credit to a subscription.
     *
     * @param subscription the request id of SUBSCRIBE
     * @param creditJobs more jobs, at most 65,536
     * @param creditBytes more bytes, at most 268,435,456
     */
    record Credit(int subscription, int creditJobs, long creditBytes) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CREDIT;
        }
    }

    /**
     * Ends a subscription; jobs already sent stay leased.
     *
     * @param subscription the request id of SUBSCRIBE
     */
    record Unsubscribe(int subscription) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.UNSUBSCRIBE;
        }
    }

    /**
     * Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none.
     *
     * @param request the request id of RESERVE
     */
    record Cancel(int request) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CANCEL;
        }
    }

    /**
     * Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among them.
     *
     * @param after a job id: list only later ones. 0 for the first page
     * @param jobsMax 1 to {@code reserve_jobs_max}
     */
    record Leases(long after, int jobsMax) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.LEASES;
        }
    }

    /**
     * Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back.
     *
     * @param ref the job
     */
    record ReserveJob(JobRef ref) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.RESERVE_JOB;
        }
    }

    /**
     * Says that jobs are done: they are removed.
     *
     * @param leases 1 to {@code leases_max} leases
     */
    record Finish(List<Lease> leases) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.FINISH;
        }
    }

    /**
     * Gives jobs back, to be attempted again.
     *
     * @param delayMs whether the attempt counts, and when the next one is: 0 to ten years, or one of the values that
     *     {@code RELEASE_} begins
     * @param leases 1 to {@code leases_max} leases
     * @param reason what each job shows as its last reason from now on, at most 1,024 bytes; empty for none
     */
    record Release(long delayMs, List<Lease> leases, String reason) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.RELEASE;
        }
    }

    /**
     * Starts the time to run anew.
     *
     * @param ttrMs the leases' new time to run, 100 to 604,800,000; 0 takes the jobs' own
     * @param leases 1 to {@code leases_max} leases
     */
    record Touch(int ttrMs, List<Lease> leases) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.TOUCH;
        }
    }

    /**
     * Sets jobs aside until somebody kicks them.
     *
     * @param leases 1 to {@code leases_max} leases
     * @param reason as in RELEASE
     */
    record Bury(List<Lease> leases, String reason) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.BURY;
        }
    }

    /**
     * Reads one job.
     *
     * @param ref the job
     */
    record Get(JobRef ref) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.GET;
        }
    }

    /**
     * Removes one job, whatever its state.
     *
     * @param ref the job
     */
    record Delete(JobRef ref) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.DELETE;
        }
    }

    /**
     * Gives one delayed or ready job a new due time; a buried one is kicked first.
     *
     * @param dueMs with due_kind: the due point
     * @param dueKind how due_ms counts
     * @param ref the job
     * @param ifVersion only if the job is still of this version; absent or 0: in any case
     */
    record Reschedule(long dueMs, int dueKind, JobRef ref, long ifVersion) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.RESCHEDULE;
        }
    }

    /**
     * Makes one delayed job ready at once.
     *
     * @param ref the job
     */
    record RunNow(JobRef ref) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.RUN_NOW;
        }
    }

    /**
     * Makes one buried job ready.
     *
     * @param ref the job
     */
    record Kick(JobRef ref) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.KICK;
        }
    }

    /**
     * Reads the next job of a topic without reserving it: the first ready one, else the first delayed.
     *
     * @param topic the topic to look at
     */
    record Peek(String topic) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.PEEK;
        }
    }

    /**
     * Makes buried jobs of a topic ready: by priority, then by when they were due, then by id.
     *
     * @param jobsMax most jobs to kick: 1 to {@code KICK_JOBS_MAX}
     * @param topic the topic of the buried jobs
     */
    record KickMany(int jobsMax, String topic) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.KICK_MANY;
        }
    }

    /**
     * Shows jobs, a page at a time.
     *
     * @param jobsMax most jobs on the page: 1 to {@code LIST_JOBS_MAX}
     * @param order in which order
     * @param marks what to show
     * @param cursor the cursor of the previous page; empty for the first page
     * @param filter the conditions that the jobs meet
     */
    record ListJobs(int jobsMax, int order, int marks, byte[] cursor, byte[] filter) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.LIST;
        }
    }

    /**
     * Counts the jobs that match, all together or by when they are due.
     *
     * @param filter the conditions that the jobs meet, as in LIST
     * @param bars counts the jobs by when they are due, too, in so many bars. Absent or 0: only all together
     * @param barsFromMs where the first bar begins, on the wall clock, in milliseconds
     * @param barMs the width of a bar in milliseconds, at least 1 if there are bars
     */
    record Count(byte[] filter, int bars, long barsFromMs, long barMs) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.COUNT;
        }
    }

    /**
     * Does the same to many jobs, a bounded number with each request.
     *
     * @param jobsMax most jobs to change in this step: 1 to {@code BULK_JOBS_MAX}
     * @param change what to do to each: the same effect as the request for one job
     * @param dueMs for 3: the new due time, on the wall clock. Else 0, which is not looked at
     * @param cursor the cursor of the previous step; empty for the first step
     * @param filter the conditions that the jobs meet, as in LIST
     * @param to with 4: the topic to which the jobs go. Else absent or empty
     */
    record Bulk(int jobsMax, int change, long dueMs, byte[] cursor, byte[] filter, String to) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.BULK;
        }
    }

    /**
     * Changes parts of one delayed, ready or buried job.
     *
     * @param dueMs with due_kind: the new due point
     * @param priority the new priority, as in PUSH
     * @param ttrMs the new time of a lease, as in PUSH
     * @param edited the parts that change; at least one. The fields of other parts must be valid, and are not used
     * @param dueKind how due_ms counts
     * @param ref the job
     * @param attributes the new attributes of the parts that change. One that is missing here is taken away: the topic's default
     *     then counts, if there is one
     * @param body the new body; at most {@code body_bytes_max} bytes
     * @param ifVersion only if the job is still of this version; absent or 0: in any case
     */
    record Edit(long dueMs, int priority, int ttrMs, int edited, int dueKind, JobRef ref, byte[] attributes, byte[] body,
            long ifVersion) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.EDIT;
        }
    }

    /**
     * Stops the reserving of a topic's jobs.
     *
     * @param topic the topic to pause
     * @param forMs the pause ends by itself after this time; more than ten years count as ten. Absent or 0: it lasts until RESUME
     */
    record Pause(String topic, long forMs) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.PAUSE;
        }
    }

    /**
     * Starts it again.
     *
     * @param topic the topic to resume
     */
    record Resume(String topic) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.RESUME;
        }
    }

    /** Counts by topic. */
    record Topics() implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.TOPICS;
        }
    }

    /** Counts of the whole queue, and by topic. */
    record Stats() implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.STATS;
        }
    }

    /**
     * Lists the clients that are connected to this node, by number.
     *
     * @param after only higher numbers; 0 for the first page
     * @param connectionsMax 1 to {@code CONNECTIONS_LISTED_MAX}
     */
    record Connections(long after, int connectionsMax) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CONNECTIONS;
        }
    }

    /**
     * Closes the connection of another client to this node.
     *
     * @param connection its number, as CONNECTION_LIST shows it
     * @param options what else to do
     */
    record Disconnect(long connection, int options) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.DISCONNECT;
        }
    }

    /**
     * Changes what a topic decides for its jobs. The topic is made if it is new.
     *
     * @param topic the topic whose policy changes
     * @param settings the settings to change, in rising order of their tags. An empty value takes a setting away
     */
    record TopicSet(String topic, byte[] settings) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.TOPIC_SET;
        }
    }

    /**
     * Forgets a topic that has no jobs, with its settings.
     *
     * @param topic the topic to forget
     */
    record TopicDelete(String topic) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.TOPIC_DELETE;
        }
    }

    /**
     * Reads what a topic decides for its jobs.
     *
     * @param topic the topic that is asked for
     */
    record TopicShow(String topic) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.TOPIC_SHOW;
        }
    }

    /**
     * Moves the clock of a server for tests. Answered when everything that is due by then is carried out.
     *
     * @param step how far the clock moves
     * @param byMs with 0: the duration; else 0, which is not looked at
     */
    record Advance(int step, long byMs) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.ADVANCE;
        }
    }

    /** Asks for a backup of the state as it is now, to be read over this connection. */
    record BackupBegin() implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.BACKUP_BEGIN;
        }
    }

    /**
     * Reads a part of that backup.
     *
     * @param offset where the part begins
     * @param bytes most bytes of it: 1 to {@code BACKUP_READ_BYTES_MAX}
     */
    record BackupRead(long offset, int bytes) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.BACKUP_READ;
        }
    }

    /** Lets go of it. The end of the connection does the same. */
    record BackupEnd() implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.BACKUP_END;
        }
    }

    /**
     * Says when a schedule with these rules would fire, without setting it.
     *
     * @param rules when it fires. Without an origin, {@code @every} counts from start_ms, or else from from_ms
     * @param fromMs only instants after this time; 0 for now
     * @param instantsMax 1 to {@code INSTANTS_SHOWN_MAX}
     */
    record SchedulePreview(ScheduleRules rules, long fromMs, int instantsMax) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_PREVIEW;
        }
    }

    /**
     * Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for anything else.
     */
    record ClusterStatus() implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CLUSTER_STATUS;
        }
    }

    /**
     * Adds the node that listens for its peers at an address; it votes when it has caught up.
     *
     * @param address where it listens for its peers, as {@code host:port}
     */
    record ClusterAdd(String address) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CLUSTER_ADD;
        }
    }

    /**
     * Removes a member. It cannot come back under its number.
     *
     * @param node the member's number
     */
    record ClusterRemove(long node) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CLUSTER_REMOVE;
        }
    }

    /**
     * Hands leadership to another member.
     *
     * @param node to which; 0 leaves it to the leader
     */
    record ClusterTransfer(long node) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CLUSTER_TRANSFER;
        }
    }

    /**
     * Changes the settings of one group. With weight 1 and not paused it has none.
     *
     * @param weight how many jobs it gives at a turn, 1 to {@code GROUP_WEIGHT_MAX}; 0: as before
     * @param pause whether it is paused or resumed
     * @param topic its topic
     * @param group its name
     */
    record GroupSet(int weight, int pause, String topic, String group) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.GROUP_SET;
        }
    }

    /**
     * Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name.
     *
     * @param groupsMax 1 to {@code GROUPS_LISTED_MAX}
     * @param topic their topic
     * @param after only those with names after this one; empty for the first page, and then what the page before says
     * @param prefix only those whose names begin like this
     */
    record GroupList(int groupsMax, String topic, String after, String prefix) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.GROUP_LIST;
        }
    }

    /**
     * Says why a job is not running.
     *
     * @param ref the job
     */
    record Why(JobRef ref) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.WHY;
        }
    }

    /**
     * Says why a topic, or one of its groups, gives no job.
     *
     * @param topic the topic
     * @param group the group; empty for the whole topic
     */
    record TopicWhy(String topic, String group) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.TOPIC_WHY;
        }
    }

    /**
     * Creates a schedule, or gives the one of this name another content. The topic is made if it is new.
     *
     * @param topic the topic of its jobs. The token needs the right to push there, too
     * @param name its name, unique in the topic
     * @param rules when it fires
     * @param template its jobs
     * @param ifVersion only if it was set so often; 4,294,967,295: only if there is none. Absent or 0: in any case
     */
    record ScheduleSet(String topic, String name, ScheduleRules rules, JobTemplate template, int ifVersion) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_SET;
        }
    }

    /**
     * Reads one schedule, and what it did of late.
     *
     * @param topic the topic of its jobs
     * @param name its name
     */
    record ScheduleShow(String topic, String name) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_SHOW;
        }
    }

    /**
     * Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the order in
     * which they were made.
     *
     * @param schedulesMax 1 to {@code SCHEDULES_LISTED_MAX}
     * @param nextBeforeMs only those with a next instant before this one; 0 for all
     * @param paused only those that are paused, or those that are not
     * @param topic the topic of their jobs; empty for all topics
     * @param prefix only those whose names begin like this
     * @param cursor the cursor of the previous page; empty for the first page
     */
    record ScheduleList(int schedulesMax, long nextBeforeMs, int paused, String topic, String prefix,
            byte[] cursor) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_LIST;
        }
    }

    /**
     * Forgets a schedule. Its jobs stay.
     *
     * @param topic the topic of its jobs
     * @param name its name
     */
    record ScheduleDelete(String topic, String name) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_DELETE;
        }
    }

    /**
     * Lets a schedule fire no more until it is resumed.
     *
     * @param topic the topic of its jobs
     * @param name its name
     * @param note why, for people, at most 1,024 bytes. To pause again replaces it; empty for none, or to keep it
     */
    record SchedulePause(String topic, String name, String note) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_PAUSE;
        }
    }

    /**
     * Lets a paused schedule fire again. missed says what happens to the instants that passed.
     *
     * @param topic the topic of its jobs
     * @param name its name
     */
    record ScheduleResume(String topic, String name) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_RESUME;
        }
    }

    /**
     * Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays.
     *
     * @param topic the topic of its jobs
     * @param name its name
     */
    record ScheduleRun(String topic, String name) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_RUN;
        }
    }

    /**
     * Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the topic has a job
     * with the key of the instant.
     *
     * @param fromMs the first time that counts; for the next part what the part before says
     * @param toMs the last time that counts. It must not be ahead
     * @param dryRun 1: it pushes nothing, and counts the instants
     * @param topic the topic of its jobs. The token needs the right to read there, too; for a dry run that right alone
     * @param name its name
     */
    record ScheduleFill(long fromMs, long toMs, int dryRun, String topic, String name) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SCHEDULE_FILL;
        }
    }

    /**
     * One job to push.
     *
     * @param dueMs with due_kind: the due point
     * @param priority lower numbers are reserved first; 4,294,967,295 means the topic's default, or 1,024
     * @param ttrMs how long a consumer may hold it, 100 to 604,800,000; 0 means the topic's default, or 60,000
     * @param dueKind how due_ms counts
     * @param ifExists what happens if a job with this key exists
     * @param key the user's own id; empty for none
     * @param attributes its attributes; empty for none
     * @param body what the consumer gets; at most {@code body_bytes_max} bytes
     */
    record NewJob(long dueMs, int priority, int ttrMs, int dueKind, int ifExists, String key, byte[] attributes, byte[] body) {
        /** How many bytes it adds to its frame. */
        public int frameBytes() {
            return 26 + FrameWriter.utf8(key).length + attributes.length + body.length;
        }
    }

    /**
     * When a schedule fires, and what it does then.
     *
     * @param originMs from when {@code @every} counts; 0: from when the schedule is set first
     * @param startMs it does not fire before this time; 0 for no such time
     * @param endMs it does not fire after this time; 0 for no such time
     * @param count it ends when it has pushed a job at so many instants; 0: it does not
     * @param windowMs with missed {@code last} or {@code all}: only instants that were missed no longer ago than this, in
     *     milliseconds; 0 for any
     * @param missedMax with missed {@code all}: at most so many instants, the last ones; 0 means 100
     * @param jitterMs a job is due up to this long after its instant, in milliseconds: how long follows from the name and the
     *     instant
     * @param failuresMax it is paused after so many failures one after another; 0: it is not
     * @param dst what happens when the clocks of its zone are changed
     * @param missed which of the instants that passed unnoticed are fired late
     * @param overlap what it does while an earlier job of it has not ended
     * @param when a recurrence: a cron expression, {@code @daily} and the like, {@code @every 90s}, or {@code @at} with times
     * @param zone the IANA name of the time zone of a cron expression; empty means UTC
     * @param key the key of its jobs; empty: the name, {@code @}, and the instant in milliseconds
     * @param note for people
     */
    record ScheduleRules(long originMs, long startMs, long endMs, long count, long windowMs, int missedMax, int jitterMs,
            int failuresMax, int dst, int missed, int overlap, String when, String zone, String key, String note) {
    }

    /**
     * What the jobs of a schedule have in common.
     *
     * @param priority as in PUSH
     * @param ttrMs as in PUSH
     * @param attributes as in PUSH. An expiry after a duration counts from when each job is pushed
     * @param body what the consumer gets; at most {@code body_bytes_max} bytes
     */
    record JobTemplate(int priority, int ttrMs, byte[] attributes, byte[] body) {
    }
}
