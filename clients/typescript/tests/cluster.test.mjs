// Three nodes: the leader is killed, and everything goes on.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Worker, connect } from 'adjourn';
import { Server, freePort } from './support/server.mjs';
import { until } from './support/until.mjs';

const nodes = [];

before(async () => {
  const founder = await freePort();
  for (let node = 1; node <= 3; node += 1) {
    const peer = node === 1 ? founder : await freePort();
    const args = ['--node', String(node), '--peer-listen', `127.0.0.1:${peer}`, '--heartbeat-ms', '1000'];
    args.push(...(node > 1 ? ['--join', `127.0.0.1:${founder}`] : ['--found']));
    const server = await Server.start({ args });
    server.peer = `127.0.0.1:${peer}`;
    nodes.push(server);
  }
  const q = await connect(nodes[0].url);
  for (const node of nodes.slice(1)) {
    await until('the node is a member', () => q.cluster.add(node.peer).then(() => true, (error) => error.code !== 'BUSY' && error.code !== 'INVALID' && Promise.reject(error)));
  }
  await until('all vote', async () => (await q.cluster.status()).members.filter(({ role }) => role !== 'learner').length === 3, 30_000);
  await q.close();
});

after(async () => {
  for (const node of nodes) await node.stop();
});

async function leader(q) {
  const status = await q.cluster.status();
  const { clientAddress } = status.members.find(({ role }) => role === 'leader');
  return nodes.find(({ address }) => address === clientAddress);
}

test('the leader is killed: pushes are answered once, a worker goes on, nothing is lost', async () => {
  // The address of one follower is enough.
  const first = await connect(nodes[0].url);
  const leading = await leader(first);
  await first.close();
  const follower = nodes.find((node) => node !== leading);
  const q = await connect(follower.url, { reconnectWaitMsMax: 100 });
  const handled = new Map();
  const worker = new Worker(q, { topics: 't', concurrency: 8, handler: (job) => void handled.set(job.id, (handled.get(job.id) ?? 0) + 1) });
  const ids = [];
  let stopped = false;
  const producers = Array.from({ length: 10 }, async () => {
    while (!stopped) ids.push(await q.push('t', { n: ids.length }));
  });
  await until('work is done', () => worker.health().finished > 50);
  await leading.kill('SIGKILL');
  const before = worker.health().finished;
  await until('it goes on under another leader', () => worker.health().finished > before + 50, 30_000);
  stopped = true;
  await Promise.all(producers);
  assert.equal(new Set(ids).size, ids.length);
  await until('all are handled', () => handled.size === ids.length, 20_000);
  await until('all are settled', async () => (await q.count({ topic: 't' })) === 0n, 20_000);
  assert.deepEqual([...handled.keys()].sort(), [...ids].sort());
  assert.ok(q.health().reconnects >= 1);
  await q.close();
  await leading.run();
});

test('leadership is transferred: the session goes on at the new leader', async () => {
  const q = await connect(nodes.map(({ address }) => address));
  await until('all are connected', async () => (await q.cluster.status()).members.every(({ isConnected }) => isConnected), 20_000);
  await q.push('moved', 'x');
  const [job] = await q.reserve('moved', { waitMs: 5_000 });
  const { session } = q;
  const status = await q.cluster.status();
  await q.cluster.transfer().catch((error) => assert.equal(error.code, 'OUTCOME_UNKNOWN'));
  await job.finish();
  assert.equal(q.session, session);
  const now = await until('another one leads', async () => {
    const next = await q.cluster.status();
    return next.leader !== status.leader && next.leader !== null && next;
  });
  assert.ok(now.term > status.term);
  await q.close();
});
