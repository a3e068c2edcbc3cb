// Generated from the schema by `make generate`. Do not edit.

/** The errors of the server: a class for each code, with what it means and what to do. */

import { ServerError } from './errors.js';
import type { ErrorCodeName } from './protocol/codes.js';

/** The frame or a field in it cannot be decoded. What to do: Fix the client. */
export class MalformedError extends ServerError {}

/**
 * The opcode, version, group, choice or critical attribute is not supported by this server, or not by every member.
 * What to do: Use only features of this version, or a newer server.
 */
export class UnsupportedError extends ServerError {}

/** A frame, body, batch or text exceeds its limit. What to do: Send less at once; see WELCOME and limits. */
export class TooLargeError extends ServerError {}

/**
 * HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired. What to do: Send HELLO
 * first, with a valid token.
 */
export class UnauthenticatedError extends ServerError {}

/** A value is out of range. What to do: Correct the value; the message names it. */
export class InvalidError extends ServerError {}

/**
 * The token lacks the right that this request needs. What to do: Use a token with that right, or add the right to this
 * one; the message names it.
 */
export class ForbiddenError extends ServerError {}

/** This node does not lead. What to do: Connect to `leader`, or to each of `members` in turn: clusters. */
export class NotLeaderError extends ServerError {}

/** No leader is elected yet. What to do: Try again after `retry_after_ms`, here or at another member. */
export class NoLeaderError extends ServerError {}

/**
 * Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so. What to
 * do: Wait `retry_after_ms`, then send less at once; finishing or deleting jobs frees memory.
 */
export class BusyError extends ServerError {}

/**
 * The disk is nearly full: pushes are refused. What to do: Free space on the server; settling and deleting still work.
 */
export class DiskFullError extends ServerError {}

/** The server is stopping. What to do: Connect again, here or to another member. */
export class StoppingError extends ServerError {}

/** The server's disk cannot read the requested data. What to do: Tell the operator; the message names the file. */
export class UnreadableError extends ServerError {}

/** Every requested topic is paused. What to do: RESUME one, or wait. */
export class PausedError extends ServerError {}

/**
 * Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes. What to do:
 * Finish or delete jobs; use fewer names; send GOODBYE; UNSUBSCRIBE. After HELLO it has the mark *retryable*: wait
 * `retry_after_ms`.
 */
export class QuotaError extends ServerError {}

/** The lease has ended. What to do: Drop the work; another consumer may have the job. */
export class StaleLeaseError extends ServerError {}

/**
 * The topic has a job with this key, alive or remembered. What to do: Use the id in the result, or push with keep or
 * replace.
 */
export class KeyExistsError extends ServerError {}

/** There is no such job, topic or subscription. What to do: Treat it as finished, or as never there. */
export class NotFoundError extends ServerError {}

/** The job is reserved, and the request needs a job that is not. What to do: Wait until it is settled. */
export class ReservedError extends ServerError {}

/** The job is not in the required state. What to do: Check with GET. */
export class WrongStateError extends ServerError {}

/** The session is no longer known. What to do: Connect again; HELLO resumes the session or opens a new one. */
export class SessionUnknownError extends ServerError {}

/** The job would expire before it is due. What to do: Set a later expiry or an earlier due time. */
export class ExpiresBeforeDueError extends ServerError {}

/**
 * The sequence number, or the idempotency key, of the job was used for another job. What to do: Fix the client: each
 * job needs its own number. Push the job under a new one.
 */
export class SequenceReusedError extends ServerError {}

/** The job is no longer of the version that the request names. What to do: Look at the job again, and decide anew. */
export class ChangedError extends ServerError {}

/** The class of each code. Of OUTCOME_UNKNOWN it is `OutcomeUnknownError`, as of a lost answer. */
export const SERVER_ERRORS: Readonly<Record<Exclude<ErrorCodeName, 'OUTCOME_UNKNOWN'>, typeof ServerError>> = {
  MALFORMED: MalformedError,
  UNSUPPORTED: UnsupportedError,
  TOO_LARGE: TooLargeError,
  UNAUTHENTICATED: UnauthenticatedError,
  INVALID: InvalidError,
  FORBIDDEN: ForbiddenError,
  NOT_LEADER: NotLeaderError,
  NO_LEADER: NoLeaderError,
  BUSY: BusyError,
  DISK_FULL: DiskFullError,
  STOPPING: StoppingError,
  UNREADABLE: UnreadableError,
  PAUSED: PausedError,
  QUOTA: QuotaError,
  STALE_LEASE: StaleLeaseError,
  KEY_EXISTS: KeyExistsError,
  NOT_FOUND: NotFoundError,
  RESERVED: ReservedError,
  WRONG_STATE: WrongStateError,
  SESSION_UNKNOWN: SessionUnknownError,
  EXPIRES_BEFORE_DUE: ExpiresBeforeDueError,
  SEQUENCE_REUSED: SequenceReusedError,
  CHANGED: ChangedError,
};
