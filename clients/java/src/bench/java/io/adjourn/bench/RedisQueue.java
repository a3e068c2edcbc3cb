package io.adjourn.bench;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

/**
 * A delay queue as it is usually built on Redis: a sorted set of ids by due time, a hash with the bodies, and a sorted set of
 * reserved ids by the time at which they are to be given back.
 */
final class RedisQueue implements Bench.Queue {
    /** KEYS: due, bodies, next id. ARGV: due time, bodies. */
    private static final String PUSH = """
            for i = 2, #ARGV do
                local id = redis.call('INCR', KEYS[3])
                redis.call('HSET', KEYS[2], id, ARGV[i])
                redis.call('ZADD', KEYS[1], ARGV[1], id)
            end
            return #ARGV - 1
            """;
    /** KEYS: due, bodies, reserved. ARGV: now, until, most. */
    private static final String TAKE = """
            local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
            local out = {}
            for _, id in ipairs(ids) do
                redis.call('ZREM', KEYS[1], id)
                redis.call('ZADD', KEYS[3], ARGV[2], id)
                out[#out + 1] = id
                out[#out + 1] = redis.call('HGET', KEYS[2], id)
            end
            return out
            """;
    /** KEYS: reserved, bodies. ARGV: id. */
    private static final String DONE = """
            redis.call('HDEL', KEYS[2], ARGV[1])
            return redis.call('ZREM', KEYS[1], ARGV[1])
            """;
    private static final long HOUR_MS = 3_600_000;
    private static final long LEASE_MS = 60_000;
    private static final String END = "";

    private final Connection redis;
    private final String prefix = "bench-" + System.nanoTime() + ":";
    private final String body = "x".repeat(Bench.BODY_BYTES);
    private final String push;
    private final String take;
    private final String done;

    RedisQueue(String host, int port) throws IOException {
        redis = new Connection(host, port);
        push = (String) redis.send("SCRIPT", "LOAD", PUSH).join();
        take = (String) redis.send("SCRIPT", "LOAD", TAKE).join();
        done = (String) redis.send("SCRIPT", "LOAD", DONE).join();
    }

    private CompletableFuture<Object> add(int jobs, long delayMs) {
        List<String> arguments = new ArrayList<>(List.of("EVALSHA", push, "3", prefix + "due", prefix + "bodies", prefix + "next",
                String.valueOf(System.currentTimeMillis() + delayMs)));
        arguments.addAll(Collections.nCopies(jobs, body));
        return redis.send(arguments.toArray(String[]::new));
    }

    @Override
    public void pushOne(int jobs) {
        for (int i = 0; i < jobs; i++) {
            add(1, HOUR_MS).join();
        }
    }

    @Override
    public void pushMany(int jobs) {
        push(jobs, HOUR_MS);
    }

    @Override
    public void prepare(int jobs) {
        push(jobs, 0);
    }

    private void push(int jobs, long delayMs) {
        ArrayDeque<CompletableFuture<?>> open = new ArrayDeque<>();
        for (int left = jobs; left > 0; left -= Bench.BATCH_JOBS) {
            if (open.size() == Bench.BATCHES) {
                open.remove().join();
            }
            open.add(add(Math.min(left, Bench.BATCH_JOBS), delayMs));
        }
        open.forEach(CompletableFuture::join);
    }

    /**
     * One poller hands the jobs to the handlers. As in the worker of this client, a handler does not wait until its job is
     * removed, and no more than so many jobs are taken and not removed.
     */
    @Override
    public void work(int jobs) throws InterruptedException {
        BlockingQueue<String> taken = new ArrayBlockingQueue<>(Bench.TAKEN_JOBS - Bench.HANDLERS);
        Semaphore removing = new Semaphore(Bench.TAKEN_JOBS);
        List<Thread> handlers = new ArrayList<>();
        for (int i = 0; i < Bench.HANDLERS; i++) {
            Thread handler = new Thread(() -> handle(taken, removing));
            handler.start();
            handlers.add(handler);
        }
        for (int left = jobs; left > 0;) {
            long now = System.currentTimeMillis();
            List<?> some = (List<?>) redis.send("EVALSHA", take, "3", prefix + "due", prefix + "bodies", prefix + "reserved",
                    String.valueOf(now), String.valueOf(now + LEASE_MS), String.valueOf(Bench.TAKEN_JOBS)).join();
            if (some.isEmpty()) {
                throw new IllegalStateException(left + " jobs are missing");
            }
            for (int i = 0; i < some.size(); i += 2) {
                taken.put((String) some.get(i));
                left--;
            }
        }
        for (int i = 0; i < Bench.HANDLERS; i++) {
            taken.put(END);
        }
        for (Thread handler : handlers) {
            handler.join();
        }
        // All have been removed.
        removing.acquire(Bench.TAKEN_JOBS);
    }

    private void handle(BlockingQueue<String> taken, Semaphore removing) {
        try {
            for (String id = taken.take(); !id.equals(END); id = taken.take()) {
                removing.acquire();
                redis.send("EVALSHA", done, "2", prefix + "reserved", prefix + "bodies", id).thenRun(removing::release);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() throws IOException {
        redis.socket.close();
    }

    /** Sends commands without waiting for answers in between: a page of RESP 2. */
    private static final class Connection {
        private final Socket socket;
        private final BlockingQueue<byte[]> out = new LinkedBlockingQueue<>();
        private final ArrayDeque<CompletableFuture<Object>> open = new ArrayDeque<>();

        Connection(String host, int port) throws IOException {
            socket = new Socket(host, port);
            socket.setTcpNoDelay(true);
            start(this::write);
            start(this::read);
        }

        private interface Loop {
            void run() throws Exception;
        }

        private void start(Loop loop) {
            Thread thread = new Thread(() -> {
                try {
                    loop.run();
                } catch (Exception e) {
                    synchronized (open) {
                        open.forEach(one -> one.completeExceptionally(e));
                    }
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        CompletableFuture<Object> send(String... arguments) {
            StringBuilder text = new StringBuilder("*" + arguments.length + "\r\n");
            for (String argument : arguments) {
                text.append('$').append(argument.length()).append("\r\n").append(argument).append("\r\n");
            }
            CompletableFuture<Object> answer = new CompletableFuture<>();
            byte[] command = text.toString().getBytes(StandardCharsets.ISO_8859_1);
            synchronized (open) {
                open.add(answer);
                out.add(command);
            }
            return answer;
        }

        private void write() throws Exception {
            OutputStream stream = new BufferedOutputStream(socket.getOutputStream(), 65_536);
            while (true) {
                byte[] next = out.poll();
                if (next == null) {
                    stream.flush();
                    next = out.take();
                }
                stream.write(next);
            }
        }

        private void read() throws Exception {
            InputStream in = new BufferedInputStream(socket.getInputStream(), 65_536);
            while (true) {
                Object value = value(in);
                CompletableFuture<Object> answer;
                synchronized (open) {
                    answer = open.remove();
                }
                if (value instanceof IOException refused) {
                    answer.completeExceptionally(refused);
                } else {
                    answer.complete(value);
                }
            }
        }

        private static Object value(InputStream in) throws IOException {
            String line = line(in);
            String rest = line.substring(1);
            switch (line.charAt(0)) {
                case '+':
                    return rest;
                case '-':
                    return new IOException("redis: " + rest);
                case ':':
                    return Long.parseLong(rest);
                case '$':
                    int length = Integer.parseInt(rest);
                    return length < 0 ? null : new String(in.readNBytes(length + 2), 0, length, StandardCharsets.ISO_8859_1);
                case '*':
                    List<Object> list = new ArrayList<>();
                    for (int i = Integer.parseInt(rest); i > 0; i--) {
                        list.add(value(in));
                    }
                    return list;
                default:
                    throw new IOException("no value of RESP: " + line);
            }
        }

        private static String line(InputStream in) throws IOException {
            StringBuilder line = new StringBuilder();
            for (int c = in.read(); c != '\r'; c = in.read()) {
                if (c < 0) {
                    throw new IOException("the connection is lost");
                }
                line.append((char) c);
            }
            in.read();
            return line.toString();
        }
    }
}
