package io.adjourn.client.internal;

import io.adjourn.client.Limits;
import io.adjourn.client.UsageException;
import java.nio.charset.StandardCharsets;

/** Checks topic names, keys and texts before they are sent. */
public final class Names {
    private Names() {
    }

    public static String topic(String name) {
        if (name == null || name.isEmpty() || name.length() > Limits.TOPIC_BYTES_MAX || name.charAt(0) == '-'
                || !name.chars().allMatch(Names::inTopic)) {
            throw new UsageException("a topic has 1 to 128 characters of A-Z a-z 0-9 . _ : / - and does not start with -: " + name);
        }
        return name;
    }

    public static String key(String key) {
        if (key == null || key.isEmpty() || key.getBytes(StandardCharsets.UTF_8).length > Limits.KEY_BYTES_MAX
                || key.codePoints().anyMatch(Character::isISOControl)) {
            throw new UsageException("a key has 1 to 256 bytes of UTF-8 without control characters: " + key);
        }
        return key;
    }

    /** The text of a setting. An empty one would take the setting away. */
    public static String text(String value, String setting) {
        if (value == null || value.isEmpty()) {
            throw new UsageException("an empty text is no value of a setting; to take the setting away, use without(Setting." + setting + ")");
        }
        return value;
    }

    private static boolean inTopic(int c) {
        return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || "._:/-".indexOf(c) >= 0;
    }
}
