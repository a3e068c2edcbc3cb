package io.adjourn.bench;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Measures what this client and a plain Redis client take for the same work. */
public final class Bench {
    static final int BODY_BYTES = 64;
    static final int BATCH_JOBS = 64;
    /** How many batches are on their way at once. */
    static final int BATCHES = 16;
    static final int HANDLERS = 8;
    /** What a worker takes at once, with the jobs that its handlers work on. */
    static final int TAKEN_JOBS = 64;

    /** A queue to measure. */
    interface Queue extends AutoCloseable {
        /** Pushes jobs that are due in an hour, one after the other. */
        void pushOne(int jobs) throws Exception;

        /** Pushes such jobs in batches, without waiting for one before it sends the next. */
        void pushMany(int jobs) throws Exception;

        /** Pushes jobs that are due now. */
        void prepare(int jobs) throws Exception;

        /** Starts a worker, and returns when all jobs are finished at the server. */
        void work(int jobs) throws Exception;
    }

    private interface Connect {
        Queue to(String host, int port) throws Exception;
    }

    private record System(String needs, Connect connect) {
    }

    private static final Map<String, System> SYSTEMS = new TreeMap<>(Map.of(
            "adjourn", new System("adjourn", AdjournQueue::new),
            "redis-zset", new System("redis", RedisQueue::new)));

    private Bench() {
    }

    /** {@code systems}, or {@code run NAME WORK HOST:PORT JOBS}. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("systems")) {
            SYSTEMS.forEach((name, system) -> java.lang.System.out.println(name + " " + system.needs));
        } else if (arguments.length == 5 && arguments[0].equals("run") && SYSTEMS.containsKey(arguments[1])) {
            run(arguments[1], arguments[2], arguments[3], Integer.parseInt(arguments[4]));
        } else {
            java.lang.System.err.println("usage: bench systems | bench run NAME WORK HOST:PORT JOBS");
            java.lang.System.exit(2);
        }
    }

    private static void run(String name, String work, String address, int jobs) throws Exception {
        int colon = address.lastIndexOf(':');
        try (Queue queue = SYSTEMS.get(name).connect.to(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)))) {
            if (work.equals("work")) {
                queue.prepare(jobs);
            }
            long began = java.lang.System.nanoTime();
            switch (work) {
                case "push-one" -> queue.pushOne(jobs);
                case "push-many" -> queue.pushMany(jobs);
                case "work" -> queue.work(jobs);
                default -> throw new IllegalArgumentException("no work " + work);
            }
            double seconds = (java.lang.System.nanoTime() - began) / 1e9;
            java.lang.System.out.printf(Locale.ROOT, "{\"system\": \"%s\", \"work\": \"%s\", \"jobs\": %d, \"seconds\": %.6f}%n",
                    name, work, jobs, seconds);
        }
    }
}
