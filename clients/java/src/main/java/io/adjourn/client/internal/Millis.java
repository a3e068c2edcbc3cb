package io.adjourn.client.internal;

import io.adjourn.client.UsageException;
import java.time.Duration;
import java.time.Instant;

/** Converts between the protocol's unsigned milliseconds and the types of {@code java.time}. */
public final class Millis {
    private Millis() {
    }

    /** Rounds up: a job is never due early. */
    public static long of(Duration duration) {
        if (duration.isNegative()) {
            throw new UsageException("a duration is negative: " + duration);
        }
        try {
            long ms = duration.toMillis();
            return duration.getNano() % 1_000_000 == 0 ? ms : ms + 1;
        } catch (ArithmeticException e) {
            throw new UsageException("a duration is too long: " + duration);
        }
    }

    /** Rounds up; a time before 1970 is the start of 1970. */
    public static long of(Instant instant) {
        try {
            long ms = instant.toEpochMilli();
            return Math.max(0, instant.getNano() % 1_000_000 == 0 ? ms : ms + 1);
        } catch (ArithmeticException e) {
            throw new UsageException("a time is out of range: " + instant);
        }
    }

    public static Duration duration(long ms) {
        return Duration.ofMillis(ms < 0 ? Long.MAX_VALUE : ms);
    }

    public static Instant instant(long ms) {
        return Instant.ofEpochMilli(ms < 0 ? Long.MAX_VALUE : ms);
    }

    /** The time, or {@code null} for 0, which means not known. */
    public static Instant instantOrNull(long ms) {
        return ms == 0 ? null : instant(ms);
    }

    /** A number of 32 unsigned bits. */
    public static int u32(long value, String what) {
        if (value < 0 || value > 0xffff_ffffL) {
            throw new UsageException(what + " is out of range: " + value);
        }
        return (int) value;
    }
}
