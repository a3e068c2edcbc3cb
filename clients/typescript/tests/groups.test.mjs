// Groups: against a server whose clock the test moves, and what a newer server shows of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidError, NotFoundError, WrongStateError } from 'adjourn';
import { GROUPS_LISTED_MAX } from 'adjourn/protocol';
import { startQueue } from 'adjourn/testing';
import { client, scripted } from './support/scripted.mjs';

const collect = async (items) => {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
};

test('groups of a topic are listed, held back by a limit, weighted, paused and resumed, and say why', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await q.setTopic('mails', { groupLeasesMax: 1 });
  const [first, ...waiting] = await q.pushMany('mails', [{ group: 'ann' }, { group: 'ann' }, { group: 'ann' }, { group: 'bob', key: 'of bob' }]);
  const listed = async (options) => (await collect(q.groups('mails', options))).map(({ name, ready, reserved, weight, isPaused }) => [name, ready, reserved, weight, isPaused]);
  assert.deepEqual(await listed(), [['ann', 3n, 0n, 1, false], ['bob', 1n, 0n, 1, false]]);
  assert.deepEqual(await listed({ prefix: 'b' }), [['bob', 1n, 0n, 1, false]]);
  assert.deepEqual((await collect(q.groups('mails'))).map(({ hold }) => hold), [null, null]);

  await q.advance(5_000);
  const jobs = await q.reserve('mails', { max: 10 });
  assert.deepEqual(jobs.map((job) => job.attributes.group).sort(), ['ann', 'bob'], 'one of each group');
  const [ann] = await collect(q.groups('mails', { prefix: 'ann' }));
  assert.deepEqual([ann.ready, ann.reserved, ann.hold], [2n, 1n, 'group_leases']);
  assert.ok(ann.oldestMs >= 5_000n, `${ann.oldestMs}`);

  const [reason] = await q.why(waiting[0].id);
  assert.deepEqual([reason.why, reason.jobs], ['group_leases', 1n]);
  assert.ok(reason.text.length > 0);
  assert.equal((await q.why(first.id))[0].why, 'reserved');
  assert.equal((await q.why({ topic: 'mails', key: 'of bob' }))[0].why, 'reserved');
  assert.ok((await q.whyTopic('mails')).length > 0);
  assert.equal((await q.whyTopic('mails', { group: 'ann' }))[0].why, 'group_leases');
  await assert.rejects(q.why(999_999n), NotFoundError);

  await q.setGroup('mails', 'bob', { weight: 5, paused: true });
  assert.deepEqual(await listed(), [['ann', 2n, 1n, 1, false], ['bob', 0n, 1n, 5, true]]);
  await q.push('mails', 'x', { group: 'bob' });
  await q.finish(jobs);
  const next = await q.reserve('mails', { max: 10 });
  assert.deepEqual(next.map((job) => job.attributes.group), ['ann'], 'bob is paused');
  assert.equal((await collect(q.groups('mails', { prefix: 'bob' })))[0].hold, 'group_paused');
  await q.setGroup('mails', 'bob', { paused: false });
  assert.deepEqual(await listed({ prefix: 'bob' }), [['bob', 1n, 0n, 5, false]]);
  const [last] = await q.reserve('mails');
  assert.equal(last.attributes.group, 'bob');
});

test('jobs are listed and counted by their group, and an edit moves one to another group or takes it away', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const [first] = await q.pushMany('mails', [{ group: 'ann', delayMs: 60_000 }, { group: 'ann' }, { group: 'bob' }, {}]);
  assert.equal(await q.count({ topic: 'mails', group: 'ann' }), 2n);
  const [listed, ...others] = await collect(q.list({ topic: 'mails', group: 'bob' }));
  assert.deepEqual([listed.attributes.group, others], ['bob', []]);
  await q.edit(first.id, { group: 'bob' });
  assert.equal((await q.get(first.id)).attributes.group, 'bob');
  await q.edit(first.id, { priority: 5 });
  assert.equal((await q.get(first.id)).attributes.group, 'bob', 'it stays');
  await q.edit(first.id, { group: null });
  assert.equal((await q.get(first.id)).attributes.group, undefined);
  assert.deepEqual([await q.count({ topic: 'mails', group: 'ann' }), await q.count({ group: 'bob' })], [1n, 1n]);
});

test('the settings of groups are set, shown and taken away, and without them a group has none', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  await assert.rejects(q.setGroup('mails', 'ann', { weight: 5 }), NotFoundError);
  await q.push('mails', 'x', { group: 'ann' });
  await assert.rejects(q.setGroup('mails', 'ann', { weight: 5 }), WrongStateError);
  const policy = { fair: true, groupLeasesMax: 2, groupPerSecondMax: 50, groupBurst: 5, groupOrder: 'fifo', groupOnBury: 'continue' };
  await q.setTopic('mails', policy);
  const shown = (await q.showTopic('mails')).policy;
  assert.deepEqual(Object.fromEntries(Object.keys(policy).map((name) => [name, shown[name]])), policy);
  await q.setGroup('mails', 'ann', { weight: 1_000 });
  await q.setTopic('mails', { fair: false, groupLeasesMax: null, groupPerSecondMax: null, groupBurst: null, groupOrder: null, groupOnBury: null });
  const left = (await q.showTopic('mails')).policy;
  assert.deepEqual(Object.keys(policy).filter((name) => name in left), []);
  await assert.rejects(q.setTopic('mails', { groupOrder: 'lifo' }), InvalidError);
});

const STATE = { ready: 2n, reserved: 1n, oldestMs: 5n, untilMs: 0n, weight: 1, hold: 0, paused: 0 };

test('what only a newer server knows of a reason is shown as unknown', async () => {
  const text = 'a sentence';
  const reasons = [{ why: 200, sinceMs: 0n, untilMs: 0n, jobs: 0n, text }, { why: 11, sinceMs: 30_000n, untilMs: 60_000n, jobs: 7n, text: '' }];
  const answers = {
    GROUP_LIST: ['GROUPS', { after: '', groups: [{ ...STATE, name: 'a', hold: 200 }, { ...STATE, name: 'b', hold: 7, untilMs: 60_000n, paused: 1 }, { ...STATE, name: 'c' }] }],
    WHY: ['REASONS', { reasons }],
    TOPIC_WHY: ['REASONS', { reasons }],
  };
  const server = await scripted(({ name }) => answers[name]);
  const q = await client(server);
  const same = { ready: 2n, reserved: 1n, oldestMs: 5n, weight: 1, isPaused: false, until: null };
  assert.deepEqual(await collect(q.groups('t')), [
    { name: 'a', ...same, hold: 'unknown' },
    { name: 'b', ...same, isPaused: true, hold: 'group_rate', until: new Date(60_000) },
    { name: 'c', ...same, hold: null },
  ]);
  const shown = [{ why: 'unknown', since: null, until: null, jobs: 0n, text }, { why: 'behind', since: new Date(30_000), until: new Date(60_000), jobs: 7n, text: '' }];
  assert.deepEqual(await q.why({ topic: 't', key: 'k' }), shown);
  assert.deepEqual(await q.whyTopic('t'), shown);
  assert.deepEqual(await q.whyTopic('t', { group: 'g' }), shown);
  assert.equal(server.seen('WHY')[0].fields.reference.key, 'k');
  assert.deepEqual(server.seen('TOPIC_WHY').map(({ fields }) => fields), [{ topic: 't', group: '' }, { topic: 't', group: 'g' }]);
});

test('a page of groups may be short or empty: its answer says where the next one begins', async () => {
  const pages = new Map([
    ['', { after: 'm', groups: [{ ...STATE, name: 'first' }] }],
    ['m', { after: 'q', groups: [] }],
    ['q', { after: '', groups: [{ ...STATE, name: 'third' }] }],
  ]);
  const server = await scripted(({ name, fields }) => (name === 'GROUP_LIST' ? ['GROUPS', pages.get(fields.after)] : undefined));
  const q = await client(server);
  assert.deepEqual((await collect(q.groups('t', { prefix: 'p' }))).map(({ name }) => name), ['first', 'third']);
  const sent = server.seen('GROUP_LIST').map(({ fields }) => fields);
  assert.deepEqual(sent, [...pages.keys()].map((after) => ({ groupsMax: GROUPS_LISTED_MAX, topic: 't', after, prefix: 'p' })));
});

test('a change of a group sends what changes, and is repeated after a lost connection, as are the questions', async () => {
  const lost = new Set();
  const reasons = ['REASONS', { reasons: [{ why: 0, sinceMs: 0n, untilMs: 0n, jobs: 0n, text: '' }] }];
  const answers = { GROUP_SET: ['DONE', {}], GROUP_LIST: ['GROUPS', { after: '', groups: [] }], WHY: reasons, TOPIC_WHY: reasons };
  const server = await scripted(({ name }, peer) => {
    if (!(name in answers) || lost.has(name)) return answers[name];
    lost.add(name);
    peer.socket.destroy();
    return undefined;
  });
  const q = await client(server);
  await q.setGroup('t', 'g', { weight: 1_000 });
  await q.setGroup('t', 'g', { paused: true });
  await q.setGroup('t', 'g', { weight: 1, paused: false });
  const sent = server.seen('GROUP_SET').map(({ fields: { weight, pause } }) => [weight, pause]);
  assert.deepEqual(sent, [[1_000, 0], [1_000, 0], [0, 1], [1, 2]]);
  assert.deepEqual(await collect(q.groups('t')), []);
  assert.equal((await q.why(1n))[0].why, 'next');
  assert.equal((await q.whyTopic('t'))[0].why, 'next');
  assert.equal(lost.size, 4);
});
