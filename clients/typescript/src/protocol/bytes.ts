/**
 * Reads and writes little-endian fields. The reader never looks beyond its bytes: a field that is cut off is a
 * `DecodeError` that names it. The writer never cuts a number: one that does not fit is a `RangeError`.
 */

/** A payload that is no message of the protocol. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** An element that has no name in this version. */
export interface Element {
  readonly tag: number;
  readonly value: Uint8Array;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
/** A text of up to so many characters is quicker written or read here than by a call of the platform. */
const SHORT = 16;
const SHORT_READ = 8;
const U64_MAX = 0xffff_ffff_ffff_ffffn;
/** What a writer keeps for the next frame. */
const KEPT_BYTES_MAX = 1 << 20;
/** Set in the tag of an attribute that a server must understand; it does not count for the order. */
const ORDER = 0x7fff;
const NO_BYTES = new Uint8Array(0);

/** The UTF-8 bytes of a text. A lone surrogate, which UTF-8 cannot show, is refused. */
export function utf8(text: string): Uint8Array {
  checkWellFormed(text);
  return encoder.encode(text);
}

/** How many bytes the text has in UTF-8. */
export function utf8Bytes(text: string): number {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) >= 0x80) return utf8(text).byteLength;
  return text.length;
}

function checkWellFormed(text: string): void {
  if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text)) {
    throw new RangeError('the text has a lone surrogate and cannot be written as UTF-8');
  }
}

export class ByteReader {
  /** Of the fields of a fixed part, which `skip` has found to be there. */
  readonly view: DataView;
  at = 0;
  private readonly bytes: Uint8Array;
  private readonly end: number;
  private buffer: Buffer | null = null;

  constructor(bytes: Uint8Array) {
    // Parts of a `Buffer` are views of it; of plain bytes they are copies.
    this.bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.byteLength;
  }

  get left(): number {
    return this.end - this.at;
  }

  /** Where the next bytes begin. They are there, and are skipped. */
  skip(bytes: number, field: string): number {
    const { at } = this;
    if (bytes > this.end - at) throw new DecodeError(`the bytes end before ${field}`);
    this.at = at + bytes;
    return at;
  }

  u8(field: string): number {
    return this.view.getUint8(this.skip(1, field));
  }

  u16(field: string): number {
    return this.view.getUint16(this.skip(2, field), true);
  }

  u32(field: string): number {
    return this.view.getUint32(this.skip(4, field), true);
  }

  u64(field: string): bigint {
    return this.view.getBigUint64(this.skip(8, field), true);
  }

  u128(field: string): bigint {
    const at = this.skip(16, field);
    return this.view.getBigUint64(at, true) | (this.view.getBigUint64(at + 8, true) << 64n);
  }

  /** A copy: a job that is held does not keep the buffer of the socket alive. */
  copy(bytes: number, field: string): Uint8Array {
    const at = this.skip(bytes, field);
    return bytes === 0 ? NO_BYTES : this.bytes.slice(at, at + bytes);
  }

  text(bytes: number, field: string): string {
    const at = this.skip(bytes, field);
    for (let next = at; next < this.at; next += 1) if (this.bytes[next]! >= 0x80) return this.wide(at, field);
    if (bytes <= SHORT_READ) {
      let text = '';
      for (let next = at; next < this.at; next += 1) text += String.fromCharCode(this.bytes[next]!);
      return text;
    }
    this.buffer ??= Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.end);
    return this.buffer.latin1Slice(at, this.at);
  }

  /** So many texts behind a length of one byte each. */
  texts(count: number, field: string): string[] {
    const texts: string[] = [];
    while (texts.length < count) texts.push(this.text(this.u8(field), field));
    return texts;
  }

  /** A list: its items have at least `fixedMin` fixed bytes, and each byte of them is there before one is made. */
  list<T>(fixedMin: number, field: string, take: (from: ByteReader, fixed: number) => T): T[] {
    const fixed = this.u16(field);
    const count = this.u32(field);
    if (fixed < fixedMin) throw new DecodeError(`the items of ${field} have ${fixed} fixed bytes, at least ${fixedMin} are needed`);
    if (count * fixed > this.left) throw new DecodeError(`the bytes end before ${field}`);
    const items: T[] = [];
    for (let item = 0; item < count; item += 1) items.push(take(this, fixed));
    return items;
  }

  /** Numbers of four bytes up to the end of a value. */
  u32s(end: number, field: string): number[] {
    const numbers: number[] = [];
    while (this.at < end) numbers.push(this.u32(field));
    return numbers;
  }

  /** Something that is there if its value is 1. */
  flag(field: string): true {
    if (this.u8(field) !== 1) throw new DecodeError(`${field} is neither there nor absent`);
    return true;
  }

  /** Where so many bytes end. They are there, and are not skipped. */
  endOf(bytes: number, field: string): number {
    if (bytes > this.left) throw new DecodeError(`the bytes end before ${field}`);
    return this.at + bytes;
  }

  /** Where the value of an element ends, whose length stands there. */
  valueEnd(end: number, field: string): number {
    const valueEnd = this.u16(field) + this.at;
    if (valueEnd > end) throw new DecodeError(`the bytes end before ${field}`);
    return valueEnd;
  }

  /** What is left up to the end of a value. */
  rest(end: number, field: string): number {
    if (this.at > end) throw new DecodeError(`the bytes end before ${field}`);
    return end - this.at;
  }

  /** A value must be used up, and no more than it. */
  endValue(end: number, field: string): void {
    if (this.at !== end) throw new DecodeError(`the value of ${field} is of another length`);
  }

  private wide(at: number, field: string): string {
    try {
      return decoder.decode(this.bytes.subarray(at, this.at));
    } catch {
      throw new DecodeError(`${field} is not UTF-8`);
    }
  }
}

/** Whether a field that may be absent stands at this place of a fixed part. A part of one is refused. */
export function hasField(fixed: number, at: number, bytes: number, field: string): boolean {
  if (fixed >= at + bytes) return true;
  if (fixed > at) throw new DecodeError(`the bytes end before ${field}`);
  return false;
}

/** Elements stand in rising order; only some may stand there again. Returns the place in that order. */
export function inOrder(before: number, tag: number, mayRepeat: boolean): number {
  const order = tag & ORDER;
  if (order < before || (order === before && !mayRepeat)) throw new DecodeError(`elements are out of order: tag ${tag} behind ${before}`);
  return order;
}

export class ByteWriter {
  private bytes = new Uint8Array(1_024);
  private view = new DataView(this.bytes.buffer);
  private at = 0;

  /** How many bytes were written. */
  get length(): number {
    return this.at;
  }

  u8(value: number): void {
    if (!(value >= 0 && value <= 0xff) || value >>> 0 !== value) throw tooWide(value, 0xff);
    const at = this.skip(1);
    this.view.setUint8(at, value);
  }

  u16(value: number): void {
    if (!(value >= 0 && value <= 0xffff) || value >>> 0 !== value) throw tooWide(value, 0xffff);
    const at = this.skip(2);
    this.view.setUint16(at, value, true);
  }

  u32(value: number): void {
    if (value >>> 0 !== value) throw tooWide(value, 0xffff_ffff);
    const at = this.skip(4);
    this.view.setUint32(at, value, true);
  }

  u64(value: bigint): void {
    if (value < 0n || value > U64_MAX) throw new RangeError(`${value} is no unsigned 64-bit number`);
    const at = this.skip(8);
    this.view.setBigUint64(at, value, true);
  }

  i64(value: bigint): void {
    if (BigInt.asIntN(64, value) !== value) throw new RangeError(`${value} is no signed 64-bit number`);
    const at = this.skip(8);
    this.view.setBigInt64(at, value, true);
  }

  u128(value: bigint): void {
    this.u64(BigInt.asUintN(64, value));
    this.u64(value >> 64n);
  }

  /** Bytes of a known number: an id or a secret. */
  exactly(bytes: number, value: Uint8Array): void {
    if (value.byteLength !== bytes) throw new RangeError(`${value.byteLength} bytes where ${bytes} belong`);
    this.raw(value);
  }

  raw(value: Uint8Array): void {
    const at = this.skip(value.byteLength);
    this.bytes.set(value, at);
  }

  text(value: string): void {
    const { length } = value;
    // UTF-8 needs no more than three bytes for a unit of UTF-16.
    const from = this.skip(length * 3);
    const { bytes } = this;
    let at = from;
    if (length <= SHORT) {
      while (at - from < length) {
        const code = value.charCodeAt(at - from);
        if (code >= 0x80) break;
        bytes[at] = code;
        at += 1;
      }
    }
    if (at - from < length) {
      at = from + encoder.encodeInto(value, bytes.subarray(from)).written;
      if (at - from !== length) checkWellFormed(value);
    }
    this.at = at;
  }

  /** Leaves so many bytes out, for example a length that is known later. Returns where they begin. The buffer may be another after it. */
  skip(bytes: number): number {
    const { at } = this;
    this.at = at + bytes;
    if (this.at > this.bytes.byteLength) this.grow(at);
    return at;
  }

  /** Fills in a length: of what was written since `from`. */
  length8(at: number, from: number): void {
    this.view.setUint8(at, fits(this.at - from, 0xff));
  }

  length16(at: number, from: number): void {
    this.view.setUint16(at, fits(this.at - from, 0xffff), true);
  }

  length32(at: number, from: number): void {
    this.view.setUint32(at, this.at - from, true);
  }

  /** A text or bytes, whose length stands at `lengthAt`. */
  textAt8(lengthAt: number, value: string): void {
    const from = this.at;
    this.text(value);
    this.length8(lengthAt, from);
  }

  textAt16(lengthAt: number, value: string): void {
    const from = this.at;
    this.text(value);
    this.length16(lengthAt, from);
  }

  rawAt16(lengthAt: number, value: Uint8Array): void {
    const from = this.at;
    this.raw(value);
    this.length16(lengthAt, from);
  }

  rawAt32(lengthAt: number, value: Uint8Array): void {
    const from = this.at;
    this.raw(value);
    this.length32(lengthAt, from);
  }

  /** A text or bytes behind their length. */
  text8(value: string): void {
    this.textAt8(this.skip(1), value);
  }

  text16(value: string): void {
    this.textAt16(this.skip(2), value);
  }

  raw16(value: Uint8Array): void {
    this.rawAt16(this.skip(2), value);
  }

  raw32(value: Uint8Array): void {
    this.rawAt32(this.skip(4), value);
  }

  /** The head of a list. */
  list(fixed: number, count: number): void {
    this.u16(fixed);
    this.u32(count);
  }

  /** The head of an element: its tag, and how long its value is. */
  element(tag: number, bytes: number): void {
    this.u16(tag);
    this.u16(bytes);
  }

  /** The head of an element whose length is known later. Returns where its value begins. */
  openElement(tag: number): number {
    this.u16(tag);
    return this.skip(2) + 2;
  }

  closeElement(from: number): void {
    this.length16(from - 2, from);
  }

  /** Puts the elements that were written since `from`, and these, in the order of their tags. */
  sortElements(from: number, more: readonly Element[]): void {
    for (const { tag, value } of more) {
      this.element(tag, value.byteLength);
      this.raw(value);
    }
    const elements: { readonly order: number; readonly bytes: Uint8Array }[] = [];
    for (let at = from; at < this.at; ) {
      const end = at + 4 + this.view.getUint16(at + 2, true);
      elements.push({ order: this.view.getUint16(at, true) & ORDER, bytes: this.bytes.slice(at, end) });
      at = end;
    }
    this.at = from;
    for (const { bytes } of elements.sort((a, b) => a.order - b.order)) this.raw(bytes);
  }

  /** A copy of what was written. The writer can be used again. */
  finish(): Uint8Array {
    const bytes = this.bytes.slice(0, this.at);
    this.reset();
    return bytes;
  }

  /** Forgets what was written. */
  reset(): void {
    this.at = 0;
    if (this.bytes.byteLength > KEPT_BYTES_MAX) this.resize(KEPT_BYTES_MAX, 0);
  }

  private grow(written: number): void {
    this.resize(Math.max(this.at, this.bytes.byteLength * 2), written);
  }

  private resize(bytes: number, written: number): void {
    const other = new Uint8Array(bytes);
    other.set(this.bytes.subarray(0, written));
    this.bytes = other;
    this.view = new DataView(other.buffer);
  }
}

/** Writers that are free. One that throws is not used again. */
const spares: ByteWriter[] = [];

/** What `put` writes. */
export function written(put: (to: ByteWriter) => void): Uint8Array {
  const to = spares.pop() ?? new ByteWriter();
  put(to);
  const bytes = to.finish();
  spares.push(to);
  return bytes;
}

const once = new WeakMap<object, Uint8Array>();
let last: object | null = null;
let lastBytes: Uint8Array = NO_BYTES;

/** What `put` writes of a value. What it wrote of a frozen one is kept. */
export function writtenOnce<T extends object>(value: T, put: (to: ByteWriter, value: T) => void): Uint8Array {
  if (value === last) return lastBytes;
  const isFrozen = Object.isFrozen(value);
  const bytes = (isFrozen ? once.get(value) : undefined) ?? written((to) => put(to, value));
  if (!isFrozen) return bytes;
  once.set(value, bytes);
  last = value;
  lastBytes = bytes;
  return bytes;
}

/** The frame of a message with this opcode, with its head and its length. */
export function frameOf(opcode: number, id: number, put: (to: ByteWriter) => void): Uint8Array {
  return written((to) => {
    to.length32(to.skip(4), 0);
    to.u32(opcode);
    to.u32(id);
    put(to);
    to.length32(0, 4);
  });
}

function tooWide(value: number, max: number): RangeError {
  return new RangeError(`${value} is no whole number from 0 to ${max}`);
}

function fits(bytes: number, max: number): number {
  if (bytes > max) throw new RangeError(`${bytes} bytes where at most ${max} fit`);
  return bytes;
}
