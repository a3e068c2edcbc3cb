//! What a node shows of itself and of the queue to whoever watches it: whether it leads or not, and without asking the others.

use super::Replica;
use crate::protocol::{ClusterReport, TopicReport, Totals};

/// What a node knows at one moment. The counts are those of the entries that it has applied.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The cluster as it sees it.
    pub cluster: ClusterReport,
    /// The last entry that it has applied.
    pub applied: u64,
    /// The sums over all topics, also of those that were forgotten; nothing if no topic was asked for.
    pub totals: Totals,
    /// The topics, the oldest first, and no more of them than were asked for.
    pub topics: Vec<TopicReport>,
    /// How many topics there are.
    pub topics_count: u64,
    /// Sessions that the queue knows.
    pub sessions: u64,
    /// Connections of clients with this node.
    pub connections: u64,
    /// Consumers that wait here for jobs.
    pub waiting: u64,
    /// The disk is nearly full: pushes are refused.
    pub disk_is_full: bool,
    /// The memory limit is reached: pushes are refused.
    pub memory_is_short: bool,
    /// How long the node has been up, in milliseconds.
    pub uptime_ms: u64,
}

impl Replica {
    /// What this node knows now, with at most so many topics. Without any it takes hardly any time.
    pub fn observe(&self, topics_max: usize) -> Observation {
        let topics = self.engine.topics().take(topics_max);
        Observation {
            cluster: self.cluster_report(),
            applied: self.applied.0,
            totals: if topics_max > 0 { self.all_totals() } else { Totals::default() },
            topics: topics.map(|topic| self.topic_report(&topic)).collect(),
            topics_count: self.engine.topics().count() as u64,
            sessions: self.engine.session_count(),
            connections: self.connections.count() as u64,
            waiting: self.waiters.count() as u64,
            disk_is_full: self.disk_low,
            memory_is_short: self.memory.is_short(),
            uptime_ms: (self.now_us - self.started_us) / 1000,
        }
    }

    fn all_totals(&self) -> Totals {
        let forgotten = self.forgotten();
        self.engine.topics().fold(forgotten, |sum, topic| super::queries::add(sum, &self.totals_of(&topic)))
    }
}
