//! What a node shows to observers about itself and the queue, as a leader or not, and without asking other nodes.

use std::sync::Arc;

use super::Replica;
use adjourn_engine::JobEvent;
use adjourn_protocol::{ClusterReport, TopicReport, Totals};
use adjourn_types::{Access, Backoff, CallBack, Right, TopicName};

/// Most topics that are shown: the oldest ones that the observer may see.
pub const OBSERVED_TOPICS_MAX: usize = 512;

/// A topic with call-backs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledBack {
    /// The topic.
    pub topic: TopicName,
    /// Its call-back settings.
    pub call_back: Arc<CallBack>,
    /// The wait after a failed attempt for jobs that set none, from the topic or the queue.
    pub backoff: Option<Backoff>,
}

/// A node's view at one moment. The counts include the entries that it has applied.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The cluster as this node sees it.
    pub cluster: ClusterReport,
    /// The last entry that this node has applied.
    pub applied: u64,
    /// Totals of all topics, forgotten ones included; `None` for observers that may not read all topics.
    pub totals: Option<Totals>,
    /// The topics that the observer may see: at most [`OBSERVED_TOPICS_MAX`].
    pub topics: Vec<TopicReport>,
    /// The number of all topics.
    pub topics_count: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// The number of client connections to this node.
    pub connections: u64,
    /// The number of consumers that wait on this node for jobs.
    pub waiting: u64,
    /// True if the disk is nearly full: pushes are refused.
    pub disk_is_full: bool,
    /// True if the memory limit is reached: pushes are refused.
    pub memory_is_short: bool,
    /// How long the node has been up, in milliseconds.
    pub uptime_ms: u64,
}

impl Replica {
    /// What this node shows to an observer with this access. Without access, it omits totals and topics, which is fast.
    pub fn observe(&self, access: Option<&Access>) -> Observation {
        let Self { node, group, leader, .. } = self;
        let sees_all = access.is_some_and(|access| access.has_everywhere(Right::Read));
        let consumption =
            |topic| leader.as_ref().map(|leader| leader.consumption().of(topic)).unwrap_or_default();
        Observation {
            cluster: group.cluster_report(node),
            applied: group.applied.0,
            totals: sees_all.then(|| group.state.all_totals()),
            topics: access.map(|access| group.state.seen_by(access, consumption)).unwrap_or_default(),
            topics_count: group.state.engine.topic_count() as u64,
            sessions: group.state.engine.session_count(),
            connections: node.connections.count() as u64,
            waiting: leader.as_ref().map_or(0, |leader| leader.waiters.count() as u64),
            disk_is_full: node.disk_low,
            memory_is_short: node.memory.is_short(),
            uptime_ms: node.uptime_ms(),
        }
    }

    /// The topics with call-backs, as of the last applied entry.
    pub fn called_back(&self) -> Vec<CalledBack> {
        self.group.state.called_back()
    }

    /// Starts or stops making job events.
    pub fn watch_jobs(&mut self, is_watched: bool) {
        self.group.state.engine.watch_jobs(is_watched);
    }

    /// The job events since the last call, as of the last applied entry.
    pub fn take_job_events(&mut self) -> Vec<JobEvent> {
        self.group.state.engine.take_events()
    }
}
