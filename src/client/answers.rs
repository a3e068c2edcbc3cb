//! What an answer does to the client's state.

use tokio::time::Instant;

use super::error::{ClientError, ProtocolFault};
use super::requests::{Answers, Elsewhere, OWN_ID, Requests};
use crate::protocol::{Applied, DecodeError, ErrorCode, ErrorReply, Request, RequestId, Response};

impl Requests {
    /// Takes one frame of the server in.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        id: RequestId,
        response: Result<Response, DecodeError>,
        answers: &mut Answers,
    ) {
        if id == OWN_ID || id == RequestId(0) {
            return self.unasked(response);
        }
        let Some(open) = self.slots.get_mut(id).filter(|open| open.on_wire) else {
            tracing::debug!(id = id.0, "an answer to what was not asked");
            return;
        };
        let response = match response {
            Ok(response) => response,
            Err(error) => return self.finish(id, Err(ClientError::Protocol(error.into())), answers),
        };
        if let Response::Error(reply) = response {
            return self.refused(id, reply, answers);
        }
        self.proven = true;
        let Some(feed) = &open.feed else {
            return self.fulfilled(id, response, answers);
        };
        match response {
            Response::Subscribed => {
                answers.ended.extend(open.waiter.take().map(|waiter| (waiter, Ok(Response::Subscribed))));
            }
            Response::Deliver(jobs) => {
                if let Err(jobs) = feed.deliver(now, jobs) {
                    answers.stray.extend(jobs.iter().map(|job| job.lease));
                }
            }
            other => self.finish(id, Err(unexpected(&other)), answers),
        }
    }

    /// An answer that is no error, to what is no subscription.
    fn fulfilled(&mut self, id: RequestId, response: Response, answers: &mut Answers) {
        let Some(open) = self.slots.get_mut(id) else { return };
        let items = match (&open.request, &response) {
            (Request::Push(push), Response::Pushed(results)) => (push.jobs.len(), results.len()),
            (
                Request::Finish { leases }
                | Request::Release { leases, .. }
                | Request::Touch { leases, .. }
                | Request::Bury { leases },
                Response::Settled(results),
            ) => (leases.len(), results.len()),
            (Request::Unsubscribe { subscription }, _) => {
                let subscription = RequestId(*subscription);
                self.finish(subscription, Ok(Response::Done), answers);
                (0, 0)
            }
            (_, Response::Deliver(jobs)) => {
                // The frame is no answer, but its jobs are leased.
                answers.stray.extend(jobs.iter().map(|job| job.lease));
                (0, 0)
            }
            _ => (0, 0),
        };
        let (asked, found) = items;
        let outcome = if asked == found {
            Ok(response)
        } else {
            Err(ClientError::Protocol(ProtocolFault::Items { asked, found }))
        };
        self.finish(id, outcome, answers);
    }

    fn refused(&mut self, id: RequestId, reply: ErrorReply, answers: &mut Answers) {
        let Some(open) = self.slots.get_mut(id) else { return };
        let not_applied = reply.applied == Applied::No;
        if not_applied {
            open.doubts = open.doubts.saturating_sub(1);
        }
        match open.request {
            Request::Goodbye if reply.code == ErrorCode::SessionUnknown => {
                return self.finish(id, Ok(Response::Done), answers);
            }
            Request::Unsubscribe { .. } => return self.fulfilled(id, Response::Done, answers),
            _ => {}
        }
        if not_here(reply.code) && (not_applied || open.repeatable()) {
            self.send_elsewhere(id);
            self.drain();
            self.elsewhere = Elsewhere { leader: reply.leader, retry_after_ms: reply.retry_after_ms };
            return;
        }
        let error =
            if open.doubtful_push() { ClientError::OutcomeUnknown } else { ClientError::Refused(reply) };
        self.finish(id, Err(error), answers);
    }

    fn unasked(&mut self, response: Result<Response, DecodeError>) {
        match response {
            Ok(Response::GoingAway { message }) => {
                tracing::info!(message, "the server is about to close the connection");
                self.drain();
            }
            Ok(Response::Pong { .. }) => {}
            other => tracing::warn!(?other, "the server speaks of the connection as a whole"),
        }
    }
}

/// Whether another connection may do better with the same request.
pub(super) fn not_here(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NotLeader | ErrorCode::NoLeader | ErrorCode::Stopping | ErrorCode::SessionUnknown
    )
}

fn unexpected(response: &Response) -> ClientError {
    ClientError::Protocol(ProtocolFault::Unexpected(response.opcode()))
}
