package io.adjourn.client.internal;

import io.adjourn.client.Limits;
import io.adjourn.client.UsageException;
import java.nio.charset.StandardCharsets;

/** Checks topic names, keys, groups and texts before they are sent. */
public final class Names {
    private Names() {
    }

    public static String topic(String name) {
        if (name == null || name.isEmpty() || name.length() > Limits.TOPIC_BYTES_MAX || name.charAt(0) == '-'
                || !name.chars().allMatch(Names::inTopic)) {
            throw new UsageException("a topic has 1 to 200 characters of A-Z a-z 0-9 . _ : / - + ; $ ( ) and does not start with -: " + name);
        }
        return name;
    }

    public static String key(String key) {
        return plain(key, Limits.KEY_BYTES_MAX, "key");
    }

    public static String group(String name) {
        return plain(name, Limits.GROUP_BYTES_MAX, "group");
    }

    private static String plain(String name, int bytesMax, String what) {
        if (name == null || name.isEmpty() || name.getBytes(StandardCharsets.UTF_8).length > bytesMax
                || name.codePoints().anyMatch(Character::isISOControl)) {
            throw new UsageException("a " + what + " has 1 to " + bytesMax + " bytes of UTF-8 without control characters: " + name);
        }
        return name;
    }

    /** The text of a setting. An empty one would take the setting away. */
    public static String text(String value, String setting) {
        if (value == null || value.isEmpty()) {
            throw new UsageException("an empty text is no value of a setting; to take the setting away, use without(Setting." + setting + ")");
        }
        return value;
    }

    private static boolean inTopic(int c) {
        return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || "._:/-+;$()".indexOf(c) >= 0;
    }
}
