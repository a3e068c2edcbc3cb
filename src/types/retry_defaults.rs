//! The queue's defaults for retries: how often a job is attempted, and how long it waits between attempts, where neither the job
//! nor its topic says so.

use super::{Backoff, BackoffCurve};

/// Defaults for jobs whose topic says nothing either.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(serde::Serialize, serde::Deserialize))]
pub struct RetryDefaults {
    /// After this many failed attempts a job is buried; `None` for never.
    pub attempts_max: Option<u32>,
    /// The wait between attempts; `None` for none.
    pub backoff: Option<Backoff>,
}

impl RetryDefaults {
    /// Jobs are attempted for ever, without a pause.
    pub const NONE: Self = Self { attempts_max: None, backoff: None };
}

impl Default for RetryDefaults {
    /// 25 attempts within some 14 hours: a fault that lasts a night still heals by itself.
    fn default() -> Self {
        let curve = BackoffCurve::Exponential { first_ms: 1000, max_ms: 3_600_000 };
        Self { attempts_max: Some(25), backoff: Some(Backoff { curve, jitter_percent: 20 }) }
    }
}
