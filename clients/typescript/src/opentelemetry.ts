/**
 * Traces by OpenTelemetry: a span around each push, whose context travels in the headers of its jobs, and a span around each handler,
 * which continues it. Spans go to the providers that the application has registered. Nothing else of this package needs
 * `@opentelemetry/api`.
 */

import { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, propagation, trace, type Context, type Span, type SpanOptions, type TextMapGetter } from '@opentelemetry/api';
import { AdjournError } from './errors.js';
import { sound, textOf } from './thrown.js';
import type { Tracing } from './tracing.js';
import { BuryJob, RetryLater } from './worker.js';

const tracer = trace.getTracer('adjourn');

/** For `tracing` of `connect`. */
export const openTelemetry: Tracing = {
  push({ topic, jobs }, send) {
    const attributes = { ...attributesOf('push', 'send', topic), ...(jobs !== 1 && { 'messaging.batch.message_count': jobs }) };
    return inSpan(`push ${topic}`, { kind: SpanKind.PRODUCER, attributes }, () => context.active(), async (span, current, attempt) => {
      const results = await send(attempt(() => injected(current)) ?? {});
      for (const result of results) {
        if (result.outcome === 'refused') {
          failed(span, result.error, attempt);
          break;
        }
        if (jobs === 1) attempt(() => span?.setAttribute('messaging.message.id', String(result.id)));
      }
      return results;
    });
  },

  process(job, _, next) {
    const attributes = { ...attributesOf('process', 'process', job.topic), 'messaging.message.id': String(job.id), 'adjourn.attempt': job.attempts };
    // What runs here by chance, such as the span in which the worker was made, is no parent.
    return inSpan(`process ${job.topic}`, { kind: SpanKind.CONSUMER, attributes }, () => extracted(job.headers), () => next());
  },
};

function injected(current: Context): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(current, headers);
  return headers;
}

function extracted(headers: Readonly<Record<string, string>>): Context {
  return propagation.extract(ROOT_CONTEXT, new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])), WITHOUT_CASE);
}

const WITHOUT_CASE: TextMapGetter<Map<string, string>> = {
  keys: (headers) => [...headers.keys()],
  get: (headers, name) => headers.get(name.toLowerCase()),
};

function attributesOf(name: 'push' | 'process', type: 'send' | 'process', topic: string) {
  return {
    'messaging.system': 'adjourn',
    'messaging.operation.name': name,
    'messaging.operation.type': type,
    'messaging.destination.name': topic,
  };
}

/** Takes a step of tracing. If the step fails, there is no result of it. */
type Attempt = <T>(step: () => T) => T | undefined;

/**
 * Work in a span, which ends with it. A step of tracing that fails keeps neither the work nor the other steps from running. Its
 * fault is thrown at the end, and the client logs it.
 */
async function inSpan<T>(
  name: string,
  options: SpanOptions,
  parentOf: () => Context,
  work: (span: Span | undefined, current: Context, attempt: Attempt) => Promise<T>,
): Promise<T> {
  const faults: unknown[] = [];
  const attempt: Attempt = (step) => {
    try {
      return step();
    } catch (error) {
      faults.push(error);
      return undefined;
    }
  };
  const parent = attempt(parentOf) ?? ROOT_CONTEXT;
  const span = attempt(() => tracer.startSpan(name, options, parent));
  const current = span ? trace.setSpan(parent, span) : parent;
  try {
    return await context.with(current, () => work(span, current, attempt));
  } catch (error) {
    failed(span, sound(error), attempt);
    throw error;
  } finally {
    attempt(() => span?.end());
    if (faults.length > 0) throw faults[0];
  }
}

function failed(span: Span | undefined, error: unknown, attempt: Attempt): void {
  // Thrown on purpose.
  if (error instanceof RetryLater || error instanceof BuryJob) return;
  const message = textOf(error);
  attempt(() => span?.recordException(error instanceof Error ? error : message));
  attempt(() => span?.setAttribute('error.type', typeOf(error)));
  attempt(() => span?.setStatus({ code: SpanStatusCode.ERROR, message }));
}

/** The code of an error of this client, or the name of any other: a class that gives its errors no name is the name. */
function typeOf(error: unknown): string {
  if (error instanceof AdjournError) return error.code;
  if (!(error instanceof Error)) return '_OTHER';
  return error.name === 'Error' ? error.constructor.name : error.name;
}
