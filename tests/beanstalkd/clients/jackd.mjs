// Runs jackd, unchanged, against a server: `jackd.mjs HOST PORT`.
//
// Its ids are text. It raises every refusal as an error with the server's words, and leaves YAML to a parser: `yaml`, as in its README.
// jackd 2.2.2 makes JSON of a Buffer, so its bodies are text. It forgets the end of the line of `pause-tube`; here the delay has it.
import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { argv } from 'node:process';

import { BODY_BYTES, LONG_S, PATIENCE_S, SHARED_JOBS, load, run, until } from './checks.mjs';

const Jackd = load('jackd');
const { parse } = load('yaml');
const [host, port] = [argv[2], Number(argv[3])];
const TTR_S = 60;
const CRLF = '\r\n';

const NOT_FOUND = { name: 'Error', message: 'NOT_FOUND' };
const TIMED_OUT = { name: 'Error', message: 'TIMED_OUT' };
// The answer to a command with YAML is another error.
const NO_STATS = { response: 'NOT_FOUND' };

async function connect() {
  const queue = new Jackd();
  await queue.connect({ host, port });
  return queue;
}

const ofJob = async (queue, id) => parse(await queue.statsJob(id));
const ofTube = async (queue, tube) => parse(await queue.statsTube(tube));

/** Reserves the job that must be next. */
async function reserve(queue, id, body) {
  const job = await queue.reserveWithTimeout(PATIENCE_S);
  assert.equal(job.id, id);
  if (body !== undefined) assert.equal(job.payload.toString(), body);
  return job;
}

const checks = {
  async 'put-and-reserve'(rig) {
    const queue = await rig.connect();
    const later = await queue.put('later', { priority: 20, ttr: 90 });
    const first = await queue.put({ order: 17 }, { priority: 10 });
    const delayed = await queue.put('delayed', { delay: LONG_S, ttr: 30 });
    const stats = await ofJob(queue, later);
    const wanted = { id: Number(later), tube: rig.tube, state: 'ready', pri: 20, delay: 0, ttr: 90, reserves: 0 };
    assert.deepEqual({ ...stats, ...wanted }, stats);
    const ofDelayed = await ofJob(queue, delayed);
    assert.deepEqual({ ...ofDelayed, state: 'delayed', pri: 0, delay: LONG_S, ttr: 30 }, ofDelayed);
    for (const [id, body] of [[first, '{"order":17}'], [later, 'later']]) {
      await reserve(queue, id, body);
      const { state, reserves } = await ofJob(queue, id);
      assert.deepEqual([state, reserves], ['reserved', 1]);
      await queue.delete(id);
      await assert.rejects(queue.delete(id), NOT_FOUND);
    }
    await assert.rejects(queue.reserveWithTimeout(0), TIMED_OUT);
    await queue.delete(delayed);
  },

  async tubes(rig) {
    const other = `${rig.tube}-other`;
    const queue = await connect();
    assert.deepEqual([await queue.getCurrentTube(), parse(await queue.listTubesWatched())], ['default', ['default']]);
    assert.equal(await queue.use(rig.tube), rig.tube);
    assert.equal(await queue.listTubeUsed(), rig.tube);
    assert.deepEqual([await queue.watch(rig.tube), await queue.watch(other), await queue.watch(other)], [2, 3, 3]);
    assert.deepEqual(parse(await queue.listTubesWatched()).sort(), ['default', rig.tube, other].sort());
    assert.deepEqual([await queue.ignore('default'), await queue.ignore(other)], [2, 1]);
    await assert.rejects(queue.ignore(rig.tube), { message: 'NOT_IGNORED' });
    const id = await queue.put('x');
    const names = parse(await queue.listTubes());
    assert.ok(names.includes(rig.tube) && names.includes('default'), names.join());
    await queue.delete(id);
    await queue.quit();
  },

  async 'reserve-of-nothing'(rig) {
    const queue = await rig.connect();
    await assert.rejects(queue.reserveWithTimeout(0), TIMED_OUT);
    await assert.rejects(queue.reserveWithTimeout(1), TIMED_OUT);
  },

  async 'reserve-waits'(rig) {
    const [consumer, producer] = [await rig.connect(), await rig.connect()];
    const waiting = consumer.reserve();
    await until(async () => (await ofTube(producer, rig.tube))['current-waiting'] === 1);
    const id = await producer.put('wakes');
    const job = await waiting;
    assert.deepEqual([job.id, job.payload.toString()], [id, 'wakes']);
    await consumer.delete(id);
  },

  async delay(rig) {
    const queue = await rig.connect();
    const id = await queue.put('soon', { delay: 1 });
    await reserve(queue, id, 'soon');
    await queue.release(id, { delay: 1 });
    await reserve(queue, id, 'soon');
    assert.equal((await ofJob(queue, id)).reserves, 2);
    await queue.release(id, { priority: 7, delay: LONG_S });
    await assert.rejects(queue.reserveWithTimeout(0), TIMED_OUT);
    const stats = await ofJob(queue, id);
    assert.deepEqual([stats.state, stats.pri], ['delayed', 7]);
    assert.ok(stats['time-left'] > LONG_S - PATIENCE_S && stats['time-left'] <= LONG_S, `${stats['time-left']} s left`);
    await queue.delete(id);
  },

  async 'release-with-priority'(rig) {
    const queue = await rig.connect();
    const first = await queue.put('first', { priority: 10 });
    const second = await queue.put('second', { priority: 20 });
    await reserve(queue, first);
    await queue.release(first, { priority: 30 });
    await reserve(queue, second);
    await reserve(queue, first);
    assert.equal((await ofJob(queue, first)).pri, 30);
    for (const id of [first, second]) await queue.delete(id);
  },

  async 'bury-and-kick'(rig) {
    const queue = await rig.connect();
    assert.equal(await queue.kick(10), 0);
    const ids = [];
    for (const priority of [1, 2, 3]) ids.push(await queue.put('x', { priority }));
    for (const id of ids) {
      await reserve(queue, id);
      await queue.bury(id, 5);
    }
    const delayed = await queue.put('delayed', { delay: LONG_S });
    assert.equal((await queue.peekBuried()).id, ids[0]);
    const stats = await ofJob(queue, ids[0]);
    assert.deepEqual([stats.state, stats.pri], ['buried', 5]);
    await assert.rejects(queue.reserveWithTimeout(0), TIMED_OUT);
    // Only buried jobs, as long as there are any.
    assert.deepEqual([await queue.kick(2), await queue.kick(10)], [2, 1]);
    assert.equal((await ofJob(queue, delayed)).state, 'delayed');
    assert.equal(await queue.kick(10), 1);
    for (const id of [...ids, delayed]) {
      assert.equal((await ofJob(queue, id)).state, 'ready');
      await queue.delete(id);
    }
  },

  async 'kick-job'(rig) {
    const queue = await rig.connect();
    const id = await queue.put('x', { delay: LONG_S });
    await queue.kickJob(id);
    await reserve(queue, id);
    await assert.rejects(queue.kickJob(id), NOT_FOUND);
    await queue.bury(id);
    await queue.kickJob(id);
    await reserve(queue, id);
    await queue.delete(id);
    await assert.rejects(queue.kickJob(id), NOT_FOUND);
  },

  async peek(rig) {
    const queue = await rig.connect();
    for (const name of ['peekReady', 'peekDelayed', 'peekBuried']) await assert.rejects(queue[name](), NOT_FOUND);
    const ready = await queue.put('ready', { priority: 2 });
    const mostUrgent = await queue.put('most urgent', { priority: 1 });
    const last = await queue.put('last', { delay: 2 * LONG_S });
    const delayed = await queue.put('delayed', { delay: LONG_S });
    const found = [await queue.peekReady(), await queue.peekDelayed(), await queue.peek(ready)];
    assert.deepEqual(found.map(({ id }) => id), [mostUrgent, delayed, ready]);
    assert.deepEqual(found.map(({ payload }) => payload.toString()), ['most urgent', 'delayed', 'ready']);
    for (const id of [ready, mostUrgent, last, delayed]) {
      await queue.delete(id);
      await assert.rejects(queue.peek(id), NOT_FOUND);
    }
  },

  async touch(rig) {
    const [queue, stranger] = [await rig.connect(), await rig.connect()];
    const id = await queue.put('x', { ttr: TTR_S });
    await reserve(queue, id);
    const left = async () => (await ofJob(queue, id))['time-left'];
    await until(async () => (await left()) <= TTR_S - 2);
    const begin = performance.now();
    await queue.touch(id);
    const found = await left();
    const tookS = Math.ceil((performance.now() - begin) / 1000);
    assert.ok(found >= TTR_S - tookS && found <= TTR_S, `${found} s left`);
    await assert.rejects(stranger.touch(id), NOT_FOUND);
    await queue.delete(id);
    await assert.rejects(queue.touch(id), NOT_FOUND);
  },

  async 'jobs-of-others'(rig) {
    const [queue, stranger] = [await rig.connect(), await rig.connect()];
    const id = await queue.put('x');
    await reserve(queue, id);
    for (const name of ['release', 'bury', 'delete']) await assert.rejects(stranger[name](id), NOT_FOUND);
    assert.equal((await ofJob(stranger, id)).state, 'reserved');
    await queue.delete(id);
    for (const name of ['release', 'bury', 'delete']) await assert.rejects(queue[name](id), NOT_FOUND);
    await assert.rejects(queue.statsJob(id), NO_STATS);
  },

  async 'reserve-job'(rig) {
    const [queue, stranger] = [await rig.connect(), await rig.connect()];
    for (const delay of [0, LONG_S]) {
      const id = await queue.put('x', { delay });
      const job = await queue.reserveJob(id);
      assert.deepEqual([job.id, job.payload.toString()], [id, 'x']);
      await assert.rejects(stranger.reserveJob(id), NOT_FOUND);
      await queue.delete(id);
      await assert.rejects(queue.reserveJob(id), NOT_FOUND);
    }
  },

  async stats(rig) {
    const queue = await rig.connect();
    const before = parse(await queue.stats());
    const id = await queue.put('x');
    const stats = parse(await queue.stats());
    for (const name of ['cmd-put', 'total-jobs']) assert.ok(stats[name] > before[name], name);
    const counts = ['current-jobs-ready', 'current-connections', 'current-producers', 'current-tubes', 'max-job-size', 'pid'];
    for (const name of counts) assert.ok(Number.isInteger(stats[name]) && stats[name] > 0, `${name}: ${stats[name]}`);
    assert.equal(stats.draining, false);
    await queue.delete(id);
  },

  async 'stats-tube'(rig) {
    const queue = await rig.connect();
    await assert.rejects(queue.statsTube(`${rig.tube}-unknown`), NO_STATS);
    const ids = [];
    for (const priority of [1, 2, 3, 2000]) ids.push(await queue.put('x', { priority }));
    for (const delay of [LONG_S, LONG_S]) ids.push(await queue.put('x', { delay }));
    await reserve(queue, ids[0]);
    await queue.bury((await reserve(queue, ids[1])).id);
    const found = await ofTube(queue, rig.tube);
    const jobs = { ready: 2, reserved: 1, delayed: 2, buried: 1 };
    for (const [name, count] of Object.entries(jobs)) assert.equal(found[`current-jobs-${name}`], count, name);
    const wanted = { name: rig.tube, 'total-jobs': 6, 'current-using': 1, 'current-watching': 1, 'current-waiting': 0, pause: 0 };
    assert.deepEqual({ ...found, ...wanted }, found);
    for (const id of ids) await queue.delete(id);
  },

  async 'pause-tube'(rig) {
    const queue = await rig.connect();
    await assert.rejects(queue.pauseTube(`${rig.tube}-unknown`, { delay: `1${CRLF}` }), NOT_FOUND);
    const id = await queue.put('x');
    await queue.pauseTube(rig.tube, { delay: `${LONG_S}${CRLF}` });
    await assert.rejects(queue.reserveWithTimeout(0), TIMED_OUT);
    const stats = await ofTube(queue, rig.tube);
    assert.equal(stats.pause, LONG_S);
    assert.ok(stats['pause-time-left'] > 0 && stats['pause-time-left'] <= LONG_S, `${stats['pause-time-left']} s left`);
    await queue.pauseTube(rig.tube, { delay: `1${CRLF}` });
    await reserve(queue, id);
    await queue.delete(id);
  },

  async 'two-consumers'(rig) {
    const producer = await rig.connect();
    const ids = [];
    for (let number = 0; number < SHARED_JOBS; number += 1) ids.push(await producer.put(`${number}`));
    const consumers = [await rig.connect(), await rig.connect()];
    // Each gets at least one.
    const first = await Promise.all(consumers.map((consumer) => consumer.reserveWithTimeout(PATIENCE_S)));
    const consume = async (consumer, own) => {
      for (;;) {
        await consumer.delete(own.at(-1));
        own.push((await consumer.reserveWithTimeout(0)).id);
      }
    };
    const taken = first.map(({ id }) => [id]);
    const ends = consumers.map((consumer, index) => assert.rejects(consume(consumer, taken[index]), TIMED_OUT));
    await Promise.all(ends);
    assert.deepEqual(taken.flat().sort(), ids.sort());
  },

  async 'closed-connection'(rig) {
    const [dying, queue] = [await rig.connect(), await rig.connect()];
    const id = await queue.put('x', { ttr: LONG_S });
    await reserve(dying, id);
    await assert.rejects(queue.reserveWithTimeout(0), TIMED_OUT);
    await rig.close(dying);
    await reserve(queue, id);
    await queue.delete(id);
  },

  async 'killed-connection'(rig) {
    const [dying, queue] = [await rig.connect(), await rig.connect()];
    const id = await queue.put('x', { ttr: LONG_S });
    await reserve(dying, id);
    // Without `quit`.
    dying.socket.destroy();
    await reserve(queue, id);
    await queue.delete(id);
  },

  async 'large-body'(rig) {
    const characters = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code));
    const text = `\r\nRESERVED 1 2\r\n${characters}`;
    const repeated = text.repeat(Math.floor(BODY_BYTES / Buffer.byteLength(text)));
    const body = repeated + '\n'.repeat(BODY_BYTES - Buffer.byteLength(repeated));
    assert.equal(Buffer.byteLength(body), BODY_BYTES);
    const queue = await rig.connect();
    const id = await queue.put(body);
    for (const found of [await queue.peek(id), await queue.reserveWithTimeout(PATIENCE_S)]) {
      assert.ok(Buffer.from(body).equals(found.payload), 'it is another body');
    }
    await queue.delete(id);
  },

  async 'job-too-big'(rig) {
    const queue = await rig.connect();
    const most = parse(await queue.stats())['max-job-size'];
    await assert.rejects(queue.put('x'.repeat(most + 1)), { message: 'JOB_TOO_BIG' });
    // The connection is as good as before.
    assert.equal(await queue.listTubeUsed(), rig.tube);
    const id = await queue.put('x'.repeat(most));
    assert.equal((await queue.peek(id)).payload.length, most);
    await queue.delete(id);
  },

  async 'deadline-soon'(rig) {
    const queue = await rig.connect();
    const id = await queue.put('x', { ttr: 1 });
    await reserve(queue, id);
    let warnings = 0;
    await until(async () => {
      // beanstalkd looks at the jobs of a connection when it sends something.
      try {
        await reserve(queue, id);
      } catch (error) {
        if (error.message !== 'DEADLINE_SOON') throw error;
        warnings += 1;
        return false;
      }
      // Without a warning, this program paused for longer than the job's ttr.
      return warnings > 0;
    });
    await queue.delete(id);
  },
};

await run('jackd', checks, connect);
