// The connection against a scripted server: what is garbled, split, stalled or refused.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { encodeResponse } from 'adjourn/protocol';
import {
  BackupLostError,
  BusyError,
  CannotConnectError,
  ClosedError,
  InvalidError,
  KeyExistsError,
  NotFoundError,
  OutcomeUnknownError,
  ProtocolError,
  QueueFullError,
  QuotaError,
  TimeoutError,
  UnauthorisedError,
  UnknownCodeError,
  UsageError,
  Worker,
  WrongClusterError,
  connect,
} from 'adjourn';
import { ManualClock } from 'adjourn/testing';
import { ERROR, Scripted, WELCOME, delivered } from './support/scripted.mjs';
import { until } from './support/until.mjs';

const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function scripted(answer = () => undefined, options = {}) {
  const server = await Scripted.start(answer, options);
  ends.push(() => server.stop());
  return server;
}

async function client(server, options = {}) {
  const q = await connect(server.address ?? server, { closeTimeoutMs: 100, reconnectWaitMsMax: 20, ...options });
  ends.push(() => q.close());
  return q;
}

const pushed = ({ fields }, first = 40n) => ['PUSHED', { results: fields.jobs.map((_, at) => ({ outcome: 0, code: 0, job: first + BigInt(at) })) }];

test('an answer that comes byte by byte is read', async () => {
  const server = await scripted((request, { socket }) => {
    for (const byte of encodeResponse('COUNTED', request.id, { jobs: 77n })) socket.write(Uint8Array.of(byte));
  });
  const q = await client(server);
  assert.equal(await q.count(), 77n);
});

test('answers come in any order', async () => {
  const held = [];
  const server = await scripted((request, { send }) => {
    held.push(() => send('COUNTED', { jobs: BigInt(request.fields.filter.attemptsMin) }));
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
    send('COUNTED', { jobs: 1n }, 99_999);
    return ['COUNTED', { jobs: 2n }];
  });
  const q = await client(server);
  assert.equal(await q.count(), 2n);
});

test('an answer that cannot be read ends its call alone', async () => {
  const server = await scripted((request, { socket }, count) => {
    if (count > 1) return ['COUNTED', { jobs: 5n }];
    const garbled = encodeResponse('COUNTED', request.id, { jobs: 1n });
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
    if (connection > 4) return ['COUNTED', { jobs: 5n }];
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
    return ['CHANGED', { job: 1n, dueMs: 5n, state: 9 }];
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
  const answers = {
    COUNT: ['COUNTED', { jobs: most }],
    TOPICS: ['TOPIC_COUNTS', { topics: [{ marks: 1, topic: 't', ...totals }] }],
    STATS: ['QUEUE_STATS', { now: 0n, uptimeMs: most, connections: 1, sessions: 2, waiting: 3, appliedIndex: 4n, term: 5n, stateHash: 6n, totals, topics: [] }],
    TOPIC_SHOW: ['TOPIC_SETTINGS', { jobs: most, bytes: most - 1n, marks: 0, settings: { rememberMs: most, late: { afterMs: most, action: 0, value: most } } }],
    CONNECTIONS: ['CONNECTION_LIST', { marks: 0, connections: [{ connection: 1n, session: 0n, sinceMs: 0n, leases: 0, subscriptions: 0, reserves: 0, creditJobs: most, creditBytes: most, unsentBytes: most, marks: 0, address: 'a', clientName: 'c', topics: [] }] }],
    CLUSTER_STATUS: ['CLUSTER_REPORT', { node: 1n, clusterId: WELCOME.clusterId, leader: 1n, term: most, last: most, commit: most, featureLevel: 1, members: [member] }],
  };
  const server = await scripted(({ name }) => answers[name], { answers: ['CLUSTER_STATUS'] });
  const q = await client(server);
  assert.equal(await q.count(), most);
  assert.deepEqual(await q.topics(), [{ topic: 't', isPaused: true, ...totals }]);
  assert.deepEqual(await q.stats(), { now: new Date(0), uptimeMs: most, connections: 1, sessions: 2, waiting: 3, appliedIndex: 4n, term: 5n, stateHash: 6n, ...totals, topics: [] });
  assert.deepEqual(await q.showTopic('t'), { jobs: most, bytes: most - 1n, isPaused: false, policy: { rememberMs: most, late: { afterMs: most, action: 'rate', perSecond: most } } });
  const { value: connection } = await q.connections().next();
  assert.deepEqual([connection.creditJobs, connection.creditBytes, connection.unsentBytes], [most, most, most]);
  assert.equal((await q.cluster.status()).members[0].aheadMs, ahead);
});

test('heartbeats without an answer have ids of their own', async () => {
  const clock = new ManualClock();
  const server = await scripted(({ name }) => (name === 'COUNT' ? ['COUNTED', { jobs: 0n }] : undefined), { answers: ['PING'], welcome: { heartbeatMs: 1_000 } });
  const q = await client(server, { clock });
  await clock.advance(1_000);
  await q.count();
  await clock.advance(1_000);
  await until('two heartbeats', () => server.seen('PING').length === 2);
  const [one, two] = server.seen('PING');
  assert.notEqual(one.id, two.id);
});

test('something else at the address is no server', async () => {
  const server = await scripted();
  server.server.prependListener('connection', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
  await assert.rejects(connect(server.address, { connectTimeoutMs: 500 }), (error) => error instanceof CannotConnectError || error instanceof ProtocolError);
});

test('a server that says nothing is not waited for longer than was said', async () => {
  const server = await scripted(() => undefined, { answers: ['HELLO'] });
  const began = performance.now();
  await assert.rejects(connect(server.address, { connectTimeoutMs: 200 }), CannotConnectError);
  assert.ok(performance.now() - began < 3_000);
});

test('connect ends when its signal is aborted', async () => {
  const server = await scripted(() => undefined, { answers: ['HELLO'] });
  await assert.rejects(connect(server.address, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' });
});

test('pushes are repeated under their numbers after a reconnect, in the old order and before new ones', async () => {
  const server = await scripted((request, { socket, connection }) => {
    if (connection === 1) {
      if (server.seen('PUSH').length === 3) socket.destroy();
      return undefined;
    }
    return pushed(request, request.fields.sequence * 100n);
  });
  const q = await client(server);
  const calls = [q.push('t', 'a'), q.pushMany('t', [{ body: 'b' }, { body: 'c' }]), q.push('t', 'd')];
  assert.equal(await calls[0], 100n);
  assert.deepEqual((await calls[1]).map(({ id }) => id), [200n, 201n]);
  assert.equal(await calls[2], 400n);
  assert.equal(await q.push('t', 'e'), 500n);
  const numbers = server.seen('PUSH').map(({ connection, fields }) => [connection, fields.sequence]);
  assert.deepEqual(numbers, [[1, 1n], [1, 2n], [1, 4n], [2, 1n], [2, 2n], [2, 4n], [2, 5n]]);
});

test('pushes that are called without waiting travel together, in the order of the calls', async () => {
  let next = 1n;
  const server = await scripted((request) => {
    if (request.name === 'COUNT') return ['COUNTED', { jobs: 0n }];
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

test('in a new session an unanswered push is "outcome unknown", never pushed again', async () => {
  const server = await scripted(
    (request, { socket, connection }) => {
      if (connection === 1) return void socket.destroy();
      return pushed(request);
    },
    { welcome: (_, connection) => ({ marks: 0, session: BigInt(connection) }) },
  );
  const q = await client(server);
  const error = await q.push('t', 'a').catch((e) => e);
  assert.ok(error instanceof OutcomeUnknownError);
  assert.deepEqual([error.code, error.applied], ['OUTCOME_UNKNOWN', 'unknown']);
  await q.push('t', 'b');
  assert.deepEqual(server.seen('PUSH').map(({ connection, fields }) => [connection, fields.sequence]), [[1, 1n], [2, 1n]]);
});

test('what is not safe to repeat ends as "outcome unknown"; reads and settles are repeated', async () => {
  const server = await scripted((request, { socket, connection }) => {
    if (connection === 1) {
      if (server.requests.filter(({ name }) => name !== 'HELLO').length === 6) socket.destroy();
      return undefined;
    }
    if (request.name === 'COUNT') return ['COUNTED', { jobs: 3n }];
    if (request.name === 'FINISH') return ['SETTLED', { results: [{ code: 0 }] }];
    return ['CHANGED', { job: 1n, dueMs: 0n, state: 1 }];
  });
  const q = await client(server);
  const calls = await Promise.allSettled([q.count(), q.finish({ id: 1n, fence: 1n }), q.delete(1n), q.delete({ topic: 't', key: 'k' }), q.runNow(1n), q.kick(1n)]);
  assert.deepEqual(calls.map(({ status, reason }) => (status === 'fulfilled' ? 'ok' : reason.code)), ['ok', 'ok', 'ok', 'OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN']);
  assert.deepEqual(server.requests.filter(({ connection, name }) => connection === 2 && name !== 'HELLO').map(({ name }) => name), ['COUNT', 'FINISH', 'DELETE']);
});

test('a repeated reserve asks for what is left of its wait', async () => {
  const server = await scripted((request, { socket, connection }) => {
    if (connection === 1) return void setTimeout(() => socket.destroy(), 60);
    return ['RESERVED', { jobs: [delivered({})] }];
  });
  const q = await client(server);
  assert.equal((await q.reserve('t', { waitMs: 10_000 })).length, 1);
  const [first, second] = server.seen('RESERVE').map(({ fields }) => Number(fields.waitMs));
  assert.ok(first <= 10_000 && second <= first - 50, `${first}, then ${second}`);
});

test('leases that never arrived are given back after a resume, those that arrived are not', async () => {
  const server = await scripted((request, { connection, socket }) => {
    if (request.name === 'RESERVE' && connection === 1) return ['RESERVED', { jobs: [delivered({ job: 1n, fence: 5n })] }];
    if (request.name === 'COUNT') return void socket.destroy();
    if (request.name === 'LEASES') return ['LEASED', { marks: 0, jobs: [delivered({ job: 1n, fence: 5n }), delivered({ job: 2n, fence: 6n })] }];
    return undefined;
  });
  const q = await client(server, { requestTimeoutMs: 5_000 });
  await q.reserve('t');
  q.count().catch(() => {});
  const [release] = await until('the release', () => server.seen('RELEASE').length > 0 && server.seen('RELEASE'));
  assert.deepEqual(release.fields.leases, [{ job: 2n, fence: 6n }]);
  assert.equal(release.fields.delayMs, 0xffff_ffff_ffff_fffen);
  assert.equal(server.requests.filter(({ connection }) => connection === 2)[1].name, 'LEASES', 'before all other requests');
});

test('a subscription is made again after a reconnect', async () => {
  const server = await scripted((request, { connection, send, socket }) => {
    if (request.name !== 'SUBSCRIBE') return request.name === 'LEASES' ? ['LEASED', { marks: 0, jobs: [] }] : undefined;
    send('SUBSCRIBED');
    send('DELIVER', { jobs: [delivered({ job: BigInt(connection), fence: BigInt(connection) })] });
    if (connection === 1) socket.end();
    return undefined;
  });
  const q = await client(server);
  const subscription = q.subscribe('t', { credit: 5 });
  assert.equal((await subscription.next()).value.id, 1n);
  assert.equal((await subscription.next()).value.id, 2n);
});

test('a subscription that is refused throws in the loop', async () => {
  const server = await scripted(() => ['ERROR', { ...ERROR, code: 33 }]);
  const q = await client(server);
  await assert.rejects(async () => {
    for await (const _ of q.subscribe('t')) assert.fail('there is no job');
  }, QuotaError);
});

test('the leader is followed: from HELLO, and from a request', async () => {
  let leader;
  const follower = await scripted((request) => (request.name === 'HELLO' ? ['ERROR', { ...ERROR, code: 16, marks: 1, leader: leader.address }] : undefined), { answers: ['HELLO'] });
  leader = await scripted((request, { connection }) => {
    if (request.name === 'PUSH') return pushed(request);
    return connection === 1 ? ['ERROR', { ...ERROR, code: 16, marks: 1, leader: next.address }] : ['COUNTED', { jobs: 1n }];
  });
  const next = await scripted(() => ['COUNTED', { jobs: 9n }]);
  const q = await client(follower);
  await q.push('t', 'x');
  assert.equal(await q.count(), 9n);
  assert.equal(next.seen('HELLO')[0].fields.session, 9n, 'it resumes the session');
});

test('an election is waited for', async () => {
  const server = await scripted((_, { connection }) => (connection < 3 ? ['ERROR', { ...ERROR, code: 17, marks: 1, retryAfterMs: 10 }] : ['WELCOME', WELCOME]), { answers: ['HELLO'] });
  await client(server);
  assert.equal(server.connections, 3);
});

test('a refusal that will not change ends connect at once', async () => {
  const server = await scripted(() => ['ERROR', { ...ERROR, code: 4 }], { answers: ['HELLO'] });
  await assert.rejects(connect(server.address), UnauthorisedError);
  assert.equal(server.connections, 1);
});

test('GOING_AWAY: what is under way is answered, then the client goes on elsewhere', async () => {
  const server = await scripted((request, { connection, send }) => {
    if (connection === 2) return ['COUNTED', { jobs: 2n }];
    send('GOING_AWAY', { message: 'stopping', reason: 1 }, 0);
    return void setTimeout(() => send('COUNTED', { jobs: 1n }), 30);
  });
  const q = await client(server);
  assert.equal(await q.count(), 1n);
  assert.equal(await q.count(), 2n);
  assert.equal(server.connections, 2);
});

test('a session that another process took over is not taken back', async () => {
  const server = await scripted((_, { send }) => void send('GOING_AWAY', { message: 'taken', reason: 3 }, 0));
  const q = await client(server);
  const error = await q.count().catch((e) => e);
  assert.ok(error instanceof ClosedError, String(error));
  assert.equal(server.connections, 1);
});

test('a HELLO of its own that comes late takes the session over: the client comes back, once for each', async () => {
  const takesOver = ({ send }) => void send('GOING_AWAY', { message: 'taken', reason: 3 }, 0);
  const server = await scripted(
    (request, peer) => {
      if (request.name === 'HELLO') return peer.connection === 2 ? void peer.socket.destroy() : ['WELCOME', { ...WELCOME, marks: 3 }];
      if (peer.connection === 1) return void peer.socket.destroy();
      if (peer.connection === 3) return takesOver(peer);
      return server.seen('PUSH').length === 3 ? pushed(request) : takesOver(peer);
    },
    { answers: ['HELLO'] },
  );
  const q = await client(server);
  assert.equal(await q.push('t', 'x'), 40n);
  assert.deepEqual(server.seen('PUSH').map(({ fields }) => fields.sequence), [1n, 1n, 1n], 'the numbers stay');
  await assert.rejects(q.push('t', 'y'), OutcomeUnknownError);
  assert.equal(q.health().isClosed, true);
  assert.equal(server.connections, 4);
});

test('a HELLO that was given up cannot take a new session over', async () => {
  const server = await scripted(
    (request, { connection, socket, send }) => {
      if (request.name === 'HELLO') return connection === 2 ? void socket.destroy() : ['WELCOME', { ...WELCOME, session: BigInt(connection) }];
      return connection === 1 ? void socket.destroy() : void send('GOING_AWAY', { message: 'taken', reason: 3 }, 0);
    },
    { answers: ['HELLO'] },
  );
  const q = await client(server);
  await assert.rejects(q.count(), ClosedError);
  assert.equal(server.connections, 3);
});

test('a silent member leaves time for the others', async () => {
  const [silent, server] = [await scripted(() => undefined, { answers: ['HELLO'] }), await scripted(() => ['COUNTED', { jobs: 1n }])];
  const clock = new ManualClock();
  const connected = client([silent.address, server.address], { clock, connectTimeoutMs: 8_000 });
  await until('HELLO is read', () => silent.seen('HELLO').length === 1);
  await clock.advance(1_999);
  assert.equal(server.connections, 0);
  await clock.advance(1);
  assert.equal(await (await connected).count(), 1n);
});

test('another cluster at the address ends the client', async () => {
  const server = await scripted((_, { socket }) => void socket.destroy(), { welcome: (_, connection) => ({ clusterId: new Uint8Array(16).fill(connection) }) });
  const q = await client(server);
  await assert.rejects(q.count(), WrongClusterError);
  await assert.rejects(q.count(), WrongClusterError);
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
  const server = await scripted(() => ['ERROR', { ...ERROR, code: 18, marks: 1 }]);
  const q = await client(server, { requestTimeoutMs: 150 });
  await assert.rejects(q.push('t', 'x'), BusyError);
});

test('a call without an answer ends in time', async () => {
  const server = await scripted();
  const q = await client(server, { requestTimeoutMs: 100 });
  const read = await q.stats().catch((e) => e);
  assert.ok(read instanceof TimeoutError);
  assert.equal(read.applied, 'no');
  const change = await q.runNow(1n).catch((e) => e);
  assert.equal(change.applied, 'unknown');
  await assert.rejects(q.push('t', 'x'), OutcomeUnknownError);
});

test('a silent connection is given up after two heartbeats, and the call goes on over the next one', async () => {
  const server = await scripted((request, { connection }) => (connection === 1 ? undefined : request.name === 'PING' ? ['PONG', { now: 1n, clockMs: 0n }] : ['COUNTED', { jobs: 8n }]), {
    answers: ['PING'],
    welcome: { heartbeatMs: 100 },
  });
  const q = await client(server);
  assert.equal(await q.count(), 8n);
  assert.equal(server.connections, 2);
  assert.ok(server.seen('PING').some(({ connection }) => connection === 1), 'it asked before it gave up');
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

test('a call that was made while the connection is away waits for the next one', async () => {
  const server = await scripted(() => ['COUNTED', { jobs: 4n }]);
  const q = await client(server);
  server.cut();
  await until('the loss is noticed', () => !q.health().isConnected || q.health().reconnects > 0);
  assert.equal(await q.count(), 4n);
  assert.equal(q.health().reconnects, 1);
});

test('NOT_FOUND is null for get, and an error for delete', async () => {
  const server = await scripted(() => ['ERROR', { ...ERROR, code: 36 }]);
  const q = await client(server);
  assert.equal(await q.get(1n), null);
  await assert.rejects(q.delete(1n), NotFoundError);
});

test('a server that answers heartbeats and nothing else is given up', async () => {
  const server = await scripted((_, { connection }) => (connection === 1 ? undefined : ['ERROR', { ...ERROR, code: 36 }]));
  const clock = new ManualClock();
  const q = await client(server, { clock });
  const call = q.get(1n);
  await until('it was sent', () => server.seen('GET').length === 1);
  await until('another connection', async () => {
    await clock.advance(100);
    return server.connections === 2;
  });
  await until('the answer', () => Promise.race([call.then(() => true), clock.advance(100).then(() => false)]));
  assert.ok(clock.now() >= 6_000, 'not before two heartbeats');
  assert.ok(server.seen('PING').length >= 1);
});

test('an operator closed the connection: the client comes back after some seconds', async () => {
  const server = await scripted((_, { connection, send }) => (connection === 1 ? void send('GOING_AWAY', { message: 'operator', reason: 4 }, 0) : ['COUNTED', { jobs: 1n }]));
  const clock = new ManualClock();
  const q = await client(server, { clock });
  const call = q.count();
  await until('another connection', async () => {
    await clock.advance(50);
    return server.connections === 2;
  });
  assert.ok(clock.now() >= 6_000);
  assert.equal(await call, 1n);
});

test('a log that throws harms nobody', async () => {
  const server = await scripted(() => ['COUNTED', { jobs: 1n }]);
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

const READY = { index: 1n, jobs: 2n, stateHash: 3n, bytes: 1_500_000n };
/** Each byte of the backup says in which quarter of a mebibyte it is. */
const backupData = ({ offset, bytes }) => ['BACKUP_DATA', { data: new Uint8Array(bytes).fill(Number(offset / 262_144n)) }];

test('the pieces of a backup come in order, with a few reads under way', async () => {
  const held = [];
  const server = await scripted((request, { send }) => {
    if (request.name === 'BACKUP_BEGIN') return ['BACKUP_READY', READY];
    held.push(() => send(...backupData(request.fields)));
    if (held.length === 4 || request.fields.offset === 1_310_720n) for (const answer of held.splice(0).reverse()) answer();
  });
  const q = await client(server);
  const pieces = [];
  for await (const piece of await q.backup()) pieces.push([piece[0], piece.byteLength]);
  assert.deepEqual(pieces, [[0, 262_144], [1, 262_144], [2, 262_144], [3, 262_144], [4, 262_144], [5, 189_280]]);
});

test('a piece of a backup that is too short is a fault of the protocol', async () => {
  const server = await scripted(({ name, fields }) => (name === 'BACKUP_BEGIN' ? ['BACKUP_READY', READY] : backupData({ ...fields, bytes: 10 })));
  const q = await client(server);
  const backup = await q.backup();
  await assert.rejects(backup[Symbol.asyncIterator]().next(), ProtocolError);
});

test('a backup ends with its connection', async () => {
  const server = await scripted(({ name, fields }, { connection, socket }, count) => {
    if (name === 'BACKUP_BEGIN') return ['BACKUP_READY', READY];
    if (name === 'COUNT') return ['COUNTED', { jobs: 1n }];
    return connection === 1 && count === 2 ? void socket.destroy() : backupData(fields);
  });
  const q = await client(server);
  const backup = await q.backup();
  assert.equal((await backup.read(0, 8)).byteLength, 8);
  const lost = await backup.read(0, 8).catch((e) => e);
  assert.ok(lost instanceof BackupLostError, String(lost));
  assert.deepEqual([lost.code, lost.retryable, lost.applied], ['BACKUP_LOST', false, 'no']);
  await q.count();
  await assert.rejects(backup.read(0, 8), BackupLostError, 'the next connection does not have it');
  const next = await q.backup();
  await assert.rejects(backup.read(0, 8), BackupLostError, 'never the bytes of the next one');
  await backup.end();
  assert.equal((await next.read(0, 8)).byteLength, 8);
  assert.equal(server.seen('BACKUP_END').length, 0);
  assert.equal(server.seen('BACKUP_READ').length, 3);
});

test('a backup that the server let go of is lost', async () => {
  const server = await scripted(({ name }) => (name === 'BACKUP_BEGIN' ? ['BACKUP_READY', READY] : ['ERROR', { ...ERROR, code: 36 }]));
  const q = await client(server);
  const backup = await q.backup();
  await assert.rejects(backup.read(0, 8), BackupLostError);
  await q.close();
  await assert.rejects(backup.read(0, 8), ClosedError);
  await backup.end();
});

test('a backup may take minutes', async () => {
  let ready;
  const server = await scripted((request, { send }) => void (ready = () => send('BACKUP_READY', READY)));
  const clock = new ManualClock();
  const q = await client(server, { clock });
  const taken = q.backup();
  taken.catch(() => {});
  await until('it was sent', () => server.seen('BACKUP_BEGIN').length === 1);
  const end = clock.now() + 120_000;
  await until('two minutes have passed', async () => {
    const pings = server.seen('PING').length;
    await clock.advance(3_000);
    await until('the heartbeat', () => server.seen('PING').length > pings);
    return clock.now() >= end;
  });
  ready();
  assert.equal((await taken).bytes, 1_500_000n);
  assert.equal(server.connections, 1);
});
