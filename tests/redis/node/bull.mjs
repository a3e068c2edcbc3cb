// Fills queues of Bull, or works on them, with the library itself: `bull.mjs PACKAGE PORT PREFIX fill|hold`. It prints lines as bullmq.mjs
// does.
import { argv } from 'node:process';
import { finish, HOUR_MS, LATER_MS, load, LOCK_MS, say } from './jobs.mjs';

const [, , name, port, prefix, mode] = argv;
const Bull = load(name);
const queueOf = (topic, settings) => new Bull(topic, { redis: { host: '127.0.0.1', port: Number(port) }, prefix, settings });

async function add(queue, jobName, data, options, expected) {
  say(prefix, queue.name, await queue.add(jobName, data, options), expected);
}

async function fillDelayed() {
  const mail = queueOf('mail');
  for (const n of [1, 2, 3]) await add(mail, 'same-ms', { n }, { delay: HOUR_MS, timestamp: LATER_MS - HOUR_MS });
  say(prefix, 'mail', await mail.add({ n: 4 }, { delay: HOUR_MS }));
  const retries = { attempts: 4, backoff: { type: 'exponential', delay: 1000 } };
  await add(mail, 'all', {}, { delay: HOUR_MS, priority: 2, ...retries }, { priority: 2, attempts_max: 4, backoff: '1s,3s,7s' });
  await add(mail, 'custom', {}, { delay: HOUR_MS, jobId: 'x:y' }, { key: 'x:y' });
  await add(mail, 'known', {}, { jobId: 'order-78' }, { becomes: 'left out', key: 'order-78' });
  await add(mail, 'overdue', {}, { delay: 1000, timestamp: Date.now() - HOUR_MS });
  const schedules = queueOf('schedules');
  await add(schedules, 'repeat', {}, { repeat: { every: HOUR_MS } }, { becomes: 'the next run of a repeated job' });
}

/** In the order in which Bull serves them: those without a priority come last. */
async function fillWaiting() {
  const order = queueOf('order');
  const [first, ...others] = [1, 5, 5];
  await add(order, 'urgent', { n: 0 }, { priority: first }, { priority: first });
  for (const priority of others) await add(order, 'prioritized', { priority }, { priority }, { priority });
  await add(order, 'plain', { n: 3 }, {});
  await add(order, 'plain', { n: 4 }, {});
  const paused = queueOf('paused');
  await paused.pause();
  for (const n of [1, 2]) await add(paused, 'paused', { n }, {});
  await add(queueOf('with:colon'), 'plain', { n: 1 }, {});
}

/** Jobs that a worker has had: one waits for its second attempt, the others are over. */
async function fillWorked() {
  const work = queueOf('work');
  const retried = await work.add('fails', { n: 1 }, { attempts: 3, backoff: HOUR_MS });
  const over = [await work.add('fails', {}), await work.add('succeeds', {})];
  const ends = new Promise((done) => {
    let count = 0;
    const end = () => (count += 1) === 3 && done();
    work.on('failed', end).on('completed', end);
  });
  work.process('*', async (job) => {
    if (job.name === 'fails') throw new Error('no route to host');
  });
  await ends;
  const score = await work.client.zscore(work.toKey('delayed'), retried.id);
  say(prefix, 'work', retried, { due_ms: Math.floor(score / 4096), attempts_max: 2, backoff: '1h' });
  for (const job of over) say(prefix, 'work', job, { becomes: 'nothing' });
}

async function hold() {
  const queue = queueOf('held', { lockDuration: LOCK_MS });
  const held = await queue.add('held', { n: 1 }, { attempts: 3 });
  queue.process('held', () => {
    say(prefix, 'held', held, { becomes: 'held', attempts_max: 3 });
    return new Promise(() => {});
  });
}

async function fill() {
  for (const part of [fillDelayed, fillWaiting, fillWorked]) await part();
}

await { fill, hold }[mode]();
if (mode === 'fill') finish();
