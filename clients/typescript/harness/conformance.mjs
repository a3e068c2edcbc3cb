// The harness of the conformance suite: one command a line on stdin, one answer or event a line on stdout.

import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { AdjournError, LeaseLostError, NotFoundError, Worker, connect } from 'adjourn';
import { FrameSplitter, decodeRequest, decodeResponse, encodeRequest, encodeResponse } from 'adjourn/protocol';
import { base64, fieldsFromJson, fieldsToJson, fromBase64, fromJson, toJson } from './json.mjs';

const clients = new Map();
const subscriptions = new Map();
const workers = new Map();

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

function errorJson(error) {
  if (!(error instanceof AdjournError)) return { code: 'USAGE', retryable: false, applied: 'no', message: String(error?.message ?? error) };
  const { code, retryable, applied, retryAfterMs, message, job } = error;
  return {
    code,
    retryable,
    applied,
    message,
    ...(retryAfterMs > 0 && { retry_after_ms: retryAfterMs }),
    ...(job && { job: job.toString() }),
  };
}

const named = (map, name) => map.get(name) ?? (() => { throw new Error(`there is no ${name}`); })();
const client = ({ client: name }) => named(clients, name);
const milliseconds = (text) => (text === undefined ? undefined : Number(text));
const defined = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
const leasesOf = ({ leases }) => leases.map(({ job, fence }) => ({ id: BigInt(job), fence: BigInt(fence) }));
const settled = (results) => ({ results: results.map(({ error }) => (error ? { error: errorJson(error) } : {})) });
const refOf = ({ job, topic, key }) => (job === undefined ? { topic, key } : BigInt(job));

function deliveredJson(job) {
  return {
    job: job.id.toString(),
    fence: job.fence.toString(),
    topic: job.topic,
    key: job.key ?? '',
    priority: job.priority,
    attempts: job.attempts,
    due_ms: String(job.due.getTime()),
    body: base64(job.body),
    attributes: toJson(job.attributes),
  };
}

function shownJson(job) {
  return {
    job: job.id.toString(),
    topic: job.topic,
    key: job.key ?? '',
    state: job.state,
    attempts: job.attempts,
    priority: job.priority,
    body: base64(job.body),
    body_bytes: job.bodyBytes,
    due_ms: String(job.due.getTime()),
    reason: job.reason ?? '',
    attributes: toJson(job.attributes),
  };
}

function newJob(job) {
  return defined({
    body: fromBase64(job.body ?? ''),
    delayMs: milliseconds(job.delay_ms),
    at: job.at_ms === undefined ? undefined : BigInt(job.at_ms),
    priority: job.priority,
    ttrMs: job.ttr_ms,
    key: job.key || undefined,
    ifExists: job.if_exists,
    attributes: job.attributes && fromJson(job.attributes),
  });
}

function filterOf(filter = {}) {
  const { states, dueFromMs, dueBeforeMs, buried, ...rest } = fromJson(filter);
  return defined({
    ...rest,
    states: states === undefined ? undefined : ['delayed', 'ready', 'reserved', 'buried', 'finished'].filter((_, bit) => states & (1 << bit)),
    dueFrom: dueFromMs,
    dueBefore: dueBeforeMs,
    buried: buried === undefined ? undefined : ['consumer', 'attempts', 'too_late'][buried - 1],
  });
}

/** Does what the body of a job says. */
function handler(worker) {
  return async (job, { signal }) => {
    const about = { worker, job: job.id.toString(), fence: job.fence.toString() };
    say({ event: 'started', ...about, attempts: job.attempts, topic: job.topic, body: base64(job.body) });
    const ended = (result, more = {}) => say({ event: 'ended', ...about, result, ...more });
    let script = {};
    try {
      script = job.json() ?? {};
    } catch {
      // Any other body is as {}.
    }
    if (script.after_ms) await sleep(script.after_ms, undefined, { signal }).catch(() => {});
    if (script.hang) await new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', resolve)));
    if (signal.aborted) {
      const reason = signal.reason instanceof LeaseLostError ? signal.reason.reason : 'stopping';
      if (script.hang === 'until_stop' && reason === 'stopping') return ended('ok');
      ended('cancelled', { reason });
      throw signal.reason;
    }
    if (script.fail !== undefined && (script.until === undefined || job.attempts <= script.until)) {
      ended('failed');
      throw new Error(script.fail);
    }
    return ended('ok');
  };
}

const commands = {
  about: () => ({ client: 'adjourn-typescript 0.1.0', levels: ['codec', 'producer', 'consumer', 'worker', 'cluster'], codec: ['encode_request', 'decode_response', 'encode_response'] }),

  encode({ side, frame }) {
    const encode = side === 'request' ? encodeRequest : encodeResponse;
    return { bytes: base64(encode(frame.opcode, frame.request_id, fieldsFromJson(frame.opcode, frame.fields))) };
  },

  decode({ side, bytes }) {
    const splitter = new FrameSplitter();
    splitter.push(fromBase64(bytes));
    const frame = splitter.next();
    if (!frame) throw new Error('this is no whole frame');
    const message = side === 'request' ? decodeRequest(frame) : decodeResponse(frame);
    const named = message ? { opcode: message.name, fields: fieldsToJson(message.fields) } : { opcode: frame.opcode, fields: {} };
    return { frame: { request_id: frame.id, ...named } };
  },

  async connect({ client: name, addresses, ...options }) {
    const opened = await connect(
      addresses,
      defined({
        token: options.token === undefined ? undefined : fromBase64(options.token),
        name: options.name,
        heartbeatMs: milliseconds(options.heartbeat_ms),
        requestTimeoutMs: milliseconds(options.request_timeout_ms),
        connectTimeoutMs: milliseconds(options.connect_timeout_ms),
        leasesOutlive: options.leases_outlive,
        log: ({ level, event, message, fields }) => process.stderr.write(`${name} ${level} ${event}: ${message} ${fields.error?.message ?? fields.why ?? ''}\n`),
      }),
    );
    clients.set(name, opened);
    return {};
  },

  async push(command) {
    const results = await client(command).pushMany(command.topic, command.jobs.map(newJob));
    return { results: results.map((one) => (one.outcome === 'refused' ? { error: errorJson(one.error) } : { outcome: one.outcome, job: one.id.toString() })) };
  },

  async get(command) {
    const job = await client(command).get(refOf(command));
    if (!job) throw new NotFoundError('there is no such job', { code: 'NOT_FOUND', retryable: false, applied: 'no' });
    return { job: shownJson(job) };
  },

  async delete(command) {
    return { job: (await client(command).delete(refOf(command))).id.toString() };
  },

  async list(command) {
    const jobs = [];
    const options = defined({ order: ['due', 'id', 'key'][command.order ?? 0], pageSize: command.jobs_max, withBodies: command.with_bodies });
    for await (const job of client(command).list(filterOf(command.filter), options)) jobs.push(shownJson(job));
    return { jobs };
  },

  async count(command) {
    return { jobs: String(await client(command).count(filterOf(command.filter))) };
  },

  async close({ client: name }) {
    await clients.get(name)?.close();
    return {};
  },

  async reserve(command) {
    const options = defined({ waitMs: milliseconds(command.wait_ms), max: command.jobs_max ?? 1, weights: command.weights });
    return { jobs: (await client(command).reserve(command.topics, options)).map(deliveredJson) };
  },

  finish: async (command) => settled(await client(command).finish(leasesOf(command))),
  bury: async (command) => settled(await client(command).bury(leasesOf(command), command.reason)),
  touch: async (command) => settled(await client(command).touch(leasesOf(command), command.ttr_ms || undefined)),
  release: async (command) => settled(await client(command).release(leasesOf(command), defined({ how: command.how, delayMs: milliseconds(command.delay_ms), reason: command.reason }))),

  async subscribe(command) {
    const options = defined({ credit: command.credit_jobs, creditBytes: milliseconds(command.credit_bytes), weights: command.weights });
    const subscription = client(command).subscribe(command.topics, options);
    subscriptions.set(command.subscription, subscription);
    await subscription.ready;
    return {};
  },

  async next(command) {
    const job = await named(subscriptions, command.subscription).take(Number(command.wait_ms));
    return { job: job && deliveredJson(job) };
  },

  async unsubscribe(command) {
    await named(subscriptions, command.subscription).close();
    return {};
  },

  async worker_start(command) {
    const worker = new Worker(client(command), { topics: command.topics, concurrency: command.concurrency ?? 1, prefetch: command.prefetch ?? 0, handler: handler(command.worker) });
    workers.set(command.worker, worker);
    await worker.ready;
    return {};
  },

  async worker_stop(command) {
    await named(workers, command.worker).stop({ timeoutMs: Number(command.deadline_ms) });
    return {};
  },

  health: (command) => ({ consuming: named(workers, command.worker).health().isConsuming }),
};

async function run(line) {
  const command = JSON.parse(line);
  try {
    const todo = commands[command.do];
    if (!todo) throw new Error(`there is no command ${command.do}`);
    const ok = await todo(command);
    say({ id: command.id, ok });
  } catch (error) {
    say({ id: command.id, error: errorJson(error) });
  }
}

process.on('SIGTERM', async () => {
  await Promise.all([...workers.values()].map((worker) => worker.stop({ timeoutMs: 5_000 })));
  await Promise.all([...clients.values()].map((one) => one.close()));
  process.exit(0);
});

createInterface({ input: process.stdin })
  .on('line', (line) => void run(line))
  .on('close', () => process.exit(0));
