/** A clock that a test sets. */

import type { Clock } from '../clock.js';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Turns of the event loop in which everything that is under way comes to rest. */
const TURNS = 20;

export class ManualClock implements Clock {
  private time = 1_000;
  private readonly timers = new Set<Timer>();

  /** `start` is what the wall clock shows at first. */
  constructor(private readonly start = new Date('2026-01-01T00:00:00Z')) {}

  now(): number {
    return this.time;
  }

  wall(): number {
    return this.start.getTime() + this.time - 1_000;
  }

  after(ms: number, callback: () => void): () => void {
    // Whole milliseconds, and never early: the one who set it would find nothing to do yet.
    const timer = { at: Math.ceil(this.time + Math.max(0, ms)), callback };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** Lets so much time pass: every timer fires at its time, and what follows from it happens. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    await this.rest();
    for (;;) {
      const next = [...this.timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers.delete(next);
      this.time = Math.max(this.time, next.at);
      next.callback();
      await this.rest();
    }
    this.time = end;
    await this.rest();
  }

  /** Waits until what is under way has happened, without letting time pass. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
  }
}
