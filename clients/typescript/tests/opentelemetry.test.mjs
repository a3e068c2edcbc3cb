// Traces from push to handler: the SDK of OpenTelemetry, and a real server.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { SpanKind, SpanStatusCode, context, createTraceState, propagation, trace } from '@opentelemetry/api';
import { BuryJob, KeyExistsError, RetryLater, Worker } from 'adjourn';
import { openTelemetry } from 'adjourn/opentelemetry';
import { startQueue } from 'adjourn/testing';
import { cuttable } from './support/cuttable.mjs';
import { failing, takeSpans } from './support/spans.mjs';
import { until } from './support/until.mjs';

const MINUTE = 60_000;
const tracer = trace.getTracer('the application');
const OK = { code: SpanStatusCode.UNSET };

beforeEach(() => {
  failing.clear();
  takeSpans();
});

/** A queue, and a client that traces. */
async function traced(t, options = {}) {
  const queue = await startQueue(t);
  return { queue, q: await queue.connect({ tracing: openTelemetry, log: () => {}, ...options }) };
}

/** An error of the application: its code is not the client's. */
class OutOfStock extends Error {
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/** Work in a span of the application. */
const inSpan = (name, work) => tracer.startActiveSpan(name, async (span) => work().finally(() => span.end()));

/** The only span with this name. */
function named(spans, name) {
  const found = spans.filter((span) => span.name === name);
  assert.equal(found.length, 1, `${name} is one of ${spans.map((span) => span.name)}`);
  return found[0];
}

function isChild(child, parent) {
  assert.equal(child.spanContext().traceId, parent.spanContext().traceId);
  assert.equal(child.parentSpanContext.spanId, parent.spanContext().spanId);
}

test('the span of a handler continues that of the push, and both have their attributes', async (t) => {
  const { queue, q } = await traced(t);
  let baggage;
  new Worker(q, {
    topics: 'unpaid',
    handler: async () => {
      baggage = propagation.getActiveBaggage().getEntry('shop').value;
      await inSpan('close order', async () => {});
    },
  });
  const ofShop = propagation.setBaggage(context.active(), propagation.createBaggage({ shop: { value: 'berlin' } }));
  const id = await context.with(ofShop, () => inSpan('place order', () => q.push('unpaid', { order: 17 }, { delayMs: MINUTE })));
  await queue.advance(MINUTE);
  await queue.idle();

  const spans = takeSpans();
  const [push, process] = [named(spans, 'push unpaid'), named(spans, 'process unpaid')];
  isChild(push, named(spans, 'place order'));
  isChild(process, push);
  isChild(named(spans, 'close order'), process);
  assert.equal(baggage, 'berlin');
  assert.deepEqual([push.kind, push.status, push.events], [SpanKind.PRODUCER, OK, []]);
  assert.deepEqual(push.attributes, {
    'messaging.system': 'adjourn',
    'messaging.operation.name': 'push',
    'messaging.operation.type': 'send',
    'messaging.destination.name': 'unpaid',
    'messaging.message.id': String(id),
  });
  assert.deepEqual([process.kind, process.status, process.events], [SpanKind.CONSUMER, OK, []]);
  assert.deepEqual(process.attributes, {
    'messaging.system': 'adjourn',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'unpaid',
    'messaging.message.id': String(id),
    'adjourn.attempt': 1,
  });
});

test('a job without a trace begins one, whatever span the client and the worker were made in', async (t) => {
  let baggage;
  const ofShop = propagation.setBaggage(context.active(), propagation.createBaggage({ shop: { value: 'berlin' } }));
  const queue = await context.with(ofShop, () => inSpan('start', async () => {
    const { queue, q } = await traced(t);
    new Worker(q, { topics: 't', handler: () => { baggage = propagation.getActiveBaggage(); } });
    return queue;
  }));
  await (await queue.connect()).push('t', 'x');
  await queue.idle();
  assert.equal(baggage, undefined);
  assert.equal(named(takeSpans(), 'process t').parentSpanContext, undefined);
});

test('a handler that fails has its error in its span, and one that releases or buries on purpose does not', async (t) => {
  const { queue, q } = await traced(t);
  const outcomes = [() => { throw new TypeError('no luck'); }, () => { throw 'a text'; }, () => { throw new OutOfStock('none left', 'E_STOCK'); }, () => { throw new RetryLater(MINUTE); }, () => { throw new BuryJob('never'); }];
  new Worker(q, {
    topics: 't',
    middleware: [async (_job, _context, next) => {
      trace.getActiveSpan().addEvent('middleware runs in the span, too');
      await next();
    }],
    handler: (job) => outcomes[job.attempts - 1](),
  });
  await q.push('t', 'x', { backoff: { kind: 'fixed', waitMs: MINUTE } });
  await queue.idle();
  for (let retries = 1; retries < outcomes.length; retries += 1) {
    await queue.advanceToNext();
    await queue.idle();
  }
  const spans = takeSpans();
  const push = named(spans, 'push t');
  const attempts = spans.filter(({ name }) => name === 'process t');
  for (const attempt of attempts) isChild(attempt, push);
  assert.deepEqual(attempts.map(({ attributes }) => [attributes['adjourn.attempt'], attributes['error.type']]), [[1, 'TypeError'], [2, '_OTHER'], [3, 'OutOfStock'], [4, undefined], [5, undefined]]);
  assert.deepEqual(attempts.map(({ status }) => status), [{ code: SpanStatusCode.ERROR, message: 'no luck' }, { code: SpanStatusCode.ERROR, message: 'a text' }, { code: SpanStatusCode.ERROR, message: 'none left' }, OK, OK]);
  const exceptions = attempts.map(({ events }) => events.slice(1).map(({ attributes }) => attributes['exception.message']));
  assert.deepEqual(exceptions, [['no luck'], ['a text'], ['none left'], [], []]);
});

test('a batch has one span, that is the parent of all of its handlers', async (t) => {
  const { queue, q } = await traced(t);
  new Worker(q, { topics: 't', handler: () => {} });
  await inSpan('import', () => q.pushMany('t', [{ body: 'a' }, { body: 'b' }, { body: 'c' }]));
  await queue.idle();
  const spans = takeSpans();
  const push = named(spans, 'push t');
  isChild(push, named(spans, 'import'));
  assert.equal(push.attributes['messaging.batch.message_count'], 3);
  assert.equal(push.attributes['messaging.message.id'], undefined);
  const handled = spans.filter(({ name }) => name === 'process t');
  assert.equal(handled.length, 3);
  for (const one of handled) isChild(one, push);

  assert.deepEqual(await q.pushMany('t', []), []);
  assert.deepEqual(takeSpans(), []);

  const [{ id }] = await q.pushMany('t', [{ body: 'alone' }]);
  const alone = named(takeSpans(), 'push t');
  assert.equal(alone.attributes['messaging.batch.message_count'], undefined);
  assert.equal(alone.attributes['messaging.message.id'], String(id));
});

test('a push that is refused has the error in its span, alone and in a batch', async (t) => {
  const { q } = await traced(t);
  await q.push('t', 'x', { key: 'k' });
  takeSpans();
  await assert.rejects(q.push('t', 'x', { key: 'k' }), KeyExistsError);
  const [, refused] = await q.pushMany('t', [{ body: 'x' }, { body: 'x', key: 'k' }]);
  assert.equal(refused.outcome, 'refused');
  await assert.rejects(q.push('t', 'x', { delayMs: -1 }), { code: 'USAGE' });
  await q.close();
  await assert.rejects(q.push('t', 'x'), { code: 'CLOSED' });
  const spans = takeSpans();
  assert.deepEqual(spans.map(({ attributes }) => attributes['error.type']), ['KEY_EXISTS', 'KEY_EXISTS', 'USAGE', 'CLOSED']);
  for (const { status, events, attributes } of spans) {
    assert.equal(status.code, SpanStatusCode.ERROR);
    assert.deepEqual(events.map(({ name }) => name), ['exception']);
    assert.equal(attributes['messaging.message.id'], undefined);
  }
});

test('a header that the job names wins', async (t) => {
  const { queue, q } = await traced(t);
  const mine = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  new Worker(q, { topics: 'own', handler: () => {} });
  await q.pushMany('own', [{ headers: { traceparent: mine } }, { attributes: { headers: [['traceparent', mine]] } }]);
  await queue.idle();
  const handled = takeSpans().filter(({ name }) => name === 'process own');
  assert.deepEqual(handled.map(({ parentSpanContext }) => parentSpanContext.spanId), Array(2).fill('b'.repeat(16)));
});

test('a job with a traceparent of its own gets nothing of the active trace; with any other header of its own it does', async (t) => {
  let defaults = {};
  const { q } = await traced(t, { pushHeaders: () => defaults });
  const shop = propagation.createBaggage({ shop: { value: 'berlin' } });
  const active = propagation.setBaggage(trace.setSpanContext(context.active(), { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), traceFlags: 1, traceState: createTraceState('vendor=1') }), shop);
  const headersOf = async (headers) => ({ ...(await q.get(await context.with(active, () => q.push('own', Uint8Array.of(1), { headers })))).headers });
  assert.deepEqual(await headersOf({ traceparent: 'mine' }), { traceparent: 'mine' });
  assert.deepEqual(await headersOf({ TraceParent: 'mine' }), { TraceParent: 'mine' });
  defaults = { Traceparent: 'default' };
  assert.deepEqual(await headersOf({}), { Traceparent: 'default' });
  defaults = {};
  const { traceparent, ...others } = await headersOf({ Baggage: 'mine=1' });
  assert.ok(traceparent.startsWith(`00-${'c'.repeat(32)}-`), traceparent);
  assert.deepEqual(others, { tracestate: 'vendor=1', Baggage: 'mine=1' });
});

test('a trace without room in the headers is left out', async (t) => {
  const { q } = await traced(t);
  const namesOf = async (bytes, headers) => {
    const active = propagation.setBaggage(context.active(), propagation.createBaggage({ shop: { value: 'x'.repeat(bytes) } }));
    return Object.keys((await q.get(await context.with(active, () => q.push('large', 'x', { headers })))).headers).sort();
  };
  assert.deepEqual(await namesOf(910, {}), ['content-type', 'traceparent']);
  assert.deepEqual(await namesOf(1, { own: 'x'.repeat(950) }), ['content-type', 'own']);
  // "content-type" with its value has 37 bytes, "traceparent" 66, "baggage" 13, or 922 if its value has 910.
  assert.deepEqual(await namesOf(1, { own: 'x'.repeat(1_024 - 3 - 37 - 66 - 13) }), ['baggage', 'content-type', 'own', 'traceparent']);
  assert.deepEqual(await namesOf(1, { own: 'x'.repeat(1_024 - 3 - 37 - 66) }), ['content-type', 'own', 'traceparent']);
  assert.deepEqual(await namesOf(1, { own: 'x'.repeat(1_024 - 3 - 37 - 65) }), ['content-type', 'own']);
});

test('a push that the client repeats has the same headers again', async (t) => {
  const { dialer, cut } = cuttable();
  const { queue, q } = await traced(t, { dialer, reconnectWaitMsMax: 5 });
  for (let steps = 0; steps < 10; steps += 1) {
    await until('it is connected', () => q.health().reconnects === steps && q.health().isConnected);
    const pushed = q.push('cut', 'x');
    // Before it is sent, before it is answered, or after that.
    for (let step = 0; step < steps; step += 1) await new Promise((resolve) => void setImmediate(resolve));
    cut();
    await pushed;
  }
  const pushes = takeSpans().map((span) => [span.spanContext().spanId, span.attributes['messaging.message.id']]);
  const jobs = await queue.jobs('cut');
  assert.deepEqual(jobs.map(({ id, headers }) => [headers.traceparent.split('-')[2], String(id)]).sort(), pushes.sort());
  assert.equal(pushes.length, 10);
});

test('a push under a key, repeated in another span, is taken once, and its handlers continue the trace of the first one', async (t) => {
  const { queue, q } = await traced(t);
  const push = () => inSpan('import', () => Promise.all([q.push('one', 'x', { idempotencyKey: 1n }), q.pushMany('two', [{ body: 'a' }, { body: 'b' }], { idempotencyKey: 2n })]));
  assert.deepEqual(await push(), await push());
  new Worker(q, { topics: ['one', 'two'], handler: () => {} });
  await queue.idle();
  const spans = takeSpans();
  for (const [topic, jobs] of [['one', 1], ['two', 2]]) {
    const [first, second] = spans.filter(({ name }) => name === `push ${topic}`);
    assert.notEqual(first.spanContext().traceId, second.spanContext().traceId);
    const handled = spans.filter(({ name }) => name === `process ${topic}`);
    assert.equal(handled.length, jobs);
    for (const one of handled) isChild(one, first);
  }
});

test('a worker finds the trace of a job whatever the case of its name', async (t) => {
  const { queue, q } = await traced(t);
  new Worker(q, { topics: 't', handler: () => {} });
  await (await queue.connect()).push('t', 'x', { headers: { TraceParent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } });
  await queue.idle();
  assert.equal(named(takeSpans(), 'process t').parentSpanContext.spanId, 'b'.repeat(16));
});

for (const step of ['onStart', 'onEnd', 'inject', 'extract']) {
  test(`tracing whose step ${step} fails changes no outcome, and is logged once`, async (t) => {
    const logged = [];
    const { queue, q } = await traced(t, { log: (entry) => logged.push(entry) });
    const handled = [];
    const traces = new Set();
    new Worker(q, {
      topics: ['t', 'many'],
      handler: (job) => {
        handled.push(job.text());
        traces.add(job.headers.traceparent?.split('-')[1]);
      },
    });
    failing.add(step);
    const active = trace.setSpanContext(context.active(), { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), traceFlags: 1 });
    const id = await context.with(active, () => q.push('t', 'one', { key: 'k', delayMs: MINUTE }));
    await assert.rejects(q.push('t', 'again', { key: 'k' }), KeyExistsError);
    const results = await context.with(active, () => q.pushMany('many', [{ body: 'two', delayMs: MINUTE }, { body: 'three', delayMs: MINUTE }]));
    assert.deepEqual((await queue.jobs()).map((job) => job.id), [id, ...results.map((result) => result.id)]);
    await queue.advance(MINUTE);
    await queue.idle();

    assert.deepEqual(handled.sort(), ['one', 'three', 'two']);
    assert.deepEqual(await queue.jobs(), []);
    const faults = logged.filter(({ level }) => level === 'warn');
    assert.deepEqual(faults.map(({ event, fields }) => [event, fields.error.message]), [['tracing_failed', `${step} fails`]]);
    const spans = takeSpans();
    // The other steps are taken.
    assert.deepEqual([...traces], [step === 'inject' ? undefined : 'c'.repeat(32)]);
    const all = ['process many', 'process many', 'process t', 'push many', 'push t', 'push t'];
    assert.deepEqual(spans.map(({ name }) => name).sort(), step === 'onStart' ? [] : all);
    assert.deepEqual(spans.map(({ attributes }) => attributes['error.type']).filter(Boolean), step === 'onStart' ? [] : ['KEY_EXISTS']);
  });
}

test('a hook of tracing that does not do as it should changes no outcome', async (t) => {
  const fault = new Error('the hook fails');
  const hooks = {
    'throws at once': () => { throw fault; },
    'throws after the work': async (work) => {
      await work({});
      throw fault;
    },
    'throws while the work runs': async (work) => {
      void work({});
      throw fault;
    },
    'does the work twice': async (work) => {
      await work({});
      return work({});
    },
    'does no work': async () => [],
    'has a header that is no text': (work) => work({ traceparent: 1 }),
    'has a header without a name': (work) => work({ '': 'x' }),
    'has a header with a long name': (work) => work({ ['x'.repeat(256)]: 'x' }),
    'has a header that is no UTF-8': (work) => work({ baggage: '\ud800' }),
  };
  const queue = await startQueue(t);
  for (const [what, hook] of Object.entries(hooks)) {
    const logged = [];
    const tracing = { push: (_pushed, send) => hook(send), process: (_job, _context, next) => hook(next) };
    const q = await queue.connect({ tracing, log: (entry) => logged.push(entry) });
    let handled = 0;
    const worker = new Worker(q, { topics: 't', handler: () => void (handled += 1) });
    await q.push('t', 'x', { key: 'k', delayMs: MINUTE });
    await assert.rejects(q.push('t', 'x', { key: 'k' }), KeyExistsError, what);
    assert.equal((await queue.jobs()).length, 1, what);
    await queue.advance(MINUTE);
    await queue.idle();
    assert.deepEqual([handled, worker.health().finished], [1, 1], what);
    const faults = logged.filter(({ level }) => level === 'warn').map(({ event }) => event);
    assert.deepEqual(faults, ['throws', 'has'].includes(what.split(' ')[0]) ? ['tracing_failed'] : [], what);
    await worker.stop();
  }
});
