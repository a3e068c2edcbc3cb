/** Carries the bytes of a client: one connection after the other, until the client is closed. */

import { pause } from '../clock.js';
import { AdjournError, CannotConnectError, ClosedError, ProtocolError } from '../errors.js';
import type { Config } from '../options.js';
import { encodeRequest } from '../protocol/requests.js';
import { Backoff } from './backoff.js';
import { dialRound, type Link } from './dial.js';
import { Engine } from './engine.js';
import { MEMBERS_ID } from './ids.js';
import type { Elsewhere } from './interfaces.js';
import { Search } from './search.js';
import type { Loss, Wire } from './wire.js';

/** A connection that the server is about to close is given so long to answer what is under way. */
const DRAIN_MS_MAX = 2_000;
/** No more is encoded while so many bytes wait to be taken by the system. */
const UNSENT_BYTES_MAX = 1 << 20;
/** A timer that is later than this had to wait for the event loop. */
const LATE_MS = 100;
/** A loop that was blocked for so long is told. */
const BLOCKED_MS = 1_000;

/** Connects for the first time. */
export async function open(config: Config, signal?: AbortSignal): Promise<Connection> {
  const limit = new AbortController();
  const cancel = config.clock.after(config.connectTimeoutMs, () => limit.abort(new Error(`no answer within ${config.connectTimeoutMs} ms`)));
  const stop = () => limit.abort(signal?.reason);
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  const waits = new Backoff(config.reconnectWaitMsMax);
  const search = new Search(config.addresses);
  let last: AdjournError | null = null;
  let leader = '';
  try {
    while (!limit.signal.aborted) {
      search.begin(leader, []);
      const result = await dialRound(config, search, null, limit.signal);
      if ('wire' in result) return new Connection(config, search, result);
      if (signal?.aborted) break;
      if (result.error && (result.isHopeless || !result.isWorthAnother)) throw result.error;
      last = result.error ?? last;
      leader = result.elsewhere.leader;
      await pause(config.clock, waits.next() + result.elsewhere.pauseMs, limit.signal);
    }
    if (signal?.aborted) throw signal.reason as Error;
    throw last ?? new CannotConnectError(config.addresses.join(','), limit.signal.reason);
  } finally {
    cancel();
    signal?.removeEventListener('abort', stop);
  }
}

export class Connection {
  readonly engine: Engine;
  private wire: Wire | null = null;
  private timer: { due: number; cancel: () => void } | null = null;
  private isWoken = false;
  private drainedBy = 0;
  private readonly stopping = new AbortController();
  private readonly waits: Backoff;

  constructor(
    private readonly config: Config,
    private readonly search: Search,
    link: Link,
  ) {
    this.waits = new Backoff(config.reconnectWaitMsMax);
    this.engine = new Engine(config, link.said, link.welcome);
    this.engine.wiring = { wake: () => this.wake(), wakeAt: (time) => this.arm(time) };
    this.carry(link);
  }

  /** Says GOODBYE, waits for the answers, and closes. Takes no longer than `closeTimeoutMs`. */
  async close(sayGoodbye: boolean): Promise<void> {
    const { engine } = this;
    if (this.stopping.signal.aborted) return;
    if (!engine.ended && sayGoodbye && (engine.state === 'up' || engine.pending > 0)) {
      const ended = engine.goodbye().then(
        () => {},
        () => {},
      );
      await Promise.race([ended, pause(this.config.clock, this.config.closeTimeoutMs, this.stopping.signal)]);
    }
    this.stop(engine.ended ?? new ClosedError());
  }

  /** Whether the server was heard of lately over a connection that stands. */
  get isAlive(): boolean {
    return this.engine.state === 'up' && this.engine.now < this.engine.pulse.lostAt;
  }

  private stop(error: AdjournError): void {
    if (this.stopping.signal.aborted) return;
    this.stopping.abort(error);
    this.timer?.cancel();
    this.timer = null;
    this.engine.end(error);
    const { wire } = this;
    this.wire = null;
    wire?.lose({ why: 'closed', error: null });
  }

  private carry({ wire, welcome }: Link): void {
    const { engine } = this;
    this.wire = wire;
    this.drainedBy = 0;
    this.config.log({ level: 'info', event: 'connected', message: 'welcomed', fields: { server: welcome.serverName, session: welcome.session } });
    wire.attach(
      {
        heard: (isPartial) => {
          engine.pulse.heardAt = engine.now;
          if (isPartial) engine.pulse.movedAt = engine.now;
        },
        answer: (id, response) => {
          engine.pulse.heardAt = engine.now;
          engine.answer(id, response);
        },
        lost: (loss) => void this.replace(wire, loss),
      },
      () => {
        // A server that takes a long output bit by bit is not stuck. Heartbeats alone prove nothing.
        if (wire.unsentBytes > 0) engine.pulse.movedAt = engine.now;
        this.wake();
      },
    );
    this.tick();
    this.wake();
  }

  /** Sends what waits, with all that is called in this turn of the event loop. */
  private wake(): void {
    if (this.isWoken) return;
    this.isWoken = true;
    queueMicrotask(() => {
      this.isWoken = false;
      this.flush();
    });
  }

  private flush(): void {
    const { engine, wire } = this;
    if (!wire) return;
    if (engine.state === 'draining') return this.drain(wire);
    if (engine.state === 'up') wire.write(engine.pump(UNSENT_BYTES_MAX - wire.unsentBytes));
  }

  private drain(wire: Wire): void {
    if (this.engine.isDrained) return wire.lose({ why: 'drained', error: null });
    if (this.drainedBy > 0) return;
    this.drainedBy = this.engine.now + DRAIN_MS_MAX;
    this.arm(this.drainedBy);
  }

  // --- time ------------------------------------------------------------------------------------------------------

  private arm(time: number): void {
    if (time === Infinity || this.stopping.signal.aborted || (this.timer && this.timer.due <= time)) return;
    this.timer?.cancel();
    const cancel = this.config.clock.after(time - this.engine.now, () => {
      this.timer = null;
      this.tick(time);
    });
    this.timer = { due: time, cancel };
  }

  /** Does what is due. `due` says for when the timer was set. */
  private tick(due = Infinity): void {
    if (this.stopping.signal.aborted) return;
    const { engine } = this;
    const lateMs = engine.now - due;
    engine.look();
    if (lateMs > LATE_MS) {
      this.tellBlocked(lateMs);
      // What came meanwhile is read before the server is called silent.
      setImmediate(() => this.tick());
      return;
    }
    const next = this.wire && engine.state !== 'down' ? this.beat(this.wire) : Infinity;
    this.arm(Math.min(next, engine.nextLook));
  }

  private tellBlocked(lateMs: number): void {
    this.engine.blockedMsMax = Math.max(this.engine.blockedMsMax, lateMs);
    if (lateMs < BLOCKED_MS) return;
    const message = 'the event loop was blocked: no heartbeat could be sent';
    this.config.log({ level: 'warn', event: 'loop_blocked', message, fields: { ms: Math.round(lateMs) } });
  }

  /** Sends the heartbeat if it is due, and ends a connection that is of no use. Returns when to look again. */
  private beat(wire: Wire): number {
    const { engine } = this;
    const { pulse, now } = engine;
    if (now >= pulse.lostAt) {
      wire.lose({ why: 'silent', error: null });
      return Infinity;
    }
    const stuckAt = Math.max(engine.oldestUnanswered, pulse.movedAt) + pulse.answerMsMax;
    if (now >= stuckAt) {
      wire.lose({ why: 'stuck', error: null });
      return Infinity;
    }
    if (this.drainedBy > 0 && now >= this.drainedBy) {
      wire.lose({ why: 'drained', error: null });
      return Infinity;
    }
    if (engine.state === 'up') {
      if (now >= engine.pingDue) {
        pulse.spoke(now);
        wire.write([encodeRequest('PING', pulse.pinged(now), {})]);
      }
      if (pulse.asksMembers(now)) wire.write([encodeRequest('CLUSTER_STATUS', MEMBERS_ID, {})]);
    }
    return Math.min(
      pulse.lostAt,
      stuckAt,
      this.drainedBy || Infinity,
      engine.state === 'up' ? Math.min(engine.pingDue, pulse.nextMembers) : Infinity,
    );
  }

  // --- reconnecting ----------------------------------------------------------------------------------------------

  private async replace(lost: Wire, loss: Loss): Promise<void> {
    if (this.wire !== lost) return;
    const { engine, config } = this;
    this.wire = null;
    const elsewhere = engine.elsewhere;
    engine.elsewhere = { leader: '', pauseMs: 0 };
    engine.down(loss.error instanceof ProtocolError ? loss.error : null);
    if (engine.isProven) this.waits.reset();
    config.log({ level: 'warn', event: 'connection_lost', message: 'the connection is lost', fields: { why: loss.why, error: loss.error } });
    if (engine.takenOver && !this.search.tookItselfOver()) return this.giveUp(engine.takenOver);
    if (engine.ended && engine.pending === 0) return this.stop(engine.ended);
    try {
      await this.reconnect(elsewhere);
    } catch (error) {
      this.giveUp(error instanceof AdjournError ? error : new ProtocolError(String(error)));
    }
  }

  /** Looks for the leader until it is found, and goes on with the session there. */
  private async reconnect(elsewhere: Elsewhere): Promise<void> {
    const { engine, config, search } = this;
    const { signal } = this.stopping;
    for (;;) {
      this.arm(engine.nextLook);
      await pause(config.clock, this.waits.next() + elsewhere.pauseMs, signal);
      search.begin(elsewhere.leader, engine.members);
      const result = await dialRound(config, search, engine.welcome, signal);
      if (signal.aborted) {
        if ('wire' in result) result.wire.lose({ why: 'closed', error: null });
        return;
      }
      if ('wire' in result) {
        try {
          engine.up(result.said, result.welcome);
        } catch (error) {
          result.wire.lose({ why: 'closed', error: null });
          throw error;
        }
        return this.carry(result);
      }
      if (result.isHopeless && result.error) throw result.error;
      config.log({ level: 'debug', event: 'cannot_connect', message: 'cannot connect yet', fields: { error: result.error } });
      elsewhere = result.elsewhere;
    }
  }

  private giveUp(error: AdjournError): void {
    if (this.stopping.signal.aborted) return;
    this.config.log({ level: 'error', event: 'gave_up', message: 'the client gives up', fields: { error } });
    this.stop(error);
  }
}
