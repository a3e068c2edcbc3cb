//! The progress of a pass over the jobs, for a list or a count, and its *window*: the first matching jobs after the cursor.
//! [`Engine::list`] looks at the jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::jobs::Slot;
use crate::outcome::JobView;
use crate::store::TimerCounts;
use crate::{Engine, NoSuchTopic};
use adjourn_types::limits::{LIST_JOBS_MAX, LIST_LOOKS_MAX};
use adjourn_types::{
    Access, DueBars, Filter, JobId, JobState, ListOrder, Millis, Position, States, TopicId, TopicName,
};

/// Window of a pass that continues after its first page, in jobs. By id or key, filling it takes a scan of all jobs.
const WINDOW_JOBS: usize = 65_536;
/// The same by key: keys take memory.
const WINDOW_JOBS_BY_KEY: usize = 8_192;
/// A pass whose window is older than this scans again before its next page. A spilled job stays spilled for longer: see
/// [`HORIZON_MS`](crate::HORIZON_MS).
const WINDOW_MS_MAX: u64 = 60_000;

/// A pass over the jobs. `W` is the store's walk.
#[derive(Clone, Debug)]
pub struct Listing<W> {
    pub(crate) filter: Filter,
    /// The filter's topic; `None` for all.
    pub(crate) topic: Option<TopicId>,
    /// The access of the caller, who sees only jobs of topics that it may read; `None` for all.
    pub(crate) shown_to: Option<Arc<Access>>,
    pub(crate) goal: Goal,
    pub(crate) order: ListOrder,
    /// The position of the last job shown; the next job comes after it.
    pub(crate) after: Option<Position>,
    pub(crate) stage: Stage<W>,
    pub(crate) window: Window,
    /// The spilled jobs before this time are all in the window, in `ahead`, or shown.
    pub(crate) walked_to: Millis,
    /// By due time: the next spilled job.
    pub(crate) ahead: Option<(Position, JobId)>,
    pub(crate) page: Page,
}

/// The first jobs that were found and not shown yet.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) jobs: BTreeMap<Position, JobId>,
    pub(crate) jobs_max: usize,
    /// Matching jobs were left out because it was full.
    pub(crate) left_out: bool,
    /// When the scan for it ended.
    pub(crate) scanned_at: Millis,
    /// How many jobs had been [loaded](crate::jobs::loaded) when the pass last looked at them; `None` before the scan.
    pub(crate) loaded_seen: Option<u64>,
}

/// The page that the caller reads.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// The position of the last job shown when it began.
    pub(crate) after: Option<Position>,
    /// Set if it ends here because its looks are used up.
    pub(crate) end: Option<Position>,
    /// Its jobs.
    pub(crate) shown: BTreeSet<JobId>,
    /// The looks that are left for it.
    pub(crate) looks_left: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// The next `jobs_left` jobs after the cursor.
    Page { jobs_left: usize },
    /// Counts the jobs that match.
    Count(DueCounts),
}

/// How many jobs were counted, by the time at which they are listed.
#[derive(Clone, Debug)]
pub(crate) struct DueCounts {
    bars: Option<DueBars>,
    /// Of each part of the time; without bars all are in one. Empty before the first job: a pass may wait for long.
    counts: Vec<u64>,
}

impl DueCounts {
    pub(crate) fn add(&mut self, at: Millis, jobs: u64) {
        self.counts.resize(self.parts(), 0);
        let part = self.bars.map_or(0, |bars| bars.part(at));
        if let Some(count) = self.counts.get_mut(part) {
            *count += jobs;
        }
    }

    /// What the store has to count, of the jobs that are due before `end`.
    pub(crate) fn of_spilled(&self, end: Option<Millis>) -> TimerCounts {
        let inner = self.bars.into_iter().flat_map(DueBars::bounds);
        let bounds: Vec<Millis> =
            inner.take_while(|bound| end.is_none_or(|end| *bound < end)).chain(end).collect();
        let counts = vec![0; bounds.len() + usize::from(end.is_none())];
        TimerCounts { bounds, counts }
    }

    /// Adds what the store has counted.
    pub(crate) fn add_spilled(&mut self, spilled: &TimerCounts) {
        let last_of_each = spilled.bounds.iter().map(|bound| Millis(bound.0.saturating_sub(1)));
        for (at, jobs) in last_of_each.chain([Millis(u64::MAX)]).zip(&spilled.counts) {
            self.add(at, *jobs);
        }
    }

    pub(crate) fn take(&mut self) -> Vec<u64> {
        self.counts.resize(self.parts(), 0);
        std::mem::take(&mut self.counts)
    }

    fn parts(&self) -> usize {
        self.bars.map_or(1, DueBars::parts)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Stage<W> {
    /// Scanning the resident jobs, from this slot on.
    Scan(Slot),
    /// Walking over all spilled jobs, to fill the window or to count them.
    Walk(W),
    /// The store counts the spilled jobs: its index suffices.
    Count(W, TimerCounts),
    /// Showing the window; by due time merged with a walk, while spilled jobs are left.
    Show(Option<W>),
}

/// How far a step of a pass has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The budget is used up.
    NotYet,
    /// To the next job of the page.
    Job(Box<JobView>),
    /// To the end of the page.
    End {
        /// The position after which the next page continues; `None` if this is the last page.
        next: Option<Position>,
        /// The result of a [count](Listing::count): of each part of the time, or of all of it.
        counts: Vec<u64>,
    },
}

impl<W> Listing<W> {
    /// Lists up to `jobs_max` jobs after `after`, a position in the same order. `None` if the filter names a topic that
    /// does not exist: then no job matches.
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

    /// Counts the jobs that match, with `bars` by the time at which they are listed. A job that changes meanwhile, or moves
    /// between memory and the store, may be counted once, twice or not at all.
    pub fn count(engine: &Engine, filter: Filter, bars: Option<DueBars>) -> Option<Self> {
        let topic = filter_topic(engine, &filter).ok()?;
        let counts = DueCounts { bars, counts: Vec::new() };
        Some(Self::of(filter, topic, Goal::Count(counts), ListOrder::Due, None))
    }

    /// Finds the delayed job of a topic, or of all topics, that is due first.
    pub fn first_delayed(topic: Option<TopicId>) -> Self {
        let filter = Filter { states: States::of([JobState::Delayed]), ..Filter::default() };
        let goal = Goal::Page { jobs_left: 1 };
        let mut listing = Self::of(filter, topic, goal, ListOrder::Due, None);
        listing.page.looks_left = usize::MAX;
        listing
    }

    fn of(
        filter: Filter,
        topic: Option<TopicId>,
        goal: Goal,
        order: ListOrder,
        after: Option<Position>,
    ) -> Self {
        let window = Window {
            jobs: BTreeMap::new(),
            jobs_max: if let Goal::Page { jobs_left } = &goal { *jobs_left } else { 0 },
            left_out: false,
            scanned_at: Millis(0),
            loaded_seen: None,
        };
        let page =
            Page { after: after.clone(), end: None, shown: BTreeSet::new(), looks_left: LIST_LOOKS_MAX };
        Self {
            filter,
            topic,
            shown_to: None,
            goal,
            order,
            after,
            stage: Stage::Scan(0),
            window,
            walked_to: Millis(0),
            ahead: None,
            page,
        }
    }

    /// Skips the jobs of topics that the holder of `access` may not read.
    #[must_use]
    pub fn shown_to(self, access: Arc<Access>) -> Self {
        Self { shown_to: Some(access), ..self }
    }

    /// Continues with the next page, after the one that ended.
    pub fn next_page(&mut self, engine: &Engine, jobs_max: usize) {
        self.goal = Goal::Page { jobs_left: jobs_max };
        self.page.after.clone_from(&self.after);
        self.page.end = None;
        self.page.shown.clear();
        self.page.looks_left = LIST_LOOKS_MAX;
        self.window.jobs_max = if self.order == ListOrder::Key { WINDOW_JOBS_BY_KEY } else { WINDOW_JOBS };
        if let Ok(topic) = filter_topic(engine, &self.filter)
            && topic != self.topic
        {
            // The topic was forgotten, and a new one has its name.
            self.topic = topic;
            self.scan_again();
        }
        if self.is_outdated(engine) {
            self.scan_again();
        }
    }

    /// True if its window may be large: it has continued after its first page.
    pub fn is_large(&self) -> bool {
        self.window.jobs_max > LIST_JOBS_MAX as usize
    }

    /// True if the window is too old to continue with.
    pub fn is_outdated(&self, engine: &Engine) -> bool {
        engine.clock.stamp.0 > self.window.scanned_at.0.saturating_add(WINDOW_MS_MAX)
    }

    /// True if this pass filled its window later than `other`.
    pub fn scanned_later_than(&self, other: &Self) -> bool {
        self.window.scanned_at > other.window.scanned_at
    }

    /// Ends this page after this many looks. For tests: the default is [`LIST_LOOKS_MAX`].
    pub fn set_looks_max(&mut self, looks_max: usize) {
        self.page.looks_left = looks_max;
    }

    /// The position of the last job shown.
    pub fn position(&self) -> Option<&Position> {
        self.after.as_ref()
    }

    /// True if spilled jobs are merged with the window while it is shown.
    pub(crate) fn merges(&self) -> bool {
        self.order == ListOrder::Due && matches!(self.goal, Goal::Page { .. })
    }

    /// True if the walk cannot find a match at `at` or later.
    pub(crate) fn is_past(&self, at: Millis) -> bool {
        self.filter.due_before.is_some_and(|before| at >= before)
    }

    /// True if a matching job at this position belongs into the window, or is to be shown.
    pub(crate) fn wants(&mut self, position: &Position) -> bool {
        if self.after.as_ref().is_some_and(|after| position <= after) {
            return false;
        }
        let merges_it = matches!(self.stage, Stage::Show(_));
        let is_full =
            self.window.jobs.len() >= self.window.jobs_max && matches!(self.goal, Goal::Page { .. });
        let fits = merges_it
            || !is_full
            || self.window.jobs.last_key_value().is_some_and(|(last, _)| position < last);
        self.window.left_out |= !fits;
        fits
    }

    /// Takes a [wanted](Self::wants) job into the window, or counts it.
    pub(crate) fn take(&mut self, position: Position, job: JobId) {
        if let Goal::Count(counts) = &mut self.goal {
            if let Position::Due(at, _) = position {
                counts.add(at, 1);
            }
            return;
        }
        self.window.jobs.insert(position, job);
        if self.window.jobs.len() > self.window.jobs_max {
            self.window.jobs.pop_last();
            self.window.left_out = true;
        }
    }

    /// Takes a job whose position has moved on. If it comes after a full window, the next scan finds it.
    pub(crate) fn put_back(&mut self, position: Position, job: JobId) {
        if !self.window.left_out
            || self.window.jobs.last_key_value().is_some_and(|(last, _)| position < *last)
        {
            self.take(position, job);
        }
    }

    /// Restarts the scan after the last job that was shown: the window is used up, or too old.
    pub(crate) fn scan_again(&mut self) {
        self.stage = Stage::Scan(0);
        self.window.jobs.clear();
        self.window.left_out = false;
        self.window.loaded_seen = None;
        self.walked_to = Millis(0);
        self.ahead = None;
        self.page.end = None;
    }

    /// Ends the page at the walk's time, if the page has used up its looks and is further than the page before.
    pub(crate) fn end_page_before(&mut self, at: Millis) {
        let mut end = Position::Due(at, JobId(0));
        if let Some(after) = self.after.as_ref().filter(|after| **after > end) {
            end = after.clone();
        }
        let from = Position::Due(self.filter.due_from.unwrap_or_default(), JobId(u64::MAX));
        if self.page.looks_left == 0 && end > *self.page.after.as_ref().unwrap_or(&from) {
            self.page.end = Some(end);
        }
    }

    /// The first job of the window, if the walk can no longer find a spilled job before it.
    pub(crate) fn first_of_window(&self) -> Option<&Position> {
        let (first, _) = self.window.jobs.first_key_value()?;
        let is_walked_over = !matches!(self.stage, Stage::Show(Some(_)))
            || self.ahead.is_some()
            || *first < Position::Due(self.walked_to, JobId(0));
        is_walked_over.then_some(first)
    }

    /// Removes and returns the next job to show.
    pub(crate) fn take_next(&mut self) -> Option<(Position, JobId)> {
        let first =
            self.first_of_window().filter(|first| self.page.end.as_ref().is_none_or(|end| *first < end));
        match (first, &self.ahead) {
            (Some(first), Some((ahead, _))) if ahead < first => self.ahead.take(),
            (Some(first), Some((ahead, _))) if ahead == first => {
                self.ahead = None;
                self.window.jobs.pop_first()
            }
            (Some(_), _) => self.window.jobs.pop_first(),
            (None, _) => self.ahead.take(),
        }
    }

    /// True if another job may follow the full page.
    pub(crate) fn has_more(&self) -> bool {
        !self.window.jobs.is_empty()
            || self.window.left_out
            || !matches!(self.stage, Stage::Show(None))
            || self.ahead.is_some()
    }

    /// True if the store's index does not suffice to decide whether a spilled job matches.
    pub(crate) fn reads_spilled_jobs(&self) -> bool {
        let Filter { attempts_min, attempts_max, key_prefix, reason, group, .. } = &self.filter;
        let by_record =
            attempts_min.is_some() || attempts_max.is_some() || reason.is_some() || group.is_some();
        by_record || key_prefix.is_some() || self.shown_to.is_some()
    }
}

fn filter_topic(engine: &Engine, filter: &Filter) -> Result<Option<TopicId>, NoSuchTopic> {
    engine.known_or_all(filter.topic.as_ref().map(TopicName::as_str))
}
