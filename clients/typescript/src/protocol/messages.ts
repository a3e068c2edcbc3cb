/** Every request and every response of protocol version 1, under the names that `protocol.md` gives to their fields. */

import { decodeAttributes, encodeAttributes } from './attributes.js';
import { DecodeError } from './bytes.js';
import { ERROR_CODES } from './codes.js';
import { decodeFilter, encodeFilter } from './filter.js';
import { DELAY_MS_MAX, LEASES_OUTLIVE, NO_SESSION, RELEASE_NOT_STARTED, TTR_MS_MAX, TTR_MS_MIN } from './limits.js';
import { decodeSettings, encodeSettings } from './policy.js';
import {
  bits,
  blob,
  block,
  checked,
  choice,
  column,
  exactly,
  i64,
  inline,
  key16,
  late,
  list,
  message,
  nested,
  optional,
  readAs,
  text,
  texts8,
  topic8,
  u16,
  u32,
  u64,
  u8,
  u128,
  type Field,
  type Message,
  type Values,
} from './schema.js';

/** One job, by its id or by its key. */
export type JobReference =
  | { readonly jobKind: 0; readonly job: bigint }
  | {
      readonly jobKind: 1;
      readonly topic: string;
      readonly key: string;
      /** Not sent: whether a DELETE may be repeated, because its caller wants no job of this key to be there. */
      readonly mayRepeat?: true;
    };

const jobReference: Field<JobReference> = {
  width: 0,
  put(to, value) {
    to.u8(value.jobKind);
    if (value.jobKind === 0) return to.u64(value.job);
    topic8.put(to, value.topic);
    key16.put(to, value.key);
  },
  take(from, name) {
    const jobKind = choice(1).take(from, name);
    if (jobKind === 0) return { jobKind, job: from.u64('job') };
    return { jobKind: 1, topic: topic8.take(from, 'topic'), key: key16.take(from, 'key') };
  },
};

/** HELLO begins with it. */
const magic: Field<undefined> = {
  width: 4,
  put: (to) => to.raw(MAGIC),
  take(from) {
    if (from.copy(4, 'magic').some((byte, place) => byte !== MAGIC[place])) throw new DecodeError('HELLO does not start with ADJ1');
    return undefined;
  },
};
const MAGIC = Uint8Array.of(0x41, 0x44, 0x4a, 0x31);

/** 0 no; everything else: unknown. */
const doubt = readAs(u8, (applied) => Math.min(applied, 1));

/** What became of a job of a PUSH: pushed, kept, replaced, refused, postponed. */
export const REFUSED = 3;
const OUTCOME_MAX = 4;
/** An outcome that only a newer server knows. */
const NEWER_OUTCOME = { outcome: REFUSED, code: ERROR_CODES.OUTCOME_UNKNOWN };

const attributes = nested(encodeAttributes, decodeAttributes);
const filter = nested(encodeFilter, decodeFilter);
const settings = nested(encodeSettings, decodeSettings);

const TOO_LONG = `a delay of more than ${DELAY_MS_MAX} ms`;
/** 0 for the default. */
const ttrMs = checked(u32, (ms) => (ms !== 0 && (ms < TTR_MS_MIN || ms > TTR_MS_MAX) ? `${ms} ms, it must be ${TTR_MS_MIN} to ${TTR_MS_MAX}` : null));
/** A delay, or one of the two values that stand for something else. */
const releaseDelayMs = checked(u64, (ms) => (ms > BigInt(DELAY_MS_MAX) && ms < RELEASE_NOT_STARTED ? TOO_LONG : null));
const jobsMax = checked(u32, (jobs) => (jobs === 0 ? 'it must be at least 1' : null));

function delayFault(jobs: readonly { readonly dueKind: number; readonly dueMs: bigint }[]): string | null {
  return jobs.some(({ dueKind, dueMs }) => dueKind === 0 && dueMs > BigInt(DELAY_MS_MAX)) ? TOO_LONG : null;
}

const newJob = block({ dueMs: u64, priority: u32, ttrMs, dueKind: choice(1), ifExists: choice(4), key: key16, attributes, body: blob(4) });
const lease = block({ job: u64, fence: u64 });
const delivered = block({
  job: u64,
  fence: u64,
  dueMs: u64,
  priority: u32,
  attempts: u32,
  ttrLeftMs: u32,
  topic: topic8,
  key: key16,
  attributes,
  body: blob(4),
  deadlineMs: late(u64, 0n),
});
const shown = {
  job: u64,
  dueMs: u64,
  // A newer server may know more states, reasons, roles and outcomes.
  state: u8,
  buried: u8,
  priority: u32,
  attempts: u32,
  ttrMs: u32,
  ttrLeftMs: u32,
  topic: topic8,
  key: key16,
  attributes,
  body: blob(4),
};
const listed = block({
  ...shown,
  bodyBytes: u32,
  pushedMs: u64,
  reservedFirstMs: u64,
  reservedLastMs: u64,
  heldBy: u64,
  reason: text(2),
});
const totals = { delayed: u64, ready: u64, reserved: u64, buried: u64, pushed: u64, finished: u64, deleted: u64, expired: u64, oldestReadyMs: u64 };
const topicCounts = block({ marks: bits(u8, 1), topic: topic8, ...totals });
const stageReport = block({ stage: text(1), count: u64, p50Us: u64, p99Us: u64, p999Us: u64, maxUs: u64 });
const memberAddress = block({ node: u64, marks: bits(u8, 1), address: text(1) });
const memberReport = block({
  node: u64,
  role: u8,
  marks: bits(u8, 0x3f),
  matched: u64,
  applied: u64,
  aheadMs: i64,
  audited: u64,
  peerAddress: text(1),
  clientAddress: text(1),
});
const connectionReport = block({
  connection: u64,
  session: u64,
  sinceMs: u64,
  leases: u32,
  subscriptions: u32,
  reserves: u32,
  creditJobs: u64,
  creditBytes: u64,
  unsentBytes: u64,
  marks: bits(u8, 1),
  address: text(1),
  clientName: text(1),
  topics: texts8,
});

const pushResult = block({ outcome: u8, code: u16, job: u64 });
const pushResults = readAs(list(pushResult), (results) => results.map((result) => (result.outcome > OUTCOME_MAX ? { ...result, ...NEWER_OUTCOME } : result)));
const leases = list(lease, 1);
const topics = column(topic8, 1);
const weights = optional(column(u16), [] as number[]);
const reason = optional(text(2), '');
const nothing = message({});

export const REQUESTS = {
  HELLO: [
    0x01,
    message({
      magic,
      versionMin: u16,
      versionMax: u16,
      options: bits(u32, LEASES_OUTLIVE | NO_SESSION),
      heartbeatMs: u32,
      session: u64,
      secret: exactly(16),
      clientName: text(1),
      token: blob(2),
    }),
  ],
  PING: [0x02, nothing],
  GOODBYE: [0x03, nothing],
  PUSH: [0x10, message({ sequence: u64, topic: topic8, jobs: checked(list(newJob, 1), delayFault), idempotency: optional(u128, 0n) })],
  RESERVE: [0x20, message({ waitMs: u64, jobsMax, topics, weights })],
  SUBSCRIBE: [0x21, message({ creditJobs: u32, creditBytes: u64, topics, weights })],
  CREDIT: [0x22, message({ subscription: u32, creditJobs: u32, creditBytes: u64 })],
  UNSUBSCRIBE: [0x23, message({ subscription: u32 })],
  CANCEL: [0x24, message({ request: u32 })],
  LEASES: [0x25, message({ after: u64, jobsMax: u32 })],
  FINISH: [0x30, message({ leases })],
  RELEASE: [0x31, message({ delayMs: releaseDelayMs, leases, reason })],
  TOUCH: [0x32, message({ ttrMs, leases })],
  BURY: [0x33, message({ leases, reason })],
  GET: [0x40, message({ reference: jobReference })],
  DELETE: [0x41, message({ reference: jobReference })],
  RESCHEDULE: [0x42, message({ dueMs: u64, dueKind: choice(1), reference: jobReference, ifVersion: optional(u64, 0n) })],
  RUN_NOW: [0x43, message({ reference: jobReference })],
  KICK: [0x44, message({ reference: jobReference })],
  PEEK: [0x45, message({ topic: topic8 })],
  KICK_MANY: [0x46, message({ jobsMax: u32, topic: topic8 })],
  LIST: [0x47, message({ jobsMax: u32, order: choice(2), marks: bits(u8, 1), cursor: blob(2), filter })],
  COUNT: [0x48, message({ filter })],
  BULK: [0x49, message({ jobsMax: u32, change: choice(4), dueMs: u64, cursor: blob(2), filter, to: optional(text(1), '') })],
  PAUSE: [0x50, message({ topic: topic8 })],
  RESUME: [0x51, message({ topic: topic8 })],
  TOPICS: [0x52, nothing],
  STATS: [0x53, nothing],
  CONNECTIONS: [0x54, message({ after: u64, connectionsMax: u32 })],
  DISCONNECT: [0x55, message({ connection: u64, options: bits(u8, 1) })],
  TOPIC_SET: [0x56, message({ topic: topic8, settings })],
  TOPIC_DELETE: [0x57, message({ topic: topic8 })],
  TOPIC_SHOW: [0x58, message({ topic: topic8 })],
  BACKUP_BEGIN: [0x60, nothing],
  BACKUP_READ: [0x61, message({ offset: u64, bytes: u32 })],
  BACKUP_END: [0x62, nothing],
  CLUSTER_STATUS: [0x70, nothing],
  CLUSTER_ADD: [0x71, message({ address: text(1) })],
  CLUSTER_REMOVE: [0x72, message({ node: u64 })],
  CLUSTER_TRANSFER: [0x73, message({ node: u64 })],
} as const;

export const RESPONSES = {
  WELCOME: [
    0x81,
    message({
      version: u16,
      marks: bits(u8, 3),
      clusterId: exactly(16),
      session: u64,
      secret: exactly(16),
      heartbeatMs: u32,
      sessionGraceMs: u32,
      frameBytesMax: u32,
      bodyBytesMax: u32,
      pushJobsMax: u32,
      leasesMax: u32,
      reserveJobsMax: u32,
      inFlightMax: u32,
      serverName: text(1),
      members: list(memberAddress),
      clockMs: late(u64, 0n),
    }),
  ],
  PONG: [0x82, message({ now: u64, clockMs: late(u64, 0n) })],
  DONE: [0x83, nothing],
  GOING_AWAY: [0x84, message({ message: text(2), reason: late(u8, 0) })],
  PUSHED: [0x90, message({ results: pushResults })],
  RESERVED: [0xa0, message({ jobs: list(delivered) })],
  SUBSCRIBED: [0xa1, nothing],
  DELIVER: [0xa2, message({ jobs: list(delivered) })],
  LEASED: [0xa3, message({ marks: bits(u8, 1), jobs: list(delivered) })],
  SETTLED: [0xb0, message({ results: list(block({ code: u16 })) })],
  JOB: [
    0xc0,
    message({
      shown: inline(block(shown)),
      pushedMs: late(u64, 0n),
      reservedFirstMs: late(u64, 0n),
      reservedLastMs: late(u64, 0n),
      heldBy: late(u64, 0n),
      reason: late(text(2), ''),
      finishedMs: late(u64, 0n),
      version: late(u64, 0n),
    }),
  ],
  CHANGED: [0xc1, message({ job: u64, dueMs: u64, state: u8, version: late(u64, 0n) })],
  KICKED: [0xc2, message({ jobs: u32 })],
  JOBS: [0xc3, message({ cursor: blob(2), jobs: list(listed) })],
  COUNTED: [0xc4, message({ jobs: u64 })],
  BULKED: [0xc5, message({ jobs: u32, cursor: blob(2), inTheWay: late(u32, 0) })],
  TOPIC_COUNTS: [0xd0, message({ topics: list(topicCounts) })],
  QUEUE_STATS: [
    0xd1,
    message({
      now: u64,
      uptimeMs: u64,
      connections: u32,
      sessions: u32,
      waiting: u32,
      appliedIndex: u64,
      term: u64,
      stateHash: u128,
      totals: inline(block(totals)),
      topics: list(topicCounts),
      stages: late(list(stageReport), []),
    }),
  ],
  CONNECTION_LIST: [0xd2, message({ marks: bits(u8, 1), connections: list(connectionReport) })],
  TOPIC_SETTINGS: [0xd3, message({ jobs: u64, bytes: u64, marks: bits(u8, 1), settings })],
  BACKUP_READY: [0xe0, message({ index: u64, jobs: u64, stateHash: u128, bytes: u64 })],
  BACKUP_DATA: [0xe1, message({ data: blob(4) })],
  CLUSTER_REPORT: [
    0xf0,
    message({ node: u64, clusterId: exactly(16), leader: u64, term: u64, last: u64, commit: u64, featureLevel: u32, members: list(memberReport) }),
  ],
  ERROR: [0xff, message({ code: u16, marks: bits(u8, 1), applied: doubt, retryAfterMs: u32, leader: text(1), message: text(2) })],
} as const;

export type RequestName = keyof typeof REQUESTS;
export type ResponseName = keyof typeof RESPONSES;
type Fields<M> = M extends Message<infer S> ? Values<S> : never;
export type RequestFields<N extends RequestName> = Fields<(typeof REQUESTS)[N][1]>;
export type ResponseFields<N extends ResponseName> = Fields<(typeof RESPONSES)[N][1]>;

/** A request with its fields. */
export type Request<N extends RequestName = RequestName> = { [K in N]: { readonly name: K; readonly fields: RequestFields<K> } }[N];
/** A response with its fields. */
export type Response<N extends ResponseName = ResponseName> = { [K in N]: { readonly name: K; readonly fields: ResponseFields<K> } }[N];

/** A leased job, as RESERVED, DELIVER and LEASED carry it. */
export type DeliveredValue = ResponseFields<'RESERVED'>['jobs'][number];
/** A job of a PUSH. */
export type NewJobValue = RequestFields<'PUSH'>['jobs'][number];
export type ListedValue = ResponseFields<'JOBS'>['jobs'][number];
export type Welcome = ResponseFields<'WELCOME'>;
export type ErrorReply = ResponseFields<'ERROR'>;
