/** Time, as the client sees it. Tests set another clock. */

export interface Clock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Milliseconds since the Unix epoch. */
  wall(): number;
  /** Calls back once after so many milliseconds. The result cancels that. */
  after(ms: number, callback: () => void): () => void;
}

/** A timer of Node fires at once if it is set for longer than this. */
const TIMER_MS_MAX = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, callback) {
    // Rounded up: a timer that fires a little early would find nothing to do yet.
    const timer = setTimeout(callback, Math.min(Math.ceil(Math.max(ms, 0)), TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
};

/** Waits; a signal ends the wait early, without an error. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener('abort', done);
  });
}
