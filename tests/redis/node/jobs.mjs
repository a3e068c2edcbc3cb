// What the fillers of Bull and of BullMQ have in common.
import { createRequire } from 'node:module';
import { env, exit, stdout } from 'node:process';

/** Loads a package from the folder into which `test` has installed them. */
export const load = createRequire(`${env.NODE_PACKAGES}/`);

export const HOUR_MS = 3_600_000;
/** In a year. */
export const LATER_MS = Math.ceil(Date.now() / 1000) * 1000 + 365 * 24 * HOUR_MS;
/** How long a dead worker's job is locked. */
export const LOCK_MS = 3000;
/** More of them than one script of the import takes. */
export const LARGE = { text: '大'.repeat(300_000) };

/** Prints what is expected of a job in Adjourn: what its library says, and what differs from the defaults. */
export function say(prefix, topic, job, expected = {}) {
  const due = job.timestamp + Math.floor(job.opts.delay ?? 0);
  stdout.write(`${JSON.stringify({
    hash: `${prefix}:${topic}:${job.id}`,
    becomes: 'a job',
    topic,
    body: JSON.stringify(job.data === undefined ? {} : job.data),
    headers: { 'content-type': 'application/json', name: job.name },
    due_ms: due > Date.now() ? due : null,
    key: null,
    priority: 1024,
    attempts_max: 1,
    backoff: '0s',
    ...expected,
  })}\n`);
}

/** Ends the process, whose connections would keep it, once all lines are written. */
export function finish() {
  stdout.write('', () => exit(0));
}
