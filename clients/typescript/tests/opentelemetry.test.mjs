// Traces from push to handler: the SDK of OpenTelemetry, and a real server.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { SpanKind, SpanStatusCode, context, createTraceState, propagation, trace } from '@opentelemetry/api';
import { BuryJob, KeyExistsError, RetryLater, Worker } from 'adjourn';
import { openTelemetry } from 'adjourn/opentelemetry';
import { startQueue } from 'adjourn/testing';
import { cuttable } from './support/cuttable.mjs';
import { takeSpans } from './support/spans.mjs';
import { until } from './support/until.mjs';

const MINUTE = 60_000;
const tracer = trace.getTracer('the application');
const OK = { code: SpanStatusCode.UNSET };

beforeEach(() => takeSpans());

/** A queue, and a client that traces. */
async function traced(t, options = {}) {
  const queue = await startQueue(t);
  return { queue, q: await queue.connect({ tracing: openTelemetry, log: () => {}, ...options }) };
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
  const queue = await inSpan('start', async () => {
    const { queue, q } = await traced(t);
    new Worker(q, { topics: 't', handler: () => {} });
    return queue;
  });
  await (await queue.connect()).push('t', 'x');
  await queue.idle();
  assert.equal(named(takeSpans(), 'process t').parentSpanContext, undefined);
});

test('a handler that fails has its error in its span, and one that releases or buries on purpose does not', async (t) => {
  const { queue, q } = await traced(t);
  const outcomes = [() => { throw new TypeError('no luck'); }, () => { throw 'a text'; }, () => { throw new RetryLater(MINUTE); }, () => { throw new BuryJob('never'); }];
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
  assert.deepEqual(attempts.map(({ attributes }) => [attributes['adjourn.attempt'], attributes['error.type']]), [[1, 'TypeError'], [2, '_OTHER'], [3, undefined], [4, undefined]]);
  assert.deepEqual(attempts.map(({ status }) => status), [{ code: SpanStatusCode.ERROR, message: 'no luck' }, { code: SpanStatusCode.ERROR, message: 'a text' }, OK, OK]);
  const exceptions = attempts.map(({ events }) => events.slice(1).map(({ attributes }) => attributes['exception.message']));
  assert.deepEqual(exceptions, [['no luck'], ['a text'], [], []]);
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
  const { q } = await traced(t);
  const shop = propagation.createBaggage({ shop: { value: 'berlin' } });
  const active = propagation.setBaggage(trace.setSpanContext(context.active(), { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), traceFlags: 1, traceState: createTraceState('vendor=1') }), shop);
  const headersOf = async (headers) => ({ ...(await q.get(await context.with(active, () => q.push('own', Uint8Array.of(1), { headers })))).headers });
  assert.deepEqual(await headersOf({ traceparent: 'mine' }), { traceparent: 'mine' });
  const { traceparent, ...others } = await headersOf({ baggage: 'mine=1' });
  assert.ok(traceparent.startsWith(`00-${'c'.repeat(32)}-`), traceparent);
  assert.deepEqual(others, { tracestate: 'vendor=1', baggage: 'mine=1' });
});

test('a trace without room in the headers is left out', async (t) => {
  const { q } = await traced(t);
  const large = propagation.createBaggage({ large: { value: 'x'.repeat(1_000) } });
  const headersOf = async (headers) => (await q.get(await context.with(propagation.setBaggage(context.active(), large), () => q.push('large', 'x', { headers })))).headers;
  assert.deepEqual(Object.keys(await headersOf({})).sort(), ['content-type', 'traceparent']);
  assert.deepEqual(Object.keys(await headersOf({ own: 'x'.repeat(950) })).sort(), ['content-type', 'own']);
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
