/** Extends one lease while its handler runs, and says when it is lost. */

import type { Client } from './client.js';
import { LeaseLostError, RunTooLongError, type AdjournError, type LossReason } from './errors.js';
import type { Job } from './job.js';

export class LeaseKeeper {
  lossReason: LossReason | null = null;
  private isStopped = false;
  private isTouching = false;
  private cancelTimer: () => void = () => {};
  private readonly forget: () => void;
  private readonly endsAt: number;
  private hasRunTooLong = false;

  constructor(
    private readonly client: Client,
    private readonly job: Job,
    private readonly runMsMax: number,
    private readonly cancel: (error: AdjournError) => void,
  ) {
    this.endsAt = this.now + runMsMax;
    this.forget = client.connection.engine.leases.onLost((reason) => this.lose(reason));
    this.arm();
  }

  stop(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.cancelTimer();
    this.forget();
  }

  private get now(): number {
    return this.client.config.clock.now();
  }

  /** When half of the time is over. */
  private get touchAt(): number {
    return this.job.leaseEndsAt - this.job.ttrMs / 2;
  }

  private arm(): void {
    if (this.isStopped) return;
    this.cancelTimer();
    const next = Math.min(this.job.leaseEndsAt, this.hasRunTooLong ? Infinity : this.endsAt, this.isTouching || this.hasRunTooLong ? Infinity : this.touchAt);
    this.cancelTimer = this.client.config.clock.after(next - this.now, () => this.look());
  }

  private look(): void {
    if (this.isStopped) return;
    const loss = this.job.lossReason;
    if (loss) return this.lose(loss);
    if (!this.hasRunTooLong && this.now >= this.endsAt) {
      // The lease runs out from here on: the handler has what is left of it to come to an end.
      this.hasRunTooLong = true;
      this.cancel(new RunTooLongError(this.runMsMax));
    }
    if (!this.hasRunTooLong && !this.isTouching && this.now >= this.touchAt) void this.touch();
    this.arm();
  }

  private async touch(): Promise<void> {
    this.isTouching = true;
    try {
      await this.job.touch();
      this.isTouching = false;
      this.arm();
    } catch (error) {
      // Without an answer the lease runs to its deadline.
      if ((error as { code?: string }).code === 'STALE_LEASE') this.lose(this.job.lossReason ?? 'lease_lost');
    }
  }

  private lose(reason: LossReason): void {
    if (this.isStopped) return;
    this.lossReason = reason;
    this.job.markLost(reason);
    this.stop();
    this.cancel(new LeaseLostError(reason));
  }
}
