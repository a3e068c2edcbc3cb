package io.adjourn.client;

/**
 * One step of a bulk change.
 *
 * @param jobs how many jobs it changed
 * @param skipped how many jobs met the conditions and were left as they are: their state does not allow the change, or the other topic has their key
 * @param cursor where the next step begins; empty after the last one
 */
public record BulkStep(long jobs, long skipped, byte[] cursor) {
    /** Whether this was the last step. */
    public boolean isLast() {
        return cursor.length == 0;
    }
}
