package io.adjourn.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/** The commands of the level operator about groups, and about what holds jobs back. */
final class Groups {
    private Groups() {
    }

    static Map<String, Object> run(Client client, Json c) {
        String topic = c.text("topic");
        return switch (c.text("do")) {
            case "group_set" -> Operator.done(() -> client.setGroup(topic, c.text("group"), change(c)));
            case "group_list" -> Map.of("groups", client.groups(topic, c.text("prefix")).stream().map(Groups::shown).toList());
            case "why" -> reasons(client.why(Conformance.reference(c)));
            case "topic_why" -> reasons(c.has("group") ? client.whyTopic(topic, c.text("group")) : client.whyTopic(topic));
            default -> throw new UsageException("an unknown command: " + c.text("do"));
        };
    }

    private static GroupChange change(Json c) {
        GroupChange change = c.has("weight") ? GroupChange.EMPTY.weight(c.number("weight")) : GroupChange.EMPTY;
        return c.has("paused") ? change.paused(Boolean.TRUE.equals(c.get("paused"))) : change;
    }

    private static Map<String, Object> shown(GroupInfo group) {
        return Map.of("name", group.name(), "ready", Conformance.id(group.ready()), "reserved", Conformance.id(group.reserved()), "weight",
                group.weight(), "paused", group.paused(), "hold", shown(group.hold()));
    }

    private static Map<String, Object> reasons(List<Reason> reasons) {
        return Map.of("reasons", reasons.stream().map(Groups::shown).toList());
    }

    private static Map<String, Object> shown(Reason reason) {
        return Map.of("why", shown(reason.why()), "jobs", Conformance.id(reason.jobs()), "until_ms", millis(reason.until()));
    }

    private static String shown(Why why) {
        return why.name().toLowerCase();
    }

    /** A time that may not be known. */
    private static String millis(Instant time) {
        return time == null ? "0" : Conformance.id(time.toEpochMilli());
    }
}
