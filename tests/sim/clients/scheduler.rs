//! Somebody who keeps schedules: sets them, pauses and resumes them, looks at what they have fired, and works on their jobs. In the
//! end it deletes them: a schedule is never silent.

use std::num::NonZeroU32;

use adjourn_protocol::{IfVersion, JobTemplate, Request, RequestId, Reserve, Response, ScheduleSet};
use adjourn_types::{Lease, Millis, Missed, Overlap, ScheduleRules};

use super::super::plan::{Pace, Plan};
use super::super::time::{MS, SECOND, Us};
use super::{Board, Endpoint, Kept, Role, topic};

/// The topic of its jobs. No other client asks for it, but an operator may change many jobs in any topic.
const TICKS: &str = "ticks";
/// The names of its schedules, which are the bodies of their jobs.
const NAMES: [&str; 2] = ["often", "seldom"];
/// After all has healed a schedule must have caught up in this time. It is deleted then.
pub(in super::super) const CAUGHT_UP_WITHIN: Us = 40 * SECOND;
/// The longest pause between two looks at what is to be done.
const PATIENCE: Us = 5 * SECOND;

/// Whether a job with this body is one of a schedule: nobody has pushed it.
pub(in super::super) fn is_of_schedule(body: &[u8]) -> bool {
    NAMES.iter().any(|name| name.as_bytes() == body)
}

pub(super) struct Scheduler {
    pace: Pace,
    next: Us,
    held: Vec<Lease>,
    /// When it began to come to its end, if it has.
    drains_since: Option<Us>,
    draining: bool,
    deleted: [bool; NAMES.len()],
}

impl Scheduler {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            pace: plan.pace,
            next: 0,
            held: Vec::new(),
            drains_since: None,
            draining: false,
            deleted: [false; NAMES.len()],
        }
    }

    /// The time between two instants of a schedule, in seconds.
    fn every_s(&self, name: &str) -> u64 {
        let every = if name == "often" { SECOND } else { 7 * SECOND };
        self.pace.stretched(every) / SECOND
    }

    fn set(&self, endpoint: &mut Endpoint, name: &str) -> Request {
        let overlaps = [Overlap::Allow, Overlap::Skip, Overlap::QueueOne, Overlap::Replace];
        let rules = ScheduleRules {
            when: format!("@every {}s", self.every_s(name)),
            origin: Some(Millis(1)),
            missed: *endpoint.random.pick(&[Missed::None, Missed::Last, Missed::All]),
            missed_max: NonZeroU32::new(4),
            overlap: *endpoint.random.pick(&overlaps),
            ..ScheduleRules::default()
        };
        Request::ScheduleSet(ScheduleSet {
            topic: topic(TICKS),
            name: name.to_owned(),
            rules: Box::new(rules),
            template: JobTemplate { body: name.to_owned().into(), ..JobTemplate::default() },
            if_version: IfVersion::Any,
        })
    }

    fn request(&self, endpoint: &mut Endpoint) -> Request {
        let name = *endpoint.random.pick(&NAMES);
        let (topic, named) = (topic(TICKS), name.to_owned());
        match endpoint.random.below(20) {
            0..=2 => self.set(endpoint, name),
            3 => Request::SchedulePause { topic, name: named, note: Some("why".to_owned()) },
            4 | 5 => Request::ScheduleResume { topic, name: named },
            6 if endpoint.random.percent(20) => Request::ScheduleDelete { topic, name: named },
            7..=11 => Request::Reserve(Reserve {
                topics: vec![topic],
                jobs_max: 4,
                wait_ms: 0,
                weights: Vec::new(),
            }),
            _ => Request::ScheduleShow { topic, name: named },
        }
    }

    /// Looks at each schedule once more, and deletes it.
    fn last_requests(&mut self, endpoint: &mut Endpoint) {
        for (name, _) in NAMES.iter().zip(self.deleted).filter(|(_, deleted)| !deleted) {
            let (topic, name) = (topic(TICKS), (*name).to_owned());
            endpoint.send(Request::ScheduleShow { topic: topic.clone(), name: name.clone() });
            endpoint.send(Request::ScheduleDelete { topic, name });
        }
    }
}

impl Role for Scheduler {
    fn up(&mut self, endpoint: &mut Endpoint, _kept: Kept) {
        self.held.clear();
        self.next = endpoint.now;
    }

    fn answered(&mut self, endpoint: &mut Endpoint, _id: RequestId, request: &Request, response: &Response) {
        // A set that was sent behind an earlier delete may make the schedule anew.
        let is_last = self.drains_since.is_some_and(|since| endpoint.now >= since + CAUGHT_UP_WITHIN);
        match (request, response) {
            (_, Response::Reserved(jobs)) => self.held.extend(jobs.iter().map(|job| job.lease)),
            (Request::ScheduleDelete { name, .. }, response) => {
                let is_gone = match response {
                    Response::Error(error) => !error.retryable(),
                    _ => true,
                };
                let place = NAMES.iter().position(|known| known == name).filter(|_| is_gone && is_last);
                if let Some(place) = place {
                    self.deleted[place] = true;
                }
            }
            _ => {}
        }
    }

    fn unanswered(&mut self, _request: Request) {}

    fn act(&mut self, endpoint: &mut Endpoint, _board: &Board) -> Us {
        if self.next > endpoint.now {
            return self.next.min(endpoint.now + PATIENCE);
        }
        if !self.held.is_empty() {
            let leases = std::mem::take(&mut self.held);
            let request = match endpoint.random.below(4) {
                0 => Request::Bury { leases, reason: None },
                _ => Request::Finish { leases },
            };
            endpoint.send(request);
        }
        let pause = if self.draining {
            let since = *self.drains_since.get_or_insert(endpoint.now);
            if endpoint.now >= since + CAUGHT_UP_WITHIN {
                self.last_requests(endpoint);
            }
            PATIENCE
        } else {
            let request = self.request(endpoint);
            endpoint.send(request);
            self.pace.stretched(endpoint.random.within((MS, 600 * MS)))
        };
        self.next = endpoint.now + pause;
        self.next.min(endpoint.now + PATIENCE)
    }

    fn drain(&mut self) {
        self.draining = true;
        self.next = 0;
    }

    fn is_done(&self) -> bool {
        self.deleted.iter().all(|deleted| *deleted)
    }
}
