package io.adjourn.client.internal.session;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** TCP, and TLS 1.3 over it if there is a context. The certificate of a server must be for the host that is dialled. */
public final class TcpDialer implements Dialer {
    private static final long MS = 1_000_000L;

    private final SSLContext tls;

    /** {@code null} for plain connections. */
    public TcpDialer(SSLContext tls) {
        this.tls = tls;
    }

    @Override
    public Stream dial(Address address, Duration timeout) throws IOException {
        BoundedSocket socket = new BoundedSocket(System.nanoTime() + timeout.toNanos());
        try {
            // 0 would be: for ever.
            socket.connect(new InetSocketAddress(address.host(), address.port()), (int) Math.max(1, timeout.toMillis()));
            socket.setTcpNoDelay(true);
            if (socket.getLocalSocketAddress().equals(socket.getRemoteSocketAddress())) {
                throw new ConnectException("TCP connected the socket to itself: nothing listens there");
            }
            Socket spoken = tls == null ? socket : secure(socket, address);
            socket.isBounded = false;
            return new TcpStream(socket, spoken);
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private SSLSocket secure(Socket socket, Address address) throws IOException {
        SSLSocket secured = (SSLSocket) tls.getSocketFactory().createSocket(socket, address.host(), address.port(), true);
        SSLParameters parameters = secured.getSSLParameters();
        parameters.setProtocols(new String[] {"TLSv1.3"});
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        secured.setSSLParameters(parameters);
        secured.startHandshake();
        return secured;
    }

    /** A socket whose reads have a deadline together, as long as it is bounded: those of a handshake. */
    private static final class BoundedSocket extends Socket {
        private final long deadline;
        private volatile boolean isBounded = true;

        BoundedSocket(long deadline) {
            this.deadline = deadline;
        }

        @Override
        public InputStream getInputStream() throws IOException {
            return new FilterInputStream(super.getInputStream()) {
                @Override
                public int read(byte[] buffer, int offset, int length) throws IOException {
                    if (isBounded) {
                        long leftMs = (deadline - System.nanoTime()) / MS;
                        if (leftMs <= 0) {
                            throw new SocketTimeoutException("the handshake was not over in time");
                        }
                        setSoTimeout((int) leftMs);
                    }
                    return super.read(buffer, offset, length);
                }
            };
        }
    }

    /** What is spoken over a socket: the socket itself, or TLS. */
    private record TcpStream(Socket socket, Socket spoken) implements Stream {
        @Override
        public InputStream input() throws IOException {
            return spoken.getInputStream();
        }

        @Override
        public OutputStream output() throws IOException {
            return spoken.getOutputStream();
        }

        @Override
        public void readTimeout(Duration timeout) throws IOException {
            socket.setSoTimeout((int) timeout.toMillis());
        }

        /** Without a farewell of TLS, which would wait for a write that hangs. GOODBYE was said before. */
        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
