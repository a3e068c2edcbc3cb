//! An operator: looks at jobs and changes them from outside, by their ids and by their keys.

use adjourn::protocol::{JobRef, Request, RequestId, Response};
use adjourn::types::limits::KICK_JOBS_MAX;

use super::super::plan::{Pace, Plan};
use super::super::time::{MS, Us};
use super::producer::{due, key};
use super::{Board, Kept, Line, Role, any_topic};

pub(super) struct Operator {
    next: Us,
    pace: Pace,
    /// It only changes jobs, so that nobody has to wait.
    calm: bool,
    draining: bool,
}

impl Operator {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { next: 0, pace: plan.pace, calm: plan.calm, draining: false }
    }

    fn request(&self, line: &mut Line, board: &Board) -> Request {
        let name = any_topic(&mut line.random);
        match line.random.below(24) {
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
            self.next = line.now + self.pace.stretched(line.random.within((MS, 250 * MS)));
        }
        self.next.max(line.now + MS * 50)
    }

    fn drain(&mut self) {
        self.draining = true;
    }
}
