// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

import io.adjourn.client.JobRef;
import io.adjourn.client.Lease;
import java.util.List;

/** Writes requests as frames. */
public final class RequestEncoder {
    /** The bytes that a HELLO begins with: {@code ADJ1}. */
    private static final int MAGIC = 0x314a_4441;

    private RequestEncoder() {
    }

    /** Appends the whole frame. */
    public static void encode(Request request, int requestId, FrameWriter out) {
        int start = out.begin(request.opcode().number(), requestId);
        switch (request.opcode()) {
            case HELLO -> hello((Request.Hello) request, out);
            case PUSH -> push((Request.Push) request, out);
            case RESERVE -> reserve((Request.Reserve) request, out);
            case SUBSCRIBE -> subscribe((Request.Subscribe) request, out);
            case CREDIT -> credit((Request.Credit) request, out);
            case UNSUBSCRIBE -> unsubscribe((Request.Unsubscribe) request, out);
            case CANCEL -> cancel((Request.Cancel) request, out);
            case LEASES -> leases((Request.Leases) request, out);
            case RESERVE_JOB -> reserveJob((Request.ReserveJob) request, out);
            case FINISH -> finish((Request.Finish) request, out);
            case RELEASE -> release((Request.Release) request, out);
            case TOUCH -> touch((Request.Touch) request, out);
            case BURY -> bury((Request.Bury) request, out);
            case GET -> get((Request.Get) request, out);
            case DELETE -> delete((Request.Delete) request, out);
            case RESCHEDULE -> reschedule((Request.Reschedule) request, out);
            case RUN_NOW -> runNow((Request.RunNow) request, out);
            case KICK -> kick((Request.Kick) request, out);
            case PEEK -> peek((Request.Peek) request, out);
            case KICK_MANY -> kickMany((Request.KickMany) request, out);
            case LIST -> list((Request.ListJobs) request, out);
            case COUNT -> count((Request.Count) request, out);
            case BULK -> bulk((Request.Bulk) request, out);
            case EDIT -> edit((Request.Edit) request, out);
            case PAUSE -> pause((Request.Pause) request, out);
            case RESUME -> resume((Request.Resume) request, out);
            case CONNECTIONS -> connections((Request.Connections) request, out);
            case DISCONNECT -> disconnect((Request.Disconnect) request, out);
            case TOPIC_SET -> topicSet((Request.TopicSet) request, out);
            case TOPIC_DELETE -> topicDelete((Request.TopicDelete) request, out);
            case TOPIC_SHOW -> topicShow((Request.TopicShow) request, out);
            case ADVANCE -> advance((Request.Advance) request, out);
            case BACKUP_READ -> backupRead((Request.BackupRead) request, out);
            case SCHEDULE_PREVIEW -> schedulePreview((Request.SchedulePreview) request, out);
            case CLUSTER_ADD -> clusterAdd((Request.ClusterAdd) request, out);
            case CLUSTER_REMOVE -> clusterRemove((Request.ClusterRemove) request, out);
            case CLUSTER_TRANSFER -> clusterTransfer((Request.ClusterTransfer) request, out);
            case GROUP_SET -> groupSet((Request.GroupSet) request, out);
            case GROUP_LIST -> groupList((Request.GroupList) request, out);
            case WHY -> why((Request.Why) request, out);
            case TOPIC_WHY -> topicWhy((Request.TopicWhy) request, out);
            case SCHEDULE_SET -> scheduleSet((Request.ScheduleSet) request, out);
            case SCHEDULE_SHOW -> scheduleShow((Request.ScheduleShow) request, out);
            case SCHEDULE_LIST -> scheduleList((Request.ScheduleList) request, out);
            case SCHEDULE_DELETE -> scheduleDelete((Request.ScheduleDelete) request, out);
            case SCHEDULE_PAUSE -> schedulePause((Request.SchedulePause) request, out);
            case SCHEDULE_RESUME -> scheduleResume((Request.ScheduleResume) request, out);
            case SCHEDULE_RUN -> scheduleRun((Request.ScheduleRun) request, out);
            case SCHEDULE_FILL -> scheduleFill((Request.ScheduleFill) request, out);
            default -> {
                // The others have no fields.
            }
        }
        out.end(start);
    }

    private static void hello(Request.Hello frame, FrameWriter out) {
        out.u32(MAGIC).u16(frame.versionMin()).u16(frame.versionMax()).u32(frame.options()).u32(frame.heartbeatMs())
                .u64(frame.session()).raw(frame.secret()).text8(frame.clientName()).bytes16(frame.token());
    }

    private static void push(Request.Push frame, FrameWriter out) {
        out.u64(frame.sequence()).text8(frame.topic());
        newJobItems(frame.jobs(), out);
        if (FrameWriter.isSet(frame.idempotency()) || frame.listJobs() != 0) {
            out.raw(frame.idempotency());
            if (frame.listJobs() != 0) {
                out.u32(frame.listJobs());
            }
        }
    }

    private static void reserve(Request.Reserve frame, FrameWriter out) {
        out.u64(frame.waitMs()).u32(frame.jobsMax()).texts(frame.topics());
        if (!frame.weights().isEmpty()) {
            out.numbers(frame.weights());
        }
    }

    private static void subscribe(Request.Subscribe frame, FrameWriter out) {
        out.u32(frame.creditJobs()).u64(frame.creditBytes()).texts(frame.topics());
        if (!frame.weights().isEmpty()) {
            out.numbers(frame.weights());
        }
    }

    private static void credit(Request.Credit frame, FrameWriter out) {
        out.u32(frame.subscription()).u32(frame.creditJobs()).u64(frame.creditBytes());
    }

    private static void unsubscribe(Request.Unsubscribe frame, FrameWriter out) {
        out.u32(frame.subscription());
    }

    private static void cancel(Request.Cancel frame, FrameWriter out) {
        out.u32(frame.request());
    }

    private static void leases(Request.Leases frame, FrameWriter out) {
        out.u64(frame.after()).u32(frame.jobsMax());
    }

    private static void reserveJob(Request.ReserveJob frame, FrameWriter out) {
        reference(frame.ref(), out);
    }

    private static void finish(Request.Finish frame, FrameWriter out) {
        leaseItems(frame.leases(), out);
    }

    private static void release(Request.Release frame, FrameWriter out) {
        out.u64(frame.delayMs());
        leaseItems(frame.leases(), out);
        if (!frame.reason().isEmpty()) {
            out.text16(frame.reason());
        }
    }

    private static void touch(Request.Touch frame, FrameWriter out) {
        out.u32(frame.ttrMs());
        leaseItems(frame.leases(), out);
    }

    private static void bury(Request.Bury frame, FrameWriter out) {
        leaseItems(frame.leases(), out);
        if (!frame.reason().isEmpty()) {
            out.text16(frame.reason());
        }
    }

    private static void get(Request.Get frame, FrameWriter out) {
        reference(frame.ref(), out);
    }

    private static void delete(Request.Delete frame, FrameWriter out) {
        reference(frame.ref(), out);
    }

    private static void reschedule(Request.Reschedule frame, FrameWriter out) {
        out.u64(frame.dueMs()).u8(frame.dueKind());
        reference(frame.ref(), out);
        if (frame.ifVersion() != 0) {
            out.u64(frame.ifVersion());
        }
    }

    private static void runNow(Request.RunNow frame, FrameWriter out) {
        reference(frame.ref(), out);
    }

    private static void kick(Request.Kick frame, FrameWriter out) {
        reference(frame.ref(), out);
    }

    private static void peek(Request.Peek frame, FrameWriter out) {
        out.text8(frame.topic());
    }

    private static void kickMany(Request.KickMany frame, FrameWriter out) {
        out.u32(frame.jobsMax()).text8(frame.topic());
    }

    private static void list(Request.ListJobs frame, FrameWriter out) {
        out.u32(frame.jobsMax()).u8(frame.order()).u8(frame.marks()).bytes16(frame.cursor()).bytes16(frame.filter());
    }

    private static void count(Request.Count frame, FrameWriter out) {
        out.bytes16(frame.filter());
        if (frame.bars() != 0 || frame.barsFromMs() != 0 || frame.barMs() != 0) {
            out.u32(frame.bars());
            if (frame.barsFromMs() != 0 || frame.barMs() != 0) {
                out.u64(frame.barsFromMs());
                if (frame.barMs() != 0) {
                    out.u64(frame.barMs());
                }
            }
        }
    }

    private static void bulk(Request.Bulk frame, FrameWriter out) {
        out.u32(frame.jobsMax()).u8(frame.change()).u64(frame.dueMs()).bytes16(frame.cursor()).bytes16(frame.filter());
        if (!frame.to().isEmpty()) {
            out.text8(frame.to());
        }
    }

    private static void edit(Request.Edit frame, FrameWriter out) {
        out.u64(frame.dueMs()).u32(frame.priority()).u32(frame.ttrMs()).u16(frame.edited()).u8(frame.dueKind());
        reference(frame.ref(), out);
        out.bytes16(frame.attributes()).bytes32(frame.body());
        if (frame.ifVersion() != 0) {
            out.u64(frame.ifVersion());
        }
    }

    private static void pause(Request.Pause frame, FrameWriter out) {
        out.text8(frame.topic());
        if (frame.forMs() != 0) {
            out.u64(frame.forMs());
        }
    }

    private static void resume(Request.Resume frame, FrameWriter out) {
        out.text8(frame.topic());
    }

    private static void connections(Request.Connections frame, FrameWriter out) {
        out.u64(frame.after()).u32(frame.connectionsMax());
    }

    private static void disconnect(Request.Disconnect frame, FrameWriter out) {
        out.u64(frame.connection()).u8(frame.options());
    }

    private static void topicSet(Request.TopicSet frame, FrameWriter out) {
        out.text8(frame.topic()).bytes16(frame.settings());
    }

    private static void topicDelete(Request.TopicDelete frame, FrameWriter out) {
        out.text8(frame.topic());
    }

    private static void topicShow(Request.TopicShow frame, FrameWriter out) {
        out.text8(frame.topic());
    }

    private static void advance(Request.Advance frame, FrameWriter out) {
        out.u8(frame.step()).u64(frame.byMs());
    }

    private static void backupRead(Request.BackupRead frame, FrameWriter out) {
        out.u64(frame.offset()).u32(frame.bytes());
    }

    private static void schedulePreview(Request.SchedulePreview frame, FrameWriter out) {
        scheduleRules(frame.rules(), out);
        out.u64(frame.fromMs()).u32(frame.instantsMax());
    }

    private static void clusterAdd(Request.ClusterAdd frame, FrameWriter out) {
        out.text8(frame.address());
    }

    private static void clusterRemove(Request.ClusterRemove frame, FrameWriter out) {
        out.u64(frame.node());
    }

    private static void clusterTransfer(Request.ClusterTransfer frame, FrameWriter out) {
        out.u64(frame.node());
    }

    private static void groupSet(Request.GroupSet frame, FrameWriter out) {
        out.u32(frame.weight()).u8(frame.pause()).text8(frame.topic()).text8(frame.group());
    }

    private static void groupList(Request.GroupList frame, FrameWriter out) {
        out.u32(frame.groupsMax()).text8(frame.topic()).text8(frame.after()).text8(frame.prefix());
    }

    private static void why(Request.Why frame, FrameWriter out) {
        reference(frame.ref(), out);
    }

    private static void topicWhy(Request.TopicWhy frame, FrameWriter out) {
        out.text8(frame.topic()).text8(frame.group());
    }

    private static void scheduleSet(Request.ScheduleSet frame, FrameWriter out) {
        out.text8(frame.topic()).text8(frame.name());
        scheduleRules(frame.rules(), out);
        jobTemplate(frame.template(), out);
        if (frame.ifVersion() != 0) {
            out.u32(frame.ifVersion());
        }
    }

    private static void scheduleShow(Request.ScheduleShow frame, FrameWriter out) {
        out.text8(frame.topic()).text8(frame.name());
    }

    private static void scheduleList(Request.ScheduleList frame, FrameWriter out) {
        out.u32(frame.schedulesMax()).u64(frame.nextBeforeMs()).u8(frame.paused()).text8(frame.topic()).text8(frame.prefix())
                .bytes16(frame.cursor());
    }

    private static void scheduleDelete(Request.ScheduleDelete frame, FrameWriter out) {
        out.text8(frame.topic()).text8(frame.name());
    }

    private static void schedulePause(Request.SchedulePause frame, FrameWriter out) {
        out.text8(frame.topic()).text8(frame.name());
        if (!frame.note().isEmpty()) {
            out.text16(frame.note());
        }
    }

    private static void scheduleResume(Request.ScheduleResume frame, FrameWriter out) {
        out.text8(frame.topic()).text8(frame.name());
    }

    private static void scheduleRun(Request.ScheduleRun frame, FrameWriter out) {
        out.text8(frame.topic()).text8(frame.name());
    }

    private static void scheduleFill(Request.ScheduleFill frame, FrameWriter out) {
        out.u64(frame.fromMs()).u64(frame.toMs()).u8(frame.dryRun()).text8(frame.topic()).text8(frame.name());
    }

    private static void newJobItems(List<Request.NewJob> items, FrameWriter out) {
        out.list(26, items.size());
        for (Request.NewJob item : items) {
            newJob(item, out);
        }
    }

    private static void newJob(Request.NewJob item, FrameWriter out) {
        byte[] key = FrameWriter.utf8(item.key());
        out.u64(item.dueMs()).u32(item.priority()).u32(item.ttrMs()).u8(item.dueKind()).u8(item.ifExists()).length16(key.length)
                .length16(item.attributes().length).length32(item.body().length).raw(key).raw(item.attributes()).raw(item.body());
    }

    private static void leaseItems(List<Lease> items, FrameWriter out) {
        out.list(16, items.size());
        for (Lease item : items) {
            lease(item, out);
        }
    }

    private static void lease(Lease item, FrameWriter out) {
        out.u64(item.job()).u64(item.fence());
    }

    private static void scheduleRules(Request.ScheduleRules item, FrameWriter out) {
        byte[] when = FrameWriter.utf8(item.when());
        byte[] zone = FrameWriter.utf8(item.zone());
        byte[] key = FrameWriter.utf8(item.key());
        byte[] note = FrameWriter.utf8(item.note());
        out.u64(item.originMs()).u64(item.startMs()).u64(item.endMs()).u64(item.count()).u64(item.windowMs())
                .u32(item.missedMax()).u32(item.jitterMs()).u32(item.failuresMax()).u8(item.dst()).u8(item.missed())
                .u8(item.overlap()).length16(when.length).length8(zone.length).length16(key.length).length16(note.length)
                .raw(when).raw(zone).raw(key).raw(note);
    }

    private static void jobTemplate(Request.JobTemplate item, FrameWriter out) {
        out.u32(item.priority()).u32(item.ttrMs()).length16(item.attributes().length).length32(item.body().length)
                .raw(item.attributes()).raw(item.body());
    }

    private static void reference(JobRef ref, FrameWriter out) {
        if (ref instanceof JobRef.Id id) {
            out.u8(Choice.JobKind.ID).u64(id.job());
        } else if (ref instanceof JobRef.Key key) {
            out.u8(Choice.JobKind.KEY).text8(key.topic()).text16(key.key());
        }
    }
}
