/**
 * Describes messages once, for both directions.
 *
 * A `Field` stands in a payload, one after the other. A `Block` is what the items of a list, and JOB, are made of: a
 * fixed part, then the pieces whose lengths stand in that fixed part. A peer of a newer version may send a longer fixed
 * part, and more fields at the end of a payload: both are skipped.
 */

import { ByteReader, ByteWriter, DecodeError, utf8 } from './bytes.js';
import { KEY_BYTES_MAX, TOPIC_BYTES_MAX } from './limits.js';

/** Reads and writes one value. */
export interface Field<T> {
  put(to: ByteWriter, value: T): void;
  take(from: ByteReader, name: string): T;
  /** How many bytes of a fixed part it takes. */
  readonly width: number;
  /** The value of a field that an older peer does not send. */
  readonly late?: { readonly value: T; readonly omit: boolean };
  /** In a block: only the length stands in the fixed part, and these bytes behind it. */
  readonly piece?: Piece<T>;
}

interface Piece<T> {
  readonly lengthWidth: 1 | 2 | 4;
  /** What stands in the fixed part. */
  count(value: T, bytes: Uint8Array): number;
  bytes(value: T): Uint8Array;
  take(from: ByteReader, length: number, name: string): T;
}

type Shape = Record<string, Field<any>>;
/** The values of a message or block. */
export type Values<S extends Shape> = { -readonly [K in keyof S]: S[K] extends Field<infer T> ? T : never };

function plain<T>(width: number, put: (to: ByteWriter, value: T) => void, take: (from: ByteReader, name: string) => T): Field<T> {
  return { width, put, take };
}

export const u8 = plain<number>(1, (to, value) => to.u8(value), (from, name) => from.u8(name));
export const u16 = plain<number>(2, (to, value) => to.u16(value), (from, name) => from.u16(name));
export const u32 = plain<number>(4, (to, value) => to.u32(value), (from, name) => from.u32(name));
export const u64 = plain<bigint>(8, (to, value) => to.u64(value), (from, name) => from.u64(name));
export const i64 = plain<bigint>(8, (to, value) => to.i64(value), (from, name) => from.i64(name));
export const u128 = plain<bigint>(
  16,
  (to, value) => {
    to.u64(BigInt.asUintN(64, value));
    to.u64(value >> 64n);
  },
  (from, name) => from.u64(name) | (from.u64(name) << 64n),
);

/** Bytes of a known number: an id or a secret. */
export function exactly(bytes: number): Field<Uint8Array> {
  return plain(
    bytes,
    (to, value) => {
      if (value.byteLength !== bytes) throw new RangeError(`${value.byteLength} bytes where ${bytes} belong`);
      to.raw(value);
    },
    (from, name) => from.copy(bytes, name),
  );
}

/** A number that stands for one of the choices 0 to `max`. */
export function choice(max: number): Field<number> {
  return plain(
    1,
    (to, value) => to.u8(value),
    (from, name) => {
      const value = from.u8(name);
      if (value > max) throw new DecodeError(`${value} is no ${name} that is known here`);
      return value;
    },
  );
}

/** A field whose values are read only if `fault` finds nothing wrong with them. */
export function checked<T>(field: Field<T>, fault: (value: T) => string | null): Field<T> {
  return {
    ...field,
    take(from, name) {
      const value = field.take(from, name);
      const wrong = fault(value);
      if (wrong) throw new DecodeError(`${name}: ${wrong}`);
      return value;
    },
  };
}

/** A field whose values of a newer peer are read as what they mean to this version. */
export function readAs<T>(field: Field<T>, known: (value: T) => T): Field<T> {
  return { ...field, take: (from, name) => known(field.take(from, name)) };
}

/** A set of bits: those that are not known are ignored. */
export function bits(of: Field<number>, known: number): Field<number> {
  return readAs(of, (value) => value & known);
}

function piece<T>(
  lengthWidth: 1 | 2 | 4,
  toBytes: (value: T) => Uint8Array,
  fromBytes: (from: ByteReader, length: number, name: string) => T,
): Field<T> {
  return {
    width: lengthWidth,
    put(to, value) {
      const bytes = toBytes(value);
      to.size(lengthWidth, bytes.byteLength);
      to.raw(bytes);
    },
    take: (from, name) => fromBytes(from, from.length(lengthWidth, name), name),
    piece: { lengthWidth, count: (_, bytes) => bytes.byteLength, bytes: toBytes, take: fromBytes },
  };
}

/** A text behind a length of so many bytes. */
export function text(lengthWidth: 1 | 2 | 4, max = Infinity): Field<string> {
  return piece(lengthWidth, utf8, (from, length, name) => {
    if (length > max) throw new DecodeError(`${name} of ${length} bytes, at most ${max} are accepted`);
    return from.text(length, name);
  });
}

/** Bytes behind a length of so many bytes. */
export function blob(lengthWidth: 1 | 2 | 4): Field<Uint8Array> {
  return piece(lengthWidth, (value) => value, (from, length, name) => from.copy(length, name));
}

/** Something that has a codec of its own, behind a length of two bytes. */
export function nested<T>(encode: (value: T) => Uint8Array, decode: (bytes: Uint8Array) => T): Field<T> {
  return piece(2, encode, (from, length, name) => decode(from.copy(length, name)));
}

const TOPIC = /^[A-Za-z0-9._:/][A-Za-z0-9._:/-]*$/;

/** What is wrong with a topic's name, if anything. */
export function topicFault(topic: string): string | null {
  if (topic.length === 0 || topic.length > TOPIC_BYTES_MAX) return `a topic has 1 to ${TOPIC_BYTES_MAX} bytes`;
  return TOPIC.test(topic) ? null : 'a topic has letters, digits and ._:/- only, and does not start with -';
}

/** What is wrong with a key, if anything. */
export function keyFault(key: string): string | null {
  const bytes = utf8(key).byteLength;
  if (bytes === 0 || bytes > KEY_BYTES_MAX) return `a key has 1 to ${KEY_BYTES_MAX} bytes`;
  return /[\u0000-\u001f\u007f-\u009f]/.test(key) ? 'a key has no control characters' : null;
}

/** The name of a topic. */
export const topic8: Field<string> = piece(1, utf8, (from, length, name) => {
  const topic = from.text(length, name);
  const fault = topicFault(topic);
  if (fault) throw new DecodeError(fault);
  return topic;
});

/** A key; the empty text for none. */
export const key16: Field<string> = piece(2, utf8, (from, length, name) => {
  const key = from.text(length, name);
  const fault = length > 0 ? keyFault(key) : null;
  if (fault) throw new DecodeError(fault);
  return key;
});

/** A `u8` count of texts, which stand among the pieces. */
export const texts8: Field<string[]> = {
  width: 1,
  put: () => {
    throw new TypeError('texts stand in a block only');
  },
  take: () => {
    throw new TypeError('texts stand in a block only');
  },
  piece: {
    lengthWidth: 1,
    count: (values) => values.length,
    bytes(values) {
      const to = new ByteWriter();
      for (const value of values) text(1).put(to, value);
      return to.finish();
    },
    take: (from, count, name) => Array.from({ length: count }, () => from.text(from.u8(name), name)),
  },
};

/** A field at the end that older peers do not send. It is always written. */
export function late<T>(field: Field<T>, value: T): Field<T> {
  return { ...field, late: { value, omit: false } };
}

/** The same, and it is not written when nothing after it is and it has this value. */
export function optional<T>(field: Field<T>, value: T): Field<T> {
  return { ...field, late: { value, omit: true } };
}

/** A fixed part, then its pieces. */
export class Block<S extends Shape> {
  readonly width: number;
  /** The shortest fixed part that an older peer sends. */
  readonly widthMin: number;
  private readonly fields: [string, Field<any>][];

  constructor(shape: S) {
    this.fields = Object.entries(shape);
    this.width = this.fields.reduce((sum, [, field]) => sum + field.width, 0);
    this.widthMin = this.fields.reduce((sum, [, field]) => sum + (field.late ? 0 : field.width), 0);
  }

  put(to: ByteWriter, values: Values<S>): void {
    const pieces: Uint8Array[] = [];
    for (const [name, field] of this.fields) {
      const value = values[name];
      if (field.piece) {
        const bytes = field.piece.bytes(value);
        to.size(field.piece.lengthWidth, field.piece.count(value, bytes));
        pieces.push(bytes);
      } else {
        field.put(to, value);
      }
    }
    for (const bytes of pieces) to.raw(bytes);
  }

  take(from: ByteReader, fixedBytes: number): Values<S> {
    const fixed = from.part(fixedBytes, 'the fixed part');
    const values: Record<string, unknown> = {};
    const lengths: number[] = [];
    for (const [name, field] of this.fields) {
      if (field.late && fixed.left < field.width) values[name] = field.late.value;
      else if (field.piece) lengths.push(fixed.length(field.piece.lengthWidth, name));
      else values[name] = field.take(fixed, name);
    }
    let next = 0;
    for (const [name, field] of this.fields) {
      if (field.piece) values[name] = field.piece.take(from, lengths[next++] ?? 0, name);
    }
    return values as Values<S>;
  }
}

export function block<S extends Shape>(shape: S): Block<S> {
  return new Block(shape);
}

/** A block in a payload that is no list. */
export function inline<S extends Shape>(of: Block<S>): Field<Values<S>> {
  return plain(of.width, (to, value) => of.put(to, value), (from) => of.take(from, of.width));
}

/** A list of blocks with at least `min` items. */
export function list<S extends Shape>(of: Block<S>, min = 0): Field<Values<S>[]> {
  return plain(
    0,
    (to, values) => {
      to.u16(of.width);
      to.u32(values.length);
      for (const value of values) of.put(to, value);
    },
    (from, name) => {
      const fixedBytes = from.u16(name);
      const count = from.u32(name);
      if (fixedBytes < of.widthMin) {
        throw new DecodeError(`the items of ${name} have ${fixedBytes} fixed bytes, at least ${of.widthMin} are needed`);
      }
      if (count < min) throw new DecodeError(`there are no ${name}`);
      if (count * fixedBytes > from.left) throw new DecodeError(`the bytes end before ${name}`);
      const values: Values<S>[] = [];
      for (let item = 0; item < count; item += 1) values.push(of.take(from, fixedBytes));
      return values;
    },
  );
}

/** A list whose items have one field: a list of values. */
export function column<T>(of: Field<T>, min = 0): Field<T[]> {
  const items = list(block({ value: of }), min);
  return plain(
    0,
    (to, values) => items.put(to, values.map((value) => ({ value }))),
    (from, name) => items.take(from, name).map((item) => item.value as T),
  );
}

/** The payload of one kind of message. */
export class Message<S extends Shape> {
  private readonly fields: [string, Field<any>][];

  constructor(shape: S) {
    this.fields = Object.entries(shape);
  }

  put(to: ByteWriter, values: Values<S>): void {
    let end = this.fields.length;
    while (end > 0 && isDefault(this.fields[end - 1]!, values)) end -= 1;
    for (const [name, field] of this.fields.slice(0, end)) field.put(to, values[name]);
  }

  take(payload: Uint8Array): Values<S> {
    const from = new ByteReader(payload);
    const values: Record<string, unknown> = {};
    for (const [name, field] of this.fields) {
      values[name] = field.late && from.left === 0 ? field.late.value : field.take(from, name);
    }
    return values as Values<S>;
  }
}

function isDefault([name, field]: [string, Field<any>], values: Record<string, any>): boolean {
  if (!field.late?.omit) return false;
  const value = values[name];
  return value === field.late.value || (Array.isArray(value) && value.length === 0);
}

export function message<S extends Shape>(shape: S): Message<S> {
  return new Message(shape);
}
