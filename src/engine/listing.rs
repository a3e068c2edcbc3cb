//! A pass over the jobs, for a list or a count: how far it has come, and its *window*, the first matching jobs behind the
//! cursor. [`Engine::list`] looks at the jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::jobs::Slot;
use super::outcome::JobView;
use super::{Engine, NoSuchTopic};
use crate::types::limits::{LIST_JOBS_MAX, LIST_LOOKS_MAX};
use crate::types::{
    Access, Filter, JobId, JobState, ListOrder, Millis, Position, States, TopicId, TopicName,
};

/// Jobs in the window of a pass that goes on after its first page. A pass by id or key visits all jobs for each window.
const WINDOW_JOBS: usize = 65_536;
/// The same by key: keys take memory, too.
const WINDOW_JOBS_BY_KEY: usize = 8_192;
/// A pass that was begun so long ago scans again before its next page. A spilled job stays spilled for longer than
/// this: see [`HORIZON_MS`](super::HORIZON_MS).
const WINDOW_MS_MAX: u64 = 60_000;

/// A pass over the jobs. `W` is the store's walk.
#[derive(Clone, Debug)]
pub struct Listing<W> {
    pub(super) filter: Filter,
    /// The filter's topic; `None` for all.
    pub(super) topic: Option<TopicId>,
    /// Shows only jobs of topics that one may read who has this access; `None` for all.
    pub(super) shown_to: Option<Arc<Access>>,
    pub(super) goal: Goal,
    pub(super) order: ListOrder,
    /// The position of the last job shown; the next one comes after it.
    pub(super) after: Option<Position>,
    /// The same when the page began.
    pub(super) page_after: Option<Position>,
    pub(super) stage: Stage<W>,
    /// The first jobs that were found and not shown yet.
    pub(super) window: BTreeMap<Position, JobId>,
    pub(super) window_max: usize,
    /// Others were found behind the window.
    pub(super) left_out: bool,
    /// When the scan for the window ended.
    pub(super) scanned_at: Millis,
    /// How many jobs had been [loaded](super::loaded) when the pass looked at those last; `None` before it scans.
    pub(super) loaded_seen: Option<u64>,
    /// All spilled jobs that come before this time are in the window, ahead or shown.
    pub(super) walked_to: Millis,
    /// By due time: the next spilled job.
    pub(super) ahead: Option<(Position, JobId)>,
    /// The page ends here, as it has looked at enough.
    pub(super) page_end: Option<Position>,
    /// Jobs of this page.
    pub(super) shown: BTreeSet<JobId>,
    /// What the page may look at before it ends.
    pub(super) looks_left: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// The next `jobs_left` jobs after the cursor.
    Page { jobs_left: usize },
    /// How many match.
    Count { jobs: u64 },
}

#[derive(Clone, Debug)]
pub(super) enum Stage<W> {
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
        let topic = filter_topic(engine, &filter).ok()?;
        Some(Self::of(filter, topic, Goal::Page { jobs_left: jobs_max }, order, after))
    }

    /// Counts the jobs that match. A job that changes meanwhile may be counted once, twice or not at all.
    pub fn count(engine: &Engine, filter: Filter) -> Option<Self> {
        let topic = filter_topic(engine, &filter).ok()?;
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
            shown_to: None,
            goal,
            order,
            page_after: after.clone(),
            after,
            stage: Stage::Scan(0),
            window: BTreeMap::new(),
            window_max,
            left_out: false,
            scanned_at: Millis(0),
            loaded_seen: None,
            walked_to: Millis(0),
            ahead: None,
            page_end: None,
            shown: BTreeSet::new(),
            looks_left: LIST_LOOKS_MAX,
        }
    }

    /// Passes over the jobs of topics that one may not read who has this access, as if there were none.
    #[must_use]
    pub fn shown_to(self, access: Arc<Access>) -> Self {
        Self { shown_to: Some(access), ..self }
    }

    /// Goes on with the next page, behind the one that ended.
    pub fn next_page(&mut self, engine: &Engine, jobs_max: usize) {
        self.goal = Goal::Page { jobs_left: jobs_max };
        self.page_after.clone_from(&self.after);
        self.page_end = None;
        self.shown.clear();
        self.looks_left = LIST_LOOKS_MAX;
        self.window_max = if self.order == ListOrder::Key { WINDOW_JOBS_BY_KEY } else { WINDOW_JOBS };
        if let Ok(topic) = filter_topic(engine, &self.filter)
            && topic != self.topic
        {
            // It was forgotten, and another one has its name.
            self.topic = topic;
            self.scan_again();
        }
        if self.is_outdated(engine) {
            self.scan_again();
        }
    }

    /// Whether it may have a large window: that of a pass that goes on after its first page.
    pub fn is_large(&self) -> bool {
        self.window_max > LIST_JOBS_MAX as usize
    }

    /// Whether the window was found too long ago to go on with it.
    pub fn is_outdated(&self, engine: &Engine) -> bool {
        engine.clock.stamp.0 > self.scanned_at.0.saturating_add(WINDOW_MS_MAX)
    }

    /// Whether it found its window later than another pass.
    pub fn scanned_later_than(&self, other: &Self) -> bool {
        self.scanned_at > other.scanned_at
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
    pub(super) fn merges(&self) -> bool {
        self.order == ListOrder::Due && matches!(self.goal, Goal::Page { .. })
    }

    /// Whether what a walk comes to from `at` on cannot match.
    pub(super) fn is_past(&self, at: Millis) -> bool {
        self.filter.due_before.is_some_and(|before| at >= before)
    }

    /// Whether a job at this position is to be shown by this pass, if it matches.
    pub(super) fn wants(&mut self, position: &Position) -> bool {
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
    pub(super) fn take(&mut self, position: Position, job: JobId) {
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
    pub(super) fn put_back(&mut self, position: Position, job: JobId) {
        if !self.left_out || self.window.last_key_value().is_some_and(|(last, _)| position < *last) {
            self.take(position, job);
        }
    }

    /// Scans again behind the last job that was shown: the window is used up, or too old.
    pub(super) fn scan_again(&mut self) {
        self.stage = Stage::Scan(0);
        self.window.clear();
        self.left_out = false;
        self.loaded_seen = None;
        self.walked_to = Millis(0);
        self.ahead = None;
        self.page_end = None;
    }

    /// Ends the page where the walk is, if it has looked at enough and has come further than the one before.
    pub(super) fn end_page_before(&mut self, at: Millis) {
        let mut end = Position::Due(at, JobId(0));
        if let Some(after) = self.after.as_ref().filter(|after| **after > end) {
            end = after.clone();
        }
        let from = Position::Due(self.filter.due_from.unwrap_or_default(), JobId(u64::MAX));
        if self.looks_left == 0 && end > *self.page_after.as_ref().unwrap_or(&from) {
            self.page_end = Some(end);
        }
    }

    /// The first job of the window, if no spilled job that has not been walked over comes before it.
    pub(super) fn first_of_window(&self) -> Option<&Position> {
        let (first, _) = self.window.first_key_value()?;
        let is_walked_over = !matches!(self.stage, Stage::Show(Some(_)))
            || self.ahead.is_some()
            || *first < Position::Due(self.walked_to, JobId(0));
        is_walked_over.then_some(first)
    }

    /// Removes and returns the next job to show.
    pub(super) fn take_next(&mut self) -> Option<(Position, JobId)> {
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
    pub(super) fn has_more(&self) -> bool {
        !self.window.is_empty()
            || self.left_out
            || !matches!(self.stage, Stage::Show(None))
            || self.ahead.is_some()
    }

    /// Whether it takes more than the index of the store to tell if a spilled job matches.
    pub(super) fn reads_spilled_jobs(&self) -> bool {
        let Filter { attempts_min, attempts_max, key_prefix, reason, .. } = &self.filter;
        let by_record = attempts_min.is_some() || attempts_max.is_some() || reason.is_some();
        by_record || key_prefix.is_some() || self.shown_to.is_some()
    }
}

fn filter_topic(engine: &Engine, filter: &Filter) -> Result<Option<TopicId>, NoSuchTopic> {
    engine.known_or_all(filter.topic.as_ref().map(TopicName::as_str))
}
