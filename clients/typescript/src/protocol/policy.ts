/** The settings of a topic, as TOPIC_SET and TOPIC_SETTINGS carry them. */

import { decodeBackoff, encodeBackoff, type BackoffValue } from './attributes.js';
import { ByteReader, utf8 } from './bytes.js';
import { inOrder, joinElements, readAll, splitElements, valueOf, type Element } from './elements.js';

export const LATE_RATE = 0;
export const LATE_SPREAD = 1;
export const LATE_BURY = 2;
export const LATE_DROP = 3;

export interface LateValue {
  readonly afterMs: bigint;
  readonly action: number;
  readonly value: bigint;
}

export interface Settings {
  readonly ttrMs?: number;
  readonly priority?: number;
  readonly attemptsMax?: number;
  readonly backoff?: BackoffValue;
  readonly expiresAfterMs?: bigint;
  readonly jobsMax?: bigint;
  readonly bytesMax?: bigint;
  readonly bodyMax?: number;
  readonly leasesMax?: number;
  readonly rate?: number;
  readonly late?: LateValue;
  readonly deadLetters?: string;
  readonly rememberMs?: bigint;
}

/** `null` takes a setting away; a setting that is not there stays as it is. */
export type SettingsChange = { readonly [K in keyof Settings]?: Settings[K] | null };

type Codec<T> = { write(value: T): Uint8Array; read(value: Uint8Array): T };

const u32: Codec<number> = { write: (value) => valueOf((to) => to.u32(value)), read: (value) => readAll(value, 'a setting', (from) => from.u32('a setting')) };
const u64: Codec<bigint> = { write: (value) => valueOf((to) => to.u64(value)), read: (value) => readAll(value, 'a setting', (from) => from.u64('a setting')) };
const text: Codec<string> = { write: utf8, read: (value) => new ByteReader(value).text(value.byteLength, 'a setting') };
const late: Codec<LateValue> = {
  write: (value) => valueOf((to) => (to.u64(value.afterMs), to.u8(value.action), to.u64(value.value))),
  read: (value) => readAll(value, 'late', (from) => ({ afterMs: from.u64('late'), action: from.u8('late'), value: from.u64('late') })),
};

/** In the order of their tags, from 1 on. */
const SETTINGS: [keyof Settings, Codec<any>][] = [
  ['ttrMs', u32],
  ['priority', u32],
  ['attemptsMax', u32],
  ['backoff', { write: encodeBackoff, read: decodeBackoff }],
  ['expiresAfterMs', u64],
  ['jobsMax', u64],
  ['bytesMax', u64],
  ['bodyMax', u32],
  ['leasesMax', u32],
  ['rate', u32],
  ['late', late],
  ['deadLetters', text],
  ['rememberMs', u64],
];

export function encodeSettings(settings: SettingsChange): Uint8Array {
  const elements: Element[] = [];
  SETTINGS.forEach(([name, codec], place) => {
    const value = settings[name];
    if (value === null) elements.push({ tag: place + 1, value: new Uint8Array(0) });
    else if (value !== undefined) elements.push({ tag: place + 1, value: codec.write(value) });
  });
  return joinElements(elements);
}

/** Settings of a newer peer are skipped. */
export function decodeSettings(bytes: Uint8Array): SettingsChange {
  const elements = splitElements(bytes, 'settings');
  inOrder(elements, 'settings', (tag) => tag, () => false);
  const found: Record<string, unknown> = {};
  for (const { tag, value } of elements) {
    const known = SETTINGS[tag - 1];
    if (known) found[known[0]] = value.byteLength === 0 ? null : known[1].read(value);
  }
  return found as SettingsChange;
}
