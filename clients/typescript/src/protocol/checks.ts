/** What is true of values beyond their types: of topics, keys, groups, times and choices. */

import { DecodeError, utf8Bytes, type ByteReader } from './bytes.js';
import { OUTCOME, OUTCOME_NAMES } from './choices.js';
import { ERROR_CODES } from './codes.js';
import { DELAY_MS_MAX, GROUP_BYTES_MAX, KEY_BYTES_MAX, RELEASE_NOT_STARTED, RELEASE_PARKED, TOPIC_BYTES_MAX, TTR_MS_MAX, TTR_MS_MIN } from './limits.js';
import type { PushResultValue } from './messages.js';

const TOPIC = /^[A-Za-z0-9._:/+;$()][A-Za-z0-9._:/+;$()-]*$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** What is wrong with a topic's name, if anything. */
export function topicFault(topic: string): string | null {
  if (topic.length === 0 || topic.length > TOPIC_BYTES_MAX) return `a topic has 1 to ${TOPIC_BYTES_MAX} bytes`;
  return TOPIC.test(topic) ? null : 'a topic has letters, digits and ._:/-+;$() only, and does not start with -';
}

/** What is wrong with a key, if anything. */
export function keyFault(key: string): string | null {
  const bytes = utf8Bytes(key);
  if (bytes === 0 || bytes > KEY_BYTES_MAX) return `a key has 1 to ${KEY_BYTES_MAX} bytes`;
  return CONTROL.test(key) ? 'a key has no control characters' : null;
}

/** What is wrong with the name of a group, if anything. */
export function groupFault(group: string): string | null {
  const bytes = utf8Bytes(group);
  if (bytes === 0 || bytes > GROUP_BYTES_MAX) return `a group has 1 to ${GROUP_BYTES_MAX} bytes`;
  return CONTROL.test(group) ? 'a group has no control characters' : null;
}

// --- what a client reads ---------------------------------------------------------------------------------------

/** A choice of this version; what any other one means to it is `other`. */
export function knownOr(other: number, value: number, count: number): number {
  return value < count ? value : other;
}

/** An outcome of a newer server is read as "outcome unknown". */
export function knownOutcome(result: PushResultValue): PushResultValue {
  if (result.outcome < OUTCOME_NAMES.length) return result;
  return { ...result, outcome: OUTCOME.refused, code: ERROR_CODES.OUTCOME_UNKNOWN };
}

// --- what a server reads ---------------------------------------------------------------------------------------

const TOO_LONG = `a delay of more than ${DELAY_MS_MAX} ms`;

function check<T>(value: T, fault: string | null): T {
  if (fault !== null) throw new DecodeError(fault);
  return value;
}

export function checkMagic(from: ByteReader, magic: number): void {
  if (from.u32('magic') !== magic) throw new DecodeError('HELLO does not start with ADJ1');
}

export function checkedTopic(topic: string): string {
  return check(topic, topicFault(topic));
}

/** The empty text for none. */
export function checkedKey(key: string): string {
  return check(key, key === '' ? null : keyFault(key));
}

/** 0 for the default. */
export function checkedTtr(ms: number): number {
  const isOutside = ms !== 0 && (ms < TTR_MS_MIN || ms > TTR_MS_MAX);
  return check(ms, isOutside ? `a ttr of ${ms} ms, it must be ${TTR_MS_MIN} to ${TTR_MS_MAX}` : null);
}

/** The delay of a RELEASE, or one of the values that stand for something else. */
export function checkedDelay(ms: bigint): bigint {
  const delayMs = ms >= RELEASE_PARKED ? ms - RELEASE_PARKED : ms;
  return check(ms, delayMs > BigInt(DELAY_MS_MAX) && ms < RELEASE_NOT_STARTED ? TOO_LONG : null);
}

export function checkDue<T extends { readonly dueMs: bigint; readonly dueKind: number }>(value: T): T {
  return check(value, value.dueKind === 0 && value.dueMs > BigInt(DELAY_MS_MAX) ? TOO_LONG : null);
}

export function checkedChoice(value: number, count: number, field: string): number {
  return check(value, value < count ? null : `${value} is no ${field} that is known here`);
}

export function atLeast(min: number, value: number, field: string): number {
  return check(value, value < min ? `${field} must be at least ${min}` : null);
}

export function some<T>(items: T[], field: string): T[] {
  return check(items, items.length === 0 ? `there are no ${field}` : null);
}
