/** Jobs as consumers get them, and as lookups show them. */

import { decodeBody, decodeJson, decodeText, CONTENT_TYPE } from './body.js';
import { LeaseLostError, type LossReason } from './errors.js';
import type { Delivery } from './engine/leases.js';
import { STATE_NAMES } from './protocol/choices.js';
import type { Attributes, PastValue, ShownValue } from './protocol/messages.js';
import { dateOf } from './time.js';

/** The right of this client to one job, until its deadline. A job is a lease, too. */
export interface Lease {
  readonly id: bigint;
  readonly fence: bigint;
}

/** How a job goes back. */
export type ReleaseHow =
  /** The attempt failed; the job waits for its backoff. */
  | { readonly how: 'backoff'; readonly reason?: string }
  /** The attempt failed; the next one is after this time. */
  | { readonly how: 'after'; readonly delayMs: number; readonly reason?: string }
  /** The work was not started: no attempt is counted, and the job is ready at once. */
  | { readonly how: 'not_started' }
  /** The work was not started, and is not to be before this delay: no attempt is counted. */
  | { readonly how: 'parked'; readonly delayMs: number; readonly reason?: string };

/** What a job needs of its client. */
export interface JobOwner {
  readonly now: number;
  /** Why the leases of the session are over, if they are. */
  areLeasesLost(): boolean;
  finishOne(job: Job): Promise<void>;
  releaseOne(job: Job, how: ReleaseHow): Promise<void>;
  touchOne(job: Job, ttrMs: number | undefined): Promise<void>;
  buryOne(job: Job, reason: string | undefined): Promise<void>;
}

/** A job that this client has leased. */
export class Job implements Lease {
  readonly id: bigint;
  /** Larger for each lease of the job. Systems that are written to can refuse a stale one. */
  readonly fence: bigint;
  readonly topic: string;
  readonly key: string | null;
  readonly priority: number;
  /** How often it was reserved, this time included. */
  readonly attempts: number;
  readonly due: Date;
  /** `due` in milliseconds, exact also after the year 275760, where `Date` ends. */
  readonly dueMs: bigint;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly attributes: Attributes;
  /** What was left of the lease when the job came. */
  readonly ttrMs: number;
  private deadline: number;
  private lost: LossReason | null = null;

  constructor(private readonly owner: JobOwner, { job, deadline, ttrMs }: Delivery) {
    this.id = job.job;
    this.fence = job.fence;
    this.topic = job.topic;
    this.key = job.key || null;
    this.priority = job.priority;
    this.attempts = job.attempts;
    this.due = new Date(Number(job.dueMs));
    this.dueMs = job.dueMs;
    this.body = job.body;
    this.attributes = job.attributes;
    this.headers = headersOf(job.attributes);
    this.deadline = deadline;
    this.ttrMs = ttrMs;
  }

  /** How long the lease is surely this client's own; 0 when it is over. */
  get leaseLeftMs(): number {
    return this.lossReason ? 0 : Math.max(0, this.deadline - this.owner.now);
  }

  /** When the lease ends, on the client's monotonic clock. */
  get leaseEndsAt(): number {
    return this.deadline;
  }

  /** Why the lease is over; `null` while it runs. */
  get lossReason(): LossReason | null {
    if (this.lost) return this.lost;
    if (this.owner.areLeasesLost()) return 'presumed_lost';
    return this.owner.now >= this.deadline ? 'time_over' : null;
  }

  /** Throws if the lease is over: then the work must stop. */
  throwIfLost(): void {
    const reason = this.lossReason;
    if (reason) throw new LeaseLostError(reason);
  }

  /** For the client: the lease is over for good. */
  markLost(reason: LossReason): void {
    this.lost ??= reason;
  }

  /** For the client: a TOUCH was answered. */
  prolong(deadline: number): void {
    this.deadline = deadline;
  }

  /** The body as its content type says: a value of JSON, a text, or bytes. */
  value(): unknown {
    return decodeBody(this.body, this.headers[CONTENT_TYPE]);
  }

  /** The body as JSON, whatever its content type. */
  json<T = unknown>(): T {
    return decodeJson(this.body) as T;
  }

  text(): string {
    return decodeText(this.body);
  }

  /** The work is done: the job is removed. */
  finish(): Promise<void> {
    return this.owner.finishOne(this);
  }

  /** Gives the job back; by default the attempt failed, and the job waits for its backoff. */
  release(how: ReleaseHow = { how: 'backoff' }): Promise<void> {
    return this.owner.releaseOne(this, how);
  }

  /** Starts the lease anew: for the job's own time to run, or for `ttrMs`. */
  touch(ttrMs?: number): Promise<void> {
    return this.owner.touchOne(this, ttrMs);
  }

  /** Sets the job aside until it is kicked or deleted. */
  bury(reason?: string): Promise<void> {
    return this.owner.buryOne(this, reason);
  }
}

/** Of headers with the same name the last one counts. */
function headersOf(attributes: Attributes): Readonly<Record<string, string>> {
  return Object.fromEntries(attributes.headers ?? []);
}

export type JobState = (typeof STATE_NAMES)[number];
export type BuryReason = 'consumer' | 'attempts' | 'too_late';
export const BURY_REASONS: readonly BuryReason[] = ['consumer', 'attempts', 'too_late'];

/** What a newer server shows that this client has no name for. */
export type Unknown = 'unknown';

export function stateOf(state: number): JobState | Unknown {
  return STATE_NAMES[state] ?? 'unknown';
}

/** One job, by its id or by its key. */
export type JobRef = bigint | { readonly id: bigint } | { readonly topic: string; readonly key: string };

/** A job as GET, PEEK and LIST show it. Times that did not happen, or are not known, are `null`. */
export interface JobInfo {
  readonly id: bigint;
  readonly state: JobState | Unknown;
  readonly topic: string;
  readonly key: string | null;
  readonly priority: number;
  readonly attempts: number;
  readonly due: Date;
  /** `due` in milliseconds, exact also after the year 275760, where `Date` ends. */
  readonly dueMs: bigint;
  readonly ttrMs: number;
  readonly ttrLeftMs: number;
  readonly buried: BuryReason | Unknown | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly attributes: Attributes;
  /** Empty in a list that does not show bodies. */
  readonly body: Uint8Array;
  readonly bodyBytes: number;
  readonly pushed: Date | null;
  readonly reservedFirst: Date | null;
  readonly reservedLast: Date | null;
  readonly edited: Date | null;
  /** Who got the last lease: the client's address, its token and its name. Only a token with the right `admin` for all topics sees it. */
  readonly heldBy: string | null;
  /** The last reason of a release or bury. */
  readonly reason: string | null;
  readonly finished: Date | null;
  /** What `ifVersion` of `reschedule` and `edit` compares: each change of the job makes it another; `null` in lists, and where it is not known. */
  readonly version: bigint | null;
}

export function jobInfo(shown: ShownValue & PastValue & { readonly bodyBytes?: number; readonly finishedMs?: bigint; readonly version?: bigint }): JobInfo {
  return {
    id: shown.job,
    state: stateOf(shown.state),
    topic: shown.topic,
    key: shown.key || null,
    priority: shown.priority,
    attempts: shown.attempts,
    due: new Date(Number(shown.dueMs)),
    dueMs: shown.dueMs,
    ttrMs: shown.ttrMs,
    ttrLeftMs: shown.ttrLeftMs,
    buried: shown.buried === 0 ? null : (BURY_REASONS[shown.buried - 1] ?? 'unknown'),
    headers: headersOf(shown.attributes),
    attributes: shown.attributes,
    body: shown.body,
    bodyBytes: shown.bodyBytes ?? shown.body.byteLength,
    pushed: dateOf(shown.pushedMs),
    reservedFirst: dateOf(shown.reservedFirstMs),
    reservedLast: dateOf(shown.reservedLastMs),
    edited: dateOf(shown.editedMs),
    heldBy: shown.heldBy || null,
    reason: shown.reason || null,
    finished: dateOf(shown.finishedMs ?? 0n),
    version: shown.version || null,
  };
}
