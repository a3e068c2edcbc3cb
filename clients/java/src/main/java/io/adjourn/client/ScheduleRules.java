package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Request;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * When a schedule fires, and what it does then. It cannot be changed; each method with a parameter returns other rules.
 *
 * <pre>{@code
 * ScheduleRules.of("0 9 * * 1-5").zone("Europe/Berlin").missed(ScheduleRules.Missed.LAST).overlap(ScheduleRules.Overlap.SKIP)
 * }</pre>
 */
public final class ScheduleRules {
    /** What happens when the clocks of its zone are changed. */
    public enum Dst {
        /** As cron: a time that is skipped fires at once after the gap, a repeated one fires once. */
        VIXIE(Choice.Dst.VIXIE),
        /** A time that is skipped does not fire, a repeated one fires twice. */
        LITERAL(Choice.Dst.LITERAL),
        /** What only a newer server knows. */
        UNKNOWN(-1);

        private final int number;

        Dst(int number) {
            this.number = number;
        }

        /** Its number on the wire. */
        public int number() {
            return number;
        }

        static Dst of(int number) {
            return switch (number) {
                case Choice.Dst.VIXIE -> VIXIE;
                case Choice.Dst.LITERAL -> LITERAL;
                default -> UNKNOWN;
            };
        }
    }

    /** Which of the instants that passed unnoticed are fired late. */
    public enum Missed {
        /** None of them. */
        NONE(Choice.Missed.NONE),
        /** The last one. */
        LAST(Choice.Missed.LAST),
        /** All of them, up to a number. */
        ALL(Choice.Missed.ALL),
        /** What only a newer server knows. */
        UNKNOWN(-1);

        private final int number;

        Missed(int number) {
            this.number = number;
        }

        /** Its number on the wire. */
        public int number() {
            return number;
        }

        static Missed of(int number) {
            return switch (number) {
                case Choice.Missed.NONE -> NONE;
                case Choice.Missed.LAST -> LAST;
                case Choice.Missed.ALL -> ALL;
                default -> UNKNOWN;
            };
        }
    }

    /** What it does at an instant while an earlier job of it has not ended. */
    public enum Overlap {
        /** Pushes another job. */
        ALLOW(Choice.Overlap.ALLOW),
        /** Pushes no job. */
        SKIP(Choice.Overlap.SKIP),
        /** Pushes the job as soon as the earlier one has ended; further instants until then are skipped. */
        QUEUE_ONE(Choice.Overlap.QUEUE_ONE),
        /** Deletes the earlier job, also a reserved one, and pushes another. */
        REPLACE(Choice.Overlap.REPLACE),
        /** What only a newer server knows. */
        UNKNOWN(-1);

        private final int number;

        Overlap(int number) {
            this.number = number;
        }

        /** Its number on the wire. */
        public int number() {
            return number;
        }

        static Overlap of(int number) {
            return switch (number) {
                case Choice.Overlap.ALLOW -> ALLOW;
                case Choice.Overlap.SKIP -> SKIP;
                case Choice.Overlap.QUEUE_ONE -> QUEUE_ONE;
                case Choice.Overlap.REPLACE -> REPLACE;
                default -> UNKNOWN;
            };
        }
    }

    /** The rules as they go on the wire; 0 and an empty text are what is not said. Nothing changes them once they belong to rules. */
    private static final class Fields implements Cloneable {
        private long originMs;
        private long startMs;
        private long endMs;
        private long count;
        private long windowMs;
        private int missedMax;
        private int jitterMs;
        private int failuresMax;
        private int dst;
        private int missed;
        private int overlap;
        private String when = "";
        private String zone = "";
        private String key = "";
        private String note = "";

        Fields copy() {
            try {
                return (Fields) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private final Fields fields;

    private ScheduleRules(Fields fields) {
        this.fields = fields;
    }

    /**
     * Fires as this says: a cron expression, {@code @daily} and the like, {@code @every 90s}, or {@code @at} with times. Without other rules
     * it is in UTC and without an end, fires the last of the instants that it missed, and skips an instant while an earlier job has not ended.
     */
    public static ScheduleRules of(String when) {
        return new ScheduleRules(new Fields()).when(when);
    }

    private ScheduleRules with(Consumer<Fields> change) {
        Fields changed = fields.copy();
        change.accept(changed);
        return new ScheduleRules(changed);
    }

    // ---- other rules

    /** When it fires, as for {@link #of}. */
    public ScheduleRules when(String when) {
        if (when.isEmpty()) {
            throw new UsageException("a schedule without a recurrence never fires");
        }
        return with(f -> f.when = when);
    }

    /** The IANA name of the time zone of a cron expression; empty for UTC. */
    public ScheduleRules zone(String zone) {
        return with(f -> f.zone = zone);
    }

    /** What happens when the clocks of its zone are changed; without it {@link Dst#VIXIE}. */
    public ScheduleRules dst(Dst dst) {
        int number = known(dst.number, dst);
        return with(f -> f.dst = number);
    }

    /** From when {@code @every} counts; without it from when the schedule is set first. */
    public ScheduleRules origin(Instant origin) {
        long ms = time(origin);
        return with(f -> f.originMs = ms);
    }

    /** It does not fire before this time. */
    public ScheduleRules start(Instant start) {
        long ms = time(start);
        return with(f -> f.startMs = ms);
    }

    /** It does not fire after this time. */
    public ScheduleRules end(Instant end) {
        long ms = time(end);
        return with(f -> f.endMs = ms);
    }

    /** It ends when it has pushed a job at so many instants; 0: it does not. */
    public ScheduleRules count(long count) {
        return with(f -> f.count = count);
    }

    /** A job is due up to this long after its instant, at most a day. How long follows from the name and the instant. */
    public ScheduleRules jitter(Duration jitter) {
        int ms = Millis.u32(Millis.of(jitter), "a jitter in milliseconds");
        return with(f -> f.jitterMs = ms);
    }

    /** Which of the instants that passed unnoticed are fired late; without it {@link Missed#LAST}. */
    public ScheduleRules missed(Missed missed) {
        int number = known(missed.number, missed);
        return with(f -> f.missed = number);
    }

    /** Of the missed instants, only those that were missed no longer ago than this; zero for any. */
    public ScheduleRules missedWindow(Duration window) {
        long ms = Millis.of(window);
        return with(f -> f.windowMs = ms);
    }

    /** With {@link Missed#ALL}: at most so many instants, the last ones; 0 means 100. */
    public ScheduleRules missedMax(long instants) {
        int max = Millis.u32(instants, "a number of missed instants");
        return with(f -> f.missedMax = max);
    }

    /** What it does while an earlier job of it has not ended; without it {@link Overlap#SKIP}. */
    public ScheduleRules overlap(Overlap overlap) {
        int number = known(overlap.number, overlap);
        return with(f -> f.overlap = number);
    }

    /** It is paused after so many failures one after another; 0: it is not. */
    public ScheduleRules failuresMax(long failures) {
        int max = Millis.u32(failures, "a number of failures");
        return with(f -> f.failuresMax = max);
    }

    /** The key of its jobs; empty for the name, {@code @}, and the instant in milliseconds. */
    public ScheduleRules key(String key) {
        return with(f -> f.key = key);
    }

    /** For people. */
    public ScheduleRules note(String note) {
        return with(f -> f.note = note);
    }

    private static int known(int number, Enum<?> choice) {
        if (number < 0) {
            throw new UsageException("no rule of a schedule: " + choice);
        }
        return number;
    }

    static long time(Instant time) {
        long ms = Millis.of(time);
        if (ms == 0) {
            throw new UsageException("not after the start of 1970: " + time);
        }
        return ms;
    }

    // ---- what they say

    /** When it fires. */
    public String when() {
        return fields.when;
    }

    /** The time zone of a cron expression; empty for UTC. */
    public String zone() {
        return fields.zone;
    }

    /** What happens when the clocks of its zone are changed. */
    public Dst dst() {
        return Dst.of(fields.dst);
    }

    /** From when {@code @every} counts. A server shows it also if it was not said. */
    public Optional<Instant> origin() {
        return Optional.ofNullable(Millis.instantOrNull(fields.originMs));
    }

    /** It does not fire before this time. */
    public Optional<Instant> start() {
        return Optional.ofNullable(Millis.instantOrNull(fields.startMs));
    }

    /** It does not fire after this time. */
    public Optional<Instant> end() {
        return Optional.ofNullable(Millis.instantOrNull(fields.endMs));
    }

    /** It ends when it has pushed a job at so many instants; 0: it does not. */
    public long count() {
        return fields.count;
    }

    /** A job is due up to this long after its instant. */
    public Duration jitter() {
        return Millis.duration(Integer.toUnsignedLong(fields.jitterMs));
    }

    /** Which of the instants that passed unnoticed are fired late. */
    public Missed missed() {
        return Missed.of(fields.missed);
    }

    /** How long ago missed instants may be; zero for any time. */
    public Duration missedWindow() {
        return Millis.duration(fields.windowMs);
    }

    /** How many missed instants are fired at most; 0 means 100. */
    public long missedMax() {
        return Integer.toUnsignedLong(fields.missedMax);
    }

    /** What it does while an earlier job of it has not ended. */
    public Overlap overlap() {
        return Overlap.of(fields.overlap);
    }

    /** It is paused after so many failures one after another; 0: it is not. */
    public long failuresMax() {
        return Integer.toUnsignedLong(fields.failuresMax);
    }

    /** The key of its jobs; empty for the name, {@code @}, and the instant in milliseconds. */
    public String key() {
        return fields.key;
    }

    /** For people. */
    public String note() {
        return fields.note;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ScheduleRules rules && toWire().equals(rules.toWire());
    }

    @Override
    public int hashCode() {
        return toWire().hashCode();
    }

    @Override
    public String toString() {
        return toWire().toString();
    }

    Request.ScheduleRules toWire() {
        Fields f = fields;
        return new Request.ScheduleRules(f.originMs, f.startMs, f.endMs, f.count, f.windowMs, f.missedMax, f.jitterMs, f.failuresMax, f.dst,
                f.missed, f.overlap, f.when, f.zone, f.key, f.note);
    }

    static ScheduleRules of(Request.ScheduleRules w) {
        return new ScheduleRules(new Fields()).with(f -> {
            f.originMs = w.originMs();
            f.startMs = w.startMs();
            f.endMs = w.endMs();
            f.count = w.count();
            f.windowMs = w.windowMs();
            f.missedMax = w.missedMax();
            f.jitterMs = w.jitterMs();
            f.failuresMax = w.failuresMax();
            f.dst = w.dst();
            f.missed = w.missed();
            f.overlap = w.overlap();
            f.when = w.when();
            f.zone = w.zone();
            f.key = w.key();
            f.note = w.note();
        });
    }
}
