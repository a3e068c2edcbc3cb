//! An unused queue writes nothing and sleeps.

use std::collections::BTreeSet;

use adjourn_protocol::Response;
use adjourn_types::{Attributes, JobId, JobState, Millis};

use super::super::seen::{Seen, When};
use super::super::time::MS;
use super::super::world::INSPECTED_TO_END;
use super::Invariant;

/// Turns in a silence that are for nothing: two a second.
const TURNS_MAX: usize = 40;
/// Turns that a timer may take: to put it in order, to move it, and to hear that this is durable.
const TURNS_PER_TIMER: usize = 6;
/// Nodes' clocks differ.
const CLOCKS_MS: u64 = 5_000;
/// Nothing that is due later than this after it was inspected fires before the end.
const AHEAD_MS: u64 = INSPECTED_TO_END / MS + CLOCKS_MS;

#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Jobs that may have a timer soon.
    timers: BTreeSet<JobId>,
    deserted: bool,
    orders: usize,
    turns: usize,
    /// The last entry that was written since; several nodes write each.
    last: u64,
    among_others: bool,
}

impl Silence {
    pub(super) fn new(among_others: bool) -> Self {
        Self { among_others, ..Self::default() }
    }
}

impl Invariant for Silence {
    fn name(&self) -> &'static str {
        "silence"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Said { response: Response::Job(report), .. } => {
                let soon = |due: Millis| due < when.wall.after(AHEAD_MS);
                let fires = report.state == Some(JobState::Reserved)
                    || report.attributes.policy().expires.is_some()
                    || Attributes::dedupe_retention_of(report.attributes.as_bytes()) > 0
                    || soon(report.due) && report.state == Some(JobState::Delayed);
                if fires {
                    self.timers.insert(report.id);
                } else {
                    self.timers.remove(&report.id);
                }
            }
            Seen::Deserted => self.deserted = true,
            Seen::Ordered { order, .. } if self.deserted => {
                let last = order.batch.entries.last().map_or(u64::MAX, |entry| entry.index);
                if last <= self.last {
                    return Ok(());
                }
                self.last = last;
                self.orders += 1;
                if self.orders > self.timers.len() {
                    return Err(format!("something is written though nothing is due: {order:?}"));
                }
            }
            // Several nodes hold their group together.
            Seen::Turned { .. } if self.deserted && !self.among_others => {
                self.turns += 1;
                if self.turns > TURNS_MAX + self.timers.len() * TURNS_PER_TIMER {
                    return Err(format!("the core has looked {} times though nothing happens", self.turns));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
