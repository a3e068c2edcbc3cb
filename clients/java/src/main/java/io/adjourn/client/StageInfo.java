package io.adjourn.client;

import io.adjourn.client.internal.wire.Response;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * The durations of one stage of the work on a node: over its last one to two minutes, at most 1 % too high, and zero if there are none.
 *
 * @param name wait, commit, apply or lateness; a newer server may have others
 * @param count how many durations there are
 * @param p50 the median
 * @param p99 99 % are at most this
 * @param p999 99.9 % are at most this
 * @param max the longest
 */
public record StageInfo(String name, long count, Duration p50, Duration p99, Duration p999, Duration max) {
    static StageInfo of(Response.Stage stage) {
        return new StageInfo(stage.stage(), stage.count(), micros(stage.p50Us()), micros(stage.p99Us()), micros(stage.p999Us()),
                micros(stage.maxUs()));
    }

    private static Duration micros(long us) {
        return Duration.of(us < 0 ? Long.MAX_VALUE : us, ChronoUnit.MICROS);
    }
}
