package io.adjourn.client;

/**
 * One step of a bulk change.
 *
 * @param jobs how many jobs it changed
 * @param inTheWay how many jobs were not moved because their key exists in the new topic
 * @param cursor where the next step begins; empty after the last one
 */
public record BulkStep(long jobs, long inTheWay, byte[] cursor) {
    /** Whether this was the last step. */
    public boolean isLast() {
        return cursor.length == 0;
    }
}
