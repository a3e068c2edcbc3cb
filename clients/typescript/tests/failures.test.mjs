// Handlers that fail, in any way; and what a worker logs of them.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { BuryJob, RetryLater, Worker, connect } from 'adjourn';
import { FakeQueue } from 'adjourn/testing';
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

test('a failure is logged once for each job and reason, at a limited rate', async () => {
  const log = [];
  const fake = new FakeQueue();
  const q = await fake.connect({ log: (entry) => log.push(entry) });
  const handler = (job) => {
    if (job.text() === 'wish') throw new BuryJob('never');
    throw new Error(job.attempts === 3 ? 'odd' : 'no luck');
  };
  new Worker(q, { topics: 't', handler });
  const backoff = { kind: 'fixed', waitMs: 1_000 };
  const id = await q.push('t', 'x', { attemptsMax: 5, backoff });
  await fake.advance(60_000);
  assert.equal((await q.get(id)).state, 'buried');
  const lines = () => log.filter(({ event }) => event === 'handler_failed').map(({ level, message }) => `${level}: ${message}`);
  assert.deepEqual(lines(), [`warn: the handler of job ${id} failed at attempt 1: no luck`, `warn: the handler of job ${id} failed at attempt 3: odd`]);

  const others = await q.pushMany('t', Array.from({ length: 25 }, () => ({ body: 'wish' })));
  await fake.advance(0);
  assert.equal(lines().length, 2 + 10);
  assert.equal((await q.get(others[24].id)).state, 'buried');
  await fake.advance(1_000);
  const last = await q.push('t', 'wish');
  await fake.advance(0);
  assert.equal(lines().at(-1), `warn: the handler of job ${last} failed at attempt 1: never (failures that were not logged: 15)`);
  await q.close();
});

test('a failure that was left out of a burst is logged when it happens again', async () => {
  const log = [];
  const fake = new FakeQueue();
  const q = await fake.connect({ log: (entry) => log.push(entry) });
  const handler = () => {
    throw new Error('no luck');
  };
  new Worker(q, { topics: 't', handler });
  await q.pushMany('t', Array.from({ length: 11 }, () => ({ body: 'x', attemptsMax: 3, backoff: { kind: 'fixed', waitMs: 5_000 } })));
  await fake.advance(60_000);
  const lines = log.filter(({ event }) => event === 'handler_failed').map(({ message }) => message);
  assert.equal(lines.length, 11);
  assert.match(lines[10], /failed at attempt 2: no luck \(failures that were not logged: 1\)$/);
  await q.close();
});

test('without a log, warnings go to the console', async (context) => {
  const warn = context.mock.method(console, 'warn', () => {});
  const fake = new FakeQueue();
  const q = await fake.connect();
  new Worker(q, {
    topics: 't',
    handler: () => {
      throw new Error('no luck');
    },
  });
  const id = await q.push('t', 'x', { attemptsMax: 1 });
  await fake.advance(0);
  assert.deepEqual(warn.mock.calls.map(({ arguments: [line] }) => line), [`adjourn: the handler of job ${id} failed at attempt 1: no luck`]);
  await q.close();
});
