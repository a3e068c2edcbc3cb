/** What a topic decides for its jobs. */

import { backoffOf, backoffValue, type JobBackoff } from './backoff.js';
import { UsageError } from './errors.js';
import type { LateValue, Settings, SettingsChange } from './protocol/policy.js';
import { durationMs } from './time.js';

/** What happens to a job that was due longer ago than `afterMs`. */
export type Late = { readonly afterMs: number } & (
  | { readonly action: 'rate'; readonly perSecond: number }
  | { readonly action: 'spread'; readonly overMs: number }
  | { readonly action: 'bury' }
  | { readonly action: 'drop' }
);

export interface TopicPolicy {
  /** The time to run of a job that says none. */
  readonly ttrMs?: number;
  readonly priority?: number;
  readonly attemptsMax?: number;
  readonly backoff?: JobBackoff;
  /** A job without an expiry expires so long after it is due. */
  readonly expiresAfterMs?: number;
  readonly jobsMax?: number;
  readonly bytesMax?: number;
  readonly bodyBytesMax?: number;
  readonly leasesMax?: number;
  /** Deliveries per second. */
  readonly rate?: number;
  readonly late?: Late;
  /** The topic that takes the jobs that would be buried here. */
  readonly deadLetters?: string;
  /** How long a finished job is remembered that does not say it. */
  readonly rememberMs?: number;
}

/** `null` takes a setting away; settings that are not there stay as they are. */
export type TopicPolicyChange = { readonly [K in keyof TopicPolicy]?: TopicPolicy[K] | null };

const ACTIONS = ['rate', 'spread', 'bury', 'drop'] as const;

function lateValue(late: Late): LateValue {
  const action = ACTIONS.indexOf(late.action);
  if (action < 0) throw new UsageError(`late.action is none of ${ACTIONS.join(', ')}`);
  const value = late.action === 'rate' ? late.perSecond : late.action === 'spread' ? late.overMs : 0;
  return { afterMs: whole('late.afterMs', late.afterMs), action, value: whole('late', value) };
}

function lateOf({ afterMs, action, value }: LateValue): Late | undefined {
  const after = { afterMs: Number(afterMs) };
  switch (ACTIONS[action]) {
    case 'rate':
      return { ...after, action: 'rate', perSecond: Number(value) };
    case 'spread':
      return { ...after, action: 'spread', overMs: Number(value) };
    case 'bury':
      return { ...after, action: 'bury' };
    case 'drop':
      return { ...after, action: 'drop' };
    default:
      return undefined;
  }
}

function whole(name: string, value: number): bigint {
  return BigInt(durationMs(name, value, Number.MAX_SAFE_INTEGER));
}

function change<T, U>(value: T | null | undefined, to: (value: T) => U): U | null | undefined {
  return value === undefined || value === null ? (value as null | undefined) : to(value);
}

export function settingsChange(policy: TopicPolicyChange): SettingsChange {
  const same = (value: number) => value;
  const big = (name: string) => (value: number) => whole(name, value);
  const all = {
    ttrMs: change(policy.ttrMs, same),
    priority: change(policy.priority, same),
    attemptsMax: change(policy.attemptsMax, same),
    backoff: change(policy.backoff, backoffValue),
    expiresAfterMs: change(policy.expiresAfterMs, big('expiresAfterMs')),
    jobsMax: change(policy.jobsMax, big('jobsMax')),
    bytesMax: change(policy.bytesMax, big('bytesMax')),
    bodyMax: change(policy.bodyBytesMax, same),
    leasesMax: change(policy.leasesMax, same),
    rate: change(policy.rate, same),
    late: change(policy.late, lateValue),
    deadLetters: change(policy.deadLetters, (value: string) => value),
    rememberMs: change(policy.rememberMs, big('rememberMs')),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as SettingsChange;
}

export function topicPolicy(settings: SettingsChange): TopicPolicy {
  const { backoff, late } = settings as Settings;
  const number = (value: bigint | number | null | undefined) => (value === undefined || value === null ? undefined : Number(value));
  const all = {
    ttrMs: number(settings.ttrMs),
    priority: number(settings.priority),
    attemptsMax: number(settings.attemptsMax),
    backoff: backoff ? backoffOf(backoff) ?? undefined : undefined,
    expiresAfterMs: number(settings.expiresAfterMs),
    jobsMax: number(settings.jobsMax),
    bytesMax: number(settings.bytesMax),
    bodyBytesMax: number(settings.bodyMax),
    leasesMax: number(settings.leasesMax),
    rate: number(settings.rate),
    late: late ? lateOf(late) : undefined,
    deadLetters: settings.deadLetters ?? undefined,
    rememberMs: number(settings.rememberMs),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as TopicPolicy;
}
