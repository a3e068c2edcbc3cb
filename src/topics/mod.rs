//! The commands about topics: one of them, its policy, and counts of all.

pub(crate) mod groups;
pub(crate) mod policy;
pub(crate) mod stats;
pub(crate) mod topic;
