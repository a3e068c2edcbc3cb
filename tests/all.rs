//! The one integration-test binary: linking once keeps the build short.

mod cli_commands;
mod cli_recover;
mod cli_usage;
mod client_connection;
mod client_fake;
mod client_server;
mod client_worker;
mod engine_golden;
mod engine_model;
mod formats;
mod kept_bodies;
mod kill;
mod power_cut;
mod protocol_codec;
mod protocol_document;
mod replica_crowded;
mod same_log;
mod server_config;
mod server_ends;
mod server_hostile;
mod server_lives;
mod server_rig;
mod sim;
mod storage_faults;
mod tidy;
mod tour;
