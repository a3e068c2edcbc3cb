/**
 * The process of a server for one test: `adjourn serve --memory --clock manual`. It touches no file, and listens on a free port of
 * the loopback interface. It ends when its standard input ends: this process holds the other end of that pipe, and no other one inherits it.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { env } from 'node:process';
import { findBinary } from './binary.js';

/** Of what the server logs, the end is kept. */
const LOG_CHARS_MAX = 16_384;
/** A server that does not serve by then is killed. */
const START_MS_MAX = 20_000;

export class ServerProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly exited: Promise<void>,
    /** `host:port`. */
    readonly address: string,
  ) {}

  /** `args` are further ones of `adjourn serve`. */
  static async start(args: readonly string[], startMsMax = START_MS_MAX): Promise<ServerProcess> {
    const command = ['serve', '--memory', '--clock', 'manual', '--listen', '127.0.0.1:0', '--end-with-stdin', ...args];
    // Settings of another server may stand in the environment.
    const kept = Object.entries(env).filter(([name]) => !name.startsWith('ADJOURN_'));
    // Detached: a signal that a terminal sends to all of its processes leaves it to the test to stop its queue.
    const child = spawn(findBinary(), command, { detached: true, env: { ...Object.fromEntries(kept), ADJOURN_LOG_LEVEL: 'warn' } });
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    try {
      const { listen } = JSON.parse(await firstLine(child, startMsMax)) as { listen: string };
      return new ServerProcess(child, exited, listen);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    } finally {
      // A test that does not stop its queue ends all the same.
      for (const part of [child, child.stdin, child.stdout, child.stderr]) part.unref();
    }
  }

  /** Nothing is to be saved: it is killed. */
  async stop(): Promise<void> {
    this.child.ref();
    this.child.kill('SIGKILL');
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
      reject(new Error(`the Adjourn server did not start${when}. Tests need one that knows --memory, --clock and --end-with-stdin. It said: ${log || said || 'nothing'}`));
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
