//! A server as a process: what its clients, its operator and its settings ask of it.

mod backfill;
pub(crate) mod browse;
pub(crate) mod config;
pub(crate) mod consumers;
pub(crate) mod descriptors;
pub(crate) mod ends;
pub(crate) mod history;
pub(crate) mod hostile;
pub(crate) mod in_memory;
pub(crate) mod lives;
pub(crate) mod log;
pub(crate) mod openssl;
pub(crate) mod order;
pub(crate) mod policies;
pub(crate) mod push_modes;
pub(crate) mod remembered;
mod schedules;
pub(crate) mod stages;
pub(crate) mod test_clock;
pub(crate) mod tls;
pub(crate) mod tokens;
