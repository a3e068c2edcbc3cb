/**
 * A queue of its own for each test: a real server, whose clock stands still until the test moves it. Code under test connects to its
 * address as to any other. What is asserted is read by the calls of the client.
 */

import { AssertionError } from 'node:assert';
import { connect, type Client } from '../client.js';
import type { JobState } from '../job.js';
import { onlyKnown } from '../known.js';
import type { ConnectOptions } from '../options.js';
import { STATE_NAMES } from '../protocol/choices.js';
import { describe, predicateOf, testJob, type JobMatch, type TestJob } from './jobs.js';
import { ServerProcess } from './server.js';

export interface TestQueueOptions {
  /** More arguments of `adjourn serve`, for example `['--session-grace-ms', '1000']`. */
  args?: readonly string[];
}

export interface IdleOptions {
  /** How long work may take: 5,000. */
  timeoutMs?: number;
}

/** What is told the end of a test: the context of a test of node:test, or of Vitest. */
export type TestEnd = { after(end: () => Promise<void>): unknown } | { onTestFinished(end: () => Promise<void>): unknown };

/** A message shows at most so many jobs. */
const SHOWN_MAX = 20;
const LOOK_EVERY_MS = 2;
const AT_WORK: readonly JobState[] = ['ready', 'reserved'];

/** A queue that is stopped when the test ends. */
export async function startQueue(test: TestEnd, options: TestQueueOptions = {}): Promise<TestQueue> {
  const queue = await TestQueue.start(options);
  const stop = () => queue.stop();
  if ('after' in test) test.after(stop);
  else test.onTestFinished(stop);
  return queue;
}

export class TestQueue {
  private readonly clients: Client[] = [];
  private stopping: Promise<void> | null = null;

  private constructor(
    private readonly server: ServerProcess,
    private readonly client: Client,
    /** Where code under test connects to: `adjourn://host:port`. */
    readonly url: string,
  ) {}

  /** A queue that runs until `stop`, or until this process ends. */
  static async start(options: TestQueueOptions = {}): Promise<TestQueue> {
    const server = await ServerProcess.start(onlyKnown('a queue for tests', options, { args: true }).args ?? []);
    const url = `adjourn://${server.address}`;
    try {
      return new TestQueue(server, await connect(url, { name: 'adjourn/testing', withoutSession: true }), url);
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** An ordinary client of this queue. It is closed, its workers first, when the queue is stopped. */
  async connect(options: ConnectOptions = {}): Promise<Client> {
    const client = await connect(this.url, options);
    this.clients.push(client);
    return client;
  }

  /** Closes the clients that it made, and ends the server with all of its jobs. Close clients of your own before. */
  stop(): Promise<void> {
    this.stopping ??= this.end();
    return this.stopping;
  }

  private async end(): Promise<void> {
    // The server ends also if a client fails to close.
    const closed = await Promise.allSettled([...this.clients, this.client].map(async (client) => client.close()));
    await this.server.stop();
    for (const one of closed) if (one.status === 'rejected') throw one.reason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // --- time ------------------------------------------------------------------------------------------------------

  /** What the queue's clock shows: at first the time of the machine. */
  now(): Promise<Date> {
    return this.client.ping();
  }

  /**
   * Moves the queue's clock by so many milliseconds, and returns what it shows then. Jobs that are due are ready, or on their way to those that wait for them;
   * leases that ended are over. To wait for handlers, call `idle`.
   */
  advance(ms: number): Promise<Date> {
    return this.client.advance(ms);
  }

  /** Moves the clock to the time at which the next delayed job is due, of all topics. A `NotFoundError` if none is delayed. */
  advanceToNext(): Promise<Date> {
    return this.client.advanceToNext();
  }

  /** Waits until no job is ready or reserved, of one topic or of all: what was due is handled. */
  async idle(topic?: string, { timeoutMs = 5_000 }: IdleOptions = {}): Promise<void> {
    const end = performance.now() + timeoutMs;
    while ((await this.client.count({ ...topicOf(topic), states: AT_WORK })) > 0n) {
      if (performance.now() > end) {
        const jobs = await this.list(AT_WORK, topic);
        if (jobs.length > 0) throw failure(this.idle, `after ${timeoutMs} ms there are still jobs that are ready or reserved`, jobs);
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  // --- jobs ------------------------------------------------------------------------------------------------------

  /**
   * The jobs of a topic, or of all, whatever their state, in the order of their due times. A finished one is there only if it was pushed with
   * `rememberMs`.
   */
  jobs(topic?: string): Promise<TestJob[]> {
    return this.list(STATE_NAMES, topic);
  }

  /** The jobs that are still to be delivered, in the order of their due times: those that are delayed or ready. */
  pending(topic?: string): Promise<TestJob[]> {
    return this.list(['delayed', 'ready'], topic);
  }

  private async list(states: readonly JobState[], topic: string | undefined): Promise<TestJob[]> {
    const jobs: TestJob[] = [];
    for await (const job of this.client.list({ ...topicOf(topic), states }, { withBodies: true })) jobs.push(testJob(job));
    return jobs;
  }

  // --- assertions ------------------------------------------------------------------------------------------------

  /** There is such a job in the topic, whatever its state. Returns the first one. A finished job is found only if it was pushed with `rememberMs`. */
  async assertPushed(topic: string, match: JobMatch = {}): Promise<TestJob> {
    const jobs = await this.jobs(topic);
    const found = jobs.find(predicateOf(match));
    if (found) return found;
    const { pushed = 0n, finished = 0n } = (await this.client.topics()).find((one) => one.topic === topic) ?? {};
    const gone = finished > 0n ? `; of ${pushed} that were pushed, ${finished} are finished, and not looked at unless they were pushed with rememberMs` : '';
    throw failure(this.assertPushed, `no such job was pushed to "${topic}"${gone}`, jobs);
  }

  /**
   * No such job was pushed to the topic. Jobs that have left it, as finished ones do, were pushed, too: without `match` they count, and with
   * `match` this fails, as they cannot be compared. The queue forgets a topic, and what was pushed to it, with its next change after the
   * topic has been without jobs for 10 minutes of the queue's time.
   */
  async assertNotPushed(topic: string, match?: JobMatch): Promise<void> {
    const jobs = await this.jobs(topic);
    const found = jobs.filter(match === undefined ? () => true : predicateOf(match));
    const { pushed = 0n } = (await this.client.topics()).find((one) => one.topic === topic) ?? {};
    const gone = pushed - BigInt(jobs.length);
    if (found.length === 0 && gone <= 0n) return;
    const left = gone > 0n ? `; of ${pushed} that were pushed, ${gone} have left the topic, as finished jobs do, and cannot be compared` : '';
    throw failure(this.assertNotPushed, `jobs were pushed to "${topic}"${left}`, found);
  }

  /** No job is left, in one topic or in all: none is delayed, ready, reserved or buried. */
  async assertNothingLeft(topic?: string): Promise<void> {
    const jobs = await this.list(STATE_NAMES.filter((state) => state !== 'finished'), topic);
    if (jobs.length > 0) throw failure(this.assertNothingLeft, 'jobs are left', jobs);
  }
}

function topicOf(topic: string | undefined): { topic?: string } {
  return topic === undefined ? {} : { topic };
}

function failure(stackStartFn: (...args: never[]) => unknown, what: string, jobs: readonly TestJob[]): AssertionError {
  const shown = jobs.slice(0, SHOWN_MAX).map((job) => `\n  ${describe(job)}`);
  const more = jobs.length > SHOWN_MAX ? `\n  and ${jobs.length - SHOWN_MAX} more` : '';
  return new AssertionError({ message: `${what}. ${jobs.length === 0 ? 'There are no jobs' : 'There are:'}${shown.join('')}${more}`, stackStartFn });
}
