/** Schedules: what a caller gives for one, and what the queue shows of it. */

import { UsageError } from './errors.js';
import type { CallOptions } from './engine/interfaces.js';
import type { Unknown } from './job.js';
import { onlyKnown, type Names } from './known.js';
import { checkKey, newJobValue, type NewJob } from './new-job.js';
import { utf8Bytes } from './protocol/bytes.js';
import { DST_NAMES, FIRED_NAMES, MISSED_NAMES, OVERLAP_NAMES, PAUSED, PAUSED_NAMES, SCHEDULE_MARKS, WHICH_PAUSED } from './protocol/choices.js';
import { INSTANTS_SHOWN_MAX, PRIORITY_UNSAID, SCHEDULE_JITTER_MS_MAX, SCHEDULE_MISSED_MAX, SCHEDULE_NAME_BYTES_MAX } from './protocol/limits.js';
import type {
  Attributes,
  FiringValue,
  JobTemplateValue,
  ListedScheduleValue,
  ResponseFields,
  ScheduleFillFields,
  ScheduleListFields,
  SchedulePreviewFields,
  ScheduleRulesValue,
  ScheduleStateValue,
} from './protocol/messages.js';
import { dateOf, durationMs, instantMs, wideDurationMs, type Instant } from './time.js';
import { wholeNumber, wideNumber } from './whole-number.js';

/** A number of 64 bits, as callers may give it. */
type Wide = number | bigint;

/** What happens to times that a change of the clocks skips or repeats. */
export type ScheduleDst = (typeof DST_NAMES)[number];
/** Which of the instants that passed unnoticed are fired late. */
export type ScheduleMissed = (typeof MISSED_NAMES)[number];
/** What happens at an instant while an earlier job has not ended. */
export type ScheduleOverlap = (typeof OVERLAP_NAMES)[number];
/** Why a schedule does not fire at present. */
export type SchedulePaused = Exclude<(typeof PAUSED_NAMES)[number], 'not_paused'>;
/** What became of an instant. */
export type Fired = (typeof FIRED_NAMES)[number];

/** When a schedule fires, and what it does then. What a newer server calls otherwise is shown as `'unknown'`, and cannot be set. */
export interface ScheduleRules<N extends Wide = Wide, T extends Instant = Instant> {
  /** A cron expression, `@daily` and the like, `@every 90s`, or `@at` with times. */
  readonly when: string;
  /** The IANA name of the time zone of a cron expression: `Europe/Berlin`. UTC by default. */
  readonly zone?: string;
  /**
   * When the clocks of the zone are changed: `vixie`, the default, fires a time that is skipped at once after the gap, and a repeated one
   * once, as cron does; `literal` does not fire a time that is skipped, and fires a repeated one twice.
   */
  readonly dst?: ScheduleDst | Unknown;
  /** From when `@every` counts; by default from `start`, or from when the schedule is set first. */
  readonly origin?: T;
  /** It does not fire before this time. */
  readonly start?: T;
  /** It does not fire after this time. */
  readonly end?: T;
  /** It ends when it has pushed a job at so many instants. */
  readonly count?: N;
  /** A job is due up to this long after its instant: how long follows from the name and the instant. At most a day. */
  readonly jitterMs?: number;
  /** Of the instants that passed unnoticed, `none`, the `last` one (the default), or `all`, up to `missedMax`, are fired late. */
  readonly missed?: ScheduleMissed | Unknown;
  /** With `missed` `last` or `all`: only instants that were missed no longer ago than this. */
  readonly windowMs?: N;
  /** With `missed: 'all'`: at most so many instants, the last ones: 100. At most 1,000. */
  readonly missedMax?: number;
  /**
   * While an earlier job has not ended: `allow` pushes another one; `skip`, the default, pushes none; `queue_one` pushes it as soon as the
   * earlier one has ended, and skips further instants until then; `replace` deletes the earlier job, also a reserved one, and pushes another.
   */
  readonly overlap?: ScheduleOverlap | Unknown;
  /** It is paused after so many failures one after another; by default it is not. */
  readonly failuresMax?: number;
  /** The key of its jobs; by default the name, `@`, and the instant in milliseconds. */
  readonly key?: string;
  /** For people. At most 256 bytes. */
  readonly note?: string;
}

/**
 * What the jobs of a schedule have in common: options of a push. An `expiresAfterMs` counts from when each job is pushed. `pushHeaders` of
 * `connect` are not added.
 */
export type JobTemplate = Pick<
  NewJob,
  'body' | 'priority' | 'ttrMs' | 'headers' | 'expiresAfterMs' | 'expiresAt' | 'attemptsMax' | 'backoff' | 'group' | 'rememberMs' | 'attributes'
>;

/** What a schedule is to be. */
export interface Schedule extends ScheduleRules {
  /** By default they have an empty body. */
  readonly job?: JobTemplate;
}

export interface SetScheduleOptions extends CallOptions {
  /**
   * Only if the schedule is still of the version that was shown, or, with `'new'`, only if there is none of this name: else it is a
   * `ChangedError`, and nothing is changed.
   */
  ifVersion?: number | 'new';
}

/** How to pause a schedule. */
export interface PauseScheduleOptions extends CallOptions {
  /** Why, for people. */
  note?: string;
}

/** Which schedules: those that meet all conditions that are there. */
export interface SchedulesOptions extends CallOptions {
  /** Their names begin like this. */
  prefix?: string;
  /** They are paused, or, with `false`, they are not. */
  paused?: boolean;
  /** They have a next instant before this time. */
  nextBefore?: Instant;
}

/** A time that has passed, and whose instants get jobs. */
export interface FillTime {
  /** The first time that counts. */
  readonly from: Instant;
  /** The last time that counts. It must not be ahead. */
  readonly to: Instant;
  /** Pushes nothing, and counts the instants. */
  readonly dryRun?: boolean;
}

/** Which instants to preview. */
export interface PreviewOptions extends CallOptions {
  /** Only those after this time; by default after now. */
  from?: Instant;
  /** At most so many: 5. At most 1,000. */
  count?: number;
}

/** A schedule that was set. */
export interface Scheduled {
  readonly id: bigint;
  /** How often it was set. */
  readonly version: number;
  /** Its next instant; `null` if there is none. */
  readonly next: Date | null;
}

/** The rules as the queue shows them: what is not set is not there. They can be set again as they are. */
export interface ShownRules extends ScheduleRules<bigint, Date> {
  readonly dst: ScheduleDst | Unknown;
  readonly missed: ScheduleMissed | Unknown;
  readonly overlap: ScheduleOverlap | Unknown;
}

/** The jobs of a schedule as the queue shows them. They can be set again as they are. */
export interface ShownTemplate {
  /** The topic's default if it is not there. */
  readonly priority?: number;
  /** The topic's default if it is not there. */
  readonly ttrMs?: number;
  /** As they stand on the wire, the headers among them: with a new body, leave the header `content-type` out. */
  readonly attributes: Attributes;
  readonly body: Uint8Array;
}

/** A schedule as a list shows it. */
export interface ListedSchedule {
  readonly topic: string;
  readonly name: string;
  readonly id: bigint;
  /** How often it was set: what `ifVersion` of `setSchedule` compares. */
  readonly version: number;
  /** Its next instant; `null` if there is none any more. */
  readonly next: Date | null;
  /** The next instant has come, and is about to be fired. */
  readonly hasCome: boolean;
  /** The next instant has come, and waits until an earlier job has ended. */
  readonly isHeld: boolean;
  /** Why it does not fire at present: a `user` paused it, or too many `failures`; `null` if it fires. */
  readonly paused: SchedulePaused | Unknown | null;
  /** What the user who paused it noted; `null` if nothing. */
  readonly pauseNote: string | null;
  /** Instants at which it pushed a job. */
  readonly fired: bigint;
  /** Its jobs that have not ended. */
  readonly running: number;
  /** Jobs that failed one after another until now. */
  readonly failures: number;
  readonly rules: ShownRules;
}

/** A schedule as it stands. */
export interface ScheduleInfo extends ListedSchedule {
  readonly job: ShownTemplate;
  /** What it did of late, the oldest first; at most 20. */
  readonly history: readonly Firing[];
}

/** What a schedule did at an instant, or at several ones that it skipped together. */
export interface Firing {
  /** The instant; the first of several. */
  readonly instant: Date;
  /** The last of them. */
  readonly last: Date;
  /** How many they are; 10,000 means that or more. */
  readonly instants: bigint;
  /** When the schedule fired or skipped it. */
  readonly at: Date;
  /** The job that it pushed; `null` if it pushed none. */
  readonly job: bigint | null;
  /**
   * What became of it. A job was pushed, and has not ended (`pushed`), was `finished`, buried or moved to the dead letters (`failed`),
   * `deleted` or replaced, or has `expired`. Or none was pushed: the instant had passed (`missed`), an earlier job had not ended
   * (`overlap`), the topic's policy or a limit did not allow it (`refused`), or the topic had a job with the key (`key_taken`).
   */
  readonly fired: Fired | Unknown;
}

/** What became of the instants of a schedule in a part of a time. */
export interface FilledPart {
  /** Instants in this part. */
  readonly instants: number;
  /** Jobs that were pushed; none with `dryRun`. */
  readonly pushed: number;
  /** Instants whose job is in the topic already, by its key. */
  readonly kept: number;
  /** Jobs that the topic's policy, or a limit of the queue, does not allow. */
  readonly refused: number;
  /** From when the next part goes on; `null` after the last one. */
  readonly next: Date | null;
}

/** When a schedule would fire. */
export interface SchedulePreview {
  /** The version and the origin of the zone data: `2026f, bundled`. */
  readonly zoneData: string;
  /** The next instants, in order: fewer than were asked for if it fires no more. */
  readonly instants: readonly LocalInstant[];
}

/** An instant, and what the clocks of its zone show. */
export interface LocalInstant {
  readonly instant: Date;
  /** Date, time, offset and abbreviation in the zone: `2027-03-28 03:00:00 +02:00 CEST`. */
  readonly local: string;
}

const RULES: Names<ScheduleRules> = {
  when: true,
  zone: true,
  dst: true,
  origin: true,
  start: true,
  end: true,
  count: true,
  jitterMs: true,
  missed: true,
  windowMs: true,
  missedMax: true,
  overlap: true,
  failuresMax: true,
  key: true,
  note: true,
};
const SCHEDULE: Names<Schedule> = { ...RULES, job: true };
const TEMPLATE: Names<JobTemplate> = {
  body: true,
  priority: true,
  ttrMs: true,
  headers: true,
  expiresAfterMs: true,
  expiresAt: true,
  attemptsMax: true,
  backoff: true,
  group: true,
  rememberMs: true,
  attributes: true,
};
const SET_OPTIONS: Names<SetScheduleOptions> = { ifVersion: true, signal: true };
const PAUSE_OPTIONS: Names<PauseScheduleOptions> = { note: true, signal: true };
const SCHEDULES_OPTIONS: Names<SchedulesOptions> = { prefix: true, paused: true, nextBefore: true, signal: true };
const FILL_TIME: Names<FillTime> = { from: true, to: true, dryRun: true };
const PREVIEW_OPTIONS: Names<PreviewOptions> = { from: true, count: true, signal: true };
const PREVIEWED = 5;
/** The version of a schedule that is not there. */
const IF_NEW = 0xffff_ffff;

export function checkScheduleName(name: string): string {
  if (typeof name !== 'string') throw new UsageError(`${String(name)} is no name of a schedule: it must be a text`);
  const bytes = utf8Bytes(name);
  if (bytes < 1 || bytes > SCHEDULE_NAME_BYTES_MAX) throw new UsageError(`the name of a schedule has ${bytes} bytes, it must have 1 to ${SCHEDULE_NAME_BYTES_MAX}`);
  return name;
}

/** What `ifVersion` says is 0 on the wire if it says nothing. */
export function setOptions(options: SetScheduleOptions): { ifVersion: number; signal: AbortSignal | undefined } {
  const { ifVersion, signal } = onlyKnown('setSchedule', options, SET_OPTIONS);
  if (ifVersion === undefined) return { ifVersion: 0, signal };
  return { ifVersion: ifVersion === 'new' ? IF_NEW : wholeNumber('ifVersion', ifVersion, IF_NEW - 1), signal };
}

export function pauseOptions(options: PauseScheduleOptions): PauseScheduleOptions {
  return onlyKnown('pauseSchedule', options, PAUSE_OPTIONS);
}

export function scheduleConditions(options: SchedulesOptions): Pick<ScheduleListFields, 'nextBeforeMs' | 'paused' | 'prefix'> {
  const { prefix, paused, nextBefore } = onlyKnown('schedules', options, SCHEDULES_OPTIONS);
  if (paused !== undefined && typeof paused !== 'boolean') throw new UsageError('paused must be true or false');
  return {
    nextBeforeMs: timeOf('nextBefore', nextBefore),
    paused: paused === undefined ? WHICH_PAUSED.any : paused ? WHICH_PAUSED.paused : WHICH_PAUSED.active,
    prefix: textOf('prefix', prefix),
  };
}

export function fillFields(time: FillTime): Pick<ScheduleFillFields, 'fromMs' | 'toMs' | 'dryRun'> {
  const { from, to, dryRun = false } = onlyKnown('the time to fill', time, FILL_TIME);
  if (typeof dryRun !== 'boolean') throw new UsageError('dryRun must be true or false');
  return { fromMs: instantMs('from', from), toMs: instantMs('to', to), dryRun: Number(dryRun) };
}

/** A `Schedule` has rules, too: its jobs do not matter here. */
export function previewFields(rules: Schedule, options: PreviewOptions): SchedulePreviewFields {
  const { from, count = PREVIEWED } = onlyKnown('previewSchedule', options, PREVIEW_OPTIONS);
  return { ...rulesValue(onlyKnown('a schedule', rules, SCHEDULE)), fromMs: timeOf('from', from), instantsMax: wholeNumber('count', count, INSTANTS_SHOWN_MAX) };
}

export function scheduleFields(schedule: Schedule): ScheduleRulesValue & JobTemplateValue {
  const { job, ...rules } = onlyKnown('a schedule', schedule, SCHEDULE);
  return { ...rulesValue(rules), ...templateValue(job ?? {}) };
}

function rulesValue(rules: ScheduleRules): ScheduleRulesValue {
  if (typeof rules.when !== 'string' || rules.when === '') throw new UsageError("a schedule fires when? Write when: '0 9 * * 1-5', for example");
  const { jitterMs, missedMax, failuresMax, key } = rules;
  return {
    originMs: timeOf('origin', rules.origin),
    startMs: timeOf('start', rules.start),
    endMs: timeOf('end', rules.end),
    count: rules.count === undefined ? 0n : some('count', wideNumber('count', rules.count)),
    windowMs: rules.windowMs === undefined ? 0n : some('windowMs', wideDurationMs('windowMs', rules.windowMs)),
    missedMax: missedMax === undefined ? 0 : wholeNumber('missedMax', missedMax, SCHEDULE_MISSED_MAX),
    jitterMs: jitterMs === undefined ? 0 : durationMs('jitterMs', jitterMs, SCHEDULE_JITTER_MS_MAX),
    failuresMax: failuresMax === undefined ? 0 : wholeNumber('failuresMax', failuresMax),
    dst: choice('dst', DST_NAMES, rules.dst ?? 'vixie'),
    missed: choice('missed', MISSED_NAMES, rules.missed ?? 'last'),
    overlap: choice('overlap', OVERLAP_NAMES, rules.overlap ?? 'skip'),
    when: rules.when,
    zone: textOf('zone', rules.zone),
    key: key === undefined ? '' : checkKey(key),
    note: textOf('note', rules.note),
  };
}

function templateValue(job: JobTemplate): JobTemplateValue {
  const { priority, ttrMs, attributes, body } = newJobValue(onlyKnown('the job of a schedule', job, TEMPLATE), {});
  return { priority, ttrMs, attributes, body };
}

/** On the wire, 0 stands for none. */
function some(name: string, value: bigint): bigint {
  if (value === 0n) throw new UsageError(`${name} is 0: leave it out if there is none`);
  return value;
}

function timeOf(name: string, value: Instant | undefined): bigint {
  return value === undefined ? 0n : some(name, instantMs(name, value));
}

function textOf(name: string, value: string | undefined): string {
  if (value !== undefined && typeof value !== 'string') throw new UsageError(`${name} must be a text`);
  return value ?? '';
}

function choice<T extends string>(name: string, names: readonly T[], value: T | Unknown): number {
  const place = (names as readonly string[]).indexOf(value);
  if (place < 0) throw new UsageError(`${name} is ${String(value)}, it must be one of ${names.join(', ')}`);
  return place;
}

export function scheduled({ schedule, version, nextMs }: ResponseFields<'SCHEDULED'>): Scheduled {
  return { id: schedule, version, next: dateOf(nextMs) };
}

export function filledPart({ nextMs, instants, pushed, kept, refused }: ResponseFields<'SCHEDULE_FILLED'>): FilledPart {
  return { instants, pushed, kept, refused, next: dateOf(nextMs) };
}

export function preview({ zoneData, instants }: ResponseFields<'INSTANTS'>): SchedulePreview {
  return { zoneData, instants: instants.map(({ instantMs: instant, local }) => ({ instant: new Date(Number(instant)), local })) };
}

export function scheduleInfo(topic: string, name: string, { state, pauseNote, history, ...shown }: ResponseFields<'SCHEDULE'>): ScheduleInfo {
  return { topic, name, ...stateOf(state, pauseNote), rules: rulesOf(shown), job: templateOf(shown), history: history.map(firingOf) };
}

export function listedSchedule(listed: ListedScheduleValue): ListedSchedule {
  return { topic: listed.topic, name: listed.name, ...stateOf(listed, listed.pauseNote), rules: rulesOf(listed) };
}

function stateOf(state: ScheduleStateValue, pauseNote: string): Omit<ListedSchedule, 'topic' | 'name' | 'rules'> {
  const { schedule, version, nextMs, marks, paused, fired, running, failures } = state;
  return {
    id: schedule,
    version,
    next: dateOf(nextMs),
    hasCome: (marks & SCHEDULE_MARKS.come) !== 0,
    isHeld: (marks & SCHEDULE_MARKS.held) !== 0,
    paused: paused === PAUSED.not_paused ? null : ((PAUSED_NAMES[paused] as SchedulePaused | undefined) ?? 'unknown'),
    pauseNote: pauseNote || null,
    fired,
    running,
    failures,
  };
}

function rulesOf(value: ScheduleRulesValue): ShownRules {
  const { originMs, startMs, endMs, count, jitterMs, windowMs, missedMax, failuresMax, zone, key, note } = value;
  return {
    when: value.when,
    ...(zone !== '' && { zone }),
    dst: DST_NAMES[value.dst] ?? 'unknown',
    ...(originMs !== 0n && { origin: new Date(Number(originMs)) }),
    ...(startMs !== 0n && { start: new Date(Number(startMs)) }),
    ...(endMs !== 0n && { end: new Date(Number(endMs)) }),
    ...(count !== 0n && { count }),
    ...(jitterMs !== 0 && { jitterMs }),
    missed: MISSED_NAMES[value.missed] ?? 'unknown',
    ...(windowMs !== 0n && { windowMs }),
    ...(missedMax !== 0 && { missedMax }),
    overlap: OVERLAP_NAMES[value.overlap] ?? 'unknown',
    ...(failuresMax !== 0 && { failuresMax }),
    ...(key !== '' && { key }),
    ...(note !== '' && { note }),
  };
}

function templateOf({ priority, ttrMs, attributes, body }: JobTemplateValue): ShownTemplate {
  return { ...(priority !== PRIORITY_UNSAID && { priority }), ...(ttrMs !== 0 && { ttrMs }), attributes, body };
}

function firingOf({ instantMs: instant, lastMs, instants, atMs, job, fired }: FiringValue): Firing {
  return {
    instant: new Date(Number(instant)),
    last: new Date(Number(lastMs)),
    instants,
    at: new Date(Number(atMs)),
    job: job || null,
    fired: FIRED_NAMES[fired] ?? 'unknown',
  };
}
