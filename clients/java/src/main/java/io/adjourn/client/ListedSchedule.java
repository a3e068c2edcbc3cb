package io.adjourn.client;

import io.adjourn.client.internal.wire.Response;

/**
 * A schedule in a list.
 *
 * @param topic the topic of its jobs
 * @param name its name
 * @param state where it stands
 * @param rules when it fires, and what it does then
 */
public record ListedSchedule(String topic, String name, ScheduleState state, ScheduleRules rules) {
    static ListedSchedule of(Response.ListedSchedule s) {
        return new ListedSchedule(s.topic(), s.name(), ScheduleState.of(s.scheduleState(), s.pauseNote()), ScheduleRules.of(s.scheduleRules()));
    }
}
