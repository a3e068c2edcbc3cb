/** One round of the search for the leader: connects to one address after the other, and says HELLO. */

import { AdjournError, CannotConnectError, ProtocolError } from '../errors.js';
import { refusal } from '../refusals.js';
import { parseAddress, type Config } from '../options.js';
import { HELLO_OPTIONS } from '../protocol/choices.js';
import { encodeRequest } from '../protocol/requests.js';
import { PROTOCOL_VERSION } from '../protocol/limits.js';
import type { ErrorFields, WelcomeFields } from '../protocol/messages.js';
import { isNotHere, isResumed } from './answers.js';
import { HELLO_ID } from './ids.js';
import type { Elsewhere } from './interfaces.js';
import type { Search } from './search.js';
import { decode, Wire } from './wire.js';

/** A connection whose HELLO was answered. */
export interface Link {
  readonly wire: Wire;
  readonly welcome: WelcomeFields;
  /** When HELLO was sent. */
  readonly said: number;
}

export interface Session {
  /** 0: none. */
  readonly session: bigint;
  readonly secret: Uint8Array;
}

/** A round of attempts of which none succeeded. */
export interface Missed {
  error: AdjournError | null;
  /** It will fail for ever. */
  isHopeless: boolean;
  /** A server answered that does not lead now, or one was silent: trying again makes sense at once. */
  isWorthAnother: boolean;
  elsewhere: Elsewhere;
}

const FRESH: Session = { session: 0n, secret: new Uint8Array(16) };
/** Tries each address of the round once, and those that servers name. */
export async function dialRound(config: Config, search: Search, session: Session | null, signal: AbortSignal): Promise<Link | Missed> {
  const missed: Missed = { error: null, isHopeless: false, isWorthAnother: false, elsewhere: { leader: '', pauseMs: 0 } };
  let wasAnswered = false;
  for (let address = search.next(); address !== null && !signal.aborted; address = search.next()) {
    const attempt = await dial(config, address, session, search.patienceMs(config.connectTimeoutMs), signal);
    if ('wire' in attempt) {
      search.answered(address);
      search.found(isResumed(session, attempt.welcome));
      return attempt;
    }
    if (attempt.isHopeless) return { ...missed, error: attempt.error, isHopeless: true };
    if (attempt.isSilent) search.silent(address);
    else search.answered(address);
    if (session && attempt.mayArrive) search.gaveUpHello();
    missed.isWorthAnother ||= attempt.isSilent || attempt.reply !== null;
    if (attempt.reply) {
      wasAnswered = true;
      heed(missed.elsewhere, attempt.reply);
      search.redirect(attempt.reply.leader);
    }
    // What a server said tells more than that another one cannot be reached.
    if (attempt.reply || !wasAnswered) missed.error = attempt.error;
  }
  return missed;
}

/** The newest word on the leader counts, and the longest wait. */
function heed(elsewhere: Elsewhere, reply: ErrorFields): void {
  elsewhere.leader = reply.leader || elsewhere.leader;
  elsewhere.pauseMs = Math.max(elsewhere.pauseMs, reply.retryAfterMs);
}

interface Attempt {
  readonly error: AdjournError;
  readonly isHopeless: boolean;
  /** Nothing came in time. */
  readonly isSilent: boolean;
  /** HELLO was written and not answered: a server may still get it. */
  readonly mayArrive: boolean;
  readonly reply: ErrorFields | null;
}

async function dial(config: Config, address: string, session: Session | null, patienceMs: number, signal: AbortSignal): Promise<Link | Attempt> {
  const to = parseAddress(address)!;
  const late = new AbortController();
  const stop = () => late.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  const cancel = config.clock.after(patienceMs, () => late.abort(new Error(`no answer within ${patienceMs} ms`)));
  let wire: Wire | null = null;
  let said: number | null = null;
  try {
    wire = new Wire(await config.dialer(to, late.signal));
    const open = wire;
    late.signal.addEventListener('abort', () => open.lose({ why: 'silent', error: late.signal.reason as Error }));
    if (late.signal.aborted) throw late.signal.reason as Error;
    said = config.clock.now();
    const frame = await wire.greet(hello(config, session));
    const response = decode(frame);
    if (response instanceof Error) throw response;
    if (response?.name === 'WELCOME') return { wire, welcome: response.fields, said };
    wire.lose({ why: 'closed', error: null });
    if (response?.name === 'ERROR') return refused(response.fields);
    if (response?.name === 'GOING_AWAY') throw new Error('the server is about to stop');
    throw new ProtocolError(`opcode ${frame.opcode} answers HELLO`, 'no');
  } catch (cause) {
    wire?.lose({ why: 'closed', error: null });
    // Something else may answer at the address for now: a client with a session tries again.
    if (cause instanceof ProtocolError) return { error: cause, isHopeless: session === null, isSilent: false, mayArrive: false, reply: null };
    return { error: new CannotConnectError(address, cause), isHopeless: false, isSilent: late.signal.aborted, mayArrive: said !== null, reply: null };
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}

function refused(reply: ErrorFields): Attempt {
  const error = refusal(reply);
  return { error, isHopeless: !error.retryable && !isNotHere(reply), isSilent: false, mayArrive: false, reply };
}

function hello(config: Config, session: Session | null): Uint8Array {
  return encodeRequest('HELLO', HELLO_ID, {
    versionMin: PROTOCOL_VERSION,
    versionMax: PROTOCOL_VERSION,
    options: (config.leasesOutlive ? HELLO_OPTIONS.leasesOutlive : 0) | (config.withoutSession ? HELLO_OPTIONS.noSession : 0),
    heartbeatMs: config.heartbeatMs,
    ...(session ?? FRESH),
    clientName: config.name,
    token: config.token,
  });
}
