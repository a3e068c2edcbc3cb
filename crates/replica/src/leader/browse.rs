//! Requests that scan many jobs: LIST, COUNT, BULK, and PEEK of a topic without a ready job.
//!
//! Each is a [pass](Listing) over the jobs that takes many turns. A few passes run at once and alternate, so that a long
//! one does not delay a short one; the others wait.

use std::collections::VecDeque;

use super::bulk::{Found, ToChange, found_next, propose};
use super::consumption::Consumption;
use super::proposals::Proposals;
use super::topic_pass::{TopicPasses, place_in_turn};
use crate::group::Group;
use crate::group::state::State;
use crate::io::ConnectionId;
use crate::node::Node;
use crate::node::connections::{Asker, Connections};
use crate::refusals::{retry_later, stopping};
use adjourn_engine::{Engine, JobView, Listed, Listing};
use adjourn_protocol::{Bulk, Count, DueBar, ErrorCode, ErrorReply, JobReport, List, Request, Response};
use adjourn_storage::{StorageError, Walk};
use adjourn_types::limits::{LIST_BY_KEY_JOBS_MAX, LIST_BYTES_MAX};
use adjourn_types::{DueBars, Filter, ListOrder, Millis, Position, Right, TopicId};

/// Jobs that all passes may look at in one turn.
const LOOKS_PER_TURN: usize = 65_536;
/// Jobs that a pass looks at before the next pass continues.
const LOOKS_PER_PASS: usize = 16_384;
/// The cost of beginning or ending a pass, in looks.
const PASS_LOOKS: usize = 64;
/// Most passes that alternate.
const PASSES_AT_ONCE: usize = 8;
/// Most passes of one connection, running or waiting.
const PASSES_PER_CONNECTION_MAX: usize = 64;

/// Most passes kept for the request for their next page. As many running passes may have a large window.
const PASSES_KEPT_MAX: usize = 8;

/// All passes.
#[derive(Debug, Default)]
pub(crate) struct Passes {
    /// Running passes, followed by waiting ones.
    queue: VecDeque<Pass>,
    /// Passes whose page has ended, the oldest first. They only save a scan, so any may be dropped.
    kept: VecDeque<Kept>,
    /// Passes over topics.
    pub(super) topics: TopicPasses,
    /// The results of [`Purpose::NextDue`], until the clock follows them.
    found_due: Vec<(Asker, Option<Millis>)>,
}

/// A pass whose page has ended. Its connection is expected to ask for the next page with the current cursor.
#[derive(Debug)]
struct Kept {
    connection: ConnectionId,
    filter: Filter,
    listing: Listing<Walk>,
}

/// Where a page begins, and its limits.
pub(super) struct PageStart<'a> {
    pub(super) filter: &'a Filter,
    pub(super) order: ListOrder,
    pub(super) after: Option<Position>,
    pub(super) jobs_max: u32,
}

#[derive(Debug)]
struct Pass {
    listing: Listing<Walk>,
    purpose: Purpose,
    has_begun: bool,
}

#[derive(Debug)]
pub(super) enum Purpose {
    /// All askers asked before the pass began.
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
        bars: Option<DueBars>,
    },
    /// The delayed job that is due first, for an ADVANCE.
    NextDue {
        asker: Asker,
    },
    Bulk {
        asker: Asker,
        bulk: Box<Bulk>,
        found: Vec<ToChange>,
        /// The size of their bodies.
        bytes: u64,
    },
}

impl Passes {
    /// True if a pass is running or waiting, or its result is.
    pub(super) fn are_any(&self) -> bool {
        !self.queue.is_empty() || self.topics.are_any() || !self.found_due.is_empty()
    }

    /// Drops every pass. Returns the requests that wait for an answer.
    pub(super) fn take_askers(&mut self) -> Vec<Asker> {
        self.kept.clear();
        let over_jobs = self.queue.drain(..).flat_map(|pass| pass.purpose.askers());
        let found = self.found_due.drain(..).map(|(asker, _)| asker);
        over_jobs.chain(self.topics.take_askers()).chain(found).collect()
    }

    /// The number of this connection's passes, running or waiting.
    fn count_of(&self, connection: ConnectionId) -> usize {
        let over_jobs =
            self.queue.iter().filter(|pass| pass.purpose.connection() == Some(connection)).count();
        over_jobs + self.topics.count(connection)
    }

    /// Keeps a pass for its next page. Of two passes at the same position, keeps the one that scanned later: a list that
    /// began since the other one scanned must show jobs pushed before it.
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

    /// Takes this connection's pass at this position.
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

    /// Drops the passes kept for a gone connection.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.kept.retain(|kept| kept.connection != connection);
    }

    /// Queues a pass, before those of connections that have more passes queued.
    fn add(&mut self, listing: Listing<Walk>, purpose: Purpose) {
        let place =
            place_in_turn(self.queue.iter().map(|pass| pass.purpose.connection()), purpose.connection());
        self.queue.insert(place, Pass { listing, purpose, has_begun: false });
    }
}

impl Pass {
    /// Looks at the next jobs, until it finds one or has used up `looks`.
    fn look(&mut self, state: &mut State, looks: &mut usize) -> Result<Listed, StorageError> {
        let State { engine, records, .. } = state;
        match &self.purpose {
            Purpose::Peek { .. } => engine.peek(&mut self.listing, looks, records),
            _ => engine.list(&mut self.listing, looks, records),
        }
    }
}

impl Purpose {
    /// True if a client still waits for the answer.
    fn is_asked_for(&mut self, connections: &Connections) -> bool {
        let is_there = |asker: &Asker| connections.is_there(asker.connection);
        match self {
            Self::Peek { askers, .. } => {
                askers.retain(is_there);
                !askers.is_empty()
            }
            Self::List { asker, .. }
            | Self::Count { asker, .. }
            | Self::NextDue { asker }
            | Self::Bulk { asker, .. } => is_there(asker),
        }
    }

    /// The connection of the first asker.
    fn connection(&self) -> Option<ConnectionId> {
        match self {
            Self::Peek { askers, .. } => askers.first().map(|asker| asker.connection),
            Self::List { asker, .. }
            | Self::Count { asker, .. }
            | Self::NextDue { asker }
            | Self::Bulk { asker, .. } => Some(asker.connection),
        }
    }

    fn askers(self) -> Vec<Asker> {
        match self {
            Self::Peek { askers, .. } => askers,
            Self::List { asker, .. }
            | Self::Count { asker, .. }
            | Self::NextDue { asker }
            | Self::Bulk { asker, .. } => vec![asker],
        }
    }
}

impl Passes {
    /// Shows the next job of a topic: at once if one is ready, else when a pass has found it.
    pub(super) fn peek(&mut self, node: &mut Node, group: &mut Group, asker: Asker, topic: TopicId) {
        let mut listing = Listing::first_delayed(Some(topic));
        let found = group.state.engine.peek(&mut listing, &mut 0, &mut group.state.records);
        if !matches!(found, Ok(Listed::NotYet)) {
            return group.show(node, asker, &found);
        }
        // A pass that has begun may have passed a job that was pushed since.
        let joined = self.queue.iter_mut().find_map(|pass| match &mut pass.purpose {
            Purpose::Peek { topic: of, askers } if *of == topic && !pass.has_begun => Some(askers),
            _ => None,
        });
        match joined {
            Some(askers) => askers.push(asker),
            None => self.begin(node, asker, listing, Purpose::Peek { topic, askers: vec![asker] }),
        }
    }

    /// Lists a page of jobs.
    pub(super) fn list(&mut self, node: &mut Node, group: &Group, asker: Asker, list: &List) {
        let after = if list.cursor.is_empty() { None } else { Position::from_cursor(&list.cursor) };
        let is_cursor = after.as_ref().map_or(list.cursor.is_empty(), |after| after.order() == list.order);
        if !is_cursor {
            let wrong = "this is no cursor of a list in this order: send the one of the page before, or none to begin";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Invalid, wrong));
        }
        if list.order == ListOrder::Key && group.state.jobs_of_topic(&list.filter) > LIST_BY_KEY_JOBS_MAX {
            let many = format!(
                "more than {LIST_BY_KEY_JOBS_MAX} jobs are not listed by key: list them by due time or by id, with the \
                 key's prefix as a condition"
            );
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Invalid, many));
        }
        let cursor = bytes::Bytes::copy_from_slice(&list.cursor);
        let list = List { filter: list.filter.detached(), cursor, ..list.clone() };
        let page = PageStart { filter: &list.filter, order: list.order, after, jobs_max: list.jobs_max };
        match self.begin_page(node, group, asker.connection, page) {
            None => {
                let response = Response::Jobs { jobs: Vec::new(), cursor: bytes::Bytes::new() };
                node.connections.send(asker, response);
            }
            Some(listing) => {
                let access = node.connections.access(asker.connection);
                let listing = match access.filter(|access| !access.has_everywhere(Right::Read)) {
                    // With the right to read the named topic, the client may see everything that the pass shows.
                    Some(access) if list.filter.topic.is_none() => listing.shown_to(access),
                    _ => listing,
                };
                let purpose = Purpose::List { asker, list: Box::new(list), jobs: Vec::new(), bytes: 0 };
                self.begin(node, asker, listing, purpose);
            }
        }
    }

    /// The pass for a page: the one that made the previous page, or a new one. `None` if no job can match.
    pub(super) fn begin_page(
        &mut self,
        node: &Node,
        group: &Group,
        connection: ConnectionId,
        page: PageStart<'_>,
    ) -> Option<Listing<Walk>> {
        let PageStart { filter, order, after, jobs_max } = page;
        let jobs_max = jobs_max as usize;
        let after_kept = after.as_ref().filter(|_| self.refusal(node, connection).is_none());
        let kept = after_kept.and_then(|after| self.take_kept(connection, filter, after));
        if let Some(mut listing) = kept {
            listing.next_page(&group.state.engine, jobs_max);
            return Some(listing);
        }
        Listing::page(&group.state.engine, filter.detached(), order, after, jobs_max)
    }

    /// Counts jobs, from the topics' counters if these suffice, else with a pass.
    pub(crate) fn count(&mut self, node: &mut Node, group: &mut Group, asker: Asker, count: &Count) {
        let (filter, bars) = (&count.filter, count.bars);
        let by_state = if bars.is_none() { group.state.engine.count_by_state(filter) } else { None };
        if let Some(jobs) = by_state {
            let topics = if filter.topic.is_none() { group.state.engine.topics().count() } else { 1 };
            group.work.count(topics as u64);
            node.connections.send(asker, Response::Counted { jobs, by_due: Vec::new() });
            return;
        }
        match Listing::count(&group.state.engine, filter.detached(), bars) {
            Some(listing) => self.begin(node, asker, listing, Purpose::Count { asker, bars }),
            None => node.connections.send(asker, counted(&[], bars)),
        }
    }

    /// Finds when the next delayed job is due, of all topics. [`Self::take_found_due`] has the result.
    pub(super) fn find_next_due(&mut self, node: &mut Node, asker: Asker) {
        self.begin(node, asker, Listing::first_delayed(None), Purpose::NextDue { asker });
    }

    /// Takes when the next delayed job is due, for each asker; `None` if there is none.
    pub(super) fn take_found_due(&mut self) -> Vec<(Asker, Option<Millis>)> {
        std::mem::take(&mut self.found_due)
    }

    pub(super) fn begin(&mut self, node: &mut Node, asker: Asker, listing: Listing<Walk>, purpose: Purpose) {
        match self.refusal(node, asker.connection) {
            Some(refusal) => node.connections.refuse(asker, refusal),
            None => self.add(listing, purpose),
        }
    }

    /// The error if this connection may not begin another pass now.
    pub(super) fn refusal(&self, node: &Node, connection: ConnectionId) -> Option<ErrorReply> {
        let many =
            "this connection waits for as many lists, counts and peeks as it may: wait for some of them";
        let is_full = self.count_of(connection) >= PASSES_PER_CONNECTION_MAX;
        node.stopping().or_else(|| is_full.then(|| retry_later(ErrorCode::Busy, many, 100)))
    }

    /// Refuses all requests that wait for a pass: this node is stopping.
    pub(crate) fn refuse_all(&mut self, node: &mut Node) {
        for asker in self.take_askers() {
            node.connections.refuse(asker, stopping());
        }
    }

    /// Continues the running passes.
    pub(super) fn go_on(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        proposals: &mut Proposals,
        consumption: Consumption<'_>,
    ) {
        self.go_on_with_topics(node, group, consumption);
        let mut budget = LOOKS_PER_TURN;
        while budget > 0
            && let Some(mut pass) = self.queue.pop_front()
        {
            let mut looks = budget.min(LOOKS_PER_PASS);
            budget -= looks;
            looks = looks.saturating_sub(PASS_LOOKS);
            pass.has_begun = true;
            if pass.purpose.is_asked_for(&node.connections)
                && let Some(pass) = self.browse(node, group, proposals, pass, &mut looks)
            {
                let behind = self.queue.len().min(PASSES_AT_ONCE - 1);
                self.queue.insert(behind, pass);
            }
            budget += looks;
        }
    }

    /// Continues a pass, and answers at its end. Returns the pass if it is not at its end.
    fn browse(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        proposals: &mut Proposals,
        mut pass: Pass,
        looks: &mut usize,
    ) -> Option<Pass> {
        loop {
            let listed = pass.look(&mut group.state, looks);
            match (&mut pass.purpose, listed) {
                (_, Ok(Listed::NotYet)) if *looks > 0 => {}
                (_, Ok(Listed::NotYet)) => return Some(pass),
                (Purpose::Peek { askers, .. }, found) => {
                    for asker in std::mem::take(askers) {
                        group.show(node, asker, &found);
                    }
                    return None;
                }
                (Purpose::List { asker, list, jobs, bytes }, Ok(Listed::Job(view))) => {
                    match report_of(node, group, *asker, list, &view) {
                        Ok(report) => {
                            *bytes += report.weight_bytes();
                            jobs.push(report);
                        }
                        Err(error) => {
                            group.unreadable(node, *asker, &error);
                            return None;
                        }
                    }
                    if *bytes >= LIST_BYTES_MAX {
                        self.end_page(node, group, proposals, (pass.purpose, pass.listing), true);
                        return None;
                    }
                }
                (Purpose::List { .. }, Ok(Listed::End { next, .. })) => {
                    self.end_page(node, group, proposals, (pass.purpose, pass.listing), next.is_some());
                    return None;
                }
                (Purpose::Count { asker, bars }, Ok(Listed::End { counts, .. })) => {
                    node.connections.send(*asker, counted(&counts, *bars));
                    return None;
                }
                (Purpose::Bulk { asker, bulk, found, bytes }, Ok(listed)) => {
                    match found_next(&mut group.state.records, bulk, found, bytes, &listed) {
                        Ok(Found::NotYet) => {}
                        Ok(Found::Step { has_more }) => {
                            self.end_page(node, group, proposals, (pass.purpose, pass.listing), has_more);
                            return None;
                        }
                        Err(error) => {
                            group.unreadable(node, *asker, &error);
                            return None;
                        }
                    }
                }
                (Purpose::NextDue { asker }, Ok(listed)) => {
                    self.found_due.push((*asker, due_of(&listed)));
                    return None;
                }
                (_, Err(error)) => {
                    for asker in pass.purpose.askers() {
                        group.unreadable(node, asker, &error);
                    }
                    return None;
                }
                (Purpose::Count { .. }, Ok(Listed::Job(_))) => {}
            }
        }
    }

    /// Answers with a page, or proposes a step of a BULK, and keeps the pass if there may be more.
    fn end_page(
        &mut self,
        node: &mut Node,
        group: &Group,
        proposals: &mut Proposals,
        (purpose, listing): (Purpose, Listing<Walk>),
        has_more: bool,
    ) {
        let position = listing.position().filter(|_| has_more);
        let cursor = position.map(Position::to_cursor).unwrap_or_default();
        let (connection, filter, is_shown) = match purpose {
            Purpose::List { asker, list, .. } if node.connections.must_wait(asker) => {
                return node.connections.hold_searched(asker, Request::List(*list));
            }
            Purpose::List { asker, list, jobs, .. } => {
                node.connections.send(asker, Response::Jobs { jobs, cursor });
                (asker.connection, list.filter, true)
            }
            Purpose::Bulk { asker, bulk, found, .. } => {
                let is_proposed = propose(node, group, proposals, asker, cursor, &bulk, &found);
                (asker.connection, bulk.filter, is_proposed)
            }
            Purpose::Peek { .. } | Purpose::Count { .. } | Purpose::NextDue { .. } => return,
        };
        if has_more && is_shown {
            self.keep(connection, filter, listing, &group.state.engine);
        }
    }
}

/// When the job that a pass has found is due.
fn due_of(listed: &Listed) -> Option<Millis> {
    if let Listed::Job(view) = listed { Some(view.due) } else { None }
}

/// A job on a page of a list.
fn report_of(
    node: &Node,
    group: &mut Group,
    asker: Asker,
    list: &List,
    view: &JobView,
) -> Result<JobReport, StorageError> {
    let is_operator = node.connections.is_operator(asker.connection);
    let mut report = group.state.job_report(view, is_operator)?;
    if !list.with_bodies {
        report.body.clear();
    }
    Ok(report)
}

/// The answer to a count, from the counts between the bounds of its bars. None are there if no job can match.
fn counted(counts: &[u64], bars: Option<DueBars>) -> Response {
    let begins = bars.into_iter().flat_map(|bars| std::iter::once(Millis(0)).chain(bars.bounds()));
    let counts_or_none = counts.iter().copied().chain(std::iter::repeat(0));
    let by_due = begins.zip(counts_or_none).map(|(from, jobs)| DueBar { from, jobs }).collect();
    Response::Counted { jobs: counts.iter().sum(), by_due }
}
