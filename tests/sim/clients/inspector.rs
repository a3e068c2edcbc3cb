//! The inspector: when everything has healed it resumes the paused topics, finishes all jobs that come due, and in the end
//! looks at every job that was ever acknowledged.

use std::collections::BTreeSet;

use adjourn_protocol::{JobRef, Request, RequestId, Response, Subscribe, TopicSet};
use adjourn_types::Lease;

use super::super::time::{MS, SECOND, Us};
use super::operator::no_limits;
use super::{Board, Endpoint, Kept, Role, TOPICS, topic};

/// Questions under way at once.
const WINDOW: usize = 64;

#[derive(Default)]
pub(super) struct Inspector {
    phase: Phase,
    /// Requests to make once, and not answered yet.
    open: Vec<Request>,
    under_way: usize,
    finish: BTreeSet<Lease>,
    /// Jobs that it has asked for.
    asked: usize,
    stats_asked: bool,
    subscribed: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Waits,
    Drains,
    Inspects,
    Done,
}

impl Role for Inspector {
    fn up(&mut self, _endpoint: &mut Endpoint, _kept: Kept) {
        self.subscribed = false;
        self.under_way = 0;
    }

    fn answered(&mut self, _endpoint: &mut Endpoint, _id: RequestId, request: &Request, response: &Response) {
        match (request, response) {
            (Request::Subscribe(_), Response::Deliver(jobs)) => {
                self.finish.extend(jobs.iter().map(|job| job.lease));
            }
            (Request::Subscribe(_), Response::Subscribed) => {}
            (Request::Subscribe(_), _) => self.subscribed = false,
            (_, Response::Error(error)) if error.code.retryable() => {
                self.under_way = self.under_way.saturating_sub(1);
                self.open.push(request.clone());
            }
            _ => self.under_way = self.under_way.saturating_sub(1),
        }
    }

    fn unanswered(&mut self, request: Request) {
        if !matches!(request, Request::Subscribe(_)) {
            self.open.push(request);
        }
    }

    fn act(&mut self, endpoint: &mut Endpoint, board: &Board) -> Us {
        if self.phase == Phase::Waits {
            return endpoint.now + SECOND;
        }
        if !self.subscribed {
            self.subscribed = true;
            let topics = TOPICS.iter().map(|name| topic(name)).collect();
            endpoint.send(Request::Subscribe(Subscribe {
                topics,
                credit_jobs: 200,
                credit_bytes: 1 << 20,
                weights: Vec::new(),
            }));
        }
        if !self.finish.is_empty() {
            self.under_way += 1;
            let leases = std::mem::take(&mut self.finish).into_iter().collect();
            endpoint.send(Request::Finish { leases });
        }
        for request in std::mem::take(&mut self.open) {
            self.under_way += 1;
            endpoint.send(request);
        }
        if self.phase == Phase::Inspects {
            while self.under_way < WINDOW
                && let Some(job) = board.jobs.get(self.asked)
            {
                self.asked += 1;
                self.under_way += 1;
                endpoint.send(Request::Get(JobRef::Id(*job)));
            }
            if self.under_way == 0 && !self.stats_asked {
                self.stats_asked = true;
                self.under_way += 1;
                endpoint.send(Request::Stats);
            } else if self.under_way == 0 && self.stats_asked {
                self.phase = Phase::Done;
            }
        }
        endpoint.now + 100 * MS
    }

    fn drain(&mut self) {
        self.phase = Phase::Drains;
        self.open.extend(TOPICS.iter().flat_map(|name| {
            let change = Box::new(no_limits());
            [
                Request::Resume { topic: topic(name) },
                Request::TopicSet(TopicSet { topic: topic(name), change }),
            ]
        }));
    }

    fn inspect(&mut self) {
        self.phase = Phase::Inspects;
    }

    fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }
}
