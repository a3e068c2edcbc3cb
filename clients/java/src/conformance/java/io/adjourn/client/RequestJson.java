// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.Choice;
import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Requests in the neutral JSON form of the conformance suite. They are read as strictly as by a server: the client itself only
 * writes them.
 */
final class RequestJson {
    private RequestJson() {
    }

    /** The request with these fields. */
    static Request of(Opcode opcode, Json f) {
        return switch (opcode) {
            case HELLO -> new Request.Hello(f.u32("version_min"), f.u32("version_max"), f.u32("options"), f.u32("heartbeat_ms"),
                    f.u64("session"), f.bytes("secret"), f.text("client_name"), f.bytes("token"));
            case PING -> new Request.Ping();
            case GOODBYE -> new Request.Goodbye();
            case PUSH -> new Request.Push(f.u64("sequence"), f.text("topic"),
                    f.objects("jobs").stream().map(RequestJson::newJob).toList(), f.u128("idempotency"), f.u32("list_jobs"));
            case RESERVE -> new Request.Reserve(f.u64("wait_ms"), f.u32("jobs_max"), f.texts("topics"), f.numbers("weights"));
            case SUBSCRIBE -> new Request.Subscribe(f.u32("credit_jobs"), f.u64("credit_bytes"), f.texts("topics"),
                    f.numbers("weights"));
            case CREDIT -> new Request.Credit(f.u32("subscription"), f.u32("credit_jobs"), f.u64("credit_bytes"));
            case UNSUBSCRIBE -> new Request.Unsubscribe(f.u32("subscription"));
            case CANCEL -> new Request.Cancel(f.u32("request"));
            case LEASES -> new Request.Leases(f.u64("after"), f.u32("jobs_max"));
            case RESERVE_JOB -> new Request.ReserveJob(f.reference());
            case FINISH -> new Request.Finish(f.objects("leases").stream().map(RequestJson::lease).toList());
            case RELEASE -> new Request.Release(f.u64("delay_ms"), f.objects("leases").stream().map(RequestJson::lease).toList(),
                    f.text("reason"));
            case TOUCH -> new Request.Touch(f.u32("ttr_ms"), f.objects("leases").stream().map(RequestJson::lease).toList());
            case BURY -> new Request.Bury(f.objects("leases").stream().map(RequestJson::lease).toList(), f.text("reason"));
            case GET -> new Request.Get(f.reference());
            case DELETE -> new Request.Delete(f.reference());
            case RESCHEDULE -> new Request.Reschedule(f.u64("due_ms"), f.u32("due_kind"), f.reference(), f.u64("if_version"));
            case RUN_NOW -> new Request.RunNow(f.reference());
            case KICK -> new Request.Kick(f.reference());
            case PEEK -> new Request.Peek(f.text("topic"));
            case KICK_MANY -> new Request.KickMany(f.u32("jobs_max"), f.text("topic"));
            case LIST -> new Request.ListJobs(f.u32("jobs_max"), f.u32("order"), f.u32("marks"), f.bytes("cursor"),
                    ElementJson.filter(f.object("filter")));
            case COUNT -> new Request.Count(ElementJson.filter(f.object("filter")), f.u32("bars"), f.u64("bars_from_ms"),
                    f.u64("bar_ms"));
            case BULK -> new Request.Bulk(f.u32("jobs_max"), f.u32("change"), f.u64("due_ms"), f.bytes("cursor"),
                    ElementJson.filter(f.object("filter")), f.text("to"));
            case EDIT -> new Request.Edit(f.u64("due_ms"), f.u32("priority"), f.u32("ttr_ms"), f.u32("edited"), f.u32("due_kind"),
                    f.reference(), ElementJson.attributes(f.object("attributes")), f.bytes("body"), f.u64("if_version"));
            case PAUSE -> new Request.Pause(f.text("topic"), f.u64("for_ms"));
            case RESUME -> new Request.Resume(f.text("topic"));
            case TOPICS -> new Request.Topics();
            case STATS -> new Request.Stats();
            case CONNECTIONS -> new Request.Connections(f.u64("after"), f.u32("connections_max"));
            case DISCONNECT -> new Request.Disconnect(f.u64("connection"), f.u32("options"));
            case TOPIC_SET -> new Request.TopicSet(f.text("topic"), ElementJson.settings(f.object("settings")));
            case TOPIC_DELETE -> new Request.TopicDelete(f.text("topic"));
            case TOPIC_SHOW -> new Request.TopicShow(f.text("topic"));
            case ADVANCE -> new Request.Advance(f.u32("step"), f.u64("by_ms"));
            case BACKUP_BEGIN -> new Request.BackupBegin();
            case BACKUP_READ -> new Request.BackupRead(f.u64("offset"), f.u32("bytes"));
            case BACKUP_END -> new Request.BackupEnd();
            case SCHEDULE_PREVIEW -> new Request.SchedulePreview(scheduleRules(f), f.u64("from_ms"), f.u32("instants_max"));
            case CLUSTER_STATUS -> new Request.ClusterStatus();
            case CLUSTER_ADD -> new Request.ClusterAdd(f.text("address"));
            case CLUSTER_REMOVE -> new Request.ClusterRemove(f.u64("node"));
            case CLUSTER_TRANSFER -> new Request.ClusterTransfer(f.u64("node"));
            case GROUP_SET -> new Request.GroupSet(f.u32("weight"), f.u32("pause"), f.text("topic"), f.text("group"));
            case GROUP_LIST -> new Request.GroupList(f.u32("groups_max"), f.text("topic"), f.text("after"), f.text("prefix"));
            case WHY -> new Request.Why(f.reference());
            case TOPIC_WHY -> new Request.TopicWhy(f.text("topic"), f.text("group"));
            case SCHEDULE_SET -> new Request.ScheduleSet(f.text("topic"), f.text("name"), scheduleRules(f), jobTemplate(f),
                    f.u32("if_version"));
            case SCHEDULE_SHOW -> new Request.ScheduleShow(f.text("topic"), f.text("name"));
            case SCHEDULE_LIST -> new Request.ScheduleList(f.u32("schedules_max"), f.u64("next_before_ms"), f.u32("paused"),
                    f.text("topic"), f.text("prefix"), f.bytes("cursor"));
            case SCHEDULE_DELETE -> new Request.ScheduleDelete(f.text("topic"), f.text("name"));
            case SCHEDULE_PAUSE -> new Request.SchedulePause(f.text("topic"), f.text("name"), f.text("note"));
            case SCHEDULE_RESUME -> new Request.ScheduleResume(f.text("topic"), f.text("name"));
            case SCHEDULE_RUN -> new Request.ScheduleRun(f.text("topic"), f.text("name"));
            case SCHEDULE_FILL -> new Request.ScheduleFill(f.u64("from_ms"), f.u64("to_ms"), f.u32("dry_run"), f.text("topic"),
                    f.text("name"));
            default -> throw new UsageException(opcode + " is no request");
        };
    }

    /** Reads what follows the head of a frame. */
    static Map<String, Object> decode(Opcode opcode, FrameReader in) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        switch (opcode) {
            case HELLO -> hello(in, json);
            case PUSH -> push(in, json);
            case RESERVE -> reserve(in, json);
            case SUBSCRIBE -> subscribe(in, json);
            case CREDIT -> credit(in, json);
            case UNSUBSCRIBE -> unsubscribe(in, json);
            case CANCEL -> cancel(in, json);
            case LEASES -> leases(in, json);
            case RESERVE_JOB -> reserveJob(in, json);
            case FINISH -> finish(in, json);
            case RELEASE -> release(in, json);
            case TOUCH -> touch(in, json);
            case BURY -> bury(in, json);
            case GET -> get(in, json);
            case DELETE -> delete(in, json);
            case RESCHEDULE -> reschedule(in, json);
            case RUN_NOW -> runNow(in, json);
            case KICK -> kick(in, json);
            case PEEK -> peek(in, json);
            case KICK_MANY -> kickMany(in, json);
            case LIST -> list(in, json);
            case COUNT -> count(in, json);
            case BULK -> bulk(in, json);
            case EDIT -> edit(in, json);
            case PAUSE -> pause(in, json);
            case RESUME -> resume(in, json);
            case CONNECTIONS -> connections(in, json);
            case DISCONNECT -> disconnect(in, json);
            case TOPIC_SET -> topicSet(in, json);
            case TOPIC_DELETE -> topicDelete(in, json);
            case TOPIC_SHOW -> topicShow(in, json);
            case ADVANCE -> advance(in, json);
            case BACKUP_READ -> backupRead(in, json);
            case SCHEDULE_PREVIEW -> schedulePreview(in, json);
            case CLUSTER_ADD -> clusterAdd(in, json);
            case CLUSTER_REMOVE -> clusterRemove(in, json);
            case CLUSTER_TRANSFER -> clusterTransfer(in, json);
            case GROUP_SET -> groupSet(in, json);
            case GROUP_LIST -> groupList(in, json);
            case WHY -> why(in, json);
            case TOPIC_WHY -> topicWhy(in, json);
            case SCHEDULE_SET -> scheduleSet(in, json);
            case SCHEDULE_SHOW -> scheduleShow(in, json);
            case SCHEDULE_LIST -> scheduleList(in, json);
            case SCHEDULE_DELETE -> scheduleDelete(in, json);
            case SCHEDULE_PAUSE -> schedulePause(in, json);
            case SCHEDULE_RESUME -> scheduleResume(in, json);
            case SCHEDULE_RUN -> scheduleRun(in, json);
            case SCHEDULE_FILL -> scheduleFill(in, json);
            default -> {
                // The others have no fields.
            }
        }
        return json;
    }

    private static void hello(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        Strict.magic(in.u32());
        json.put("version_min", in.u16());
        json.put("version_max", in.u16());
        json.put("options", in.u32() & 0x3);
        json.put("heartbeat_ms", Integer.toUnsignedLong(in.u32()));
        json.put("session", Long.toUnsignedString(in.u64()));
        json.put("secret", Json.base64(in.raw(16)));
        json.put("client_name", in.text8());
        json.put("token", Json.base64(in.bytes16()));
    }

    private static void push(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("sequence", Long.toUnsignedString(in.u64()));
        json.put("topic", Names.topic(in.text8()));
        json.put("jobs", Strict.size(newJobItems(in), 1, 4096L, "jobs"));
        json.put("idempotency", in.isOver() ? "0" : Json.u128(in.raw(16)));
        json.put("list_jobs", in.isOver() ? 0 : Integer.toUnsignedLong(in.u32()));
    }

    private static void reserve(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("wait_ms", Long.toUnsignedString(Strict.range(in.u64(), 0, 3600000L, "wait_ms")));
        json.put("jobs_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 1024L, "jobs_max"));
        json.put("topics", Strict.topics(in.texts()));
        json.put("weights", in.isOver() ? List.of() : in.numbers());
    }

    private static void subscribe(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("credit_jobs", Strict.range(Integer.toUnsignedLong(in.u32()), 0, 65536L, "credit_jobs"));
        json.put("credit_bytes", Long.toUnsignedString(Strict.range(in.u64(), 0, 268435456L, "credit_bytes")));
        json.put("topics", Strict.topics(in.texts()));
        json.put("weights", in.isOver() ? List.of() : in.numbers());
    }

    private static void credit(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("subscription", Integer.toUnsignedLong(in.u32()));
        json.put("credit_jobs", Strict.range(Integer.toUnsignedLong(in.u32()), 0, 65536L, "credit_jobs"));
        json.put("credit_bytes", Long.toUnsignedString(Strict.range(in.u64(), 0, 268435456L, "credit_bytes")));
    }

    private static void unsubscribe(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("subscription", Integer.toUnsignedLong(in.u32()));
    }

    private static void cancel(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("request", Integer.toUnsignedLong(in.u32()));
    }

    private static void leases(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("after", Long.toUnsignedString(in.u64()));
        json.put("jobs_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 1024L, "jobs_max"));
    }

    private static void reserveJob(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        Strict.reference(in, json);
    }

    private static void finish(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("leases", Strict.size(leaseItems(in), 1, 4096L, "leases"));
    }

    private static void release(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("delay_ms", Long.toUnsignedString(Strict.release(in.u64())));
        json.put("leases", Strict.size(leaseItems(in), 1, 4096L, "leases"));
        json.put("reason", in.isOver() ? "" : in.text16());
    }

    private static void touch(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("ttr_ms", Strict.ttr(in.u32()));
        json.put("leases", Strict.size(leaseItems(in), 1, 4096L, "leases"));
    }

    private static void bury(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("leases", Strict.size(leaseItems(in), 1, 4096L, "leases"));
        json.put("reason", in.isOver() ? "" : in.text16());
    }

    private static void get(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        Strict.reference(in, json);
    }

    private static void delete(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        Strict.reference(in, json);
    }

    private static void reschedule(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("due_ms", Long.toUnsignedString(in.u64()));
        json.put("due_kind", Strict.choice(in.u8(), 2, "due_kind"));
        Strict.reference(in, json);
        json.put("if_version", in.isOver() ? "0" : Long.toUnsignedString(in.u64()));
        Strict.due(json);
    }

    private static void runNow(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        Strict.reference(in, json);
    }

    private static void kick(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        Strict.reference(in, json);
    }

    private static void peek(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
    }

    private static void kickMany(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("jobs_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 4096L, "jobs_max"));
        json.put("topic", Names.topic(in.text8()));
    }

    private static void list(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("jobs_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 1024L, "jobs_max"));
        json.put("order", Strict.choice(in.u8(), 3, "order"));
        json.put("marks", in.u8() & 0x1);
        json.put("cursor", Json.base64(in.bytes16()));
        json.put("filter", ElementJson.filter(in.bytes16()));
    }

    private static void count(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("filter", ElementJson.filter(in.bytes16()));
        json.put("bars", in.isOver() ? 0 : Strict.range(Integer.toUnsignedLong(in.u32()), 0, 1024L, "bars"));
        json.put("bars_from_ms", in.isOver() ? "0" : Long.toUnsignedString(in.u64()));
        json.put("bar_ms", in.isOver() ? "0" : Long.toUnsignedString(in.u64()));
    }

    private static void bulk(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("jobs_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 1024L, "jobs_max"));
        json.put("change", Strict.choice(in.u8(), 5, "change"));
        json.put("due_ms", Long.toUnsignedString(in.u64()));
        json.put("cursor", Json.base64(in.bytes16()));
        json.put("filter", ElementJson.filter(in.bytes16()));
        json.put("to", in.isOver() || (int) json.get("change") != Choice.Change.MOVE ? "" : Names.topic(in.text8()));
    }

    private static void edit(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("due_ms", Long.toUnsignedString(in.u64()));
        json.put("priority", Integer.toUnsignedLong(in.u32()));
        json.put("ttr_ms", Strict.ttr(in.u32()));
        json.put("edited", in.u16() & 0x3ff);
        json.put("due_kind", Strict.choice(in.u8(), 2, "due_kind"));
        Strict.reference(in, json);
        json.put("attributes", ElementJson.attributes(in.bytes16()));
        json.put("body", Json.base64(in.raw(in.u32())));
        json.put("if_version", in.isOver() ? "0" : Long.toUnsignedString(in.u64()));
        Strict.due(json);
    }

    private static void pause(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("for_ms", in.isOver() ? "0" : Long.toUnsignedString(in.u64()));
    }

    private static void resume(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
    }

    private static void connections(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("after", Long.toUnsignedString(in.u64()));
        json.put("connections_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 256L, "connections_max"));
    }

    private static void disconnect(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("connection", Long.toUnsignedString(in.u64()));
        json.put("options", in.u8() & 0x1);
    }

    private static void topicSet(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("settings", ElementJson.settings(in.bytes16()));
    }

    private static void topicDelete(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
    }

    private static void topicShow(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
    }

    private static void advance(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("step", Strict.choice(in.u8(), 2, "step"));
        json.put("by_ms", Long.toUnsignedString(Strict.range(in.u64(), 0, 315360000000L, "by_ms")));
    }

    private static void backupRead(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("offset", Long.toUnsignedString(in.u64()));
        json.put("bytes", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 1048576L, "bytes"));
    }

    private static void schedulePreview(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        scheduleRules(in, json);
        json.put("from_ms", Long.toUnsignedString(in.u64()));
        json.put("instants_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 1000L, "instants_max"));
    }

    private static void clusterAdd(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("address", in.text8());
    }

    private static void clusterRemove(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("node", Long.toUnsignedString(in.u64()));
    }

    private static void clusterTransfer(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("node", Long.toUnsignedString(in.u64()));
    }

    private static void groupSet(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("weight", Strict.range(Integer.toUnsignedLong(in.u32()), 0, 1000L, "weight"));
        json.put("pause", Strict.choice(in.u8(), 3, "pause"));
        json.put("topic", Names.topic(in.text8()));
        json.put("group", in.text8());
    }

    private static void groupList(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("groups_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 1000L, "groups_max"));
        json.put("topic", Names.topic(in.text8()));
        json.put("after", in.text8());
        json.put("prefix", in.text8());
    }

    private static void why(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        Strict.reference(in, json);
    }

    private static void topicWhy(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("group", in.text8());
    }

    private static void scheduleSet(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("name", in.text8());
        scheduleRules(in, json);
        jobTemplate(in, json);
        json.put("if_version", in.isOver() ? 0 : Integer.toUnsignedLong(in.u32()));
    }

    private static void scheduleShow(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("name", in.text8());
    }

    private static void scheduleList(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("schedules_max", Strict.range(Integer.toUnsignedLong(in.u32()), 1, 256L, "schedules_max"));
        json.put("next_before_ms", Long.toUnsignedString(in.u64()));
        json.put("paused", Strict.choice(in.u8(), 3, "paused"));
        json.put("topic", in.text8());
        json.put("prefix", in.text8());
        json.put("cursor", Json.base64(in.bytes16()));
    }

    private static void scheduleDelete(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("name", in.text8());
    }

    private static void schedulePause(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("name", in.text8());
        json.put("note", in.isOver() ? "" : in.text16());
    }

    private static void scheduleResume(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("name", in.text8());
    }

    private static void scheduleRun(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("topic", Names.topic(in.text8()));
        json.put("name", in.text8());
    }

    private static void scheduleFill(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("from_ms", Long.toUnsignedString(in.u64()));
        json.put("to_ms", Long.toUnsignedString(in.u64()));
        json.put("dry_run", Strict.range(in.u8(), 0, 1L, "dry_run"));
        json.put("topic", Names.topic(in.text8()));
        json.put("name", in.text8());
    }

    static Request.NewJob newJob(Json f) {
        return new Request.NewJob(f.u64("due_ms"), f.u32("priority"), f.u32("ttr_ms"), f.u32("due_kind"), f.u32("if_exists"),
                f.text("key"), ElementJson.attributes(f.object("attributes")), f.bytes("body"));
    }

    private static List<Object> newJobItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(26);
        int size = in.size(fixed);
        List<Object> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("due_ms", Long.toUnsignedString(in.u64()));
            json.put("priority", Integer.toUnsignedLong(in.u32()));
            json.put("ttr_ms", Strict.ttr(in.u32()));
            json.put("due_kind", Strict.choice(in.u8(), 2, "due_kind"));
            json.put("if_exists", Strict.choice(in.u8(), 5, "if_exists"));
            int keyLength = in.u16();
            int attributesLength = in.u16();
            int bodyLength = in.u32();
            in.endFixed(end);
            json.put("key", in.text(keyLength));
            json.put("attributes", ElementJson.attributes(in.raw(attributesLength)));
            json.put("body", Json.base64(in.raw(bodyLength)));
            Strict.due(json);
            items.add(json);
        }
        return items;
    }

    static Lease lease(Json f) {
        return new Lease(f.u64("job"), f.u64("fence"));
    }

    private static List<Object> leaseItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(16);
        int size = in.size(fixed);
        List<Object> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("job", Long.toUnsignedString(in.u64()));
            json.put("fence", Long.toUnsignedString(in.u64()));
            in.endFixed(end);
            items.add(json);
        }
        return items;
    }

    static Request.ScheduleRules scheduleRules(Json f) {
        return new Request.ScheduleRules(f.u64("origin_ms"), f.u64("start_ms"), f.u64("end_ms"), f.u64("count"),
                f.u64("window_ms"), f.u32("missed_max"), f.u32("jitter_ms"), f.u32("failures_max"), f.u32("dst"), f.u32("missed"),
                f.u32("overlap"), f.text("when"), f.text("zone"), f.text("key"), f.text("note"));
    }

    private static void scheduleRules(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("origin_ms", Long.toUnsignedString(in.u64()));
        json.put("start_ms", Long.toUnsignedString(in.u64()));
        json.put("end_ms", Long.toUnsignedString(in.u64()));
        json.put("count", Long.toUnsignedString(in.u64()));
        json.put("window_ms", Long.toUnsignedString(in.u64()));
        json.put("missed_max", Strict.range(Integer.toUnsignedLong(in.u32()), 0, 1000L, "missed_max"));
        json.put("jitter_ms", Strict.range(Integer.toUnsignedLong(in.u32()), 0, 86400000L, "jitter_ms"));
        json.put("failures_max", Integer.toUnsignedLong(in.u32()));
        json.put("dst", Strict.choice(in.u8(), 2, "dst"));
        json.put("missed", Strict.choice(in.u8(), 3, "missed"));
        json.put("overlap", Strict.choice(in.u8(), 4, "overlap"));
        int whenLength = in.u16();
        int zoneLength = in.u8();
        int keyLength = in.u16();
        int noteLength = in.u16();
        json.put("when", in.text(whenLength));
        json.put("zone", in.text(zoneLength));
        json.put("key", in.text(keyLength));
        json.put("note", in.text(noteLength));
    }

    static Request.JobTemplate jobTemplate(Json f) {
        return new Request.JobTemplate(f.u32("priority"), f.u32("ttr_ms"), ElementJson.attributes(f.object("attributes")),
                f.bytes("body"));
    }

    private static void jobTemplate(FrameReader in, Map<String, Object> json) throws MalformedFrameException {
        json.put("priority", Integer.toUnsignedLong(in.u32()));
        json.put("ttr_ms", Strict.ttr(in.u32()));
        int attributesLength = in.u16();
        int bodyLength = in.u32();
        json.put("attributes", ElementJson.attributes(in.raw(attributesLength)));
        json.put("body", Json.base64(in.raw(bodyLength)));
    }
}
