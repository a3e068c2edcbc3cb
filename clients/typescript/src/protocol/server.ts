// Generated from the schema by `make generate`. Do not edit.

/** The server's side: decodes requests, and encodes responses. For tools and tests; a client does not need it. */

import { ByteReader, type ByteWriter, DecodeError, frameOf } from './bytes.js';
import {
  atLeast,
  checkDue,
  checkMagic,
  checkedChoice,
  checkedDelay,
  checkedKey,
  checkedTopic,
  checkedTtr,
  some,
} from './checks.js';
import { encodeAttributes, encodeSettings, takeAttributes, takeFilter, takeSettings } from './elements.js';
import type { Frame } from './frame.js';
import {
  type AdvanceFields,
  type BackupDataFields,
  type BackupReadFields,
  type BackupReadyFields,
  type BulkFields,
  type BulkedFields,
  type BuryFields,
  type CancelFields,
  type ChangedFields,
  type ClusterAddFields,
  type ClusterRemoveFields,
  type ClusterReportFields,
  type ClusterTransferFields,
  type ConnectionListFields,
  type ConnectionValue,
  type ConnectionsFields,
  type CountFields,
  type CountedFields,
  type CreditFields,
  type DeleteFields,
  type DeliverFields,
  type DeliveredValue,
  type DisconnectFields,
  type DueBarValue,
  type EditFields,
  type ErrorFields,
  type FinishFields,
  type FiringValue,
  type GetFields,
  type GoingAwayFields,
  type GroupListFields,
  type GroupSetFields,
  type GroupStateValue,
  type GroupsFields,
  type HelloFields,
  type InstantsFields,
  type JobFields,
  type JobReference,
  type JobTemplateValue,
  type JobsFields,
  type KickFields,
  type KickManyFields,
  type KickedFields,
  type LeaseValue,
  type LeasedFields,
  type LeasesFields,
  type ListFields,
  type ListedScheduleValue,
  type ListedValue,
  type LocalInstantValue,
  type MemberValue,
  type NewJobValue,
  type NodeValue,
  type PauseFields,
  type PeekFields,
  type PongFields,
  type PushFields,
  type PushResultValue,
  type PushedFields,
  type QueueStatsFields,
  RESPONSES,
  type ReasonValue,
  type ReasonsFields,
  type ReleaseFields,
  type Request,
  type RescheduleFields,
  type ReserveFields,
  type ReserveJobFields,
  type ReservedFields,
  type ResponseFields,
  type ResponseName,
  type ResumeFields,
  type RunNowFields,
  type ScheduleDeleteFields,
  type ScheduleFields,
  type ScheduleFillFields,
  type ScheduleFilledFields,
  type ScheduleListFields,
  type SchedulePauseFields,
  type SchedulePreviewFields,
  type ScheduleRanFields,
  type ScheduleResumeFields,
  type ScheduleRulesValue,
  type ScheduleRunFields,
  type ScheduleSetFields,
  type ScheduleShowFields,
  type ScheduleStateValue,
  type ScheduledFields,
  type SchedulesFields,
  type SettleResultValue,
  type SettledFields,
  type ShownValue,
  type StageValue,
  type SubscribeFields,
  type TopicCountValue,
  type TopicCountsFields,
  type TopicDeleteFields,
  type TopicSetFields,
  type TopicSettingsFields,
  type TopicShowFields,
  type TopicWhyFields,
  type TotalsValue,
  type TouchFields,
  type UnsubscribeFields,
  type WelcomeFields,
  type WhyFields,
} from './messages.js';

/** The request in a frame. */
export function decodeRequest({ opcode, group, id, payload }: Frame): Request {
  if (group !== 0) throw new DecodeError(`there is no group ${group}`);
  if (id === 0) throw new DecodeError("request id 0 is the server's own");
  switch (opcode) {
    case 0x01:
      return { name: 'HELLO', fields: takeHello(new ByteReader(payload)) };
    case 0x02:
      return { name: 'PING', fields: {} };
    case 0x03:
      return { name: 'GOODBYE', fields: {} };
    case 0x10:
      return { name: 'PUSH', fields: takePush(new ByteReader(payload)) };
    case 0x20:
      return { name: 'RESERVE', fields: takeReserve(new ByteReader(payload)) };
    case 0x21:
      return { name: 'SUBSCRIBE', fields: takeSubscribe(new ByteReader(payload)) };
    case 0x22:
      return { name: 'CREDIT', fields: takeCredit(new ByteReader(payload)) };
    case 0x23:
      return { name: 'UNSUBSCRIBE', fields: takeUnsubscribe(new ByteReader(payload)) };
    case 0x24:
      return { name: 'CANCEL', fields: takeCancel(new ByteReader(payload)) };
    case 0x25:
      return { name: 'LEASES', fields: takeLeases(new ByteReader(payload)) };
    case 0x26:
      return { name: 'RESERVE_JOB', fields: takeReserveJob(new ByteReader(payload)) };
    case 0x30:
      return { name: 'FINISH', fields: takeFinish(new ByteReader(payload)) };
    case 0x31:
      return { name: 'RELEASE', fields: takeRelease(new ByteReader(payload)) };
    case 0x32:
      return { name: 'TOUCH', fields: takeTouch(new ByteReader(payload)) };
    case 0x33:
      return { name: 'BURY', fields: takeBury(new ByteReader(payload)) };
    case 0x40:
      return { name: 'GET', fields: takeGet(new ByteReader(payload)) };
    case 0x41:
      return { name: 'DELETE', fields: takeDelete(new ByteReader(payload)) };
    case 0x42:
      return { name: 'RESCHEDULE', fields: takeReschedule(new ByteReader(payload)) };
    case 0x43:
      return { name: 'RUN_NOW', fields: takeRunNow(new ByteReader(payload)) };
    case 0x44:
      return { name: 'KICK', fields: takeKick(new ByteReader(payload)) };
    case 0x45:
      return { name: 'PEEK', fields: takePeek(new ByteReader(payload)) };
    case 0x46:
      return { name: 'KICK_MANY', fields: takeKickMany(new ByteReader(payload)) };
    case 0x47:
      return { name: 'LIST', fields: takeList(new ByteReader(payload)) };
    case 0x48:
      return { name: 'COUNT', fields: takeCount(new ByteReader(payload)) };
    case 0x49:
      return { name: 'BULK', fields: takeBulk(new ByteReader(payload)) };
    case 0x4a:
      return { name: 'EDIT', fields: takeEdit(new ByteReader(payload)) };
    case 0x50:
      return { name: 'PAUSE', fields: takePause(new ByteReader(payload)) };
    case 0x51:
      return { name: 'RESUME', fields: takeResume(new ByteReader(payload)) };
    case 0x52:
      return { name: 'TOPICS', fields: {} };
    case 0x53:
      return { name: 'STATS', fields: {} };
    case 0x54:
      return { name: 'CONNECTIONS', fields: takeConnections(new ByteReader(payload)) };
    case 0x55:
      return { name: 'DISCONNECT', fields: takeDisconnect(new ByteReader(payload)) };
    case 0x56:
      return { name: 'TOPIC_SET', fields: takeTopicSet(new ByteReader(payload)) };
    case 0x57:
      return { name: 'TOPIC_DELETE', fields: takeTopicDelete(new ByteReader(payload)) };
    case 0x58:
      return { name: 'TOPIC_SHOW', fields: takeTopicShow(new ByteReader(payload)) };
    case 0x59:
      return { name: 'ADVANCE', fields: takeAdvance(new ByteReader(payload)) };
    case 0x60:
      return { name: 'BACKUP_BEGIN', fields: {} };
    case 0x61:
      return { name: 'BACKUP_READ', fields: takeBackupRead(new ByteReader(payload)) };
    case 0x62:
      return { name: 'BACKUP_END', fields: {} };
    case 0x6f:
      return { name: 'SCHEDULE_PREVIEW', fields: takeSchedulePreview(new ByteReader(payload)) };
    case 0x70:
      return { name: 'CLUSTER_STATUS', fields: {} };
    case 0x71:
      return { name: 'CLUSTER_ADD', fields: takeClusterAdd(new ByteReader(payload)) };
    case 0x72:
      return { name: 'CLUSTER_REMOVE', fields: takeClusterRemove(new ByteReader(payload)) };
    case 0x73:
      return { name: 'CLUSTER_TRANSFER', fields: takeClusterTransfer(new ByteReader(payload)) };
    case 0x74:
      return { name: 'GROUP_SET', fields: takeGroupSet(new ByteReader(payload)) };
    case 0x75:
      return { name: 'GROUP_LIST', fields: takeGroupList(new ByteReader(payload)) };
    case 0x76:
      return { name: 'WHY', fields: takeWhy(new ByteReader(payload)) };
    case 0x77:
      return { name: 'TOPIC_WHY', fields: takeTopicWhy(new ByteReader(payload)) };
    case 0x78:
      return { name: 'SCHEDULE_SET', fields: takeScheduleSet(new ByteReader(payload)) };
    case 0x79:
      return { name: 'SCHEDULE_SHOW', fields: takeScheduleShow(new ByteReader(payload)) };
    case 0x7a:
      return { name: 'SCHEDULE_LIST', fields: takeScheduleList(new ByteReader(payload)) };
    case 0x7b:
      return { name: 'SCHEDULE_DELETE', fields: takeScheduleDelete(new ByteReader(payload)) };
    case 0x7c:
      return { name: 'SCHEDULE_PAUSE', fields: takeSchedulePause(new ByteReader(payload)) };
    case 0x7d:
      return { name: 'SCHEDULE_RESUME', fields: takeScheduleResume(new ByteReader(payload)) };
    case 0x7e:
      return { name: 'SCHEDULE_RUN', fields: takeScheduleRun(new ByteReader(payload)) };
    case 0x7f:
      return { name: 'SCHEDULE_FILL', fields: takeScheduleFill(new ByteReader(payload)) };
    default:
      throw new DecodeError(`opcode ${opcode} is no request that is known here`);
  }
}

/** The whole frame of a response. */
export function encodeResponse<N extends ResponseName>(name: N, id: number, fields: ResponseFields<N>): Uint8Array {
  const put = PUT[name];
  return frameOf(RESPONSES[name], id, (to) => put(to, fields));
}

function takeNewJob(from: ByteReader, fixed: number): NewJobValue {
  const at = from.skip(fixed, 'the fixed part of new_job');
  const { view } = from;
  return checkDue({
    dueMs: view.getBigUint64(at, true),
    priority: view.getUint32(at + 8, true),
    ttrMs: checkedTtr(view.getUint32(at + 12, true)),
    dueKind: checkedChoice(view.getUint8(at + 16), 2, 'due_kind'),
    ifExists: checkedChoice(view.getUint8(at + 17), 5, 'if_exists'),
    key: checkedKey(from.text(view.getUint16(at + 18, true), 'key')),
    attributes: takeAttributes(from, view.getUint16(at + 20, true)),
    body: from.copy(view.getUint32(at + 22, true), 'body'),
  });
}

function takeLease(from: ByteReader, fixed: number): LeaseValue {
  const at = from.skip(fixed, 'the fixed part of lease');
  const { view } = from;
  return {
    job: view.getBigUint64(at, true),
    fence: view.getBigUint64(at + 8, true),
  };
}

function takeScheduleRules(from: ByteReader, fixed: number): ScheduleRulesValue {
  const at = from.skip(fixed, 'the fixed part of schedule_rules');
  const { view } = from;
  return {
    originMs: view.getBigUint64(at, true),
    startMs: view.getBigUint64(at + 8, true),
    endMs: view.getBigUint64(at + 16, true),
    count: view.getBigUint64(at + 24, true),
    windowMs: view.getBigUint64(at + 32, true),
    missedMax: view.getUint32(at + 40, true),
    jitterMs: view.getUint32(at + 44, true),
    failuresMax: view.getUint32(at + 48, true),
    dst: checkedChoice(view.getUint8(at + 52), 2, 'dst'),
    missed: checkedChoice(view.getUint8(at + 53), 3, 'missed'),
    overlap: checkedChoice(view.getUint8(at + 54), 4, 'overlap'),
    when: from.text(view.getUint16(at + 55, true), 'when'),
    zone: from.text(view.getUint8(at + 57), 'zone'),
    key: checkedKey(from.text(view.getUint16(at + 58, true), 'key')),
    note: from.text(view.getUint16(at + 60, true), 'note'),
  };
}

function takeJobTemplate(from: ByteReader, fixed: number): JobTemplateValue {
  const at = from.skip(fixed, 'the fixed part of job_template');
  const { view } = from;
  return {
    priority: view.getUint32(at, true),
    ttrMs: checkedTtr(view.getUint32(at + 4, true)),
    attributes: takeAttributes(from, view.getUint16(at + 8, true)),
    body: from.copy(view.getUint32(at + 10, true), 'body'),
  };
}

function takeHello(from: ByteReader): HelloFields {
  checkMagic(from, 0x314a4441);
  return {
    versionMin: from.u16('version_min'),
    versionMax: from.u16('version_max'),
    options: from.u32('options') & 0x3,
    heartbeatMs: from.u32('heartbeat_ms'),
    session: from.u64('session'),
    secret: from.copy(16, 'secret'),
    clientName: from.text(from.u8('client_name'), 'client_name'),
    token: from.copy(from.u16('token'), 'token'),
  };
}

function takePush(from: ByteReader): PushFields {
  return {
    sequence: from.u64('sequence'),
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    jobs: some(from.list(26, 'jobs', takeNewJob), 'jobs'),
    idempotency: from.left > 0 ? from.u128('idempotency') : 0n,
    listJobs: from.left > 0 ? from.u32('list_jobs') : 0,
  };
}

function takeReserve(from: ByteReader): ReserveFields {
  return {
    waitMs: from.u64('wait_ms'),
    jobsMax: atLeast(1, from.u32('jobs_max'), 'jobs_max'),
    topics: some(from.list(1, 'topics', takeText), 'topics'),
    weights: from.left > 0 ? from.list(2, 'weights', takeU16) : [],
  };
}

function takeSubscribe(from: ByteReader): SubscribeFields {
  return {
    creditJobs: from.u32('credit_jobs'),
    creditBytes: from.u64('credit_bytes'),
    topics: some(from.list(1, 'topics', takeText), 'topics'),
    weights: from.left > 0 ? from.list(2, 'weights', takeU16) : [],
  };
}

function takeCredit(from: ByteReader): CreditFields {
  return {
    subscription: from.u32('subscription'),
    creditJobs: from.u32('credit_jobs'),
    creditBytes: from.u64('credit_bytes'),
  };
}

function takeUnsubscribe(from: ByteReader): UnsubscribeFields {
  return {
    subscription: from.u32('subscription'),
  };
}

function takeCancel(from: ByteReader): CancelFields {
  return {
    request: from.u32('request'),
  };
}

function takeLeases(from: ByteReader): LeasesFields {
  return {
    after: from.u64('after'),
    jobsMax: atLeast(1, from.u32('jobs_max'), 'jobs_max'),
  };
}

function takeReserveJob(from: ByteReader): ReserveJobFields {
  return {
    reference: takeReference(from),
  };
}

function takeFinish(from: ByteReader): FinishFields {
  return {
    leases: some(from.list(16, 'leases', takeLease), 'leases'),
  };
}

function takeRelease(from: ByteReader): ReleaseFields {
  return {
    delayMs: checkedDelay(from.u64('delay_ms')),
    leases: some(from.list(16, 'leases', takeLease), 'leases'),
    reason: from.left > 0 ? from.text(from.u16('reason'), 'reason') : '',
  };
}

function takeTouch(from: ByteReader): TouchFields {
  return {
    ttrMs: checkedTtr(from.u32('ttr_ms')),
    leases: some(from.list(16, 'leases', takeLease), 'leases'),
  };
}

function takeBury(from: ByteReader): BuryFields {
  return {
    leases: some(from.list(16, 'leases', takeLease), 'leases'),
    reason: from.left > 0 ? from.text(from.u16('reason'), 'reason') : '',
  };
}

function takeGet(from: ByteReader): GetFields {
  return {
    reference: takeReference(from),
  };
}

function takeDelete(from: ByteReader): DeleteFields {
  return {
    reference: takeReference(from),
  };
}

function takeReschedule(from: ByteReader): RescheduleFields {
  return checkDue({
    dueMs: from.u64('due_ms'),
    dueKind: checkedChoice(from.u8('due_kind'), 2, 'due_kind'),
    reference: takeReference(from),
    ifVersion: from.left > 0 ? from.u64('if_version') : 0n,
  });
}

function takeRunNow(from: ByteReader): RunNowFields {
  return {
    reference: takeReference(from),
  };
}

function takeKick(from: ByteReader): KickFields {
  return {
    reference: takeReference(from),
  };
}

function takePeek(from: ByteReader): PeekFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
  };
}

function takeKickMany(from: ByteReader): KickManyFields {
  return {
    jobsMax: atLeast(1, from.u32('jobs_max'), 'jobs_max'),
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
  };
}

function takeList(from: ByteReader): ListFields {
  return {
    jobsMax: atLeast(1, from.u32('jobs_max'), 'jobs_max'),
    order: checkedChoice(from.u8('order'), 3, 'order'),
    marks: from.u8('marks') & 0x1,
    cursor: from.copy(from.u16('cursor'), 'cursor'),
    filter: takeFilter(from, from.u16('filter')),
  };
}

function takeCount(from: ByteReader): CountFields {
  return {
    filter: takeFilter(from, from.u16('filter')),
    bars: from.left > 0 ? from.u32('bars') : 0,
    barsFromMs: from.left > 0 ? from.u64('bars_from_ms') : 0n,
    barMs: from.left > 0 ? from.u64('bar_ms') : 0n,
  };
}

function takeBulk(from: ByteReader): BulkFields {
  return {
    jobsMax: atLeast(1, from.u32('jobs_max'), 'jobs_max'),
    change: checkedChoice(from.u8('change'), 5, 'change'),
    dueMs: from.u64('due_ms'),
    cursor: from.copy(from.u16('cursor'), 'cursor'),
    filter: takeFilter(from, from.u16('filter')),
    to: from.left > 0 ? from.text(from.u8('to'), 'to') : '',
  };
}

function takeEdit(from: ByteReader): EditFields {
  return checkDue({
    dueMs: from.u64('due_ms'),
    priority: from.u32('priority'),
    ttrMs: checkedTtr(from.u32('ttr_ms')),
    edited: from.u16('edited') & 0x3ff,
    dueKind: checkedChoice(from.u8('due_kind'), 2, 'due_kind'),
    reference: takeReference(from),
    attributes: takeAttributes(from, from.u16('attributes')),
    body: from.copy(from.u32('body'), 'body'),
    ifVersion: from.left > 0 ? from.u64('if_version') : 0n,
  });
}

function takePause(from: ByteReader): PauseFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    forMs: from.left > 0 ? from.u64('for_ms') : 0n,
  };
}

function takeResume(from: ByteReader): ResumeFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
  };
}

function takeConnections(from: ByteReader): ConnectionsFields {
  return {
    after: from.u64('after'),
    connectionsMax: atLeast(1, from.u32('connections_max'), 'connections_max'),
  };
}

function takeDisconnect(from: ByteReader): DisconnectFields {
  return {
    connection: from.u64('connection'),
    options: from.u8('options') & 0x1,
  };
}

function takeTopicSet(from: ByteReader): TopicSetFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    settings: takeSettings(from, from.u16('settings')),
  };
}

function takeTopicDelete(from: ByteReader): TopicDeleteFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
  };
}

function takeTopicShow(from: ByteReader): TopicShowFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
  };
}

function takeAdvance(from: ByteReader): AdvanceFields {
  return {
    step: checkedChoice(from.u8('step'), 2, 'step'),
    byMs: from.u64('by_ms'),
  };
}

function takeBackupRead(from: ByteReader): BackupReadFields {
  return {
    offset: from.u64('offset'),
    bytes: atLeast(1, from.u32('bytes'), 'bytes'),
  };
}

function takeSchedulePreview(from: ByteReader): SchedulePreviewFields {
  return {
    ...takeScheduleRules(from, 62),
    fromMs: from.u64('from_ms'),
    instantsMax: atLeast(1, from.u32('instants_max'), 'instants_max'),
  };
}

function takeClusterAdd(from: ByteReader): ClusterAddFields {
  return {
    address: from.text(from.u8('address'), 'address'),
  };
}

function takeClusterRemove(from: ByteReader): ClusterRemoveFields {
  return {
    node: from.u64('node'),
  };
}

function takeClusterTransfer(from: ByteReader): ClusterTransferFields {
  return {
    node: from.u64('node'),
  };
}

function takeGroupSet(from: ByteReader): GroupSetFields {
  return {
    weight: from.u32('weight'),
    pause: checkedChoice(from.u8('pause'), 3, 'pause'),
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    group: from.text(from.u8('group'), 'group'),
  };
}

function takeGroupList(from: ByteReader): GroupListFields {
  return {
    groupsMax: atLeast(1, from.u32('groups_max'), 'groups_max'),
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    after: from.text(from.u8('after'), 'after'),
    prefix: from.text(from.u8('prefix'), 'prefix'),
  };
}

function takeWhy(from: ByteReader): WhyFields {
  return {
    reference: takeReference(from),
  };
}

function takeTopicWhy(from: ByteReader): TopicWhyFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    group: from.text(from.u8('group'), 'group'),
  };
}

function takeScheduleSet(from: ByteReader): ScheduleSetFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    name: from.text(from.u8('name'), 'name'),
    ...takeScheduleRules(from, 62),
    ...takeJobTemplate(from, 14),
    ifVersion: from.left > 0 ? from.u32('if_version') : 0,
  };
}

function takeScheduleShow(from: ByteReader): ScheduleShowFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    name: from.text(from.u8('name'), 'name'),
  };
}

function takeScheduleList(from: ByteReader): ScheduleListFields {
  return {
    schedulesMax: atLeast(1, from.u32('schedules_max'), 'schedules_max'),
    nextBeforeMs: from.u64('next_before_ms'),
    paused: checkedChoice(from.u8('paused'), 3, 'paused'),
    topic: from.text(from.u8('topic'), 'topic'),
    prefix: from.text(from.u8('prefix'), 'prefix'),
    cursor: from.copy(from.u16('cursor'), 'cursor'),
  };
}

function takeScheduleDelete(from: ByteReader): ScheduleDeleteFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    name: from.text(from.u8('name'), 'name'),
  };
}

function takeSchedulePause(from: ByteReader): SchedulePauseFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    name: from.text(from.u8('name'), 'name'),
    note: from.left > 0 ? from.text(from.u16('note'), 'note') : '',
  };
}

function takeScheduleResume(from: ByteReader): ScheduleResumeFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    name: from.text(from.u8('name'), 'name'),
  };
}

function takeScheduleRun(from: ByteReader): ScheduleRunFields {
  return {
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    name: from.text(from.u8('name'), 'name'),
  };
}

function takeScheduleFill(from: ByteReader): ScheduleFillFields {
  return {
    fromMs: from.u64('from_ms'),
    toMs: from.u64('to_ms'),
    dryRun: from.u8('dry_run'),
    topic: checkedTopic(from.text(from.u8('topic'), 'topic')),
    name: from.text(from.u8('name'), 'name'),
  };
}

function takeReference(from: ByteReader): JobReference {
  const jobKind = checkedChoice(from.u8('job_kind'), 2, 'job_kind');
  if (jobKind === 0) return { jobKind, job: from.u64('job') };
  return { jobKind: 1, topic: checkedTopic(from.text(from.u8('topic'), 'topic')), key: checkedKey(from.text(from.u16('key'), 'key')) };
}

/** A topic of a list. */
function takeText(from: ByteReader, fixed: number): string {
  const at = from.skip(fixed, 'a topic');
  return checkedTopic(from.text(from.view.getUint8(at), 'a topic'));
}

/** A weight of a list. */
function takeU16(from: ByteReader, fixed: number): number {
  return from.view.getUint16(from.skip(fixed, 'a weight'), true);
}

function putPushResult(to: ByteWriter, value: PushResultValue): void {
  to.u8(value.outcome);
  to.u16(value.code);
  to.u64(value.job);
}

function putSettleResult(to: ByteWriter, value: SettleResultValue): void {
  to.u16(value.code);
}

function putDelivered(to: ByteWriter, value: DeliveredValue): void {
  to.u64(value.job);
  to.u64(value.fence);
  to.u64(value.dueMs);
  to.u32(value.priority);
  to.u32(value.attempts);
  to.u32(value.ttrLeftMs);
  const topicAt = to.skip(1);
  const keyAt = to.skip(2);
  const attributesAt = to.skip(2);
  const bodyAt = to.skip(4);
  to.u64(value.deadlineMs);
  to.textAt8(topicAt, value.topic);
  to.textAt16(keyAt, value.key);
  to.rawAt16(attributesAt, encodeAttributes(value.attributes));
  to.rawAt32(bodyAt, value.body);
}

function putShown(to: ByteWriter, value: ShownValue): void {
  to.u64(value.job);
  to.u64(value.dueMs);
  to.u8(value.state);
  to.u8(value.buried);
  to.u32(value.priority);
  to.u32(value.attempts);
  to.u32(value.ttrMs);
  to.u32(value.ttrLeftMs);
  const topicAt = to.skip(1);
  const keyAt = to.skip(2);
  const attributesAt = to.skip(2);
  const bodyAt = to.skip(4);
  to.textAt8(topicAt, value.topic);
  to.textAt16(keyAt, value.key);
  to.rawAt16(attributesAt, encodeAttributes(value.attributes));
  to.rawAt32(bodyAt, value.body);
}

function putListed(to: ByteWriter, value: ListedValue): void {
  to.u64(value.job);
  to.u64(value.dueMs);
  to.u8(value.state);
  to.u8(value.buried);
  to.u32(value.priority);
  to.u32(value.attempts);
  to.u32(value.ttrMs);
  to.u32(value.ttrLeftMs);
  const topicAt = to.skip(1);
  const keyAt = to.skip(2);
  const attributesAt = to.skip(2);
  const bodyAt = to.skip(4);
  to.u32(value.bodyBytes);
  to.u64(value.pushedMs);
  to.u64(value.reservedFirstMs);
  to.u64(value.reservedLastMs);
  to.u64(value.editedMs);
  const heldByAt = to.skip(1);
  const reasonAt = to.skip(2);
  to.textAt8(topicAt, value.topic);
  to.textAt16(keyAt, value.key);
  to.rawAt16(attributesAt, encodeAttributes(value.attributes));
  to.rawAt32(bodyAt, value.body);
  to.textAt8(heldByAt, value.heldBy);
  to.textAt16(reasonAt, value.reason);
}

function putTotals(to: ByteWriter, value: TotalsValue): void {
  to.u64(value.delayed);
  to.u64(value.ready);
  to.u64(value.reserved);
  to.u64(value.buried);
  to.u64(value.pushed);
  to.u64(value.finished);
  to.u64(value.deleted);
  to.u64(value.expired);
  to.u64(value.oldestReadyMs);
}

function putTopicCount(to: ByteWriter, value: TopicCountValue): void {
  to.u8(value.marks);
  to.u32(value.consumers);
  to.u64(value.lateMs);
  const topicAt = to.skip(1);
  to.u64(value.delayed);
  to.u64(value.ready);
  to.u64(value.reserved);
  to.u64(value.buried);
  to.u64(value.pushed);
  to.u64(value.finished);
  to.u64(value.deleted);
  to.u64(value.expired);
  to.u64(value.oldestReadyMs);
  to.textAt8(topicAt, value.topic);
}

function putStage(to: ByteWriter, value: StageValue): void {
  const stageAt = to.skip(1);
  to.u64(value.count);
  to.u64(value.p50Us);
  to.u64(value.p99Us);
  to.u64(value.p999Us);
  to.u64(value.maxUs);
  to.textAt8(stageAt, value.stage);
}

function putDueBar(to: ByteWriter, value: DueBarValue): void {
  to.u64(value.startMs);
  to.u64(value.jobs);
}

function putConnection(to: ByteWriter, value: ConnectionValue): void {
  to.u64(value.connection);
  to.u64(value.session);
  to.u64(value.sinceMs);
  to.u32(value.leases);
  to.u32(value.subscriptions);
  to.u32(value.reserves);
  to.u64(value.creditJobs);
  to.u64(value.creditBytes);
  to.u64(value.unsentBytes);
  to.u8(value.marks);
  const addressAt = to.skip(1);
  const clientNameAt = to.skip(1);
  to.u8(value.topics.length);
  to.textAt8(addressAt, value.address);
  to.textAt8(clientNameAt, value.clientName);
  for (const text of value.topics) to.text8(text);
}

function putMember(to: ByteWriter, value: MemberValue): void {
  to.u64(value.node);
  to.u8(value.marks);
  const addressAt = to.skip(1);
  to.textAt8(addressAt, value.address);
}

function putNode(to: ByteWriter, value: NodeValue): void {
  to.u64(value.node);
  to.u8(value.role);
  to.u8(value.marks);
  to.u64(value.matched);
  to.u64(value.applied);
  to.i64(value.aheadMs);
  to.u64(value.audited);
  const peerAddressAt = to.skip(1);
  const clientAddressAt = to.skip(1);
  to.textAt8(peerAddressAt, value.peerAddress);
  to.textAt8(clientAddressAt, value.clientAddress);
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

function putGroupState(to: ByteWriter, value: GroupStateValue): void {
  to.u64(value.ready);
  to.u64(value.reserved);
  to.u64(value.oldestMs);
  to.u64(value.untilMs);
  to.u32(value.weight);
  to.u8(value.hold);
  to.u8(value.paused);
  const nameAt = to.skip(1);
  to.textAt8(nameAt, value.name);
}

function putReason(to: ByteWriter, value: ReasonValue): void {
  to.u8(value.why);
  to.u64(value.sinceMs);
  to.u64(value.untilMs);
  to.u64(value.jobs);
  const textAt = to.skip(2);
  to.textAt16(textAt, value.text);
}

function putScheduleState(to: ByteWriter, value: ScheduleStateValue): void {
  to.u64(value.schedule);
  to.u64(value.nextMs);
  to.u64(value.fired);
  to.u32(value.version);
  to.u32(value.running);
  to.u32(value.failures);
  to.u8(value.paused);
  to.u8(value.marks);
}

function putFiring(to: ByteWriter, value: FiringValue): void {
  to.u64(value.instantMs);
  to.u64(value.lastMs);
  to.u64(value.instants);
  to.u64(value.atMs);
  to.u64(value.job);
  to.u8(value.fired);
}

function putLocalInstant(to: ByteWriter, value: LocalInstantValue): void {
  to.u64(value.instantMs);
  const localAt = to.skip(1);
  to.textAt8(localAt, value.local);
}

function putListedSchedule(to: ByteWriter, value: ListedScheduleValue): void {
  to.u64(value.schedule);
  to.u64(value.nextMs);
  to.u64(value.fired);
  to.u32(value.version);
  to.u32(value.running);
  to.u32(value.failures);
  to.u8(value.paused);
  to.u8(value.marks);
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
  const topicAt = to.skip(1);
  const nameAt = to.skip(1);
  const pauseNoteAt = to.skip(2);
  to.textAt16(whenAt, value.when);
  to.textAt8(zoneAt, value.zone);
  to.textAt16(keyAt, value.key);
  to.textAt16(noteAt, value.note);
  to.textAt8(topicAt, value.topic);
  to.textAt8(nameAt, value.name);
  to.textAt16(pauseNoteAt, value.pauseNote);
}

function putWelcome(to: ByteWriter, fields: WelcomeFields): void {
  to.u16(fields.version);
  to.u8(fields.marks);
  to.exactly(16, fields.clusterId);
  to.u64(fields.session);
  to.exactly(16, fields.secret);
  to.u32(fields.heartbeatMs);
  to.u32(fields.sessionGraceMs);
  to.u32(fields.frameBytesMax);
  to.u32(fields.bodyBytesMax);
  to.u32(fields.pushJobsMax);
  to.u32(fields.leasesMax);
  to.u32(fields.reserveJobsMax);
  to.u32(fields.inFlightMax);
  to.text8(fields.serverName);
  to.list(10, fields.members.length);
  for (const item of fields.members) putMember(to, item);
  to.u64(fields.clockMs);
}

function putPong(to: ByteWriter, fields: PongFields): void {
  to.u64(fields.now);
  to.u64(fields.clockMs);
}

function putGoingAway(to: ByteWriter, fields: GoingAwayFields): void {
  to.text16(fields.message);
  to.u8(fields.reason);
}

function putPushed(to: ByteWriter, fields: PushedFields): void {
  to.list(11, fields.results.length);
  for (const item of fields.results) putPushResult(to, item);
}

function putReserved(to: ByteWriter, fields: ReservedFields): void {
  to.list(53, fields.jobs.length);
  for (const item of fields.jobs) putDelivered(to, item);
}

function putDeliver(to: ByteWriter, fields: DeliverFields): void {
  to.list(53, fields.jobs.length);
  for (const item of fields.jobs) putDelivered(to, item);
}

function putLeased(to: ByteWriter, fields: LeasedFields): void {
  to.u8(fields.marks);
  to.list(53, fields.jobs.length);
  for (const item of fields.jobs) putDelivered(to, item);
}

function putSettled(to: ByteWriter, fields: SettledFields): void {
  to.list(2, fields.results.length);
  for (const item of fields.results) putSettleResult(to, item);
}

function putJob(to: ByteWriter, fields: JobFields): void {
  putShown(to, fields);
  to.u64(fields.pushedMs);
  to.u64(fields.reservedFirstMs);
  to.u64(fields.reservedLastMs);
  to.u64(fields.editedMs);
  to.text8(fields.heldBy);
  to.text16(fields.reason);
  to.u64(fields.finishedMs);
  to.u64(fields.version);
}

function putChanged(to: ByteWriter, fields: ChangedFields): void {
  to.u64(fields.job);
  to.u64(fields.dueMs);
  to.u8(fields.state);
  to.u64(fields.version);
}

function putKicked(to: ByteWriter, fields: KickedFields): void {
  to.u32(fields.jobs);
}

function putJobs(to: ByteWriter, fields: JobsFields): void {
  to.raw16(fields.cursor);
  to.list(82, fields.jobs.length);
  for (const item of fields.jobs) putListed(to, item);
}

function putCounted(to: ByteWriter, fields: CountedFields): void {
  to.u64(fields.jobs);
  to.list(16, fields.byDue.length);
  for (const item of fields.byDue) putDueBar(to, item);
}

function putBulked(to: ByteWriter, fields: BulkedFields): void {
  to.u32(fields.jobs);
  to.raw16(fields.cursor);
  to.u32(fields.skipped);
}

function putTopicCounts(to: ByteWriter, fields: TopicCountsFields): void {
  to.list(86, fields.topics.length);
  for (const item of fields.topics) putTopicCount(to, item);
}

function putQueueStats(to: ByteWriter, fields: QueueStatsFields): void {
  to.u64(fields.now);
  to.u64(fields.uptimeMs);
  to.u32(fields.connections);
  to.u32(fields.sessions);
  to.u32(fields.waiting);
  to.u64(fields.appliedIndex);
  to.u64(fields.term);
  to.u128(fields.stateHash);
  putTotals(to, fields.totals);
  to.list(86, fields.topics.length);
  for (const item of fields.topics) putTopicCount(to, item);
  to.list(41, fields.stages.length);
  for (const item of fields.stages) putStage(to, item);
}

function putConnectionList(to: ByteWriter, fields: ConnectionListFields): void {
  to.u8(fields.marks);
  to.list(64, fields.connections.length);
  for (const item of fields.connections) putConnection(to, item);
}

function putTopicSettings(to: ByteWriter, fields: TopicSettingsFields): void {
  to.u64(fields.jobs);
  to.u64(fields.bytes);
  to.u64(fields.pauseLeftMs);
  to.u8(fields.marks);
  to.raw16(encodeSettings(fields.settings));
}

function putBackupReady(to: ByteWriter, fields: BackupReadyFields): void {
  to.u64(fields.index);
  to.u64(fields.jobs);
  to.u128(fields.stateHash);
  to.u64(fields.bytes);
}

function putBackupData(to: ByteWriter, fields: BackupDataFields): void {
  to.raw32(fields.data);
}

function putInstants(to: ByteWriter, fields: InstantsFields): void {
  to.text8(fields.zoneData);
  to.list(9, fields.instants.length);
  for (const item of fields.instants) putLocalInstant(to, item);
}

function putClusterReport(to: ByteWriter, fields: ClusterReportFields): void {
  to.u64(fields.node);
  to.exactly(16, fields.clusterId);
  to.u64(fields.leader);
  to.u64(fields.term);
  to.u64(fields.last);
  to.u64(fields.commit);
  to.u32(fields.featureLevel);
  to.list(44, fields.members.length);
  for (const item of fields.members) putNode(to, item);
}

function putGroups(to: ByteWriter, fields: GroupsFields): void {
  to.text8(fields.after);
  to.list(39, fields.groups.length);
  for (const item of fields.groups) putGroupState(to, item);
}

function putReasons(to: ByteWriter, fields: ReasonsFields): void {
  to.list(27, fields.reasons.length);
  for (const item of fields.reasons) putReason(to, item);
}

function putScheduled(to: ByteWriter, fields: ScheduledFields): void {
  to.u64(fields.schedule);
  to.u32(fields.version);
  to.u64(fields.nextMs);
}

function putSchedule(to: ByteWriter, fields: ScheduleFields): void {
  putScheduleState(to, fields.state);
  to.text16(fields.pauseNote);
  putScheduleRules(to, fields);
  putJobTemplate(to, fields);
  to.list(41, fields.history.length);
  for (const item of fields.history) putFiring(to, item);
}

function putSchedules(to: ByteWriter, fields: SchedulesFields): void {
  to.list(104, fields.schedules.length);
  for (const item of fields.schedules) putListedSchedule(to, item);
  to.raw16(fields.cursor);
}

function putScheduleRan(to: ByteWriter, fields: ScheduleRanFields): void {
  to.u64(fields.job);
}

function putScheduleFilled(to: ByteWriter, fields: ScheduleFilledFields): void {
  to.u64(fields.nextMs);
  to.u64(fields.bytes);
  to.u32(fields.instants);
  to.u32(fields.pushed);
  to.u32(fields.kept);
  to.u32(fields.refused);
}

function putError(to: ByteWriter, fields: ErrorFields): void {
  to.u16(fields.code);
  to.u8(fields.marks);
  to.u8(fields.applied);
  to.u32(fields.retryAfterMs);
  to.text8(fields.leader);
  to.text16(fields.message);
}

const PUT: { readonly [N in ResponseName]: (to: ByteWriter, fields: ResponseFields<N>) => void } = {
  WELCOME: putWelcome,
  PONG: putPong,
  DONE: () => {},
  GOING_AWAY: putGoingAway,
  PUSHED: putPushed,
  RESERVED: putReserved,
  SUBSCRIBED: () => {},
  DELIVER: putDeliver,
  LEASED: putLeased,
  SETTLED: putSettled,
  JOB: putJob,
  CHANGED: putChanged,
  KICKED: putKicked,
  JOBS: putJobs,
  COUNTED: putCounted,
  BULKED: putBulked,
  TOPIC_COUNTS: putTopicCounts,
  QUEUE_STATS: putQueueStats,
  CONNECTION_LIST: putConnectionList,
  TOPIC_SETTINGS: putTopicSettings,
  BACKUP_READY: putBackupReady,
  BACKUP_DATA: putBackupData,
  INSTANTS: putInstants,
  CLUSTER_REPORT: putClusterReport,
  GROUPS: putGroups,
  REASONS: putReasons,
  SCHEDULED: putScheduled,
  SCHEDULE: putSchedule,
  SCHEDULES: putSchedules,
  SCHEDULE_RAN: putScheduleRan,
  SCHEDULE_FILLED: putScheduleFilled,
  ERROR: putError,
};
