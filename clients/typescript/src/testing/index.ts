/** A queue in memory and a clock that a test sets. */

export { FakeQueue, type FakeQueueOptions } from './fake-queue.js';
export { ManualClock } from './clock.js';
