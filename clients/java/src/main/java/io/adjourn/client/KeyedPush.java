package io.adjourn.client;

import io.adjourn.client.internal.session.Answer;
import io.adjourn.client.internal.session.Pushes;
import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.wire.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Pushes a list under one key: its parts go one after the other, and what follows one that fails is not sent. */
final class KeyedPush {
    private final Session session;
    private final String topic;
    private final List<List<Request.NewJob>> parts;
    private final IdempotencyKey key;
    private final int jobs;
    private final List<PushResult> results = new ArrayList<>();

    KeyedPush(Session session, String topic, List<List<Request.NewJob>> parts, IdempotencyKey key) {
        this.session = session;
        this.topic = topic;
        this.parts = parts;
        this.key = key;
        this.jobs = parts.stream().mapToInt(List::size).sum();
    }

    CompletableFuture<List<PushResult>> run() {
        return push(0);
    }

    private CompletableFuture<List<PushResult>> push(int place) {
        if (place == parts.size()) {
            return CompletableFuture.completedFuture(results);
        }
        Request.Push push = Pushes.of(topic, parts.get(place), key.plus(results.size()), parts.size() > 1 ? jobs : 0);
        return session.submit(push, null, place == 0).future().handle(this::take).thenCompose(goesOn -> push(goesOn ? place + 1 : parts.size()));
    }

    /** Takes the results of a part. Returns whether the next one is sent. */
    private boolean take(Answer answer, Throwable error) {
        AdjournException end = error == null ? null : Client.unwrap(new CompletionException(error));
        if (end != null && results.isEmpty()) {
            throw end;
        }
        if (end == null) {
            List<PushResult> part = Producer.pushResults(answer);
            results.addAll(part);
            end = part.stream().map(PushResult::error).filter(ServerException.SequenceReused.class::isInstance).findFirst().orElse(null);
        }
        while (end != null && results.size() < jobs) {
            results.add(Producer.refused(0, end));
        }
        return end == null;
    }
}
