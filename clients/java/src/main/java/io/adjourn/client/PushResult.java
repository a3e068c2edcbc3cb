package io.adjourn.client;

import io.adjourn.client.internal.wire.Choice;

/**
 * What became of one pushed job.
 *
 * @param outcome what
 * @param id the id of the job that lives now, unsigned; 0 if it was refused. If the outcome is unknown: the job to look at, or 0
 * @param error why it was refused, else {@code null}
 */
public record PushResult(Outcome outcome, long id, AdjournException error) {
    /** What a push came to. */
    public enum Outcome {
        /** In the queue, and durable. */
        PUSHED,
        /** A job with this key exists and was kept. */
        KEPT,
        /** It took the place of the job with its key. */
        REPLACED,
        /** Nothing was added: see {@link PushResult#error}. */
        REFUSED,
        /** The job with its key waits for the new due time. */
        POSTPONED;

        static Outcome of(int number) {
            return switch (number) {
                case Choice.Outcome.PUSHED -> PUSHED;
                case Choice.Outcome.KEPT -> KEPT;
                case Choice.Outcome.REPLACED -> REPLACED;
                case Choice.Outcome.POSTPONED -> POSTPONED;
                default -> REFUSED;
            };
        }
    }

    /** Whether the job, or the one that it was merged with, is in the queue. */
    public boolean ok() {
        return error == null;
    }

    /** The same, or throws what the job was refused with. */
    public PushResult orThrow() {
        if (error != null) {
            throw error;
        }
        return this;
    }
}
