// Schedules: against a server whose clock the test moves, and what a newer server shows of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangedError, InvalidError, NotFoundError, OutcomeUnknownError, UsageError } from 'adjourn';
import { SCHEDULES_LISTED_MAX } from 'adjourn/protocol';
import { startQueue } from 'adjourn/testing';
import { client, scripted } from './support/scripted.mjs';

const collect = async (items) => {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
};

test('a schedule is set, fires, is shown, listed, paused, resumed, run and deleted', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const job = { body: { report: 7 }, priority: 5, ttrMs: 30_000, attemptsMax: 3 };
  const set = await q.setSchedule('reports', 'minutely', { when: '* * * * *', jitterMs: 0, note: 'a test', job });
  assert.equal(set.version, 1);
  assert.equal(set.next.getTime() % 60_000, 0);
  await q.advance(set.next - (await q.ping()));
  const [fired] = await q.reserve('reports', { waitMs: 10_000 });
  assert.deepEqual([fired.json(), fired.priority, fired.key], [{ report: 7 }, 5, `minutely@${set.next.getTime()}`]);
  const running = await q.showSchedule('reports', 'minutely');
  assert.deepEqual([running.running, running.history[0].fired], [1, 'pushed']);
  await fired.finish();

  const shown = await q.showSchedule('reports', 'minutely');
  assert.deepEqual(
    [shown.topic, shown.name, shown.id, shown.version, shown.paused, shown.hasCome, shown.isHeld, shown.fired, shown.running, shown.failures],
    ['reports', 'minutely', set.id, 1, null, false, false, 1n, 0, 0],
  );
  assert.deepEqual(shown.next, new Date(set.next.getTime() + 60_000));
  const { origin, ...rules } = shown.rules;
  assert.ok(origin instanceof Date);
  assert.deepEqual(rules, { when: '* * * * *', dst: 'vixie', missed: 'last', overlap: 'skip', note: 'a test' });
  assert.deepEqual([shown.job.priority, shown.job.ttrMs, shown.job.attributes.attemptsMax, Buffer.from(shown.job.body).toString()], [5, 30_000, 3, '{"report":7}']);
  assert.equal(shown.history.length, 1);
  const [firing] = shown.history;
  assert.deepEqual([firing.instant, firing.last, firing.instants, firing.job, firing.fired], [set.next, set.next, 1n, fired.id, 'finished']);
  assert.ok(firing.at >= firing.instant);

  await q.pauseSchedule('reports', 'minutely', { note: 'for now' });
  const [paused, ...none] = await collect(q.schedules('reports'));
  assert.deepEqual([paused.topic, paused.name, paused.id, paused.paused, paused.rules, none], ['reports', 'minutely', set.id, 'user', shown.rules, []]);
  assert.deepEqual([paused.pauseNote, (await q.showSchedule('reports', 'minutely')).pauseNote], ['for now', 'for now']);
  await q.advance(180_000);
  assert.deepEqual(await q.reserve('reports'), [], 'it is paused');
  await q.resumeSchedule('reports', 'minutely');
  const [late] = await q.reserve('reports', { waitMs: 10_000 });
  await late.finish();
  assert.equal((await q.showSchedule('reports', 'minutely')).paused, null);

  const id = await q.runSchedule('reports', 'minutely');
  const [run] = await q.reserve('reports', { waitMs: 10_000 });
  assert.equal(run.id, id);
  assert.ok(!run.key, 'the usual key belongs to an instant');

  await q.deleteSchedule('reports', 'minutely');
  assert.deepEqual(await collect(q.schedules('reports')), []);
  await run.finish();
  await assert.rejects(q.showSchedule('reports', 'minutely'), NotFoundError);
  await assert.rejects(q.deleteSchedule('reports', 'minutely'), NotFoundError);
});

test('a schedule is set only while it is of the version that was looked at, and what is shown can be set again', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const start = new Date('2090-01-01T00:00:00Z');
  const all = {
    ...{ when: '0 9 * * 1-5', zone: 'Europe/Berlin', dst: 'literal', origin: start, start, end: new Date('2091-01-01T00:00:00Z'), count: 9n, jitterMs: 30_000 },
    ...{ missed: 'all', windowMs: 3_600_000n, missedMax: 7, overlap: 'queue_one', failuresMax: 3, key: 'fixed', note: 'for people' },
  };
  const job = { body: 'report', headers: { tenant: 'ann' }, expiresAfterMs: 60_000, backoff: { kind: 'fixed', waitMs: 5 }, rememberMs: 1_000 };
  const first = await q.setSchedule('reports', 'morning', { ...all, job }, { ifVersion: 'new' });
  assert.deepEqual([first.version, first.next], [1, new Date('2090-01-02T08:00:00Z')]);
  const shown = await q.showSchedule('reports', 'morning');
  assert.deepEqual(shown.rules, all);
  const again = await q.setSchedule('reports', 'morning', { ...shown.rules, job: shown.job }, { ifVersion: 1 });
  assert.deepEqual(again, { id: first.id, version: 2, next: first.next });
  const { version, ...same } = await q.showSchedule('reports', 'morning');
  assert.deepEqual({ version: 1, ...same }, shown);
  const unchanged = async (call) => {
    await assert.rejects(call, (error) => error instanceof ChangedError && error.applied === 'no');
    assert.equal((await q.showSchedule('reports', 'morning')).version, version);
  };
  await unchanged(q.setSchedule('reports', 'morning', { when: '@daily' }, { ifVersion: 1 }));
  await unchanged(q.setSchedule('reports', 'morning', { when: '@daily' }, { ifVersion: 'new' }));
  await assert.rejects(q.setSchedule('reports', 'evening', { when: '@daily' }, { ifVersion: 1 }), ChangedError);
  await assert.rejects(q.setSchedule('reports', 'evening', { when: '61 * * * *' }), InvalidError);
  await q.setSchedule('reports', 'morning', { when: '@daily' });
  const { origin: _, ...plain } = (await q.showSchedule('reports', 'morning')).rules;
  assert.deepEqual(plain, { when: '@daily', dst: 'vixie', missed: 'last', overlap: 'skip' }, 'what is left out is gone');
});

test('schedules that fill more than a page are all listed', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const names = Array.from({ length: SCHEDULES_LISTED_MAX + 1 }, (_, n) => `schedule ${n}`);
  for (const name of names) await q.setSchedule('many', name, { when: '@daily' });
  assert.deepEqual((await collect(q.schedules('many'))).map(({ name }) => name), names);
  assert.deepEqual(await collect(q.schedules('none')), []);
});

test('schedules of all topics are listed, and changed at once', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const topics = Array.from({ length: SCHEDULES_LISTED_MAX + 1 }, (_, n) => `topic ${n}`.replace(' ', '-'));
  for (const topic of topics) await q.setSchedule(topic, 'nightly', { when: '@daily' });
  await q.setSchedule(topics[0], 'yearly', { when: '@yearly' });
  for await (const { topic, name } of q.schedules(undefined, { prefix: 'night', paused: false })) await q.pauseSchedule(topic, name);
  assert.deepEqual((await collect(q.schedules(undefined, { paused: true }))).map(({ topic }) => topic), topics);
  assert.deepEqual((await collect(q.schedules(undefined, { paused: false }))).map(({ topic, name }) => [topic, name]), [[topics[0], 'yearly']]);
  assert.equal((await collect(q.schedules())).length, topics.length + 1);
});

test('a time that has passed is counted and filled', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await q.setSchedule('t', 'daily', { when: '0 9 * * *', job: { body: 'report' } });
  const [first, second, third] = [1, 2, 3].map((day) => new Date(Date.UTC(2024, 0, day, 9)));
  const nothing = { pushed: 0, kept: 0, refused: 0, next: null };
  assert.deepEqual(await q.fillSchedule('t', 'daily', { from: first, to: third, dryRun: true }), { ...nothing, instants: 3 });
  assert.deepEqual(await q.fillSchedule('t', 'daily', { from: first, to: '2024-01-02T10:00:00+01:00' }), { ...nothing, instants: 2, pushed: 2 });
  assert.deepEqual(await q.fillSchedule('t', 'daily', { from: first, to: third }), { ...nothing, instants: 3, pushed: 1, kept: 2 });
  const jobs = await q.reserve('t', { max: 5 });
  assert.deepEqual(jobs.map((job) => [job.key, job.text()]), [first, second, third].map((at) => [`daily@${at.getTime()}`, 'report']));
  assert.deepEqual((await q.showSchedule('t', 'daily')).history, []);
  await assert.rejects(q.fillSchedule('t', 'daily', { from: third, to: first }), InvalidError);
  await assert.rejects(q.fillSchedule('t', 'daily', { from: first, to: new Date((await q.ping()).getTime() + 60_000) }), InvalidError);
  await q.setSchedule('t', 'one key', { when: '@daily', key: 'fixed' });
  await assert.rejects(q.fillSchedule('t', 'one key', { from: first, to: third }), InvalidError);
  await assert.rejects(q.fillSchedule('t', 'weekly', { from: first, to: third }), NotFoundError);
});

test('a long time is filled part by part', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await q.setSchedule('t', 'often', { when: '* * * * *' });
  for (const [dryRun, pushed] of [[true, 0], [false, 1_440]]) {
    const parts = [];
    for (let next = new Date(Date.UTC(2024, 0, 1)); next !== null; { next } = parts.at(-1)) {
      parts.push(await q.fillSchedule('t', 'often', { from: next, to: new Date(Date.UTC(2024, 0, 1, 23, 59)), dryRun }));
    }
    const sum = (name) => parts.reduce((all, part) => all + part[name], 0);
    assert.deepEqual([parts.length > 1, sum('instants'), sum('pushed')], [true, 1_440, pushed]);
  }
  assert.equal(await q.count({ topic: 't' }), 1_440n);
});

test('a schedule is previewed without setting it', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const from = new Date('2024-03-28T00:00:00Z');
  const shown = await q.previewSchedule({ when: '30 2 * * 7', zone: 'Europe/Berlin' }, { from, count: 2 });
  assert.deepEqual(shown.instants, [
    { instant: new Date('2024-03-31T01:00:00Z'), local: '2024-03-31 03:00:00 +02:00 CEST' },
    { instant: new Date('2024-04-07T00:30:00Z'), local: '2024-04-07 02:30:00 +02:00 CEST' },
  ]);
  assert.notEqual(shown.zoneData, '');
  const { instants } = await q.previewSchedule({ when: '* * * * *', job: { body: 'does not matter' } });
  assert.deepEqual([instants.length, instants[0].instant > (await q.ping())], [5, true]);
  assert.deepEqual((await q.previewSchedule({ when: '@at 2024-01-01T00:00:00Z' })).instants, []);
  await assert.rejects(q.previewSchedule({ when: '61 * * * *' }), InvalidError);
  await assert.rejects(q.previewSchedule({ when: '@daily', zone: 'Mars/Olympus' }), InvalidError);
  assert.deepEqual(await collect(q.schedules()), []);
});

test('schedules are listed by their names, by whether they are paused, and by their next instants', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const at = (hours) => new Date(Date.UTC(2090, 0, 1, hours));
  for (const [n, name] of ['a.1', 'a.2', 'b.1', 'b.2'].entries()) await q.setSchedule('some', name, { when: `@at ${at(n).toISOString()}` });
  await q.pauseSchedule('some', 'a.2');
  await q.pauseSchedule('some', 'b.1');
  const listed = async (options) => (await collect(q.schedules('some', options))).map(({ name }) => name);
  assert.deepEqual(await listed({}), ['a.1', 'a.2', 'b.1', 'b.2']);
  assert.deepEqual(await listed({ prefix: 'a.' }), ['a.1', 'a.2']);
  assert.deepEqual(await listed({ paused: true }), ['a.2', 'b.1']);
  assert.deepEqual(await listed({ paused: false }), ['a.1', 'b.2']);
  assert.deepEqual(await listed({ nextBefore: at(2) }), ['a.1', 'a.2']);
  assert.deepEqual(await listed({ prefix: 'b', paused: true, nextBefore: at(3) }), ['b.1']);
  assert.deepEqual(await listed({ prefix: 'b', paused: true, nextBefore: at(2) }), []);
});

const STATE = { schedule: 1n, nextMs: 0n, fired: 0n, version: 1, running: 0, failures: 0, paused: 0, marks: 0 };
const RULES = {
  ...{ originMs: 0n, startMs: 0n, endMs: 0n, count: 0n, windowMs: 0n, missedMax: 0, jitterMs: 0, failuresMax: 0 },
  ...{ dst: 0, missed: 0, overlap: 0, when: '@daily', zone: '', key: '', note: '', pauseNote: '' },
};
const TEMPLATE = { priority: 0xffff_ffff, ttrMs: 0, attributes: {}, body: new Uint8Array(0) };
/** The cursor of the last page. */
const LAST = { cursor: new Uint8Array(0) };
const FIRING = { instantMs: 60_000n, lastMs: 120_000n, instants: 2n, atMs: 130_000n, job: 0n, fired: 6 };

test('what only a newer server knows of a schedule is shown as unknown, and is not set', async () => {
  const newer = { ...RULES, dst: 200, missed: 201, overlap: 202 };
  const answers = {
    SCHEDULE_SHOW: ['SCHEDULE', { state: { ...STATE, paused: 203, marks: 0xfe }, ...newer, ...TEMPLATE, history: [FIRING, { ...FIRING, fired: 204 }] }],
    SCHEDULE_LIST: ['SCHEDULES', { ...LAST, schedules: [{ ...STATE, paused: 2, ...newer, topic: 't', name: 'n' }] }],
  };
  const server = await scripted(({ name }) => answers[name]);
  const q = await client(server);
  const shown = await q.showSchedule('t', 'n');
  const rules = { when: '@daily', dst: 'unknown', missed: 'unknown', overlap: 'unknown' };
  assert.deepEqual([shown.paused, shown.isHeld, shown.hasCome, shown.next, shown.rules], ['unknown', true, false, null, rules]);
  const firing = { instant: new Date(60_000), last: new Date(120_000), instants: 2n, at: new Date(130_000), job: null };
  assert.deepEqual(shown.history, [{ ...firing, fired: 'overlap' }, { ...firing, fired: 'unknown' }]);
  assert.deepEqual([Object.keys(shown.job), shown.job.attributes, shown.job.body.length], [['attributes', 'body'], {}, 0]);
  const [listed] = await collect(q.schedules('t'));
  assert.deepEqual([listed.paused, listed.rules], ['failures', rules]);
  await assert.rejects(q.setSchedule('t', 'n', { ...shown.rules, job: shown.job }), UsageError);
  assert.equal(server.seen('SCHEDULE_SET').length, 0);
});

test('a page of schedules may be short or empty: its answer says where the next one begins', async () => {
  const one = { ...STATE, ...RULES, topic: 't' };
  const pages = [
    { cursor: Uint8Array.of(1), schedules: [{ ...one, name: 'first' }] },
    { cursor: Uint8Array.of(2), schedules: [] },
    { ...LAST, schedules: [{ ...one, name: 'last' }] },
  ];
  const server = await scripted(({ name, fields }) => (name === 'SCHEDULE_LIST' ? ['SCHEDULES', pages[fields.cursor[0] ?? 0]] : undefined));
  const q = await client(server);
  const listed = await collect(q.schedules('t', { prefix: 'p', paused: false, nextBefore: 7n }));
  assert.deepEqual(listed.map(({ name }) => name), ['first', 'last']);
  const sent = server.seen('SCHEDULE_LIST').map(({ fields }) => fields);
  const same = { schedulesMax: SCHEDULES_LISTED_MAX, nextBeforeMs: 7n, paused: 2, topic: 't', prefix: 'p' };
  assert.deepEqual(sent.map(({ cursor, ...rest }) => [...cursor, rest]), [[same], [1, same], [2, same]]);
});

test('a fill and a preview are what the server says of them', async () => {
  const answers = {
    SCHEDULE_FILL: ['SCHEDULE_FILLED', { nextMs: 60_000n, bytes: 45n, instants: 9, pushed: 5, kept: 3, refused: 1 }],
    SCHEDULE_PREVIEW: ['INSTANTS', { zoneData: '2026f, bundled', instants: [{ instantMs: 60_000n, local: '1970-01-01 00:01:00 +00:00 UTC' }] }],
  };
  const server = await scripted(({ name }) => answers[name]);
  const q = await client(server);
  assert.deepEqual(await q.fillSchedule('t', 'n', { from: 5n, to: new Date(7), dryRun: true }), { instants: 9, pushed: 5, kept: 3, refused: 1, next: new Date(60_000) });
  await q.fillSchedule('t', 'n', { from: 0n, to: 7n });
  assert.deepEqual(server.seen('SCHEDULE_FILL').map(({ fields }) => fields), [
    { fromMs: 5n, toMs: 7n, dryRun: 1, topic: 't', name: 'n' },
    { fromMs: 0n, toMs: 7n, dryRun: 0, topic: 't', name: 'n' },
  ]);
  const instants = [{ instant: new Date(60_000), local: '1970-01-01 00:01:00 +00:00 UTC' }];
  assert.deepEqual(await q.previewSchedule({ when: '@daily' }), { zoneData: '2026f, bundled', instants });
  await q.previewSchedule({ when: '@weekly', zone: 'Europe/Berlin', failuresMax: 3 }, { from: 7n, count: 1_000 });
  const { pauseNote: _, ...rules } = RULES;
  assert.deepEqual(server.seen('SCHEDULE_PREVIEW').map(({ fields }) => fields), [
    { ...rules, fromMs: 0n, instantsMax: 5 },
    { ...rules, when: '@weekly', zone: 'Europe/Berlin', failuresMax: 3, fromMs: 7n, instantsMax: 1_000 },
  ]);
});

test('after a lost connection what sets, runs, fills or deletes a schedule is not repeated, and the rest is', async () => {
  const lost = new Set();
  const answers = {
    SCHEDULE_SHOW: ['SCHEDULE', { state: STATE, ...RULES, ...TEMPLATE, history: [] }],
    SCHEDULE_LIST: ['SCHEDULES', { ...LAST, schedules: [] }],
    SCHEDULE_PREVIEW: ['INSTANTS', { zoneData: '', instants: [] }],
  };
  const server = await scripted(({ name }, peer) => {
    if (!name.startsWith('SCHEDULE_')) return undefined;
    if (lost.has(name)) return answers[name] ?? ['DONE', {}];
    lost.add(name);
    peer.socket.destroy();
    return undefined;
  });
  const q = await client(server);
  await q.showSchedule('t', 'n');
  await collect(q.schedules('t'));
  await q.pauseSchedule('t', 'n');
  await q.resumeSchedule('t', 'n');
  await q.previewSchedule({ when: '@daily' });
  await assert.rejects(q.fillSchedule('t', 'n', { from: 1n, to: 2n }), OutcomeUnknownError);
  await assert.rejects(q.setSchedule('t', 'n', { when: '@daily' }), OutcomeUnknownError);
  await assert.rejects(q.runSchedule('t', 'n'), OutcomeUnknownError);
  await assert.rejects(q.deleteSchedule('t', 'n'), OutcomeUnknownError);
});
