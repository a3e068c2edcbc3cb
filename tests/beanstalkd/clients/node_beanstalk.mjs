// Runs node-beanstalk, unchanged, against a server: `node_beanstalk.mjs HOST PORT`.
//
// It tells most refusals by `null` or `false`, parses YAML with js-yaml, and serializes bodies as JSON unless told otherwise.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { argv } from 'node:process';

import { BODY_BYTES, LONG_S, PATIENCE_S, SHARED_JOBS, load, run, until } from './checks.mjs';

const { Client } = load('node-beanstalk');
const [host, port] = [argv[2], Number(argv[3])];
const TTR_S = 60;
// Bodies are bytes.
const RAW = { serialize: (bytes) => Buffer.from(bytes), deserialize: (bytes) => bytes };

async function connect(options = {}) {
  const queue = new Client({ host, port, serializer: RAW, dataReadTimeoutMs: PATIENCE_S * 1000, ...options });
  await queue.connect();
  return queue;
}

const state = async (queue, id) => (await queue.statsJob(id)).state;
const put = (queue, body, { priority = 1024, delay = 0, ttr = TTR_S } = {}) => queue.put(body, ttr, priority, delay);

/** Reserves the job that must be next. */
async function reserve(queue, id, body) {
  const job = await queue.reserveWithTimeout(PATIENCE_S);
  assert.ok(job, 'no job is ready');
  assert.equal(job.id, id);
  if (body !== undefined) assert.equal(job.payload.toString(), body);
  return job;
}

const checks = {
  async 'put-and-reserve'(rig) {
    const queue = await rig.connect();
    const later = await put(queue, 'later', { priority: 20, ttr: 90 });
    const first = await put(queue, 'first', { priority: 10 });
    const delayed = await put(queue, 'delayed', { priority: 0, delay: LONG_S, ttr: 30 });
    assert.deepEqual([later.state, first.state, delayed.state], ['ready', 'ready', 'delayed']);
    const stats = await queue.statsJob(later.id);
    const wanted = { id: later.id, tube: rig.tube, state: 'ready', pri: 20, delay: 0, ttr: 90, reserves: 0 };
    assert.deepEqual({ ...stats, ...wanted }, stats);
    const ofDelayed = await queue.statsJob(delayed.id);
    assert.deepEqual({ ...ofDelayed, state: 'delayed', pri: 0, delay: LONG_S, ttr: 30 }, ofDelayed);
    for (const [{ id }, body] of [[first, 'first'], [later, 'later']]) {
      await reserve(queue, id, body);
      const { state: found, reserves } = await queue.statsJob(id);
      assert.deepEqual([found, reserves], ['reserved', 1]);
      assert.equal(await queue.delete(id), true);
      assert.equal(await queue.delete(id), false);
    }
    assert.equal(await queue.reserveWithTimeout(0), null);
    assert.equal(await queue.delete(delayed.id), true);
  },

  async 'json-bodies'(rig) {
    // As most of its users have it.
    const queue = await rig.connect({ serializer: undefined });
    const text = await queue.put('text');
    assert.equal((await queue.peekReady()).payload.toString(), 'text');
    await queue.delete(text.id);
    const json = new Client({ host, port });
    await json.connect();
    await json.use(rig.tube);
    const { id } = await json.put({ order: 17, customer: 'Grüße' }, TTR_S, 0);
    assert.deepEqual((await json.peek(id)).payload, { order: 17, customer: 'Grüße' });
    await json.delete(id);
    await json.disconnect();
  },

  async tubes(rig) {
    const other = `${rig.tube}-other`;
    const queue = await connect();
    assert.deepEqual([await queue.listTubeUsed(), await queue.listTubesWatched()], ['default', ['default']]);
    assert.equal(await queue.use(rig.tube), rig.tube);
    assert.equal(await queue.listTubeUsed(), rig.tube);
    assert.deepEqual([await queue.watch(rig.tube), await queue.watch(other), await queue.watch(other)], [2, 3, 3]);
    assert.deepEqual((await queue.listTubesWatched()).sort(), ['default', rig.tube, other].sort());
    assert.deepEqual([await queue.ignore('default'), await queue.ignore(other)], [true, true]);
    // NOT_IGNORED
    assert.equal(await queue.ignore(rig.tube), false);
    assert.deepEqual(await queue.listTubesWatched(), [rig.tube]);
    const { id } = await queue.put('x');
    const names = await queue.listTubes();
    assert.ok(names.includes(rig.tube) && names.includes('default'), names.join());
    await queue.delete(id);
    await queue.disconnect();
  },

  async 'reserve-of-nothing'(rig) {
    const queue = await rig.connect();
    assert.equal(await queue.reserveWithTimeout(0), null);
    assert.equal(await queue.reserveWithTimeout(1), null);
  },

  async 'reserve-waits'(rig) {
    const [consumer, producer] = [await rig.connect(), await rig.connect()];
    const waiting = consumer.reserve();
    await until(async () => (await producer.statsTube(rig.tube))['current-waiting'] === 1);
    const { id } = await producer.put('wakes');
    const job = await waiting;
    assert.deepEqual([job.id, job.payload.toString()], [id, 'wakes']);
    await consumer.delete(id);
  },

  async delay(rig) {
    const queue = await rig.connect();
    const { id } = await put(queue, 'soon', { delay: 1 });
    await reserve(queue, id, 'soon');
    assert.equal(await queue.release(id, 1024, 1), 'delayed');
    await reserve(queue, id, 'soon');
    assert.equal((await queue.statsJob(id)).reserves, 2);
    assert.equal(await queue.release(id, 7, LONG_S), 'delayed');
    assert.equal(await queue.reserveWithTimeout(0), null);
    const stats = await queue.statsJob(id);
    assert.deepEqual([stats.state, stats.pri], ['delayed', 7]);
    assert.ok(stats['time-left'] > LONG_S - PATIENCE_S && stats['time-left'] <= LONG_S, `${stats['time-left']} s left`);
    await queue.delete(id);
    assert.equal(await queue.release(id), null);
  },

  async 'release-with-priority'(rig) {
    const queue = await rig.connect();
    const first = await put(queue, 'first', { priority: 10 });
    const second = await put(queue, 'second', { priority: 20 });
    await reserve(queue, first.id);
    assert.equal(await queue.release(first.id, 30, 0), 'ready');
    await reserve(queue, second.id);
    await reserve(queue, first.id);
    assert.equal((await queue.statsJob(first.id)).pri, 30);
    for (const { id } of [first, second]) await queue.delete(id);
  },

  async 'bury-and-kick'(rig) {
    const queue = await rig.connect();
    assert.equal(await queue.kick(10), 0);
    const ids = [];
    for (const priority of [1, 2, 3]) ids.push((await put(queue, 'x', { priority })).id);
    for (const id of ids) {
      await reserve(queue, id);
      assert.equal(await queue.bury(id, 5), true);
    }
    const delayed = await put(queue, 'delayed', { delay: LONG_S });
    assert.equal((await queue.peekBuried()).id, ids[0]);
    const stats = await queue.statsJob(ids[0]);
    assert.deepEqual([stats.state, stats.pri], ['buried', 5]);
    assert.equal(await queue.reserveWithTimeout(0), null);
    // Only buried jobs, as long as there are any.
    assert.deepEqual([await queue.kick(2), await queue.kick(10)], [2, 1]);
    assert.equal(await state(queue, delayed.id), 'delayed');
    assert.equal(await queue.kick(10), 1);
    for (const id of [...ids, delayed.id]) {
      assert.equal(await state(queue, id), 'ready');
      await queue.delete(id);
    }
  },

  async 'kick-job'(rig) {
    const queue = await rig.connect();
    const { id } = await put(queue, 'x', { delay: LONG_S });
    assert.equal(await queue.kickJob(id), true);
    await reserve(queue, id);
    assert.equal(await queue.kickJob(id), false);
    await queue.bury(id);
    assert.equal(await queue.kickJob(id), true);
    await reserve(queue, id);
    await queue.delete(id);
    assert.equal(await queue.kickJob(id), false);
  },

  async peek(rig) {
    const queue = await rig.connect();
    assert.deepEqual([await queue.peekReady(), await queue.peekDelayed(), await queue.peekBuried()], [null, null, null]);
    const ready = await put(queue, 'ready', { priority: 2 });
    const mostUrgent = await put(queue, 'most urgent', { priority: 1 });
    const last = await put(queue, 'last', { delay: 2 * LONG_S });
    const delayed = await put(queue, 'delayed', { delay: LONG_S });
    const found = [await queue.peekReady(), await queue.peekDelayed(), await queue.peek(ready.id)];
    assert.deepEqual(found.map(({ id }) => id), [mostUrgent.id, delayed.id, ready.id]);
    assert.deepEqual(found.map(({ payload }) => payload.toString()), ['most urgent', 'delayed', 'ready']);
    for (const { id } of [ready, mostUrgent, last, delayed]) {
      await queue.delete(id);
      assert.equal(await queue.peek(id), null);
    }
  },

  async touch(rig) {
    const [queue, stranger] = [await rig.connect(), await rig.connect()];
    const { id } = await put(queue, 'x');
    await reserve(queue, id);
    const left = async () => (await queue.statsJob(id))['time-left'];
    await until(async () => (await left()) <= TTR_S - 2);
    const begin = performance.now();
    assert.equal(await queue.touch(id), true);
    const found = await left();
    const tookS = Math.ceil((performance.now() - begin) / 1000);
    assert.ok(found >= TTR_S - tookS && found <= TTR_S, `${found} s left`);
    assert.equal(await stranger.touch(id), false);
    await queue.delete(id);
    assert.equal(await queue.touch(id), false);
  },

  async 'jobs-of-others'(rig) {
    const [queue, stranger] = [await rig.connect(), await rig.connect()];
    const { id } = await queue.put('x');
    await reserve(queue, id);
    assert.deepEqual([await stranger.release(id), await stranger.bury(id), await stranger.delete(id)], [null, false, false]);
    assert.equal(await state(stranger, id), 'reserved');
    await queue.delete(id);
    assert.deepEqual([await queue.release(id), await queue.bury(id), await queue.statsJob(id)], [null, false, null]);
  },

  async 'reserve-job'(rig) {
    const [queue, stranger] = [await rig.connect(), await rig.connect()];
    for (const delay of [0, LONG_S]) {
      const { id } = await put(queue, 'x', { delay });
      const job = await queue.reserveJob(id);
      assert.deepEqual([job.id, job.payload.toString()], [id, 'x']);
      assert.equal(await stranger.reserveJob(id), null);
      await queue.delete(id);
      assert.equal(await queue.reserveJob(id), null);
    }
  },

  async stats(rig) {
    const queue = await rig.connect();
    const before = await queue.stats();
    const { id } = await queue.put('x');
    const stats = await queue.stats();
    for (const name of ['cmd-put', 'total-jobs']) assert.ok(stats[name] > before[name], name);
    const counts = ['current-jobs-ready', 'current-connections', 'current-producers', 'current-tubes', 'max-job-size', 'pid'];
    for (const name of counts) assert.ok(Number.isInteger(stats[name]) && stats[name] > 0, `${name}: ${stats[name]}`);
    assert.ok(Number.isInteger(stats.uptime), `uptime: ${stats.uptime}`);
    assert.equal(stats.draining, false);
    await queue.delete(id);
  },

  async 'stats-tube'(rig) {
    const queue = await rig.connect();
    assert.equal(await queue.statsTube(`${rig.tube}-unknown`), null);
    const ids = [];
    for (const priority of [1, 2, 3, 2000]) ids.push((await put(queue, 'x', { priority })).id);
    for (const delay of [LONG_S, LONG_S]) ids.push((await put(queue, 'x', { delay })).id);
    await reserve(queue, ids[0]);
    await queue.bury((await reserve(queue, ids[1])).id);
    const found = await queue.statsTube(rig.tube);
    const jobs = { ready: 2, reserved: 1, delayed: 2, buried: 1 };
    for (const [name, count] of Object.entries(jobs)) assert.equal(found[`current-jobs-${name}`], count, name);
    const wanted = { name: rig.tube, 'total-jobs': 6, 'current-using': 1, 'current-watching': 1, 'current-waiting': 0, pause: 0 };
    assert.deepEqual({ ...found, ...wanted }, found);
    for (const id of ids) await queue.delete(id);
  },

  async 'pause-tube'(rig) {
    const queue = await rig.connect();
    assert.equal(await queue.pauseTube(`${rig.tube}-unknown`, 1), false);
    const { id } = await queue.put('x');
    assert.equal(await queue.pauseTube(rig.tube, LONG_S), true);
    assert.equal(await queue.reserveWithTimeout(0), null);
    const stats = await queue.statsTube(rig.tube);
    assert.equal(stats.pause, LONG_S);
    assert.ok(stats['pause-time-left'] > 0 && stats['pause-time-left'] <= LONG_S, `${stats['pause-time-left']} s left`);
    assert.equal(await queue.pauseTube(rig.tube, 1), true);
    await reserve(queue, id);
    await queue.delete(id);
  },

  async 'two-consumers'(rig) {
    const producer = await rig.connect();
    const ids = [];
    for (let number = 0; number < SHARED_JOBS; number += 1) ids.push((await producer.put(`${number}`)).id);
    const consumers = [await rig.connect(), await rig.connect()];
    // Each gets at least one.
    const first = await Promise.all(consumers.map((consumer) => consumer.reserveWithTimeout(PATIENCE_S)));
    const taken = await Promise.all(consumers.map(async (consumer, index) => {
      const own = [];
      for (let job = first[index]; job; job = await consumer.reserveWithTimeout(0)) {
        own.push(job.id);
        assert.equal(await consumer.delete(job.id), true);
      }
      return own;
    }));
    assert.deepEqual(taken.flat().sort(), ids.sort());
  },

  async 'closed-connection'(rig) {
    const [dying, queue] = [await rig.connect(), await rig.connect()];
    const { id } = await put(queue, 'x', { ttr: LONG_S });
    await reserve(dying, id);
    assert.equal(await queue.reserveWithTimeout(0), null);
    await rig.close(dying);
    await reserve(queue, id);
    await queue.delete(id);
  },

  async 'large-body'(rig) {
    const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
    const body = Buffer.concat([Buffer.from('\r\nRESERVED 1 2\r\n'), bytes, randomBytes(BODY_BYTES)]).subarray(0, BODY_BYTES);
    const queue = await rig.connect();
    const { id } = await queue.put(body);
    for (const found of [await queue.peek(id), await queue.reserveWithTimeout(PATIENCE_S)]) {
      assert.ok(body.equals(found.payload), 'it is another body');
    }
    await queue.delete(id);
  },

  async 'job-too-big'(rig) {
    const most = (await (await rig.connect()).stats())['max-job-size'];
    const queue = await rig.connect({ maxPayloadSize: most + 1 });
    await assert.rejects(queue.put(Buffer.alloc(most + 1)), { name: 'BeanstalkError', code: 'JOB_TOO_BIG' });
    // The connection is as good as before.
    assert.equal(await queue.listTubeUsed(), rig.tube);
    const { id } = await queue.put(Buffer.alloc(most));
    assert.equal((await queue.peek(id)).payload.length, most);
    await queue.delete(id);
  },

  async 'deadline-soon'(rig) {
    const queue = await rig.connect();
    const { id } = await put(queue, 'x', { ttr: 1 });
    await reserve(queue, id);
    let warnings = 0;
    await until(async () => {
      // beanstalkd looks at the jobs of a connection when it sends something.
      try {
        await reserve(queue, id);
      } catch (error) {
        if (error.code !== 'DEADLINE_SOON') throw error;
        warnings += 1;
        return false;
      }
      // Without a warning, this program paused for longer than the job's ttr.
      return warnings > 0;
    });
    await queue.delete(id);
  },
};

await run('node-beanstalk', checks, connect);
