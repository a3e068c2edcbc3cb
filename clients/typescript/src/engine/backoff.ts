/** Random waits whose bound doubles. */

const FIRST_MS = 50;

export class Backoff {
  private boundMs: number;

  constructor(private readonly maxMs: number) {
    this.boundMs = Math.min(FIRST_MS, maxMs);
  }

  next(): number {
    const waitMs = Math.random() * this.boundMs;
    this.boundMs = Math.min(this.boundMs * 2, this.maxMs);
    return waitMs;
  }

  reset(): void {
    this.boundMs = Math.min(FIRST_MS, this.maxMs);
  }
}
