// Generated from the schema by `make generate`. Do not edit.

/** Decodes responses. */

import { ByteReader, hasField } from './bytes.js';
import { knownOr, knownOutcome } from './checks.js';
import { takeAttributes, takeSettings } from './elements.js';
import type { Frame } from './frame.js';
import type {
  BackupDataFields,
  BackupReadyFields,
  BulkedFields,
  ChangedFields,
  ClusterReportFields,
  ConnectionListFields,
  ConnectionValue,
  CountedFields,
  DeliverFields,
  DeliveredValue,
  DueBarValue,
  ErrorFields,
  FiringValue,
  GoingAwayFields,
  GroupStateValue,
  GroupsFields,
  InstantsFields,
  JobFields,
  JobTemplateValue,
  JobsFields,
  KickedFields,
  LeasedFields,
  ListedScheduleValue,
  ListedValue,
  LocalInstantValue,
  MemberValue,
  NodeValue,
  PongFields,
  PushResultValue,
  PushedFields,
  QueueStatsFields,
  ReasonValue,
  ReasonsFields,
  ReservedFields,
  Response,
  ScheduleFields,
  ScheduleFilledFields,
  ScheduleRanFields,
  ScheduleRulesValue,
  ScheduleStateValue,
  ScheduledFields,
  SchedulesFields,
  SettleResultValue,
  SettledFields,
  ShownValue,
  StageValue,
  TopicCountValue,
  TopicCountsFields,
  TopicSettingsFields,
  TotalsValue,
  WelcomeFields,
} from './messages.js';

/** The response in a frame; `null` for an opcode of a newer server. */
export function decodeResponse({ opcode, payload }: Frame): Response | null {
  switch (opcode) {
    case 0x81:
      return { name: 'WELCOME', fields: takeWelcome(new ByteReader(payload)) };
    case 0x82:
      return { name: 'PONG', fields: takePong(new ByteReader(payload)) };
    case 0x83:
      return { name: 'DONE', fields: {} };
    case 0x84:
      return { name: 'GOING_AWAY', fields: takeGoingAway(new ByteReader(payload)) };
    case 0x90:
      return { name: 'PUSHED', fields: takePushed(new ByteReader(payload)) };
    case 0xa0:
      return { name: 'RESERVED', fields: takeReserved(new ByteReader(payload)) };
    case 0xa1:
      return { name: 'SUBSCRIBED', fields: {} };
    case 0xa2:
      return { name: 'DELIVER', fields: takeDeliver(new ByteReader(payload)) };
    case 0xa3:
      return { name: 'LEASED', fields: takeLeased(new ByteReader(payload)) };
    case 0xb0:
      return { name: 'SETTLED', fields: takeSettled(new ByteReader(payload)) };
    case 0xc0:
      return { name: 'JOB', fields: takeJob(new ByteReader(payload)) };
    case 0xc1:
      return { name: 'CHANGED', fields: takeChanged(new ByteReader(payload)) };
    case 0xc2:
      return { name: 'KICKED', fields: takeKicked(new ByteReader(payload)) };
    case 0xc3:
      return { name: 'JOBS', fields: takeJobs(new ByteReader(payload)) };
    case 0xc4:
      return { name: 'COUNTED', fields: takeCounted(new ByteReader(payload)) };
    case 0xc5:
      return { name: 'BULKED', fields: takeBulked(new ByteReader(payload)) };
    case 0xd0:
      return { name: 'TOPIC_COUNTS', fields: takeTopicCounts(new ByteReader(payload)) };
    case 0xd1:
      return { name: 'QUEUE_STATS', fields: takeQueueStats(new ByteReader(payload)) };
    case 0xd2:
      return { name: 'CONNECTION_LIST', fields: takeConnectionList(new ByteReader(payload)) };
    case 0xd3:
      return { name: 'TOPIC_SETTINGS', fields: takeTopicSettings(new ByteReader(payload)) };
    case 0xe0:
      return { name: 'BACKUP_READY', fields: takeBackupReady(new ByteReader(payload)) };
    case 0xe1:
      return { name: 'BACKUP_DATA', fields: takeBackupData(new ByteReader(payload)) };
    case 0xef:
      return { name: 'INSTANTS', fields: takeInstants(new ByteReader(payload)) };
    case 0xf0:
      return { name: 'CLUSTER_REPORT', fields: takeClusterReport(new ByteReader(payload)) };
    case 0xf5:
      return { name: 'GROUPS', fields: takeGroups(new ByteReader(payload)) };
    case 0xf6:
      return { name: 'REASONS', fields: takeReasons(new ByteReader(payload)) };
    case 0xf8:
      return { name: 'SCHEDULED', fields: takeScheduled(new ByteReader(payload)) };
    case 0xf9:
      return { name: 'SCHEDULE', fields: takeSchedule(new ByteReader(payload)) };
    case 0xfa:
      return { name: 'SCHEDULES', fields: takeSchedules(new ByteReader(payload)) };
    case 0xfb:
      return { name: 'SCHEDULE_RAN', fields: takeScheduleRan(new ByteReader(payload)) };
    case 0xfc:
      return { name: 'SCHEDULE_FILLED', fields: takeScheduleFilled(new ByteReader(payload)) };
    case 0xff:
      return { name: 'ERROR', fields: takeError(new ByteReader(payload)) };
    default:
      return null;
  }
}

function takePushResult(from: ByteReader, fixed: number): PushResultValue {
  const at = from.skip(fixed, 'the fixed part of push_result');
  const { view } = from;
  return knownOutcome({
    outcome: view.getUint8(at),
    code: view.getUint16(at + 1, true),
    job: view.getBigUint64(at + 3, true),
  });
}

function takeSettleResult(from: ByteReader, fixed: number): SettleResultValue {
  const at = from.skip(fixed, 'the fixed part of settle_result');
  const { view } = from;
  return {
    code: view.getUint16(at, true),
  };
}

function takeDelivered(from: ByteReader, fixed: number): DeliveredValue {
  const at = from.skip(fixed, 'the fixed part of delivered');
  const { view } = from;
  return {
    job: view.getBigUint64(at, true),
    fence: view.getBigUint64(at + 8, true),
    dueMs: view.getBigUint64(at + 16, true),
    priority: view.getUint32(at + 24, true),
    attempts: view.getUint32(at + 28, true),
    ttrLeftMs: view.getUint32(at + 32, true),
    topic: from.text(view.getUint8(at + 36), 'topic'),
    key: from.text(view.getUint16(at + 37, true), 'key'),
    attributes: takeAttributes(from, view.getUint16(at + 39, true)),
    body: from.copy(view.getUint32(at + 41, true), 'body'),
    deadlineMs: hasField(fixed, 45, 8, 'deadline_ms') ? view.getBigUint64(at + 45, true) : 0n,
  };
}

function takeShown(from: ByteReader, fixed: number): ShownValue {
  const at = from.skip(fixed, 'the fixed part of shown');
  const { view } = from;
  return {
    job: view.getBigUint64(at, true),
    dueMs: view.getBigUint64(at + 8, true),
    state: view.getUint8(at + 16),
    buried: view.getUint8(at + 17),
    priority: view.getUint32(at + 18, true),
    attempts: view.getUint32(at + 22, true),
    ttrMs: view.getUint32(at + 26, true),
    ttrLeftMs: view.getUint32(at + 30, true),
    topic: from.text(view.getUint8(at + 34), 'topic'),
    key: from.text(view.getUint16(at + 35, true), 'key'),
    attributes: takeAttributes(from, view.getUint16(at + 37, true)),
    body: from.copy(view.getUint32(at + 39, true), 'body'),
  };
}

function takeListed(from: ByteReader, fixed: number): ListedValue {
  const at = from.skip(fixed, 'the fixed part of listed');
  const { view } = from;
  return {
    job: view.getBigUint64(at, true),
    dueMs: view.getBigUint64(at + 8, true),
    state: view.getUint8(at + 16),
    buried: view.getUint8(at + 17),
    priority: view.getUint32(at + 18, true),
    attempts: view.getUint32(at + 22, true),
    ttrMs: view.getUint32(at + 26, true),
    ttrLeftMs: view.getUint32(at + 30, true),
    topic: from.text(view.getUint8(at + 34), 'topic'),
    key: from.text(view.getUint16(at + 35, true), 'key'),
    attributes: takeAttributes(from, view.getUint16(at + 37, true)),
    body: from.copy(view.getUint32(at + 39, true), 'body'),
    bodyBytes: view.getUint32(at + 43, true),
    pushedMs: view.getBigUint64(at + 47, true),
    reservedFirstMs: view.getBigUint64(at + 55, true),
    reservedLastMs: view.getBigUint64(at + 63, true),
    editedMs: view.getBigUint64(at + 71, true),
    heldBy: from.text(view.getUint8(at + 79), 'held_by'),
    reason: from.text(view.getUint16(at + 80, true), 'reason'),
  };
}

function takeTotals(from: ByteReader, fixed: number): TotalsValue {
  const at = from.skip(fixed, 'the fixed part of totals');
  const { view } = from;
  return {
    delayed: view.getBigUint64(at, true),
    ready: view.getBigUint64(at + 8, true),
    reserved: view.getBigUint64(at + 16, true),
    buried: view.getBigUint64(at + 24, true),
    pushed: view.getBigUint64(at + 32, true),
    finished: view.getBigUint64(at + 40, true),
    deleted: view.getBigUint64(at + 48, true),
    expired: view.getBigUint64(at + 56, true),
    oldestReadyMs: view.getBigUint64(at + 64, true),
  };
}

function takeTopicCount(from: ByteReader, fixed: number): TopicCountValue {
  const at = from.skip(fixed, 'the fixed part of topic_count');
  const { view } = from;
  return {
    marks: view.getUint8(at) & 0x1,
    consumers: view.getUint32(at + 1, true),
    lateMs: view.getBigUint64(at + 5, true),
    topic: from.text(view.getUint8(at + 13), 'topic'),
    delayed: view.getBigUint64(at + 14, true),
    ready: view.getBigUint64(at + 22, true),
    reserved: view.getBigUint64(at + 30, true),
    buried: view.getBigUint64(at + 38, true),
    pushed: view.getBigUint64(at + 46, true),
    finished: view.getBigUint64(at + 54, true),
    deleted: view.getBigUint64(at + 62, true),
    expired: view.getBigUint64(at + 70, true),
    oldestReadyMs: view.getBigUint64(at + 78, true),
  };
}

function takeStage(from: ByteReader, fixed: number): StageValue {
  const at = from.skip(fixed, 'the fixed part of stage');
  const { view } = from;
  return {
    stage: from.text(view.getUint8(at), 'stage'),
    count: view.getBigUint64(at + 1, true),
    p50Us: view.getBigUint64(at + 9, true),
    p99Us: view.getBigUint64(at + 17, true),
    p999Us: view.getBigUint64(at + 25, true),
    maxUs: view.getBigUint64(at + 33, true),
  };
}

function takeDueBar(from: ByteReader, fixed: number): DueBarValue {
  const at = from.skip(fixed, 'the fixed part of due_bar');
  const { view } = from;
  return {
    startMs: view.getBigUint64(at, true),
    jobs: view.getBigUint64(at + 8, true),
  };
}

function takeConnection(from: ByteReader, fixed: number): ConnectionValue {
  const at = from.skip(fixed, 'the fixed part of connection');
  const { view } = from;
  return {
    connection: view.getBigUint64(at, true),
    session: view.getBigUint64(at + 8, true),
    sinceMs: view.getBigUint64(at + 16, true),
    leases: view.getUint32(at + 24, true),
    subscriptions: view.getUint32(at + 28, true),
    reserves: view.getUint32(at + 32, true),
    creditJobs: view.getBigUint64(at + 36, true),
    creditBytes: view.getBigUint64(at + 44, true),
    unsentBytes: view.getBigUint64(at + 52, true),
    marks: view.getUint8(at + 60) & 0x1,
    address: from.text(view.getUint8(at + 61), 'address'),
    clientName: from.text(view.getUint8(at + 62), 'client_name'),
    topics: from.texts(view.getUint8(at + 63), 'topics'),
  };
}

function takeMember(from: ByteReader, fixed: number): MemberValue {
  const at = from.skip(fixed, 'the fixed part of member');
  const { view } = from;
  return {
    node: view.getBigUint64(at, true),
    marks: view.getUint8(at + 8) & 0x1,
    address: from.text(view.getUint8(at + 9), 'address'),
  };
}

function takeNode(from: ByteReader, fixed: number): NodeValue {
  const at = from.skip(fixed, 'the fixed part of node');
  const { view } = from;
  return {
    node: view.getBigUint64(at, true),
    role: view.getUint8(at + 8),
    marks: view.getUint8(at + 9) & 0x3f,
    matched: view.getBigUint64(at + 10, true),
    applied: view.getBigUint64(at + 18, true),
    aheadMs: view.getBigInt64(at + 26, true),
    audited: view.getBigUint64(at + 34, true),
    peerAddress: from.text(view.getUint8(at + 42), 'peer_address'),
    clientAddress: from.text(view.getUint8(at + 43), 'client_address'),
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
    dst: view.getUint8(at + 52),
    missed: view.getUint8(at + 53),
    overlap: view.getUint8(at + 54),
    when: from.text(view.getUint16(at + 55, true), 'when'),
    zone: from.text(view.getUint8(at + 57), 'zone'),
    key: from.text(view.getUint16(at + 58, true), 'key'),
    note: from.text(view.getUint16(at + 60, true), 'note'),
  };
}

function takeJobTemplate(from: ByteReader, fixed: number): JobTemplateValue {
  const at = from.skip(fixed, 'the fixed part of job_template');
  const { view } = from;
  return {
    priority: view.getUint32(at, true),
    ttrMs: view.getUint32(at + 4, true),
    attributes: takeAttributes(from, view.getUint16(at + 8, true)),
    body: from.copy(view.getUint32(at + 10, true), 'body'),
  };
}

function takeGroupState(from: ByteReader, fixed: number): GroupStateValue {
  const at = from.skip(fixed, 'the fixed part of group_state');
  const { view } = from;
  return {
    ready: view.getBigUint64(at, true),
    reserved: view.getBigUint64(at + 8, true),
    oldestMs: view.getBigUint64(at + 16, true),
    untilMs: view.getBigUint64(at + 24, true),
    weight: view.getUint32(at + 32, true),
    hold: view.getUint8(at + 36),
    paused: view.getUint8(at + 37),
    name: from.text(view.getUint8(at + 38), 'name'),
  };
}

function takeReason(from: ByteReader, fixed: number): ReasonValue {
  const at = from.skip(fixed, 'the fixed part of reason');
  const { view } = from;
  return {
    why: view.getUint8(at),
    sinceMs: view.getBigUint64(at + 1, true),
    untilMs: view.getBigUint64(at + 9, true),
    jobs: view.getBigUint64(at + 17, true),
    text: from.text(view.getUint16(at + 25, true), 'text'),
  };
}

function takeScheduleState(from: ByteReader, fixed: number): ScheduleStateValue {
  const at = from.skip(fixed, 'the fixed part of schedule_state');
  const { view } = from;
  return {
    schedule: view.getBigUint64(at, true),
    nextMs: view.getBigUint64(at + 8, true),
    fired: view.getBigUint64(at + 16, true),
    version: view.getUint32(at + 24, true),
    running: view.getUint32(at + 28, true),
    failures: view.getUint32(at + 32, true),
    paused: view.getUint8(at + 36),
    marks: view.getUint8(at + 37) & 0x3,
  };
}

function takeFiring(from: ByteReader, fixed: number): FiringValue {
  const at = from.skip(fixed, 'the fixed part of firing');
  const { view } = from;
  return {
    instantMs: view.getBigUint64(at, true),
    lastMs: view.getBigUint64(at + 8, true),
    instants: view.getBigUint64(at + 16, true),
    atMs: view.getBigUint64(at + 24, true),
    job: view.getBigUint64(at + 32, true),
    fired: view.getUint8(at + 40),
  };
}

function takeLocalInstant(from: ByteReader, fixed: number): LocalInstantValue {
  const at = from.skip(fixed, 'the fixed part of local_instant');
  const { view } = from;
  return {
    instantMs: view.getBigUint64(at, true),
    local: from.text(view.getUint8(at + 8), 'local'),
  };
}

function takeListedSchedule(from: ByteReader, fixed: number): ListedScheduleValue {
  const at = from.skip(fixed, 'the fixed part of listed_schedule');
  const { view } = from;
  return {
    schedule: view.getBigUint64(at, true),
    nextMs: view.getBigUint64(at + 8, true),
    fired: view.getBigUint64(at + 16, true),
    version: view.getUint32(at + 24, true),
    running: view.getUint32(at + 28, true),
    failures: view.getUint32(at + 32, true),
    paused: view.getUint8(at + 36),
    marks: view.getUint8(at + 37) & 0x3,
    originMs: view.getBigUint64(at + 38, true),
    startMs: view.getBigUint64(at + 46, true),
    endMs: view.getBigUint64(at + 54, true),
    count: view.getBigUint64(at + 62, true),
    windowMs: view.getBigUint64(at + 70, true),
    missedMax: view.getUint32(at + 78, true),
    jitterMs: view.getUint32(at + 82, true),
    failuresMax: view.getUint32(at + 86, true),
    dst: view.getUint8(at + 90),
    missed: view.getUint8(at + 91),
    overlap: view.getUint8(at + 92),
    when: from.text(view.getUint16(at + 93, true), 'when'),
    zone: from.text(view.getUint8(at + 95), 'zone'),
    key: from.text(view.getUint16(at + 96, true), 'key'),
    note: from.text(view.getUint16(at + 98, true), 'note'),
    topic: from.text(view.getUint8(at + 100), 'topic'),
    name: from.text(view.getUint8(at + 101), 'name'),
    pauseNote: from.text(view.getUint16(at + 102, true), 'pause_note'),
  };
}

function takeWelcome(from: ByteReader): WelcomeFields {
  return {
    version: from.u16('version'),
    marks: from.u8('marks') & 0x3,
    clusterId: from.copy(16, 'cluster_id'),
    session: from.u64('session'),
    secret: from.copy(16, 'secret'),
    heartbeatMs: from.u32('heartbeat_ms'),
    sessionGraceMs: from.u32('session_grace_ms'),
    frameBytesMax: from.u32('frame_bytes_max'),
    bodyBytesMax: from.u32('body_bytes_max'),
    pushJobsMax: from.u32('push_jobs_max'),
    leasesMax: from.u32('leases_max'),
    reserveJobsMax: from.u32('reserve_jobs_max'),
    inFlightMax: from.u32('in_flight_max'),
    serverName: from.text(from.u8('server_name'), 'server_name'),
    members: from.list(10, 'members', takeMember),
    clockMs: from.left > 0 ? from.u64('clock_ms') : 0n,
  };
}

function takePong(from: ByteReader): PongFields {
  return {
    now: from.u64('now'),
    clockMs: from.left > 0 ? from.u64('clock_ms') : 0n,
  };
}

function takeGoingAway(from: ByteReader): GoingAwayFields {
  return {
    message: from.text(from.u16('message'), 'message'),
    reason: from.left > 0 ? from.u8('reason') : 0,
  };
}

function takePushed(from: ByteReader): PushedFields {
  return {
    results: from.list(11, 'results', takePushResult),
  };
}

function takeReserved(from: ByteReader): ReservedFields {
  return {
    jobs: from.list(45, 'jobs', takeDelivered),
  };
}

function takeDeliver(from: ByteReader): DeliverFields {
  return {
    jobs: from.list(45, 'jobs', takeDelivered),
  };
}

function takeLeased(from: ByteReader): LeasedFields {
  return {
    marks: from.u8('marks') & 0x1,
    jobs: from.list(45, 'jobs', takeDelivered),
  };
}

function takeSettled(from: ByteReader): SettledFields {
  return {
    results: from.list(2, 'results', takeSettleResult),
  };
}

function takeJob(from: ByteReader): JobFields {
  return {
    ...takeShown(from, 43),
    pushedMs: from.left > 0 ? from.u64('pushed_ms') : 0n,
    reservedFirstMs: from.left > 0 ? from.u64('reserved_first_ms') : 0n,
    reservedLastMs: from.left > 0 ? from.u64('reserved_last_ms') : 0n,
    editedMs: from.left > 0 ? from.u64('edited_ms') : 0n,
    heldBy: from.left > 0 ? from.text(from.u8('held_by'), 'held_by') : '',
    reason: from.left > 0 ? from.text(from.u16('reason'), 'reason') : '',
    finishedMs: from.left > 0 ? from.u64('finished_ms') : 0n,
    version: from.left > 0 ? from.u64('version') : 0n,
  };
}

function takeChanged(from: ByteReader): ChangedFields {
  return {
    job: from.u64('job'),
    dueMs: from.u64('due_ms'),
    state: from.u8('state'),
    version: from.left > 0 ? from.u64('version') : 0n,
  };
}

function takeKicked(from: ByteReader): KickedFields {
  return {
    jobs: from.u32('jobs'),
  };
}

function takeJobs(from: ByteReader): JobsFields {
  return {
    cursor: from.copy(from.u16('cursor'), 'cursor'),
    jobs: from.list(82, 'jobs', takeListed),
  };
}

function takeCounted(from: ByteReader): CountedFields {
  return {
    jobs: from.u64('jobs'),
    byDue: from.left > 0 ? from.list(16, 'by_due', takeDueBar) : [],
  };
}

function takeBulked(from: ByteReader): BulkedFields {
  return {
    jobs: from.u32('jobs'),
    cursor: from.copy(from.u16('cursor'), 'cursor'),
    skipped: from.left > 0 ? from.u32('skipped') : 0,
  };
}

function takeTopicCounts(from: ByteReader): TopicCountsFields {
  return {
    topics: from.list(86, 'topics', takeTopicCount),
  };
}

function takeQueueStats(from: ByteReader): QueueStatsFields {
  return {
    now: from.u64('now'),
    uptimeMs: from.u64('uptime_ms'),
    connections: from.u32('connections'),
    sessions: from.u32('sessions'),
    waiting: from.u32('waiting'),
    appliedIndex: from.u64('applied_index'),
    term: from.u64('term'),
    stateHash: from.u128('state_hash'),
    totals: takeTotals(from, 72),
    topics: from.list(86, 'topics', takeTopicCount),
    stages: from.left > 0 ? from.list(41, 'stages', takeStage) : [],
  };
}

function takeConnectionList(from: ByteReader): ConnectionListFields {
  return {
    marks: from.u8('marks') & 0x1,
    connections: from.list(64, 'connections', takeConnection),
  };
}

function takeTopicSettings(from: ByteReader): TopicSettingsFields {
  return {
    jobs: from.u64('jobs'),
    bytes: from.u64('bytes'),
    pauseLeftMs: from.u64('pause_left_ms'),
    marks: from.u8('marks') & 0x7,
    settings: takeSettings(from, from.u16('settings')),
  };
}

function takeBackupReady(from: ByteReader): BackupReadyFields {
  return {
    index: from.u64('index'),
    jobs: from.u64('jobs'),
    stateHash: from.u128('state_hash'),
    bytes: from.u64('bytes'),
  };
}

function takeBackupData(from: ByteReader): BackupDataFields {
  return {
    data: from.copy(from.u32('data'), 'data'),
  };
}

function takeInstants(from: ByteReader): InstantsFields {
  return {
    zoneData: from.text(from.u8('zone_data'), 'zone_data'),
    instants: from.list(9, 'instants', takeLocalInstant),
  };
}

function takeClusterReport(from: ByteReader): ClusterReportFields {
  return {
    node: from.u64('node'),
    clusterId: from.copy(16, 'cluster_id'),
    leader: from.u64('leader'),
    term: from.u64('term'),
    last: from.u64('last'),
    commit: from.u64('commit'),
    featureLevel: from.u32('feature_level'),
    members: from.list(44, 'members', takeNode),
  };
}

function takeGroups(from: ByteReader): GroupsFields {
  return {
    after: from.text(from.u8('after'), 'after'),
    groups: from.list(39, 'groups', takeGroupState),
  };
}

function takeReasons(from: ByteReader): ReasonsFields {
  return {
    reasons: from.list(27, 'reasons', takeReason),
  };
}

function takeScheduled(from: ByteReader): ScheduledFields {
  return {
    schedule: from.u64('schedule'),
    version: from.u32('version'),
    nextMs: from.u64('next_ms'),
  };
}

function takeSchedule(from: ByteReader): ScheduleFields {
  return {
    state: takeScheduleState(from, 38),
    pauseNote: from.text(from.u16('pause_note'), 'pause_note'),
    ...takeScheduleRules(from, 62),
    ...takeJobTemplate(from, 14),
    history: from.list(41, 'history', takeFiring),
  };
}

function takeSchedules(from: ByteReader): SchedulesFields {
  return {
    schedules: from.list(104, 'schedules', takeListedSchedule),
    cursor: from.copy(from.u16('cursor'), 'cursor'),
  };
}

function takeScheduleRan(from: ByteReader): ScheduleRanFields {
  return {
    job: from.u64('job'),
  };
}

function takeScheduleFilled(from: ByteReader): ScheduleFilledFields {
  return {
    nextMs: from.u64('next_ms'),
    bytes: from.u64('bytes'),
    instants: from.u32('instants'),
    pushed: from.u32('pushed'),
    kept: from.u32('kept'),
    refused: from.u32('refused'),
  };
}

function takeError(from: ByteReader): ErrorFields {
  return {
    code: from.u16('code'),
    marks: from.u8('marks') & 0x1,
    applied: knownOr(1, from.u8('applied'), 2),
    retryAfterMs: from.u32('retry_after_ms'),
    leader: from.text(from.u8('leader'), 'leader'),
    message: from.text(from.u16('message'), 'message'),
  };
}
