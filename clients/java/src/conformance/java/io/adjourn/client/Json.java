package io.adjourn.client;

import io.adjourn.client.internal.wire.Choice;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** A JSON object of the harness's protocol. What is absent is 0 or empty. */
record Json(Map<?, ?> map) {
    static Json of(Object value) {
        return new Json(value instanceof Map<?, ?> map ? map : Map.of());
    }

    boolean contains(String name) {
        return map.containsKey(name);
    }

    boolean has(String name) {
        return map.get(name) != null;
    }

    Object get(String name) {
        return map.get(name);
    }

    String text(String name) {
        return has(name) ? (String) map.get(name) : "";
    }

    /** A number, or a text with the digits of one. */
    long number(String name) {
        return !has(name) ? 0 : map.get(name) instanceof Number number ? number.longValue() : u64(name);
    }

    int u32(String name) {
        return (int) number(name);
    }

    long u64(String name) {
        return !has(name) ? 0 : Long.parseUnsignedLong(String.valueOf(map.get(name)));
    }

    byte[] bytes(String name) {
        return Base64.getDecoder().decode(text(name));
    }

    /** A number of 128 bits as it is on the wire. */
    byte[] u128(String name) {
        byte[] bigEndian = new BigInteger(has(name) ? text(name) : "0").toByteArray();
        byte[] littleEndian = new byte[16];
        for (int i = 0; i < Math.min(16, bigEndian.length); i++) {
            littleEndian[i] = bigEndian[bigEndian.length - 1 - i];
        }
        return littleEndian;
    }

    static String u128(byte[] littleEndian) {
        byte[] bigEndian = new byte[16];
        for (int i = 0; i < 16; i++) {
            bigEndian[i] = littleEndian[15 - i];
        }
        return new BigInteger(1, bigEndian).toString();
    }

    static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    Json object(String name) {
        return of(map.get(name));
    }

    List<Json> objects(String name) {
        return has(name) ? ((List<?>) map.get(name)).stream().map(Json::of).toList() : List.of();
    }

    List<String> texts(String name) {
        return has(name) ? ((List<?>) map.get(name)).stream().map(String::valueOf).toList() : List.of();
    }

    List<Integer> numbers(String name) {
        return has(name) ? ((List<?>) map.get(name)).stream().map(number -> ((Number) number).intValue()).toList() : List.of();
    }

    List<Long> wideNumbers(String name) {
        return has(name) ? ((List<?>) map.get(name)).stream().map(number -> ((Number) number).longValue()).toList() : List.of();
    }

    /** A list of lists. */
    List<List<?>> lists(String name) {
        List<List<?>> lists = new ArrayList<>();
        if (has(name)) {
            ((List<?>) map.get(name)).forEach(item -> lists.add((List<?>) item));
        }
        return lists;
    }

    /** The job of a frame. */
    JobRef reference() {
        return u32("job_kind") == Choice.JobKind.ID ? JobRef.id(u64("job")) : JobRef.key(text("topic"), text("key"));
    }

    List<Lease> leases() {
        return objects("leases").stream().map(RequestJson::lease).toList();
    }
}
