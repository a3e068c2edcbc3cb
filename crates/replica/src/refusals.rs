//! Errors that tell clients why a request is not accepted now.

use adjourn_protocol::{ErrorCode, ErrorReply};

/// The message during a stop.
pub(super) const STOPPING: &str = "the server is stopping: connect again later";

pub(super) fn retry_later(code: ErrorCode, message: &str, retry_after_ms: u32) -> ErrorReply {
    ErrorReply { retry_after_ms, ..ErrorReply::new(code, message) }
}

pub(super) fn too_much_under_way() -> ErrorReply {
    retry_later(ErrorCode::Busy, "more is on its way to the disk than may be: send less at once", 20)
}

pub(super) fn not_every_member() -> ErrorReply {
    let text = "every member must run a version that knows this: upgrade the others, and leave feature_level_max \
                out; `adjourn cluster status` shows the feature level";
    ErrorReply::new(ErrorCode::Unsupported, text)
}

pub(super) fn stopping() -> ErrorReply {
    ErrorReply::new(ErrorCode::Stopping, STOPPING)
}
