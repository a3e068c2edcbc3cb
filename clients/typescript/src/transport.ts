/**
 * A connection as the client needs it. TCP is one; TLS, or a connection in memory, is another: give `connect` a
 * `dialer`.
 */

import * as net from 'node:net';

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

export const dialTcp: Dialer = (address, signal) =>
  new Promise((resolve, reject) => {
    const socket = net.connect(address);
    const abort = () => {
      socket.destroy();
      reject(signal.reason as Error);
    };
    let events: TransportEvents | null = null;
    let failure: Error | null = null;
    let isClosed = false;
    const early: Uint8Array[] = [];
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort);
    socket.on('connect', () => {
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
      failure = error;
      reject(error);
    });
    socket.on('close', () => {
      signal.removeEventListener('abort', abort);
      isClosed = true;
      events?.closed(failure);
      reject(failure ?? new Error('the connection was closed'));
    });
  });
