// Generated from the schema by `make generate`. Do not edit.

/** Encodes requests. */

import { type ByteWriter, frameOf } from './bytes.js';
import { encodeAttributes, encodeFilter, encodeSettings } from './elements.js';
import {
  type AdvanceFields,
  type BackupReadFields,
  type BulkFields,
  type BuryFields,
  type CancelFields,
  type ClusterAddFields,
  type ClusterRemoveFields,
  type ClusterTransferFields,
  type ConnectionsFields,
  type CountFields,
  type CreditFields,
  type DeleteFields,
  type DisconnectFields,
  type EditFields,
  type FinishFields,
  type GetFields,
  type GroupListFields,
  type GroupSetFields,
  type HelloFields,
  type JobReference,
  type JobTemplateValue,
  type KickFields,
  type KickManyFields,
  type LeaseValue,
  type LeasesFields,
  type ListFields,
  type NewJobValue,
  type PauseFields,
  type PeekFields,
  type PushFields,
  REQUESTS,
  type ReleaseFields,
  type RequestFields,
  type RequestName,
  type RescheduleFields,
  type ReserveFields,
  type ReserveJobFields,
  type ResumeFields,
  type RunNowFields,
  type ScheduleDeleteFields,
  type ScheduleFillFields,
  type ScheduleListFields,
  type SchedulePauseFields,
  type SchedulePreviewFields,
  type ScheduleResumeFields,
  type ScheduleRulesValue,
  type ScheduleRunFields,
  type ScheduleSetFields,
  type ScheduleShowFields,
  type SubscribeFields,
  type TopicDeleteFields,
  type TopicSetFields,
  type TopicShowFields,
  type TopicWhyFields,
  type TouchFields,
  type UnsubscribeFields,
  type WhyFields,
} from './messages.js';

/** The whole frame of a request. */
export function encodeRequest<N extends RequestName>(name: N, id: number, fields: RequestFields<N>): Uint8Array {
  const put = PUT[name];
  return frameOf(REQUESTS[name], id, (to) => put(to, fields));
}

function putNewJob(to: ByteWriter, value: NewJobValue): void {
  to.u64(value.dueMs);
  to.u32(value.priority);
  to.u32(value.ttrMs);
  to.u8(value.dueKind);
  to.u8(value.ifExists);
  const keyAt = to.skip(2);
  const attributesAt = to.skip(2);
  const bodyAt = to.skip(4);
  to.textAt16(keyAt, value.key);
  to.rawAt16(attributesAt, encodeAttributes(value.attributes));
  to.rawAt32(bodyAt, value.body);
}

function putLease(to: ByteWriter, value: LeaseValue): void {
  to.u64(value.job);
  to.u64(value.fence);
}

function putScheduleRules(to: ByteWriter, value: ScheduleRulesValue): void {
  to.u64(value.originMs);
  to.u64(value.startMs);
  to.u64(value.endMs);
  to.u64(value.count);
  to.u64(value.windowMs);
  to.u32(value.missedMax);
  to.u32(value.jitterMs);
  to.u32(value.failuresMax);
  to.u8(value.dst);
  to.u8(value.missed);
  to.u8(value.overlap);
  const whenAt = to.skip(2);
  const zoneAt = to.skip(1);
  const keyAt = to.skip(2);
  const noteAt = to.skip(2);
  to.textAt16(whenAt, value.when);
  to.textAt8(zoneAt, value.zone);
  to.textAt16(keyAt, value.key);
  to.textAt16(noteAt, value.note);
}

function putJobTemplate(to: ByteWriter, value: JobTemplateValue): void {
  to.u32(value.priority);
  to.u32(value.ttrMs);
  const attributesAt = to.skip(2);
  const bodyAt = to.skip(4);
  to.rawAt16(attributesAt, encodeAttributes(value.attributes));
  to.rawAt32(bodyAt, value.body);
}

function putHello(to: ByteWriter, fields: HelloFields): void {
  to.u32(0x314a4441); // ADJ1
  to.u16(fields.versionMin);
  to.u16(fields.versionMax);
  to.u32(fields.options);
  to.u32(fields.heartbeatMs);
  to.u64(fields.session);
  to.exactly(16, fields.secret);
  to.text8(fields.clientName);
  to.raw16(fields.token);
}

function putPush(to: ByteWriter, fields: PushFields): void {
  const { idempotency = 0n, listJobs = 0 } = fields;
  to.u64(fields.sequence);
  to.text8(fields.topic);
  to.list(26, fields.jobs.length);
  for (const item of fields.jobs) putNewJob(to, item);
  if (idempotency !== 0n || listJobs !== 0) to.u128(idempotency);
  if (listJobs !== 0) to.u32(listJobs);
}

function putReserve(to: ByteWriter, fields: ReserveFields): void {
  const { weights = [] } = fields;
  to.u64(fields.waitMs);
  to.u32(fields.jobsMax);
  to.list(1, fields.topics.length);
  for (const item of fields.topics) to.text8(item);
  if (weights.length > 0) {
    to.list(2, weights.length);
    for (const item of weights) to.u16(item);
  }
}

function putSubscribe(to: ByteWriter, fields: SubscribeFields): void {
  const { weights = [] } = fields;
  to.u32(fields.creditJobs);
  to.u64(fields.creditBytes);
  to.list(1, fields.topics.length);
  for (const item of fields.topics) to.text8(item);
  if (weights.length > 0) {
    to.list(2, weights.length);
    for (const item of weights) to.u16(item);
  }
}

function putCredit(to: ByteWriter, fields: CreditFields): void {
  to.u32(fields.subscription);
  to.u32(fields.creditJobs);
  to.u64(fields.creditBytes);
}

function putUnsubscribe(to: ByteWriter, fields: UnsubscribeFields): void {
  to.u32(fields.subscription);
}

function putCancel(to: ByteWriter, fields: CancelFields): void {
  to.u32(fields.request);
}

function putLeases(to: ByteWriter, fields: LeasesFields): void {
  to.u64(fields.after);
  to.u32(fields.jobsMax);
}

function putReserveJob(to: ByteWriter, fields: ReserveJobFields): void {
  putReference(to, fields.reference);
}

function putFinish(to: ByteWriter, fields: FinishFields): void {
  to.list(16, fields.leases.length);
  for (const item of fields.leases) putLease(to, item);
}

function putRelease(to: ByteWriter, fields: ReleaseFields): void {
  const { reason = '' } = fields;
  to.u64(fields.delayMs);
  to.list(16, fields.leases.length);
  for (const item of fields.leases) putLease(to, item);
  if (reason.length > 0) to.text16(reason);
}

function putTouch(to: ByteWriter, fields: TouchFields): void {
  to.u32(fields.ttrMs);
  to.list(16, fields.leases.length);
  for (const item of fields.leases) putLease(to, item);
}

function putBury(to: ByteWriter, fields: BuryFields): void {
  const { reason = '' } = fields;
  to.list(16, fields.leases.length);
  for (const item of fields.leases) putLease(to, item);
  if (reason.length > 0) to.text16(reason);
}

function putGet(to: ByteWriter, fields: GetFields): void {
  putReference(to, fields.reference);
}

function putDelete(to: ByteWriter, fields: DeleteFields): void {
  putReference(to, fields.reference);
}

function putReschedule(to: ByteWriter, fields: RescheduleFields): void {
  const { ifVersion = 0n } = fields;
  to.u64(fields.dueMs);
  to.u8(fields.dueKind);
  putReference(to, fields.reference);
  if (ifVersion !== 0n) to.u64(ifVersion);
}

function putRunNow(to: ByteWriter, fields: RunNowFields): void {
  putReference(to, fields.reference);
}

function putKick(to: ByteWriter, fields: KickFields): void {
  putReference(to, fields.reference);
}

function putPeek(to: ByteWriter, fields: PeekFields): void {
  to.text8(fields.topic);
}

function putKickMany(to: ByteWriter, fields: KickManyFields): void {
  to.u32(fields.jobsMax);
  to.text8(fields.topic);
}

function putList(to: ByteWriter, fields: ListFields): void {
  to.u32(fields.jobsMax);
  to.u8(fields.order);
  to.u8(fields.marks);
  to.raw16(fields.cursor);
  to.raw16(encodeFilter(fields.filter));
}

function putCount(to: ByteWriter, fields: CountFields): void {
  const { bars = 0, barsFromMs = 0n, barMs = 0n } = fields;
  to.raw16(encodeFilter(fields.filter));
  if (bars !== 0 || barsFromMs !== 0n || barMs !== 0n) to.u32(bars);
  if (barsFromMs !== 0n || barMs !== 0n) to.u64(barsFromMs);
  if (barMs !== 0n) to.u64(barMs);
}

function putBulk(to: ByteWriter, fields: BulkFields): void {
  const { to: target = '' } = fields;
  to.u32(fields.jobsMax);
  to.u8(fields.change);
  to.u64(fields.dueMs);
  to.raw16(fields.cursor);
  to.raw16(encodeFilter(fields.filter));
  if (target.length > 0) to.text8(target);
}

function putEdit(to: ByteWriter, fields: EditFields): void {
  const { ifVersion = 0n } = fields;
  to.u64(fields.dueMs);
  to.u32(fields.priority);
  to.u32(fields.ttrMs);
  to.u16(fields.edited);
  to.u8(fields.dueKind);
  putReference(to, fields.reference);
  to.raw16(encodeAttributes(fields.attributes));
  to.raw32(fields.body);
  if (ifVersion !== 0n) to.u64(ifVersion);
}

function putPause(to: ByteWriter, fields: PauseFields): void {
  const { forMs = 0n } = fields;
  to.text8(fields.topic);
  if (forMs !== 0n) to.u64(forMs);
}

function putResume(to: ByteWriter, fields: ResumeFields): void {
  to.text8(fields.topic);
}

function putConnections(to: ByteWriter, fields: ConnectionsFields): void {
  to.u64(fields.after);
  to.u32(fields.connectionsMax);
}

function putDisconnect(to: ByteWriter, fields: DisconnectFields): void {
  to.u64(fields.connection);
  to.u8(fields.options);
}

function putTopicSet(to: ByteWriter, fields: TopicSetFields): void {
  to.text8(fields.topic);
  to.raw16(encodeSettings(fields.settings));
}

function putTopicDelete(to: ByteWriter, fields: TopicDeleteFields): void {
  to.text8(fields.topic);
}

function putTopicShow(to: ByteWriter, fields: TopicShowFields): void {
  to.text8(fields.topic);
}

function putAdvance(to: ByteWriter, fields: AdvanceFields): void {
  to.u8(fields.step);
  to.u64(fields.byMs);
}

function putBackupRead(to: ByteWriter, fields: BackupReadFields): void {
  to.u64(fields.offset);
  to.u32(fields.bytes);
}

function putSchedulePreview(to: ByteWriter, fields: SchedulePreviewFields): void {
  putScheduleRules(to, fields);
  to.u64(fields.fromMs);
  to.u32(fields.instantsMax);
}

function putClusterAdd(to: ByteWriter, fields: ClusterAddFields): void {
  to.text8(fields.address);
}

function putClusterRemove(to: ByteWriter, fields: ClusterRemoveFields): void {
  to.u64(fields.node);
}

function putClusterTransfer(to: ByteWriter, fields: ClusterTransferFields): void {
  to.u64(fields.node);
}

function putGroupSet(to: ByteWriter, fields: GroupSetFields): void {
  to.u32(fields.weight);
  to.u8(fields.pause);
  to.text8(fields.topic);
  to.text8(fields.group);
}

function putGroupList(to: ByteWriter, fields: GroupListFields): void {
  to.u32(fields.groupsMax);
  to.text8(fields.topic);
  to.text8(fields.after);
  to.text8(fields.prefix);
}

function putWhy(to: ByteWriter, fields: WhyFields): void {
  putReference(to, fields.reference);
}

function putTopicWhy(to: ByteWriter, fields: TopicWhyFields): void {
  to.text8(fields.topic);
  to.text8(fields.group);
}

function putScheduleSet(to: ByteWriter, fields: ScheduleSetFields): void {
  const { ifVersion = 0 } = fields;
  to.text8(fields.topic);
  to.text8(fields.name);
  putScheduleRules(to, fields);
  putJobTemplate(to, fields);
  if (ifVersion !== 0) to.u32(ifVersion);
}

function putScheduleShow(to: ByteWriter, fields: ScheduleShowFields): void {
  to.text8(fields.topic);
  to.text8(fields.name);
}

function putScheduleList(to: ByteWriter, fields: ScheduleListFields): void {
  to.u32(fields.schedulesMax);
  to.u64(fields.nextBeforeMs);
  to.u8(fields.paused);
  to.text8(fields.topic);
  to.text8(fields.prefix);
  to.raw16(fields.cursor);
}

function putScheduleDelete(to: ByteWriter, fields: ScheduleDeleteFields): void {
  to.text8(fields.topic);
  to.text8(fields.name);
}

function putSchedulePause(to: ByteWriter, fields: SchedulePauseFields): void {
  const { note = '' } = fields;
  to.text8(fields.topic);
  to.text8(fields.name);
  if (note.length > 0) to.text16(note);
}

function putScheduleResume(to: ByteWriter, fields: ScheduleResumeFields): void {
  to.text8(fields.topic);
  to.text8(fields.name);
}

function putScheduleRun(to: ByteWriter, fields: ScheduleRunFields): void {
  to.text8(fields.topic);
  to.text8(fields.name);
}

function putScheduleFill(to: ByteWriter, fields: ScheduleFillFields): void {
  to.u64(fields.fromMs);
  to.u64(fields.toMs);
  to.u8(fields.dryRun);
  to.text8(fields.topic);
  to.text8(fields.name);
}

function putReference(to: ByteWriter, value: JobReference): void {
  to.u8(value.jobKind);
  if (value.jobKind === 0) return to.u64(value.job);
  to.text8(value.topic);
  to.text16(value.key);
}

const PUT: { readonly [N in RequestName]: (to: ByteWriter, fields: RequestFields<N>) => void } = {
  HELLO: putHello,
  PING: () => {},
  GOODBYE: () => {},
  PUSH: putPush,
  RESERVE: putReserve,
  SUBSCRIBE: putSubscribe,
  CREDIT: putCredit,
  UNSUBSCRIBE: putUnsubscribe,
  CANCEL: putCancel,
  LEASES: putLeases,
  RESERVE_JOB: putReserveJob,
  FINISH: putFinish,
  RELEASE: putRelease,
  TOUCH: putTouch,
  BURY: putBury,
  GET: putGet,
  DELETE: putDelete,
  RESCHEDULE: putReschedule,
  RUN_NOW: putRunNow,
  KICK: putKick,
  PEEK: putPeek,
  KICK_MANY: putKickMany,
  LIST: putList,
  COUNT: putCount,
  BULK: putBulk,
  EDIT: putEdit,
  PAUSE: putPause,
  RESUME: putResume,
  TOPICS: () => {},
  STATS: () => {},
  CONNECTIONS: putConnections,
  DISCONNECT: putDisconnect,
  TOPIC_SET: putTopicSet,
  TOPIC_DELETE: putTopicDelete,
  TOPIC_SHOW: putTopicShow,
  ADVANCE: putAdvance,
  BACKUP_BEGIN: () => {},
  BACKUP_READ: putBackupRead,
  BACKUP_END: () => {},
  SCHEDULE_PREVIEW: putSchedulePreview,
  CLUSTER_STATUS: () => {},
  CLUSTER_ADD: putClusterAdd,
  CLUSTER_REMOVE: putClusterRemove,
  CLUSTER_TRANSFER: putClusterTransfer,
  GROUP_SET: putGroupSet,
  GROUP_LIST: putGroupList,
  WHY: putWhy,
  TOPIC_WHY: putTopicWhy,
  SCHEDULE_SET: putScheduleSet,
  SCHEDULE_SHOW: putScheduleShow,
  SCHEDULE_LIST: putScheduleList,
  SCHEDULE_DELETE: putScheduleDelete,
  SCHEDULE_PAUSE: putSchedulePause,
  SCHEDULE_RESUME: putScheduleResume,
  SCHEDULE_RUN: putScheduleRun,
  SCHEDULE_FILL: putScheduleFill,
};
