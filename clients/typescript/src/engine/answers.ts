/** What answers say besides their fields. */

import { ProtocolError } from '../errors.js';
import { isUsable } from '../options.js';
import { WELCOME_MARKS } from '../protocol/choices.js';
import { codeName } from '../protocol/codes.js';
import type { ErrorFields, Request, Response, WelcomeFields } from '../protocol/messages.js';

/** Whether another connection may do better with the same request. */
export function isNotHere(reply: ErrorFields): boolean {
  const code = codeName(reply.code);
  return code === 'NOT_LEADER' || code === 'NO_LEADER' || code === 'STOPPING' || code === 'SESSION_UNKNOWN';
}

/** Whether WELCOME resumes the session that HELLO named. */
export function isResumed(known: { readonly session: bigint } | null, welcome: WelcomeFields): boolean {
  return (welcome.marks & WELCOME_MARKS.resumed) !== 0 && welcome.session === known?.session;
}

/** Whether WELCOME says that the leases of the session were kept. */
export function hasKeptLeases(welcome: WelcomeFields): boolean {
  return (welcome.marks & WELCOME_MARKS.leasesKept) !== 0;
}

/** An answer must have an item for each that was asked about. */
export function faultOf(request: Request, response: Response): ProtocolError | null {
  const asked = itemsOf(request);
  if (asked === null) return null;
  if (response.name !== (request.name === 'PUSH' ? 'PUSHED' : 'SETTLED')) return new ProtocolError(`${response.name} answers ${request.name}`);
  const found = (response as Response<'PUSHED' | 'SETTLED'>).fields.results.length;
  return asked === found ? null : new ProtocolError(`an answer of ${found} items to a request of ${asked}`);
}

function itemsOf(request: Request): number | null {
  switch (request.name) {
    case 'PUSH':
      return request.fields.jobs.length;
    case 'FINISH':
    case 'RELEASE':
    case 'TOUCH':
    case 'BURY':
      return request.fields.leases.length;
    default:
      return null;
  }
}

/** Where the members of the cluster are. */
export function addressesOf(welcome: WelcomeFields): string[] {
  return welcome.members.map(({ address }) => address).filter(isUsable);
}

/** In hex, if another cluster says it; `null` if it is the same one. */
export function otherCluster(known: WelcomeFields, now: WelcomeFields): { readonly expected: string; readonly found: string } | null {
  const [expected, found] = [hex(known.clusterId), hex(now.clusterId)];
  return expected === found ? null : { expected, found };
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
