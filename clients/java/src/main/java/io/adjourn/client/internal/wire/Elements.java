package io.adjourn.client.internal.wire;

import io.adjourn.client.ProtocolException;
import io.adjourn.client.internal.Millis;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Tagged elements: attributes, conditions, settings. Those that this version does not know are kept. It cannot be changed. */
public final class Elements {
    public static final Elements NONE = new Elements(List.of());

    private static final int CRITICAL = 0x8000;
    private static final byte[] NO_BYTES = new byte[0];

    /** In rising order, but for the highest bit of the tag. */
    private final List<Element> elements;

    private Elements(List<Element> elements) {
        this.elements = elements;
    }

    /**
     * One element as it is on the wire.
     *
     * @param tag its tag
     * @param value its value, which must not be changed
     */
    public record Element(int tag, byte[] value) {
        private int order() {
            return tag & ~CRITICAL;
        }
    }

    /** How a value is read. */
    public interface Value<T> {
        T read(FrameReader in) throws MalformedFrameException;
    }

    // ---- values

    public static Element u8(int tag, int value) {
        return new Element(tag, new byte[] {(byte) value});
    }

    public static Element u32(int tag, long value) {
        return new Element(tag, new FrameWriter(16).u32(Millis.u32(value, "a value")).toBytes());
    }

    public static Element u64(int tag, long value) {
        return new Element(tag, new FrameWriter(16).u64(value).toBytes());
    }

    public static Element text(int tag, String value) {
        return new Element(tag, FrameWriter.utf8(value));
    }

    public static Element flag(int tag) {
        return u8(tag, 1);
    }

    // ---- other elements

    /** The same, with this element in place of those of its tag. */
    public Elements with(Element element) {
        return without(element.tag).and(element);
    }

    /** The same, with another element beside those of its tag. */
    public Elements and(Element element) {
        List<Element> all = new ArrayList<>(elements);
        all.add(element);
        all.sort(Comparator.comparingInt(Element::order));
        return new Elements(List.copyOf(all));
    }

    /** The same without elements of this tag. */
    public Elements without(int tag) {
        return new Elements(elements.stream().filter(element -> element.tag != tag).toList());
    }

    /** The same, with those of {@code change} in place of what has their tags; an empty one takes it away. */
    public Elements changedBy(Elements change) {
        Elements changed = this;
        for (Element element : change.elements) {
            changed = element.value.length == 0 ? changed.without(element.tag) : changed.with(element);
        }
        return changed;
    }

    // ---- reading

    public List<Element> all() {
        return elements;
    }

    /** The values of all elements of this tag. */
    public <T> List<T> all(int tag, Value<T> value) {
        return elements.stream().filter(element -> element.tag == tag).map(element -> read(element, value)).toList();
    }

    /** The value of the first element of this tag. */
    public <T> Optional<T> first(int tag, Value<T> value) {
        for (Element element : elements) {
            if (element.tag == tag) {
                return Optional.of(read(element, value));
            }
        }
        return Optional.empty();
    }

    /** The same of a setting: one without a value is none. */
    public <T> Optional<T> set(int tag, Value<T> value) {
        return isEmptyAt(tag) ? Optional.empty() : first(tag, value);
    }

    /** Whether there is an element of this tag with a value. */
    public boolean has(int tag) {
        return elements.stream().anyMatch(element -> element.tag == tag && element.value.length > 0);
    }

    /** Whether there is an element of this tag without a value. */
    public boolean isEmptyAt(int tag) {
        return elements.stream().anyMatch(element -> element.tag == tag && element.value.length == 0);
    }

    private static <T> T read(Element element, Value<T> value) {
        try {
            return value.read(new FrameReader(element.value));
        } catch (MalformedFrameException e) {
            throw new ProtocolException("the element " + element.tag + " cannot be decoded: " + e.getMessage(), e);
        }
    }

    // ---- the wire

    public byte[] encode() {
        if (elements.isEmpty()) {
            return NO_BYTES;
        }
        FrameWriter out = new FrameWriter(64);
        for (Element element : elements) {
            out.u16(element.tag).bytes16(element.value);
        }
        return out.toBytes();
    }

    public static Elements decode(byte[] bytes) throws MalformedFrameException {
        if (bytes.length == 0) {
            return NONE;
        }
        FrameReader in = new FrameReader(bytes);
        List<Element> elements = new ArrayList<>();
        while (!in.isOver()) {
            elements.add(new Element(in.u16(), in.bytes16()));
        }
        return new Elements(List.copyOf(elements));
    }
}
