//! A read sees everything that was acknowledged before it was asked: the counts never fall behind, and no topic has fewer
//! jobs than must be there.
//!
//! That a single job is there is for [`acknowledged`](super::acknowledged) to say, and that what ended is not for
//! [`ended`](super::ended).

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{
    Bulk, Change, JobRef, Push, PushResult, Request, RequestId, Response, StatsReport, TopicReport,
};
use adjourn_replica::ConnectionId;
use adjourn_types::{JobId, TopicName};
use bytes::Bytes;

use super::super::seen::{NodeId, Seen, When};
use super::super::time::Us;
use super::Invariant;
use super::bulks::Bulks;

#[derive(Debug, Default)]
pub(super) struct FreshReads {
    pushed: BTreeSet<JobId>,
    /// The facts known when each question came.
    asked: BTreeMap<(ConnectionId, RequestId), Known>,
    /// The last entry that anybody saw in an answer.
    seen: u64,
    /// Jobs whose end was never requested, by topic, and the acknowledged push of each: without a key and
    /// an expiry, so that every request that ends one names it.
    alive: BTreeMap<TopicName, BTreeMap<JobId, usize>>,
    topics: BTreeMap<JobId, TopicName>,
    /// Jobs that somebody has begun to end.
    ending: BTreeSet<JobId>,
    /// When each body was pushed first.
    bodies: BTreeMap<Bytes, Us>,
    bulks: Bulks,
    /// The last order of each node that it told of before it was written: a crash may lose it.
    told: BTreeMap<NodeId, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    pushed: usize,
    seen: u64,
}

impl FreshReads {
    fn ends(&mut self, job: JobId) {
        self.ending.insert(job);
        if let Some(alive) = self.topics.remove(&job).and_then(|topic| self.alive.get_mut(&topic)) {
            alive.remove(&job);
        }
    }

    /// Somebody deletes jobs, or moves them; these have no key.
    fn many_end(&mut self, bulk: &Bulk) {
        if bulk.filter.key_prefix.is_none() && matches!(bulk.change, Change::Delete | Change::Move { .. }) {
            let ids: Vec<JobId> = self.topics.keys().copied().collect();
            for job in ids {
                self.ends(job);
            }
        }
    }

    fn acknowledged(&mut self, push: &Push, results: &[PushResult]) {
        for (new, result) in push.jobs.iter().zip(results) {
            let (PushResult::Pushed(job) | PushResult::Replaced(job)) = result else { continue };
            let is_new = self.pushed.insert(*job);
            let ends_by_name = new.key.is_none() && new.attributes.policy().expires.is_none();
            let asked = self.bodies.get(&new.body).copied().unwrap_or(0);
            let ends_by_name = ends_by_name && self.bulks.are_over_since(asked, &push.topic, None);
            if is_new && ends_by_name && !self.ending.contains(job) {
                self.topics.insert(*job, push.topic.clone());
                self.alive.entry(push.topic.clone()).or_default().insert(*job, self.pushed.len());
            }
        }
    }

    fn counts(&mut self, node: NodeId, known: Known, stats: &StatsReport) -> Result<(), String> {
        if stats.totals.pushed < known.pushed as u64 {
            return Err(format!(
                "node {node} counts {} jobs, {} were acknowledged before it was asked",
                stats.totals.pushed, known.pushed
            ));
        }
        if stats.applied_index < known.seen {
            return Err(format!(
                "node {node} answers as of entry {}, another answer was of {} before",
                stats.applied_index, known.seen
            ));
        }
        self.seen = self.seen.max(stats.applied_index);
        self.has_all(node, known, &stats.topics)
    }

    fn has_all(&self, node: NodeId, known: Known, reports: &[TopicReport]) -> Result<(), String> {
        for (topic, alive) in &self.alive {
            let least = alive.values().filter(|number| **number <= known.pushed).count() as u64;
            let report = reports.iter().find(|report| report.topic == *topic);
            let totals = report.map(|report| report.totals).unwrap_or_default();
            let there = totals.delayed + totals.ready + totals.reserved + totals.buried;
            if there < least {
                return Err(format!("node {node} has {there} jobs of {}, there are {least}", topic.as_str()));
            }
        }
        Ok(())
    }
}

impl Invariant for FreshReads {
    fn name(&self) -> &'static str {
        "fresh reads"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Asked { connection, id, request, .. } => match request {
                Request::Push(push) => {
                    for new in &push.jobs {
                        self.bodies.entry(new.body.clone()).or_insert(when.at);
                    }
                }
                Request::Bulk(bulk) => {
                    self.bulks.asked(when.at, (*connection, *id), request);
                    self.many_end(bulk);
                }
                Request::Stats | Request::Topics => {
                    let known = Known { pushed: self.pushed.len(), seen: self.seen };
                    self.asked.insert((*connection, *id), known);
                }
                Request::Finish { leases } => leases.iter().for_each(|lease| self.ends(lease.job)),
                Request::Delete(JobRef::Id(job)) => self.ends(*job),
                _ => {}
            },
            Seen::Said {
                request: Some(Request::Push(push)), response: Response::Pushed(results), ..
            } => {
                self.acknowledged(push, results);
            }
            Seen::Ordered { node, order } if order.is_volatile => _ = self.told.insert(*node, order.number),
            Seen::Persisted { node, number } if self.told.get(node).is_some_and(|told| told < number) => {
                self.told.remove(node);
            }
            Seen::Flushed { node } => _ = self.told.remove(node),
            Seen::Started { node, restored, log, .. } if self.told.remove(node).is_some() => {
                let base = restored.map_or(0, |restored| restored.borrow().base.index);
                self.seen = self.seen.min(base + log.len() as u64);
            }
            Seen::Said { node, connection, id, response, .. } => {
                self.bulks.said(when.at, (*connection, *id), response);
                let Some(known) = self.asked.remove(&(*connection, *id)) else { return Ok(()) };
                match response {
                    Response::Stats(stats) => self.counts(*node, known, stats)?,
                    Response::Topics(topics) => self.has_all(*node, known, topics)?,
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
