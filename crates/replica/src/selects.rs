//! Converts what a request names into what a command names.

use adjourn_engine::JobSelect;
use adjourn_protocol::JobRef;
use adjourn_types::{JobId, Key, TopicName, When};

/// An id that no job has.
pub(super) const NO_JOB: JobId = JobId(0);

pub(super) fn select_job(job: &JobRef) -> JobSelect<'_> {
    match job {
        JobRef::Id(id) => JobSelect::Id(*id),
        JobRef::Key { topic, key } => JobSelect::Key { topic: topic.as_str(), key: key.as_bytes() },
    }
}

/// True if a job is named by its id alone, whatever its topic is.
pub(super) fn is_in_any(topic: &TopicName, key: &Key) -> bool {
    topic.is_any() && key.id().is_some()
}

/// A due time that is not before the requested one; `lag_ms` is [`Node::stamp_lag_ms`](super::node::Node::stamp_lag_ms).
pub(super) fn at_least(due: When, lag_ms: u64) -> When {
    match due {
        When::After(delay_ms) => When::After(at_least_ms(delay_ms, lag_ms)),
        When::At(_) => due,
    }
}

/// Lengthens a delay by what the stamp from which it counts may be older than the request, so that it is never shorter than
/// requested.
pub(super) fn at_least_ms(delay_ms: u64, lag_ms: u64) -> u64 {
    if delay_ms == 0 { 0 } else { delay_ms.saturating_add(lag_ms) }
}
