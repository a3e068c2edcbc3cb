package io.adjourn.client;

import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

/**
 * A copy of the whole queue as of one log entry, which the server holds ready for this client's connection: {@link Client#backup}.
 *
 * <p>Its bytes are those of a backup file up to the file's footer. To make backup files that can be restored, use the command
 * {@code adjourn backup create}.
 *
 * <p>It does not survive its connection: when that is lost, when this client takes another backup, and when nothing was read for ten
 * minutes, reads fail with {@link BackupLostException}, and another backup has to be taken.
 */
public final class Backup implements AutoCloseable {
    /** The most bytes that one call reads. */
    public static final int READ_BYTES_MAX = Limits.BACKUP_READ_BYTES_MAX;

    private static final int READS_AHEAD = 4;

    private final Session session;
    private final Response.BackupReady ready;

    Backup(Session session, Response.BackupReady ready) {
        this.session = session;
        this.ready = ready;
    }

    /** The last log entry in it. */
    public long index() {
        return ready.index();
    }

    /** How many jobs it has. */
    public long jobs() {
        return ready.jobs();
    }

    /** The hash of its state: the one in {@link QueueStats} at the same index. */
    public byte[] stateHash() {
        return ready.stateHash().clone();
    }

    /** How many bytes it has. */
    public long bytes() {
        return ready.bytes();
    }

    /**
     * Reads up to {@code length} bytes, at most {@link #READ_BYTES_MAX}, from the offset on. Returns fewer only at the end, and none
     * after it.
     */
    public byte[] read(long offset, int length) {
        return Client.await(ask(offset, length));
    }

    /** As {@link #read}, without waiting for the answer. Several reads may be under way at once. */
    public CompletableFuture<byte[]> readAsync(long offset, int length) {
        // What callers chain must not run in the thread that reads the socket.
        return ask(offset, length).thenApplyAsync(Function.identity());
    }

    /**
     * All of it, in order. The stream has a few reads under way while it is read. It throws the {@link AdjournException}s of
     * {@link #read}, and nothing but the same one afterwards.
     */
    public InputStream stream() {
        return new Stream();
    }

    /** Lets the server release it. A backup that is lost is closed already. */
    @Override
    public void close() {
        try {
            Client.await(session.submitOf(ready, new Request.BackupEnd()).future());
        } catch (BackupLostException | ServerException.NotFound | ClientClosedException e) {
            // The server has released it.
        }
    }

    private CompletableFuture<byte[]> ask(long offset, int length) {
        if (offset < 0 || length < 1 || length > READ_BYTES_MAX) {
            throw new UsageException("read 1 to " + READ_BYTES_MAX + " bytes from an offset that is not negative");
        }
        long expected = Math.max(0, Math.min(length, ready.bytes() - offset));
        return session.submitOf(ready, new Request.BackupRead(offset, length)).future().handle((answer, error) -> {
            if (error != null) {
                AdjournException cause = Client.unwrap(new CompletionException(error));
                throw cause instanceof ServerException.NotFound ? new BackupLostException("the server has released it", cause) : cause;
            }
            byte[] data = AsyncClient.expect(answer, Response.BackupData.class).data();
            if (data.length != expected) {
                throw new ProtocolException(data.length + " bytes of a backup instead of " + expected);
            }
            return data;
        });
    }

    private final class Stream extends InputStream {
        private final ArrayDeque<CompletableFuture<byte[]>> ahead = new ArrayDeque<>();
        /** All bytes before this offset were asked for. */
        private long asked;
        private byte[] part = new byte[0];
        private int position;
        private AdjournException failure;

        @Override
        public int read() {
            return hasMore() ? part[position++] & 0xff : -1;
        }

        @Override
        public int read(byte[] into, int offset, int length) {
            Objects.checkFromIndexSize(offset, length, into.length);
            if (length == 0) {
                return 0;
            }
            if (!hasMore()) {
                return -1;
            }
            int copied = Math.min(length, part.length - position);
            System.arraycopy(part, position, into, offset, copied);
            position += copied;
            return copied;
        }

        @Override
        public int available() {
            return part.length - position;
        }

        /** Whether there is a next byte; waits for its part. */
        private boolean hasMore() {
            if (position < part.length) {
                return true;
            }
            if (failure != null) {
                throw failure;
            }
            try {
                while (ahead.size() < READS_AHEAD && asked < ready.bytes()) {
                    int length = (int) Math.min(READ_BYTES_MAX, ready.bytes() - asked);
                    ahead.add(ask(asked, length));
                    asked += length;
                }
                CompletableFuture<byte[]> next = ahead.poll();
                part = next == null ? part : Client.await(next);
                position = next == null ? part.length : 0;
                return next != null;
            } catch (AdjournException e) {
                failure = e;
                throw e;
            }
        }
    }
}
