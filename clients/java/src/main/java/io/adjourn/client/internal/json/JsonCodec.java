package io.adjourn.client.internal.json;

import io.adjourn.client.BodyCodec;
import io.adjourn.client.UsageException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** JSON bodies without a library. */
public final class JsonCodec implements BodyCodec {
    @Override
    public String contentType() {
        return "application/json";
    }

    @Override
    public byte[] encode(Object value) {
        return text(value).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public <T> T decode(byte[] body, Class<T> type) {
        try {
            Object value = parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
            @SuppressWarnings("unchecked")
            T converted = (T) Records.convert(value, type);
            return converted;
        } catch (CharacterCodingException e) {
            throw new UsageException("the body is not UTF-8", e);
        }
    }

    /** The JSON text of a value. */
    public static String text(Object value) {
        return new JsonWriter().write(value);
    }

    /** The value of a JSON text. */
    public static Object parse(String text) {
        return new JsonReader(text).read();
    }
}
