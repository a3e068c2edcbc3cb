//! When to send a heartbeat, and when to believe that the other side is gone.

use std::time::Duration;

use tokio::time::Instant;

use super::requests::{OWN_ID, Requests};
use crate::protocol::Request;

/// What was heard and said on the present connection.
#[derive(Debug)]
pub(super) struct Pulse {
    /// `None`: the server asks for no heartbeats.
    every: Option<Duration>,
    /// When something came last.
    heard: Instant,
    /// When something was sent last.
    spoken: Instant,
    /// When a heartbeat was sent last.
    pinged: Instant,
}

/// What the clock asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// Nothing came for too long: the connection counts as lost.
    Lost,
    /// Nothing until then.
    Quiet(Instant),
    /// Nothing at all.
    Never,
}

impl Pulse {
    /// A connection that was welcomed just now.
    pub(super) fn new(now: Instant, heartbeat_ms: u32) -> Self {
        let every = (heartbeat_ms > 0).then(|| Duration::from_millis(heartbeat_ms.into()));
        Self { every, heard: now, spoken: now, pinged: now }
    }

    /// Bytes came.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Bytes were sent.
    pub(super) fn spoken(&mut self, now: Instant) {
        self.spoken = now;
    }
}

impl Requests {
    /// Sends a heartbeat if it is time.
    ///
    /// Either side must see a frame in each interval. A client that only sends (a long poll) has to ask for an answer; one
    /// that only receives (a subscription) has to say something. PING does both.
    pub(super) fn beat(&mut self, now: Instant) -> Beat {
        let Some(every) = self.pulse.every else { return Beat::Never };
        let lost = self.pulse.heard + every * 2;
        if now >= lost {
            return Beat::Lost;
        }
        let due = self.pulse.heard.min(self.pulse.spoken).max(self.pulse.pinged) + every;
        if now < due {
            return Beat::Quiet(due.min(lost));
        }
        Request::Ping.encode(OWN_ID, &mut self.out);
        self.pulse.pinged = now;
        Beat::Quiet(lost.min(now + every))
    }
}
