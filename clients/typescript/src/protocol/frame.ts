/** Frames: a head of twelve bytes, then the payload of a message. */

import { RESPONSE_BYTES_MAX } from './limits.js';

const HEAD_BYTES = 12;
/** Bytes that the length field counts although they are no payload. */
const COUNTED_HEAD_BYTES = 8;

/** A frame whose end is known, and whose payload was not looked at. */
export interface Frame {
  readonly opcode: number;
  readonly group: number;
  readonly id: number;
  readonly payload: Uint8Array;
}

/** The end of a frame cannot be found: the connection is of no more use. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** Cuts a stream of bytes into frames, however the bytes arrive. */
export class FrameSplitter {
  private held: Uint8Array = new Uint8Array(0);
  /** The buffer is the socket's: nothing is appended to it. */
  private isForeign = true;
  private start = 0;
  private end = 0;

  constructor(private readonly lengthMax = RESPONSE_BYTES_MAX) {}

  /** Whether a part of a frame is there. */
  get isPartial(): boolean {
    return this.end > this.start;
  }

  /** Takes bytes in. The frames of `next` are valid until the next call. */
  push(bytes: Uint8Array): void {
    if (this.start === this.end) {
      this.held = bytes;
      this.isForeign = true;
      this.start = 0;
      this.end = bytes.byteLength;
      return;
    }
    const kept = this.end - this.start;
    const wanted = Math.max(kept + bytes.byteLength, this.wanted());
    if (this.held.byteLength - this.start < wanted || this.isForeign) {
      const larger = new Uint8Array(Math.max(wanted, kept * 2));
      larger.set(this.held.subarray(this.start, this.end));
      this.held = larger;
      this.start = 0;
      this.end = kept;
      this.isForeign = false;
    }
    this.held.set(bytes, this.end);
    this.end += bytes.byteLength;
  }

  /** The next whole frame; `null` if more bytes are needed. */
  next(): Frame | null {
    const available = this.end - this.start;
    if (available < 4) return null;
    const head = new DataView(this.held.buffer, this.held.byteOffset + this.start, available);
    const length = head.getUint32(0, true);
    if (length < COUNTED_HEAD_BYTES || length > this.lengthMax) throw new FrameError(`a frame of length ${length}`);
    if (available < 4 + length) return null;
    const from = this.start;
    this.start += 4 + length;
    return {
      opcode: head.getUint8(4),
      group: head.getUint8(6),
      id: head.getUint32(8, true),
      payload: this.held.subarray(from + HEAD_BYTES, this.start),
    };
  }

  /** How many bytes the frame that has begun will have. */
  private wanted(): number {
    if (this.end - this.start < 4) return 0;
    const length = new DataView(this.held.buffer, this.held.byteOffset + this.start, 4).getUint32(0, true);
    return Math.min(length, this.lengthMax) + 4;
  }
}
