package io.adjourn.client;

import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.Request;
import java.time.Instant;

/** Which schedules a list is about: those that meet all its conditions. It cannot be changed. */
public final class ScheduleFilter {
    /** Every schedule. */
    public static final ScheduleFilter ALL = new ScheduleFilter("", Choice.WhichPaused.ANY, 0);

    private final String prefix;
    private final int paused;
    private final long nextBeforeMs;

    private ScheduleFilter(String prefix, int paused, long nextBeforeMs) {
        this.prefix = prefix;
        this.paused = paused;
        this.nextBeforeMs = nextBeforeMs;
    }

    /** Those whose names begin like this. */
    public ScheduleFilter prefix(String newPrefix) {
        return new ScheduleFilter(newPrefix, paused, nextBeforeMs);
    }

    /** Those that are paused, or those that are not. */
    public ScheduleFilter paused(boolean isPaused) {
        return new ScheduleFilter(prefix, isPaused ? Choice.WhichPaused.PAUSED : Choice.WhichPaused.ACTIVE, nextBeforeMs);
    }

    /** Those with a next instant before this time. */
    public ScheduleFilter nextBefore(Instant time) {
        return new ScheduleFilter(prefix, paused, ScheduleRules.time(time));
    }

    /** The request for a page. An empty topic is all of them, and an empty cursor the first page. */
    Request.ScheduleList toWire(String topic, byte[] cursor) {
        return new Request.ScheduleList(Limits.SCHEDULES_LISTED_MAX, nextBeforeMs, paused, topic, prefix, cursor);
    }
}
