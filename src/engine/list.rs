//! The jobs of a list or a count; and the next delayed job of a topic, for a peek.
//!
//! No index has all jobs of a topic in order: one would cost each job more memory than everything else about a
//! spilled one. So a pass scans every resident job and keeps the first matching ones after the cursor: its *window*.
//! By due time it then walks over the spilled jobs in the order of their timers, and merges the two; a page ends the walk
//! where it is full. By id or by key the walk goes to the end, and what matches competes for the window.
//!
//! The next page goes on with the same pass. A pass whose window is used up scans again, behind the last job that
//! it showed, and for a larger window: who reads one page pays for one page, and who reads them all scans seldom.
//!
//! A pass scans a bounded number of jobs at once, with other work in between. It finds every job that matches from
//! its beginning to its end. A job that changes meanwhile is shown once a page, as it is when the page is completed, if
//! it still matches.

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

/// Jobs in the window of a pass that goes on after its first page. A pass by id or key visits all jobs for each window.
const WINDOW_JOBS: usize = 65_536;
/// A pass that was begun so long ago scans again before its next page. A spilled job stays spilled for longer than
/// this: see [`HORIZON_MS`](super::HORIZON_MS).
const WINDOW_MS_MAX: u64 = 60_000;

/// A pass over the jobs. `W` is the store's walk.
#[derive(Clone, Debug)]
pub struct Listing<W> {
    filter: Filter,
    /// The filter's topic; `None` for all.
    topic: Option<TopicId>,
    goal: Goal,
    order: ListOrder,
    /// What is shown next stands behind this.
    after: Option<Position>,
    /// The same when the page began.
    page_after: Option<Position>,
    stage: Stage<W>,
    /// The first jobs that were found and not shown yet.
    window: BTreeMap<Position, JobId>,
    window_max: usize,
    /// Others were found behind the window.
    left_out: bool,
    /// When the scan for the window ended.
    scanned_at: Millis,
    /// All spilled jobs that come before this time are in the window, ahead or shown.
    walked_to: Millis,
    /// By due time: the next spilled job.
    ahead: Option<(Position, JobId)>,
    /// The page ends here, as it has looked at enough.
    page_end: Option<Position>,
    /// Jobs of this page.
    shown: BTreeSet<JobId>,
    /// What the page may look at before it ends.
    looks_left: usize,
}

#[derive(Clone, Copy, Debug)]
enum Goal {
    /// The next jobs behind the cursor: so many.
    Page { jobs_left: usize },
    /// How many match.
    Count { jobs: u64 },
}

#[derive(Clone, Debug)]
enum Stage<W> {
    /// Scans the resident jobs from this slot on.
    Scan(Slot),
    /// Walks over all spilled jobs, for the window or to count them.
    Walk(W),
    /// Shows the window; by due time merged with a walk, if there are spilled jobs left.
    Show(Option<W>),
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
        let topic = filter_topic(engine, &filter)?;
        Some(Self::of(filter, topic, Goal::Page { jobs_left: jobs_max }, order, after))
    }

    /// Counts the jobs that match. A job that changes meanwhile may be counted once, twice or not at all.
    pub fn count(engine: &Engine, filter: Filter) -> Option<Self> {
        let topic = filter_topic(engine, &filter)?;
        Some(Self::of(filter, topic, Goal::Count { jobs: 0 }, ListOrder::Due, None))
    }

    /// The delayed job of a topic that is due first.
    pub fn first_delayed(topic: TopicId) -> Self {
        let filter = Filter { states: States::of([JobState::Delayed]), ..Filter::default() };
        let goal = Goal::Page { jobs_left: 1 };
        Self { looks_left: usize::MAX, ..Self::of(filter, Some(topic), goal, ListOrder::Due, None) }
    }

    fn of(
        filter: Filter,
        topic: Option<TopicId>,
        goal: Goal,
        order: ListOrder,
        after: Option<Position>,
    ) -> Self {
        let window_max = if let Goal::Page { jobs_left } = goal { jobs_left } else { 0 };
        Self {
            filter,
            topic,
            goal,
            order,
            page_after: after.clone(),
            after,
            stage: Stage::Scan(0),
            window: BTreeMap::new(),
            window_max,
            left_out: false,
            scanned_at: Millis(0),
            walked_to: Millis(0),
            ahead: None,
            page_end: None,
            shown: BTreeSet::new(),
            looks_left: LIST_LOOKS_MAX,
        }
    }

    /// Goes on with the next page, behind the one that ended.
    pub fn next_page(&mut self, engine: &Engine, jobs_max: usize) {
        self.goal = Goal::Page { jobs_left: jobs_max };
        self.page_after.clone_from(&self.after);
        self.page_end = None;
        self.shown.clear();
        self.looks_left = LIST_LOOKS_MAX;
        if engine.clock.stamp.0 > self.scanned_at.0.saturating_add(WINDOW_MS_MAX) {
            self.scan_again();
        }
    }

    /// From now on this page ends when this many jobs were looked at. For tests: a server goes by [`LIST_LOOKS_MAX`].
    pub fn set_looks_max(&mut self, looks_max: usize) {
        self.looks_left = looks_max;
    }

    /// Where the pass stands: behind the last job that it showed.
    pub fn position(&self) -> Option<&Position> {
        self.after.as_ref()
    }

    /// Whether spilled jobs are merged with the window when it is shown.
    fn merges(&self) -> bool {
        self.order == ListOrder::Due && matches!(self.goal, Goal::Page { .. })
    }

    /// Whether what a walk comes to from `at` on cannot match.
    fn is_past(&self, at: Millis) -> bool {
        self.filter.due_before.is_some_and(|before| at >= before)
    }

    /// Whether a job at this position is to be shown by this pass, if it matches.
    fn wants(&mut self, position: &Position) -> bool {
        if self.after.as_ref().is_some_and(|after| position <= after) {
            return false;
        }
        let merges_it = matches!(self.stage, Stage::Show(_));
        let is_full = self.window.len() >= self.window_max && matches!(self.goal, Goal::Page { .. });
        let fits =
            merges_it || !is_full || self.window.last_key_value().is_some_and(|(last, _)| position < last);
        self.left_out |= !fits;
        fits
    }

    /// Takes a job that is [wanted](Self::wants).
    fn take(&mut self, position: Position, job: JobId) {
        if let Goal::Count { jobs } = &mut self.goal {
            *jobs += 1;
            return;
        }
        self.window.insert(position, job);
        if self.window.len() > self.window_max {
            self.window.pop_last();
            self.left_out = true;
        }
    }

    /// Takes a job that stands further behind by now. Behind a window with jobs left out the next scan finds it.
    fn put_back(&mut self, position: Position, job: JobId) {
        if !self.left_out || self.window.last_key_value().is_some_and(|(last, _)| position < *last) {
            self.window.insert(position, job);
        }
    }

    /// Scans again behind the last job that was shown: the window is used up, or too old.
    fn scan_again(&mut self) {
        self.stage = Stage::Scan(0);
        self.window.clear();
        self.window_max = WINDOW_JOBS;
        self.left_out = false;
        self.walked_to = Millis(0);
        self.ahead = None;
        self.page_end = None;
    }

    /// Whether the page has looked at enough, and would have come further than the one before.
    fn may_end_before(&self, at: Millis) -> bool {
        let came_further = match &self.page_after {
            Some(Position::Due(after, _)) => at > *after,
            _ => at > self.filter.due_from.unwrap_or_default(),
        };
        self.looks_left == 0 && came_further
    }

    /// The first job of the window, if no spilled job that has not been walked over comes before it.
    fn first_of_window(&self) -> Option<&Position> {
        let (first, _) = self.window.first_key_value()?;
        let is_walked_over = !matches!(self.stage, Stage::Show(Some(_)))
            || self.ahead.is_some()
            || *first < Position::Due(self.walked_to, JobId(0));
        is_walked_over.then_some(first)
    }

    /// Takes out what is shown next.
    fn take_next(&mut self) -> Option<(Position, JobId)> {
        let first =
            self.first_of_window().filter(|first| self.page_end.as_ref().is_none_or(|end| *first < end));
        match (first, &self.ahead) {
            (Some(first), Some((ahead, _))) if ahead < first => self.ahead.take(),
            (Some(first), Some((ahead, _))) if ahead == first => {
                self.ahead = None;
                self.window.pop_first()
            }
            (Some(_), _) => self.window.pop_first(),
            (None, _) => self.ahead.take(),
        }
    }

    /// Whether a job may stand behind the page that is full.
    fn has_more(&self) -> bool {
        !self.window.is_empty()
            || self.left_out
            || !matches!(self.stage, Stage::Show(None))
            || self.ahead.is_some()
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
        if let Stage::Scan(slot) = listing.stage {
            if let Some(next) = self.scan(listing, slot, budget, store)? {
                listing.stage = Stage::Scan(next);
                return Ok(Listed::NotYet);
            }
            listing.stage = match self.begin_walk(listing, store) {
                Some(walk) if !listing.merges() => Stage::Walk(walk),
                walk => Stage::Show(walk),
            };
            listing.scanned_at = self.clock.stamp;
        }
        if !self.walk(listing, budget, store)? {
            return Ok(Listed::NotYet);
        }
        self.show_next(listing, budget, store)
    }

    /// Looks at resident jobs from a slot on. Returns the slot to go on with, if there is one.
    fn scan<S: JobStore>(
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
            if let Some(job) = job
                && let Some(position) = self.wanted_position(listing, job, budget, store)?
            {
                listing.take(position, job.id);
            }
        }
        Ok(None)
    }

    /// The walk over spilled jobs, if any of them may match. They are all delayed.
    fn begin_walk<S: JobStore>(&self, listing: &Listing<S::Walk>, store: &S) -> Option<S::Walk> {
        let may_match = listing.filter.states.contains(JobState::Delayed) && listing.filter.buried.is_none();
        if !may_match || self.jobs.spilled().len() == 0 {
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

    /// Walks over all spilled jobs, if it is time for that. Whether it is at their end.
    fn walk<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<bool, S::Error> {
        while let Stage::Walk(walk) = &mut listing.stage {
            match store.walk_on(walk, budget)? {
                Walked::Job { at, job } if !listing.is_past(at) => {
                    if let Some(position) = self.walked_position(listing, at, job, budget, store)? {
                        listing.take(position, job);
                    }
                }
                Walked::Until(at) if !listing.is_past(at) => return Ok(false),
                _ => {
                    listing.stage = Stage::Show(None);
                    listing.scanned_at = self.clock.stamp;
                }
            }
        }
        Ok(true)
    }

    /// Walks on to the next spilled job that matches, unless a job of the window comes first or the page has looked at
    /// enough. Whether what comes next is known.
    fn look_ahead<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<bool, S::Error> {
        while listing.ahead.is_none()
            && listing.page_end.is_none()
            && listing.first_of_window().is_none()
            && let Stage::Show(Some(walk)) = &mut listing.stage
        {
            let had = *budget;
            let walked = store.walk_on(walk, budget)?;
            listing.looks_left = listing.looks_left.saturating_sub(had.saturating_sub(*budget));
            match walked {
                Walked::Job { at, job } if !listing.is_past(at) => {
                    listing.walked_to = at;
                    let had = *budget;
                    let position = self.walked_position(listing, at, job, budget, store)?;
                    listing.looks_left = listing.looks_left.saturating_sub(had.saturating_sub(*budget));
                    match position {
                        Some(position) if position > Position::Due(at, job) => {
                            listing.put_back(position, job)
                        }
                        position => listing.ahead = position.map(|position| (position, job)),
                    }
                }
                Walked::Until(at) if !listing.is_past(at) => {
                    listing.walked_to = at;
                    if !listing.may_end_before(at) {
                        return Ok(listing.first_of_window().is_some());
                    }
                    listing.page_end = Some(Position::Due(at, JobId(0)));
                }
                _ => listing.stage = Stage::Show(None),
            }
        }
        Ok(true)
    }

    /// Where a job stands that the walk came to, if it is wanted.
    fn walked_position<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        at: Millis,
        job: JobId,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Option<Position>, S::Error> {
        let spilled = match self.jobs.find(job) {
            None => return Ok(None),
            Some(Found::Spilled(slot)) => slot,
            // It became resident since those were scanned, or was so, and was counted.
            Some(Found::Resident(slot)) => match listing.goal {
                Goal::Page { .. } => {
                    return self.wanted_position(listing, &self.jobs[slot], budget, store);
                }
                Goal::Count { .. } => return Ok(None),
            },
        };
        let position = match listing.order {
            ListOrder::Due => Some(Position::Due(at, job)),
            ListOrder::Id => Some(Position::Id(job)),
            ListOrder::Key => None,
        };
        match position {
            Some(position) if !listing.wants(&position) => Ok(None),
            Some(position) if !listing.reads_spilled_jobs() => Ok(Some(position)),
            _ => {
                let spilled = self.spilled_job(spilled, store)?;
                *budget = budget.saturating_sub(looks_to_read(&spilled));
                self.wanted_position(listing, &spilled, budget, store)
            }
        }
    }

    fn spilled_job<S: JobStore>(&self, spilled: SpilledSlot, store: &mut S) -> Result<Job, S::Error> {
        let place = self.jobs.spilled().place(spilled);
        Ok(store.spilled_job(place)?.into_job(place))
    }

    /// Where a job stands, if it matches and is wanted.
    fn wanted_position<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        job: &Job,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<Option<Position>, S::Error> {
        if !self.meets(&listing.filter, listing.topic, job) {
            return Ok(None);
        }
        let position = self.unkeyed_position(listing.order, job);
        if position.as_ref().is_some_and(|position| !listing.wants(position)) {
            return Ok(None);
        }
        if position.is_some() && listing.filter.key_prefix.is_none() {
            return Ok(position);
        }
        *budget = budget.saturating_sub(looks_to_read(job));
        let prefix = listing.filter.key_prefix.as_deref().unwrap_or_default();
        let Some(key) = store.key(job.body)?.filter(|key| key.starts_with(prefix)) else { return Ok(None) };
        let position = position.unwrap_or(Position::Key(key, job.id));
        Ok(listing.wants(&position).then_some(position))
    }

    /// Where a job stands in an order that does not go by keys.
    fn unkeyed_position(&self, order: ListOrder, job: &Job) -> Option<Position> {
        match order {
            ListOrder::Due => Some(Position::Due(self.list_time(job), job.id)),
            ListOrder::Id => Some(Position::Id(job.id)),
            ListOrder::Key => None,
        }
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
        while *budget > 0 {
            if matches!(listing.goal, Goal::Page { jobs_left: 0 }) {
                let next = listing.after.clone().filter(|_| listing.has_more());
                return Ok(Listed::End { next, jobs: 0 });
            }
            if listing.window.is_empty() && listing.left_out {
                listing.scan_again();
                return Ok(Listed::NotYet);
            }
            if !self.look_ahead(listing, budget, store)? {
                return Ok(Listed::NotYet);
            }
            let Some((position, job)) = listing.take_next() else {
                let jobs = if let Goal::Count { jobs } = listing.goal { jobs } else { 0 };
                let next = listing.page_end.take();
                if next.is_some() {
                    listing.after.clone_from(&next);
                }
                return Ok(Listed::End { next, jobs });
            };
            *budget = budget.saturating_sub(READ_LOOKS);
            if let Some(view) = self.show(listing, position, job, store)? {
                *budget = budget.saturating_sub(view.body.body_bytes as usize / BYTES_PER_LOOK);
                return Ok(Listed::Job(view));
            }
        }
        Ok(Listed::NotYet)
    }

    /// Shows a job that was found at this position, if it still matches and the page does not have it yet. One that stands
    /// further behind by now is shown there.
    fn show<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        position: Position,
        id: JobId,
        store: &mut S,
    ) -> Result<Option<JobView>, S::Error> {
        listing.after = Some(position.clone());
        let spilled;
        let job = match self.jobs.find(id) {
            None => return Ok(None),
            Some(Found::Resident(slot)) => &self.jobs[slot],
            Some(Found::Spilled(slot)) => {
                spilled = self.spilled_job(slot, store)?;
                &spilled
            }
        };
        if !self.meets(&listing.filter, listing.topic, job) {
            return Ok(None);
        }
        if let Some(now) = self.unkeyed_position(listing.order, job)
            && now > position
        {
            listing.put_back(now, id);
            return Ok(None);
        }
        if !listing.shown.insert(id) {
            return Ok(None);
        }
        if let Goal::Page { jobs_left } = &mut listing.goal {
            *jobs_left -= 1;
        }
        Ok(Some(self.view(job)))
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

/// The id of the topic that a filter names, if it names one; `None` if there is no such topic.
#[expect(clippy::option_option, reason = "no topic is named; or none has this name")]
fn filter_topic(engine: &Engine, filter: &Filter) -> Option<Option<TopicId>> {
    match &filter.topic {
        Some(name) => engine.topics.id(name.as_str()).map(Some),
        None => Some(None),
    }
}

fn looks_to_read(job: &Job) -> usize {
    READ_LOOKS + job.body.body_bytes as usize / BYTES_PER_LOOK
}

fn has_reason(job: &Job, text: &str) -> bool {
    job.past().and_then(|past| past.reason.as_deref()).is_some_and(|reason| reason.contains(text))
}
