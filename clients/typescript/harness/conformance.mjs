// The harness of the conformance suite: one command a line on stdin, one answer or event a line on stdout.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseLostError, NotFoundError, Worker, connect } from 'adjourn';
import { FrameSplitter, decodeRequest, decodeResponse, encodeRequest, encodeResponse } from 'adjourn/protocol';
import { REQUESTS, RESPONSES } from './frames.mjs';
import { base64, fromBase64 } from './json.mjs';
import {
  bulkChange,
  changedJson,
  countsJson,
  defined,
  deliveredJson,
  dueOf,
  editOf,
  errorJson,
  fillTimeOf,
  filterOf,
  groupJson,
  milliseconds,
  newJob,
  policyJson,
  policyOf,
  previewOf,
  reasonJson,
  scheduleJson,
  scheduleOf,
  schedulesOf,
  shownJson,
  stageJson,
  timeJson,
} from './shapes.mjs';

const clients = new Map();
const subscriptions = new Map();
const workers = new Map();
/** RESERVEs that wait, by the id of their command. */
const reserves = new Map();

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const named = (map, name) => map.get(name) ?? (() => { throw new Error(`there is no ${name}`); })();
const client = ({ client: name }) => named(clients, name);
const leasesOf = ({ leases }) => leases.map(({ job, fence }) => ({ id: BigInt(job), fence: BigInt(fence) }));
const done = (call) => call.then(() => ({}));
const settled = (results) => ({ results: results.map(({ error }) => (error ? { error: errorJson(error) } : {})) });
const frames = (side) => (side === 'request' ? REQUESTS : RESPONSES);
const pem = (path) => path && readFileSync(path);
const refOf = ({ job, topic, key }) => (job === undefined ? { topic, key } : BigInt(job));

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

function missing() {
  throw new NotFoundError('there is no such job', { code: 'NOT_FOUND', retryable: false, applied: 'no' });
}

const commands = {
  about: () => ({ client: 'adjourn-typescript 0.1.0', levels: ['codec', 'producer', 'consumer', 'worker', 'operator', 'cluster'], codec: ['encode_request', 'decode_response', 'decode_request', 'encode_response'] }),

  encode({ side, frame }) {
    const encode = side === 'request' ? encodeRequest : encodeResponse;
    return { bytes: base64(encode(frame.opcode, frame.request_id, frames(side)[frame.opcode].from(frame.fields))) };
  },

  decode({ side, bytes }) {
    const splitter = new FrameSplitter();
    splitter.push(fromBase64(bytes));
    const frame = splitter.next();
    if (!frame) throw new Error('this is no whole frame');
    const message = side === 'request' ? decodeRequest(frame) : decodeResponse(frame);
    const named = message ? { opcode: message.name, fields: frames(side)[message.name].to(message.fields) } : { opcode: frame.opcode, fields: {} };
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
        withoutSession: options.session === false,
        tls: options.tls && defined({ ca: pem(options.tls.ca), cert: pem(options.tls.certificate), key: pem(options.tls.key) }),
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
    return { job: shownJson(job ?? missing()) };
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
    const filter = filterOf(command.filter);
    if (!command.bars) return { jobs: String(await client(command).count(filter)) };
    const bars = { start: new Date(Number(command.bars_from_ms)), barMs: Number(command.bar_ms), count: command.bars };
    const found = await client(command).countByDue(bars, filter);
    const byDue = found.map(({ start, jobs }) => ({ start_ms: String(start?.getTime() ?? 0), jobs: String(jobs) }));
    return { jobs: String(found.reduce((sum, bar) => sum + bar.jobs, 0n)), by_due: byDue };
  },

  async close({ client: name }) {
    await clients.get(name)?.close();
    return {};
  },

  async reserve(command) {
    const controller = new AbortController();
    const options = defined({ waitMs: milliseconds(command.wait_ms), max: command.jobs_max ?? 1, weights: command.weights, signal: controller.signal });
    const jobs = client(command).reserve(command.topics, options);
    reserves.set(command.id, { controller, jobs });
    try {
      return { jobs: (await jobs).map(deliveredJson) };
    } finally {
      reserves.delete(command.id);
    }
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

  peek: async (command) => ({ job: shownJson((await client(command).peek(command.topic)) ?? missing()) }),
  run_now: async (command) => changedJson(await client(command).runNow(refOf(command))),
  kick: async (command) => changedJson(await client(command).kick(refOf(command))),
  reschedule: async (command) => changedJson(await client(command).reschedule(refOf(command), dueOf(command))),
  edit: async (command) => changedJson(await client(command).edit(refOf(command), editOf(command))),
  kick_many: async (command) => ({ jobs: await client(command).kickMany(command.topic, command.jobs_max) }),
  pause: (command) => done(client(command).pause(command.topic)),
  resume: (command) => done(client(command).resume(command.topic)),
  topic_delete: (command) => done(client(command).deleteTopic(command.topic)),
  topic_set: (command) => done(client(command).setTopic(command.topic, policyOf(command.settings))),

  async topic_show(command) {
    const { policy, jobs, bytes, isPaused } = await client(command).showTopic(command.topic);
    return { settings: policyJson(policy), jobs: String(jobs), bytes: String(bytes), paused: isPaused };
  },

  async topics(command) {
    const topics = await client(command).topics();
    return { topics: topics.map((one) => ({ topic: one.topic, paused: one.isPaused, ...countsJson(one) })) };
  },

  async stats(command) {
    const { stages, ...counts } = await client(command).stats();
    return { ...countsJson(counts), stages: stages.map(stageJson) };
  },

  async bulk(command) {
    let changed = 0;
    const options = defined({ stepSize: command.jobs_max });
    for await (const step of client(command).bulk(bulkChange(command), filterOf(command.filter), options)) changed += step.changed;
    return { jobs: String(changed) };
  },

  leases: async (command) => ({ jobs: (await client(command).leases()).map(deliveredJson) }),

  async connections(command) {
    const connections = [];
    for await (const { connection, clientName, leases, subscriptions, reserves } of client(command).connections()) {
      connections.push({ connection: connection.toString(), client_name: clientName, leases, subscriptions, reserves });
    }
    return { connections };
  },

  disconnect: (command) => done(client(command).disconnect(BigInt(command.connection), defined({ endSession: command.ends_session }))),

  async schedule_set(command) {
    const options = defined({ ifVersion: command.if_version });
    const { version, next } = await client(command).setSchedule(command.topic, command.name, scheduleOf(command), options);
    return { version, next_ms: timeJson(next) };
  },

  async schedule_show(command) {
    const schedule = await client(command).showSchedule(command.topic, command.name);
    const history = schedule.history.map(({ instant, job, fired }) => ({ instant_ms: timeJson(instant), job: String(job ?? 0), fired }));
    return { ...scheduleJson(schedule), fired: String(schedule.fired), running: schedule.running, body: base64(schedule.job.body), history };
  },

  async schedule_list(command) {
    const schedules = [];
    for await (const one of client(command).schedules(command.topic, schedulesOf(command))) schedules.push({ topic: one.topic, ...scheduleJson(one) });
    return { schedules };
  },

  schedule_pause: (command) => done(client(command).pauseSchedule(command.topic, command.name, defined({ note: command.note }))),
  schedule_resume: (command) => done(client(command).resumeSchedule(command.topic, command.name)),
  schedule_delete: (command) => done(client(command).deleteSchedule(command.topic, command.name)),
  schedule_run: async (command) => ({ job: String(await client(command).runSchedule(command.topic, command.name)) }),

  async schedule_fill(command) {
    const { next, ...counts } = await client(command).fillSchedule(command.topic, command.name, fillTimeOf(command));
    return { ...counts, next_ms: timeJson(next) };
  },

  async schedule_preview(command) {
    const { instants } = await client(command).previewSchedule(scheduleOf(command), previewOf(command));
    return { instants: instants.map(({ instant, local }) => ({ instant_ms: timeJson(instant), local })) };
  },

  group_set: (command) => done(client(command).setGroup(command.topic, command.group, defined({ weight: command.weight, paused: command.paused }))),

  async group_list(command) {
    const groups = [];
    for await (const one of client(command).groups(command.topic, defined({ prefix: command.prefix }))) groups.push(groupJson(one));
    return { groups };
  },

  why: async (command) => ({ reasons: (await client(command).why(refOf(command))).map(reasonJson) }),
  topic_why: async (command) => ({ reasons: (await client(command).whyTopic(command.topic, defined({ group: command.group }))).map(reasonJson) }),

  async cancel({ command }) {
    const { controller, jobs } = named(reserves, command);
    controller.abort();
    await Promise.allSettled([jobs]);
    return {};
  },
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
