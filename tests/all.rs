//! The integration tests but for the simulation: linking once keeps the build short.

mod alerts;
mod attacks;
mod backups;
mod call_backs;
mod cli;
mod client;
mod cluster;
mod engine;
mod http;
mod kept_bodies;
mod kill;
mod mutants;
mod peers;
mod protocol;
mod replica;
mod server;
mod server_rig;
mod storage;
mod tidy;
mod tour;
