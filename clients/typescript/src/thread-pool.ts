/**
 * Runs handlers in threads of their own. Work that keeps the processor busy belongs there: in the main thread it would
 * hold up heartbeats, and the leases with them. And a thread can be ended: a handler that does not stop when its lease
 * is lost is terminated.
 */

import { Worker as Thread } from 'node:worker_threads';
import { UsageError } from './errors.js';
import type { Job } from './job.js';
import { onlyKnown } from './known.js';
import { durationMs } from './time.js';
import type { Handler } from './worker.js';

/** A job as a thread sees it. Its result settles it. */
export interface ThreadJob {
  readonly id: bigint;
  readonly fence: bigint;
  readonly topic: string;
  readonly key: string | null;
  readonly priority: number;
  readonly attempts: number;
  readonly due: Date;
  readonly dueMs: bigint;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The body as its content type says. */
  readonly value: unknown;
}

export interface ThreadContext {
  readonly signal: AbortSignal;
}

/** The default export of the module that the threads load. */
export type ThreadHandler = (job: ThreadJob, context: ThreadContext) => unknown;

export interface ThreadPoolOptions {
  /** How many threads: as many as handlers run at once, at most. */
  threads: number;
  /** A handler that has not ended so long after its signal was aborted is terminated: 1,000. */
  killAfterMs?: number;
}

interface Place {
  thread: Thread;
  task: Task | null;
}

interface Task {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const KILL_AFTER_MS = 1_000;
/** A timer of Node fires at once if it is set for longer than this. */
const KILL_AFTER_MS_MAX = 2_147_483_647;

/** Plain JavaScript, so that both builds of this package start the same thread. */
const BOOTSTRAP = `
const { parentPort, workerData } = require('node:worker_threads');
let abort = null;
const loaded = import(workerData).then((module) => {
  if (typeof module.default !== 'function') throw new Error(workerData + ' has no default export that is a function');
  return module.default;
});
loaded.catch(() => {});
parentPort.on('message', async (message) => {
  if (message.abort !== undefined) return abort?.abort(new Error(message.abort));
  abort = new AbortController();
  try {
    await (await loaded)(message.job, { signal: abort.signal });
    parentPort.postMessage({ ok: true });
  } catch (error) {
    parentPort.postMessage({ ok: false, name: String(error?.name ?? 'Error'), message: String(error?.message ?? error) });
  }
});
`;

export class ThreadPool {
  private readonly places: Place[] = [];
  private readonly waiting: ((place: Place) => void)[] = [];
  private readonly module: string;
  private readonly killAfterMs: number;
  private isClosed = false;

  /** `module` is the URL of a module whose default export is a `ThreadHandler`. */
  constructor(module: URL | string, private readonly options: ThreadPoolOptions) {
    onlyKnown('a thread pool', options, { threads: true, killAfterMs: true });
    if (!Number.isInteger(options.threads) || options.threads < 1) throw new UsageError('threads is a whole number from 1 on');
    this.killAfterMs = durationMs('killAfterMs', options.killAfterMs ?? KILL_AFTER_MS, KILL_AFTER_MS_MAX);
    this.module = String(module);
  }

  /** The handler for a `Worker`. */
  readonly handler: Handler = async (job, { signal }) => {
    const place = await this.place();
    const kill = () => {
      place.thread.postMessage({ abort: signal.reason instanceof Error ? signal.reason.message : 'aborted' });
      timer = setTimeout(() => this.replace(place, new Error('the handler did not stop and was terminated')), this.killAfterMs);
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      if (signal.aborted) throw signal.reason as Error;
      await new Promise<void>((resolve, reject) => {
        place.task = { resolve, reject };
        signal.addEventListener('abort', kill);
        place.thread.postMessage({ job: plain(job) });
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
      place.task = null;
      this.free(place);
    }
  };

  /** Ends all threads. Stop the worker first. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.places.splice(0).map(({ thread }) => thread.terminate()));
  }

  private place(): Promise<Place> {
    if (this.isClosed) return Promise.reject(new UsageError('the thread pool is closed'));
    const free = this.places.find((place) => place.task === null && !this.taken.has(place));
    const place = free ?? (this.places.length < this.options.threads ? this.start() : null);
    if (place) {
      this.taken.add(place);
      return Promise.resolve(place);
    }
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private readonly taken = new Set<Place>();

  private free(place: Place): void {
    const next = this.waiting.shift();
    if (next) next(place);
    else this.taken.delete(place);
  }

  private start(): Place {
    const place: Place = { thread: this.thread(), task: null };
    this.listen(place);
    this.places.push(place);
    return place;
  }

  private thread(): Thread {
    return new Thread(BOOTSTRAP, { eval: true, workerData: this.module });
  }

  private listen(place: Place): void {
    const { thread } = place;
    thread.unref();
    thread.on('message', (message: { ok: boolean; name: string; message: string }) => {
      if (place.thread !== thread) return;
      if (message.ok) place.task?.resolve();
      else place.task?.reject(Object.assign(new Error(message.message), { name: message.name }));
    });
    thread.on('error', (error) => this.replace(place, error instanceof Error ? error : new Error(String(error)), thread));
    thread.on('exit', (code) => this.replace(place, new Error(`the thread ended with code ${code}`), thread));
  }

  /** Ends a thread and starts another one in its place. */
  private replace(place: Place, error: Error, thread = place.thread): void {
    if (this.isClosed || place.thread !== thread) return;
    void thread.terminate();
    place.thread = this.thread();
    this.listen(place);
    place.task?.reject(error);
  }
}

function plain(job: Job): ThreadJob {
  const { id, fence, topic, key, priority, attempts, due, dueMs, headers, body } = job;
  return { id, fence, topic, key, priority, attempts, due, dueMs, headers, body, value: job.value() };
}
