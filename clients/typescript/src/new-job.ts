/** Jobs as producers give them. */

import { backoffValue, type JobBackoff } from './backoff.js';
import { CONTENT_TYPE, JSON_TYPE, TEXT_TYPE, encodeBody } from './body.js';
import type { PushOptions } from './client.js';
import { UsageError } from './errors.js';
import { onlyKnown, type Names } from './known.js';
import { utf8Bytes } from './protocol/bytes.js';
import { groupFault, keyFault, topicFault } from './protocol/checks.js';
import { DUE_KIND, IF_EXISTS, IF_EXISTS_NAMES } from './protocol/choices.js';
import { ATTRIBUTES } from './protocol/elements.js';
import { HEADERS_BYTES_MAX, PRIORITY_UNSAID, TTR_MS_MAX, TTR_MS_MIN } from './protocol/limits.js';
import type { Attributes, NewJobValue } from './protocol/messages.js';
import { durationMs, instantMs, type Instant } from './time.js';

/** What becomes of a push when its topic has a job with the same key. */
export type IfExists = keyof typeof IF_EXISTS;

export interface JobOptions {
  /** Due so many milliseconds after the queue accepts it. Without `delayMs` and `at` it is due at once. */
  delayMs?: number;
  /** Due at this time: a `Date`, or an ISO 8601 text with a zone. */
  at?: Instant;
  /** Your own id of the job, unique in its topic while the job lives. */
  key?: string;
  /** `reject` by default. */
  ifExists?: IfExists;
  /** Lower numbers are reserved first; the topic's default, or 1,024. */
  priority?: number;
  /** How long a consumer may hold it; the topic's default, or 60,000. */
  ttrMs?: number;
  /** At most 1,024 bytes of names and values. */
  headers?: Readonly<Record<string, string>>;
  /** It is dropped when so many milliseconds have passed. */
  expiresAfterMs?: number;
  /** It is dropped at this time. */
  expiresAt?: Instant;
  /** After so many failed attempts it is buried. */
  attemptsMax?: number;
  backoff?: JobBackoff;
  /**
   * The group in its topic that the job belongs to, such as a tenant: 1 to 255 bytes, no control characters. Groups take turns if the topic
   * has `fair` or a setting `group...`; else a group means nothing.
   */
  group?: string;
  /** How long the queue remembers the job, and so its key, after FINISH. */
  rememberMs?: number;
  /** With `ifExists: 'postpone'`: due at the latest so long after the first push. */
  postponeMaxMs?: number;
  /** It is buried from the start, for this reason, which may be empty: for a job that comes from elsewhere and was set aside there. */
  buried?: string;
  createdAt?: Instant;
  /** Attributes as they stand on the wire. The other options win. */
  attributes?: Attributes;
}

export interface NewJob extends JobOptions {
  /** Bytes as they are, a text as UTF-8, everything else as JSON. */
  body?: unknown;
}

const SETS_ATTRIBUTES = [
  'headers',
  'attributes',
  'expiresAfterMs',
  'expiresAt',
  'attemptsMax',
  'backoff',
  'group',
  'rememberMs',
  'postponeMaxMs',
  'buried',
  'createdAt',
] as const satisfies readonly (keyof NewJob)[];

const JOB_OPTIONS: Names<JobOptions> = {
  delayMs: true,
  at: true,
  key: true,
  ifExists: true,
  priority: true,
  ttrMs: true,
  headers: true,
  expiresAfterMs: true,
  expiresAt: true,
  attemptsMax: true,
  backoff: true,
  group: true,
  rememberMs: true,
  postponeMaxMs: true,
  buried: true,
  createdAt: true,
  attributes: true,
};
const PUSH_OPTIONS: Names<JobOptions & PushOptions> = { ...JOB_OPTIONS, idempotencyKey: true, signal: true };
const NEW_JOB: Names<NewJob> = { ...JOB_OPTIONS, body: true };

/** The options of one job, if all of them are known. */
export function pushOptions<T extends JobOptions & PushOptions>(options: T): T {
  return onlyKnown('a job', options, PUSH_OPTIONS as Names<T>);
}

/** A job of a list, if it is one, and not a body alone. */
export function listedJob(job: NewJob): NewJob {
  const isBytes = job instanceof Uint8Array || (job as unknown) instanceof ArrayBuffer;
  return onlyKnown('a job', isBytes ? (null as unknown as NewJob) : job, NEW_JOB, '; a body alone is written { body: ... }');
}

export type NamedHeaders = Readonly<Record<string, string>>;
type Header = NonNullable<Attributes['headers']>[number];
const TRACEPARENT = 'traceparent';
/** Its length has one byte on the wire. */
const HEADER_NAME_BYTES_MAX = 255;

/** One job of a PUSH. `traced` are the headers of the trace in which it is pushed. */
export function newJobValue(job: NewJob, defaultHeaders: NamedHeaders, traced?: NamedHeaders): NewJobValue {
  const { bytes, contentType } = encodeBody(job.body);
  if (job.delayMs !== undefined && job.at !== undefined) throw new UsageError('delayMs and at exclude each other');
  if (job.key !== undefined) checkKey(job.key);
  const ifExists = IF_EXISTS_NAMES.indexOf(job.ifExists ?? 'reject');
  if (ifExists < 0) throw new UsageError(`ifExists is ${job.ifExists}, it must be one of ${IF_EXISTS_NAMES.join(', ')}`);
  if (ifExists > 0 && job.key === undefined) throw new UsageError(`ifExists is about jobs with the same key: give the job a key, too`);
  return {
    dueMs: job.at !== undefined ? instantMs('at', job.at) : BigInt(durationMs('delayMs', job.delayMs ?? 0)),
    dueKind: job.at !== undefined ? DUE_KIND.at : DUE_KIND.after,
    priority: priorityOf(job.priority),
    ttrMs: job.ttrMs === undefined ? 0 : ttrOf(job.ttrMs),
    ifExists,
    key: job.key ?? '',
    attributes: attributesOf(job, contentType, defaultHeaders, traced),
    body: bytes,
  };
}

/** The attributes of a job with a content type alone. */
const WITH_TYPE: Readonly<Record<string, Attributes>> = {
  [JSON_TYPE]: Object.freeze({ headers: [[CONTENT_TYPE, JSON_TYPE]] as const }),
  [TEXT_TYPE]: Object.freeze({ headers: [[CONTENT_TYPE, TEXT_TYPE]] as const }),
};

function attributesOf(job: NewJob, contentType: string | null, defaultHeaders: NamedHeaders, traced?: NamedHeaders): Attributes {
  const defaults = headersOf('pushHeaders of connect', defaultHeaders);
  const isPlain = defaults.length === 0 && traced === undefined && !SETS_ATTRIBUTES.some((name) => job[name] !== undefined);
  if (isPlain && contentType !== null) return WITH_TYPE[contentType]!;
  const own = [...wireHeaders(job.attributes), ...(job.headers === undefined ? [] : headersOf('headers', job.headers))];
  const others = new Map([...(contentType === null ? [] : [[CONTENT_TYPE, contentType] as const]), ...defaults]);
  for (const [name] of own) others.delete(name);
  const headers = withTrace([...others, ...own], traced);
  if (job.expiresAfterMs !== undefined && job.expiresAt !== undefined) throw new UsageError('expiresAfterMs and expiresAt exclude each other');
  const { attemptsMax = 1 } = job;
  if (!Number.isInteger(attemptsMax) || attemptsMax < 1) throw new UsageError('attemptsMax is a whole number from 1 on');
  return Object.freeze({
    ...job.attributes,
    ...(headers.length > 0 && { headers }),
    ...(job.expiresAfterMs !== undefined && { expires: { kind: DUE_KIND.after, ms: BigInt(durationMs('expiresAfterMs', job.expiresAfterMs)) } }),
    ...(job.expiresAt !== undefined && { expires: { kind: DUE_KIND.at, ms: instantMs('expiresAt', job.expiresAt) } }),
    ...(job.attemptsMax !== undefined && { attemptsMax: job.attemptsMax }),
    ...(job.backoff !== undefined && { backoff: backoffValue(job.backoff) }),
    ...(job.group !== undefined && { group: checkGroup(job.group) }),
    ...(job.rememberMs !== undefined && { dedupeRetentionMs: BigInt(durationMs('rememberMs', job.rememberMs)) }),
    ...(job.postponeMaxMs !== undefined && { postponeMaxMs: BigInt(durationMs('postponeMaxMs', job.postponeMaxMs)) }),
    ...(job.buried !== undefined && { buried: job.buried }),
    ...(job.createdAt !== undefined && { createdAtMs: instantMs('createdAt', job.createdAt) }),
  });
}

/** The headers of a trace, if a job can have each of them. */
export function traceHeaders(headers: NamedHeaders): NamedHeaders {
  const given = headersOf('the headers of tracing', headers);
  for (const header of given) {
    const nameBytes = utf8Bytes(header[0]);
    if (nameBytes < 1 || nameBytes > HEADER_NAME_BYTES_MAX) throw new UsageError(`a header of tracing has a name of ${nameBytes} bytes, not 1 to ${HEADER_NAME_BYTES_MAX}`);
    // A text that cannot be written as UTF-8 fails here.
    bytesOf(header);
  }
  return Object.fromEntries(given);
}

/** A job is pushed with a part of its trace, or without one, rather than refused for it. With a `traceparent` of its own it is in another trace. */
function withTrace(headers: readonly Header[], traced: NamedHeaders | undefined): readonly Header[] {
  if (traced === undefined) return headers;
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  if (names.has(TRACEPARENT)) return headers;
  const isParent = ([name]: Header) => name.toLowerCase() === TRACEPARENT;
  const all = [...headers];
  let bytes = all.reduce((sum, header) => sum + bytesOf(header), 0);
  // Without the parent the others say nothing: it comes first.
  for (const header of Object.entries(traced).sort((one, other) => Number(isParent(other)) - Number(isParent(one)))) {
    const size = bytesOf(header);
    const hasRoom = bytes + size <= HEADERS_BYTES_MAX;
    if (!hasRoom && isParent(header)) break;
    if (!hasRoom || names.has(header[0].toLowerCase())) continue;
    all.push(header);
    bytes += size;
  }
  return all;
}

function bytesOf([name, value]: Header): number {
  return utf8Bytes(name) + utf8Bytes(value);
}

/** Headers by their names. One that is `undefined` is not there. */
function headersOf(what: string, headers: NamedHeaders): [string, string][] {
  // A list, a Map, or the Headers of fetch would be lost, or would have other names.
  if (typeof headers !== 'object' || headers === null || Symbol.iterator in headers) {
    throw new UsageError(`${what} must be an object of names and texts: write { name: 'text' }`);
  }
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (typeof value !== 'string') throw new UsageError(`${what}: the value of "${name}" is ${String(value)}, it must be a text`);
  }
  return given;
}

/** The headers of attributes as they stand on the wire. */
function wireHeaders(attributes: Attributes | undefined): readonly Header[] {
  if (attributes === undefined) return [];
  const { headers = [], group } = onlyKnown('attributes', attributes, ATTRIBUTES);
  if (group !== undefined) checkGroup(group);
  const isPair = (one: unknown) => Array.isArray(one) && one.length === 2 && one.every((text) => typeof text === 'string');
  if (!Array.isArray(headers) || !headers.every(isPair)) {
    throw new UsageError("attributes.headers must be a list of pairs: write [['name', 'text']], or the option headers: { name: 'text' }");
  }
  return headers;
}

function priorityOf(priority: number | undefined): number {
  if (priority === undefined) return PRIORITY_UNSAID;
  if (!Number.isInteger(priority) || priority < 0 || priority >= PRIORITY_UNSAID) {
    throw new UsageError(`priority is ${priority}, it must be 0 to ${PRIORITY_UNSAID - 1}`);
  }
  return priority;
}

export function ttrOf(ttrMs: number): number {
  const ms = durationMs('ttrMs', ttrMs, TTR_MS_MAX);
  if (ms < TTR_MS_MIN) throw new UsageError(`ttrMs is ${ms}, it must be at least ${TTR_MS_MIN}`);
  return ms;
}

export function checkTopic(topic: string): string {
  const fault = typeof topic === 'string' ? topicFault(topic) : 'a topic is a text';
  if (fault) throw new UsageError(`${JSON.stringify(topic)}: ${fault}`);
  return topic;
}

export function checkKey(key: string): string {
  const fault = typeof key === 'string' ? keyFault(key) : 'a key is a text';
  if (fault) throw new UsageError(`${JSON.stringify(key)}: ${fault}`);
  return key;
}

export function checkGroup(group: string): string {
  const fault = typeof group === 'string' ? groupFault(group) : 'a group is a text';
  if (fault) throw new UsageError(`${JSON.stringify(group)}: ${fault}`);
  return group;
}
