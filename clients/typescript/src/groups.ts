/** Groups of a topic's jobs: what a caller changes of one, and what the queue shows of them. And why a job, a topic or a group gives nothing. */

import { UsageError } from './errors.js';
import type { CallOptions } from './engine/interfaces.js';
import type { Unknown } from './job.js';
import { onlyKnown, type Names } from './known.js';
import { checkGroup, checkTopic } from './new-job.js';
import { PAUSE, WHY, WHY_NAMES } from './protocol/choices.js';
import { GROUP_WEIGHT_MAX } from './protocol/limits.js';
import type { GroupListFields, GroupSetFields, GroupStateValue, ReasonValue, TopicWhyFields } from './protocol/messages.js';
import { dateOf } from './time.js';
import { wholeNumber } from './whole-number.js';

/** What holds jobs back. `WHY` of `adjourn/protocol` says what each means. */
export type Why = (typeof WHY_NAMES)[number];

/** What changes of a group: at least one. What is not there stays. */
export interface GroupChange {
  /** How many jobs it gives at its turn: 1 to 1,000; 1 by default. The group with the fewest leases for its weight gives the next job. */
  readonly weight?: number;
  /** `true`: its jobs are not delivered until it is resumed; `false` resumes it. */
  readonly paused?: boolean;
}

/** Which groups of a topic. */
export interface GroupsOptions extends CallOptions {
  /** Their names begin like this. */
  prefix?: string;
}

export interface WhyTopicOptions extends CallOptions {
  /** Only this group of the topic. */
  group?: string;
}

/** A group as it stands. */
export interface GroupInfo {
  readonly name: string;
  /** Its jobs that wait for a consumer. */
  readonly ready: bigint;
  /** Its jobs that a consumer has. */
  readonly reserved: bigint;
  /** For how long the next of its jobs has been ready, in milliseconds; 0 if none is. */
  readonly oldestMs: bigint;
  /** How many jobs it gives at its turn, 1 to 1,000. */
  readonly weight: number;
  /** `setGroup` paused it. */
  readonly isPaused: boolean;
  /** What holds its jobs back; `null` if nothing does. */
  readonly hold: Exclude<Why, 'next'> | Unknown | null;
  /** Until when that lasts; `null` if it is not known. */
  readonly until: Date | null;
}

/** One reason why a job, a topic or a group gives nothing to a consumer now. */
export interface HoldReason {
  /** `'next'` if nothing holds it back. */
  readonly why: Why | Unknown;
  /** When it began; `null` if that is not known. */
  readonly since: Date | null;
  /** When it ends; `null` if that is not known. */
  readonly until: Date | null;
  /** With `behind`: how many jobs come first; with a limit of leases: how many leases there are; else 0. */
  readonly jobs: bigint;
  /** One sentence for a person. It may change between versions: decide by `why`. */
  readonly text: string;
}

const GROUP_CHANGE: Names<GroupChange> = { weight: true, paused: true };
const GROUPS_OPTIONS: Names<GroupsOptions> = { prefix: true, signal: true };
const WHY_TOPIC_OPTIONS: Names<WhyTopicOptions> = { group: true, signal: true };

export function groupChange(topic: string, group: string, change: GroupChange): GroupSetFields {
  const { weight, paused } = onlyKnown('a group', change, GROUP_CHANGE);
  if (weight === undefined && paused === undefined) throw new UsageError('what changes of the group? Write { weight: 5 }, or { paused: true }');
  if (paused !== undefined && typeof paused !== 'boolean') throw new UsageError('paused must be true or false');
  return {
    weight: weight === undefined ? 0 : wholeNumber('weight', weight, GROUP_WEIGHT_MAX),
    pause: paused === undefined ? PAUSE.keep : paused ? PAUSE.pause : PAUSE.resume,
    topic: checkTopic(topic),
    group: checkGroup(group),
  };
}

export function groupConditions(topic: string, options: GroupsOptions): Pick<GroupListFields, 'topic' | 'prefix'> {
  const { prefix = '' } = onlyKnown('groups', options, GROUPS_OPTIONS);
  if (typeof prefix !== 'string') throw new UsageError('prefix must be a text');
  return { topic: checkTopic(topic), prefix };
}

export function whyTopicFields(topic: string, options: WhyTopicOptions): TopicWhyFields {
  const { group } = onlyKnown('whyTopic', options, WHY_TOPIC_OPTIONS);
  return { topic: checkTopic(topic), group: group === undefined ? '' : checkGroup(group) };
}

export function groupInfo({ name, ready, reserved, oldestMs, weight, paused, hold, untilMs }: GroupStateValue): GroupInfo {
  return {
    name,
    ready,
    reserved,
    oldestMs,
    weight,
    isPaused: paused !== 0,
    hold: hold === WHY.next ? null : ((WHY_NAMES[hold] as Exclude<Why, 'next'> | undefined) ?? 'unknown'),
    until: dateOf(untilMs),
  };
}

export function holdReason({ why, sinceMs, untilMs, jobs, text }: ReasonValue): HoldReason {
  return { why: WHY_NAMES[why] ?? 'unknown', since: dateOf(sinceMs), until: dateOf(untilMs), jobs, text };
}
