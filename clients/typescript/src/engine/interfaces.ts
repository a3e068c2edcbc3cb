/** What the engine gives to, and takes from, what is around it. */

export interface LeaseIds {
  readonly job: bigint;
  readonly fence: bigint;
}

export interface CallOptions {
  /** Ends the call with the signal's reason. A request that was sent may be applied all the same. */
  readonly signal?: AbortSignal | undefined;
}

/** What the connection has to do for the engine. */
export interface Wiring {
  /** There is something to send. */
  wake(): void;
  /** Something has to be done at this time at the latest. */
  wakeAt(time: number): void;
}

/** What a server said of where to go on, and when. */
export interface Elsewhere {
  leader: string;
  pauseMs: number;
}
