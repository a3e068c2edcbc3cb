/** One connection: bytes in and out as frames. It never throws at the transport. */

import { ProtocolError } from '../errors.js';
import { DecodeError } from '../protocol/bytes.js';
import { FrameError, FrameSplitter, type Frame } from '../protocol/frame.js';
import type { Response } from '../protocol/messages.js';
import { decodeResponse } from '../protocol/responses.js';
import type { Transport } from '../transport.js';

/** Why a connection is over. */
export interface Loss {
  readonly why: 'closed' | 'silent' | 'stuck' | 'drained' | 'fault';
  readonly error: Error | null;
}

export interface WireEvents {
  /** Bytes came, maybe less than a frame. */
  heard(isPartial: boolean): void;
  answer(id: number, response: Response | ProtocolError | null): void;
  lost(loss: Loss): void;
}

export class Wire {
  /** Bytes that the system has not taken yet. */
  unsentBytes = 0;
  private readonly splitter = new FrameSplitter();
  private events: WireEvents | null = null;
  private loss: Loss | null = null;
  private first: { resolve(frame: Frame): void; reject(error: Error): void } | null = null;
  private onWritten: () => void = () => {};

  constructor(private readonly transport: Transport) {
    transport.listen({
      data: (bytes) => {
        if (this.loss) return;
        this.splitter.push(bytes);
        this.cut();
      },
      closed: (error) => this.lose({ why: 'closed', error }),
    });
  }

  /** Sends HELLO and waits for the first frame of the server. */
  greet(hello: Uint8Array): Promise<Frame> {
    return new Promise((resolve, reject) => {
      if (this.loss) return reject(this.loss.error ?? new Error('the server closed the connection'));
      this.first = { resolve, reject };
      this.write([hello]);
    });
  }

  /** From now on frames are told, those first that came behind the first one. */
  attach(events: WireEvents, onWritten: () => void): void {
    this.events = events;
    this.onWritten = onWritten;
    this.cut();
    if (this.loss) events.lost(this.loss);
  }

  write(frames: readonly Uint8Array[]): void {
    if (this.loss || frames.length === 0) return;
    const bytes = join(frames);
    this.unsentBytes += bytes.byteLength;
    this.transport.write(bytes, () => {
      this.unsentBytes -= bytes.byteLength;
      if (!this.loss) this.onWritten();
    });
  }

  /** Ends the connection. What is told later is nothing. */
  lose(loss: Loss): void {
    if (this.loss) return;
    this.loss = loss;
    this.transport.close();
    this.first?.reject(loss.error ?? new Error('the server closed the connection'));
    this.first = null;
    this.events?.lost(loss);
  }

  private cut(): void {
    try {
      if (this.first) {
        const frame = this.splitter.next();
        if (!frame) return;
        const { first } = this;
        this.first = null;
        return first.resolve({ ...frame, payload: frame.payload.slice() });
      }
      if (!this.events) return;
      for (let frame = this.splitter.next(); frame && !this.loss; frame = this.splitter.next()) {
        this.events.answer(frame.id, decode(frame));
      }
      this.events.heard(this.splitter.isPartial);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.lose({ why: 'fault', error: new ProtocolError(error.message, 'unknown', error) });
    }
  }
}

/** The response of a frame; the error if its payload is none. */
export function decode(frame: Frame): Response | ProtocolError | null {
  try {
    return decodeResponse(frame);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return new ProtocolError(error.message, 'unknown', error);
  }
}

function join(frames: readonly Uint8Array[]): Uint8Array {
  if (frames.length === 1) return frames[0]!.slice();
  const bytes = new Uint8Array(frames.reduce((sum, frame) => sum + frame.byteLength, 0));
  let at = 0;
  for (const frame of frames) {
    bytes.set(frame, at);
    at += frame.byteLength;
  }
  return bytes;
}
