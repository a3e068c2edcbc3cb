// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

import io.adjourn.client.internal.wire.Attribute;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Composites;
import io.adjourn.client.internal.wire.Elements;
import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Tagged elements in the neutral JSON form of the conformance suite, as the codec of the client reads and writes them. */
final class ElementJson {
    private ElementJson() {
    }

    static byte[] attributes(Json f) {
        Elements elements = Elements.NONE;
        for (List<?> item : f.lists("headers")) {
            elements = elements.and(new Elements.Element(0x0001,
                    Composites.header(new Header((String) item.get(0), (String) item.get(1)))));
        }
        if (f.has("expires")) {
            Json value = f.object("expires");
            elements = elements.with(new Elements.Element(0x8002,
                    Composites.expiry(new Due(value.u64("ms"), value.u32("kind") == Choice.DueKind.AT))));
        }
        if (f.has("attempts_max")) {
            elements = elements.with(Elements.u32(0x8003, f.number("attempts_max")));
        }
        if (f.has("backoff")) {
            Json value = f.object("backoff");
            elements = elements.with(new Elements.Element(0x8004,
                    Composites.backoff(new Backoff(value.u32("kind"), value.u32("jitter"), value.wideNumbers("waits_ms")))));
        }
        if (f.has("group")) {
            elements = elements.with(Elements.text(0x0005, f.text("group")));
        }
        if (f.has("dedupe_retention_ms")) {
            elements = elements.with(Elements.u64(0x0006, f.u64("dedupe_retention_ms")));
        }
        if (f.has("created_at_ms")) {
            elements = elements.with(Elements.u64(0x0007, f.u64("created_at_ms")));
        }
        if (f.has("schedule_reference")) {
            elements = elements.with(new Elements.Element(0x0008, f.bytes("schedule_reference")));
        }
        if (f.has("postpone_max_ms")) {
            elements = elements.with(Elements.u64(0x0009, f.u64("postpone_max_ms")));
        }
        if (f.has("buried")) {
            elements = elements.with(Elements.text(0x800b, f.text("buried")));
        }
        for (Json unknown : f.objects("unknown")) {
            elements = elements.and(new Elements.Element(unknown.u32("tag"), unknown.bytes("value")));
        }
        return elements.encode();
    }

    static Map<String, Object> attributes(byte[] bytes) throws MalformedFrameException {
        Elements in = Elements.decode(bytes);
        Map<String, Object> json = new LinkedHashMap<>();
        if (in.has(0x0001)) {
            json.put("headers",
                    in.all(0x0001, Composites::header).stream().map(value -> List.of(value.name(), value.value())).toList());
        }
        in.first(0x8002, Composites::expiry).ifPresent(value -> json.put("expires",
                Map.of("kind", value.isAt() ? Choice.DueKind.AT : Choice.DueKind.AFTER,
                "ms", Long.toUnsignedString(value.ms()))));
        in.first(0x8003, FrameReader::u32Unsigned).ifPresent(value -> json.put("attempts_max", value));
        in.first(0x8004, Composites::backoff).ifPresent(value -> json.put("backoff", Map.of("kind", value.kind(),
                "jitter", value.jitterPercent(), "waits_ms", value.waitsMs())));
        in.first(0x0005, FrameReader::restText).ifPresent(value -> json.put("group", value));
        in.first(0x0006, FrameReader::u64).ifPresent(value -> json.put("dedupe_retention_ms", Long.toUnsignedString(value)));
        in.first(0x0007, FrameReader::u64).ifPresent(value -> json.put("created_at_ms", Long.toUnsignedString(value)));
        in.first(0x0008, FrameReader::rest).ifPresent(value -> json.put("schedule_reference", Json.base64(value)));
        in.first(0x0009, FrameReader::u64).ifPresent(value -> json.put("postpone_max_ms", Long.toUnsignedString(value)));
        in.first(0x800b, FrameReader::restText).ifPresent(value -> json.put("buried", value));
        List<Map<String, Object>> unknown = in.all().stream().filter(one -> !Attribute.isKnown(one.tag()))
                .map(one -> Map.<String, Object>of("tag", one.tag(), "value", Json.base64(one.value()))).toList();
        if (!unknown.isEmpty()) {
            json.put("unknown", unknown);
        }
        return json;
    }

    static byte[] filter(Json f) {
        Elements elements = Elements.NONE;
        if (f.has("topic")) {
            elements = elements.with(Elements.text(0x0001, f.text("topic")));
        }
        if (f.has("states")) {
            elements = elements.with(Elements.u8(0x0002, f.u32("states")));
        }
        if (f.has("due_from_ms")) {
            elements = elements.with(Elements.u64(0x0003, f.u64("due_from_ms")));
        }
        if (f.has("due_before_ms")) {
            elements = elements.with(Elements.u64(0x0004, f.u64("due_before_ms")));
        }
        if (f.has("key_prefix")) {
            elements = elements.with(new Elements.Element(0x0005, f.bytes("key_prefix")));
        }
        if (f.has("attempts_min")) {
            elements = elements.with(Elements.u32(0x0006, f.number("attempts_min")));
        }
        if (f.has("attempts_max")) {
            elements = elements.with(Elements.u32(0x0007, f.number("attempts_max")));
        }
        if (f.has("buried")) {
            elements = elements.with(Elements.u8(0x0008, f.u32("buried")));
        }
        if (f.has("reason")) {
            elements = elements.with(Elements.text(0x0009, f.text("reason")));
        }
        if (f.has("group")) {
            elements = elements.with(Elements.text(0x000a, f.text("group")));
        }
        return elements.encode();
    }

    static Map<String, Object> filter(byte[] bytes) throws MalformedFrameException {
        Elements in = Elements.decode(bytes);
        Map<String, Object> json = new LinkedHashMap<>();
        in.first(0x0001, FrameReader::restText).ifPresent(value -> json.put("topic", value));
        in.first(0x0002, FrameReader::u8).ifPresent(value -> json.put("states", value));
        in.first(0x0003, FrameReader::u64).ifPresent(value -> json.put("due_from_ms", Long.toUnsignedString(value)));
        in.first(0x0004, FrameReader::u64).ifPresent(value -> json.put("due_before_ms", Long.toUnsignedString(value)));
        in.first(0x0005, FrameReader::rest).ifPresent(value -> json.put("key_prefix", Json.base64(value)));
        in.first(0x0006, FrameReader::u32Unsigned).ifPresent(value -> json.put("attempts_min", value));
        in.first(0x0007, FrameReader::u32Unsigned).ifPresent(value -> json.put("attempts_max", value));
        in.first(0x0008, FrameReader::u8).ifPresent(value -> json.put("buried", value));
        in.first(0x0009, FrameReader::restText).ifPresent(value -> json.put("reason", value));
        in.first(0x000a, FrameReader::restText).ifPresent(value -> json.put("group", value));
        return json;
    }

    static byte[] settings(Json f) {
        Elements elements = Elements.NONE;
        if (f.has("ttr_ms")) {
            elements = elements.with(Elements.u32(0x0001, f.number("ttr_ms")));
        } else if (f.contains("ttr_ms")) {
            elements = elements.with(new Elements.Element(0x0001, new byte[0]));
        }
        if (f.has("priority")) {
            elements = elements.with(Elements.u32(0x0002, f.number("priority")));
        } else if (f.contains("priority")) {
            elements = elements.with(new Elements.Element(0x0002, new byte[0]));
        }
        if (f.has("attempts_max")) {
            elements = elements.with(Elements.u32(0x0003, f.number("attempts_max")));
        } else if (f.contains("attempts_max")) {
            elements = elements.with(new Elements.Element(0x0003, new byte[0]));
        }
        if (f.has("backoff")) {
            Json value = f.object("backoff");
            elements = elements.with(new Elements.Element(0x0004,
                    Composites.backoff(new Backoff(value.u32("kind"), value.u32("jitter"), value.wideNumbers("waits_ms")))));
        } else if (f.contains("backoff")) {
            elements = elements.with(new Elements.Element(0x0004, new byte[0]));
        }
        if (f.has("expires_after_ms")) {
            elements = elements.with(Elements.u64(0x0005, f.u64("expires_after_ms")));
        } else if (f.contains("expires_after_ms")) {
            elements = elements.with(new Elements.Element(0x0005, new byte[0]));
        }
        if (f.has("jobs_max")) {
            elements = elements.with(Elements.u64(0x0006, f.u64("jobs_max")));
        } else if (f.contains("jobs_max")) {
            elements = elements.with(new Elements.Element(0x0006, new byte[0]));
        }
        if (f.has("bytes_max")) {
            elements = elements.with(Elements.u64(0x0007, f.u64("bytes_max")));
        } else if (f.contains("bytes_max")) {
            elements = elements.with(new Elements.Element(0x0007, new byte[0]));
        }
        if (f.has("body_max")) {
            elements = elements.with(Elements.u32(0x0008, f.number("body_max")));
        } else if (f.contains("body_max")) {
            elements = elements.with(new Elements.Element(0x0008, new byte[0]));
        }
        if (f.has("leases_max")) {
            elements = elements.with(Elements.u32(0x0009, f.number("leases_max")));
        } else if (f.contains("leases_max")) {
            elements = elements.with(new Elements.Element(0x0009, new byte[0]));
        }
        if (f.has("rate")) {
            elements = elements.with(Elements.u32(0x000a, f.number("rate")));
        } else if (f.contains("rate")) {
            elements = elements.with(new Elements.Element(0x000a, new byte[0]));
        }
        if (f.has("late")) {
            Json value = f.object("late");
            elements = elements.with(new Elements.Element(0x000b,
                    Composites.late(new TopicPolicy.Late(value.u64("after_ms"), value.u32("action"), value.u64("value")))));
        } else if (f.contains("late")) {
            elements = elements.with(new Elements.Element(0x000b, new byte[0]));
        }
        if (f.has("dead_letters")) {
            elements = elements.with(Elements.text(0x000c, f.text("dead_letters")));
        } else if (f.contains("dead_letters")) {
            elements = elements.with(new Elements.Element(0x000c, new byte[0]));
        }
        if (f.has("remember_ms")) {
            elements = elements.with(Elements.u64(0x000d, f.u64("remember_ms")));
        } else if (f.contains("remember_ms")) {
            elements = elements.with(new Elements.Element(0x000d, new byte[0]));
        }
        if (f.has("call_back")) {
            elements = elements.with(Elements.text(0x000e, f.text("call_back")));
        } else if (f.contains("call_back")) {
            elements = elements.with(new Elements.Element(0x000e, new byte[0]));
        }
        if (f.has("call_back_method")) {
            elements = elements.with(Elements.text(0x000f, f.text("call_back_method")));
        } else if (f.contains("call_back_method")) {
            elements = elements.with(new Elements.Element(0x000f, new byte[0]));
        }
        if (f.has("call_back_headers")) {
            elements = elements.with(Elements.text(0x0010, f.text("call_back_headers")));
        } else if (f.contains("call_back_headers")) {
            elements = elements.with(new Elements.Element(0x0010, new byte[0]));
        }
        if (f.has("call_back_body")) {
            elements = elements.with(Elements.text(0x0011, f.text("call_back_body")));
        } else if (f.contains("call_back_body")) {
            elements = elements.with(new Elements.Element(0x0011, new byte[0]));
        }
        if (f.has("call_back_timeout_ms")) {
            elements = elements.with(Elements.u32(0x0012, f.number("call_back_timeout_ms")));
        } else if (f.contains("call_back_timeout_ms")) {
            elements = elements.with(new Elements.Element(0x0012, new byte[0]));
        }
        if (f.has("call_back_concurrency")) {
            elements = elements.with(Elements.u32(0x0013, f.number("call_back_concurrency")));
        } else if (f.contains("call_back_concurrency")) {
            elements = elements.with(new Elements.Element(0x0013, new byte[0]));
        }
        if (f.has("call_back_rate")) {
            elements = elements.with(Elements.u32(0x0014, f.number("call_back_rate")));
        } else if (f.contains("call_back_rate")) {
            elements = elements.with(new Elements.Element(0x0014, new byte[0]));
        }
        if (f.has("call_back_secrets")) {
            elements = elements.with(Elements.text(0x0015, f.text("call_back_secrets")));
        } else if (f.contains("call_back_secrets")) {
            elements = elements.with(new Elements.Element(0x0015, new byte[0]));
        }
        if (f.has("call_back_refused")) {
            elements = elements.with(Elements.text(0x0016, f.text("call_back_refused")));
        } else if (f.contains("call_back_refused")) {
            elements = elements.with(new Elements.Element(0x0016, new byte[0]));
        }
        if (f.has("call_back_retry_if")) {
            elements = elements.with(Elements.text(0x0017, f.text("call_back_retry_if")));
        } else if (f.contains("call_back_retry_if")) {
            elements = elements.with(new Elements.Element(0x0017, new byte[0]));
        }
        if (f.has("call_back_success")) {
            elements = elements.with(Elements.text(0x0018, f.text("call_back_success")));
        } else if (f.contains("call_back_success")) {
            elements = elements.with(new Elements.Element(0x0018, new byte[0]));
        }
        if (f.has("call_back_of_job")) {
            elements = elements.with(Elements.flag(0x0019));
        } else if (f.contains("call_back_of_job")) {
            elements = elements.with(new Elements.Element(0x0019, new byte[0]));
        }
        if (f.has("call_back_log_ms")) {
            elements = elements.with(Elements.u64(0x001a, f.u64("call_back_log_ms")));
        } else if (f.contains("call_back_log_ms")) {
            elements = elements.with(new Elements.Element(0x001a, new byte[0]));
        }
        if (f.has("call_back_paused")) {
            elements = elements.with(Elements.flag(0x001b));
        } else if (f.contains("call_back_paused")) {
            elements = elements.with(new Elements.Element(0x001b, new byte[0]));
        }
        if (f.has("call_back_delay_ms")) {
            elements = elements.with(Elements.u64(0x001c, f.u64("call_back_delay_ms")));
        } else if (f.contains("call_back_delay_ms")) {
            elements = elements.with(new Elements.Element(0x001c, new byte[0]));
        }
        if (f.has("fair")) {
            elements = elements.with(Elements.flag(0x001d));
        } else if (f.contains("fair")) {
            elements = elements.with(new Elements.Element(0x001d, new byte[0]));
        }
        if (f.has("group_leases_max")) {
            elements = elements.with(Elements.u32(0x001e, f.number("group_leases_max")));
        } else if (f.contains("group_leases_max")) {
            elements = elements.with(new Elements.Element(0x001e, new byte[0]));
        }
        if (f.has("group_per_second_max")) {
            elements = elements.with(Elements.u32(0x001f, f.number("group_per_second_max")));
        } else if (f.contains("group_per_second_max")) {
            elements = elements.with(new Elements.Element(0x001f, new byte[0]));
        }
        if (f.has("group_burst")) {
            elements = elements.with(Elements.u32(0x0020, f.number("group_burst")));
        } else if (f.contains("group_burst")) {
            elements = elements.with(new Elements.Element(0x0020, new byte[0]));
        }
        if (f.has("group_order")) {
            elements = elements.with(Elements.text(0x0021, f.text("group_order")));
        } else if (f.contains("group_order")) {
            elements = elements.with(new Elements.Element(0x0021, new byte[0]));
        }
        if (f.has("group_on_bury")) {
            elements = elements.with(Elements.text(0x0022, f.text("group_on_bury")));
        } else if (f.contains("group_on_bury")) {
            elements = elements.with(new Elements.Element(0x0022, new byte[0]));
        }
        return elements.encode();
    }

    static Map<String, Object> settings(byte[] bytes) throws MalformedFrameException {
        Elements in = Elements.decode(bytes);
        Map<String, Object> json = new LinkedHashMap<>();
        in.set(0x0001, FrameReader::u32Unsigned).ifPresent(value -> json.put("ttr_ms", value));
        if (in.isEmptyAt(0x0001)) {
            json.put("ttr_ms", null);
        }
        in.set(0x0002, FrameReader::u32Unsigned).ifPresent(value -> json.put("priority", value));
        if (in.isEmptyAt(0x0002)) {
            json.put("priority", null);
        }
        in.set(0x0003, FrameReader::u32Unsigned).ifPresent(value -> json.put("attempts_max", value));
        if (in.isEmptyAt(0x0003)) {
            json.put("attempts_max", null);
        }
        in.set(0x0004, Composites::backoff).ifPresent(value -> json.put("backoff", Map.of("kind", value.kind(),
                "jitter", value.jitterPercent(), "waits_ms", value.waitsMs())));
        if (in.isEmptyAt(0x0004)) {
            json.put("backoff", null);
        }
        in.set(0x0005, FrameReader::u64).ifPresent(value -> json.put("expires_after_ms", Long.toUnsignedString(value)));
        if (in.isEmptyAt(0x0005)) {
            json.put("expires_after_ms", null);
        }
        in.set(0x0006, FrameReader::u64).ifPresent(value -> json.put("jobs_max", Long.toUnsignedString(value)));
        if (in.isEmptyAt(0x0006)) {
            json.put("jobs_max", null);
        }
        in.set(0x0007, FrameReader::u64).ifPresent(value -> json.put("bytes_max", Long.toUnsignedString(value)));
        if (in.isEmptyAt(0x0007)) {
            json.put("bytes_max", null);
        }
        in.set(0x0008, FrameReader::u32Unsigned).ifPresent(value -> json.put("body_max", value));
        if (in.isEmptyAt(0x0008)) {
            json.put("body_max", null);
        }
        in.set(0x0009, FrameReader::u32Unsigned).ifPresent(value -> json.put("leases_max", value));
        if (in.isEmptyAt(0x0009)) {
            json.put("leases_max", null);
        }
        in.set(0x000a, FrameReader::u32Unsigned).ifPresent(value -> json.put("rate", value));
        if (in.isEmptyAt(0x000a)) {
            json.put("rate", null);
        }
        in.set(0x000b, Composites::late).ifPresent(value -> json.put("late",
                Map.of("after_ms", Long.toUnsignedString(value.afterMs()), "action", value.action(),
                "value", Long.toUnsignedString(value.value()))));
        if (in.isEmptyAt(0x000b)) {
            json.put("late", null);
        }
        in.set(0x000c, FrameReader::restText).ifPresent(value -> json.put("dead_letters", value));
        if (in.isEmptyAt(0x000c)) {
            json.put("dead_letters", null);
        }
        in.set(0x000d, FrameReader::u64).ifPresent(value -> json.put("remember_ms", Long.toUnsignedString(value)));
        if (in.isEmptyAt(0x000d)) {
            json.put("remember_ms", null);
        }
        in.set(0x000e, FrameReader::restText).ifPresent(value -> json.put("call_back", value));
        if (in.isEmptyAt(0x000e)) {
            json.put("call_back", null);
        }
        in.set(0x000f, FrameReader::restText).ifPresent(value -> json.put("call_back_method", value));
        if (in.isEmptyAt(0x000f)) {
            json.put("call_back_method", null);
        }
        in.set(0x0010, FrameReader::restText).ifPresent(value -> json.put("call_back_headers", value));
        if (in.isEmptyAt(0x0010)) {
            json.put("call_back_headers", null);
        }
        in.set(0x0011, FrameReader::restText).ifPresent(value -> json.put("call_back_body", value));
        if (in.isEmptyAt(0x0011)) {
            json.put("call_back_body", null);
        }
        in.set(0x0012, FrameReader::u32Unsigned).ifPresent(value -> json.put("call_back_timeout_ms", value));
        if (in.isEmptyAt(0x0012)) {
            json.put("call_back_timeout_ms", null);
        }
        in.set(0x0013, FrameReader::u32Unsigned).ifPresent(value -> json.put("call_back_concurrency", value));
        if (in.isEmptyAt(0x0013)) {
            json.put("call_back_concurrency", null);
        }
        in.set(0x0014, FrameReader::u32Unsigned).ifPresent(value -> json.put("call_back_rate", value));
        if (in.isEmptyAt(0x0014)) {
            json.put("call_back_rate", null);
        }
        in.set(0x0015, FrameReader::restText).ifPresent(value -> json.put("call_back_secrets", value));
        if (in.isEmptyAt(0x0015)) {
            json.put("call_back_secrets", null);
        }
        in.set(0x0016, FrameReader::restText).ifPresent(value -> json.put("call_back_refused", value));
        if (in.isEmptyAt(0x0016)) {
            json.put("call_back_refused", null);
        }
        in.set(0x0017, FrameReader::restText).ifPresent(value -> json.put("call_back_retry_if", value));
        if (in.isEmptyAt(0x0017)) {
            json.put("call_back_retry_if", null);
        }
        in.set(0x0018, FrameReader::restText).ifPresent(value -> json.put("call_back_success", value));
        if (in.isEmptyAt(0x0018)) {
            json.put("call_back_success", null);
        }
        in.set(0x0019, FrameReader::flag).ifPresent(value -> json.put("call_back_of_job", value));
        if (in.isEmptyAt(0x0019)) {
            json.put("call_back_of_job", null);
        }
        in.set(0x001a, FrameReader::u64).ifPresent(value -> json.put("call_back_log_ms", Long.toUnsignedString(value)));
        if (in.isEmptyAt(0x001a)) {
            json.put("call_back_log_ms", null);
        }
        in.set(0x001b, FrameReader::flag).ifPresent(value -> json.put("call_back_paused", value));
        if (in.isEmptyAt(0x001b)) {
            json.put("call_back_paused", null);
        }
        in.set(0x001c, FrameReader::u64).ifPresent(value -> json.put("call_back_delay_ms", Long.toUnsignedString(value)));
        if (in.isEmptyAt(0x001c)) {
            json.put("call_back_delay_ms", null);
        }
        in.set(0x001d, FrameReader::flag).ifPresent(value -> json.put("fair", value));
        if (in.isEmptyAt(0x001d)) {
            json.put("fair", null);
        }
        in.set(0x001e, FrameReader::u32Unsigned).ifPresent(value -> json.put("group_leases_max", value));
        if (in.isEmptyAt(0x001e)) {
            json.put("group_leases_max", null);
        }
        in.set(0x001f, FrameReader::u32Unsigned).ifPresent(value -> json.put("group_per_second_max", value));
        if (in.isEmptyAt(0x001f)) {
            json.put("group_per_second_max", null);
        }
        in.set(0x0020, FrameReader::u32Unsigned).ifPresent(value -> json.put("group_burst", value));
        if (in.isEmptyAt(0x0020)) {
            json.put("group_burst", null);
        }
        in.set(0x0021, FrameReader::restText).ifPresent(value -> json.put("group_order", value));
        if (in.isEmptyAt(0x0021)) {
            json.put("group_order", null);
        }
        in.set(0x0022, FrameReader::restText).ifPresent(value -> json.put("group_on_bury", value));
        if (in.isEmptyAt(0x0022)) {
            json.put("group_on_bury", null);
        }
        return json;
    }
}
