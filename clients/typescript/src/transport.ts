/**
 * A connection as the client needs it: over TCP, plain or with TLS. A tunnel, or a connection in memory, is another: give
 * `connect` a `dialer`.
 */

import * as net from 'node:net';
import * as tls from 'node:tls';

import { UsageError } from './errors.js';

/** What a connection tells. After `closed` it tells nothing more. */
export interface TransportEvents {
  data(bytes: Uint8Array): void;
  closed(error: Error | null): void;
}

export interface Transport {
  /** From now on events are told. Bytes that came before are told first. */
  listen(events: TransportEvents): void;
  /** Takes the bytes, and calls back when the system has taken them. */
  write(bytes: Uint8Array, written: () => void): void;
  /** Closes at once. */
  close(): void;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Makes a connection. `signal` ends the attempt. */
export type Dialer = (address: Address, signal: AbortSignal) => Promise<Transport>;

/** Whom to believe, and what to show, as PEM text: what `tls.createSecureContext` of Node takes. */
export interface TlsOptions {
  /** The CAs to believe; by default those of Node, with `NODE_EXTRA_CA_CERTS`. */
  ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The certificate to show to a server that asks for one, with its chain; needs `key`. */
  cert?: string | Uint8Array;
  /** The key of `cert`. */
  key?: string | Uint8Array;
}

export const dialTcp: Dialer = (address, signal) => transportOf(net.connect(address), 'connect', signal);

/** Speaks TLS 1.3. The certificate of a server must be for the host that is dialled, whatever the environment says. */
export function tlsDialer(options: TlsOptions): Dialer {
  if ((options.cert === undefined) !== (options.key === undefined)) throw new UsageError('tls.cert needs tls.key, and tls.key needs tls.cert');
  const secureContext = contextOf(options);
  return (address, signal) => {
    // A name is told to the server, so that it can choose a certificate; TLS has no place for an IP address there.
    const named = net.isIP(address.host) === 0 ? { servername: address.host } : {};
    const socket = tls.connect({ ...address, ...named, secureContext, rejectUnauthorized: true });
    return transportOf(socket, 'secureConnect', signal);
  };
}

function contextOf(options: TlsOptions): tls.SecureContext {
  try {
    return tls.createSecureContext({ ...options, minVersion: 'TLSv1.3' });
  } catch (error) {
    throw new UsageError(`the certificates in tls cannot be used: ${(error as Error).message}`);
  }
}

/** The connection of a socket, once it tells `ready`. */
const transportOf = (socket: net.Socket, ready: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Transport> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      socket.destroy();
      reject(signal.reason as Error);
    };
    let events: TransportEvents | null = null;
    let failure: Error | null = null;
    let isConnected = false;
    let isClosed = false;
    const early: Uint8Array[] = [];
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort);
    socket.on('connect', () => (isConnected = true));
    socket.on(ready, () => {
      signal.removeEventListener('abort', abort);
      socket.setNoDelay(true);
      // Where nobody listens on a port of the dynamic range, TCP can connect a socket to itself.
      if (socket.localPort === socket.remotePort && socket.localAddress === socket.remoteAddress) {
        socket.destroy();
        return reject(new Error('nobody listens there'));
      }
      resolve({
        listen(to) {
          events = to;
          for (const bytes of early.splice(0)) to.data(bytes);
          if (isClosed) to.closed(failure);
        },
        write: (bytes, written) => void socket.write(bytes, written),
        close: () => socket.destroy(),
      });
    });
    socket.on('data', (bytes) => {
      if (events) events.data(bytes);
      else early.push(bytes);
    });
    socket.on('error', (error) => {
      // Refused by TLS, before it is ready or, where a client's certificate is, at the first bytes after it.
      failure = isConnected && ready === 'secureConnect' ? new Error(`TLS failed: ${error.message}`, { cause: error }) : error;
      reject(failure);
    });
    socket.on('close', () => {
      signal.removeEventListener('abort', abort);
      isClosed = true;
      events?.closed(failure);
      reject(failure ?? new Error('the connection was closed'));
    });
  });
