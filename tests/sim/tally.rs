//! Counts how often the tested events have happened: a test of an event that never happens proves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use adjourn_protocol::{Change, ErrorCode, JobRef, PushResult, ReleaseKind, Request, Response};
use adjourn_replica::Notice;
use adjourn_storage::ChunkState;
use adjourn_types::{JobId, Key, Millis, TopicName};

use super::clients::has_groups;
use super::seen::{NodeId, Seen, When};

/// Counts of one run, or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) checkpoints: u64,
    /// Begun, and cut short by the end of the process.
    pub(super) checkpoints_cut_short: u64,
    /// Begun, and given up for lack of space.
    pub(super) checkpoints_abandoned: u64,
    pub(super) cuts: u64,
    /// Chores of the log that were done.
    pub(super) chores: u64,
    /// Stretches of the log that went into the archive by a chore.
    pub(super) archived: u64,
    /// Rows that were written again.
    pub(super) rows_rewritten: u64,
    pub(super) starts_from_checkpoint: u64,
    pub(super) jobs_spilled: u64,
    /// Spilled jobs that were delivered in their time.
    pub(super) spilled_delivered: u64,
    pub(super) spilled_deleted: u64,
    /// Spilled jobs that were rescheduled, or run at once.
    pub(super) spilled_moved: u64,
    pub(super) spilled_replaced: u64,
    pub(super) spilled_read: u64,
    /// Buried jobs that were kicked, many at once.
    pub(super) kicked: u64,
    /// Times that this was refused, as one member did not know it.
    pub(super) kicks_refused: u64,
    /// Checkpoints of other nodes that took the place of a node's own state.
    pub(super) installs: u64,
    /// Those that replace a lost state, at the entry with which the log ends.
    pub(super) agreeing_installs: u64,
    /// Members that could not read their state, and went on without one.
    pub(super) states_lost: u64,
    /// Times that a node began to lead.
    pub(super) leaders: u64,
    /// Pushes that were refused because the process takes as much memory as it may.
    pub(super) memory_refusals: u64,
    /// Backups that were read and are whole.
    pub(super) backups: u64,
    /// Long polls that were cancelled while they waited.
    pub(super) cancelled: u64,
    /// Jobs that were shown to those who came back for their leases.
    pub(super) leases_shown: u64,
    /// Jobs that were reserved by weights.
    pub(super) weighed: u64,
    /// Pushes that were refused, or had no effect, as their key belongs to a job that was finished.
    pub(super) remembered: u64,
    /// Jobs that were postponed, and those of them that were spilled.
    pub(super) postponed: u64,
    pub(super) spilled_postponed: u64,
    /// Jobs on lists, behind the first page.
    pub(super) listed: u64,
    /// Jobs that were changed among many.
    pub(super) bulked: u64,
    /// Jobs that went to another topic.
    pub(super) moved: u64,
    /// Answers to strangers.
    pub(super) strangers_refused: u64,
    /// Jobs that waited for a time of day that a clock was set past, once for each clock.
    pub(super) brought_forward: u64,
    /// Jobs that were given back not started.
    pub(super) not_started: u64,
    /// Firings of schedules, each counted as often as it was shown.
    pub(super) firings: u64,
    /// Jobs of groups that were delivered.
    pub(super) grouped: u64,
    /// Starts that found less than was told, which crashes may lose.
    pub(super) taken_back: u64,
}

/// Who keeps the counts of a run.
#[derive(Debug, Default)]
pub(super) struct Teller {
    pub(super) tally: Tally,
    /// Jobs that were spilled on each node when somebody looked last, and were not seen since.
    spilled: BTreeMap<NodeId, BTreeSet<JobId>>,
    /// Jobs that were finished.
    finished: BTreeSet<JobId>,
    /// The last job that was pushed with a key.
    keyed: BTreeMap<(TopicName, Key), JobId>,
    /// Jobs that were pushed for a time of day, and were not delivered yet.
    at: BTreeMap<JobId, Millis>,
    /// The checkpoint that is under way on each node: rows that it writes again.
    rewrites: BTreeMap<NodeId, u64>,
    /// The last entry of each node that was told before it was written.
    told: BTreeMap<NodeId, u64>,
}

impl Teller {
    pub(super) fn see(&mut self, when: When, seen: &Seen<'_>) {
        if let Seen::Started { node, restored, log, .. } = seen {
            let base = restored.map_or(0, |restored| restored.borrow().base.index);
            let is_shorter = |told: u64| told > base + log.len() as u64;
            self.tally.taken_back += u64::from(self.told.remove(node).is_some_and(is_shorter));
        }
        match seen {
            Seen::Ordered { node, order } if order.is_volatile => {
                self.told.extend(order.batch.entries.last().map(|last| (*node, last.index)));
            }
            Seen::Set { by_ms: by_ms @ 1.., .. } => {
                let passed =
                    |at: &&Millis| **at > when.wall && at.0 <= when.wall.0.saturating_add_signed(*by_ms);
                self.tally.brought_forward += self.at.values().filter(passed).count() as u64;
            }
            Seen::Started { node, restored: Some(restored), .. } => {
                self.tally.starts_from_checkpoint += 1;
                let spilled = spilled_jobs(&restored.borrow().records.chunks().collect::<Vec<_>>());
                self.spilled.insert(*node, spilled);
            }
            Seen::Started { node, restored: None, .. } => _ = self.spilled.remove(node),
            Seen::Ended { node, .. } => {
                self.tally.checkpoints_cut_short += u64::from(self.rewrites.remove(node).is_some());
            }
            Seen::CheckpointBegins { node, begin } => {
                let spilled = spilled_jobs(&begin.chunks);
                let before = self.spilled.insert(*node, spilled.clone()).unwrap_or_default();
                self.tally.jobs_spilled += spilled.difference(&before).count() as u64;
                let again =
                    begin.chunks.iter().filter(|state| begin.rewrite.contains(&state.chunk.summary().number));
                self.rewrites.insert(*node, again.map(|state| u64::from(state.live.count())).sum());
            }
            Seen::Checkpointed { node, .. } => {
                self.tally.checkpoints += 1;
                self.tally.rows_rewritten += self.rewrites.remove(node).unwrap_or(0);
            }
            Seen::CheckpointAbandoned { node } => {
                self.tally.checkpoints_abandoned += 1;
                self.rewrites.remove(node);
            }
            Seen::Cut { .. } => self.tally.cuts += 1,
            Seen::ChoreDone { archived, .. } => {
                self.tally.chores += 1;
                self.tally.archived += u64::from(*archived);
            }
            Seen::Ordered { order, .. } => {
                self.tally.installs += u64::from(order.batch.install.is_some());
            }
            Seen::Installs { agrees, .. } => self.tally.agreeing_installs += u64::from(*agrees),
            Seen::Noticed { notice: Notice::StateLost { .. }, .. } => self.tally.states_lost += 1,
            Seen::Noticed { notice: Notice::Leading { .. }, .. } => self.tally.leaders += 1,
            Seen::BackedUp { .. } => self.tally.backups += 1,
            Seen::Said { node, request, response, .. } => self.said(*node, *request, response),
            _ => {}
        }
    }

    fn said(&mut self, node: NodeId, request: Option<&Request>, response: &Response) {
        let tally = &mut self.tally;
        let spilled = self.spilled.entry(node).or_default();
        match (request, response) {
            (Some(Request::Cancel { .. }), Response::Done) => tally.cancelled += 1,
            (_, Response::Schedule(report)) => tally.firings += report.history.len() as u64,
            (_, Response::Leased(page)) => tally.leases_shown += page.jobs.len() as u64,
            (_, Response::Reserved(jobs) | Response::Deliver(jobs)) => {
                for job in jobs {
                    self.at.remove(&job.lease.job);
                }
                tally.grouped += jobs.iter().filter(|job| has_groups(&job.topic)).count() as u64;
                tally.weighed += if has_weights(request) { jobs.len() as u64 } else { 0 };
                let were_spilled = jobs.iter().filter(|job| spilled.remove(&job.lease.job));
                tally.spilled_delivered += were_spilled.count() as u64;
            }
            (Some(Request::Finish { leases }), Response::Settled(results)) => {
                let done = leases.iter().zip(results).filter(|(_, result)| result.is_ok());
                self.finished.extend(done.map(|(lease, _)| lease.job));
            }
            (Some(Request::List(list)), Response::Jobs { jobs, .. }) if !list.cursor.is_empty() => {
                tally.listed += jobs.len() as u64;
            }
            (Some(Request::Bulk(bulk)), Response::Bulked { jobs, .. }) => {
                let jobs = u64::from(*jobs);
                tally.bulked += jobs;
                tally.moved += if matches!(bulk.change, Change::Move { .. }) { jobs } else { 0 };
            }
            (_, Response::Kicked { jobs }) => tally.kicked += u64::from(*jobs),
            (Some(Request::Push(_)), Response::Error(error)) => {
                tally.memory_refusals += u64::from(error.message.contains("memory"));
            }
            (Some(Request::KickMany { .. }), Response::Error(error)) => {
                tally.kicks_refused += u64::from(error.code == ErrorCode::Unsupported);
            }
            (Some(Request::Release { kind: ReleaseKind::NotStarted, .. }), Response::Settled(results)) => {
                tally.not_started += results.iter().filter(|result| result.is_ok()).count() as u64;
            }
            (_, Response::Job(report)) => tally.spilled_read += u64::from(spilled.contains(&report.id)),
            (Some(Request::Delete(JobRef::Id(_) | JobRef::Key { .. })), Response::Changed { job, .. }) => {
                tally.spilled_deleted += u64::from(spilled.remove(job));
            }
            (_, Response::Changed { job, .. }) => tally.spilled_moved += u64::from(spilled.remove(job)),
            (Some(Request::Push(push)), Response::Pushed(results)) => {
                for (new, result) in push.jobs.iter().zip(results) {
                    if let (adjourn_types::When::At(at), PushResult::Pushed(job)) = (new.due, result) {
                        self.at.insert(*job, at);
                    }
                    if let PushResult::Kept(job) | PushResult::Refused(ErrorCode::KeyExists, Some(job)) =
                        result
                    {
                        tally.remembered += u64::from(self.finished.contains(job));
                    }
                    if let PushResult::Postponed(job) = result {
                        tally.postponed += 1;
                        tally.spilled_postponed += u64::from(spilled.remove(job));
                    }
                    if let (Some(key), PushResult::Pushed(job) | PushResult::Replaced(job)) =
                        (&new.key, result)
                    {
                        let before = self.keyed.insert((push.topic.clone(), key.clone()), *job);
                        let was_spilled = before.is_some_and(|before| spilled.remove(&before));
                        tally.spilled_replaced +=
                            u64::from(was_spilled && matches!(result, PushResult::Replaced(_)));
                    }
                }
            }
            _ => {}
        }
    }
}

fn has_weights(request: Option<&Request>) -> bool {
    match request {
        Some(Request::Reserve(reserve)) => !reserve.weights.is_empty(),
        Some(Request::Subscribe(subscribe)) => !subscribe.weights.is_empty(),
        _ => false,
    }
}

fn spilled_jobs(chunks: &[ChunkState]) -> BTreeSet<JobId> {
    let mut spilled = BTreeSet::new();
    for state in chunks {
        // What cannot be read is not counted: somebody else will say so.
        let _ = state.chunk.for_each_index(|row, head| {
            if state.spilled.get(row) {
                spilled.insert(JobId(head.id));
            }
        });
    }
    spilled
}

impl Tally {
    /// Whether everything has happened so often.
    pub(super) fn each_at_least(&self, times: u64) -> bool {
        let counts = [
            self.checkpoints,
            self.checkpoints_cut_short,
            self.cuts,
            self.chores,
            self.rows_rewritten,
            self.starts_from_checkpoint,
            self.jobs_spilled,
            self.spilled_delivered,
            self.spilled_deleted,
            self.spilled_replaced,
            self.spilled_read,
            self.backups,
            self.cancelled,
            self.leases_shown,
            self.weighed,
            self.postponed,
            self.spilled_postponed,
            self.listed,
            self.bulked,
            self.strangers_refused,
        ];
        self.remembered.min(self.moved) > 0 && counts.iter().all(|count| *count >= times)
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.checkpoints += other.checkpoints;
        self.checkpoints_cut_short += other.checkpoints_cut_short;
        self.checkpoints_abandoned += other.checkpoints_abandoned;
        self.cuts += other.cuts;
        self.chores += other.chores;
        self.archived += other.archived;
        self.rows_rewritten += other.rows_rewritten;
        self.starts_from_checkpoint += other.starts_from_checkpoint;
        self.jobs_spilled += other.jobs_spilled;
        self.spilled_delivered += other.spilled_delivered;
        self.spilled_deleted += other.spilled_deleted;
        self.spilled_moved += other.spilled_moved;
        self.spilled_replaced += other.spilled_replaced;
        self.spilled_read += other.spilled_read;
        self.kicked += other.kicked;
        self.kicks_refused += other.kicks_refused;
        self.installs += other.installs;
        self.agreeing_installs += other.agreeing_installs;
        self.states_lost += other.states_lost;
        self.leaders += other.leaders;
        self.memory_refusals += other.memory_refusals;
        self.backups += other.backups;
        self.cancelled += other.cancelled;
        self.leases_shown += other.leases_shown;
        self.weighed += other.weighed;
        self.postponed += other.postponed;
        self.remembered += other.remembered;
        self.spilled_postponed += other.spilled_postponed;
        self.listed += other.listed;
        self.bulked += other.bulked;
        self.moved += other.moved;
        self.strangers_refused += other.strangers_refused;
        self.brought_forward += other.brought_forward;
        self.not_started += other.not_started;
        self.firings += other.firings;
        self.grouped += other.grouped;
        self.taken_back += other.taken_back;
    }
}
