//! Web requests, one after the other: each connects without a session, pushes one list under a key, and leaves. A list
//! without an answer is pushed again under its key by the next one.

use std::num::NonZeroU128;

use adjourn_protocol::{Idempotency, Push, Request, RequestId, Response};

use super::super::plan::Plan;
use super::super::time::{SECOND, Us};
use super::producer::NewJobs;
use super::{BRIEF, Board, Endpoint, Kept, Role, TOPICS, topic};

/// In a hundred requests, how many push their list twice.
const TWICE_PERCENT: u64 = 20;

pub(super) struct WebRequest {
    number: u64,
    lists: u64,
    jobs: NewJobs,
    /// The list that has no answer yet.
    unanswered: Option<Push>,
    draining: bool,
}

impl WebRequest {
    /// `number` tells it from the producers.
    pub(super) fn new(number: u64, plan: &Plan) -> Self {
        Self { number, lists: 0, jobs: NewJobs::new(number, plan), unanswered: None, draining: false }
    }

    fn next_list(&mut self, endpoint: &mut Endpoint) -> Push {
        self.lists += 1;
        let name = *endpoint.random.pick(&TOPICS);
        let jobs = self.jobs.list(endpoint, name == BRIEF);
        let key =
            NonZeroU128::MIN.saturating_add(u128::from(self.number) << 64 | u128::from(self.lists) << 16);
        let list_jobs = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        let idempotency = Some(Idempotency { key, list_jobs });
        Push { topic: topic(name), sequence: 0, jobs, idempotency }
    }
}

impl Role for WebRequest {
    fn wants_session(&self) -> bool {
        false
    }

    fn up(&mut self, endpoint: &mut Endpoint, _kept: Kept) {
        if self.unanswered.is_none() && !self.draining {
            self.unanswered = Some(self.next_list(endpoint));
        }
        if let Some(push) = &self.unanswered {
            let times = if endpoint.random.percent(TWICE_PERCENT) { 2 } else { 1 };
            for _ in 0..times {
                endpoint.send(Request::Push(push.clone()));
            }
            endpoint.send(Request::Goodbye);
        }
    }

    fn answered(&mut self, _endpoint: &mut Endpoint, _id: RequestId, request: &Request, response: &Response) {
        let Request::Push(push) = request else { return };
        let is_over = match response {
            Response::Error(error) => !error.retryable(),
            _ => true,
        };
        let key = |push: &Push| push.idempotency;
        if is_over && self.unanswered.as_ref().is_some_and(|open| key(open) == key(push)) {
            self.unanswered = None;
        }
    }

    fn unanswered(&mut self, _request: Request) {}

    fn act(&mut self, endpoint: &mut Endpoint, _board: &Board) -> Us {
        endpoint.now + SECOND
    }

    fn drain(&mut self) {
        self.draining = true;
    }

    fn is_done(&self) -> bool {
        self.unanswered.is_none()
    }
}
