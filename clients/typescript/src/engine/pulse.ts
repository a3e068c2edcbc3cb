/** When to send a heartbeat, and when a server counts as gone or stuck. */

import { PING_ID_MAX, PING_ID_MIN } from './ids.js';

/** A server may take so long for an answer while nothing else moves, or two heartbeats if that is more. */
const ANSWER_MS_MAX = 5_000;
/** WELCOME names the members once; so often the client asks again, to know where to go when its server dies. */
const MEMBERS_EVERY_MS = 5_000;
const MEMBERS_FIRST_MS = 1_000;

export class Pulse {
  /** When something came last. */
  heardAt: number;
  /** When something moved last that does not when a server is stuck. */
  movedAt: number;
  private spokenAt: number;
  private pingedAt: number;
  /** When each PING without an answer was sent, by its id. */
  private readonly pings = new Map<number, number>();
  private pingId = PING_ID_MIN;
  private membersDue: number;
  private isMembersAsked = false;

  constructor(
    now: number,
    /** `Infinity`: the server wants no heartbeats. */
    readonly everyMs: number,
  ) {
    this.heardAt = now;
    this.movedAt = now;
    this.spokenAt = now;
    this.pingedAt = now;
    this.membersDue = now + MEMBERS_FIRST_MS;
  }

  get answerMsMax(): number {
    return this.everyMs === Infinity ? ANSWER_MS_MAX : Math.max(ANSWER_MS_MAX, 2 * this.everyMs);
  }

  /** From then on the connection counts as lost. */
  get lostAt(): number {
    return this.heardAt + 2 * this.everyMs;
  }

  spoke(now: number): void {
    this.spokenAt = now;
  }

  /** When PING is due, given when the last proof was asked for; `Infinity` if none is needed. */
  pingDue(proven: number): number {
    return Math.max(Math.min(this.heardAt, this.spokenAt, proven), this.pingedAt) + this.everyMs;
  }

  /** A PING is sent. Returns its id. */
  pinged(now: number): number {
    this.pingedAt = now;
    this.pingId = this.pingId >= PING_ID_MAX ? PING_ID_MIN : this.pingId + 1;
    this.pings.set(this.pingId, now);
    return this.pingId;
  }

  /** When the PING with this id was sent. */
  ponged(id: number): number | undefined {
    const sent = this.pings.get(id);
    this.pings.delete(id);
    return sent;
  }

  /** Whether it is time to ask for the members. */
  asksMembers(now: number): boolean {
    if (this.membersDue > now) return false;
    this.membersDue = now + MEMBERS_EVERY_MS;
    if (this.isMembersAsked) return false;
    this.isMembersAsked = true;
    return true;
  }

  /** The question for the members was answered. */
  membersTold(): void {
    this.isMembersAsked = false;
  }

  get nextMembers(): number {
    return this.membersDue;
  }

  stopAskingMembers(): void {
    this.membersDue = Infinity;
  }
}
