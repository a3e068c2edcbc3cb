/** Topics take turns by their weights: the smooth weighted round-robin that protocol.md describes. */
export class Turns {
  private readonly standings: number[];

  constructor(private readonly topics: readonly string[], private readonly weights: readonly number[]) {
    this.standings = topics.map(() => 0);
  }

  /** Whose turn it is among the topics that have a job; `undefined` if none has. */
  next(hasJob: (topic: string) => boolean): string | undefined {
    let best = -1;
    let sum = 0;
    for (const [at, topic] of this.topics.entries()) {
      if (!hasJob(topic)) continue;
      sum += this.weights[at]!;
      this.standings[at]! += this.weights[at]!;
      if (best < 0 || this.standings[at]! > this.standings[best]!) best = at;
    }
    if (best < 0) return undefined;
    this.standings[best]! -= sum;
    return this.topics[best];
  }
}
