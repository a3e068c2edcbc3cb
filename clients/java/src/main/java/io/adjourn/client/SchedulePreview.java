package io.adjourn.client;

import io.adjourn.client.internal.wire.Response;
import java.util.List;

/**
 * When a schedule would fire.
 *
 * @param zoneData the version and the origin of the server's zone data, such as {@code 2026f, bundled}
 * @param instants the next instants, in order: fewer than were asked for if it fires no more
 */
public record SchedulePreview(String zoneData, List<LocalInstant> instants) {
    static SchedulePreview of(Response.Instants i) {
        return new SchedulePreview(i.zoneData(), i.instants().stream().map(LocalInstant::of).toList());
    }
}
