//! Which requests may be sent again after the connection was lost.

use std::time::Duration;

use bytes::BytesMut;
use tokio::time::Instant;

use super::feed::End;
use super::open_requests::OpenRequest;
use crate::error::{ClientError, ProtocolFault};
use crate::ticket::Outcome;
use adjourn_protocol::{JobRef, Repeat, Request, RequestId, Response};
use adjourn_types::whole_ms;

/// The longest time for which a server may search many jobs.
const BROWSE_MAX: Duration = Duration::from_mins(10);
/// The longest time for which a server may write a checkpoint.
const CHECKPOINT_MAX: Duration = Duration::from_hours(1);

/// A request that was on the wire of this many connections on which the server broke the protocol is not sent again: its
/// answer may be the cause.
const FAULTS_MAX: u8 = 3;

/// After this many waits that the server cut short, its answer to a reserve is accepted: else the two would repeat
/// without end.
const CUT_SHORT_MAX: u8 = 16;

/// The numbers of a push.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// One number per job, none for other requests.
    pub(crate) jobs: u64,
    /// The first number, if it was assigned.
    pub(crate) first: Option<u64>,
}

impl OpenRequest {
    /// The outcome of the request now that the connection is lost; `None` if it is to be sent (again).
    pub(crate) fn after_loss(&self, was_on_wire: bool, fault: Option<&ProtocolFault>) -> Option<Outcome> {
        let is_own = matches!(self.request, Request::Leases { .. }) && self.waiter.is_none();
        if self.left_subscription()
            || is_own
            || matches!(self.request, Request::Unsubscribe { .. } | Request::Cancel { .. })
        {
            // Subscriptions and waiting reserves end with their connection, and LEASES is sent again.
            return Some(Ok(Response::Done));
        }
        if self.feed.is_some() || !was_on_wire {
            return None;
        }
        if self.waiter.is_none() && !matches!(self.request, Request::Release { .. }) {
            // Its caller was told before that the outcome is unknown.
            return Some(Err(ClientError::OutcomeUnknown));
        }
        match fault {
            Some(fault) if !self.repeatable() || self.faults >= FAULTS_MAX => {
                Some(Err(ClientError::Protocol(fault.clone())))
            }
            None if !self.repeatable() => Some(Err(ClientError::OutcomeUnknown)),
            _ => None,
        }
    }

    /// True if it may be sent again.
    pub(crate) fn repeatable(&self) -> bool {
        match self.request.opcode().repeat() {
            Repeat::Safe => true,
            Repeat::SafeById => matches!(self.request, Request::Delete(JobRef::Id(_))),
            Repeat::Unsafe => false,
        }
    }

    /// True if it is a push that may already have taken effect.
    pub(crate) fn doubtful_push(&self) -> bool {
        self.doubts > 0 && matches!(self.request, Request::Push(_))
    }

    /// True if it is a subscription whose subscriber left.
    pub(crate) fn left_subscription(&self) -> bool {
        self.feed.as_ref().is_some_and(|feed| matches!(feed.ended(), Some(End::Left)))
    }

    /// True if it is a reserve whose caller has left: it would only fetch jobs that no one takes.
    pub(crate) fn nobody_wants(&self) -> bool {
        matches!(self.request, Request::Reserve(_)) && !self.is_awaited()
    }

    /// True if a caller waits for its answer.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiter.as_ref().is_some_and(|waiter| !waiter.is_closed())
    }

    /// True if it is a push that its sequence numbers are to tell from others, not a key.
    pub(crate) fn is_numbered(&self) -> bool {
        matches!(&self.request, Request::Push(push) if push.idempotency.is_none())
    }

    /// The numbers that it takes: sequence numbers, or those of its key.
    pub(crate) fn numbers(&self) -> Numbers {
        match &self.request {
            Request::Push(push) => {
                let jobs = u64::try_from(push.jobs.len()).unwrap_or(u64::MAX);
                let of_key = |key: u128| u64::try_from(key & u128::from(u64::MAX)).unwrap_or_default();
                let of_session = Some(push.sequence).filter(|sequence| *sequence != 0);
                let first = push.idempotency.map(|push| of_key(push.key.get())).or(of_session);
                Numbers { jobs, first }
            }
            _ => Numbers { jobs: 0, first: None },
        }
    }

    /// True if this answer to a reserve came before its wait was over: the server ends waits when it stops or when another
    /// connection resumes the session, and the leases of delayed jobs may be over.
    pub(crate) fn is_early(&self, now: Instant, response: &Response) -> bool {
        matches!(response, Response::Reserved(jobs) if jobs.is_empty())
            && matches!(self.request, Request::Reserve(_))
            && whole_ms(self.wait_left(now)) > 0
            && self.cut_short < CUT_SHORT_MAX
            && self.is_awaited()
    }

    /// How long the server may take to answer by design.
    pub(crate) fn wait(&self) -> Duration {
        match &self.request {
            Request::Reserve(reserve) => Duration::from_millis(reserve.wait_ms),
            Request::BackupBegin => CHECKPOINT_MAX,
            Request::List(_) | Request::Count(_) | Request::Bulk(_) | Request::Peek { .. } => BROWSE_MAX,
            _ => Duration::ZERO,
        }
    }

    fn wait_left(&self, now: Instant) -> Duration {
        self.wait().saturating_sub(now.saturating_duration_since(self.accepted))
    }

    /// Encodes it; a reserve asks for the rest of its wait, but a waiting one never becomes one without a wait. Returns the
    /// frame's bytes.
    pub(crate) fn encode(&mut self, now: Instant, id: RequestId, out: &mut BytesMut) -> usize {
        let left = self.wait_left(now);
        if let Request::Reserve(reserve) = &mut self.request {
            let left_ms = whole_ms(left).max(reserve.wait_ms.min(1));
            let asked_ms = std::mem::replace(&mut reserve.wait_ms, left_ms);
            let bytes = self.request.encode(id, out);
            if let Request::Reserve(reserve) = &mut self.request {
                reserve.wait_ms = asked_ms;
            }
            return bytes;
        }
        self.request.encode(id, out)
    }
}
