//! The one integration-test binary: linking once keeps the build short.

mod protocol_codec;
mod protocol_document;
mod server_config;
