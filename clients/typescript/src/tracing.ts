/** The hook for traces, of which `adjourn/opentelemetry` is one. The rest of the client knows no library for them. */

import type { PushResult } from './client.js';
import { traceHeaders, type NamedHeaders } from './new-job.js';
import type { LogEntry } from './options.js';
import { textOf } from './thrown.js';
import type { Middleware } from './worker.js';

/** A fault in tracing changes no outcome: the client logs the first one that a hook throws, and goes on. */
export interface Tracing {
  /**
   * Runs around each push of one or more jobs to one topic. It calls `send` with the headers that carry the trace, and returns the results: one for each job.
   * It calls `send` once, and at once: pushes are sent in the order in which `send` is called, and a hook that waits first changes the order of the application's pushes.
   * A header that a job has already wins, and a job with a `traceparent` gets none. The names are compared without case. Headers that have no room in a job are
   * left out, and all of them if `traceparent` has none.
   */
  push(pushed: { readonly topic: string; readonly jobs: number }, send: (headers: NamedHeaders) => Promise<PushResult[]>): Promise<PushResult[]>;
  /** Runs around each handler and all other middleware. */
  readonly process: Middleware;
}

/** The same tracing, but its faults change no outcome. The first one is logged. */
export function harmless(tracing: Tracing, log: (entry: LogEntry) => void): Tracing {
  let isLogged = false;
  const report = (error: unknown) => {
    if (isLogged) return;
    isLogged = true;
    log({ level: 'warn', event: 'tracing_failed', message: `tracing failed, further faults of it are not logged: ${textOf(error)}`, fields: { error } });
  };
  const usable = (headers: NamedHeaders): NamedHeaders => {
    try {
      return traceHeaders(headers);
    } catch (error) {
      report(error);
      return {};
    }
  };
  return {
    push: (pushed, send) => onceIn((once) => tracing.push(pushed, once), (headers: NamedHeaders = {}) => send(usable(headers)), report),
    process: (job, context, next) => onceIn((once) => tracing.process(job, context, once), next, report),
  };
}

/** Runs the work once, whether the hook calls it or not. Its outcome counts, not that of the hook. */
async function onceIn<T, Given>(hook: (work: (given?: Given) => Promise<T>) => Promise<T>, work: (given?: Given) => Promise<T>, report: (error: unknown) => void): Promise<T> {
  let outcome: Promise<T> | undefined;
  let failure: { readonly error: unknown } | undefined;
  const once = (given?: Given) => {
    if (!outcome) {
      outcome = work(given);
      outcome.catch((error: unknown) => (failure = { error }));
    }
    return outcome;
  };
  try {
    await hook(once);
  } catch (error) {
    if (!failure || !Object.is(failure.error, error)) report(error);
  }
  return once();
}
