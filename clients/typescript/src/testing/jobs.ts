/** The jobs of a queue in memory, and what may become of them. It knows no connection. */

import type { Attributes, BackoffValue } from '../protocol/attributes.js';
import { ERROR_CODES, type ErrorCodeName } from '../protocol/codes.js';
import type { FilterValue } from '../protocol/filter.js';
import { PRIORITY_UNSAID, RELEASE_BACKOFF, RELEASE_NOT_STARTED } from '../protocol/limits.js';
import type { DeliveredValue, JobReference, ListedValue, NewJobValue } from '../protocol/messages.js';
import type { Settings, SettingsChange } from '../protocol/policy.js';
import { Rate } from './rate.js';
import type { Turns } from './turns.js';

export const DELAYED = 0;
export const READY = 1;
export const RESERVED = 2;
export const BURIED = 3;
export const FINISHED = 4;

const BURIED_BY_CONSUMER = 1;
const ATTEMPTS_USED_UP = 2;
const TOO_LATE = 3;
const LATE_BURY = 2;
const LATE_DROP = 3;
const PRIORITY_DEFAULT = 1_024;
const TTR_MS_DEFAULT = 60_000;
/** States that a filter means if it says none. */
const STATES_DEFAULT = 15;

/** A request, or an item of it, that cannot be carried out. */
export class Refusal extends Error {
  constructor(readonly code: ErrorCodeName, readonly job = 0n) {
    super(code);
  }

  get number(): number {
    return ERROR_CODES[this.code];
  }
}

export interface FakeJob {
  readonly id: bigint;
  topic: string;
  key: string;
  body: Uint8Array;
  attributes: Attributes;
  priority: number;
  ttrMs: number;
  dueMs: number;
  expiresMs: number;
  attemptsMax: number;
  backoff: BackoffValue | undefined;
  state: number;
  buried: number;
  attempts: number;
  fence: bigint;
  session: bigint;
  deadline: number;
  reason: string;
  pushedMs: number;
  reservedFirstMs: number;
  reservedLastMs: number;
  finishedMs: number;
  rememberUntilMs: number;
}

export interface FakeTopic {
  isPaused: boolean;
  settings: Settings;
  readonly rate: Rate;
  pushed: number;
  finished: number;
  deleted: number;
  expired: number;
}

export class Jobs {
  readonly topics = new Map<string, FakeTopic>();
  private readonly jobs = new Map<bigint, FakeJob>();
  private readonly finishedFences = new Set<bigint>();
  private lastId = 0n;
  private lastFence = 0n;

  /** `wall` is the time in milliseconds since the Unix epoch. */
  constructor(private readonly wall: () => number) {}

  *all(): Generator<FakeJob> {
    yield* this.jobs.values();
  }

  topic(name: string): FakeTopic {
    let topic = this.topics.get(name);
    if (!topic) this.topics.set(name, (topic = { isPaused: false, settings: {}, rate: new Rate(), pushed: 0, finished: 0, deleted: 0, expired: 0 }));
    return topic;
  }

  /** Moves jobs whose time has come. */
  look(): void {
    const now = this.wall();
    for (const job of [...this.jobs.values()]) {
      if (job.state === RESERVED && job.deadline <= now) this.fail(job, 0);
      if (job.state === FINISHED && job.rememberUntilMs <= now) this.jobs.delete(job.id);
      if (job.state !== RESERVED && job.state !== FINISHED && job.expiresMs <= now) this.expire(job);
      if (job.state === DELAYED && job.dueMs <= now) job.state = READY;
    }
  }

  /** When `look` has to be called next. */
  get next(): number {
    let next = Infinity;
    for (const job of this.jobs.values()) {
      if (job.state === DELAYED) next = Math.min(next, job.dueMs);
      if (job.state === RESERVED) next = Math.min(next, job.deadline);
      else if (job.state !== FINISHED) next = Math.min(next, job.expiresMs);
      const { settings, rate } = this.topic(job.topic);
      if (job.state === READY && settings.rate !== undefined && rate.freeAt(settings.rate) > this.wall()) next = Math.min(next, rate.freeAt(settings.rate));
    }
    return next;
  }

  push(topic: string, value: NewJobValue): { outcome: number; code: number; job: bigint } {
    const there = value.key ? this.byKey(topic, value.key) : undefined;
    const { settings } = this.topic(topic);
    if (settings.bodyMax !== undefined && value.body.byteLength > settings.bodyMax) throw new Refusal('TOO_LARGE');
    const isSoft = there && (value.ifExists === 2 || value.ifExists === 4);
    if (isSoft && there.state === RESERVED) throw new Refusal('RESERVED', there.id);
    if (there && value.ifExists === 0) throw new Refusal('KEY_EXISTS', there.id);
    if (there && value.ifExists === 1) return { outcome: 1, code: 0, job: there.id };
    const job = this.made(topic, value);
    if (job.expiresMs < job.dueMs) throw new Refusal('EXPIRES_BEFORE_DUE');
    if (there && value.ifExists === 4 && (there.state === DELAYED || there.state === READY)) {
      const capMs = there.pushedMs + Number(value.attributes.postponeMaxMs ?? 1n << 52n);
      const { body, attributes, priority, ttrMs, expiresMs, attemptsMax, backoff } = job;
      Object.assign(there, { body, attributes, priority, ttrMs, expiresMs, attemptsMax, backoff, dueMs: Math.min(job.dueMs, capMs), state: DELAYED });
      return { outcome: 4, code: 0, job: there.id };
    }
    const living = this.living(topic);
    if (!there && settings.jobsMax !== undefined && living.jobs >= Number(settings.jobsMax)) throw new Refusal('QUOTA');
    const bytes = living.bytes - (there?.body.byteLength ?? 0) + job.body.byteLength;
    if (settings.bytesMax !== undefined && bytes > Number(settings.bytesMax)) throw new Refusal('QUOTA');
    if (there) this.remove(there);
    this.jobs.set(job.id, job);
    this.topic(topic).pushed += 1;
    return { outcome: there ? 2 : 0, code: 0, job: job.id };
  }

  private made(topic: string, value: NewJobValue): FakeJob {
    const now = this.wall();
    const { settings } = this.topic(topic);
    const { attributes } = value;
    const dueMs = value.dueKind === 0 ? now + Number(value.dueMs) : Number(value.dueMs);
    const expires = attributes.expires;
    const expiresMs = expires ? Number(expires.ms) + (expires.kind === 0 ? now : 0) : settings.expiresAfterMs !== undefined ? dueMs + Number(settings.expiresAfterMs) : Infinity;
    return {
      id: (this.lastId += 1n),
      topic,
      key: value.key,
      body: value.body,
      attributes,
      priority: value.priority === PRIORITY_UNSAID ? (settings.priority ?? PRIORITY_DEFAULT) : value.priority,
      ttrMs: value.ttrMs || (settings.ttrMs ?? TTR_MS_DEFAULT),
      dueMs,
      expiresMs,
      attemptsMax: attributes.attemptsMax ?? settings.attemptsMax ?? Infinity,
      backoff: attributes.backoff ?? settings.backoff,
      state: dueMs <= now ? READY : DELAYED,
      buried: 0,
      attempts: 0,
      fence: 0n,
      session: 0n,
      deadline: 0,
      reason: '',
      pushedMs: now,
      reservedFirstMs: 0,
      reservedLastMs: 0,
      finishedMs: 0,
      rememberUntilMs: 0,
    };
  }

  private expire(job: FakeJob): void {
    this.jobs.delete(job.id);
    this.topic(job.topic).expired += 1;
  }

  private living(topic: string): { jobs: number; bytes: number } {
    const found = { jobs: 0, bytes: 0 };
    for (const job of this.jobs.values()) {
      if (job.topic !== topic || job.state === FINISHED) continue;
      found.jobs += 1;
      found.bytes += job.body.byteLength;
    }
    return found;
  }

  /** The job that is delivered next: of all topics, or of the one whose turn it is. */
  best(topics: readonly string[], turns: Turns | null): FakeJob | undefined {
    const open = new Set(topics.filter((topic) => this.delivers(topic)));
    const heads = new Map<string, FakeJob>();
    for (const job of [...this.jobs.values()]) {
      if (job.state !== READY || !open.has(job.topic) || this.isTooLate(job)) continue;
      const head = heads.get(job.topic);
      if (!head || isBefore(job, head)) heads.set(job.topic, job);
    }
    if (turns) return heads.get(turns.next((topic) => heads.has(topic)) ?? '');
    return [...heads.values()].reduce<FakeJob | undefined>((best, job) => (!best || isBefore(job, best) ? job : best), undefined);
  }

  /** Whether the topic's policy allows a delivery now. */
  private delivers(name: string): boolean {
    if (!this.topics.has(name)) return false;
    const { isPaused, settings, rate } = this.topic(name);
    if (isPaused || (settings.rate !== undefined && rate.freeAt(settings.rate) > this.wall())) return false;
    if (settings.leasesMax === undefined) return true;
    return this.matching({ topic: name, states: 1 << RESERVED }).length < settings.leasesMax;
  }

  /** Buries or drops a job whose first delivery would be late, if its topic says so. */
  private isTooLate(job: FakeJob): boolean {
    const { late } = this.topic(job.topic).settings;
    if (!late || job.reservedFirstMs !== 0 || this.wall() - job.dueMs <= Number(late.afterMs)) return false;
    if (late.action === LATE_BURY) this.setAside(job, TOO_LATE);
    else if (late.action === LATE_DROP) this.expire(job);
    return late.action === LATE_BURY || late.action === LATE_DROP;
  }

  lease(job: FakeJob, session: bigint): void {
    const now = this.wall();
    const { settings, rate } = this.topic(job.topic);
    if (settings.rate !== undefined) rate.delivered(settings.rate, now);
    job.state = RESERVED;
    job.attempts += 1;
    job.fence = this.lastFence += 1n;
    job.session = session;
    job.deadline = now + job.ttrMs;
    job.reservedFirstMs ||= now;
    job.reservedLastMs = now;
  }

  leasesOf(session: bigint): FakeJob[] {
    return [...this.jobs.values()].filter((job) => job.state === RESERVED && job.session === session);
  }

  private leased({ job: id, fence }: { readonly job: bigint; readonly fence: bigint }): FakeJob {
    const job = this.jobs.get(id);
    if (!job || job.state !== RESERVED || job.fence !== fence) throw new Refusal('STALE_LEASE');
    return job;
  }

  finish(lease: { readonly job: bigint; readonly fence: bigint }): void {
    if (this.finishedFences.has(lease.fence)) return;
    const job = this.leased(lease);
    this.finishedFences.add(lease.fence);
    this.topic(job.topic).finished += 1;
    job.state = FINISHED;
    job.finishedMs = this.wall();
    const rememberMs = Number(job.attributes.dedupeRetentionMs ?? this.topic(job.topic).settings.rememberMs ?? 0n);
    if (rememberMs === 0) Object.assign(job, { key: '', body: new Uint8Array(0), attributes: {} });
    job.rememberUntilMs = job.finishedMs + (rememberMs || 60_000);
  }

  release(lease: { readonly job: bigint; readonly fence: bigint }, delayMs: bigint, reason: string): void {
    const job = this.leased(lease);
    if (reason) job.reason = reason;
    if (delayMs === RELEASE_NOT_STARTED) {
      job.attempts -= 1;
      job.state = READY;
    } else {
      this.fail(job, delayMs === RELEASE_BACKOFF ? null : Number(delayMs));
    }
  }

  touch(lease: { readonly job: bigint; readonly fence: bigint }, ttrMs: number): void {
    const job = this.leased(lease);
    job.deadline = this.wall() + (ttrMs || job.ttrMs);
  }

  bury(lease: { readonly job: bigint; readonly fence: bigint }, reason: string): void {
    const job = this.leased(lease);
    if (reason) job.reason = reason;
    this.setAside(job, BURIED_BY_CONSUMER);
  }

  /** An attempt failed. `null` waits for the backoff. */
  fail(job: FakeJob, delayMs: number | null): void {
    if (job.attempts >= job.attemptsMax) return this.setAside(job, ATTEMPTS_USED_UP);
    const waitMs = delayMs || backoffMs(job.backoff, job.attempts);
    job.state = READY;
    if (waitMs === 0 || delayMs === 0) return;
    job.state = DELAYED;
    job.dueMs = this.wall() + waitMs;
  }

  private setAside(job: FakeJob, why: number): void {
    const { deadLetters } = this.topic(job.topic).settings;
    if (deadLetters === undefined) {
      job.state = BURIED;
      job.buried = why;
      return;
    }
    this.topic(job.topic).deleted += 1;
    this.topic(deadLetters).pushed += 1;
    Object.assign(job, { topic: deadLetters, state: READY, attempts: 0 });
  }

  remove(job: FakeJob): void {
    this.jobs.delete(job.id);
    this.topic(job.topic).deleted += 1;
  }

  byKey(topic: string, key: string): FakeJob | undefined {
    for (const job of this.jobs.values()) if (job.topic === topic && job.key === key) return job;
    return undefined;
  }

  find(reference: JobReference): FakeJob {
    const job = reference.jobKind === 0 ? this.jobs.get(reference.job) : this.byKey(reference.topic, reference.key);
    if (!job) throw new Refusal('NOT_FOUND');
    return job;
  }

  reschedule(job: FakeJob, dueMs: number): void {
    if (job.state === RESERVED) throw new Refusal('RESERVED');
    if (job.state !== DELAYED && job.state !== READY) throw new Refusal('WRONG_STATE');
    if (job.expiresMs < dueMs) throw new Refusal('EXPIRES_BEFORE_DUE');
    job.dueMs = dueMs;
    job.state = dueMs <= this.wall() ? READY : DELAYED;
  }

  runNow(job: FakeJob): void {
    if (job.state === READY) return;
    this.reschedule(job, this.wall());
  }

  kick(job: FakeJob): void {
    if (job.state !== BURIED) throw new Refusal('WRONG_STATE');
    Object.assign(job, { state: READY, buried: 0, attempts: 0, dueMs: this.wall() });
  }

  move(job: FakeJob, to: string): boolean {
    if (job.key && this.byKey(to, job.key)) return false;
    this.topic(job.topic).deleted += 1;
    this.topic(to).pushed += 1;
    job.topic = to;
    return true;
  }

  matching(filter: FilterValue): FakeJob[] {
    const states = filter.states ?? STATES_DEFAULT;
    const prefix = filter.keyPrefix && new TextDecoder().decode(filter.keyPrefix);
    return [...this.jobs.values()].filter(
      (job) =>
        (states & (1 << job.state)) !== 0 &&
        (job.state !== FINISHED || job.key !== '') &&
        (filter.topic === undefined || job.topic === filter.topic) &&
        (filter.dueFromMs === undefined || job.dueMs >= Number(filter.dueFromMs)) &&
        (filter.dueBeforeMs === undefined || job.dueMs < Number(filter.dueBeforeMs)) &&
        (prefix === undefined || (job.key !== '' && job.key.startsWith(prefix))) &&
        (filter.attemptsMin === undefined || job.attempts >= filter.attemptsMin) &&
        (filter.attemptsMax === undefined || job.attempts <= filter.attemptsMax) &&
        (filter.buried === undefined || job.buried === filter.buried) &&
        (filter.reason === undefined || job.reason.includes(filter.reason)),
    );
  }

  setTopic(name: string, change: SettingsChange): void {
    const merged = Object.entries({ ...this.topic(name).settings, ...change }).filter(([, value]) => value !== null);
    this.topic(name).settings = Object.fromEntries(merged) as Settings;
  }
}

/** The order of delivery. */
function isBefore(a: FakeJob, b: FakeJob): boolean {
  return a.priority !== b.priority ? a.priority < b.priority : a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.id < b.id);
}

function backoffMs(backoff: BackoffValue | undefined, attempts: number): number {
  if (!backoff) return 0;
  const [first = 0, max = 0] = backoff.waitsMs;
  if (backoff.kind === 0) return first;
  if (backoff.kind === 1) return Math.min(first * attempts, max);
  if (backoff.kind === 2) return Math.min(first * 2 ** (attempts - 1), max);
  return backoff.waitsMs[Math.min(attempts, backoff.waitsMs.length) - 1] ?? 0;
}

/** A leased job for the wire. */
export function deliveredValue(job: FakeJob, wallMs: number, clockMs: number): DeliveredValue {
  const leftMs = Math.max(0, job.deadline - wallMs);
  const { id, fence, priority, attempts, topic, key, attributes, body } = job;
  return { job: id, fence, dueMs: BigInt(job.dueMs), priority, attempts, ttrLeftMs: leftMs, topic, key, attributes, body, deadlineMs: BigInt(clockMs + leftMs) };
}

/** A job as JOBS shows it. */
export function listedValue(job: FakeJob, wallMs: number, withBody: boolean): ListedValue {
  const { id, state, buried, priority, attempts, ttrMs, topic, key, attributes, body, reason } = job;
  return {
    job: id,
    dueMs: BigInt(job.dueMs),
    state,
    buried,
    priority,
    attempts,
    ttrMs,
    ttrLeftMs: state === RESERVED ? Math.max(0, job.deadline - wallMs) : 0,
    topic,
    key,
    attributes,
    body: withBody ? body : new Uint8Array(0),
    bodyBytes: body.byteLength,
    pushedMs: BigInt(job.pushedMs),
    reservedFirstMs: BigInt(job.reservedFirstMs),
    reservedLastMs: BigInt(job.reservedLastMs),
    heldBy: job.session,
    reason,
  };
}
