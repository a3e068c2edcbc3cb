package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Response;
import java.time.Instant;

/**
 * Where a schedule stands.
 *
 * @param id its id, unsigned
 * @param version how often it was set: {@link Client#setSchedule(String, String, ScheduleRules, JobTemplate, long)} takes it
 * @param next its next instant; {@code null} if there is none any more
 * @param hasCome whether its next instant has come, and is about to be fired
 * @param isHeld whether its next instant has come, and waits until an earlier job has ended
 * @param paused why it does not fire at present
 * @param pauseNote what the user who paused it noted; empty for nothing
 * @param fired at how many instants it pushed a job
 * @param running how many of its jobs have not ended
 * @param failures how many jobs failed one after another until now
 */
public record ScheduleState(long id, long version, Instant next, boolean hasCome, boolean isHeld, Paused paused, String pauseNote, long fired,
        long running, long failures) {
    /** Why a schedule does not fire at present. */
    public enum Paused {
        /** It fires. */
        NOT_PAUSED(Choice.Paused.NOT_PAUSED),
        /** A user paused it. */
        USER(Choice.Paused.USER),
        /** Too many of its jobs failed one after another. */
        FAILURES(Choice.Paused.FAILURES),
        /** A cause that only a newer server knows. */
        UNKNOWN(-1);

        private final int number;

        Paused(int number) {
            this.number = number;
        }

        /** Its number on the wire. */
        public int number() {
            return number;
        }

        static Paused of(int number) {
            return switch (number) {
                case Choice.Paused.NOT_PAUSED -> NOT_PAUSED;
                case Choice.Paused.USER -> USER;
                case Choice.Paused.FAILURES -> FAILURES;
                default -> UNKNOWN;
            };
        }
    }

    static ScheduleState of(Response.ScheduleState s, String pauseNote) {
        return new ScheduleState(s.schedule(), Integer.toUnsignedLong(s.version()), Millis.instantOrNull(s.nextMs()), s.isMarkedCome(),
                s.isMarkedHeld(), Paused.of(s.paused()), pauseNote, s.fired(), Integer.toUnsignedLong(s.running()),
                Integer.toUnsignedLong(s.failures()));
    }
}
