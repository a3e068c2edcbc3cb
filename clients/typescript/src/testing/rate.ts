/** How many deliveries a second a topic allows: evenly spread, at most a tenth of a second's worth at once. */

const AT_ONCE_MS = 100;

export class Rate {
  /** When the next delivery would be if all so far had been spread evenly. */
  private evenMs = 0;

  /** When the next delivery may be. */
  freeAt(perSecond: number): number {
    return this.evenMs - Math.max(0, AT_ONCE_MS - 1_000 / perSecond);
  }

  delivered(perSecond: number, nowMs: number): void {
    this.evenMs = Math.max(this.evenMs, nowMs) + 1_000 / perSecond;
  }
}
