package io.adjourn.client.internal.session;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;

/** Plain TCP. */
public final class TcpDialer implements Dialer {
    @Override
    public Stream dial(Address address, Duration timeout) throws IOException {
        Socket socket = new Socket();
        try {
            // 0 would be: for ever.
            socket.connect(new InetSocketAddress(address.host(), address.port()), (int) Math.max(1, timeout.toMillis()));
            socket.setTcpNoDelay(true);
            if (socket.getLocalSocketAddress().equals(socket.getRemoteSocketAddress())) {
                throw new ConnectException("TCP connected the socket to itself: nothing listens there");
            }
            return new TcpStream(socket);
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private record TcpStream(Socket socket) implements Stream {
        @Override
        public InputStream input() throws IOException {
            return socket.getInputStream();
        }

        @Override
        public OutputStream output() throws IOException {
            return socket.getOutputStream();
        }

        @Override
        public void readTimeout(Duration timeout) throws IOException {
            socket.setSoTimeout((int) timeout.toMillis());
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
