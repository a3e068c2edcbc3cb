//! The queue's retry defaults: the number of attempts and the wait between them, for jobs where neither the job nor its
//! topic sets them.

use super::{Backoff, BackoffCurve};

/// Retry defaults for jobs whose topic sets none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RetryDefaults {
    /// A job is buried after this many failed attempts; `None` for never.
    pub attempts_max: Option<u32>,
    /// The wait between attempts; `None` retries at once.
    pub backoff: Option<Backoff>,
}

impl RetryDefaults {
    /// Jobs are retried for ever, at once.
    pub const NONE: Self = Self { attempts_max: None, backoff: None };
}

impl Default for RetryDefaults {
    /// 25 attempts within about 14 hours: jobs survive a fault that lasts a night.
    fn default() -> Self {
        let curve = BackoffCurve::Exponential { first_ms: 1000, max_ms: 3_600_000 };
        Self { attempts_max: Some(25), backoff: Some(Backoff { curve, jitter_percent: 20 }) }
    }
}
