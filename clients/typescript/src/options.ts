/** How to reach a server, and how patient to be. */

import { systemClock, type Clock } from './clock.js';
import { UsageError } from './errors.js';
import { onlyKnown, type Names } from './known.js';
import { CLIENT_NAME_BYTES_MAX, TOKEN_BYTES_MAX } from './protocol/limits.js';
import { utf8 } from './protocol/bytes.js';
import { harmless, type Tracing } from './tracing.js';
import { dialTcp, tlsDialer, type Address, type Dialer, type TlsOptions } from './transport.js';

/** What the client has to tell besides the results of calls. */
export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event:
    | 'connected'
    | 'connection_lost'
    | 'cannot_connect'
    | 'leases_presumed_lost'
    | 'unseen_leases_released'
    | 'loop_blocked'
    | 'gave_up'
    | 'handler_cancelled'
    | 'handler_failed'
    | 'settle_failed'
    | 'tracing_failed';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ConnectOptions {
  /** What the client calls itself in the server's logs; at most 64 bytes. */
  name?: string;
  /** The authentication token; at most 256 bytes. */
  token?: string | Uint8Array;
  /** Leases run to their deadline whatever becomes of this client, `close` included. */
  leasesOutlive?: boolean;
  /**
   * No session is opened, which would be a commit at the start and one at the end. For programs that push, look and manage once
   * and end. Such a client cannot reserve. Each of its pushes has a random key instead of numbers, under which it is repeated
   * after a lost connection.
   */
  withoutSession?: boolean;
  /**
   * How long one attempt to connect may take, HELLO included, and how long `connect` tries: 5,000. While there are other
   * addresses, an attempt of the first round takes a quarter of it, one of the second a half.
   */
  connectTimeoutMs?: number;
  /** How long a call may wait for its answer, all reconnects included: 30,000; 0 for no bound. The wait of a `reserve` is added. */
  requestTimeoutMs?: number;
  /** How long `close` may take: 5,000. Before that, it gives each worker its `stopTimeoutMs` if that is longer. */
  closeTimeoutMs?: number;
  /** A frame from each side at least so often; 0 lets the server say. */
  heartbeatMs?: number;
  /** The longest random wait between two attempts to reconnect: 1,000. */
  reconnectWaitMsMax?: number;
  /** How many calls may wait at once: 65,536. More are refused with `QueueFullError`. */
  pendingMax?: number;
  /** How many bytes of requests may wait at once: 256 MiB. */
  pendingBytesMax?: number;
  /** Is told what happens. Without it, warnings and errors go to `console.warn`; `() => {}` silences them. */
  log?: (entry: LogEntry) => void;
  /** Headers for a job that is pushed, for example who pushed it. Headers of the job itself win. */
  pushHeaders?: (topic: string) => Readonly<Record<string, string>>;
  /** Traces pushes and handlers: `openTelemetry` of `adjourn/opentelemetry`. */
  tracing?: Tracing;
  /** Whom to believe, and what to show, where an address begins with `adjourns://`. */
  tls?: TlsOptions;
  /** Makes the connections itself, through a tunnel for example. Then addresses are plain. */
  dialer?: Dialer;
  /** Tests set another clock. */
  clock?: Clock;
  /** Ends `connect`. */
  signal?: AbortSignal;
}

/** Options with everything filled in. */
export interface Config {
  readonly addresses: readonly string[];
  readonly name: string;
  readonly token: Uint8Array;
  readonly leasesOutlive: boolean;
  readonly withoutSession: boolean;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly closeTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly reconnectWaitMsMax: number;
  readonly pendingMax: number;
  readonly pendingBytesMax: number;
  readonly log: (entry: LogEntry) => void;
  readonly pushHeaders: (topic: string) => Readonly<Record<string, string>>;
  readonly tracing: Tracing | null;
  readonly dialer: Dialer;
  readonly clock: Clock;
}

const CONNECT_OPTIONS: Names<ConnectOptions> = {
  name: true,
  token: true,
  leasesOutlive: true,
  withoutSession: true,
  connectTimeoutMs: true,
  requestTimeoutMs: true,
  closeTimeoutMs: true,
  heartbeatMs: true,
  reconnectWaitMsMax: true,
  pendingMax: true,
  pendingBytesMax: true,
  log: true,
  pushHeaders: true,
  tracing: true,
  tls: true,
  dialer: true,
  clock: true,
  signal: true,
};
const TLS_OPTIONS: Names<TlsOptions> = { ca: true, cert: true, key: true };

export function configOf(url: string | readonly string[], options: ConnectOptions): Config {
  onlyKnown('connect', options, CONNECT_OPTIONS);
  if (options.tls) onlyKnown('tls', options.tls, TLS_OPTIONS);
  const name = options.name ?? 'adjourn-typescript/0.1.0';
  const token = typeof options.token === 'string' ? utf8(options.token) : (options.token ?? new Uint8Array(0));
  if (utf8(name).byteLength > CLIENT_NAME_BYTES_MAX) throw new UsageError(`name has more than ${CLIENT_NAME_BYTES_MAX} bytes`);
  if (token.byteLength > TOKEN_BYTES_MAX) throw new UsageError(`token has more than ${TOKEN_BYTES_MAX} bytes`);
  const { addresses, isSecure } = parseServers(url);
  const log = guarded(options.log ?? warn);
  return {
    addresses,
    name,
    token,
    leasesOutlive: options.leasesOutlive ?? false,
    withoutSession: options.withoutSession ?? false,
    connectTimeoutMs: milliseconds('connectTimeoutMs', options.connectTimeoutMs ?? 5_000, 1),
    requestTimeoutMs: milliseconds('requestTimeoutMs', options.requestTimeoutMs ?? 30_000),
    closeTimeoutMs: milliseconds('closeTimeoutMs', options.closeTimeoutMs ?? 5_000),
    heartbeatMs: milliseconds('heartbeatMs', options.heartbeatMs ?? 0),
    reconnectWaitMsMax: milliseconds('reconnectWaitMsMax', options.reconnectWaitMsMax ?? 1_000),
    pendingMax: milliseconds('pendingMax', options.pendingMax ?? 65_536, 1),
    pendingBytesMax: milliseconds('pendingBytesMax', options.pendingBytesMax ?? 256 * 1024 * 1024, 1),
    log,
    pushHeaders: options.pushHeaders ?? (() => ({})),
    tracing: tracingOf(options.tracing, log),
    dialer: dialerOf(options, isSecure),
    clock: options.clock ?? systemClock,
  };
}

/** Warnings and errors, where nobody has said where to. */
function warn({ level, message, fields }: LogEntry): void {
  if (level !== 'warn' && level !== 'error') return;
  if (fields['error']) console.warn(`adjourn: ${message}`, fields['error']);
  else console.warn(`adjourn: ${message}`);
}

/** What the caller's log does must not harm the connection. */
function guarded(log: (entry: LogEntry) => void): Config['log'] {
  return (entry) => {
    try {
      log(entry);
    } catch {
      // There is nobody to tell.
    }
  };
}

function milliseconds(name: string, value: number, min = 0): number {
  if (!Number.isSafeInteger(value) || value < min) throw new UsageError(`${name} must be a whole number from ${min} on, not ${value}`);
  return value;
}

function tracingOf(tracing: Tracing | undefined, log: Config['log']): Tracing | null {
  if (tracing === undefined) return null;
  if (typeof tracing?.push === 'function' && typeof tracing.process === 'function') return harmless(tracing, log);
  throw new UsageError('tracing has the functions push and process: write tracing: openTelemetry, which is in adjourn/opentelemetry');
}

function dialerOf({ dialer, tls }: ConnectOptions, isSecure: boolean): Dialer {
  if (tls && !isSecure) throw new UsageError('tls needs an address with adjourns://');
  if (dialer && isSecure) throw new UsageError('dialer makes the connections, TLS included: write the address without adjourns://');
  return dialer ?? (isSecure ? tlsDialer(tls ?? {}) : dialTcp);
}

/** Addresses, and whether TLS is spoken with them. */
interface Servers {
  readonly addresses: readonly string[];
  readonly isSecure: boolean;
}

/** `adjourn://host:port[,host:port]`, `adjourns://` for TLS, `host:port[,host:port]`, or a list of these. The scheme of the first holds for all. */
export function parseServers(url: string | readonly string[]): Servers {
  const parts = (typeof url === 'string' ? [url] : url).flatMap((part) => part.split(','));
  const written = parts.map((part) => /^(adjourns?:\/\/)?(.*?)\/?$/s.exec(part.trim())!);
  const first = written[0]?.[1];
  for (const [whole, scheme, address] of written) {
    if (!parseAddress(address!)) throw new UsageError(`"${whole}" is no address: write host:port, or adjourns://host:port for TLS`);
    if (scheme && scheme !== first) {
      throw new UsageError(`"${whole}": TLS is spoken with all servers or with none: write adjourns:// once, before the first`);
    }
  }
  return { addresses: [...new Set(written.map(([, , address]) => address!))], isSecure: first === 'adjourns://' };
}

/** `host:port` or `[host]:port`; `null` if it is neither, or an address that nothing can be connected to. */
export function parseAddress(text: string): Address | null {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host !== undefined && port > 0 && port < 65_536 ? { host, port } : null;
}

/** Whether an address that a server names can be used: a misconfigured member may name the one that it listens on. */
export function isUsable(text: string): boolean {
  const address = parseAddress(text);
  return address !== null && address.host !== '0.0.0.0' && address.host !== '::';
}
