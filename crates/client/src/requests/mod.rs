//! The client's state: its requests and their progress, without a socket and without a clock.
//!
//! Requests are accepted in order and encoded in that order into one output buffer, which the connection writes. An
//! answer frees its slot. When the connection is lost, unanswered requests go back in line in their old order, and
//! [`Requests::up`] decides which may be sent again.
//!
//! ```text
//!   accept --> in line --> on the wire --> answered
//!                 ^              |
//!                 +--- down -----+--> outcome unknown (not safe to repeat, session lost)
//! ```
//!
//! Promised: a push is encoded under new numbers only if no copy of it can have been applied.

pub(crate) mod answers;
pub(crate) mod feed;
pub(crate) mod heartbeats;
pub(crate) mod leases;
pub(crate) mod limits;
pub(crate) mod open_requests;
pub(crate) mod repeat;
pub(crate) mod undelivered;

use std::collections::VecDeque;
use std::num::NonZeroU128;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{ClientError, Excess, ProtocolFault};
use crate::search::Elsewhere;
use crate::ticket::Outcome;
use adjourn_protocol::{Idempotency, Request, RequestId, Response, Subscribe, Welcome};
use adjourn_types::limits::{IDEMPOTENT_LIST_JOBS_MAX, PRODUCER_WINDOW_MAX};
use adjourn_types::{Lease, whole_ms};
use feed::{End, Feed};
use heartbeats::Heartbeats;
use leases::{Leases, heartbeat};
use limits::Limits;
use open_requests::{OpenRequest, OpenRequests};
use repeat::Numbers;
use undelivered::Undelivered;

/// The id of HELLO, the first request of a connection. No slot has this id.
pub(super) const OWN_ID: RequestId = RequestId(u32::MAX);
/// The id of the connection's own request for the members.
pub(super) const MEMBERS_ID: RequestId = RequestId(u32::MAX - 1);
/// No request is encoded while this many bytes wait to be written.
const OUT_BYTES_MAX: usize = 1 << 20;
/// Bytes of a frame that its length field does not count.
const UNCOUNTED_BYTES: usize = 4;

/// The requests of a client, and the state of its session.
#[derive(Debug)]
pub(super) struct Requests {
    pub(super) open: OpenRequests,
    /// Requests to send, in order. If a request has ended meanwhile, its slot has another serial, or none.
    pub(super) line: VecDeque<(RequestId, u64)>,
    pub(super) wire: Wire,
    pub(super) heartbeats: Heartbeats,
    pub(super) welcome: Arc<Welcome>,
    limits: Limits,
    pub(super) numbers: LastNumbers,
    timeout: Option<Duration>,
    /// When [`Self::expire`] checks the clock next.
    pub(super) looks_at: Option<Instant>,
    leases_outlive: bool,
    pub(super) reconnects: u64,
    pub(super) leases: Leases,
    pub(super) undelivered: Undelivered,
    /// The servers' hints about the leader and the next attempt.
    pub(super) elsewhere: Elsewhere,
    /// Set when nothing is accepted any more.
    pub(super) ended: Option<ClientError>,
}

/// The connection, what is on its way over it, and what is to be sent.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) connection: Connection,
    pub(super) in_flight: usize,
    /// The pushes in flight with their sequence numbers, in order; answered ones are removed when they become the first.
    window: VecDeque<(RequestId, u64, u64)>,
    pub(super) out: BytesMut,
    /// True if the connection sleeps until there is output.
    pub(super) writer_waits: bool,
    /// True if the present connection has answered a request.
    pub(super) proven: bool,
}

/// The last serial numbers, and the next sequence number.
#[derive(Debug)]
pub(super) struct LastNumbers {
    serial: u64,
    /// The serial of the last `BACKUP_BEGIN`.
    pub(super) newest_backup: u64,
    /// The sequence number of the next push.
    sequence: u64,
    /// The key of the next push, if pushes are known by keys.
    key: Option<u128>,
}

/// The connection as the requests see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    /// There is no connection: requests wait in line.
    Down,
    /// Requests are sent.
    Up,
    /// The connection is about to be closed: answers still come, no request is sent.
    Draining,
}

/// Results for callers, to be sent once the state is unlocked.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The calls that have ended.
    pub(super) ended: Vec<(oneshot::Sender<Outcome>, Outcome)>,
    /// Jobs whose callers have left: to be released.
    pub(super) stray: Vec<Lease>,
    /// True if the clock must be checked sooner than planned.
    pub(super) look_sooner: bool,
}

impl Requests {
    /// The state of a new client; its HELLO was sent at `said`.
    pub(super) fn new(
        now: Instant,
        said: Instant,
        welcome: Welcome,
        timeout: Option<Duration>,
        leases_outlive: bool,
    ) -> Self {
        Self {
            open: OpenRequests::default(),
            line: VecDeque::new(),
            wire: Wire {
                connection: Connection::Up,
                in_flight: 0,
                window: VecDeque::new(),
                out: BytesMut::new(),
                writer_waits: false,
                proven: false,
            },
            heartbeats: Heartbeats::new(now, heartbeat(&welcome, leases_outlive)),
            leases: Leases::new(said, &welcome, leases_outlive),
            limits: Limits::of(&welcome),
            welcome: Arc::new(welcome),
            numbers: LastNumbers { serial: 0, newest_backup: 0, sequence: 1, key: None },
            timeout,
            looks_at: None,
            leases_outlive,
            reconnects: 0,
            undelivered: Undelivered::default(),
            elsewhere: Elsewhere::default(),
            ended: None,
        }
    }

    /// Pushes are known by keys from this one on: a client without a session has no sequence numbers.
    pub(super) fn push_under_keys(&mut self, first: u128) {
        self.numbers.key = Some(first);
    }

    /// The server's limits.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Accepts a request, to be sent in its turn. Refuses one that the server would refuse for its size.
    pub(super) fn accept(
        &mut self,
        now: Instant,
        request: Request,
    ) -> Result<oneshot::Receiver<Outcome>, ClientError> {
        self.accept_named(now, request).map(|(.., answer)| answer)
    }

    /// Like [`Self::accept`]; also returns the request's id, which may be reused, and its serial, which is unique.
    pub(super) fn accept_named(
        &mut self,
        now: Instant,
        request: Request,
    ) -> Result<(RequestId, u64, oneshot::Receiver<Outcome>), ClientError> {
        self.limits.check(&request)?;
        let (waiter, answer) = oneshot::channel();
        let id = self.enter(now, request, Some(waiter), None)?;
        Ok((id, self.numbers.serial, answer))
    }

    /// Accepts a request whose answer no caller waits for.
    pub(super) fn accept_unheard(&mut self, now: Instant, request: Request) {
        // After the end of the client the request is dropped.
        let _ = self.enter(now, request, None, None);
    }

    /// Accepts a subscription; its id stays the same over all reconnects.
    pub(super) fn subscribe(
        &mut self,
        now: Instant,
        subscribe: Subscribe,
        feed: Arc<Feed>,
    ) -> Result<(RequestId, oneshot::Receiver<Outcome>), ClientError> {
        let (waiter, answer) = oneshot::channel();
        let id = self.enter(now, Request::Subscribe(subscribe), Some(waiter), Some(feed))?;
        Ok((id, answer))
    }

    /// Ends a subscription whose feed was left.
    pub(super) fn unsubscribe(&mut self, now: Instant, id: RequestId) {
        let known = self.open.get_mut(id).filter(|open| open.left_subscription());
        let Some(on_wire) = known.map(|open| open.on_wire) else { return };
        if on_wire {
            self.accept_unheard(now, Request::Unsubscribe { subscription: id.0 });
        } else {
            self.open.remove(id);
        }
    }

    /// Accepts the last request, GOODBYE; all others are refused from now on.
    pub(super) fn close(&mut self, now: Instant) -> Result<oneshot::Receiver<Outcome>, ClientError> {
        let answer = self.accept(now, Request::Goodbye);
        self.ended.get_or_insert(ClientError::Closed);
        answer
    }

    /// Encodes queued requests, as far as the server's limits and the buffer allow.
    pub(super) fn pump(&mut self, now: Instant, answers: &mut Answers) {
        while self.wire.connection == Connection::Up
            && self.wire.in_flight < self.limits.in_flight_max
            && self.wire.out.len() < OUT_BYTES_MAX
        {
            let Some(&(id, serial)) = self.line.front() else { return };
            let open = self.open.get_mut(id).filter(|open| open.serial == serial);
            let numbers = open.map(|open| open.numbers());
            if let Some(numbers) = numbers
                && !self.fits_window(&numbers)
            {
                return;
            }
            self.line.pop_front();
            if numbers.is_some() {
                self.send(now, id, answers);
            }
        }
    }

    /// Handles the loss of the connection. `fault` is set if the server broke the protocol: then requests that cannot be
    /// repeated end with it.
    pub(super) fn down(&mut self, fault: Option<&ProtocolFault>, answers: &mut Answers) {
        self.wire.connection = Connection::Down;
        self.wire.in_flight = 0;
        self.wire.window.clear();
        self.wire.out.clear();
        let mut ending = Vec::new();
        let mut waiting = Vec::new();
        for (id, open) in self.open.iter_mut() {
            let was_on_wire = std::mem::take(&mut open.on_wire);
            if let Some(feed) = &open.feed {
                feed.stands(false);
            }
            if was_on_wire && fault.is_some() {
                open.faults = open.faults.saturating_add(1);
            }
            match open.after_loss(was_on_wire, fault) {
                Some(outcome) => ending.push((id, outcome)),
                None => waiting.push((open.serial, id)),
            }
        }
        for (id, outcome) in ending {
            self.finish(id, outcome, answers);
        }
        waiting.sort_unstable();
        self.line = waiting.into_iter().map(|(serial, id)| (id, serial)).collect();
    }

    /// Handles a new connection whose HELLO was sent at `said`: repeats the requests that may be. Fails if another cluster
    /// answers.
    pub(super) fn up(
        &mut self,
        now: Instant,
        said: Instant,
        welcome: Welcome,
        answers: &mut Answers,
    ) -> Result<(), ClientError> {
        let (expected, found) = (self.welcome.cluster_id, welcome.cluster_id);
        if expected != found {
            return Err(ClientError::WrongCluster { expected, found });
        }
        let resumed = welcome.resumed && welcome.session == self.welcome.session;
        let leases_kept = self.leases_outlive || (resumed && welcome.leases_kept);
        if !resumed {
            self.renumber(answers);
        }
        if !leases_kept {
            self.forget_jobs();
        }
        self.leases.up(said, &welcome, self.leases_outlive, leases_kept);
        self.limits = Limits::of(&welcome);
        self.heartbeats = Heartbeats::new(now, heartbeat(&welcome, self.leases_outlive));
        self.welcome = Arc::new(welcome);
        self.reconnects += 1;
        self.wire.proven = false;
        self.look_for_unseen(now, leases_kept && !self.leases_outlive);
        self.wire.connection = Connection::Up;
        self.pump(now, answers);
        Ok(())
    }

    /// Sends no more requests on this connection. True if that is new.
    pub(super) fn drain(&mut self) -> bool {
        let was_up = self.wire.connection == Connection::Up;
        if was_up {
            self.wire.connection = Connection::Draining;
        }
        was_up
    }

    /// True if the connection may be closed without losing an answer.
    pub(super) fn drained(&self) -> bool {
        self.wire.connection == Connection::Draining && self.wire.in_flight == 0 && self.wire.out.is_empty()
    }

    /// Checks the clocks: presumes the leases lost if it is time, and gives back the jobs that wait in memory under them.
    pub(super) fn look(&mut self, now: Instant, wall: SystemTime, answers: &mut Answers) {
        self.leases.look(now, wall);
        if self.leases.presume(now) {
            tracing::warn!("no answer shows that the leases are kept: they are presumed lost");
            answers.stray.extend(self.forget_jobs());
        }
    }

    /// Ends the calls that have waited too long, and gives back the jobs that were not taken in time. Returns when to check
    /// again.
    pub(super) fn expire(&mut self, now: Instant, answers: &mut Answers) -> Option<Instant> {
        let feeds = self.open.iter_mut().filter_map(|(_, open)| open.feed.as_ref());
        let mut untaken = None;
        for (late, next) in feeds.map(|feed| feed.give_up(now)) {
            answers.stray.extend(late);
            untaken = untaken.into_iter().chain(next).min();
        }
        let looks = [self.leases.next_look(now), self.end_late_calls(now, answers), untaken];
        self.looks_at = looks.into_iter().flatten().min();
        self.looks_at
    }

    fn end_late_calls(&mut self, now: Instant, answers: &mut Answers) -> Option<Instant> {
        let timeout = self.timeout?;
        let mut next = now + timeout;
        let mut late = Vec::new();
        for (id, open) in self.open.iter_mut().filter(|(_, open)| open.waiter.is_some()) {
            let deadline = open.accepted + timeout + open.wait();
            if deadline <= now { late.push(id) } else { next = next.min(deadline) }
        }
        for id in late {
            let Some(open) = self.open.get_mut(id) else { continue };
            let error = if open.doubtful_push() {
                ClientError::OutcomeUnknown
            } else {
                ClientError::Timeout { after_ms: whole_ms(timeout) }
            };
            if open.on_wire || open.feed.is_some() {
                // The id is in use until the answer comes, or the connection is lost.
                answers.ended.extend(open.waiter.take().map(|waiter| (waiter, Err(error))));
            } else {
                self.finish(id, Err(error), answers);
            }
        }
        Some(next)
    }

    /// Ends every call: with `error`, or with an unknown outcome if it is a push that may have been carried out.
    pub(super) fn end(&mut self, error: &ClientError, answers: &mut Answers) {
        self.ended = Some(error.clone());
        self.wire.connection = Connection::Down;
        self.line.clear();
        let open: Vec<RequestId> = self.open.iter_mut().map(|(id, _)| id).collect();
        for id in open {
            let doubtful = self.open.get_mut(id).is_some_and(|open| open.doubtful_push());
            let error = if doubtful { ClientError::OutcomeUnknown } else { error.clone() };
            self.finish(id, Err(error), answers);
        }
    }

    /// Ends one request: frees its slot and answers its caller.
    pub(super) fn finish(&mut self, id: RequestId, outcome: Outcome, answers: &mut Answers) {
        let Some(open) = self.open.remove(id) else { return };
        self.undelivered.ended(id);
        self.leave_wire(&open);
        if let Some(feed) = &open.feed {
            let cause = outcome.as_ref().err().cloned();
            feed.end(cause.map_or(End::Left, End::Failed));
        }
        match (open.waiter, outcome) {
            (Some(waiter), outcome) => answers.ended.push((waiter, outcome)),
            (None, Ok(Response::Reserved(jobs))) => answers.stray.extend(jobs.iter().map(|job| job.lease)),
            (None, _) => {}
        }
    }

    /// Puts a request back in line for the next connection, because this server cannot carry it out.
    pub(super) fn send_elsewhere(&mut self, id: RequestId) {
        if let Some(open) = self.open.get_mut(id)
            && std::mem::take(&mut open.on_wire)
            && open.feed.is_none()
        {
            self.wire.in_flight = self.wire.in_flight.saturating_sub(1);
        }
    }

    /// Puts a reserve whose wait the server cut short back in line.
    pub(super) fn send_again(&mut self, id: RequestId) {
        self.send_elsewhere(id);
        if let Some(open) = self.open.get_mut(id) {
            open.cut_short = open.cut_short.saturating_add(1);
            let serial = open.serial;
            self.line.push_back((id, serial));
        }
    }

    /// Removes and returns the jobs in memory that no caller has taken yet.
    fn forget_jobs(&mut self) -> Vec<Lease> {
        self.open
            .iter_mut()
            .filter_map(|(_, open)| open.feed.as_ref())
            .flat_map(|feed| feed.forget())
            .collect()
    }

    pub(super) fn enter(
        &mut self,
        now: Instant,
        mut request: Request,
        waiter: Option<oneshot::Sender<Outcome>>,
        feed: Option<Arc<Feed>>,
    ) -> Result<RequestId, ClientError> {
        if let Some(error) = &self.ended {
            return Err(error.clone());
        }
        if self.numbers.key.is_some() && request.needs_session() {
            return Err(ClientError::NoSession);
        }
        if let Request::Push(push) = &mut request
            && push.idempotency.is_none()
        {
            push.idempotency = self.numbers.next_key(push.jobs.len());
        }
        self.numbers.serial += 1;
        let serial = self.numbers.serial;
        if request == Request::BackupBegin {
            self.numbers.newest_backup = serial;
        }
        let open = OpenRequest {
            serial,
            accepted: now,
            request,
            on_wire: false,
            sent: now,
            doubts: 0,
            faults: 0,
            cut_short: 0,
            waiter,
            feed,
        };
        let id = self.open.insert(open);
        self.line.push_back((id, serial));
        Ok(id)
    }

    /// True if the queue still remembers all numbers of a push, with those on the wire. It remembers many more jobs under keys
    /// than may be on the wire, because others push under keys, too.
    fn fits_window(&mut self, numbers: &Numbers) -> bool {
        if numbers.jobs == 0 {
            return true;
        }
        let max = if self.numbers.key.is_some() { IDEMPOTENT_LIST_JOBS_MAX } else { PRODUCER_WINDOW_MAX };
        let end = numbers.first.unwrap_or(self.numbers.sequence).wrapping_add(numbers.jobs);
        while let Some(&(id, serial, first)) = self.wire.window.front() {
            if self.open.get_mut(id).is_some_and(|open| open.serial == serial && open.on_wire) {
                return end.wrapping_sub(first) <= max as u64;
            }
            self.wire.window.pop_front();
        }
        true
    }

    fn send(&mut self, now: Instant, id: RequestId, answers: &mut Answers) {
        let Some(open) = self.open.get_mut(id) else { return };
        if open.nobody_wants() {
            self.open.remove(id);
            return;
        }
        let Numbers { jobs, first } = open.numbers();
        if jobs > 0 {
            let first = first.unwrap_or(self.numbers.sequence);
            self.wire.window.push_back((id, open.serial, first));
            if let Request::Push(push) = &mut open.request
                && push.idempotency.is_none()
            {
                push.sequence = first;
                self.numbers.sequence = self.numbers.sequence.max(first + jobs);
            }
        }
        self.undelivered.note_request(&open.request);
        let start = self.wire.out.len();
        let frame_bytes = open.encode(now, id, &mut self.wire.out).saturating_sub(UNCOUNTED_BYTES);
        if frame_bytes > self.limits.frame_bytes_max {
            self.wire.out.truncate(start);
            let max = self.limits.frame_bytes_max;
            let error = if open.doubtful_push() {
                ClientError::OutcomeUnknown
            } else {
                ClientError::TooLarge { what: Excess::Frame, found: frame_bytes, max }
            };
            return self.finish(id, Err(error), answers);
        }
        open.on_wire = true;
        open.sent = now;
        open.doubts = open.doubts.saturating_add(1);
        if open.feed.is_none() {
            self.wire.in_flight += 1;
        }
    }

    fn leave_wire(&mut self, open: &OpenRequest) {
        if open.on_wire && open.feed.is_none() {
            self.wire.in_flight = self.wire.in_flight.saturating_sub(1);
        }
    }

    /// Begins a new session: numbers start over, and a push that may have been carried out is not repeated.
    fn renumber(&mut self, answers: &mut Answers) {
        self.numbers.sequence = 1;
        let mut unknown = Vec::new();
        for (id, open) in self.open.iter_mut() {
            if open.doubtful_push() && open.is_numbered() {
                unknown.push(id);
            } else if let Request::Push(push) = &mut open.request {
                push.sequence = 0;
            }
        }
        for id in unknown {
            self.finish(id, Err(ClientError::OutcomeUnknown), answers);
        }
    }
}

impl LastNumbers {
    /// The key for a push of so many jobs, if pushes are known by keys.
    fn next_key(&mut self, jobs: usize) -> Option<Idempotency> {
        let next = self.key.as_mut()?;
        // 0 stands for no key.
        let key = NonZeroU128::new(*next).unwrap_or(NonZeroU128::MIN);
        *next = key.get().wrapping_add(jobs as u128);
        Some(Idempotency { key, list_jobs: u32::try_from(jobs).unwrap_or(u32::MAX) })
    }
}

#[cfg(test)]
mod tests;
