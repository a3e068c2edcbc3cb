//! What a node shows of itself and of the queue to whoever watches it: whether it leads or not, and without asking the others.

use std::sync::Arc;

use super::Replica;
use crate::engine::JobEvent;
use crate::protocol::{ClusterReport, TopicReport, Totals};
use crate::types::{Access, Backoff, CallBack, Right, TopicName};

/// Topics that are shown one by one, the oldest ones of those that may be seen.
pub const OBSERVED_TOPICS_MAX: usize = 512;

/// A topic whose jobs are called back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledBack {
    /// The topic.
    pub topic: TopicName,
    /// How its jobs are called back.
    pub call_back: Arc<CallBack>,
    /// How long a job that says nothing waits after an attempt that failed, as the topic says or the queue.
    pub backoff: Option<Backoff>,
}

/// What a node knows at one moment. The counts are those of the entries that it has applied.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The cluster as it sees it.
    pub cluster: ClusterReport,
    /// The last entry that it has applied.
    pub applied: u64,
    /// The sums over all topics, also of those that were forgotten; `None` for one who may not see all.
    pub totals: Option<Totals>,
    /// Topics that one may see: at most [`OBSERVED_TOPICS_MAX`].
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
    /// What this node knows now, as far as one may see it who has this access; of itself alone, which takes hardly any time, without.
    pub fn observe(&self, access: Option<&Access>) -> Observation {
        let Self { node, group, leader, .. } = self;
        let sees_all = access.is_some_and(|access| access.has_everywhere(Right::Read));
        Observation {
            cluster: group.cluster_report(node),
            applied: group.applied.0,
            totals: sees_all.then(|| group.state.all_totals()),
            topics: access.map(|access| group.state.seen_by(access)).unwrap_or_default(),
            topics_count: group.state.engine.topic_count() as u64,
            sessions: group.state.engine.session_count(),
            connections: node.connections.count() as u64,
            waiting: leader.as_ref().map_or(0, |leader| leader.waiters.count() as u64),
            disk_is_full: node.disk_low,
            memory_is_short: node.memory.is_short(),
            uptime_ms: node.uptime_ms(),
        }
    }

    /// The topics whose jobs are to be called back, as far as this node has applied what was set.
    pub fn called_back(&self) -> Vec<CalledBack> {
        self.group.state.called_back()
    }

    /// Makes events of jobs from here on, or makes none any more.
    pub fn watch_jobs(&mut self, is_watched: bool) {
        self.group.state.engine.watch_jobs(is_watched);
    }

    /// What happened to jobs since the last call, as far as this node has applied it.
    pub fn take_job_events(&mut self) -> Vec<JobEvent> {
        self.group.state.engine.take_events()
    }
}
