//! When a schedule fires.
//!
//! A [`Calendar`] joins a [`Recurrence`] (a cron expression, an interval, or a list of instants), a [`Zone`], a [`Dst`]
//! mode, and an optional first and last instant. [`Calendar::next_after`] gives the next firing, and is a pure function: it reads
//! no clock and draws nothing at random. Only [`ZoneData`] reads files, those of the system's zone data.
//!
//! ```text
//! "0 9 * * 1-5" -- Recurrence::parse --> Recurrence --+
//! "Europe/Berlin" -- ZoneData::zone --> Zone ---------+--> Calendar -- next_after(instant) --> instant
//! Dst, start, end ------------------------------------+
//! ```
//!
//! What a firing costs does not depend on how far it is away: a day is found by masks of bits, a month at a time, and the search ends
//! after 48 years for a day and a bounded number of changes of the clocks. A million schedules cannot all stay in memory in
//! parsed form, so parsing is cheap, too: it takes less than a microsecond, and allocates little.
//!
//! Two members with different zone data may disagree about an instant. This layer does not settle that: the caller lets one member
//! decide, and records what it decided.

mod calendar;
mod catch_up;
mod cron;
mod dst;
mod every;
mod instants;
mod jitter;
mod recurrence;
mod zone;
mod zone_data;

#[cfg(test)]
mod tests;

pub use adjourn_types::Dst;
pub use calendar::{Calendar, Firing, RulesError};
pub use catch_up::{CATCH_UP_MAX, COUNTED_MAX, CatchUp, Decision, ON_TIME_MS, Skipped};
pub use cron::{Cron, CronError, Field};
pub use every::{EVERY_MS_MAX, EVERY_MS_MIN, Every, EveryError};
pub use instants::{INSTANTS_MAX, Instants, InstantsError};
pub use jitter::jitter_ms;
pub use recurrence::{RECURRENCE_BYTES_MAX, Recurrence, RecurrenceError};
pub use zone::Zone;
pub use zone_data::{SYSTEM_ZONES, ZoneData, ZoneError};
