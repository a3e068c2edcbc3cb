package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;
import java.util.TreeMap;

/** Which jobs a list, count or bulk change is about: those that meet all its conditions. It cannot be changed. */
public final class Filter {
    /** Every job. */
    public static final Filter ALL = new Filter(new TreeMap<>());

    private static final int TOPIC = 1;
    private static final int STATES = 2;
    private static final int DUE_FROM = 3;
    private static final int DUE_BEFORE = 4;
    private static final int KEY_PREFIX = 5;
    private static final int ATTEMPTS_MIN = 6;
    private static final int ATTEMPTS_MAX = 7;
    private static final int BURIED = 8;
    private static final int REASON = 9;

    private final TreeMap<Integer, byte[]> conditions;

    private Filter(TreeMap<Integer, byte[]> conditions) {
        this.conditions = conditions;
    }

    /** The jobs of one topic. */
    public static Filter topic(String topic) {
        return ALL.with(TOPIC, FrameWriter.utf8(Names.topic(topic)));
    }

    /** Those in one of these states. Without this condition all but {@link JobState#FINISHED}. */
    public Filter states(JobState... states) {
        if (Arrays.asList(states).contains(JobState.UNKNOWN)) {
            throw new UsageException("jobs cannot be looked for by a state of a newer server");
        }
        return states(Arrays.stream(states).mapToInt(state -> 1 << state.ordinal()).reduce(0, (a, b) -> a | b));
    }

    /** Those in one of these states, as bits: 1 delayed, 2 ready, 4 reserved, 8 buried, 16 finished. */
    public Filter states(int bits) {
        return with(STATES, new FrameWriter(16).u8(bits).toBytes());
    }

    /** Those due at this time or later. */
    public Filter dueFrom(Instant time) {
        return dueFromMs(Millis.of(time));
    }

    Filter dueFromMs(long ms) {
        return with(DUE_FROM, u64(ms));
    }

    /** Those due before this time. */
    public Filter dueBefore(Instant time) {
        return dueBeforeMs(Millis.of(time));
    }

    Filter dueBeforeMs(long ms) {
        return with(DUE_BEFORE, u64(ms));
    }

    /** Those whose key begins like this. */
    public Filter keyPrefix(String prefix) {
        return keyPrefix(FrameWriter.utf8(prefix));
    }

    /** Those whose key begins with these bytes. */
    public Filter keyPrefix(byte[] prefix) {
        return with(KEY_PREFIX, prefix.clone());
    }

    /** Those that were reserved at least this often. */
    public Filter attemptsMin(long attempts) {
        return with(ATTEMPTS_MIN, u32(attempts));
    }

    /** Those that were reserved at most this often. */
    public Filter attemptsMax(long attempts) {
        return with(ATTEMPTS_MAX, u32(attempts));
    }

    /** Those that are buried for this reason. */
    public Filter buried(BuriedReason reason) {
        if (reason == BuriedReason.UNKNOWN) {
            throw new UsageException("jobs cannot be looked for by a reason of a newer server");
        }
        return buried(reason.ordinal());
    }

    /** Those that are buried for the reason of this number. */
    public Filter buried(int number) {
        return with(BURIED, new FrameWriter(16).u8(number).toBytes());
    }

    /** Those whose last reason contains this text, of at most 256 bytes. */
    public Filter reasonContains(String text) {
        return with(REASON, FrameWriter.utf8(text));
    }

    /** The conditions as the protocol has them. */
    public byte[] encode() {
        FrameWriter out = new FrameWriter(64);
        conditions.forEach((tag, value) -> out.u16(tag).bytes16(value));
        return out.toBytes();
    }

    /** Reads the conditions as the protocol has them. */
    public static Filter decode(byte[] bytes) {
        try {
            FrameReader in = new FrameReader(bytes);
            TreeMap<Integer, byte[]> conditions = new TreeMap<>();
            while (in.remaining() > 0) {
                int tag = in.u16();
                if (!conditions.isEmpty() && tag <= conditions.lastKey()) {
                    throw new MalformedFrameException("conditions out of order");
                }
                conditions.put(tag, in.bytes16());
            }
            return new Filter(conditions);
        } catch (MalformedFrameException e) {
            throw new ProtocolException("a filter cannot be decoded: " + e.getMessage(), e);
        }
    }

    /** Whether a job meets all conditions; {@code buriedNumber} and {@code stateNumber} as on the wire. */
    public boolean matches(String topic, JobState state, long dueMs, String key, long attempts, int buriedNumber, String reason) {
        int states = number(STATES).map(Long::intValue).orElse(15);
        return (states >> state.ordinal() & 1) != 0
                && text(TOPIC).map(topic::equals).orElse(true)
                && number(DUE_FROM).map(ms -> Long.compareUnsigned(dueMs, ms) >= 0).orElse(true)
                && number(DUE_BEFORE).map(ms -> Long.compareUnsigned(dueMs, ms) < 0).orElse(true)
                && text(KEY_PREFIX).map(prefix -> !key.isEmpty() && key.startsWith(prefix)).orElse(true)
                && number(ATTEMPTS_MIN).map(n -> attempts >= n).orElse(true)
                && number(ATTEMPTS_MAX).map(n -> attempts <= n).orElse(true)
                && number(BURIED).map(n -> buriedNumber == n).orElse(true)
                && text(REASON).map(reason::contains).orElse(true);
    }

    private Optional<String> text(int tag) {
        return Optional.ofNullable(conditions.get(tag)).map(value -> new String(value, java.nio.charset.StandardCharsets.UTF_8));
    }

    private Optional<Long> number(int tag) {
        return Optional.ofNullable(conditions.get(tag)).map(value -> {
            long number = 0;
            for (int i = value.length - 1; i >= 0; i--) {
                number = number << 8 | value[i] & 0xff;
            }
            return number;
        });
    }

    private Filter with(int tag, byte[] value) {
        TreeMap<Integer, byte[]> all = new TreeMap<>(conditions);
        all.put(tag, value);
        return new Filter(all);
    }

    private static byte[] u64(long value) {
        return new FrameWriter(16).u64(value).toBytes();
    }

    private static byte[] u32(long value) {
        return new FrameWriter(16).u32(Millis.u32(value, "attempts")).toBytes();
    }
}
