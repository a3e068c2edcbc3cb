/**
 * The requests of a client, from the call until the answer: their ids, turns, retries and deadlines, and the bounds on all
 * of them together. What becomes of a request is decided elsewhere.
 */

import { QueueFullError, UsageError } from '../errors.js';
import type { AdjournError } from '../errors.js';
import type { Config } from '../options.js';
import { encodeRequest } from '../protocol/requests.js';
import type { Request, Response, WelcomeFields } from '../protocol/messages.js';
import { Backoff } from './backoff.js';
import type { Feed } from './feed.js';
import { CALL_ID_MAX } from './ids.js';
import type { Wiring } from './interfaces.js';
import { Open, type Waiter } from './open.js';
import { Outbox } from './outbox.js';
import { waitMsOf } from './repeat.js';
import { checkSize } from './sizes.js';

/** The longest random wait before a request is sent again. */
const RETRY_MS_MAX = 1_000;

/** A request as it is entered. */
export interface Entry {
  readonly request: Request;
  /** `null`: nobody waits for the answer. */
  readonly waiter: Waiter | null;
  readonly feed?: Feed;
  readonly deadline: number;
  /** It goes before all that wait for their turn. */
  readonly isFirst?: boolean;
}

export class Requests implements Iterable<Open> {
  private readonly opens = new Map<number, Open>();
  private readonly outbox = new Outbox();
  /** Those that are sent again after a while. */
  private readonly delayed = new Set<Open>();
  private pendingBytes = 0;
  private serial = 0;
  private idNext = 1;
  /** The key of the next push, if pushes are known by keys: a client without a session has no sequence numbers. */
  private keyNext: bigint | null;

  constructor(
    private readonly config: Config,
    private readonly wiring: Wiring,
  ) {
    this.keyNext = config.withoutSession ? randomKey() : null;
  }

  get size(): number {
    return this.opens.size;
  }

  get(id: number): Open | undefined {
    return this.opens.get(id);
  }

  /** All of them. Those that are looped over may end meanwhile. */
  [Symbol.iterator](): Iterator<Open> {
    return [...this.opens.values()][Symbol.iterator]();
  }

  // --- in and out ------------------------------------------------------------------------------------------------

  /** Takes a request in. `limits` are those of the server. */
  enter(limits: WelcomeFields, { request: given, waiter, feed, deadline, isFirst = false }: Entry): Open {
    const request = this.withKey(given);
    const id = this.freeId();
    let frame: Uint8Array;
    try {
      frame = encodeRequest(request.name, id, request.fields as never);
    } catch (error) {
      throw new UsageError(error instanceof Error ? error.message : String(error));
    }
    checkSize(limits, request, frame);
    if (waiter && (this.opens.size >= this.config.pendingMax || this.pendingBytes + frame.byteLength > this.config.pendingBytesMax)) {
      throw new QueueFullError(this.opens.size);
    }
    const open = new Open(id, (this.serial += 1), request, frame, this.config.clock.now(), deadline, waiter, feed ?? null);
    this.opens.set(id, open);
    this.pendingBytes += frame.byteLength;
    if (isFirst) this.outbox.addFirst(open);
    else this.outbox.add(open);
    this.wiring.wakeAt(deadline);
    this.wiring.wake();
    return open;
  }

  /** A push with the key under which it is repeated, if pushes are known by keys. Each of its jobs takes one. */
  private withKey(request: Request): Request {
    if (request.name !== 'PUSH' || this.keyNext === null || request.fields.idempotency !== 0n) return request;
    // 0 stands for no key.
    const idempotency = this.keyNext || 1n;
    this.keyNext = BigInt.asUintN(128, idempotency + BigInt(request.fields.jobs.length));
    return { name: 'PUSH', fields: { ...request.fields, idempotency } };
  }

  private freeId(): number {
    while (this.opens.has(this.idNext)) this.stepId();
    const id = this.idNext;
    this.stepId();
    return id;
  }

  private stepId(): void {
    this.idNext = this.idNext >= CALL_ID_MAX ? 1 : this.idNext + 1;
  }

  /** Takes a request out, and tells who waits: of a response or of an error. Says whether it was still there. */
  finish(open: Open, outcome: unknown): boolean {
    if (open.isDone) return false;
    open.isDone = true;
    this.opens.delete(open.id);
    this.delayed.delete(open);
    this.pendingBytes -= open.frame.byteLength;
    this.uncount(open);
    if (isResponse(outcome)) open.waiter?.resolve(outcome);
    else open.waiter?.reject(outcome);
    open.waiter = null;
    return true;
  }

  // --- turns -----------------------------------------------------------------------------------------------------

  /** The next request to send, if its turn has come. */
  next(unansweredMax: number): Open | null {
    return this.outbox.next(unansweredMax);
  }

  /** It is sent now. Returns its bytes. */
  send(open: Open, now: number): Uint8Array {
    this.outbox.sent(open);
    open.isOnWire = true;
    open.sentAt = now;
    open.doubts += 1;
    return open.toSend(now);
  }

  /** It has an answer: it takes no place of those in flight any more. */
  uncount(open: Open): void {
    if (this.outbox.answered(open) && (!this.outbox.isEmpty || this.outbox.isAnswered)) this.wiring.wake();
  }

  /** Whether every request that was sent was answered. */
  get isAnswered(): boolean {
    return this.outbox.isAnswered;
  }

  /** It waits for the next connection. */
  putBack(open: Open): void {
    open.isOnWire = false;
    if (open.feed) open.feed.isActive = false;
    this.uncount(open);
  }

  /** It is sent again after a growing random wait and `pauseMs`, but at `latest`. */
  sendLater(open: Open, { refusal = null, pauseMs = 0, latest = Infinity }: { refusal?: AdjournError | null; pauseMs?: number; latest?: number }): void {
    open.isOnWire = false;
    this.uncount(open);
    open.refusal = refusal;
    open.waits ??= new Backoff(RETRY_MS_MAX);
    open.retryAt = Math.min(this.config.clock.now() + pauseMs + open.waits.next(), latest);
    this.delayed.add(open);
    this.wiring.wakeAt(open.retryAt);
    this.wiring.wake();
  }

  /** The connection is gone: all but those that wait on purpose wait for the next one, in the order of their calls. */
  restart(): void {
    this.outbox.restart([...this.opens.values()].filter((open) => open.retryAt === 0));
  }

  /** The session is new: its numbers start at 1. */
  renumber(): void {
    this.outbox.renumber();
    for (const open of this.opens.values()) open.sequence = 0n;
  }

  // --- time ------------------------------------------------------------------------------------------------------

  /** Puts those in line whose time has come to be sent again. */
  wakeDelayed(now: number): void {
    const due = [...this.delayed].filter((open) => open.retryAt <= now).sort((a, b) => a.serial - b.serial);
    if (due.length === 0) return;
    for (const open of due) {
      this.delayed.delete(open);
      open.retryAt = 0;
    }
    this.outbox.addFirst(...due);
    this.wiring.wake();
  }

  /** When a request is due to be sent again, or to be given up, or a job to be given back that nobody takes. */
  get nextDue(): number {
    let next = Infinity;
    for (const open of this.opens.values()) {
      if (open.waiter || !open.isOnWire) next = Math.min(next, open.deadline);
      if (open.feed) next = Math.min(next, open.feed.halfAt);
    }
    for (const open of this.delayed) next = Math.min(next, open.retryAt);
    return next;
  }

  /** Since when the request waits that has waited longest for its answer, but for what it waits on purpose. */
  get oldestUnanswered(): number {
    let oldest = Infinity;
    for (const open of this.opens.values()) {
      if (open.isCounted) oldest = Math.min(oldest, open.sentAt + waitMsOf(open.request));
    }
    return oldest;
  }
}

function randomKey(): bigint {
  const [low, high] = crypto.getRandomValues(new BigUint64Array(2));
  return (high! << 64n) | low!;
}

/** Whether a call ends with a response; else it ends with an error, or the reason of its signal. */
export function isResponse(outcome: unknown): outcome is Response {
  if (outcome instanceof Error) return false;
  return typeof (outcome as Response | null)?.name === 'string' && 'fields' in (outcome as object);
}
