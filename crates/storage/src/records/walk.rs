//! A walk over the spilled jobs of all chunks, in the order of their timers on the wall clock.
//!
//! The rows of a chunk are sorted by (timeline, time, id). Each timeline of each chunk is a *run*, and a heap merges
//! the runs. A run is opened when the merge reaches the earliest time that it can hold, and read a piece of the
//! index at a time: a chunk holds jobs of few hours, so few runs are open at once.
//!
//! A walk lasts many turns of the core. If chunks are added or removed meanwhile, rows have moved between them: the
//! walk restarts after the last row that it reached.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::count::ToCount;
use super::{JOBS_PER_PART, LiveChunk, Records};
use crate::StorageError;
use adjourn_engine::{Timeline, WalkFrom, Walked};
use adjourn_types::{JobId, Millis};

/// The state of a walk.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Where a restart goes on.
    pub(super) from: WalkFrom,
    /// The generation of the chunks that it was begun with.
    generation: Option<u64>,
    /// The next turn of each run.
    next: BinaryHeap<Reverse<WalkOrder>>,
    /// The runs that are open.
    open: BTreeMap<RunId, Run>,
    /// What is to be counted, if it [counts](super::count).
    pub(super) to_count: Option<Vec<ToCount>>,
}

/// A chunk and a timeline.
type RunId = (u32, Timeline);

/// A row; or a run to read on, with [`READ_ON`] for the id: its next rows come no earlier than the time.
type WalkOrder = (Millis, JobId, RunId);

/// No job has this id.
const READ_ON: JobId = JobId(0);

/// The rows of a run that were read, but not visited.
#[derive(Clone, Debug, Default)]
struct Run {
    rows: VecDeque<(Millis, JobId, u32)>,
    /// The first row that was not read; `None` before the run was opened.
    next_row: Option<u32>,
}

impl Walk {
    pub(super) fn new(from: WalkFrom) -> Self {
        Self { from, generation: None, next: BinaryHeap::new(), open: BTreeMap::new(), to_count: None }
    }

    pub(super) fn wall(&self, timeline: Timeline, at: u64) -> Millis {
        match timeline {
            Timeline::Stamp => Millis(at.saturating_add_signed(self.from.offset_ms)),
            Timeline::Wall => Millis(at),
        }
    }

    /// Converts a time of the wall clock to this timeline.
    pub(super) fn on_timeline(&self, timeline: Timeline, wall: Millis) -> u64 {
        match timeline {
            Timeline::Stamp => wall.0.saturating_add_signed(self.from.offset_ms.saturating_neg()),
            Timeline::Wall => wall.0,
        }
    }
}

impl Records {
    /// Continues a walk: see [`JobStore::walk_on`](adjourn_engine::JobStore::walk_on).
    pub(super) fn walk_further(&self, walk: &mut Walk, budget: &mut usize) -> Result<Walked, StorageError> {
        if walk.generation != Some(self.generation) {
            self.begin_walk(walk);
        }
        while let Some(Reverse((at, job, run))) = walk.next.peek().copied() {
            if *budget == 0 {
                return Ok(Walked::Until(at));
            }
            walk.next.pop();
            let (chunk, timeline) = run;
            let Some(held) = self.chunks.get(&chunk) else { continue };
            if job == READ_ON {
                *budget = budget.saturating_sub(JOBS_PER_PART);
                read_on(walk, held, run, at)?;
                continue;
            }
            *budget -= 1;
            let row = walk.open.get_mut(&run).and_then(|open| open.rows.pop_front());
            enqueue(walk, held, run, at);
            let is_live = row.is_some_and(|(.., row)| held.live.get(row) && held.timeline(row) == timeline);
            if is_live && (at, job) > walk.from.after {
                walk.from.after = (at, job);
                return Ok(Walked::Job { at, job });
            }
        }
        Ok(Walked::End)
    }

    fn begin_walk(&self, walk: &mut Walk) {
        walk.generation = Some(self.generation);
        walk.next.clear();
        walk.open.clear();
        for (chunk, held) in &self.chunks {
            let Some((first, last)) = held.times(walk.from.topic) else { continue };
            for timeline in Timeline::ALL {
                if walk.wall(timeline, last) >= walk.from.after.0 && held.begin(timeline) < held.end(timeline)
                {
                    walk.next.push(Reverse((walk.wall(timeline, first), READ_ON, (*chunk, timeline))));
                }
            }
        }
    }
}

/// Reads the next piece of a run.
fn read_on(walk: &mut Walk, held: &LiveChunk, id: RunId, at: Millis) -> Result<(), StorageError> {
    let timeline = id.1;
    let mut run = walk.open.remove(&id).unwrap_or_default();
    let first = if let Some(row) = run.next_row {
        row
    } else {
        let after = walk.on_timeline(timeline, walk.from.after.0);
        held.chunk.first_row_from(timeline.number(), after)?.max(held.begin(timeline))
    };
    let mut heads = Vec::new();
    if first < held.end(timeline) {
        held.chunk.read_heads(first, &mut heads)?;
        if heads.is_empty() {
            return Err(held.chunk.bad_row(first));
        }
    }
    let rows = (first..held.end(timeline)).zip(&heads);
    let mut last = at;
    let mut next_row = first;
    for (row, head) in rows {
        last = last.max(walk.wall(timeline, head.at));
        next_row = row + 1;
        if walk.from.topic.is_none_or(|topic| topic.0 == head.topic) {
            run.rows.push_back((walk.wall(timeline, head.at), JobId(head.id), row));
        }
    }
    run.next_row = Some(next_row);
    walk.open.insert(id, run);
    enqueue(walk, held, id, last);
    Ok(())
}

/// Queues the next turn of a run: one of its rows read so far, or the next read, whose rows come no earlier than `last`.
fn enqueue(walk: &mut Walk, held: &LiveChunk, id: RunId, last: Millis) {
    let Some(run) = walk.open.get(&id) else { return };
    match run.rows.front() {
        Some((at, job, _)) => walk.next.push(Reverse((*at, *job, id))),
        None if run.next_row.is_some_and(|row| row < held.end(id.1)) => {
            walk.next.push(Reverse((last, READ_ON, id)));
        }
        None => _ = walk.open.remove(&id),
    }
}
