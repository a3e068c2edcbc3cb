package io.adjourn.client;

import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Request;

/**
 * The settings of a group that {@link Client#setGroup} changes; the others stay. It cannot be changed; each method returns another
 * change.
 *
 * <pre>{@code
 * GroupChange.EMPTY.weight(5).paused(false)
 * }</pre>
 */
public final class GroupChange {
    /** No changes yet. At least one is needed. */
    public static final GroupChange EMPTY = new GroupChange(0, Choice.Pause.KEEP);

    private final int weight;
    private final int pause;

    private GroupChange(int weight, int pause) {
        this.weight = weight;
        this.pause = pause;
    }

    /** How many jobs it gives at a turn, 1 to 1,000 ({@link Limits#GROUP_WEIGHT_MAX}). A group begins with 1. */
    public GroupChange weight(long jobs) {
        if (jobs < 1 || jobs > Limits.GROUP_WEIGHT_MAX) {
            throw new UsageException("a weight of a group is 1 to 1,000: " + jobs);
        }
        return new GroupChange((int) jobs, pause);
    }

    /** Stops the delivery of its jobs, or starts it again. */
    public GroupChange paused(boolean isPaused) {
        return new GroupChange(weight, isPaused ? Choice.Pause.PAUSE : Choice.Pause.RESUME);
    }

    Request.GroupSet toWire(String topic, String group) {
        if (weight == 0 && pause == Choice.Pause.KEEP) {
            throw new UsageException("a change of a group needs a weight, or says whether it is paused");
        }
        return new Request.GroupSet(weight, pause, Names.topic(topic), Names.group(group));
    }
}
