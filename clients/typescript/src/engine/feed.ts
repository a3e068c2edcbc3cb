/** Jobs of one subscription that came and were not taken yet. The credit of the subscription bounds them. */

import type { Delivery } from './leases.js';

export type Taken = { readonly delivery: Delivery } | { readonly end: Error | null } | null;

export class Feed {
  /** Whether the subscription stands on the present connection. */
  isActive = false;
  private jobs: Delivery[] = [];
  private ended: { error: Error | null } | null = null;
  private wakers: (() => void)[] = [];

  constructor(private creditJobs: number) {}

  get hasEnded(): boolean {
    return this.ended !== null;
  }

  get waiting(): number {
    return this.jobs.length;
  }

  addCredit(jobs: number): void {
    this.creditJobs += jobs;
  }

  /** Takes jobs in; says whether somebody wants them. */
  deliver(now: number, deliveries: readonly Delivery[]): boolean {
    if (this.ended) return false;
    this.jobs.push(...deliveries);
    // The server gives the credit of a lease back when it ends, also while its job waits here.
    if (this.jobs.length > this.creditJobs) this.jobs = this.jobs.filter((one) => one.deadline > now);
    this.wake();
    return true;
  }

  /** The next job whose lease still runs; `null` if there is none yet. */
  take(now: number): Taken {
    for (let next = this.jobs.shift(); next; next = this.jobs.shift()) {
      if (next.deadline > now) return { delivery: next };
    }
    return this.ended ? { end: this.ended.error } : null;
  }

  /** Calls back once when there may be something to take. The result ends that. */
  whenChanged(callback: () => void): () => void {
    this.wakers.push(callback);
    return () => {
      this.wakers = this.wakers.filter((waker) => waker !== callback);
    };
  }

  /** When the first of the leases here is half over; never if there is none. */
  get halfAt(): number {
    let first = Infinity;
    for (const one of this.jobs) first = Math.min(first, halfOf(one));
    return first;
  }

  /** Takes out the jobs whose leases are half over. Returns those whose leases still run. */
  takeHalfOver(now: number): Delivery[] {
    const over = this.jobs.filter((one) => halfOf(one) <= now);
    if (over.length > 0) this.jobs = this.jobs.filter((one) => halfOf(one) > now);
    return over.filter((one) => one.deadline > now);
  }

  /** Takes out everything. */
  drain(): Delivery[] {
    return this.jobs.splice(0);
  }

  /** No more jobs come. The first reason stays. */
  end(error: Error | null): void {
    this.isActive = false;
    this.ended ??= { error };
    this.wake();
  }

  private wake(): void {
    for (const waker of this.wakers.splice(0)) waker();
  }
}

function halfOf({ deadline, ttrMs }: Delivery): number {
  return deadline - ttrMs / 2;
}
