//! The effect of an answer on the client's state.

use std::sync::Arc;

use tokio::time::Instant;

use super::feed::wait_until;
use crate::error::{ClientError, ProtocolFault};
use crate::requests::{Answers, Connection, MEMBERS_ID, OWN_ID, Requests};
use adjourn_protocol::{
    Applied, ClusterReport, DecodeError, ErrorCode, ErrorReply, GoingAway, Member, Request, RequestId,
    Response, Role,
};

/// A client that an operator disconnected waits at least this long before it reconnects.
const DISCONNECTED_PAUSE_MS: u32 = 5_000;

impl Requests {
    /// Handles one frame of the server.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        id: RequestId,
        response: Result<Response, DecodeError>,
        answers: &mut Answers,
    ) {
        if let Some(sent) = self.heartbeats.answered(id) {
            return match &response {
                Ok(pong @ Response::Pong { .. }) => self.leases.answered(sent, pong),
                _ => self.unasked(response),
            };
        }
        if id == OWN_ID || id == RequestId(0) {
            return self.unasked(response);
        }
        if id == MEMBERS_ID {
            return self.members_told(response);
        }
        self.heartbeats.moved(now);
        let Some(open) = self.open.get_mut(id).filter(|open| open.on_wire) else {
            tracing::debug!(id = id.0, "an answer to what was not asked");
            return;
        };
        let mut response = match response {
            Ok(response) => response,
            Err(error) => return self.finish(id, Err(ClientError::Protocol(error.into())), answers),
        };
        if let Response::Error(reply) = response {
            return self.refused(id, reply, answers);
        }
        self.wire.proven = true;
        self.leases.answered(open.sent, &response);
        if let Response::Reserved(jobs) | Response::Deliver(jobs) = &mut response {
            self.undelivered.came(jobs);
            answers.stray.extend(self.leases.age(now, jobs));
        }
        let Some(feed) = &open.feed else {
            return match response {
                Response::Leased(leased) if matches!(open.request, Request::Leases { .. }) => {
                    self.leased(now, id, leased, answers);
                }
                response if self.ended.is_none() && open.is_early(now, &response) => self.send_again(id),
                response => self.fulfilled(id, response, answers),
            };
        };
        match response {
            Response::Subscribed => {
                feed.stands(true);
                answers.ended.extend(open.waiter.take().map(|waiter| (waiter, Ok(Response::Subscribed))));
            }
            Response::Deliver(jobs) => {
                let soonest = jobs.iter().map(|job| wait_until(now, job)).min();
                answers.look_sooner |=
                    soonest.is_some_and(|soonest| self.looks_at.is_none_or(|at| soonest < at));
                if let Err(jobs) = feed.deliver(now, jobs) {
                    answers.stray.extend(jobs.iter().map(|job| job.lease));
                }
            }
            other => self.finish(id, Err(ClientError::unexpected(other)), answers),
        }
    }

    /// Handles a successful answer to a request other than a subscription.
    fn fulfilled(&mut self, id: RequestId, response: Response, answers: &mut Answers) {
        let Some(open) = self.open.get_mut(id) else { return };
        let items = match (&open.request, &response) {
            (Request::Push(push), Response::Pushed(results)) => (push.jobs.len(), results.len()),
            (request, Response::Settled(results)) => (request.leases().len(), results.len()),
            (Request::Unsubscribe { subscription }, _) => {
                let subscription = RequestId(*subscription);
                self.finish(subscription, Ok(Response::Done), answers);
                (0, 0)
            }
            (_, Response::Deliver(jobs)) => {
                // The frame is not an answer, but its jobs are leased.
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
        let Some(open) = self.open.get_mut(id) else { return };
        let not_applied = reply.applied == Applied::No;
        if not_applied {
            open.doubts = open.doubts.saturating_sub(1);
        }
        match open.request {
            Request::Goodbye if reply.code == ErrorCode::SessionUnknown => {
                return self.finish(id, Ok(Response::Done), answers);
            }
            Request::Unsubscribe { .. } => return self.fulfilled(id, Response::Done, answers),
            Request::Cancel { .. } => {
                self.cancel_refused(reply.code);
                return self.finish(id, Ok(Response::Done), answers);
            }
            Request::Leases { .. } if !not_here(reply.code) => self.leases_refused(id),
            _ => {}
        }
        let Some(open) = self.open.get_mut(id) else { return };
        let (may_repeat, is_doubtful) = (not_applied || open.repeatable(), open.doubtful_push());
        // After GOODBYE no request is sent elsewhere.
        if not_here(reply.code) && self.ended.is_none() {
            self.drain();
            self.elsewhere.heed(&reply);
            if may_repeat {
                return self.send_elsewhere(id);
            }
        }
        let error = if is_doubtful { ClientError::OutcomeUnknown } else { ClientError::Refused(reply) };
        self.finish(id, Err(error), answers);
    }

    /// Stores the members' addresses, for when this connection is lost.
    fn members_told(&mut self, response: Result<Response, DecodeError>) {
        match response {
            Ok(Response::Cluster(report)) => {
                let members = addresses(*report);
                if !members.is_empty() {
                    Arc::make_mut(&mut self.welcome).members = members;
                }
            }
            Ok(Response::Error(reply)) if reply.retryable() => {}
            _ => self.heartbeats.stop_asking(),
        }
    }

    fn unasked(&mut self, response: Result<Response, DecodeError>) {
        match response {
            Ok(Response::GoingAway { message, reason }) => {
                tracing::info!(message, ?reason, "the server is about to close the connection");
                self.heartbeats.is_taken_over |= reason == GoingAway::SessionTakenOver;
                if reason == GoingAway::Disconnected {
                    self.elsewhere.retry_after_ms = self.elsewhere.retry_after_ms.max(DISCONNECTED_PAUSE_MS);
                }
                if self.drain() {
                    // It may still answer with the members. Nothing waits for that.
                    Request::ClusterStatus.encode(MEMBERS_ID, &mut self.wire.out);
                }
            }
            Ok(Response::Pong { .. } | Response::Error(_)) if self.wire.connection != Connection::Up => {}
            other => tracing::warn!(?other, "the server speaks of the connection as a whole"),
        }
    }
}

/// True if the same request may succeed over another connection.
pub(crate) fn not_here(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NotLeader | ErrorCode::NoLeader | ErrorCode::Stopping | ErrorCode::SessionUnknown
    )
}

fn addresses(report: ClusterReport) -> Vec<Member> {
    let known = report.members.into_iter().filter(|member| !member.client_address.is_empty());
    let member = known.map(|member| Member {
        node: member.node,
        address: member.client_address,
        leader: member.role == Role::Leader,
    });
    member.collect()
}
