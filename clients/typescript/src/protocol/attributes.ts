/** The attributes of a job. */

import { ByteReader, DecodeError, utf8 } from './bytes.js';
import { inOrder, joinElements, readAll, splitElements, valueOf, type Element } from './elements.js';
import { ATTRIBUTES_BYTES_MAX, BACKOFF_LIST_MAX, HEADERS_BYTES_MAX } from './limits.js';

export const BACKOFF_FIXED = 0;
export const BACKOFF_LINEAR = 1;
export const BACKOFF_EXPONENTIAL = 2;
export const BACKOFF_LIST = 3;

/** How long a failed job waits, as it stands on the wire. */
export interface BackoffValue {
  readonly kind: number;
  /** 0 to 100 percent. */
  readonly jitter: number;
  readonly waitsMs: readonly number[];
}

export interface Attributes {
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Kind 0: after so many milliseconds; 1: at this time. */
  readonly expires?: { readonly kind: number; readonly ms: bigint };
  readonly attemptsMax?: number;
  readonly backoff?: BackoffValue;
  readonly fairnessKey?: string;
  readonly dedupeRetentionMs?: bigint;
  readonly createdAtMs?: bigint;
  readonly scheduleReference?: Uint8Array;
  readonly postponeMaxMs?: bigint;
  /** Those that this version does not know. */
  readonly unknown?: readonly Element[];
}

const HEADER = 0x0001;
const EXPIRES = 0x8002;
const ATTEMPTS_MAX = 0x8003;
const BACKOFF = 0x8004;
const FAIRNESS_KEY = 0x0005;
const DEDUPE_RETENTION = 0x0006;
const CREATED_AT = 0x0007;
const SCHEDULE_REFERENCE = 0x0008;
const POSTPONE_MAX = 0x0009;
const CRITICAL = 0x8000;

const NONE: Attributes = {};
const NO_BYTES = new Uint8Array(0);
const order = (tag: number) => tag & ~CRITICAL;

/** Of frozen objects: most jobs of a producer have the same attributes, and a push asks for their length first. */
const encoded = new WeakMap<Attributes, Uint8Array>();

export function encodeAttributes(attributes: Attributes): Uint8Array {
  if (attributes === NONE) return NO_BYTES;
  if (!Object.isFrozen(attributes)) return encodeElements(attributes);
  let bytes = encoded.get(attributes);
  if (!bytes) encoded.set(attributes, (bytes = encodeElements(attributes)));
  return bytes;
}

function encodeElements(attributes: Attributes): Uint8Array {
  const elements: Element[] = [...(attributes.unknown ?? [])];
  const add = <T>(tag: number, value: T | undefined, write: (value: T) => Uint8Array) => {
    if (value !== undefined) elements.push({ tag, value: write(value) });
  };
  for (const header of attributes.headers ?? []) elements.push({ tag: HEADER, value: encodeHeader(...header) });
  add(EXPIRES, attributes.expires, ({ kind, ms }) => valueOf((to) => (to.u8(kind), to.u64(ms))));
  add(ATTEMPTS_MAX, attributes.attemptsMax, (value) => valueOf((to) => to.u32(value)));
  add(BACKOFF, attributes.backoff, encodeBackoff);
  add(FAIRNESS_KEY, attributes.fairnessKey, utf8);
  add(DEDUPE_RETENTION, attributes.dedupeRetentionMs, (value) => valueOf((to) => to.u64(value)));
  add(CREATED_AT, attributes.createdAtMs, (value) => valueOf((to) => to.u64(value)));
  add(SCHEDULE_REFERENCE, attributes.scheduleReference, (value) => value);
  add(POSTPONE_MAX, attributes.postponeMaxMs, (value) => valueOf((to) => to.u64(value)));
  elements.sort((a, b) => order(a.tag) - order(b.tag));
  const bytes = joinElements(elements);
  if (bytes.byteLength > ATTRIBUTES_BYTES_MAX) {
    throw new RangeError(`attributes of ${bytes.byteLength} bytes, at most ${ATTRIBUTES_BYTES_MAX} are accepted`);
  }
  return bytes;
}

function encodeHeader(name: string, value: string): Uint8Array {
  const nameBytes = utf8(name);
  return valueOf((to) => {
    to.u8(nameBytes.byteLength);
    to.raw(nameBytes);
    to.raw(utf8(value));
  });
}

export function encodeBackoff(backoff: BackoffValue): Uint8Array {
  return valueOf((to) => {
    to.u8(backoff.kind);
    to.u8(backoff.jitter);
    for (const wait of backoff.waitsMs) to.u32(wait);
  });
}

export function decodeAttributes(bytes: Uint8Array): Attributes {
  if (bytes.byteLength === 0) return NONE;
  if (bytes.byteLength > ATTRIBUTES_BYTES_MAX) throw new DecodeError(`attributes of ${bytes.byteLength} bytes are too long`);
  const elements = splitElements(bytes, 'attributes');
  inOrder(elements, 'attributes', order, (tag) => tag === HEADER);
  const found: { -readonly [K in keyof Attributes]: Attributes[K] } = {};
  const headers: [string, string][] = [];
  const unknown: Element[] = [];
  for (const { tag, value } of elements) {
    const number = (what: string) => readAll(value, what, (from) => from.u64(what));
    if (tag === HEADER) headers.push(decodeHeader(value));
    else if (tag === EXPIRES) found.expires = readAll(value, 'expires', (from) => ({ kind: from.u8('expires'), ms: from.u64('expires') }));
    else if (tag === ATTEMPTS_MAX) found.attemptsMax = readAll(value, 'attempts max', (from) => from.u32('attempts max'));
    else if (tag === BACKOFF) found.backoff = decodeBackoff(value);
    else if (tag === FAIRNESS_KEY) found.fairnessKey = new ByteReader(value).text(value.byteLength, 'fairness key');
    else if (tag === DEDUPE_RETENTION) found.dedupeRetentionMs = number('dedupe retention');
    else if (tag === CREATED_AT) found.createdAtMs = number('created at');
    else if (tag === SCHEDULE_REFERENCE) found.scheduleReference = value;
    else if (tag === POSTPONE_MAX) found.postponeMaxMs = number('postpone max');
    else unknown.push({ tag, value });
  }
  if (headers.length > 0) found.headers = headers;
  if (unknown.length > 0) found.unknown = unknown;
  checkHeaders(headers);
  return found;
}

function checkHeaders(headers: readonly (readonly [string, string])[]): void {
  const bytes = headers.reduce((sum, [name, value]) => sum + utf8(name).byteLength + utf8(value).byteLength, 0);
  if (bytes > HEADERS_BYTES_MAX) throw new DecodeError(`headers of ${bytes} bytes, at most ${HEADERS_BYTES_MAX} are accepted`);
}

function decodeHeader(value: Uint8Array): [string, string] {
  const from = new ByteReader(value);
  const name = from.text(from.u8('a header'), 'the name of a header');
  return [name, from.text(from.left, 'the value of a header')];
}

export function decodeBackoff(value: Uint8Array): BackoffValue {
  return readAll(value, 'backoff', (from) => {
    const [kind, jitter] = [from.u8('backoff'), from.u8('backoff')];
    const waitsMs: number[] = [];
    while (from.left > 0 && waitsMs.length < BACKOFF_LIST_MAX) waitsMs.push(from.u32('backoff'));
    return { kind, jitter, waitsMs };
  });
}
