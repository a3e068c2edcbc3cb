package io.adjourn.client;

import io.adjourn.client.internal.wire.Opcode;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Stands between a client and a server, and notes which requests pass. */
final class FrameRecorder implements AutoCloseable {
    private final ServerSocket listener;
    private final int server;
    private final Set<String> seen = ConcurrentHashMap.newKeySet();

    FrameRecorder(int server) {
        this.server = server;
        try {
            listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    String address() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    /** Whether a request of this name has passed. */
    boolean hasSeen(String request) {
        return seen.contains(request);
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = listener.accept();
            Socket peer = new Socket(InetAddress.getLoopbackAddress(), server);
            start(() -> {
                try (client; peer) {
                    peer.getInputStream().transferTo(client.getOutputStream());
                }
            });
            start(() -> {
                try (client; peer) {
                    pass(new DataInputStream(client.getInputStream()), peer.getOutputStream());
                }
            });
        }
    }

    private void pass(DataInputStream in, OutputStream out) throws IOException {
        while (true) {
            int length = in.readInt();
            byte[] rest = in.readNBytes(Integer.reverseBytes(length));
            seen.add(Opcode.of(rest[0]).name());
            byte[] head = {(byte) (length >>> 24), (byte) (length >>> 16), (byte) (length >>> 8), (byte) length};
            out.write(head);
            out.write(rest);
            out.flush();
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException e) {
                // One side has closed.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
