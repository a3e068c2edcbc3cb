//! Reads in a cluster: each is answered from a state that contains everything that was acknowledged before it arrived.
//!
//! All collected reads share one round of messages, which confirms that this node still leads. They wait until the state
//! has applied everything that was committed then (`ReadIndex`; Ongaro, Consensus: Bridging Theory and Practice, 2014,
//! section 6.4).
//!
//! A read also shows the effect of timers that have fired when it arrives, even if no consumer waits for their jobs: it
//! waits for the entry that moves them.

use std::collections::VecDeque;

use super::Leader;
use super::consumption::Consumption;
use crate::group::Group;
use crate::group::state::no_job;
use crate::group::work::UNIT_BYTES;
use crate::io::ConnectionId;
use crate::node::Node;
use crate::node::connections::Asker;
use crate::stopping::Stop;
use adjourn_protocol::{JobRef, Request, Response};
use adjourn_storage::StorageError;
use adjourn_types::Millis;

/// A turn answers no more reads after this much work.
const READS_WORK: u64 = 1024;

/// A read, and its asker.
pub(super) type Read = (Asker, Request);

/// Reads that wait for confirmation, or for the state.
#[derive(Debug, Default)]
pub(crate) struct PendingReads {
    gathering: Vec<Timed>,
    /// Reads that wait for confirmation, by its context, in ascending order.
    asked: VecDeque<(u64, Vec<Timed>)>,
    /// Confirmed reads, each with the index that the state must reach first; indexes do not decrease.
    confirmed: VecDeque<(u64, Timed)>,
    /// If the state after this entry is too old for the first confirmed read: the entry's index.
    too_old: Option<u64>,
    count: usize,
    work: u64,
}

/// A read, the stamp when it arrived, and its work.
type Timed = (Millis, u64, Read);

impl PendingReads {
    /// Adds a read that must see the state as of `stamp` or later.
    pub(crate) fn add(&mut self, stamp: Millis, work: u64, read: Read) {
        self.gathering.push((stamp, work, read));
        self.count += 1;
        self.work += work;
    }

    /// The number of waiting reads.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The work of the waiting reads.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// Begins a confirmation for the collected reads, if there are any. Returns its number, which is `last` + 1.
    pub(crate) fn ask(&mut self, last: &mut u64) -> Option<u64> {
        if self.gathering.is_empty() {
            return None;
        }
        *last += 1;
        self.asked.push_back((*last, std::mem::take(&mut self.gathering)));
        Some(*last)
    }

    /// Confirms that this node led when it asked with `context`, and so for all earlier questions.
    pub(crate) fn confirm(&mut self, context: u64, index: u64) {
        while let Some((_, reads)) = self.asked.pop_front_if(|(asked, _)| *asked <= context) {
            self.confirmed.extend(reads.into_iter().map(|read| (index, read)));
        }
    }

    /// Confirms all reads, because no other node can lead.
    pub(super) fn confirm_all(&mut self) {
        self.confirm(u64::MAX, 0);
        self.confirmed.extend(self.gathering.drain(..).map(|read| (0, read)));
    }

    /// True if a read can be answered from the state after the entry at `applied`.
    pub(super) fn any_ready(&self, applied: u64) -> bool {
        self.first_ready(applied).is_some()
    }

    /// When the first of these reads arrived.
    pub(super) fn first_ready(&self, applied: u64) -> Option<Millis> {
        let first = self.confirmed.front().filter(|(index, _)| *index <= applied)?;
        (self.too_old != Some(applied)).then_some(first.1.0)
    }

    /// Takes the first of these reads.
    pub(super) fn take_ready(&mut self, applied: u64) -> Option<Read> {
        let (_, (_, work, read)) = self.confirmed.pop_front_if(|(index, _)| *index <= applied)?;
        self.count -= 1;
        self.work -= work;
        Some(read)
    }

    /// The state after the entry at `applied` is too old for the first read: all reads wait for the next entry.
    pub(super) fn await_entry(&mut self, applied: u64) {
        self.too_old = Some(applied);
    }

    /// All reads, when this node no longer leads.
    pub(crate) fn all(self) -> impl Iterator<Item = Read> {
        let confirmed = self.confirmed.into_iter().map(|(_, read)| read);
        let asked = self.asked.into_iter().flat_map(|(_, reads)| reads);
        confirmed.chain(asked).chain(self.gathering).map(|(.., read)| read)
    }
}

impl Leader {
    /// Answers reads whose state is new enough, up to the work of a turn.
    pub(crate) fn answer_reads(&mut self, node: &mut Node, group: &mut Group) {
        self.lateness.advance(node.now_us);
        if group.raft.is_alone() {
            // No other node can lead: the applied state is the newest.
            self.reads.confirm_all();
        }
        let until = group.work_done() + READS_WORK;
        while group.work_done() < until
            && let Some((asker, request)) = node.connections.resume()
        {
            self.answer_read(node, group, asker, &request);
        }
        while group.work_done() < until
            && self.shows_what_is_due(node, group)
            && let Some((asker, request)) = self.reads.take_ready(group.applied.0)
        {
            if !node.connections.is_there(asker.connection) {
                group.work.count(1);
            } else if node.connections.must_wait(asker) {
                group.work.count(1);
                node.connections.hold(asker, request);
            } else {
                self.answer_read(node, group, asker, &request);
            }
        }
        let consumption = Consumption { waiters: &self.waiters, lateness: &self.lateness };
        self.passes.go_on(node, group, &mut self.proposals, consumption);
    }

    /// True if the first ready read sees the jobs that were due when it arrived. Otherwise the next entry, which follows at
    /// once, moves them, and reads wait for it. They wait for no further entry: after an outage, millions of jobs may be
    /// due.
    fn shows_what_is_due(&mut self, node: &Node, group: &mut Group) -> bool {
        let Some(stamp) = self.reads.first_ready(group.applied.0) else { return false };
        let is_moved = group.state.engine.stamp() >= stamp;
        // A stopping node moves no more jobs, but answers requests.
        if is_moved || node.stop != Stop::No || !group.state.engine.is_overdue(stamp) {
            return true;
        }
        self.next_housekeeping_us = node.now_us;
        self.reads.await_entry(group.applied.0);
        false
    }

    fn answer_read(&mut self, node: &mut Node, group: &mut Group, asker: Asker, request: &Request) {
        let proposed_bytes = self.proposals.bytes();
        if let Err(error) = self.read(node, group, asker, request) {
            group.unreadable(node, asker, &error);
        }
        let added_bytes = self.proposals.bytes().saturating_sub(proposed_bytes);
        group.work.count(1 + added_bytes as u64 / UNIT_BYTES);
    }

    /// # Errors
    ///
    /// If the disk cannot be read.
    fn read(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        request: &Request,
    ) -> Result<(), StorageError> {
        let response = match request {
            Request::Get(job) => job_shown(node, group, asker, job)?,
            Request::Peek { topic } => match group.state.engine.topic_id(topic.as_str()) {
                Some(topic) => {
                    self.passes.peek(node, group, asker, topic);
                    return Ok(());
                }
                None => no_job(),
            },
            Request::List(list) => {
                self.passes.list(node, group, asker, list);
                return Ok(());
            }
            Request::Bulk(bulk) => {
                self.passes.bulk(node, group, asker, bulk);
                return Ok(());
            }
            Request::Edit(edit) => return self.edit(node, group, asker, edit),
            Request::Count(count) => {
                self.passes.count(node, group, asker, count);
                return Ok(());
            }
            Request::Ping => node.pong(),
            Request::Leases { after, jobs_max } => {
                self.leased(node, group, asker.connection, *after, *jobs_max)?
            }
            Request::Connections { after, connections_max } => Response::Connections(
                self.waiters.connection_list(node, group, ConnectionId(*after), *connections_max),
            ),
            Request::Topics | Request::Stats => {
                let consumption = Consumption { waiters: &self.waiters, lateness: &self.lateness };
                self.passes.report_topics(node, group, asker, request.clone(), consumption);
                return Ok(());
            }
            Request::ScheduleSet(_)
            | Request::ScheduleShow { .. }
            | Request::ScheduleList(_)
            | Request::ScheduleFill(_)
            | Request::SchedulePreview(_)
            | Request::ScheduleDelete { .. }
            | Request::SchedulePause { .. }
            | Request::ScheduleResume { .. }
            | Request::ScheduleRun { .. } => return self.schedule_request(node, group, asker, request),
            Request::GroupList(_) | Request::Why(_) | Request::TopicWhy { .. } => {
                self.about_groups(node, group, asker.connection, request)?
            }
            Request::TopicShow { topic } => group.state.topic_settings(topic),
            other => unreachable!("{other:?} is no read"),
        };
        node.connections.send(asker, response);
        Ok(())
    }
}

/// The answer to GET.
///
/// # Errors
///
/// If the disk cannot be read.
fn job_shown(node: &Node, group: &mut Group, asker: Asker, job: &JobRef) -> Result<Response, StorageError> {
    let access = node.connections.access(asker.connection);
    group.work.count(group.state.topics_of(job));
    let selected = group.state.select(access.as_deref(), job);
    let view = group.state.engine.job(&selected, &mut group.state.records)?;
    Ok(match (view, group.state.finished_job(job)) {
        (None, Some(finished)) => finished,
        (None, None) => no_job(),
        (Some(view), _) => {
            let is_operator = node.connections.is_operator(asker.connection);
            Response::Job(Box::new(group.state.job_report(&view, is_operator)?))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectionId;
    use adjourn_protocol::RequestId;

    fn ids(reads: &[Read]) -> Vec<u32> {
        reads.iter().map(|(asker, _)| asker.request.0).collect()
    }

    #[test]
    fn a_read_waits_for_its_answer_and_for_the_state() {
        let (mut reads, mut last) = (PendingReads::default(), 0);
        let add = |reads: &mut PendingReads, id: u32| {
            reads.add(
                Millis(id.into()),
                7,
                (Asker { connection: ConnectionId(1), request: RequestId(id) }, Request::Stats),
            );
        };
        add(&mut reads, 1);
        add(&mut reads, 2);
        let first = reads.ask(&mut last).expect("there are some");
        add(&mut reads, 3);
        let second = reads.ask(&mut last).expect("there is one");
        assert_eq!((reads.ask(&mut last), first < second), (None, true));
        add(&mut reads, 4);
        assert!(!reads.any_ready(u64::MAX), "nobody said that this node leads");
        reads.confirm(second, 10);
        assert_eq!((reads.any_ready(9), reads.take_ready(9)), (false, None), "the state is not there yet");
        assert_eq!(reads.first_ready(10), Some(Millis(1)));
        reads.await_entry(10);
        assert_eq!((reads.first_ready(10), reads.first_ready(11)), (None, Some(Millis(1))));
        let taken: Vec<Read> = std::iter::from_fn(|| reads.take_ready(10)).collect();
        assert_eq!(ids(&taken), [1, 2, 3], "an answer holds for those before");
        assert_eq!((reads.count(), reads.work()), (1, 7));
        assert_eq!(ids(&reads.all().collect::<Vec<_>>()), [4]);
    }
}
