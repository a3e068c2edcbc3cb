//! Why a job may be gone: the books of requests that ended jobs, and of requests that may have.
//!
//! A request with an unknown outcome may have ended one job: the one that it names, or the one with the key that it
//! names. So for a key, the number of jobs gone without a reason of their own is at most the number of such requests; for all
//! others it is at most the number of jobs deleted among many.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{
    Applied, ErrorCode, ErrorReply, JobRef, NewJob, Push, PushResult, Request, RequestId, Response,
};
use adjourn_replica::ConnectionId;
use adjourn_types::{IfExists, JobId, Key, SessionId, TopicName};

use super::super::clients::topic;
use super::super::seen::When;
use super::super::time::Us;
use super::JobIdentity;
use super::bulks::Bulks;
use super::due::{Clocks, Due};

/// A user's id, in its topic.
pub(super) type TopicKey = (TopicName, Key);

/// Who asked for an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub(super) connection: ConnectionId,
    pub(super) session: Option<SessionId>,
    pub(super) id: RequestId,
}

/// The books.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    /// Jobs whose end was acknowledged.
    ended: BTreeSet<JobId>,
    /// The jobs of each key that were acknowledged. Ids grow, and one job at a time has a key.
    by_key: BTreeMap<TopicKey, BTreeSet<JobId>>,
    /// Those of them that ended the one that had the key before.
    replacing: BTreeSet<JobId>,
    /// When each job that expires does.
    expiries: BTreeMap<JobId, Due>,
    /// When jobs expire that a push postpones, by their keys.
    later_expiries: BTreeMap<TopicKey, Vec<Due>>,
    /// Requests to end something that were sent and are not known to have had no effect, and how often each was sent.
    open: BTreeMap<Target, BTreeMap<Token, u32>>,
    bulks: Bulks,
    /// Jobs that are not there.
    gone: BTreeMap<JobId, Option<TopicKey>>,
}

/// What a request names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Job(JobId),
    Key(TopicKey),
}

/// One thing that was asked for, at most once in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Asked(ConnectionId, RequestId),
    /// A job of a push that has neither a sequence number nor a key.
    Pushed(ConnectionId, RequestId, u64),
    /// A job that is pushed again under the same number or key.
    Known(JobIdentity),
}

impl Reasons {
    /// Somebody asks for something that may end jobs.
    pub(super) fn asked(&mut self, at: Us, asker: Asker, request: &Request) {
        self.bulks.asked(at, (asker.connection, asker.id), request);
        for (target, token) in named(asker, request) {
            *self.open.entry(target).or_default().entry(token).or_default() += 1;
        }
    }

    /// What came of it.
    pub(super) fn answered(&mut self, at: Us, asker: Asker, request: &Request, response: &Response) {
        self.bulks.said(at, (asker.connection, asker.id), response);
        match (request, response) {
            (_, Response::Error(ErrorReply { applied: Applied::No, .. })) => {
                for (target, token) in named(asker, request) {
                    self.came_to_nothing(&target, token);
                }
            }
            (Request::Push(push), Response::Pushed(results)) => {
                let unknown = PushResult::Refused(ErrorCode::OutcomeUnknown, None);
                for (nth, (new, result)) in (0..).zip(push.jobs.iter().zip(results)) {
                    if let Some(key) = replaces(push, new).filter(|_| *result != unknown) {
                        self.is_known(&Target::Key(key), token_of(asker, push, nth));
                    }
                }
            }
            (Request::Finish { leases }, Response::Settled(results)) => {
                for (lease, result) in leases.iter().zip(results) {
                    self.came_to_nothing(&Target::Job(lease.job), Token::Asked(asker.connection, asker.id));
                    self.ended.extend(result.is_ok().then_some(lease.job));
                }
            }
            (Request::Delete(_), Response::Changed { job, .. }) => {
                for (target, token) in named(asker, request) {
                    self.came_to_nothing(&target, token);
                }
                self.ended.insert(*job);
            }
            _ => {}
        }
    }

    /// A job of this key may be postponed, and then expires at this time.
    pub(super) fn may_expire(&mut self, key: TopicKey, expires: Due) {
        self.later_expiries.entry(key).or_default().push(expires);
    }

    /// A job was acknowledged. Returns those of its key that cannot be there any more: the one before it, and itself if there
    /// is a later one.
    pub(super) fn pushed(
        &mut self,
        id: JobId,
        key: Option<TopicKey>,
        replaces: bool,
        expires: Option<Due>,
    ) -> Vec<JobId> {
        self.expiries.extend(expires.map(|due| (id, due)));
        let Some(key) = key else { return Vec::new() };
        self.replacing.extend(replaces.then_some(id));
        let of_key = self.by_key.entry(key.clone()).or_default();
        of_key.insert(id);
        // One that has gone to another topic is still there.
        if self.bulks.any_moves() {
            return Vec::new();
        }
        let before = of_key.range(..id).next_back().copied();
        let followed = of_key.range(id..).nth(1).map(|_| id);
        let gone: Vec<JobId> = before.into_iter().chain(followed).collect();
        self.gone.extend(gone.iter().map(|job| (*job, Some(key.clone()))));
        gone
    }

    /// A job is not there.
    pub(super) fn is_gone(&mut self, id: JobId, key: Option<TopicKey>) {
        self.gone.insert(id, key);
    }

    /// This job, which is gone, if nothing can have ended it.
    pub(super) fn without_reason(&self, now: When, clocks: &Clocks, job: JobId) -> Option<JobId> {
        if self.has_own_reason(now, clocks, job) {
            return None;
        }
        let mut lacking: BTreeMap<Option<TopicKey>, usize> = BTreeMap::new();
        for (other, key) in &self.gone {
            if !self.has_own_reason(now, clocks, *other) {
                *lacking.entry(key.as_ref().map(|key| self.wherever(key))).or_default() += 1;
            }
        }
        let without = |key: &Option<TopicKey>| {
            let lacking = lacking.get(key).copied().unwrap_or(0);
            lacking.saturating_sub(key.as_ref().map_or(0, |key| self.open_of_key(key)))
        };
        let key = self.gone.get(&job).cloned().flatten().map(|key| self.wherever(&key));
        if key.is_some() && without(&key) == 0 {
            return None;
        }
        // Jobs gone without a naming request may be among many that were deleted.
        let all: usize = lacking.keys().map(without).sum();
        (all as u64 > self.bulks.deleted_max()).then_some(job)
    }

    /// The same key in any topic, if jobs move.
    fn wherever(&self, key: &TopicKey) -> TopicKey {
        if !self.bulks.any_moves() {
            return key.clone();
        }
        (topic("any"), key.1.clone())
    }

    fn open_of_key(&self, key: &TopicKey) -> usize {
        let of_key = self.open.iter().filter(|(target, _)| match target {
            Target::Key(named) => self.wherever(named) == *key,
            Target::Job(_) => false,
        });
        of_key.map(|(_, open)| open.len()).sum()
    }

    /// Whether a job of one topic may be in another one by now.
    pub(super) fn may_have_gone_to(&self, topic: &TopicName) -> bool {
        self.bulks.may_have_gone_to(topic)
    }

    /// All that are gone.
    pub(super) fn gone(&self) -> impl Iterator<Item = JobId> + '_ {
        self.gone.keys().copied()
    }

    fn has_own_reason(&self, now: When, clocks: &Clocks, job: JobId) -> bool {
        let key = self.gone.get(&job).and_then(Option::as_ref);
        let later = key.and_then(|key| self.later_expiries.get(key)).into_iter().flatten();
        let expires = || self.expiries.get(&job).into_iter().chain(later).any(|due| clocks.is_sure(now, due));
        self.ended.contains(&job)
            || self.open_of(&Target::Job(job)) > 0
            || expires()
            || self.was_replaced(job)
    }

    /// Whether the next job of its key took its place.
    fn was_replaced(&self, job: JobId) -> bool {
        let Some(Some(key)) = self.gone.get(&job) else { return false };
        if self.bulks.any_moves() {
            let of_key = self.by_key.iter().filter(|(other, _)| other.1 == key.1);
            return of_key
                .flat_map(|(_, jobs)| jobs)
                .any(|next| *next > job && self.replacing.contains(next));
        }
        let of_key = self.by_key.get(key).and_then(|of_key| of_key.range(job..).nth(1));
        of_key.is_some_and(|next| self.replacing.contains(next))
    }

    fn open_of(&self, target: &Target) -> usize {
        self.open.get(target).map_or(0, BTreeMap::len)
    }

    /// One sending of a request had no effect; another one may have had.
    fn came_to_nothing(&mut self, target: &Target, token: Token) {
        let Some(open) = self.open.get_mut(target) else { return };
        if let Some(times) = open.get_mut(&token) {
            *times -= 1;
            if *times == 0 {
                open.remove(&token);
            }
        }
    }

    /// The effect of a request is known, however often it was sent.
    fn is_known(&mut self, target: &Target, token: Token) {
        self.open.get_mut(target).and_then(|open| open.remove(&token));
    }
}

/// What a request may end.
fn named(asker: Asker, request: &Request) -> Vec<(Target, Token)> {
    let token = Token::Asked(asker.connection, asker.id);
    match request {
        Request::Finish { leases } => leases.iter().map(|lease| (Target::Job(lease.job), token)).collect(),
        Request::Delete(JobRef::Id(job)) => vec![(Target::Job(*job), token)],
        Request::Delete(JobRef::Key { topic, key }) => {
            vec![(Target::Key((topic.clone(), key.clone())), token)]
        }
        Request::Push(push) => (0..)
            .zip(&push.jobs)
            .filter_map(|(nth, new)| Some((Target::Key(replaces(push, new)?), token_of(asker, push, nth))))
            .collect(),
        _ => Vec::new(),
    }
}

/// The key whose job a new one may end.
fn replaces(push: &Push, new: &NewJob) -> Option<TopicKey> {
    let may_replace = !matches!(new.if_exists, IfExists::Reject | IfExists::Keep);
    let key = new.key.clone().filter(|_| may_replace)?;
    Some((push.topic.clone(), key))
}

fn token_of(asker: Asker, push: &Push, nth: u64) -> Token {
    match JobIdentity::of(asker.session, push, nth) {
        Some(identity) => Token::Known(identity),
        None => Token::Pushed(asker.connection, asker.id, nth),
    }
}
