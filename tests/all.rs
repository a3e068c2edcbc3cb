//! The one integration-test binary: linking once keeps the build short.

mod protocol_codec;

mod server_config;
