package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.Choice;
import java.time.Instant;

/**
 * What a bulk change does to each job.
 *
 * @param number its number on the wire
 * @param dueMs the new due time of a reschedule, else 0
 * @param to the topic of a move, else empty
 */
public record BulkChange(int number, long dueMs, String to) {
    /** Removes the jobs, reserved ones too unless the filter excludes them. */
    public static final BulkChange DELETE = new BulkChange(Choice.Change.DELETE, 0, "");
    /** Makes buried jobs ready. */
    public static final BulkChange KICK = new BulkChange(Choice.Change.KICK, 0, "");
    /** Makes delayed jobs ready. */
    public static final BulkChange RUN_NOW = new BulkChange(Choice.Change.RUN_NOW, 0, "");

    /** Gives delayed and ready jobs a new due time. */
    public static BulkChange reschedule(Instant due) {
        return new BulkChange(Choice.Change.RESCHEDULE, Millis.of(due), "");
    }

    /** Puts the jobs into another topic. */
    public static BulkChange moveTo(String topic) {
        return new BulkChange(Choice.Change.MOVE, 0, Names.topic(topic));
    }
}
