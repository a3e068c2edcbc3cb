/**
 * Pushes of single jobs that are called one after the other without waiting travel in one PUSH.
 *
 * What is called in one turn of the event loop for the same topic is sent at its end, in the order of the calls: nothing
 * waits for company. Each job has its own outcome. If the server refuses the request as a whole, and says that nothing was
 * applied, each job is sent by itself, so that one job that cannot be accepted harms no other.
 */

import { AdjournError, QueueFullError } from './errors.js';
import type { NewJobValue, ResponseFields, WelcomeFields } from './protocol/messages.js';
import { batchesOf, jobBytes } from './push-batches.js';

/** What became of one job, as it stands in PUSHED. */
export type PushOutcome = ResponseFields<'PUSHED'>['results'][number];

interface Waiting {
  readonly job: NewJobValue;
  resolve(outcome: PushOutcome): void;
  reject(error: unknown): void;
}

export interface PushSender {
  readonly limits: WelcomeFields;
  /** Calls without an answer, those here not counted, and how many there may be. */
  readonly pending: number;
  readonly pendingMax: number;
  send(topic: string, jobs: NewJobValue[]): Promise<readonly PushOutcome[]>;
}

export class GatheredPushes {
  private topic = '';
  private waiting: Waiting[] = [];
  private unanswered = 0;

  constructor(private readonly sender: PushSender) {}

  /** Sends the job with others that are pushed in this turn of the event loop. */
  push(topic: string, job: NewJobValue): Promise<PushOutcome> {
    // A job that cannot be sent fails here, alone.
    jobBytes(job, this.sender.limits);
    if (this.unanswered + this.sender.pending >= this.sender.pendingMax) throw new QueueFullError(this.unanswered);
    if (topic !== this.topic) this.flush();
    this.topic = topic;
    this.unanswered += 1;
    return new Promise((resolve, reject) => {
      if (this.waiting.push({ job, resolve, reject }) === 1) queueMicrotask(() => this.flush());
    });
  }

  /** Sends what was gathered: before any other call, so that the order of the calls is kept. */
  flush(): void {
    if (this.waiting.length === 0) return;
    const { topic, waiting } = this;
    this.waiting = [];
    let from = 0;
    try {
      const batches = batchesOf(waiting.map(({ job }) => job), this.sender.limits);
      for (const { length } of batches) void this.send(topic, waiting.slice(from, (from += length)));
    } catch (error) {
      // A server with smaller limits has welcomed the client meanwhile.
      this.fail(waiting, error);
    }
  }

  private async send(topic: string, batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.sender.send(topic, batch.map(({ job }) => job));
      this.unanswered -= batch.length;
      for (const [at, { resolve }] of batch.entries()) resolve(outcomes[at]!);
    } catch (error) {
      if (batch.length > 1 && wasRefused(error)) return void batch.forEach((one) => void this.send(topic, [one]));
      this.fail(batch, error);
    }
  }

  private fail(batch: readonly Waiting[], error: unknown): void {
    this.unanswered -= batch.length;
    for (const { reject } of batch) reject(error);
  }
}

function wasRefused(error: unknown): boolean {
  return error instanceof AdjournError && error.applied === 'no' && !error.retryable;
}
