/**
 * The leased jobs that callers hold. When the session's leases are lost they are lost for good, also if the session is
 * resumed later; the server gets back those that it may hold for this client still.
 */

import type { Engine } from './engine/engine.js';
import type { LossReason } from './errors.js';
import type { Job } from './job.js';

const SWEEP_MIN = 1_024;

export class Held {
  private readonly jobs = new Map<bigint, Job>();
  private sweepAt = SWEEP_MIN;

  constructor(private readonly engine: Engine) {
    engine.leases.onLost((reason) => this.lose(reason));
  }

  add(job: Job): Job {
    this.jobs.set(job.fence, job);
    // Jobs that were forgotten by their caller leave when their time is over.
    if (this.jobs.size >= this.sweepAt) {
      for (const [fence, one] of this.jobs) if (one.leaseEndsAt <= this.engine.now) this.jobs.delete(fence);
      this.sweepAt = Math.max(SWEEP_MIN, this.jobs.size * 2);
    }
    return job;
  }

  remove(fence: bigint): void {
    this.jobs.delete(fence);
  }

  private lose(reason: LossReason): void {
    const jobs = [...this.jobs.values()];
    this.jobs.clear();
    for (const job of jobs) job.markLost(reason);
    if (reason === 'presumed_lost') this.engine.giveBack(jobs.map(({ id, fence }) => ({ job: id, fence })), 0n);
  }
}
