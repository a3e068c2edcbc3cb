// How fast a producer and a worker are: this client, and the peers that are installed in ADJOURN_BENCH_FOLDER.
//
// The interface is that of `benches/clients`. `ioredis` is the queue that many teams write themselves: a sorted set by
// due time, a hash with the bodies, and one Lua script for each step.

import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Worker, connect } from 'adjourn';

const BODY = 'x'.repeat(64);
const DELAY_MS = 3_600_000;
const BATCH = 64;
const HANDLERS = 8;

/** Sizes of batches, so many jobs in all. */
const batches = (jobs) => Array.from({ length: Math.ceil(jobs / BATCH) }, (_, at) => Math.min(BATCH, jobs - at * BATCH));

function peer(name) {
  try {
    return createRequire(join(process.env.ADJOURN_BENCH_FOLDER ?? '.', 'package.json'))(name);
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/** Each system opens, and says how to push one job, to push many, to fill the queue with ready jobs, and to work them off. */
const systems = {
  adjourn: {
    needs: 'adjourn',
    isHere: () => true,
    async open(address, topic) {
      const q = await connect(address);
      const pushAll = (jobs, options) => Promise.all(batches(jobs).map((size) => q.pushMany(topic, Array.from({ length: size }, () => ({ body: BODY, ...options })))));
      return {
        pushOne: () => q.push(topic, BODY, { delayMs: DELAY_MS }),
        pushMany: (jobs) => pushAll(jobs, { delayMs: DELAY_MS }),
        fill: (jobs) => pushAll(jobs),
        async work(jobs) {
          let handled = 0;
          const worker = new Worker(q, {
            topics: topic,
            concurrency: HANDLERS,
            // It ends when the last FINISH is answered.
            handler: () => ((handled += 1) === jobs ? void worker.stop() : undefined),
          });
          const failure = await worker.ended;
          if (failure) throw failure;
        },
        close: () => q.close(),
      };
    },
  },

  bullmq: {
    needs: 'redis',
    isHere: () => peer('bullmq') !== null,
    async open(address, name) {
      const bullmq = peer('bullmq');
      const [host, port] = address.split(':');
      const connection = { host, port: Number(port), maxRetriesPerRequest: null };
      const queue = new bullmq.Queue(name, { connection, defaultJobOptions: { removeOnComplete: true } });
      await queue.waitUntilReady();
      const pushAll = (jobs, opts) => Promise.all(batches(jobs).map((size) => queue.addBulk(Array.from({ length: size }, () => ({ name: 'job', data: BODY, opts })))));
      return {
        pushOne: () => queue.add('job', BODY, { delay: DELAY_MS }),
        pushMany: (jobs) => pushAll(jobs, { delay: DELAY_MS }),
        fill: (jobs) => pushAll(jobs),
        async work(jobs) {
          let completed = 0;
          const worker = new bullmq.Worker(name, async () => {}, { connection, concurrency: HANDLERS });
          await new Promise((resolve, reject) => {
            worker.on('completed', () => (completed += 1) === jobs && resolve());
            worker.on('error', reject);
          });
          return () => worker.close();
        },
        close: () => queue.close(),
      };
    },
  },

  ioredis: {
    needs: 'redis',
    isHere: () => peer('ioredis') !== null,
    async open(address, name) {
      const { Redis } = peer('ioredis');
      const [host, port] = address.split(':');
      const redis = new Redis({ host, port: Number(port) });
      const [due, reserved, bodies] = ['due', 'reserved', 'bodies'].map((part) => `${name}:${part}`);
      redis.defineCommand('addJobs', {
        numberOfKeys: 2,
        lua: `for at = 2, #ARGV, 2 do
                redis.call('ZADD', KEYS[1], ARGV[1], ARGV[at])
                redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
              end`,
      });
      redis.defineCommand('takeJob', {
        numberOfKeys: 3,
        lua: `local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
              if not id then return false end
              redis.call('ZREM', KEYS[1], id)
              redis.call('ZADD', KEYS[2], ARGV[2], id)
              return { id, redis.call('HGET', KEYS[3], id) }`,
      });
      redis.defineCommand('finishJob', {
        numberOfKeys: 2,
        lua: `redis.call('ZREM', KEYS[1], ARGV[1])
              redis.call('HDEL', KEYS[2], ARGV[1])`,
      });
      const add = (size, delayMs) => redis.addJobs(due, bodies, Date.now() + delayMs, ...Array.from({ length: size }, () => [randomUUID(), BODY]).flat());
      return {
        pushOne: () => add(1, DELAY_MS),
        pushMany: (jobs) => Promise.all(batches(jobs).map((size) => add(size, DELAY_MS))),
        fill: (jobs) => Promise.all(batches(jobs).map((size) => add(size, 0))),
        async work() {
          // One connection: the eight take turns on it, and their commands are pipelined.
          const handler = async () => {
            for (;;) {
              const taken = await redis.takeJob(due, reserved, bodies, Date.now(), Date.now() + 60_000);
              if (!taken) return;
              await redis.finishJob(reserved, bodies, taken[0]);
            }
          };
          await Promise.all(Array.from({ length: HANDLERS }, handler));
        },
        close: () => redis.quit(),
      };
    },
  },
};

async function run(name, work, address, jobs) {
  const system = await systems[name].open(address, `bench-${randomUUID()}`);
  let stop = () => {};
  if (work === 'work') await system.fill(jobs);
  const began = performance.now();
  if (work === 'push-one') for (let job = 0; job < jobs; job += 1) await system.pushOne();
  else if (work === 'push-many') await system.pushMany(jobs);
  else stop = (await system.work(jobs)) ?? stop;
  const seconds = (performance.now() - began) / 1_000;
  await stop();
  await system.close();
  console.log(JSON.stringify({ system: name, work, jobs, seconds }));
}

const [command, name, work, address, jobs] = process.argv.slice(2);
const isRun = command === 'run' && name in systems && ['push-one', 'push-many', 'work'].includes(work) && address && Number(jobs) > 0;
if (command === 'systems') {
  for (const [each, { needs, isHere }] of Object.entries(systems)) if (isHere()) console.log(each, needs);
} else if (isRun) {
  await run(name, work, address, Number(jobs));
} else {
  console.error('usage: bench systems | bench run NAME push-one|push-many|work HOST:PORT JOBS');
  process.exit(2);
}
