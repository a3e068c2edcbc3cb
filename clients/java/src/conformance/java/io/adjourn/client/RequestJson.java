package io.adjourn.client;

import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Opcode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads requests into the neutral JSON form, as strictly as a server does. The client only writes requests: this is for the
 * conformance suite.
 */
final class RequestJson {
    private static final long DELAY_MS_MAX = 315_360_000_000L;
    private static final long TTR_MS_MIN = 100;
    private static final int TOPICS_MAX = 64;

    private final FrameReader in;
    private final Map<String, Object> fields = new LinkedHashMap<>();

    private RequestJson(FrameReader in) {
        this.in = in;
    }

    /** The frame with its length. */
    static Map<String, Object> decode(byte[] frame) throws MalformedFrameException {
        FrameReader in = new FrameReader(frame);
        int length = in.u32();
        require(length == in.remaining() && length >= 8, "the length is wrong");
        int number = in.u8();
        in.u8();
        require(in.u8() == 0, "no such group");
        in.u8();
        long id = Integer.toUnsignedLong(in.u32());
        require(id != 0, "the request id is 0");
        Opcode opcode = Opcode.of(number);
        require(opcode != null && number < 0x80, "no such request");
        RequestJson request = new RequestJson(in);
        request.read(opcode);
        return Map.of("request_id", id, "opcode", opcode.name(), "fields", request.fields);
    }

    private void read(Opcode opcode) throws MalformedFrameException {
        switch (opcode) {
            case HELLO -> hello();
            case PUSH -> push();
            case RESERVE -> {
                u64("wait_ms");
                jobsMax();
                topics();
            }
            case SUBSCRIBE -> {
                u32("credit_jobs");
                u64("credit_bytes");
                topics();
            }
            case CREDIT -> {
                u32("subscription");
                u32("credit_jobs");
                u64("credit_bytes");
            }
            case UNSUBSCRIBE -> u32("subscription");
            case CANCEL -> u32("request");
            case LEASES -> {
                u64("after");
                jobsMax();
            }
            case FINISH -> leases();
            case RELEASE -> {
                long delay = u64("delay_ms");
                require(delay == -1 || delay == -2 || Long.compareUnsigned(delay, DELAY_MS_MAX) <= 0, "a delay is out of range");
                leases();
                put("reason", in.text16OrEmpty());
            }
            case TOUCH -> {
                long ttr = u32("ttr_ms");
                require(ttr == 0 || ttr >= TTR_MS_MIN, "a time to run is out of range");
                leases();
            }
            case BURY -> {
                leases();
                put("reason", in.text16OrEmpty());
            }
            case GET, DELETE, RUN_NOW, KICK -> reference();
            case RESCHEDULE -> {
                due(in, fields);
                reference();
                put("if_version", Long.toUnsignedString(in.u64OrZero()));
            }
            case PEEK, PAUSE, RESUME, TOPIC_DELETE, TOPIC_SHOW -> topic();
            case KICK_MANY -> {
                jobsMax();
                topic();
            }
            case LIST -> {
                jobsMax();
                put("order", below(3, in.u8(), "order"));
                put("marks", in.u8() & 1);
                put("cursor", FrameJson.base64(in.bytes16()));
                filter();
            }
            case COUNT -> filter();
            case BULK -> bulk();
            case CONNECTIONS -> {
                u64("after");
                u32("connections_max");
            }
            case DISCONNECT -> {
                u64("connection");
                put("options", in.u8() & 1);
            }
            case TOPIC_SET -> {
                topic();
                put("settings", FrameJson.settings(TopicPolicy.decode(in.bytes16())));
            }
            case BACKUP_READ -> {
                u64("offset");
                u32("bytes");
            }
            case CLUSTER_ADD -> put("address", in.text8());
            case CLUSTER_REMOVE, CLUSTER_TRANSFER -> u64("node");
            default -> {
                // PING and others without fields.
            }
        }
    }

    private void hello() throws MalformedFrameException {
        require(in.u32() == 0x314a_4441, "the magic is missing");
        put("version_min", in.u16());
        put("version_max", in.u16());
        put("options", in.u32() & 1);
        u32("heartbeat_ms");
        u64("session");
        put("secret", FrameJson.base64(in.raw(16)));
        put("client_name", in.text8());
        put("token", FrameJson.base64(in.bytes16()));
    }

    private void push() throws MalformedFrameException {
        u64("sequence");
        topic();
        List<Map<String, Object>> jobs = in.list(26, (fixed, pieces) -> {
            Map<String, Object> job = new LinkedHashMap<>();
            long dueMs = fixed.u64();
            job.put("priority", Integer.toUnsignedLong(fixed.u32()));
            job.put("ttr_ms", Integer.toUnsignedLong(fixed.u32()));
            putDue(job, dueMs, fixed.u8());
            job.put("if_exists", below(5, fixed.u8(), "if_exists"));
            int key = fixed.u16();
            int attributes = fixed.u16();
            int body = fixed.u32();
            job.put("key", pieces.text(key));
            job.put("attributes", FrameJson.attributes(Attributes.decode(pieces.raw(attributes))));
            job.put("body", FrameJson.base64(pieces.raw(body)));
            return job;
        });
        require(!jobs.isEmpty(), "a push without a job");
        put("jobs", jobs);
        put("idempotency", FrameJson.u128(in.rawOrZeros(16)));
    }

    private void bulk() throws MalformedFrameException {
        jobsMax();
        int change = below(5, in.u8(), "change");
        put("change", change);
        u64("due_ms");
        put("cursor", FrameJson.base64(in.bytes16()));
        filter();
        put("to", change == 4 ? in.text8() : "");
    }

    private void topics() throws MalformedFrameException {
        List<String> topics = in.list(1, (fixed, pieces) -> Names.topic(pieces.text(fixed.u8())));
        require(!topics.isEmpty() && topics.size() <= TOPICS_MAX, "the number of topics is out of range");
        put("topics", topics);
        put("weights", in.remaining() == 0 ? List.of() : in.list(2, (fixed, pieces) -> fixed.u16()));
    }

    private void leases() throws MalformedFrameException {
        put("leases", in.list(16, (fixed, pieces) -> Map.of("job", Long.toUnsignedString(fixed.u64()), "fence",
                Long.toUnsignedString(fixed.u64()))));
    }

    private void reference() throws MalformedFrameException {
        int kind = below(2, in.u8(), "job_kind");
        put("job_kind", kind);
        if (kind == 0) {
            u64("job");
        } else {
            topic();
            put("key", in.text16());
        }
    }

    private static void due(FrameReader in, Map<String, Object> into) throws MalformedFrameException {
        long ms = in.u64();
        putDue(into, ms, in.u8());
    }

    private static void putDue(Map<String, Object> into, long ms, int kind) throws MalformedFrameException {
        below(2, kind, "due_kind");
        require(kind == 1 || Long.compareUnsigned(ms, DELAY_MS_MAX) <= 0, "a delay is out of range");
        into.put("due_ms", Long.toUnsignedString(ms));
        into.put("due_kind", kind);
    }

    private void filter() throws MalformedFrameException {
        Map<String, Object> filter = new LinkedHashMap<>();
        FrameReader conditions = new FrameReader(in.bytes16());
        int before = 0;
        while (conditions.remaining() > 0) {
            int tag = conditions.u16();
            require(tag > before, "conditions out of order");
            before = tag;
            byte[] bytes = conditions.bytes16();
            FrameReader value = new FrameReader(bytes);
            switch (tag) {
                case 1 -> filter.put("topic", Names.topic(value.text(bytes.length)));
                case 2 -> filter.put("states", value.u8());
                case 3 -> filter.put("due_from_ms", Long.toUnsignedString(value.u64()));
                case 4 -> filter.put("due_before_ms", Long.toUnsignedString(value.u64()));
                case 5 -> filter.put("key_prefix", FrameJson.base64(bytes));
                case 6 -> filter.put("attempts_min", Integer.toUnsignedLong(value.u32()));
                case 7 -> filter.put("attempts_max", Integer.toUnsignedLong(value.u32()));
                case 8 -> filter.put("buried", value.u8());
                case 9 -> filter.put("reason", value.text(bytes.length));
                default -> throw new MalformedFrameException("no such condition: " + tag);
            }
        }
        put("filter", filter);
    }

    // ---- fields

    private void put(String name, Object value) {
        fields.put(name, value);
    }

    private long u32(String name) throws MalformedFrameException {
        long value = Integer.toUnsignedLong(in.u32());
        put(name, value);
        return value;
    }

    private long u64(String name) throws MalformedFrameException {
        long value = in.u64();
        put(name, Long.toUnsignedString(value));
        return value;
    }

    private void jobsMax() throws MalformedFrameException {
        require(u32("jobs_max") > 0, "jobs_max is 0");
    }

    private void topic() throws MalformedFrameException {
        put("topic", Names.topic(in.text8()));
    }

    private static int below(int limit, int value, String name) throws MalformedFrameException {
        require(value < limit, name + " is out of range");
        return value;
    }

    private static void require(boolean holds, String otherwise) throws MalformedFrameException {
        if (!holds) {
            throw new MalformedFrameException(otherwise);
        }
    }
}
