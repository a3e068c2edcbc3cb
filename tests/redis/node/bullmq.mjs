// Fills queues of BullMQ, or works on them, with the library itself: `bullmq.mjs PACKAGE PORT PREFIX fill|hold|feed|work`.
//
// `fill` and `hold` print a line for each job: its hash in Redis, and what becomes of it (see `Lines` in checks.py).
import { argv, stdin, stdout } from 'node:process';
import { createInterface } from 'node:readline';
import { finish, HOUR_MS, LARGE, LATER_MS, load, LOCK_MS, say } from './jobs.mjs';

const [, , name, port, prefix, mode] = argv;
const { FlowProducer, Queue, QueueEvents, Worker } = load(name);
const options = { connection: { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null }, prefix };
const queueOf = (topic) => new Queue(topic, options);

async function add(queue, jobName, data, jobOptions, expected) {
  say(prefix, queue.name, await queue.add(jobName, data, jobOptions), expected);
}

async function fillDelayed() {
  const mail = queueOf('mail');
  // Three of one millisecond: their scores differ.
  for (const n of [1, 2, 3]) await add(mail, 'same-ms', { n }, { delay: HOUR_MS, timestamp: LATER_MS - HOUR_MS });
  await add(mail, 'text', { to: 'a@example.org', ü: '订单 \u0000 "<>&' }, { delay: 2 * HOUR_MS });
  const exponential = { attempts: 5, backoff: { type: 'exponential', delay: 1000 } };
  await add(mail, 'all', {}, { delay: HOUR_MS, priority: 7, ...exponential }, { priority: 1031, attempts_max: 5, backoff: '1s..30d' });
  await add(mail, 'fixed', {}, { delay: HOUR_MS, attempts: 2, backoff: 1500 }, { attempts_max: 2, backoff: '1s500ms' });
  const own = { attempts: 2, backoff: { type: 'own', delay: 5000 } };
  await add(mail, 'own', {}, { delay: HOUR_MS, ...own }, { attempts_max: 2, backoff: '5s' });
  await add(mail, 'custom', { n: 6 }, { delay: HOUR_MS, jobId: 'order-77' }, { key: 'order-77' });
  await add(mail, 'known', { n: 7 }, { jobId: 'order-78' }, { becomes: 'left out', key: 'order-78' });
  await add(mail, 'overdue', { n: 8 }, { delay: 1000, timestamp: Date.now() - HOUR_MS });
  await add(mail, 'fraction', { n: 9 }, { delay: HOUR_MS + 0.75 });
  await add(mail, 'once', { n: 10 }, { delay: HOUR_MS, deduplication: { id: 'one', ttl: HOUR_MS } });
  await add(mail, 'far', {}, { delay: 40 * 365 * 24 * HOUR_MS }, { becomes: 'due in more than ten years' });
}

/** In the order in which BullMQ serves them. */
async function fillWaiting() {
  const order = queueOf('order');
  const waiting = [['first', 'a text'], ['second', [1, 2.5, null]], ['third', undefined], ['fourth', null], ['fifth', 5]];
  const jobs = await order.addBulk(waiting.map(([jobName, data]) => ({ name: jobName, data })));
  for (const job of [await order.add('last comes first', {}, { lifo: true }), ...jobs]) say(prefix, 'order', job);
  await add(order, 'urgent', { n: 6 }, { priority: 1, attempts: 3 }, { priority: 1025, attempts_max: 3 });
  for (const n of [7, 8]) await add(order, 'later', { n }, { priority: 10 }, { priority: 1034 });
  const paused = queueOf('paused');
  await paused.pause();
  for (const n of [1, 2]) await add(paused, 'paused', { n }, {});
  await add(paused, 'paused', { n: 3 }, { priority: 3 }, { priority: 1027 });
}

async function fillMany() {
  const many = queueOf('many');
  const addMany = async (first) => {
    const jobs = Array.from({ length: 300 }, (_, nth) => ({ name: 'many', data: { n: first + nth } }));
    for (const job of await many.addBulk(jobs)) say(prefix, 'many', job);
  };
  await addMany(0);
  const child = (topic, delay) => ({ name: 'child', queueName: topic, data: {}, opts: { delay } });
  const children = [child('many', 0), child('flow', HOUR_MS)];
  await queueOf('flow').waitUntilReady();
  const parent = await new FlowProducer(options).add({ name: 'parent', queueName: 'flow', data: {}, children });
  for (const { job } of parent.children) say(prefix, job.queueName, job, { becomes: 'it belongs to a flow' });
  say(prefix, 'flow', parent.job, { becomes: 'nothing' });
  await addMany(300);
  const large = queueOf('large');
  for (let n = 0; n < 6; n += 1) await add(large, 'large', LARGE, {});
}

async function fillSchedules() {
  const schedules = queueOf('schedules');
  const expected = { becomes: 'the next run of a repeated job' };
  const ever = await schedules.upsertJobScheduler('every-hour', { every: HOUR_MS }, { name: 'tick', data: {} });
  const daily = await schedules.upsertJobScheduler('daily', { pattern: '0 3 * * *', tz: 'UTC' }, { name: 'cron', data: {} });
  for (const job of [ever, daily]) say(prefix, 'schedules', job, expected);
  // As it was before job schedulers; BullMQ 6 has them alone.
  if (name === 'bullmq-5') await add(schedules, 'repeat', {}, { repeat: { every: 7 * HOUR_MS } }, expected);
}

/** Jobs that a worker has had: one waits for its second attempt, the others are over. */
async function fillWorked() {
  const work = queueOf('work');
  const events = new QueueEvents('work', { ...options, lastEventId: '0-0' });
  const ends = ['delayed', 'failed', 'completed'].map((event) => new Promise((happened) => {
    events.on(event, happened);
  }));
  const retried = await work.add('fails', { n: 1 }, { attempts: 3, backoff: { type: 'exponential', delay: HOUR_MS } });
  const over = [await work.add('fails', {}), await work.add('succeeds', {})];
  const run = async (job) => {
    if (job.name === 'fails') throw new Error('no route to host');
  };
  const worker = new Worker('work', run, options);
  const [delayed] = await Promise.all(ends);
  await worker.close();
  say(prefix, 'work', retried, { due_ms: Number(delayed.delay), attempts_max: 2, backoff: '2h..30d' });
  for (const job of over) say(prefix, 'work', job, { becomes: 'nothing' });
}

/** A worker that never ends its job, until it is killed. */
async function hold() {
  const held = await queueOf('held').add('held', { n: 1 }, { attempts: 3 });
  const take = () => {
    say(prefix, 'held', held, { becomes: 'held', attempts_max: 3 });
    return new Promise(() => {});
  };
  new Worker('held', take, { ...options, lockDuration: LOCK_MS }).on('error', () => {});
}

/** Adds jobs with the numbers of each line: the first of them, and how many. */
async function feed() {
  const race = queueOf('race');
  for await (const line of createInterface({ input: stdin })) {
    const [first, count] = line.split(' ').map(Number);
    const numbers = Array.from({ length: count }, (_, nth) => first + nth);
    const jobs = numbers.map((n) => ({
      name: 'race', data: { n }, opts: { delay: n % 3 ? n % 300 : 0, priority: n % 5 ? 0 : n % 7, attempts: 3, backoff: 20 },
    }));
    await race.addBulk(jobs);
  }
}

/** Prints the number of each job that is done. Some fail at first. */
function work() {
  const run = async (job) => {
    if (job.data.n % 10 === 0 && job.attemptsMade === 0) throw new Error('again');
    stdout.write(`${job.data.n}\n`);
  };
  new Worker('race', run, { ...options, concurrency: 5 });
}

async function fill() {
  for (const part of [fillDelayed, fillWaiting, fillMany, fillSchedules, fillWorked]) await part();
}

await { fill, hold, feed, work }[mode]();
if (mode === 'fill' || mode === 'feed') finish();
