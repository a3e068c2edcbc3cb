//! A part of a count by when jobs are due.

use adjourn_types::Millis;

/// The jobs that are due from a time on, up to the next bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueBar {
    /// Where it begins, by the wall clock; 0 for the jobs before the first bar.
    pub from: Millis,
    /// How many jobs are due in it.
    pub jobs: u64,
}
