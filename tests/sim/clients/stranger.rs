//! A stranger: may do nothing where the others are, and asks for what they ask for, with their leases, ids and cursors. Now and then it
//! asks for much at once that costs more than it looks, and hangs up.

use adjourn_protocol::{JobRef, List, NewJob, Push, ReleaseKind, Request, RequestId, Response};
use adjourn_types::{Fence, Filter, JobId, Key, Lease, ListOrder};

use super::super::plan::{Pace, Plan};
use super::super::time::{MS, Us};
use super::{Board, Endpoint, Kept, Role, any_topic};

/// Leases, or keys, of one expensive request.
const NAMED_MAX: u64 = 512;
/// Requests that come at once.
const AT_ONCE_MAX: u64 = 100;

pub(super) struct Stranger {
    next: Us,
    pace: Pace,
    draining: bool,
}

impl Stranger {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { next: 0, pace: plan.pace, draining: false }
    }

    /// Sends what makes a node look for much: others' jobs by their leases, ids and keys, and all topics.
    fn crowd(endpoint: &mut Endpoint, board: &Board) {
        let job = |endpoint: &mut Endpoint| {
            if board.jobs.is_empty() { JobId(1) } else { *endpoint.random.pick(&board.jobs) }
        };
        let named = endpoint.random.within((1, NAMED_MAX));
        let requests: Vec<Request> = match endpoint.random.below(4) {
            0 => {
                let lease = |endpoint: &mut Endpoint| Lease {
                    job: job(endpoint),
                    fence: Fence(endpoint.random.below(1000)),
                };
                let leases: Vec<Lease> = (0..named).map(|_| lease(endpoint)).collect();
                vec![
                    Request::Finish { leases: leases.clone() },
                    Request::Touch { leases: leases.clone(), ttr_ms: None },
                    Request::Bury { leases: leases.clone(), reason: None },
                    Request::Release { leases, kind: ReleaseKind::Backoff, reason: None },
                ]
            }
            1 => {
                let count = endpoint.random.within((1, AT_ONCE_MAX));
                (0..count).map(|_| Request::Delete(JobRef::Id(job(endpoint)))).collect()
            }
            2 => {
                let key = |number: u64| format!("k{number}").parse::<Key>().expect("a key");
                let jobs = (0..named).map(|number| NewJob::new("").key(key(number))).collect();
                let topic = any_topic(&mut endpoint.random);
                vec![Request::Push(Push { topic, sequence: 0, jobs, idempotency: None })]
            }
            _ => {
                let list = List {
                    filter: Filter::default(),
                    order: ListOrder::Id,
                    jobs_max: 9,
                    with_bodies: false,
                    cursor: "".into(),
                };
                let count = endpoint.random.within((1, AT_ONCE_MAX / 4));
                (0..count).flat_map(|_| [Request::Topics, Request::List(list.clone())]).collect()
            }
        };
        for request in requests {
            endpoint.send(request);
        }
        if endpoint.random.percent(30) {
            endpoint.hang_up();
        }
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
            if endpoint.random.percent(10) {
                Self::crowd(endpoint, board);
            } else {
                let any = endpoint.random.below(board.overheard.len() as u64);
                endpoint.send(board.overheard[usize::try_from(any).unwrap_or_default()].clone());
            }
            self.next = endpoint.now + self.pace.stretched(endpoint.random.within((5 * MS, 200 * MS)));
        }
        self.next
    }

    fn drain(&mut self) {
        self.draining = true;
    }
}
