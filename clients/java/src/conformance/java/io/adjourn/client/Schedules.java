package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The commands of the level operator about schedules. */
final class Schedules {
    private Schedules() {
    }

    static Map<String, Object> run(Client client, Json c) {
        String topic = c.text("topic");
        String name = c.text("name");
        return switch (c.text("do")) {
            case "schedule_set" -> scheduled(set(client, topic, name, c));
            case "schedule_show" -> shown(client.schedule(topic, name));
            case "schedule_list" -> Map.of("schedules", list(client, c).stream().map(Schedules::shown).toList());
            case "schedule_pause" -> Operator.done(() -> client.pauseSchedule(topic, name, c.text("note")));
            case "schedule_resume" -> Operator.done(() -> client.resumeSchedule(topic, name));
            case "schedule_delete" -> Operator.done(() -> client.deleteSchedule(topic, name));
            case "schedule_run" -> Map.of("job", Conformance.id(client.runSchedule(topic, name)));
            case "schedule_fill" -> filled(client.fillSchedule(topic, name, Millis.instant(c.u64("from_ms")), Millis.instant(c.u64("to_ms")),
                    Boolean.TRUE.equals(c.get("dry_run"))));
            case "schedule_preview" -> Map.of("instants", preview(client, c).instants().stream().map(Schedules::shown).toList());
            default -> throw new UsageException("an unknown command: " + c.text("do"));
        };
    }

    private static Scheduled set(Client client, String topic, String name, Json c) {
        ScheduleRules rules = ScheduleRules.of(c.text("when"));
        rules = c.has("zone") ? rules.zone(c.text("zone")) : rules;
        rules = c.has("overlap") ? rules.overlap(ScheduleRules.Overlap.valueOf(c.text("overlap").toUpperCase())) : rules;
        rules = c.has("missed") ? rules.missed(ScheduleRules.Missed.valueOf(c.text("missed").toUpperCase())) : rules;
        JobTemplate template = JobTemplate.of(c.bytes("body"));
        if ("new".equals(c.get("if_version"))) {
            return client.createSchedule(topic, name, rules, template);
        }
        return c.has("if_version") ? client.setSchedule(topic, name, rules, template, c.number("if_version"))
                : client.setSchedule(topic, name, rules, template);
    }

    private static List<ListedSchedule> list(Client client, Json c) {
        return c.has("topic") ? client.schedules(c.text("topic"), filter(c)) : client.schedules(filter(c));
    }

    private static SchedulePreview preview(Client client, Json c) {
        ScheduleRules rules = ScheduleRules.of(c.text("when")).zone(c.text("zone"));
        int count = c.has("count") ? c.u32("count") : 10;
        return c.has("from_ms") ? client.previewSchedule(rules, Millis.instant(c.u64("from_ms")), count) : client.previewSchedule(rules, count);
    }

    private static ScheduleFilter filter(Json c) {
        ScheduleFilter filter = ScheduleFilter.ALL.prefix(c.text("prefix"));
        filter = c.has("paused") ? filter.paused(Boolean.TRUE.equals(c.get("paused"))) : filter;
        return c.has("next_before_ms") ? filter.nextBefore(Instant.ofEpochMilli(c.u64("next_before_ms"))) : filter;
    }

    private static Map<String, Object> scheduled(Scheduled scheduled) {
        return Map.of("version", scheduled.version(), "next_ms", millis(scheduled.next()));
    }

    private static Map<String, Object> shown(ScheduleInfo schedule) {
        Map<String, Object> json = shown(schedule.state(), schedule.rules());
        json.put("fired", Conformance.id(schedule.state().fired()));
        json.put("running", schedule.state().running());
        json.put("body", Json.base64(schedule.template().body()));
        json.put("history", schedule.history().stream().map(Schedules::shown).toList());
        return json;
    }

    private static Map<String, Object> shown(ListedSchedule schedule) {
        Map<String, Object> json = shown(schedule.state(), schedule.rules());
        json.put("topic", schedule.topic());
        json.put("name", schedule.name());
        return json;
    }

    private static Map<String, Object> shown(ScheduleState state, ScheduleRules rules) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("version", state.version());
        json.put("when", rules.when());
        json.put("paused", state.paused() == ScheduleState.Paused.NOT_PAUSED ? null : state.paused().name().toLowerCase());
        json.put("pause_note", state.pauseNote());
        json.put("next_ms", millis(state.next()));
        return json;
    }

    private static Map<String, Object> filled(ScheduleFilled filled) {
        return Map.of("instants", filled.instants(), "pushed", filled.pushed(), "kept", filled.kept(), "refused", filled.refused(), "next_ms",
                millis(filled.next()));
    }

    private static Map<String, Object> shown(LocalInstant instant) {
        return Map.of("instant_ms", millis(instant.instant()), "local", instant.local());
    }

    private static Map<String, Object> shown(Firing firing) {
        return Map.of("instant_ms", millis(firing.instant()), "job", Conformance.id(firing.job()), "fired",
                firing.outcome().name().toLowerCase());
    }

    /** A time that may not be there. */
    private static String millis(Instant time) {
        return time == null ? "0" : Conformance.id(time.toEpochMilli());
    }
}
