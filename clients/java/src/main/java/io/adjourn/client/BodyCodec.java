package io.adjourn.client;

import io.adjourn.client.internal.json.JsonCodec;

/** Turns values into bodies and back. Implement it to use your own JSON library, or another format. */
public interface BodyCodec {
    /** JSON, for records, maps, lists, texts, numbers, booleans, enums, {@code java.time} values and {@code null}. */
    BodyCodec JSON = new JsonCodec();

    /** What the header {@code content-type} of its bodies says. */
    String contentType();

    /** The bytes of a value. */
    byte[] encode(Object value);

    /** The value of a body. Throws {@link UsageException} if the body is no such value. */
    <T> T decode(byte[] body, Class<T> type);
}
