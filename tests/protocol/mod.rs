//! The wire protocol: its codec, and its document.

pub(crate) mod codec;
pub(crate) mod document;
