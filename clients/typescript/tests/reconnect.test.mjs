// Connecting, and going on over the next connection, against scripted servers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CannotConnectError, ClosedError, OutcomeUnknownError, ProtocolError, TimeoutError, UnauthenticatedError, UsageError, Worker, WrongClusterError, connect } from 'adjourn';
import { FrameSplitter, decodeRequest } from 'adjourn/protocol';
import { Engine } from '../dist/esm/engine/engine.js';
import { newJobValue } from '../dist/esm/new-job.js';
import { configOf } from '../dist/esm/options.js';
import { ManualClock } from './support/manual-clock.mjs';
import { ERROR, WELCOME, client, delivered, pushed, scripted } from './support/scripted.mjs';
import { freePort } from './support/server.mjs';
import { until } from './support/until.mjs';

/** Says that another connection took the session over. */
function takeOver({ send, socket }) {
  send('GOING_AWAY', { message: 'taken', reason: 3 }, 0);
  socket.end();
}

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

test('without a session, pushes are repeated under their keys, also when a HELLO had no answer', async () => {
  const server = await scripted(
    (request, { socket, connection }) => {
      if (request.name === 'HELLO') return connection === 2 ? void socket.destroy() : ['WELCOME', { ...WELCOME, session: 0n, secret: new Uint8Array(16) }];
      if (connection > 1) return pushed(request, BigInt(server.seen('PUSH').length));
      return server.seen('PUSH').length === 5 ? void socket.destroy() : undefined;
    },
    { answers: ['HELLO'] },
  );
  const q = await client(server, { withoutSession: true });
  const jobs = [{ body: 'x' }, { body: 'x' }];
  const calls = [...[1, 2, 3, 4].map(() => q.pushMany('t', jobs)), q.push('t', 'y')];
  const [[first]] = await Promise.all(calls);
  assert.deepEqual([first.id, await calls[4]], [6n, 10n]);
  const hellos = server.seen('HELLO').map(({ fields }) => [fields.options, fields.session, Math.max(...fields.secret)]);
  assert.deepEqual(hellos, [[2, 0n, 0], [2, 0n, 0], [2, 0n, 0]]);
  const pushes = server.seen('PUSH').map(({ fields }) => fields);
  assert.ok(pushes.every(({ sequence }) => sequence === 0n));
  const keys = pushes.map(({ idempotency }) => idempotency);
  assert.deepEqual(keys.slice(0, 5), [0n, 1n, 2n, 3n, 4n].map((n) => BigInt.asUintN(128, keys[0] + n * 2n)), 'each job takes one');
  assert.deepEqual(keys.slice(5), keys.slice(0, 5), 'the keys stay');
});

test('without a session, at most 8,192 jobs are under way: further pushes wait, also after BUSY and after a lost connection', async () => {
  const clock = new ManualClock();
  const welcome = { ...WELCOME, session: 0n, heartbeatMs: 0 };
  const engine = new Engine(configOf('localhost:1', { clock, withoutSession: true }), 0, welcome);
  const calls = ['a', 'b', 'c', 'd'].map((topic) => {
    const jobs = Array.from({ length: 4_096 }, () => newJobValue({ body: 'x' }, {}));
    return engine.call('PUSH', { sequence: 0n, topic, jobs, idempotency: 0n });
  });
  const ids = {};
  const sent = () => {
    const splitter = new FrameSplitter();
    for (const frame of engine.pump(Infinity)) splitter.push(frame);
    let topics = '';
    for (let frame = splitter.next(); frame; frame = splitter.next()) {
      const { fields } = decodeRequest(frame);
      assert.equal(fields.sequence, 0n);
      ids[fields.topic] = [frame.id, fields];
      topics += fields.topic;
    }
    return topics;
  };
  const answer = (topic) => {
    const [id, fields] = ids[topic];
    const [name, results] = pushed({ fields });
    engine.answer(id, { name, fields: results });
  };
  assert.equal(sent(), 'ab');
  engine.answer(ids.a[0], { name: 'ERROR', fields: { ...ERROR, code: 18, marks: 1 } });
  assert.equal(sent(), '', 'a is sent again before c');
  await clock.advance(1_000);
  engine.look();
  assert.equal(sent(), 'a');
  answer('a');
  assert.equal(sent(), 'c');
  engine.down(null);
  engine.up(0, welcome);
  assert.equal(sent(), 'bc');
  answer('b');
  assert.equal(sent(), 'd');
  answer('c');
  answer('d');
  await Promise.all(calls);
});

test('keys begin anywhere, and go on at 1 after the last one: 0 is none', async (t) => {
  t.mock.method(crypto, 'getRandomValues', (numbers) => numbers.fill(2n ** 64n - 1n));
  const server = await scripted((request) => pushed(request));
  const q = await client(server, { withoutSession: true });
  for (let n = 0; n < 3; n += 1) await q.push('t', n);
  assert.deepEqual(server.seen('PUSH').map(({ fields }) => fields.idempotency), [2n ** 128n - 1n, 1n, 2n]);
  t.mock.restoreAll();
  const other = await client(server, { withoutSession: true });
  await other.push('t', 'x');
  assert.ok(server.seen('PUSH')[3].fields.idempotency > 2n ** 64n);
});

test('what needs a session is refused without one, before anything is sent', async () => {
  const server = await scripted(() => ['COUNTED', { jobs: 1n, byDue: [] }]);
  const q = await client(server, { withoutSession: true });
  for (const call of [() => q.reserve('t'), () => q.subscribe('t'), () => q.leases(), () => new Worker(q, { topics: 't', handler: () => {} })]) {
    await assert.rejects(async () => call(), (error) => error instanceof UsageError && error.message === 'this client has no session: leave out withoutSession to reserve jobs');
  }
  assert.equal(await q.count(), 1n);
  assert.equal(q.session, 0n);
  assert.deepEqual(server.requests.map(({ name }) => name), ['HELLO', 'COUNT']);
});

for (const [withoutSession, sessionGraceMs, pings] of [[true, 12_000, 0], [true, 400, 0], [false, 12_000, 1]]) {
  test(`PINGs ${withoutSession ? 'without' : 'with'} a session, and a grace of ${sessionGraceMs} ms`, async () => {
    const server = await scripted(() => ['COUNTED', { jobs: 1n, byDue: [] }], { welcome: { heartbeatMs: 3_000, sessionGraceMs } });
    const clock = new ManualClock();
    const q = await client(server, { clock, withoutSession });
    await clock.advance(900);
    await q.count();
    await clock.advance(2_900);
    // It comes behind a PING, if there was one: COUNTED proves nothing of leases.
    await q.count();
    assert.equal(server.seen('PING').length, pings);
    await clock.advance(3_000);
    await until('the heartbeat', () => server.seen('PING').length === pings + 1);
  });
}

test('what is not safe to repeat ends as "outcome unknown"; reads and settles are repeated', async () => {
  const server = await scripted((request, { socket, connection }) => {
    if (connection === 1) {
      if (server.requests.filter(({ name }) => name !== 'HELLO').length === 8) socket.destroy();
      return undefined;
    }
    if (request.name === 'COUNT') return ['COUNTED', { jobs: 3n, byDue: [] }];
    if (request.name === 'FINISH') return ['SETTLED', { results: [{ code: 0 }] }];
    return ['CHANGED', { job: 1n, dueMs: 0n, state: 1, version: 0n }];
  });
  const q = await client(server);
  const calls = await Promise.allSettled([q.count(), q.finish({ id: 1n, fence: 1n }), q.delete(1n), q.delete({ topic: 't', key: 'k' }), q.runNow(1n), q.kick(1n), q.advance(1), q.advanceToNext()]);
  const unsafe = Array.from({ length: 5 }, () => 'OUTCOME_UNKNOWN');
  assert.deepEqual(calls.map(({ status, reason }) => (status === 'fulfilled' ? 'ok' : reason.code)), ['ok', 'ok', 'ok', ...unsafe]);
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

test('the leader is followed: from HELLO, and from a request', async () => {
  let leader;
  const follower = await scripted((request) => (request.name === 'HELLO' ? ['ERROR', { ...ERROR, code: 16, marks: 1, leader: leader.address }] : undefined), { answers: ['HELLO'] });
  leader = await scripted((request, { connection }) => {
    if (request.name === 'PUSH') return pushed(request);
    return connection === 1 ? ['ERROR', { ...ERROR, code: 16, marks: 1, leader: next.address }] : ['COUNTED', { jobs: 1n, byDue: [] }];
  });
  const next = await scripted(() => ['COUNTED', { jobs: 9n, byDue: [] }]);
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
  await assert.rejects(connect(server.address), UnauthenticatedError);
  assert.equal(server.connections, 1);
});

test('GOING_AWAY: what is under way is answered, then the client goes on elsewhere', async () => {
  const server = await scripted((request, { connection, send }) => {
    if (connection === 2) return ['COUNTED', { jobs: 2n, byDue: [] }];
    send('GOING_AWAY', { message: 'stopping', reason: 1 }, 0);
    return void setTimeout(() => send('COUNTED', { jobs: 1n, byDue: [] }), 30);
  });
  const q = await client(server);
  assert.equal(await q.count(), 1n);
  assert.equal(await q.count(), 2n);
  assert.equal(server.connections, 2);
});

test('a session that another process took over is not taken back', async () => {
  const server = await scripted((_, peer) => takeOver(peer));
  const q = await client(server);
  const error = await q.count().catch((e) => e);
  assert.ok(error instanceof ClosedError, String(error));
  assert.equal(server.connections, 1);
});

for (const [fate, leave] of [['was lost', ({ socket }) => void socket.destroy()], ['had no answer', () => undefined]]) {
  test(`a HELLO of its own that ${fate} takes the session over later: the client comes back, once for each`, async () => {
    const server = await scripted(
      (request, peer) => {
        if (request.name === 'HELLO') return peer.connection === 2 ? leave(peer) : ['WELCOME', { ...WELCOME, marks: 3 }];
        if (peer.connection === 1) return void peer.socket.destroy();
        if (peer.connection === 3) return takeOver(peer);
        return server.seen('PUSH').length === 3 ? pushed(request) : takeOver(peer);
      },
      { answers: ['HELLO'] },
    );
    const q = await client(server, { connectTimeoutMs: 500 });
    assert.equal(await q.push('t', 'x'), 40n);
    assert.deepEqual(server.seen('PUSH').map(({ fields }) => fields.sequence), [1n, 1n, 1n], 'the numbers stay');
    await assert.rejects(q.push('t', 'y'), OutcomeUnknownError);
    assert.equal(q.health().isClosed, true);
    assert.equal(server.connections, 4);
  });
}

test('a HELLO that no server can have got is not waited for', async () => {
  const server = await scripted((_, peer) => (peer.connection === 1 ? void peer.socket.destroy() : takeOver(peer)));
  const q = await client([`127.0.0.1:${await freePort()}`, server.address]);
  await assert.rejects(q.count(), ClosedError);
  assert.equal(server.connections, 2);
});

test('a HELLO that was given up cannot take a new session over', async () => {
  const server = await scripted(
    (request, peer) => {
      const { connection, socket } = peer;
      if (request.name === 'HELLO') return connection === 2 ? void socket.destroy() : ['WELCOME', { ...WELCOME, session: BigInt(connection) }];
      return connection === 1 ? void socket.destroy() : takeOver(peer);
    },
    { answers: ['HELLO'] },
  );
  const q = await client(server);
  await assert.rejects(q.count(), ClosedError);
  assert.equal(server.connections, 3);
});

test('a silent member leaves time for the others', async () => {
  const [silent, server] = [await scripted(() => undefined, { answers: ['HELLO'] }), await scripted(() => ['COUNTED', { jobs: 1n, byDue: [] }])];
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

test('a silent connection is given up after two heartbeats, and the call goes on over the next one', async () => {
  const server = await scripted((request, { connection }) => (connection === 1 ? undefined : request.name === 'PING' ? ['PONG', { now: 1n, clockMs: 0n }] : ['COUNTED', { jobs: 8n, byDue: [] }]), {
    answers: ['PING'],
    welcome: { heartbeatMs: 100 },
  });
  const q = await client(server);
  assert.equal(await q.count(), 8n);
  assert.equal(server.connections, 2);
  assert.ok(server.seen('PING').some(({ connection }) => connection === 1), 'it asked before it gave up');
});

test('a call that was made while the connection is away waits for the next one', async () => {
  const server = await scripted(() => ['COUNTED', { jobs: 4n, byDue: [] }]);
  const q = await client(server);
  server.cut();
  await until('the loss is noticed', () => !q.health().isConnected || q.health().reconnects > 0);
  assert.equal(await q.count(), 4n);
  assert.equal(q.health().reconnects, 1);
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
  const server = await scripted((_, { connection, send }) => (connection === 1 ? void send('GOING_AWAY', { message: 'operator', reason: 4 }, 0) : ['COUNTED', { jobs: 1n, byDue: [] }]));
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

for (const [what, answer, expected] of [
  ['it is there', ['CHANGED', { job: 7n, dueMs: 1n, state: 0, version: 1n }], true],
  ['its first copy removed it', ['ERROR', { ...ERROR, code: 36 }], false],
]) {
  test(`a cancel whose answer was lost is sent again: ${what}`, async () => {
    const server = await scripted((request, { socket, connection }) => (connection === 1 ? void socket.destroy() : answer));
    const q = await client(server);
    assert.equal(await q.cancel('t', 'k'), expected);
    const sent = server.seen('DELETE').map(({ connection, fields }) => [connection, fields.reference.topic, fields.reference.key]);
    assert.deepEqual(sent, [[1, 't', 'k'], [2, 't', 'k']]);
  });
}
