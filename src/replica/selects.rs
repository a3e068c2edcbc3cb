//! What a request names, as a command names it.

use crate::engine::JobSelect;
use crate::protocol::JobRef;
use crate::types::When;

pub(super) fn select_job(job: &JobRef) -> JobSelect<'_> {
    match job {
        JobRef::Id(id) => JobSelect::Id(*id),
        JobRef::Key { topic, key } => JobSelect::Key { topic: topic.as_str(), key: key.as_bytes() },
    }
}

pub(super) fn at_least(due: When) -> When {
    match due {
        When::After(delay_ms) => When::After(at_least_ms(delay_ms)),
        When::At(_) => due,
    }
}

/// A delay that is over no sooner than was asked for. The stamp that it counts from shows whole milliseconds: it may
/// lie almost one before the moment at which the request came.
pub(super) fn at_least_ms(delay_ms: u64) -> u64 {
    if delay_ms == 0 { 0 } else { delay_ms.saturating_add(1) }
}
