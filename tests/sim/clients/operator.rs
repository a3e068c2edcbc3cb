//! An operator: looks at jobs and changes them from outside, by their ids and by their keys.

use std::num::NonZeroU64;

use adjourn_protocol::{Bulk, Edit, JobRef, List, Request, RequestId, Response, TopicSet};
use adjourn_types::limits::KICK_JOBS_MAX;
use adjourn_types::{AttributeSet, AttributesBuilder, PolicyChange, Setting, TopicPolicy};

use super::super::plan::{Pace, Plan};
use super::super::random::Random;
use super::super::time::{MS, Us};
use super::producer::{due, key};
use super::{Board, Endpoint, Kept, Role, any_topic, many};

/// The header in which an edit has its number.
pub(in super::super) const EDIT_HEADER: &str = "edit";

/// The requests of somebody who only looks.
const LOOKS: [u64; 7] = [0, 21, 22, 23, 25, 26, 27];

pub(super) struct Operator {
    next: Us,
    /// It looks at things, all the time, and changes nothing.
    only_looks: bool,
    pace: Pace,
    /// It only changes jobs, so that no other client has to wait.
    calm: bool,
    /// How many kinds of requests it draws from: edits are among the last.
    kinds: u64,
    draining: bool,
    /// The next page of a list, and the next step of a change to many jobs.
    next_requests: Vec<Request>,
}

impl Operator {
    pub(super) fn new(plan: &Plan) -> Self {
        let Plan { pace, calm, .. } = *plan;
        let kinds = if plan.edits { 40 } else { 35 };
        Self { next: 0, only_looks: false, pace, calm, kinds, draining: false, next_requests: Vec::new() }
    }

    /// Somebody who only looks.
    pub(super) fn reader(plan: &Plan) -> Self {
        Self { only_looks: true, ..Self::new(plan) }
    }

    fn request(&mut self, endpoint: &mut Endpoint, board: &Board) -> Request {
        if let Some(next) = self.next_requests.pop() {
            return next;
        }
        let name = any_topic(&mut endpoint.random);
        let what =
            if self.only_looks { *endpoint.random.pick(&LOOKS) } else { endpoint.random.below(self.kinds) };
        match what {
            // Moving jobs or pausing a topic would make jobs late.
            8..=20 if self.calm => Request::Delete(job(endpoint, board)),
            28..=31 | 33 | 34 if self.calm => Request::List(many::list(&mut endpoint.random)),
            0..=4 => Request::Get(job(endpoint, board)),
            5..=7 => Request::Delete(job(endpoint, board)),
            8..=11 => {
                let due = due(&mut endpoint.random, endpoint.wall, false, self.pace);
                Request::Reschedule { job: job(endpoint, board), due, if_version: None }
            }
            12..=14 => Request::RunNow(job(endpoint, board)),
            15 | 16 => Request::Kick(job(endpoint, board)),
            17 => {
                let jobs_max = *endpoint.random.pick(&[1, 3, KICK_JOBS_MAX]);
                Request::KickMany { topic: name, jobs_max }
            }
            18 => {
                let for_ms = NonZeroU64::new(*endpoint.random.pick(&[0, 1, 50, 3000, 60_000]));
                Request::Pause { topic: name, for_ms }
            }
            19 | 20 => Request::Resume { topic: name },
            21 => Request::Peek { topic: name },
            22 => Request::Topics,
            24 | 32 | 39 => Request::BackupBegin,
            25 | 26 => Request::List(many::list(&mut endpoint.random)),
            27 => Request::Count(many::filter(&mut endpoint.random).into()),
            28..=30 => Request::Bulk(many::bulk(endpoint, self.pace)),
            31 => Request::TopicDelete { topic: name },
            33 | 34 => Request::TopicSet(TopicSet {
                topic: name,
                change: Box::new(policy_change(&mut endpoint.random)),
            }),
            35..=38 => Request::Edit(edit(endpoint, board, self.pace, self.calm)),
            _ => Request::Stats,
        }
    }
}

/// An edit that shows which one it is. It may set a due time, too, unless that would make a job late.
fn edit(endpoint: &mut Endpoint, board: &Board, pace: Pace, calm: bool) -> Edit {
    let number = endpoint.random.below(u64::MAX).to_string();
    let job = job(endpoint, board);
    let due = due(&mut endpoint.random, endpoint.wall, false, pace);
    Edit {
        due: Some(due).filter(|_| !calm && endpoint.random.percent(30)),
        replaced: AttributeSet::HEADERS,
        attributes: AttributesBuilder::default().header(EDIT_HEADER, &number).build().unwrap_or_default(),
        ..Edit::new(job)
    }
}

/// What a topic may deliver and hold: a change of one setting, or none of them any more.
fn policy_change(random: &mut Random) -> PolicyChange {
    let none = TopicPolicy::default();
    let set = match random.below(4) {
        0 => TopicPolicy { per_second_max: Some(*random.pick(&[20, 50, 200])), ..none },
        1 => TopicPolicy { leases_max: Some(*random.pick(&[1, 3, 20])), ..none },
        2 => TopicPolicy { jobs_max: Some(*random.pick(&[1, 10, 100])), ..none },
        _ => return no_limits(),
    };
    PolicyChange { set, ..PolicyChange::default() }
}

/// Takes away what [`policy_change`] sets.
pub(super) fn no_limits() -> PolicyChange {
    let unset = [Setting::Rate, Setting::LeasesMax, Setting::JobsMax].into_iter().collect();
    PolicyChange { unset, ..PolicyChange::default() }
}

fn job(endpoint: &mut Endpoint, board: &Board) -> JobRef {
    if board.jobs.is_empty() || endpoint.random.percent(20) {
        return JobRef::Key { topic: any_topic(&mut endpoint.random), key: key(&mut endpoint.random) };
    }
    // Young ones more often: they are still there.
    let young = board.jobs.len().saturating_sub(60);
    let from = if endpoint.random.percent(80) { &board.jobs[young..] } else { &board.jobs };
    JobRef::Id(*endpoint.random.pick(from))
}

impl Role for Operator {
    fn up(&mut self, _endpoint: &mut Endpoint, _kept: Kept) {}

    fn answered(&mut self, _endpoint: &mut Endpoint, _id: RequestId, request: &Request, response: &Response) {
        match (request, response) {
            (Request::List(list), Response::Jobs { cursor, .. }) if !cursor.is_empty() => {
                self.next_requests.push(Request::List(List { cursor: cursor.clone(), ..list.clone() }));
            }
            (Request::Bulk(bulk), Response::Bulked { cursor, .. }) if !cursor.is_empty() => {
                self.next_requests.push(Request::Bulk(Bulk { cursor: cursor.clone(), ..bulk.clone() }));
            }
            (Request::List(_), Response::Error(error)) if error.code.retryable() => {
                self.next_requests.push(request.clone());
            }
            _ => {}
        }
        // What it does not come to it leaves.
        self.next_requests.truncate(4);
    }

    /// A list goes on where it was, also on another node.
    fn unanswered(&mut self, request: Request) {
        if matches!(request, Request::List(_)) && self.next_requests.len() < 4 {
            self.next_requests.push(request);
        }
    }

    fn act(&mut self, endpoint: &mut Endpoint, board: &Board) -> Us {
        if self.next <= endpoint.now && !self.draining {
            let request = self.request(endpoint, board);
            endpoint.send(request);
            let pause = if self.only_looks { (MS, 40 * MS) } else { (MS, 190 * MS) };
            self.next = endpoint.now + self.pace.stretched(endpoint.random.within(pause));
        }
        self.next.max(endpoint.now + if self.only_looks { MS } else { 50 * MS })
    }

    fn drain(&mut self) {
        self.draining = true;
    }
}
