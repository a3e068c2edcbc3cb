package io.adjourn.client.internal.wire;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Appends little-endian fields to a growing buffer. */
public final class FrameWriter {
    private byte[] bytes;
    private int size;

    public FrameWriter(int capacity) {
        bytes = new byte[Math.max(16, capacity)];
    }

    public FrameWriter() {
        this(256);
    }

    public int size() {
        return size;
    }

    /** The buffer itself; the first {@link #size()} bytes count. */
    public byte[] buffer() {
        return bytes;
    }

    public byte[] toBytes() {
        return Arrays.copyOf(bytes, size);
    }

    public void clear() {
        size = 0;
    }

    /** Takes back everything that was written after the first {@code newSize} bytes. */
    public void truncate(int newSize) {
        size = Math.min(size, newSize);
    }

    public FrameWriter u8(int value) {
        room(1);
        bytes[size++] = (byte) value;
        return this;
    }

    public FrameWriter u16(int value) {
        return u8(value).u8(value >>> 8);
    }

    public FrameWriter u32(int value) {
        return u16(value).u16(value >>> 16);
    }

    public FrameWriter u64(long value) {
        return u32((int) value).u32((int) (value >>> 32));
    }

    public FrameWriter raw(byte[] value) {
        room(value.length);
        System.arraycopy(value, 0, bytes, size, value.length);
        size += value.length;
        return this;
    }

    public FrameWriter text8(String text) {
        byte[] utf8 = utf8(text);
        return u8(length(utf8.length, 0xff)).raw(utf8);
    }

    public FrameWriter text16(String text) {
        return bytes16(utf8(text));
    }

    public FrameWriter bytes16(byte[] value) {
        return u16(length(value.length, 0xffff)).raw(value);
    }

    /** The head of a list: the size of each item's fixed part, and the number of items. */
    public FrameWriter list(int fixed, int count) {
        return u16(fixed).u32(count);
    }

    /** Writes a number into bytes that stand already. */
    public void setU32(int position, int value) {
        for (int i = 0; i < 4; i++) {
            bytes[position + i] = (byte) (value >>> (8 * i));
        }
    }

    public static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** A length that must fit its field. */
    static int length(int length, int max) {
        if (length > max) {
            throw new FieldTooLongException(length, max);
        }
        return length;
    }

    private void room(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, more), (int) Math.min(1L << 30, bytes.length * 2L)));
        }
    }
}
