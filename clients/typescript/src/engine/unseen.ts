/**
 * Leases that the server holds for this client although their jobs never arrived, because the connection broke.
 *
 * Fences tell them apart: they only grow, and a connection delivers its jobs in the order in which they were granted.
 * So of earlier connections, every lease arrived up to the highest fence received; and what the new one has granted
 * arrives before the LEASED that shows it.
 */

export class Unseen {
  /** This client has asked for jobs. */
  consumes = false;
  private through = 0n;
  private since = new Set<bigint>();
  private isOpen = false;

  /** Jobs came. */
  came(jobs: readonly { readonly fence: bigint }[]): void {
    for (const { fence } of jobs) {
      if (this.isOpen) this.since.add(fence);
      else if (fence > this.through) this.through = fence;
    }
  }

  /** The session was resumed with its leases: LEASES is asked. */
  open(): void {
    this.isOpen = true;
  }

  /** All leases were looked at, or there are none. */
  close(): void {
    for (const fence of this.since) if (fence > this.through) this.through = fence;
    this.since.clear();
    this.isOpen = false;
  }

  isUnseen(lease: { readonly fence: bigint }): boolean {
    return lease.fence > this.through && !this.since.has(lease.fence);
  }
}
