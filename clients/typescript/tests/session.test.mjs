// A session over real servers that are killed, stopped and frozen.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { UsageError, connect } from 'adjourn';
import { Server } from './support/server.mjs';
import { until } from './support/until.mjs';

const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serve(options) {
  const server = await Server.start(options);
  ends.push(() => server.stop());
  return server;
}

async function client(server, options) {
  const q = await connect(server.url, { closeTimeoutMs: 500, reconnectWaitMsMax: 50, ...options });
  ends.push(() => q.close());
  return q;
}

test('kill -9 under load: every push is answered once, and is in the queue once', async () => {
  const server = await serve();
  const q = await client(server);
  const ids = [];
  let stopped = false;
  const producers = Array.from({ length: 20 }, async (_, producer) => {
    for (let n = 0; !stopped; n += 1) ids.push(await q.push('load', { producer, n }));
  });
  for (let kills = 1; kills <= 3; kills += 1) {
    const before = ids.length;
    await until('some pushes', () => ids.length > before + 100);
    await server.kill('SIGKILL');
    await server.run();
    await until('the client is back', () => q.health().reconnects >= kills);
  }
  stopped = true;
  await Promise.all(producers);
  assert.equal(new Set(ids).size, ids.length);
  const bodies = new Set();
  let listed = 0;
  for await (const job of q.list({ topic: 'load' }, { withBodies: true })) {
    bodies.add(Buffer.from(job.body).toString());
    listed += 1;
  }
  assert.equal(listed, ids.length, 'nothing is lost');
  assert.equal(bodies.size, ids.length, 'nothing is there twice');
});

test('SIGTERM and a new start: leases go on, and are settled over the new connection', async () => {
  const server = await serve();
  const q = await client(server);
  await q.pushMany('t', [{ body: 'a' }, { body: 'b' }]);
  const jobs = await q.reserve('t', { max: 2 });
  const { session } = q;
  await server.kill('SIGTERM');
  const finished = jobs[0].finish();
  await server.run();
  await finished;
  await jobs[1].finish();
  assert.equal(q.session, session);
  assert.equal(await q.count({ topic: 't' }), 0n);
});

test('a subscription and a long poll go on after kill -9', async () => {
  const server = await serve();
  const q = await client(server);
  const subscription = q.subscribe('t', { credit: 5 });
  await subscription.ready;
  const polled = q.reserve('polled', { waitMs: 30_000 });
  await server.kill('SIGKILL');
  await server.run();
  await q.push('t', 'after');
  await q.push('polled', 'after');
  const { value: job } = await subscription.next();
  await job.finish();
  const [other] = await polled;
  await other.finish();
  assert.equal(subscription.isActive, true);
});

test('a frozen server is noticed, and what it held goes on when it thaws', async () => {
  const server = await serve({ args: ['--heartbeat-ms', '200'] });
  const q = await client(server);
  await q.push('t', 'before');
  server.freeze();
  const push = q.push('t', 'during');
  await until('the silence is noticed', () => !q.health().isConnected);
  server.thaw();
  await push;
  assert.equal(await q.count({ topic: 't' }), 2n);
});

test('leases are presumed lost when the grace passes without a proof', async () => {
  const server = await serve({ args: ['--session-grace-ms', '600', '--heartbeat-ms', '200'] });
  const q = await client(server);
  await q.push('t', 'x');
  const [job] = await q.reserve('t');
  server.freeze();
  assert.equal(job.lossReason, null);
  await until('the lease is over', () => job.lossReason === 'presumed_lost');
  await assert.rejects(job.finish(), { code: 'STALE_LEASE' });
  server.thaw();
  const again = await until('it is delivered again', async () => (await q.reserve('t', { waitMs: 1_000 }))[0]);
  assert.ok(again.fence > job.fence);
  assert.equal(job.lossReason, 'presumed_lost', 'lost for good, although the session was resumed');
  await again.finish();
});

test('GOODBYE gives leases back at once', async () => {
  const server = await serve();
  const [one, two] = [await client(server), await client(server)];
  await one.push('t', 'x');
  const [job] = await one.reserve('t');
  const waiting = two.reserve('t', { waitMs: 20_000 });
  await one.close();
  const [again] = await waiting;
  assert.equal(again.id, job.id);
  await again.finish();
});

test('leases that outlive their session are settled by another one', async () => {
  const server = await serve();
  const one = await client(server, { leasesOutlive: true });
  await one.push('t', 'x');
  const [job] = await one.reserve('t');
  await one.close();
  const two = await client(server);
  assert.deepEqual(await two.finish({ id: job.id, fence: job.fence }), [{ error: null }]);
});

test('a client without a session pushes, looks and ends, and cannot reserve', async () => {
  const server = await serve();
  const q = await client(server, { withoutSession: true });
  assert.equal(q.session, 0n);
  await q.push('t', 'a');
  await q.pushMany('t', [{ body: 'b' }, { body: 'c' }]);
  await server.kill('SIGKILL');
  const pushed = q.push('t', 'd');
  await server.run();
  await pushed;
  assert.equal(await q.count({ topic: 't' }), 4n);
  await assert.rejects(q.reserve('t'), UsageError);
  await q.close();
});
