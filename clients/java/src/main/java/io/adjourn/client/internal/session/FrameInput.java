package io.adjourn.client.internal.session;

import io.adjourn.client.Limits;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/** Cuts the bytes of a server into frames. */
final class FrameInput {
    private static final int HEADER_BYTES = 12;
    /** The smallest length of a frame. */
    private static final int FRAME_BYTES_MIN = 8;
    private static final int BUFFER_BYTES = 64 << 10;

    /** Called before each read from the stream, and after it with the number of bytes that came. */
    interface Watch {
        void beforeRead() throws IOException;

        void came(boolean withinFrame);
    }

    record Frame(int opcode, int requestId, byte[] payload) {
    }

    private final InputStream stream;
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private int from;
    private int to;
    private Watch watch;

    FrameInput(InputStream stream, Watch watch) {
        this.stream = stream;
        this.watch = watch;
    }

    void watch(Watch newWatch) {
        watch = newWatch;
    }

    Frame next() throws IOException, MalformedFrameException {
        byte[] header = take(HEADER_BYTES, false);
        int length = u32(header, 0);
        if (length < FRAME_BYTES_MIN || length > Limits.RESPONSE_BYTES_MAX) {
            throw new MalformedFrameException("a frame of " + Integer.toUnsignedString(length) + " bytes");
        }
        return new Frame(header[4] & 0xff, u32(header, 8), take(length - FRAME_BYTES_MIN, true));
    }

    private byte[] take(int length, boolean withinFrame) throws IOException {
        // Grows with what comes: a garbled length must not cost memory.
        byte[] bytes = new byte[Math.min(length, BUFFER_BYTES)];
        int filled = 0;
        while (filled < length) {
            if (from == to) {
                fill(withinFrame || filled > 0);
            }
            if (filled == bytes.length) {
                bytes = Arrays.copyOf(bytes, (int) Math.min(length, bytes.length * 2L));
            }
            int part = Math.min(Math.min(length, bytes.length) - filled, to - from);
            System.arraycopy(buffer, from, bytes, filled, part);
            from += part;
            filled += part;
        }
        return bytes;
    }

    private void fill(boolean withinFrame) throws IOException {
        watch.beforeRead();
        int read = stream.read(buffer, 0, buffer.length);
        if (read < 0) {
            throw new EOFException("the server closed the connection");
        }
        from = 0;
        to = read;
        watch.came(withinFrame);
    }

    private static int u32(byte[] bytes, int at) {
        return bytes[at] & 0xff | (bytes[at + 1] & 0xff) << 8 | (bytes[at + 2] & 0xff) << 16 | (bytes[at + 3] & 0xff) << 24;
    }
}
