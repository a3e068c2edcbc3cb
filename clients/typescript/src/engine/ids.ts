/** Request ids. Calls count up from 1; the connection itself asks under the highest ones, each kind under its own. */

const OWN_ID_MIN = 0xffff_ff00;
export const CALL_ID_MAX = OWN_ID_MIN - 1;
/** Heartbeats take these in turn: an id is not used again while its answer is missing. */
export const PING_ID_MIN = OWN_ID_MIN;
export const PING_ID_MAX = 0xffff_fffd;
export const MEMBERS_ID = 0xffff_fffe;
export const HELLO_ID = 0xffff_ffff;
/** Of the requests that a server takes at once, heartbeats and the question for the members need these. */
export const OWN_REQUESTS = 2;

/** Whether no call waits for a frame with this id: the connection asked, or the server speaks for itself. */
export function isOwnId(id: number): boolean {
  return id === 0 || id >= OWN_ID_MIN;
}
