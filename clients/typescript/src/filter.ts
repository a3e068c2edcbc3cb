/** Which jobs `list`, `count` and `bulk` mean. */

import { UsageError } from './errors.js';
import { BURY_REASONS, type BuryReason, type JobState } from './job.js';
import { onlyKnown, type Names } from './known.js';
import { checkGroup, checkTopic } from './new-job.js';
import { utf8 } from './protocol/bytes.js';
import { STATE_NAMES } from './protocol/choices.js';
import type { FilterValue } from './protocol/messages.js';
import { instantMs, type Instant } from './time.js';

/** A job matches if it meets all conditions that are there. An empty filter matches every job that is not finished. */
export interface JobFilter {
  topic?: string;
  /** Without it: all except finished ones. */
  states?: readonly JobState[];
  dueFrom?: Instant;
  dueBefore?: Instant;
  keyPrefix?: string | Uint8Array;
  attemptsMin?: number;
  attemptsMax?: number;
  buried?: BuryReason;
  /** The last reason contains this text. */
  reason?: string;
  /** They belong to this group, of any topic, or of `topic`. */
  group?: string;
}

const CONDITIONS: Names<JobFilter> = {
  topic: true,
  states: true,
  dueFrom: true,
  dueBefore: true,
  keyPrefix: true,
  attemptsMin: true,
  attemptsMax: true,
  buried: true,
  reason: true,
  group: true,
};

/** An unknown condition is refused: without it, the others would choose more jobs. */
export function filterValue(filter: JobFilter): FilterValue {
  onlyKnown('a filter', filter, CONDITIONS);
  const { states, keyPrefix, reason } = filter;
  if (states !== undefined && !Array.isArray(states)) throw new UsageError("states must be a list: write states: ['ready']");
  if (keyPrefix !== undefined && typeof keyPrefix !== 'string' && !(keyPrefix instanceof Uint8Array)) throw new UsageError('keyPrefix must be a text or bytes');
  if (reason !== undefined && typeof reason !== 'string') throw new UsageError('reason must be a text');
  return {
    ...(filter.topic !== undefined && { topic: checkTopic(filter.topic) }),
    ...(states !== undefined && { states: states.reduce((bits, state) => bits | (1 << place(STATE_NAMES, state)), 0) }),
    ...(filter.dueFrom !== undefined && { dueFromMs: instantMs('dueFrom', filter.dueFrom) }),
    ...(filter.dueBefore !== undefined && { dueBeforeMs: instantMs('dueBefore', filter.dueBefore) }),
    ...(keyPrefix !== undefined && { keyPrefix: typeof keyPrefix === 'string' ? utf8(keyPrefix) : keyPrefix }),
    ...(filter.attemptsMin !== undefined && { attemptsMin: filter.attemptsMin }),
    ...(filter.attemptsMax !== undefined && { attemptsMax: filter.attemptsMax }),
    ...(filter.buried !== undefined && { buried: place(BURY_REASONS, filter.buried) + 1 }),
    ...(reason !== undefined && { reason }),
    ...(filter.group !== undefined && { group: checkGroup(filter.group) }),
  };
}

function place<T>(among: readonly T[], value: T): number {
  const at = among.indexOf(value);
  if (at < 0) throw new UsageError(`${String(value)} is none of ${among.join(', ')}`);
  return at;
}
