// The queue in memory: the same calls as against a server, and time that a test sets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyExistsError, UnsupportedError, Worker } from 'adjourn';
import { FakeQueue } from 'adjourn/testing';

test('a job is due when the test says so', async () => {
  const fake = new FakeQueue({ start: new Date('2026-03-01T12:00:00Z') });
  const q = await fake.connect();
  const id = await q.push('t', { n: 1 }, { delayMs: 30 * 60_000 });
  assert.equal((await q.get(id)).due.toISOString(), '2026-03-01T12:30:00.000Z');
  await fake.advance(30 * 60_000 - 1);
  assert.deepEqual(await q.reserve('t'), []);
  await fake.advance(1);
  const [job] = await q.reserve('t');
  assert.deepEqual(job.value(), { n: 1 });
  await job.finish();
  assert.equal((await q.get(id)).state, 'finished');
  await q.close();
});

test('a worker retries with the backoff of the job, and buries it after its last attempt', async () => {
  const fake = new FakeQueue();
  const q = await fake.connect();
  const times = [];
  const worker = new Worker(q, {
    topics: 't',
    handler: () => {
      times.push(fake.now.getTime());
      throw new Error('no luck');
    },
  });
  const id = await q.push('t', 'x', { attemptsMax: 3, backoff: { kind: 'exponential', firstMs: 1_000, maxMs: 60_000 } });
  await fake.advance(60 * 60_000);
  assert.deepEqual(times.map((time) => time - times[0]), [0, 1_000, 3_000]);
  const job = await q.get(id);
  assert.deepEqual([job.state, job.buried, job.reason], ['buried', 'attempts', 'no luck']);
  await worker.stop();
  await q.close();
});

test('a lease that runs out is over for the client at the same time, and the job is delivered again', async () => {
  const fake = new FakeQueue();
  const q = await fake.connect();
  await q.push('t', 'x', { ttrMs: 10_000 });
  const [job] = await q.reserve('t');
  await fake.advance(9_000);
  assert.ok(job.leaseLeftMs > 900);
  await job.touch();
  await fake.advance(9_000);
  assert.equal(job.lossReason, null);
  await fake.advance(1_000);
  assert.equal(job.lossReason, 'time_over');
  const [again] = await q.reserve('t');
  assert.equal(again.attempts, 2);
  await q.close();
});

test('a worker extends the lease of a handler that runs long', async () => {
  const fake = new FakeQueue();
  const q = await fake.connect();
  const worker = new Worker(q, { topics: 't', handler: () => new Promise((resolve) => fake.clock.after(60_000, resolve)) });
  const id = await q.push('t', 'x', { ttrMs: 10_000 });
  await fake.advance(60_000);
  const job = await q.get(id);
  assert.deepEqual([job.state, job.attempts, worker.health().lost], ['finished', 1, 0]);
  await q.close();
});

test('long polls, keys, lists, cuts', async () => {
  const fake = new FakeQueue();
  const q = await fake.connect();
  const polled = q.reserve('t', { waitMs: 5_000 });
  await fake.rest();
  await q.push('t', 'x', { key: 'k', delayMs: 2_000 });
  await assert.rejects(q.push('t', 'y', { key: 'k' }), KeyExistsError);
  await fake.advance(2_000);
  assert.equal((await polled)[0].text(), 'x');
  fake.cut();
  const push = q.push('t', 'after the cut');
  await fake.advance(1_000);
  await push;
  const jobs = [];
  for await (const job of q.list({ topic: 't' })) jobs.push(job.state);
  assert.deepEqual(jobs.sort(), ['ready', 'reserved']);
  assert.equal((await q.stats()).pushed, 2n);
  await q.close();
});

test('topics take turns by their weights, over several reserves', async () => {
  const fake = new FakeQueue();
  const q = await fake.connect();
  for (const topic of ['a', 'b', 'c']) await q.pushMany(topic, Array.from({ length: 10 }, () => ({ body: topic })));
  let order = '';
  while (order.length < 7) for (const job of await q.reserve(['a', 'b', 'c'], { weights: [5, 1, 1] })) order += job.topic;
  assert.equal(order, 'aabacaa');
  await q.close();
});

test('the policy of a topic: a rate, no more leases or bytes than it allows, and what is late', async () => {
  const fake = new FakeQueue();
  const q = await fake.connect();
  await q.setTopic('rate', { rate: 2 });
  await q.pushMany('rate', [{ body: 'a' }, { body: 'b' }, { body: 'c' }]);
  const times = [];
  const worker = new Worker(q, { topics: 'rate', handler: () => times.push(fake.now.getTime()) });
  await fake.advance(5_000);
  assert.deepEqual(times.map((time) => time - times[0]), [0, 500, 1_000]);
  await worker.stop();

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
  await fake.advance(60_001);
  assert.deepEqual(await q.reserve(['buried', 'dropped'], { max: 5 }), []);
  assert.equal((await q.get(id)).buried, 'too_late');
  assert.equal((await q.topics()).find(({ topic }) => topic === 'dropped').expired, 1n);
  await assert.rejects(q.backup(), UnsupportedError);
  await q.close();
});

test('a client without a session pushes once, whenever the connection is cut', async () => {
  const fake = new FakeQueue();
  const q = await fake.connect({ withoutSession: true, log: () => {} });
  assert.equal(q.session, 0n);
  await q.push('t', 'a', { key: 'k' });
  await assert.rejects(q.push('t', 'b', { key: 'k' }), KeyExistsError);
  for (let steps = 0; steps < 20; steps += 1) {
    const pushed = q.pushMany('t', [{ body: 'c' }, { body: 'd' }]);
    // Before it is sent, before it is answered, or after that.
    for (let step = 0; step < steps; step += 1) await null;
    fake.cut();
    await fake.advance(2_000);
    await pushed;
  }
  assert.equal(await q.count(), 41n);
  await q.close();
});
