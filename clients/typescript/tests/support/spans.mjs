// The SDK of OpenTelemetry, with an exporter that keeps the spans that ended.

import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

/** Steps of tracing that throw: `onStart`, `onEnd`, `inject`, `extract`. */
export const failing = new Set();
const step = (name) => () => {
  if (failing.has(name)) throw new Error(`${name} fails`);
};

const exporter = new InMemorySpanExporter();
const mayFail = { onStart: step('onStart'), onEnd: step('onEnd'), forceFlush: async () => {}, shutdown: async () => {} };
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), mayFail] }));
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
// Baggage first, so that the order of the headers is not that of the propagators.
const w3c = new CompositePropagator({ propagators: [new W3CBaggagePropagator(), new W3CTraceContextPropagator()] });
propagation.setGlobalPropagator({
  fields: () => w3c.fields(),
  inject: (...given) => (step('inject')(), w3c.inject(...given)),
  extract: (...given) => (step('extract')(), w3c.extract(...given)),
});

/** The spans that ended since the last call, in the order of their ends. */
export function takeSpans() {
  const spans = exporter.getFinishedSpans();
  exporter.reset();
  return spans;
}
