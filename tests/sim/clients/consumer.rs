//! A consumer: asks for jobs by long polls or a subscription, and does with them all that can be done with a lease.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{
    Delivered, ErrorCode, Leased, ReleaseKind, Request, RequestId, Reserve, Response, Subscribe,
};
use adjourn_types::{JobId, Lease, TopicName};

use super::super::node::GRACE_MS;
use super::super::plan::{Pace, Plan};
use super::super::time::{MS, SECOND, Us};
use super::{BRIEF, Board, Endpoint, Kept, Role, TOPICS, topic};

/// Number of PINGs in a grace.
const PINGS_PER_GRACE: u64 = 4;

pub(super) struct Consumer {
    want: Want,
    /// What it will do with which lease, and when.
    held: BTreeMap<(Us, Lease), Deed>,
    /// The long poll or the subscription under way.
    asked: Option<RequestId>,
    ask_at: Us,
    /// When its worker has worked on all jobs that it will start; of one that prefetches.
    free_at: Us,
    leases_outlive: bool,
    /// It is a caller of a port in the server's process: what it holds ends with its connection.
    is_caller: bool,
    pace: Pace,
    draining: bool,
    /// When it asks again whether its leases are kept.
    ping_at: Us,
    /// Leases of its session that it has heard of.
    seen: BTreeSet<Lease>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Polls,
    Subscription,
    /// A subscription to everything, whose jobs are finished at once.
    Everything,
    /// A subscription with much credit, for one worker: who has more jobs than it can work on in time.
    Prefetch,
}

/// How long a worker needs for a job.
const WORK: (Us, Us) = (20 * MS, 400 * MS);
/// A job that is not started is given back so long before its lease ends, at most.
const GIVEN_BACK: Us = 150 * MS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Finish,
    Release(ReleaseKind),
    Bury,
    TouchFirst,
    /// The lease runs out.
    Forget,
}

impl Consumer {
    pub(super) fn poller(plan: &Plan, leases_outlive: bool) -> Self {
        Self::new(plan, Want::Polls, leases_outlive)
    }

    pub(super) fn caller(plan: &Plan) -> Self {
        Self { is_caller: true, ..Self::new(plan, Want::Polls, false) }
    }

    pub(super) fn subscriber(plan: &Plan) -> Self {
        Self::new(plan, Want::Subscription, false)
    }

    pub(super) fn prefetcher(plan: &Plan) -> Self {
        Self::new(plan, Want::Prefetch, false)
    }

    pub(super) fn steady(plan: &Plan) -> Self {
        Self::new(plan, Want::Everything, false)
    }

    fn new(plan: &Plan, want: Want, leases_outlive: bool) -> Self {
        let (held, pace) = (BTreeMap::new(), plan.pace);
        let (asked, seen, draining, is_caller) = (None, BTreeSet::new(), false, false);
        let (ask_at, ping_at, free_at) = (0, 0, 0);
        Self { want, held, asked, ask_at, free_at, leases_outlive, is_caller, pace, draining, ping_at, seen }
    }

    fn take(&mut self, endpoint: &mut Endpoint, jobs: &[Delivered]) {
        self.seen.extend(jobs.iter().map(|job| job.lease));
        for job in jobs {
            if self.want == Want::Prefetch && !self.draining {
                self.queue(endpoint, job);
                continue;
            }
            let (deed, pause) = if self.want == Want::Everything {
                (Deed::Finish, (0, MS))
            } else {
                let deed = match endpoint.random.below(24) {
                    0 => Deed::Release(ReleaseKind::Backoff),
                    1 => Deed::Release(ReleaseKind::NotStarted),
                    2 => Deed::Release(ReleaseKind::After(endpoint.random.below(3_000))),
                    3 => Deed::Bury,
                    4 => Deed::TouchFirst,
                    5 | 6 => Deed::Forget,
                    _ => Deed::Finish,
                };
                (deed, if endpoint.random.percent(80) { (0, 40 * MS) } else { (40 * MS, 3 * SECOND) })
            };
            let deed = if self.draining { Deed::Finish } else { deed };
            self.held.insert((endpoint.now + endpoint.random.within(pause), job.lease), deed);
        }
    }

    /// Puts a job behind those that wait for the worker. It is given back not started if its lease would end meanwhile.
    fn queue(&mut self, endpoint: &mut Endpoint, job: &Delivered) {
        let ends = endpoint.now + Us::from(job.ttr_left_ms) * MS;
        let done = self.free_at.max(endpoint.now) + endpoint.random.within(WORK);
        let (at, deed) = if done < ends {
            self.free_at = done;
            (done, Deed::Finish)
        } else {
            let at = ends.saturating_sub(GIVEN_BACK).max(endpoint.now + WORK.0);
            // One that comes back at once with a short lease would come again and again.
            let is_brief = job.ttr_left_ms < 1_000;
            let kind = if is_brief { ReleaseKind::Parked(1_000) } else { ReleaseKind::NotStarted };
            (at, Deed::Release(kind))
        };
        self.held.insert((at, job.lease), deed);
    }

    /// What a lost connection never showed it is taken up, or given back.
    fn find(&mut self, endpoint: &mut Endpoint, page: &Leased) {
        let unseen = page.jobs.iter().filter(|job| !self.seen.contains(&job.lease)).cloned();
        let unseen: Vec<Delivered> = unseen.collect();
        if endpoint.random.percent(50) {
            self.take(endpoint, &unseen);
        } else if !unseen.is_empty() {
            let leases: Vec<Lease> = unseen.iter().map(|job| job.lease).collect();
            self.seen.extend(&leases);
            endpoint.send(Request::Release { leases, kind: ReleaseKind::NotStarted, reason: None });
        }
        if let Some(last) = page.jobs.last().filter(|_| page.has_more) {
            endpoint.send(Request::Leases { after: last.lease.job, jobs_max: 10 });
        }
    }

    fn carry_out(&mut self, endpoint: &mut Endpoint) {
        let mut finished = Vec::new();
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= endpoint.now) {
            let ((_, lease), deed) = entry.remove_entry();
            match deed {
                Deed::Finish => finished.push(lease),
                Deed::Release(kind) => {
                    endpoint.send(Request::Release { leases: vec![lease], kind, reason: reason(lease) });
                }
                Deed::Bury => {
                    endpoint.send(Request::Bury { leases: vec![lease], reason: reason(lease) });
                }
                Deed::TouchFirst => {
                    let ttr_ms = endpoint.random.percent(50).then_some(1_000);
                    endpoint.send(Request::Touch { leases: vec![lease], ttr_ms });
                    self.held
                        .insert((endpoint.now + endpoint.random.within((MS, 900 * MS)), lease), Deed::Finish);
                }
                Deed::Forget => {}
            }
        }
        if !finished.is_empty() {
            endpoint.send(Request::Finish { leases: finished });
        }
    }

    /// Asks for a proof that its leases are kept, while it holds some.
    fn ping(&mut self, endpoint: &mut Endpoint) {
        if !self.held.is_empty() && !self.leases_outlive && self.ping_at <= endpoint.now {
            endpoint.send(Request::Ping);
            self.ping_at = endpoint.now + GRACE_MS * MS / PINGS_PER_GRACE;
        }
    }

    fn ask(&mut self, endpoint: &mut Endpoint) {
        let topics = self.topics(endpoint);
        let is_weighed = self.want != Want::Everything && topics.len() > 1 && endpoint.random.percent(40);
        let weighed = topics.iter().filter(|_| is_weighed);
        let weights = weighed.map(|_| *endpoint.random.pick(&[1, 2, 5])).collect();
        let request = match self.want {
            Want::Polls => Request::Reserve(Reserve {
                topics,
                jobs_max: u32::try_from(endpoint.random.within((1, 12))).expect("it is small"),
                wait_ms: *endpoint.random.pick(&[0, 5, 200, 2_000, 10_000]),
                weights,
            }),
            Want::Subscription => Request::Subscribe(Subscribe {
                topics,
                credit_jobs: u32::try_from(endpoint.random.within((1, 20))).expect("it is small"),
                credit_bytes: endpoint.random.within((1, 100_000)),
                weights,
            }),
            Want::Everything | Want::Prefetch => Request::Subscribe(Subscribe {
                topics,
                credit_jobs: 60_000,
                credit_bytes: 100 << 20,
                weights: Vec::new(),
            }),
        };
        self.asked = Some(endpoint.send(request));
    }

    fn topics(&mut self, endpoint: &mut Endpoint) -> Vec<TopicName> {
        match self.want {
            Want::Everything => TOPICS.iter().map(|name| topic(name)).collect(),
            _ if self.leases_outlive => vec![topic(BRIEF)],
            _ => endpoint.some_topics(),
        }
    }

    /// Something now and then that a client may do at any time.
    fn change_its_mind(&mut self, endpoint: &mut Endpoint) {
        let Some(asked) = self.asked.filter(|_| self.want != Want::Everything) else { return };
        if self.want == Want::Polls {
            if endpoint.random.below(12) == 0 {
                endpoint.send(Request::Cancel { request: asked.0 });
            }
            return;
        }
        match endpoint.random.below(60) {
            0 if self.want != Want::Prefetch => {
                let credit = Request::Credit { subscription: asked.0, credit_jobs: 3, credit_bytes: 1000 };
                _ = endpoint.send(credit);
            }
            1 => _ = endpoint.send(Request::Unsubscribe { subscription: asked.0 }),
            2 => _ = endpoint.send(Request::Goodbye),
            _ => {}
        }
    }
}

/// Most leases are settled with their own name as a reason.
fn reason(lease: Lease) -> Option<String> {
    (!lease.fence.0.is_multiple_of(4)).then(|| lease.to_string())
}

impl Role for Consumer {
    fn up(&mut self, endpoint: &mut Endpoint, kept: Kept) {
        self.asked = None;
        if kept == Kept::Nothing {
            self.seen.clear();
        } else if kept == Kept::Leases && !self.leases_outlive {
            let jobs_max = *endpoint.random.pick(&[1, 5, 1024]);
            endpoint.send(Request::Leases { after: JobId(0), jobs_max });
        }
        if kept != Kept::Leases && !self.leases_outlive && (self.is_caller || !self.draining) {
            self.held.clear();
        }
    }

    fn answered(&mut self, endpoint: &mut Endpoint, id: RequestId, request: &Request, response: &Response) {
        match (request, response) {
            (Request::Reserve(_), response) => {
                self.asked = None;
                self.ask_at = endpoint.now + self.pace.stretched(endpoint.random.below(20 * MS));
                if let Response::Reserved(jobs) = response {
                    self.take(endpoint, jobs);
                }
            }
            (Request::Leases { .. }, Response::Leased(page)) => self.find(endpoint, page),
            (Request::Subscribe(_), Response::Deliver(jobs)) => self.take(endpoint, jobs),
            (Request::Subscribe(_), Response::Error(_)) | (Request::Unsubscribe { .. }, _) => {
                if matches!(request, Request::Unsubscribe { .. }) || self.asked == Some(id) {
                    self.asked = None;
                }
                self.ask_at = endpoint.now + endpoint.random.within((MS, 200 * MS));
            }
            (Request::Finish { leases }, Response::Error(error)) if error.code.retryable() => {
                for lease in leases {
                    self.held.insert((endpoint.now + 100 * MS, *lease), Deed::Finish);
                }
            }
            // A repeated finish must answer as the first did.
            (Request::Finish { leases }, Response::Settled(_)) if endpoint.random.percent(10) => {
                let pause = endpoint.random.within((0, 20 * SECOND));
                if !self.draining {
                    self.held
                        .extend(leases.iter().map(|lease| ((endpoint.now + pause, *lease), Deed::Finish)));
                }
            }
            (Request::Release { leases, kind, reason: Some(_) }, Response::Error(error))
                if error.code == ErrorCode::Unsupported =>
            {
                endpoint.send(Request::Release { leases: leases.clone(), kind: *kind, reason: None });
            }
            (Request::Bury { leases, reason: Some(_) }, Response::Error(error))
                if error.code == ErrorCode::Unsupported =>
            {
                endpoint.send(Request::Bury { leases: leases.clone(), reason: None });
            }
            (_, Response::Error(error)) if error.code == ErrorCode::SessionUnknown => endpoint.hang_up(),
            _ => {}
        }
    }

    fn unanswered(&mut self, request: Request) {
        if let Request::Finish { leases } = request
            && !self.is_caller
        {
            self.held.extend(leases.into_iter().map(|lease| ((0, lease), Deed::Finish)));
        }
    }

    fn has_volatile_leases(&self) -> bool {
        self.is_caller
    }

    fn act(&mut self, endpoint: &mut Endpoint, _board: &Board) -> Us {
        self.carry_out(endpoint);
        if self.draining && self.want == Want::Polls {
            // A long poll under way ends by itself; the inspector gets its jobs.
        } else if self.asked.is_none() && self.ask_at <= endpoint.now {
            self.ask(endpoint);
        }
        if !self.draining {
            self.change_its_mind(endpoint);
        }
        self.ping(endpoint);
        let ask_at = if self.asked.is_none() {
            self.ask_at.max(endpoint.now + MS)
        } else {
            endpoint.now + self.pace.stretched(SECOND)
        };
        let ping_at = if self.leases_outlive { Us::MAX } else { self.ping_at };
        self.held.keys().next().map_or(ask_at, |(at, _)| ask_at.min(*at).min(ping_at))
    }

    fn drain(&mut self) {
        self.draining = true;
        let held = std::mem::take(&mut self.held);
        self.held = held.into_keys().map(|(_, lease)| ((0, lease), Deed::Finish)).collect();
    }
}
