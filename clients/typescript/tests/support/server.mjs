// Real servers for tests: each on a free port of the loopback interface, with its data in a temporary folder.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the server was built; empty if it was not. */
function built() {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    for (const kind of ['release', 'debug']) {
      const path = join(folder, 'target', kind, 'adjourn');
      if (existsSync(path)) return path;
    }
    if (folder === dirname(folder)) return '';
  }
}

// The queues for tests run the same server.
process.env.ADJOURN_BIN ||= built();

export function binary() {
  if (!process.env.ADJOURN_BIN) throw new Error('there is no server: build it, or set ADJOURN_BIN');
  return process.env.ADJOURN_BIN;
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
// The runner ends a file that takes too long.
process.once('SIGTERM', () => process.exit(143));

export class Server {
  static async start(options = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'adjourn-ts-'));
    const server = new Server(folder, options.port ?? (await freePort()), options.args ?? []);
    await server.run();
    return server;
  }

  constructor(folder, port, args) {
    this.folder = folder;
    this.port = port;
    this.args = args;
    this.address = `127.0.0.1:${port}`;
    this.url = `adjourn://${this.address}`;
  }

  /** Starts on the same data and port as before. */
  run() {
    const args = ['serve', '--data', join(this.folder, 'data'), '--listen', this.address, ...this.args];
    const child = spawn(binary(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    this.child = child;
    this.log = '';
    this.exited = new Promise((resolve) => child.once('exit', (code, signal) => (running.delete(child), resolve({ code, signal }))));
    return new Promise((resolve, reject) => {
      const read = (chunk) => {
        this.log += chunk;
        if (/ listening address=/.test(this.log)) resolve();
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`the server ended: ${this.log}`)));
    });
  }

  async kill(signal = 'SIGKILL') {
    this.child.kill(signal);
    return this.exited;
  }

  /** The process stands still: its connections stay. */
  freeze() {
    this.child.kill('SIGSTOP');
    // Its threads go on until the one that gets the signal has its turn.
    const threads = `/proc/${this.child.pid}/task`;
    const isStopped = (thread) => / T [^)]*$/.test(readFileSync(`${threads}/${thread}/stat`, 'utf8'));
    while (!readdirSync(threads).every(isStopped));
  }

  thaw() {
    this.child.kill('SIGCONT');
  }

  async stop() {
    this.thaw();
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
