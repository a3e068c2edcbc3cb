/**
 * The client without a socket: what it asks, what the answers mean, and what goes on over the next connection.
 *
 * ```text
 *   accept --> in line --> on the wire --> answered
 *                 ^              |
 *                 +---- down ----+--> outcome unknown (not safe to repeat, or the session is lost)
 * ```
 *
 * `requests.ts` keeps the requests, `outcome.ts` decides what becomes of those that were refused or lost.
 *
 * Promised: a push is sent under new numbers only if no copy of it can have been applied.
 */

import { AdjournError, ClosedError, OutcomeUnknownError, ProtocolError, UsageError, WrongClusterError } from '../errors.js';
import type { Config } from '../options.js';
import { isUsable } from '../options.js';
import { APPLIED, ERROR_MARKS, GOING_AWAY, PAGE_MARKS } from '../protocol/choices.js';
import { codeName } from '../protocol/codes.js';
import { encodeRequest } from '../protocol/requests.js';
import { RELEASE_NOT_STARTED } from '../protocol/limits.js';
import type { DeliveredValue, ErrorFields, Request, RequestFields, RequestName, Response, WelcomeFields } from '../protocol/messages.js';
import { addressesOf, faultOf, hasKeptLeases, isNotHere, isResumed, otherCluster } from './answers.js';
import { Feed } from './feed.js';
import { MEMBERS_ID, OWN_REQUESTS, isOwnId } from './ids.js';
import type { CallOptions, Elsewhere, LeaseIds, Wiring } from './interfaces.js';
import { Leases, heartbeatOf, type Delivery } from './leases.js';
import type { Open, Waiter } from './open.js';
import { DONE, afterDeadline, afterEnd, afterLoss, afterRefusal } from './outcome.js';
import { Pulse } from './pulse.js';
import { needsSession, settledBy, waitMsOf } from './repeat.js';
import { Requests, isResponse, type Entry } from './requests.js';
import { Unseen } from './unseen.js';

/** What nobody waits for is given up after this time. */
const UNHEARD_MS_MAX = 60_000;
const DISCONNECTED_PAUSE_MS = 5_000;

type State = 'down' | 'up' | 'draining';

export class Engine {
  state: State = 'up';
  welcome: WelcomeFields;
  members: readonly string[];
  readonly leases: Leases;
  pulse: Pulse;
  reconnects = 0;
  /** Whether the present connection has answered something. */
  isProven = false;
  elsewhere: Elsewhere = { leader: '', pauseMs: 0 };
  /** The server closes the connection because another one took the session over. */
  takenOver: ClosedError | null = null;
  /** Set when nothing is accepted any more. */
  ended: AdjournError | null = null;
  /** The longest time for which the event loop was blocked. */
  blockedMsMax = 0;
  wiring: Wiring = { wake() {}, wakeAt() {} };
  private readonly requests: Requests;
  private readonly unseen = new Unseen();
  private unseenAsk: Open | null = null;
  private knowsCancel = true;
  /** Whether leases end at their deadline alone. Without a session this client has none. */
  private readonly outlive: boolean;

  constructor(private readonly config: Config, said: number, welcome: WelcomeFields) {
    this.requests = new Requests(config, { wake: () => this.wiring.wake(), wakeAt: (time) => this.wiring.wakeAt(time) });
    this.welcome = welcome;
    this.members = addressesOf(welcome);
    this.outlive = config.leasesOutlive || config.withoutSession;
    this.leases = new Leases(said, welcome, this.outlive);
    this.pulse = new Pulse(this.now, heartbeatOf(welcome, config.heartbeatMs, this.outlive));
  }

  get now(): number {
    return this.config.clock.now();
  }

  get pending(): number {
    return this.requests.size;
  }

  // --- calls -----------------------------------------------------------------------------------------------------

  /** Sends a request as soon as its turn comes. */
  call<N extends RequestName>(name: N, fields: RequestFields<N>, options: CallOptions = {}): Promise<Response> {
    return new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal?.aborted) return reject(signal.reason as Error);
      const request = { name, fields } as Request;
      const timeoutMs = this.config.requestTimeoutMs;
      const deadline = timeoutMs > 0 ? this.now + timeoutMs + waitMsOf(request) : Infinity;
      const abort = () => this.abandon(open, signal?.reason);
      const done = () => signal?.removeEventListener('abort', abort);
      const waiter: Waiter = {
        resolve: (response) => (done(), resolve(response)),
        reject: (error) => (done(), reject(error as Error)),
      };
      const open = this.enter({ request, waiter, deadline });
      signal?.addEventListener('abort', abort);
    });
  }

  /** A subscription: its id stays the same over all reconnects. */
  subscribe(fields: RequestFields<'SUBSCRIBE'>): { readonly open: Open; readonly acknowledged: Promise<void> } {
    const feed = new Feed(fields.creditJobs);
    let waiter!: Waiter;
    const acknowledged = new Promise<void>((resolve, reject) => {
      waiter = { resolve: () => resolve(), reject };
    });
    // Whoever takes jobs learns of the failure from the feed, too.
    acknowledged.catch(() => {});
    return { open: this.enter({ request: { name: 'SUBSCRIBE', fields }, waiter, feed, deadline: Infinity }), acknowledged };
  }

  /** Adds credit, now and after each reconnect. */
  async credit(open: Open, creditJobs: number, creditBytes: bigint): Promise<void> {
    const { fields } = open.request as Request<'SUBSCRIBE'>;
    open.request = { name: 'SUBSCRIBE', fields: { ...fields, creditJobs: fields.creditJobs + creditJobs, creditBytes: fields.creditBytes + creditBytes } };
    open.frame = encodeRequest('SUBSCRIBE', open.id, open.request.fields);
    open.feed?.addCredit(creditJobs);
    if (open.isOnWire) await this.call('CREDIT', { subscription: open.id, creditJobs, creditBytes });
  }

  /** Ends a subscription. Jobs that nobody took are given back. */
  async unsubscribe(open: Open): Promise<void> {
    const feed = open.feed!;
    if (feed.hasEnded) return;
    feed.end(null);
    this.giveBack(feed.drain().map(({ job }) => job));
    if (!open.isOnWire) return this.finish(open, DONE);
    // It ends with the connection, too.
    await this.call('UNSUBSCRIBE', { subscription: open.id }).catch(() => {});
    this.finish(open, DONE);
  }

  /** Gives leases back: no attempt is counted, or `delayMs`. Nobody waits for the answer. */
  giveBack(leases: readonly LeaseIds[], delayMs = RELEASE_NOT_STARTED): void {
    const ids = leases.map(({ job, fence }) => ({ job, fence }));
    while (ids.length > 0) this.unheard({ name: 'RELEASE', fields: { delayMs, leases: ids.splice(0, this.welcome.leasesMax), reason: '' } });
  }

  /**
   * The last request: everything after it is refused. Subscriptions end before it, and jobs that nobody took are given
   * back. Rejects when the session cannot be ended in order.
   */
  goodbye(): Promise<Response> {
    for (const open of this.requests) if (open.feed) void this.unsubscribe(open).catch(() => {});
    const answer = this.call('GOODBYE', {});
    this.ended ??= new ClosedError();
    return answer;
  }

  /** Ends every call. */
  end(error: AdjournError): void {
    this.ended = error;
    this.state = 'down';
    for (const open of this.requests) this.finish(open, afterEnd(open, error));
  }

  private unheard(request: Request): void {
    if (!this.ended) this.enter({ request, waiter: null, deadline: this.now + UNHEARD_MS_MAX });
  }

  private enter(entry: Entry): Open {
    if (this.ended) throw this.ended;
    if (this.config.withoutSession && needsSession(entry.request)) {
      throw new UsageError('this client has no session: leave out withoutSession to reserve jobs');
    }
    return this.requests.enter(this.welcome, entry);
  }

  /** The caller does not wait any more. */
  private abandon(open: Open, reason: unknown): void {
    if (open.isDone) return;
    const { waiter } = open;
    if (!open.isOnWire) return this.finish(open, reason);
    // The id is in use until the answer comes. Jobs in it are given back.
    open.waiter = null;
    waiter?.reject(reason);
    if (open.request.name === 'RESERVE' && this.knowsCancel) this.unheard({ name: 'CANCEL', fields: { request: open.id } });
  }

  // --- sending ---------------------------------------------------------------------------------------------------

  /** The frames to send now, up to so many bytes. */
  pump(bytesMax: number): Uint8Array[] {
    const frames: Uint8Array[] = [];
    const unansweredMax = Math.max(1, this.welcome.inFlightMax - OWN_REQUESTS);
    for (let bytes = 0; this.state === 'up' && bytes < bytesMax; ) {
      const open = this.requests.next(unansweredMax);
      if (!open) break;
      if (open.frame.byteLength - 4 > this.welcome.frameBytesMax) {
        this.finish(open, new UsageError('the request is longer than this server takes'));
        continue;
      }
      this.unseen.consumes ||= open.request.name === 'RESERVE' || open.request.name === 'SUBSCRIBE';
      const frame = this.requests.send(open, this.now);
      frames.push(frame);
      bytes += frame.byteLength;
    }
    if (frames.length > 0) this.pulse.spoke(this.now);
    return frames;
  }

  // --- the connection --------------------------------------------------------------------------------------------

  /** The connection is gone. With `fault` the server broke the protocol: what is not safe to repeat ends with it. */
  down(fault: ProtocolError | null): void {
    this.state = 'down';
    this.unseenAsk = null;
    for (const open of this.requests) {
      const wasOnWire = open.isOnWire;
      open.isOnWire = false;
      open.isCounted = false;
      if (open.feed) open.feed.isActive = false;
      const outcome = afterLoss(open, wasOnWire, fault);
      if (outcome) this.finish(open, outcome);
    }
    this.requests.restart();
  }

  /** A new connection, whose HELLO was sent at `said`: sends again what may be sent again. */
  up(said: number, welcome: WelcomeFields): void {
    const other = otherCluster(this.welcome, welcome);
    if (other) throw new WrongClusterError(other.expected, other.found);
    const isSame = isResumed(this.welcome, welcome);
    const areKept = this.outlive || (isSame && hasKeptLeases(welcome));
    if (!isSame) this.renumber();
    if (!areKept) this.forgetJobs();
    this.leases.up(said, welcome, areKept);
    this.pulse = new Pulse(this.now, heartbeatOf(welcome, this.config.heartbeatMs, this.outlive));
    this.welcome = welcome;
    this.members = addressesOf(welcome);
    this.reconnects += 1;
    this.isProven = false;
    this.knowsCancel = true;
    this.takenOver = null;
    this.elsewhere = { leader: '', pauseMs: 0 };
    this.state = 'up';
    if (!areKept) this.unseen.close();
    else if (this.unseen.consumes && !this.outlive) {
      this.unseen.open();
      this.askForLeases(0n);
    }
    this.wiring.wake();
  }

  /** The session is new: what may have been applied under numbers of the old one is not pushed again. */
  private renumber(): void {
    for (const open of this.requests) if (open.isDoubtfulPush && !open.isKeyed) this.finish(open, new OutcomeUnknownError());
    this.requests.renumber();
  }

  /** Nothing more is sent on this connection. */
  drain(elsewhere: Partial<Elsewhere> = {}): void {
    this.elsewhere.leader = elsewhere.leader || this.elsewhere.leader;
    this.elsewhere.pauseMs = Math.max(this.elsewhere.pauseMs, elsewhere.pauseMs ?? 0);
    if (this.state === 'up') this.state = 'draining';
    this.wiring.wake();
  }

  /** Whether the connection can be closed without losing an answer. */
  get isDrained(): boolean {
    return this.state === 'draining' && this.requests.isAnswered;
  }

  /** Asks before everything that waits for its turn. */
  private askForLeases(after: bigint): void {
    if (this.ended) return;
    const request: Request = { name: 'LEASES', fields: { after, jobsMax: Math.max(1, this.welcome.reserveJobsMax) } };
    this.unseenAsk = this.enter({ request, waiter: null, deadline: Infinity, isFirst: true });
  }

  /** Jobs that wait in memory, taken out. */
  private forgetJobs(): LeaseIds[] {
    return [...this.requests].flatMap((open) => open.feed?.drain() ?? []).map(({ job }) => job);
  }

  // --- answers ---------------------------------------------------------------------------------------------------

  /** A response came; `null` for one of a newer server. A `ProtocolError` says that its payload cannot be read. */
  answer(id: number, response: Response | ProtocolError | null): void {
    if (response === null) return;
    if (isOwnId(id)) return this.unasked(id, response);
    this.pulse.movedAt = this.now;
    const open = this.requests.get(id);
    if (!open?.isOnWire) {
      if (!(response instanceof Error) && response.name === 'DELIVER') this.giveBack(response.fields.jobs);
      return;
    }
    if (response instanceof Error) return this.finish(open, response);
    if (response.name === 'ERROR') return this.refused(open, response.fields);
    this.isProven = true;
    this.leases.answered(open.sentAt, response);
    if (response.name === 'RESERVED' || response.name === 'DELIVER') this.unseen.came(response.fields.jobs);
    if (open === this.unseenAsk) return this.leased(open, response);
    if (open.feed) return this.fed(open, open.feed, response);
    const fault = faultOf(open.request, response);
    if (fault) return this.finish(open, fault);
    if (response.name === 'RESERVED') {
      if (!open.waiter) this.giveBack(response.fields.jobs);
      else if (this.isEarly(open, response.fields.jobs)) return this.askAgain(open);
    }
    this.finish(open, response);
  }

  /** The jobs whose leases run for this client. The others are given back if the server may hold them for it. */
  accept(jobs: readonly DeliveredValue[]): Delivery[] {
    const now = this.now;
    this.leases.look(now, this.config.clock.wall());
    if (this.leases.areOver(now)) {
      this.giveBack(jobs);
      return [];
    }
    return jobs.map((job) => this.leases.deliveryOf(now, job)).filter(({ deadline }) => deadline > now);
  }

  /** Jobs of LEASES are taken up by the caller. */
  took(jobs: readonly DeliveredValue[]): void {
    this.unseen.came(jobs);
  }

  /** Whether a RESERVE has brought nothing before its wait was over: a server that stops, or an operator, ends it early. */
  private isEarly(open: Open, jobs: readonly DeliveredValue[]): boolean {
    if (this.ended || this.now - open.acceptedAt >= waitMsOf(open.request)) return false;
    return this.accept(jobs).length === 0;
  }

  /** Asks for the rest of the wait, but does not ask a server all the time that answers at once. */
  private askAgain(open: Open): void {
    if (this.state === 'draining') this.requests.putBack(open);
    else this.requests.sendLater(open, { latest: open.acceptedAt + waitMsOf(open.request) });
  }

  private fed(open: Open, feed: Feed, response: Response): void {
    if (response.name === 'SUBSCRIBED') {
      feed.isActive = !feed.hasEnded;
      this.requests.uncount(open);
      open.waiter?.resolve(response);
      open.waiter = null;
    } else if (response.name === 'DELIVER') {
      const deliveries = this.accept(response.fields.jobs);
      if (!feed.deliver(this.now, deliveries)) this.giveBack(deliveries.map(({ job }) => job));
      else this.wiring.wakeAt(feed.halfAt);
    } else {
      this.finish(open, new ProtocolError(`${response.name} answers SUBSCRIBE`));
    }
  }

  private leased(open: Open, response: Response): void {
    if (response.name !== 'LEASED') {
      this.unseen.close();
      return this.finish(open, DONE);
    }
    const { jobs, marks } = response.fields;
    const settling = new Set([...this.requests].flatMap((one) => settledBy(one.request)).map(({ fence }) => fence));
    const unseen = jobs.filter((job) => this.unseen.isUnseen(job) && !settling.has(job.fence));
    if (unseen.length > 0) {
      this.config.log({
        level: 'info',
        event: 'unseen_leases_released',
        message: 'jobs that never came over the lost connection are given back',
        fields: { jobs: unseen.length },
      });
    }
    this.giveBack(unseen);
    const { after } = (open.request as Request<'LEASES'>).fields;
    this.finish(open, DONE);
    this.unseenAsk = null;
    if (marks & PAGE_MARKS.more) this.askForLeases(jobs.at(-1)?.job ?? after);
    else this.unseen.close();
  }

  private refused(open: Open, reply: ErrorFields): void {
    const code = codeName(reply.code);
    if (reply.applied === APPLIED.no && open.doubts > 0) open.doubts -= 1;
    if (open.request.name === 'CANCEL' && code === 'UNSUPPORTED') this.knowsCancel = false;
    const after = afterRefusal(open, reply, this.ended !== null);
    if (isNotHere(reply) && !this.ended) this.drain({ leader: code === 'NOT_LEADER' ? reply.leader : '', pauseMs: reply.retryAfterMs });
    if (after.next === 'elsewhere') return this.requests.putBack(open);
    if (after.next === 'later') return this.requests.sendLater(open, { refusal: after.error, pauseMs: reply.retryAfterMs });
    if (open === this.unseenAsk) this.unseen.close();
    this.finish(open, after.outcome);
  }

  private unasked(id: number, response: Response | ProtocolError): void {
    if (id === MEMBERS_ID) this.pulse.membersTold();
    if (response instanceof Error) return;
    if (response.name === 'PONG') {
      const sent = this.pulse.ponged(id);
      if (sent !== undefined) this.leases.answered(sent, response);
    } else if (response.name === 'CLUSTER_REPORT') {
      const members = response.fields.members.map(({ clientAddress }) => clientAddress).filter(isUsable);
      if (members.length > 0) this.members = members;
    } else if (response.name === 'GOING_AWAY') {
      this.goingAway(response.fields.reason, response.fields.message);
    } else if (response.name === 'ERROR' && id === MEMBERS_ID) {
      if (!(response.fields.marks & ERROR_MARKS.retryable)) this.pulse.stopAskingMembers();
    } else if (response.name === 'ERROR' && isNotHere(response.fields)) {
      this.drain({ leader: response.fields.leader, pauseMs: response.fields.retryAfterMs });
    }
  }

  private goingAway(reason: number, message: string): void {
    if (reason === GOING_AWAY.session_taken_over) this.takenOver = new ClosedError(`another connection took the session over: ${message}`);
    this.drain({ pauseMs: reason === GOING_AWAY.disconnected ? DISCONNECTED_PAUSE_MS : 0 });
  }

  /** Ends one request and tells who waits. */
  private finish(open: Open, outcome: unknown): void {
    if (!this.requests.finish(open, outcome) || !open.feed) return;
    open.feed.end(isResponse(outcome) ? null : (outcome as Error));
    // What came before is leased to this session still.
    if (!isResponse(outcome)) this.giveBack(open.feed.drain().map(({ job }) => job));
  }

  // --- time ------------------------------------------------------------------------------------------------------

  /** Looks at the clocks and the deadlines. */
  look(): void {
    const now = this.now;
    this.leases.look(now, this.config.clock.wall());
    if (this.leases.presume(now)) {
      this.config.log({ level: 'warn', event: 'leases_presumed_lost', message: 'no answer shows that the leases are kept', fields: {} });
      this.giveBack(this.forgetJobs());
    }
    this.giveBackHalfOver(now);
    this.requests.wakeDelayed(now);
    for (const open of this.requests) if (open.deadline <= now) this.expire(open);
  }

  /** No lease ends in memory, where it would count as an attempt: a job that nobody takes goes to others at half of it. */
  private giveBackHalfOver(now: number): void {
    const leases = [...this.requests].flatMap((open) => open.feed?.takeHalfOver(now) ?? []).map(({ job }) => job);
    this.giveBack(leases);
  }

  private expire(open: Open): void {
    if (!open.waiter) {
      if (!open.isOnWire) this.finish(open, DONE);
      return;
    }
    const error = afterDeadline(open, this.config.requestTimeoutMs);
    if (!open.isOnWire) return this.finish(open, error);
    open.waiter.reject(error);
    open.waiter = null;
  }

  /** When PING is due: for the heartbeat, and with a session to prove that the leases are kept. */
  get pingDue(): number {
    return this.pulse.pingDue(this.config.withoutSession ? Infinity : this.leases.proven);
  }

  /** When to look again. */
  get nextLook(): number {
    return Math.min(this.leases.endsAt, this.requests.nextDue);
  }

  /** Since when the request waits that has waited longest for its answer, but for what it waits on purpose. */
  get oldestUnanswered(): number {
    return this.requests.oldestUnanswered;
  }
}
