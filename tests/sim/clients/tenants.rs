//! Somebody whose jobs belong to groups of tenants: pushes jobs, works on them, changes what the groups may do, and looks at them. In
//! the end it lets all groups go on, and works on everything that is left.

use adjourn_protocol::{
    Bulk, Change, GroupList, GroupSet, NewJob, Push, PushResult, ReleaseKind, Request, RequestId, Reserve,
    Response, TopicSet,
};
use adjourn_types::limits::{KICK_JOBS_MAX, PRIORITY_UNSAID};
use adjourn_types::{
    Attributes, AttributesBuilder, Filter, GroupPolicy, IfExists, JobState, Lease, OnBury, PolicyChange,
    Setting, States, TopicName, TopicPolicy, When,
};
use bytes::Bytes;

use super::super::plan::{Pace, Plan};
use super::super::random::Random;
use super::super::time::{MS, SECOND, Us};
use super::{Board, Endpoint, Kept, Role, topic};

/// Here a group has at most [`GROUP_LEASES_MAX`] leases, and a rate at times.
pub(in super::super) const LIMITED: &str = "limited";
/// Here each group gives one job at a time.
pub(in super::super) const IN_ORDER: &str = "in-order";
/// Here groups only take turns.
const SHARED: &str = "shared";
/// The topics of groups. No other client asks for them, but an operator may change many jobs in any topic.
pub(in super::super) const GROUP_TOPICS: [&str; 3] = [LIMITED, IN_ORDER, SHARED];
/// Most leases of a group of [`LIMITED`].
pub(in super::super) const GROUP_LEASES_MAX: u32 = 2;
/// The groups. The last one stands for jobs without a group.
const GROUPS: [&str; 5] = ["ann", "bob", "cid", "dee", NO_GROUP];
/// What the body of a job without a group says.
pub(in super::super) const NO_GROUP: &str = "-";
/// The highest weight that a group gets.
pub(in super::super) const GROUP_WEIGHT_MAX: u32 = 3;

/// It pushes nothing while a topic has this number of jobs.
const BACKLOG_MAX: u64 = 16;
/// What was asked for before all has healed is over by then.
const OVER_WITHIN: Us = 20 * SECOND;
/// Between two looks at what is left.
const LOOK_PAUSE: Us = 2_500 * MS;
/// The longest pause between two looks at what is to be done.
const PATIENCE: Us = 5 * SECOND;
const MINUTE_MS: u64 = 60_000;

/// Whether the groups of this topic take turns.
pub(in super::super) fn has_groups(topic: &TopicName) -> bool {
    GROUP_TOPICS.contains(&topic.as_str())
}

/// The group that a body names, if it is one of a job of these topics.
pub(in super::super) fn group_named(body: &[u8]) -> Option<&'static str> {
    let (_, named) = std::str::from_utf8(body).ok()?.strip_prefix("tenant ")?.split_once(' ')?;
    GROUPS.into_iter().find(|group| *group == named)
}

pub(super) struct Tenants {
    pace: Pace,
    next: Us,
    /// Number of jobs that it made; part of their bodies, so that no two are alike.
    made: u64,
    held: Vec<Lease>,
    /// Topics whose settings were acknowledged.
    is_set: [bool; GROUP_TOPICS.len()],
    /// How many jobs each topic has, roughly: exactly when they were counted.
    backlog: [u64; GROUP_TOPICS.len()],
    /// Topics whose jobs were counted when everything was over.
    is_counted: [bool; GROUP_TOPICS.len()],
    /// Groups that may be paused.
    paused: Vec<(&'static str, &'static str)>,
    /// A group may have a rate.
    has_rate: bool,
    drains_since: Option<Us>,
    draining: bool,
    look_at: Us,
}

impl Tenants {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            pace: plan.pace,
            next: 0,
            made: 0,
            held: Vec::new(),
            is_set: [false; GROUP_TOPICS.len()],
            backlog: [0; GROUP_TOPICS.len()],
            is_counted: [false; GROUP_TOPICS.len()],
            paused: Vec::new(),
            has_rate: false,
            drains_since: None,
            draining: false,
            look_at: 0,
        }
    }

    fn request(&mut self, endpoint: &mut Endpoint) -> Request {
        let place = usize::try_from(endpoint.random.below(GROUP_TOPICS.len() as u64)).expect("it is small");
        let name = GROUP_TOPICS[place];
        if !self.is_set[place] {
            return self.set_topic(&mut endpoint.random, name);
        }
        let group = *endpoint.random.pick(&GROUPS[..4]);
        match endpoint.random.below(24) {
            0..=8 if self.backlog[place] < BACKLOG_MAX => self.push(endpoint, name),
            0..=16 => reserve(&mut endpoint.random, name),
            17 => {
                let weight = up_to(&mut endpoint.random, GROUP_WEIGHT_MAX);
                set_group(name, group, Some(weight), None)
            }
            18 if self.paused.is_empty() => {
                self.paused.push((name, group));
                set_group(name, group, None, Some(true))
            }
            18 | 19 => match self.paused.first() {
                Some((name, group)) => set_group(name, group, None, Some(false)),
                None => reserve(&mut endpoint.random, name),
            },
            20 => Request::GroupList(GroupList {
                topic: topic(name),
                after: endpoint.random.pick(&["", "bob"]).to_string(),
                prefix: String::new(),
                groups_max: up_to(&mut endpoint.random, 10),
            }),
            21 => self.set_topic(&mut endpoint.random, name),
            22 => Request::KickMany { topic: topic(name), jobs_max: 2 },
            _ => Request::Count(of_topic(name).into()),
        }
    }

    fn push(&mut self, endpoint: &mut Endpoint, name: &str) -> Request {
        let jobs = endpoint.random.within((1, 6));
        let jobs = (0..jobs).map(|_| self.job(&mut endpoint.random)).collect();
        Request::Push(Push { topic: topic(name), sequence: 0, jobs, idempotency: None })
    }

    fn job(&mut self, random: &mut Random) -> NewJob {
        self.made += 1;
        let group = *random.pick(&GROUPS);
        let delay_ms = match random.below(20) {
            0..=2 => random.within((1, 2_000)),
            3 | 4 if self.pace.is_long() => random.within((20 * MINUTE_MS, 80 * MINUTE_MS)),
            _ => 0,
        };
        let attributes = match group {
            NO_GROUP => Attributes::default(),
            _ => AttributesBuilder::default().group(group).build().expect("a group is an attribute"),
        };
        NewJob {
            due: When::After(delay_ms),
            priority: *random.pick(&[0, PRIORITY_UNSAID, PRIORITY_UNSAID]),
            ttr_ms: *random.pick(&[500, 2_000, 5_000]),
            if_exists: IfExists::Reject,
            key: None,
            attributes,
            body: format!("tenant {} {group}", self.made).into(),
        }
    }

    fn set_topic(&mut self, random: &mut Random, name: &str) -> Request {
        let rate = random.percent(40).then(|| *random.pick(&[2, 5, 20])).filter(|_| !self.draining);
        self.has_rate |= name == LIMITED && rate.is_some();
        let fair = GroupPolicy { fair: true, ..GroupPolicy::default() };
        let groups = match name {
            LIMITED => GroupPolicy {
                leases_max: Some(GROUP_LEASES_MAX),
                per_second_max: rate,
                burst: rate.filter(|_| random.percent(50)).map(|_| 3),
                ..fair
            },
            IN_ORDER => {
                let on_bury = Some(*random.pick(&[OnBury::Block, OnBury::Continue]));
                GroupPolicy { fifo: true, on_bury, ..fair }
            }
            _ => fair,
        };
        let rates = [Setting::GroupRate, Setting::GroupBurst];
        let kept = [groups.per_second_max, groups.burst];
        let unset = rates.into_iter().zip(kept).filter(|(_, kept)| kept.is_none() && name == LIMITED);
        let change = PolicyChange {
            unset: unset.map(|(setting, _)| setting).collect(),
            set: TopicPolicy { groups, ..TopicPolicy::default() },
        };
        Request::TopicSet(TopicSet { topic: topic(name), change: Box::new(change) })
    }

    /// Settles half of what it holds.
    fn work(&mut self, endpoint: &mut Endpoint) {
        let mut finished = Vec::new();
        for lease in std::mem::take(&mut self.held) {
            let leases = vec![lease];
            let delay_ms = endpoint.random.below(1_500);
            let release = |kind| Some(Request::Release { leases: vec![lease], kind, reason: None });
            let request = match endpoint.random.below(24) {
                _ if self.draining => None,
                0..=9 => {
                    self.held.push(lease);
                    continue;
                }
                10 => release(ReleaseKind::Backoff),
                11 => release(ReleaseKind::NotStarted),
                12 => release(ReleaseKind::After(delay_ms)),
                13 => release(ReleaseKind::Parked(delay_ms)),
                14 => Some(Request::Bury { leases, reason: None }),
                // Its lease ends by time.
                15 => continue,
                _ => None,
            };
            match request {
                Some(request) => _ = endpoint.send(request),
                None => finished.push(lease),
            }
        }
        if !finished.is_empty() {
            endpoint.send(Request::Finish { leases: finished });
        }
    }

    /// Lets everything go on, and looks at what is left.
    fn drain_all(&mut self, endpoint: &mut Endpoint) {
        for (name, group) in &self.paused {
            endpoint.send(set_group(name, group, None, Some(false)));
        }
        if self.has_rate {
            let request = self.set_topic(&mut endpoint.random, LIMITED);
            endpoint.send(request);
        }
        for (place, name) in GROUP_TOPICS.iter().enumerate().filter(|(place, _)| !self.is_counted[*place]) {
            if self.is_set[place] && self.backlog[place] > 0 {
                let states = States::of([JobState::Delayed]);
                endpoint.send(Request::Bulk(Bulk {
                    change: Change::RunNow,
                    filter: Filter { states, ..of_topic(name) },
                    jobs_max: 100,
                    cursor: Bytes::new(),
                }));
                endpoint.send(Request::KickMany { topic: topic(name), jobs_max: KICK_JOBS_MAX });
            }
            endpoint.send(Request::Count(of_topic(name).into()));
        }
    }

    fn done(&mut self, request: &Request) {
        match request {
            Request::TopicSet(set) => {
                if let Some(place) = place_of(&set.topic) {
                    self.is_set[place] = true;
                }
                let rate = set.change.set.groups.per_second_max;
                self.has_rate &= set.topic.as_str() != LIMITED || rate.is_some();
            }
            Request::GroupSet(GroupSet { topic, group, paused: Some(false), .. }) => {
                self.paused.retain(|known| *known != (topic.as_str(), group.as_str()));
            }
            _ => {}
        }
    }
}

fn reserve(random: &mut Random, name: &str) -> Request {
    let topics: Vec<TopicName> = if random.percent(20) {
        GROUP_TOPICS.iter().map(|name| topic(name)).collect()
    } else {
        vec![topic(name)]
    };
    let has_weights = topics.len() > 1 && random.percent(50);
    let weights = topics.iter().filter(|_| has_weights).map(|_| *random.pick(&[1, 2])).collect();
    Request::Reserve(Reserve {
        topics,
        jobs_max: up_to(random, 8),
        wait_ms: *random.pick(&[0, 0, 1_000]),
        weights,
    })
}

fn up_to(random: &mut Random, max: u32) -> u32 {
    u32::try_from(random.within((1, max.into()))).expect("it is no more")
}

fn set_group(name: &str, group: &str, weight: Option<u32>, paused: Option<bool>) -> Request {
    let group = group.parse().expect("it is a name");
    Request::GroupSet(GroupSet { topic: topic(name), group, weight, paused })
}

fn of_topic(name: &str) -> Filter {
    Filter { topic: Some(topic(name)), ..Filter::default() }
}

fn place_of(topic: &TopicName) -> Option<usize> {
    GROUP_TOPICS.iter().position(|name| *name == topic.as_str())
}

impl Role for Tenants {
    fn up(&mut self, endpoint: &mut Endpoint, kept: Kept) {
        if kept != Kept::Leases {
            self.held.clear();
        }
        self.next = endpoint.now;
    }

    fn answered(&mut self, endpoint: &mut Endpoint, _id: RequestId, request: &Request, response: &Response) {
        match (request, response) {
            (_, Response::Reserved(jobs)) => {
                self.held.extend(jobs.iter().map(|job| job.lease));
                if self.draining && !jobs.is_empty() {
                    self.next = endpoint.now;
                }
            }
            (Request::Push(push), Response::Pushed(results)) => {
                let pushed = results.iter().filter(|result| matches!(result, PushResult::Pushed(_)));
                if let Some(place) = place_of(&push.topic) {
                    self.backlog[place] += pushed.count() as u64;
                }
            }
            (Request::Count(count), Response::Counted { jobs, .. }) => {
                if let Some(place) = count.filter.topic.as_ref().and_then(place_of) {
                    self.backlog[place] = *jobs;
                    let is_over = self.drains_since.is_some_and(|since| endpoint.now >= since + OVER_WITHIN);
                    self.is_counted[place] = is_over && *jobs == 0;
                }
            }
            (request, Response::Done) => self.done(request),
            (Request::GroupSet(_), Response::Error(error)) if !error.retryable() => self.done(request),
            _ => {}
        }
    }

    fn unanswered(&mut self, _request: Request) {}

    fn act(&mut self, endpoint: &mut Endpoint, _board: &Board) -> Us {
        if self.next > endpoint.now {
            return self.next.min(endpoint.now + PATIENCE);
        }
        self.work(endpoint);
        let pause = if self.draining {
            self.drains_since.get_or_insert(endpoint.now);
            if !self.is_done() {
                if self.look_at <= endpoint.now {
                    self.look_at = endpoint.now + LOOK_PAUSE;
                    self.drain_all(endpoint);
                }
                let topics = GROUP_TOPICS.iter().map(|name| topic(name)).collect();
                let (jobs_max, wait_ms, weights) = (100, 0, Vec::new());
                endpoint.send(Request::Reserve(Reserve { topics, jobs_max, wait_ms, weights }));
            }
            LOOK_PAUSE
        } else {
            let request = self.request(endpoint);
            endpoint.send(request);
            self.pace.stretched(endpoint.random.within((MS, 500 * MS)))
        };
        self.next = endpoint.now + pause;
        self.next.min(endpoint.now + PATIENCE)
    }

    fn drain(&mut self) {
        self.draining = true;
        self.next = 0;
    }

    fn is_done(&self) -> bool {
        self.is_counted.iter().all(|counted| *counted) && self.paused.is_empty() && !self.has_rate
    }
}
