package io.adjourn.client;

import java.util.LinkedHashSet;
import java.util.OptionalLong;
import java.util.Set;

/** Which failures of handlers get a line in the log: each reason once for each job, and so many a second at most. */
final class FailureLog {
    private static final int REMEMBERED_MAX = 256;
    private static final int LINES_MAX = 10;
    private static final long WINDOW = 1_000_000_000L;

    private final Set<Failure> logged = new LinkedHashSet<>();
    private boolean hasBegun;
    private long window;
    private int lines;
    private long leftOut;

    private record Failure(long job, String reason) {
    }

    /** If this failure gets a line, how many were left out since the one before. */
    synchronized OptionalLong note(long now, long job, String reason) {
        Failure failure = new Failure(job, reason);
        if (logged.contains(failure)) {
            return OptionalLong.empty();
        }
        if (!hasBegun || now - window >= WINDOW) {
            hasBegun = true;
            window = now;
            lines = 0;
        }
        if (lines >= LINES_MAX) {
            leftOut++;
            return OptionalLong.empty();
        }
        lines++;
        if (logged.size() >= REMEMBERED_MAX) {
            logged.remove(logged.iterator().next());
        }
        logged.add(failure);
        OptionalLong before = OptionalLong.of(leftOut);
        leftOut = 0;
        return before;
    }
}
