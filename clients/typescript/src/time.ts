/** Points in time and durations, as callers give them. */

import { UsageError } from './errors.js';
import { DELAY_MS_MAX } from './protocol/limits.js';
import { wideNumber } from './whole-number.js';

/** A point in time: a `Date`, a text in ISO 8601 that says its zone, or a `bigint` of milliseconds since the Unix epoch. */
export type Instant = Date | string | bigint;

const WITH_ZONE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since the Unix epoch. A text without a zone is refused: it would mean another time on another machine. */
export function instantMs(name: string, value: Instant): bigint {
  if (typeof value === 'bigint') return wideNumber(name, value);
  if (typeof value === 'string' && !WITH_ZONE.test(value)) {
    throw new UsageError(`${name}: "${value}" must be an ISO 8601 time with a zone, as 2030-12-24T18:00:00Z`);
  }
  if (typeof value !== 'string' && !(value instanceof Date)) throw new UsageError(`${name} must be a Date or a text`);
  const ms = typeof value === 'string' ? Date.parse(value) : value.getTime();
  if (!Number.isFinite(ms)) throw new UsageError(`${name} is no valid time`);
  if (ms < 0) throw new UsageError(`${name} is before 1970`);
  return BigInt(Math.trunc(ms));
}

/** A duration in whole milliseconds. Parts of a millisecond are rounded up: nothing comes early. */
export function durationMs(name: string, value: number, max = DELAY_MS_MAX): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new UsageError(`${name} must be a number of milliseconds from 0 on, not ${value}`);
  }
  const ms = Math.ceil(value);
  if (ms > max) throw new UsageError(`${name} is ${ms} ms, at most ${max} are accepted`);
  return ms;
}

/** A duration that the protocol does not bound. Parts of a millisecond are rounded up here, too. */
export function wideDurationMs(name: string, value: number | bigint): bigint {
  return wideNumber(name, typeof value === 'number' && value > 0 ? Math.ceil(value) : value);
}

/** A date of the wire; `null` for "did not happen". */
export function dateOf(ms: bigint): Date | null {
  return ms === 0n ? null : new Date(Number(ms));
}
