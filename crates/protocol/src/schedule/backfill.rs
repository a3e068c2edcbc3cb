//! A backfill as a caller sees it: the parts that the queue fills, one after the other.

use super::{ScheduleFill, ScheduleFilled};

/// Most instants that one backfill of a user fills: more are a mistake, most likely.
pub const BACKFILL_MAX: u64 = 10_000;

/// A time that is filled, or counted, part by part, and what became of its instants so far.
#[derive(Clone, Debug)]
pub struct Backfill {
    /// The next part; `None` after the last one.
    next: Option<ScheduleFill>,
    /// Instants of the schedule.
    pub instants: u64,
    /// Jobs that were pushed.
    pub pushed: u64,
    /// Instants whose job was in the topic already.
    pub kept: u64,
    /// Jobs that were refused.
    pub refused: u64,
}

impl Backfill {
    /// Fills this time.
    pub fn new(time: ScheduleFill) -> Self {
        Self { next: Some(time), instants: 0, pushed: 0, kept: 0, refused: 0 }
    }

    /// What to ask for next; `None` if all is done.
    pub fn next(&self) -> Option<&ScheduleFill> {
        self.next.as_ref()
    }

    /// True if it has more instants than [`BACKFILL_MAX`].
    pub fn is_too_long(&self) -> bool {
        self.instants > BACKFILL_MAX
    }

    /// Notes the answer to what was asked for.
    pub fn note(&mut self, part: &ScheduleFilled) {
        self.instants += u64::from(part.instants);
        self.pushed += u64::from(part.pushed);
        self.kept += u64::from(part.kept);
        self.refused += u64::from(part.refused);
        self.next = self.next.take().zip(part.next).map(|(asked, from)| ScheduleFill { from, ..asked });
    }
}
