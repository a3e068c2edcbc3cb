// The leases of a worker: it takes what it can begin, gives back what it cannot, and lets go of a handler that hangs.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClosedError, Worker, connect } from 'adjourn';
import { startQueue } from 'adjourn/testing';
import { ManualClock } from './support/manual-clock.mjs';
import { Server } from './support/server.mjs';
import { latch, until } from './support/until.mjs';

const server = await Server.start();
after(() => server.stop());

test('a worker takes only the jobs that it can begin', async () => {
  const q = await connect(server.url);
  const { promise, open } = latch();
  const results = await q.pushMany('takes', Array.from({ length: 6 }, () => ({ body: 'x' })));
  const worker = new Worker(q, { topics: 'takes', concurrency: 2, handler: () => promise });
  await until('two run', () => worker.health().running === 2);
  const shown = await Promise.all(results.slice(2).map(({ id }) => q.get(id)));
  assert.deepEqual(shown.map(({ state, attempts }) => [state, attempts]), Array(4).fill(['ready', 0]));
  open();
  await q.close();
});

test('a job that waits for a handler goes to others without an attempt', async () => {
  const [q, other] = [await connect(server.url), await connect(server.url)];
  const { promise, open } = latch();
  const worker = new Worker(q, { topics: 'waits', concurrency: 1, prefetch: 1, handler: () => promise });
  await q.pushMany('waits', [{ body: 'slow', ttrMs: 60_000 }, { body: 'waits', ttrMs: 1_000, attemptsMax: 1 }]);
  await until('one waits', () => worker.health().waiting === 1);
  const [job] = await other.reserve('waits', { waitMs: 20_000 });
  assert.deepEqual([job?.text(), job?.attempts], ['waits', 1]);
  await job.finish();
  open();
  await q.close();
  await other.close();
});

test('what a subscription holds and its loop does not take costs no attempt', async (t) => {
  const queue = await startQueue(t, { args: ['--heartbeat-ms', '600000', '--session-grace-ms', '600000'] });
  const clock = new ManualClock();
  const [q, other] = [await queue.connect({ clock }), await queue.connect()];
  await q.pushMany('t', [{ body: 'taken', ttrMs: 600_000 }, { body: 'long', ttrMs: 100_000 }, { body: 'short', ttrMs: 20_000 }]);
  const subscription = q.subscribe('t', { credit: 3 });
  await until('all came', () => subscription.waiting === 3);
  assert.equal((await subscription.next()).value.text(), 'taken');
  for (let passed = 0; passed < 250_000; passed += 5_000) {
    await clock.advance(5_000);
    // The same connection: what was given back goes before it, and comes again before its answer.
    await q.advance(5_000);
  }
  await until('what was given back came again, under a new lease', () => subscription.waiting === 2);
  await subscription.close();
  const others = await other.reserve('t', { max: 9 });
  assert.deepEqual(others.map((job) => [job.text(), job.attempts]).sort(), [['long', 1], ['short', 1]]);
});

test('no worker or subscription starts while the client is being closed', async () => {
  const [q, other] = [await connect(server.url), await connect(server.url)];
  const { promise, open } = latch();
  const worker = new Worker(q, { topics: 'closes', handler: () => promise });
  const first = await q.push('closes', 'x');
  await until('it runs', () => worker.health().running === 1);
  const closed = q.close();
  assert.throws(() => new Worker(q, { topics: 'closes-late', handler: () => sleep(500) }), ClosedError);
  assert.throws(() => q.subscribe('closes-late'), ClosedError);
  const late = await other.push('closes-late', 'x');
  await q.push('closes-other', 'a handler may push until the end');
  open();
  await closed;
  const shown = await Promise.all([first, late].map((id) => other.get(id)));
  assert.deepEqual(shown.map(({ state, attempts }) => [state, attempts]), [['finished', 1], ['ready', 0]]);
  assert.throws(() => q.subscribe('closes-late'), ClosedError);
  await other.close();
});

test('a process ends after a handler that hangs, and the lease of its job ends, too', async () => {
  const code = `
    import { connect, Worker } from 'adjourn';
    const q = await connect('${server.url}', { closeTimeoutMs: 200 });
    const worker = new Worker(q, { topics: 'hangs', handler: () => (console.log('began'), new Promise(() => {})) });
    process.once('SIGTERM', async () => {
      await worker.stop({ timeoutMs: 200 });
      await q.close();
      console.log('closed');
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'], cwd: new URL('..', import.meta.url) });
  after(() => child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (bytes) => (said += bytes));
  const ended = new Promise((resolve) => child.once('exit', (exitCode, signal) => resolve({ exitCode, signal })));
  const q = await connect(server.url);
  const id = await q.push('hangs', 'x', { ttrMs: 2_000 });
  await until('it began', () => said === 'began\n');
  child.kill('SIGTERM');
  await until('it closed', () => said === 'began\nclosed\n');
  assert.deepEqual(await ended, { exitCode: 0, signal: null });
  await until('its lease is over', async () => (await q.get(id)).state === 'ready');
  await q.close();
});
