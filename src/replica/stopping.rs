//! A graceful stop: everything accepted is finished, and another member leads before this node ends.

use super::Replica;
use crate::protocol::{ErrorCode, ErrorReply, GoingAway, RequestId, Response};

/// How long another member has to take leadership over at a stop.
const HAND_OVER_US_MAX: u64 = 1_000_000;

/// How far [`Input::Stop`](super::Input::Stop) has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    Asked,
    /// Accepted requests are done; leadership goes to another member, by this time on the monotonic clock.
    Transferring {
        until_us: u64,
    },
    /// Said with [`Output::Stopped`](super::Output::Stopped).
    Done,
}

impl Replica {
    /// Nothing more is accepted from here on.
    pub(super) fn stop(&mut self) {
        self.stop = Stop::Asked;
        self.refuse_backups(&Self::stopping());
        self.refuse_passes();
        for connection in self.connections.ids() {
            let message = "the server is stopping: connect again later".to_owned();
            self.connections.tell(
                connection,
                RequestId(0),
                Response::GoingAway { message, reason: GoingAway::Stopping },
            );
            self.take_last_requests(connection);
            while let Some((id, request)) = self.connections.take_held(connection) {
                self.request(connection, id, request);
            }
            for id in self.waiters.of(connection) {
                if let Some(waiter) = self.waiters.remove(id)
                    && waiter.is_poll()
                {
                    self.connections.send(connection, waiter.request, Response::Reserved(Vec::new()));
                }
            }
        }
    }

    /// At a stop, hands leadership to another member when all accepted requests are done: clients then need not wait for an
    /// election.
    pub(super) fn transfer_leadership(&mut self) {
        if self.stop != Stop::Asked || !self.proposals.is_idle() {
            return;
        }
        if let Some(to) = self.own_transfer_target() {
            self.transfer_to(to);
            self.stop = Stop::Transferring { until_us: self.now_us + HAND_OVER_US_MAX };
        }
    }

    /// To whom leadership can be handed, if this node has it.
    fn own_transfer_target(&self) -> Option<u64> {
        self.transfer_target().filter(|_| self.group.is_leader())
    }

    /// Whether all accepted requests are done, and another member leads if one can. A follower does not wait for its
    /// writes: no client depends on them, and under load there are always some.
    pub(super) fn may_stop(&self) -> bool {
        (self.writes_in_flight.is_empty() || !self.group.is_leader())
            && match self.stop {
                Stop::Asked => self.proposals.is_idle() && self.own_transfer_target().is_none(),
                Stop::Transferring { until_us } => {
                    let moved = !self.group.is_leader() && self.group.leader().is_some();
                    moved || self.now_us >= until_us
                }
                Stop::No | Stop::Done => false,
            }
    }

    pub(super) fn stopping() -> ErrorReply {
        ErrorReply::new(ErrorCode::Stopping, "the server is stopping: connect again later")
    }
}
