/** The filter of LIST, COUNT and BULK. */

import { ByteReader, DecodeError, utf8 } from './bytes.js';
import { inOrder, joinElements, readAll, splitElements, valueOf, type Element } from './elements.js';

/** A job matches if it meets all conditions that are there. */
export interface FilterValue {
  readonly topic?: string;
  /** A bit for each state: 1 delayed, 2 ready, 4 reserved, 8 buried, 16 finished. */
  readonly states?: number;
  readonly dueFromMs?: bigint;
  readonly dueBeforeMs?: bigint;
  readonly keyPrefix?: Uint8Array;
  readonly attemptsMin?: number;
  readonly attemptsMax?: number;
  readonly buried?: number;
  readonly reason?: string;
}

export function encodeFilter(filter: FilterValue): Uint8Array {
  const elements: Element[] = [];
  const add = <T>(tag: number, value: T | undefined, write: (value: T) => Uint8Array) => {
    if (value !== undefined) elements.push({ tag, value: write(value) });
  };
  const u8 = (value: number) => valueOf((to) => to.u8(value));
  const u32 = (value: number) => valueOf((to) => to.u32(value));
  const u64 = (value: bigint) => valueOf((to) => to.u64(value));
  add(1, filter.topic, utf8);
  add(2, filter.states, u8);
  add(3, filter.dueFromMs, u64);
  add(4, filter.dueBeforeMs, u64);
  add(5, filter.keyPrefix, (value) => value);
  add(6, filter.attemptsMin, u32);
  add(7, filter.attemptsMax, u32);
  add(8, filter.buried, u8);
  add(9, filter.reason, utf8);
  return joinElements(elements);
}

export function decodeFilter(bytes: Uint8Array): FilterValue {
  const elements = splitElements(bytes, 'conditions');
  inOrder(elements, 'conditions', (tag) => tag, () => false);
  const found: { -readonly [K in keyof FilterValue]: FilterValue[K] } = {};
  for (const { tag, value } of elements) {
    const u8 = (what: string) => readAll(value, what, (from) => from.u8(what));
    const u32 = (what: string) => readAll(value, what, (from) => from.u32(what));
    const u64 = (what: string) => readAll(value, what, (from) => from.u64(what));
    const text = (what: string) => new ByteReader(value).text(value.byteLength, what);
    if (tag === 1) found.topic = text('topic');
    else if (tag === 2) found.states = u8('states');
    else if (tag === 3) found.dueFromMs = u64('due from');
    else if (tag === 4) found.dueBeforeMs = u64('due before');
    else if (tag === 5) found.keyPrefix = value;
    else if (tag === 6) found.attemptsMin = u32('attempts min');
    else if (tag === 7) found.attemptsMax = u32('attempts max');
    else if (tag === 8) found.buried = u8('buried');
    else if (tag === 9) found.reason = text('reason');
    else throw new DecodeError(`condition ${tag} is not known here`);
  }
  return found;
}
