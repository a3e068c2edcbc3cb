//! The numbers of connections.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::entropy;
use adjourn_replica::ConnectionId;

/// The numbers of connections. An operator names a connection by its number, so a number of another node, or from before a
/// restart, must not match. Numbers begin at a random place, with room for all that a node will ever have, within the 53
/// bits that every JSON reader keeps.
#[derive(Debug)]
pub(crate) struct ConnectionNumbers(AtomicU64);

impl ConnectionNumbers {
    /// Numbers that no other run of a node uses.
    pub(crate) fn new() -> Self {
        const RUN_BITS: u32 = 24;
        const RUNS: u64 = 1 << 29;
        let drawn = entropy::draw().map_or(0, u64::from_le_bytes);
        Self(AtomicU64::new((drawn % RUNS) << RUN_BITS))
    }

    /// A number that no connection had before.
    pub(crate) fn next(&self) -> ConnectionId {
        ConnectionId(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
