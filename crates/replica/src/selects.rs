//! Converts what a request names into what a command names.

use adjourn_engine::JobSelect;
use adjourn_protocol::JobRef;
use adjourn_types::When;

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

/// Lengthens a delay by 1 ms, so that it is never shorter than requested: it counts from the stamp, in whole milliseconds,
/// which can be almost 1 ms older than the request.
pub(super) fn at_least_ms(delay_ms: u64) -> u64 {
    if delay_ms == 0 { 0 } else { delay_ms.saturating_add(1) }
}
