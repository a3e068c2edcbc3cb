/** The error for what the server refused. */

import { OutcomeUnknownError, UnknownCodeError, type ServerError } from './errors.js';
import { APPLIED, ERROR_MARKS } from './protocol/choices.js';
import { codeName, isRetryable } from './protocol/codes.js';
import type { ErrorFields } from './protocol/messages.js';
import { SERVER_ERRORS } from './server-errors.js';

type Marks = ConstructorParameters<typeof ServerError>[1];

/** The error for an ERROR that answers a request. */
export function refusal(reply: ErrorFields): ServerError | OutcomeUnknownError {
  const name = codeName(reply.code);
  if (name === 'OUTCOME_UNKNOWN') return new OutcomeUnknownError(reply.message);
  const marks: Marks = {
    code: name ?? 'UNKNOWN',
    retryable: (reply.marks & ERROR_MARKS.retryable) !== 0,
    applied: reply.applied === APPLIED.no ? 'no' : 'unknown',
    retryAfterMs: reply.retryAfterMs,
  };
  const message = reply.message || `the server refused the request with code ${reply.code}`;
  return new (name ? SERVER_ERRORS[name] : UnknownCodeError)(message, marks);
}

/** The error for one job or one lease of a batch. Nothing was changed for it. */
export function itemRefusal(code: number, job?: bigint): ServerError | OutcomeUnknownError {
  const name = codeName(code);
  if (name === 'OUTCOME_UNKNOWN') return new OutcomeUnknownError(undefined, job || undefined);
  const at = job ? `, because of job ${job}` : '';
  const marks: Marks = { code: name ?? 'UNKNOWN', retryable: name !== undefined && isRetryable(name), applied: 'no' };
  return new (name ? SERVER_ERRORS[name] : UnknownCodeError)(`refused: ${name ?? code}${at}`, marks, job || undefined);
}
