//! The command line: each command as a process.

pub(crate) mod bench;
pub(crate) mod cert;
pub(crate) mod commands;
mod groups;
mod import;
mod import_redis;
mod mistakes;
mod recover;
mod schedules;
pub(crate) mod tls;
pub(crate) mod usage;
