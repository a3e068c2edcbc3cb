/** The client: one session, and the connection that carries it at the time. */

import { Backup } from './backup.js';
import { ClusterCalls } from './cluster-calls.js';
import { open as openConnection, type Connection } from './engine/connection.js';
import type { CallOptions, LeaseIds } from './engine/interfaces.js';
import { AdjournError, ClosedError, ProtocolError, UsageError } from './errors.js';
import { itemRefusal } from './refusals.js';
import { GatheredPushes, type PushOutcome, type PushSender } from './gathered-pushes.js';
import { Held } from './held.js';
import { Job, type JobOwner, type Lease, type ReleaseHow } from './job.js';
import { onlyKnown, type Names } from './known.js';
import { checkTopic, listedJob, newJobValue, pushOptions, ttrOf, type JobOptions, type NamedHeaders, type NewJob } from './new-job.js';
import { OperatorCalls } from './operator-calls.js';
import { configOf, type Config, type ConnectOptions } from './options.js';
import { CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, IDEMPOTENT_LIST_JOBS_MAX, REASON_BYTES_MAX, RELEASE_BY_BACKOFF, RELEASE_NOT_STARTED, RELEASE_PARKED, RESERVE_TOPICS_MAX, WAIT_MS_MAX } from './protocol/limits.js';
import { utf8Bytes } from './protocol/bytes.js';
import { OUTCOME, OUTCOME_NAMES, PAGE_MARKS } from './protocol/choices.js';
import { ERROR_CODES } from './protocol/codes.js';
import type { NewJobValue, RequestFields, RequestName, Response, ResponseFields, ResponseName, WelcomeFields } from './protocol/messages.js';
import { batchesOf } from './push-batches.js';
import { Subscription } from './subscription.js';
import { durationMs } from './time.js';
import { wholeNumber } from './whole-number.js';

/** What became of one job of a push. */
export type PushResult =
  | { readonly outcome: 'pushed' | 'kept' | 'replaced' | 'postponed'; readonly id: bigint }
  | { readonly outcome: 'refused'; readonly error: AdjournError };

/** What became of one lease: `null`, or why nothing was changed for it. */
export interface SettleResult {
  readonly error: AdjournError | null;
}

export interface PushOptions extends CallOptions {
  /**
   * A number of 128 bits under which the same call is known when it is made again, also by another process: random bytes that are
   * kept with the work, or a hash of what names it. The first job has this number, the others have those that follow it. It takes the place of the
   * numbers of the session: for calls that outlive this process. At most 8,192 jobs; the queue remembers them for a day.
   */
  idempotencyKey?: bigint;
}

export interface ReserveOptions extends CallOptions {
  /** At most so many jobs: 1. */
  max?: number;
  /** Waits so long for a first job: 0. */
  waitMs?: number;
  /** One per topic, in the same order. */
  weights?: readonly number[];
}

export interface SubscribeOptions extends CallOptions {
  /** At most so many jobs are held at once: 1. */
  credit?: number;
  /** At most so many bytes of bodies are held at once. */
  creditBytes?: number;
  weights?: readonly number[];
}

export interface ClientHealth {
  /** A connection stands, and the server was heard of lately. */
  readonly isConnected: boolean;
  /** The client was closed, or gave up. */
  readonly isClosed: boolean;
  readonly reconnects: number;
  /** Calls without an answer. */
  readonly pending: number;
  /** The longest time for which the event loop was blocked, in milliseconds. */
  readonly loopBlockedMsMax: number;
}

/** What a client stops before it says GOODBYE. */
export interface Stoppable {
  /** Stops within its own time, or within `timeoutMs` if that is longer. Says whether nothing goes on any more. */
  stopFor(timeoutMs: number): Promise<boolean>;
}

/** Options that were taken apart. */
type Given<T> = { readonly [K in keyof T]: T[K] | undefined };

const PUSH_MANY_OPTIONS: Names<PushOptions> = { idempotencyKey: true, signal: true };
const RESERVE_OPTIONS: Names<ReserveOptions> = { max: true, waitMs: true, weights: true, signal: true };
const SUBSCRIBE_OPTIONS: Names<SubscribeOptions> = { credit: true, creditBytes: true, weights: true, signal: true };
const RELEASES: Readonly<Record<ReleaseHow['how'], Readonly<Record<string, true>>>> = {
  backoff: { how: true, reason: true },
  after: { how: true, delayMs: true, reason: true },
  not_started: { how: true },
  parked: { how: true, delayMs: true, reason: true },
};
const CALL_OPTIONS: Names<CallOptions> = { signal: true };
const KEY_MAX = (1n << 128n) - 1n;

/** Connects and opens a session. `url` is `adjourn://host:port[,host:port]` or `host:port`: any member of a cluster. */
export async function connect(url: string | readonly string[], options: ConnectOptions = {}): Promise<Client> {
  const config = configOf(url, options);
  return new Client(config, await openConnection(config, options.signal));
}

export class Client extends OperatorCalls {
  /** Changes and status of the cluster. Changes are never repeated by themselves: check with `status`. */
  readonly cluster: ClusterCalls;
  private readonly stoppables = new Set<Stoppable>();
  private readonly owner: JobOwner;
  private readonly held: Held;
  private readonly gathered: GatheredPushes;
  private readonly asking: OperatorCalls['ask'] = (name, fields, answer, options) => this.ask(name, fields, answer, options);
  private backupsBegun = 0;
  private isClosing = false;
  private closing: Promise<void> | null = null;

  /** Use `connect`. */
  constructor(
    readonly config: Config,
    /** For the parts of this package: not part of the interface. */
    readonly connection: Connection,
  ) {
    super();
    this.cluster = new ClusterCalls(this.asking);
    this.owner = new Owner(this);
    this.held = new Held(connection.engine);
    this.gathered = new GatheredPushes(new Sender(this));
  }

  // --- producing -------------------------------------------------------------------------------------------------

  /**
   * Pushes one job and returns its id when it is durable; with `ifExists` "keep" or "postpone" maybe the id of the job
   * that was there. Exactly once, also when the connection is lost meanwhile. Pushes that are called without waiting
   * for each other travel together; with a `signal` or an `idempotencyKey` each travels alone.
   */
  async push(topic: string, body: unknown, options: JobOptions & PushOptions = {}): Promise<bigint> {
    checkTopic(topic);
    const job = { ...pushOptions(options), body };
    const { tracing } = this.config;
    const result = tracing
      ? (await tracing.push({ topic, jobs: 1 }, async (traced) => [await this.pushOne(topic, job, traced)]))[0]!
      : await this.pushOne(topic, job);
    if (result.outcome === 'refused') throw result.error;
    return result.id;
  }

  private async pushOne(topic: string, job: NewJob & PushOptions, traced?: NamedHeaders): Promise<PushResult> {
    const value = newJobValue(job, this.config.pushHeaders(topic), traced);
    const { signal, idempotencyKey } = job;
    const isAlone = signal !== undefined || idempotencyKey !== undefined;
    return pushResult(isAlone ? (await this.pushAll(topic, [value], { signal, idempotencyKey }))[0]! : await this.gathered.push(topic, value));
  }

  /** Pushes jobs: one result per job, in order. More than one request takes is sent as several. */
  async pushMany(topic: string, jobs: readonly NewJob[], options: PushOptions = {}): Promise<PushResult[]> {
    checkTopic(topic);
    if (!Array.isArray(jobs)) throw new UsageError('pushMany takes a list of jobs: write [{ body: ... }]');
    const { signal, idempotencyKey } = onlyKnown('pushMany', options, PUSH_MANY_OPTIONS);
    const send = async (traced?: NamedHeaders) => {
      const defaults = this.config.pushHeaders(topic);
      const values = jobs.map((job) => newJobValue(listedJob(job), defaults, traced));
      return (await this.pushAll(topic, values, { signal, idempotencyKey })).map(pushResult);
    };
    const { tracing } = this.config;
    return tracing && jobs.length > 0 ? tracing.push({ topic, jobs: jobs.length }, send) : send();
  }

  private async pushAll(topic: string, jobs: readonly NewJobValue[], { signal, idempotencyKey }: Given<PushOptions>): Promise<PushOutcome[]> {
    const batches = batchesOf(jobs, this.connection.engine.welcome);
    if (idempotencyKey !== undefined) return this.pushUnderKey(topic, batches, keyOf(idempotencyKey, jobs.length), { signal });
    const answers = batches.map((batch) => this.ask('PUSH', { sequence: 0n, topic, jobs: batch, idempotency: 0n, listJobs: 0 }, 'PUSHED', { signal }));
    return (await all(answers)).flatMap(({ results }) => results);
  }

  /** One after the other: when the key belongs to other jobs, no more of these are pushed. */
  private async pushUnderKey(topic: string, batches: readonly NewJobValue[][], key: bigint, options: CallOptions): Promise<PushOutcome[]> {
    const outcomes: PushOutcome[] = [];
    const listJobs = batches.length > 1 ? batches.reduce((sum, { length }) => sum + length, 0) : 0;
    for (const jobs of batches) {
      const reused = outcomes.find(({ outcome, code }) => outcome === OUTCOME.refused && code === ERROR_CODES.SEQUENCE_REUSED);
      if (reused) {
        outcomes.push(...jobs.map(() => reused));
        continue;
      }
      const idempotency = key + BigInt(outcomes.length);
      outcomes.push(...(await this.ask('PUSH', { sequence: 0n, topic, jobs, idempotency, listJobs }, 'PUSHED', options)).results);
    }
    return outcomes;
  }

  // --- consuming -------------------------------------------------------------------------------------------------

  /** Leases due jobs: waits until some are there, up to `waitMs`. Empty when the wait was over first. */
  async reserve(topics: string | readonly string[], options: ReserveOptions = {}): Promise<Job[]> {
    const waitMs = BigInt(durationMs('waitMs', onlyKnown('reserve', options, RESERVE_OPTIONS).waitMs ?? 0, WAIT_MS_MAX));
    const jobsMax = Math.min(wholeNumber('max', options.max ?? 1), this.connection.engine.welcome.reserveJobsMax);
    const { jobs } = await this.ask('RESERVE', { waitMs, jobsMax, ...topicsOf(topics, options.weights) }, 'RESERVED', { signal: options.signal });
    return this.connection.engine.accept(jobs).map((delivery) => this.held.add(new Job(this.owner, delivery)));
  }

  /** Jobs as they become ready, while fewer than `credit` are held. Settling a job makes room for the next. */
  subscribe(topics: string | readonly string[], options: SubscribeOptions = {}): Subscription {
    this.throwIfClosing();
    const creditJobs = wholeNumber('credit', onlyKnown('subscribe', options, SUBSCRIBE_OPTIONS).credit ?? 1, CREDIT_JOBS_MAX);
    const creditBytes = BigInt(wholeNumber('creditBytes', options.creditBytes ?? CREDIT_BYTES_MAX, CREDIT_BYTES_MAX));
    const { engine } = this.connection;
    const { open, acknowledged } = engine.subscribe({ creditJobs, creditBytes, ...topicsOf(topics, options.weights) });
    return new Subscription(engine, this.owner, this.held, this.config.clock, open, acknowledged, options.signal);
  }

  /** The leases that this session holds, with their jobs. */
  async leases(options: CallOptions = {}): Promise<Job[]> {
    const { engine } = this.connection;
    const jobs: Job[] = [];
    let after = 0n;
    for (;;) {
      const page = await this.ask('LEASES', { after, jobsMax: engine.welcome.reserveJobsMax }, 'LEASED', options);
      engine.took(page.jobs);
      // What is too late to be handed out may have been handed out before: it is not given back.
      const now = engine.now;
      const deliveries = page.jobs.map((job) => engine.leases.deliveryOf(now, job));
      jobs.push(...deliveries.filter(({ deadline }) => deadline > now).map((delivery) => this.held.add(new Job(this.owner, delivery))));
      if (!(page.marks & PAGE_MARKS.more)) return jobs;
      after = page.jobs.at(-1)?.job ?? after;
    }
  }

  /** The jobs are done: they are removed. One result per lease, in order. */
  finish(leases: Lease | readonly Lease[], options: CallOptions = {}): Promise<SettleResult[]> {
    return this.settle(leases, (ids) => this.ask('FINISH', { leases: ids }, 'SETTLED', options));
  }

  /** Gives jobs back; by default the attempts failed, and the jobs wait for their backoff. */
  release(leases: Lease | readonly Lease[], how: ReleaseHow = { how: 'backoff' }, options: CallOptions = {}): Promise<SettleResult[]> {
    const delayMs = releaseDelay(how);
    const reason = reasonOf('reason' in how ? how.reason : undefined);
    return this.settle(leases, (ids) => this.ask('RELEASE', { delayMs, leases: ids, reason }, 'SETTLED', options));
  }

  /** Starts leases anew: for each job's own time to run, or for `ttrMs`. */
  async touch(leases: Lease | readonly Lease[], ttrMs?: number, options: CallOptions = {}): Promise<SettleResult[]> {
    const ms = ttrMs === undefined ? 0 : ttrOf(ttrMs);
    const { engine } = this.connection;
    const sent = engine.now;
    const results = await this.settle(leases, (ids) => this.ask('TOUCH', { ttrMs: ms, leases: ids }, 'SETTLED', options), false);
    for (const [at, lease] of (Array.isArray(leases) ? leases : [leases]).entries()) {
      if (lease instanceof Job && !results[at]!.error) lease.prolong(engine.leases.touchedUntil(sent, ms || lease.ttrMs));
    }
    return results;
  }

  /** Sets jobs aside until they are kicked or deleted. */
  bury(leases: Lease | readonly Lease[], reason?: string, options: CallOptions = {}): Promise<SettleResult[]> {
    const text = reasonOf(reason);
    return this.settle(leases, (ids) => this.ask('BURY', { leases: ids, reason: text }, 'SETTLED', options));
  }

  private async settle(leases: Lease | readonly Lease[], ask: (ids: LeaseIds[]) => Promise<ResponseFields<'SETTLED'>>, isEnd = true): Promise<SettleResult[]> {
    const given = (Array.isArray(leases) ? leases : [leases]) as readonly Lease[];
    const ids = given.map(leaseIds);
    const { leasesMax } = this.connection.engine.welcome;
    const answers: Promise<ResponseFields<'SETTLED'>>[] = [];
    while (ids.length > 0) answers.push(ask(ids.splice(0, leasesMax)));
    const results = (await all(answers)).flatMap((answer) => answer.results);
    return results.map(({ code }, at) => {
      const error = code === 0 ? null : itemRefusal(code);
      const lease = given[at]!;
      if (isEnd) this.held.remove(lease.fence);
      if (error?.code === 'STALE_LEASE' && lease instanceof Job) lease.markLost('lease_lost');
      return { error };
    });
  }

  // --- the client itself -----------------------------------------------------------------------------------------

  /**
   * Takes a backup of the whole queue, with everything that was answered before this call. The server writes a checkpoint
   * first, which may take minutes: the call waits for up to an hour longer than others.
   */
  async backup(options: CallOptions = {}): Promise<Backup> {
    const begun = (this.backupsBegun += 1);
    const ready = await this.ask('BACKUP_BEGIN', {}, 'BACKUP_READY', options);
    return new Backup(this.asking, this.connection.engine, () => this.backupsBegun === begun, ready);
  }

  /** The session that the queue knows this client by; 0 if it has none. It changes when the queue forgot it. */
  get session(): bigint {
    return this.connection.engine.welcome.session;
  }

  health(): ClientHealth {
    const { engine, isAlive } = this.connection;
    return {
      isConnected: isAlive,
      isClosed: engine.ended !== null,
      reconnects: engine.reconnects,
      pending: engine.pending,
      loopBlockedMsMax: engine.blockedMsMax,
    };
  }

  /**
   * Stops the workers, each within its `stopTimeoutMs` or `closeTimeoutMs`, whichever is longer; then says GOODBYE, and closes,
   * within `closeTimeoutMs`. If handlers still run then, it says no GOODBYE: their jobs go to others only after the session's
   * grace. From the call on, a new worker or subscription is a `ClosedError`.
   */
  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    // First: no worker is added from here on, so all of them are stopped.
    this.isClosing = true;
    const stopped = await Promise.all([...this.stoppables].map((one) => one.stopFor(this.config.closeTimeoutMs)));
    await this.connection.close(stopped.every(Boolean));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** For the parts of this package: is stopped by `close`. Throws if that was called: then it would not be. */
  adopt(one: Stoppable): () => void {
    this.throwIfClosing();
    this.stoppables.add(one);
    return () => this.stoppables.delete(one);
  }

  /** Jobs that are taken after the call of `close` would go to others at its end, while their handlers run. */
  private throwIfClosing(): void {
    if (this.isClosing) throw this.connection.engine.ended ?? new ClosedError();
  }

  /** For the parts of this package. */
  override async ask<Q extends RequestName, A extends ResponseName>(
    name: Q,
    fields: RequestFields<Q>,
    answer: A,
    options: CallOptions = {},
  ): Promise<ResponseFields<A>> {
    onlyKnown(name, options, CALL_OPTIONS);
    // The order of the calls is kept. PUSH may be what is gathered itself.
    this.gathered.flush();
    const response: Response = await this.connection.engine.call(name, fields, options);
    if (response.name !== answer) throw new ProtocolError(`${response.name} answers ${name}`);
    return response.fields as ResponseFields<A>;
  }
}

/** What jobs need of their client. */
class Owner implements JobOwner {
  constructor(private readonly client: Client) {}

  get now(): number {
    return this.client.connection.engine.now;
  }

  areLeasesLost(): boolean {
    const { engine } = this.client.connection;
    engine.leases.look(engine.now, this.client.config.clock.wall());
    return engine.leases.areOver(engine.now);
  }

  async finishOne(job: Job): Promise<void> {
    job.throwIfLost();
    raise(await this.client.finish(job));
  }

  async releaseOne(job: Job, how: ReleaseHow): Promise<void> {
    job.throwIfLost();
    raise(await this.client.release(job, how));
  }

  async touchOne(job: Job, ttrMs: number | undefined): Promise<void> {
    job.throwIfLost();
    raise(await this.client.touch(job, ttrMs));
  }

  async buryOne(job: Job, reason: string | undefined): Promise<void> {
    job.throwIfLost();
    raise(await this.client.bury(job, reason));
  }
}

/** How gathered pushes are sent. */
class Sender implements PushSender {
  constructor(private readonly client: Client) {}

  get limits(): WelcomeFields {
    return this.client.connection.engine.welcome;
  }

  get pending(): number {
    return this.client.connection.engine.pending;
  }

  get pendingMax(): number {
    return this.client.config.pendingMax;
  }

  async send(topic: string, jobs: NewJobValue[]): Promise<readonly PushOutcome[]> {
    return (await this.client.ask('PUSH', { sequence: 0n, topic, jobs, idempotency: 0n, listJobs: 0 }, 'PUSHED')).results;
  }
}

function pushResult({ outcome, code, job }: PushOutcome): PushResult {
  if (outcome === OUTCOME.refused) return { outcome: 'refused', error: itemRefusal(code, job) };
  return { outcome: OUTCOME_NAMES[outcome] as Exclude<(typeof OUTCOME_NAMES)[number], 'refused'>, id: job };
}

/** The key of the first of so many jobs. The others have the numbers that follow it, of 128 bits, too. */
function keyOf(key: bigint, jobs: number): bigint {
  if (typeof key !== 'bigint' || key < 1n || key + BigInt(Math.max(jobs, 1)) - 1n > KEY_MAX) throw new UsageError(`idempotencyKey is ${key}, it must be a bigint from 1 on, of at most 128 bits`);
  if (jobs > IDEMPOTENT_LIST_JOBS_MAX) throw new UsageError(`${jobs} jobs under one idempotencyKey, at most ${IDEMPOTENT_LIST_JOBS_MAX} are accepted`);
  return key;
}

function raise([result]: readonly SettleResult[]): void {
  if (result?.error) throw result.error;
}

/** Waits for all, also if one fails: no rejection is left without a listener. */
async function all<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}

function topicsOf(topics: string | readonly string[], weights: readonly number[] | undefined): { topics: string[]; weights: number[] } {
  if (typeof topics !== 'string' && !Array.isArray(topics)) throw new UsageError("topics must be a text or a list: write 'a', or ['a', 'b']");
  if (weights !== undefined && !Array.isArray(weights)) throw new UsageError('weights must be a list: write [5, 1]');
  const list = (typeof topics === 'string' ? [topics] : [...topics]).map(checkTopic);
  if (list.length === 0 || list.length > RESERVE_TOPICS_MAX) throw new UsageError(`${list.length} topics, it must be 1 to ${RESERVE_TOPICS_MAX}`);
  if (weights && weights.length > 0 && weights.length !== list.length) throw new UsageError('there is one weight for each topic, or none');
  return { topics: list, weights: (weights ?? []).map((weight) => wholeNumber('a weight', weight, 0xffff)) };
}

function leaseIds(lease: Lease): LeaseIds {
  if (typeof lease?.id !== 'bigint' || typeof lease.fence !== 'bigint') {
    throw new UsageError('a lease is a job that this client has reserved, or { id, fence }, both of type bigint; several are a list of them');
  }
  return { job: lease.id, fence: lease.fence };
}

function releaseDelay(how: ReleaseHow): bigint {
  const names = RELEASES[how?.how] as Names<ReleaseHow> | undefined;
  if (!names) throw new UsageError(`how is ${String(how?.how)}, it must be one of ${Object.keys(RELEASES).join(', ')}`);
  onlyKnown(`a release with how "${how.how}"`, how, names);
  if (how.how === 'not_started') return RELEASE_NOT_STARTED;
  if (how.how === 'backoff') return RELEASE_BY_BACKOFF;
  const delayMs = BigInt(durationMs('delayMs', how.delayMs));
  return how.how === 'parked' ? RELEASE_PARKED + delayMs : delayMs;
}

function reasonOf(reason: string | undefined): string {
  if (reason !== undefined && typeof reason !== 'string') throw new UsageError('a reason must be a text');
  const bytes = reason === undefined ? 0 : utf8Bytes(reason);
  if (bytes > REASON_BYTES_MAX) throw new UsageError(`a reason of ${bytes} bytes, at most ${REASON_BYTES_MAX} are accepted`);
  return reason ?? '';
}
