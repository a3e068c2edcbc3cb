// Handlers that fail, in any way; and what a worker logs of them.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { BuryJob, RetryLater, Worker, connect } from 'adjourn';
import { startQueue } from 'adjourn/testing';
import { ManualClock } from './support/manual-clock.mjs';
import { Server } from './support/server.mjs';
import { until } from './support/until.mjs';

const server = await Server.start();
after(() => server.stop());

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const strange = (message) => Object.assign(new Error('x'), { message });
const later = (delayMs) => Object.assign(new RetryLater(1), { delayMs });

const CASES = [
  [() => null, 'null'],
  [() => Symbol('odd'), 'Symbol(odd)'],
  [() => Object.create(null), 'the handler failed without a text'],
  [() => ({ toString() { throw new Error('no'); } }), 'the handler failed without a text'],
  [() => Object.defineProperty(new Error('x'), 'message', { get() { throw new Error('no'); } }), 'the handler failed without a text'],
  [() => strange(17), '17'],
  [() => strange({}), '[object Object]'],
  [revoked, 'the handler failed without a text'],
  [() => new RetryLater(-5), 'delayMs must be a number of milliseconds from 0 on, not -5'],
  [() => new RetryLater(Number.NaN), 'delayMs must be a number of milliseconds from 0 on, not NaN'],
  [() => later(-5), 'the handler asked for a later attempt'],
];

for (const [at, [thrown, reason]] of CASES.entries()) {
  test(`whatever a handler throws settles its job: ${reason} (${at})`, async () => {
    const q = await connect(server.url, { log: () => {} });
    const t = `failures-${at}`;
    const worker = new Worker(q, {
      topics: t,
      concurrency: 1,
      handler: (job) => {
        if (job.text() === 'fail') throw thrown();
      },
    });
    const backoff = { kind: 'fixed', waitMs: 60_000 };
    const [{ id }] = await q.pushMany(t, [{ body: 'fail', backoff }, { body: 'go' }]);
    await until('the next job is done', () => worker.health().finished === 1);
    const { state, attempts, reason: shown } = await q.get(id);
    assert.deepEqual([state, attempts, shown], ['delayed', 1, reason]);
    await q.close();
  });
}

/** A queue, and a client with a clock of its own: how often it logs goes by that. Heartbeats are rare enough for either clock. */
async function logged(t) {
  const queue = await startQueue(t, { args: ['--heartbeat-ms', '600000', '--session-grace-ms', '600000'] });
  const clock = new ManualClock();
  const log = [];
  const q = await queue.connect({ clock, log: (entry) => log.push(entry) });
  const failures = () => log.filter(({ event }) => event === 'handler_failed').map(({ level, message }) => `${level}: ${message}`);
  const pass = async (ms) => {
    await clock.advance(ms);
    await queue.advance(ms);
    await queue.idle();
  };
  return { queue, q, pass, failures };
}

test('a failure is logged once for each job and reason, at a limited rate', async (t) => {
  const { queue, q, pass, failures } = await logged(t);
  const handler = (job) => {
    if (job.text() === 'wish') throw new BuryJob('never');
    throw new Error(job.attempts === 3 ? 'odd' : 'no luck');
  };
  new Worker(q, { topics: 't', handler });
  const backoff = { kind: 'fixed', waitMs: 1_000 };
  const id = await q.push('t', 'x', { attemptsMax: 5, backoff });
  await queue.idle();
  for (let retries = 0; retries < 4; retries += 1) await pass(1_000);
  assert.equal((await q.get(id)).state, 'buried');
  assert.deepEqual(failures(), [`warn: the handler of job ${id} failed at attempt 1: no luck`, `warn: the handler of job ${id} failed at attempt 3: odd`]);

  const others = await q.pushMany('t', Array.from({ length: 25 }, () => ({ body: 'wish' })));
  await queue.idle();
  assert.equal(failures().length, 2 + 10);
  assert.equal((await q.get(others[24].id)).state, 'buried');
  await pass(1_000);
  const last = await q.push('t', 'wish');
  await queue.idle();
  assert.equal(failures().at(-1), `warn: the handler of job ${last} failed at attempt 1: never (failures that were not logged: 15)`);
});

test('a failure that was left out of a burst is logged when it happens again', async (t) => {
  const { queue, q, pass, failures } = await logged(t);
  const handler = () => {
    throw new Error('no luck');
  };
  new Worker(q, { topics: 't', handler });
  await q.pushMany('t', Array.from({ length: 11 }, () => ({ body: 'x', attemptsMax: 3, backoff: { kind: 'fixed', waitMs: 5_000 } })));
  await queue.idle();
  for (let retries = 0; retries < 2; retries += 1) await pass(5_000);
  assert.equal(await q.count({ topic: 't', states: ['buried'] }), 11n);
  assert.equal(failures().length, 11);
  assert.match(failures()[10], /failed at attempt 2: no luck \(failures that were not logged: 1\)$/);
});

test('without a log, warnings go to the console', async (t) => {
  const warn = t.mock.method(console, 'warn', () => {});
  const queue = await startQueue(t);
  const q = await queue.connect();
  new Worker(q, {
    topics: 't',
    handler: () => {
      throw new Error('no luck');
    },
  });
  const id = await q.push('t', 'x', { attemptsMax: 1 });
  await queue.idle();
  assert.deepEqual(warn.mock.calls.map(({ arguments: [line] }) => line), [`adjourn: the handler of job ${id} failed at attempt 1: no luck`]);
});
