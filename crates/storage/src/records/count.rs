//! Counts the spilled jobs of all chunks by the time of their timers, without visiting each.
//!
//! The rows of a chunk are sorted by (timeline, time, id), so the jobs between two times are the bits between two rows. Only
//! a chunk with rows of several topics is read, if one of them is asked for: its index says which rows belong to it.
//!
//! The chunks are counted as they were at the beginning: their bitmaps are copied on write, and a chunk that is dropped
//! meanwhile stays readable.

use std::sync::Arc;

use super::walk::Walk;
use super::{Bits, JOBS_PER_PART, Records};
use crate::StorageError;
use crate::chunks::{Chunk, PIECE_ROWS};
use adjourn_engine::{Timeline, TimerCounts, WalkFrom};
use adjourn_types::Millis;

/// The rows of a timeline of a chunk that are not counted yet.
#[derive(Clone, Debug)]
pub(super) struct ToCount {
    chunk: Arc<Chunk>,
    spilled: Arc<Bits>,
    timeline: Timeline,
    /// The first and last time of the wanted timers, on either timeline.
    times: (u64, u64),
    /// True if there are rows of other topics than the wanted one.
    is_mixed: bool,
    /// True if the rows before the beginning of the walk are passed.
    is_begun: bool,
    next: u32,
    end: u32,
    /// How many bounds come before the next row.
    bar: usize,
}

impl Records {
    /// Continues a count: see [`JobStore::count_on`](adjourn_engine::JobStore::count_on).
    pub(super) fn count_further(
        &self,
        walk: &mut Walk,
        counts: &mut TimerCounts,
        budget: &mut usize,
    ) -> Result<bool, StorageError> {
        let mut runs = walk.to_count.take().unwrap_or_else(|| self.runs(walk.from));
        while let Some(run) = runs.last_mut() {
            if *budget == 0 {
                walk.to_count = Some(runs);
                return Ok(false);
            }
            *budget -= 1;
            if run.go_on(walk, counts, budget)? {
                runs.pop();
            }
        }
        walk.to_count = Some(runs);
        Ok(true)
    }

    fn runs(&self, from: WalkFrom) -> Vec<ToCount> {
        let mut runs = Vec::new();
        for held in self.chunks.values().filter(|held| held.spilled.count() > 0) {
            let Some(times) = held.times(from.topic) else { continue };
            let is_mixed = from.topic.is_some() && held.chunk.summary().topics.len() > 1;
            let timelines = Timeline::ALL.into_iter();
            runs.extend(timelines.filter(|one| held.begin(*one) < held.end(*one)).map(|timeline| ToCount {
                chunk: Arc::clone(&held.chunk),
                spilled: Arc::clone(&held.spilled),
                timeline,
                times,
                is_mixed,
                is_begun: false,
                next: held.begin(timeline),
                end: held.end(timeline),
                bar: 0,
            }));
        }
        runs
    }
}

impl ToCount {
    /// Counts to the next bound, or a piece of the index. Returns true at its end.
    fn go_on(
        &mut self,
        walk: &Walk,
        counts: &mut TimerCounts,
        budget: &mut usize,
    ) -> Result<bool, StorageError> {
        if !self.is_begun {
            let (after, _) = walk.from.after;
            let at = walk.on_timeline(self.timeline, after.after(1)).max(self.times.0);
            self.next = self.row_from(at, budget)?;
            self.is_begun = true;
        }
        if self.is_mixed || self.has_more_bounds_than_pieces(walk, &counts.bounds) {
            return self.read_piece(walk, counts, budget);
        }
        let Some(count) = counts.counts.get_mut(self.bar) else { return Ok(true) };
        let end = match counts.bounds.get(self.bar) {
            Some(bound) => self.row_from(walk.on_timeline(self.timeline, *bound), budget)?,
            None => self.end,
        };
        *count += u64::from(self.spilled.count_between(self.next, end));
        self.next = end;
        self.bar += 1;
        Ok(end >= self.end)
    }

    /// True if it takes fewer reads to look at each row than to find the row of each bound.
    fn has_more_bounds_than_pieces(&self, walk: &Walk, bounds: &[Millis]) -> bool {
        let last = walk.wall(self.timeline, self.times.1);
        let bounds = bounds.get(self.bar..).unwrap_or_default().partition_point(|bound| *bound <= last);
        bounds > self.end.saturating_sub(self.next).div_ceil(PIECE_ROWS) as usize
    }

    /// The first row from the next one on whose timer fires at this time of its timeline or later.
    fn row_from(&self, at: u64, budget: &mut usize) -> Result<u32, StorageError> {
        let (first, last) = self.times;
        if at <= first && !self.is_mixed {
            return Ok(self.next);
        }
        if at > last {
            return Ok(self.end);
        }
        *budget = budget.saturating_sub(JOBS_PER_PART);
        Ok(self.chunk.first_row_from(self.timeline.number(), at)?.clamp(self.next, self.end))
    }

    /// Counts the rows of the topic in a piece of the index. Returns true at the end.
    fn read_piece(
        &mut self,
        walk: &Walk,
        counts: &mut TimerCounts,
        budget: &mut usize,
    ) -> Result<bool, StorageError> {
        let first = self.next;
        if first >= self.end {
            return Ok(true);
        }
        *budget = budget.saturating_sub(JOBS_PER_PART);
        let mut heads = Vec::new();
        self.chunk.read_heads(first, &mut heads)?;
        if heads.is_empty() {
            return Err(self.chunk.bad_row(first));
        }
        for (row, head) in (first..self.end).zip(&heads) {
            if head.at > self.times.1 {
                return Ok(true);
            }
            self.next = row + 1;
            let at = walk.wall(self.timeline, head.at);
            while counts.bounds.get(self.bar).is_some_and(|bound| *bound <= at) {
                self.bar += 1;
            }
            let Some(count) = counts.counts.get_mut(self.bar) else { return Ok(true) };
            let is_wanted = walk.from.topic.is_none_or(|topic| topic.0 == head.topic);
            *count += u64::from(is_wanted && self.spilled.get(row));
        }
        Ok(false)
    }
}
