/** How long a failed job waits for its next attempt. */

import { UsageError } from './errors.js';
import { BACKOFF_KIND } from './protocol/choices.js';
import { BACKOFF_LIST_MAX } from './protocol/limits.js';
import type { BackoffValue } from './protocol/messages.js';
import { onlyKnown, type Names } from './known.js';
import { durationMs } from './time.js';

export type JobBackoff = (
  | { readonly kind: 'fixed'; readonly waitMs: number }
  | { readonly kind: 'linear'; readonly stepMs: number; readonly maxMs: number }
  | { readonly kind: 'exponential'; readonly firstMs: number; readonly maxMs: number }
  | { readonly kind: 'list'; readonly waitsMs: readonly number[] }
) & {
  /** Shortens each wait by a random part of at most this percentage, 0 to 100. */
  readonly jitterPercent?: number;
};

const BACKOFFS: Readonly<Record<JobBackoff['kind'], Readonly<Record<string, true>>>> = {
  fixed: { kind: true, jitterPercent: true, waitMs: true },
  linear: { kind: true, jitterPercent: true, stepMs: true, maxMs: true },
  exponential: { kind: true, jitterPercent: true, firstMs: true, maxMs: true },
  list: { kind: true, jitterPercent: true, waitsMs: true },
};
const U32_MAX = 0xffff_ffff;

export function backoffValue(backoff: JobBackoff): BackoffValue {
  const names = BACKOFFS[backoff?.kind] as Names<JobBackoff> | undefined;
  if (!names) throw new UsageError(`${JSON.stringify(backoff)} is no backoff: kind is one of ${Object.keys(BACKOFFS).join(', ')}`);
  const jitter = onlyKnown(`a backoff of the kind "${backoff.kind}"`, backoff, names).jitterPercent ?? 0;
  if (!Number.isInteger(jitter) || jitter < 0 || jitter > 100) throw new UsageError(`jitterPercent is ${jitter}, it must be 0 to 100`);
  const value = (...waits: number[]): BackoffValue => {
    return { kind: BACKOFF_KIND[backoff.kind], jitter, waitsMs: waits.map((wait) => durationMs('a wait of a backoff', wait, U32_MAX)) };
  };
  switch (backoff.kind) {
    case 'fixed':
      return value(backoff.waitMs);
    case 'linear':
      return value(backoff.stepMs, backoff.maxMs);
    case 'exponential':
      return value(backoff.firstMs, backoff.maxMs);
    case 'list':
      if (!Array.isArray(backoff.waitsMs) || backoff.waitsMs.length === 0 || backoff.waitsMs.length > BACKOFF_LIST_MAX) throw new UsageError(`a backoff list has 1 to ${BACKOFF_LIST_MAX} waits`);
      return value(...backoff.waitsMs);
  }
}

/** `null` for a backoff of a newer version. */
export function backoffOf({ kind, jitter, waitsMs }: BackoffValue): JobBackoff | null {
  const [first = 0, second = 0] = waitsMs;
  const jitterPercent = jitter;
  switch (kind) {
    case BACKOFF_KIND.fixed:
      return { kind: 'fixed', waitMs: first, jitterPercent };
    case BACKOFF_KIND.linear:
      return { kind: 'linear', stepMs: first, maxMs: second, jitterPercent };
    case BACKOFF_KIND.exponential:
      return { kind: 'exponential', firstMs: first, maxMs: second, jitterPercent };
    case BACKOFF_KIND.list:
      return { kind: 'list', waitsMs, jitterPercent };
    default:
      return null;
  }
}
