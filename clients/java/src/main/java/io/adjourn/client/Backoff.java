package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Choice;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * How long a job waits after each failed attempt.
 *
 * @param kind 0 fixed, 1 linear, 2 exponential, 3 list
 * @param jitterPercent shortens each wait by a random part of at most this, 0 to 100
 * @param waitsMs fixed: the wait; linear: step and maximum; exponential: first and maximum; list: 1 to 32 waits, the last repeats
 */
public record Backoff(int kind, int jitterPercent, List<Long> waitsMs) {
    /** Checks what the server would refuse. */
    public Backoff {
        waitsMs = List.copyOf(waitsMs);
        if (jitterPercent < 0 || jitterPercent > 100) {
            throw new UsageException("jitter is 0 to 100 percent: " + jitterPercent);
        }
        if (waitsMs.isEmpty() || waitsMs.size() > Limits.BACKOFF_LIST_MAX) {
            throw new UsageException("a backoff has 1 to 32 waits");
        }
        waitsMs.forEach(ms -> Millis.u32(ms, "a wait in milliseconds"));
    }

    /** Always the same wait. */
    public static Backoff fixed(Duration wait) {
        return new Backoff(Choice.BackoffKind.FIXED, 0, List.of(Millis.of(wait)));
    }

    /** {@code step} after the first attempt, twice that after the second, at most {@code max}. */
    public static Backoff linear(Duration step, Duration max) {
        return new Backoff(Choice.BackoffKind.LINEAR, 0, List.of(Millis.of(step), Millis.of(max)));
    }

    /** {@code first} after the first attempt, then twice as long each time, at most {@code max}. */
    public static Backoff exponential(Duration first, Duration max) {
        return new Backoff(Choice.BackoffKind.EXPONENTIAL, 0, List.of(Millis.of(first), Millis.of(max)));
    }

    /** These waits, one after the other; the last one repeats. */
    public static Backoff list(Duration... waits) {
        return new Backoff(Choice.BackoffKind.LIST, 0, Arrays.stream(waits).map(Millis::of).toList());
    }

    /** The same with jitter. */
    public Backoff jitter(int percent) {
        return new Backoff(kind, percent, waitsMs);
    }
}
