/** The parts of Node that this client uses. They keep the package free of other packages, also while it is built. */

declare module 'node:net' {
  export interface Socket {
    readonly localPort?: number;
    readonly remotePort?: number;
    readonly localAddress?: string;
    readonly remoteAddress?: string;
    setNoDelay(on: boolean): void;
    write(bytes: Uint8Array, written?: () => void): boolean;
    destroy(): void;
    on(event: 'connect' | 'secureConnect' | 'close', listener: () => void): void;
    on(event: 'data', listener: (bytes: Uint8Array) => void): void;
    on(event: 'error', listener: (error: Error) => void): void;
  }
  export function connect(options: { host: string; port: number }): Socket;
  export function isIP(text: string): 0 | 4 | 6;
}

declare module 'node:tls' {
  import type { Socket } from 'node:net';
  type Pem = string | Uint8Array;
  export interface SecureContext {
    readonly context: unknown;
  }
  export function createSecureContext(options: { ca?: Pem | readonly Pem[]; cert?: Pem; key?: Pem; minVersion: 'TLSv1.3' }): SecureContext;
  export function connect(options: {
    host: string;
    port: number;
    servername?: string;
    secureContext: SecureContext;
    rejectUnauthorized: boolean;
  }): Socket;
}

declare module 'node:worker_threads' {
  export interface MessagePort {
    postMessage(message: unknown): void;
    on(event: 'message', listener: (message: any) => void): void;
  }
  export const parentPort: MessagePort | null;
  export const workerData: any;
  export class Worker {
    constructor(code: string | URL, options?: { eval?: boolean; workerData?: unknown });
    postMessage(message: unknown): void;
    terminate(): Promise<number>;
    unref(): void;
    on(event: 'message', listener: (message: any) => void): void;
    on(event: 'error', listener: (error: unknown) => void): void;
    on(event: 'exit', listener: (code: number) => void): void;
  }
}

declare function setImmediate(callback: () => void): unknown;

declare module 'node:child_process' {
  interface Stream {
    on(event: 'data', listener: (bytes: Uint8Array) => void): void;
    once(event: 'end', listener: () => void): void;
    unref(): void;
  }
  export interface ChildProcess {
    readonly stdin: { unref(): void };
    readonly stdout: Stream;
    readonly stderr: Stream;
    once(event: 'exit', listener: () => void): void;
    once(event: 'error', listener: (error: Error) => void): void;
    kill(signal: 'SIGKILL'): boolean;
    ref(): void;
    unref(): void;
  }
  export function spawn(command: string, args: readonly string[], options: { detached: boolean; env: Readonly<Record<string, string | undefined>> }): ChildProcess;
}

declare module 'node:fs' {
  export const constants: { readonly X_OK: number };
  export function accessSync(path: string, mode: number): void;
  export function statSync(path: string): { isFile(): boolean };
}

declare module 'node:module' {
  export function createRequire(from: string): { (name: string): unknown; resolve(name: string): string };
}

declare module 'node:path' {
  export const delimiter: string;
  export function join(...parts: string[]): string;
}

declare module 'node:process' {
  export const env: Readonly<Record<string, string | undefined>>;
  export function cwd(): string;
}

declare module 'node:util' {
  export function isDeepStrictEqual(a: unknown, b: unknown): boolean;
}

declare module 'node:assert' {
  export class AssertionError extends Error {
    constructor(options: { message: string; stackStartFn: (...args: never[]) => unknown });
  }
}

declare class Buffer {
  static from(buffer: ArrayBufferLike, at: number, bytes: number): Buffer;
  latin1Slice(from: number, to: number): string;
}
