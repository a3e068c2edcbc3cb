/** What a topic decides for its jobs. */

import { backoffOf, backoffValue, type JobBackoff } from './backoff.js';
import { UsageError } from './errors.js';
import { onlyKnown, type Names } from './known.js';
import type { LateValue, Settings, SettingsChange } from './protocol/policy.js';
import { wideDurationMs } from './time.js';
import { wideNumber } from './whole-number.js';

/** A number of 64 bits, as callers may give it. */
type Wide = number | bigint;

/** What happens to a job that was due longer ago than `afterMs`. */
export type Late<N extends Wide = Wide> = { readonly afterMs: N } & (
  | { readonly action: 'rate'; readonly perSecond: N }
  | { readonly action: 'spread'; readonly overMs: N }
  | { readonly action: 'bury' }
  | { readonly action: 'drop' }
);

interface Policy<N extends Wide> {
  /** The time to run of a job that says none. */
  readonly ttrMs?: number;
  readonly priority?: number;
  readonly attemptsMax?: number;
  readonly backoff?: JobBackoff;
  /** A job without an expiry expires so long after it is due. */
  readonly expiresAfterMs?: N;
  readonly jobsMax?: N;
  readonly bytesMax?: N;
  readonly bodyBytesMax?: number;
  readonly leasesMax?: number;
  /** Deliveries per second. */
  readonly rate?: number;
  readonly late?: Late<N>;
  /** The topic that takes the jobs that would be buried here. */
  readonly deadLetters?: string;
  /** How long a finished job is remembered that does not say it. */
  readonly rememberMs?: N;
}

/** A policy as the queue shows it: numbers of 64 bits are `bigint`. */
export type TopicPolicy = Policy<bigint>;

/**
 * `null` takes a setting away; settings that are not there stay as they are. A `number` must be a safe integer where a
 * `bigint` is accepted.
 */
export type TopicPolicyChange = { readonly [K in keyof Policy<Wide>]?: Policy<Wide>[K] | null };

const ACTIONS = ['rate', 'spread', 'bury', 'drop'] as const;

function lateValue(late: Late): LateValue {
  const action = ACTIONS.indexOf(late.action);
  if (action < 0) throw new UsageError(`late.action is none of ${ACTIONS.join(', ')}`);
  const own = late.action === 'rate' ? { perSecond: true } : late.action === 'spread' ? { overMs: true } : {};
  onlyKnown(`late with the action "${late.action}"`, late, { afterMs: true, action: true, ...own } as Names<Late>);
  let value = 0n;
  if (late.action === 'rate') value = wideNumber('late.perSecond', late.perSecond);
  if (late.action === 'spread') value = wideDurationMs('late.overMs', late.overMs);
  return { afterMs: wideDurationMs('late.afterMs', late.afterMs), action, value };
}

function lateOf({ afterMs, action, value }: LateValue): Late<bigint> | undefined {
  switch (ACTIONS[action]) {
    case 'rate':
      return { afterMs, action: 'rate', perSecond: value };
    case 'spread':
      return { afterMs, action: 'spread', overMs: value };
    case 'bury':
      return { afterMs, action: 'bury' };
    case 'drop':
      return { afterMs, action: 'drop' };
    default:
      return undefined;
  }
}

function change<T, U>(value: T | null | undefined, to: (value: T) => U): U | null | undefined {
  return value === undefined || value === null ? (value as null | undefined) : to(value);
}

const SETTINGS: Names<TopicPolicyChange> = {
  ttrMs: true,
  priority: true,
  attemptsMax: true,
  backoff: true,
  expiresAfterMs: true,
  jobsMax: true,
  bytesMax: true,
  bodyBytesMax: true,
  leasesMax: true,
  rate: true,
  late: true,
  deadLetters: true,
  rememberMs: true,
};

export function settingsChange(policy: TopicPolicyChange): SettingsChange {
  onlyKnown('the policy of a topic', policy, SETTINGS);
  const same = (value: number) => value;
  const count = (name: string) => (value: Wide) => wideNumber(name, value);
  const duration = (name: string) => (value: Wide) => wideDurationMs(name, value);
  const all = {
    ttrMs: change(policy.ttrMs, same),
    priority: change(policy.priority, same),
    attemptsMax: change(policy.attemptsMax, same),
    backoff: change(policy.backoff, backoffValue),
    expiresAfterMs: change(policy.expiresAfterMs, duration('expiresAfterMs')),
    jobsMax: change(policy.jobsMax, count('jobsMax')),
    bytesMax: change(policy.bytesMax, count('bytesMax')),
    bodyMax: change(policy.bodyBytesMax, same),
    leasesMax: change(policy.leasesMax, same),
    rate: change(policy.rate, same),
    late: change(policy.late, lateValue),
    deadLetters: change(policy.deadLetters, (value: string) => value),
    rememberMs: change(policy.rememberMs, duration('rememberMs')),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as SettingsChange;
}

export function topicPolicy(settings: SettingsChange): TopicPolicy {
  const { backoff, late, bodyMax, ...same } = settings as Settings;
  const all = {
    ...same,
    bodyBytesMax: bodyMax,
    backoff: backoff ? (backoffOf(backoff) ?? undefined) : undefined,
    late: late ? lateOf(late) : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== null)) as TopicPolicy;
}
