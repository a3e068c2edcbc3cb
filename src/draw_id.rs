//! Random ids.

use crate::exit::{Exit, Failure};
use adjourn_server::entropy;

/// Draws a new id, of a cluster or of a copy of the data.
pub(super) fn draw_id() -> Result<[u8; 16], Failure> {
    entropy::draw().map_err(|error| Failure::new(Exit::Refused, format_args!("{error}")))
}
