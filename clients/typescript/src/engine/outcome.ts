/**
 * What becomes of a request whose answer is a refusal, or never comes.
 *
 * It decides and changes nothing: the engine carries it out. What may have been applied and cannot be repeated safely is
 * never reported as a failure, but as "outcome unknown".
 */

import { OutcomeUnknownError, TimeoutError, type AdjournError, type ProtocolError } from '../errors.js';
import { refusal } from '../refusals.js';
import { APPLIED } from '../protocol/choices.js';
import { codeName } from '../protocol/codes.js';
import type { ErrorFields, Response } from '../protocol/messages.js';
import { isNotHere } from './answers.js';
import type { Open } from './open.js';
import { isReading, isRepeatable, waitsWhileBusy } from './repeat.js';

/** What was on the wire of so many connections on which the server broke the protocol is not sent again: it may be the cause. */
const FAULTS_MAX = 3;

/** The answer to a request that has nothing to do any more. */
export const DONE: Response<'DONE'> = { name: 'DONE', fields: {} };

/** The connection is gone: how the request ends, or `null` if it goes on over the next one. */
export function afterLoss(open: Open, wasOnWire: boolean, fault: ProtocolError | null): Error | Response | null {
  const { name } = open.request;
  const isOwn = name === 'LEASES' && !open.waiter;
  // These were about the old connection.
  if (open.wasLeft || isOwn || name === 'UNSUBSCRIBE' || name === 'CANCEL' || name === 'CREDIT') return DONE;
  if (open.feed || !wasOnWire) return null;
  if (fault) {
    open.faults += 1;
    if (open.faults >= FAULTS_MAX || !isRepeatable(open.request)) return fault;
  }
  // Whoever asked was told long ago that there is no answer.
  if (!open.waiter && name !== 'RELEASE') return new OutcomeUnknownError();
  return isRepeatable(open.request) ? null : new OutcomeUnknownError();
}

export type AfterRefusal =
  /** It ends with this. */
  | { readonly next: 'end'; readonly outcome: Error | Response }
  /** It is sent again over the next connection. */
  | { readonly next: 'elsewhere' }
  /** It is sent again here after a while. */
  | { readonly next: 'later'; readonly error: AdjournError };

/** The server refused the request. `hasEnded`: the client is closing, and goes nowhere else. */
export function afterRefusal(open: Open, reply: ErrorFields, hasEnded: boolean): AfterRefusal {
  const code = codeName(reply.code);
  const { name } = open.request;
  if ((name === 'GOODBYE' && code === 'SESSION_UNKNOWN') || name === 'UNSUBSCRIBE' || name === 'CANCEL') return { next: 'end', outcome: DONE };
  const mayRepeat = reply.applied === APPLIED.no || isRepeatable(open.request);
  if (isNotHere(reply) && !hasEnded && mayRepeat) return { next: 'elsewhere' };
  if (open.isDoubtfulPush || mayRepeat) {
    const error = open.isDoubtfulPush ? new OutcomeUnknownError() : refusal(reply);
    const isAwaited = open.waiter !== null || name === 'RELEASE' || open.feed !== null;
    const waits = code === 'BUSY' && mayRepeat && waitsWhileBusy(open.request) && !hasEnded && isAwaited;
    return waits ? { next: 'later', error } : { next: 'end', outcome: error };
  }
  return { next: 'end', outcome: new OutcomeUnknownError(reply.message) };
}

/** Nobody waits for it any longer. */
export function afterDeadline(open: Open, timeoutMs: number): AdjournError {
  if (open.isDoubtfulPush) return new OutcomeUnknownError();
  const wasSent = open.doubts > 0 && !isReading(open.request);
  return open.refusal ?? new TimeoutError(timeoutMs, wasSent ? 'unknown' : 'no');
}

/** The client ends, because of `error`. */
export function afterEnd(open: Open, error: AdjournError): AdjournError {
  return open.isDoubtfulPush || (open.doubts > 0 && !isReading(open.request)) ? new OutcomeUnknownError() : error;
}
