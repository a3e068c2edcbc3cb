package io.adjourn.client.internal.wire;

import io.adjourn.client.JobRef;
import io.adjourn.client.Lease;
import java.util.Arrays;
import java.util.List;

/** Every request of the protocol, with its fields as they are on the wire. Numbers are unsigned. */
public sealed interface Request {
    /** What RELEASE says for: not started, count no attempt. */
    long NOT_STARTED = 0xffff_ffff_ffff_fffeL;
    /** What RELEASE says for: wait as the job's backoff says. */
    long BACKOFF = -1L;

    Opcode opcode();

    void encode(FrameWriter out);

    /** Whether carrying it out twice does no more than carrying it out once. A push needs its sequence or a key for that. */
    default boolean repeatable() {
        return switch (opcode()) {
            case PING, GOODBYE, RESERVE, SUBSCRIBE, LEASES, FINISH, RELEASE, TOUCH, BURY, GET, PEEK, LIST, COUNT, PAUSE, RESUME,
                    TOPICS, STATS, CONNECTIONS, TOPIC_SET, TOPIC_SHOW, CLUSTER_STATUS -> true;
            case PUSH -> ((Push) this).isKnown();
            case DELETE -> ((Delete) this).job() instanceof JobRef.Id;
            default -> false;
        };
    }

    /** Whether it changes the queue, so that a lost answer leaves a doubt. */
    default boolean changes() {
        return switch (opcode()) {
            case PUSH, FINISH, RELEASE, TOUCH, BURY, DELETE, RESCHEDULE, RUN_NOW, KICK, KICK_MANY, BULK, PAUSE, RESUME, DISCONNECT,
                    TOPIC_SET, TOPIC_DELETE, CLUSTER_ADD, CLUSTER_REMOVE, CLUSTER_TRANSFER -> true;
            default -> false;
        };
    }

    /** Appends the whole frame. */
    default void encodeFrame(int requestId, FrameWriter out) {
        int start = out.size();
        out.u32(0).u8(opcode().number()).u8(0).u8(0).u8(0).u32(requestId);
        encode(out);
        out.setU32(start, out.size() - start - 4);
    }

    /** HELLO. */
    record Hello(int versionMin, int versionMax, int options, int heartbeatMs, long session, byte[] secret, String clientName,
            byte[] token) implements Request {
        /** Options: leases run to their deadline whatever happens to the session. */
        public static final int LEASES_OUTLIVE = 1;
        /** Options: no session is opened. */
        public static final int NO_SESSION = 2;

        @Override
        public Opcode opcode() {
            return Opcode.HELLO;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u8('A').u8('D').u8('J').u8('1').u16(versionMin).u16(versionMax).u32(options).u32(heartbeatMs).u64(session)
                    .raw(secret).text8(clientName).bytes16(token);
        }
    }

    /** A request without fields. */
    record Plain(Opcode opcode) implements Request {
        @Override
        public void encode(FrameWriter out) {
        }
    }

    /** One job of a PUSH. */
    record PushJob(long dueMs, int priority, int ttrMs, int dueKind, int ifExists, String key, byte[] attributes, byte[] body) {
        static final int FIXED = 26;

        /** How much the job adds to its frame. */
        public int frameBytes() {
            return FIXED + FrameWriter.utf8(key).length + attributes.length + body.length;
        }
    }

    /** PUSH. */
    record Push(long sequence, String topic, List<PushJob> jobs, byte[] idempotency) implements Request {
        private static final byte[] NO_KEY = new byte[16];

        /** A push whose repeat is known by its sequence, if by anything. */
        public Push(long sequence, String topic, List<PushJob> jobs) {
            this(sequence, topic, jobs, NO_KEY);
        }

        /** What the length of a PUSH without a job is, with a key. */
        public static int frameBytes(String topic) {
            return 8 + 8 + 1 + FrameWriter.utf8(topic).length + 6 + NO_KEY.length;
        }

        public Push withSequence(long number) {
            return new Push(number, topic, jobs, idempotency);
        }

        public Push withKey(byte[] key) {
            return new Push(0, topic, jobs, key);
        }

        public boolean hasKey() {
            return !Arrays.equals(idempotency, NO_KEY);
        }

        /** The queue knows a repeat of it. */
        public boolean isKnown() {
            return sequence != 0 || hasKey();
        }

        @Override
        public Opcode opcode() {
            return Opcode.PUSH;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u64(sequence).text8(topic).list(PushJob.FIXED, jobs.size());
            for (PushJob job : jobs) {
                byte[] key = FrameWriter.utf8(job.key);
                out.u64(job.dueMs).u32(job.priority).u32(job.ttrMs).u8(job.dueKind).u8(job.ifExists)
                        .u16(FrameWriter.length(key.length, 0xffff))
                        .u16(FrameWriter.length(job.attributes.length, 0xffff)).u32(job.body.length)
                        .raw(key).raw(job.attributes).raw(job.body);
            }
            if (hasKey()) {
                out.raw(idempotency);
            }
        }
    }

    /** RESERVE. */
    record Reserve(long waitMs, int jobsMax, List<String> topics, List<Integer> weights) implements Request {
        public Reserve withWait(long newWaitMs) {
            return new Reserve(newWaitMs, jobsMax, topics, weights);
        }

        @Override
        public Opcode opcode() {
            return Opcode.RESERVE;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u64(waitMs).u32(jobsMax);
            putTopics(out, topics, weights);
        }
    }

    /** SUBSCRIBE. */
    record Subscribe(int creditJobs, long creditBytes, List<String> topics, List<Integer> weights) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.SUBSCRIBE;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u32(creditJobs).u64(creditBytes);
            putTopics(out, topics, weights);
        }
    }

    /** CREDIT. */
    record Credit(int subscription, int creditJobs, long creditBytes) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CREDIT;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u32(subscription).u32(creditJobs).u64(creditBytes);
        }
    }

    /** UNSUBSCRIBE. */
    record Unsubscribe(int subscription) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.UNSUBSCRIBE;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u32(subscription);
        }
    }

    /** CANCEL. */
    record Cancel(int request) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CANCEL;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u32(request);
        }
    }

    /** LEASES. */
    record Leases(long after, int jobsMax) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.LEASES;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u64(after).u32(jobsMax);
        }
    }

    /** FINISH. */
    record Finish(List<Lease> leases) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.FINISH;
        }

        @Override
        public void encode(FrameWriter out) {
            putLeases(out, leases);
        }
    }

    /** RELEASE. */
    record Release(long delayMs, List<Lease> leases, String reason) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.RELEASE;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u64(delayMs);
            putLeases(out, leases);
            putReason(out, reason);
        }
    }

    /** TOUCH. */
    record Touch(int ttrMs, List<Lease> leases) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.TOUCH;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u32(ttrMs);
            putLeases(out, leases);
        }
    }

    /** BURY. */
    record Bury(List<Lease> leases, String reason) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.BURY;
        }

        @Override
        public void encode(FrameWriter out) {
            putLeases(out, leases);
            putReason(out, reason);
        }
    }

    /** GET, RUN_NOW and KICK: a reference to one job and nothing else. */
    record OneJob(Opcode opcode, JobRef job) implements Request {
        @Override
        public void encode(FrameWriter out) {
            putReference(out, job);
        }
    }

    /** DELETE. */
    record Delete(JobRef job) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.DELETE;
        }

        @Override
        public void encode(FrameWriter out) {
            putReference(out, job);
        }
    }

    /** RESCHEDULE. */
    record Reschedule(long dueMs, int dueKind, JobRef job, long ifVersion) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.RESCHEDULE;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u64(dueMs).u8(dueKind);
            putReference(out, job);
            if (ifVersion != 0) {
                out.u64(ifVersion);
            }
        }
    }

    /** PEEK, PAUSE, RESUME, TOPIC_DELETE and TOPIC_SHOW: a topic and nothing else. */
    record OneTopic(Opcode opcode, String topic) implements Request {
        @Override
        public void encode(FrameWriter out) {
            out.text8(topic);
        }
    }

    /** KICK_MANY. */
    record KickMany(int jobsMax, String topic) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.KICK_MANY;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u32(jobsMax).text8(topic);
        }
    }

    /** LIST. */
    record ListJobs(int jobsMax, int order, int marks, byte[] cursor, byte[] filter) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.LIST;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u32(jobsMax).u8(order).u8(marks).bytes16(cursor).bytes16(filter);
        }
    }

    /** COUNT. */
    record Count(byte[] filter) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.COUNT;
        }

        @Override
        public void encode(FrameWriter out) {
            out.bytes16(filter);
        }
    }

    /** BULK. {@code to} counts with the change 4, MOVE, alone. */
    record Bulk(int jobsMax, int change, long dueMs, byte[] cursor, byte[] filter, String to) implements Request {
        public static final int DELETE = 0;
        public static final int KICK = 1;
        public static final int RUN_NOW = 2;
        public static final int RESCHEDULE = 3;
        public static final int MOVE = 4;

        @Override
        public Opcode opcode() {
            return Opcode.BULK;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u32(jobsMax).u8(change).u64(dueMs).bytes16(cursor).bytes16(filter);
            if (change == MOVE) {
                out.text8(to);
            }
        }
    }

    /** CONNECTIONS. */
    record Connections(long after, int connectionsMax) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CONNECTIONS;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u64(after).u32(connectionsMax);
        }
    }

    /** DISCONNECT. */
    record Disconnect(long connection, int options) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.DISCONNECT;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u64(connection).u8(options);
        }
    }

    /** TOPIC_SET. */
    record TopicSet(String topic, byte[] settings) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.TOPIC_SET;
        }

        @Override
        public void encode(FrameWriter out) {
            out.text8(topic).bytes16(settings);
        }
    }

    /** BACKUP_READ. */
    record BackupRead(long offset, int bytes) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.BACKUP_READ;
        }

        @Override
        public void encode(FrameWriter out) {
            out.u64(offset).u32(bytes);
        }
    }

    /** CLUSTER_ADD. */
    record ClusterAdd(String address) implements Request {
        @Override
        public Opcode opcode() {
            return Opcode.CLUSTER_ADD;
        }

        @Override
        public void encode(FrameWriter out) {
            out.text8(address);
        }
    }

    /** CLUSTER_REMOVE and CLUSTER_TRANSFER. */
    record OneNode(Opcode opcode, long node) implements Request {
        @Override
        public void encode(FrameWriter out) {
            out.u64(node);
        }
    }

    private static void putTopics(FrameWriter out, List<String> topics, List<Integer> weights) {
        out.list(1, topics.size());
        topics.forEach(out::text8);
        if (!weights.isEmpty()) {
            out.list(2, weights.size());
            weights.forEach(out::u16);
        }
    }

    private static void putLeases(FrameWriter out, List<Lease> leases) {
        out.list(16, leases.size());
        for (Lease lease : leases) {
            out.u64(lease.job()).u64(lease.fence());
        }
    }

    private static void putReason(FrameWriter out, String reason) {
        if (!reason.isEmpty()) {
            out.text16(reason);
        }
    }

    private static void putReference(FrameWriter out, JobRef job) {
        if (job instanceof JobRef.Id id) {
            out.u8(0).u64(id.job());
        } else if (job instanceof JobRef.Key key) {
            out.u8(1).text8(key.topic()).text16(key.key());
        }
    }
}
