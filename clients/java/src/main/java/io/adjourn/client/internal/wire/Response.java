package io.adjourn.client.internal.wire;

import java.util.List;

/** Every response of the protocol, with its fields as they are on the wire. Numbers are unsigned. */
public sealed interface Response {
    /** The largest length of a frame from the server. */
    int FRAME_BYTES_MAX = 33_554_432;
    /** The smallest length of a frame. */
    int FRAME_BYTES_MIN = 8;

    /** Decodes a payload; {@link Unknown} for an opcode that this client does not know. */
    static Response decode(int opcode, byte[] payload) throws MalformedFrameException {
        FrameReader in = new FrameReader(payload);
        Opcode known = Opcode.of(opcode);
        if (known == null) {
            return new Unknown(opcode);
        }
        return switch (known) {
            case WELCOME -> Welcome.read(in);
            case PONG -> new Pong(in.u64(), in.u64OrZero());
            case DONE -> new Done();
            case GOING_AWAY -> new GoingAway(in.text16(), in.remaining() == 0 ? 0 : in.u8());
            case PUSHED -> new Pushed(in.list(11, PushedItem::read));
            case RESERVED -> new Reserved(Delivered.list(in));
            case SUBSCRIBED -> new Subscribed();
            case DELIVER -> new Deliver(Delivered.list(in));
            case LEASED -> new Leased(in.u8() & 1, Delivered.list(in));
            case SETTLED -> new Settled(in.list(2, (f, p) -> f.u16()));
            case JOB -> new Job(JobFields.single(in));
            case CHANGED -> new Changed(in.u64(), in.u64(), in.u8(), in.u64OrZero());
            case KICKED -> new Kicked(in.u32());
            case JOBS -> new Jobs(in.bytes16(), in.list(81, JobFields::listed));
            case COUNTED -> new Counted(in.u64());
            case BULKED -> new Bulked(in.u32(), in.bytes16(), in.u32OrZero());
            case TOPIC_COUNTS -> new TopicCounts(TopicTotals.list(in));
            case QUEUE_STATS -> new QueueStats(in.u64(), in.u64(), in.u32(), in.u32(), in.u32(), in.u64(), in.u64(), in.raw(16),
                    Totals.read(in), TopicTotals.list(in), Stage.listOrNone(in));
            case CONNECTION_LIST -> new ConnectionList(in.u8() & 1, in.list(64, Connection::read));
            case TOPIC_SETTINGS -> new TopicSettings(in.u64(), in.u64(), in.u8() & 1, in.bytes16());
            case BACKUP_READY -> new BackupReady(in.u64(), in.u64(), in.raw(16), in.u64());
            case BACKUP_DATA -> new BackupData(in.bytes32());
            case CLUSTER_REPORT -> new ClusterReport(in.u64(), in.raw(16), in.u64(), in.u64(), in.u64(), in.u64(), in.u32(),
                    in.list(44, ClusterMember::read));
            case ERROR -> new Error(in.u16(), in.u8() & 1, Math.min(in.u8(), 1), in.u32(), in.text8(), in.text16());
            default -> new Unknown(opcode);
        };
    }

    /** A response with an opcode of a newer server. */
    record Unknown(int opcode) implements Response {
    }

    /** One member as WELCOME lists it. */
    record Member(long node, int marks, String address) {
    }

    /** WELCOME. */
    record Welcome(int version, int marks, byte[] clusterId, long session, byte[] secret, int heartbeatMs, int sessionGraceMs,
            int frameBytesMax, int bodyBytesMax, int pushJobsMax, int leasesMax, int reserveJobsMax, int inFlightMax,
            String serverName, List<Member> members, long clockMs) implements Response {
        static Welcome read(FrameReader in) throws MalformedFrameException {
            return new Welcome(in.u16(), in.u8() & 3, in.raw(16), in.u64(), in.raw(16), in.u32(), in.u32(), in.u32(), in.u32(),
                    in.u32(), in.u32(), in.u32(), in.u32(), in.text8(), in.list(10, (f, p) -> {
                        long node = f.u64();
                        int marks = f.u8() & 1;
                        return new Member(node, marks, p.text(f.u8()));
                    }), in.u64OrZero());
        }

        public boolean resumed() {
            return (marks & 1) != 0;
        }

        public boolean leasesKept() {
            return (marks & 2) != 0;
        }
    }

    /** PONG. */
    record Pong(long now, long clockMs) implements Response {
    }

    /** DONE. */
    record Done() implements Response {
    }

    /** GOING_AWAY. */
    record GoingAway(String message, int reason) implements Response {
    }

    /** What became of one pushed job. */
    record PushedItem(int outcome, int code, long job) {
        private static final int REFUSED = 3;
        private static final int OUTCOME_MAX = 4;
        private static final int CODE_OUTCOME_UNKNOWN = 40;

        static PushedItem read(FrameReader f, FrameReader pieces) throws MalformedFrameException {
            int outcome = f.u8();
            int code = f.u16();
            long job = f.u64();
            // An outcome of a newer server leaves this job, and no other, in doubt.
            return outcome > OUTCOME_MAX ? new PushedItem(REFUSED, CODE_OUTCOME_UNKNOWN, job) : new PushedItem(outcome, code, job);
        }
    }

    /** PUSHED. */
    record Pushed(List<PushedItem> results) implements Response {
    }

    /** A job under a lease. */
    record Delivered(long job, long fence, long dueMs, int priority, int attempts, int ttrLeftMs, String topic, String key,
            byte[] attributes, byte[] body, long deadlineMs) {
        static List<Delivered> list(FrameReader in) throws MalformedFrameException {
            return in.list(45, Delivered::read);
        }

        private static Delivered read(FrameReader f, FrameReader pieces) throws MalformedFrameException {
            long job = f.u64();
            long fence = f.u64();
            long dueMs = f.u64();
            int priority = f.u32();
            int attempts = f.u32();
            int ttrLeftMs = f.u32();
            int topicBytes = f.u8();
            int keyBytes = f.u16();
            int attributesBytes = f.u16();
            int bodyBytes = f.u32();
            long deadlineMs = f.remaining() >= 8 ? f.u64() : 0;
            return new Delivered(job, fence, dueMs, priority, attempts, ttrLeftMs, pieces.text(topicBytes), pieces.text(keyBytes),
                    pieces.raw(attributesBytes), pieces.raw(bodyBytes), deadlineMs);
        }
    }

    /** RESERVED. */
    record Reserved(List<Delivered> jobs) implements Response {
    }

    /** SUBSCRIBED. */
    record Subscribed() implements Response {
    }

    /** DELIVER. */
    record Deliver(List<Delivered> jobs) implements Response {
    }

    /** LEASED. */
    record Leased(int marks, List<Delivered> jobs) implements Response {
    }

    /** SETTLED: 0 or an error code for each lease. */
    record Settled(List<Integer> results) implements Response {
    }

    /** A job as JOB and JOBS show it. */
    record JobFields(long job, long dueMs, int state, int buried, int priority, int attempts, int ttrMs, int ttrLeftMs, String topic,
            String key, byte[] attributes, byte[] body, int bodyBytes, long pushedMs, long reservedFirstMs, long reservedLastMs,
            long heldBy, String reason, long finishedMs, long version) {
        static JobFields single(FrameReader in) throws MalformedFrameException {
            Head head = Head.read(in);
            String topic = in.text(head.topicBytes);
            String key = in.text(head.keyBytes);
            byte[] attributes = in.raw(head.attributesBytes);
            byte[] body = in.raw(head.bodyBytes);
            return new JobFields(head.job, head.dueMs, head.state, head.buried, head.priority, head.attempts, head.ttrMs,
                    head.ttrLeftMs, topic, key, attributes, body, body.length, in.u64OrZero(), in.u64OrZero(), in.u64OrZero(),
                    in.u64OrZero(), in.text16OrEmpty(), in.u64OrZero(), in.u64OrZero());
        }

        static JobFields listed(FrameReader f, FrameReader pieces) throws MalformedFrameException {
            Head head = Head.read(f);
            int bodyBytes = f.u32();
            long pushedMs = f.u64();
            long reservedFirstMs = f.u64();
            long reservedLastMs = f.u64();
            long heldBy = f.u64();
            int reasonBytes = f.u16();
            return new JobFields(head.job, head.dueMs, head.state, head.buried, head.priority, head.attempts, head.ttrMs,
                    head.ttrLeftMs, pieces.text(head.topicBytes), pieces.text(head.keyBytes), pieces.raw(head.attributesBytes),
                    pieces.raw(head.bodyBytes), bodyBytes, pushedMs, reservedFirstMs, reservedLastMs, heldBy,
                    pieces.text(reasonBytes), 0, 0);
        }

        private record Head(long job, long dueMs, int state, int buried, int priority, int attempts, int ttrMs, int ttrLeftMs,
                int topicBytes, int keyBytes, int attributesBytes, int bodyBytes) {
            static Head read(FrameReader in) throws MalformedFrameException {
                return new Head(in.u64(), in.u64(), in.u8(), in.u8(), in.u32(), in.u32(), in.u32(), in.u32(), in.u8(), in.u16(),
                        in.u16(), in.u32());
            }
        }
    }

    /** JOB. */
    record Job(JobFields job) implements Response {
    }

    /** CHANGED. */
    record Changed(long job, long dueMs, int state, long version) implements Response {
    }

    /** KICKED. */
    record Kicked(int jobs) implements Response {
    }

    /** JOBS. */
    record Jobs(byte[] cursor, List<JobFields> jobs) implements Response {
    }

    /** COUNTED. */
    record Counted(long jobs) implements Response {
    }

    /** BULKED. */
    record Bulked(int jobs, byte[] cursor, int inTheWay) implements Response {
    }

    /** The nine totals. */
    record Totals(long delayed, long ready, long reserved, long buried, long pushed, long finished, long deleted, long expired,
            long oldestReadyMs) {
        static Totals read(FrameReader in) throws MalformedFrameException {
            return new Totals(in.u64(), in.u64(), in.u64(), in.u64(), in.u64(), in.u64(), in.u64(), in.u64(), in.u64());
        }
    }

    /** The totals of one topic. */
    record TopicTotals(int marks, String topic, Totals totals) {
        static List<TopicTotals> list(FrameReader in) throws MalformedFrameException {
            return in.list(74, (f, p) -> {
                int marks = f.u8() & 1;
                int topicBytes = f.u8();
                Totals totals = Totals.read(f);
                return new TopicTotals(marks, p.text(topicBytes), totals);
            });
        }
    }

    /** TOPIC_COUNTS. */
    record TopicCounts(List<TopicTotals> topics) implements Response {
    }

    /** QUEUE_STATS. */
    record QueueStats(long now, long uptimeMs, int connections, int sessions, int waiting, long appliedIndex, long term,
            byte[] stateHash, Totals totals, List<TopicTotals> topics, List<Stage> stages) implements Response {
    }

    /** One stage of QUEUE_STATS. */
    record Stage(String stage, long count, long p50Us, long p99Us, long p999Us, long maxUs) {
        /** Older servers leave the list out. */
        static List<Stage> listOrNone(FrameReader in) throws MalformedFrameException {
            return in.remaining() == 0 ? List.of() : in.list(41, (f, p) -> {
                int stageBytes = f.u8();
                long count = f.u64();
                long p50Us = f.u64();
                long p99Us = f.u64();
                long p999Us = f.u64();
                long maxUs = f.u64();
                return new Stage(p.text(stageBytes), count, p50Us, p99Us, p999Us, maxUs);
            });
        }
    }

    /** One connection of CONNECTION_LIST. */
    record Connection(long connection, long session, long sinceMs, int leases, int subscriptions, int reserves, long creditJobs,
            long creditBytes, long unsentBytes, int marks, String address, String clientName, List<String> topics) {
        static Connection read(FrameReader f, FrameReader pieces) throws MalformedFrameException {
            long connection = f.u64();
            long session = f.u64();
            long sinceMs = f.u64();
            int leases = f.u32();
            int subscriptions = f.u32();
            int reserves = f.u32();
            long creditJobs = f.u64();
            long creditBytes = f.u64();
            long unsentBytes = f.u64();
            int marks = f.u8() & 1;
            int addressBytes = f.u8();
            int nameBytes = f.u8();
            int topicCount = f.u8();
            String address = pieces.text(addressBytes);
            String name = pieces.text(nameBytes);
            String[] topics = new String[topicCount];
            for (int i = 0; i < topicCount; i++) {
                topics[i] = pieces.text8();
            }
            return new Connection(connection, session, sinceMs, leases, subscriptions, reserves, creditJobs, creditBytes,
                    unsentBytes, marks, address, name, List.of(topics));
        }
    }

    /** CONNECTION_LIST. */
    record ConnectionList(int marks, List<Connection> connections) implements Response {
    }

    /** TOPIC_SETTINGS. */
    record TopicSettings(long jobs, long bytes, int marks, byte[] settings) implements Response {
    }

    /** BACKUP_READY. */
    record BackupReady(long index, long jobs, byte[] stateHash, long bytes) implements Response {
    }

    /** BACKUP_DATA. */
    record BackupData(byte[] data) implements Response {
    }

    /** One member of CLUSTER_REPORT. {@code aheadMs} is signed. */
    record ClusterMember(long node, int role, int marks, long matched, long applied, long aheadMs, long audited, String peerAddress,
            String clientAddress) {
        static ClusterMember read(FrameReader f, FrameReader pieces) throws MalformedFrameException {
            long node = f.u64();
            int role = f.u8();
            int marks = f.u8() & 0x3f;
            long matched = f.u64();
            long applied = f.u64();
            long aheadMs = f.u64();
            long audited = f.u64();
            int peerBytes = f.u8();
            int clientBytes = f.u8();
            return new ClusterMember(node, role, marks, matched, applied, aheadMs, audited, pieces.text(peerBytes),
                    pieces.text(clientBytes));
        }
    }

    /** CLUSTER_REPORT. */
    record ClusterReport(long node, byte[] clusterId, long leader, long term, long last, long commit, int featureLevel,
            List<ClusterMember> members) implements Response {
    }

    /** ERROR. */
    record Error(int code, int marks, int applied, int retryAfterMs, String leader, String message) implements Response {
        public boolean retryable() {
            return (marks & 1) != 0;
        }

        public boolean mayBeApplied() {
            return applied != 0;
        }
    }
}
