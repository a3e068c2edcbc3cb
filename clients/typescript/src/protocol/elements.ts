// Generated from the schema by `make generate`. Do not edit.

/**
 * Encodes and decodes tagged elements: the attributes of a job, the conditions of a filter, the settings of a topic.
 * Each is `tag u16`, `length u16`, value; they stand in the order of their tags.
 */

import { ByteReader, type ByteWriter, DecodeError, type Element, inOrder, written, writtenOnce } from './bytes.js';
import { ATTRIBUTES_BYTES_MAX } from './limits.js';
import type {
  Attributes,
  BackoffValue,
  ExpiryValue,
  FilterValue,
  HeaderValue,
  LateValue,
  Settings,
  SettingsChange,
} from './messages.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const NO_ATTRIBUTES: Attributes = Object.freeze({});

/** What stands in each attribute. */
export const ATTRIBUTES = {
  headers: 'header',
  expires: 'expiry',
  attemptsMax: 'u32',
  backoff: 'backoff',
  group: 'text',
  dedupeRetentionMs: 'u64',
  createdAtMs: 'u64',
  scheduleReference: 'bytes',
  postponeMaxMs: 'u64',
  buried: 'text',
  unknown: 'elements',
} as const satisfies Readonly<Record<keyof Attributes, string>>;

/** What stands in each condition. */
export const CONDITIONS = {
  topic: 'text',
  states: 'u8',
  dueFromMs: 'u64',
  dueBeforeMs: 'u64',
  keyPrefix: 'bytes',
  attemptsMin: 'u32',
  attemptsMax: 'u32',
  buried: 'u8',
  reason: 'text',
  group: 'text',
} as const satisfies Readonly<Record<keyof FilterValue, string>>;

/** What stands in each setting. */
export const SETTINGS = {
  ttrMs: 'u32',
  priority: 'u32',
  attemptsMax: 'u32',
  backoff: 'backoff',
  expiresAfterMs: 'u64',
  jobsMax: 'u64',
  bytesMax: 'u64',
  bodyMax: 'u32',
  leasesMax: 'u32',
  rate: 'u32',
  late: 'late',
  deadLetters: 'text',
  rememberMs: 'u64',
  callBack: 'text',
  callBackMethod: 'text',
  callBackHeaders: 'text',
  callBackBody: 'text',
  callBackTimeoutMs: 'u32',
  callBackConcurrency: 'u32',
  callBackRate: 'u32',
  callBackSecrets: 'text',
  callBackRefused: 'text',
  callBackRetryIf: 'text',
  callBackSuccess: 'text',
  callBackOfJob: 'flag',
  callBackLogMs: 'u64',
  callBackPaused: 'flag',
  callBackDelayMs: 'u64',
  fair: 'flag',
  groupLeasesMax: 'u32',
  groupPerSecondMax: 'u32',
  groupBurst: 'u32',
  groupOrder: 'text',
  groupOnBury: 'text',
} as const satisfies Readonly<Record<keyof Settings, string>>;

/** A push asks for the length first, and most jobs of a producer have the same attributes: what is frozen is encoded once. */
export function encodeAttributes(value: Attributes): Uint8Array {
  const bytes = writtenOnce(value, putAttributes);
  if (bytes.byteLength <= ATTRIBUTES_BYTES_MAX) return bytes;
  throw new RangeError(`attributes of ${bytes.byteLength} bytes, at most ${ATTRIBUTES_BYTES_MAX} are accepted`);
}

export function decodeAttributes(bytes: Uint8Array): Attributes {
  return takeAttributes(new ByteReader(bytes), bytes.byteLength);
}

function putAttributes(to: ByteWriter, value: Attributes): void {
  const from = to.length;
  for (const one of value.headers ?? []) {
    const at = to.openElement(0x0001);
    putHeader(to, one);
    to.closeElement(at);
  }
  if (value.expires !== undefined) {
    const at = to.openElement(0x8002);
    putExpiry(to, value.expires);
    to.closeElement(at);
  }
  if (value.attemptsMax !== undefined) {
    to.element(0x8003, 4);
    to.u32(value.attemptsMax);
  }
  if (value.backoff !== undefined) {
    const at = to.openElement(0x8004);
    putBackoff(to, value.backoff);
    to.closeElement(at);
  }
  if (value.group !== undefined) {
    const at = to.openElement(0x0005);
    to.text(value.group);
    to.closeElement(at);
  }
  if (value.dedupeRetentionMs !== undefined) {
    to.element(0x0006, 8);
    to.u64(value.dedupeRetentionMs);
  }
  if (value.createdAtMs !== undefined) {
    to.element(0x0007, 8);
    to.u64(value.createdAtMs);
  }
  if (value.scheduleReference !== undefined) {
    to.element(0x0008, value.scheduleReference.byteLength);
    to.raw(value.scheduleReference);
  }
  if (value.postponeMaxMs !== undefined) {
    to.element(0x0009, 8);
    to.u64(value.postponeMaxMs);
  }
  if (value.buried !== undefined) {
    const at = to.openElement(0x800b);
    to.text(value.buried);
    to.closeElement(at);
  }
  if (value.unknown !== undefined) to.sortElements(from, value.unknown);
}

/** From within other bytes. */
export function takeAttributes(from: ByteReader, bytes: number): Attributes {
  if (bytes === 0) return NO_ATTRIBUTES;
  const end = from.endOf(bytes, 'the attributes');
  const found: Mutable<Attributes> = {};
  const headers: HeaderValue[] = [];
  const unknown: Element[] = [];
  for (let order = -1; from.at < end; ) {
    const tag = from.u16('the attributes');
    const next = from.valueEnd(end, 'the attributes');
    order = inOrder(order, tag, tag === 0x0001);
    switch (tag) {
      case 0x0001:
        headers.push(takeHeader(from, next));
        break;
      case 0x8002:
        found.expires = takeExpiry(from, next);
        break;
      case 0x8003:
        found.attemptsMax = from.u32('attempts_max');
        break;
      case 0x8004:
        found.backoff = takeBackoff(from, next);
        break;
      case 0x0005:
        found.group = from.text(next - from.at, 'group');
        break;
      case 0x0006:
        found.dedupeRetentionMs = from.u64('dedupe_retention_ms');
        break;
      case 0x0007:
        found.createdAtMs = from.u64('created_at_ms');
        break;
      case 0x0008:
        found.scheduleReference = from.copy(next - from.at, 'schedule_reference');
        break;
      case 0x0009:
        found.postponeMaxMs = from.u64('postpone_max_ms');
        break;
      case 0x800b:
        found.buried = from.text(next - from.at, 'buried');
        break;
      default:
        unknown.push({ tag, value: from.copy(next - from.at, 'an attribute') });
    }
    from.endValue(next, 'the attributes');
  }
  if (headers.length > 0) found.headers = headers;
  if (unknown.length > 0) found.unknown = unknown;
  return found;
}

export function encodeFilter(value: FilterValue): Uint8Array {
  return written((to) => putFilter(to, value));
}

export function decodeFilter(bytes: Uint8Array): FilterValue {
  return takeFilter(new ByteReader(bytes), bytes.byteLength);
}

function putFilter(to: ByteWriter, value: FilterValue): void {
  if (value.topic !== undefined) {
    const at = to.openElement(0x0001);
    to.text(value.topic);
    to.closeElement(at);
  }
  if (value.states !== undefined) {
    to.element(0x0002, 1);
    to.u8(value.states);
  }
  if (value.dueFromMs !== undefined) {
    to.element(0x0003, 8);
    to.u64(value.dueFromMs);
  }
  if (value.dueBeforeMs !== undefined) {
    to.element(0x0004, 8);
    to.u64(value.dueBeforeMs);
  }
  if (value.keyPrefix !== undefined) {
    to.element(0x0005, value.keyPrefix.byteLength);
    to.raw(value.keyPrefix);
  }
  if (value.attemptsMin !== undefined) {
    to.element(0x0006, 4);
    to.u32(value.attemptsMin);
  }
  if (value.attemptsMax !== undefined) {
    to.element(0x0007, 4);
    to.u32(value.attemptsMax);
  }
  if (value.buried !== undefined) {
    to.element(0x0008, 1);
    to.u8(value.buried);
  }
  if (value.reason !== undefined) {
    const at = to.openElement(0x0009);
    to.text(value.reason);
    to.closeElement(at);
  }
  if (value.group !== undefined) {
    const at = to.openElement(0x000a);
    to.text(value.group);
    to.closeElement(at);
  }
}

/** From within other bytes. */
export function takeFilter(from: ByteReader, bytes: number): FilterValue {
  const end = from.endOf(bytes, 'the conditions');
  const found: Mutable<FilterValue> = {};
  for (let order = -1; from.at < end; ) {
    const tag = from.u16('the conditions');
    const next = from.valueEnd(end, 'the conditions');
    order = inOrder(order, tag, false);
    switch (tag) {
      case 0x0001:
        found.topic = from.text(next - from.at, 'topic');
        break;
      case 0x0002:
        found.states = from.u8('states');
        break;
      case 0x0003:
        found.dueFromMs = from.u64('due_from_ms');
        break;
      case 0x0004:
        found.dueBeforeMs = from.u64('due_before_ms');
        break;
      case 0x0005:
        found.keyPrefix = from.copy(next - from.at, 'key_prefix');
        break;
      case 0x0006:
        found.attemptsMin = from.u32('attempts_min');
        break;
      case 0x0007:
        found.attemptsMax = from.u32('attempts_max');
        break;
      case 0x0008:
        found.buried = from.u8('buried');
        break;
      case 0x0009:
        found.reason = from.text(next - from.at, 'reason');
        break;
      case 0x000a:
        found.group = from.text(next - from.at, 'group');
        break;
      default:
        throw new DecodeError(`condition ${tag} is not known here`);
    }
    from.endValue(next, 'the conditions');
  }
  return found;
}

export function encodeSettings(value: SettingsChange): Uint8Array {
  return written((to) => putSettings(to, value));
}

export function decodeSettings(bytes: Uint8Array): SettingsChange {
  return takeSettings(new ByteReader(bytes), bytes.byteLength);
}

function putSettings(to: ByteWriter, value: SettingsChange): void {
  if (value.ttrMs === null) to.element(0x0001, 0);
  else if (value.ttrMs !== undefined) {
    to.element(0x0001, 4);
    to.u32(value.ttrMs);
  }
  if (value.priority === null) to.element(0x0002, 0);
  else if (value.priority !== undefined) {
    to.element(0x0002, 4);
    to.u32(value.priority);
  }
  if (value.attemptsMax === null) to.element(0x0003, 0);
  else if (value.attemptsMax !== undefined) {
    to.element(0x0003, 4);
    to.u32(value.attemptsMax);
  }
  if (value.backoff === null) to.element(0x0004, 0);
  else if (value.backoff !== undefined) {
    const at = to.openElement(0x0004);
    putBackoff(to, value.backoff);
    to.closeElement(at);
  }
  if (value.expiresAfterMs === null) to.element(0x0005, 0);
  else if (value.expiresAfterMs !== undefined) {
    to.element(0x0005, 8);
    to.u64(value.expiresAfterMs);
  }
  if (value.jobsMax === null) to.element(0x0006, 0);
  else if (value.jobsMax !== undefined) {
    to.element(0x0006, 8);
    to.u64(value.jobsMax);
  }
  if (value.bytesMax === null) to.element(0x0007, 0);
  else if (value.bytesMax !== undefined) {
    to.element(0x0007, 8);
    to.u64(value.bytesMax);
  }
  if (value.bodyMax === null) to.element(0x0008, 0);
  else if (value.bodyMax !== undefined) {
    to.element(0x0008, 4);
    to.u32(value.bodyMax);
  }
  if (value.leasesMax === null) to.element(0x0009, 0);
  else if (value.leasesMax !== undefined) {
    to.element(0x0009, 4);
    to.u32(value.leasesMax);
  }
  if (value.rate === null) to.element(0x000a, 0);
  else if (value.rate !== undefined) {
    to.element(0x000a, 4);
    to.u32(value.rate);
  }
  if (value.late === null) to.element(0x000b, 0);
  else if (value.late !== undefined) {
    const at = to.openElement(0x000b);
    putLate(to, value.late);
    to.closeElement(at);
  }
  if (value.deadLetters === null) to.element(0x000c, 0);
  else if (value.deadLetters !== undefined) {
    const at = to.openElement(0x000c);
    to.text(value.deadLetters);
    to.closeElement(at);
  }
  if (value.rememberMs === null) to.element(0x000d, 0);
  else if (value.rememberMs !== undefined) {
    to.element(0x000d, 8);
    to.u64(value.rememberMs);
  }
  if (value.callBack === null) to.element(0x000e, 0);
  else if (value.callBack !== undefined) {
    const at = to.openElement(0x000e);
    to.text(value.callBack);
    to.closeElement(at);
  }
  if (value.callBackMethod === null) to.element(0x000f, 0);
  else if (value.callBackMethod !== undefined) {
    const at = to.openElement(0x000f);
    to.text(value.callBackMethod);
    to.closeElement(at);
  }
  if (value.callBackHeaders === null) to.element(0x0010, 0);
  else if (value.callBackHeaders !== undefined) {
    const at = to.openElement(0x0010);
    to.text(value.callBackHeaders);
    to.closeElement(at);
  }
  if (value.callBackBody === null) to.element(0x0011, 0);
  else if (value.callBackBody !== undefined) {
    const at = to.openElement(0x0011);
    to.text(value.callBackBody);
    to.closeElement(at);
  }
  if (value.callBackTimeoutMs === null) to.element(0x0012, 0);
  else if (value.callBackTimeoutMs !== undefined) {
    to.element(0x0012, 4);
    to.u32(value.callBackTimeoutMs);
  }
  if (value.callBackConcurrency === null) to.element(0x0013, 0);
  else if (value.callBackConcurrency !== undefined) {
    to.element(0x0013, 4);
    to.u32(value.callBackConcurrency);
  }
  if (value.callBackRate === null) to.element(0x0014, 0);
  else if (value.callBackRate !== undefined) {
    to.element(0x0014, 4);
    to.u32(value.callBackRate);
  }
  if (value.callBackSecrets === null) to.element(0x0015, 0);
  else if (value.callBackSecrets !== undefined) {
    const at = to.openElement(0x0015);
    to.text(value.callBackSecrets);
    to.closeElement(at);
  }
  if (value.callBackRefused === null) to.element(0x0016, 0);
  else if (value.callBackRefused !== undefined) {
    const at = to.openElement(0x0016);
    to.text(value.callBackRefused);
    to.closeElement(at);
  }
  if (value.callBackRetryIf === null) to.element(0x0017, 0);
  else if (value.callBackRetryIf !== undefined) {
    const at = to.openElement(0x0017);
    to.text(value.callBackRetryIf);
    to.closeElement(at);
  }
  if (value.callBackSuccess === null) to.element(0x0018, 0);
  else if (value.callBackSuccess !== undefined) {
    const at = to.openElement(0x0018);
    to.text(value.callBackSuccess);
    to.closeElement(at);
  }
  if (value.callBackOfJob === null) to.element(0x0019, 0);
  else if (value.callBackOfJob !== undefined) {
    to.element(0x0019, 1);
    to.u8(1);
  }
  if (value.callBackLogMs === null) to.element(0x001a, 0);
  else if (value.callBackLogMs !== undefined) {
    to.element(0x001a, 8);
    to.u64(value.callBackLogMs);
  }
  if (value.callBackPaused === null) to.element(0x001b, 0);
  else if (value.callBackPaused !== undefined) {
    to.element(0x001b, 1);
    to.u8(1);
  }
  if (value.callBackDelayMs === null) to.element(0x001c, 0);
  else if (value.callBackDelayMs !== undefined) {
    to.element(0x001c, 8);
    to.u64(value.callBackDelayMs);
  }
  if (value.fair === null) to.element(0x001d, 0);
  else if (value.fair !== undefined) {
    to.element(0x001d, 1);
    to.u8(1);
  }
  if (value.groupLeasesMax === null) to.element(0x001e, 0);
  else if (value.groupLeasesMax !== undefined) {
    to.element(0x001e, 4);
    to.u32(value.groupLeasesMax);
  }
  if (value.groupPerSecondMax === null) to.element(0x001f, 0);
  else if (value.groupPerSecondMax !== undefined) {
    to.element(0x001f, 4);
    to.u32(value.groupPerSecondMax);
  }
  if (value.groupBurst === null) to.element(0x0020, 0);
  else if (value.groupBurst !== undefined) {
    to.element(0x0020, 4);
    to.u32(value.groupBurst);
  }
  if (value.groupOrder === null) to.element(0x0021, 0);
  else if (value.groupOrder !== undefined) {
    const at = to.openElement(0x0021);
    to.text(value.groupOrder);
    to.closeElement(at);
  }
  if (value.groupOnBury === null) to.element(0x0022, 0);
  else if (value.groupOnBury !== undefined) {
    const at = to.openElement(0x0022);
    to.text(value.groupOnBury);
    to.closeElement(at);
  }
}

/** From within other bytes. */
export function takeSettings(from: ByteReader, bytes: number): SettingsChange {
  const end = from.endOf(bytes, 'the settings');
  const found: Mutable<SettingsChange> = {};
  for (let order = -1; from.at < end; ) {
    const tag = from.u16('the settings');
    const next = from.valueEnd(end, 'the settings');
    order = inOrder(order, tag, false);
    switch (tag) {
      case 0x0001:
        found.ttrMs = next === from.at ? null : from.u32('ttr_ms');
        break;
      case 0x0002:
        found.priority = next === from.at ? null : from.u32('priority');
        break;
      case 0x0003:
        found.attemptsMax = next === from.at ? null : from.u32('attempts_max');
        break;
      case 0x0004:
        found.backoff = next === from.at ? null : takeBackoff(from, next);
        break;
      case 0x0005:
        found.expiresAfterMs = next === from.at ? null : from.u64('expires_after_ms');
        break;
      case 0x0006:
        found.jobsMax = next === from.at ? null : from.u64('jobs_max');
        break;
      case 0x0007:
        found.bytesMax = next === from.at ? null : from.u64('bytes_max');
        break;
      case 0x0008:
        found.bodyMax = next === from.at ? null : from.u32('body_max');
        break;
      case 0x0009:
        found.leasesMax = next === from.at ? null : from.u32('leases_max');
        break;
      case 0x000a:
        found.rate = next === from.at ? null : from.u32('rate');
        break;
      case 0x000b:
        found.late = next === from.at ? null : takeLate(from, next);
        break;
      case 0x000c:
        found.deadLetters = next === from.at ? null : from.text(next - from.at, 'dead_letters');
        break;
      case 0x000d:
        found.rememberMs = next === from.at ? null : from.u64('remember_ms');
        break;
      case 0x000e:
        found.callBack = next === from.at ? null : from.text(next - from.at, 'call_back');
        break;
      case 0x000f:
        found.callBackMethod = next === from.at ? null : from.text(next - from.at, 'call_back_method');
        break;
      case 0x0010:
        found.callBackHeaders = next === from.at ? null : from.text(next - from.at, 'call_back_headers');
        break;
      case 0x0011:
        found.callBackBody = next === from.at ? null : from.text(next - from.at, 'call_back_body');
        break;
      case 0x0012:
        found.callBackTimeoutMs = next === from.at ? null : from.u32('call_back_timeout_ms');
        break;
      case 0x0013:
        found.callBackConcurrency = next === from.at ? null : from.u32('call_back_concurrency');
        break;
      case 0x0014:
        found.callBackRate = next === from.at ? null : from.u32('call_back_rate');
        break;
      case 0x0015:
        found.callBackSecrets = next === from.at ? null : from.text(next - from.at, 'call_back_secrets');
        break;
      case 0x0016:
        found.callBackRefused = next === from.at ? null : from.text(next - from.at, 'call_back_refused');
        break;
      case 0x0017:
        found.callBackRetryIf = next === from.at ? null : from.text(next - from.at, 'call_back_retry_if');
        break;
      case 0x0018:
        found.callBackSuccess = next === from.at ? null : from.text(next - from.at, 'call_back_success');
        break;
      case 0x0019:
        found.callBackOfJob = next === from.at ? null : from.flag('call_back_of_job');
        break;
      case 0x001a:
        found.callBackLogMs = next === from.at ? null : from.u64('call_back_log_ms');
        break;
      case 0x001b:
        found.callBackPaused = next === from.at ? null : from.flag('call_back_paused');
        break;
      case 0x001c:
        found.callBackDelayMs = next === from.at ? null : from.u64('call_back_delay_ms');
        break;
      case 0x001d:
        found.fair = next === from.at ? null : from.flag('fair');
        break;
      case 0x001e:
        found.groupLeasesMax = next === from.at ? null : from.u32('group_leases_max');
        break;
      case 0x001f:
        found.groupPerSecondMax = next === from.at ? null : from.u32('group_per_second_max');
        break;
      case 0x0020:
        found.groupBurst = next === from.at ? null : from.u32('group_burst');
        break;
      case 0x0021:
        found.groupOrder = next === from.at ? null : from.text(next - from.at, 'group_order');
        break;
      case 0x0022:
        found.groupOnBury = next === from.at ? null : from.text(next - from.at, 'group_on_bury');
        break;
      default:
        from.skip(next - from.at, 'a setting');
    }
    from.endValue(next, 'the settings');
  }
  return found;
}

function putHeader(to: ByteWriter, value: HeaderValue): void {
  to.text8(value[0]);
  to.text(value[1]);
}

function takeHeader(from: ByteReader, end: number): HeaderValue {
  return [from.text(from.u8('name'), 'name'), from.text(from.rest(end, 'value'), 'value')];
}

function putExpiry(to: ByteWriter, value: ExpiryValue): void {
  to.u8(value.kind);
  to.u64(value.ms);
}

function takeExpiry(from: ByteReader, _end: number): ExpiryValue {
  return { kind: from.u8('kind'), ms: from.u64('ms') };
}

function putBackoff(to: ByteWriter, value: BackoffValue): void {
  to.u8(value.kind);
  to.u8(value.jitter);
  for (const one of value.waitsMs) to.u32(one);
}

function takeBackoff(from: ByteReader, end: number): BackoffValue {
  return { kind: from.u8('kind'), jitter: from.u8('jitter'), waitsMs: from.u32s(end, 'waits_ms') };
}

function putLate(to: ByteWriter, value: LateValue): void {
  to.u64(value.afterMs);
  to.u8(value.action);
  to.u64(value.value);
}

function takeLate(from: ByteReader, _end: number): LateValue {
  return { afterMs: from.u64('after_ms'), action: from.u8('action'), value: from.u64('value') };
}
