//! Adjourn: a persistent, replicated delay queue.
//!
//! A producer pushes a job with a due time; when the time comes, exactly one consumer holds it under a lease;
//! when it says *finish*, the job is gone. `ARCHITECTURE.md` explains how the parts fit together.
//!
//! The layers, each importing only from those above it: [`types`], [`protocol`], `json`, [`transport`], `engine`, `storage`, `raft`,
//! `replica`, `server`, [`client`], `call_backs`, `alerts`, `http`, `cli`. With the feature `client` alone neither sled nor raft is built.

// They panic when their reader has gone: what a command prints goes through `cli::output`.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod protocol;
pub mod types;

#[cfg(feature = "json")]
pub mod json;

#[cfg(feature = "server")]
pub mod engine;
#[cfg(feature = "server")]
pub mod raft;
#[cfg(feature = "server")]
pub mod replica;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod storage;

#[cfg(feature = "transport")]
pub mod transport;

#[cfg(feature = "client")]
pub mod client;

#[cfg(feature = "http")]
pub mod alerts;
#[cfg(feature = "http")]
pub mod call_backs;
#[cfg(feature = "http")]
pub mod http;

#[cfg(feature = "cli")]
pub mod cli;
