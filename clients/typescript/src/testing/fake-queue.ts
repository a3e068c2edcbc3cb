/**
 * A queue in memory, for tests of programs that use this client.
 *
 * The client is the real one: it speaks the protocol over a connection in memory, so nothing behaves differently but the
 * queue. Time stands still until the test lets it pass with `advance`. Not there: jobs that come due late because the queue
 * was down (late first deliveries are there), jitter of a backoff, the credit in bytes of a subscription, tokens, refusals
 * such as BUSY, backups, other members, CONNECTIONS and DISCONNECT.
 */

import { connect, type Client } from '../client.js';
import { onlyKnown } from '../known.js';
import type { ConnectOptions } from '../options.js';
import { FrameSplitter, decodeRequest, encodeResponse } from '../protocol/frame.js';
import { NO_SESSION } from '../protocol/limits.js';
import { REFUSED, type Request, type ResponseFields, type ResponseName } from '../protocol/messages.js';
import { DecodeError } from '../protocol/bytes.js';
import type { Transport } from '../transport.js';
import { ManualClock } from './clock.js';
import { BURIED, DELAYED, Jobs, READY, RESERVED, Refusal, deliveredValue, listedValue, type FakeJob } from './jobs.js';
import { connectedPair } from './memory-transport.js';
import { Turns } from './turns.js';

interface Consumer {
  readonly peer: Peer;
  readonly id: number;
  readonly topics: readonly string[];
  /** With weights, whose turn it is. */
  readonly turns: Turns | null;
  /** Jobs of a RESERVE; credit of a subscription. */
  readonly jobsMax: number;
  readonly isSubscription: boolean;
  /** Leases that take credit. */
  readonly held: Set<bigint>;
  credit: number;
  cancel: () => void;
}

interface Peer {
  readonly transport: Transport;
  readonly number: bigint;
  /** By list of topics and weights. */
  readonly turns: Map<string, Turns>;
  /** 0: none. */
  session: bigint;
  name: string;
}

type Outcomes = Map<bigint, ResponseFields<'PUSHED'>['results'][number]>;

interface Session {
  readonly secret: Uint8Array;
  /** Results by sequence number. */
  readonly outcomes: Outcomes;
  peer: Peer | null;
}

type Answer<N extends ResponseName = ResponseName> = { [K in N]: readonly [K, ResponseFields<K>] }[N];

const CLUSTER_ID = new Uint8Array(16).fill(0xfa);
const DONE: Answer = ['DONE', {}];
const ADDRESS = '127.0.0.1:7440';

export interface FakeQueueOptions {
  /** What the queue's wall clock shows at first: 2026-01-01T00:00:00Z. */
  start?: Date;
}

export class FakeQueue {
  readonly clock: ManualClock;
  private readonly jobs: Jobs;
  private readonly sessions = new Map<bigint, Session>();
  /** Results by key. */
  private readonly keyed: Outcomes = new Map();
  private readonly peers = new Set<Peer>();
  private consumers: Consumer[] = [];
  private lastSession = 0n;
  private lastPeer = 0n;
  private timer: { at: number; cancel: () => void } | null = null;

  constructor(options: FakeQueueOptions = {}) {
    onlyKnown('a queue in memory', options, { start: true });
    this.clock = new ManualClock(options.start);
    this.jobs = new Jobs(() => this.clock.wall());
  }

  /** A client of this queue. */
  connect(options: ConnectOptions = {}): Promise<Client> {
    const connected = connect(ADDRESS, {
      ...options,
      clock: this.clock,
      dialer: async () => {
        const [mine, theirs] = connectedPair();
        this.accept(mine);
        return theirs;
      },
    });
    return connected;
  }

  /** What the queue's clock shows. */
  get now(): Date {
    return new Date(this.clock.wall());
  }

  /** Lets so many milliseconds pass: jobs come due, leases end, handlers run. */
  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Lets everything happen that is under way, without letting time pass. */
  rest(): Promise<void> {
    return this.clock.rest();
  }

  /** Cuts all connections, as a network does. Clients come back when time passes. */
  cut(): void {
    for (const peer of [...this.peers]) peer.transport.close();
  }

  // --- connections -----------------------------------------------------------------------------------------------

  private accept(transport: Transport): void {
    const peer: Peer = { transport, number: (this.lastPeer += 1n), turns: new Map(), session: 0n, name: '' };
    const splitter = new FrameSplitter();
    this.peers.add(peer);
    transport.listen({
      data: (bytes) => {
        splitter.push(bytes);
        for (let frame = splitter.next(); frame; frame = splitter.next()) {
          try {
            this.request(peer, frame.id, decodeRequest(frame));
          } catch (error) {
            if (!(error instanceof DecodeError)) throw error;
            this.send(peer, frame.id, refusal(new Refusal('MALFORMED'), error.message));
          }
        }
      },
      closed: () => {
        this.peers.delete(peer);
        for (const consumer of this.consumers.filter((one) => one.peer === peer)) this.leave(consumer);
      },
    });
  }

  private send(peer: Peer, id: number, [name, fields]: Answer): void {
    peer.transport.write(encodeResponse(name, id, fields as never), () => {});
  }

  private request(peer: Peer, id: number, request: Request): void {
    this.jobs.look();
    let answer: Answer | null;
    try {
      answer = this.answer(peer, id, request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      answer = refusal(error, `the fake queue refuses: ${error.code}`);
    }
    if (answer) this.send(peer, id, answer);
    this.deliver();
  }

  private answer(peer: Peer, id: number, request: Request): Answer | null {
    switch (request.name) {
      case 'HELLO':
        return this.hello(peer, request.fields);
      case 'PING':
        return ['PONG', { now: BigInt(this.clock.wall()), clockMs: this.clockMs }];
      case 'GOODBYE':
        return this.goodbye(peer);
      case 'PUSH':
        return this.push(peer, request.fields);
      case 'RESERVE':
        return this.reserve(peer, id, request.fields);
      case 'SUBSCRIBE':
        this.consumers.push(consumer(peer, id, request.fields, request.fields.creditJobs, true));
        return ['SUBSCRIBED', {}];
      case 'CREDIT':
        this.consumer(peer, request.fields.subscription).credit += request.fields.creditJobs;
        return DONE;
      case 'UNSUBSCRIBE':
        this.leave(this.consumer(peer, request.fields.subscription));
        return DONE;
      case 'CANCEL': {
        const waiting = this.consumer(peer, request.fields.request);
        this.leave(waiting);
        this.send(peer, waiting.id, ['RESERVED', { jobs: [] }]);
        return DONE;
      }
      case 'LEASES':
        return ['LEASED', { marks: 0, jobs: this.jobs.leasesOf(peer.session).filter((job) => job.id > request.fields.after).map((job) => this.delivered(job)) }];
      case 'FINISH':
        return this.settle(request.fields.leases, (lease) => this.jobs.finish(lease));
      case 'RELEASE':
        return this.settle(request.fields.leases, (lease) => this.jobs.release(lease, request.fields.delayMs, request.fields.reason));
      case 'TOUCH':
        return this.settle(request.fields.leases, (lease) => this.jobs.touch(lease, request.fields.ttrMs));
      case 'BURY':
        return this.settle(request.fields.leases, (lease) => this.jobs.bury(lease, request.fields.reason));
      default:
        return this.lookAfter(request);
    }
  }

  /** The requests of operators: about jobs, topics and the queue. */
  private lookAfter(request: Request): Answer {
    switch (request.name) {
      case 'GET':
        return this.shown(this.jobs.find(request.fields.reference));
      case 'PEEK':
        return this.peek(request.fields.topic);
      case 'DELETE': {
        const job = this.jobs.find(request.fields.reference);
        this.jobs.remove(job);
        return changed(job);
      }
      case 'RESCHEDULE':
      case 'RUN_NOW':
      case 'KICK':
        return this.change(request);
      case 'KICK_MANY': {
        const buried = this.jobs.matching({ topic: this.known(request.fields.topic), states: 1 << BURIED }).slice(0, request.fields.jobsMax);
        for (const job of buried) this.jobs.kick(job);
        return ['KICKED', { jobs: buried.length }];
      }
      case 'LIST':
        return this.list(request.fields);
      case 'COUNT':
        return ['COUNTED', { jobs: BigInt(this.jobs.matching(request.fields.filter).length) }];
      case 'BULK':
        return this.bulk(request.fields);
      case 'TOPICS':
        return ['TOPIC_COUNTS', { topics: this.counts() }];
      case 'STATS':
        return this.stats();
      case 'PAUSE':
      case 'RESUME':
        this.jobs.topic(this.known(request.fields.topic)).isPaused = request.name === 'PAUSE';
        return DONE;
      case 'TOPIC_SET':
        this.jobs.setTopic(request.fields.topic, request.fields.settings);
        return DONE;
      case 'TOPIC_SHOW': {
        const { settings, isPaused } = this.jobs.topic(this.known(request.fields.topic));
        const living = this.jobs.matching({ topic: request.fields.topic });
        const bytes = living.reduce((sum, job) => sum + job.body.byteLength, 0);
        return ['TOPIC_SETTINGS', { jobs: BigInt(living.length), bytes: BigInt(bytes), marks: isPaused ? 1 : 0, settings }];
      }
      case 'TOPIC_DELETE':
        if (this.jobs.matching({ topic: this.known(request.fields.topic) }).length > 0) throw new Refusal('WRONG_STATE');
        this.jobs.topics.delete(request.fields.topic);
        return DONE;
      case 'CLUSTER_STATUS':
        return this.cluster();
      default:
        throw new Refusal('UNSUPPORTED');
    }
  }

  private get clockMs(): bigint {
    return BigInt(Math.trunc(this.clock.now()));
  }

  // --- sessions --------------------------------------------------------------------------------------------------

  private hello(peer: Peer, fields: Request<'HELLO'>['fields']): Answer {
    peer.name = fields.clientName;
    if (fields.session === 0n && fields.options & NO_SESSION) return this.welcome(0, 0n, new Uint8Array(16));
    const known = this.sessions.get(fields.session);
    const isResumed = known !== undefined && known.secret.every((byte, at) => byte === fields.secret[at]);
    const number = isResumed ? fields.session : (this.lastSession += 1n);
    const session = isResumed ? known : { secret: new Uint8Array(16).fill(Number(number % 256n)), outcomes: new Map(), peer: null };
    session.peer = peer;
    this.sessions.set(number, session);
    peer.session = number;
    return this.welcome(isResumed ? 3 : 0, number, session.secret);
  }

  private welcome(marks: number, session: bigint, secret: Uint8Array): Answer {
    return [
      'WELCOME',
      {
        version: 1,
        marks,
        clusterId: CLUSTER_ID,
        session,
        secret,
        // Time stands still for most of a test: nobody is to be missed meanwhile.
        heartbeatMs: 0,
        sessionGraceMs: 10_000,
        frameBytesMax: 1_114_112,
        bodyBytesMax: 1_048_576,
        pushJobsMax: 4_096,
        leasesMax: 4_096,
        reserveJobsMax: 1_024,
        inFlightMax: 1_024,
        serverName: 'adjourn/fake',
        members: [],
        clockMs: this.clockMs,
      },
    ];
  }

  private goodbye(peer: Peer): Answer {
    for (const job of this.jobs.leasesOf(peer.session)) this.jobs.fail(job, 0);
    for (const one of this.consumers.filter((each) => each.peer === peer)) {
      this.leave(one);
      if (!one.isSubscription) this.send(peer, one.id, ['RESERVED', { jobs: [] }]);
    }
    this.sessions.delete(peer.session);
    return DONE;
  }

  private push(peer: Peer, { sequence, topic, jobs, idempotency }: Request<'PUSH'>['fields']): Answer {
    const outcomes = idempotency > 0n ? this.keyed : this.sessions.get(peer.session)!.outcomes;
    const first = idempotency || sequence;
    const results = jobs.map((job, at) => {
      const number = first === 0n ? 0n : first + BigInt(at);
      const known = number > 0n ? outcomes.get(number) : undefined;
      if (known) return known;
      const result = attempt(() => this.jobs.push(topic, job));
      // A refused job is remembered by its number alone.
      if (number > 0n && !(idempotency > 0n && result.outcome === REFUSED)) outcomes.set(number, result);
      return result;
    });
    return ['PUSHED', { results }];
  }

  // --- delivery --------------------------------------------------------------------------------------------------

  private reserve(peer: Peer, id: number, fields: Request<'RESERVE'>['fields']): Answer | null {
    const { topics, jobsMax, waitMs } = fields;
    if (waitMs === 0n && topics.every((topic) => this.jobs.topics.get(topic)?.isPaused)) throw new Refusal('PAUSED');
    const waiting = consumer(peer, id, fields, jobsMax, false);
    const jobs = this.take(waiting);
    if (jobs.length > 0 || waitMs === 0n) return ['RESERVED', { jobs }];
    waiting.cancel = this.clock.after(Number(waitMs), () => {
      this.leave(waiting);
      this.send(peer, id, ['RESERVED', { jobs: [] }]);
    });
    this.consumers.push(waiting);
    return null;
  }

  private take(one: Consumer): ReturnType<typeof deliveredValue>[] {
    const jobs: ReturnType<typeof deliveredValue>[] = [];
    const max = one.isSubscription ? 1 : one.jobsMax;
    while (jobs.length < max) {
      const job = this.jobs.best(one.topics, one.turns);
      if (!job) break;
      this.jobs.lease(job, one.peer.session);
      jobs.push(this.delivered(job));
    }
    return jobs;
  }

  /** Gives ready jobs to those who wait: they take turns. */
  private deliver(): void {
    this.jobs.look();
    for (let wasGiven = true; wasGiven; ) {
      wasGiven = false;
      for (const one of [...this.consumers]) {
        if (one.isSubscription) this.returnCredit(one);
        if (one.isSubscription && one.held.size >= one.credit) continue;
        const jobs = this.take(one);
        if (jobs.length === 0) continue;
        wasGiven = true;
        for (const { fence } of jobs) one.held.add(fence);
        if (!one.isSubscription) this.leave(one);
        this.send(one.peer, one.id, one.isSubscription ? ['DELIVER', { jobs }] : ['RESERVED', { jobs }]);
      }
    }
    this.arm();
  }

  private returnCredit(one: Consumer): void {
    if (one.held.size === 0) return;
    const running = new Set([...this.jobs.all()].filter((job) => job.state === RESERVED).map((job) => job.fence));
    for (const fence of one.held) if (!running.has(fence)) one.held.delete(fence);
  }

  private arm(): void {
    const at = this.jobs.next;
    if (this.timer?.at === at) return;
    this.timer?.cancel();
    this.timer = null;
    if (at === Infinity) return;
    const cancel = this.clock.after(at - this.clock.wall(), () => {
      this.timer = null;
      this.deliver();
    });
    this.timer = { at, cancel };
  }

  private consumer(peer: Peer, id: number): Consumer {
    const found = this.consumers.find((one) => one.peer === peer && one.id === id);
    if (!found) throw new Refusal('NOT_FOUND');
    return found;
  }

  private leave(one: Consumer): void {
    one.cancel();
    this.consumers = this.consumers.filter((each) => each !== one);
  }

  private delivered(job: FakeJob): ReturnType<typeof deliveredValue> {
    return deliveredValue(job, this.clock.wall(), this.clock.now());
  }

  // --- the rest --------------------------------------------------------------------------------------------------

  private settle<L>(leases: readonly L[], settle: (lease: L) => void): Answer {
    const code = (lease: L) => {
      try {
        settle(lease);
        return 0;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return error.number;
      }
    };
    return ['SETTLED', { results: leases.map((lease) => ({ code: code(lease) })) }];
  }

  private known(topic: string): string {
    if (!this.jobs.topics.has(topic)) throw new Refusal('NOT_FOUND');
    return topic;
  }

  private shown(job: FakeJob): Answer {
    const { bodyBytes: _, pushedMs, reservedFirstMs, reservedLastMs, heldBy, reason, ...shown } = listedValue(job, this.clock.wall(), true);
    return ['JOB', { shown, pushedMs, reservedFirstMs, reservedLastMs, heldBy, reason, finishedMs: BigInt(job.finishedMs), version: 0n }];
  }

  private peek(topic: string): Answer {
    const next = this.jobs.matching({ topic, states: 1 << READY }).sort(byOrder)[0] ?? this.jobs.matching({ topic, states: 1 << DELAYED }).sort(byDue)[0];
    if (!next) throw new Refusal('NOT_FOUND');
    return this.shown(next);
  }

  private change(request: Request<'RESCHEDULE' | 'RUN_NOW' | 'KICK'>): Answer {
    const job = this.jobs.find(request.fields.reference);
    if (request.name === 'KICK') this.jobs.kick(job);
    else if (request.name === 'RUN_NOW') this.jobs.runNow(job);
    else this.jobs.reschedule(job, Number(request.fields.dueMs) + (request.fields.dueKind === 0 ? this.clock.wall() : 0));
    return changed(job);
  }

  private list({ filter, order, jobsMax, cursor, marks }: Request<'LIST'>['fields']): Answer {
    const compare = order === 0 ? byDue : order === 1 ? byId : byKey;
    const jobs = this.jobs.matching(filter).filter((job) => order !== 2 || job.key !== '').sort(compare);
    const from = cursor.byteLength === 0 ? 0 : Number(new TextDecoder().decode(cursor));
    const page = jobs.slice(from, from + jobsMax).map((job) => listedValue(job, this.clock.wall(), (marks & 1) !== 0));
    const end = from + page.length;
    return ['JOBS', { cursor: new TextEncoder().encode(end < jobs.length ? String(end) : ''), jobs: page }];
  }

  private bulk({ change, filter, jobsMax, dueMs, to }: Request<'BULK'>['fields']): Answer {
    let inTheWay = 0;
    const apply = (job: FakeJob): boolean => {
      if (change === 0) this.jobs.remove(job);
      else if (change === 1) this.jobs.kick(job);
      else if (change === 2) this.jobs.runNow(job);
      else if (change === 3) this.jobs.reschedule(job, Number(dueMs));
      else if (job.state === RESERVED || !this.jobs.move(job, to)) {
        inTheWay += job.state === RESERVED ? 0 : 1;
        return false;
      }
      return true;
    };
    // Jobs that cannot be changed this way are skipped; what was changed does not match twice.
    const fits = (job: FakeJob) => change === 0 || change === 4 || (change === 1 ? job.state === BURIED : job.state === DELAYED || (change === 3 && job.state === READY));
    const jobs = this.jobs.matching(filter).filter((job) => fits(job) && !(change === 3 && job.dueMs === Number(dueMs))).sort(byDue);
    const step = jobs.slice(0, jobsMax).filter(apply);
    return ['BULKED', { jobs: step.length, cursor: new TextEncoder().encode(jobs.length > jobsMax ? 'more' : ''), inTheWay }];
  }

  private counts(): ResponseFields<'TOPIC_COUNTS'>['topics'] {
    return [...this.jobs.topics.keys()].sort().map((topic) => ({ topic, marks: this.jobs.topic(topic).isPaused ? 1 : 0, ...this.totals(topic) }));
  }

  private totals(topic: string): ResponseFields<'QUEUE_STATS'>['totals'] {
    const { pushed, finished, deleted, expired } = this.jobs.topic(topic);
    const count = (state: number) => BigInt(this.jobs.matching({ topic, states: 1 << state }).length);
    const oldest = this.jobs.matching({ topic, states: 1 << READY }).sort(byDue)[0];
    return {
      delayed: count(DELAYED),
      ready: count(READY),
      reserved: count(RESERVED),
      buried: count(BURIED),
      pushed: BigInt(pushed),
      finished: BigInt(finished),
      deleted: BigInt(deleted),
      expired: BigInt(expired),
      oldestReadyMs: oldest ? BigInt(Math.trunc(this.clock.wall() - oldest.dueMs)) : 0n,
    };
  }

  private stats(): Answer {
    const topics = this.counts();
    const sum = (name: keyof ResponseFields<'QUEUE_STATS'>['totals']) => topics.reduce((total, topic) => total + topic[name], 0n);
    const names = ['delayed', 'ready', 'reserved', 'buried', 'pushed', 'finished', 'deleted', 'expired', 'oldestReadyMs'] as const;
    const totals = Object.fromEntries(names.map((name) => [name, sum(name)])) as ResponseFields<'QUEUE_STATS'>['totals'];
    return [
      'QUEUE_STATS',
      {
        now: BigInt(Math.trunc(this.clock.wall())),
        uptimeMs: this.clockMs,
        connections: this.peers.size,
        sessions: this.sessions.size,
        waiting: this.consumers.length,
        appliedIndex: 0n,
        term: 1n,
        stateHash: 0n,
        totals,
        topics,
        stages: [],
      },
    ];
  }

  private cluster(): Answer {
    return ['CLUSTER_REPORT', { node: 1n, clusterId: CLUSTER_ID, leader: 1n, term: 1n, last: 0n, commit: 0n, featureLevel: 3, members: [] }];
  }
}

interface Topics {
  readonly topics: readonly string[];
  readonly weights: readonly number[];
}

function consumer(peer: Peer, id: number, { topics, weights }: Topics, jobsMax: number, isSubscription: boolean): Consumer {
  const list = [...topics, ...weights].join();
  if (weights.length > 0 && !peer.turns.has(list)) peer.turns.set(list, new Turns(topics, weights));
  return { peer, id, topics, turns: peer.turns.get(list) ?? null, jobsMax, isSubscription, held: new Set(), credit: jobsMax, cancel: () => {} };
}

function attempt(push: () => { outcome: number; code: number; job: bigint }): { outcome: number; code: number; job: bigint } {
  try {
    return push();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { outcome: 3, code: error.number, job: error.job };
  }
}

function refusal(error: Refusal, message: string): Answer {
  const marks = error.code === 'PAUSED' ? 1 : 0;
  return ['ERROR', { code: error.number, marks, applied: 0, retryAfterMs: 0, leader: '', message }];
}

function changed(job: FakeJob): Answer {
  return ['CHANGED', { job: job.id, dueMs: BigInt(job.dueMs), state: job.state, version: 0n }];
}

function byId(a: FakeJob, b: FakeJob): number {
  return a.id < b.id ? -1 : 1;
}

function byDue(a: FakeJob, b: FakeJob): number {
  return a.dueMs - b.dueMs || byId(a, b);
}

function byKey(a: FakeJob, b: FakeJob): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : byId(a, b);
}

function byOrder(a: FakeJob, b: FakeJob): number {
  return a.priority - b.priority || byDue(a, b);
}

