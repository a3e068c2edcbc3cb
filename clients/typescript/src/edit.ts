/** Edits: which parts of a job change, and to what. A part is encoded as a push encodes it. */

import type { JobBackoff } from './backoff.js';
import { UsageError } from './errors.js';
import { onlyKnown, type Names } from './known.js';
import { newJobValue, type NamedHeaders, type NewJob } from './new-job.js';
import { EDITED } from './protocol/choices.js';
import type { EditFields } from './protocol/messages.js';
import type { Instant } from './time.js';

/** The parts of a job that an edit changes. One that is not there stays; `null` takes away what a job need not have. */
export interface JobEdit {
  /** Due so many milliseconds after the queue accepts the edit. */
  delayMs?: number;
  /** Due at this time. */
  at?: Instant;
  /** Lower numbers are reserved first. `null`: the topic's default. */
  priority?: number | null;
  /** How long a consumer may hold it. `null`: the topic's default. */
  ttrMs?: number | null;
  /** The new body, encoded as in a push, and with it the header `content-type`; `null` is the `null` of JSON. */
  body?: unknown;
  /**
   * The new headers, in place of all old ones but `content-type`, which goes with the body unless it is given here. `null` or `{}`: no
   * headers. `pushHeaders` of `connect` and the headers of a trace are not added.
   */
  headers?: NamedHeaders | null;
  /** It is dropped when so many milliseconds have passed. `null`: the topic's default, or never. */
  expiresAfterMs?: number | null;
  /** It is dropped at this time. `null`: as `expiresAfterMs`. */
  expiresAt?: Instant | null;
  /** After so many failed attempts it is buried. `null`: the default of the topic or the server. */
  attemptsMax?: number | null;
  /** `null`: the default of the topic or the server. */
  backoff?: JobBackoff | null;
  /** The group in its topic that it belongs to. `null`: none. */
  group?: string | null;
  /** How long the queue remembers the job, and so its key, after FINISH. `null`: the topic's default, or not at all. */
  rememberMs?: number | null;
}

const PART_OF_OPTION = {
  delayMs: EDITED.due,
  at: EDITED.due,
  priority: EDITED.priority,
  ttrMs: EDITED.ttr,
  body: EDITED.body,
  headers: EDITED.headers,
  expiresAfterMs: EDITED.expires,
  expiresAt: EDITED.expires,
  attemptsMax: EDITED.attemptsMax,
  backoff: EDITED.backoff,
  group: EDITED.group,
  rememberMs: EDITED.dedupeRetention,
} as const satisfies Names<JobEdit>;

/** The fields of the request that changes these parts, and no others. */
export function editFields(parts: JobEdit): Omit<EditFields, 'reference' | 'ifVersion'> {
  onlyKnown('an edit', parts, PART_OF_OPTION);
  const given = (Object.keys(PART_OF_OPTION) as (keyof JobEdit)[]).filter((name) => parts[name] !== undefined);
  if (given.length === 0) throw new UsageError('an edit of what? Name at least one part: { priority: 5 }, for example');
  if (parts.delayMs === null || parts.at === null) throw new UsageError('a job is always due at some time: leave delayMs and at out, or write { delayMs: 0 }');
  // The body `null` is a value of JSON.
  const isValue = (name: keyof JobEdit) => parts[name] !== null || name === 'body';
  // What a push would be given: the parts that stay are then empty, which is valid.
  const job = Object.fromEntries(given.filter(isValue).map((name) => [name, parts[name]])) as NewJob;
  const edited = given.reduce((sum, name) => sum | PART_OF_OPTION[name], 0);
  const { dueMs, dueKind, priority, ttrMs, body, attributes } = newJobValue(job, {});
  return { dueMs, dueKind, priority, ttrMs, body, edited, attributes };
}
