/** What the server would refuse for its size is refused here. A frame that is too long would end the connection. */

import { UsageError } from '../errors.js';
import type { Request, WelcomeFields } from '../protocol/messages.js';

export function checkSize(limits: WelcomeFields, request: Request, frame: Uint8Array): void {
  if (request.name === 'PUSH') {
    check('a number of jobs', request.fields.jobs.length, limits.pushJobsMax);
    for (const job of request.fields.jobs) check('a body in bytes', job.body.byteLength, limits.bodyBytesMax);
  }
  if (request.name === 'EDIT' || request.name === 'SCHEDULE_SET') check('a body in bytes', request.fields.body.byteLength, limits.bodyBytesMax);
  check('a request in bytes', frame.byteLength - 4, limits.frameBytesMax);
}

function check(what: string, found: number, max: number): void {
  if (found > max) throw new UsageError(`${what} of ${found}: the server takes at most ${max}. Send less at once`);
}
