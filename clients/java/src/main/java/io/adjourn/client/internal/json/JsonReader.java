package io.adjourn.client.internal.json;

import io.adjourn.client.UsageException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON text into maps, lists, texts, numbers, booleans and {@code null}. Whole numbers never become floats. */
final class JsonReader {
    private static final int DEPTH_MAX = 200;
    private final String text;
    private int position;

    JsonReader(String text) {
        this.text = text;
    }

    Object read() {
        Object value = value(0);
        space();
        if (position < text.length()) {
            throw fault("text behind the value");
        }
        return value;
    }

    private Object value(int depth) {
        if (depth > DEPTH_MAX) {
            throw fault("nested too deeply");
        }
        space();
        return switch (peek()) {
            case '{' -> object(depth);
            case '[' -> array(depth);
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> map = new LinkedHashMap<>();
        position++;
        space();
        if (peek() == '}') {
            position++;
            return map;
        }
        while (true) {
            space();
            String name = string();
            space();
            expect(':');
            map.put(name, value(depth + 1));
            space();
            if (peek() == ',') {
                position++;
            } else {
                expect('}');
                return map;
            }
        }
    }

    private List<Object> array(int depth) {
        List<Object> items = new ArrayList<>();
        position++;
        space();
        if (peek() == ']') {
            position++;
            return items;
        }
        while (true) {
            items.add(value(depth + 1));
            space();
            if (peek() == ',') {
                position++;
            } else {
                expect(']');
                return items;
            }
        }
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        while (true) {
            char c = next();
            if (c == '"') {
                return out.toString();
            }
            if (c < 0x20) {
                throw fault("a control character in a text");
            }
            out.append(c == '\\' ? escaped() : c);
        }
    }

    private char escaped() {
        char c = next();
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                int code = 0;
                for (int i = 0; i < 4; i++) {
                    int digit = Character.digit(next(), 16);
                    if (digit < 0) {
                        throw fault("a wrong escape");
                    }
                    code = code << 4 | digit;
                }
                yield (char) code;
            }
            default -> throw fault("a wrong escape");
        };
    }

    private Object number() {
        int start = position;
        while (position < text.length() && "+-.eE0123456789".indexOf(text.charAt(position)) >= 0) {
            position++;
        }
        String digits = text.substring(start, position);
        if (!digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) {
            throw fault("no value");
        }
        if (digits.matches("-?[0-9]+")) {
            BigInteger whole = new BigInteger(digits);
            return whole.bitLength() < 64 ? (Object) whole.longValue() : whole;
        }
        return new BigDecimal(digits);
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, position)) {
            throw fault("no value");
        }
        position += word.length();
        return value;
    }

    private void space() {
        while (position < text.length() && " \t\r\n".indexOf(text.charAt(position)) >= 0) {
            position++;
        }
    }

    private char peek() {
        if (position >= text.length()) {
            throw fault("the text ends too early");
        }
        return text.charAt(position);
    }

    private char next() {
        char c = peek();
        position++;
        return c;
    }

    private void expect(char c) {
        if (next() != c) {
            throw fault("expected " + c);
        }
    }

    private UsageException fault(String what) {
        return new UsageException("not JSON at character " + position + ": " + what);
    }
}
