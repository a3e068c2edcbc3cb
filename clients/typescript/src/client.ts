/** The client: one session, and the connection that carries it at the time. */

import { open as openConnection, type Connection } from './engine/connection.js';
import type { CallOptions, LeaseIds } from './engine/interfaces.js';
import { AdjournError, NotFoundError, ProtocolError, UsageError, itemRefusal } from './errors.js';
import { filterValue, type JobFilter } from './filter.js';
import { Held } from './held.js';
import { Job, jobInfo, JOB_STATES, type JobInfo, type JobOwner, type JobRef, type JobState, type Lease, type ReleaseHow } from './job.js';
import { checkKey, checkTopic, newJobValue, ttrOf, type JobOptions, type NewJob } from './new-job.js';
import { configOf, type Config, type ConnectOptions } from './options.js';
import { encodeAttributes } from './protocol/attributes.js';
import { utf8 } from './protocol/bytes.js';
import {
  BULK_JOBS_MAX,
  CONNECTIONS_LISTED_MAX,
  CREDIT_BYTES_MAX,
  CREDIT_JOBS_MAX,
  KICK_JOBS_MAX,
  LIST_JOBS_MAX,
  REASON_BYTES_MAX,
  RELEASE_BACKOFF,
  RELEASE_NOT_STARTED,
  RESERVE_TOPICS_MAX,
  WAIT_MS_MAX,
} from './protocol/limits.js';
import type { JobReference, NewJobValue, RequestFields, RequestName, Response, ResponseFields, ResponseName } from './protocol/messages.js';
import {
  clusterStatus,
  connectionInfo,
  queueStats,
  topicCounts,
  topicSettings,
  type ClusterStatus,
  type ConnectionInfo,
  type QueueStats,
  type TopicCounts,
  type TopicSettings,
} from './reports.js';
import { Subscription } from './subscription.js';
import { durationMs, instantMs, type Instant } from './time.js';
import { settingsChange, type TopicPolicyChange } from './topic-policy.js';

/** What became of one job of a push. */
export type PushResult =
  | { readonly outcome: 'pushed' | 'kept' | 'replaced' | 'postponed'; readonly id: bigint }
  | { readonly outcome: 'refused'; readonly error: AdjournError };

/** What became of one lease: `null`, or why nothing was changed for it. */
export interface SettleResult {
  readonly error: AdjournError | null;
}

/** What became of one job. */
export interface Changed {
  readonly id: bigint;
  /** The state it is in now; for `delete`, the one it was in. */
  readonly state: JobState;
  readonly due: Date;
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

export interface ListOptions extends CallOptions {
  order?: 'due' | 'id' | 'key';
  /** Jobs per request: 1,024. */
  pageSize?: number;
  withBodies?: boolean;
}

export type BulkChange =
  | { readonly change: 'delete' | 'kick' | 'run_now' }
  | { readonly change: 'reschedule'; readonly at: Instant }
  | { readonly change: 'move'; readonly to: string };

export interface BulkOptions extends CallOptions {
  /** Jobs per request: 1,024. */
  stepSize?: number;
  /** Goes on where an earlier step ended. */
  cursor?: Uint8Array;
}

/** One step of a bulk change. */
export interface BulkStep {
  readonly changed: number;
  /** Not moved, because their key exists in the other topic. */
  readonly inTheWay: number;
  /** Where the next step goes on; empty after the last one. */
  readonly cursor: Uint8Array;
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
  /** Says whether nothing goes on any more. */
  stopFor(timeoutMs: number): Promise<boolean>;
}

const OUTCOMES = ['pushed', 'kept', 'replaced', 'refused', 'postponed'] as const;
const REFUSED = 3;
const ORDERS = ['due', 'id', 'key'] as const;
const CHANGES = ['delete', 'kick', 'run_now', 'reschedule', 'move'] as const;
/** The most that the fields of a PUSH take besides its jobs, and of a job besides its pieces. */
const PUSH_BYTES = 160;
const JOB_BYTES = 26;

/** Connects and opens a session. `url` is `adjourn://host:port[,host:port]` or `host:port`: any member of a cluster. */
export async function connect(url: string | readonly string[], options: ConnectOptions = {}): Promise<Client> {
  const config = configOf(url, options);
  return new Client(config, await openConnection(config, options.signal));
}

export class Client {
  /** Changes and status of the cluster. Changes are never repeated by themselves: check with `status`. */
  readonly cluster: ClusterCalls;
  private readonly stoppables = new Set<Stoppable>();
  private readonly owner: JobOwner;
  private readonly held: Held;
  private closing: Promise<void> | null = null;

  /** Use `connect`. */
  constructor(
    readonly config: Config,
    /** For the parts of this package: not part of the interface. */
    readonly connection: Connection,
  ) {
    this.cluster = new ClusterCalls((name, fields, answer, options) => this.ask(name, fields, answer, options));
    this.owner = new Owner(this);
    this.held = new Held(connection.engine);
  }

  // --- producing -------------------------------------------------------------------------------------------------

  /**
   * Pushes one job and returns its id when it is durable; with `ifExists` "keep" or "postpone" maybe the id of the job
   * that was there. Exactly once, also when the connection is lost meanwhile.
   */
  async push(topic: string, body: unknown, options: JobOptions & CallOptions = {}): Promise<bigint> {
    const [result] = await this.pushMany(topic, [{ ...options, body }], options);
    if (result!.outcome === 'refused') throw result!.error;
    return result!.id;
  }

  /** Pushes jobs: one result per job, in order. More than one request takes is sent as several. */
  async pushMany(topic: string, jobs: readonly NewJob[], options: CallOptions = {}): Promise<PushResult[]> {
    checkTopic(topic);
    const headers = this.config.pushHeaders(topic);
    const batches = this.batches(jobs.map((job) => newJobValue(job, headers)));
    const answers = batches.map((batch) => this.ask('PUSH', { sequence: 0n, topic, jobs: batch }, 'PUSHED', options));
    const results = (await all(answers)).flatMap((answer) => answer.results);
    return results.map(({ outcome, code, job }) =>
      outcome === REFUSED
        ? { outcome: 'refused', error: itemRefusal(code, job) }
        : { outcome: OUTCOMES[outcome] as Exclude<(typeof OUTCOMES)[number], 'refused'>, id: job },
    );
  }

  /** As many jobs in each request as the server takes. */
  private batches(jobs: readonly NewJobValue[]): NewJobValue[][] {
    const { pushJobsMax, frameBytesMax } = this.connection.engine.welcome;
    const batches: NewJobValue[][] = [];
    let bytes = Infinity;
    for (const job of jobs) {
      const size = JOB_BYTES + utf8(job.key).byteLength + attributesBytes(job) + job.body.byteLength;
      const batch = batches.at(-1);
      if (!batch || batch.length >= pushJobsMax || bytes + size > frameBytesMax) {
        batches.push([job]);
        bytes = PUSH_BYTES + size;
      } else {
        batch.push(job);
        bytes += size;
      }
    }
    return batches;
  }

  // --- consuming -------------------------------------------------------------------------------------------------

  /** Leases due jobs: waits until some are there, up to `waitMs`. Empty when the wait was over first. */
  async reserve(topics: string | readonly string[], options: ReserveOptions = {}): Promise<Job[]> {
    const waitMs = BigInt(durationMs('waitMs', options.waitMs ?? 0, WAIT_MS_MAX));
    const jobsMax = Math.min(whole('max', options.max ?? 1), this.connection.engine.welcome.reserveJobsMax);
    const { jobs } = await this.ask('RESERVE', { waitMs, jobsMax, ...topicsOf(topics, options.weights) }, 'RESERVED', options);
    return this.connection.engine.accept(jobs).map((delivery) => this.held.add(new Job(this.owner, delivery)));
  }

  /** Jobs as they become ready, while fewer than `credit` are held. Settling a job makes room for the next. */
  subscribe(topics: string | readonly string[], options: SubscribeOptions = {}): Subscription {
    const creditJobs = whole('credit', options.credit ?? 1, CREDIT_JOBS_MAX);
    const creditBytes = BigInt(whole('creditBytes', options.creditBytes ?? CREDIT_BYTES_MAX, CREDIT_BYTES_MAX));
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
      if (!(page.marks & 1)) return jobs;
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
    const ids = given.map(({ id, fence }) => ({ job: id, fence }));
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

  // --- one job ---------------------------------------------------------------------------------------------------

  /** One job; `null` if there is none. A finished one is shown for a while: look at its state. */
  get(job: JobRef, options: CallOptions = {}): Promise<JobInfo | null> {
    return this.shown(this.ask('GET', { reference: referenceOf(job) }, 'JOB', options));
  }

  /** The job of a topic that would be next, without reserving it. */
  peek(topic: string, options: CallOptions = {}): Promise<JobInfo | null> {
    return this.shown(this.ask('PEEK', { topic: checkTopic(topic) }, 'JOB', options));
  }

  private async shown(answer: Promise<ResponseFields<'JOB'>>): Promise<JobInfo | null> {
    try {
      const { shown, ...history } = await answer;
      return jobInfo({ ...shown, ...history });
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  /** Removes a job, whatever its state. */
  delete(job: JobRef, options: CallOptions = {}): Promise<Changed> {
    return this.change(this.ask('DELETE', { reference: referenceOf(job) }, 'CHANGED', options));
  }

  /** Gives a delayed or ready job another due time. */
  reschedule(job: JobRef, due: { readonly delayMs: number } | { readonly at: Instant }, options: CallOptions = {}): Promise<Changed> {
    const point = 'at' in due ? { dueMs: instantMs('at', due.at), dueKind: 1 } : { dueMs: BigInt(durationMs('delayMs', due.delayMs)), dueKind: 0 };
    return this.change(this.ask('RESCHEDULE', { ...point, reference: referenceOf(job) }, 'CHANGED', options));
  }

  /** Makes a delayed job ready. */
  runNow(job: JobRef, options: CallOptions = {}): Promise<Changed> {
    return this.change(this.ask('RUN_NOW', { reference: referenceOf(job) }, 'CHANGED', options));
  }

  /** Makes a buried job ready; its attempts start at 0 again. */
  kick(job: JobRef, options: CallOptions = {}): Promise<Changed> {
    return this.change(this.ask('KICK', { reference: referenceOf(job) }, 'CHANGED', options));
  }

  private async change(answer: Promise<ResponseFields<'CHANGED'>>): Promise<Changed> {
    const { job, dueMs, state } = await answer;
    return { id: job, state: JOB_STATES[state]!, due: new Date(Number(dueMs)) };
  }

  /** Makes up to `max` buried jobs of a topic ready. Returns how many. */
  async kickMany(topic: string, max: number, options: CallOptions = {}): Promise<number> {
    checkTopic(topic);
    let kicked = 0;
    while (kicked < max) {
      const jobsMax = Math.min(max - kicked, KICK_JOBS_MAX);
      const { jobs } = await this.ask('KICK_MANY', { jobsMax, topic }, 'KICKED', options);
      kicked += jobs;
      if (jobs < jobsMax) break;
    }
    return kicked;
  }

  // --- many jobs -------------------------------------------------------------------------------------------------

  /** The jobs that match, page by page. */
  async *list(filter: JobFilter = {}, options: ListOptions = {}): AsyncGenerator<JobInfo, void> {
    const order = ORDERS.indexOf(options.order ?? 'due');
    if (order < 0) throw new UsageError(`order is none of ${ORDERS.join(', ')}`);
    const jobsMax = whole('pageSize', options.pageSize ?? LIST_JOBS_MAX, LIST_JOBS_MAX);
    const fields = { jobsMax, order, marks: options.withBodies ? 1 : 0, filter: filterValue(filter) };
    let cursor = new Uint8Array(0);
    do {
      const page = await this.ask('LIST', { ...fields, cursor }, 'JOBS', options);
      cursor = page.cursor as typeof cursor;
      for (const job of page.jobs) yield jobInfo(job);
    } while (cursor.byteLength > 0);
  }

  /** How many jobs match. */
  async count(filter: JobFilter = {}, options: CallOptions = {}): Promise<number> {
    return Number((await this.ask('COUNT', { filter: filterValue(filter) }, 'COUNTED', options)).jobs);
  }

  /** Changes all jobs that match, step by step: iterate to go on. Stop at any step, and go on later from its cursor. */
  async *bulk(change: BulkChange, filter: JobFilter, options: BulkOptions = {}): AsyncGenerator<BulkStep, void> {
    const place = CHANGES.indexOf(change.change);
    if (place < 0) throw new UsageError(`change is none of ${CHANGES.join(', ')}`);
    const fields = {
      jobsMax: whole('stepSize', options.stepSize ?? BULK_JOBS_MAX, BULK_JOBS_MAX),
      change: place,
      dueMs: change.change === 'reschedule' ? instantMs('at', change.at) : 0n,
      filter: filterValue(filter),
      to: change.change === 'move' ? checkTopic(change.to) : '',
    };
    let cursor = options.cursor ?? new Uint8Array(0);
    do {
      const step = await this.ask('BULK', { ...fields, cursor }, 'BULKED', options);
      cursor = step.cursor;
      yield { changed: step.jobs, inTheWay: step.inTheWay, cursor };
    } while (cursor.byteLength > 0);
  }

  // --- topics and the queue --------------------------------------------------------------------------------------

  /** Stops the delivery of a topic's jobs. */
  async pause(topic: string, options: CallOptions = {}): Promise<void> {
    await this.ask('PAUSE', { topic: checkTopic(topic) }, 'DONE', options);
  }

  async resume(topic: string, options: CallOptions = {}): Promise<void> {
    await this.ask('RESUME', { topic: checkTopic(topic) }, 'DONE', options);
  }

  async topics(options: CallOptions = {}): Promise<TopicCounts[]> {
    return (await this.ask('TOPICS', {}, 'TOPIC_COUNTS', options)).topics.map(topicCounts);
  }

  async stats(options: CallOptions = {}): Promise<QueueStats> {
    return queueStats(await this.ask('STATS', {}, 'QUEUE_STATS', options));
  }

  /** Changes what a topic decides for its jobs. The topic is created if it is new. */
  async setTopic(topic: string, policy: TopicPolicyChange, options: CallOptions = {}): Promise<void> {
    await this.ask('TOPIC_SET', { topic: checkTopic(topic), settings: settingsChange(policy) }, 'DONE', options);
  }

  async showTopic(topic: string, options: CallOptions = {}): Promise<TopicSettings> {
    return topicSettings(await this.ask('TOPIC_SHOW', { topic: checkTopic(topic) }, 'TOPIC_SETTINGS', options));
  }

  /** Deletes a topic without jobs, with its policy. */
  async deleteTopic(topic: string, options: CallOptions = {}): Promise<void> {
    await this.ask('TOPIC_DELETE', { topic: checkTopic(topic) }, 'DONE', options);
  }

  /** The clients that are connected to the leader. */
  async *connections(options: CallOptions = {}): AsyncGenerator<ConnectionInfo, void> {
    let after = 0n;
    for (;;) {
      const page = await this.ask('CONNECTIONS', { after, connectionsMax: CONNECTIONS_LISTED_MAX }, 'CONNECTION_LIST', options);
      for (const one of page.connections) yield connectionInfo(one);
      if (!(page.marks & 1)) return;
      after = page.connections.at(-1)?.connection ?? after;
    }
  }

  /** Closes the connection of another client. */
  async disconnect(connection: bigint, options: CallOptions & { readonly endSession?: boolean } = {}): Promise<void> {
    await this.ask('DISCONNECT', { connection, options: options.endSession ? 1 : 0 }, 'DONE', options);
  }

  /** Asks whether the leader is there. Returns its wall clock. */
  async ping(options: CallOptions = {}): Promise<Date> {
    return new Date(Number((await this.ask('PING', {}, 'PONG', options)).now));
  }

  // --- the client itself -----------------------------------------------------------------------------------------

  /** The session that the queue knows this client by. It changes when the queue forgot it. */
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
   * Stops the workers, says GOODBYE, and closes. It always ends: after `closeTimeoutMs` for each of the two. If handlers
   * still run then, it says no GOODBYE: their jobs go to others only after the session's grace.
   */
  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    const stopped = await Promise.all([...this.stoppables].map((one) => one.stopFor(this.config.closeTimeoutMs)));
    await this.connection.close(stopped.every(Boolean));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** For the parts of this package: is stopped by `close`. */
  adopt(one: Stoppable): () => void {
    this.stoppables.add(one);
    return () => this.stoppables.delete(one);
  }

  /** For the parts of this package. */
  async ask<Q extends RequestName, A extends ResponseName>(
    name: Q,
    fields: RequestFields<Q>,
    answer: A,
    options: CallOptions = {},
  ): Promise<ResponseFields<A>> {
    const response: Response = await this.connection.engine.call(name, fields, options);
    if (response.name !== answer) throw new ProtocolError(`${response.name} answers ${name}`);
    return response.fields as ResponseFields<A>;
  }
}

type Ask = Client['ask'];

/** The calls about the cluster. */
class ClusterCalls {
  constructor(private readonly ask: Ask) {}

  async status(options: CallOptions = {}): Promise<ClusterStatus> {
    return clusterStatus(await this.ask('CLUSTER_STATUS', {}, 'CLUSTER_REPORT', options));
  }

  /** Adds the node with this peer address, `host:port`. */
  async add(peerAddress: string, options: CallOptions = {}): Promise<void> {
    await this.ask('CLUSTER_ADD', { address: peerAddress }, 'DONE', options);
  }

  async remove(node: bigint, options: CallOptions = {}): Promise<void> {
    await this.ask('CLUSTER_REMOVE', { node }, 'DONE', options);
  }

  /** Gives leadership to this node, or to the one that the leader chooses. */
  async transfer(node = 0n, options: CallOptions = {}): Promise<void> {
    await this.ask('CLUSTER_TRANSFER', { node }, 'DONE', options);
  }
}

export type { ClusterCalls };

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

function whole(name: string, value: number, max = 0xffff_ffff): number {
  if (!Number.isInteger(value) || value < 1 || value > max) throw new UsageError(`${name} is ${value}, it must be a whole number from 1 to ${max}`);
  return value;
}

function topicsOf(topics: string | readonly string[], weights: readonly number[] | undefined): { topics: string[]; weights: number[] } {
  const list = (typeof topics === 'string' ? [topics] : [...topics]).map(checkTopic);
  if (list.length === 0 || list.length > RESERVE_TOPICS_MAX) throw new UsageError(`${list.length} topics, it must be 1 to ${RESERVE_TOPICS_MAX}`);
  if (weights && weights.length > 0 && weights.length !== list.length) throw new UsageError('there is one weight for each topic, or none');
  return { topics: list, weights: (weights ?? []).map((weight) => whole('a weight', weight, 0xffff)) };
}

function referenceOf(job: JobRef): JobReference {
  if (typeof job === 'bigint') return { jobKind: 0, job };
  if ('id' in job) return { jobKind: 0, job: job.id };
  return { jobKind: 1, topic: checkTopic(job.topic), key: checkKey(job.key) };
}

function releaseDelay(how: ReleaseHow): bigint {
  if (how.how === 'not_started') return RELEASE_NOT_STARTED;
  return how.how === 'after' ? BigInt(durationMs('delayMs', how.delayMs)) : RELEASE_BACKOFF;
}

function reasonOf(reason: string | undefined): string {
  const bytes = reason === undefined ? 0 : utf8(reason).byteLength;
  if (bytes > REASON_BYTES_MAX) throw new UsageError(`a reason of ${bytes} bytes, at most ${REASON_BYTES_MAX} are accepted`);
  return reason ?? '';
}

function attributesBytes(job: NewJobValue): number {
  try {
    return encodeAttributes(job.attributes).byteLength;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
