/** Two ends of a connection in memory. */

import type { Transport, TransportEvents } from '../transport.js';

class End implements Transport {
  other!: End;
  private events: TransportEvents | null = null;
  private readonly early: Uint8Array[] = [];
  private isClosed = false;

  listen(events: TransportEvents): void {
    this.events = events;
    for (const bytes of this.early.splice(0)) events.data(bytes);
    if (this.isClosed) events.closed(null);
  }

  write(bytes: Uint8Array, written: () => void): void {
    queueMicrotask(() => {
      if (this.isClosed) return;
      this.other.receive(bytes);
      written();
    });
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.events?.closed(null);
    queueMicrotask(() => this.other.close());
  }

  private receive(bytes: Uint8Array): void {
    if (this.isClosed) return;
    if (this.events) this.events.data(bytes);
    else this.early.push(bytes);
  }
}

export function connectedPair(): [Transport, Transport] {
  const [one, two] = [new End(), new End()];
  one.other = two;
  two.other = one;
  return [one, two];
}
