//! What a node shows of itself and of the queue to whoever watches it: whether it leads or not, and without asking the others.

use std::sync::Arc;

use super::Replica;
use super::queries::add;
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
        Observation {
            cluster: self.cluster_report(),
            applied: self.applied.0,
            totals: access.filter(|access| access.has_everywhere(Right::Read)).map(|_| self.all_totals()),
            topics: access.map(|access| self.seen_by(access)).unwrap_or_default(),
            topics_count: self.engine.topic_count() as u64,
            sessions: self.engine.session_count(),
            connections: self.connections.count() as u64,
            waiting: self.waiters.count() as u64,
            disk_is_full: self.disk_low,
            memory_is_short: self.memory.is_short(),
            uptime_ms: (self.now_us - self.started_us) / 1000,
        }
    }

    /// The topics whose jobs are to be called back, as far as this node has applied what was set.
    pub fn called_back(&self) -> Vec<CalledBack> {
        let wanted = self.engine.topics().filter_map(|topic| {
            let policy = self.engine.topic_policy(topic.id)?;
            let call_back = policy.call_back.as_ref().filter(|call_back| call_back.is_wanted())?;
            let (topic, call_back) = (topic.name.clone(), Arc::clone(call_back));
            let backoff = policy.backoff.clone().or_else(|| self.engine.retry_defaults().backoff.clone());
            Some(CalledBack { topic, call_back, backoff })
        });
        wanted.collect()
    }

    /// Makes events of jobs from here on, or makes none any more.
    pub fn watch_jobs(&mut self, is_watched: bool) {
        self.engine.watch_jobs(is_watched);
    }

    /// What happened to jobs since the last call, as far as this node has applied it.
    pub fn take_job_events(&mut self) -> Vec<JobEvent> {
        self.engine.take_events()
    }

    fn seen_by(&self, access: &Access) -> Vec<TopicReport> {
        let seen = self.engine.topics().filter(|topic| access.has(Right::Read, topic.name.as_str()));
        seen.take(OBSERVED_TOPICS_MAX).map(|topic| self.topic_report(&topic)).collect()
    }

    fn all_totals(&self) -> Totals {
        self.engine.topics().fold(self.forgotten(), |sum, topic| add(sum, &self.totals_of(&topic)))
    }
}
