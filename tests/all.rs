//! The one integration-test binary: linking once keeps the build short.

mod cli_usage;
mod client_connection;
mod client_fake;
mod client_worker;
mod engine_golden;
mod engine_model;
mod kept_bodies;
mod protocol_codec;
mod protocol_document;
mod same_log;
mod server_config;
mod tidy;
