//! How long this client may treat its leases as its own.
//!
//! Two things end a lease without notice to its holder: its deadline, and the grace of a session whose connection
//! the server counts as lost. The server measures both on its own clock. The client counts from moments that cannot
//! be later than the server's, so it gives up a lease before another consumer gets the job, however long the network
//! delays frames:
//!
//! - a lease ends at a point of the server's monotonic clock, and that clock showed the value in PONG no earlier
//!   than PING was sent;
//! - the grace begins no earlier than the client sent the last request that was answered by a leader to which the
//!   session was connected.

use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::cancelled::Cancelled;
use adjourn_protocol::{Delivered, Response, Welcome};
use adjourn_types::Lease;

/// The speeds of the two clocks may differ by one part in this many: quartz, and the server's slewing.
const DRIFT_PARTS: u32 = 1000;
/// Number of heartbeats in a grace, so that one may be lost and the connection replaced in time.
const HEARTBEATS_PER_GRACE: u32 = 4;
/// The shortest time between two heartbeats.
const HEARTBEAT_MIN: Duration = Duration::from_millis(100);
/// The wall clock advances by this much more than the monotonic one only if the machine slept, or the clock was set.
const SLEPT_MIN: Duration = Duration::from_secs(1);

/// The state of the session's leases as a whole.
#[derive(Debug)]
pub(crate) struct Leases {
    /// How long the leases are safe after the last proof; `None` if they do not end with the session.
    grace: Option<Duration>,
    /// When the last request was sent whose answer proves that the session was connected to the leader.
    proven: Instant,
    /// When the leases were presumed lost. An answer to a request sent before that proves nothing.
    presumed_lost: Option<Instant>,
    /// A value of the server's monotonic clock, in milliseconds, and the earliest moment at which it showed that.
    clock: Option<(Instant, u64)>,
    /// Both clocks of this machine at the last check.
    seen: Option<(Instant, SystemTime)>,
    /// Tells the handlers that all leases are lost, and why.
    lost: watch::Sender<Option<Cancelled>>,
}

impl Leases {
    /// The leases of a session whose HELLO was sent at `said`.
    pub(crate) fn new(said: Instant, welcome: &Welcome, outlive: bool) -> Self {
        let mut leases = Self {
            grace: None,
            proven: said,
            presumed_lost: None,
            clock: None,
            seen: None,
            lost: watch::Sender::new(None),
        };
        leases.welcomed(said, welcome, outlive);
        leases
    }

    /// Notes a new connection whose HELLO was sent at `said`; `kept` is true if the session's leases were kept, or
    /// there are none.
    pub(crate) fn up(&mut self, said: Instant, welcome: &Welcome, outlive: bool, kept: bool) {
        if !kept {
            self.lose(Cancelled::LeaseLost);
        }
        // A WELCOME that keeps leases proves nothing: a deposed leader may have sent it. It proves something only if all
        // leases were lost before: then it does not vouch for any lease.
        if !kept || self.presumed_lost.take().is_some() {
            self.proven = said;
        }
        self.welcomed(said, welcome, outlive);
    }

    /// When to check the clock again: at the latest when the leases must be presumed lost.
    pub(crate) fn next_look(&self, now: Instant) -> Option<Instant> {
        let grace = self.grace?;
        Some(if self.presumed_lost.is_some() { now } else { self.proven } + grace)
    }

    /// True if the leases may be over by now.
    pub(crate) fn are_over(&self, now: Instant) -> bool {
        self.grace.is_some_and(|grace| self.presumed_lost.is_some() || self.proven + grace <= now)
    }

    /// Presumes the leases lost if it is time. True if that is new.
    pub(crate) fn presume(&mut self, now: Instant) -> bool {
        let is_new = self.presumed_lost.is_none() && self.are_over(now);
        if is_new {
            self.presumed_lost = Some(now);
            self.lose(Cancelled::ConnectionLost);
        }
        is_new
    }

    /// Checks both clocks. The monotonic one stands still while the machine sleeps: after a sleep no lease is certain.
    pub(crate) fn look(&mut self, now: Instant, wall: SystemTime) {
        let before = self.seen.replace((now, wall));
        let slept = before.is_some_and(|(then, wall_then)| {
            let passed = wall.duration_since(wall_then).unwrap_or_default();
            passed.saturating_sub(now.saturating_duration_since(then)) > SLEPT_MIN
        });
        if let (true, Some(grace)) = (slept, self.grace) {
            self.proven = now.checked_sub(grace).unwrap_or(now);
        }
    }

    /// Handles an answer to a request that was sent at `sent`.
    pub(crate) fn answered(&mut self, sent: Instant, response: &Response) {
        if let Response::Pong { clock_ms, .. } = response {
            self.show_clock(sent, *clock_ms);
        }
        if is_proof(response) && self.presumed_lost.is_none_or(|lost| lost < sent) {
            self.presumed_lost = None;
            self.proven = self.proven.max(sent);
        }
    }

    /// When the last request was sent whose answer proves that the session was connected to the leader.
    pub(crate) fn proven(&self) -> Instant {
        self.proven
    }

    /// Sets the time left of each lease as far as the client can know, and removes the jobs whose lease is over. Returns
    /// the leases to give back: the server may still hold them for this client.
    pub(crate) fn age(&self, now: Instant, jobs: &mut Vec<Delivered>) -> Vec<Lease> {
        let are_over = self.are_over(now);
        if are_over {
            return jobs.drain(..).map(|job| job.lease).collect();
        }
        jobs.retain_mut(|job| {
            job.ttr_left_ms = self.left_ms(now, job);
            job.ttr_left_ms > 0
        });
        Vec::new()
    }

    /// Tells the handlers that all leases are lost.
    pub(crate) fn lose(&mut self, why: Cancelled) {
        self.lost.send_replace(Some(why));
    }

    /// Changes each time that all leases are lost.
    pub(crate) fn lost(&self) -> watch::Receiver<Option<Cancelled>> {
        self.lost.subscribe()
    }

    fn welcomed(&mut self, said: Instant, welcome: &Welcome, outlive: bool) {
        // A server without heartbeats does not notice a silent client.
        self.grace = (!outlive && welcome.heartbeat_ms > 0).then(|| {
            let grace = Duration::from_millis(welcome.session_grace_ms.into());
            surely(grace.max(HEARTBEAT_MIN * HEARTBEATS_PER_GRACE))
        });
        self.clock = None;
        self.show_clock(said, welcome.clock_ms);
    }

    fn show_clock(&mut self, sent: Instant, clock_ms: u64) {
        if clock_ms > 0 {
            self.clock = Some((sent, clock_ms));
        }
    }

    fn left_ms(&self, now: Instant, job: &Delivered) -> u32 {
        let mut left = Duration::from_millis(job.ttr_left_ms.into());
        if let Some((sent, clock_ms)) = self.clock
            && job.deadline_ms > 0
        {
            let until = sent + Duration::from_millis(job.deadline_ms.saturating_sub(clock_ms));
            left = left.min(until.saturating_duration_since(now));
        }
        u32::try_from(surely(left).as_millis()).unwrap_or(u32::MAX)
    }
}

/// The interval at which a client needs a proof: short enough for the grace, and for the server's heartbeat.
pub(crate) fn heartbeat(welcome: &Welcome, outlive: bool) -> Option<Duration> {
    let wish = (welcome.heartbeat_ms > 0).then(|| Duration::from_millis(welcome.heartbeat_ms.into()))?;
    let grace = Duration::from_millis(welcome.session_grace_ms.into());
    let often = (grace / HEARTBEATS_PER_GRACE).max(HEARTBEAT_MIN);
    Some(if outlive { wish } else { wish.min(often) })
}

/// The least time that has passed on the server's clock while `time` has passed here.
fn surely(time: Duration) -> Duration {
    time.saturating_sub(time / DRIFT_PARTS)
}

/// True if an answer proves that its sender was the leader after the request was sent: the request went through the log,
/// or read the newest state.
fn is_proof(response: &Response) -> bool {
    match response {
        Response::Reserved(jobs) | Response::Deliver(jobs) => !jobs.is_empty(),
        Response::Pong { .. }
        | Response::Pushed(_)
        | Response::Settled(_)
        | Response::Job(_)
        | Response::Leased(_)
        | Response::Connections(_)
        | Response::Changed { .. }
        | Response::Kicked { .. }
        | Response::Topics(_)
        | Response::Stats(_) => true,
        _ => false,
    }
}
