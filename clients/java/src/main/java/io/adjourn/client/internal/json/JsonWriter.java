package io.adjourn.client.internal.json;

import io.adjourn.client.UsageException;
import java.lang.reflect.RecordComponent;
import java.util.Map;

/** Writes values as JSON text. */
final class JsonWriter {
    private static final int DEPTH_MAX = 200;
    private final StringBuilder out = new StringBuilder();

    String write(Object value) {
        value(value, 0);
        return out.toString();
    }

    private void value(Object value, int depth) {
        if (depth > DEPTH_MAX) {
            throw new UsageException("a value is nested too deeply for JSON");
        }
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Number number) {
            number(number);
        } else if (value instanceof CharSequence || value instanceof Character || value instanceof Enum<?>
                || value instanceof java.time.temporal.TemporalAccessor || value instanceof java.time.Duration
                || value instanceof java.util.UUID) {
            text(value instanceof Enum<?> constant ? constant.name() : value.toString());
        } else if (value instanceof Map<?, ?> map) {
            map(map, depth);
        } else if (value instanceof Iterable<?> items) {
            items(items, depth);
        } else if (value instanceof Record fields) {
            fields(fields, depth);
        } else {
            throw new UsageException("no JSON for " + value.getClass().getName() + ": use a record, a map, or a BodyCodec of your own");
        }
    }

    private void number(Number number) {
        double asDouble = number.doubleValue();
        if (number instanceof Double || number instanceof Float) {
            if (Double.isNaN(asDouble) || Double.isInfinite(asDouble)) {
                throw new UsageException("no JSON for " + number);
            }
        }
        out.append(number);
    }

    private void map(Map<?, ?> map, int depth) {
        out.append('{');
        String separator = "";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(separator);
            text(String.valueOf(entry.getKey()));
            out.append(':');
            value(entry.getValue(), depth + 1);
            separator = ",";
        }
        out.append('}');
    }

    private void items(Iterable<?> items, int depth) {
        out.append('[');
        String separator = "";
        for (Object item : items) {
            out.append(separator);
            value(item, depth + 1);
            separator = ",";
        }
        out.append(']');
    }

    private void fields(Record record, int depth) {
        out.append('{');
        String separator = "";
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            out.append(separator);
            text(component.getName());
            out.append(':');
            value(Records.read(record, component), depth + 1);
            separator = ",";
        }
        out.append('}');
    }

    private void text(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < 0x20) {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }
}
