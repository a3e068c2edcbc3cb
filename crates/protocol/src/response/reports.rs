//! What TOPICS, `TOPIC_SHOW` and STATS answer.

use super::{StageReport, Totals};
use adjourn_types::{Millis, RetryDefaults, TopicName, TopicPolicy};

/// One topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicReport {
    /// Its name.
    pub topic: TopicName,
    /// Whether reserving is stopped.
    pub paused: bool,
    /// Long polls and subscriptions that want its jobs.
    pub consumers: u32,
    /// How late jobs were at their first delivery, at most, during the last one or two minutes, in milliseconds; 0 if none was
    /// delivered.
    pub late_ms: u64,
    /// Its counts.
    pub totals: Totals,
}

/// A topic's policy, and what its limits count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicSettings {
    /// The policy for its jobs.
    pub policy: TopicPolicy,
    /// The queue's defaults for what the policy does not set.
    pub defaults: RetryDefaults,
    /// Whether reserving is stopped.
    pub paused: bool,
    /// How long that lasts, in milliseconds; 0 if it does not end by itself.
    pub pause_left_ms: u64,
    /// Jobs in any state.
    pub jobs: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// The whole queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsReport {
    /// The server's clock.
    pub now: Millis,
    /// How long the server has been up, in milliseconds.
    pub uptime_ms: u64,
    /// Open connections.
    pub connections: u32,
    /// Sessions that the queue knows.
    pub sessions: u32,
    /// Consumers that wait for jobs.
    pub waiting: u32,
    /// The last index that was applied.
    pub applied_index: u64,
    /// The Raft term.
    pub term: u64,
    /// The hash of the state at that index.
    pub state_hash: u128,
    /// The sums over all topics.
    pub totals: Totals,
    /// Each topic, by name.
    pub topics: Vec<TopicReport>,
    /// Where the time of the answering node goes; empty from a server that does not say.
    pub stages: Vec<StageReport>,
}
