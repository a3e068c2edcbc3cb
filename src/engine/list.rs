//! The jobs of a list or a count; and the next delayed job of a topic, for a peek.
//!
//! No index has all jobs of a topic in order: one would cost each job more memory than everything else about a
//! spilled one. So a pass scans every resident job and keeps the first matching ones after the cursor: its *window*.
//! By due time it then walks over the spilled jobs in the order of their timers, and merges the two; a page ends the walk
//! where it is full. By id or by key the walk goes to the end, and what matches competes for the window.
//!
//! The next page goes on with the same pass. A pass whose window is used up scans again, behind the last job that
//! it showed, and for a larger window: reading one page costs one page, and reading all of them scans seldom.
//!
//! A pass scans a bounded number of jobs at once, with other work in between. It finds every job that matches from
//! its beginning to its end. A job that changes meanwhile is shown once a page, as it is when the page is completed, if
//! it still matches.

use super::Engine;
use super::job::Job;
use super::jobs::{Found, Slot};
use super::listing::{Goal, Listed, Listing, Stage};
use super::outcome::{JobView, TopicView};
use super::spilled::SpilledSlot;
use super::store::{JobStore, WalkFrom, Walked};
use crate::types::{Filter, JobId, JobState, ListOrder, Millis, Position, Right, TopicId};

/// To read a job or its key from the store takes as long as to look at this many jobs in memory, and a look more for each
/// [`BYTES_PER_LOOK`] of its body.
const READ_LOOKS: usize = 1024;
const BYTES_PER_LOOK: usize = 16;
/// To find out whether one may see a job takes as long as to look at this many.
const RIGHT_LOOKS: usize = 8;

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
        if !self.look_at_loaded(listing, budget, store)? {
            return Ok(Listed::NotYet);
        }
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

    /// Looks at the jobs that were loaded since the pass began to scan: they may be in slots that it has scanned, and are in
    /// no row that it will come to. Whether it has looked at all of them.
    fn look_at_loaded<S: JobStore>(
        &self,
        listing: &mut Listing<S::Walk>,
        budget: &mut usize,
        store: &mut S,
    ) -> Result<bool, S::Error> {
        let seen = *listing.loaded_seen.get_or_insert(self.loaded.count());
        for count in seen..self.loaded.count() {
            if *budget == 0 {
                listing.loaded_seen = Some(count);
                return Ok(false);
            }
            *budget -= 1;
            let Some(job) = self.loaded.nth(count) else {
                listing.scan_again();
                return Ok(false);
            };
            let position = match self.jobs.find(job) {
                // A count may miss a job that changes.
                _ if matches!(listing.goal, Goal::Count { .. }) => None,
                None => None,
                Some(Found::Resident(slot)) => {
                    self.wanted_position(listing, &self.jobs[slot], budget, store)?
                }
                Some(Found::Spilled(slot)) => {
                    let spilled = self.spilled_job(slot, store)?;
                    *budget = budget.saturating_sub(looks_to_read(&spilled));
                    self.wanted_position(listing, &spilled, budget, store)?
                }
            };
            if let Some(position) = position {
                listing.put_back(position, job);
            }
        }
        listing.loaded_seen = Some(self.loaded.count());
        Ok(true)
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
    /// enough. Returns whether the next job of the list is known.
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
                    listing.walked_to = listing.walked_to.max(at);
                    let had = *budget;
                    let position = self.walked_position(listing, at, job, budget, store)?;
                    listing.looks_left = listing.looks_left.saturating_sub(had.saturating_sub(*budget));
                    match position {
                        Some(position) if position > Position::Due(at, job) => {
                            listing.put_back(position, job);
                        }
                        position => listing.ahead = position.map(|position| (position, job)),
                    }
                }
                Walked::Until(at) if !listing.is_past(at) => {
                    listing.walked_to = listing.walked_to.max(at);
                    listing.end_page_before(at);
                    if listing.page_end.is_none() {
                        return Ok(listing.first_of_window().is_some());
                    }
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

    /// Whether the jobs of a topic may be shown.
    fn may_show<W>(&self, listing: &Listing<W>, topic: TopicId) -> bool {
        let Some(access) = &listing.shown_to else { return true };
        self.topics.find(topic).is_some_and(|topic| access.has(Right::Read, topic.name.as_str()))
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
        if listing.shown_to.is_some() {
            *budget = budget.saturating_sub(RIGHT_LOOKS);
            if !self.may_show(listing, job.topic) {
                return Ok(None);
            }
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
        let waits = job.state == JobState::Delayed;
        self.clock.as_wall(if waits { job.waits_for() } else { job.due() })
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
            if let Some(view) = self.show(listing, &position, job, store)? {
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
        position: &Position,
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
        if !self.meets(&listing.filter, listing.topic, job) || !self.may_show(listing, job.topic) {
            return Ok(None);
        }
        if let Some(now) = self.unkeyed_position(listing.order, job)
            && now > *position
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
        let is_gone = matches!(listed, Listed::End { .. }) || listing.position().is_some();
        if matches!(listed, Listed::Job(_)) || !is_gone {
            return Ok(listed);
        }
        // The job that was found has gone meanwhile, and another one may be the first.
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
