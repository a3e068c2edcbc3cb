//! What a cron expression does when the clocks of its zone are changed.
//!
//! Between two changes the local clock runs evenly, and a firing is the instant at which it shows a matching time. Two rules
//! say what happens at a change:
//!
//! - **Shown**: it fires whenever the clock shows a matching time. A skipped time is never shown, a repeated one twice.
//! - **Reached**: it fires when the clock first shows *or passes* a matching time. The clock's latest time so far only grows,
//!   also when the clock is set back, so a skipped time fires as the gap ends, and a repeated one the first time. Matching times that one
//!   gap skips together fire once, because they are passed at one instant.
//!
//! Neither rule asks why the clocks change or by how much: an hour, half an hour, and a whole day work alike.

use crate::cron::Cron;
use crate::zone::{OFFSET_SECONDS_MAX, Zone};
use adjourn_types::Dst;

/// Periods with one offset that one search visits at most: enough for a century in which every match is skipped.
const PERIODS_MAX: usize = 400;

/// The first firing after a second of Unix time.
pub(crate) fn next_after(dst: Dst, cron: &Cron, zone: &Zone, after: i64) -> Option<i64> {
    if dst == Dst::Vixie && cron.is_fixed() {
        next_reached(cron, zone, after)
    } else {
        next_shown(cron, zone, after)
    }
}

fn next_reached(cron: &Cron, zone: &Zone, after: i64) -> Option<i64> {
    let due = cron.first_at(zone.latest_local(after) + 1)?;
    Some(zone.reaches(due))
}

fn next_shown(cron: &Cron, zone: &Zone, after: i64) -> Option<i64> {
    let mut at = after + 1;
    for _ in 0..PERIODS_MAX {
        let period = zone.period(at);
        let due = cron.first_at(at + period.offset)?;
        if due - period.offset < period.end {
            return Some(due - period.offset);
        }
        // The clock shows nothing that matches until it shows `due`, unless it is set back soon to before the search began.
        let may_be_set_back = period.end - at < 2 * OFFSET_SECONDS_MAX;
        at = if may_be_set_back { period.end } else { period.end.max(due - OFFSET_SECONDS_MAX) };
    }
    None
}
