//! Never early: a delay is elapsed time, in truth and not by any clock; a point in time is the node's wall clock's.
//!
//! Several things may decide when a job is due: its push, one that postpones it, a reschedule, a release with a delay. One that was
//! acknowledged rules out those that were acknowledged before it was asked for; one without an answer may have happened
//! or not. A job may come when any of those left allows it.
//!
//! What the clocks allow is said in [`due`](super::due).

use std::collections::BTreeMap;

use adjourn_protocol::{
    Applied, Change, Edit, JobRef, NewJob, Push, PushResult, ReleaseKind, Request, RequestId, Response,
};
use adjourn_replica::ConnectionId;
use adjourn_types::{Attributes, IfExists, JobId, Key, Millis, TopicName};
use bytes::Bytes;

use super::super::clients::is_of_schedule;
use super::super::seen::{Seen, When};
use super::super::time::Us;
use super::bulks::Bulks;
use super::due::{Clocks, Due};
use super::{Invariant, bulks, delivered};

#[derive(Debug)]
pub(super) struct NeverEarly {
    /// When each body was pushed first, and what for.
    pushed: BTreeMap<Bytes, Due>,
    /// When a job of each key was pushed first.
    first: BTreeMap<(TopicName, Key), Us>,
    /// When each job was pushed at the earliest.
    made: BTreeMap<JobId, Us>,
    dues: BTreeMap<JobId, Vec<Due>>,
    /// Requests without an answer.
    open: BTreeMap<(ConnectionId, RequestId), Vec<(Job, Due)>>,
    /// Those that never had one.
    lost: Vec<(Job, Due)>,
    /// Requests that kicked buried jobs of a topic; which jobs is unknown.
    kicks: Vec<(Job, Due)>,
    bulks: Bulks,
    clocks: Clocks,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Job {
    Id(JobId),
    Key(TopicName, Key),
    /// Any of this topic that is buried.
    Buried(TopicName),
}

impl NeverEarly {
    pub(super) fn new(among_others: bool) -> Self {
        Self {
            pushed: BTreeMap::new(),
            first: BTreeMap::new(),
            made: BTreeMap::new(),
            dues: BTreeMap::new(),
            open: BTreeMap::new(),
            lost: Vec::new(),
            kicks: Vec::new(),
            bulks: Bulks::default(),
            clocks: Clocks::new(among_others),
        }
    }

    fn asked(&mut self, at: Us, key: (ConnectionId, RequestId), request: &Request) {
        self.bulks.asked(at, key, request);
        let due = |when| Due { when, asked: at, said: None };
        let now = adjourn_types::When::After(0);
        let mut open = Vec::new();
        match request {
            Request::Push(push) => {
                for job in &push.jobs {
                    self.pushed.entry(job.body.clone()).or_insert(due(job.due));
                    let Some(key) = &job.key else { continue };
                    let name = (push.topic.clone(), key.clone());
                    let first = *self.first.entry(name.clone()).or_insert(at);
                    if job.if_exists == IfExists::Postpone {
                        let job_of = || Job::Key(name.0.clone(), name.1.clone());
                        open.extend(self.dues_of(job, first).into_iter().map(|due| (job_of(), due)));
                    }
                }
            }
            Request::Reschedule { job, due: when, .. } | Request::Edit(Edit { job, due: Some(when), .. }) => {
                open.push((named(job), due(*when)));
            }
            Request::RunNow(job) | Request::Kick(job) => open.push((named(job), due(now))),
            Request::KickMany { topic, .. } => open.push((Job::Buried(topic.clone()), due(now))),
            // Without a delay it is due when it was due before: a clock may have been set back since.
            Request::Release {
                leases,
                kind: ReleaseKind::After(delay_ms) | ReleaseKind::Parked(delay_ms),
                ..
            } => {
                let when = adjourn_types::When::After(*delay_ms);
                open.extend(leases.iter().map(|lease| (Job::Id(lease.job), due(when))));
            }
            _ => {}
        }
        if !open.is_empty() {
            self.open.insert(key, open);
        }
    }

    fn said(
        &mut self,
        at: Us,
        key: (ConnectionId, RequestId),
        request: Option<&Request>,
        response: &Response,
    ) {
        if let (Some(Request::Push(push)), Response::Pushed(results)) = (request, response) {
            self.pushed(at, push, results);
        }
        self.bulks.said(at, key, response);
        let Some(open) = self.open.remove(&key) else { return };
        match response {
            Response::Error(error) if error.applied == Applied::Unknown => self.lost.extend(open),
            Response::Changed { job, .. } => {
                for (_, due) in open {
                    self.acknowledge(at, *job, due);
                }
            }
            Response::Kicked { jobs: 1.. } => {
                self.kicks.extend(open.into_iter().map(|(job, due)| (job, Due { said: Some(at), ..due })));
            }
            Response::Settled(results) => {
                for ((job, due), _) in open.into_iter().zip(results).filter(|(_, result)| result.is_ok()) {
                    if let Job::Id(job) = job {
                        self.acknowledge(at, job, due);
                    }
                }
            }
            _ => {}
        }
    }

    fn pushed(&mut self, at: Us, push: &Push, results: &[PushResult]) {
        for (new, result) in push.jobs.iter().zip(results) {
            let asked = self.pushed.get(&new.body).map_or(at, |due| due.asked);
            match result {
                PushResult::Pushed(job) | PushResult::Replaced(job) => {
                    self.made.entry(*job).or_insert(asked);
                }
                PushResult::Postponed(job) => {
                    let name = (push.topic.clone(), new.key.clone());
                    let by_key = name.1.and_then(|key| self.first.get(&(name.0, key)));
                    let first = self.made.get(job).or(by_key).copied().unwrap_or(0);
                    let dues = self.dues_of(new, first);
                    let known = self.dues.entry(*job).or_default();
                    known.retain(|before| before.said.is_some_and(|said| said > asked));
                    known.extend(dues.into_iter().map(|due| Due { said: Some(at), ..due }));
                }
                PushResult::Kept(_) | PushResult::Refused(..) => {}
            }
        }
    }

    /// When a job is due that is postponed: as this push says, or as its cap says. A cap says *at the latest*: it counts from the
    /// stamp of the first push, which shows whole milliseconds.
    fn dues_of(&self, new: &NewJob, first: Us) -> Vec<Due> {
        let Some(due) = self.pushed.get(&new.body) else { return Vec::new() };
        let cap = Attributes::postpone_max_of(new.attributes.as_bytes()).map(|max_ms| Due {
            when: adjourn_types::When::After(max_ms.saturating_sub(1)),
            asked: first,
            said: None,
        });
        [*due].into_iter().chain(cap).collect()
    }

    fn acknowledge(&mut self, at: Us, job: JobId, due: Due) {
        let dues = self.dues.entry(job).or_default();
        dues.retain(|before| before.said.is_some_and(|said| said > due.asked));
        dues.push(Due { said: Some(at), ..due });
    }

    fn deliver(&self, when: When, job: &adjourn_protocol::Delivered) -> Result<(), String> {
        let id = job.lease.job;
        let (ruled, pushed) = (self.dues.get(&id), self.pushed.get(&job.body));
        let by_key = job.key.clone().map(|key| Job::Key(job.topic.clone(), key));
        // Who buries a job by its lease has seen it come due; one whose attempts are used up was to wait for the next.
        let by_topic = Some(Job::Buried(job.topic.clone()));
        let names = [Some(Job::Id(id)), by_key, by_topic];
        let any_moves = self.bulks.any_moves();
        let is_it = |named: &Job| {
            names.iter().flatten().any(|name| name == named || (any_moves && name.is_elsewhere(named)))
        };
        let counts =
            |kick: &Due| ruled.into_iter().flatten().all(|due| kick.said.is_none_or(|said| said > due.asked));
        let kicks = self.kicks.iter().filter(|(named, due)| is_it(named) && counts(due));
        let many: Vec<Due> =
            self.bulks.meeting(&job.topic, job.key.as_ref()).filter_map(due_by).filter(counts).collect();
        let of_schedule = due_by_schedule(job);
        let unanswered = self.open.values().flatten().chain(&self.lost);
        let possible: Vec<&Due> = ruled
            .into_iter()
            .flatten()
            .chain(pushed.filter(|_| ruled.is_none()))
            .chain(unanswered.filter(|(named, _)| is_it(named)).map(|(_, due)| due))
            .chain(kicks.map(|(_, due)| due))
            .chain(&many)
            .chain(&of_schedule)
            .collect();
        // An attempt that failed while a clock was ahead gave it another due time.
        let was_tried = job.attempts > 1;
        let is_due = |due: &&Due| {
            if was_tried { self.clocks.has_come(when, due) } else { self.clocks.is_now(when, due) }
        };
        if possible.iter().any(is_due) || possible.is_empty() {
            return Ok(());
        }
        Err(format!("job {id} came at {} us, {}: {possible:?}", when.at, when.wall))
    }
}

impl Job {
    /// Whether this may name the same job in another topic.
    fn is_elsewhere(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(_, one), Self::Key(_, other)) => one == other,
            (Self::Buried(_), Self::Buried(_)) => true,
            _ => false,
        }
    }
}

/// When a job of a schedule is due: its key says the instant.
fn due_by_schedule(job: &adjourn_protocol::Delivered) -> Option<Due> {
    let key = job.key.as_ref().filter(|_| is_of_schedule(&job.body))?;
    let (_, instant) = std::str::from_utf8(key.as_bytes()).ok()?.split_once('@')?;
    Some(Due { when: adjourn_types::When::At(Millis(instant.parse().ok()?)), asked: 0, said: None })
}

/// When a job is due that a change to many jobs has met.
fn due_by(one: &bulks::Asked) -> Option<Due> {
    let when = match one.bulk.change {
        Change::Kick | Change::RunNow => adjourn_types::When::After(0),
        Change::Reschedule { due } => adjourn_types::When::At(due),
        Change::Delete | Change::Move { .. } => return None,
    };
    Some(Due { when, asked: one.at, said: one.said })
}

fn named(job: &JobRef) -> Job {
    match job {
        JobRef::Id(id) => Job::Id(*id),
        JobRef::Key { topic, key } => Job::Key(topic.clone(), key.clone()),
    }
}

impl Invariant for NeverEarly {
    fn name(&self) -> &'static str {
        "never early"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.clocks.see(when, seen);
        match seen {
            Seen::Asked { connection, id, request, .. } => self.asked(when.at, (*connection, *id), request),
            Seen::Said { connection, id, request, response, .. } => {
                self.said(when.at, (*connection, *id), *request, response);
                for job in delivered(response) {
                    self.deliver(when, job)?;
                }
            }
            Seen::Ended { connections, .. } => {
                let gone = |connection: &ConnectionId| connections.contains(connection);
                let lost = self.open.extract_if(.., |(connection, _), _| gone(connection));
                self.lost.extend(lost.flat_map(|(_, open)| open));
            }
            _ => {}
        }
        Ok(())
    }
}
