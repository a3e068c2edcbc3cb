package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.Condition;
import io.adjourn.client.internal.wire.Elements;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.time.Instant;
import java.util.Arrays;

/** Which jobs a list, count or bulk change is about: those that meet all its conditions. It cannot be changed. */
public final class Filter {
    /** Every job. */
    public static final Filter ALL = new Filter(Elements.NONE);

    private final Elements conditions;

    private Filter(Elements conditions) {
        this.conditions = conditions;
    }

    /** The jobs of one topic. */
    public static Filter topic(String topic) {
        return ALL.with(Condition.topic(Names.topic(topic)));
    }

    /** Those in one of these states. Without this condition all but {@link JobState#FINISHED}. */
    public Filter states(JobState... states) {
        if (Arrays.asList(states).contains(JobState.UNKNOWN)) {
            throw new UsageException("jobs cannot be looked for by a state of a newer server");
        }
        return states(Arrays.stream(states).mapToInt(Filter::bit).reduce(0, (a, b) -> a | b));
    }

    /** Those in one of these states, as bits: 1 delayed, 2 ready, 4 reserved, 8 buried, 16 finished. */
    public Filter states(int bits) {
        return with(Condition.states(bits));
    }

    /** Those due at this time or later. */
    public Filter dueFrom(Instant time) {
        return dueFromMs(Millis.of(time));
    }

    Filter dueFromMs(long ms) {
        return with(Condition.dueFromMs(ms));
    }

    /** Those due before this time. */
    public Filter dueBefore(Instant time) {
        return dueBeforeMs(Millis.of(time));
    }

    Filter dueBeforeMs(long ms) {
        return with(Condition.dueBeforeMs(ms));
    }

    /** Those whose key begins like this. */
    public Filter keyPrefix(String prefix) {
        return keyPrefix(FrameWriter.utf8(prefix));
    }

    /** Those whose key begins with these bytes. */
    public Filter keyPrefix(byte[] prefix) {
        return with(Condition.keyPrefix(prefix.clone()));
    }

    /** Those that were reserved at least this often. */
    public Filter attemptsMin(long attempts) {
        return with(Condition.attemptsMin(attempts));
    }

    /** Those that were reserved at most this often. */
    public Filter attemptsMax(long attempts) {
        return with(Condition.attemptsMax(attempts));
    }

    /** Those that are buried for this reason. */
    public Filter buried(BuriedReason reason) {
        if (reason == BuriedReason.UNKNOWN) {
            throw new UsageException("jobs cannot be looked for by a reason of a newer server");
        }
        return buried(reason.number());
    }

    /** Those that are buried for the reason of this number. */
    public Filter buried(int number) {
        return with(Condition.buried(number));
    }

    /** Those whose last reason contains this text, of at most 256 bytes. */
    public Filter reasonContains(String text) {
        return with(Condition.reason(text));
    }

    /** Those that belong to this group, of whatever topic, unless {@link #topic} names one. */
    public Filter group(String name) {
        return with(Condition.group(Names.group(name)));
    }

    /** The conditions as the protocol has them. */
    public byte[] encode() {
        return conditions.encode();
    }

    /** Reads the conditions as the protocol has them. */
    public static Filter decode(byte[] bytes) {
        try {
            return new Filter(Elements.decode(bytes));
        } catch (MalformedFrameException e) {
            throw new ProtocolException("a filter cannot be decoded: " + e.getMessage(), e);
        }
    }

    private static int bit(JobState state) {
        return 1 << state.number();
    }

    private Filter with(Elements.Element condition) {
        return new Filter(conditions.with(condition));
    }
}
