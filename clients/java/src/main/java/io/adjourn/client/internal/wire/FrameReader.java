package io.adjourn.client.internal.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Reads little-endian fields within strict bounds. What it does not read is skipped. */
public final class FrameReader {
    private static final VarHandle U16 = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle U32 = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle U64 = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final byte[] bytes;
    private int end;
    private int position;

    public FrameReader(byte[] bytes) {
        this.bytes = bytes;
        this.end = bytes.length;
    }

    public int remaining() {
        return end - position;
    }

    /** Whether the frame, or the fixed part of the item, ends here: what an older peer does not send is absent. */
    public boolean isOver() {
        return position == end;
    }

    public int u8() throws MalformedFrameException {
        return bytes[take(1)] & 0xff;
    }

    public int u16() throws MalformedFrameException {
        return Short.toUnsignedInt((short) U16.get(bytes, take(2)));
    }

    public int u32() throws MalformedFrameException {
        return (int) U32.get(bytes, take(4));
    }

    /** A number of 32 bits as one that is never negative. */
    public long u32Unsigned() throws MalformedFrameException {
        return Integer.toUnsignedLong(u32());
    }

    /** A number of a choice: one above the greatest known one is read as {@code newer}. */
    static int known(int read, int greatest, int newer) {
        return Integer.compareUnsigned(read, greatest) > 0 ? newer : read;
    }

    public long u64() throws MalformedFrameException {
        return (long) U64.get(bytes, take(8));
    }

    public byte[] raw(int length) throws MalformedFrameException {
        int from = take(length);
        return Arrays.copyOfRange(bytes, from, from + length);
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

    public String text(int length) throws MalformedFrameException {
        int from = take(length);
        for (int i = from; i < position; i++) {
            if (bytes[i] < 0) {
                return utf8(from, length);
            }
        }
        return new String(bytes, from, length, StandardCharsets.ISO_8859_1);
    }

    private String utf8(int from, int length) throws MalformedFrameException {
        try {
            return StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT).decode(ByteBuffer.wrap(bytes, from, length)).toString();
        } catch (CharacterCodingException e) {
            throw new MalformedFrameException("a text is not UTF-8");
        }
    }

    /** So many texts behind a length of one byte each. */
    public List<String> texts8(int count) throws MalformedFrameException {
        String[] texts = new String[count];
        for (int i = 0; i < count; i++) {
            texts[i] = text8();
        }
        return List.of(texts);
    }

    // ---- up to the end

    public byte[] rest() throws MalformedFrameException {
        return raw(remaining());
    }

    public String restText() throws MalformedFrameException {
        return text(remaining());
    }

    /** Numbers of 32 bits up to the end. */
    public List<Long> restNumbers() throws MalformedFrameException {
        List<Long> numbers = new ArrayList<>(remaining() / 4);
        while (!isOver()) {
            numbers.add(u32Unsigned());
        }
        return numbers;
    }

    /** One byte that is 1. */
    public boolean flag() throws MalformedFrameException {
        return u8() == 1;
    }

    // ---- lists

    /** The size of the fixed part of each item of a list, which begins here. */
    public int fixed(int min) throws MalformedFrameException {
        int fixed = u16();
        if (fixed < min) {
            throw new MalformedFrameException("a list has items of " + fixed + " bytes; it needs " + min);
        }
        return fixed;
    }

    /** The number of items: no more than there can be. */
    public int size(int fixed) throws MalformedFrameException {
        long count = u32Unsigned();
        if (count * fixed > remaining()) {
            throw new MalformedFrameException("a list of " + count + " items does not fit its frame");
        }
        return (int) count;
    }

    /** Reads no further than the fixed part of an item, which begins here. Returns what {@link #endFixed} needs. */
    public int beginFixed(int fixed) throws MalformedFrameException {
        int outer = end;
        int from = take(fixed);
        end = position;
        position = from;
        return outer;
    }

    /** Goes to the end of the fixed part. */
    public void endFixed(int outer) {
        position = end;
        end = outer;
    }

    /** A list of texts. */
    public List<String> texts() throws MalformedFrameException {
        int fixed = fixed(1);
        String[] texts = new String[size(fixed)];
        for (int i = 0; i < texts.length; i++) {
            int outer = beginFixed(fixed);
            int length = u8();
            endFixed(outer);
            texts[i] = text(length);
        }
        return List.of(texts);
    }

    /** A list of numbers of 16 bits. */
    public List<Integer> numbers() throws MalformedFrameException {
        int fixed = fixed(2);
        Integer[] numbers = new Integer[size(fixed)];
        for (int i = 0; i < numbers.length; i++) {
            int outer = beginFixed(fixed);
            numbers[i] = u16();
            endFixed(outer);
        }
        return List.of(numbers);
    }

    /** Goes on behind so many bytes. Returns where they begin. */
    private int take(int length) throws MalformedFrameException {
        int from = position;
        if (length < 0 || length > end - from) {
            throw new MalformedFrameException("a frame ends within a field");
        }
        position = from + length;
        return from;
    }
}
