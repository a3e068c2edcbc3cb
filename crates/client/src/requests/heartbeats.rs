//! When to send a heartbeat, when to treat the server as gone or stuck, and when to ask for the members.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::requests::{Connection, MEMBERS_ID, Requests};
use adjourn_protocol::{Request, RequestId};

/// WELCOME names the members once. The client asks for them again at this interval, so that it knows other servers
/// when its own dies.
const MEMBERS_EVERY: Duration = Duration::from_secs(5);

/// The first time is soon after connecting: a new cluster has more members by then.
const MEMBERS_FIRST: Duration = Duration::from_secs(1);
/// The first id of a heartbeat. The ids of requests start at 1 and are reused: they never reach this.
pub(crate) const PING_ID_MIN: u32 = 1 << 31;
/// The id after the last one of a heartbeat.
const PING_ID_END: u32 = MEMBERS_ID.0;
/// The longest wait for an answer while nothing else moves, or two heartbeats if that is longer. A server that
/// answers heartbeats may still be stuck with a request.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// When the present connection received and sent what.
#[derive(Debug)]
pub(crate) struct Heartbeats {
    /// The interval; `None` if the server asks for no heartbeats.
    every: Option<Duration>,
    /// When bytes last arrived.
    heard: Instant,
    /// When the connection last made progress, which a stuck server does not: an answer, a part of one, or bytes of a request
    /// that were written.
    moved: Instant,
    /// When bytes were last sent.
    spoken: Instant,
    /// When a heartbeat was last sent.
    pinged: Instant,
    /// The heartbeats without an answer: their ids, and when they were sent.
    pub(crate) unanswered: VecDeque<(RequestId, Instant)>,
    /// The id of the next heartbeat.
    next_id: RequestId,
    /// When to ask for the members; `None` if the server does not know the request.
    members_due: Option<Instant>,
    /// True if the server reported that another connection took over the session: this client does not take it back.
    pub(crate) is_taken_over: bool,
}

/// The result of a check of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// Nothing arrived for too long: the connection counts as lost.
    Lost,
    /// A request was unanswered for too long, and only heartbeats arrived: the connection counts as lost.
    Stuck,
    /// Nothing to do before this time.
    Quiet(Instant),
}

impl Heartbeats {
    /// The state of a new connection.
    pub(crate) fn new(now: Instant, every: Option<Duration>) -> Self {
        Self {
            every,
            heard: now,
            moved: now,
            spoken: now,
            pinged: now,
            unanswered: VecDeque::new(),
            next_id: RequestId(PING_ID_MIN),
            members_due: Some(now + MEMBERS_FIRST),
            is_taken_over: false,
        }
    }

    /// Notes that bytes arrived.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Notes progress: the connection may be slow, but is not stuck.
    pub(crate) fn moved(&mut self, now: Instant) {
        self.moved = now;
    }

    /// Notes that bytes were sent.
    pub(crate) fn spoken(&mut self, now: Instant) {
        self.spoken = now;
    }

    /// Notes the answer to a heartbeat. Returns when that was sent; `None` if none with this id waits for an answer.
    pub(crate) fn answered(&mut self, id: RequestId) -> Option<Instant> {
        let at = self.unanswered.iter().position(|(unanswered, _)| *unanswered == id)?;
        self.unanswered.remove(at).map(|(_, sent)| sent)
    }

    /// The id of a heartbeat that is sent now.
    fn sent(&mut self, now: Instant) -> RequestId {
        let id = self.next_id;
        self.next_id = RequestId(if id.0 + 1 == PING_ID_END { PING_ID_MIN } else { id.0 + 1 });
        self.pinged = now;
        self.unanswered.push_back((id, now));
        id
    }

    /// Stops asking for the members: the server does not know the request.
    pub(crate) fn stop_asking(&mut self) {
        self.members_due = None;
    }
}

impl Requests {
    /// Sends the messages that are due by the clock: a heartbeat, or a request for the members. Returns whether the
    /// connection is still good.
    pub(crate) fn beat(&mut self, now: Instant) -> Beat {
        let since = self.oldest_unanswered().map_or(now, |(_, since)| since.max(self.heartbeats.moved));
        let due = since + self.answer_max();
        if due <= now {
            return Beat::Stuck;
        }
        let next = self.ask_members(now).map_or(due, |next| next.min(due));
        match self.heartbeat(now) {
            Beat::Quiet(until) => Beat::Quiet(until.min(next)),
            beat => beat,
        }
    }

    /// The request that has waited longest for its answer, and since when. The wait that a request asks for is not
    /// counted.
    pub(crate) fn oldest_unanswered(&mut self) -> Option<(RequestId, Instant)> {
        let sent = self.open.iter_mut().filter(|(_, open)| open.on_wire && open.feed.is_none());
        sent.map(|(id, open)| (id, open.sent + open.wait())).min_by_key(|(_, since)| *since)
    }

    fn answer_max(&self) -> Duration {
        self.heartbeats.every.map_or(ANSWER_MAX, |every| ANSWER_MAX.max(every * 2))
    }

    fn ask_members(&mut self, now: Instant) -> Option<Instant> {
        let due = self.heartbeats.members_due.as_mut()?;
        if *due <= now {
            *due = now + MEMBERS_EVERY;
            if self.wire.connection == Connection::Up {
                Request::ClusterStatus.encode(MEMBERS_ID, &mut self.wire.out);
            }
        }
        Some(*due)
    }

    /// Sends a heartbeat if it is time.
    ///
    /// Either side must see a frame in each interval. A client that only sends (a long poll) has to request an answer; one
    /// that only receives (a subscription) has to send something. PING does both, and its answer proves that the leases are
    /// kept.
    fn heartbeat(&mut self, now: Instant) -> Beat {
        let Some(every) = self.heartbeats.every else { return Beat::Quiet(now + MEMBERS_EVERY) };
        let lost = self.heartbeats.heard + every * 2;
        if now >= lost {
            return Beat::Lost;
        }
        let quiet_since = self.heartbeats.heard.min(self.heartbeats.spoken).min(self.leases.proven());
        let due = quiet_since.max(self.heartbeats.pinged) + every;
        if now < due {
            return Beat::Quiet(due.min(lost));
        }
        let id = self.heartbeats.sent(now);
        Request::Ping.encode(id, &mut self.wire.out);
        Beat::Quiet(lost.min(now + every))
    }
}
