// The client has everything that the schema has: each request, setting, attribute, condition, error and limit is reached from its public side.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as adjourn from 'adjourn';
import * as protocol from 'adjourn/protocol';
import { ATTRIBUTES, CONDITIONS, CONSTANTS, ERRORS, LIMITS, REQUESTS, SETTINGS } from './support/schema.mjs';
import { ERROR, client, pushed, scripted } from './support/scripted.mjs';
import { until } from './support/until.mjs';

const ignored = (call) => Promise.resolve(call).catch(() => {});
const drain = async (items) => {
  for await (const item of items) if (item) return;
};
/** Bytes of any class are equal if they are the same. */
const plain = (value) => (value instanceof Uint8Array ? [...value] : value);
const LEASE = { id: 1n, fence: 1n };
const ANSWERS = {
  SUBSCRIBE: ['SUBSCRIBED', {}],
  CREDIT: ['DONE', {}],
  BACKUP_BEGIN: ['BACKUP_READY', { index: 1n, jobs: 0n, stateHash: 0n, bytes: 1n }],
  BACKUP_READ: ['BACKUP_DATA', { data: Uint8Array.of(1) }],
  BACKUP_END: ['DONE', {}],
};

/** A server that answers what a call needs to go on, and refuses the rest. */
const obliging = () =>
  scripted((request, peer) => {
    // It waits until it is cancelled.
    if (request.name === 'RESERVE') return undefined;
    return ANSWERS[request.name] ?? ['ERROR', { ...ERROR, code: protocol.ERROR_CODES.NOT_FOUND }];
  });

test('every request is sent by a call', async () => {
  const server = await obliging();
  const q = await client(server);
  const waiting = new AbortController();
  const reserving = ignored(q.reserve('t', { waitMs: 60_000, signal: waiting.signal }));
  await until('it waits', () => server.seen('RESERVE').length === 1);
  waiting.abort();
  await reserving;
  const subscription = q.subscribe('t');
  await subscription.ready;
  await subscription.addCredit(1);
  await subscription.close();
  const backup = await q.backup();
  await backup.read(0, 1);
  await backup.end();
  await Promise.all([
    ...[q.push('t', 'x'), q.leases(), q.finish(LEASE), q.release(LEASE), q.touch(LEASE), q.bury(LEASE)],
    ...[q.get(1n), q.delete(1n), q.reschedule(1n, { delayMs: 1 }), q.edit(1n, { delayMs: 1 }), q.runNow(1n), q.kick(1n), q.peek('t'), q.kickMany('t', 1)],
    ...[drain(q.list()), q.count(), drain(q.bulk({ change: 'delete' }, {})), q.pause('t'), q.resume('t'), q.topics(), q.stats()],
    ...[drain(q.connections()), q.disconnect(1n), q.setTopic('t', { rate: 1 }), q.deleteTopic('t'), q.showTopic('t'), q.ping(), q.advance(1)],
    ...[q.setGroup('t', 'g', { weight: 1 }), drain(q.groups('t')), q.why(1n), q.whyTopic('t')],
    ...[q.setSchedule('t', 'n', { when: '@daily' }), q.showSchedule('t', 'n'), drain(q.schedules('t')), q.deleteSchedule('t', 'n')],
    ...[q.pauseSchedule('t', 'n', { note: 'why' }), q.resumeSchedule('t', 'n'), q.runSchedule('t', 'n')],
    ...[q.fillSchedule('t', 'n', { from: 1n, to: 2n }), q.previewSchedule({ when: '@daily' })],
    ...[q.cluster.status(), q.cluster.add('a:1'), q.cluster.remove(1n), q.cluster.transfer(1n)],
  ].map(ignored));
  await q.close();
  const seen = new Set(server.requests.map(({ name }) => name));
  // RESERVE_JOB has no call: only tools and consoles need it.
  assert.deepEqual(REQUESTS.filter((name) => !seen.has(name)), ['RESERVE_JOB']);
});

/** A value for what stands in a setting: as a caller gives it, and as the queue shows it. */
const SETTING_VALUES = {
  u32: 1_000,
  u64: 1_000n,
  text: 'text',
  flag: true,
  backoff: { kind: 'fixed', waitMs: 5, jitterPercent: 0 },
  late: { afterMs: 5n, action: 'bury' },
};
/** Settings that have another name here than on the wire. */
const SETTING_NAMES = { bodyMax: 'bodyBytesMax' };

test('every setting is set, shown and taken away', async () => {
  let settings = {};
  const server = await scripted(({ name, fields }) => {
    if (name === 'TOPIC_SHOW') return ['TOPIC_SETTINGS', { jobs: 0n, bytes: 0n, pauseLeftMs: 0n, marks: 0, settings }];
    ({ settings } = fields);
    return ['DONE', {}];
  });
  const q = await client(server);
  for (const [name, kind] of Object.entries(SETTINGS)) {
    const policy = { [SETTING_NAMES[name] ?? name]: SETTING_VALUES[kind] };
    await q.setTopic('t', policy);
    assert.deepEqual(Object.keys(settings), [name]);
    assert.deepEqual((await q.showTopic('t')).policy, policy);
    await q.setTopic('t', { [SETTING_NAMES[name] ?? name]: null });
    assert.deepEqual(settings, { [name]: null });
    assert.deepEqual((await q.showTopic('t')).policy, {});
  }
  assert.ok(Object.keys(SETTINGS).length > 0);
});

/** The options of a push that set an attribute. Those that have none are given as they stand on the wire. */
const ATTRIBUTE_OPTIONS = {
  headers: { headers: { a: 'b' } },
  expires: { expiresAfterMs: 5 },
  attemptsMax: { attemptsMax: 5 },
  backoff: { backoff: { kind: 'fixed', waitMs: 5 } },
  group: { group: 'text' },
  dedupeRetentionMs: { rememberMs: 5 },
  createdAtMs: { createdAt: new Date(5) },
  postponeMaxMs: { postponeMaxMs: 5 },
  buried: { buried: 'no such address' },
};
const ATTRIBUTE_VALUES = { u32: 5, u64: 5n, text: 'text', bytes: Uint8Array.of(1) };

test('every attribute is pushed', async () => {
  const server = await scripted((request) => pushed(request));
  const q = await client(server);
  for (const [name, kind] of Object.entries(ATTRIBUTES)) {
    await q.push('t', Uint8Array.of(1), ATTRIBUTE_OPTIONS[name] ?? { attributes: { [name]: ATTRIBUTE_VALUES[kind] } });
    assert.deepEqual(Object.keys(server.seen('PUSH').at(-1).fields.jobs[0].attributes), [name]);
  }
  assert.equal(server.seen('PUSH').length, Object.keys(ATTRIBUTES).length);
});

/** The options that change each part of a job, to a value of their own, and what they send. */
const EDITS = {
  due: [{ delayMs: 5 }, { dueMs: 5n, dueKind: 0 }, { at: 6n }, { dueMs: 6n, dueKind: 1 }],
  priority: [{ priority: 0 }, { priority: 0 }, { priority: null }, { priority: protocol.PRIORITY_UNSAID }],
  ttr: [{ ttrMs: 5_000 }, { ttrMs: 5_000 }, { ttrMs: null }, { ttrMs: 0 }],
  body: [
    { body: 'x' },
    { body: Buffer.from('x'), attributes: { headers: [['content-type', 'text/plain; charset=utf-8']] } },
    { body: null },
    { body: Buffer.from('null'), attributes: { headers: [['content-type', 'application/json']] } },
  ],
  headers: [{ headers: { a: 'b' } }, { attributes: { headers: [['a', 'b']] } }, { headers: null }, { attributes: {} }, { headers: {} }, { attributes: {} }],
  expires: [
    ...[{ expiresAfterMs: 5 }, { attributes: { expires: { kind: 0, ms: 5n } } }, { expiresAt: 6n }, { attributes: { expires: { kind: 1, ms: 6n } } }],
    ...[{ expiresAfterMs: null }, { attributes: {} }, { expiresAt: null }, { attributes: {} }],
  ],
  attemptsMax: [{ attemptsMax: 5 }, { attributes: { attemptsMax: 5 } }, { attemptsMax: null }, { attributes: {} }],
  backoff: [{ backoff: { kind: 'fixed', waitMs: 5 } }, { attributes: { backoff: { kind: 0, jitter: 0, waitsMs: [5] } } }, { backoff: null }, { attributes: {} }],
  dedupeRetention: [{ rememberMs: 5 }, { attributes: { dedupeRetentionMs: 5n } }, { rememberMs: null }, { attributes: {} }],
  group: [{ group: 'ann' }, { attributes: { group: 'ann' } }, { group: null }, { attributes: {} }],
};
const CHANGED = ['CHANGED', { job: 1n, dueMs: 5n, state: 0, version: 1n }];

test('every part of a job is edited alone', async () => {
  const server = await scripted(() => CHANGED);
  const q = await client(server);
  assert.deepEqual(Object.keys(EDITS), Object.keys(protocol.EDITED));
  for (const [part, samples] of Object.entries(EDITS)) {
    for (let at = 0; at < samples.length; at += 2) {
      await q.edit(1n, samples[at]);
      const { fields } = server.seen('EDIT').at(-1);
      assert.equal(fields.edited, protocol.EDITED[part], part);
      for (const [name, value] of Object.entries(samples[at + 1])) assert.deepEqual(plain(fields[name]), plain(value), `${part}: ${name}`);
      if (!('attributes' in samples[at + 1])) assert.deepEqual(fields.attributes, {}, part);
    }
  }
});

test('an edit of a body has the content type that a push adds, and neither pushHeaders nor a trace', async () => {
  const server = await scripted(() => CHANGED);
  const q = await client(server, { pushHeaders: () => ({ tenant: 'ann' }) });
  const sent = async (parts, options) => {
    await q.edit({ topic: 't', key: 'k' }, parts, options);
    return server.seen('EDIT').at(-1).fields;
  };
  const json = ['content-type', 'application/json'];
  assert.deepEqual((await sent({ body: { a: 1 }, headers: { b: '2' } })).attributes.headers, [json, ['b', '2']]);
  assert.deepEqual((await sent({ body: { a: 1 }, headers: null })).attributes.headers, [json]);
  assert.deepEqual((await sent({ body: { a: 1 }, headers: { 'content-type': 'own' } })).attributes.headers, [['content-type', 'own']]);
  assert.deepEqual((await sent({ body: Uint8Array.of(1), headers: { b: '2' } })).attributes.headers, [['b', '2']]);
  assert.deepEqual((await sent({ body: { a: 1 }, priority: 5 })).attributes.headers, [json]);
  assert.deepEqual((await sent({ body: Uint8Array.of(1) })).attributes, {});
  const { ifVersion, edited, reference } = await sent({ delayMs: 5, priority: undefined, ttrMs: null }, { ifVersion: 7n });
  assert.deepEqual([ifVersion, edited, reference.key], [7n, protocol.EDITED.due | protocol.EDITED.ttr, 'k']);
  assert.equal((await sent({ expiresAfterMs: 5, expiresAt: null })).attributes.expires.ms, 5n);
});

const FILTERS = {
  topic: { topic: 't' },
  states: { states: ['finished'] },
  dueFromMs: { dueFrom: 5n },
  dueBeforeMs: { dueBefore: 5n },
  keyPrefix: { keyPrefix: 'k' },
  attemptsMin: { attemptsMin: 5 },
  attemptsMax: { attemptsMax: 5 },
  buried: { buried: 'too_late' },
  reason: { reason: 'text' },
  group: { group: 'text' },
};

test('every condition is asked for', async () => {
  const server = await scripted(() => ['COUNTED', { jobs: 0n, byDue: [] }]);
  const q = await client(server);
  for (const name of Object.keys(CONDITIONS)) {
    await q.count(FILTERS[name] ?? {});
    assert.deepEqual(Object.keys(server.seen('COUNT').at(-1).fields.filter), [name]);
  }
  assert.equal(server.seen('COUNT').length, Object.keys(CONDITIONS).length);
});

test('every error has its name and class, and says whether to try again', async () => {
  const server = await scripted(({ fields }) => ['SETTLED', { results: fields.leases.map(({ job }) => ({ code: Number(job) })) }]);
  const q = await client(server);
  const results = await q.finish(ERRORS.map(({ number }) => ({ id: BigInt(number), fence: 1n })));
  const found = results.map(({ error }, at) => ({ name: error.code, number: protocol.ERROR_CODES[error.code], retryable: error.retryable, type: error.constructor.name }));
  assert.deepEqual(found, ERRORS);
  for (const { type } of ERRORS) assert.equal(typeof adjourn[type], 'function', type);
});

test('every limit and constant has its value', () => {
  for (const [name, value] of Object.entries(LIMITS)) assert.equal(protocol[name], value, name);
  for (const [name, value] of Object.entries(CONSTANTS)) assert.equal(BigInt(protocol[name] ?? -1), value, name);
});

test('a job goes back in every way', async () => {
  const server = await scripted(() => ['SETTLED', { results: [{ code: 0 }] }]);
  const q = await client(server);
  for (const how of [{ how: 'backoff' }, { how: 'not_started' }, { how: 'parked', delayMs: 0 }, { how: 'parked', delayMs: 5, reason: 'not yet' }, { how: 'after', delayMs: 5 }]) {
    assert.deepEqual(await q.release(LEASE, how), [{ error: null }]);
  }
  const delays = server.seen('RELEASE').map(({ fields }) => fields.delayMs);
  for (const [name, value] of Object.entries(CONSTANTS)) if (name.startsWith('RELEASE_')) assert.ok(delays.includes(value), name);
  assert.deepEqual(delays.slice(-2), [CONSTANTS.RELEASE_PARKED + 5n, 5n]);
  assert.equal(server.seen('RELEASE')[3].fields.reason, 'not yet');
});

test('a list under an idempotency key goes one PUSH after the other, each with its number and the length of the list', async () => {
  const reused = protocol.ERROR_CODES.SEQUENCE_REUSED;
  let code = 0;
  const server = await scripted(
    ({ name, fields }) => name === 'PUSH' && ['PUSHED', { results: fields.jobs.map(() => ({ outcome: code ? 3 : 0, code, job: 0n })) }],
    { welcome: { pushJobsMax: 2 } },
  );
  const q = await client(server);
  const jobs = Array.from({ length: 5 }, (_, n) => ({ body: { n } }));
  const numbers = () => server.seen('PUSH').map(({ fields }) => [fields.sequence, fields.idempotency, fields.listJobs, fields.jobs.length]);
  await q.pushMany('t', jobs, { idempotencyKey: 100n });
  assert.deepEqual(numbers(), [[0n, 100n, 5, 2], [0n, 102n, 5, 2], [0n, 104n, 5, 1]]);
  await q.pushMany('t', jobs.slice(0, 2), { idempotencyKey: 7n });
  await q.push('t', 'x', { idempotencyKey: 8n });
  assert.deepEqual(numbers().slice(3), [[0n, 7n, 0, 2], [0n, 8n, 0, 1]]);
  const last = (1n << 128n) - 1n;
  await q.push('t', 'x', { idempotencyKey: last });
  await q.pushMany('t', jobs, { idempotencyKey: last - 4n });
  assert.deepEqual(numbers().slice(5), [[0n, last, 0, 1], [0n, last - 4n, 5, 2], [0n, last - 2n, 5, 2], [0n, last, 5, 1]]);
  code = reused;
  const results = await q.pushMany('t', jobs, { idempotencyKey: 100n });
  assert.deepEqual(results.map(({ error }) => error.code), jobs.map(() => 'SEQUENCE_REUSED'));
  assert.equal(server.seen('PUSH').length, 10, 'the others are not sent');
  for (const idempotencyKey of [0n, -1n, 5, last + 1n, last - 3n]) {
    await assert.rejects(q.pushMany('t', jobs, { idempotencyKey }), adjourn.UsageError, String(idempotencyKey));
  }
  await assert.rejects(q.pushMany('t', [], { idempotencyKey: last + 1n }), adjourn.UsageError);
  await assert.rejects(q.pushMany('t', Array.from({ length: 8_193 }, () => ({})), { idempotencyKey: 1n }), adjourn.UsageError);
});
