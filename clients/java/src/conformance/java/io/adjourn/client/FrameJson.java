package io.adjourn.client;

import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.lang.reflect.RecordComponent;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Frames in the neutral JSON form of the conformance suite. */
final class FrameJson {
    private FrameJson() {
    }

    // ---- responses, by the names of their fields

    static Map<String, Object> decodeResponse(byte[] frame) throws MalformedFrameException {
        FrameReader in = new FrameReader(frame);
        int length = in.u32();
        if (length != in.remaining() || length < Response.FRAME_BYTES_MIN) {
            throw new MalformedFrameException("the length is wrong");
        }
        int number = in.u8();
        in.raw(3);
        long id = Integer.toUnsignedLong(in.u32());
        Response response = Response.decode(number, in.raw(in.remaining()));
        boolean isUnknown = response instanceof Response.Unknown;
        Map<String, Object> fields = new LinkedHashMap<>();
        if (!isUnknown) {
            put(fields, (Record) response);
        }
        return Map.of("request_id", id, "opcode", isUnknown ? (Object) number : Opcode.of(number).name(), "fields", fields);
    }

    private static void put(Map<String, Object> fields, Record record) {
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            Object value;
            try {
                component.getAccessor().setAccessible(true);
                value = component.getAccessor().invoke(record);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
            if (value instanceof Response.Totals && record instanceof Response.TopicTotals || value instanceof Response.JobFields) {
                put(fields, (Record) value);
            } else {
                fields.put(snake(component.getName()), json(component.getName(), value));
            }
        }
    }

    private static Object json(String name, Object value) {
        if (value instanceof Integer number) {
            return Integer.toUnsignedLong(number);
        } else if (value instanceof Long number) {
            return name.equals("aheadMs") ? number.toString() : Long.toUnsignedString(number);
        } else if (value instanceof byte[] bytes) {
            return switch (name) {
                case "attributes" -> attributes(Attributes.decode(bytes));
                case "settings" -> settings(TopicPolicy.decode(bytes));
                case "stateHash", "idempotency" -> u128(bytes);
                default -> base64(bytes);
            };
        } else if (value instanceof Response.Totals totals) {
            Map<String, Object> fields = new LinkedHashMap<>();
            put(fields, totals);
            return fields;
        } else if (value instanceof List<?> list) {
            List<Object> items = new ArrayList<>();
            for (Object item : list) {
                if (item instanceof Record record) {
                    Map<String, Object> fields = new LinkedHashMap<>();
                    put(fields, record);
                    items.add(fields);
                } else {
                    items.add(name.equals("results") ? Map.of("code", item) : item);
                }
            }
            return items;
        }
        return value;
    }

    static String u128(byte[] littleEndian) {
        byte[] bigEndian = new byte[16];
        for (int i = 0; i < 16; i++) {
            bigEndian[i] = littleEndian[15 - i];
        }
        return new BigInteger(1, bigEndian).toString();
    }

    private static byte[] littleEndian(String decimal) {
        byte[] bigEndian = new BigInteger(decimal).toByteArray();
        byte[] littleEndian = new byte[16];
        for (int i = 0; i < Math.min(16, bigEndian.length); i++) {
            littleEndian[i] = bigEndian[bigEndian.length - 1 - i];
        }
        return littleEndian;
    }

    private static String snake(String name) {
        return name.replaceAll("([A-Z])", "_$1").toLowerCase();
    }

    static Map<String, Object> attributes(Attributes attributes) {
        Map<String, Object> json = new LinkedHashMap<>();
        if (!attributes.headers().isEmpty()) {
            json.put("headers", attributes.headers().stream().map(header -> List.of(header.name(), header.value())).toList());
        }
        attributes.expires().ifPresent(due -> json.put("expires",
                Map.of("kind", due.isAt() ? 1 : 0, "ms", Long.toUnsignedString(due.ms()))));
        attributes.attemptsMax().ifPresent(value -> json.put("attempts_max", value));
        attributes.backoff().ifPresent(value -> json.put("backoff", backoff(value)));
        attributes.fairnessKey().ifPresent(value -> json.put("fairness_key", value));
        attributes.dedupeRetention().ifPresent(value -> json.put("dedupe_retention_ms", String.valueOf(value.toMillis())));
        attributes.createdAt().ifPresent(value -> json.put("created_at_ms", String.valueOf(value.toEpochMilli())));
        attributes.scheduleReference().ifPresent(value -> json.put("schedule_reference", base64(value)));
        attributes.postponeMax().ifPresent(value -> json.put("postpone_max_ms", String.valueOf(value.toMillis())));
        if (!attributes.unknown().isEmpty()) {
            json.put("unknown", attributes.unknown().stream()
                    .map(one -> Map.of("tag", one.tag(), "value", base64(one.value()))).toList());
        }
        return json;
    }

    private static Map<String, Object> backoff(Backoff backoff) {
        return Map.of("kind", backoff.kind(), "jitter", backoff.jitterPercent(), "waits_ms", backoff.waitsMs());
    }

    static Map<String, Object> settings(TopicPolicy policy) {
        Map<String, Object> json = new LinkedHashMap<>();
        for (TopicPolicy.Setting setting : TopicPolicy.Setting.values()) {
            String name = settingName(setting);
            if (policy.takesAway(setting)) {
                json.put(name, null);
            } else if (policy.has(setting)) {
                switch (setting) {
                    case BACKOFF -> json.put(name, backoff(policy.backoff().orElseThrow()));
                    case DEAD_LETTERS -> json.put(name, policy.deadLetters().orElseThrow());
                    case LATE -> {
                        TopicPolicy.Late late = policy.late().orElseThrow();
                        json.put(name, Map.of("after_ms", Long.toUnsignedString(late.afterMs()), "action", late.action(), "value",
                                Long.toUnsignedString(late.value())));
                    }
                    case EXPIRES_AFTER, JOBS_MAX, BYTES_MAX, REMEMBER ->
                        json.put(name, Long.toUnsignedString(policy.number(setting).orElseThrow()));
                    default -> json.put(name, policy.number(setting).orElseThrow());
                }
            }
        }
        return json;
    }

    private static String settingName(TopicPolicy.Setting setting) {
        return switch (setting) {
            case TTR -> "ttr_ms";
            case EXPIRES_AFTER -> "expires_after_ms";
            case BODY_BYTES_MAX -> "body_max";
            case REMEMBER -> "remember_ms";
            default -> setting.name().toLowerCase();
        };
    }

    // ---- requests

    static byte[] encodeRequest(Json frame) {
        FrameWriter out = new FrameWriter();
        request(Opcode.valueOf(frame.text("opcode")), frame.object("fields")).encodeFrame((int) frame.number("request_id"), out);
        return out.toBytes();
    }

    private static Request request(Opcode opcode, Json f) {
        return switch (opcode) {
            case HELLO -> new Request.Hello(f.u32("version_min"), f.u32("version_max"), f.u32("options"), f.u32("heartbeat_ms"),
                    f.u64("session"), f.bytes("secret"), f.text("client_name"), f.bytes("token"));
            case PUSH -> new Request.Push(f.u64("sequence"), f.text("topic"), f.objects("jobs").stream().map(FrameJson::job).toList(),
                    littleEndian(f.text("idempotency")));
            case RESERVE -> new Request.Reserve(f.u64("wait_ms"), f.u32("jobs_max"), f.texts("topics"), f.numbers("weights"));
            case SUBSCRIBE -> new Request.Subscribe(f.u32("credit_jobs"), f.u64("credit_bytes"), f.texts("topics"),
                    f.numbers("weights"));
            case CREDIT -> new Request.Credit(f.u32("subscription"), f.u32("credit_jobs"), f.u64("credit_bytes"));
            case UNSUBSCRIBE -> new Request.Unsubscribe(f.u32("subscription"));
            case CANCEL -> new Request.Cancel(f.u32("request"));
            case LEASES -> new Request.Leases(f.u64("after"), f.u32("jobs_max"));
            case FINISH -> new Request.Finish(f.leases());
            case RELEASE -> new Request.Release(f.u64("delay_ms"), f.leases(), f.text("reason"));
            case TOUCH -> new Request.Touch(f.u32("ttr_ms"), f.leases());
            case BURY -> new Request.Bury(f.leases(), f.text("reason"));
            case GET, RUN_NOW, KICK -> new Request.OneJob(opcode, reference(f));
            case DELETE -> new Request.Delete(reference(f));
            case RESCHEDULE -> new Request.Reschedule(f.u64("due_ms"), f.u32("due_kind"), reference(f), f.u64("if_version"));
            case PEEK, PAUSE, RESUME, TOPIC_DELETE, TOPIC_SHOW -> new Request.OneTopic(opcode, f.text("topic"));
            case KICK_MANY -> new Request.KickMany(f.u32("jobs_max"), f.text("topic"));
            case LIST -> new Request.ListJobs(f.u32("jobs_max"), f.u32("order"), f.u32("marks"), f.bytes("cursor"),
                    filter(f.object("filter")).encode());
            case COUNT -> new Request.Count(filter(f.object("filter")).encode());
            case BULK -> new Request.Bulk(f.u32("jobs_max"), f.u32("change"), f.u64("due_ms"), f.bytes("cursor"),
                    filter(f.object("filter")).encode(), f.text("to"));
            case CONNECTIONS -> new Request.Connections(f.u64("after"), f.u32("connections_max"));
            case DISCONNECT -> new Request.Disconnect(f.u64("connection"), f.u32("options"));
            case TOPIC_SET -> new Request.TopicSet(f.text("topic"), policy(f.object("settings")).encode());
            case BACKUP_READ -> new Request.BackupRead(f.u64("offset"), f.u32("bytes"));
            case CLUSTER_ADD -> new Request.ClusterAdd(f.text("address"));
            case CLUSTER_REMOVE, CLUSTER_TRANSFER -> new Request.OneNode(opcode, f.u64("node"));
            default -> new Request.Plain(opcode);
        };
    }

    private static Request.PushJob job(Json f) {
        return new Request.PushJob(f.u64("due_ms"), f.u32("priority"), f.u32("ttr_ms"), f.u32("due_kind"), f.u32("if_exists"),
                f.text("key"), attributes(f.object("attributes")).encode(), f.bytes("body"));
    }

    private static JobRef reference(Json f) {
        return f.u32("job_kind") == 0 ? JobRef.id(f.u64("job")) : JobRef.key(f.text("topic"), f.text("key"));
    }

    static Attributes attributes(Json f) {
        Attributes a = Attributes.NONE;
        if (f.has("headers")) {
            for (Object header : (List<?>) f.get("headers")) {
                a = a.withHeader((String) ((List<?>) header).get(0), (String) ((List<?>) header).get(1));
            }
        }
        if (f.has("expires")) {
            a = a.withExpires(new Due(f.object("expires").u64("ms"), f.object("expires").number("kind") == 1));
        }
        a = f.has("attempts_max") ? a.withAttemptsMax(f.number("attempts_max")) : a;
        a = f.has("backoff") ? a.withBackoff(backoff(f.object("backoff"))) : a;
        a = f.has("fairness_key") ? a.withFairnessKey(f.text("fairness_key")) : a;
        a = f.has("dedupe_retention_ms") ? a.withDedupeRetention(java.time.Duration.ofMillis(f.u64("dedupe_retention_ms"))) : a;
        a = f.has("created_at_ms") ? a.withCreatedAt(java.time.Instant.ofEpochMilli(f.u64("created_at_ms"))) : a;
        a = f.has("schedule_reference") ? a.withScheduleReference(f.bytes("schedule_reference")) : a;
        a = f.has("postpone_max_ms") ? a.withPostponeMax(java.time.Duration.ofMillis(f.u64("postpone_max_ms"))) : a;
        for (Json unknown : f.objects("unknown")) {
            a = a.withUnknown(unknown.u32("tag"), unknown.bytes("value"));
        }
        return a;
    }

    private static Backoff backoff(Json f) {
        return new Backoff(f.u32("kind"), f.u32("jitter"), ((List<?>) f.get("waits_ms")).stream().map(ms -> ((Number) ms).longValue())
                .toList());
    }

    static Filter filter(Json f) {
        Filter filter = f.has("topic") ? Filter.topic(f.text("topic")) : Filter.ALL;
        filter = f.has("states") ? filter.states(f.u32("states")) : filter;
        filter = f.has("due_from_ms") ? filter.dueFromMs(f.u64("due_from_ms")) : filter;
        filter = f.has("due_before_ms") ? filter.dueBeforeMs(f.u64("due_before_ms")) : filter;
        filter = f.has("key_prefix") ? filter.keyPrefix(f.bytes("key_prefix")) : filter;
        filter = f.has("attempts_min") ? filter.attemptsMin(f.number("attempts_min")) : filter;
        filter = f.has("attempts_max") ? filter.attemptsMax(f.number("attempts_max")) : filter;
        filter = f.has("buried") ? filter.buried(f.u32("buried")) : filter;
        return f.has("reason") ? filter.reasonContains(f.text("reason")) : filter;
    }

    static TopicPolicy policy(Json f) {
        TopicPolicy policy = TopicPolicy.EMPTY;
        for (TopicPolicy.Setting setting : TopicPolicy.Setting.values()) {
            String name = settingName(setting);
            if (f.contains(name)) {
                policy = f.get(name) == null ? policy.without(setting) : set(policy, setting, f, name);
            }
        }
        return policy;
    }

    private static TopicPolicy set(TopicPolicy policy, TopicPolicy.Setting setting, Json f, String name) {
        return switch (setting) {
            case TTR -> policy.ttr(java.time.Duration.ofMillis(f.number(name)));
            case PRIORITY -> policy.priority(f.number(name));
            case ATTEMPTS_MAX -> policy.attemptsMax(f.number(name));
            case BACKOFF -> policy.backoff(backoff(f.object(name)));
            case EXPIRES_AFTER -> policy.expiresAfter(java.time.Duration.ofMillis(f.u64(name)));
            case JOBS_MAX -> policy.jobsMax(f.u64(name));
            case BYTES_MAX -> policy.bytesMax(f.u64(name));
            case BODY_BYTES_MAX -> policy.bodyBytesMax(f.number(name));
            case LEASES_MAX -> policy.leasesMax(f.number(name));
            case RATE -> policy.rate(f.number(name));
            case LATE -> policy.late(new TopicPolicy.Late(f.object(name).u64("after_ms"), f.object(name).u32("action"),
                    f.object(name).u64("value")));
            case DEAD_LETTERS -> policy.deadLetters(f.text(name));
            case REMEMBER -> policy.remember(java.time.Duration.ofMillis(f.u64(name)));
        };
    }

    static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }
}
