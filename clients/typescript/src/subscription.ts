/** Jobs as they become ready. */

import { pause, type Clock } from './clock.js';
import type { Engine } from './engine/engine.js';
import type { Open } from './engine/open.js';
import type { Held } from './held.js';
import { Job, type JobOwner } from './job.js';
import { CREDIT_BYTES_MAX, CREDIT_JOBS_MAX } from './protocol/limits.js';
import { wholeNumber } from './whole-number.js';

/**
 * Yields jobs until it is closed, or the client is. Survives reconnects. Ending the loop, or `close`, gives back the
 * jobs that were not taken, without counting an attempt. Jobs that were taken are yours to settle.
 */
export class Subscription implements AsyncIterableIterator<Job> {
  private closing: Promise<void> | null = null;
  private readonly onAbort = () => void this.close();

  constructor(
    private readonly engine: Engine,
    private readonly owner: JobOwner,
    private readonly held: Held,
    private readonly clock: Clock,
    private readonly open: Open,
    /** Resolves when the server acknowledged the subscription for the first time. */
    readonly ready: Promise<void>,
    private readonly signal: AbortSignal | undefined,
  ) {
    if (signal?.aborted) this.onAbort();
    signal?.addEventListener('abort', this.onAbort);
  }

  /** Whether the subscription stands on the present connection. */
  get isActive(): boolean {
    return this.open.feed!.isActive;
  }

  /** How many jobs wait to be taken. */
  get waiting(): number {
    return this.open.feed!.waiting;
  }

  /** The next job. Done when the subscription was closed; throws what ended it otherwise. */
  async next(): Promise<IteratorResult<Job, undefined>> {
    for (;;) {
      const result = this.poll();
      if (result && !result.done) this.held.add(result.value);
      if (result) return result;
      await new Promise<void>((resolve) => this.open.feed!.whenChanged(resolve));
    }
  }

  /** The next job, if one comes within so many milliseconds; else, and after the end, `null`. */
  async take(waitMs: number): Promise<Job | null> {
    const end = this.engine.now + waitMs;
    for (;;) {
      const result = this.poll();
      if (result) return result.done ? null : this.held.add(result.value);
      if (this.engine.now >= end) return null;
      const changed = new AbortController();
      const forget = this.whenChanged(() => changed.abort());
      await pause(this.clock, end - this.engine.now, changed.signal);
      forget();
    }
  }

  /** For the worker, which looks after the lease: the next job; `null` if none is there. Throws what ended the subscription. */
  poll(): IteratorResult<Job, undefined> | null {
    const taken = this.open.feed!.take(this.engine.now);
    if (!taken) return null;
    if ('delivery' in taken) return { done: false, value: new Job(this.owner, taken.delivery) };
    this.signal?.removeEventListener('abort', this.onAbort);
    if (taken.end) throw taken.end;
    return { done: true, value: undefined };
  }

  /** Calls back once when a job may be there, or the end. The result ends that. */
  whenChanged(callback: () => void): () => void {
    return this.open.feed!.whenChanged(callback);
  }

  /** Asks for more jobs at once than before. */
  async addCredit(jobs: number, bytes = CREDIT_BYTES_MAX): Promise<void> {
    return this.engine.credit(this.open, wholeNumber('jobs', jobs, CREDIT_JOBS_MAX), BigInt(wholeNumber('bytes', bytes, CREDIT_BYTES_MAX)));
  }

  /** Ends it. Resolves when the server sends no more jobs. */
  close(): Promise<void> {
    this.signal?.removeEventListener('abort', this.onAbort);
    this.closing ??= this.engine.unsubscribe(this.open).catch(() => {});
    return this.closing;
  }

  async return(): Promise<IteratorResult<Job, undefined>> {
    await this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
