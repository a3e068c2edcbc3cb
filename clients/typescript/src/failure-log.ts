/** What a worker logs of handlers that fail: enough to see that something is wrong, and not more than a log can bear. */

import type { Clock } from './clock.js';
import type { Job } from './job.js';
import type { LogEntry } from './options.js';

const REMEMBERED_MAX = 1_024;
const LINES_MAX = 10;
const LINES_PER_MS = 1 / 1_000;

/** Logs a failure once for each job and reason: ten at once, and one a second on average. What it leaves out it counts. */
export class FailureLog {
  private readonly known = new Set<string>();
  private leftOut = 0;
  private lines = LINES_MAX;
  private countedAt: number;

  constructor(
    private readonly clock: Clock,
    private readonly log: (entry: LogEntry) => void,
  ) {
    this.countedAt = clock.now();
  }

  failed({ id, topic, attempts }: Pick<Job, 'id' | 'topic' | 'attempts'>, reason: string, error: unknown): void {
    const name = `${id} ${reason}`;
    if (this.known.has(name)) return;
    if (!this.mayWrite()) {
      this.leftOut += 1;
      return;
    }
    this.known.add(name);
    if (this.known.size > REMEMBERED_MAX) for (const oldest of this.known) if (this.known.delete(oldest)) break;
    const more = this.leftOut > 0 ? ` (failures that were not logged: ${this.leftOut})` : '';
    const fields = { job: id, topic, attempts, reason, leftOut: this.leftOut, error };
    this.leftOut = 0;
    this.log({ level: 'warn', event: 'handler_failed', message: `the handler of job ${id} failed at attempt ${attempts}: ${reason}${more}`, fields });
  }

  private mayWrite(): boolean {
    const now = this.clock.now();
    this.lines = Math.min(LINES_MAX, this.lines + (now - this.countedAt) * LINES_PER_MS);
    this.countedAt = now;
    if (this.lines < 1) return false;
    this.lines -= 1;
    return true;
  }
}
