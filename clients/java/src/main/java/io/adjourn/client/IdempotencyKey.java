package io.adjourn.client;

import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.security.SecureRandom;

/**
 * A number under which the queue knows a repeat of a push: {@link Client#pushAll(String, java.util.List, IdempotencyKey)}. The first job
 * of a list has this number, the others have those that follow it. Draw one for each list, or hash what names the list.
 *
 * @param high the upper half, unsigned
 * @param low the lower half, unsigned
 */
public record IdempotencyKey(long high, long low) {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int BYTES = 16;

    /** Refuses 0, which stands for no key. */
    public IdempotencyKey {
        if (high == 0 && low == 0) {
            throw new UsageException("an idempotency key of 0 is none");
        }
    }

    /** A key that nobody else draws. */
    public static IdempotencyKey random() {
        byte[] bytes = new byte[BYTES];
        RANDOM.nextBytes(bytes);
        bytes[0] |= 1;
        return of(bytes);
    }

    /** The key of 16 bytes, for example the first ones of a hash. They go to the wire as they are. */
    public static IdempotencyKey of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new UsageException("an idempotency key has 16 bytes, not " + bytes.length);
        }
        try {
            FrameReader in = new FrameReader(bytes);
            long low = in.u64();
            return new IdempotencyKey(in.u64(), low);
        } catch (MalformedFrameException e) {
            throw new UsageException("not an idempotency key", e);
        }
    }

    /** Its 16 bytes. */
    public byte[] bytes() {
        return new FrameWriter(BYTES).u64(low).u64(high).toBytes();
    }

    /** The number of the job so many places behind the first one. Throws {@link UsageException} beyond 2^128 - 1. */
    public IdempotencyKey plus(long jobs) {
        long sum = low + jobs;
        boolean carries = Long.compareUnsigned(sum, low) < 0;
        if (jobs < 0 || carries && high == -1) {
            throw new UsageException("an idempotency key is at most 2^128 - 1: there is none " + jobs + " places behind this one");
        }
        return new IdempotencyKey(carries ? high + 1 : high, sum);
    }

    /** Whether a list of so many jobs can have this key: the number of its last job is at most 2^128 - 1. */
    public boolean hasRoomFor(long jobs) {
        return jobs <= 0 || high != -1 || Long.compareUnsigned(low + (jobs - 1), low) >= 0;
    }
}
