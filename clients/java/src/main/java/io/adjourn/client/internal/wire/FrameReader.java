package io.adjourn.client.internal.wire;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Reads little-endian fields within strict bounds. What it does not read is skipped. */
public final class FrameReader {
    private final byte[] bytes;
    private final int end;
    private int position;

    public FrameReader(byte[] bytes, int from, int to) {
        this.bytes = bytes;
        this.position = from;
        this.end = to;
    }

    public FrameReader(byte[] bytes) {
        this(bytes, 0, bytes.length);
    }

    public int remaining() {
        return end - position;
    }

    public int u8() throws MalformedFrameException {
        need(1);
        return bytes[position++] & 0xff;
    }

    public int u16() throws MalformedFrameException {
        need(2);
        return u8() | u8() << 8;
    }

    public int u32() throws MalformedFrameException {
        need(4);
        return u16() | u16() << 16;
    }

    public long u64() throws MalformedFrameException {
        need(8);
        return Integer.toUnsignedLong(u32()) | (long) u32() << 32;
    }

    /** A field that an older server leaves out. */
    public long u64OrZero() throws MalformedFrameException {
        return remaining() == 0 ? 0 : u64();
    }

    /** A field that an older server leaves out. */
    /** So many bytes, or as many zeros where a frame ends that an older peer wrote. */
    public byte[] rawOrZeros(int bytes) throws MalformedFrameException {
        return remaining() == 0 ? new byte[bytes] : raw(bytes);
    }

    public int u32OrZero() throws MalformedFrameException {
        return remaining() == 0 ? 0 : u32();
    }

    public byte[] raw(int length) throws MalformedFrameException {
        need(length);
        byte[] value = Arrays.copyOfRange(bytes, position, position + length);
        position += length;
        return value;
    }

    /** Bytes whose length is a {@code u32}. */
    public byte[] bytes32() throws MalformedFrameException {
        return raw(u32());
    }

    public byte[] bytes16() throws MalformedFrameException {
        return raw(u16());
    }

    public String text8() throws MalformedFrameException {
        return text(u8());
    }

    public String text16() throws MalformedFrameException {
        return text(u16());
    }

    /** A text that an older server leaves out. */
    public String text16OrEmpty() throws MalformedFrameException {
        return remaining() == 0 ? "" : text16();
    }

    public String text(int length) throws MalformedFrameException {
        need(length);
        ByteBuffer part = ByteBuffer.wrap(bytes, position, length);
        position += length;
        try {
            return StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT).decode(part).toString();
        } catch (CharacterCodingException e) {
            throw new MalformedFrameException("a text is not UTF-8");
        }
    }

    /** Reads one item: its known fields from {@code fixed}, then its pieces from {@code pieces}. */
    public interface ItemReader<T> {
        T read(FrameReader fixed, FrameReader pieces) throws MalformedFrameException;
    }

    /** A list whose items have a fixed part of at least {@code fixedMin} bytes. */
    public <T> List<T> list(int fixedMin, ItemReader<T> item) throws MalformedFrameException {
        int fixed = u16();
        long count = Integer.toUnsignedLong(u32());
        if (fixed < fixedMin) {
            throw new MalformedFrameException("a list has items of " + fixed + " bytes; it needs " + fixedMin);
        }
        if (count * fixed > remaining()) {
            throw new MalformedFrameException("a list of " + count + " items does not fit its frame");
        }
        List<T> items = new ArrayList<>((int) count);
        for (long i = 0; i < count; i++) {
            need(fixed);
            FrameReader part = new FrameReader(bytes, position, position + fixed);
            position += fixed;
            items.add(item.read(part, this));
        }
        return items;
    }

    private void need(int length) throws MalformedFrameException {
        if (length < 0 || length > remaining()) {
            throw new MalformedFrameException("a frame ends within a field");
        }
    }
}
