//! The jobs of a list or a count; and the next delayed job of a topic, for a peek.
//!
//! No index has all jobs of a topic in order: one would cost each job more memory than everything else about a
//! spilled one. So a pass scans every resident job, and walks over the spilled ones in the order of their timers. It
//! keeps the first matching jobs after the cursor, up to one page. By due time the walk begins at the cursor and
//! ends with the page. By id or by key it goes to the end.
//!
//! A pass scans a bounded number of jobs at once, with other work in between. It finds every job that matches from
//! its beginning to its end. A job that changes meanwhile is shown once, as it is when the page is completed, if it
//! still matches.

use std::collections::{BTreeMap, BTreeSet};

use super::Engine;
use super::jobs::{Found, Job, Slot};
use super::outcome::{JobView, TopicView};
use super::spilled::SpilledSlot;
use super::store::{JobStore, WalkFrom, Walked};
use crate::types::limits::LIST_LOOKS_MAX;
use crate::types::{Filter, JobId, JobState, ListOrder, Millis, Position, States, TopicId};

/// To read a job or its key from the store takes as long as to look at this many jobs in memory, and a look more for each
/// [`BYTES_PER_LOOK`] of its body.
const READ_LOOKS: usize = 1024;
const BYTES_PER_LOOK: usize = 16;

/// A pass over the jobs. `W` is the store's walk.
#[derive(Clone, Debug)]
pub struct Listing<W> {
    filter: Filter,
    /// The filter's topic; `None` for all.
    topic: Option<TopicId>,
    goal: Goal,
    order: ListOrder,
    after: Option<Position>,
    stage: Stage<W>,
    found: BTreeMap<Position, JobId>,
    shown: BTreeSet<JobId>,
    last_shown: Option<Position>,
    /// There may be more jobs behind those that were found.
    more: bool,
    /// Where the next page goes on.
    next: Option<Position>,
    /// What the walk may look at before it ends the page.
    looks_left: usize,
}

#[derive(Clone, Copy, Debug)]
enum Goal {
    /// The first jobs behind the cursor.
    Page { jobs_max: usize },
    /// How many match.
    Count { jobs: u64 },
}

#[derive(Clone, Debug)]
enum Stage<W> {
    /// The slot to go on with.
    Resident(Slot),
    Spilled(W),
    Show,
}

/// How far a pass has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The budget is used up.
    NotYet,
    /// To the next job of the page.
    Job(JobView),
    /// To its end.
    End {
        /// Where the next page goes on; `None` if there is none.
        next: Option<Position>,
        /// How many jobs were counted, by a [count](Listing::count).
        jobs: u64,
    },
}

impl<W> Listing<W> {
    /// Lists up to `jobs_max` jobs behind `after`, a position in the same order. `None` if the filter names a topic that does
    /// not exist: then no job matches.
    pub fn page(
        engine: &Engine,
        filter: Filter,
        order: ListOrder,
        after: Option<Position>,
        jobs_max: usize,
    ) -> Option<Self> {
        Self::new(engine, filter, Goal::Page { jobs_max }, order, after)
    }

    /// Counts the jobs that match. A job that changes meanwhile may be counted once, twice or not at all.
    pub fn count(engine: &Engine, filter: Filter) -> Option<Self> {
        Self::new(engine, filter, Goal::Count { jobs: 0 }, ListOrder::Due, None)
    }

    /// The delayed job of a topic that is due first.
    pub fn first_delayed(topic: TopicId) -> Self {
        let filter = Filter { states: States::of([JobState::Delayed]), ..Filter::default() };
        let goal = Goal::Page { jobs_max: 1 };
        Self { looks_left: usize::MAX, ..Self::of(filter, Some(topic), goal, ListOrder::Due, None) }
    }

    fn new(
        engine: &Engine,
        filter: Filter,
        goal: Goal,
        order: ListOrder,
        after: Option<Position>,
    ) -> Option<Self> {
        let topic = match &filter.topic {
            Some(name) => Some(engine.topics.id(name.as_str())?),
            None => None,
        };
        Some(Self::of(filter, topic, goal, order, after))
    }

    fn of(
        filter: Filter,
        topic: Option<TopicId>,
        goal: Goal,
        order: ListOrder,
        after: Option<Position>,
    ) -> Self {
        Self {
            filter,
            topic,
            goal,
            order,
            after,
            stage: Stage::Resident(0),
            found: BTreeMap::new(),
            shown: BTreeSet::new(),
            last_shown: None,
            more: false,
            next: None,
            looks_left: LIST_LOOKS_MAX,
        }
    }

    /// From now on a page by due time ends when this many jobs were looked at. For tests: a server goes by
    /// [`LIST_LOOKS_MAX`].
    pub fn set_looks_max(&mut self, looks_max: usize) {
        self.looks_left = looks_max;
    }

    /// Where the job stands that was shown last.
    pub fn last_shown(&self) -> Option<&Position> {
        self.last_shown.as_ref()
    }

    /// Whether the walk is over: what it comes to from `at` on is not wanted.
    fn is_past(&mut self, at: Millis) -> bool {
        let is_full = self.order == ListOrder::Due && self.is_full_before(&Position::Due(at, JobId(0)));
        self.more |= is_full;
        is_full || self.filter.due_before.is_some_and(|before| at >= before)
    }

    fn is_full_before(&self, position: &Position) -> bool {
        let Goal::Page { jobs_max } = self.goal else { return false };
        self.found.len() >= jobs_max && self.found.last_key_value().is_none_or(|(last, _)| last < position)
    }

    /// Whether a job at this position belongs to the page, if it matches.
    fn wants(&mut self, position: &Position) -> bool {
        let is_behind = self.after.as_ref().is_none_or(|after| position > after);
        let is_too_late = self.is_full_before(position);
        self.more |= is_behind && is_too_late;
        is_behind && !is_too_late
    }

    /// Takes a job that matches at this position.
    fn take(&mut self, position: Position, job: JobId) {
        match &mut self.goal {
            Goal::Count { jobs } => *jobs += 1,
            Goal::Page { jobs_max } => {
                self.found.insert(position, job);
                if self.found.len() > *jobs_max {
                    self.found.pop_last();
                    self.more = true;
                }
            }
        }
    }

    /// All that belongs to the page is found.
    fn end_page(&mut self) {
        let last = self.found.last_key_value().map(|(last, _)| last.clone());
        self.next = last.filter(|_| self.more);
        self.stage = Stage::Show;
    }

    /// The same for a page that looked at enough before it was full.
    fn end_page_before(&mut self, at: Millis) {
        let end = Position::Due(at, JobId(0));
        self.found.split_off(&end);
        self.next = Some(end);
        self.stage = Stage::Show;
    }

    /// Whether the page has looked at enough, and has come further than the one before.
    fn may_end_before(&self, at: Millis) -> bool {
        let came_further = match &self.after {
            Some(Position::Due(after, _)) => at > *after,
            _ => at > self.filter.due_from.unwrap_or_default(),
        };
        let is_page = self.order == ListOrder::Due && matches!(self.goal, Goal::Page { .. });
        is_page && self.looks_left == 0 && came_further
    }

    /// Whether it takes more than the index of the store to tell if a spilled job matches.
    fn reads_spilled_jobs(&self) -> bool {
        let Filter { attempts_min, attempts_max, key_prefix, reason, .. } = &self.filter;
        attempts_min.is_some() || attempts_max.is_some() || key_prefix.is_some() || reason.is_some()
    }
}

impl Engine {
    /// How many jobs match, if the counters of topics tell: the filter has no condition but topic and states.
    pub fn count_by_state(&self, filter: &Filter) -> Option<u64> {
        let Filter { topic, states, .. } = filter;
        if *filter != (Filter { topic: topic.clone(), states: *states, ..Filter::default() }) {
            return None;
        }
        let one = |view: TopicView<'_>| {
            let of_state = |state| match state {
                JobState::Delayed => view.delayed,
                JobState::Ready => view.ready,
                JobState::Reserved => view.reserved,
                JobState::Buried => view.buried,
                JobState::Finished => view.remembered,
            };
            states.iter().map(of_state).sum::<u64>()
        };
        Some(match topic {
            Some(name) => self.topic_id(name.as_str()).and_then(|id| self.topic(id)).map_or(0, one),
            None => self.topics().map(one).sum(),
        })
    }

    /// Goes on with a pass: takes as many jobs as it looks at from `budget`, and stops when that is 0.
    pub fn list<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Listed, S::Error> {
        if let Stage::Resident(slot) = listing.stage {
            if let Some(next) = self.list_resident(listing, slot, budget, store)? {
                listing.stage = Stage::Resident(next);
                return Ok(Listed::NotYet);
            }
            match self.begin_walk(listing, store) {
                Some(walk) => listing.stage = Stage::Spilled(walk),
                None => listing.end_page(),
            }
        }
        if !self.list_spilled(listing, budget, store)? {
            return Ok(Listed::NotYet);
        }
        self.show_next(listing, budget, store)
    }

    /// Looks at resident jobs from a slot on. Returns the slot to go on with, if there is one.
    fn list_resident<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        from: Slot,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Option<Slot>, S::Error> {
        for (slot, job) in (from..).zip(self.jobs.slots_from(from)) {
            if *budget == 0 {
                return Ok(Some(slot));
            }
            *budget -= 1;
            if let Some(job) = job {
                self.look_at(listing, job, budget, store)?;
            }
        }
        Ok(None)
    }

    /// The walk over spilled jobs, if any of them may match. They are all delayed.
    fn begin_walk<S: JobStore>(&self, listing: &Listing<S::Walk>, store: &S) -> Option<S::Walk> {
        if !listing.filter.states.contains(JobState::Delayed) || listing.filter.buried.is_some() {
            return None;
        }
        let cursor = match &listing.after {
            Some(Position::Due(at, id)) => (*at, *id),
            _ => (Millis(0), JobId(0)),
        };
        let before_from = |from: Millis| (Millis(from.0.saturating_sub(1)), JobId(u64::MAX));
        let after = listing.filter.due_from.filter(|from| from.0 > 0).map(before_from);
        let after = after.map_or(cursor, |after| after.max(cursor));
        Some(store.walk(WalkFrom { topic: listing.topic, after, offset_ms: self.clock.offset_ms }))
    }

    /// Walks over spilled jobs, if it is time for that. Whether the page is complete.
    fn list_spilled<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<bool, S::Error> {
        while let Stage::Spilled(walk) = &mut listing.stage {
            let had = *budget;
            let walked = store.walk_on(walk, budget)?;
            match walked {
                Walked::Job { at, job } if !listing.is_past(at) => {
                    self.look_at_walked(listing, at, job, budget, store)?;
                }
                Walked::Until(at) if !listing.is_past(at) => {
                    if !listing.may_end_before(at) {
                        listing.looks_left = listing.looks_left.saturating_sub(had);
                        return Ok(false);
                    }
                    listing.end_page_before(at);
                }
                _ => listing.end_page(),
            }
            listing.looks_left = listing.looks_left.saturating_sub(had.saturating_sub(*budget));
        }
        Ok(true)
    }

    fn look_at_walked<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        at: Millis,
        job: JobId,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<(), S::Error> {
        let spilled = match self.jobs.find(job) {
            None => return Ok(()),
            Some(Found::Spilled(slot)) => slot,
            // It has been loaded since the resident ones were looked at, or was there, and was counted.
            Some(Found::Resident(slot)) => match listing.goal {
                Goal::Page { .. } => return self.look_at(listing, &self.jobs[slot], budget, store),
                Goal::Count { .. } => return Ok(()),
            },
        };
        let position = match listing.order {
            ListOrder::Due => Some(Position::Due(at, job)),
            ListOrder::Id => Some(Position::Id(job)),
            ListOrder::Key => None,
        };
        match position {
            Some(position) if !listing.wants(&position) => Ok(()),
            Some(position) if !listing.reads_spilled_jobs() => {
                listing.take(position, job);
                Ok(())
            }
            _ => {
                let spilled = self.spilled_job(spilled, store)?;
                *budget = budget.saturating_sub(looks_to_read(&spilled));
                self.look_at(listing, &spilled, budget, store)
            }
        }
    }

    fn spilled_job<S: JobStore>(&self, spilled: SpilledSlot, store: &mut S) -> Result<Job, S::Error> {
        let place = self.jobs.spilled().place(spilled);
        Ok(store.spilled_job(place)?.into_job(place))
    }

    /// Takes a job if it matches and its position is one of the first.
    fn look_at<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        job: &Job,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<(), S::Error> {
        if !self.meets(&listing.filter, listing.topic, job) {
            return Ok(());
        }
        let position = match listing.order {
            ListOrder::Due => Some(Position::Due(self.list_time(job), job.id)),
            ListOrder::Id => Some(Position::Id(job.id)),
            ListOrder::Key => None,
        };
        if position.as_ref().is_some_and(|position| !listing.wants(position)) {
            return Ok(());
        }
        if let Some(position) = &position
            && listing.filter.key_prefix.is_none()
        {
            listing.take(position.clone(), job.id);
            return Ok(());
        }
        *budget = budget.saturating_sub(looks_to_read(job));
        let prefix = listing.filter.key_prefix.as_deref().unwrap_or_default();
        if let Some(key) = store.key(job.body)?.filter(|key| key.starts_with(prefix)) {
            let position = position.unwrap_or(Position::Key(key, job.id));
            if listing.wants(&position) {
                listing.take(position, job.id);
            }
        }
        Ok(())
    }

    /// Whether a job meets all conditions of a filter but those on its topic's name and its key.
    pub(super) fn meets(&self, filter: &Filter, topic: Option<TopicId>, job: &Job) -> bool {
        let at = self.list_time(job);
        topic.is_none_or(|topic| job.topic == topic)
            && filter.states.contains(job.state)
            && filter.attempts_min.is_none_or(|min| job.attempts >= min)
            && filter.attempts_max.is_none_or(|max| job.attempts <= max)
            && filter.buried.is_none_or(|why| job.state == JobState::Buried && job.buried == why)
            && filter.due_from.is_none_or(|from| at >= from)
            && filter.due_before.is_none_or(|before| at < before)
            && filter.reason.as_ref().is_none_or(|text| has_reason(job, text))
    }

    /// The time by which a job is listed: when it is due, or when it expires if it will never be due.
    fn list_time(&self, job: &Job) -> Millis {
        let waits_for = if job.state == JobState::Delayed { job.timer() } else { None };
        self.clock.as_wall(waits_for.unwrap_or(job.due()))
    }

    fn show_next<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Listed, S::Error> {
        while let Some(entry) = listing.found.first_entry() {
            if *budget == 0 {
                return Ok(Listed::NotYet);
            }
            let (position, job) = entry.remove_entry();
            listing.last_shown = Some(position);
            let Some(found) = self.jobs.find(job).filter(|_| listing.shown.insert(job)) else { continue };
            let view = match found {
                Found::Resident(slot) => self.matching_view(listing, &self.jobs[slot]),
                Found::Spilled(slot) => self.matching_view(listing, &self.spilled_job(slot, store)?),
            };
            *budget = budget.saturating_sub(READ_LOOKS);
            if let Some(view) = view {
                *budget = budget.saturating_sub(view.body.body_bytes as usize / BYTES_PER_LOOK);
                return Ok(Listed::Job(view));
            }
        }
        let jobs = if let Goal::Count { jobs } = listing.goal { jobs } else { 0 };
        Ok(Listed::End { next: listing.next.take(), jobs })
    }

    fn matching_view<W>(&self, listing: &Listing<W>, job: &Job) -> Option<JobView> {
        self.meets(&listing.filter, listing.topic, job).then(|| self.view(job))
    }

    /// The job that would be reserved next, of those that a [pass](Listing::first_delayed) for a delayed one found.
    pub fn peek<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Listed, S::Error> {
        let none = Listed::End { next: None, jobs: 0 };
        let Some(id) = listing.topic else { return Ok(none) };
        let Some(topic) = self.topics.find(id) else { return Ok(none) };
        if let Some((.., slot)) = topic.ready.first() {
            return Ok(Listed::Job(self.view(&self.jobs[*slot])));
        }
        if topic.delayed == 0 {
            return Ok(none);
        }
        let listed = self.list(listing, budget, store)?;
        if !matches!(listed, Listed::End { .. }) {
            return Ok(listed);
        }
        // What was found has gone meanwhile.
        *listing = Listing::first_delayed(id);
        Ok(Listed::NotYet)
    }
}

fn looks_to_read(job: &Job) -> usize {
    READ_LOOKS + job.body.body_bytes as usize / BYTES_PER_LOOK
}

fn has_reason(job: &Job, text: &str) -> bool {
    job.past().and_then(|past| past.reason.as_deref()).is_some_and(|reason| reason.contains(text))
}
