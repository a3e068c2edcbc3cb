/**
 * What looks after the queue: shows, changes and counts jobs, topics, groups and schedules. Nothing here holds a lease, and no job is pushed but by a schedule.
 */

import { editFields, type JobEdit } from './edit.js';
import type { CallOptions } from './engine/interfaces.js';
import type { KeyToCancel } from './engine/repeat.js';
import { UsageError } from './errors.js';
import { filterValue, type JobFilter } from './filter.js';
import {
  groupChange,
  groupConditions,
  groupInfo,
  holdReason,
  whyTopicFields,
  type GroupChange,
  type GroupInfo,
  type GroupsOptions,
  type HoldReason,
  type WhyTopicOptions,
} from './groups.js';
import { jobInfo, stateOf, type JobInfo, type JobRef, type JobState, type Unknown } from './job.js';
import { onlyKnown, type Names } from './known.js';
import { checkKey, checkTopic } from './new-job.js';
import { CHANGE_NAMES, DISCONNECT_OPTIONS, DUE_KIND, JOB_KIND, LIST_MARKS, ORDER_NAMES, PAGE_MARKS, STEP } from './protocol/choices.js';
import { BULK_JOBS_MAX, CONNECTIONS_LISTED_MAX, DUE_BARS_MAX, GROUPS_LISTED_MAX, KICK_JOBS_MAX, LIST_JOBS_MAX, SCHEDULES_LISTED_MAX } from './protocol/limits.js';
import type { JobReference, RequestFields, RequestName, ResponseFields, ResponseName } from './protocol/messages.js';
import { connectionInfo, queueStats, topicCounts, topicSettings, type ConnectionInfo, type QueueStats, type TopicCounts, type TopicSettings } from './reports.js';
import {
  checkScheduleName,
  fillFields,
  filledPart,
  listedSchedule,
  pauseOptions,
  preview,
  previewFields,
  scheduleConditions,
  scheduleFields,
  scheduleInfo,
  scheduled,
  setOptions,
  type FillTime,
  type FilledPart,
  type ListedSchedule,
  type PauseScheduleOptions,
  type PreviewOptions,
  type Schedule,
  type ScheduleInfo,
  type SchedulePreview,
  type ScheduleRules,
  type Scheduled,
  type SchedulesOptions,
  type SetScheduleOptions,
} from './schedule.js';
import { NotFoundError } from './server-errors.js';
import { durationMs, instantMs, wideDurationMs, type Instant } from './time.js';
import { settingsChange, type TopicPolicyChange } from './topic-policy.js';
import { wholeNumber, wideNumber } from './whole-number.js';

/** What became of one job. */
export interface Changed {
  readonly id: bigint;
  /** The state it is in now; for `delete`, the one it was in. */
  readonly state: JobState | Unknown;
  readonly due: Date;
  /** `due` in milliseconds, exact also after the year 275760, where `Date` ends. */
  readonly dueMs: bigint;
  /** The version of the job after the change, and of a deleted one before it; `null` from a server that has none. */
  readonly version: bigint | null;
}

export interface ListOptions extends CallOptions {
  order?: (typeof ORDER_NAMES)[number];
  /** Jobs per request: 1,024. */
  pageSize?: number;
  withBodies?: boolean;
}

/** When a job is to be due. */
export type Due = { readonly delayMs: number } | { readonly at: Instant };

export interface RescheduleOptions extends CallOptions {
  /** Only if the job is still of this version: else it is a `ChangedError`, and nothing is changed. */
  ifVersion?: bigint;
}

export type EditOptions = RescheduleOptions;

export type BulkChange =
  | { readonly change: 'delete' | 'kick' | 'run_now' }
  /** With `delayMs`: so long after the leader's clock showed when the first step was sent. */
  | ({ readonly change: 'reschedule' } & Due)
  | { readonly change: 'move'; readonly to: string };

export interface BulkOptions extends CallOptions {
  /** Jobs per request: 1,024. */
  stepSize?: number;
  /** Goes on where an earlier step ended. */
  cursor?: Uint8Array;
}

/** Equally long parts of a time, one after the other. */
export interface DueBars {
  /** Where the first one begins. */
  readonly start: Instant;
  /** How long each is, in milliseconds. */
  readonly barMs: number;
  /** How many: 1 to 1,024. */
  readonly count: number;
}

/** How many jobs are due in a part of a time. */
export interface DueBar {
  /** When it begins: it goes on to the next one, and the last one has no end. `null` for the jobs before the first bar. */
  readonly start: Date | null;
  readonly jobs: bigint;
}

/** How to pause a topic. */
export interface PauseOptions extends CallOptions {
  /** The pause ends by itself after this time, of which at most ten years count. Of a paused topic only the end of the pause changes. */
  forMs?: number;
}

/** One step of a bulk change. */
export interface BulkStep {
  readonly changed: number;
  /** They met the conditions and were left as they are: their state does not allow the change, or the other topic has their key. */
  readonly skipped: number;
  /** Where the next step goes on; empty after the last one. */
  readonly cursor: Uint8Array;
}

const RESCHEDULE_OPTIONS: Names<RescheduleOptions> = { ifVersion: true, signal: true };
const LIST_OPTIONS: Names<ListOptions> = { order: true, pageSize: true, withBodies: true, signal: true };
const DUE_BARS: Names<DueBars> = { start: true, barMs: true, count: true };
const BULK_OPTIONS: Names<BulkOptions> = { stepSize: true, cursor: true, signal: true };
const PAUSE_OPTIONS: Names<PauseOptions> = { forMs: true, signal: true };

export abstract class OperatorCalls {
  /** For the parts of this package: sends a request, and returns the fields of its answer. */
  abstract ask<Q extends RequestName, A extends ResponseName>(name: Q, fields: RequestFields<Q>, answer: A, options?: CallOptions): Promise<ResponseFields<A>>;

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
      return jobInfo(await answer);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  /** Why a job is not running: the reasons, the most important one first; never none. A `NotFoundError` if there is no such job. */
  async why(job: JobRef, options: CallOptions = {}): Promise<HoldReason[]> {
    return (await this.ask('WHY', { reference: referenceOf(job) }, 'REASONS', options)).reasons.map(holdReason);
  }

  /** Removes a job, whatever its state. By key, a lost answer ends with `OutcomeUnknownError`; that of `cancel` does not. */
  delete(job: JobRef, options: CallOptions = {}): Promise<Changed> {
    return this.change(this.ask('DELETE', { reference: referenceOf(job) }, 'CHANGED', options));
  }

  /**
   * Sees to it that there is no job with this key. Says whether there was one. It is sent again when its answer is lost: so
   * `false` may also mean that its first copy removed the job, and a job that was pushed under the key meanwhile is removed, too.
   */
  async cancel(topic: string, key: string, options: CallOptions = {}): Promise<boolean> {
    const reference: KeyToCancel = { jobKind: JOB_KIND.key, topic: checkTopic(topic), key: checkKey(key), mayRepeat: true };
    try {
      await this.ask('DELETE', { reference }, 'CHANGED', options);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Gives a delayed or ready job another due time; a buried one is kicked first. */
  reschedule(job: JobRef, due: Due, options: RescheduleOptions = {}): Promise<Changed> {
    checkDue('reschedule', due);
    const { ifVersion = 0n, signal } = onlyKnown('reschedule', options, RESCHEDULE_OPTIONS);
    const point = 'at' in due ? { dueMs: instantMs('at', due.at), dueKind: DUE_KIND.at } : { dueMs: BigInt(durationMs('delayMs', due.delayMs)), dueKind: DUE_KIND.after };
    return this.change(this.ask('RESCHEDULE', { ...point, reference: referenceOf(job), ifVersion: wideNumber('ifVersion', ifVersion) }, 'CHANGED', { signal }));
  }

  /**
   * Changes parts of a delayed, ready or buried job: `q.edit(17n, { priority: 5, expiresAt: null })`. `null` takes a part away. A buried
   * job cannot get a due time.
   */
  edit(job: JobRef, parts: JobEdit, options: EditOptions = {}): Promise<Changed> {
    const fields = editFields(parts);
    const { ifVersion = 0n, signal } = onlyKnown('edit', options, RESCHEDULE_OPTIONS);
    return this.change(this.ask('EDIT', { ...fields, reference: referenceOf(job), ifVersion: wideNumber('ifVersion', ifVersion) }, 'CHANGED', { signal }));
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
    const { job, dueMs, state, version } = await answer;
    return { id: job, state: stateOf(state), due: new Date(Number(dueMs)), dueMs, version: version || null };
  }

  /** Makes up to `max` buried jobs of a topic ready. Returns how many. */
  async kickMany(topic: string, max: number, options: CallOptions = {}): Promise<number> {
    checkTopic(topic);
    if (!Number.isInteger(max) || max < 0) throw new UsageError(`max is ${max}, it must be a whole number from 0 on`);
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
    const order = ORDER_NAMES.indexOf(onlyKnown('list', options, LIST_OPTIONS).order ?? 'due');
    if (order < 0) throw new UsageError(`order is none of ${ORDER_NAMES.join(', ')}`);
    const jobsMax = wholeNumber('pageSize', options.pageSize ?? LIST_JOBS_MAX, LIST_JOBS_MAX);
    const fields = { jobsMax, order, marks: options.withBodies ? LIST_MARKS.bodies : 0, filter: filterValue(filter) };
    let cursor = new Uint8Array(0);
    do {
      const page = await this.ask('LIST', { ...fields, cursor }, 'JOBS', { signal: options.signal });
      cursor = page.cursor as typeof cursor;
      for (const job of page.jobs) yield jobInfo(job);
    } while (cursor.byteLength > 0);
  }

  /** How many jobs match. */
  async count(filter: JobFilter = {}, options: CallOptions = {}): Promise<bigint> {
    return (await this.ask('COUNT', { filter: filterValue(filter), bars: 0, barsFromMs: 0n, barMs: 0n }, 'COUNTED', options)).jobs;
  }

  /**
   * How many jobs match, by when they are due: before `start`, in each of the `count` bars of `barMs` milliseconds from `start`
   * on, and after them.
   */
  async countByDue(bars: DueBars, filter: JobFilter = {}, options: CallOptions = {}): Promise<DueBar[]> {
    const { start, barMs, count } = onlyKnown('bars', bars, DUE_BARS);
    const fields = {
      filter: filterValue(filter),
      bars: wholeNumber('count', count, DUE_BARS_MAX),
      barsFromMs: instantMs('start', start),
      barMs: BigInt(wholeNumber('barMs', barMs, Number.MAX_SAFE_INTEGER)),
    };
    const { byDue } = await this.ask('COUNT', fields, 'COUNTED', options);
    return (byDue ?? []).map(({ startMs, jobs }) => ({ start: startMs === 0n ? null : new Date(Number(startMs)), jobs }));
  }

  /** Changes all jobs that match, step by step: iterate to go on. Stop at any step, and go on later from its cursor. */
  async *bulk(change: BulkChange, filter: JobFilter, options: BulkOptions = {}): AsyncGenerator<BulkStep, void> {
    const place = CHANGE_NAMES.indexOf(change?.change);
    if (place < 0) throw new UsageError(`change is none of ${CHANGE_NAMES.join(', ')}`);
    checkChange(change);
    onlyKnown('bulk', options, BULK_OPTIONS);
    const fields = {
      jobsMax: wholeNumber('stepSize', options.stepSize ?? BULK_JOBS_MAX, BULK_JOBS_MAX),
      change: place,
      dueMs: change.change === 'reschedule' ? await this.wallTime(change, options) : 0n,
      filter: filterValue(filter),
      to: change.change === 'move' ? checkTopic(change.to) : '',
    };
    let cursor = options.cursor ?? new Uint8Array(0);
    do {
      const step = await this.ask('BULK', { ...fields, cursor }, 'BULKED', { signal: options.signal });
      cursor = step.cursor;
      yield { changed: step.jobs, skipped: step.skipped, cursor };
    } while (cursor.byteLength > 0);
  }

  /** A bulk change has one due time for all of its jobs and steps. */
  private async wallTime(due: Due, options: CallOptions): Promise<bigint> {
    if ('at' in due) return instantMs('at', due.at);
    const delayMs = durationMs('delayMs', due.delayMs);
    return BigInt((await this.ping({ signal: options.signal })).getTime() + delayMs);
  }

  // --- topics and the queue --------------------------------------------------------------------------------------

  /** Stops the delivery of a topic's jobs until `resume`, or for `forMs`. They still come due, and leases go on. */
  async pause(topic: string, options: PauseOptions = {}): Promise<void> {
    const { forMs: time, signal } = onlyKnown('pause', options, PAUSE_OPTIONS);
    const forMs = time === undefined ? 0n : wideDurationMs('forMs', time);
    if (time !== undefined && forMs === 0n) throw new UsageError('forMs is 0: leave it out to pause until resume');
    await this.ask('PAUSE', { topic: checkTopic(topic), forMs }, 'DONE', { signal });
  }

  /** Delivers the topic's jobs again. */
  async resume(topic: string, options: CallOptions = {}): Promise<void> {
    await this.ask('RESUME', { topic: checkTopic(topic) }, 'DONE', options);
  }

  /** The topics that the queue knows, each with its counts. */
  async topics(options: CallOptions = {}): Promise<TopicCounts[]> {
    return (await this.ask('TOPICS', {}, 'TOPIC_COUNTS', options)).topics.map(topicCounts);
  }

  /** Counts of the whole queue. */
  async stats(options: CallOptions = {}): Promise<QueueStats> {
    return queueStats(await this.ask('STATS', {}, 'QUEUE_STATS', options));
  }

  /** Changes what a topic decides for its jobs. The topic is created if it is new. */
  async setTopic(topic: string, policy: TopicPolicyChange, options: CallOptions = {}): Promise<void> {
    await this.ask('TOPIC_SET', { topic: checkTopic(topic), settings: settingsChange(policy) }, 'DONE', options);
  }

  /** A topic's policy, and how much it holds. */
  async showTopic(topic: string, options: CallOptions = {}): Promise<TopicSettings> {
    return topicSettings(await this.ask('TOPIC_SHOW', { topic: checkTopic(topic) }, 'TOPIC_SETTINGS', options));
  }

  /** Deletes a topic without jobs, with its policy. */
  async deleteTopic(topic: string, options: CallOptions = {}): Promise<void> {
    await this.ask('TOPIC_DELETE', { topic: checkTopic(topic) }, 'DONE', options);
  }

  /** Why a topic, or one of its groups, gives no job: the reasons, the most important one first; never none. */
  async whyTopic(topic: string, options: WhyTopicOptions = {}): Promise<HoldReason[]> {
    const fields = whyTopicFields(topic, options);
    return (await this.ask('TOPIC_WHY', fields, 'REASONS', { signal: options.signal })).reasons.map(holdReason);
  }

  // --- groups ----------------------------------------------------------------------------------------------------

  /**
   * Changes the weight of a group, pauses or resumes it: `q.setGroup('mails', 'ann', { weight: 5 })`. A `NotFoundError` if there is no such
   * topic, a `WrongStateError` if its groups do not take turns.
   */
  async setGroup(topic: string, group: string, change: GroupChange, options: CallOptions = {}): Promise<void> {
    await this.ask('GROUP_SET', groupChange(topic, group, change), 'DONE', options);
  }

  /** The groups of a topic that have a job that is ready or reserved, or settings, page by page, by name. */
  async *groups(topic: string, options: GroupsOptions = {}): AsyncGenerator<GroupInfo, void> {
    const fields = { ...groupConditions(topic, options), groupsMax: GROUPS_LISTED_MAX };
    let after = '';
    do {
      const page = await this.ask('GROUP_LIST', { ...fields, after }, 'GROUPS', { signal: options.signal });
      for (const one of page.groups) yield groupInfo(one);
      after = page.after;
    } while (after !== '');
  }

  // --- schedules -------------------------------------------------------------------------------------------------

  /**
   * Creates a schedule, which pushes a job to the topic at each of its instants, or gives the one of this name another content. All of it is
   * replaced, what is left out as well; its history stays. The topic is created if it is new. Never repeated by itself.
   */
  async setSchedule(topic: string, name: string, schedule: Schedule, options: SetScheduleOptions = {}): Promise<Scheduled> {
    const { ifVersion, signal } = setOptions(options);
    return scheduled(await this.ask('SCHEDULE_SET', { ...named(topic, name), ...scheduleFields(schedule), ifVersion }, 'SCHEDULED', { signal }));
  }

  /** A schedule as it stands, with its jobs and what it did of late. A `NotFoundError` if there is none of this name. */
  async showSchedule(topic: string, name: string, options: CallOptions = {}): Promise<ScheduleInfo> {
    return scheduleInfo(topic, name, await this.ask('SCHEDULE_SHOW', named(topic, name), 'SCHEDULE', options));
  }

  /**
   * The schedules of a topic, or, without one, of all topics that the token may read: all, or those that `options` say. They come page by
   * page, those of a topic in the order in which they were made. To change many at once, list them, and pause, resume or delete each.
   */
  async *schedules(topic?: string, options: SchedulesOptions = {}): AsyncGenerator<ListedSchedule, void> {
    const fields = { ...scheduleConditions(options), schedulesMax: SCHEDULES_LISTED_MAX, topic: topic === undefined ? '' : checkTopic(topic) };
    let cursor = new Uint8Array(0);
    do {
      const page = await this.ask('SCHEDULE_LIST', { ...fields, cursor }, 'SCHEDULES', { signal: options.signal });
      cursor = page.cursor as typeof cursor;
      for (const one of page.schedules) yield listedSchedule(one);
    } while (cursor.byteLength > 0);
  }

  /** Forgets a schedule. Its jobs stay. Never repeated by itself. */
  async deleteSchedule(topic: string, name: string, options: CallOptions = {}): Promise<void> {
    await this.ask('SCHEDULE_DELETE', named(topic, name), 'DONE', options);
  }

  /** Lets a schedule fire no more until it is resumed. */
  async pauseSchedule(topic: string, name: string, options: PauseScheduleOptions = {}): Promise<void> {
    const { note, signal } = pauseOptions(options);
    await this.ask('SCHEDULE_PAUSE', { ...named(topic, name), note: note ?? '' }, 'DONE', { signal });
  }

  /** Lets a paused schedule fire again. Its rule `missed` says what happens to the instants that passed. */
  async resumeSchedule(topic: string, name: string, options: CallOptions = {}): Promise<void> {
    await this.ask('SCHEDULE_RESUME', named(topic, name), 'DONE', options);
  }

  /**
   * Pushes a job of a schedule now, whether an earlier one has ended or not, and returns its id. The next instant stays. A `KeyExistsError`
   * if the topic has a job with the key that it would have. Never repeated by itself.
   */
  async runSchedule(topic: string, name: string, options: CallOptions = {}): Promise<bigint> {
    return (await this.ask('SCHEDULE_RUN', named(topic, name), 'SCHEDULE_RAN', options)).job;
  }

  /**
   * Pushes jobs for the instants that a schedule had in a time that has passed: those of one part of it. Go on with the next part:
   *
   * ```ts
   * for (let next: Instant | null = from; next !== null; ) {
   *   ({ next } = await q.fillSchedule('reports', 'morning', { from: next, to }));
   * }
   * ```
   *
   * The jobs are due at once. An instant gets none if the topic has a job with its key; a finished job is pushed again. The history of the
   * schedule does not show these jobs. An `InvalidError` if `to` is ahead, or if the rules give all jobs one key. Never repeated by itself.
   */
  async fillSchedule(topic: string, name: string, time: FillTime, options: CallOptions = {}): Promise<FilledPart> {
    return filledPart(await this.ask('SCHEDULE_FILL', { ...named(topic, name), ...fillFields(time) }, 'SCHEDULE_FILLED', options));
  }

  /**
   * When a schedule with these rules would fire: the next instants, and what the clocks of its zone show then. No schedule is set. Without
   * `origin` and `start`, `@every` counts from `from`, or from now.
   */
  async previewSchedule(rules: ScheduleRules, options: PreviewOptions = {}): Promise<SchedulePreview> {
    return preview(await this.ask('SCHEDULE_PREVIEW', previewFields(rules, options), 'INSTANTS', { signal: options.signal }));
  }

  // --- connections -----------------------------------------------------------------------------------------------

  /** The clients that are connected to the leader. */
  async *connections(options: CallOptions = {}): AsyncGenerator<ConnectionInfo, void> {
    let after = 0n;
    for (;;) {
      const page = await this.ask('CONNECTIONS', { after, connectionsMax: CONNECTIONS_LISTED_MAX }, 'CONNECTION_LIST', options);
      for (const one of page.connections) yield connectionInfo(one);
      if (!(page.marks & PAGE_MARKS.more)) return;
      after = page.connections.at(-1)?.connection ?? after;
    }
  }

  /** Closes the connection of another client. */
  async disconnect(connection: bigint, options: CallOptions & { readonly endSession?: boolean } = {}): Promise<void> {
    onlyKnown('disconnect', options, { endSession: true, signal: true });
    await this.ask('DISCONNECT', { connection, options: options.endSession ? DISCONNECT_OPTIONS.endsSession : 0 }, 'DONE', { signal: options.signal });
  }

  /** Asks whether the leader is there. Returns its wall clock. */
  async ping(options: CallOptions = {}): Promise<Date> {
    return new Date(Number((await this.ask('PING', {}, 'PONG', options)).now));
  }

  // --- the clock of a server for tests ---------------------------------------------------------------------------

  /**
   * Moves the queue's clock by so many milliseconds, on a server that runs with `--memory --clock manual`; any other refuses it with an
   * `UnsupportedError`. Returns what the clock shows then, when everything that is due by that time is carried out: jobs are ready, leases
   * have ended. This client still counts its leases on its own clock. Never repeated by itself.
   */
  async advance(ms: number, options: CallOptions = {}): Promise<Date> {
    const byMs = BigInt(durationMs('ms', ms));
    return new Date(Number((await this.ask('ADVANCE', { step: STEP.by, byMs }, 'PONG', options)).now));
  }

  /** As `advance`, to the time at which the next delayed job is due, of all topics. A `NotFoundError` if none is delayed: the clock stays. */
  async advanceToNext(options: CallOptions = {}): Promise<Date> {
    return new Date(Number((await this.ask('ADVANCE', { step: STEP.to_next, byMs: 0n }, 'PONG', options)).now));
  }
}

function named(topic: string, name: string): { topic: string; name: string } {
  return { topic: checkTopic(topic), name: checkScheduleName(name) };
}

function checkDue(what: string, due: Due): void {
  onlyKnown(what, due, { delayMs: true, at: true });
  if (('at' in due) === ('delayMs' in due)) throw new UsageError(`${what} to when? Write { delayMs } or { at }`);
}

function checkChange(change: BulkChange): void {
  if (change.change === 'reschedule') {
    const { change: _, ...due } = change;
    checkDue('reschedule', due as Due);
  } else {
    const names = change.change === 'move' ? { change: true, to: true } : { change: true };
    onlyKnown(`the change "${change.change}"`, change as object, names as Names<object>);
  }
}

function referenceOf(job: JobRef): JobReference {
  if (typeof job === 'bigint') return { jobKind: JOB_KIND.id, job };
  if (typeof job !== 'object' || job === null) throw new UsageError(`${String(job)} names no job: write its id, a bigint, or { topic, key }`);
  if ('id' in job) {
    if (typeof job.id !== 'bigint') throw new UsageError(`the id of a job is a bigint, not ${String(job.id)}: write 17n, or BigInt(17)`);
    return { jobKind: JOB_KIND.id, job: job.id };
  }
  return { jobKind: JOB_KIND.key, topic: checkTopic(job.topic), key: checkKey(job.key) };
}
