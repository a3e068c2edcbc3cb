//! An operator: looks at jobs and changes them from outside, by their ids and by their keys.

use adjourn::protocol::{JobRef, Request, RequestId, Response};
use adjourn::types::limits::KICK_JOBS_MAX;

use super::super::plan::{Pace, Plan};
use super::super::time::{MS, Us};
use super::producer::{due, key};
use super::{Board, Kept, Line, Role, any_topic};

/// The requests of somebody who only looks.
const LOOKS: [u64; 4] = [0, 21, 22, 23];

pub(super) struct Operator {
    next: Us,
    /// It looks at things, all the time, and changes nothing.
    only_looks: bool,
    pace: Pace,
    /// It only changes jobs, so that nobody has to wait.
    calm: bool,
    draining: bool,
}

impl Operator {
    pub(super) fn new(plan: &Plan) -> Self {
        let (pace, calm) = (plan.pace, plan.calm);
        Self { next: 0, only_looks: false, pace, calm, draining: false }
    }

    /// Somebody who only looks.
    pub(super) fn reader(plan: &Plan) -> Self {
        Self { only_looks: true, ..Self::new(plan) }
    }

    fn request(&self, line: &mut Line, board: &Board) -> Request {
        let name = any_topic(&mut line.random);
        let what = if self.only_looks { *line.random.pick(&LOOKS) } else { line.random.below(25) };
        match what {
            // Whoever moves jobs or holds a topic up makes them late.
            8..=20 if self.calm => Request::Delete(job(line, board)),
            0..=4 => Request::Get(job(line, board)),
            5..=7 => Request::Delete(job(line, board)),
            8..=11 => {
                let due = due(&mut line.random, line.wall, false, self.pace);
                Request::Reschedule { job: job(line, board), due }
            }
            12..=14 => Request::RunNow(job(line, board)),
            15 | 16 => Request::Kick(job(line, board)),
            17 => {
                let jobs_max = *line.random.pick(&[1, 3, KICK_JOBS_MAX]);
                Request::KickMany { topic: name, jobs_max }
            }
            18 => Request::Pause { topic: name },
            19 | 20 => Request::Resume { topic: name },
            21 => Request::Peek { topic: name },
            22 => Request::Topics,
            24 => Request::BackupBegin,
            _ => Request::Stats,
        }
    }
}

fn job(line: &mut Line, board: &Board) -> JobRef {
    if board.jobs.is_empty() || line.random.percent(20) {
        return JobRef::Key { topic: any_topic(&mut line.random), key: key(&mut line.random) };
    }
    // Young ones more often: they are still there.
    let young = board.jobs.len().saturating_sub(60);
    let from = if line.random.percent(80) { &board.jobs[young..] } else { &board.jobs };
    JobRef::Id(*line.random.pick(from))
}

impl Role for Operator {
    fn up(&mut self, _line: &mut Line, _kept: Kept) {}

    fn answered(&mut self, _line: &mut Line, _id: RequestId, _request: &Request, _response: &Response) {}

    fn unanswered(&mut self, _request: Request) {}

    fn act(&mut self, line: &mut Line, board: &Board) -> Us {
        if self.next <= line.now && !self.draining {
            let request = self.request(line, board);
            line.send(request);
            let pause = if self.only_looks { (MS, 40 * MS) } else { (MS, 250 * MS) };
            self.next = line.now + self.pace.stretched(line.random.within(pause));
        }
        self.next.max(line.now + if self.only_looks { MS } else { 50 * MS })
    }

    fn drain(&mut self) {
        self.draining = true;
    }
}
