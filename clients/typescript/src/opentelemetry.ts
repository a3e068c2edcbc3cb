/**
 * Traces by OpenTelemetry: a span around each push, whose context travels in the headers of its jobs, and a span around each handler,
 * which continues it. Spans go to the providers that the application has registered. Nothing else of this package needs
 * `@opentelemetry/api`.
 */

import { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, propagation, trace, type Context, type Span, type SpanOptions } from '@opentelemetry/api';
import { sound, textOf } from './thrown.js';
import type { Tracing } from './tracing.js';
import { BuryJob, RetryLater } from './worker.js';

const tracer = trace.getTracer('adjourn');

/** For `tracing` of `connect`. */
export const openTelemetry: Tracing = {
  push({ topic, jobs }, send) {
    const attributes = { ...attributesOf('push', 'send', topic), ...(jobs !== 1 && { 'messaging.batch.message_count': jobs }) };
    const parent = context.active();
    return inSpan(`push ${topic}`, { kind: SpanKind.PRODUCER, attributes }, parent, async (span) => {
      const headers: Record<string, string> = {};
      propagation.inject(trace.setSpan(parent, span), headers);
      const results = await send(headers);
      for (const result of results) {
        if (result.outcome === 'refused') {
          failed(span, result.error);
          break;
        }
        if (jobs === 1) span.setAttribute('messaging.message.id', String(result.id));
      }
      return results;
    });
  },

  async process(job, _, next) {
    const attributes = { ...attributesOf('process', 'process', job.topic), 'messaging.message.id': String(job.id), 'adjourn.attempt': job.attempts };
    // What runs here by chance, such as the span in which the worker was made, is no parent.
    const parent = propagation.extract(ROOT_CONTEXT, job.headers);
    await inSpan(`process ${job.topic}`, { kind: SpanKind.CONSUMER, attributes }, parent, next);
  },
};

function attributesOf(name: 'push' | 'process', type: 'send' | 'process', topic: string) {
  return {
    'messaging.system': 'adjourn',
    'messaging.operation.name': name,
    'messaging.operation.type': type,
    'messaging.destination.name': topic,
  };
}

/** Work in a span, which ends with it. */
function inSpan<T>(name: string, options: SpanOptions, parent: Context, work: (span: Span) => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      failed(span, sound(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

function failed(span: Span, error: unknown): void {
  // Thrown on purpose.
  if (error instanceof RetryLater || error instanceof BuryJob) return;
  const message = textOf(error);
  span.recordException(error instanceof Error ? error : message);
  span.setAttribute('error.type', typeOf(error));
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** The code of an error, as those of this client have one, or its name. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
