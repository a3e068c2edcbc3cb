// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

/** The conditions of a filter: their tags, and what stands in each. */
public final class Condition {
    /** Its topic is this one. */
    public static final int TOPIC = 0x0001;
    /** Its state is one of these. Without this condition the first four. */
    public static final int STATES = 0x0002;
    /** It is due at this time or later. */
    public static final int DUE_FROM_MS = 0x0003;
    /** It is due before this time. */
    public static final int DUE_BEFORE_MS = 0x0004;
    /** It has a key that begins with these bytes. */
    public static final int KEY_PREFIX = 0x0005;
    /** It was reserved at least this often. */
    public static final int ATTEMPTS_MIN = 0x0006;
    /** It was reserved at most this often. */
    public static final int ATTEMPTS_MAX = 0x0007;
    /** It is buried for this reason, as in JOB, but not 0. */
    public static final int BURIED = 0x0008;
    /** It has a last reason, and that contains this text. */
    public static final int REASON = 0x0009;
    /** It belongs to this group. */
    public static final int GROUP = 0x000a;

    private Condition() {
    }

    /** Whether this version knows elements with the tag. */
    public static boolean isKnown(int tag) {
        return switch (tag) {
            case TOPIC, STATES, DUE_FROM_MS, DUE_BEFORE_MS, KEY_PREFIX, ATTEMPTS_MIN, ATTEMPTS_MAX, BURIED, REASON, GROUP -> true;
            default -> false;
        };
    }

    public static Elements.Element topic(String value) {
        return Elements.text(TOPIC, value);
    }

    public static Elements.Element states(int value) {
        return Elements.u8(STATES, value);
    }

    public static Elements.Element dueFromMs(long value) {
        return Elements.u64(DUE_FROM_MS, value);
    }

    public static Elements.Element dueBeforeMs(long value) {
        return Elements.u64(DUE_BEFORE_MS, value);
    }

    public static Elements.Element keyPrefix(byte[] value) {
        return new Elements.Element(KEY_PREFIX, value);
    }

    public static Elements.Element attemptsMin(long value) {
        return Elements.u32(ATTEMPTS_MIN, value);
    }

    public static Elements.Element attemptsMax(long value) {
        return Elements.u32(ATTEMPTS_MAX, value);
    }

    public static Elements.Element buried(int value) {
        return Elements.u8(BURIED, value);
    }

    public static Elements.Element reason(String value) {
        return Elements.text(REASON, value);
    }

    public static Elements.Element group(String value) {
        return Elements.text(GROUP, value);
    }
}
