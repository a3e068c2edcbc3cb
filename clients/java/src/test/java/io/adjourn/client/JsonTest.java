package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The codec of JSON bodies. */
class JsonTest {
    enum Size {
        SMALL, LARGE
    }

    record Line(String sku, int count) {
    }

    record Order(long id, Size size, List<Line> lines, Map<String, Double> prices, Instant at, Duration pause, Boolean paid, Object any) {
    }

    private static <T> T decode(String json, Class<T> type) {
        return BodyCodec.JSON.decode(json.getBytes(StandardCharsets.UTF_8), type);
    }

    @Test
    void recordsComeBackAsTheyWere() {
        Order order = new Order(Long.MAX_VALUE, Size.LARGE, List.of(new Line("a\"\\\n\u0001ü", 3)), Map.of("x", 1.5),
                Instant.parse("2026-01-01T00:00:00Z"), Duration.ofMinutes(5), null, List.of("t", true));
        assertEquals(order, BodyCodec.JSON.decode(BodyCodec.JSON.encode(order), Order.class));
    }

    @Test
    void valuesAreReadStrictly() {
        assertEquals(List.of(1L, "ä\n", true), decode(" [1, \"\\u00e4\\n\", true ] ", List.class));
        assertEquals(9_007_199_254_740_993L, decode("9007199254740993", Long.class), "no float on the way");
        for (String wrong : List.of("", "{", "[1,]", "{\"a\":}", "01", "1.", "tru", "\"\\x\"", "\"a", "1 2", "nan", "\"\t\"", "[".repeat(1_000))) {
            assertThrows(UsageException.class, () -> decode(wrong, Object.class), wrong);
        }
        assertThrows(UsageException.class, () -> decode("1.5", Long.class));
        assertThrows(UsageException.class, () -> decode("{\"sku\":\"a\"}", Line.class), "an int that is missing");
        assertThrows(UsageException.class, () -> decode("{\"sku\":1,\"count\":1}", Line.class));
        assertThrows(UsageException.class, () -> BodyCodec.JSON.encode(Double.NaN));
        assertThrows(UsageException.class, () -> BodyCodec.JSON.encode(Arrays.asList(new Object())));
    }
}
