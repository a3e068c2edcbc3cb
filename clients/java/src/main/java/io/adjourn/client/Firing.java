package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Response;
import java.time.Instant;

/**
 * What a schedule did at an instant, or at several ones that it skipped together.
 *
 * @param instant the instant; the first of several
 * @param last the last of them
 * @param instants how many they are; 10,000 means that or more
 * @param at when the schedule fired or skipped it
 * @param job the job that it pushed, unsigned; 0 for none
 * @param outcome what became of it
 */
public record Firing(Instant instant, Instant last, long instants, Instant at, long job, Outcome outcome) {
    /** What became of an instant. */
    public enum Outcome {
        /** It pushed the job, which has not ended. */
        PUSHED(Choice.Fired.PUSHED),
        /** It pushed the job, and a consumer finished that. */
        FINISHED(Choice.Fired.FINISHED),
        /** It pushed the job, and that was buried, or moved to the dead letters. */
        FAILED(Choice.Fired.FAILED),
        /** It pushed the job, and that was deleted or replaced. */
        DELETED(Choice.Fired.DELETED),
        /** It pushed the job, and that expired, or was dropped because it was late. */
        EXPIRED(Choice.Fired.EXPIRED),
        /** It was skipped: it had passed when the schedule was looked at. */
        MISSED(Choice.Fired.MISSED),
        /** It was skipped: an earlier job had not ended. */
        OVERLAP(Choice.Fired.OVERLAP),
        /** It was skipped: the topic's policy, or a limit of the queue, did not allow the job. */
        REFUSED(Choice.Fired.REFUSED),
        /** It was skipped: the topic has a job with the key, which may be buried or remembered. */
        KEY_TAKEN(Choice.Fired.KEY_TAKEN),
        /** An outcome that only a newer server knows. */
        UNKNOWN(-1);

        private final int number;

        Outcome(int number) {
            this.number = number;
        }

        /** Its number on the wire. */
        public int number() {
            return number;
        }

        static Outcome of(int number) {
            for (Outcome one : values()) {
                if (one.number == number) {
                    return one;
                }
            }
            return UNKNOWN;
        }
    }

    static Firing of(Response.Firing f) {
        return new Firing(Millis.instant(f.instantMs()), Millis.instant(f.lastMs()), f.instants(), Millis.instant(f.atMs()), f.job(),
                Outcome.of(f.fired()));
    }
}
