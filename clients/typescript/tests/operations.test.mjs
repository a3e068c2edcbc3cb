// Every operation against a real server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  BackupLostError,
  ChangedError,
  ClosedError,
  ConnectionError,
  ExpiresBeforeDueError,
  InvalidError,
  KeyExistsError,
  NotFoundError,
  PausedError,
  ReservedError,
  ServerError,
  StaleLeaseError,
  UnauthenticatedError,
  UsageError,
  WrongStateError,
  connect,
} from 'adjourn';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server } from './support/server.mjs';
import { until } from './support/until.mjs';

let server;
let q;
let names = 0;
const topic = () => `operations-${(names += 1)}`;

before(async () => {
  server = await Server.start();
  q = await connect(server.url, { name: 'tests' });
});

after(async () => {
  await q?.close();
  await server?.stop();
});

const collect = async (items) => {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
};

test('a job goes from push to finish, with its body and headers', async () => {
  const t = topic();
  const id = await q.push(t, { order: 17 }, { headers: { traceparent: '00-abc' }, key: 'k', priority: 5, ttrMs: 30_000 });
  assert.equal(typeof id, 'bigint');
  const [job] = await q.reserve(t, { waitMs: 5_000 });
  assert.equal(job.id, id);
  assert.deepEqual(job.value(), { order: 17 });
  assert.equal(job.headers['content-type'], 'application/json');
  assert.equal(job.headers['traceparent'], '00-abc');
  assert.deepEqual([job.key, job.priority, job.attempts, job.topic], ['k', 5, 1, t]);
  assert.ok(job.leaseLeftMs > 25_000 && job.leaseLeftMs <= 30_000, `${job.leaseLeftMs}`);
  await job.finish();
  assert.deepEqual(await q.finish(job), [{ error: null }], 'a repeated finish is no error');
  assert.equal((await q.get(id)).state, 'finished');
  assert.equal(await q.get({ topic: t, key: 'k' }), null);
});

test('bytes go as they are, texts as UTF-8, everything else as JSON', async () => {
  const t = topic();
  const bytes = Uint8Array.of(0, 255, 1);
  await q.pushMany(t, [{ body: bytes }, { body: 'grüße' }, { body: [1, null] }, {}]);
  const jobs = await q.reserve(t, { max: 10 });
  assert.deepEqual(jobs.map((job) => job.value()), [bytes, 'grüße', [1, null], new Uint8Array(0)]);
  assert.equal(jobs[0].headers['content-type'], undefined);
  await assert.rejects(q.push(t, { id: 1n }), UsageError);
  await assert.rejects(q.push(t, () => {}), UsageError);
  await q.finish(jobs);
});

test('a delayed job is not delivered before its time', async () => {
  const t = topic();
  const pushedAt = performance.now();
  await q.push(t, 'later', { delayMs: 300 });
  assert.deepEqual(await q.reserve(t), []);
  const [job] = await q.reserve(t, { waitMs: 5_000 });
  assert.ok(performance.now() - pushedAt >= 300);
  await job.finish();
});

test('a time must say its zone', async () => {
  const t = topic();
  for (const at of ['2030-12-24T18:00:00', '2030-12-24', 'tomorrow', new Date(NaN), 5]) {
    await assert.rejects(q.push(t, 'x', { at }), UsageError, String(at));
  }
  const id = await q.push(t, 'x', { at: '2030-12-24T18:00:00+01:00' });
  assert.equal((await q.get(id)).due.toISOString(), '2030-12-24T17:00:00.000Z');
});

test('what cannot be is refused before it is sent', async () => {
  const t = topic();
  const wrong = [
    () => q.push('no topic', 'x'),
    () => q.push('', 'x'),
    () => q.push(t, 'x', { delayMs: -1 }),
    () => q.push(t, 'x', { delayMs: 1, at: new Date() }),
    () => q.push(t, 'x', { ttrMs: 5 }),
    () => q.push(t, 'x', { key: 'a\u0000b' }),
    () => q.push(t, 'x', { ifExists: 'maybe' }),
    () => q.push(t, 'x', { headers: { a: 'x'.repeat(5_000) } }),
    () => q.push(t, new Uint8Array(2_000_000)),
    () => q.reserve([]),
    () => q.reserve(t, { max: 0 }),
    () => q.reserve([t, 'b'], { weights: [1] }),
    () => q.release({ id: 1n, fence: 1n }, { how: 'backoff', reason: 'x'.repeat(2_000) }),
    () => connect('http://localhost:1'),
    () => connect('localhost'),
    () => connect('localhost:0'),
  ];
  for (const call of wrong) await assert.rejects(async () => call(), UsageError, String(call));
});

test('keys: reject, keep, replace, replace any, postpone', async () => {
  const t = topic();
  const first = await q.push(t, 'a', { key: 'k', delayMs: 60_000 });
  const error = await q.push(t, 'b', { key: 'k' }).catch((e) => e);
  assert.ok(error instanceof KeyExistsError && error instanceof ServerError);
  assert.deepEqual([error.code, error.retryable, error.applied, error.job], ['KEY_EXISTS', false, 'no', first]);
  assert.equal(await q.push(t, 'b', { key: 'k', ifExists: 'keep' }), first);
  const [replaced] = await q.pushMany(t, [{ body: 'c', key: 'k', ifExists: 'replace', delayMs: 60_000 }]);
  assert.equal(replaced.outcome, 'replaced');
  assert.notEqual(replaced.id, first);
  const [postponed] = await q.pushMany(t, [{ body: 'd', key: 'k', ifExists: 'postpone', delayMs: 0, postponeMaxMs: 60_000 }]);
  assert.deepEqual(postponed, { outcome: 'postponed', id: replaced.id });
  const [job] = await q.reserve(t, { waitMs: 5_000 });
  assert.equal(job.text(), 'd');
  await assert.rejects(q.push(t, 'e', { key: 'k', ifExists: 'replace' }), ReservedError);
  await q.push(t, 'f', { key: 'k', ifExists: 'replace_any' });
  await assert.rejects(job.finish(), StaleLeaseError);
  assert.equal(job.lossReason, 'lease_lost');
});

test('a batch has a result for each job; a large one is sent in several requests', async () => {
  const t = topic();
  const results = await q.pushMany(t, [{ body: 'a', key: 'x' }, { body: 'b', key: 'x' }, { body: 'c' }]);
  assert.deepEqual(results.map(({ outcome }) => outcome), ['pushed', 'refused', 'pushed']);
  assert.equal(results[1].error.job, results[0].id);
  const many = await q.pushMany(t, Array.from({ length: 5_000 }, (_, n) => ({ body: { n } })));
  assert.equal(new Set(many.map(({ id }) => id)).size, 5_000);
  const large = await q.pushMany(t, Array.from({ length: 3 }, () => ({ body: new Uint8Array(900_000) })));
  assert.ok(large.every(({ outcome }) => outcome === 'pushed'));
  assert.deepEqual(await q.pushMany(t, []), []);
  assert.equal(await q.count({ topic: t }), 5_005n);
});

test('release, touch and bury', async () => {
  const t = topic();
  await q.push(t, 'x', { attemptsMax: 3, backoff: { kind: 'fixed', waitMs: 60_000 } });
  let [job] = await q.reserve(t);
  await job.release({ how: 'not_started' });
  [job] = await q.reserve(t);
  assert.equal(job.attempts, 1, 'not started counts no attempt');
  await job.touch(120_000);
  assert.ok(job.leaseLeftMs > 100_000);
  await q.touch([job], 240_000);
  assert.ok(job.leaseLeftMs > 200_000);
  await job.release({ how: 'after', delayMs: 0, reason: 'again' });
  assert.equal((await q.get(job.id)).reason, 'again');
  [job] = await q.reserve(t);
  assert.equal(job.attempts, 2);
  await job.release();
  assert.equal((await q.get(job.id)).state, 'delayed', 'it waits for its backoff');
  await q.runNow(job.id);
  [job] = await q.reserve(t);
  await job.bury('no such address');
  const buried = await q.get(job.id);
  assert.deepEqual([buried.state, buried.buried, buried.reason], ['buried', 'consumer', 'no such address']);
  await assert.rejects(job.finish(), StaleLeaseError);
  await assert.rejects(q.runNow(job.id), WrongStateError);
  assert.equal((await q.kick(job.id)).state, 'ready');
  assert.equal((await q.delete(job.id)).id, job.id);
  await assert.rejects(q.delete(job.id), NotFoundError);
});

test('several leases are settled at once, each with its result', async () => {
  const t = topic();
  await q.pushMany(t, [{ body: 'a' }, { body: 'b' }]);
  const jobs = await q.reserve(t, { max: 5 });
  const results = await q.finish([jobs[0], { id: jobs[1].id, fence: 1n }, jobs[1]]);
  assert.deepEqual(results.map(({ error }) => error?.code ?? null), [null, 'STALE_LEASE', null]);
});

test('reschedule, peek and kick many', async () => {
  const t = topic();
  const id = await q.push(t, 'x', { delayMs: 60_000 });
  assert.equal((await q.peek(t)).id, id);
  assert.equal(await q.peek(topic()), null);
  await q.reschedule(id, { at: new Date('2031-01-01T00:00:00Z') });
  assert.equal((await q.get(id)).due.getUTCFullYear(), 2031);
  await q.reschedule(id, { delayMs: 0 });
  const [job] = await q.reserve(t, { waitMs: 5_000 });
  await assert.rejects(q.reschedule(id, { delayMs: 5 }), ReservedError);
  await job.bury();
  assert.equal(await q.kickMany(t, 10), 1);
  await assert.rejects(q.kickMany(topic(), 10), NotFoundError);
});

test('list, count and bulk', async () => {
  const t = topic();
  await q.pushMany(t, Array.from({ length: 25 }, (_, n) => ({ body: `body ${n}`, key: `key-${n}`, delayMs: 60_000 + n })));
  const jobs = await collect(q.list({ topic: t }, { pageSize: 10, withBodies: true }));
  assert.deepEqual(jobs.map(({ body }) => Buffer.from(body).toString()), Array.from({ length: 25 }, (_, n) => `body ${n}`));
  const keys = await collect(q.list({ topic: t, keyPrefix: 'key-2' }, { order: 'key' }));
  assert.deepEqual(keys.map(({ key }) => key), ['key-2', 'key-20', 'key-21', 'key-22', 'key-23', 'key-24']);
  assert.equal(keys[0].bodyBytes, 6);
  assert.equal(await q.count({ topic: t, states: ['ready'] }), 0n);
  const steps = await collect(q.bulk({ change: 'run_now' }, { topic: t, states: ['delayed'] }, { stepSize: 10 }));
  assert.equal(steps.reduce((sum, { changed }) => sum + changed, 0), 25);
  assert.ok(steps.length > 1);
  const other = topic();
  const [moved] = await collect(q.bulk({ change: 'move', to: other }, { topic: t }));
  assert.equal(moved.changed, 25);
  await collect(q.bulk({ change: 'reschedule', at: '2031-01-01T00:00:00Z' }, { topic: other }));
  assert.equal(await q.count({ topic: other, dueFrom: '2030-12-31T00:00:00Z', dueBefore: new Date('2031-01-02T00:00:00Z') }), 25n);
  const now = (await q.ping()).getTime();
  await collect(q.bulk({ change: 'reschedule', delayMs: 3_600_000 }, { topic: other }));
  const hour = { topic: other, dueFrom: new Date(now + 3_600_000), dueBefore: new Date(now + 7_200_000) };
  assert.equal(await q.count(hour), 25n, 'counted from the clock of the server');
  const [deleted] = await collect(q.bulk({ change: 'delete' }, { topic: other }));
  assert.equal(deleted.changed, 25);
});

test('topics: pause, policy, counts, delete', async () => {
  const t = topic();
  const policy = { ttrMs: 30_000, attemptsMax: 9, rate: 50, deadLetters: 'failed', jobsMax: 2n, backoff: { kind: 'list', waitsMs: [10, 20], jitterPercent: 5 }, late: { afterMs: 5_000n, action: 'spread', overMs: 60_000n } };
  await q.setTopic(t, policy);
  assert.deepEqual((await q.showTopic(t)).policy, policy);
  await q.setTopic(t, { rate: null, late: null });
  const { rate: _, late: __, ...rest } = policy;
  assert.deepEqual((await q.showTopic(t)).policy, rest);
  const [, , third] = await q.pushMany(t, [{ body: 'a' }, { body: 'b' }, { body: 'c' }]);
  assert.equal(third.error.code, 'QUOTA');
  await q.pause(t);
  await assert.rejects(q.reserve(t), PausedError);
  assert.equal((await q.showTopic(t)).isPaused, true);
  await q.resume(t);
  assert.equal((await q.topics()).find((one) => one.topic === t).ready, 2n);
  await assert.rejects(q.deleteTopic(t), WrongStateError);
  await q.finish(await q.reserve(t, { max: 5 }));
  await q.deleteTopic(t);
  await assert.rejects(q.showTopic(t), NotFoundError);
});

test('a topic has a name of up to 200 bytes', async () => {
  const longest = `aZ09._:/-+;$()${'x'.repeat(186)}`;
  await q.push(longest, 'x');
  const [job] = await q.reserve(longest);
  assert.equal(job.topic, longest);
  await q.finish(job);
  for (const refused of ['', '-a', 'a b', 'a=b', `${longest}x`]) await assert.rejects(q.push(refused, 'x'), UsageError, refused);
});

test('a pause ends by itself', async () => {
  const t = topic();
  await q.push(t, 'x');
  await q.pause(t, { forMs: 3_600_000 });
  const { pauseLeftMs } = await q.showTopic(t);
  assert.ok(pauseLeftMs > 3_540_000n && pauseLeftMs <= 3_600_000n, `${pauseLeftMs} ms`);
  await q.pause(t);
  assert.equal((await q.showTopic(t)).pauseLeftMs, null);
  const paused = performance.now();
  await q.pause(t, { forMs: 1_000 });
  await assert.rejects(q.reserve(t), PausedError);
  assert.equal((await q.reserve(t, { waitMs: 10_000 })).length, 1);
  const lastedMs = performance.now() - paused;
  assert.ok(lastedMs >= 900, `${lastedMs} ms`);
  const { isPaused, pauseLeftMs: none } = await q.showTopic(t);
  assert.deepEqual([isPaused, none], [false, null]);
});

test('what is larger than a number can say comes back as it went', async () => {
  const t = topic();
  const wide = 2n ** 53n + 1n;
  const policy = { attemptsMax: 9, backoff: { kind: 'list', waitsMs: [10], jitterPercent: 5 }, jobsMax: wide, bytesMax: 2n ** 64n - 1n, late: { afterMs: 1n, action: 'spread', overMs: 3_600_001n } };
  await q.setTopic(t, policy);
  assert.deepEqual((await q.showTopic(t)).policy, policy);
  await q.setTopic(t, { jobsMax: Number.MAX_SAFE_INTEGER, bytesMax: 7, rememberMs: 0.5 });
  const { jobsMax, bytesMax, rememberMs } = (await q.showTopic(t)).policy;
  assert.deepEqual([jobsMax, bytesMax, rememberMs], [2n ** 53n - 1n, 7n, 1n]);
  for (const bad of [2 ** 53, 1.5, -1, NaN, '7', -1n, 2n ** 64n]) {
    await assert.rejects(q.setTopic(t, { bytesMax: bad }), UsageError, `bytesMax ${bad}`);
  }
  for (const bad of [2 ** 53, -0.5, Infinity, -1n]) {
    await assert.rejects(q.setTopic(t, { expiresAfterMs: bad }), UsageError, `expiresAfterMs ${bad}`);
    await assert.rejects(q.setTopic(t, { late: { afterMs: bad, action: 'drop' } }), UsageError, `late.afterMs ${bad}`);
  }
  await q.setTopic(t, { jobsMax: null, bytesMax: null });
  const id = await q.push(t, 'x', { at: wide });
  const shown = await q.get(id);
  assert.deepEqual([shown.dueMs, shown.due.getTime()], [wide, NaN], 'no date is so late');
  assert.equal((await q.reschedule(id, { at: wide + 2n })).dueMs, wide + 2n);
});

test('a backup is read whole and in parts', async () => {
  await q.pushMany(topic(), Array.from({ length: 20 }, (_, n) => ({ body: new Uint8Array(100_000).fill(n) })));
  const backup = await q.backup();
  assert.ok(backup.jobs >= 20n && backup.index > 0n && backup.bytes > 2_000_000n, `${backup.jobs} jobs, ${backup.bytes} bytes`);
  const pieces = await collect(backup);
  const whole = Buffer.concat(pieces);
  assert.ok(pieces.length > 1);
  assert.equal(BigInt(whole.length), backup.bytes);
  assert.equal(whole.toString('latin1', 0, 8), 'ADJBCKUP');
  const [late, early] = await Promise.all([backup.read(1_000_000n, 1_000), backup.read(0, 8)]);
  assert.deepEqual([Buffer.from(late), Buffer.from(early)], [whole.subarray(1_000_000, 1_001_000), whole.subarray(0, 8)]);
  assert.equal((await backup.read(backup.bytes - 5n, 10)).byteLength, 5, 'fewer at the end');
  assert.equal((await backup.read(backup.bytes, 10)).byteLength, 0, 'none after it');
  await assert.rejects(backup.read(0, 0), UsageError);
  await assert.rejects(backup.read(2 ** 53, 1), UsageError);
  await backup.end();
  await backup.end();
  await assert.rejects(backup.read(0, 8), UsageError);
});

test('a backup ends when another one begins', async () => {
  const first = await q.backup();
  const second = await q.backup();
  await assert.rejects(first.read(0, 8), BackupLostError);
  await first.end();
  assert.equal(Buffer.from(await second.read(0, 8)).toString(), 'ADJBCKUP', 'the end of the first one does not release it');
  await second.end();
});

test('stats, connections, disconnect, cluster, ping', async () => {
  const stats = await q.stats();
  assert.ok(stats.pushed > 0 && stats.sessions >= 1);
  assert.deepEqual(stats.stages.map(({ stage }) => stage), ['wait', 'commit', 'apply', 'lateness']);
  const [, commit] = stats.stages;
  assert.ok(commit.count > 0 && commit.p50Us > 0 && commit.p50Us <= commit.p99Us && commit.p99Us <= commit.maxUs);
  const other = await connect(server.url, { name: 'the other one' });
  const found = (await collect(q.connections())).find(({ clientName }) => clientName === 'the other one');
  assert.equal(found.session, other.session);
  const status = await q.cluster.status();
  assert.equal(status.members[0].role, 'leader');
  await assert.rejects(q.cluster.remove(status.node), InvalidError);
  assert.ok(Math.abs((await q.ping()) - Date.now()) < 60_000);
  await q.disconnect(found.connection, { endSession: true });
  await until('the other one is gone', async () => !(await collect(q.connections())).some(({ connection }) => connection === found.connection));
  await other.close();
});

test('a reserve ends when its signal is aborted, and takes no job with it', async () => {
  const t = topic();
  const controller = new AbortController();
  const waiting = q.reserve(t, { waitMs: 60_000, signal: controller.signal });
  await until('the server knows it', async () => (await collect(q.connections())).some(({ reserves, session }) => reserves === 1 && session === q.session));
  controller.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  await until('the server was told', async () => !(await collect(q.connections())).some(({ reserves, session }) => reserves > 0 && session === q.session));
  await q.push(t, 'x');
  const [job] = await q.reserve(t, { waitMs: 5_000 });
  assert.equal(job.attempts, 1);
  await job.finish();
});

test('a subscription yields jobs within its credit, and gives back what was not taken', async () => {
  const t = topic();
  await q.pushMany(t, Array.from({ length: 5 }, (_, n) => ({ body: { n } })));
  const subscription = q.subscribe(t, { credit: 3 });
  const first = (await subscription.next()).value;
  await until('the credit is used up', () => subscription.waiting === 2);
  await first.finish();
  await until('the place is filled', () => subscription.waiting === 3);
  await subscription.addCredit(1);
  await until('the added credit is used', () => subscription.waiting === 4);
  await subscription.close();
  assert.equal((await subscription.next()).done, true);
  await until('the rest is ready again', async () => (await q.count({ topic: t, states: ['ready'] })) === 4n);
  const again = await q.reserve(t, { max: 10 });
  assert.ok(again.every(({ attempts }) => attempts === 1), 'no attempt was counted');
  await q.finish(again);
});

test('the end of a loop ends its subscription', async () => {
  const t = topic();
  await q.pushMany(t, [{ body: 'a' }, { body: 'b' }]);
  for await (const job of q.subscribe(t, { credit: 2 })) {
    await job.finish();
    break;
  }
  await until('the second job is ready again', async () => (await q.count({ topic: t, states: ['ready'] })) === 1n);
});

test('topics take turns by their weights', async () => {
  const [a, b] = [topic(), topic()];
  await q.pushMany(a, Array.from({ length: 20 }, () => ({ body: 'a' })));
  await q.pushMany(b, Array.from({ length: 20 }, () => ({ body: 'b' })));
  const jobs = await q.reserve([a, b], { max: 12, weights: [2, 1] });
  assert.equal(jobs.filter((job) => job.topic === a).length, 8);
  await q.finish(jobs);
});

test('leases shows what the session holds', async () => {
  const own = await connect(server.url);
  const t = topic();
  await own.pushMany(t, Array.from({ length: 3 }, () => ({ body: 'x' })));
  const jobs = await own.reserve(t, { max: 3 });
  assert.deepEqual((await own.leases()).map(({ fence }) => fence).sort(), jobs.map(({ fence }) => fence).sort());
  await own.close();
  await until('the leases were given back', async () => (await q.count({ topic: t, states: ['ready'] })) === 3n);
});

test('close ends subscriptions, and gives back what was not taken without an attempt', async () => {
  const own = await connect(server.url);
  const t = topic();
  await own.pushMany(t, [{ body: 'a' }, { body: 'b' }]);
  const subscription = own.subscribe(t, { credit: 2 });
  await until('both wait', () => subscription.waiting === 2);
  await own.close();
  assert.equal((await subscription.next()).done, true);
  const jobs = await q.reserve(t, { max: 2, waitMs: 5_000 });
  assert.deepEqual(jobs.map(({ attempts }) => attempts), [1, 1]);
  await q.finish(jobs);
});

test('after close every call is refused, and close may be repeated', async () => {
  const own = await connect(server.url);
  const waiting = own.reserve(topic(), { waitMs: 60_000 });
  await Promise.all([own.close(), own.close()]);
  assert.deepEqual(await waiting, []);
  await assert.rejects(own.push(topic(), 'x'), ClosedError);
  assert.throws(() => own.subscribe(topic()), ClosedError);
  assert.deepEqual([own.health().isConnected, own.health().isClosed], [false, true]);
});

test('nobody there, and a wrong token', async () => {
  const error = await connect('127.0.0.1:1').catch((e) => e);
  assert.ok(error instanceof ConnectionError);
  assert.deepEqual([error.code, error.applied], ['CANNOT_CONNECT', 'no']);
  const tokens = join(server.folder, 'tokens');
  const hash = createHash('sha256').update('sesame').digest('hex');
  writeFileSync(tokens, `[[token]]\nname = "shop"\nsha256 = "${hash}"\nallow = ["push"]\n`);
  const closed = await Server.start({ args: ['--tokens-file', tokens] });
  try {
    await assert.rejects(connect(closed.url, { token: 'open' }), UnauthenticatedError);
    const own = await connect(`127.0.0.1:1,${closed.address}`, { token: 'sesame' });
    await own.push('t', 'x');
    await own.close();
  } finally {
    await closed.stop();
  }
});

test('the settings of call-backs are set, shown and taken away', async () => {
  const t = topic();
  const policy = {
    callBack: 'https://shop.example/hooks',
    callBackMethod: 'PUT',
    callBackHeaders: 'X-Shop: 7',
    callBackBody: '{id}',
    callBackTimeoutMs: 5_000,
    callBackConcurrency: 8,
    callBackRate: 50,
    callBackSecrets: 'shop',
    callBackRefused: 'retry',
    callBackRetryIf: '{status} == 503',
    callBackSuccess: 'reply',
    callBackOfJob: true,
    callBackLogMs: 86_400_000n,
    callBackPaused: true,
    callBackDelayMs: 900_000n,
  };
  await q.setTopic(t, policy);
  const shown = (await q.showTopic(t)).policy;
  assert.deepEqual(Object.fromEntries(Object.keys(policy).map((name) => [name, shown[name]])), policy);
  await q.setTopic(t, { callBackBody: null, callBackPaused: false, callBackLogMs: 1_000 });
  const changed = (await q.showTopic(t)).policy;
  assert.deepEqual([changed.callBackBody, changed.callBackPaused, changed.callBackOfJob, changed.callBackLogMs], [undefined, undefined, true, 1_000n]);
  await assert.rejects(q.setTopic(t, { callBackMethod: 'SHOUT' }), InvalidError);
  await assert.rejects(q.setTopic(t, { callBackPaused: 1 }), UsageError);
});

test('what a policy has of the server is told', async () => {
  const t = topic();
  await q.setTopic(t, { attemptsMax: 5 });
  const { policy, ofServer } = await q.showTopic(t);
  assert.equal(policy.attemptsMax, 5);
  assert.ok(!ofServer.includes('attemptsMax'));
  assert.equal(ofServer.includes('backoff'), policy.backoff !== undefined);
});

test('a job that was not started can wait: it is parked', async () => {
  const t = topic();
  await q.push(t, 'x', { attemptsMax: 1 });
  const [job] = await q.reserve(t);
  await job.release({ how: 'parked', delayMs: 3_600_000, reason: 'the shop is closed' });
  const parked = await q.get(job.id);
  assert.deepEqual([parked.state, parked.attempts, parked.reason], ['delayed', 0, 'the shop is closed']);
  assert.ok(parked.due > Date.now() + 3_000_000);
  await q.runNow(job.id);
  const [again] = await q.reserve(t);
  assert.equal(again.attempts, 1);
  await q.release(again, { how: 'parked', delayMs: 0 });
  assert.equal((await q.get(job.id)).state, 'ready');
  await assert.rejects(async () => q.release(again, { how: 'parked' }), UsageError);
  await assert.rejects(async () => q.release(again, { how: 'parked', delayMs: -1 }), UsageError);
});

test('a job is rescheduled only while it is of the version that was looked at', async () => {
  const t = topic();
  const id = await q.push(t, 'x', { delayMs: 60_000 });
  const { version } = await q.get(id);
  assert.equal(typeof version, 'bigint');
  const changed = await q.reschedule(id, { delayMs: 120_000 }, { ifVersion: version });
  assert.notEqual(changed.version, version);
  await assert.rejects(q.reschedule(id, { delayMs: 5 }, { ifVersion: version }), ChangedError);
  assert.equal((await q.reschedule(id, { delayMs: 180_000 }, { ifVersion: changed.version })).state, 'delayed');
});

test('each part of a job is edited and taken away', async () => {
  const t = topic();
  const id = await q.push(t, 'old', { key: 'k', delayMs: 3_600_000, headers: { a: '1' }, createdAt: new Date() });
  const before = await q.get(id);
  assert.equal(before.edited, null);
  const changed = await q.edit(id, { at: '2030-01-02T00:00:00Z' });
  assert.deepEqual([changed.id, changed.state, changed.dueMs], [id, 'delayed', 1_893_542_400_000n]);
  assert.notEqual(changed.version, before.version);
  await q.edit({ topic: t, key: 'k' }, { priority: 7, ttrMs: 1_500 });
  await q.edit(id, { body: 'new' });
  let shown = await q.get(id);
  assert.deepEqual([shown.dueMs, shown.priority, shown.ttrMs, Buffer.from(shown.body).toString()], [changed.dueMs, 7, 1_500, 'new']);
  const sorted = ({ headers, ...others }) => ({ ...others, headers: [...headers].sort() });
  assert.deepEqual(sorted(shown.attributes), sorted(before.attributes), 'the others stay');
  assert.ok(shown.edited >= before.pushed && shown.edited - before.pushed < 60_000, `${shown.edited}`);
  const backoff = { kind: 'fixed', waitMs: 5 };
  await q.edit(id, { body: { n: 1 }, headers: { b: '2' }, expiresAt: '2030-01-03T00:00:00Z' });
  await q.edit(id, { attemptsMax: 3, backoff, rememberMs: 60_000 });
  shown = await q.get(id);
  assert.deepEqual([Buffer.from(shown.body).toString(), { ...shown.headers }], ['{"n":1}', { 'content-type': 'application/json', b: '2' }]);
  const { headers: _, createdAtMs, ...rest } = shown.attributes;
  assert.equal(createdAtMs, before.attributes.createdAtMs);
  assert.deepEqual(rest, { expires: { kind: 1, ms: 1_893_628_800_000n }, attemptsMax: 3, backoff: { kind: 0, jitter: 0, waitsMs: [5] }, dedupeRetentionMs: 60_000n });
  await q.edit(id, { priority: null, ttrMs: null, headers: null, expiresAfterMs: null, rememberMs: null });
  await q.edit(id, { attemptsMax: null, backoff: null });
  shown = await q.get(id);
  const without = { ...before.attributes, headers: [['content-type', 'application/json']] };
  assert.deepEqual([shown.priority, shown.ttrMs, shown.attributes], [before.priority, before.ttrMs, without]);
  const [listed] = await collect(q.list({ topic: t }));
  assert.deepEqual(listed.edited, shown.edited);
  assert.equal((await q.edit(id, { delayMs: 0 })).state, 'ready');
});

test('what an edit takes away, the topic decides', async () => {
  const t = topic();
  await q.setTopic(t, { priority: 9, ttrMs: 5_000, attemptsMax: 4 });
  const id = await q.push(t, 'x', { delayMs: 60_000, priority: 1, ttrMs: 60_000, attemptsMax: 2 });
  await q.edit(id, { priority: null, ttrMs: null, attemptsMax: null });
  const { priority, ttrMs, attributes } = await q.get(id);
  assert.deepEqual([priority, ttrMs, attributes.attemptsMax], [9, 5_000, 4]);
});

test('an edit is refused where it cannot be made', async () => {
  const t = topic();
  const id = await q.push(t, 'old', { delayMs: 60_000 });
  const { version } = await q.get(id);
  const changed = await q.edit(id, { body: 'new' }, { ifVersion: version });
  await assert.rejects(q.edit(id, { body: 'newer' }, { ifVersion: version }), ChangedError);
  await q.edit(id, { delayMs: 0 }, { ifVersion: changed.version });
  await assert.rejects(q.edit(id, { delayMs: 60_000, expiresAfterMs: 30_000 }), ExpiresBeforeDueError);
  await assert.rejects(q.edit(id, { body: new Uint8Array(1_048_577) }), UsageError);
  const [job] = await q.reserve(t, { waitMs: 5_000 });
  assert.equal(job.value(), 'new');
  await assert.rejects(q.edit(job, { priority: 1 }), ReservedError);
  await job.bury();
  assert.equal((await q.edit(job, { body: 'buried' })).state, 'buried');
  await assert.rejects(q.edit(job, { delayMs: 0 }), WrongStateError);
  await q.delete(job);
  await assert.rejects(q.edit(job, { priority: 1 }), NotFoundError);
});

test('a list that is pushed again under its key is pushed once, also in several requests and by another client', async () => {
  const t = topic();
  const key = BigInt(`0x${createHash('sha256').update(t).digest('hex').slice(0, 32)}`);
  const jobs = Array.from({ length: 5_000 }, (_, n) => ({ body: { n } }));
  const first = await q.pushMany(t, jobs, { idempotencyKey: key });
  const other = await connect(server.url, { withoutSession: true });
  try {
    const again = await other.pushMany(t, jobs, { idempotencyKey: key });
    assert.deepEqual(again.map(({ id }) => id), first.map(({ id }) => id));
    const [longer] = await other.pushMany(t, jobs.slice(0, 10), { idempotencyKey: key });
    assert.equal(longer.error.code, 'SEQUENCE_REUSED');
  } finally {
    await other.close();
  }
  assert.equal(await q.count({ topic: t }), 5_000n);
});
