package io.adjourn.client;

import io.adjourn.client.internal.wire.Response;
import java.util.List;

/**
 * A schedule, with what it did of late.
 *
 * @param state where it stands
 * @param rules when it fires, and what it does then
 * @param template what its jobs have in common
 * @param history what it did of late, the oldest first
 */
public record ScheduleInfo(ScheduleState state, ScheduleRules rules, JobTemplate template, List<Firing> history) {
    static ScheduleInfo of(Response.Schedule s) {
        return new ScheduleInfo(ScheduleState.of(s.state(), s.pauseNote()), ScheduleRules.of(s.rules()), JobTemplate.of(s.template()),
                s.history().stream().map(Firing::of).toList());
    }
}
