// Generated from the schema by `make generate`. Do not edit.

/** The error codes of the protocol. */

/** The number of each code. */
export const ERROR_CODES = {
  /** The frame or a field in it cannot be decoded. What to do: Fix the client. */
  MALFORMED: 1,
  /**
   * The opcode, version, group, choice or critical attribute is not supported by this server, or not by every member.
   * What to do: Use only features of this version, or a newer server.
   */
  UNSUPPORTED: 2,
  /** A frame, body, batch or text exceeds its limit. What to do: Send less at once; see WELCOME and limits. */
  TOO_LARGE: 3,
  /**
   * HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired. What to do: Send HELLO
   * first, with a valid token.
   */
  UNAUTHENTICATED: 4,
  /** A value is out of range. What to do: Correct the value; the message names it. */
  INVALID: 5,
  /**
   * The token lacks the right that this request needs. What to do: Use a token with that right, or add the right to
   * this one; the message names it.
   */
  FORBIDDEN: 6,
  /** This node does not lead. What to do: Connect to `leader`, or to each of `members` in turn: clusters. */
  NOT_LEADER: 16,
  /** No leader is elected yet. What to do: Try again after `retry_after_ms`, here or at another member. */
  NO_LEADER: 17,
  /**
   * Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so. What
   * to do: Wait `retry_after_ms`, then send less at once; finishing or deleting jobs frees memory.
   */
  BUSY: 18,
  /**
   * The disk is nearly full: pushes are refused. What to do: Free space on the server; settling and deleting still
   * work.
   */
  DISK_FULL: 19,
  /** The server is stopping. What to do: Connect again, here or to another member. */
  STOPPING: 20,
  /** The server's disk cannot read the requested data. What to do: Tell the operator; the message names the file. */
  UNREADABLE: 21,
  /** Every requested topic is paused. What to do: RESUME one, or wait. */
  PAUSED: 32,
  /**
   * Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes. What to do:
   * Finish or delete jobs; use fewer names; send GOODBYE; UNSUBSCRIBE. After HELLO it has the mark *retryable*: wait
   * `retry_after_ms`.
   */
  QUOTA: 33,
  /** The lease has ended. What to do: Drop the work; another consumer may have the job. */
  STALE_LEASE: 34,
  /**
   * The topic has a job with this key, alive or remembered. What to do: Use the id in the result, or push with keep or
   * replace.
   */
  KEY_EXISTS: 35,
  /** There is no such job, topic or subscription. What to do: Treat it as finished, or as never there. */
  NOT_FOUND: 36,
  /** The job is reserved, and the request needs a job that is not. What to do: Wait until it is settled. */
  RESERVED: 37,
  /** The job is not in the required state. What to do: Check with GET. */
  WRONG_STATE: 38,
  /** The session is no longer known. What to do: Connect again; HELLO resumes the session or opens a new one. */
  SESSION_UNKNOWN: 39,
  /** The queue has forgotten the outcome of this push. What to do: Look for the job by its key. */
  OUTCOME_UNKNOWN: 40,
  /** The job would expire before it is due. What to do: Set a later expiry or an earlier due time. */
  EXPIRES_BEFORE_DUE: 41,
  /**
   * The sequence number, or the idempotency key, of the job was used for another job. What to do: Fix the client: each
   * job needs its own number. Push the job under a new one.
   */
  SEQUENCE_REUSED: 42,
  /** The job is no longer of the version that the request names. What to do: Look at the job again, and decide anew. */
  CHANGED: 43,
} as const;

export type ErrorCodeName = keyof typeof ERROR_CODES;

/** The name of a code; `undefined` for one of a newer server. */
export function codeName(code: number): ErrorCodeName | undefined {
  switch (code) {
    case 1:
      return 'MALFORMED';
    case 2:
      return 'UNSUPPORTED';
    case 3:
      return 'TOO_LARGE';
    case 4:
      return 'UNAUTHENTICATED';
    case 5:
      return 'INVALID';
    case 6:
      return 'FORBIDDEN';
    case 16:
      return 'NOT_LEADER';
    case 17:
      return 'NO_LEADER';
    case 18:
      return 'BUSY';
    case 19:
      return 'DISK_FULL';
    case 20:
      return 'STOPPING';
    case 21:
      return 'UNREADABLE';
    case 32:
      return 'PAUSED';
    case 33:
      return 'QUOTA';
    case 34:
      return 'STALE_LEASE';
    case 35:
      return 'KEY_EXISTS';
    case 36:
      return 'NOT_FOUND';
    case 37:
      return 'RESERVED';
    case 38:
      return 'WRONG_STATE';
    case 39:
      return 'SESSION_UNKNOWN';
    case 40:
      return 'OUTCOME_UNKNOWN';
    case 41:
      return 'EXPIRES_BEFORE_DUE';
    case 42:
      return 'SEQUENCE_REUSED';
    case 43:
      return 'CHANGED';
    default:
      return undefined;
  }
}

const RETRYABLE: ReadonlySet<ErrorCodeName> = new Set(['NOT_LEADER', 'NO_LEADER', 'BUSY', 'DISK_FULL', 'STOPPING', 'PAUSED']);

/** Whether a request that was refused so may succeed later, as it is. */
export function isRetryable(name: ErrorCodeName): boolean {
  return RETRYABLE.has(name);
}
