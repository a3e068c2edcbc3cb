package io.adjourn.client.internal.session;

import io.adjourn.client.IdempotencyKey;
import io.adjourn.client.internal.wire.Constants;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.RequestEncoder;
import java.util.List;

/** What a push is known by, so that the queue accepts a repeat of it once: numbers of the session, or a key. */
public final class Pushes {
    private static final byte[] NO_KEY = new byte[16];

    private Pushes() {
    }

    /** A push that is known by nothing yet. */
    public static Request.Push of(String topic, List<Request.NewJob> jobs) {
        return new Request.Push(Constants.SEQUENCE_NONE, topic, jobs, NO_KEY, 0);
    }

    /** A push under a key: of a whole list, or of a part of one that has so many jobs. */
    public static Request.Push of(String topic, List<Request.NewJob> jobs, IdempotencyKey key, int listJobs) {
        return new Request.Push(Constants.SEQUENCE_NONE, topic, jobs, key.bytes(), listJobs);
    }

    /** What the length of a PUSH without a job is, with all of its fields. */
    public static int emptyFrameBytes(String topic) {
        FrameWriter out = new FrameWriter();
        RequestEncoder.encode(of(topic, List.of(), new IdempotencyKey(1, 1), 1), 1, out);
        return out.size() - 4;
    }

    static Request.Push withSequence(Request.Push push, long number) {
        return new Request.Push(number, push.topic(), push.jobs(), push.idempotency(), push.listJobs());
    }

    static boolean hasKey(Request.Push push) {
        return FrameWriter.isSet(push.idempotency());
    }

    /** The queue knows a repeat of it. */
    static boolean isKnown(Request.Push push) {
        return push.sequence() != Constants.SEQUENCE_NONE || hasKey(push);
    }
}
