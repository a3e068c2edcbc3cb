/**
 * The search for the leader: which address to try next, and how long to wait for its answer.
 *
 * It proceeds in rounds. A round tries each address once: the one that the last server named, the configured ones, the
 * members. If a server that does not lead names the leader, that address is tried next; an address that did not answer is
 * tried last in the next round. It knows no socket and no clock.
 */

import { isUsable } from '../options.js';

/** In the first rounds, an address gets this share of the time if there are others; all of it in later ones. */
const SHARES = [1 / 4, 1 / 2];

export class Search {
  /** Not tried yet in this round, in order. */
  private ahead: string[] = [];
  private readonly tried = new Set<string>();
  /** Did not answer when they were tried last. */
  private readonly silentOnes = new Set<string>();
  private rounds = 0;
  /** HELLOs that named a session and were given up without an answer. */
  private hellosGivenUp = 0;

  constructor(private readonly configured: readonly string[]) {}

  /** Begins a round. `hint` is the address that the last server named; it may be empty. */
  begin(hint: string, members: readonly string[]): void {
    this.rounds += 1;
    this.tried.clear();
    const known = new Set([...(isUsable(hint) ? [hint] : []), ...this.configured, ...members]);
    this.ahead = [...known].sort((a, b) => Number(this.silentOnes.has(a)) - Number(this.silentOnes.has(b)));
  }

  /** The next address of this round; `null` after the last one. */
  next(): string | null {
    const address = this.ahead.shift() ?? null;
    if (address !== null) this.tried.add(address);
    return address;
  }

  /** How long to wait for the answer of the address that came last: a server that is stuck must not hide one that leads. */
  patienceMs(limitMs: number): number {
    const isAlone = this.tried.size + this.ahead.length === 1;
    return isAlone ? limitMs : limitMs * (SHARES[this.rounds - 1] ?? 1);
  }

  /** A server said who leads: tries that next, unless it was tried in this round or did not answer lately. */
  redirect(leader: string): void {
    if (!isUsable(leader) || this.tried.has(leader)) return;
    this.ahead = this.ahead.filter((address) => address !== leader);
    if (this.silentOnes.has(leader)) this.ahead.push(leader);
    else this.ahead.unshift(leader);
  }

  /** The address answered, even if only by refusing the connection. */
  answered(address: string): void {
    this.silentOnes.delete(address);
  }

  /** Nothing came from this address in time. */
  silent(address: string): void {
    this.silentOnes.add(address);
  }

  /** A HELLO that named a session was given up. A server may still get it, and then give the session to its dead connection. */
  gaveUpHello(): void {
    this.hellosGivenUp += 1;
  }

  /** The session was taken over. Whether a HELLO of this client itself may have done it; each does so once. */
  tookItselfOver(): boolean {
    if (this.hellosGivenUp === 0) return false;
    this.hellosGivenUp -= 1;
    return true;
  }

  /** The leader welcomed the client. No HELLO that was given up names a session that is new. */
  found(isResumed: boolean): void {
    this.rounds = 0;
    if (!isResumed) this.hellosGivenUp = 0;
  }
}
