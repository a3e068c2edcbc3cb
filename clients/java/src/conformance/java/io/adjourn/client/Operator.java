package io.adjourn.client;

import io.adjourn.client.internal.wire.MalformedFrameException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The commands of the level operator. */
final class Operator {
    private Operator() {
    }

    static Map<String, Object> run(Client client, Json c) {
        return switch (c.text("do")) {
            case "peek" -> Map.of("job", Conformance.shown(client.peek(c.text("topic"))));
            case "run_now" -> changed(client.runNow(Conformance.reference(c)));
            case "kick" -> changed(client.kick(Conformance.reference(c)));
            case "reschedule" -> changed(client.reschedule(Conformance.reference(c), due(c)));
            case "edit" -> changed(client.edit(Conformance.reference(c), edit(c)));
            case "kick_many" -> Map.of("jobs", client.kickMany(c.text("topic"), c.number("jobs_max")));
            case "pause" -> done(() -> client.pause(c.text("topic")));
            case "resume" -> done(() -> client.resume(c.text("topic")));
            case "topic_delete" -> done(() -> client.deleteTopic(c.text("topic")));
            case "topic_set" -> done(() -> client.setTopic(c.text("topic"), TopicPolicy.decode(ElementJson.settings(c.object("settings")))));
            case "topic_show" -> shown(client.topicSettings(c.text("topic")));
            case "topics" -> Map.of("topics", client.topics().stream().map(Operator::shown).toList());
            case "stats" -> stats(client.stats());
            case "bulk" -> Map.of("jobs", Conformance.id(client.bulk(change(c), Conformance.filter(c),
                    c.has("jobs_max") ? c.u32("jobs_max") : 1_024, new byte[0]).mapToLong(BulkStep::jobs).sum()));
            case "leases" -> Map.of("jobs", client.leases().stream().map(Conformance::delivered).toList());
            case "connections" -> Map.of("connections", client.connections().stream().map(Operator::shown).toList());
            case "disconnect" -> done(() -> client.disconnect(c.u64("connection"), Boolean.TRUE.equals(c.get("ends_session"))));
            case "group_set", "group_list", "why", "topic_why" -> Groups.run(client, c);
            default -> Schedules.run(client, c);
        };
    }

    static Map<String, Object> done(Runnable work) {
        work.run();
        return Map.of();
    }

    private static Due due(Json c) {
        return c.has("at_ms") ? new Due(c.u64("at_ms"), true) : Due.after(Conformance.millis(c, "delay_ms"));
    }

    private static Edit edit(Json c) {
        Attributes attributes = Attributes.decode(ElementJson.attributes(c.object("attributes")));
        Edit edit = Edit.EMPTY;
        for (String part : c.texts("edited")) {
            edit = switch (part) {
                case "due" -> edit.due(due(c));
                case "priority" -> edit.priority(c.number("priority"));
                case "ttr" -> edit.ttr(Conformance.millis(c, "ttr_ms"));
                case "body" -> edit.body(c.bytes("body"));
                default -> edited(edit, part, attributes);
            };
        }
        return edit;
    }

    /** An attribute without a value is taken away. */
    private static Edit edited(Edit edit, String part, Attributes attributes) {
        return switch (part) {
            case "headers" -> attributes.headers().isEmpty() ? edit.without(Edit.Attribute.HEADERS) : edit.headers(attributes.headers());
            case "expires" -> attributes.expires().map(edit::expires).orElse(edit.without(Edit.Attribute.EXPIRES));
            case "attempts_max" -> attributes.attemptsMax().map(edit::attemptsMax).orElse(edit.without(Edit.Attribute.ATTEMPTS_MAX));
            case "backoff" -> attributes.backoff().map(edit::backoff).orElse(edit.without(Edit.Attribute.BACKOFF));
            case "dedupe_retention" -> attributes.dedupeRetention().map(edit::remember).orElse(edit.without(Edit.Attribute.REMEMBER));
            case "group" -> attributes.group().map(edit::group).orElse(edit.without(Edit.Attribute.GROUP));
            default -> throw new UsageException("an unknown part: " + part);
        };
    }

    private static BulkChange change(Json c) {
        return switch (c.text("change")) {
            case "delete" -> BulkChange.DELETE;
            case "kick" -> BulkChange.KICK;
            case "run_now" -> BulkChange.RUN_NOW;
            case "reschedule" -> BulkChange.reschedule(c.has("at_ms") ? Instant.ofEpochMilli(c.u64("at_ms"))
                    : Instant.now().plus(Conformance.millis(c, "delay_ms")));
            case "move" -> BulkChange.moveTo(c.text("to"));
            default -> throw new UsageException("an unknown change: " + c.text("change"));
        };
    }

    private static Map<String, Object> changed(Changed changed) {
        return Map.of("job", Conformance.id(changed.job()), "state", changed.state().name().toLowerCase(), "due_ms",
                Conformance.id(changed.due().toEpochMilli()));
    }

    private static Map<String, Object> shown(TopicSettings topic) {
        return Map.of("settings", settings(topic.policy()), "jobs", Conformance.id(topic.jobs()), "bytes",
                Conformance.id(topic.bytes()), "paused", topic.paused());
    }

    private static Map<String, Object> settings(TopicPolicy policy) {
        try {
            return ElementJson.settings(policy.encode());
        } catch (MalformedFrameException e) {
            throw new ProtocolException("settings cannot be decoded", e);
        }
    }

    private static Map<String, Object> shown(TopicInfo topic) {
        Map<String, Object> json = new LinkedHashMap<>(totals(topic.totals()));
        json.put("topic", topic.name());
        json.put("paused", topic.paused());
        return json;
    }

    private static Map<String, Object> stats(QueueStats stats) {
        Map<String, Object> shown = new LinkedHashMap<>(totals(stats.totals()));
        shown.put("stages", stats.stages().stream().map(Operator::shown).toList());
        return shown;
    }

    private static Map<String, Object> shown(StageInfo stage) {
        return Map.of("stage", stage.name(), "count", Conformance.id(stage.count()), "p50_us", us(stage.p50()), "p99_us",
                us(stage.p99()), "p999_us", us(stage.p999()), "max_us", us(stage.max()));
    }

    private static String us(Duration duration) {
        return Conformance.id(TimeUnit.MICROSECONDS.convert(duration));
    }

    private static Map<String, Object> totals(Totals totals) {
        return Map.of("delayed", Conformance.id(totals.delayed()), "ready", Conformance.id(totals.ready()), "reserved",
                Conformance.id(totals.reserved()), "buried", Conformance.id(totals.buried()));
    }

    private static Map<String, Object> shown(ConnectionInfo connection) {
        return Map.of("connection", Conformance.id(connection.connection()), "client_name", connection.clientName(), "leases",
                connection.leases(), "subscriptions", connection.subscriptions(), "reserves", connection.reserves());
    }
}
