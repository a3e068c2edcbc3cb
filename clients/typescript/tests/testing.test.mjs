// The queue for tests: a real server of its own, whose clock stands still until the test moves it.

import assert, { AssertionError } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { KeyExistsError, NotFoundError, StaleLeaseError, UsageError, Worker, connect } from 'adjourn';
import { TestQueue, startQueue } from 'adjourn/testing';
import { ServerProcess } from '../dist/esm/testing/server.js';
import { cuttable } from './support/cuttable.mjs';
import { ManualClock } from './support/manual-clock.mjs';
import { emptyProject } from './support/project.mjs';
import { binary } from './support/server.mjs';
import { until } from './support/until.mjs';

const MINUTE = 60_000;
const home = new URL('..', import.meta.url);

test('a job is due when the test says so', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const start = await queue.now();
  const id = await q.push('t', { n: 1 }, { delayMs: 30 * MINUTE });
  assert.deepEqual((await q.get(id)).due, new Date(start.getTime() + 30 * MINUTE));
  await queue.advance(30 * MINUTE - 1);
  assert.deepEqual(await q.reserve('t'), []);
  assert.deepEqual(await queue.advance(1), new Date(start.getTime() + 30 * MINUTE));
  const [job] = await q.reserve('t');
  assert.deepEqual(job.value(), { n: 1 });
  await job.finish();
  assert.equal((await q.get(id)).state, 'finished');
  await assert.rejects(queue.advanceToNext(), NotFoundError);
});

test('each queue is new, and has a clock of its own', async (t) => {
  const [one, other] = await Promise.all([startQueue(t), startQueue(t)]);
  const q = await one.connect();
  await q.push('t', 'x');
  await other.assertNothingLeft();
  const before = await other.now();
  await one.advance(MINUTE);
  assert.deepEqual(await other.now(), before);
});

test('pushed, not pushed, pending, nothing left', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await queue.assertNotPushed('mails');
  await queue.assertNothingLeft();
  const later = await q.push('mails', { to: 'ann' }, { delayMs: 15 * MINUTE, key: 'ann' });
  const now = await q.push('mails', 'text');
  const bytes = await q.push('other', Uint8Array.of(0, 1), { delayMs: 1 });

  assert.equal((await queue.assertPushed('mails')).id, now, 'the first in the order of due times');
  assert.equal((await queue.assertPushed('mails', { key: 'ann', delayMs: 15 * MINUTE, body: { to: 'ann' } })).id, later);
  assert.equal((await queue.assertPushed('mails', { body: 'text' })).id, now);
  assert.equal((await queue.assertPushed('mails', (job) => job.value.to === 'ann')).id, later);
  assert.deepEqual((await queue.assertPushed('other', { body: Uint8Array.of(0, 1), delayMs: 1 })).id, bytes);
  for (const match of [{ key: 'bob' }, { delayMs: 0, key: 'ann' }, { body: { to: 'bob' } }, { body: {} }, () => false]) {
    await queue.assertNotPushed('mails', match);
    await assert.rejects(queue.assertPushed('mails', match), (error) => {
      assert.ok(error instanceof AssertionError);
      assert.match(error.message, /^no such job was pushed to "mails"\. There are:\n {2}job \d+ of "mails": ready,.* body "text"\n {2}job \d+ of "mails", key "ann": delayed, attempts 0, delayMs 900000, due .*, body \{"to":"ann"\}$/);
      return true;
    });
  }
  await assert.rejects(queue.assertPushed('none'), /^AssertionError.*no such job was pushed to "none"\. There are no jobs$/s);
  await assert.rejects(queue.assertNotPushed('mails'), AssertionError);
  await assert.rejects(queue.assertNotPushed('mails', { key: 'ann' }), AssertionError);
  await assert.rejects(queue.assertPushed('mails', { delay: 5 }), (error) => error instanceof UsageError && /write delayMs/.test(error.message));

  const start = await queue.now();
  assert.deepEqual((await queue.pending('mails')).map(({ id, due }) => [id, due]), [[now, start], [later, new Date(start.getTime() + 15 * MINUTE)]]);
  assert.deepEqual((await queue.pending()).map(({ id }) => id), [now, bytes, later]);

  const [job] = await q.reserve('mails');
  assert.deepEqual((await queue.pending('mails')).map(({ id }) => id), [later], 'a reserved job is not pending');
  assert.equal((await queue.jobs('mails')).length, 2);
  await assert.rejects(queue.assertNothingLeft('mails'), /jobs are left.*reserved/s);
  await job.bury('never');
  await q.delete(later);
  await assert.rejects(queue.assertNothingLeft('mails'), /jobs are left.*buried, attempts 1,.* reason "never"/s);
  await q.delete(job);
  await queue.assertNothingLeft('mails');
  await assert.rejects(queue.assertNothingLeft(), /of "other"/);
});

test('a finished job is seen if it is remembered; that it was pushed is known all the same', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  new Worker(q, { topics: ['t', 'remembered'], handler: () => {} });
  await q.push('t', 'x', { key: 'k' });
  await q.push('remembered', 'x', { key: 'k', rememberMs: MINUTE });
  await queue.idle();
  await queue.assertNothingLeft();
  assert.equal((await queue.assertPushed('remembered', { key: 'k' })).state, 'finished');
  await assert.rejects(queue.assertPushed('t', { key: 'k' }), /of 1 that were pushed, 1 are finished, and not looked at unless they were pushed with rememberMs/);
  await assert.rejects(queue.assertNotPushed('t'), /jobs were pushed to "t"; of 1 that were pushed, 1 have left the topic/);
});

test('a job that was pushed and is gone is not taken for one that was not pushed', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await q.pushMany('t', [{ body: 'a', key: 'k' }, { body: 'b', delayMs: MINUTE }, { body: 'c', rememberMs: MINUTE }]);
  await queue.assertNotPushed('t', { key: 'other' });
  for (const job of await q.reserve('t', { max: 3 })) await job.finish();
  for (const match of [{ key: 'k' }, { key: 'other' }, () => false]) {
    await assert.rejects(queue.assertNotPushed('t', match), (error) => {
      assert.ok(error instanceof AssertionError);
      assert.match(error.message, /^jobs were pushed to "t"; of 3 that were pushed, 1 have left the topic, as finished jobs do, and cannot be compared\. There are no jobs$/);
      return true;
    });
  }
});

test('a topic that was without jobs for 10 minutes is forgotten, with what was pushed to it', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await q.push('t', 'x');
  await (await q.reserve('t'))[0].finish();
  await queue.advance(9 * MINUTE);
  await assert.rejects(queue.assertNotPushed('t'), AssertionError);
  await queue.advance(2 * MINUTE);
  await q.push('other', 'a change of the queue');
  await queue.assertNotPushed('t');
});

test('idle waits for the handlers of what is due, and tells what is still there', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const handled = [];
  new Worker(q, { topics: 't', handler: async (job) => void (await q.push('next', job.text(), { delayMs: MINUTE }), handled.push(job.text())) });
  await q.pushMany('t', Array.from({ length: 50 }, (_, n) => ({ body: String(n), delayMs: MINUTE })));
  await queue.idle();
  assert.equal(handled.length, 0);
  await queue.advanceToNext();
  await queue.idle();
  assert.equal(handled.length, 50);
  assert.equal((await queue.pending('next')).length, 50);
  await queue.advanceToNext();
  await queue.idle('t');
  await assert.rejects(queue.idle('next', { timeoutMs: 0 }), (error) => {
    assert.ok(error instanceof AssertionError);
    assert.match(error.message, /^after 0 ms there are still jobs that are ready or reserved\. There are:\n(.*\n){20} {2}and 30 more$/);
    return true;
  });
});

test('a worker retries with the backoff of the job, and buries it after its last attempt', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect({ log: () => {} });
  const times = [];
  new Worker(q, {
    topics: 't',
    handler: async () => {
      times.push((await queue.now()).getTime());
      throw new Error('no luck');
    },
  });
  const id = await q.push('t', 'x', { attemptsMax: 3, backoff: { kind: 'exponential', firstMs: 1_000, maxMs: 60_000 } });
  await queue.idle();
  for (let retries = 0; retries < 2; retries += 1) {
    await queue.advanceToNext();
    await queue.idle();
  }
  assert.deepEqual(times.map((time) => time - times[0]), [0, 1_000, 3_000]);
  const job = await q.get(id);
  assert.deepEqual([job.state, job.buried, job.reason], ['buried', 'attempts', 'no luck']);
});

test('a lease that runs out is over, and the job is delivered again', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await q.push('t', 'x', { ttrMs: 10_000, backoff: { kind: 'fixed', waitMs: 0 } });
  const [job] = await q.reserve('t');
  await queue.advance(9_000);
  await job.touch();
  await queue.advance(9_999);
  assert.deepEqual(await q.reserve('t'), []);
  await queue.advance(1);
  const [again] = await q.reserve('t');
  assert.equal(again.attempts, 2);
  await assert.rejects(job.finish(), StaleLeaseError);
  await again.finish();
});

test('a worker extends the lease of a handler that runs long', async (t) => {
  const queue = await startQueue(t, { args: ['--heartbeat-ms', '600000', '--session-grace-ms', '600000'] });
  const clock = new ManualClock();
  const q = await queue.connect({ clock });
  const worker = new Worker(q, { topics: 't', handler: () => new Promise((resolve) => clock.after(60_000, resolve)) });
  const id = await q.push('t', 'x', { ttrMs: 10_000 });
  await until('it runs', () => worker.health().running === 1);
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    // Half of the lease is over for the client: it extends it, and then, on the same connection, the time passes for the queue, too.
    await clock.advance(5_000);
    await q.advance(5_000);
    if (passed < 55_000) assert.equal((await q.get(id)).ttrLeftMs, 5_000);
  }
  await queue.idle();
  const job = await q.get(id);
  assert.deepEqual([job.state, job.attempts, worker.health().lost], ['finished', 1, 0]);
});

test('long polls, keys, lists', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const polled = q.reserve('t', { waitMs: 60_000 });
  await q.push('t', 'x', { key: 'k', delayMs: 2_000 });
  await assert.rejects(q.push('t', 'y', { key: 'k' }), KeyExistsError);
  await queue.advance(2_000);
  assert.equal((await polled)[0].text(), 'x');
  await q.push('t', 'z');
  assert.deepEqual((await queue.jobs('t')).map(({ state }) => state), ['reserved', 'ready']);
  assert.equal((await q.stats()).pushed, 2n);
});

test('topics take turns by their weights, over several reserves', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  for (const topic of ['a', 'b', 'c']) await q.pushMany(topic, Array.from({ length: 10 }, () => ({ body: topic })));
  let order = '';
  while (order.length < 7) for (const job of await q.reserve(['a', 'b', 'c'], { weights: [5, 1, 1] })) order += job.topic;
  assert.equal(order, 'aabacaa');
});

test('the policy of a topic: a rate, no more leases or bytes than it allows, and what is late', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await q.setTopic('rate', { rate: 2 });
  await q.pushMany('rate', [{ body: 'a' }, { body: 'b' }, { body: 'c' }]);
  const start = (await queue.now()).getTime();
  const times = [];
  while (times.length < 3) {
    const [job] = await q.reserve('rate');
    if (job) times.push((await queue.now()).getTime() - start);
    else await queue.advance(100);
    await job?.finish();
  }
  assert.deepEqual(times, [0, 500, 1_000]);

  await q.setTopic('few', { leasesMax: 1, bytesMax: 3 });
  const [, , refused] = await q.pushMany('few', [{ body: 'a' }, { body: 'bb' }, { body: 'c' }]);
  assert.equal(refused.error.code, 'QUOTA');
  const [held, ...others] = await q.reserve('few', { max: 5 });
  assert.equal(others.length, 0);
  await held.finish();
  assert.equal((await q.reserve('few', { max: 5 })).length, 1);

  await q.setTopic('buried', { late: { afterMs: 60_000, action: 'bury' } });
  await q.setTopic('dropped', { late: { afterMs: 60_000, action: 'drop' } });
  const id = await q.push('buried', 'x');
  await q.push('dropped', 'x');
  await queue.advance(60_001);
  assert.deepEqual(await q.reserve(['buried', 'dropped'], { max: 5 }), []);
  assert.equal((await q.get(id)).buried, 'too_late');
  assert.equal((await q.topics()).find(({ topic }) => topic === 'dropped').expired, 1n);
});

test('a client without a session pushes once, whenever the connection is cut', async (t) => {
  const queue = await startQueue(t);
  const { dialer, cut } = cuttable();
  const q = await queue.connect({ withoutSession: true, log: () => {}, dialer, reconnectWaitMsMax: 5 });
  assert.equal(q.session, 0n);
  await q.push('t', 'a', { key: 'k' });
  await assert.rejects(q.push('t', 'b', { key: 'k' }), KeyExistsError);
  for (let steps = 0; steps < 20; steps += 1) {
    await until('it is connected', () => q.health().reconnects === steps && q.health().isConnected);
    const pushed = q.pushMany('t', [{ body: 'c' }, { body: 'd' }]);
    // Before it is sent, before it is answered, or after that.
    for (let step = 0; step < steps; step += 1) await new Promise((resolve) => void setImmediate(resolve));
    cut();
    await pushed;
  }
  assert.equal(await q.count(), 41n);
});

test('a lost connection is made again, and the session goes on', async (t) => {
  const queue = await startQueue(t);
  const { dialer, cut } = cuttable();
  const q = await queue.connect({ log: () => {}, dialer, reconnectWaitMsMax: 5 });
  const { session } = q;
  await q.push('t', 'held');
  const [held] = await q.reserve('t');
  cut();
  await q.push('t', 'after the cut');
  assert.equal(q.session, session);
  assert.deepEqual((await queue.jobs('t')).map(({ state }) => state).sort(), ['ready', 'reserved']);
  await held.finish();
});

// --- the process ---------------------------------------------------------------------------------------------------

test('the queue ends with its test, and its clients are closed', async (t) => {
  let queue;
  let q;
  await t.test('inside', async (inner) => {
    queue = await startQueue(inner);
    q = await queue.connect();
    new Worker(q, { topics: 't', handler: () => {} });
  });
  assert.equal(q.health().isClosed, true);
  await assert.rejects(connect(queue.url, { connectTimeoutMs: 200 }), { code: 'CANNOT_CONNECT' });
  await queue.stop();

  const ends = [];
  const other = await startQueue({ onTestFinished: (end) => ends.push(end) });
  assert.equal(ends.length, 1);
  await ends[0]();
  await assert.rejects(connect(other.url, { connectTimeoutMs: 200 }), { code: 'CANNOT_CONNECT' });

  const disposed = await TestQueue.start();
  await disposed[Symbol.asyncDispose]();
  await assert.rejects(connect(disposed.url, { connectTimeoutMs: 200 }), { code: 'CANNOT_CONNECT' });
});

test('the server ends also if a client fails to close', async () => {
  const queue = await TestQueue.start();
  const q = await queue.connect();
  const close = q.close.bind(q);
  q.close = async () => {
    await close();
    throw new Error('no luck');
  };
  await assert.rejects(queue.stop(), /no luck/);
  await assert.rejects(connect(queue.url, { connectTimeoutMs: 200 }), { code: 'CANNOT_CONNECT' });
});

test('a server that says nothing is killed, and what it logged is told', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'adjourn-ts-'));
  const real = binary();
  t.after(() => {
    process.env.ADJOURN_BIN = real;
    rmSync(folder, { recursive: true });
  });
  process.env.ADJOURN_BIN = join(folder, 'silent');
  writeFileSync(process.env.ADJOURN_BIN, '#!/bin/sh\necho "process $$ waits" >&2\nexec sleep 60\n', { mode: 0o755 });
  const error = await ServerProcess.start([], 500).then(() => assert.fail('it started'), (failed) => failed);
  assert.match(error.message, /^the Adjourn server did not start within 500 ms\. .*It said: process \d+ waits\n$/);
  const pid = Number(/process (\d+)/.exec(error.message)[1]);
  await until('it is killed', () => {
    try {
      return !process.kill(pid, 0);
    } catch (failed) {
      return failed.code === 'ESRCH';
    }
  });
});

/** Starts a program of its own, with a queue whose URL is the first line that it prints. */
async function program(code, { env = {}, ...options } = {}) {
  const whole = `import { spawn } from 'node:child_process';\nimport { TestQueue } from 'adjourn/testing';\n${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', whole], { cwd: home, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const said = { out: '', err: '' };
  child.stdout.on('data', (bytes) => (said.out += bytes));
  child.stderr.on('data', (bytes) => (said.err += bytes));
  return { child, said, closed: once(child, 'close') };
}

const isGone = (url) => connect(url, { connectTimeoutMs: 200 }).then((q) => q.close().then(() => false), () => true);

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT']) {
  test(`the server ends with the process of the test, also after ${signal}`, async () => {
    const { child, said, closed } = await program('const queue = await TestQueue.start(); console.log(queue.url); setInterval(() => {}, 1_000);');
    const url = (await until('it started', () => said.out.includes('\n') && said.out)).trim();
    assert.equal(await isGone(url), false);
    child.kill(signal);
    await closed;
    await until('the server is gone', () => isGone(url));
  });
}

test('no other process keeps a server alive: not other servers, nor what is started before, at the same moment, or after', async (t) => {
  const { child, said, closed } = await program(`
    const sleeper = () => spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }).pid;
    const before = sleeper();
    const starting = [TestQueue.start(), TestQueue.start()];
    const during = sleeper();
    const queues = await Promise.all(starting);
    console.log(JSON.stringify({ urls: queues.map(({ url }) => url), sleepers: [before, during, sleeper()] }));
    setInterval(() => {}, 1_000);`);
  const { urls, sleepers } = JSON.parse(await until('it started', () => said.out.includes('\n') && said.out));
  t.after(() => sleepers.forEach((pid) => process.kill(pid, 'SIGKILL')));
  child.kill('SIGKILL');
  await closed;
  for (const url of urls) await until('the server is gone', () => isGone(url));
  for (const pid of sleepers) assert.ok(process.kill(pid, 0), 'it runs still');
});

test('a signal for all processes of a terminal does not reach the server', async (t) => {
  const { child, said, closed } = await program('console.log((await TestQueue.start()).url); setInterval(() => {}, 1_000);', { detached: true });
  const url = (await until('it started', () => said.out.includes('\n') && said.out)).trim();
  t.after(() => child.kill('SIGKILL'));
  process.kill(-child.pid, 'SIGSTOP');
  assert.equal(await isGone(url), false);
  process.kill(-child.pid, 'SIGKILL');
  await closed;
  await until('the server is gone', () => isGone(url));
});

test('the server ends with a test that throws and stops nothing', async () => {
  const { said, closed } = await program(`const queue = await TestQueue.start(); console.log(queue.url); throw new Error('the test failed');`);
  assert.equal((await closed)[0], 1);
  assert.match(said.err, /the test failed/);
  await until('the server is gone', () => isGone(said.out.trim()));
});

/** What a program says that starts a queue, in the folder of a project. */
async function startIn(folder, env) {
  const start = 'try { const queue = await TestQueue.start(); await queue.stop(); console.log("started"); } catch (error) { console.log(`${error.name}: ${error.message}`); }';
  const { said, closed } = await program(start, { cwd: folder, env });
  await closed;
  return said.out.trim() || said.err;
}

const BARE = '/usr/bin:/bin';

test('the binary is that of ADJOURN_BIN, else of PATH, else the error says what to do; other settings of the environment do not count', async (t) => {
  const folder = emptyProject(t);
  const says = (env) => startIn(folder, env);
  assert.match(await says({ ADJOURN_BIN: '', PATH: BARE }), /^UsageError: tests need the Adjourn server: ADJOURN_BIN is not set, there is no package adjourn-server, and no "adjourn" in PATH\. Set ADJOURN_BIN to the path of its binary, or put it into PATH as adjourn$/);
  assert.match(await says({ ADJOURN_BIN: join(folder, 'none') }), /^UsageError: .*ADJOURN_BIN is ".*none", which cannot be run/);
  symlinkSync(binary(), join(folder, 'adjourn'));
  mkdirSync(join(folder, 'first', 'adjourn'), { recursive: true });
  assert.equal(await says({ ADJOURN_BIN: '', PATH: [join(folder, 'first'), folder, BARE].join(delimiter) }), 'started');
  assert.match(await says({ ADJOURN_BIN: folder }), /^UsageError: .*which cannot be run/);
  assert.equal(await says({ ADJOURN_CONFIG: join(folder, 'none.toml'), ADJOURN_LISTEN: '127.0.0.1:1', ADJOURN_DATA: folder }), 'started');
  writeFileSync(join(folder, 'old'), '#!/bin/sh\necho "unexpected argument --clock" >&2\nexit 2\n', { mode: 0o755 });
  assert.match(await says({ ADJOURN_BIN: join(folder, 'old') }), /^Error: the Adjourn server did not start\. .*It said: unexpected argument --clock$/);
});

test('the binary of the package adjourn-server comes after ADJOURN_BIN and before PATH, seen from the project or from this package', async (t) => {
  const folder = emptyProject(t);
  const server = (modules, path) => {
    const home = join(modules, 'node_modules', 'adjourn-server');
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), '{ "name": "adjourn-server", "version": "0.1.0", "main": "index.js" }');
    writeFileSync(join(home, 'index.js'), `exports.binaryPath = () => ${JSON.stringify(path)};`);
  };
  const none = join(folder, 'none');
  writeFileSync(join(folder, 'adjourn'), '#!/bin/sh\necho "that of PATH" >&2\nexit 2\n', { mode: 0o755 });
  const says = (env = {}) => startIn(folder, { ADJOURN_BIN: '', PATH: [folder, BARE].join(delimiter), ...env });
  assert.match(await says(), /that of PATH$/);
  server(join(folder, 'node_modules', 'adjourn'), binary());
  assert.equal(await says(), 'started', 'a dependency that only this package sees');
  server(folder, none);
  assert.match(await says(), /^UsageError: .*that of the package adjourn-server is ".*none", which cannot be run/, 'that of the project is first');
  assert.equal(await says({ ADJOURN_BIN: binary() }), 'started');
  server(folder, binary());
  assert.equal(await says(), 'started');
});

test('more arguments of the server; what it does not know is told', async (t) => {
  const queue = await startQueue(t, { args: ['--body-bytes-max', '1024'] });
  const q = await queue.connect();
  await assert.rejects(q.push('t', 'x'.repeat(1_025)), /the server takes at most 1024/);
  await assert.rejects(TestQueue.start({ args: ['--body-bytes-maxx', '1'] }), /did not start.*unexpected argument/s);
});
