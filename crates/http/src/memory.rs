//! The memory of requests and answers, taken from the node's [account](adjourn_server::MemoryShare): for bodies as they
//! arrive, for answers until they are written.

use std::str::Utf8Chunk;

use axum::body::{Body, HttpBody as _};
use axum::http::Method;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;

use super::connection::{HttpConnection, busy};
use super::problem::Problem;
use adjourn_protocol::{Applied, Delivered, ErrorReply};
use adjourn_server::HeldMemory;

/// An answer up to this size is sent even without memory for it, in bytes.
const SMALL_BYTES: usize = 16 << 10;
/// The bytes of a job in JSON, beside its body, its key and its headers.
const JOB_BYTES: usize = 512;
/// The bytes of a header beside its name and its value: `"":["",""],`, as if the name were repeated.
const HEADER_BYTES: usize = 12;

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

/// The same bytes, which hold this memory until they are dropped.
pub(super) fn with_memory(bytes: Bytes, memory: HeldMemory) -> Bytes {
    Bytes::from_owner(Owned { bytes, _memory: memory })
}

/// The answer to the request under way, with its memory until it is written. A large one is not sent without memory: then a
/// caller that has changed something does not know the result, and may ask again. `refuse` tells it.
pub(super) async fn answer(
    response: Response,
    connection: &HttpConnection,
    method: &Method,
    refuse: fn(Problem) -> Response,
) -> Response {
    let Some(bytes) = response.body().size_hint().exact() else { return response };
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let (mut memory, has_room) = connection.answered(bytes);
    if bytes == 0 {
        return response;
    }
    if !has_room && bytes > SMALL_BYTES {
        let applied = if method.is_safe() { Applied::No } else { Applied::Unknown };
        return refuse(Problem::from(ErrorReply { applied, ..busy() }));
    }
    if !has_room {
        memory.add_up_to(bytes);
    }
    let (parts, body) = response.into_parts();
    // Its size is known, so the body is complete.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Response::from_parts(parts, Body::from(with_memory(bytes, memory)))
}

/// The maximum length of a job in JSON, in bytes. An answer for which this was taken always has memory: its jobs are leased
/// by then.
pub(super) fn json_bytes_at_most(job: &Delivered) -> usize {
    let key = job.key.as_ref().map_or(0, |key| text_bytes_at_most(key.as_bytes()));
    let header = |(name, value): (&str, &str)| {
        HEADER_BYTES + text_bytes_at_most(name.as_bytes()) + text_bytes_at_most(value.as_bytes())
    };
    JOB_BYTES + key + job.attributes.headers().map(header).sum::<usize>() + body_bytes_at_most(&job.body)
}

/// A body that is not UTF-8 is written in base64; the older queues' protocols write it as text anyway.
fn body_bytes_at_most(body: &[u8]) -> usize {
    let as_text = text_bytes_at_most(body);
    if std::str::from_utf8(body).is_ok() { as_text } else { as_text.max(body.len().div_ceil(3) * 4) }
}

fn text_bytes_at_most(text: &[u8]) -> usize {
    let escaped = |byte: &u8| match byte {
        // Escaped by some of the older queues' protocols.
        0..=0x1f | b'<' | b'>' | b'&' => 6,
        b'"' | b'\\' => 2,
        0x80.. => 3,
        _ => 1,
    };
    // Invalid UTF-8 is replaced by an escape of six bytes.
    let of_chunk = |chunk: Utf8Chunk<'_>| {
        chunk.valid().as_bytes().iter().map(escaped).sum::<usize>() + 6 * chunk.invalid().len()
    };
    text.utf8_chunks().map(of_chunk).sum()
}

#[cfg(test)]
mod tests {
    use super::super::dialects::quoted;
    use super::*;
    use adjourn_json::DeliveredJson;
    use adjourn_types::limits::TOPIC_BYTES_MAX;
    use adjourn_types::{AttributesBuilder, Fence, JobId, Lease, Millis};

    fn job(headers: usize, body: &[u8]) -> Delivered {
        let attributes = (0..headers).fold(AttributesBuilder::default(), |all, nth| {
            all.header(&format!("{}", char::from(b'a' + u8::try_from(nth % 26).expect("small"))), "")
        });
        Delivered {
            lease: Lease { job: JobId(u64::MAX), fence: Fence(u64::MAX) },
            topic: "t".repeat(TOPIC_BYTES_MAX).parse().expect("a name"),
            key: Some("\\".repeat(256).parse().expect("a key")),
            priority: u32::MAX,
            attempts: u32::MAX,
            due: Millis(1_700_000_000_001),
            ttr_left_ms: u32::MAX,
            deadline_ms: 0,
            attributes: attributes.build().expect("attributes"),
            body: Bytes::copy_from_slice(body),
        }
    }

    #[test]
    fn no_job_is_longer_in_json() {
        for body in [vec![b'x'; 65_536], vec![1; 65_536], [vec![b'x'; 65_535], vec![255]].concat(), vec![255]]
        {
            for headers in [0, 1, 200] {
                let job = job(headers, &body);
                let json = serde_json::to_string(&DeliveredJson::of(&job)).expect("JSON");
                let bound = json_bytes_at_most(&job);
                assert!(json.len() <= bound, "{headers} headers: {} bytes, not {bound}", json.len());
            }
        }
    }

    #[test]
    fn no_text_is_longer_in_json() {
        for text in ["plain", "\u{1}\n\u{7f}", "\"\\", "grün, 日本", "<b>&amp;</b>", "\u{2028}"] {
            for json in [serde_json::to_string(text).expect("JSON"), quoted(text.as_bytes())] {
                assert!(json.len() - 2 <= text_bytes_at_most(text.as_bytes()), "{json}");
            }
        }
        assert_eq!(quoted(&[255; 7]).len() - 2, text_bytes_at_most(&[255; 7]));
    }
}
