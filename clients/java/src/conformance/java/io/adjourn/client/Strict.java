package io.adjourn.client;

import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Constants;
import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.util.List;
import java.util.Map;

/** What a server refuses in a request. */
final class Strict {
    private static final int MAGIC = 0x314a_4441;

    private Strict() {
    }

    static void require(boolean holds, String otherwise) throws MalformedFrameException {
        if (!holds) {
            throw new MalformedFrameException(otherwise);
        }
    }

    static void magic(int magic) throws MalformedFrameException {
        require(magic == MAGIC, "the magic is missing");
    }

    static long range(long value, long min, long max, String name) throws MalformedFrameException {
        require(Long.compareUnsigned(value, min) >= 0 && Long.compareUnsigned(value, max) <= 0, name + " is out of range");
        return value;
    }

    /** The number of one of so many choices. */
    static int choice(int value, int choices, String name) throws MalformedFrameException {
        require(value < choices, name + " is out of range");
        return value;
    }

    static List<Object> size(List<Object> items, long min, long max, String name) throws MalformedFrameException {
        range(items.size(), min, max, name);
        return items;
    }

    static List<String> topics(List<String> topics) throws MalformedFrameException {
        range(topics.size(), 1, Limits.RESERVE_TOPICS_MAX, "topics");
        topics.forEach(Names::topic);
        return topics;
    }

    static long ttr(int ms) throws MalformedFrameException {
        return ms == 0 ? 0 : range(Integer.toUnsignedLong(ms), Limits.TTR_MS_MIN, Limits.TTR_MS_MAX, "a time to run");
    }

    /** A delay, one of the special values, or a delay with the mark of a job that is parked. */
    static long release(long delay) throws MalformedFrameException {
        boolean isSpecial = delay == Constants.RELEASE_BY_BACKOFF || delay == Constants.RELEASE_NOT_STARTED;
        if (!isSpecial) {
            range(delay & ~Constants.RELEASE_PARKED, 0, Limits.DELAY_MS_MAX, "a delay");
        }
        return delay;
    }

    /** A due point: a delay is limited, a time is not. */
    static void due(Map<String, Object> json) throws MalformedFrameException {
        boolean isDelay = (int) json.get("due_kind") == Choice.DueKind.AFTER;
        range(isDelay ? Long.parseUnsignedLong((String) json.get("due_ms")) : 0, 0, Limits.DELAY_MS_MAX, "a delay");
    }

    static void reference(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        int kind = choice(in.u8(), 2, "job_kind");
        json.put("job_kind", kind);
        if (kind == Choice.JobKind.ID) {
            json.put("job", Long.toUnsignedString(in.u64()));
        } else {
            json.put("topic", Names.topic(in.text8()));
            json.put("key", in.text16());
        }
    }
}
