/** The hook for traces, of which `adjourn/opentelemetry` is one. The rest of the client knows no library for them. */

import type { PushResult } from './client.js';
import type { NamedHeaders } from './new-job.js';
import type { Middleware } from './worker.js';

export interface Tracing {
  /**
   * Runs around each push, of so many jobs to one topic. It calls `send` once, and at once, with the headers that carry the trace, and returns the results: one for
   * each job. A header that a job has already wins, and with a `traceparent` it gets none; one that has no room in it is
   * left out.
   */
  push(pushed: { readonly topic: string; readonly jobs: number }, send: (headers: NamedHeaders) => Promise<PushResult[]>): Promise<PushResult[]>;
  /** Runs around each handler and all other middleware. */
  readonly process: Middleware;
}
