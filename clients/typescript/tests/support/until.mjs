// Waits for a condition, with a deadline.

import { setTimeout as sleep } from 'node:timers/promises';

export async function until(what, condition, timeoutMs = 10_000) {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`not in time: ${what}`);
    await sleep(5);
  }
}

/** A promise that is resolved from outside. */
export function latch() {
  let open;
  const promise = new Promise((resolve) => {
    open = resolve;
  });
  return { promise, open };
}
