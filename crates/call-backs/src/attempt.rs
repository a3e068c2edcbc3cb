//! One attempt to call a destination, as the log keeps it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    /// The job.
    pub job: u64,
    /// Its topic.
    pub topic: String,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// When it began, RFC 3339.
    pub at: String,
    /// How the destination was called.
    pub method: String,
    /// Where: scheme, host, port and path, without the query.
    pub url: String,
    /// The status of the reply, if there was one.
    pub status: Option<u16>,
    /// What became of the job: `finished`, `kept`, `retried`, `buried`, `paused`, `not_tried`.
    pub outcome: String,
    /// Why, and the beginning of the reply.
    pub reason: Option<String>,
    /// How long the call took, in milliseconds.
    pub took_ms: u64,
    /// The line is shown until then, in milliseconds since 1970.
    pub until_ms: u64,
}

impl Attempt {
    /// True if the call did not succeed.
    pub(super) fn has_failed(&self) -> bool {
        !matches!(self.outcome.as_str(), "finished" | "kept")
    }
}
