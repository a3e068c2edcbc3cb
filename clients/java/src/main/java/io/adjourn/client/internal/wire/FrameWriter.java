package io.adjourn.client.internal.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Appends little-endian fields to a growing buffer. */
public final class FrameWriter {
    private static final VarHandle U16 = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle U32 = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle U64 = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

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

    /** Writes the head of a frame. Returns where it begins. */
    public int begin(int opcode, int requestId) {
        int start = size;
        u32(0).u32(opcode & 0xff).u32(requestId);
        return start;
    }

    /** Writes the length of the frame that begins there, and ends here. */
    public void end(int start) {
        setU32(start, size - start - 4);
    }

    public FrameWriter u8(int value) {
        room(1);
        bytes[size++] = (byte) value;
        return this;
    }

    public FrameWriter u16(int value) {
        room(2);
        U16.set(bytes, size, (short) value);
        size += 2;
        return this;
    }

    public FrameWriter u32(int value) {
        room(4);
        U32.set(bytes, size, value);
        size += 4;
        return this;
    }

    public FrameWriter u64(long value) {
        room(8);
        U64.set(bytes, size, value);
        size += 8;
        return this;
    }

    public FrameWriter raw(byte[] value) {
        room(value.length);
        System.arraycopy(value, 0, bytes, size, value.length);
        size += value.length;
        return this;
    }

    public FrameWriter text8(String text) {
        byte[] utf8 = utf8(text);
        return length8(utf8.length).raw(utf8);
    }

    public FrameWriter text16(String text) {
        return bytes16(utf8(text));
    }

    public FrameWriter bytes16(byte[] value) {
        return length16(value.length).raw(value);
    }

    public FrameWriter bytes32(byte[] value) {
        return u32(value.length).raw(value);
    }

    public FrameWriter length8(int length) {
        return u8(fitting(length, 0xff));
    }

    public FrameWriter length16(int length) {
        return u16(fitting(length, 0xffff));
    }

    public FrameWriter length32(int length) {
        return u32(length);
    }

    /** Text up to the end. */
    public FrameWriter rest(String text) {
        return raw(utf8(text));
    }

    /** Numbers of 32 bits up to the end. */
    public FrameWriter rest(List<Long> numbers) {
        numbers.forEach(number -> u32((int) (long) number));
        return this;
    }

    /** The head of a list: the size of each item's fixed part, and the number of items. */
    public FrameWriter list(int fixed, int count) {
        return u16(fixed).u32(count);
    }

    /** A list of texts. */
    public FrameWriter texts(List<String> texts) {
        list(1, texts.size());
        texts.forEach(this::text8);
        return this;
    }

    /** A list of numbers of 16 bits. */
    public FrameWriter numbers(List<Integer> numbers) {
        list(2, numbers.size());
        numbers.forEach(this::u16);
        return this;
    }

    /** Writes a number into bytes that stand already. */
    public void setU32(int position, int value) {
        U32.set(bytes, position, value);
    }

    public static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Whether a number of so many bytes is another than 0. */
    public static boolean isSet(byte[] number) {
        for (byte one : number) {
            if (one != 0) {
                return true;
            }
        }
        return false;
    }

    /** A length that must fit its field. */
    static int fitting(int length, int max) {
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
