/** For tests of programs that use this client: a real server of their own, with a clock that they move. */

export { startQueue, TestQueue, type IdleOptions, type TestEnd, type TestQueueOptions } from './queue.js';
export type { JobFields, JobMatch, TestJob } from './jobs.js';
