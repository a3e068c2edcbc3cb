// Requests and answers against a scripted server: what is garbled, split, stalled or refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BusyError,
  InvalidError,
  KeyExistsError,
  NotFoundError,
  OutcomeUnknownError,
  ProtocolError,
  QueueFullError,
  QuotaError,
  TimeoutError,
  UnknownCodeError,
  UsageError,
  Worker,
} from 'adjourn';
import { encodeResponse } from 'adjourn/protocol';
import { ManualClock } from './support/manual-clock.mjs';
import { ERROR, WELCOME, client, delivered, pushed, scripted } from './support/scripted.mjs';
import { until } from './support/until.mjs';

test('an answer that comes byte by byte is read', async () => {
  const server = await scripted((request, { socket }) => {
    for (const byte of encodeResponse('COUNTED', request.id, { jobs: 77n, byDue: [] })) socket.write(Uint8Array.of(byte));
  });
  const q = await client(server);
  assert.equal(await q.count(), 77n);
});

test('answers come in any order', async () => {
  const held = [];
  const server = await scripted((request, { send }) => {
    held.push(() => send('COUNTED', { jobs: BigInt(request.fields.filter.attemptsMin), byDue: [] }));
    if (held.length === 3) for (const answer of held.reverse()) answer();
  });
  const q = await client(server);
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => q.count({ attemptsMin: n }))), [1n, 2n, 3n]);
});

test('an unknown opcode and an unknown request id are ignored', async () => {
  const server = await scripted((request, { socket, send }) => {
    const strange = encodeResponse('DONE', request.id, {});
    strange[4] = 0xfe;
    socket.write(strange);
    send('COUNTED', { jobs: 1n, byDue: [] }, 99_999);
    return ['COUNTED', { jobs: 2n, byDue: [] }];
  });
  const q = await client(server);
  assert.equal(await q.count(), 2n);
});

test('an answer that cannot be read ends its call alone', async () => {
  const server = await scripted((request, { socket }, count) => {
    if (count > 1) return ['COUNTED', { jobs: 5n, byDue: [] }];
    const garbled = encodeResponse('COUNTED', request.id, { jobs: 1n, byDue: [] });
    const cut = garbled.slice(0, 16);
    new DataView(cut.buffer).setUint32(0, 12, true);
    socket.write(cut);
    return undefined;
  });
  const q = await client(server);
  const error = await q.count().catch((e) => e);
  assert.ok(error instanceof ProtocolError);
  assert.equal(await q.count(), 5n);
  assert.equal(server.connections, 1);
});

test('an answer of the wrong kind, or with too few results, is a fault of the protocol', async () => {
  const server = await scripted((request) => (request.name === 'PUSH' ? ['PUSHED', { results: [] }] : ['DONE', {}]));
  const q = await client(server);
  await assert.rejects(q.count(), ProtocolError);
  await assert.rejects(q.push('t', 'x'), ProtocolError);
});

test('a frame whose end cannot be found costs the connection: what is safe is repeated, at most twice', async () => {
  const server = await scripted((request, { socket, connection }) => {
    if (connection > 4) return ['COUNTED', { jobs: 5n, byDue: [] }];
    if (connection === 4 && request.name !== 'COUNT') return ['PUSHED', { results: [{ outcome: 0, code: 0, job: 3n }] }];
    socket.write(new Uint8Array(12).fill(0xff));
    return undefined;
  });
  const q = await client(server);
  await assert.rejects(q.count(), ProtocolError);
  assert.equal(server.seen('COUNT').length, 3);
  const [push, kick, count] = await Promise.allSettled([q.push('t', 'x'), q.kick(7n), q.count()]);
  assert.equal(push.value, 3n);
  assert.ok(kick.reason instanceof ProtocolError && kick.reason.applied === 'unknown');
  assert.equal(count.value, 5n);
  assert.equal(server.seen('KICK').length, 1);
});

test('a reserve that ends early without a job asks for the rest of its wait', async () => {
  const over = delivered({ ttrLeftMs: 0 });
  const server = await scripted((request, peer, count) => ['RESERVED', { jobs: [[], [over], [delivered({})]][count - 1] }]);
  const q = await client(server);
  const [job] = await q.reserve('t', { waitMs: 5_000 });
  assert.equal(job.id, 1n);
  const waits = server.seen('RESERVE').map(({ fields }) => fields.waitMs);
  assert.ok(waits.length === 3 && waits[2] > 0n && waits[2] <= waits[1], String(waits));
});

test('a reserve that ends early on a connection that closes goes on over the next one', async () => {
  const server = await scripted((request, { connection, send }) => {
    if (connection === 2) return ['RESERVED', { jobs: [delivered({})] }];
    send('GOING_AWAY', { message: 'stops', reason: 1 }, 0);
    return ['RESERVED', { jobs: [] }];
  });
  const q = await client(server);
  assert.equal((await q.reserve('t', { waitMs: 60_000 })).length, 1);
  assert.deepEqual(server.seen('RESERVE').map(({ connection }) => connection), [1, 2]);
});

test('a server that ends every wait at once is not asked all the time, and the wait ends in time', async () => {
  const server = await scripted(() => ['RESERVED', { jobs: [] }]);
  const clock = new ManualClock();
  const q = await client(server, { clock });
  let isOver = false;
  const reserved = q.reserve('t', { waitMs: 5_000 }).finally(() => (isOver = true));
  await until('the wait is over', async () => {
    await clock.advance(10);
    return isOver;
  });
  assert.deepEqual(await reserved, []);
  const waits = server.seen('RESERVE').map(({ fields }) => fields.waitMs);
  assert.ok(waits.length >= 5 && waits.length <= 60, `${waits.length} times`);
  assert.ok(waits.every((waitMs) => waitMs >= 1n), String(waits));
});

test('what a newer server knows more does not harm what is known', async () => {
  const server = await scripted(({ name }) => {
    if (name === 'PUSH') return ['PUSHED', { results: [{ outcome: 0, code: 0, job: 1n }, { outcome: 9, code: 0, job: 2n }] }];
    return ['CHANGED', { job: 1n, dueMs: 5n, state: 9, version: 0n }];
  });
  const q = await client(server);
  const [first, second] = await q.pushMany('t', [{ body: 'a' }, { body: 'b' }]);
  assert.deepEqual(first, { outcome: 'pushed', id: 1n });
  assert.ok(second.error instanceof OutcomeUnknownError);
  assert.equal(second.error.job, 2n, 'the job to look at');
  assert.equal((await q.kick(1n)).state, 'unknown');
});

test('counts of 64 bits are not rounded', async () => {
  const [most, ahead] = [2n ** 64n - 1n, -(2n ** 63n)];
  const member = { node: 1n, role: 2, marks: 0x3f, matched: most, applied: most, aheadMs: ahead, audited: 0n, peerAddress: '', clientAddress: '' };
  const totals = Object.fromEntries(['delayed', 'ready', 'reserved', 'buried', 'pushed', 'finished', 'deleted', 'expired', 'oldestReadyMs'].map((name) => [name, most]));
  const stage = { stage: 'commit', count: most, p50Us: most, p99Us: most, p999Us: most, maxUs: most };
  const answers = {
    COUNT: ['COUNTED', { jobs: most, byDue: [] }],
    TOPICS: ['TOPIC_COUNTS', { topics: [{ marks: 1, consumers: 2, lateMs: most, topic: 't', ...totals }] }],
    STATS: ['QUEUE_STATS', { now: 0n, uptimeMs: most, connections: 1, sessions: 2, waiting: 3, appliedIndex: 4n, term: 5n, stateHash: 6n, totals, topics: [], stages: [stage] }],
    TOPIC_SHOW: ['TOPIC_SETTINGS', { jobs: most, bytes: most - 1n, pauseLeftMs: most - 2n, marks: 1, settings: { rememberMs: most, late: { afterMs: most, action: 0, value: most } } }],
    CONNECTIONS: ['CONNECTION_LIST', { marks: 0, connections: [{ connection: 1n, session: 0n, sinceMs: 0n, leases: 0, subscriptions: 0, reserves: 0, creditJobs: most, creditBytes: most, unsentBytes: most, marks: 0, address: 'a', clientName: 'c', topics: [] }] }],
    CLUSTER_STATUS: ['CLUSTER_REPORT', { node: 1n, clusterId: WELCOME.clusterId, leader: 1n, term: most, last: most, commit: most, featureLevel: 1, members: [member] }],
  };
  const server = await scripted(({ name }) => answers[name], { answers: ['CLUSTER_STATUS'] });
  const q = await client(server);
  assert.equal(await q.count(), most);
  assert.deepEqual(await q.topics(), [{ topic: 't', isPaused: true, consumers: 2, lateMs: most, ...totals }]);
  assert.deepEqual(await q.stats(), { now: new Date(0), uptimeMs: most, connections: 1, sessions: 2, waiting: 3, appliedIndex: 4n, term: 5n, stateHash: 6n, ...totals, topics: [], stages: [stage] });
  assert.deepEqual(await q.showTopic('t'), { jobs: most, bytes: most - 1n, isPaused: true, pauseLeftMs: most - 2n, ofServer: [], policy: { rememberMs: most, late: { afterMs: most, action: 'rate', perSecond: most } } });
  const { value: connection } = await q.connections().next();
  assert.deepEqual([connection.creditJobs, connection.creditBytes, connection.unsentBytes], [most, most, most]);
  assert.equal((await q.cluster.status()).members[0].aheadMs, ahead);
});

test('heartbeats without an answer have ids of their own', async () => {
  const clock = new ManualClock();
  const server = await scripted(({ name }) => (name === 'COUNT' ? ['COUNTED', { jobs: 0n, byDue: [] }] : undefined), { answers: ['PING'], welcome: { heartbeatMs: 1_000 } });
  const q = await client(server, { clock });
  await clock.advance(1_000);
  await q.count();
  await clock.advance(1_000);
  await until('two heartbeats', () => server.seen('PING').length === 2);
  const [one, two] = server.seen('PING');
  assert.notEqual(one.id, two.id);
});

test('pushes that are called without waiting travel together, in the order of the calls', async () => {
  let next = 1n;
  const server = await scripted((request) => {
    if (request.name === 'COUNT') return ['COUNTED', { jobs: 0n, byDue: [] }];
    const { jobs } = request.fields;
    return ['PUSHED', { results: jobs.map(({ key }) => (key === 'there' ? { outcome: 3, code: 35, job: 7n } : { outcome: 0, code: 0, job: next++ })) }];
  });
  const q = await client(server);
  const calls = [
    q.push('t', 'a'),
    q.push('t', 'b', { key: 'there' }),
    q.push('t', new Uint8Array(2_000_000)),
    q.push('t', 'c'),
    q.count(),
    q.push('t', 'd'),
    q.push('u', 'e'),
    q.pushMany('u', [{ body: 'f' }]),
    q.push('u', 'g', { signal: new AbortController().signal }),
    q.push('u', 'h'),
  ];
  const [a, b, large, c, , d, e, , g, h] = await Promise.allSettled(calls);
  assert.deepEqual([a, c, d, e, g, h].map(({ value }) => value), [1n, 2n, 3n, 4n, 6n, 7n]);
  assert.ok(b.reason instanceof KeyExistsError && large.reason instanceof UsageError);
  const sent = server.requests.filter(({ name }) => name === 'PUSH' || name === 'COUNT');
  const bodies = sent.map(({ fields }) => fields.jobs?.map(({ body }) => Buffer.from(body).toString()).join('') ?? '-');
  assert.deepEqual(bodies, ['abc', '-', 'd', 'e', 'f', 'g', 'h']);
});

test('a job that the server refuses does not harm those that travel with it', async () => {
  const invalid = (jobs) => jobs.some(({ body }) => body.byteLength === 0);
  const server = await scripted((request) => (invalid(request.fields.jobs) ? ['ERROR', { ...ERROR, code: 5 }] : pushed(request)));
  const q = await client(server);
  const results = await Promise.allSettled([q.push('t', 'a'), q.push('t', ''), q.push('t', 'c')]);
  assert.deepEqual(results.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled']);
  assert.ok(results[1].reason instanceof InvalidError);
  assert.deepEqual(server.seen('PUSH').map(({ fields }) => fields.jobs.length), [3, 1, 1, 1]);
});

test('a subscription that is refused throws in the loop', async () => {
  const server = await scripted(() => ['ERROR', { ...ERROR, code: 33 }]);
  const q = await client(server);
  await assert.rejects(async () => {
    for await (const _ of q.subscribe('t')) assert.fail('there is no job');
  }, QuotaError);
});

test('BUSY is waited out under the same numbers, other refusals are told', async () => {
  const server = await scripted((request, _, count) => {
    if (request.name === 'PUSH') return count === 1 ? ['ERROR', { ...ERROR, code: 18, marks: 1, retryAfterMs: 20 }] : pushed(request);
    return ['ERROR', { ...ERROR, code: request.name === 'COUNT' ? 5 : 999, marks: 1, applied: 1 }];
  });
  const q = await client(server);
  await q.push('t', 'x');
  assert.deepEqual(server.seen('PUSH').map(({ fields }) => fields.sequence), [1n, 1n]);
  await assert.rejects(q.count(), InvalidError);
  const error = await q.stats().catch((e) => e);
  assert.ok(error instanceof UnknownCodeError);
  assert.deepEqual([error.code, error.retryable, error.applied], ['UNKNOWN', true, 'unknown']);
});

test('a server that is BUSY for too long is told as BUSY', async () => {
  const server = await scripted(() => ['ERROR', { ...ERROR, code: 18, marks: 1, retryAfterMs: 5_000 }]);
  const q = await client(server, { requestTimeoutMs: 500 });
  await assert.rejects(q.push('t', 'x'), BusyError);
});

test('a call without an answer ends in time', async () => {
  const server = await scripted();
  const q = await client(server, { requestTimeoutMs: 100 });
  const read = await q.stats().catch((e) => e);
  assert.ok(read instanceof TimeoutError);
  assert.equal(read.applied, 'no');
  const ofSchedules = await Promise.allSettled([q.showSchedule('t', 'n'), q.schedules('t').next(), q.previewSchedule({ when: '@daily' })]);
  assert.deepEqual(ofSchedules.map(({ reason }) => [reason instanceof TimeoutError, reason.applied]), Array(3).fill([true, 'no']));
  const change = await q.runNow(1n).catch((e) => e);
  assert.equal(change.applied, 'unknown');
  await assert.rejects(q.push('t', 'x'), OutcomeUnknownError);
});

test('heartbeats go on while a reserve waits', async () => {
  const server = await scripted(() => undefined, { welcome: { heartbeatMs: 50 } });
  const q = await client(server);
  const waiting = q.reserve('t', { waitMs: 60_000 });
  waiting.catch(() => {});
  await until('five heartbeats', () => server.seen('PING').length >= 5);
  assert.equal(server.connections, 1);
});

test('an item of a batch that is refused is a typed error', async () => {
  const server = await scripted(() => ['PUSHED', { results: [{ outcome: 3, code: 33, job: 0n }, { outcome: 3, code: 40, job: 0n }] }]);
  const q = await client(server);
  const [quota, unknown] = await q.pushMany('t', [{ body: 'a' }, { body: 'b' }]);
  assert.ok(quota.error instanceof QuotaError);
  assert.ok(unknown.error instanceof OutcomeUnknownError);
});

test('the numbers without an answer stay within the window of the queue', async () => {
  const server = await scripted(() => undefined, { welcome: { heartbeatMs: 300 } });
  const q = await client(server);
  const jobs = Array.from({ length: 4_096 }, () => ({}));
  const calls = Array.from({ length: 6 }, () => q.pushMany('t', jobs));
  for (const call of calls) call.catch(() => {});
  await until('four pushes', () => server.seen('PUSH').length >= 4);
  // Heartbeats are sent behind what could be sent.
  const before = server.seen('PING').length;
  await until('two more heartbeats', () => server.seen('PING').length >= before + 2);
  assert.deepEqual([...new Set(server.seen('PUSH').map(({ fields }) => fields.sequence))], [1n, 4_097n, 8_193n, 12_289n]);
});

test('the number of waiting calls is bounded', async () => {
  const server = await scripted();
  const q = await client(server, { pendingMax: 3 });
  for (let n = 0; n < 3; n += 1) q.count().catch(() => {});
  await assert.rejects(q.count(), QueueFullError);
});

test('close ends although the server does not answer', async () => {
  const server = await scripted(() => undefined, { answers: ['GOODBYE'] });
  const q = await client(server);
  const call = q.runNow(1n).catch((e) => e);
  await until('it was sent', () => server.seen('RUN_NOW').length === 1);
  const began = performance.now();
  await q.close();
  assert.ok(performance.now() - began < 2_000);
  assert.ok((await call) instanceof OutcomeUnknownError);
});

test('NOT_FOUND is null for get, and an error for delete', async () => {
  const server = await scripted(() => ['ERROR', { ...ERROR, code: 36 }]);
  const q = await client(server);
  assert.equal(await q.get(1n), null);
  await assert.rejects(q.delete(1n), NotFoundError);
});

test('a log that throws harms nobody', async () => {
  const server = await scripted(() => ['COUNTED', { jobs: 1n, byDue: [] }]);
  const q = await client(server, {
    log: () => {
      throw new Error('full');
    },
  });
  assert.equal(await q.count(), 1n);
});

test('a cluster that does not know reasons yet gets the job back without one', async () => {
  const server = await scripted((request, { send }) => {
    if (request.name === 'RELEASE') return request.fields.reason ? ['ERROR', { ...ERROR, code: 2 }] : ['SETTLED', { results: [{ code: 0 }] }];
    send('SUBSCRIBED');
    return ['DELIVER', { jobs: [delivered({})] }];
  });
  const q = await client(server);
  const worker = new Worker(q, { topics: 't', handler: () => Promise.reject(new Error('no luck')) });
  await until('both were tried', () => server.seen('RELEASE').length === 2);
  assert.deepEqual(server.seen('RELEASE').map(({ fields }) => fields.reason), ['no luck', '']);
  await worker.stop();
});
