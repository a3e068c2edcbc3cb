/** What a topic decides for its jobs. */

import { backoffOf, backoffValue, type JobBackoff } from './backoff.js';
import { UsageError } from './errors.js';
import { onlyKnown, type Names } from './known.js';
import { LATE_ACTION_NAMES } from './protocol/choices.js';
import { SETTINGS } from './protocol/elements.js';
import type { LateValue, Settings, SettingsChange } from './protocol/messages.js';
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

/** Settings that have another form here than on the wire. */
interface Own<N extends Wide> {
  /** The backoff of a job that has none. */
  readonly backoff?: JobBackoff;
  readonly late?: Late<N>;
  /** A larger body is refused with `TOO_LARGE`. */
  readonly bodyBytesMax?: number;
}

/** A policy as the queue shows it: numbers of 64 bits are `bigint`. */
export interface TopicPolicy extends Omit<Settings, 'backoff' | 'late' | 'bodyMax'>, Own<bigint> {}

/** What a caller may give for a setting. */
type Given<T> = T extends bigint ? Wide : T extends true ? boolean : T;

/**
 * `null` takes a setting away, and `false` one that is only there or not; settings that are not there stay as they are. A
 * `number` must be a safe integer where a `bigint` is accepted. A text must not be empty.
 */
export type TopicPolicyChange = {
  readonly [K in keyof TopicPolicy]?: (K extends keyof Own<Wide> ? Own<Wide>[K] : Given<NonNullable<TopicPolicy[K]>>) | null;
};

function lateValue(late: Late): LateValue {
  const action = LATE_ACTION_NAMES.indexOf(late?.action);
  if (action < 0) throw new UsageError(`late.action is none of ${LATE_ACTION_NAMES.join(', ')}`);
  const own = late.action === 'rate' ? { perSecond: true } : late.action === 'spread' ? { overMs: true } : {};
  onlyKnown(`late with the action "${late.action}"`, late, { afterMs: true, action: true, ...own } as Names<Late>);
  let value = 0n;
  if (late.action === 'rate') value = wideNumber('late.perSecond', late.perSecond);
  if (late.action === 'spread') value = wideDurationMs('late.overMs', late.overMs);
  return { afterMs: wideDurationMs('late.afterMs', late.afterMs), action, value };
}

function lateOf({ afterMs, action, value }: LateValue): Late<bigint> | undefined {
  switch (LATE_ACTION_NAMES[action]) {
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

const { bodyMax, ...SAME } = SETTINGS;
/** What stands in each setting. */
const POLICY: Names<TopicPolicyChange> & Readonly<Record<string, unknown>> = { ...SAME, bodyBytesMax: bodyMax };

export function settingsChange(policy: TopicPolicyChange): SettingsChange {
  onlyKnown('the policy of a topic', policy, POLICY);
  const change: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(policy)) {
    if (value !== undefined) change[name === 'bodyBytesMax' ? 'bodyMax' : name] = value === null ? null : settingOf(name, value);
  }
  return change as SettingsChange;
}

/** The value of a setting as it stands on the wire. */
function settingOf(name: string, value: NonNullable<TopicPolicyChange[keyof TopicPolicyChange]>): Settings[keyof Settings] | null {
  switch (POLICY[name]) {
    case 'backoff':
      return backoffValue(value as JobBackoff);
    case 'late':
      return lateValue(value as Late);
    case 'u64':
      return name.endsWith('Ms') ? wideDurationMs(name, value as Wide) : wideNumber(name, value as Wide);
    case 'flag':
      if (typeof value !== 'boolean') throw new UsageError(`${name} must be true or false`);
      return value || null;
    case 'text':
      if (typeof value !== 'string') throw new UsageError(`${name} must be a text`);
      // On the wire, an empty value takes the setting away.
      if (value === '') throw new UsageError(`${name} must not be empty: write null to take the setting away`);
      return value;
    default:
      return value as number;
  }
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
