/**
 * How long this client may treat its leases as its own.
 *
 * Two things end a lease without notice to its holder: its deadline, and the grace of a session whose connection the
 * server counts as lost. The client counts both from moments that are never later than the server's: a lease ends at a
 * point of the server's clock, which showed the value in PONG no earlier than PING was sent; and the grace begins no
 * earlier than the last request was sent that the leader answered.
 */

import type { LossReason } from '../errors.js';
import { PROOFS, type DeliveredValue, type Response, type WelcomeFields } from '../protocol/messages.js';

/** Two clocks may differ in speed by a thousandth. */
const CERTAIN = 0.999;
const HEARTBEATS_PER_GRACE = 4;
const HEARTBEAT_MS_MIN = 100;
/** The wall clock runs ahead of the monotonic one by more than this only if the machine slept, or somebody set it. */
const SLEPT_MS_MIN = 1_000;

/** A delivered job, and when its lease ends on the client's monotonic clock. */
export interface Delivery {
  readonly job: DeliveredValue;
  readonly deadline: number;
  /** What was left of the lease when the job came. */
  readonly ttrMs: number;
}

/** Whether an answer shows that the session was connected to the leader after the request was sent. */
function isProof(response: Response): boolean {
  if (response.name === 'RESERVED' || response.name === 'DELIVER') return response.fields.jobs.length > 0;
  return PROOFS.has(response.name);
}

export class Leases {
  /** When the last request was sent whose answer is a proof. */
  proven: number;
  private graceMs = Infinity;
  private presumedLostAt: number | null = null;
  private clock: { sent: number; clockMs: bigint } | null = null;
  private seen: { now: number; wall: number } | null = null;
  private readonly listeners = new Set<(reason: LossReason) => void>();

  constructor(said: number, welcome: WelcomeFields, private readonly outlive: boolean) {
    this.proven = said;
    this.welcomed(said, welcome);
  }

  /** A new connection, whose HELLO was sent at `said`. */
  up(said: number, welcome: WelcomeFields, kept: boolean): void {
    if (!kept) this.lose('lease_lost');
    // A WELCOME that keeps leases proves nothing: the leader that sends it may be deposed already.
    if (!kept || this.presumedLostAt !== null) this.proven = said;
    this.presumedLostAt = null;
    this.welcomed(said, welcome);
  }

  /** When the leases will be presumed lost. */
  get endsAt(): number {
    return this.presumedLostAt !== null ? Infinity : this.proven + this.graceMs;
  }

  /** Whether another consumer may have the jobs by now. */
  areOver(now: number): boolean {
    return this.presumedLostAt !== null || this.proven + this.graceMs <= now;
  }

  /** Compares both clocks: the monotonic one may stop while the machine sleeps. After a sleep nothing is known of any lease. */
  look(now: number, wall: number): void {
    const before = this.seen;
    this.seen = { now, wall };
    if (before && wall - before.wall - (now - before.now) > SLEPT_MS_MIN && this.graceMs !== Infinity) this.proven = now - this.graceMs;
  }

  /** Presumes the leases lost if it is time. Says whether that is new. */
  presume(now: number): boolean {
    if (this.presumedLostAt !== null || !this.areOver(now)) return false;
    this.presumedLostAt = now;
    this.lose('presumed_lost');
    return true;
  }

  /** An answer came to a request that was sent at `sent`. */
  answered(sent: number, response: Response): void {
    if (response.name === 'PONG') this.showClock(sent, response.fields.clockMs);
    if (isProof(response) && (this.presumedLostAt === null || this.presumedLostAt < sent)) {
      this.presumedLostAt = null;
      this.proven = Math.max(this.proven, sent);
    }
  }

  /** How long the lease of a job that came at `now` is this client's own. */
  deliveryOf(now: number, job: DeliveredValue): Delivery {
    let leftMs = job.ttrLeftMs;
    if (this.clock && job.deadlineMs > 0n) {
      leftMs = Math.min(leftMs, this.clock.sent + Number(job.deadlineMs - this.clock.clockMs) - now);
    }
    const ttrMs = Math.max(0, leftMs * CERTAIN);
    return { job, ttrMs, deadline: now + ttrMs };
  }

  /** The deadline after a TOUCH that was sent at `sent` for so many milliseconds. */
  touchedUntil(sent: number, ttrMs: number): number {
    return sent + ttrMs * CERTAIN;
  }

  /** Is told each time that all leases are lost. The result ends that. */
  onLost(listener: (reason: LossReason) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private lose(reason: LossReason): void {
    for (const listener of [...this.listeners]) listener(reason);
  }

  private welcomed(said: number, welcome: WelcomeFields): void {
    // A server that asks for no heartbeats does not notice that a client is silent.
    const graceMs = Math.max(welcome.sessionGraceMs, HEARTBEAT_MS_MIN * HEARTBEATS_PER_GRACE);
    this.graceMs = this.outlive || welcome.heartbeatMs === 0 ? Infinity : graceMs * CERTAIN;
    this.clock = null;
    this.showClock(said, welcome.clockMs);
  }

  private showClock(sent: number, clockMs: bigint): void {
    if (clockMs > 0n && (!this.clock || sent >= this.clock.sent)) this.clock = { sent, clockMs };
  }
}

/** How often the client asks for a proof; `Infinity` if the server wants no heartbeats. */
export function heartbeatOf(welcome: WelcomeFields, wishMs: number, outlive: boolean): number {
  if (welcome.heartbeatMs === 0) return Infinity;
  const every = wishMs > 0 ? Math.min(wishMs, welcome.heartbeatMs) : welcome.heartbeatMs;
  if (outlive) return every;
  return Math.min(every, Math.max(welcome.sessionGraceMs / HEARTBEATS_PER_GRACE, HEARTBEAT_MS_MIN));
}
