// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

import io.adjourn.client.Backoff;
import io.adjourn.client.Due;
import io.adjourn.client.Header;
import io.adjourn.client.TopicPolicy;
import java.util.List;

/** Values of elements that have several fields. */
public final class Composites {
    private Composites() {
    }

    /** One header. */
    public static byte[] header(Header value) {
        return new FrameWriter(32).text8(value.name()).rest(value.value()).toBytes();
    }

    /** One header. */
    public static Header header(FrameReader in) throws MalformedFrameException {
        String name = in.text8();
        String value = in.restText();
        return new Header(name, value);
    }

    /** When a job expires. */
    public static byte[] expiry(Due value) {
        return new FrameWriter(32).u8(value.isAt() ? Choice.DueKind.AT : Choice.DueKind.AFTER).u64(value.ms()).toBytes();
    }

    /** When a job expires. */
    public static Due expiry(FrameReader in) throws MalformedFrameException {
        int kind = in.u8();
        long ms = in.u64();
        return new Due(ms, kind == Choice.DueKind.AT);
    }

    /** The wait between attempts. */
    public static byte[] backoff(Backoff value) {
        return new FrameWriter(32).u8(value.kind()).u8(value.jitterPercent()).rest(value.waitsMs()).toBytes();
    }

    /** The wait between attempts. */
    public static Backoff backoff(FrameReader in) throws MalformedFrameException {
        int kind = in.u8();
        int jitter = in.u8();
        List<Long> waitsMs = in.restNumbers();
        if (jitter > 100 || waitsMs.size() < 1 || waitsMs.size() > 32) {
            throw new MalformedFrameException("the value of backoff is out of range");
        }
        return new Backoff(kind, jitter, waitsMs);
    }

    /** What happens to late jobs. */
    public static byte[] late(TopicPolicy.Late value) {
        return new FrameWriter(32).u64(value.afterMs()).u8(value.action()).u64(value.value()).toBytes();
    }

    /** What happens to late jobs. */
    public static TopicPolicy.Late late(FrameReader in) throws MalformedFrameException {
        long afterMs = in.u64();
        int action = in.u8();
        long value = in.u64();
        if (Long.compareUnsigned(afterMs, 315_360_000_000L) > 0) {
            throw new MalformedFrameException("the value of late is out of range");
        }
        return new TopicPolicy.Late(afterMs, action, value);
    }
}
