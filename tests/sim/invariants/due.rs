//! Whether a time that was asked for can have come: a delay is elapsed time, in truth and not by any clock; a point in time
//! is the node's wall clock's.
//!
//! Allowed is what the design allows. The stamp is slewed by at most one part in 2000. After a down time of the node its wall
//! clock is believed, or most nodes' wall clocks are. A wall clock that is wrong by less than a second counts as right.

use adjourn::types::{self, Millis};

use super::super::seen::{Seen, When};
use super::super::time::{MS, SECOND, Us};
use super::Jumps;

/// What the wall clock may be off without being set: its difference to the stamp is slewed away.
const WALL_SLACK_MS: u64 = 1_001;

/// Clocks that differ by no more agree.
const AGREED_MS: u64 = 500;

/// Among several nodes, a leader knows whether its clock was set for good when it has heard of a majority. Some may be down, or
/// cut off, for a while.
const ADOPTED_WITHIN: Us = 20 * SECOND;

/// A time that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) when: types::When,
    pub(super) asked: Us,
    /// When it was acknowledged.
    pub(super) said: Option<Us>,
}

/// What the clocks may have shown.
#[derive(Debug)]
pub(super) struct Clocks {
    /// What the wall clock showed before it was set, and when that was.
    walls: Vec<(Us, Millis)>,
    jumps: Jumps,
    among_others: bool,
}

impl Clocks {
    pub(super) fn new(among_others: bool) -> Self {
        Self { walls: Vec::new(), jumps: Jumps::default(), among_others }
    }

    pub(super) fn see(&mut self, when: When, seen: &Seen<'_>) {
        self.jumps.see(when, seen);
        if let Seen::Set { .. } = seen {
            self.walls.push((when.at, when.wall));
        }
    }

    /// Whether it is that time, by any clock that may count.
    pub(super) fn has_come(&self, now: When, due: &Due) -> bool {
        match due.when {
            types::When::After(delay_ms) => {
                let passed = now.at - due.asked;
                passed + self.jumps.ahead_since(due.asked, now.at) >= delay_ms.saturating_mul(MS)
            }
            types::When::At(at) => {
                // And a clock that was set counts when most of the others have shown theirs.
                let seen_by = if self.among_others { ADOPTED_WITHIN } else { 0 };
                let counted = |set: Us| set + seen_by >= due.asked;
                let since = self.walls.iter().filter(|(set, _)| counted(*set));
                let since = since.map(|(_, wall)| wall.after(seen_by / MS));
                // Among several nodes, one that was the first to lead after a start may have believed most of the others.
                let jumped = if self.among_others { self.jumps.ahead_since(0, now.at) / MS } else { 0 };
                let slack_ms = WALL_SLACK_MS + if self.among_others { AGREED_MS + jumped } else { 0 };
                since.chain([now.wall]).any(|wall| wall.after(slack_ms) >= at)
            }
        }
    }
}
