//! Requests that scan many jobs: LIST, COUNT, BULK, and PEEK of a topic without a ready job.
//!
//! Each is a [pass](Listing) over the jobs that lasts many turns. A few passes run at once and take turns, so that a
//! long one does not delay a short one; the others wait.

use std::collections::VecDeque;

use super::bulk::{Found, ToChange};
use super::io::ConnectionId;
use super::requests::retry_later;
use super::topic_pass::{TopicPasses, place_in_turn};
use super::{Replica, Stop};
use crate::engine::{Engine, JobView, Listed, Listing};
use crate::protocol::{Bulk, ErrorCode, ErrorReply, JobReport, List, Request, RequestId, Response};
use crate::storage::{StorageError, Walk};
use crate::types::limits::{LIST_BY_KEY_JOBS_MAX, LIST_BYTES_MAX};
use crate::types::{Filter, ListOrder, Position, Right, TopicId};

/// A turn looks at this many jobs for passes.
const LOOKS_PER_TURN: usize = 65_536;
/// A pass looks at this many before it is the next one's turn.
const LOOKS_PER_PASS: usize = 16_384;
/// To begin or to end a pass takes as long as to look at this many.
const PASS_LOOKS: usize = 64;
/// Passes under way at once.
const PASSES_AT_ONCE: usize = 8;
/// Passes of one connection that are under way or wait.
const PASSES_PER_CONNECTION_MAX: usize = 64;

/// The connection and request that wait for an answer.
pub(super) type Asker = (ConnectionId, RequestId);

/// Passes that wait for the request for their next page; and as many others may have a large window.
const PASSES_KEPT_MAX: usize = 8;

/// All passes.
#[derive(Debug, Default)]
pub(super) struct Passes {
    /// Those under way, and behind them those that wait for their turn.
    queue: VecDeque<Pass>,
    /// Those whose page has ended, the oldest first. They save a scan, and nothing else: any may be dropped.
    kept: VecDeque<Kept>,
    /// Over topics.
    pub(super) topics: TopicPasses,
}

/// A pass whose page has ended: its connection will ask for the next one with the cursor where it stands.
#[derive(Debug)]
struct Kept {
    connection: ConnectionId,
    filter: Filter,
    listing: Listing<Walk>,
}

#[derive(Debug)]
struct Pass {
    listing: Listing<Walk>,
    purpose: Purpose,
    has_begun: bool,
}

#[derive(Debug)]
pub(super) enum Purpose {
    /// All of them asked before it began.
    Peek {
        topic: TopicId,
        askers: Vec<Asker>,
    },
    List {
        asker: Asker,
        list: Box<List>,
        jobs: Vec<JobReport>,
        bytes: usize,
    },
    Count {
        asker: Asker,
    },
    Bulk {
        asker: Asker,
        bulk: Box<Bulk>,
        found: Vec<ToChange>,
        /// Of their bodies.
        bytes: u64,
    },
}

impl Passes {
    /// Whether there is something to do.
    pub(super) fn are_any(&self) -> bool {
        !self.queue.is_empty() || self.topics.are_any()
    }

    /// Drops every pass. Returns all requests that wait for an answer.
    pub(super) fn take_askers(&mut self) -> Vec<Asker> {
        self.kept.clear();
        let over_jobs = self.queue.drain(..).flat_map(|pass| pass.purpose.askers());
        over_jobs.chain(self.topics.take_askers()).collect()
    }

    /// How many passes of this connection are under way or wait.
    fn count(&self, connection: ConnectionId) -> usize {
        let over_jobs =
            self.queue.iter().filter(|pass| pass.purpose.connection() == Some(connection)).count();
        over_jobs + self.topics.count(connection)
    }

    /// Keeps a pass for the next page. Of two that stand at the same place, the one that scanned later: a list that was begun since
    /// the other one scanned is to show what was pushed before it.
    fn keep(&mut self, connection: ConnectionId, filter: Filter, listing: Listing<Walk>, engine: &Engine) {
        self.kept.retain(|kept| !kept.listing.is_outdated(engine));
        let place = self.place_of(connection, &filter, listing.position());
        let twin = place.and_then(|place| self.kept.remove(place));
        if self.kept.len() == PASSES_KEPT_MAX {
            self.kept.pop_front();
        }
        let later = twin.filter(|twin| twin.listing.scanned_later_than(&listing));
        self.kept.push_back(later.unwrap_or(Kept { connection, filter, listing }));
    }

    /// The pass of this connection that stands here.
    fn take_kept(
        &mut self,
        connection: ConnectionId,
        filter: &Filter,
        at: &Position,
    ) -> Option<Listing<Walk>> {
        let place = self.place_of(connection, filter, Some(at))?;
        let large = self.queue.iter().filter(|pass| pass.listing.is_large()).count();
        if large >= PASSES_KEPT_MAX {
            return None;
        }
        self.kept.remove(place).map(|kept| kept.listing)
    }

    fn place_of(&self, connection: ConnectionId, filter: &Filter, at: Option<&Position>) -> Option<usize> {
        let is_it = |kept: &Kept| {
            kept.connection == connection && kept.listing.position() == at && kept.filter == *filter
        };
        self.kept.iter().position(is_it)
    }

    /// The connection is gone: drops the listings kept for its next pages.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.kept.retain(|kept| kept.connection != connection);
    }

    /// Adds a pass. Connections take turns: it goes before passes of connections that already have more passes queued.
    fn add(&mut self, listing: Listing<Walk>, purpose: Purpose) {
        let place =
            place_in_turn(self.queue.iter().map(|pass| pass.purpose.connection()), purpose.connection());
        self.queue.insert(place, Pass { listing, purpose, has_begun: false });
    }
}

impl Purpose {
    /// Who asked first.
    fn connection(&self) -> Option<ConnectionId> {
        match self {
            Self::Peek { askers, .. } => askers.first().map(|asker| asker.0),
            Self::List { asker, .. } | Self::Count { asker } | Self::Bulk { asker, .. } => Some(asker.0),
        }
    }

    fn askers(self) -> Vec<Asker> {
        match self {
            Self::Peek { askers, .. } => askers,
            Self::List { asker, .. } | Self::Count { asker } | Self::Bulk { asker, .. } => vec![asker],
        }
    }
}

impl Replica {
    /// Shows the job that is next in a topic: at once if one is ready, else when it is found.
    pub(super) fn peek(&mut self, connection: ConnectionId, id: RequestId, topic: TopicId) {
        let mut listing = Listing::first_delayed(topic);
        let found = self.engine.peek(&mut listing, &mut 0, &mut self.records);
        if !matches!(found, Ok(Listed::NotYet)) {
            return self.show(connection, id, &found);
        }
        let asker = (connection, id);
        // A pass that has begun may be past a job that was pushed since.
        let joined = self.passes.queue.iter_mut().find_map(|pass| match &mut pass.purpose {
            Purpose::Peek { topic: of, askers } if *of == topic && !pass.has_begun => Some(askers),
            _ => None,
        });
        match joined {
            Some(askers) => askers.push(asker),
            None => self.add_pass(asker, listing, Purpose::Peek { topic, askers: vec![asker] }),
        }
    }

    /// Lists jobs, a page at a time.
    pub(super) fn list(&mut self, connection: ConnectionId, id: RequestId, list: &List) {
        let after = if list.cursor.is_empty() { None } else { Position::from_cursor(&list.cursor) };
        let is_cursor = after.as_ref().map_or(list.cursor.is_empty(), |after| after.order() == list.order);
        if !is_cursor {
            let wrong = "this is no cursor of a LIST in this order: send the one of the page before, or none to begin";
            return self.connections.refuse(connection, id, ErrorReply::new(ErrorCode::Invalid, wrong));
        }
        if list.order == ListOrder::Key && self.jobs_of_topic(&list.filter) > LIST_BY_KEY_JOBS_MAX {
            let many = format!(
                "more than {LIST_BY_KEY_JOBS_MAX} jobs are not listed by key: list them by due time or by id, with the \
                 key's prefix as a condition"
            );
            return self.connections.refuse(connection, id, ErrorReply::new(ErrorCode::Invalid, many));
        }
        let cursor = bytes::Bytes::copy_from_slice(&list.cursor);
        let list = List { filter: list.filter.detached(), cursor, ..list.clone() };
        match self.begin_page(connection, &list.filter, list.order, after, list.jobs_max) {
            None => {
                let response = Response::Jobs { jobs: Vec::new(), cursor: bytes::Bytes::new() };
                self.connections.send(connection, id, response);
            }
            Some(listing) => {
                let asker = (connection, id);
                let access = self.connections.access(connection);
                let listing = match access.filter(|access| !access.has_everywhere(Right::Read)) {
                    // Whoever may read the one that is named may see all that the pass shows.
                    Some(access) if list.filter.topic.is_none() => listing.shown_to(access),
                    _ => listing,
                };
                let purpose = Purpose::List { asker, list: Box::new(list), jobs: Vec::new(), bytes: 0 };
                self.add_pass(asker, listing, purpose);
            }
        }
    }

    /// The pass for a page: the one that made the page before, or a new one. `None` if no job can match.
    pub(super) fn begin_page(
        &mut self,
        connection: ConnectionId,
        filter: &Filter,
        order: ListOrder,
        after: Option<Position>,
        jobs_max: u32,
    ) -> Option<Listing<Walk>> {
        let jobs_max = jobs_max as usize;
        let after_kept = after.as_ref().filter(|_| self.refusal_of_pass(connection).is_none());
        let kept = after_kept.and_then(|after| self.passes.take_kept(connection, filter, after));
        if let Some(mut listing) = kept {
            listing.next_page(&self.engine, jobs_max);
            return Some(listing);
        }
        Listing::page(&self.engine, filter.detached(), order, after, jobs_max)
    }

    /// Counts jobs: by the counters of their topics if these tell, else by a pass.
    pub(super) fn count(&mut self, connection: ConnectionId, id: RequestId, filter: &Filter) {
        if let Some(jobs) = self.engine.count_by_state(filter) {
            let topics = if filter.topic.is_none() { self.engine.topics().count() } else { 1 };
            self.turns.count(topics as u64);
            self.connections.send(connection, id, Response::Counted { jobs });
        } else if let Some(listing) = Listing::count(&self.engine, filter.detached()) {
            let asker = (connection, id);
            self.add_pass(asker, listing, Purpose::Count { asker });
        } else {
            self.connections.send(connection, id, Response::Counted { jobs: 0 });
        }
    }

    pub(super) fn add_pass(&mut self, (connection, id): Asker, listing: Listing<Walk>, purpose: Purpose) {
        match self.refusal_of_pass(connection) {
            Some(refusal) => self.connections.refuse(connection, id, refusal),
            None => self.passes.add(listing, purpose),
        }
    }

    /// Why this connection may not begin another pass now.
    pub(super) fn refusal_of_pass(&self, connection: ConnectionId) -> Option<ErrorReply> {
        if self.stop != Stop::No {
            return Some(Self::stopping());
        }
        let many =
            "this connection waits for as many lists, counts and peeks as it may: wait for some of them";
        let is_full = self.passes.count(connection) >= PASSES_PER_CONNECTION_MAX;
        is_full.then(|| retry_later(ErrorCode::Busy, many, 100))
    }

    /// Refuses all that wait for a pass: this node stops.
    pub(super) fn refuse_passes(&mut self) {
        for (connection, id) in self.passes.take_askers() {
            self.connections.refuse(connection, id, Self::stopping());
        }
    }

    /// Goes on with the passes under way.
    pub(super) fn go_on_browsing(&mut self) {
        self.go_on_with_topics();
        let mut budget = LOOKS_PER_TURN;
        while budget > 0
            && let Some(mut pass) = self.passes.queue.pop_front()
        {
            let mut looks = budget.min(LOOKS_PER_PASS);
            budget -= looks;
            looks = looks.saturating_sub(PASS_LOOKS);
            pass.has_begun = true;
            if self.is_asked_for(&mut pass.purpose)
                && let Some(pass) = self.browse(pass, &mut looks)
            {
                let behind = self.passes.queue.len().min(PASSES_AT_ONCE - 1);
                self.passes.queue.insert(behind, pass);
            }
            budget += looks;
        }
    }

    /// Whether somebody still waits for the answer.
    fn is_asked_for(&mut self, purpose: &mut Purpose) -> bool {
        let is_there = |(connection, _): &Asker| self.connections.is_there(*connection);
        match purpose {
            Purpose::Peek { askers, .. } => {
                askers.retain(is_there);
                !askers.is_empty()
            }
            Purpose::List { asker, .. } | Purpose::Count { asker } | Purpose::Bulk { asker, .. } => {
                is_there(asker)
            }
        }
    }

    /// Goes on with a pass, and answers when it is at its end. Returns it if it is not.
    fn browse(&mut self, mut pass: Pass, looks: &mut usize) -> Option<Pass> {
        loop {
            let listed = match &pass.purpose {
                Purpose::Peek { .. } => self.engine.peek(&mut pass.listing, looks, &mut self.records),
                _ => self.engine.list(&mut pass.listing, looks, &mut self.records),
            };
            match (&mut pass.purpose, listed) {
                (_, Ok(Listed::NotYet)) if *looks > 0 => {}
                (_, Ok(Listed::NotYet)) => return Some(pass),
                (Purpose::Peek { askers, .. }, found) => {
                    for (connection, id) in std::mem::take(askers) {
                        self.show(connection, id, &found);
                    }
                    return None;
                }
                (Purpose::List { asker, list, jobs, bytes }, Ok(Listed::Job(view))) => {
                    match self.listed(&view, list.with_bodies) {
                        Ok(report) => {
                            *bytes += report.weight_bytes();
                            jobs.push(report);
                        }
                        Err(error) => {
                            self.unreadable(asker.0, asker.1, &error);
                            return None;
                        }
                    }
                    if *bytes >= LIST_BYTES_MAX {
                        self.end_page(pass.purpose, pass.listing, true);
                        return None;
                    }
                }
                (Purpose::List { .. }, Ok(Listed::End { next, .. })) => {
                    self.end_page(pass.purpose, pass.listing, next.is_some());
                    return None;
                }
                (Purpose::Count { asker }, Ok(Listed::End { jobs, .. })) => {
                    self.connections.send(asker.0, asker.1, Response::Counted { jobs });
                    return None;
                }
                (Purpose::Bulk { asker, bulk, found, bytes }, Ok(listed)) => {
                    match self.bulk_found(bulk, found, bytes, &listed) {
                        Ok(Found::NotYet) => {}
                        Ok(Found::Step { has_more }) => {
                            self.end_page(pass.purpose, pass.listing, has_more);
                            return None;
                        }
                        Err(error) => {
                            self.unreadable(asker.0, asker.1, &error);
                            return None;
                        }
                    }
                }
                (
                    Purpose::List { asker, .. } | Purpose::Count { asker } | Purpose::Bulk { asker, .. },
                    Err(error),
                ) => {
                    self.unreadable(asker.0, asker.1, &error);
                    return None;
                }
                (Purpose::Count { .. }, Ok(Listed::Job(_))) => {}
            }
        }
    }

    /// Answers with a page or does a step, and keeps the pass if there may be more.
    fn end_page(&mut self, purpose: Purpose, listing: Listing<Walk>, has_more: bool) {
        let position = listing.position().filter(|_| has_more);
        let cursor = position.map(Position::to_cursor).unwrap_or_default();
        let (connection, filter, is_shown) = match purpose {
            Purpose::List { asker: (connection, id), list, .. }
                if self.connections.must_wait(connection, id) =>
            {
                return self.connections.hold_searched(connection, id, Request::List(*list));
            }
            Purpose::List { asker: (connection, id), list, jobs, .. } => {
                self.connections.send(connection, id, Response::Jobs { jobs, cursor });
                (connection, list.filter, true)
            }
            Purpose::Bulk { asker, bulk, found, .. } => {
                let is_proposed = self.propose_bulk(asker, &bulk, &found, cursor);
                (asker.0, bulk.filter, is_proposed)
            }
            Purpose::Peek { .. } | Purpose::Count { .. } => return,
        };
        if has_more && is_shown {
            self.passes.keep(connection, filter, listing, &self.engine);
        }
    }

    /// Answers a peek with the found job.
    fn show(&mut self, connection: ConnectionId, id: RequestId, found: &Result<Listed, StorageError>) {
        let view = match found {
            Ok(Listed::Job(view)) => Some(view.clone()),
            Ok(_) => None,
            Err(error) => return self.unreadable(connection, id, error),
        };
        if let Some(view) = &view
            && self.connections.must_wait(connection, id)
        {
            let topic = self.topic_name(view.topic);
            return self.connections.hold_searched(connection, id, Request::Peek { topic });
        }
        match self.job_response(view) {
            Ok(response) => self.connections.send(connection, id, response),
            Err(error) => self.unreadable(connection, id, &error),
        }
    }

    fn listed(&mut self, view: &JobView, with_bodies: bool) -> Result<JobReport, StorageError> {
        let report = self.job_report(view)?;
        Ok(if with_bodies { report } else { JobReport { body: bytes::Bytes::new(), ..report } })
    }

    /// How many jobs a filter's topic has, or the queue.
    fn jobs_of_topic(&self, filter: &Filter) -> u64 {
        let of_topic = Filter { topic: filter.topic.clone(), ..Filter::default() };
        if filter.topic.is_none() {
            self.engine.jobs()
        } else {
            self.engine.count_by_state(&of_topic).unwrap_or(0)
        }
    }
}
