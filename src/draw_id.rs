//! Random ids.

use crate::exit::{Exit, Failure};

/// Draws a new id, of a cluster or of a copy of the data.
#[expect(clippy::disallowed_methods, reason = "the edge: what is new draws its id here")]
pub(super) fn draw_id() -> Result<[u8; 16], Failure> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| {
        Failure::new(Exit::Refused, format_args!("the system gives no random bytes: {error}"))
    })?;
    Ok(id)
}
