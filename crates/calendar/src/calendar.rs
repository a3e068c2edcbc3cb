//! A calendar: when, in which zone, from when and until when.

use std::iter;

use adjourn_types::{Dst, Millis, ScheduleRules};

use crate::dst;
use crate::recurrence::{Recurrence, RecurrenceError};
use crate::zone::Zone;
use crate::zone_data::{ZoneData, ZoneError};

/// Everything that decides when a schedule fires.
///
/// Jitter is not part of it: it moves the job, not the instant. See [`jitter_ms`](crate::jitter_ms).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// When it fires.
    pub recurrence: Recurrence,
    /// The zone of a cron expression, and of the local times of a preview.
    pub zone: Zone,
    /// What a cron expression does when the clocks are changed.
    pub dst: Dst,
    /// It does not fire before this instant.
    pub start: Option<Millis>,
    /// It does not fire after this instant.
    pub end: Option<Millis>,
}

/// Why the rules of a schedule do not say when it fires.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RulesError {
    /// It has a faulty recurrence.
    #[error(transparent)]
    When(#[from] RecurrenceError),
    /// It has an unknown zone.
    #[error(transparent)]
    Zone(#[from] ZoneError),
}

/// A firing as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// When.
    pub at: Millis,
    /// Date, time, offset and abbreviation in the calendar's zone, for example `2027-03-28 03:00:00 +02:00 CEST`.
    pub local: String,
}

impl Calendar {
    /// A calendar in UTC, without a first and a last instant.
    pub fn new(recurrence: Recurrence) -> Self {
        Self { recurrence, zone: Zone::utc(), dst: Dst::default(), start: None, end: None }
    }

    /// The calendar of a schedule with these rules. If they have no origin, an interval counts from `origin`.
    pub fn of_rules(rules: &ScheduleRules, origin: Millis, zones: &ZoneData) -> Result<Self, RulesError> {
        Ok(Self {
            recurrence: Recurrence::parse(&rules.when, rules.origin.unwrap_or(origin))?,
            zone: if rules.zone.is_empty() { Zone::utc() } else { zones.zone(&rules.zone)? },
            dst: rules.dst,
            start: rules.start,
            end: rules.end,
        })
    }

    /// The first firing after `instant`, not at it; `None` if it never fires again.
    pub fn next_after(&self, instant: Millis) -> Option<Millis> {
        let before_start = self.start.map_or(0, |start| start.0.saturating_sub(1));
        let after = instant.max(Millis(before_start));
        let next = match &self.recurrence {
            Recurrence::Cron(cron) => {
                let after_second = i64::try_from(after.0 / 1000).ok()?;
                let second = dst::next_after(self.dst, cron, &self.zone, after_second)?;
                Millis(u64::try_from(second).ok()?.checked_mul(1000)?)
            }
            Recurrence::Every(every) => every.next_after(after)?,
            Recurrence::Instants(instants) => instants.next_after(after)?,
        };
        self.end.is_none_or(|end| next <= end).then_some(next)
    }

    /// The firings after `from`, up to `to`, in order.
    pub fn between(&self, from: Millis, to: Millis) -> impl Iterator<Item = Millis> {
        self.after(from).take_while(move |at| *at <= to)
    }

    /// The first `count` firings after `from`, as people read them.
    pub fn preview(&self, from: Millis, count: usize) -> impl Iterator<Item = Firing> {
        self.after(from).take(count).map(|at| Firing { at, local: self.zone.local_text(at) })
    }

    fn after(&self, from: Millis) -> impl Iterator<Item = Millis> {
        iter::successors(self.next_after(from), |at| self.next_after(*at))
    }
}
