package io.adjourn.client.internal.session;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;

/** Opens byte streams to servers. */
public interface Dialer {
    /** Connects, within the time. */
    Stream dial(Address address, Duration timeout) throws IOException;

    /** A stream of bytes in both directions. {@link #close} ends a read that waits in another thread. */
    interface Stream extends Closeable {
        InputStream input() throws IOException;

        OutputStream output() throws IOException;

        /** The longest wait of one read; zero for no limit. */
        void readTimeout(Duration timeout) throws IOException;
    }
}
