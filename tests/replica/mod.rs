//! Replicas without sockets: what a cluster agrees on, and what a crowded one refuses.

pub(crate) mod cluster;
pub(crate) mod crowded;
pub(crate) mod same_log;
