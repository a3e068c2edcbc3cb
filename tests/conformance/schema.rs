//! The schema of the protocol: where the fields of a frame stand and what they are called. The codec of the server is written from
//! it, too: what both have wrong shows in the bytes of the vectors, and in the frames of `protocol.md`.

use std::sync::OnceLock;

use adjourn_generate::{Frame, Schema, Side};

/// The schema.
pub(crate) fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| Schema::load().unwrap_or_else(|error| panic!("{error}")))
}

/// Every frame, of both sides.
pub(crate) fn frames() -> impl Iterator<Item = &'static Frame> {
    schema().requests.iter().chain(&schema().responses)
}

/// The frame with this opcode.
pub(crate) fn by_opcode(side: Side, opcode: u8) -> Option<&'static Frame> {
    schema().frames(side).iter().find(|frame| frame.opcode == opcode)
}

/// The frame of this name.
pub(crate) fn by_name(side: Side, name: &str) -> Option<&'static Frame> {
    schema().frames(side).iter().find(|frame| frame.name == name)
}
