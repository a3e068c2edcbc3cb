// Workers against real servers.

import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BuryJob, LeaseLostError, RetryLater, RunTooLongError, ThreadPool, UsageError, Worker, WorkerStoppingError, connect } from 'adjourn';
import { Server } from './support/server.mjs';
import { latch, until } from './support/until.mjs';

// Tests that do not harm their server share one, and have a topic of their own.
let shared;
let topics = 0;
let t;
beforeEach(() => {
  t = `topic-${(topics += 1)}`;
});
after(() => shared?.stop());

const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serve(options) {
  if (!options) return (shared ??= await Server.start());
  const server = await Server.start(options);
  ends.push(() => server.stop());
  return server;
}

async function client(server, options) {
  const q = await connect(server.url, { closeTimeoutMs: 1_000, reconnectWaitMsMax: 50, ...options });
  ends.push(() => q.close());
  return q;
}

const aborted = (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
const state = async (q, id) => (await q.get(id)).state;

test('every job is handled once and finished after its handler, at most so many at once', async () => {
  const q = await client(await serve());
  let running = 0;
  let most = 0;
  const handled = [];
  const worker = new Worker(q, {
    topics: t,
    concurrency: 4,
    prefetch: 4,
    handler: async (job) => {
      running += 1;
      most = Math.max(most, running);
      assert.equal(await state(q, job.id), 'reserved', 'not finished before the handler has returned');
      handled.push(job.value());
      running -= 1;
    },
  });
  await worker.ready;
  const results = await q.pushMany(t, Array.from({ length: 50 }, (_, n) => ({ body: n })));
  await until('all are finished', () => worker.health().finished === 50);
  assert.deepEqual(handled.sort((a, b) => a - b), Array.from({ length: 50 }, (_, n) => n));
  assert.ok(most > 1 && most <= 4, `${most}`);
  assert.equal(await state(q, results[0].id), 'finished');
});

test('a handler that throws: backoff and reason; later; bury; anything', async () => {
  const q = await client(await serve());
  const worker = new Worker(q, {
    topics: t,
    handler: async (job) => {
      switch (job.text()) {
        case 'later':
          throw new RetryLater(60_000, 'not yet');
        case 'bury':
          throw new BuryJob('never');
        case 'odd':
          throw undefined;
        case 'long':
          throw new Error('ü'.repeat(600));
        default:
          throw new Error('no luck');
      }
    },
  });
  const backoff = { kind: 'fixed', waitMs: 60_000 };
  const ids = (await q.pushMany(t, ['x', 'later', 'bury', 'odd', 'long'].map((body) => ({ body, backoff })))).map(({ id }) => id);
  await until('all failed', () => worker.health().failed === 5);
  const jobs = await until('all settled', async () => {
    const found = await Promise.all(ids.map((id) => q.get(id)));
    return found.every((job) => job.state !== 'reserved') && found;
  });
  assert.deepEqual(jobs.map((job) => job.state), ['delayed', 'delayed', 'buried', 'delayed', 'delayed']);
  assert.deepEqual(jobs.slice(0, 4).map((job) => job.reason), ['no luck', 'not yet', 'never', 'undefined']);
  assert.equal(jobs[4].reason, 'ü'.repeat(512), 'a reason is cut between characters');
  assert.ok(jobs.every((job) => job.attempts === 1));
});

test('a lease is extended while its handler runs', async () => {
  const q = await client(await serve());
  const worker = new Worker(q, { topics: t, handler: () => sleep(2_000) });
  const id = await q.push(t, 'x', { ttrMs: 700 });
  await until('it is finished', () => worker.health().finished === 1);
  assert.equal((await q.get(id)).attempts, 1);
});

test('a handler that runs too long is told, and its job is released as failed', async () => {
  const q = await client(await serve());
  let reason;
  const worker = new Worker(q, {
    topics: t,
    runMsMax: 150,
    handler: async (_, { signal }) => {
      await aborted(signal).catch((error) => {
        reason = error;
        throw error;
      });
    },
  });
  const id = await q.push(t, 'x', { backoff: { kind: 'fixed', waitMs: 60_000 } });
  await until('it failed', () => worker.health().failed === 1);
  assert.ok(reason instanceof RunTooLongError);
  await until('it is released', async () => (await state(q, id)) === 'delayed');
});

test('a handler that runs too long and does not stop loses its lease', async () => {
  const q = await client(await serve());
  const { promise, open } = latch();
  const worker = new Worker(q, { topics: t, concurrency: 1, runMsMax: 100, handler: () => promise });
  const id = await q.push(t, 'x', { ttrMs: 200, backoff: { kind: 'fixed', waitMs: 60_000 } });
  await until('the queue took it back', async () => (await state(q, id)) === 'delayed');
  open();
  await until('the loss is counted', () => worker.health().lost === 1);
  assert.equal(worker.health().finished, 0);
});

test('a job that is deleted meanwhile stops its handler, and nothing is settled', async () => {
  const q = await client(await serve());
  let reason;
  const worker = new Worker(q, { topics: t, handler: (_, { signal }) => aborted(signal).catch((error) => (reason = error)) });
  const id = await q.push(t, 'x', { ttrMs: 200 });
  await until('it runs', () => worker.health().running === 1);
  await q.delete(id);
  await until('the loss is counted', () => worker.health().lost === 1);
  assert.ok(reason instanceof LeaseLostError);
  assert.equal(reason.reason, 'lease_lost');
  assert.equal(worker.health().finished, 0);
});

test('a server that says nothing: the handler stops before another consumer gets the job', async () => {
  const server = await serve({ args: ['--session-grace-ms', '600', '--heartbeat-ms', '200'] });
  const q = await client(server);
  const reasons = [];
  const worker = new Worker(q, { topics: t, handler: (job, { signal }) => (job.attempts === 1 ? aborted(signal).catch((error) => reasons.push(error)) : undefined) });
  const id = await q.push(t, 'x');
  await until('it runs', () => worker.health().running === 1);
  server.freeze();
  await until('the loss is counted', () => worker.health().lost === 1);
  assert.equal(reasons[0].reason, 'presumed_lost');
  assert.equal(worker.health().isConsuming, false);
  server.thaw();
  await until('the second attempt is done', () => worker.health().finished === 1);
  assert.equal((await q.get(id)).attempts, 2);
  assert.equal(worker.health().isConsuming, true);
});

test('a blocked event loop: the result of a handler that lost its lease does not count', async () => {
  const server = await serve({ args: ['--session-grace-ms', '600', '--heartbeat-ms', '200'] });
  const q = await client(server);
  const log = [];
  const blocking = await client(server, { log: (entry) => log.push(entry) });
  let blocked = false;
  const worker = new Worker(blocking, {
    topics: t,
    handler: () => {
      if (blocked) return;
      blocked = true;
      const end = performance.now() + 1_500;
      while (performance.now() < end);
    },
  });
  const id = await q.push(t, 'x');
  await until('the loss is counted', () => worker.health().lost === 1);
  assert.equal(worker.health().finished, 0, 'the first result is not reported');
  await until('the second attempt is done', () => worker.health().finished === 1);
  assert.equal((await q.get(id)).attempts, 2);
  assert.ok(worker.health().loopBlockedMsMax > 1_000);
  assert.ok(log.some(({ event }) => event === 'loop_blocked'));
});

test('kill -9 of the server: the handler goes on and its job is finished over the next connection', async () => {
  const server = await serve({});
  const q = await client(server);
  const { promise, open } = latch();
  const worker = new Worker(q, { topics: t, handler: () => promise });
  const id = await q.push(t, 'x');
  await until('it runs', () => worker.health().running === 1);
  await server.kill('SIGKILL');
  open();
  await server.run();
  await until('it is finished', () => worker.health().finished === 1);
  const job = await q.get(id);
  assert.deepEqual([job.state, job.attempts], ['finished', 1]);
  await until('it consumes again', () => worker.health().isConsuming);
});

test('stop: nothing new, what was not started is given back without an attempt, the others end', async () => {
  const server = await serve();
  const [q, other] = [await client(server), await client(server)];
  const { promise, open } = latch();
  const worker = new Worker(q, { topics: t, concurrency: 1, prefetch: 2, handler: () => promise });
  const ids = (await q.pushMany(t, Array.from({ length: 4 }, (_, n) => ({ body: n })))).map(({ id }) => id);
  await until('one runs and two wait', () => worker.health().waiting === 2);
  const stopped = worker.stop({ timeoutMs: 5_000 });
  assert.equal(worker.health().isConsuming, false);
  await until('the others are ready', async () => (await other.count({ topic: t, states: ['ready'] })) === 3n);
  open();
  assert.deepEqual(await stopped, { abandoned: 0 });
  assert.equal(await worker.ended, null);
  assert.equal(await state(other, ids[0]), 'finished');
  const rest = await other.reserve(t, { max: 4 });
  assert.deepEqual(rest.map(({ attempts }) => attempts), [1, 1, 1]);
  await other.finish(rest);
});

test('stop tells handlers to come to an end before its deadline', async () => {
  const q = await client(await serve());
  let reason;
  const worker = new Worker(q, { topics: t, handler: (_, { signal }) => aborted(signal).catch((error) => (reason = error)) });
  const id = await q.push(t, 'x');
  await until('it runs', () => worker.health().running === 1);
  assert.deepEqual(await worker.stop({ timeoutMs: 2_000 }), { abandoned: 0 });
  assert.ok(reason instanceof WorkerStoppingError);
  assert.equal(await state(q, id), 'finished', 'what it returned was reported');
});

test('stop ends at its deadline although a handler hangs, whose result counts no more', async () => {
  const server = await serve();
  const [q, other] = [await client(server), await client(server)];
  const { promise, open } = latch();
  const worker = new Worker(q, { topics: t, handler: () => promise });
  const id = await other.push(t, 'x');
  await until('it runs', () => worker.health().running === 1);
  const began = performance.now();
  assert.deepEqual(await worker.stop({ timeoutMs: 200 }), { abandoned: 1 });
  assert.ok(performance.now() - began < 3_000);
  open();
  await until('it has returned', () => worker.health().running === 0);
  assert.equal(await state(other, id), 'reserved');
});

test('close stops the workers and says GOODBYE', async () => {
  const server = await serve();
  const [q, other] = [await client(server), await client(server)];
  const worker = new Worker(q, { topics: t, handler: () => sleep(100) });
  const id = await other.push(t, 'x');
  await until('it runs', () => worker.health().running === 1);
  await q.close();
  assert.equal(await state(other, id), 'finished');
  assert.equal(await worker.ended, null);
});

test('close gives a worker its stopTimeoutMs, however short its own time is', async () => {
  const server = await serve();
  const [q, other] = [await client(server, { closeTimeoutMs: 50 }), await client(server)];
  const worker = new Worker(q, { topics: t, stopTimeoutMs: 20_000, handler: () => sleep(800) });
  const id = await other.push(t, 'x');
  await until('it runs', () => worker.health().running === 1);
  await q.close();
  const { state: shown, attempts } = await other.get(id);
  assert.deepEqual([shown, attempts, worker.health().finished], ['finished', 1, 1]);
});

test('close of a client whose server is silent does not wait for workers without handlers', async () => {
  const server = await serve({});
  const q = await client(server, { closeTimeoutMs: 200 });
  const worker = new Worker(q, { topics: t, handler: () => {} });
  await worker.ready;
  server.freeze();
  const began = performance.now();
  await q.close();
  assert.ok(performance.now() - began < 5_000);
});

test('middleware runs around the handler and sees the headers of the producer', async () => {
  const q = await client(await serve(), { pushHeaders: () => ({ from: 'shop' }) });
  const seen = [];
  const worker = new Worker(q, {
    topics: t,
    middleware: [
      async (job, _, next) => {
        seen.push(`begin ${job.headers.from}`);
        await next();
        seen.push('end');
      },
      (_, __, next) => (seen.push('inner'), next()),
    ],
    handler: () => seen.push('handler'),
  });
  await q.push(t, 'x');
  await until('it is done', () => worker.health().finished === 1);
  assert.deepEqual(seen, ['begin shop', 'inner', 'handler', 'end']);
});

test('an operator ends the session: the worker goes on in a new one', async () => {
  const server = await serve();
  const q = await client(server);
  const worker = new Worker(q, { topics: t, handler: () => {} });
  await worker.ready;
  const other = await client(server);
  for await (const one of other.connections()) if (one.session === q.session) await other.disconnect(one.connection, { endSession: true });
  await until('it consumes again, in a new session', () => q.health().reconnects === 1 && worker.health().isConsuming, 15_000);
});

test('threads: the loop is free, errors come back, and a handler that does not stop is terminated', async () => {
  const q = await client(await serve());
  const pool = new ThreadPool(new URL('./support/thread-handler.mjs', import.meta.url), { threads: 2, killAfterMs: 100 });
  ends.push(() => pool.close());
  const worker = new Worker(q, { topics: t, concurrency: 2, handler: pool.handler });
  const [busy, failing] = await q.pushMany(t, [{ body: { blockMs: 700 } }, { body: { fail: 'in the thread' }, backoff: { kind: 'fixed', waitMs: 60_000 } }]);
  await until('both are settled', () => worker.health().finished === 1 && worker.health().failed === 1);
  assert.ok(worker.health().loopBlockedMsMax < 500, 'the loop was not blocked');
  assert.equal(await state(q, busy.id), 'finished');
  await until('the reason is there', async () => (await q.get(failing.id)).reason === 'in the thread');
  const forever = await q.push(t, { blockMs: 1e9 }, { ttrMs: 200 });
  await until('it runs', () => worker.health().running === 1);
  await q.delete(forever);
  await until('the thread was ended', () => worker.health().running === 0);
  assert.equal(worker.health().lost, 1);
  await q.push(t, {});
  await until('a new thread works', () => worker.health().finished === 2);
});

test('options that make no sense are refused', async () => {
  const q = await client(await serve());
  for (const options of [{ concurrency: 0 }, { prefetch: -1 }, { topics: [] }]) {
    assert.throws(() => new Worker(q, { topics: t, handler: () => {}, ...options }), UsageError);
  }
});
