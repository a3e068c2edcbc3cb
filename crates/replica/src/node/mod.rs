//! The part of a replica that does not depend on leading: clients, other nodes, memory, clocks, and pending outputs.

pub(crate) mod connections;
mod memory;
pub(crate) mod peers;
pub(crate) mod push_parts;
pub(crate) mod request_queue;

use crate::io::{ConnectionId, Notice, Now, Output, ReplicaConfig};
use crate::node::connections::Connections;
use crate::node::memory::Memory;
use crate::node::peers::{CLOCKS_AGREE_MS, Peers};
use crate::refusals::stopping;
use crate::stopping::Stop;
use adjourn_protocol::{ErrorReply, Response};
use adjourn_storage::StorageError;
use adjourn_types::Millis;

/// One node.
pub(crate) struct Node {
    pub(super) config: ReplicaConfig,
    pub(super) connections: Connections,
    pub(super) peers: Peers,
    pub(super) memory: Memory,
    pub(super) disk_low: bool,
    pub(super) stop: Stop,
    started_us: u64,
    /// The machine's monotonic clock: pauses, waits and ticks go by it.
    pub(super) now_us: u64,
    /// The queue's monotonic clock: stamps, leases and the grace of sessions go by it. The same, unless it is manual.
    pub(super) queue_us: u64,
    /// The queue's wall clock.
    pub(super) wall: Millis,
    /// True if only ADVANCE moves the queue's clocks.
    pub(super) has_manual_clock: bool,
    /// Outputs for the next poll, before all later ones.
    pub(super) due: Vec<Output>,
    pub(super) notices: Vec<Notice>,
    pub(super) closes: Vec<ConnectionId>,
}

impl Node {
    /// A node that starts now, without connections.
    pub(crate) fn new(config: ReplicaConfig, peers: Peers, now: Now, has_manual_clock: bool) -> Self {
        Self {
            connections: Connections::new(config.output_bytes_max, config.memory_account.clone()),
            memory: Memory::new(config.memory_max_bytes, config.memory_account.bytes_max()),
            config,
            peers,
            disk_low: false,
            stop: Stop::No,
            started_us: now.elapsed_us,
            now_us: now.elapsed_us,
            // Whole milliseconds: where the clock stands still, no rounding takes one of a lease.
            queue_us: now.elapsed_us.next_multiple_of(if has_manual_clock { 1000 } else { 1 }),
            wall: now.wall,
            has_manual_clock,
            due: Vec::new(),
            notices: Vec::new(),
            closes: Vec::new(),
        }
    }

    /// Takes over the current times of the machine's clocks.
    pub(super) fn look_at_clocks(&mut self, now: Now) {
        if self.has_manual_clock {
            self.now_us = self.now_us.max(now.elapsed_us);
            return;
        }
        let passed_ms = now.elapsed_us.saturating_sub(self.now_us) / 1000;
        if now.wall.0.abs_diff(self.wall.0.saturating_add(passed_ms)) > CLOCKS_AGREE_MS {
            // This node's clock was set since the others reported theirs.
            self.peers.forget_clocks();
        }
        self.now_us = self.now_us.max(now.elapsed_us);
        self.queue_us = self.now_us;
        self.wall = now.wall;
    }

    /// The error for a request that comes while this node stops.
    pub(super) fn stopping(&self) -> Option<ErrorReply> {
        (self.stop != Stop::No).then(stopping)
    }

    /// The queue's clocks.
    pub(super) fn queue_now(&self) -> Now {
        Now { elapsed_us: self.queue_us, wall: self.wall }
    }

    /// By how much a stamp, which has whole milliseconds, may be older than a request that comes with it: almost 1 ms, unless
    /// the clock stands still.
    pub(super) fn stamp_lag_ms(&self) -> u64 {
        u64::from(!self.has_manual_clock)
    }

    /// Moves a manual clock.
    pub(super) fn advance_clock(&mut self, by_ms: u64) {
        debug_assert!(self.has_manual_clock, "the machine moves its own clocks");
        self.queue_us = self.queue_us.saturating_add(by_ms.saturating_mul(1000));
        self.wall = self.wall.after(by_ms);
    }

    /// When to wake for what happens at `queue_us` on the queue's clock, on the machine's; `u64::MAX` if only ADVANCE leads
    /// there.
    pub(super) fn wakes_at_us(&self, queue_us: u64) -> u64 {
        if !self.has_manual_clock {
            queue_us
        } else if queue_us <= self.queue_us {
            self.now_us
        } else {
            u64::MAX
        }
    }

    /// The answer to PING, with both clocks. For a client with a session it confirms, like any read, that this node led
    /// when asked.
    pub(super) fn pong(&self) -> Response {
        Response::Pong { now: self.wall, clock_ms: self.clock_ms() }
    }

    /// The monotonic clock for clients, in milliseconds, rounded up so that no lease seems to last longer.
    pub(super) fn clock_ms(&self) -> u64 {
        self.queue_us.div_ceil(1000)
    }

    /// Checks that this node supports a feature level of the state. Otherwise it must neither lead nor apply entries
    /// differently.
    pub(super) fn check_feature_level(&self, level: u32) -> Result<(), StorageError> {
        let level_max = self.config.feature_level_max;
        if level > level_max { Err(StorageError::FeatureLevel { level, level_max }) } else { Ok(()) }
    }

    pub(super) fn uptime_ms(&self) -> u64 {
        (self.now_us - self.started_us) / 1000
    }

    /// Passes on the responses for clients and the outputs for the driver.
    pub(crate) fn flush(&mut self, outputs: &mut Vec<Output>) {
        self.connections.flush(outputs);
        outputs.extend(self.closes.drain(..).map(|connection| Output::Close { connection }));
        outputs.extend(self.notices.drain(..).map(Output::Notice));
    }
}
