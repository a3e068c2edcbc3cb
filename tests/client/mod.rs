//! The Rust client, against a real server or one that misbehaves.

pub(crate) mod chaos;
pub(crate) mod cluster;
pub(crate) mod connection;
pub(crate) mod fake;
pub(crate) mod producer;
pub(crate) mod server;
pub(crate) mod worker;
