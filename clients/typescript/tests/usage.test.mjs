// Calls that would lose an argument without a word: each is refused, and says what to write.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ThreadPool, UsageError, Worker, connect } from 'adjourn';
import { TestQueue } from 'adjourn/testing';
import { Server } from './support/server.mjs';

const server = await Server.start();
const q = await connect(server.url);
after(async () => {
  await q.close();
  await server.stop();
});

const lease = { id: 1n, fence: 1n };
const all = async (iterable) => {
  for await (const _ of iterable);
};

const WRONG = [
  [() => connect(server.url, { timeout: 5 }), /connect has no option "timeout": there are/],
  [() => connect(server.url, { connectTimeout: 5 }), /write connectTimeoutMs/],
  [() => connect(server.url, { tracing: true }), /write tracing: openTelemetry/],
  [() => connect('adjourns://127.0.0.1:1', { tls: { certFile: 'x' } }), /tls has no option "certFile": write cert/],
  [() => q.push('t', 'x', { delay: 5 }), /a job has no option "delay": write delayMs/],
  [() => q.push('t', 'x', { attempts: 5 }), /write attemptsMax/],
  [() => q.push('t', 'x', { body: 'y' }), /no option "body"/],
  [() => q.push('t', 'x', 5), /are an object/],
  [() => q.push('t', 'x', { headers: [['a', 'b']] }), /headers must be an object of names and texts: write \{ name: 'text' \}/],
  [() => q.push('t', 'x', { headers: new Map([['a', 'b']]) }), /headers must be an object/],
  [() => q.push('t', 'x', { headers: 'ab' }), /headers must be an object/],
  [() => q.push('t', 'x', { headers: { a: 1 } }), /headers: the value of "a" is 1, it must be a text/],
  [() => q.push('t', 'x', { attributes: { foo: 1 } }), /attributes has no option "foo": there are headers/],
  [() => q.push('t', 'x', { attributes: 5 }), /attributes are an object/],
  [() => q.push('t', 'x', { attributes: { headers: { a: 'b' } } }), /write \[\['name', 'text'\]\], or the option headers/],
  [() => q.push('t', 'x', { attributes: { headers: ['ab'] } }), /attributes.headers must be a list of pairs/],
  [() => q.push('t', 'x', { attributes: { group: 5 } }), /5: a group is a text/],
  [() => q.push('t', 'x', { group: '' }), /a group has 1 to 255 bytes/],
  [() => q.push('t', 'x', { group: 'ü'.repeat(128) }), /a group has 1 to 255 bytes/],
  [() => q.push('t', 'x', { group: 'a\n' }), /a group has no control characters/],
  [() => q.push('t', 'x', { group: null }), /null: a group is a text/],
  [() => q.push('t', 'x', { backoff: null }), /null is no backoff/],
  [() => q.push('t', 'x', { backoff: { kind: 'list' } }), /a backoff list has 1 to 32 waits/],
  [() => q.push('t', 'x', { ifExists: 'keep' }), /give the job a key/],
  [() => q.push('t', 'x', { backoff: { kind: 'fixed', waitMs: 1, jitter: 5 } }), /write jitterPercent/],
  [() => q.push('t', 'x', { backoff: { kind: 'slow' } }), /kind is one of/],
  [() => q.pushMany('t', [{ order: 1 }]), /no option "order".*a body alone is written \{ body: \.\.\. \}/],
  [() => q.pushMany('t', ['x']), /a body alone is written/],
  [() => q.pushMany('t', [new Uint8Array(1)]), /a body alone is written/],
  [() => q.pushMany('t', 'xyz'), /a list of jobs/],
  [() => q.pushMany('t', { body: 'x' }), /a list of jobs/],
  [() => q.reserve('t', { wait: 5 }), /write waitMs/],
  [() => q.subscribe('t', { prefetch: 5 }), /there are credit/],
  [() => q.reserve(5), /topics must be a text or a list/],
  [() => q.reserve('t', { weights: 5 }), /weights must be a list/],
  [() => q.finish(undefined), /a lease is a job that this client has reserved, or \{ id, fence \}/],
  [() => q.finish([lease, null]), /a lease is a job/],
  [() => q.finish({ id: 1, fence: 1 }), /both of type bigint/],
  [() => q.touch(undefined), /a lease is a job/],
  [() => q.bury(lease, 5), /a reason must be a text/],
  [() => q.release(lease, null), /how is undefined/],
  [() => q.release(lease, { how: 'backoff', reason: 5 }), /a reason must be a text/],
  [() => q.finish(lease, { timeoutMs: 5 }), /FINISH has no option "timeoutMs"/],
  [() => q.release(lease, { delayMs: 5 }), /how is undefined/],
  [() => q.release(lease, { how: 'backoff', delayMs: 5 }), /no option "delayMs"/],
  [() => q.get(17), /its id, a bigint/],
  [() => q.get({ id: 17 }), /write 17n/],
  [() => q.get(17n, { wait: 1 }), /GET has no option "wait"/],
  [() => q.reschedule(17n, { delayMs: 5, at: new Date() }), /reschedule to when/],
  [() => q.reschedule(17n, { delay: 5 }), /write delayMs/],
  [() => q.edit(17n), /the options of an edit are an object/],
  [() => q.edit(17n, {}), /an edit of what\? Name at least one part/],
  [() => q.edit(17n, { priority: undefined }), /at least one part/],
  [() => q.edit(17n, { delay: 5 }), /an edit has no option "delay": write delayMs/],
  [() => q.edit(17n, { delayMs: 5, at: new Date() }), /exclude each other/],
  [() => q.edit(17n, { delayMs: null }), /always due at some time/],
  [() => q.edit(17n, { at: null, delayMs: 5 }), /always due at some time/],
  [() => q.edit(17n, { expiresAfterMs: 5, expiresAt: new Date() }), /exclude each other/],
  [() => q.edit(17n, { priority: -1 }), /priority is -1/],
  [() => q.edit(17n, { ttrMs: 0 }), /ttrMs is 0, it must be at least/],
  [() => q.edit(17n, { attemptsMax: 0 }), /attemptsMax is a whole number from 1 on/],
  [() => q.edit(17n, { group: '' }), /a group has 1 to 255 bytes/],
  [() => q.edit(17n, { headers: [['a', 'b']] }), /headers must be an object of names and texts/],
  [() => q.edit(17n, { backoff: { kind: 'slow' } }), /kind is one of/],
  [() => q.edit(17n, { body: () => {} }), /cannot be written as JSON/],
  [() => q.edit(17, { priority: 5 }), /its id, a bigint/],
  [() => q.edit(17n, { priority: 5, ifVersion: 5n }), /an edit has no option "ifVersion"/],
  [() => q.edit(17n, { priority: 5 }, { version: 5n }), /edit has no option "version"/],
  [() => q.count({ topik: 't' }), /a filter has no option "topik"/],
  [() => q.count({ states: 'ready' }), /states must be a list: write states: \['ready'\]/],
  [() => q.count({ keyPrefix: 5 }), /keyPrefix must be a text or bytes/],
  [() => q.count({ reason: 5 }), /reason must be a text/],
  [() => q.count({ group: '' }), /a group has 1 to 255 bytes/],
  [() => q.count({ group: 5 }), /5: a group is a text/],
  [() => all(q.list({ state: ['ready'] })), /write states/],
  [() => all(q.list({}, { limit: 5 })), /list has no option "limit"/],
  [() => all(q.bulk({ change: 'delete' }, { topics: 't' })), /write topic/],
  [() => all(q.bulk(null, {})), /change is none of/],
  [() => all(q.bulk({ change: 'kick', to: 't' }, {})), /no option "to"/],
  [() => all(q.bulk({ change: 'kick' }, {}, { pageSize: 5 })), /bulk has no option/],
  [() => q.kickMany('t', Number.NaN), /max is NaN/],
  [() => q.pause('t', { for: 5 }), /pause has no option "for"/],
  [() => q.pause('t', { forMs: 0 }), /forMs is 0: leave it out/],
  [() => q.pause('t', { forMs: -1 }), /forMs is -1/],
  [() => q.pause('t', { forMs: '5' }), /forMs is 5: give a whole number/],
  [() => q.setTopic('t', { rateMax: 5 }), /write rate/],
  [() => q.setTopic('t', { callBackBody: '' }), /callBackBody must not be empty: write null to take the setting away/],
  [() => q.setTopic('t', { late: { afterMs: 5, action: 'bury', overMs: 5 } }), /no option "overMs"/],
  [() => q.setTopic('t', { fair: 1 }), /fair must be true or false/],
  [() => q.setTopic('t', { groupOrder: '' }), /groupOrder must not be empty/],
  [() => q.setGroup('t', 'ann'), /the options of a group are an object/],
  [() => q.setGroup('t', 'ann', {}), /what changes of the group\? Write \{ weight: 5 \}, or \{ paused: true \}/],
  [() => q.setGroup('t', 'ann', { weight: undefined }), /what changes of the group/],
  [() => q.setGroup('t', 'ann', { weight: 0 }), /weight is 0, it must be a whole number from 1 to 1000/],
  [() => q.setGroup('t', 'ann', { weight: 1_001 }), /weight is 1001/],
  [() => q.setGroup('t', 'ann', { weight: 1.5 }), /weight is 1.5/],
  [() => q.setGroup('t', 'ann', { paused: 1 }), /paused must be true or false/],
  [() => q.setGroup('t', 'ann', { pause: true }), /a group has no option "pause": write paused/],
  [() => q.setGroup('t', '', { weight: 5 }), /a group has 1 to 255 bytes/],
  [() => q.setGroup('t', 'g'.repeat(256), { weight: 5 }), /a group has 1 to 255 bytes/],
  [() => q.setGroup('t', undefined, { weight: 5 }), /a group is a text/],
  [() => q.setGroup('', 'ann', { weight: 5 }), /a topic has 1 to/],
  [() => all(q.groups('t', { pageSize: 5 })), /groups has no option "pageSize"/],
  [() => all(q.groups('t', { prefix: 5 })), /prefix must be a text/],
  [() => all(q.groups('t', { prefix: 'g'.repeat(256) })), /256 bytes where at most 255 fit/],
  [() => q.why(17), /its id, a bigint/],
  [() => q.why({ topic: 't', key: '' }), /a key has 1 to/],
  [() => q.whyTopic('t', { group: '' }), /a group has 1 to 255 bytes/],
  [() => q.whyTopic('t', 'ann'), /the options of whyTopic are an object/],
  [() => q.setSchedule('t', 'n', '@daily'), /the options of a schedule are an object/],
  [() => q.setSchedule('t', 'n', {}), /write when: '0 9/i],
  [() => q.setSchedule('t', '', { when: '@daily' }), /name of a schedule has 0 bytes/],
  [() => q.setSchedule('t', 'n'.repeat(256), { when: '@daily' }), /name of a schedule has 256 bytes/],
  [() => q.setSchedule('t', 5, { when: '@daily' }), /5 is no name of a schedule/],
  [() => q.setSchedule('t', 'n', { when: '@daily', body: 'x' }), /a schedule has no option "body"/],
  [() => q.setSchedule('t', 'n', { when: '@daily', jitter: 5 }), /no option "jitter": write jitterMs/],
  [() => q.setSchedule('t', 'n', { when: '@daily', jitterMs: 86_400_001 }), /jitterMs is 86400001 ms, at most 86400000/],
  [() => q.setSchedule('t', 'n', { when: '@daily', overlap: 'queue' }), /overlap is queue, it must be one of skip, allow, queue_one, replace/],
  [() => q.setSchedule('t', 'n', { when: '@daily', missed: 'unknown' }), /missed is unknown/],
  [() => q.setSchedule('t', 'n', { when: '@daily', missedMax: 1_001 }), /missedMax is 1001/],
  [() => q.setSchedule('t', 'n', { when: '@daily', count: 0 }), /count is 0: leave it out/],
  [() => q.setSchedule('t', 'n', { when: '@every 1h', origin: new Date(0) }), /origin is 0: leave it out/],
  [() => q.setSchedule('t', 'n', { when: '@daily', start: '2030-01-01' }), /ISO 8601 time with a zone/],
  [() => q.setSchedule('t', 'n', { when: '@daily', zone: 5 }), /zone must be a text/],
  [() => q.setSchedule('t', 'n', { when: '@daily', key: '' }), /a key has 1 to/],
  [() => q.setSchedule('t', 'n', { when: '@daily', job: 'x' }), /the options of the job of a schedule are an object/],
  [() => q.setSchedule('t', 'n', { when: '@daily', job: { delayMs: 5 } }), /the job of a schedule has no option "delayMs"/],
  [() => q.setSchedule('t', 'n', { when: '@daily', job: { body: new Uint8Array(1_048_577) } }), /a body in bytes/],
  [() => q.setSchedule('t', 'n', { when: '@daily' }, { ifVersion: 0 }), /ifVersion is 0/],
  [() => q.setSchedule('t', 'n', { when: '@daily' }, { ifVersion: 4_294_967_295 }), /ifVersion is 4294967295/],
  [() => q.setSchedule('t', 'n', { when: '@daily' }, { version: 1 }), /setSchedule has no option "version"/],
  [() => q.showSchedule('t'), /undefined is no name of a schedule/],
  [() => all(q.schedules('t', { pageSize: 5 })), /schedules has no option "pageSize"/],
  [() => all(q.schedules('t', { prefix: 5 })), /prefix must be a text/],
  [() => all(q.schedules('t', { prefix: 'n'.repeat(256) })), /256 bytes where at most 255 fit/],
  [() => all(q.schedules('t', { paused: 'no' })), /paused must be true or false/],
  [() => all(q.schedules('t', { nextBefore: new Date(0) })), /nextBefore is 0: leave it out/],
  [() => all(q.schedules('')), /a topic has 1 to/],
  [() => q.fillSchedule('t', 'n'), /the options of the time to fill are an object/],
  [() => q.fillSchedule('t', 'n', { from: 1n }), /to must be a Date or a text/],
  [() => q.fillSchedule('t', 'n', { from: '2024-01-01', to: 2n }), /ISO 8601 time with a zone/],
  [() => q.fillSchedule('t', 'n', { from: 1n, to: 2n, dryRun: 1 }), /dryRun must be true or false/],
  [() => q.fillSchedule('t', 'n', { from: 1n, to: 2n, dry: true }), /no option "dry": there are from, to, dryRun/],
  [() => q.fillSchedule('t', '', { from: 1n, to: 2n }), /name of a schedule has 0 bytes/],
  [() => q.previewSchedule('@daily'), /the options of a schedule are an object/],
  [() => q.previewSchedule({}), /write when: '0 9/i],
  [() => q.previewSchedule({ when: '@daily' }, { count: 1_001 }), /count is 1001, it must be a whole number from 1 to 1000/],
  [() => q.previewSchedule({ when: '@daily' }, { from: new Date(0) }), /from is 0: leave it out/],
  [() => q.previewSchedule({ when: '@daily' }, { to: 5n }), /previewSchedule has no option "to"/],
  [() => q.disconnect(1n, { endsSession: true }), /disconnect has no option/],
  [() => new Worker(q, { topics: 't', handler: () => {}, credit: 5 }), /a worker has no option "credit"/],
  [() => new Worker(q, { topics: 't', handler: () => {}, middleware: () => {} }), /middleware must be a list of functions/],
  [() => new Worker(q, { topics: 't' }), /handler is a function/],
  [() => new Worker(q, { topics: 't', handler: () => {}, runMsMax: '60000' }), /runMsMax must be a number of milliseconds from 0 on, not 60000/],
  [() => new Worker(q, { topics: 't', handler: () => {}, runMsMax: Number.NaN }), /runMsMax must be a number of milliseconds/],
  [() => new Worker(q, { topics: 't', handler: () => {}, runMsMax: 0 }), /runMsMax is 0, it must be at least 1/],
  [() => new Worker(q, { topics: 't', handler: () => {}, stopTimeoutMs: '5000' }), /stopTimeoutMs must be a number of milliseconds/],
  [() => new Worker(q, { topics: 't', handler: () => {}, stopTimeoutMs: -1 }), /stopTimeoutMs must be a number of milliseconds/],
  [() => new ThreadPool('x', { threads: 1, killAfterMs: '5' }), /killAfterMs must be a number of milliseconds/],
  [() => new ThreadPool('x', { threads: 1, size: 5 }), /a thread pool has no option/],
  [() => TestQueue.start({ now: new Date() }), /a queue for tests has no option/],
];

for (const [at, [call, says]] of WRONG.entries()) {
  test(`refused: ${String(call).slice(6)} (${at})`, async () => {
    await assert.rejects(async () => call(), (error) => error instanceof UsageError && says.test(error.message));
    assert.equal(await q.count({ topic: 't' }), 0n);
  });
}

test('a header without a value is not there, and a default one is checked, too, and loses against those of the job', async (t) => {
  // There is room for one of these.
  const [long, wire] = ['l'.repeat(600), 'w'.repeat(600)];
  let given = { none: undefined, 'content-type': 'default', a: 'default', b: 'default', d: long };
  const other = await connect(server.url, { pushHeaders: () => given });
  t.after(() => other.close());
  const id = await other.push('headers', 'x', { headers: { a: 'own', c: undefined }, attributes: { headers: [['content-type', 'wire'], ['d', wire]] } });
  assert.deepEqual({ ...(await other.get(id)).headers }, { 'content-type': 'wire', a: 'own', b: 'default', d: wire });
  given = { a: 5 };
  await assert.rejects(async () => other.push('headers', 'x'), (error) => error instanceof UsageError && /pushHeaders of connect: the value of "a" is 5/.test(error.message));
});
