// A clock of the client that a test sets: for its heartbeats, deadlines and waits. It does not move the clock of a server.

import { setImmediate as turn } from 'node:timers/promises';

/** Turns of the event loop in which what is under way in this process comes to rest. */
const TURNS = 20;

export class ManualClock {
  time = 1_000;
  timers = new Set();

  now() {
    return this.time;
  }

  wall() {
    return Date.UTC(2026) + this.time - 1_000;
  }

  after(ms, callback) {
    // Whole milliseconds, and never early: the one who set it would find nothing to do yet.
    const timer = { at: Math.ceil(this.time + Math.max(0, ms)), callback };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** Lets so much time pass: every timer fires at its time, and what follows from it in this process happens. */
  async advance(ms) {
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

  /** Waits until what is under way in this process has happened, without letting time pass. */
  async rest() {
    for (let turns = 0; turns < TURNS; turns += 1) await turn();
  }
}
