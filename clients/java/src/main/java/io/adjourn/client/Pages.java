package io.adjourn.client;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** The pages of a list, or the steps of a bulk change: each is fetched when it is asked for. */
final class Pages<T> implements Iterator<List<T>> {
    /**
     * One page.
     *
     * @param items what is on it
     * @param cursor where the next one begins; empty on the last one
     */
    record Page<T>(List<T> items, byte[] cursor) {
    }

    private final Function<byte[], Page<T>> fetch;
    private byte[] cursor = new byte[0];
    private boolean isOver;

    private Pages(Function<byte[], Page<T>> fetch) {
        this.fetch = fetch;
    }

    /** The items of all pages. The first page is fetched with an empty cursor. */
    static <T> Stream<T> stream(Function<byte[], Page<T>> fetch) {
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(new Pages<>(fetch), Spliterator.ORDERED), false).flatMap(List::stream);
    }

    @Override
    public boolean hasNext() {
        return !isOver;
    }

    @Override
    public List<T> next() {
        if (isOver) {
            throw new NoSuchElementException();
        }
        Page<T> page = fetch.apply(cursor);
        cursor = page.cursor;
        isOver = cursor.length == 0;
        return page.items;
    }
}
