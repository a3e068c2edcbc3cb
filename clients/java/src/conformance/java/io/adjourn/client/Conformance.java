package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.json.JsonCodec;
import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Request;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The harness of the conformance suite: JSON commands on stdin, answers and events on stdout. */
public final class Conformance {
    private final PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true,
            StandardCharsets.UTF_8);
    private final ExecutorService pool = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });
    private final Map<String, Client> clients = new ConcurrentHashMap<>();
    private final Map<String, Subscription> subscriptions = new ConcurrentHashMap<>();
    private final Map<String, Worker> workers = new ConcurrentHashMap<>();
    private final Map<Long, CompletableFuture<List<Job>>> reserves = new ConcurrentHashMap<>();
    /** Done when the answer to the reserve of this command was written. */
    private final Map<Long, CompletableFuture<?>> reservesSaid = new ConcurrentHashMap<>();

    private Conformance() {
    }

    /** Runs until the end of stdin. */
    public static void main(String[] arguments) throws IOException {
        Conformance harness = new Conformance();
        Runtime.getRuntime().addShutdownHook(new Thread(harness::shutDown));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            if (!line.isBlank()) {
                harness.start(Json.of(JsonCodec.parse(line)));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private void shutDown() {
        List<Thread> stopping = new ArrayList<>();
        workers.values().forEach(worker -> stopping.add(new Thread(() -> worker.stop(Duration.ofSeconds(5)))));
        stopping.forEach(Thread::start);
        for (Thread thread : stopping) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        clients.values().forEach(client -> client.close(Duration.ofSeconds(2)));
        Runtime.getRuntime().halt(0);
    }

    private void say(Map<String, ?> line) {
        String text = JsonCodec.text(line);
        synchronized (out) {
            out.println(text);
        }
    }

    private void start(Json command) {
        Object id = command.get("id");
        CompletableFuture<? extends Object> done;
        try {
            done = run(command);
        } catch (Exception e) {
            done = CompletableFuture.failedFuture(e);
        }
        CompletableFuture<?> said = done.whenComplete((ok, error) -> {
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("id", id);
            if (error == null) {
                answer.put("ok", ok == null ? Map.of() : ok);
            } else {
                answer.put("error", error(error));
            }
            say(answer);
        });
        if (command.text("do").equals("reserve")) {
            long number = command.number("id");
            reservesSaid.put(number, said);
            said.whenComplete((ok, error) -> {
                reserves.remove(number);
                reservesSaid.remove(number);
            });
        }
    }

    private static Map<String, Object> error(Throwable thrown) {
        Throwable error = thrown;
        while (error.getCause() != null && !(error instanceof AdjournException)) {
            error = error.getCause();
        }
        Map<String, Object> json = new LinkedHashMap<>();
        if (error instanceof AdjournException known) {
            json.put("code", known.code());
            json.put("retryable", known.retryable());
            json.put("applied", known.applied() == Applied.NO ? "no" : "unknown");
            if (!known.retryAfter().isZero()) {
                json.put("retry_after_ms", known.retryAfter().toMillis());
            }
            if (known instanceof ServerException refusal && refusal.existingJob() != 0) {
                json.put("job", id(refusal.existingJob()));
            }
        } else if (error instanceof CancellationException) {
            json.put("code", "CANCELLED");
            json.put("retryable", false);
            json.put("applied", "no");
        } else {
            json.put("code", error instanceof MalformedFrameException ? "PROTOCOL" : "USAGE");
            json.put("retryable", false);
            json.put("applied", "no");
        }
        json.put("message", String.valueOf(error.getMessage()));
        return json;
    }

    private <T> CompletableFuture<T> later(Callable<T> work) {
        CompletableFuture<T> done = new CompletableFuture<>();
        pool.execute(() -> {
            try {
                done.complete(work.call());
            } catch (Throwable e) {
                done.completeExceptionally(e);
            }
        });
        return done;
    }

    private CompletableFuture<? extends Object> run(Json c) throws MalformedFrameException {
        return switch (c.text("do")) {
            case "about" -> now(Map.of("client", "adjourn-client (java) 0.1.0", "levels",
                    List.of("codec", "producer", "consumer", "worker", "operator", "cluster"), "codec",
                    List.of("encode_request", "decode_response", "decode_request")));
            case "encode" -> now(Map.of("bytes", Json.base64(FrameJson.encodeRequest(c.object("frame")))));
            case "decode" -> now(Map.of("frame", c.text("side").equals("request")
                    ? FrameJson.decodeRequest(c.bytes("bytes")) : FrameJson.decodeResponse(c.bytes("bytes"))));
            case "connect" -> connect(c);
            case "push" -> client(c).pushAllAsync(c.text("topic"), c.objects("jobs").stream().map(Conformance::newJob).toList())
                    .thenApply(results -> Map.of("results", results.stream().map(Conformance::pushed).toList()));
            case "get" -> later(() -> Map.of("job", shown(client(c).get(reference(c)))));
            case "delete" -> later(() -> Map.of("job", id(client(c).delete(reference(c)).job())));
            case "list" -> later(() -> Map.of("jobs", client(c).list(filter(c),
                    ListOrder.values()[c.u32("order")], c.has("jobs_max") ? c.u32("jobs_max") : 1_024,
                    Boolean.TRUE.equals(c.get("with_bodies"))).map(Conformance::shown).toList()));
            case "count" -> later(() -> count(c));
            case "close" -> later(() -> {
                client(c).close();
                return Map.of();
            });
            case "reserve" -> reserve(c);
            case "cancel" -> cancel(c);
            case "finish" -> settle(c, Request.Finish::new);
            case "bury" -> settle(c, leases -> new Request.Bury(leases, c.text("reason")));
            case "release" -> settle(c, leases -> new Request.Release(how(c).delayMs(), leases, c.text("reason")));
            case "touch" -> settle(c, leases -> new Request.Touch(c.u32("ttr_ms"), leases));
            case "subscribe" -> later(() -> {
                subscriptions.put(c.text("subscription"), client(c).subscribe(shares(c), c.u32("credit_jobs"),
                        c.has("credit_bytes") ? c.u64("credit_bytes") : 268_435_456));
                return Map.of();
            });
            case "next" -> later(() -> {
                Job job = subscriptions.get(c.text("subscription")).poll(millis(c, "wait_ms"));
                Map<String, Object> answer = new LinkedHashMap<>();
                answer.put("job", job == null ? null : delivered(job));
                return answer;
            });
            case "unsubscribe" -> later(() -> {
                subscriptions.get(c.text("subscription")).close();
                return Map.of();
            });
            case "worker_start" -> later(() -> startWorker(c));
            case "worker_stop" -> later(() -> {
                workers.get(c.text("worker")).stop(millis(c, "deadline_ms"));
                return Map.of();
            });
            case "health" -> now(Map.of("consuming", workers.get(c.text("worker")).health().consuming()));
            default -> later(() -> Operator.run(client(c), c));
        };
    }

    private static CompletableFuture<Object> now(Object value) {
        return CompletableFuture.completedFuture(value);
    }

    private Client client(Json c) {
        Client client = clients.get(c.text("client"));
        if (client == null) {
            throw new UsageException("no such client: " + c.text("client"));
        }
        return client;
    }

    private CompletableFuture<Map<String, Object>> connect(Json c) {
        ClientBuilder builder = Client.builder().token(c.bytes("token")).leasesOutlive(Boolean.TRUE.equals(c.get("leases_outlive")))
                .withoutSession(Boolean.FALSE.equals(c.get("session")));
        c.texts("addresses").forEach(builder::address);
        if (c.has("tls")) {
            Json tls = c.object("tls");
            builder.tlsCa(path(tls, "ca")).tlsCertificate(path(tls, "certificate"), path(tls, "key"));
        }
        if (c.has("name")) {
            builder.name(c.text("name"));
        }
        if (c.has("heartbeat_ms")) {
            builder.heartbeat(millis(c, "heartbeat_ms"));
        }
        if (c.has("request_timeout_ms")) {
            builder.requestTimeout(millis(c, "request_timeout_ms"));
        }
        Duration wait = c.has("connect_timeout_ms") ? millis(c, "connect_timeout_ms") : Duration.ofSeconds(10);
        Client client = builder.build();
        Client before = clients.put(c.text("client"), client);
        return later(() -> {
            if (before != null) {
                before.close(Duration.ZERO);
            }
            try {
                client.awaitConnected(wait);
            } catch (AdjournException e) {
                client.close(Duration.ZERO);
                throw e;
            }
            return Map.of();
        });
    }

    private static Path path(Json tls, String name) {
        return tls.has(name) ? Path.of(tls.text(name)) : null;
    }

    private CompletableFuture<Map<String, Object>> settle(Json c, java.util.function.Function<List<Lease>, Request> request) {
        return client(c).settle(c.leases(), request, true).thenApply(results -> Map.of("results",
                results.stream().map(result -> result.ok() ? Map.of() : Map.of("error", error(result.error()))).toList()));
    }

    private CompletableFuture<Map<String, Object>> reserve(Json c) {
        CompletableFuture<List<Job>> jobs = client(c).reserveAsync(shares(c), c.has("jobs_max") ? c.u32("jobs_max") : 1,
                millis(c, "wait_ms"));
        reserves.put(c.number("id"), jobs);
        return jobs.thenApply(some -> Map.of("jobs", some.stream().map(Conformance::delivered).toList()));
    }

    private CompletableFuture<? extends Object> cancel(Json c) {
        CompletableFuture<?> said = reservesSaid.get(c.number("command"));
        CompletableFuture<List<Job>> waiting = reserves.get(c.number("command"));
        if (waiting == null || said == null) {
            return now(Map.of());
        }
        waiting.cancel(false);
        return said.handle((ok, error) -> Map.of());
    }

    private static Release how(Json c) {
        return switch (c.text("how")) {
            case "after" -> Release.after(millis(c, "delay_ms"));
            case "not_started" -> Release.NOT_STARTED;
            case "parked" -> Release.parked(millis(c, "delay_ms"));
            default -> Release.BACKOFF;
        };
    }

    private static List<TopicShare> shares(Json c) {
        List<String> topics = c.texts("topics");
        List<Integer> weights = c.numbers("weights");
        List<TopicShare> shares = new ArrayList<>();
        for (int i = 0; i < topics.size(); i++) {
            shares.add(TopicShare.of(topics.get(i), weights.isEmpty() ? 0 : weights.get(i)));
        }
        return shares;
    }

    static JobRef reference(Json c) {
        return c.has("job") ? JobRef.id(c.u64("job")) : JobRef.key(c.text("topic"), c.text("key"));
    }

    private static NewJob newJob(Json j) {
        NewJob job = NewJob.of(j.bytes("body")).attributes(Attributes.decode(ElementJson.attributes(j.object("attributes"))));
        if (j.has("delay_ms")) {
            job = job.delay(millis(j, "delay_ms"));
        }
        if (j.has("at_ms")) {
            job = job.due(new Due(j.u64("at_ms"), true));
        }
        job = j.has("priority") ? job.priority(j.number("priority")) : job;
        job = j.has("ttr_ms") ? job.ttr(millis(j, "ttr_ms")) : job;
        job = j.has("key") && !j.text("key").isEmpty() ? job.key(j.text("key")) : job;
        return j.has("if_exists") ? job.ifExists(IfExists.valueOf(j.text("if_exists").toUpperCase())) : job;
    }

    private static Map<String, Object> pushed(PushResult result) {
        return result.ok() ? Map.of("outcome", result.outcome().name().toLowerCase(), "job", id(result.id()))
                : Map.of("error", error(result.error()));
    }

    static Map<String, Object> shown(JobInfo job) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("job", id(job.id()));
        json.put("topic", job.topic());
        json.put("key", job.key());
        json.put("state", job.state().name().toLowerCase());
        json.put("attempts", job.attempts());
        json.put("priority", job.priority());
        json.put("due_ms", id(job.due().toEpochMilli()));
        json.put("ttr_ms", job.ttr().toMillis());
        json.put("body", Json.base64(job.body()));
        json.put("reason", job.reason());
        json.put("attributes", attributes(job.attributes()));
        return json;
    }

    static Map<String, Object> delivered(Job job) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("job", id(job.id()));
        json.put("fence", id(job.fence()));
        json.put("topic", job.topic());
        json.put("key", job.key());
        json.put("priority", job.priority());
        json.put("attempts", job.attempts());
        json.put("due_ms", id(job.due().toEpochMilli()));
        json.put("body", Json.base64(job.body()));
        json.put("attributes", attributes(job.attributes()));
        return json;
    }

    private Map<String, Object> count(Json c) {
        if (!c.has("bars")) {
            return Map.of("jobs", id(client(c).count(filter(c))));
        }
        List<DueBar> bars = client(c).countByDue(filter(c), Millis.instant(c.u64("bars_from_ms")), Millis.duration(c.u64("bar_ms")),
                c.u32("bars"));
        return Map.of("jobs", id(bars.stream().mapToLong(DueBar::jobs).sum()), "by_due", bars.stream().map(bar -> Map.of(
                "start_ms", id(bar.start() == null ? 0 : Millis.of(bar.start())), "jobs", id(bar.jobs()))).toList());
    }

    static Filter filter(Json c) {
        return Filter.decode(ElementJson.filter(c.object("filter")));
    }

    private static Map<String, Object> attributes(Attributes attributes) {
        try {
            return ElementJson.attributes(attributes.encode());
        } catch (MalformedFrameException e) {
            throw new ProtocolException("attributes cannot be decoded", e);
        }
    }

    static String id(long value) {
        return Long.toUnsignedString(value);
    }

    static Duration millis(Json c, String name) {
        return Duration.ofMillis(c.number(name));
    }

    // ---- workers

    private Map<String, Object> startWorker(Json c) {
        String name = c.text("worker");
        WorkerBuilder builder = Worker.builder(client(c)).concurrency(c.has("concurrency") ? c.u32("concurrency") : 1)
                .prefetch(c.u32("prefetch")).handler(job -> handle(name, job));
        c.texts("topics").forEach(builder::topic);
        workers.put(name, builder.start());
        return Map.of();
    }

    private void handle(String worker, Job job) throws Exception {
        Json script;
        try {
            script = Json.of(JsonCodec.parse(job.text()));
        } catch (UsageException e) {
            script = new Json(Map.of());
        }
        say(Map.of("event", "started", "worker", worker, "job", id(job.id()), "fence", id(job.fence()), "attempts", job.attempts(),
                "topic", job.topic(), "body", Json.base64(job.body())));
        try {
            if (script.has("after_ms")) {
                Thread.sleep(script.number("after_ms"));
            }
            if (script.has("hang")) {
                Thread.sleep(Instant.now().plusSeconds(1L << 30).toEpochMilli());
            }
        } catch (InterruptedException e) {
            LostReason reason = job.lost().orElse(LostReason.STOPPING);
            if (reason == LostReason.STOPPING && "until_stop".equals(script.get("hang"))) {
                ended(worker, job, "ok", "");
                return;
            }
            ended(worker, job, "cancelled", reason.name().toLowerCase());
            throw e;
        }
        if (script.has("fail") && (!script.has("until") || job.attempts() <= script.number("until"))) {
            ended(worker, job, "failed", "");
            throw new IllegalStateException(script.text("fail"));
        }
        ended(worker, job, "ok", "");
    }

    private void ended(String worker, Job job, String result, String reason) {
        Map<String, Object> event = new LinkedHashMap<>(Map.of("event", "ended", "worker", worker, "job", id(job.id()), "fence",
                id(job.fence()), "result", result));
        if (!reason.isEmpty()) {
            event.put("reason", reason);
        }
        say(event);
    }
}
