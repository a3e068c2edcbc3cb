// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Responses in the neutral JSON form of the conformance suite. */
final class ResponseJson {
    private ResponseJson() {
    }

    /** The fields of a response. */
    static Map<String, Object> of(Response response) throws MalformedFrameException {
        if (response instanceof Response.Welcome frame) {
            return welcome(frame);
        }
        if (response instanceof Response.Pong frame) {
            return pong(frame);
        }
        if (response instanceof Response.GoingAway frame) {
            return goingAway(frame);
        }
        if (response instanceof Response.Pushed frame) {
            return pushed(frame);
        }
        if (response instanceof Response.Reserved frame) {
            return reserved(frame);
        }
        if (response instanceof Response.Deliver frame) {
            return deliver(frame);
        }
        if (response instanceof Response.Leased frame) {
            return leased(frame);
        }
        if (response instanceof Response.Settled frame) {
            return settled(frame);
        }
        if (response instanceof Response.Job frame) {
            return job(frame);
        }
        if (response instanceof Response.Changed frame) {
            return changed(frame);
        }
        if (response instanceof Response.Kicked frame) {
            return kicked(frame);
        }
        if (response instanceof Response.Jobs frame) {
            return jobs(frame);
        }
        if (response instanceof Response.Counted frame) {
            return counted(frame);
        }
        if (response instanceof Response.Bulked frame) {
            return bulked(frame);
        }
        if (response instanceof Response.TopicCounts frame) {
            return topicCounts(frame);
        }
        if (response instanceof Response.QueueStats frame) {
            return queueStats(frame);
        }
        if (response instanceof Response.ConnectionList frame) {
            return connectionList(frame);
        }
        if (response instanceof Response.TopicSettings frame) {
            return topicSettings(frame);
        }
        if (response instanceof Response.BackupReady frame) {
            return backupReady(frame);
        }
        if (response instanceof Response.BackupData frame) {
            return backupData(frame);
        }
        if (response instanceof Response.Instants frame) {
            return instants(frame);
        }
        if (response instanceof Response.ClusterReport frame) {
            return clusterReport(frame);
        }
        if (response instanceof Response.Groups frame) {
            return groups(frame);
        }
        if (response instanceof Response.Reasons frame) {
            return reasons(frame);
        }
        if (response instanceof Response.Scheduled frame) {
            return scheduled(frame);
        }
        if (response instanceof Response.Schedule frame) {
            return schedule(frame);
        }
        if (response instanceof Response.Schedules frame) {
            return schedules(frame);
        }
        if (response instanceof Response.ScheduleRan frame) {
            return scheduleRan(frame);
        }
        if (response instanceof Response.ScheduleFilled frame) {
            return scheduleFilled(frame);
        }
        if (response instanceof Response.Error frame) {
            return error(frame);
        }
        return Map.of();
    }

    private static Map<String, Object> welcome(Response.Welcome frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("version", frame.version());
        json.put("marks", frame.marks());
        json.put("cluster_id", Json.base64(frame.clusterId()));
        json.put("session", Long.toUnsignedString(frame.session()));
        json.put("secret", Json.base64(frame.secret()));
        json.put("heartbeat_ms", Integer.toUnsignedLong(frame.heartbeatMs()));
        json.put("session_grace_ms", Integer.toUnsignedLong(frame.sessionGraceMs()));
        json.put("frame_bytes_max", Integer.toUnsignedLong(frame.frameBytesMax()));
        json.put("body_bytes_max", Integer.toUnsignedLong(frame.bodyBytesMax()));
        json.put("push_jobs_max", Integer.toUnsignedLong(frame.pushJobsMax()));
        json.put("leases_max", Integer.toUnsignedLong(frame.leasesMax()));
        json.put("reserve_jobs_max", Integer.toUnsignedLong(frame.reserveJobsMax()));
        json.put("in_flight_max", Integer.toUnsignedLong(frame.inFlightMax()));
        json.put("server_name", frame.serverName());
        json.put("members", memberItems(frame.members()));
        json.put("clock_ms", Long.toUnsignedString(frame.clockMs()));
        return json;
    }

    private static Map<String, Object> pong(Response.Pong frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("now", Long.toUnsignedString(frame.now()));
        json.put("clock_ms", Long.toUnsignedString(frame.clockMs()));
        return json;
    }

    private static Map<String, Object> goingAway(Response.GoingAway frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("message", frame.message());
        json.put("reason", frame.reason());
        return json;
    }

    private static Map<String, Object> pushed(Response.Pushed frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("results", pushResultItems(frame.results()));
        return json;
    }

    private static Map<String, Object> reserved(Response.Reserved frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("jobs", deliveredItems(frame.jobs()));
        return json;
    }

    private static Map<String, Object> deliver(Response.Deliver frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("jobs", deliveredItems(frame.jobs()));
        return json;
    }

    private static Map<String, Object> leased(Response.Leased frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("marks", frame.marks());
        json.put("jobs", deliveredItems(frame.jobs()));
        return json;
    }

    private static Map<String, Object> settled(Response.Settled frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("results", settleResultItems(frame.results()));
        return json;
    }

    private static Map<String, Object> job(Response.Job frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("job", Long.toUnsignedString(frame.job()));
        json.put("due_ms", Long.toUnsignedString(frame.dueMs()));
        json.put("state", frame.state());
        json.put("buried", frame.buried());
        json.put("priority", Integer.toUnsignedLong(frame.priority()));
        json.put("attempts", Integer.toUnsignedLong(frame.attempts()));
        json.put("ttr_ms", Integer.toUnsignedLong(frame.ttrMs()));
        json.put("ttr_left_ms", Integer.toUnsignedLong(frame.ttrLeftMs()));
        json.put("topic", frame.topic());
        json.put("key", frame.key());
        json.put("attributes", ElementJson.attributes(frame.attributes()));
        json.put("body", Json.base64(frame.body()));
        json.put("pushed_ms", Long.toUnsignedString(frame.pushedMs()));
        json.put("reserved_first_ms", Long.toUnsignedString(frame.reservedFirstMs()));
        json.put("reserved_last_ms", Long.toUnsignedString(frame.reservedLastMs()));
        json.put("edited_ms", Long.toUnsignedString(frame.editedMs()));
        json.put("held_by", frame.heldBy());
        json.put("reason", frame.reason());
        json.put("finished_ms", Long.toUnsignedString(frame.finishedMs()));
        json.put("version", Long.toUnsignedString(frame.version()));
        return json;
    }

    private static Map<String, Object> changed(Response.Changed frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("job", Long.toUnsignedString(frame.job()));
        json.put("due_ms", Long.toUnsignedString(frame.dueMs()));
        json.put("state", frame.state());
        json.put("version", Long.toUnsignedString(frame.version()));
        return json;
    }

    private static Map<String, Object> kicked(Response.Kicked frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("jobs", Integer.toUnsignedLong(frame.jobs()));
        return json;
    }

    private static Map<String, Object> jobs(Response.Jobs frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("cursor", Json.base64(frame.cursor()));
        json.put("jobs", listedItems(frame.jobs()));
        return json;
    }

    private static Map<String, Object> counted(Response.Counted frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("jobs", Long.toUnsignedString(frame.jobs()));
        json.put("by_due", dueBarItems(frame.byDue()));
        return json;
    }

    private static Map<String, Object> bulked(Response.Bulked frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("jobs", Integer.toUnsignedLong(frame.jobs()));
        json.put("cursor", Json.base64(frame.cursor()));
        json.put("skipped", Integer.toUnsignedLong(frame.skipped()));
        return json;
    }

    private static Map<String, Object> topicCounts(Response.TopicCounts frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("topics", topicCountItems(frame.topics()));
        return json;
    }

    private static Map<String, Object> queueStats(Response.QueueStats frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("now", Long.toUnsignedString(frame.now()));
        json.put("uptime_ms", Long.toUnsignedString(frame.uptimeMs()));
        json.put("connections", Integer.toUnsignedLong(frame.connections()));
        json.put("sessions", Integer.toUnsignedLong(frame.sessions()));
        json.put("waiting", Integer.toUnsignedLong(frame.waiting()));
        json.put("applied_index", Long.toUnsignedString(frame.appliedIndex()));
        json.put("term", Long.toUnsignedString(frame.term()));
        json.put("state_hash", Json.u128(frame.stateHash()));
        json.put("totals", totals(frame.totals()));
        json.put("topics", topicCountItems(frame.topics()));
        json.put("stages", stageItems(frame.stages()));
        return json;
    }

    private static Map<String, Object> connectionList(Response.ConnectionList frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("marks", frame.marks());
        json.put("connections", connectionItems(frame.connections()));
        return json;
    }

    private static Map<String, Object> topicSettings(Response.TopicSettings frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("jobs", Long.toUnsignedString(frame.jobs()));
        json.put("bytes", Long.toUnsignedString(frame.bytes()));
        json.put("pause_left_ms", Long.toUnsignedString(frame.pauseLeftMs()));
        json.put("marks", frame.marks());
        json.put("settings", ElementJson.settings(frame.settings()));
        return json;
    }

    private static Map<String, Object> backupReady(Response.BackupReady frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("index", Long.toUnsignedString(frame.index()));
        json.put("jobs", Long.toUnsignedString(frame.jobs()));
        json.put("state_hash", Json.u128(frame.stateHash()));
        json.put("bytes", Long.toUnsignedString(frame.bytes()));
        return json;
    }

    private static Map<String, Object> backupData(Response.BackupData frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("data", Json.base64(frame.data()));
        return json;
    }

    private static Map<String, Object> instants(Response.Instants frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("zone_data", frame.zoneData());
        json.put("instants", localInstantItems(frame.instants()));
        return json;
    }

    private static Map<String, Object> clusterReport(Response.ClusterReport frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("node", Long.toUnsignedString(frame.node()));
        json.put("cluster_id", Json.base64(frame.clusterId()));
        json.put("leader", Long.toUnsignedString(frame.leader()));
        json.put("term", Long.toUnsignedString(frame.term()));
        json.put("last", Long.toUnsignedString(frame.last()));
        json.put("commit", Long.toUnsignedString(frame.commit()));
        json.put("feature_level", Integer.toUnsignedLong(frame.featureLevel()));
        json.put("members", nodeItems(frame.members()));
        return json;
    }

    private static Map<String, Object> groups(Response.Groups frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("after", frame.after());
        json.put("groups", groupStateItems(frame.groups()));
        return json;
    }

    private static Map<String, Object> reasons(Response.Reasons frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("reasons", reasonItems(frame.reasons()));
        return json;
    }

    private static Map<String, Object> scheduled(Response.Scheduled frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("schedule", Long.toUnsignedString(frame.schedule()));
        json.put("version", Integer.toUnsignedLong(frame.version()));
        json.put("next_ms", Long.toUnsignedString(frame.nextMs()));
        return json;
    }

    private static Map<String, Object> schedule(Response.Schedule frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("state", scheduleState(frame.state()));
        json.put("pause_note", frame.pauseNote());
        json.putAll(scheduleRules(frame.rules()));
        json.putAll(jobTemplate(frame.template()));
        json.put("history", firingItems(frame.history()));
        return json;
    }

    private static Map<String, Object> schedules(Response.Schedules frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("schedules", listedScheduleItems(frame.schedules()));
        json.put("cursor", Json.base64(frame.cursor()));
        return json;
    }

    private static Map<String, Object> scheduleRan(Response.ScheduleRan frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("job", Long.toUnsignedString(frame.job()));
        return json;
    }

    private static Map<String, Object> scheduleFilled(Response.ScheduleFilled frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("next_ms", Long.toUnsignedString(frame.nextMs()));
        json.put("bytes", Long.toUnsignedString(frame.bytes()));
        json.put("instants", Integer.toUnsignedLong(frame.instants()));
        json.put("pushed", Integer.toUnsignedLong(frame.pushed()));
        json.put("kept", Integer.toUnsignedLong(frame.kept()));
        json.put("refused", Integer.toUnsignedLong(frame.refused()));
        return json;
    }

    private static Map<String, Object> error(Response.Error frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("code", frame.code());
        json.put("marks", frame.marks());
        json.put("applied", frame.applied());
        json.put("retry_after_ms", Integer.toUnsignedLong(frame.retryAfterMs()));
        json.put("leader", frame.leader());
        json.put("message", frame.message());
        return json;
    }

    private static Map<String, Object> pushResult(Response.PushResult frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("outcome", frame.outcome());
        json.put("code", frame.code());
        json.put("job", Long.toUnsignedString(frame.job()));
        return json;
    }

    private static List<Object> pushResultItems(List<Response.PushResult> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.PushResult item : items) {
            json.add(pushResult(item));
        }
        return json;
    }

    private static Map<String, Object> settleResult(Response.SettleResult frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("code", frame.code());
        return json;
    }

    private static List<Object> settleResultItems(List<Response.SettleResult> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.SettleResult item : items) {
            json.add(settleResult(item));
        }
        return json;
    }

    private static Map<String, Object> delivered(Response.Delivered frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("job", Long.toUnsignedString(frame.job()));
        json.put("fence", Long.toUnsignedString(frame.fence()));
        json.put("due_ms", Long.toUnsignedString(frame.dueMs()));
        json.put("priority", Integer.toUnsignedLong(frame.priority()));
        json.put("attempts", Integer.toUnsignedLong(frame.attempts()));
        json.put("ttr_left_ms", Integer.toUnsignedLong(frame.ttrLeftMs()));
        json.put("topic", frame.topic());
        json.put("key", frame.key());
        json.put("attributes", ElementJson.attributes(frame.attributes()));
        json.put("body", Json.base64(frame.body()));
        json.put("deadline_ms", Long.toUnsignedString(frame.deadlineMs()));
        return json;
    }

    private static List<Object> deliveredItems(List<Response.Delivered> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.Delivered item : items) {
            json.add(delivered(item));
        }
        return json;
    }

    private static Map<String, Object> listed(Response.Listed frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("job", Long.toUnsignedString(frame.job()));
        json.put("due_ms", Long.toUnsignedString(frame.dueMs()));
        json.put("state", frame.state());
        json.put("buried", frame.buried());
        json.put("priority", Integer.toUnsignedLong(frame.priority()));
        json.put("attempts", Integer.toUnsignedLong(frame.attempts()));
        json.put("ttr_ms", Integer.toUnsignedLong(frame.ttrMs()));
        json.put("ttr_left_ms", Integer.toUnsignedLong(frame.ttrLeftMs()));
        json.put("topic", frame.topic());
        json.put("key", frame.key());
        json.put("attributes", ElementJson.attributes(frame.attributes()));
        json.put("body", Json.base64(frame.body()));
        json.put("body_bytes", Integer.toUnsignedLong(frame.bodyBytes()));
        json.put("pushed_ms", Long.toUnsignedString(frame.pushedMs()));
        json.put("reserved_first_ms", Long.toUnsignedString(frame.reservedFirstMs()));
        json.put("reserved_last_ms", Long.toUnsignedString(frame.reservedLastMs()));
        json.put("edited_ms", Long.toUnsignedString(frame.editedMs()));
        json.put("held_by", frame.heldBy());
        json.put("reason", frame.reason());
        return json;
    }

    private static List<Object> listedItems(List<Response.Listed> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.Listed item : items) {
            json.add(listed(item));
        }
        return json;
    }

    private static Map<String, Object> totals(Response.Totals frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("delayed", Long.toUnsignedString(frame.delayed()));
        json.put("ready", Long.toUnsignedString(frame.ready()));
        json.put("reserved", Long.toUnsignedString(frame.reserved()));
        json.put("buried", Long.toUnsignedString(frame.buried()));
        json.put("pushed", Long.toUnsignedString(frame.pushed()));
        json.put("finished", Long.toUnsignedString(frame.finished()));
        json.put("deleted", Long.toUnsignedString(frame.deleted()));
        json.put("expired", Long.toUnsignedString(frame.expired()));
        json.put("oldest_ready_ms", Long.toUnsignedString(frame.oldestReadyMs()));
        return json;
    }

    private static Map<String, Object> topicCount(Response.TopicCount frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("marks", frame.marks());
        json.put("consumers", Integer.toUnsignedLong(frame.consumers()));
        json.put("late_ms", Long.toUnsignedString(frame.lateMs()));
        json.put("topic", frame.topic());
        json.putAll(totals(frame.totals()));
        return json;
    }

    private static List<Object> topicCountItems(List<Response.TopicCount> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.TopicCount item : items) {
            json.add(topicCount(item));
        }
        return json;
    }

    private static Map<String, Object> stage(Response.Stage frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("stage", frame.stage());
        json.put("count", Long.toUnsignedString(frame.count()));
        json.put("p50_us", Long.toUnsignedString(frame.p50Us()));
        json.put("p99_us", Long.toUnsignedString(frame.p99Us()));
        json.put("p999_us", Long.toUnsignedString(frame.p999Us()));
        json.put("max_us", Long.toUnsignedString(frame.maxUs()));
        return json;
    }

    private static List<Object> stageItems(List<Response.Stage> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.Stage item : items) {
            json.add(stage(item));
        }
        return json;
    }

    private static Map<String, Object> dueBar(Response.DueBar frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("start_ms", Long.toUnsignedString(frame.startMs()));
        json.put("jobs", Long.toUnsignedString(frame.jobs()));
        return json;
    }

    private static List<Object> dueBarItems(List<Response.DueBar> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.DueBar item : items) {
            json.add(dueBar(item));
        }
        return json;
    }

    private static Map<String, Object> connection(Response.Connection frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("connection", Long.toUnsignedString(frame.connection()));
        json.put("session", Long.toUnsignedString(frame.session()));
        json.put("since_ms", Long.toUnsignedString(frame.sinceMs()));
        json.put("leases", Integer.toUnsignedLong(frame.leases()));
        json.put("subscriptions", Integer.toUnsignedLong(frame.subscriptions()));
        json.put("reserves", Integer.toUnsignedLong(frame.reserves()));
        json.put("credit_jobs", Long.toUnsignedString(frame.creditJobs()));
        json.put("credit_bytes", Long.toUnsignedString(frame.creditBytes()));
        json.put("unsent_bytes", Long.toUnsignedString(frame.unsentBytes()));
        json.put("marks", frame.marks());
        json.put("address", frame.address());
        json.put("client_name", frame.clientName());
        json.put("topics", frame.topics());
        return json;
    }

    private static List<Object> connectionItems(List<Response.Connection> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.Connection item : items) {
            json.add(connection(item));
        }
        return json;
    }

    private static Map<String, Object> member(Response.Member frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("node", Long.toUnsignedString(frame.node()));
        json.put("marks", frame.marks());
        json.put("address", frame.address());
        return json;
    }

    private static List<Object> memberItems(List<Response.Member> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.Member item : items) {
            json.add(member(item));
        }
        return json;
    }

    private static Map<String, Object> node(Response.Node frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("node", Long.toUnsignedString(frame.node()));
        json.put("role", frame.role());
        json.put("marks", frame.marks());
        json.put("matched", Long.toUnsignedString(frame.matched()));
        json.put("applied", Long.toUnsignedString(frame.applied()));
        json.put("ahead_ms", Long.toString(frame.aheadMs()));
        json.put("audited", Long.toUnsignedString(frame.audited()));
        json.put("peer_address", frame.peerAddress());
        json.put("client_address", frame.clientAddress());
        return json;
    }

    private static List<Object> nodeItems(List<Response.Node> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.Node item : items) {
            json.add(node(item));
        }
        return json;
    }

    private static Map<String, Object> scheduleRules(Request.ScheduleRules frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("origin_ms", Long.toUnsignedString(frame.originMs()));
        json.put("start_ms", Long.toUnsignedString(frame.startMs()));
        json.put("end_ms", Long.toUnsignedString(frame.endMs()));
        json.put("count", Long.toUnsignedString(frame.count()));
        json.put("window_ms", Long.toUnsignedString(frame.windowMs()));
        json.put("missed_max", Integer.toUnsignedLong(frame.missedMax()));
        json.put("jitter_ms", Integer.toUnsignedLong(frame.jitterMs()));
        json.put("failures_max", Integer.toUnsignedLong(frame.failuresMax()));
        json.put("dst", frame.dst());
        json.put("missed", frame.missed());
        json.put("overlap", frame.overlap());
        json.put("when", frame.when());
        json.put("zone", frame.zone());
        json.put("key", frame.key());
        json.put("note", frame.note());
        return json;
    }

    private static Map<String, Object> jobTemplate(Request.JobTemplate frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("priority", Integer.toUnsignedLong(frame.priority()));
        json.put("ttr_ms", Integer.toUnsignedLong(frame.ttrMs()));
        json.put("attributes", ElementJson.attributes(frame.attributes()));
        json.put("body", Json.base64(frame.body()));
        return json;
    }

    private static Map<String, Object> groupState(Response.GroupState frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ready", Long.toUnsignedString(frame.ready()));
        json.put("reserved", Long.toUnsignedString(frame.reserved()));
        json.put("oldest_ms", Long.toUnsignedString(frame.oldestMs()));
        json.put("until_ms", Long.toUnsignedString(frame.untilMs()));
        json.put("weight", Integer.toUnsignedLong(frame.weight()));
        json.put("hold", frame.hold());
        json.put("paused", frame.paused());
        json.put("name", frame.name());
        return json;
    }

    private static List<Object> groupStateItems(List<Response.GroupState> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.GroupState item : items) {
            json.add(groupState(item));
        }
        return json;
    }

    private static Map<String, Object> reason(Response.Reason frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("why", frame.why());
        json.put("since_ms", Long.toUnsignedString(frame.sinceMs()));
        json.put("until_ms", Long.toUnsignedString(frame.untilMs()));
        json.put("jobs", Long.toUnsignedString(frame.jobs()));
        json.put("text", frame.text());
        return json;
    }

    private static List<Object> reasonItems(List<Response.Reason> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.Reason item : items) {
            json.add(reason(item));
        }
        return json;
    }

    private static Map<String, Object> scheduleState(Response.ScheduleState frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("schedule", Long.toUnsignedString(frame.schedule()));
        json.put("next_ms", Long.toUnsignedString(frame.nextMs()));
        json.put("fired", Long.toUnsignedString(frame.fired()));
        json.put("version", Integer.toUnsignedLong(frame.version()));
        json.put("running", Integer.toUnsignedLong(frame.running()));
        json.put("failures", Integer.toUnsignedLong(frame.failures()));
        json.put("paused", frame.paused());
        json.put("marks", frame.marks());
        return json;
    }

    private static Map<String, Object> firing(Response.Firing frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("instant_ms", Long.toUnsignedString(frame.instantMs()));
        json.put("last_ms", Long.toUnsignedString(frame.lastMs()));
        json.put("instants", Long.toUnsignedString(frame.instants()));
        json.put("at_ms", Long.toUnsignedString(frame.atMs()));
        json.put("job", Long.toUnsignedString(frame.job()));
        json.put("fired", frame.fired());
        return json;
    }

    private static List<Object> firingItems(List<Response.Firing> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.Firing item : items) {
            json.add(firing(item));
        }
        return json;
    }

    private static Map<String, Object> localInstant(Response.LocalInstant frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("instant_ms", Long.toUnsignedString(frame.instantMs()));
        json.put("local", frame.local());
        return json;
    }

    private static List<Object> localInstantItems(List<Response.LocalInstant> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.LocalInstant item : items) {
            json.add(localInstant(item));
        }
        return json;
    }

    private static Map<String, Object> listedSchedule(Response.ListedSchedule frame) throws MalformedFrameException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.putAll(scheduleState(frame.scheduleState()));
        json.putAll(scheduleRules(frame.scheduleRules()));
        json.put("topic", frame.topic());
        json.put("name", frame.name());
        json.put("pause_note", frame.pauseNote());
        return json;
    }

    private static List<Object> listedScheduleItems(List<Response.ListedSchedule> items) throws MalformedFrameException {
        List<Object> json = new ArrayList<>();
        for (Response.ListedSchedule item : items) {
            json.add(listedSchedule(item));
        }
        return json;
    }
}
