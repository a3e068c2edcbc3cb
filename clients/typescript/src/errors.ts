/**
 * Why a call failed, and what to do about it.
 *
 * Each error says by `code` what happened, by `retryable` whether the same call may succeed later as it is, and by
 * `applied` whether it had an effect. Decide by these, never by the text of a message.
 */

/** Whether a failed call had an effect. */
export type Applied = 'no' | 'yes' | 'unknown';

interface Marks {
  readonly code: string;
  readonly retryable: boolean;
  readonly applied: Applied;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** The root of all errors of this client. */
export class AdjournError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly applied: Applied;
  /** Do not try again before this time; 0 without a hint. */
  readonly retryAfterMs: number;

  constructor(message: string, marks: Marks) {
    super(message, marks.cause === undefined ? undefined : { cause: marks.cause });
    this.name = new.target.name;
    this.code = marks.code;
    this.retryable = marks.retryable;
    this.applied = marks.applied;
    this.retryAfterMs = marks.retryAfterMs ?? 0;
  }
}

/** The caller asked for what cannot be. Nothing was sent. */
export class UsageError extends AdjournError {
  constructor(message: string) {
    super(message, { code: 'USAGE', retryable: false, applied: 'no' });
  }
}

/** More calls wait than the client keeps: `pendingMax`. Nothing was sent. */
export class QueueFullError extends AdjournError {
  constructor(pendingMax: number) {
    super(`${pendingMax} calls wait already: wait for some of them`, { code: 'QUEUE_FULL', retryable: true, applied: 'no' });
  }
}

const LOST_ANSWER =
  'the answer is lost: the request may or may not have been applied. ' +
  'Look for the job by its key, or push it again under a key with ifExists "keep"';

/** The answer is lost, and a repeat is not safe: the call may or may not have had its effect. */
export class OutcomeUnknownError extends AdjournError {
  constructor(
    message = LOST_ANSWER,
    /** The job to look at with `get`, if the queue named one. */
    readonly job?: bigint,
  ) {
    super(message, { code: 'OUTCOME_UNKNOWN', retryable: false, applied: 'unknown' });
  }
}

/** No answer came in time. */
export class TimeoutError extends AdjournError {
  constructor(afterMs: number, applied: Applied) {
    super(`no answer within ${afterMs} ms: the server cannot be reached or is overloaded`, { code: 'TIMEOUT', retryable: true, applied });
  }
}

/** Something is wrong with the connection, not with the request. */
export class ConnectionError extends AdjournError {}

/** No connection could be made. */
export class CannotConnectError extends ConnectionError {
  constructor(readonly address: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`cannot connect to ${address}: ${why}. Is the server running, and is this its address?`, {
      code: 'CANNOT_CONNECT',
      retryable: true,
      applied: 'no',
      cause,
    });
  }
}

/** The client was closed, or the call was made after `close`. */
export class ClosedError extends ConnectionError {
  constructor(message = 'the client is closed: connect a new one', applied: Applied = 'no') {
    super(message, { code: 'CLOSED', retryable: false, applied });
  }
}

/** Another cluster answers at the address: another queue. The client is closed. */
export class WrongClusterError extends ConnectionError {
  constructor(expected: string, found: string) {
    super(`another cluster answers at this address: ${found} instead of ${expected}`, { code: 'WRONG_CLUSTER', retryable: false, applied: 'no' });
  }
}

/** The other side does not keep to the protocol. */
export class ProtocolError extends ConnectionError {
  constructor(message: string, applied: Applied = 'unknown', cause?: unknown) {
    super(`the server does not speak the protocol as this client does: ${message}`, { code: 'PROTOCOL', retryable: false, applied, cause });
  }
}

/** The server holds the backup no longer: its connection is gone, another one was begun, or it was not read for too long. */
export class BackupLostError extends AdjournError {
  constructor(cause?: unknown) {
    super('the backup is gone, with its connection or because another one was begun: take a new one', {
      code: 'BACKUP_LOST',
      retryable: false,
      applied: 'no',
      cause,
    });
  }
}

/** Why the client gave a lease up. */
export type LossReason = 'lease_lost' | 'time_over' | 'presumed_lost';

const LOSSES: Record<LossReason, string> = {
  lease_lost: 'the server says that the lease is over',
  time_over: 'the time of the lease is over',
  presumed_lost: 'the connection was away for so long that the lease may be over',
};

/** The lease of a job is over: another consumer may have the job. The work must stop, and its result is not reported. */
export class LeaseLostError extends AdjournError {
  constructor(readonly reason: LossReason) {
    super(`${LOSSES[reason]}: drop the work, another consumer may have the job`, { code: 'STALE_LEASE', retryable: false, applied: 'no' });
  }
}

/** The worker stops: the reason of a handler's signal. What the handler returns is still reported. */
export class WorkerStoppingError extends AdjournError {
  constructor() {
    super('the worker stops', { code: 'STOPPING', retryable: true, applied: 'no' });
  }
}

/** A handler ran longer than `runMsMax`: the reason of its signal. The job is released as failed. */
export class RunTooLongError extends AdjournError {
  constructor(runMsMax: number) {
    super(`the handler ran for more than ${runMsMax} ms`, { code: 'RUN_TOO_LONG', retryable: true, applied: 'no' });
  }
}

/** The server refused a request, or one job or lease of it. */
export class ServerError extends AdjournError {
  /** The job that is in the way, for KEY_EXISTS and RESERVED in a push. */
  readonly job: bigint | undefined;

  constructor(message: string, marks: Marks, job?: bigint) {
    super(message, marks);
    this.job = job;
  }
}

/** A code of a newer server: decide by `retryable` and `applied`. */
export class UnknownCodeError extends ServerError {}
