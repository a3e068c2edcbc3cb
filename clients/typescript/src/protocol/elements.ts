/** Tagged lists: `tag u16`, `length u16`, value. Attributes, filters and settings are made of them. */

import { ByteReader, ByteWriter, DecodeError } from './bytes.js';

export interface Element {
  readonly tag: number;
  readonly value: Uint8Array;
}

export function splitElements(bytes: Uint8Array, what: string): Element[] {
  const from = new ByteReader(bytes);
  const elements: Element[] = [];
  while (from.left > 0) {
    const tag = from.u16(`the tag of ${what}`);
    elements.push({ tag, value: from.copy(from.u16(`the length of ${what}`), what) });
  }
  return elements;
}

export function joinElements(elements: readonly Element[]): Uint8Array {
  const to = new ByteWriter();
  for (const { tag, value } of elements) {
    to.u16(tag);
    to.u16(value.byteLength);
    to.raw(value);
  }
  return to.finish();
}

/** Writes the value of an element. */
export function valueOf(write: (to: ByteWriter) => void): Uint8Array {
  const to = new ByteWriter();
  write(to);
  return to.finish();
}

/** Reads a value that must be used up. */
export function readAll<T>(value: Uint8Array, what: string, read: (from: ByteReader) => T): T {
  const from = new ByteReader(value);
  const result = read(from);
  if (from.left > 0) throw new DecodeError(`${what} has ${from.left} bytes too many`);
  return result;
}

export function inOrder(elements: readonly Element[], what: string, order: (tag: number) => number, mayRepeat: (tag: number) => boolean): void {
  for (let at = 1; at < elements.length; at += 1) {
    const [before, now] = [elements[at - 1]!.tag, elements[at]!.tag];
    if (order(before) > order(now) || (order(before) === order(now) && !mayRepeat(now))) {
      throw new DecodeError(`${what} are out of order: tag ${now} behind ${before}`);
    }
  }
}
