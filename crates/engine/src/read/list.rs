//! Listing and counting jobs; and the next delayed job of a topic, for a peek.
//!
//! No index holds all jobs of a topic in order: it would take more memory per job than everything else about a spilled one.
//! So a pass scans every resident job and keeps the first matching ones after the cursor: its *window*. By due time it then
//! walks over the spilled jobs in the order of their timers, and merges the two; the walk stops where a page is full. By id
//! or by key the walk covers all spilled jobs, and matching ones compete for the window.
//!
//! The next page continues the same pass. When its window is used up, the pass scans again, after the last job that it
//! showed and for a larger window. So a single page needs only a small window, and reading all pages rarely scans again.
//!
//! A pass looks at a bounded number of jobs at once, with other work in between. It finds every job that matches from its
//! beginning to its end. A job that changes meanwhile is shown once per page, in its state when the page is completed, if
//! it still matches.

use super::listing::{Goal, Listed, Listing, Stage};
use crate::Engine;
use crate::clock::Clock;
use crate::job::Job;
use crate::jobs::spilled::SpilledSlot;
use crate::jobs::{Found, Slot};
use crate::outcome::JobView;
use crate::store::{JobStore, WalkFrom, Walked};
use adjourn_types::{Filter, JobId, JobState, ListOrder, Millis, Position, Right, TopicId};

/// The cost of reading a job or its key from the store, in looks at jobs in memory; and one look more for each
/// [`BYTES_PER_LOOK`] of its body.
const READ_LOOKS: usize = 1024;
const BYTES_PER_LOOK: usize = 16;
/// The cost of checking the rights to a job's topic, in looks.
const RIGHT_LOOKS: usize = 8;

/// One step of a pass. Each job that it looks at takes 1 from `budget`; it stops at 0.
pub(crate) struct JobPass<'a, S: JobStore> {
    pub(crate) engine: &'a Engine,
    pub(crate) listing: &'a mut Listing<S::Walk>,
    pub(crate) budget: &'a mut usize,
    pub(crate) store: &'a mut S,
}

impl<S: JobStore> JobPass<'_, S> {
    /// Continues to the next job of the page, to the end of the page, or until the budget is used up.
    pub(crate) fn go_on(&mut self) -> Result<Listed, S::Error> {
        if !self.look_at_loaded()? {
            return Ok(Listed::NotYet);
        }
        if let Stage::Scan(slot) = self.listing.stage {
            if let Some(next) = self.scan(slot)? {
                self.listing.stage = Stage::Scan(next);
                return Ok(Listed::NotYet);
            }
            self.listing.stage = match (self.begin_walk(), &self.listing.goal) {
                (Some(walk), Goal::Count(counts)) if !self.listing.reads_spilled_jobs() => {
                    Stage::Count(walk, counts.of_spilled(self.listing.filter.due_before))
                }
                (Some(walk), _) if !self.listing.merges() => Stage::Walk(walk),
                (walk, _) => Stage::Show(walk),
            };
            self.listing.window.scanned_at = self.engine.clock.stamp;
        }
        if !self.count_spilled()? || !self.walk()? {
            return Ok(Listed::NotYet);
        }
        self.show_next()
    }

    /// Looks at the jobs that became resident since the pass began to scan: the scan may have passed their slots, and the
    /// walk does not come to them. Returns true if it has looked at all of them.
    fn look_at_loaded(&mut self) -> Result<bool, S::Error> {
        // A count may miss a job that changes meanwhile.
        if matches!(self.listing.goal, Goal::Count(_)) {
            return Ok(true);
        }
        let seen = *self.listing.window.loaded_seen.get_or_insert(self.engine.jobs.loaded().count());
        for count in seen..self.engine.jobs.loaded().count() {
            if *self.budget == 0 {
                self.listing.window.loaded_seen = Some(count);
                return Ok(false);
            }
            *self.budget -= 1;
            let Some(job) = self.engine.jobs.loaded().nth(count) else {
                self.listing.scan_again();
                return Ok(false);
            };
            let position = match self.engine.jobs.find(job) {
                None => None,
                Some(Found::Resident(slot)) => self.wanted_position(&self.engine.jobs[slot])?,
                Some(Found::Spilled(slot)) => {
                    let spilled = self.spilled_job(slot)?;
                    *self.budget = self.budget.saturating_sub(looks_to_read(&spilled));
                    self.wanted_position(&spilled)?
                }
            };
            if let Some(position) = position {
                self.listing.put_back(position, job);
            }
        }
        self.listing.window.loaded_seen = Some(self.engine.jobs.loaded().count());
        Ok(true)
    }

    /// Looks at resident jobs, from a slot on. Returns the slot to continue with; `None` at the end.
    fn scan(&mut self, from: Slot) -> Result<Option<Slot>, S::Error> {
        for (slot, job) in (from..).zip(self.engine.jobs.slots_from(from)) {
            if *self.budget == 0 {
                return Ok(Some(slot));
            }
            *self.budget -= 1;
            if let Some(job) = job
                && let Some(position) = self.wanted_position(job)?
            {
                self.listing.take(position, job.id);
            }
        }
        Ok(None)
    }

    /// Begins the walk over spilled jobs, if any may match. They are all delayed.
    fn begin_walk(&self) -> Option<S::Walk> {
        let may_match =
            self.listing.filter.states.contains(JobState::Delayed) && self.listing.filter.buried.is_none();
        if !may_match || self.engine.jobs.spilled().len() == 0 {
            return None;
        }
        let cursor = match &self.listing.after {
            Some(Position::Due(at, id)) => (*at, *id),
            _ => (Millis(0), JobId(0)),
        };
        let before_from = |from: Millis| (Millis(from.0.saturating_sub(1)), JobId(u64::MAX));
        let after = self.listing.filter.due_from.filter(|from| from.0 > 0).map(before_from);
        let after = after.map_or(cursor, |after| after.max(cursor));
        Some(self.store.walk(WalkFrom {
            topic: self.listing.topic,
            after,
            offset_ms: self.engine.clock.offset_ms,
        }))
    }

    /// Lets the store count the spilled jobs, if the pass is at that stage. Returns true when they are counted.
    fn count_spilled(&mut self) -> Result<bool, S::Error> {
        let Stage::Count(walk, spilled) = &mut self.listing.stage else { return Ok(true) };
        if !self.store.count_on(walk, spilled, self.budget)? {
            return Ok(false);
        }
        if let Goal::Count(counts) = &mut self.listing.goal {
            counts.add_spilled(spilled);
        }
        self.listing.stage = Stage::Show(None);
        Ok(true)
    }

    /// Walks over all spilled jobs, if the pass is at that stage. Returns true when the walk is complete.
    fn walk(&mut self) -> Result<bool, S::Error> {
        while let Stage::Walk(walk) = &mut self.listing.stage {
            match self.store.walk_on(walk, self.budget)? {
                Walked::Job { at, job } if !self.listing.is_past(at) => {
                    if let Some(position) = self.walked_position(at, job)? {
                        self.listing.take(position, job);
                    }
                }
                Walked::Until(at) if !self.listing.is_past(at) => return Ok(false),
                _ => {
                    self.listing.stage = Stage::Show(None);
                    self.listing.window.scanned_at = self.engine.clock.stamp;
                }
            }
        }
        Ok(true)
    }

    /// Walks to the next matching spilled job, unless a job of the window comes first or the page has used up its looks.
    /// Returns true if the next job of the list is known.
    fn look_ahead(&mut self) -> Result<bool, S::Error> {
        while self.listing.ahead.is_none()
            && self.listing.page.end.is_none()
            && self.listing.first_of_window().is_none()
            && let Stage::Show(Some(walk)) = &mut self.listing.stage
        {
            let had = *self.budget;
            let walked = self.store.walk_on(walk, self.budget)?;
            self.listing.page.looks_left =
                self.listing.page.looks_left.saturating_sub(had.saturating_sub(*self.budget));
            match walked {
                Walked::Job { at, job } if !self.listing.is_past(at) => {
                    self.listing.walked_to = self.listing.walked_to.max(at);
                    let had = *self.budget;
                    let position = self.walked_position(at, job)?;
                    self.listing.page.looks_left =
                        self.listing.page.looks_left.saturating_sub(had.saturating_sub(*self.budget));
                    match position {
                        Some(position) if position > Position::Due(at, job) => {
                            self.listing.put_back(position, job);
                        }
                        position => self.listing.ahead = position.map(|position| (position, job)),
                    }
                }
                Walked::Until(at) if !self.listing.is_past(at) => {
                    self.listing.walked_to = self.listing.walked_to.max(at);
                    self.listing.end_page_before(at);
                    if self.listing.page.end.is_none() {
                        return Ok(self.listing.first_of_window().is_some());
                    }
                }
                _ => self.listing.stage = Stage::Show(None),
            }
        }
        Ok(true)
    }

    /// The position of a job that the walk has reached, if it matches and is wanted.
    fn walked_position(&mut self, at: Millis, job: JobId) -> Result<Option<Position>, S::Error> {
        let spilled = match self.engine.jobs.find(job) {
            None => return Ok(None),
            Some(Found::Spilled(slot)) => slot,
            // It became resident after the scan, or was resident and is counted.
            Some(Found::Resident(slot)) => match &self.listing.goal {
                Goal::Page { .. } => {
                    return self.wanted_position(&self.engine.jobs[slot]);
                }
                Goal::Count(_) => return Ok(None),
            },
        };
        let position = match self.listing.order {
            ListOrder::Due => Some(Position::Due(at, job)),
            ListOrder::Id => Some(Position::Id(job)),
            ListOrder::Key => None,
        };
        match position {
            Some(position) if !self.listing.wants(&position) => Ok(None),
            Some(position) if !self.listing.reads_spilled_jobs() => Ok(Some(position)),
            _ => {
                let spilled = self.spilled_job(spilled)?;
                *self.budget = self.budget.saturating_sub(looks_to_read(&spilled));
                self.wanted_position(&spilled)
            }
        }
    }

    fn spilled_job(&mut self, spilled: SpilledSlot) -> Result<Job, S::Error> {
        let place = self.engine.jobs.spilled().place(spilled);
        Ok(self.store.spilled_job(place)?.into_job(place))
    }

    /// True if the caller may see the jobs of a topic.
    fn may_show(&self, topic: TopicId) -> bool {
        let Some(access) = &self.listing.shown_to else { return true };
        self.engine.topics.find(topic).is_some_and(|topic| access.has(Right::Read, topic.name.as_str()))
    }

    /// The position of a job, if it matches and is wanted.
    fn wanted_position(&mut self, job: &Job) -> Result<Option<Position>, S::Error> {
        if !meets(&self.listing.filter, self.listing.topic, job, self.engine.clock) {
            return Ok(None);
        }
        if self.listing.shown_to.is_some() {
            *self.budget = self.budget.saturating_sub(RIGHT_LOOKS);
            if !self.may_show(job.topic) {
                return Ok(None);
            }
        }
        let position = unkeyed_position(self.listing.order, job, self.engine.clock);
        if position.as_ref().is_some_and(|position| !self.listing.wants(position)) {
            return Ok(None);
        }
        if position.is_some() && self.listing.filter.key_prefix.is_none() {
            return Ok(position);
        }
        *self.budget = self.budget.saturating_sub(looks_to_read(job));
        let prefix = self.listing.filter.key_prefix.as_deref().unwrap_or_default();
        let Some(key) = self.store.key(job.body)?.filter(|key| key.starts_with(prefix)) else {
            return Ok(None);
        };
        let position = position.unwrap_or(Position::Key(key, job.id));
        Ok(self.listing.wants(&position).then_some(position))
    }

    fn show_next(&mut self) -> Result<Listed, S::Error> {
        while *self.budget > 0 {
            if matches!(self.listing.goal, Goal::Page { jobs_left: 0 }) {
                let next = self.listing.after.clone().filter(|_| self.listing.has_more());
                return Ok(Listed::End { next, counts: Vec::new() });
            }
            if self.listing.window.jobs.is_empty() && self.listing.window.left_out {
                self.listing.scan_again();
                return Ok(Listed::NotYet);
            }
            if !self.look_ahead()? {
                return Ok(Listed::NotYet);
            }
            let Some((position, job)) = self.listing.take_next() else {
                let counts =
                    if let Goal::Count(counts) = &mut self.listing.goal { counts.take() } else { Vec::new() };
                let next = self.listing.page.end.take();
                if next.is_some() {
                    self.listing.after.clone_from(&next);
                }
                return Ok(Listed::End { next, counts });
            };
            *self.budget = self.budget.saturating_sub(READ_LOOKS);
            if let Some(view) = self.show(&position, job)? {
                *self.budget = self.budget.saturating_sub(view.body.body_bytes as usize / BYTES_PER_LOOK);
                return Ok(Listed::Job(Box::new(view)));
            }
        }
        Ok(Listed::NotYet)
    }

    /// Shows a job that was found at this position, if it still matches and is not on the page yet. If its position has
    /// moved on, it is shown there.
    fn show(&mut self, position: &Position, id: JobId) -> Result<Option<JobView>, S::Error> {
        self.listing.after = Some(position.clone());
        let spilled;
        let job = match self.engine.jobs.find(id) {
            None => return Ok(None),
            Some(Found::Resident(slot)) => &self.engine.jobs[slot],
            Some(Found::Spilled(slot)) => {
                spilled = self.spilled_job(slot)?;
                &spilled
            }
        };
        if !meets(&self.listing.filter, self.listing.topic, job, self.engine.clock)
            || !self.may_show(job.topic)
        {
            return Ok(None);
        }
        if let Some(now) = unkeyed_position(self.listing.order, job, self.engine.clock)
            && now > *position
        {
            self.listing.put_back(now, id);
            return Ok(None);
        }
        if !self.listing.page.shown.insert(id) {
            return Ok(None);
        }
        if let Goal::Page { jobs_left } = &mut self.listing.goal {
            *jobs_left -= 1;
        }
        Ok(Some(self.engine.view(job)))
    }

    /// The job to be reserved next: the first ready one, else the one that a [pass](Listing::first_delayed) finds.
    pub(crate) fn peek(&mut self) -> Result<Listed, S::Error> {
        let none = Listed::End { next: None, counts: Vec::new() };
        let Some(id) = self.listing.topic else { return Ok(none) };
        let Some(topic) = self.engine.topics.find(id) else { return Ok(none) };
        let stamp = self.engine.clock.stamp;
        if let Some((.., slot)) = topic.next(stamp).or_else(|| topic.first_ready()) {
            let view = self.engine.view(&self.engine.jobs[slot]);
            return Ok(Listed::Job(Box::new(view)));
        }
        if topic.delayed == 0 {
            return Ok(none);
        }
        let listed = self.go_on()?;
        let is_gone = matches!(listed, Listed::End { .. }) || self.listing.position().is_some();
        if matches!(listed, Listed::Job(_)) || !is_gone {
            return Ok(listed);
        }
        // The job that was found is gone, and another one may be first now.
        *self.listing = Listing::first_delayed(Some(id));
        Ok(Listed::NotYet)
    }
}

/// The position of a job in an order that does not need its key.
fn unkeyed_position(order: ListOrder, job: &Job, clock: Clock) -> Option<Position> {
    match order {
        ListOrder::Due => Some(Position::Due(list_time(job, clock), job.id)),
        ListOrder::Id => Some(Position::Id(job.id)),
        ListOrder::Key => None,
    }
}

/// True if a job meets a filter's conditions, except those on the topic's name and the key.
pub(crate) fn meets(filter: &Filter, topic: Option<TopicId>, job: &Job, clock: Clock) -> bool {
    let at = list_time(job, clock);
    topic.is_none_or(|topic| job.topic == topic)
        && filter.states.contains(job.state)
        && filter.attempts_min.is_none_or(|min| job.attempts >= min)
        && filter.attempts_max.is_none_or(|max| job.attempts <= max)
        && filter.buried.is_none_or(|why| job.state == JobState::Buried && job.buried == why)
        && filter.due_from.is_none_or(|from| at >= from)
        && filter.due_before.is_none_or(|before| at < before)
        && filter.reason.as_ref().is_none_or(|text| has_reason(job, text))
        && filter.group.as_ref().is_none_or(|group| job.group().is_some_and(|of| **of == *group.as_str()))
}

/// The time by which a job is listed: its due time, or its expiry if that comes first while it is delayed.
fn list_time(job: &Job, clock: Clock) -> Millis {
    let waits = job.state == JobState::Delayed;
    clock.as_wall(if waits { job.waits_for() } else { job.due() })
}

fn looks_to_read(job: &Job) -> usize {
    READ_LOOKS + job.body.body_bytes as usize / BYTES_PER_LOOK
}

fn has_reason(job: &Job, text: &str) -> bool {
    job.past().and_then(|past| past.reason.as_deref()).is_some_and(|reason| reason.contains(text))
}
