/**
 * Runs a handler for each job of some topics.
 *
 * A job is finished only after its handler returned, and released if the handler throws. While the handler runs, the
 * lease is extended. If the lease is lost all the same, the handler's signal is aborted with the reason, and nothing is
 * settled with its result: another consumer may have the job.
 */

import type { Client, Stoppable } from './client.js';
import { pause } from './clock.js';
import { AdjournError, LeaseLostError, RunTooLongError, UsageError, WorkerStoppingError, type LossReason } from './errors.js';
import { UnsupportedError } from './server-errors.js';
import type { Job, ReleaseHow } from './job.js';
import { FailureLog } from './failure-log.js';
import { onlyKnown, type Names } from './known.js';
import { LeaseKeeper } from './lease-keeper.js';
import { utf8 } from './protocol/bytes.js';
import { REASON_BYTES_MAX } from './protocol/limits.js';
import type { Subscription } from './subscription.js';
import { sound, textOf } from './thrown.js';
import { durationMs } from './time.js';

export interface HandlerContext {
  /**
   * Is aborted when the work must stop: with a `LeaseLostError`, when the result will not count any more; with a
   * `WorkerStoppingError` or a `RunTooLongError`, when the handler should come to an end.
   */
  readonly signal: AbortSignal;
}

export type Handler = (job: Job, context: HandlerContext) => unknown;
/** Runs around each handler: the first one is the outermost. */
export type Middleware = (job: Job, context: HandlerContext, next: () => Promise<void>) => Promise<void>;

export interface WorkerOptions {
  /** From which topics, 1 to 64. */
  topics: string | readonly string[];
  handler: Handler;
  /** How many handlers run at once: 8. */
  concurrency?: number;
  /**
   * How many jobs may wait in memory beyond that: 0. It saves a round trip for each short job. Its price: their leases run, nobody
   * else gets them meanwhile, and if this process dies, each of them has used up an attempt. A job that no handler has started at
   * half of its lease is given back, without an attempt.
   */
  prefetch?: number;
  /** One per topic: topics take turns by them. */
  weights?: readonly number[];
  middleware?: readonly Middleware[];
  /** For how long a lease is extended while its handler runs: an hour. */
  runMsMax?: number;
  /** How long `stop` may take: 30,000. `close` of the client gives the worker this time, or its `closeTimeoutMs` if that is longer. */
  stopTimeoutMs?: number;
}

export interface WorkerHealth {
  /** A connection stands, the server was heard of lately, and it sends jobs to this worker. */
  readonly isConsuming: boolean;
  readonly isStopping: boolean;
  /** Handlers that run. */
  readonly running: number;
  /** Jobs in memory that no handler has started. */
  readonly waiting: number;
  readonly finished: number;
  readonly failed: number;
  /** Leases that were lost while a handler ran. */
  readonly lost: number;
  readonly loopBlockedMsMax: number;
}

export interface StopResult {
  /** Handlers that had not come to an end at the deadline. Nothing is settled with their results. */
  readonly abandoned: number;
}

/** Thrown by a handler: the job failed, and the next attempt is after this time. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly delayMs: number;
  constructor(delayMs: number, message = 'the handler asked for a later attempt') {
    super(message);
    this.delayMs = durationMs('delayMs', delayMs);
  }
}

/** Thrown by a handler: the job is set aside, without further attempts. */
export class BuryJob extends Error {
  override readonly name = 'BuryJob';
}

interface Run {
  readonly job: Job;
  readonly controller: AbortController;
  readonly keeper: LeaseKeeper;
  isAbandoned: boolean;
}

const OPTIONS: Names<WorkerOptions> = {
  topics: true,
  handler: true,
  concurrency: true,
  prefetch: true,
  weights: true,
  middleware: true,
  runMsMax: true,
  stopTimeoutMs: true,
};

/** How a job of a handler that failed goes back. */
type Failed = Exclude<ReleaseHow, { readonly how: 'not_started' | 'parked' }>;

const RUN_MS_MAX = 3_600_000;
const STOP_MS_MAX = 30_000;
/** Of the time to stop, handlers have this part until they are told to come to an end. */
const DRAIN_PART = 0.75;

export class Worker implements Stoppable, AsyncDisposable {
  /** Resolves when the server sends jobs to this worker for the first time; rejects if it refuses. */
  readonly ready: Promise<void>;
  /** Resolves when the worker has ended: with why, or with `null` after `stop`. It never rejects. */
  readonly ended: Promise<Error | null>;
  private readonly subscription: Subscription;
  private readonly concurrency: number;
  private readonly runMsMax: number;
  private readonly stopTimeoutMs: number;
  private readonly running = new Set<Run>();
  private readonly counts = { finished: 0, failed: 0, lost: 0 };
  private readonly disown: () => void;
  private readonly failures: FailureLog;
  private readonly run: (job: Job, context: HandlerContext) => Promise<void>;
  private resolveEnded!: (error: Error | null) => void;
  private idle: (() => void) | null = null;
  private isListening = false;
  private hasEnded = false;
  private stopping: Promise<StopResult> | null = null;

  constructor(
    private readonly client: Client,
    options: WorkerOptions,
  ) {
    onlyKnown('a worker', options, OPTIONS);
    if (typeof options.handler !== 'function') throw new UsageError('handler is a function');
    this.concurrency = options.concurrency ?? 8;
    const prefetch = options.prefetch ?? 0;
    if (!Number.isInteger(this.concurrency) || this.concurrency < 1) throw new UsageError('concurrency is a whole number from 1 on');
    if (!Number.isInteger(prefetch) || prefetch < 0) throw new UsageError('prefetch is a whole number from 0 on');
    this.runMsMax = durationMs('runMsMax', options.runMsMax ?? RUN_MS_MAX);
    if (this.runMsMax === 0) throw new UsageError('runMsMax is 0, it must be at least 1: leave it out for an hour');
    this.stopTimeoutMs = durationMs('stopTimeoutMs', options.stopTimeoutMs ?? STOP_MS_MAX);
    this.failures = new FailureLog(client.config.clock, client.config.log);
    const { middleware = [] } = options;
    if (!Array.isArray(middleware) || !middleware.every((one) => typeof one === 'function')) throw new UsageError('middleware must be a list of functions');
    const { tracing } = client.config;
    this.run = compose(tracing ? [tracing.process, ...middleware] : middleware, options.handler);
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    const { weights } = options;
    this.subscription = client.subscribe(options.topics, { credit: this.concurrency + prefetch, ...(weights && { weights }) });
    this.ready = this.subscription.ready;
    this.disown = client.adopt(this);
    this.fill();
  }

  health(): WorkerHealth {
    const { isConnected, loopBlockedMsMax } = this.client.health();
    return {
      isConsuming: isConnected && this.subscription.isActive && !this.stopping && !this.hasEnded,
      isStopping: this.stopping !== null,
      running: this.running.size,
      waiting: this.subscription.waiting,
      ...this.counts,
      loopBlockedMsMax,
    };
  }

  /**
   * Takes nothing new, gives back what no handler has started without counting an attempt, and waits for the handlers.
   * At three quarters of the time their signals are aborted. It always ends at `timeoutMs`.
   */
  stop(options: { readonly timeoutMs?: number } = {}): Promise<StopResult> {
    onlyKnown('stop', options, { timeoutMs: true });
    this.stopping ??= this.wind(durationMs('timeoutMs', options.timeoutMs ?? this.stopTimeoutMs));
    return this.stopping;
  }

  async stopFor(timeoutMs: number): Promise<boolean> {
    const { abandoned } = await this.stop({ timeoutMs: Math.max(timeoutMs, this.stopTimeoutMs) });
    return abandoned === 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async wind(timeoutMs: number): Promise<StopResult> {
    const { clock } = this.client.config;
    const end = clock.now() + timeoutMs;
    const closed = this.subscription.close();
    await this.untilIdle(timeoutMs * DRAIN_PART);
    for (const { controller } of this.running) controller.abort(new WorkerStoppingError());
    await this.untilIdle(end - clock.now());
    for (const run of this.running) {
      run.isAbandoned = true;
      // Its lease ends by itself, and no timer keeps the process alive for it.
      run.keeper.stop();
    }
    // The timer must not keep the process alive.
    const left = new AbortController();
    void closed.then(() => left.abort());
    // No handler runs any more that a silent server could cost the time to stop.
    await pause(clock, Math.max(0, Math.min(end - clock.now(), this.client.config.closeTimeoutMs)), left.signal);
    this.finishUp(null);
    return { abandoned: this.running.size };
  }

  private async untilIdle(timeoutMs: number): Promise<void> {
    if (this.running.size === 0) return;
    const done = new AbortController();
    this.idle = () => done.abort();
    await pause(this.client.config.clock, Math.max(0, timeoutMs), done.signal);
    this.idle = null;
  }

  private finishUp(error: Error | null): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.disown();
    this.resolveEnded(error);
  }

  /** Starts handlers as long as there are jobs and places. */
  private fill(): void {
    while (!this.stopping && !this.hasEnded && this.running.size < this.concurrency) {
      let next;
      try {
        next = this.subscription.poll();
      } catch (error) {
        return this.finishUp(error as Error);
      }
      if (!next) return this.listen();
      if (next.done) return this.finishUp(null);
      void this.work(next.value);
    }
  }

  private listen(): void {
    if (this.isListening) return;
    this.isListening = true;
    this.subscription.whenChanged(() => {
      this.isListening = false;
      queueMicrotask(() => this.fill());
    });
  }

  private async work(job: Job): Promise<void> {
    const controller = new AbortController();
    const keeper = new LeaseKeeper(this.client, job, this.runMsMax, (error) => this.cancel(job, controller, error));
    const run: Run = { job, controller, keeper, isAbandoned: false };
    this.running.add(run);
    let failure: { error: unknown } | null = null;
    try {
      await this.run(job, { signal: controller.signal });
    } catch (error) {
      failure = { error: sound(error) };
    }
    keeper.stop();
    try {
      // The event loop may have stood still since anybody looked at a clock.
      const loss = keeper.lossReason ?? job.lossReason;
      if (run.isAbandoned) return;
      if (loss) this.giveUp(run, loss);
      else if (failure) await this.fail(run, failure.error);
      else await this.finish(job);
    } catch (error) {
      this.client.config.log({ level: 'warn', event: 'settle_failed', message: 'a job could not be settled', fields: { job: job.id, error } });
    } finally {
      this.running.delete(run);
      if (this.running.size === 0) this.idle?.();
      this.fill();
    }
  }

  private cancel(job: Job, controller: AbortController, error: AdjournError): void {
    this.client.config.log({ level: 'warn', event: 'handler_cancelled', message: error.message, fields: { job: job.id, code: error.code } });
    controller.abort(error);
  }

  private giveUp({ job, controller }: Run, reason: LossReason): void {
    this.counts.lost += 1;
    job.markLost(reason);
    if (!controller.signal.aborted) controller.abort(new LeaseLostError(reason));
    // The server may hold it for this client still. If not, this does nothing.
    if (reason !== 'lease_lost') this.client.connection.engine.giveBack([{ job: job.id, fence: job.fence }], 0n);
  }

  private async finish(job: Job): Promise<void> {
    await this.settle(job, () => job.finish());
    this.counts.finished += 1;
  }

  private async fail({ job, controller }: Run, error: unknown): Promise<void> {
    this.counts.failed += 1;
    const reason = cut(textOf(error));
    this.failures.failed(job, reason, error);
    if (error instanceof BuryJob) return this.settleBecause(job, (why) => job.bury(why), reason);
    const told = controller.signal.reason as unknown;
    const text = told instanceof RunTooLongError ? told.message : reason;
    const release = (how: Failed) => this.settleBecause(job, (why) => job.release({ ...how, reason: why }), text);
    if (error instanceof RetryLater) return this.releaseLater(release, error);
    await release(told instanceof WorkerStoppingError ? { how: 'after', delayMs: 0 } : { how: 'backoff' });
  }

  /** A delay that cannot be is none: the job failed as any other. */
  private async releaseLater(release: (how: Failed) => Promise<void>, { delayMs }: RetryLater): Promise<void> {
    try {
      await release({ how: 'after', delayMs });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      await release({ how: 'backoff' });
    }
  }

  /** A cluster with an older member refuses reasons: then without one. */
  private async settleBecause(job: Job, once: (reason: string) => Promise<void>, reason: string): Promise<void> {
    try {
      await this.settle(job, () => once(reason));
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error;
      await this.settle(job, () => once(''));
    }
  }

  /** Settles while the lease runs, with patience: the fence makes a repeat safe. */
  private async settle(job: Job, once: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await once();
      } catch (error) {
        const mayRepeat = error instanceof AdjournError && error.retryable && !this.client.health().isClosed;
        if (!mayRepeat || job.lossReason) throw error;
        await pause(this.client.config.clock, Math.max(error.retryAfterMs, 100 * Math.random()));
      }
    }
  }
}

function compose(middleware: readonly Middleware[], handler: Handler): (job: Job, context: HandlerContext) => Promise<void> {
  return async (job, context) => {
    const step = async (at: number): Promise<void> => {
      const next = middleware[at];
      if (next) await next(job, context, () => step(at + 1));
      else await handler(job, context);
    };
    await step(0);
  };
}

/** As much of a text as a reason holds, in whole characters. */
function cut(text: string): string {
  const sound = text.replace(LONE_SURROGATE, '\ufffd');
  if (utf8(sound).byteLength <= REASON_BYTES_MAX) return sound;
  let kept = '';
  let bytes = 0;
  for (const character of sound) {
    bytes += utf8(character).byteLength;
    if (bytes > REASON_BYTES_MAX) break;
    kept += character;
  }
  return kept;
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
