package io.adjourn.client;

import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.session.Answer;
import io.adjourn.client.internal.session.Pushes;
import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Pushes the jobs of a client: prepared by its hook, traced, and in as many requests as the server's limits demand. */
final class Producer {
    private final Session session;
    private final UnaryOperator<NewJob> onPush;
    private final Tracing tracing;

    Producer(Session session, UnaryOperator<NewJob> onPush, Tracing tracing) {
        this.session = session;
        this.onPush = onPush;
        this.tracing = tracing;
    }

    CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs) {
        return push(topic, jobs, parts -> send(topic, parts));
    }

    CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs, IdempotencyKey key) {
        if (!jobs.isEmpty()) {
            // Refuses the key if the last job can have no number.
            key.plus(jobs.size() - 1L);
        }
        return push(topic, jobs, parts -> new KeyedPush(session, topic, parts, key).run());
    }

    private CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs,
            Function<List<List<Request.NewJob>>, CompletableFuture<List<PushResult>>> send) {
        Names.topic(topic);
        List<NewJob> prepared = jobs.stream().map(onPush).toList();
        return tracing.push(topic, prepared, traced -> send.apply(split(topic, traced.stream().map(NewJob::toWire).toList())));
    }

    private CompletableFuture<List<PushResult>> send(String topic, List<List<Request.NewJob>> parts) {
        List<CompletableFuture<List<PushResult>>> answers = new ArrayList<>();
        for (List<Request.NewJob> part : parts) {
            CompletableFuture<Answer> answer = session.submit(Pushes.of(topic, part), null, true).future();
            answers.add(answer.thenApply(Producer::pushResults));
        }
        if (answers.size() == 1) {
            return answers.get(0);
        }
        return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new)).handle((done, error) -> joined(parts, answers));
    }

    private static List<PushResult> joined(List<List<Request.NewJob>> parts, List<CompletableFuture<List<PushResult>>> answers) {
        if (!answers.isEmpty() && answers.stream().allMatch(CompletableFuture::isCompletedExceptionally)) {
            return answers.get(0).join();
        }
        List<PushResult> results = new ArrayList<>();
        for (int i = 0; i < answers.size(); i++) {
            try {
                results.addAll(answers.get(i).join());
            } catch (CompletionException e) {
                AdjournException cause = Client.unwrap(e);
                parts.get(i).forEach(job -> results.add(refused(0, cause)));
            }
        }
        return results;
    }

    /** The parts that fit into a request each. */
    private List<List<Request.NewJob>> split(String topic, List<Request.NewJob> jobs) {
        if (jobs.size() <= 1) {
            return jobs.isEmpty() ? List.of() : List.of(jobs);
        }
        Session.RequestLimits limits = session.limits();
        List<List<Request.NewJob>> parts = new ArrayList<>();
        List<Request.NewJob> part = new ArrayList<>();
        long bytes = Pushes.emptyFrameBytes(topic);
        for (Request.NewJob job : jobs) {
            if (!part.isEmpty() && (part.size() >= limits.pushJobsMax() || bytes + job.frameBytes() > limits.frameBytesMax())) {
                parts.add(part);
                part = new ArrayList<>();
                bytes = Pushes.emptyFrameBytes(topic);
            }
            part.add(job);
            bytes += job.frameBytes();
        }
        parts.add(part);
        return parts;
    }

    static List<PushResult> pushResults(Answer answer) {
        return AsyncClient.expect(answer, Response.Pushed.class).results().stream().map(Producer::pushResult).toList();
    }

    private static PushResult pushResult(Response.PushResult item) {
        if (item.outcome() != Choice.Outcome.REFUSED) {
            return new PushResult(PushResult.Outcome.of(item.outcome()), item.job(), null);
        }
        AdjournException error = ServerException.ofItem(item.code(), item.job());
        return refused(error instanceof OutcomeUnknownException ? item.job() : 0, error);
    }

    static PushResult refused(long job, AdjournException error) {
        return new PushResult(PushResult.Outcome.REFUSED, job, error);
    }
}
