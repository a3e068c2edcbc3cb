package io.adjourn.client;

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

    List<Lease> leases() {
        return objects("leases").stream().map(lease -> new Lease(lease.u64("job"), lease.u64("fence"))).toList();
    }
}
