//! Whether a time that was asked for can have come: a delay is elapsed time, in truth and not by any clock; a point in time
//! is the node's wall clock's.
//!
//! Allowed is what the design allows. The stamp is slewed by at most one part in 2000. After a down time of the node its wall
//! clock is believed, or most nodes' wall clocks are. A wall clock that is wrong by less than a second counts as right.
//!
//! A wall clock that was ahead for a moment makes a job due for that moment. It ends no job: a job ends by a clock that has shown
//! the time for longer.

use adjourn_types::Millis;

use super::super::seen::{Seen, When};
use super::super::time::{MS, SECOND, Us};
use super::super::world::true_wall;
use super::Jumps;

/// What the wall clock may be off without being set: its difference to the stamp is slewed away.
const WALL_SLACK_MS: u64 = 1_001;

/// Clocks that differ by no more agree.
pub(super) const AGREED_MS: u64 = 500;

/// A node that is alone knows at once that its clock was set. What it had proposed before may be written after that.
const WRITTEN_WITHIN: Us = 5 * SECOND;

/// A wall clock that was ahead for no longer than this was wrong.
const GLITCH_MAX: Us = 30 * SECOND;

/// What the state of several nodes may take for the time goes back by less while clocks drift.
const FALLS_MS: i64 = 100;

/// A wall clock that is set forward by more starts to be ahead anew.
const STEP_MS: i64 = 1_000;

/// A time that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) when: adjourn_types::When,
    pub(super) asked: Us,
    /// When it was acknowledged.
    pub(super) said: Option<Us>,
}

/// What the clocks may have shown.
#[derive(Debug)]
pub(super) struct Clocks {
    /// What counted before a clock was set back, and when that was.
    walls: Vec<(Us, Millis)>,
    /// The most that the state may have been ahead, in milliseconds.
    ahead_max_ms: i64,
    /// How far the wall clock was ahead of the true one since then, in milliseconds.
    ahead: (Us, i64),
    /// The most that it was ahead for longer than a glitch.
    ahead_for_long: Option<i64>,
    jumps: Jumps,
    among_others: bool,
}

impl Clocks {
    pub(super) fn new(among_others: bool) -> Self {
        let (walls, jumps) = (Vec::new(), Jumps::default());
        Self { walls, ahead_max_ms: 0, ahead: (0, 0), ahead_for_long: None, jumps, among_others }
    }

    pub(super) fn see(&mut self, when: When, seen: &Seen<'_>) {
        self.jumps.see(when, seen);
        let true_ms = true_wall(when.at).0.cast_signed();
        let (ahead_ms, ahead_max_ms) =
            (when.wall.0.cast_signed() - true_ms, when.wall_max.0.cast_signed() - true_ms);
        if matches!(seen, Seen::Set { .. }) && !self.among_others {
            self.walls.push((when.at, when.wall));
        }
        if ahead_max_ms + FALLS_MS < self.ahead_max_ms && self.among_others {
            self.walls.push((when.at, Millis((true_ms + self.ahead_max_ms).cast_unsigned())));
        }
        self.ahead_max_ms = ahead_max_ms;
        let (since, before_ms) = self.ahead;
        let was_set = self.ahead_for_long.is_some() && ahead_ms > before_ms + STEP_MS;
        self.ahead = (if was_set { when.at } else { since }, ahead_ms);
        let for_long = self.ahead_for_long.get_or_insert(ahead_ms);
        if !was_set && when.at > since + GLITCH_MAX {
            *for_long = ahead_ms.max(*for_long);
        }
    }

    /// Whether it is that time, or was at any time since it was asked for, by any clock that may count.
    pub(super) fn has_come(&self, now: When, due: &Due) -> bool {
        self.has_come_since(now, due, due.asked)
    }

    /// Whether it is that time, by any clock that may count now.
    pub(super) fn is_now(&self, now: When, due: &Due) -> bool {
        // What a node grants has been on its way since.
        let since = now.at.saturating_sub(if self.among_others { 0 } else { WRITTEN_WITHIN });
        self.has_come_since(now, due, since.max(due.asked))
    }

    /// Whether it is that time also by the slowest clock that may count: so that it ends a job.
    pub(super) fn is_sure(&self, now: When, due: &Due) -> bool {
        let adjourn_types::When::At(at) = due.when else { return self.has_come(now, due) };
        let wall = true_wall(now.at).0.saturating_add_signed(self.ahead_for_long.unwrap_or(0));
        // A node that starts believes its wall clock.
        let jumped_ms = self.jumps.ahead_since(0, now.at) / MS;
        Millis(wall).after(WALL_SLACK_MS + AGREED_MS + jumped_ms) >= at
    }

    fn has_come_since(&self, now: When, due: &Due, since: Us) -> bool {
        match due.when {
            adjourn_types::When::After(delay_ms) => {
                let passed = now.at - due.asked;
                passed + self.jumps.ahead_since(due.asked, now.at) >= delay_ms.saturating_mul(MS)
            }
            adjourn_types::When::At(at) => {
                let since = self.walls.iter().filter(|(set, _)| *set >= since).map(|(_, wall)| *wall);
                // Among several nodes, one that was the first to lead after a start may have believed most of the others.
                let jumped = if self.among_others { self.jumps.ahead_since(0, now.at) / MS } else { 0 };
                let slack_ms = WALL_SLACK_MS + if self.among_others { AGREED_MS + jumped } else { 0 };
                since.chain([now.wall_max]).any(|wall| wall.after(slack_ms) >= at)
            }
        }
    }
}
