/** Jobs as a test sees them, and which of them it means. */

import { isDeepStrictEqual } from 'node:util';
import { BodyError, CONTENT_TYPE, decodeBody } from '../body.js';
import type { JobInfo } from '../job.js';
import { onlyKnown, type Names } from '../known.js';

/** A job of the queue, with its body decoded. */
export interface TestJob extends JobInfo {
  /** The body as its content type says: a value of JSON, a text, or bytes. */
  readonly value: unknown;
  /** From the push to the due time. */
  readonly delayMs: number;
}

/** What a job must have, or a function that says whether it is the one. */
export type JobMatch = ((job: TestJob) => boolean) | JobFields;

/** A job matches if it has all that is there. */
export interface JobFields {
  /** Equal to the decoded body, in all of its parts. */
  body?: unknown;
  key?: string;
  /** From the push to the due time, exactly. */
  delayMs?: number;
}

const FIELDS: Names<JobFields> = { body: true, key: true, delayMs: true };

export function testJob(job: JobInfo): TestJob {
  return { ...job, value: valueOf(job), delayMs: job.due.getTime() - (job.pushed ?? job.due).getTime() };
}

/** A body that is not what its content type says is shown as bytes. */
function valueOf({ body, headers }: JobInfo): unknown {
  try {
    return decodeBody(body, headers[CONTENT_TYPE]);
  } catch (error) {
    if (error instanceof BodyError) return body;
    throw error;
  }
}

export function predicateOf(match: JobMatch): (job: TestJob) => boolean {
  if (typeof match === 'function') return match;
  const { body, key, delayMs } = onlyKnown('a job that is looked for', match, FIELDS);
  return (job) =>
    (body === undefined || isDeepStrictEqual(job.value, body)) &&
    (key === undefined || job.key === key) &&
    (delayMs === undefined || job.delayMs === delayMs);
}

/** One line for a job, in messages. */
export function describe({ id, topic, key, state, attempts, delayMs, due, value, reason }: TestJob): string {
  const named = key === null ? '' : `, key "${key}"`;
  const why = reason === null ? '' : `, reason "${reason}"`;
  const body = value instanceof Uint8Array ? `${value.byteLength} bytes` : JSON.stringify(value);
  return `job ${id} of "${topic}"${named}: ${state}, attempts ${attempts}, delayMs ${delayMs}, due ${due.toISOString()}${why}, body ${body}`;
}
