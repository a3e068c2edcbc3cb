//! A list shows exactly the jobs that are there: no job twice, and, unchanged, each one that was there from before the first page
//! until after the last.
//!
//! It checks the jobs that were not touched since they were pushed and are not due: their positions do not change.
//! A delay may move in the order of due times when the clock is set; in the orders of ids and of keys it stays.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{
    Edit, JobRef, JobReport, List, NewJob, Push, PushResult, Request, RequestId, Response,
};
use adjourn_replica::ConnectionId;
use adjourn_types::{Attributes, IfExists, JobId, JobState, Key, ListOrder, States, TopicName};
use bytes::Bytes;

use super::super::seen::{Seen, When};
use super::super::time::Us;
use super::bulks::Bulks;
use super::due::{Clocks, Due};
use super::{Invariant, shown};

#[derive(Debug)]
pub(super) struct Pages {
    /// When each body was pushed first.
    asked: BTreeMap<Bytes, Us>,
    /// Jobs that were not touched.
    untouched: BTreeMap<JobId, Job>,
    touched: BTreeSet<JobId>,
    /// Keys that somebody has named to end or to change a job: it may still come to that.
    doubtful: BTreeSet<Key>,
    /// Which client each connection is of.
    clients: BTreeMap<ConnectionId, usize>,
    /// The untouched jobs when the first page of a list was asked for.
    before: BTreeMap<(ConnectionId, RequestId), BTreeSet<JobId>>,
    /// The list that each client reads.
    lists: BTreeMap<usize, Read>,
    bulks: Bulks,
    clocks: Clocks,
}

#[derive(Clone, Debug)]
struct Job {
    topic: TopicName,
    key: Option<Key>,
    due: Due,
}

/// A list as far as it was read.
#[derive(Debug)]
struct Read {
    list: List,
    /// The next page goes on there.
    cursor: Bytes,
    found: Vec<JobId>,
    before: BTreeSet<JobId>,
}

impl Pages {
    pub(super) fn new(among_others: bool) -> Self {
        Self {
            asked: BTreeMap::new(),
            untouched: BTreeMap::new(),
            touched: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            clients: BTreeMap::new(),
            before: BTreeMap::new(),
            lists: BTreeMap::new(),
            bulks: Bulks::default(),
            clocks: Clocks::new(among_others),
        }
    }

    fn touch(&mut self, job: JobId) {
        self.touched.insert(job);
        self.untouched.remove(&job);
    }

    /// The jobs with this key, in whichever topic.
    fn touch_key(&mut self, key: &Key) {
        self.untouched.retain(|_, job| job.key.as_ref() != Some(key));
        self.doubtful.insert(key.clone());
    }

    fn asked(&mut self, at: Us, by: (ConnectionId, RequestId), request: &Request) {
        self.bulks.asked(at, by, request);
        match request {
            Request::Push(push) => {
                for new in &push.jobs {
                    self.asked.entry(new.body.clone()).or_insert(at);
                    if let Some(key) = new.key.as_ref().filter(|_| changes_what_is_there(new)) {
                        self.touch_key(key);
                    }
                }
            }
            Request::Delete(job)
            | Request::RunNow(job)
            | Request::Kick(job)
            | Request::Edit(Edit { job, .. })
            | Request::Reschedule { job, .. } => match job {
                JobRef::Id(job) => self.touch(*job),
                JobRef::Key { key, .. } => self.touch_key(key),
            },
            Request::Bulk(_) => self.untouched.clear(),
            Request::List(list) if list.cursor.is_empty() => {
                let before = self.untouched.keys().copied().collect();
                self.before.insert(by, before);
            }
            _ => {}
        }
    }

    fn pushed(&mut self, push: &Push, results: &[PushResult]) {
        for (new, result) in push.jobs.iter().zip(results) {
            let (PushResult::Pushed(id) | PushResult::Replaced(id)) = result else { continue };
            let asked = self.asked.get(&new.body).copied().unwrap_or(0);
            let NewJob { key, attributes, due, .. } = new;
            let stays = attributes.policy().expires.is_none()
                && Attributes::buried_of(attributes.as_bytes()).is_none()
                && !changes_what_is_there(new)
                && !self.touched.contains(id)
                && key.as_ref().is_none_or(|key| !self.doubtful.contains(key))
                && self.bulks.are_over_since(asked, &push.topic, key.as_ref());
            if stays {
                let due = Due { when: *due, asked, said: None };
                let job = Job { topic: push.topic.clone(), key: key.clone(), due };
                self.untouched.insert(*id, job);
            }
        }
    }

    /// A client hears a page of the list that it reads, or of another one that it begins.
    fn heard(
        &mut self,
        now: When,
        client: usize,
        list: &List,
        jobs: &[JobReport],
        cursor: &Bytes,
        before: Option<BTreeSet<JobId>>,
    ) -> Result<(), String> {
        if let Some(wrong) = jobs.iter().find(|job| !matches(list, job)) {
            return Err(format!("{list:?} shows {wrong:?}"));
        }
        // An attempt that failed gave it another due time, also if its delivery reached nobody.
        for job in jobs.iter().filter(|job| job.attempts > 0) {
            self.touch(job.id);
        }
        let ids = jobs.iter().map(|job| job.id);
        if list.cursor.is_empty() {
            let Some(before) = before else { return Ok(()) };
            let found = ids.collect();
            self.lists.insert(client, Read { list: list.clone(), cursor: cursor.clone(), found, before });
        } else {
            let Some(read) = self.lists.get_mut(&client) else { return Ok(()) };
            if read.cursor != list.cursor
                || (&read.list.filter, read.list.order) != (&list.filter, list.order)
            {
                return Ok(());
            }
            read.found.extend(ids);
            read.cursor.clone_from(cursor);
        }
        if !cursor.is_empty() {
            return Ok(());
        }
        let read = self.lists.remove(&client);
        read.map_or(Ok(()), |read| self.is_whole(now, &read))
    }

    fn is_whole(&self, now: When, read: &Read) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for id in &read.found {
            let stands = read.list.order != ListOrder::Due
                || self.untouched.get(id).is_some_and(|job| stands(job) && read.before.contains(id));
            if !seen.insert(id) && stands {
                return Err(format!("a list shows job {id} twice: {read:?}"));
            }
        }
        for (id, job) in self.untouched.iter().filter(|(id, _)| read.before.contains(id)) {
            let is_meant = may_match(&read.list, job)
                && (read.list.order != ListOrder::Due || stands(job))
                && !self.clocks.has_come(now, &job.due);
            if is_meant && !seen.contains(id) {
                return Err(format!("job {id} is on no page: {job:?}, {read:?}"));
            }
        }
        Ok(())
    }
}

/// Whether a push may change the job that has its key.
fn changes_what_is_there(new: &NewJob) -> bool {
    !matches!(new.if_exists, IfExists::Reject | IfExists::Keep)
}

/// Whether its position by due time stays when a clock is set.
fn stands(job: &Job) -> bool {
    matches!(job.due.when, adjourn_types::When::At(_))
}

/// Whether a job that waits for its time is surely on the list.
fn may_match(list: &List, job: &Job) -> bool {
    let filter = &list.filter;
    let has_prefix = |prefix: &Bytes| job.key.as_ref().is_some_and(|key| key.as_bytes().starts_with(prefix));
    filter.topic.as_ref().is_none_or(|topic| *topic == job.topic)
        && filter.states.contains(JobState::Delayed)
        && filter.key_prefix.as_ref().is_none_or(has_prefix)
        && (list.order != ListOrder::Key || job.key.is_some())
        && filter.due_from.is_none()
        && filter.due_before.is_none()
        && filter.attempts_min.unwrap_or(0) == 0
        && filter.buried.is_none()
        && filter.reason.is_none()
}

/// Whether a job that a list shows is one that it asks for.
fn matches(list: &List, job: &JobReport) -> bool {
    let filter = &list.filter;
    let has_prefix = |prefix: &Bytes| job.key.as_ref().is_some_and(|key| key.as_bytes().starts_with(prefix));
    filter.topic.as_ref().is_none_or(|topic| *topic == job.topic)
        && (filter.states == States::ALL || job.state.is_some_and(|state| filter.states.contains(state)))
        && filter.key_prefix.as_ref().is_none_or(has_prefix)
        && filter.attempts_min.is_none_or(|min| job.attempts >= min)
}

impl Invariant for Pages {
    fn name(&self) -> &'static str {
        "pages"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.clocks.see(when, seen);
        match seen {
            Seen::Connected { client, connection, .. } => _ = self.clients.insert(*connection, *client),
            Seen::Asked { connection, id, request, .. } => self.asked(when.at, (*connection, *id), request),
            Seen::Said { connection, id, request, response, .. } => {
                self.bulks.said(when.at, (*connection, *id), response);
                for job in shown(response) {
                    self.touch(job.lease.job);
                }
                if let (Some(Request::Push(push)), Response::Pushed(results)) = (request, response) {
                    self.pushed(push, results);
                }
                if let (Some(Request::List(list)), Response::Jobs { jobs, cursor }) = (request, response)
                    && let Some(client) = self.clients.get(connection).copied()
                {
                    let before = self.before.remove(&(*connection, *id));
                    return self.heard(when, client, list, jobs, cursor, before);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
