/**
 * Reads and writes little-endian fields. The reader never looks beyond its bytes: a field that is cut off is a
 * `DecodeError` that names it.
 */

/** A payload that is no message of the protocol. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** The UTF-8 bytes of a text. A lone surrogate, which UTF-8 cannot show, is refused. */
export function utf8(text: string): Uint8Array {
  if (!isWellFormed(text)) throw new RangeError('the text has a lone surrogate and cannot be written as UTF-8');
  return encoder.encode(text);
}

function isWellFormed(text: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}

export class ByteReader {
  private readonly view: DataView;
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get left(): number {
    return this.bytes.byteLength - this.at;
  }

  u8(field: string): number {
    return this.view.getUint8(this.step(1, field));
  }

  u16(field: string): number {
    return this.view.getUint16(this.step(2, field), true);
  }

  u32(field: string): number {
    return this.view.getUint32(this.step(4, field), true);
  }

  u64(field: string): bigint {
    return this.view.getBigUint64(this.step(8, field), true);
  }

  i64(field: string): bigint {
    return this.view.getBigInt64(this.step(8, field), true);
  }

  /** A length of 1, 2 or 4 bytes. */
  length(width: 1 | 2 | 4, field: string): number {
    return width === 1 ? this.u8(field) : width === 2 ? this.u16(field) : this.u32(field);
  }

  /** A copy: a job that is held does not keep the buffer of the socket alive. */
  copy(bytes: number, field: string): Uint8Array {
    const at = this.step(bytes, field);
    const copy = new Uint8Array(bytes);
    copy.set(this.bytes.subarray(at, at + bytes));
    return copy;
  }

  text(bytes: number, field: string): string {
    const at = this.step(bytes, field);
    try {
      return decoder.decode(this.bytes.subarray(at, at + bytes));
    } catch {
      throw new DecodeError(`${field} is not UTF-8`);
    }
  }

  /** A reader of the next bytes, which this one skips. */
  part(bytes: number, field: string): ByteReader {
    const at = this.step(bytes, field);
    return new ByteReader(this.bytes.subarray(at, at + bytes));
  }

  private step(bytes: number, field: string): number {
    if (bytes > this.left) throw new DecodeError(`the bytes end before ${field}`);
    const at = this.at;
    this.at += bytes;
    return at;
  }
}

export class ByteWriter {
  private bytes = new Uint8Array(256);
  private view = new DataView(this.bytes.buffer);
  private at = 0;

  get length(): number {
    return this.at;
  }

  u8(value: number): void {
    const at = this.grow(1);
    this.view.setUint8(at, whole(value, 0xff));
  }

  u16(value: number): void {
    const at = this.grow(2);
    this.view.setUint16(at, whole(value, 0xffff), true);
  }

  u32(value: number): void {
    const at = this.grow(4);
    this.view.setUint32(at, whole(value, 0xffff_ffff), true);
  }

  u64(value: bigint): void {
    if (value < 0n || value > 0xffff_ffff_ffff_ffffn) throw new RangeError(`${value} is no unsigned 64-bit number`);
    const at = this.grow(8);
    this.view.setBigUint64(at, value, true);
  }

  i64(value: bigint): void {
    if (BigInt.asIntN(64, value) !== value) throw new RangeError(`${value} is no signed 64-bit number`);
    const at = this.grow(8);
    this.view.setBigInt64(at, value, true);
  }

  size(width: 1 | 2 | 4, value: number): void {
    if (width === 1) this.u8(value);
    else if (width === 2) this.u16(value);
    else this.u32(value);
  }

  raw(bytes: Uint8Array): void {
    const at = this.grow(bytes.byteLength);
    this.bytes.set(bytes, at);
  }

  /** What was written; the writer is not used any more. */
  finish(): Uint8Array {
    return this.bytes.subarray(0, this.at);
  }

  private grow(bytes: number): number {
    const at = this.at;
    this.at += bytes;
    if (this.at > this.bytes.byteLength) {
      const larger = new Uint8Array(Math.max(this.at, this.bytes.byteLength * 2));
      larger.set(this.bytes.subarray(0, at));
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    return at;
  }
}

function whole(value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new RangeError(`${value} is no whole number from 0 to ${max}`);
  }
  return value;
}
