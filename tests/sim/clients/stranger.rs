//! A stranger: may do nothing where the others are, and asks for what they ask for, with their leases, ids and cursors.

use adjourn::protocol::{Request, RequestId, Response};

use super::super::plan::{Pace, Plan};
use super::super::time::{MS, Us};
use super::{Board, Endpoint, Kept, Role};

pub(super) struct Stranger {
    next: Us,
    pace: Pace,
    draining: bool,
}

impl Stranger {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { next: 0, pace: plan.pace, draining: false }
    }
}

impl Role for Stranger {
    fn up(&mut self, _endpoint: &mut Endpoint, _kept: Kept) {}

    fn answered(&mut self, _endpoint: &mut Endpoint, _id: RequestId, _asked: &Request, _response: &Response) {
    }

    fn unanswered(&mut self, _request: Request) {}

    fn act(&mut self, endpoint: &mut Endpoint, board: &Board) -> Us {
        if self.draining || board.overheard.is_empty() {
            return endpoint.now + self.pace.stretched(100 * MS);
        }
        if endpoint.now >= self.next {
            let any = endpoint.random.below(board.overheard.len() as u64);
            endpoint.send(board.overheard[usize::try_from(any).unwrap_or_default()].clone());
            self.next = endpoint.now + self.pace.stretched(endpoint.random.within((5 * MS, 200 * MS)));
        }
        self.next
    }

    fn drain(&mut self) {
        self.draining = true;
    }
}
