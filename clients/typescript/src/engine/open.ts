/** A request from the call until its answer. */

import type { AdjournError } from '../errors.js';
import type { Request, Response } from '../protocol/messages.js';
import type { Backoff } from './backoff.js';
import type { Feed } from './feed.js';

/** The payload begins with the sequence of a PUSH, or the wait of a RESERVE. */
const PAYLOAD_AT = 12;
const ID_AT = 8;

export interface Waiter {
  resolve(response: Response): void;
  reject(error: unknown): void;
}

export class Open {
  /** Sent, and not answered. */
  isOnWire = false;
  /** Copies that were sent and may have been applied. */
  doubts = 0;
  sentAt = 0;
  /** The number of the first job of a PUSH; 0 while none was given out. Under a key it is not sent: it shows which pushes are older. */
  sequence = 0n;
  /** Whether it takes a place of those in flight. */
  isCounted = false;
  isDone = false;
  /** When it is sent again after a refusal, or after an answer that was not the last word; 0 if it does not wait for that. */
  retryAt = 0;
  /** How long it waits each time. */
  waits: Backoff | null = null;
  /** Connections that ended with a fault of the protocol while it was on the wire. */
  faults = 0;
  /** The last refusal that led to a retry. */
  refusal: AdjournError | null = null;

  constructor(
    readonly id: number,
    /** Rises with each request. */
    readonly serial: number,
    public request: Request,
    public frame: Uint8Array,
    readonly acceptedAt: number,
    readonly deadline: number,
    public waiter: Waiter | null,
    readonly feed: Feed | null,
  ) {}

  get jobs(): number {
    return this.request.name === 'PUSH' ? this.request.fields.jobs.length : 0;
  }

  /** Whether it is a push that is known by a key. */
  get isKeyed(): boolean {
    return this.request.name === 'PUSH' && this.request.fields.idempotency !== 0n;
  }

  /** Whether it is a push that may have been applied. */
  get isDoubtfulPush(): boolean {
    return this.doubts > 0 && this.request.name === 'PUSH';
  }

  get wasLeft(): boolean {
    return this.feed?.hasEnded ?? false;
  }

  /** The frame as it is sent now: with its numbers, or with what is left of its wait. */
  toSend(now: number): Uint8Array {
    const view = new DataView(this.frame.buffer, this.frame.byteOffset, this.frame.byteLength);
    view.setUint32(ID_AT, this.id, true);
    if (this.request.name === 'PUSH') view.setBigUint64(PAYLOAD_AT, this.isKeyed ? 0n : this.sequence, true);
    if (this.request.name === 'RESERVE') {
      view.setBigUint64(PAYLOAD_AT, BigInt(Math.ceil(this.waitLeftMs(Number(this.request.fields.waitMs), now))), true);
    }
    return this.frame;
  }

  /** A RESERVE that waits stays one when it is sent again, however late: one that does not is another request to the server. */
  private waitLeftMs(waitMs: number, now: number): number {
    return waitMs === 0 ? 0 : Math.max(1, waitMs - (now - this.acceptedAt));
  }
}
