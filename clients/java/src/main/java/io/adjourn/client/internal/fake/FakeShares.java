package io.adjourn.client.internal.fake;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Topics that take turns by their weights: smooth weighted round-robin, with the standings of each list of topics and weights. */
final class FakeShares {
    private record TopicList(List<String> topics, List<Integer> weights) {
    }

    private final Map<TopicList, long[]> standings = new HashMap<>();

    /** The job of the topic whose turn it is; {@code first} finds the first job of a topic. Empty if no topic has one. */
    Optional<FakeJob> next(List<String> topics, List<Integer> weights, Function<String, Optional<FakeJob>> first) {
        long[] standing = standings.computeIfAbsent(new TopicList(topics, weights), list -> new long[topics.size()]);
        FakeJob[] jobs = topics.stream().map(topic -> first.apply(topic).orElse(null)).toArray(FakeJob[]::new);
        if (Arrays.stream(jobs).allMatch(job -> job == null)) {
            return Optional.empty();
        }
        int best = -1;
        long sum = 0;
        for (int i = 0; i < jobs.length; i++) {
            if (jobs[i] != null) {
                standing[i] += weights.get(i);
                sum += weights.get(i);
                best = best < 0 || standing[i] > standing[best] ? i : best;
            }
        }
        standing[best] -= sum;
        return Optional.of(jobs[best]);
    }
}
