// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

import io.adjourn.client.ErrorCode;
import java.util.ArrayList;
import java.util.List;

/** Reads responses. What a newer server adds at the end of a frame or of an item is skipped. */
public final class ResponseDecoder {
    private ResponseDecoder() {
    }

    /** Decodes what follows the head of a frame; {@link Response.Unknown} for an opcode that this client does not know. */
    public static Response decode(int opcode, byte[] payload) throws MalformedFrameException {
        FrameReader in = new FrameReader(payload);
        Opcode known = Opcode.of(opcode);
        return known == null ? new Response.Unknown(opcode) : switch (known) {
            case WELCOME -> welcome(in);
            case PONG -> pong(in);
            case DONE -> new Response.Done();
            case GOING_AWAY -> goingAway(in);
            case PUSHED -> pushed(in);
            case RESERVED -> reserved(in);
            case SUBSCRIBED -> new Response.Subscribed();
            case DELIVER -> deliver(in);
            case LEASED -> leased(in);
            case SETTLED -> settled(in);
            case JOB -> job(in);
            case CHANGED -> changed(in);
            case KICKED -> kicked(in);
            case JOBS -> jobs(in);
            case COUNTED -> counted(in);
            case BULKED -> bulked(in);
            case TOPIC_COUNTS -> topicCounts(in);
            case QUEUE_STATS -> queueStats(in);
            case CONNECTION_LIST -> connectionList(in);
            case TOPIC_SETTINGS -> topicSettings(in);
            case BACKUP_READY -> backupReady(in);
            case BACKUP_DATA -> backupData(in);
            case INSTANTS -> instants(in);
            case CLUSTER_REPORT -> clusterReport(in);
            case GROUPS -> groups(in);
            case REASONS -> reasons(in);
            case SCHEDULED -> scheduled(in);
            case SCHEDULE -> schedule(in);
            case SCHEDULES -> schedules(in);
            case SCHEDULE_RAN -> scheduleRan(in);
            case SCHEDULE_FILLED -> scheduleFilled(in);
            case ERROR -> error(in);
            default -> new Response.Unknown(opcode);
        };
    }

    private static Response.Welcome welcome(FrameReader in) throws MalformedFrameException {
        return new Response.Welcome(in.u16(), in.u8() & 0x3, in.raw(16), in.u64(), in.raw(16), in.u32(), in.u32(), in.u32(),
                in.u32(), in.u32(), in.u32(), in.u32(), in.u32(), in.text8(), memberItems(in), in.isOver() ? 0 : in.u64());
    }

    private static Response.Pong pong(FrameReader in) throws MalformedFrameException {
        return new Response.Pong(in.u64(), in.isOver() ? 0 : in.u64());
    }

    private static Response.GoingAway goingAway(FrameReader in) throws MalformedFrameException {
        return new Response.GoingAway(in.text16(), in.isOver() ? 0 : in.u8());
    }

    private static Response.Pushed pushed(FrameReader in) throws MalformedFrameException {
        return new Response.Pushed(pushResultItems(in));
    }

    private static Response.Reserved reserved(FrameReader in) throws MalformedFrameException {
        return new Response.Reserved(deliveredItems(in));
    }

    private static Response.Deliver deliver(FrameReader in) throws MalformedFrameException {
        return new Response.Deliver(deliveredItems(in));
    }

    private static Response.Leased leased(FrameReader in) throws MalformedFrameException {
        return new Response.Leased(in.u8() & 0x1, deliveredItems(in));
    }

    private static Response.Settled settled(FrameReader in) throws MalformedFrameException {
        return new Response.Settled(settleResultItems(in));
    }

    private static Response.Job job(FrameReader in) throws MalformedFrameException {
        long job = in.u64();
        long dueMs = in.u64();
        int state = in.u8();
        int buried = in.u8();
        int priority = in.u32();
        int attempts = in.u32();
        int ttrMs = in.u32();
        int ttrLeftMs = in.u32();
        int topicLength = in.u8();
        int keyLength = in.u16();
        int attributesLength = in.u16();
        int bodyLength = in.u32();
        return new Response.Job(job, dueMs, state, buried, priority, attempts, ttrMs, ttrLeftMs, in.text(topicLength),
                in.text(keyLength), in.raw(attributesLength), in.raw(bodyLength), in.isOver() ? 0 : in.u64(),
                in.isOver() ? 0 : in.u64(), in.isOver() ? 0 : in.u64(), in.isOver() ? 0 : in.u64(), in.isOver() ? "" : in.text8(),
                in.isOver() ? "" : in.text16(), in.isOver() ? 0 : in.u64(), in.isOver() ? 0 : in.u64());
    }

    private static Response.Changed changed(FrameReader in) throws MalformedFrameException {
        return new Response.Changed(in.u64(), in.u64(), in.u8(), in.isOver() ? 0 : in.u64());
    }

    private static Response.Kicked kicked(FrameReader in) throws MalformedFrameException {
        return new Response.Kicked(in.u32());
    }

    private static Response.Jobs jobs(FrameReader in) throws MalformedFrameException {
        return new Response.Jobs(in.bytes16(), listedItems(in));
    }

    private static Response.Counted counted(FrameReader in) throws MalformedFrameException {
        return new Response.Counted(in.u64(), in.isOver() ? List.of() : dueBarItems(in));
    }

    private static Response.Bulked bulked(FrameReader in) throws MalformedFrameException {
        return new Response.Bulked(in.u32(), in.bytes16(), in.isOver() ? 0 : in.u32());
    }

    private static Response.TopicCounts topicCounts(FrameReader in) throws MalformedFrameException {
        return new Response.TopicCounts(topicCountItems(in));
    }

    private static Response.QueueStats queueStats(FrameReader in) throws MalformedFrameException {
        return new Response.QueueStats(in.u64(), in.u64(), in.u32(), in.u32(), in.u32(), in.u64(), in.u64(), in.raw(16),
                totals(in), topicCountItems(in), in.isOver() ? List.of() : stageItems(in));
    }

    private static Response.ConnectionList connectionList(FrameReader in) throws MalformedFrameException {
        return new Response.ConnectionList(in.u8() & 0x1, connectionItems(in));
    }

    private static Response.TopicSettings topicSettings(FrameReader in) throws MalformedFrameException {
        return new Response.TopicSettings(in.u64(), in.u64(), in.u64(), in.u8() & 0x7, in.bytes16());
    }

    private static Response.BackupReady backupReady(FrameReader in) throws MalformedFrameException {
        return new Response.BackupReady(in.u64(), in.u64(), in.raw(16), in.u64());
    }

    private static Response.BackupData backupData(FrameReader in) throws MalformedFrameException {
        return new Response.BackupData(in.bytes32());
    }

    private static Response.Instants instants(FrameReader in) throws MalformedFrameException {
        return new Response.Instants(in.text8(), localInstantItems(in));
    }

    private static Response.ClusterReport clusterReport(FrameReader in) throws MalformedFrameException {
        return new Response.ClusterReport(in.u64(), in.raw(16), in.u64(), in.u64(), in.u64(), in.u64(), in.u32(), nodeItems(in));
    }

    private static Response.Groups groups(FrameReader in) throws MalformedFrameException {
        return new Response.Groups(in.text8(), groupStateItems(in));
    }

    private static Response.Reasons reasons(FrameReader in) throws MalformedFrameException {
        return new Response.Reasons(reasonItems(in));
    }

    private static Response.Scheduled scheduled(FrameReader in) throws MalformedFrameException {
        return new Response.Scheduled(in.u64(), in.u32(), in.u64());
    }

    private static Response.Schedule schedule(FrameReader in) throws MalformedFrameException {
        return new Response.Schedule(scheduleState(in), in.text16(), scheduleRules(in), jobTemplate(in), firingItems(in));
    }

    private static Response.Schedules schedules(FrameReader in) throws MalformedFrameException {
        return new Response.Schedules(listedScheduleItems(in), in.bytes16());
    }

    private static Response.ScheduleRan scheduleRan(FrameReader in) throws MalformedFrameException {
        return new Response.ScheduleRan(in.u64());
    }

    private static Response.ScheduleFilled scheduleFilled(FrameReader in) throws MalformedFrameException {
        return new Response.ScheduleFilled(in.u64(), in.u64(), in.u32(), in.u32(), in.u32(), in.u32());
    }

    private static Response.Error error(FrameReader in) throws MalformedFrameException {
        return new Response.Error(in.u16(), in.u8() & 0x1, FrameReader.known(in.u8(), 1, 1), in.u32(), in.text8(), in.text16());
    }

    private static List<Response.PushResult> pushResultItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(11);
        int size = in.size(fixed);
        List<Response.PushResult> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            int outcome = in.u8();
            int code = in.u16();
            long job = in.u64();
            in.endFixed(end);
            if (outcome > Choice.Outcome.POSTPONED) {
                // What a newer server says of this item leaves it, and no other, in doubt.
                outcome = Choice.Outcome.REFUSED;
                code = ErrorCode.OUTCOME_UNKNOWN.number();
            }
            items.add(new Response.PushResult(outcome, code, job));
        }
        return items;
    }

    private static List<Response.SettleResult> settleResultItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(2);
        int size = in.size(fixed);
        List<Response.SettleResult> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            int code = in.u16();
            in.endFixed(end);
            items.add(new Response.SettleResult(code));
        }
        return items;
    }

    private static List<Response.Delivered> deliveredItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(45);
        int size = in.size(fixed);
        List<Response.Delivered> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long job = in.u64();
            long fence = in.u64();
            long dueMs = in.u64();
            int priority = in.u32();
            int attempts = in.u32();
            int ttrLeftMs = in.u32();
            int topicLength = in.u8();
            int keyLength = in.u16();
            int attributesLength = in.u16();
            int bodyLength = in.u32();
            long deadlineMs = in.isOver() ? 0 : in.u64();
            in.endFixed(end);
            items.add(new Response.Delivered(job, fence, dueMs, priority, attempts, ttrLeftMs, in.text(topicLength),
                    in.text(keyLength), in.raw(attributesLength), in.raw(bodyLength), deadlineMs));
        }
        return items;
    }

    private static List<Response.Listed> listedItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(82);
        int size = in.size(fixed);
        List<Response.Listed> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long job = in.u64();
            long dueMs = in.u64();
            int state = in.u8();
            int buried = in.u8();
            int priority = in.u32();
            int attempts = in.u32();
            int ttrMs = in.u32();
            int ttrLeftMs = in.u32();
            int topicLength = in.u8();
            int keyLength = in.u16();
            int attributesLength = in.u16();
            int bodyLength = in.u32();
            int bodyBytes = in.u32();
            long pushedMs = in.u64();
            long reservedFirstMs = in.u64();
            long reservedLastMs = in.u64();
            long editedMs = in.u64();
            int heldByLength = in.u8();
            int reasonLength = in.u16();
            in.endFixed(end);
            items.add(new Response.Listed(job, dueMs, state, buried, priority, attempts, ttrMs, ttrLeftMs, in.text(topicLength),
                    in.text(keyLength), in.raw(attributesLength), in.raw(bodyLength), bodyBytes, pushedMs, reservedFirstMs,
                    reservedLastMs, editedMs, in.text(heldByLength), in.text(reasonLength)));
        }
        return items;
    }

    private static Response.Totals totals(FrameReader in) throws MalformedFrameException {
        return new Response.Totals(in.u64(), in.u64(), in.u64(), in.u64(), in.u64(), in.u64(), in.u64(), in.u64(), in.u64());
    }

    private static List<Response.TopicCount> topicCountItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(86);
        int size = in.size(fixed);
        List<Response.TopicCount> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            int marks = in.u8() & 0x1;
            int consumers = in.u32();
            long lateMs = in.u64();
            int topicLength = in.u8();
            long delayed = in.u64();
            long ready = in.u64();
            long reserved = in.u64();
            long buried = in.u64();
            long pushed = in.u64();
            long finished = in.u64();
            long deleted = in.u64();
            long expired = in.u64();
            long oldestReadyMs = in.u64();
            in.endFixed(end);
            items.add(new Response.TopicCount(marks, consumers, lateMs, in.text(topicLength), new Response.Totals(delayed, ready,
                    reserved, buried, pushed, finished, deleted, expired, oldestReadyMs)));
        }
        return items;
    }

    private static List<Response.Stage> stageItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(41);
        int size = in.size(fixed);
        List<Response.Stage> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            int stageLength = in.u8();
            long count = in.u64();
            long p50Us = in.u64();
            long p99Us = in.u64();
            long p999Us = in.u64();
            long maxUs = in.u64();
            in.endFixed(end);
            items.add(new Response.Stage(in.text(stageLength), count, p50Us, p99Us, p999Us, maxUs));
        }
        return items;
    }

    private static List<Response.DueBar> dueBarItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(16);
        int size = in.size(fixed);
        List<Response.DueBar> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long startMs = in.u64();
            long jobs = in.u64();
            in.endFixed(end);
            items.add(new Response.DueBar(startMs, jobs));
        }
        return items;
    }

    private static List<Response.Connection> connectionItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(64);
        int size = in.size(fixed);
        List<Response.Connection> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long connection = in.u64();
            long session = in.u64();
            long sinceMs = in.u64();
            int leases = in.u32();
            int subscriptions = in.u32();
            int reserves = in.u32();
            long creditJobs = in.u64();
            long creditBytes = in.u64();
            long unsentBytes = in.u64();
            int marks = in.u8() & 0x1;
            int addressLength = in.u8();
            int clientNameLength = in.u8();
            int topicsNumber = in.u8();
            in.endFixed(end);
            items.add(new Response.Connection(connection, session, sinceMs, leases, subscriptions, reserves, creditJobs,
                    creditBytes, unsentBytes, marks, in.text(addressLength), in.text(clientNameLength), in.texts8(topicsNumber)));
        }
        return items;
    }

    private static List<Response.Member> memberItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(10);
        int size = in.size(fixed);
        List<Response.Member> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long node = in.u64();
            int marks = in.u8() & 0x1;
            int addressLength = in.u8();
            in.endFixed(end);
            items.add(new Response.Member(node, marks, in.text(addressLength)));
        }
        return items;
    }

    private static List<Response.Node> nodeItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(44);
        int size = in.size(fixed);
        List<Response.Node> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long node = in.u64();
            int role = in.u8();
            int marks = in.u8() & 0x3f;
            long matched = in.u64();
            long applied = in.u64();
            long aheadMs = in.u64();
            long audited = in.u64();
            int peerAddressLength = in.u8();
            int clientAddressLength = in.u8();
            in.endFixed(end);
            items.add(new Response.Node(node, role, marks, matched, applied, aheadMs, audited, in.text(peerAddressLength),
                    in.text(clientAddressLength)));
        }
        return items;
    }

    private static Request.ScheduleRules scheduleRules(FrameReader in) throws MalformedFrameException {
        long originMs = in.u64();
        long startMs = in.u64();
        long endMs = in.u64();
        long count = in.u64();
        long windowMs = in.u64();
        int missedMax = in.u32();
        int jitterMs = in.u32();
        int failuresMax = in.u32();
        int dst = in.u8();
        int missed = in.u8();
        int overlap = in.u8();
        int whenLength = in.u16();
        int zoneLength = in.u8();
        int keyLength = in.u16();
        int noteLength = in.u16();
        return new Request.ScheduleRules(originMs, startMs, endMs, count, windowMs, missedMax, jitterMs, failuresMax, dst, missed,
                overlap, in.text(whenLength), in.text(zoneLength), in.text(keyLength), in.text(noteLength));
    }

    private static Request.JobTemplate jobTemplate(FrameReader in) throws MalformedFrameException {
        int priority = in.u32();
        int ttrMs = in.u32();
        int attributesLength = in.u16();
        int bodyLength = in.u32();
        return new Request.JobTemplate(priority, ttrMs, in.raw(attributesLength), in.raw(bodyLength));
    }

    private static List<Response.GroupState> groupStateItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(39);
        int size = in.size(fixed);
        List<Response.GroupState> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long ready = in.u64();
            long reserved = in.u64();
            long oldestMs = in.u64();
            long untilMs = in.u64();
            int weight = in.u32();
            int hold = in.u8();
            int paused = in.u8();
            int nameLength = in.u8();
            in.endFixed(end);
            items.add(new Response.GroupState(ready, reserved, oldestMs, untilMs, weight, hold, paused, in.text(nameLength)));
        }
        return items;
    }

    private static List<Response.Reason> reasonItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(27);
        int size = in.size(fixed);
        List<Response.Reason> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            int why = in.u8();
            long sinceMs = in.u64();
            long untilMs = in.u64();
            long jobs = in.u64();
            int textLength = in.u16();
            in.endFixed(end);
            items.add(new Response.Reason(why, sinceMs, untilMs, jobs, in.text(textLength)));
        }
        return items;
    }

    private static Response.ScheduleState scheduleState(FrameReader in) throws MalformedFrameException {
        return new Response.ScheduleState(in.u64(), in.u64(), in.u64(), in.u32(), in.u32(), in.u32(), in.u8(), in.u8() & 0x3);
    }

    private static List<Response.Firing> firingItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(41);
        int size = in.size(fixed);
        List<Response.Firing> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long instantMs = in.u64();
            long lastMs = in.u64();
            long instants = in.u64();
            long atMs = in.u64();
            long job = in.u64();
            int fired = in.u8();
            in.endFixed(end);
            items.add(new Response.Firing(instantMs, lastMs, instants, atMs, job, fired));
        }
        return items;
    }

    private static List<Response.LocalInstant> localInstantItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(9);
        int size = in.size(fixed);
        List<Response.LocalInstant> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long instantMs = in.u64();
            int localLength = in.u8();
            in.endFixed(end);
            items.add(new Response.LocalInstant(instantMs, in.text(localLength)));
        }
        return items;
    }

    private static List<Response.ListedSchedule> listedScheduleItems(FrameReader in) throws MalformedFrameException {
        int fixed = in.fixed(104);
        int size = in.size(fixed);
        List<Response.ListedSchedule> items = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            int end = in.beginFixed(fixed);
            long schedule = in.u64();
            long nextMs = in.u64();
            long fired = in.u64();
            int version = in.u32();
            int running = in.u32();
            int failures = in.u32();
            int paused = in.u8();
            int marks = in.u8() & 0x3;
            long originMs = in.u64();
            long startMs = in.u64();
            long endMs = in.u64();
            long count = in.u64();
            long windowMs = in.u64();
            int missedMax = in.u32();
            int jitterMs = in.u32();
            int failuresMax = in.u32();
            int dst = in.u8();
            int missed = in.u8();
            int overlap = in.u8();
            int whenLength = in.u16();
            int zoneLength = in.u8();
            int keyLength = in.u16();
            int noteLength = in.u16();
            int topicLength = in.u8();
            int nameLength = in.u8();
            int pauseNoteLength = in.u16();
            in.endFixed(end);
            items.add(new Response.ListedSchedule(new Response.ScheduleState(schedule, nextMs, fired, version, running, failures,
                    paused, marks), new Request.ScheduleRules(originMs, startMs, endMs, count, windowMs, missedMax, jitterMs,
                    failuresMax, dst, missed, overlap, in.text(whenLength), in.text(zoneLength), in.text(keyLength),
                    in.text(noteLength)), in.text(topicLength), in.text(nameLength), in.text(pauseNoteLength)));
        }
        return items;
    }
}
