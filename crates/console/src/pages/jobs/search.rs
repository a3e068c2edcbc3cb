//! A text in bodies and headers: a pass over the jobs that meet the conditions, in steps with a budget.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::filter::Conditions;
use crate::visitor::Visitor;
use adjourn_http::Problem;
use adjourn_protocol::{JobReport, List, Page, Request};
use adjourn_types::{Key, ListOrder};

/// Jobs that the queue shows at once, with their bodies.
const AT_ONCE: u32 = 200;
/// A step ends after this time, or when it has found this many.
const STEP: Duration = Duration::from_millis(400);
const FOUND_MAX: usize = 50;

/// What a step found.
pub(super) struct Step {
    pub(super) found: Vec<JobReport>,
    /// The jobs that it looked at.
    pub(super) looked: u64,
    /// Where the next step begins; empty after the last one.
    pub(super) cursor: Bytes,
}

/// Looks for a text from a cursor on.
///
/// # Errors
///
/// What the queue says.
pub(super) async fn step(
    visitor: &Visitor,
    conditions: &Conditions,
    order: ListOrder,
    text: &str,
    mut cursor: Bytes,
) -> Result<Step, Problem> {
    let until = Instant::now() + STEP;
    let (mut found, mut looked) = (Vec::new(), 0);
    loop {
        let list =
            List { filter: conditions.filter.clone(), order, jobs_max: AT_ONCE, with_bodies: true, cursor };
        let page: Page = visitor.ask(Request::List(list)).await?;
        looked += page.jobs.len() as u64;
        found.extend(page.jobs.into_iter().filter(|job| has_text(job, text)));
        cursor = page.cursor;
        if cursor.is_empty() || found.len() >= FOUND_MAX || Instant::now() >= until {
            return Ok(Step { found, looked, cursor });
        }
    }
}

/// True if the body, a header, the key or the last reason has this text.
fn has_text(job: &JobReport, text: &str) -> bool {
    let in_headers =
        || job.attributes.headers().any(|(name, value)| name.contains(text) || value.contains(text));
    let in_key = || job.key.as_ref().is_some_and(|key: &Key| key.as_str().contains(text));
    let in_reason = || job.history.reason.as_ref().is_some_and(|reason| reason.contains(text));
    has_bytes(&job.body, text.as_bytes()) || in_headers() || in_key() || in_reason()
}

fn has_bytes(body: &[u8], wanted: &[u8]) -> bool {
    match (str::from_utf8(body), str::from_utf8(wanted)) {
        // Faster than windows.
        (Ok(body), Ok(wanted)) => body.contains(wanted),
        _ => wanted.is_empty() || body.windows(wanted.len()).any(|window| window == wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_anywhere() {
        assert!(has_bytes(b"order 17", b"17") && has_bytes(b"\xff17", b"17") && has_bytes(b"\xff", b""));
        assert!(!has_bytes(b"order 17", b"18") && !has_bytes(b"\xff", b"17"));
    }
}
