/** Which jobs `list`, `count` and `bulk` mean. */

import { UsageError } from './errors.js';
import { BURY_REASONS, JOB_STATES, type BuryReason, type JobState } from './job.js';
import { onlyKnown, type Names } from './known.js';
import { checkTopic } from './new-job.js';
import { utf8 } from './protocol/bytes.js';
import type { FilterValue } from './protocol/filter.js';
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
};

/** An unknown condition is refused: without it, the others would choose more jobs. */
export function filterValue(filter: JobFilter): FilterValue {
  onlyKnown('a filter', filter, CONDITIONS);
  return {
    ...(filter.topic !== undefined && { topic: checkTopic(filter.topic) }),
    ...(filter.states !== undefined && { states: filter.states.reduce((bits, state) => bits | (1 << place(JOB_STATES, state)), 0) }),
    ...(filter.dueFrom !== undefined && { dueFromMs: instantMs('dueFrom', filter.dueFrom) }),
    ...(filter.dueBefore !== undefined && { dueBeforeMs: instantMs('dueBefore', filter.dueBefore) }),
    ...(filter.keyPrefix !== undefined && { keyPrefix: typeof filter.keyPrefix === 'string' ? utf8(filter.keyPrefix) : filter.keyPrefix }),
    ...(filter.attemptsMin !== undefined && { attemptsMin: filter.attemptsMin }),
    ...(filter.attemptsMax !== undefined && { attemptsMax: filter.attemptsMax }),
    ...(filter.buried !== undefined && { buried: place(BURY_REASONS, filter.buried) + 1 }),
    ...(filter.reason !== undefined && { reason: filter.reason }),
  };
}

function place<T>(among: readonly T[], value: T): number {
  const at = among.indexOf(value);
  if (at < 0) throw new UsageError(`${String(value)} is none of ${among.join(', ')}`);
  return at;
}
