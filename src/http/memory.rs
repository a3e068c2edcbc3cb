//! The memory that requests and answers take of the node's [account](crate::server::MemoryShare): bodies as they come, answers until
//! they are written.

use axum::body::{Body, HttpBody as _};
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http_body_util::BodyExt as _;

use super::caller::Visit;
use super::problem::Problem;
use crate::protocol::{Applied, Delivered, ErrorCode, ErrorReply};
use crate::server::HeldMemory;

/// An answer up to this size is given whatever else is taken, in bytes.
const SMALL_BYTES: usize = 16 << 10;
/// What a job in JSON takes beside its body, its key and its headers, in bytes.
const JOB_BYTES: usize = 512;

/// Bytes that hold their memory until the last of them is written.
struct Owned {
    bytes: Bytes,
    _memory: HeldMemory,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The same bytes, which hold this memory as long as they are there.
pub(super) fn with_memory(bytes: Bytes, memory: HeldMemory) -> Bytes {
    Bytes::from_owner(Owned { bytes, _memory: memory })
}

/// What one is told whose token, or whose address, has as much memory as it may.
pub(super) fn busy() -> ErrorReply {
    let message = "unread answers and requests under way take as much memory as you may have: read the answers, and try again";
    ErrorReply { retry_after_ms: 1000, ..ErrorReply::new(ErrorCode::Busy, message) }
}

/// The answer to the request under way, with its memory until it is written. Without memory a large one is not given: then one who
/// has changed something does not know what became of it, and may ask again.
pub(super) async fn answer(response: Response, visit: &Visit, method: &Method) -> Response {
    let Some(bytes) = response.body().size_hint().exact() else { return response };
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let (mut memory, has_room) = visit.answered(bytes);
    if bytes == 0 {
        return response;
    }
    if !has_room && bytes > SMALL_BYTES {
        let applied = if method.is_safe() { Applied::No } else { Applied::Unknown };
        return Problem::from(ErrorReply { applied, ..busy() }).into_response();
    }
    if !has_room {
        memory.add_up_to(bytes);
    }
    let (parts, body) = response.into_parts();
    // Its size is known, because it is all there.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Response::from_parts(parts, Body::from(with_memory(bytes, memory)))
}

/// How long a job is in JSON at most, in bytes.
pub(super) fn json_bytes_at_most(job: &Delivered) -> usize {
    let key = job.key.as_ref().map_or(&[][..], |key| key.as_bytes());
    JOB_BYTES
        + [&job.body[..], job.attributes.as_bytes(), key].into_iter().map(text_bytes_at_most).sum::<usize>()
}

fn text_bytes_at_most(text: &[u8]) -> usize {
    let escaped = |byte: &u8| match byte {
        // As some of the older queues' servers write them.
        0..=0x1f | b'<' | b'>' | b'&' => 6,
        b'"' | b'\\' => 2,
        // A body that is no text is written in base 64.
        0x80.. => 3,
        _ => 1,
    };
    text.iter().map(escaped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_longer_in_json() {
        for text in ["plain", "\u{1}\n\u{7f}", "\"\\", "grün, 日本", "<b>&amp;</b>"] {
            let json = serde_json::to_string(text).expect("JSON");
            let as_go_writes = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
            assert!(as_go_writes.len() - 2 <= text_bytes_at_most(text.as_bytes()), "{as_go_writes}");
        }
    }
}
