//! The commands about jobs: one of them, those that a filter selects, and those under a lease.

pub(crate) mod bulk;
pub(crate) mod edit;
pub(crate) mod export;
pub(crate) mod filter;
pub(crate) mod job;
pub(crate) mod list;
pub(crate) mod push;
pub(crate) mod reserve;
pub(crate) mod settle;
pub(crate) mod why;
