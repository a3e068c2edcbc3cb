/** Jobs of one call, spread over as few PUSH requests as the server's limits allow. */

import { UsageError } from './errors.js';
import { encodeAttributes } from './protocol/elements.js';
import { utf8Bytes } from './protocol/bytes.js';
import type { NewJobValue, WelcomeFields } from './protocol/messages.js';

/** The most that the fields of a PUSH take besides its jobs, and of a job besides its pieces. */
const PUSH_BYTES = 176;
const JOB_BYTES = 26;

/** The bytes of a job in a PUSH. Throws if no server of this size takes it. */
export function jobBytes(job: NewJobValue, { bodyBytesMax }: WelcomeFields): number {
  if (job.body.byteLength > bodyBytesMax) throw new UsageError(`a body of ${job.body.byteLength} bytes: the server takes at most ${bodyBytesMax}`);
  return JOB_BYTES + utf8Bytes(job.key) + attributesBytes(job) + job.body.byteLength;
}

export function batchesOf(jobs: readonly NewJobValue[], limits: WelcomeFields): NewJobValue[][] {
  const batches: NewJobValue[][] = [];
  let bytes = Infinity;
  for (const job of jobs) {
    const size = jobBytes(job, limits);
    const batch = batches.at(-1);
    if (!batch || batch.length >= limits.pushJobsMax || bytes + size > limits.frameBytesMax) {
      batches.push([job]);
      bytes = PUSH_BYTES + size;
    } else {
      batch.push(job);
      bytes += size;
    }
  }
  return batches;
}

function attributesBytes(job: NewJobValue): number {
  try {
    return encodeAttributes(job.attributes).byteLength;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
