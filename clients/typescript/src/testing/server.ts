/**
 * The process of a server for one test: `adjourn serve --memory --clock manual`. It touches no file, listens on a free port of
 * the loopback interface, and ends with the process that started it, however that ends.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { env } from 'node:process';
import { UsageError } from '../errors.js';

/**
 * Kills the server when its own standard input ends: this process closes it, or is gone. It outlives signals that a terminal or a test runner
 * sends to all of its processes.
 */
const GUARD = `trap '' HUP INT TERM; "$@" </dev/null & exec >&- 2>&-; read -r _; kill -9 $!; wait $!`;
/** Of what the server logs, the end is kept. */
const LOG_CHARS_MAX = 16_384;
/** A server that does not serve by then is killed. */
const START_MS_MAX = 20_000;

/** `ADJOURN_BIN`, else `adjourn` of `PATH`. */
function binary(): string {
  const named = env['ADJOURN_BIN'];
  const paths = named ? [named] : (env['PATH'] ?? '').split(delimiter).filter(Boolean).map((folder) => join(folder, 'adjourn'));
  const found = paths.find(isExecutable);
  if (found) return found;
  const why = named ? `ADJOURN_BIN is "${named}", which cannot be run` : 'there is no "adjourn" in PATH, and ADJOURN_BIN is not set';
  throw new UsageError(`tests need the Adjourn server: ${why}. Install adjourn, or set ADJOURN_BIN to the path of its binary`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    // A directory has that right, too.
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export class ServerProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly exited: Promise<void>,
    /** `host:port`. */
    readonly address: string,
  ) {}

  /** `args` are further ones of `adjourn serve`. */
  static async start(args: readonly string[], startMsMax = START_MS_MAX): Promise<ServerProcess> {
    const command = [binary(), 'serve', '--memory', '--clock', 'manual', '--listen', '127.0.0.1:0', ...args];
    // Settings of another server may stand in the environment.
    const kept = Object.entries(env).filter(([name]) => !name.startsWith('ADJOURN_'));
    const child = spawn('sh', ['-c', GUARD, 'adjourn', ...command], { env: { ...Object.fromEntries(kept), ADJOURN_LOG_LEVEL: 'warn' } });
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    try {
      const { listen } = JSON.parse(await firstLine(child, startMsMax)) as { listen: string };
      return new ServerProcess(child, exited, listen);
    } catch (error) {
      child.stdin.end();
      throw error;
    } finally {
      // A test that does not stop its queue ends all the same.
      for (const part of [child, child.stdin, child.stdout, child.stderr]) part.unref();
    }
  }

  /** Nothing is to be saved: it is killed. */
  async stop(): Promise<void> {
    this.child.ref();
    this.child.stdin.end();
    await this.exited;
  }
}

/** What it says when it serves. */
function firstLine(child: ChildProcess, startMsMax: number): Promise<string> {
  let timer: ReturnType<typeof setTimeout>;
  const line = new Promise<string>((resolve, reject) => {
    let said = '';
    let log = '';
    const fail = (when: string) =>
      reject(new Error(`the Adjourn server did not start${when}. Tests need one that knows --memory and --clock. It said: ${log || said || 'nothing'}`));
    timer = setTimeout(() => fail(` within ${startMsMax} ms`), startMsMax);
    child.once('error', reject);
    child.stderr.on('data', (bytes) => (log = (log + String(bytes)).slice(-LOG_CHARS_MAX)));
    child.stdout.on('data', (bytes) => {
      said += String(bytes);
      const end = said.indexOf('\n');
      if (end >= 0) resolve(said.slice(0, end));
    });
    // Both: what it logs may be read after the end of what it says.
    let open = 2;
    const ended = () => {
      open -= 1;
      if (open === 0) fail('');
    };
    child.stdout.once('end', ended);
    child.stderr.once('end', ended);
  });
  return line.finally(() => clearTimeout(timer));
}
