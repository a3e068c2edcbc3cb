//! How frames are laid out, as `make generate` writes it from `schema/`: the other modules have the types that the server and the
//! client use, and turn them into these and back.

#![expect(clippy::doc_markdown, reason = "doc texts are those of protocol.md")]

#[rustfmt::skip]
pub(crate) mod frames;
#[rustfmt::skip]
#[expect(clippy::similar_names, clippy::struct_field_names, reason = "names are those of protocol.md")]
pub(crate) mod records;
