package io.adjourn.client;

import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Opcode;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.function.Consumer;

/** A server that says what a test tells it to. Each connection is handled by the next script. */
final class ScriptedServer implements Closeable {
    interface Script {
        void run(Peer peer) throws IOException;
    }

    record Request(int opcode, int id, byte[] payload) {
        boolean is(Opcode wanted) {
            return opcode == wanted.number();
        }

        /** The u64 at this place of the payload. */
        long u64(int at) {
            long value = 0;
            for (int i = 7; i >= 0; i--) {
                value = value << 8 | payload[at + i] & 0xff;
            }
            return value;
        }
    }

    private final ServerSocket listener;
    private volatile Socket current;

    ScriptedServer(Script... scripts) {
        try {
            listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread thread = new Thread(() -> run(scripts));
        thread.setDaemon(true);
        thread.start();
    }

    String address() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    private void run(Script... scripts) {
        for (Script script : scripts) {
            try (Socket socket = listener.accept()) {
                current = socket;
                socket.setTcpNoDelay(true);
                script.run(new Peer(socket));
            } catch (IOException e) {
                // The client, or the test, closed the connection.
            }
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        if (current != null) {
            current.close();
        }
    }

    /** The other end of one connection. */
    static final class Peer {
        private final DataInputStream in;
        private final OutputStream out;
        /** How many came. */
        int pings;

        Peer(Socket socket) throws IOException {
            in = new DataInputStream(socket.getInputStream());
            out = socket.getOutputStream();
        }

        /** The next request that is no question of the client's own. */
        Request next() throws IOException {
            while (true) {
                int length = Integer.reverseBytes(in.readInt());
                byte[] rest = in.readNBytes(length);
                int id = rest[4] & 0xff | (rest[5] & 0xff) << 8 | (rest[6] & 0xff) << 16;
                Request request = new Request(rest[0] & 0xff, id, java.util.Arrays.copyOfRange(rest, 8, length));
                if (request.is(Opcode.PING)) {
                    pings++;
                    send(Opcode.PONG, id, body -> body.u64(1).u64(1));
                } else if (!request.is(Opcode.CLUSTER_STATUS)) {
                    return request;
                }
            }
        }

        Request next(Opcode wanted) throws IOException {
            Request request = next();
            if (!request.is(wanted)) {
                throw new IOException("expected " + wanted + ", not " + request.opcode);
            }
            return request;
        }

        /** Answers HELLO. Marks: 1 resumed, 2 leases kept. */
        Request welcome(long session, int marks) throws IOException {
            return welcome(session, marks, 400, 2_000);
        }

        Request welcome(long session, int marks, int heartbeatMs, int graceMs) throws IOException {
            Request hello = next(Opcode.HELLO);
            send(Opcode.WELCOME, hello.id, body -> body.u16(1).u8(marks).raw(new byte[16]).u64(session).raw(new byte[16])
                    .u32(heartbeatMs).u32(graceMs).u32(100_000).u32(90_000).u32(100).u32(100).u32(100).u32(100).text8("script").list(10, 0).u64(1));
            return hello;
        }

        void send(Opcode opcode, int id, Consumer<FrameWriter> body) throws IOException {
            raw(frame(opcode.number(), id, body));
        }

        void error(int id, ErrorCode code, boolean retryable, int applied, int retryAfterMs) throws IOException {
            send(Opcode.ERROR, id, body -> body.u16(code.number()).u8(retryable ? 1 : 0).u8(applied).u32(retryAfterMs).text8("")
                    .text16("scripted"));
        }

        void pushed(int id, long... jobs) throws IOException {
            send(Opcode.PUSHED, id, body -> {
                body.list(11, jobs.length);
                for (long job : jobs) {
                    body.u8(0).u16(0).u64(job);
                }
            });
        }

        void raw(byte[] bytes) throws IOException {
            out.write(bytes);
            out.flush();
        }

        static byte[] frame(int opcode, int id, Consumer<FrameWriter> body) {
            FrameWriter writer = new FrameWriter().u32(0).u8(opcode).u8(0).u8(0).u8(0).u32(id);
            body.accept(writer);
            writer.setU32(0, writer.size() - 4);
            return writer.toBytes();
        }

        /** Reads until the client closes. */
        void untilEnd() throws IOException {
            while (true) {
                next();
            }
        }
    }
}
