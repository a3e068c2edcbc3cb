//! When to send a heartbeat, when to treat the server as gone or stuck, and when to ask for the members.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::requests::{Connection, MEMBERS_ID, Requests};
use crate::protocol::{Request, RequestId};

/// WELCOME names the members once. At this interval the client asks again, to know where to go when its server dies.
const MEMBERS_EVERY: Duration = Duration::from_secs(5);

/// The first time a little after the connection is there: a cluster that is being made has more of them then.
const MEMBERS_FIRST: Duration = Duration::from_secs(1);
/// The first id of a heartbeat. The ids of requests start at 1 and are used again: they never come here.
pub(super) const PING_ID_MIN: u32 = 1 << 31;
/// Behind the last id of a heartbeat.
const PING_ID_END: u32 = MEMBERS_ID.0;
/// The longest time for an answer while nothing else moves, or two heartbeats if that is more. A server that answers
/// heartbeats may be stuck behind them.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The times at which the present connection was heard from and sent on.
#[derive(Debug)]
pub(super) struct Heartbeats {
    /// `None`: the server asks for no heartbeats.
    every: Option<Duration>,
    /// When something came last.
    heard: Instant,
    /// When something moved last that does not when a server is stuck: an answer, a part of one, or a part of what is
    /// sent.
    moved: Instant,
    /// When something was sent last.
    spoken: Instant,
    /// When a heartbeat was sent last.
    pinged: Instant,
    /// Those without an answer: their ids, and when they were sent.
    pub(super) unanswered: VecDeque<(RequestId, Instant)>,
    /// The id of the next one.
    next_id: RequestId,
    /// When to ask for the members; `None` if the server does not know the question.
    members_due: Option<Instant>,
    /// The server said that another connection speaks for the session: this client does not take it back.
    pub(super) is_taken_over: bool,
}

/// What the clock asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// Nothing came for too long: the connection counts as lost.
    Lost,
    /// A request has been without an answer for too long, and nothing but heartbeats came: the same.
    Stuck,
    /// Nothing until then.
    Quiet(Instant),
}

impl Heartbeats {
    /// A connection that was welcomed just now.
    pub(super) fn new(now: Instant, every: Option<Duration>) -> Self {
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

    /// Bytes came.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// The connection is slow perhaps, and not stuck.
    pub(super) fn moved(&mut self, now: Instant) {
        self.moved = now;
    }

    /// Bytes were sent.
    pub(super) fn spoken(&mut self, now: Instant) {
        self.spoken = now;
    }

    /// A heartbeat is answered: when it was sent. `None` if it is none that waits for its answer.
    pub(super) fn answered(&mut self, id: RequestId) -> Option<Instant> {
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

    /// The server does not say who the members are.
    pub(super) fn stop_asking(&mut self) {
        self.members_due = None;
    }
}

impl Requests {
    /// Sends the messages that are due by the clock: a heartbeat, or a request for the members. Returns whether the connection
    /// is still good.
    pub(super) fn beat(&mut self, now: Instant) -> Beat {
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

    /// The request that has waited longest for its answer, and since when; waits that were asked for do not count.
    pub(super) fn oldest_unanswered(&mut self) -> Option<(RequestId, Instant)> {
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
            if self.connection == Connection::Up {
                Request::ClusterStatus.encode(MEMBERS_ID, &mut self.out);
            }
        }
        Some(*due)
    }

    /// Sends a heartbeat if it is time.
    ///
    /// Either side must see a frame in each interval. A client that only sends (a long poll) has to ask for an answer; one
    /// that only receives (a subscription) has to say something. PING does both, and its answer proves that the leases are kept.
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
        Request::Ping.encode(id, &mut self.out);
        Beat::Quiet(lost.min(now + every))
    }
}
