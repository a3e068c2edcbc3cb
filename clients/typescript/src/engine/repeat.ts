/** Which requests may be sent again after the connection was lost, and how long a server may take for them. */

import { JOB_KIND } from '../protocol/choices.js';
import { REPEATABLE, REPEATABLE_BY_ID, type JobReference, type Request } from '../protocol/messages.js';

/** Looking at many jobs, or carrying out all that is due, may take so long on purpose. */
const BROWSE_MS_MAX = 600_000;
/** Writing a checkpoint may take so long. */
const CHECKPOINT_MS_MAX = 3_600_000;

/** A job by its key, for a DELETE that may be repeated: its caller wants no job of this key to be there. */
export type KeyToCancel = Extract<JobReference, { readonly jobKind: 1 }> & { readonly mayRepeat: true };

/** Whether carrying it out twice does no more than carrying it out once. */
export function isRepeatable(request: Request): boolean {
  if (!REPEATABLE_BY_ID.has(request.name)) return REPEATABLE.has(request.name);
  // Under a key there may be another job meanwhile.
  const { reference } = (request as Request<'DELETE'>).fields;
  return reference.jobKind === JOB_KIND.id || 'mayRepeat' in reference;
}

/** Whether BUSY is answered by sending it again after a while. Changes of the cluster and backups are the caller's to repeat. */
export function waitsWhileBusy(request: Request): boolean {
  return !request.name.startsWith('CLUSTER_') && !request.name.startsWith('BACKUP_') && request.name !== 'CANCEL';
}

/** How long the server may take for it on purpose. */
export function waitMsOf(request: Request): number {
  if (request.name === 'RESERVE') return Number(request.fields.waitMs);
  if (request.name === 'BACKUP_BEGIN') return CHECKPOINT_MS_MAX;
  return ['LIST', 'COUNT', 'BULK', 'PEEK', 'ADVANCE'].includes(request.name) ? BROWSE_MS_MAX : 0;
}

/** Whether a server refuses it on a connection without a session. */
export function needsSession(request: Request): boolean {
  return request.name === 'RESERVE' || request.name === 'SUBSCRIBE' || request.name === 'LEASES';
}

/** The leases that it settles. */
export function settledBy(request: Request): readonly { readonly fence: bigint }[] {
  return request.name === 'FINISH' || request.name === 'RELEASE' || request.name === 'BURY' ? request.fields.leases : [];
}

const READING = new Set<Request['name']>([
  'PING',
  'GOODBYE',
  'GET',
  'PEEK',
  'LIST',
  'COUNT',
  'LEASES',
  'TOPICS',
  'STATS',
  'CONNECTIONS',
  'TOPIC_SHOW',
  'GROUP_LIST',
  'WHY',
  'TOPIC_WHY',
  'SCHEDULE_SHOW',
  'SCHEDULE_LIST',
  'SCHEDULE_PREVIEW',
  'CLUSTER_STATUS',
  'RESERVE',
  'SUBSCRIBE',
]);

/** Whether it leaves no doubt that its answer is missing: it changes nothing, or the queue takes the change back. */
export function isReading(request: Request): boolean {
  return READING.has(request.name);
}
