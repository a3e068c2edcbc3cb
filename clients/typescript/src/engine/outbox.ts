/**
 * Requests that wait for their turn, in order, and what bounds those that are under way: how many requests may be
 * unanswered, and over how many jobs the queue remembers the pushes of a session, or those under keys.
 */

import { PRODUCER_WINDOW_MAX } from '../protocol/limits.js';
import type { Open } from './open.js';

/**
 * How many jobs of pushes under keys may be unanswered. The queue remembers 65,536 such jobs, of all clients together: were
 * more of them under way when the connection is lost, it would have forgotten the first ones, and push them again.
 */
const KEYED_JOBS_MAX = 8_192;

export class Outbox {
  private line: Open[] = [];
  /** How many of the line have gone. */
  private gone = 0;
  /** Pushes that were sent, the oldest first. */
  private window: Open[] = [];
  private sequenceNext = 1n;
  private unanswered = 0;

  get isEmpty(): boolean {
    return this.gone === this.line.length;
  }

  /** Whether every request that was sent was answered. */
  get isAnswered(): boolean {
    return this.unanswered === 0;
  }

  add(open: Open): void {
    this.line.push(open);
  }

  /** These go before all others. */
  addFirst(...opens: Open[]): void {
    this.line.splice(0, this.gone, ...opens);
    this.gone = 0;
  }

  /** The connection is gone: these wait for the next one, in the order of their calls. */
  restart(opens: readonly Open[]): void {
    this.line = [...opens].sort((a, b) => a.serial - b.serial);
    this.gone = 0;
    this.unanswered = 0;
  }

  /** The session is new, or there is none: numbers start at 1. */
  renumber(): void {
    this.sequenceNext = 1n;
    this.window = [];
  }

  /** The next request to send, if its turn has come. A push has its numbers from then on. */
  next(unansweredMax: number): Open | null {
    while (!this.isEmpty && this.line[this.gone]!.isDone) this.gone += 1;
    const open = this.line[this.gone];
    if (!open || this.unanswered >= unansweredMax || !this.fitsWindow(open)) {
      this.trim();
      return null;
    }
    this.gone += 1;
    return open;
  }

  sent(open: Open): void {
    if (open.jobs > 0 && open.sequence === 0n) {
      open.sequence = this.sequenceNext;
      this.sequenceNext += BigInt(open.jobs);
      this.window.push(open);
    }
    open.isCounted = true;
    this.unanswered += 1;
  }

  /** It takes no place any more. Says whether it had one. */
  answered(open: Open): boolean {
    if (!open.isCounted) return false;
    open.isCounted = false;
    this.unanswered -= 1;
    return true;
  }

  /** Whether a push stays within what the queue remembers of this session, or of keys. */
  private fitsWindow(open: Open): boolean {
    if (open.jobs === 0) return true;
    while (this.window[0]?.isDone) this.window.shift();
    const oldest = this.window[0];
    if (!oldest || open.sequence !== 0n) return true;
    return this.sequenceNext + BigInt(open.jobs) - oldest.sequence <= BigInt(open.isKeyed ? KEYED_JOBS_MAX : PRODUCER_WINDOW_MAX);
  }

  private trim(): void {
    if (this.gone > 0) this.line.splice(0, this.gone);
    this.gone = 0;
  }
}
