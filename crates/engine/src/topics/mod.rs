//! The topics: names, counters, and the order in which ready jobs are reserved and buried ones kicked.
//!
//! A topic is idle while it has no job and no policy and is not paused. It is forgotten after [`TOPIC_RETENTION_MS`], or
//! earlier if a new topic needs its place. Its number is never reused, and the queue keeps its totals. Deleting a topic
//! without jobs forgets it at once.

pub(crate) mod groups;
pub(crate) mod hold;
pub(crate) mod policy;
pub(crate) mod ready;
pub(crate) mod saved_topics;
pub(crate) mod topic;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use crate::hash::{Element, Kind, Sum};
use crate::job::Job;
use crate::jobs::Slot;
use crate::outcome::{Paused, Reject, TopicView};
use adjourn_types::limits::{TOPIC_RETENTION_MS, TOPICS_MAX};
use adjourn_types::{JobState, Millis, TopicId, TopicName};
use groups::{GroupChange, GroupNumber, Groups};
use policy::{Rule, SavedRule, Throttled};
use ready::{Rank, ReadyOrder, buried_rank_of};
use saved_topics::{SavedTopic, SavedTopics};
use topic::Topic;

/// Most idle topics that one entry forgets, beyond those that make room.
pub(super) const FORGOTTEN_PER_ENTRY_MAX: usize = 64;

/// Counters that are never reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicTotals {
    /// Jobs ever pushed, or moved here.
    pub pushed: u64,
    /// Jobs ever finished.
    pub finished: u64,
    /// Jobs ever deleted, replaced, or moved to another topic.
    pub deleted: u64,
    /// Jobs ever dropped because they expired or were late.
    pub expired: u64,
}

/// All topics, by number.
#[derive(Debug, Default)]
pub(super) struct Topics {
    known: BTreeMap<TopicId, Topic>,
    /// The topics that have schedules.
    with_schedules: BTreeSet<TopicId>,
    /// The number that the next new topic gets.
    pub(super) next: u32,
    /// The idle topics, by the stamp since which they are idle. Updated at the end of each entry.
    idle: BTreeSet<(Millis, TopicId)>,
    /// The totals of forgotten topics.
    forgotten: TopicTotals,
    /// The current share of `next` and `forgotten` in the state hash.
    forgotten_hashed: u128,
    /// The topics that the current entry has forgotten.
    gone: Vec<(TopicId, TopicName)>,
    names: BTreeMap<Box<str>, TopicId>,
    changed: Vec<TopicId>,
    /// Groups with a job that came or went since they were refreshed.
    regrouped: Vec<(TopicId, GroupNumber)>,
    /// True until all jobs of a checkpoint have entered.
    restoring: bool,
    /// Topics that may deliver a ready job at the stamp.
    deliverable: BTreeSet<TopicId>,
    /// The topics whose pause ends by itself, by when it does.
    pauses: Throttled,
    throttled: Throttled,
    /// Topics with groups that time alone changes, by the first such time.
    groups_wake: BTreeSet<(Millis, TopicId)>,
    /// The stamp of the last entry.
    stamp: Millis,
    /// The number of jobs that are ready or buried.
    in_order: usize,
}

impl Topics {
    pub(super) fn id(&self, name: &str) -> Option<TopicId> {
        self.names.get(name).copied()
    }

    pub(super) fn find(&self, id: TopicId) -> Option<&Topic> {
        self.known.get(&id)
    }

    /// The first topic with this number or a later one.
    pub(super) fn first_from(&self, id: TopicId) -> Option<(TopicId, &Topic)> {
        self.known.range(id..).next().map(|(id, topic)| (*id, topic))
    }

    /// The number of the topic with this name, created if it is new. At the limit, the topic that has been idle for longest
    /// is forgotten.
    pub(super) fn intern(&mut self, name: &str, sum: &mut Sum) -> Result<TopicId, Reject> {
        if let Some(id) = self.id(name) {
            return Ok(id);
        }
        let is_idle = |(_, id): &&(Millis, TopicId)| self.find(*id).is_some_and(Topic::is_idle);
        let oldest = self.idle.iter().find(is_idle).copied();
        if self.known.len() >= TOPICS_MAX && oldest.is_none() {
            return Err(Reject::TopicQuota);
        }
        // The proposer has checked the name; no topic has an invalid one.
        let valid: TopicName = name.parse().map_err(|_| Reject::NotFound)?;
        if self.known.len() >= TOPICS_MAX
            && let Some((_, oldest)) = oldest
        {
            self.forget(oldest, sum);
        }
        let id = TopicId(self.next);
        self.next = self.next.checked_add(1).ok_or(Reject::TopicQuota)?;
        self.known.insert(id, Topic::new(valid));
        self.names.insert(name.into(), id);
        self.totals(id);
        Ok(id)
    }

    /// Removes the topic that was created last, if it has no job: no other entry has seen it.
    pub(super) fn unmake_empty(&mut self, id: TopicId) {
        if let Some(topic) = self.known.remove(&id) {
            if topic.is_empty() {
                debug_assert_eq!(id.0 + 1, self.next, "nothing was made since");
                self.names.remove(topic.name.as_str());
                self.next = id.0;
            } else {
                self.known.insert(id, topic);
            }
        }
    }

    /// Advances the stamp, ends pauses, and updates the topics whose rate allows a delivery by then.
    pub(super) fn advance(&mut self, stamp: Millis) {
        self.stamp = stamp;
        while let Some((_, id)) = self.groups_wake.first().copied().filter(|(at, _)| *at <= stamp) {
            let topic = self.touch(id);
            if let Some(groups) = &mut topic.groups {
                groups.wake(stamp);
            }
            topic.drop_groups_if_gone();
            self.note_deliverable(id);
        }
        while let Some((_, id)) = self.pauses.first().copied().filter(|(at, _)| *at <= stamp) {
            self.pause(id, None);
        }
        while let Some((_, id)) = self.throttled.first().copied().filter(|(at, _)| *at <= stamp) {
            self.note_deliverable(id);
        }
    }

    /// The topics whose rate, or a pause that ends by itself, holds jobs back.
    pub(super) fn throttled(&self) -> &Throttled {
        &self.throttled
    }

    /// A topic's policy and rates, for a change.
    pub(super) fn rule_mut(&mut self, id: TopicId) -> &mut Option<Box<Rule>> {
        &mut self.touch(id).rule
    }

    /// Called when the number of a topic's leases changed: its policy may limit them.
    fn note_leases(&mut self, id: TopicId) {
        if self.existing(id).rule.is_some() {
            self.note_deliverable(id);
        }
    }

    /// Counts the grant of a ready job against the turn and the rate of its group.
    pub(super) fn note_grant_of_group(&mut self, job: &Job) {
        let stamp = self.stamp;
        if let Some(groups) = &mut self.existing(job.topic).groups {
            groups.note_grant(job.group(), stamp);
        }
    }

    /// True if a delivery of this job holds its group's place until the job has ended.
    pub(super) fn is_in_order(&self, job: &Job) -> bool {
        job.group().is_some() && self.find(job.topic).is_some_and(|topic| topic.group_policy().fifo)
    }

    /// Changes the settings of a group.
    pub(super) fn set_group(&mut self, id: TopicId, name: &str, change: GroupChange) -> Result<(), Reject> {
        let stamp = self.stamp;
        let topic = self.touch(id);
        let set = topic.groups().set(name, change, stamp);
        topic.drop_groups_if_gone();
        self.note_deliverable(id);
        set
    }

    /// Counts a grant against the topic's rate.
    pub(super) fn note_grant(&mut self, id: TopicId) {
        let stamp = self.stamp;
        if self.existing(id).rule.as_ref().is_some_and(|rule| rule.counts_grants()) {
            if let Some(rule) = self.rule_mut(id) {
                rule.note_grant(stamp);
            }
            self.note_deliverable(id);
        }
    }

    /// Forgets a bounded number of topics that have been idle for long.
    pub(super) fn forget_idle(&mut self, stamp: Millis, sum: &mut Sum) {
        for _ in 0..FORGOTTEN_PER_ENTRY_MAX {
            match self.idle.first().copied() {
                Some((since, id)) if since.after(TOPIC_RETENTION_MS) <= stamp => {
                    if self.find(id).is_some_and(Topic::is_idle) {
                        self.forget(id, sum);
                    } else {
                        // It has jobs: this entry moved a due job here as a dead letter.
                        self.idle.remove(&(since, id));
                        self.touch(id).idle_since = None;
                    }
                }
                _ => return,
            }
        }
    }

    /// The topics that were forgotten since the last call.
    pub(super) fn take_gone(&mut self) -> Vec<(TopicId, TopicName)> {
        std::mem::take(&mut self.gone)
    }

    /// The totals of forgotten topics.
    pub(super) fn forgotten(&self) -> TopicTotals {
        self.forgotten
    }

    /// Forgets a topic without jobs.
    pub(super) fn forget(&mut self, id: TopicId, sum: &mut Sum) {
        let Some(topic) = self.known.remove(&id) else { return };
        sum.subtract(topic.hashed);
        self.names.remove(topic.name.as_str());
        self.deliverable.remove(&id);
        topic.throttled_until.inspect(|until| _ = self.throttled.remove(&(*until, id)));
        topic.pause_ends().inspect(|ends| _ = self.pauses.remove(&(*ends, id)));
        topic.groups_wake_at.inspect(|at| _ = self.groups_wake.remove(&(*at, id)));
        if let Some(since) = topic.idle_since {
            self.idle.remove(&(since, id));
        }
        let TopicTotals { pushed, finished, deleted, expired } = topic.totals;
        self.forgotten.pushed += pushed;
        self.forgotten.finished += finished;
        self.forgotten.deleted += deleted;
        self.forgotten.expired += expired;
        self.gone.push((id, topic.name));
    }

    /// A topic that exists, for a change that is not hashed.
    pub(super) fn existing(&mut self, id: TopicId) -> &mut Topic {
        match self.known.get_mut(&id) {
            Some(topic) => topic,
            None => unreachable!("every job's topic exists"),
        }
    }

    /// The counters of a topic, for a change.
    pub(super) fn totals(&mut self, id: TopicId) -> &mut TopicTotals {
        &mut self.touch(id).totals
    }

    /// Pauses a topic or resumes it. Of a pause of a paused topic only the end counts.
    pub(super) fn pause(&mut self, id: TopicId, paused: Option<Paused>) {
        let stamp = self.stamp;
        let topic = self.touch(id);
        let ended = topic.pause_ends();
        let before = topic.paused.take();
        let paused = paused.map(|paused| match before {
            Some(before) => Box::new(Paused { until: paused.until, ..*before }),
            None => Box::new(paused),
        });
        topic.paused = paused.filter(|paused| paused.lasts(stamp));
        let ends = topic.pause_ends();
        ended.inspect(|ended| _ = self.pauses.remove(&(*ended, id)));
        self.pauses.extend(ends.map(|ends| (ends, id)));
        self.note_deliverable(id);
    }

    /// The topics that can deliver a job, by number.
    pub(super) fn deliverable(&self) -> &BTreeSet<TopicId> {
        &self.deliverable
    }

    /// Counts a job in its state, and adds it to that state's order.
    pub(super) fn enter(&mut self, slot: Slot, job: &Job) {
        self.in_order += usize::from(is_in_order(job));
        let topic = self.existing(job.topic);
        topic.bytes += job.counted_bytes();
        let regrouped = topic.regroup(slot, job, true);
        match job.state {
            JobState::Delayed => topic.delayed += 1,
            JobState::Ready => {
                topic.order_ungrouped(slot, job, true);
                if topic.ready() == 1 {
                    self.note_deliverable(job.topic);
                }
            }
            JobState::Reserved => {
                topic.reserved += 1;
                self.note_leases(job.topic);
            }
            JobState::Finished => topic.remembered += 1,
            JobState::Scheduled => {
                topic.schedules.insert(job.id, slot);
                self.with_schedules.insert(job.topic);
            }
            JobState::Buried => topic.buried.insert(buried_rank_of(job, slot)),
        }
        self.note_regrouped(job.topic, regrouped);
        self.refresh_groups();
    }

    /// Takes a job out of its state's counter and order.
    pub(super) fn leave(&mut self, slot: Slot, job: &Job) {
        self.in_order -= usize::from(is_in_order(job));
        let topic = self.existing(job.topic);
        topic.bytes = topic.bytes.saturating_sub(job.counted_bytes());
        let regrouped = topic.regroup(slot, job, false);
        match job.state {
            JobState::Delayed => topic.delayed -= 1,
            JobState::Ready => {
                topic.order_ungrouped(slot, job, false);
                if topic.ready() == 0 {
                    self.note_deliverable(job.topic);
                }
            }
            JobState::Reserved => {
                topic.reserved -= 1;
                self.note_leases(job.topic);
            }
            JobState::Finished => self.touch(job.topic).remembered -= 1,
            JobState::Scheduled => {
                let topic = self.touch(job.topic);
                topic.schedules.remove(&job.id);
                if topic.schedules.is_empty() {
                    self.with_schedules.remove(&job.topic);
                }
            }
            JobState::Buried => topic.buried.remove(&buried_rank_of(job, slot)),
        }
        self.note_regrouped(job.topic, regrouped);
    }

    /// Remembers a group to refresh.
    fn note_regrouped(&mut self, topic: TopicId, group: Option<GroupNumber>) {
        let regrouped = group.map(|number| (topic, number));
        // The two halves of a change name the same group.
        if regrouped.is_some() && self.regrouped.last() != regrouped.as_ref() {
            self.regrouped.extend(regrouped);
        }
    }

    /// Follows a change of what groups mean. It looks at each group of the topic once.
    pub(super) fn change_group_policy(&mut self, id: TopicId) {
        let (stamp, topic) = (self.stamp, self.existing(id));
        let policy = topic.group_policy();
        if topic.groups.is_none() && !policy.is_on() {
            return;
        }
        topic.groups().set_policy(policy, stamp);
        topic.drop_groups_if_gone();
    }

    /// Follows the jobs that came and went: after a change, not between its two halves, so that a group keeps its turn.
    pub(super) fn refresh_groups(&mut self) {
        if self.restoring {
            return self.regrouped.clear();
        }
        let stamp = self.stamp;
        let mut regrouped = std::mem::take(&mut self.regrouped);
        for (id, number) in regrouped.drain(..) {
            let topic = self.touch(id);
            if let Some(groups) = &mut topic.groups {
                groups.refresh(number, stamp);
            }
            topic.drop_groups_if_gone();
            self.note_deliverable(id);
        }
        // Kept for its memory.
        self.regrouped = regrouped;
    }

    pub(super) fn views(&self) -> impl ExactSizeIterator<Item = TopicView<'_>> {
        self.known.iter().map(|(id, topic)| topic.view(*id))
    }

    /// The topics with this id and higher ones that have schedules.
    pub(super) fn with_schedules(&self, first: TopicId) -> impl Iterator<Item = (TopicId, &Topic)> {
        self.with_schedules.range(first..).filter_map(|id| Some((*id, self.known.get(id)?)))
    }

    pub(super) fn views_after(&self, name: Option<&str>) -> impl Iterator<Item = TopicView<'_>> {
        let behind = name.map_or(Bound::Unbounded, Bound::Excluded);
        let named = self.names.range::<str, _>((behind, Bound::Unbounded));
        named.filter_map(|(_, id)| Some(self.find(*id)?.view(*id)))
    }

    /// Updates the state hash with the changed topics, and notes which topics are idle from this stamp on.
    pub(super) fn settle(&mut self, stamp: Millis, sum: &mut Sum) {
        for id in std::mem::take(&mut self.changed) {
            let Some(topic) = self.known.get_mut(&id) else { continue };
            match (topic.is_idle(), topic.idle_since) {
                (true, None) => {
                    topic.idle_since = Some(stamp);
                    self.idle.insert((stamp, id));
                }
                (false, Some(since)) => {
                    topic.idle_since = None;
                    self.idle.remove(&(since, id));
                }
                _ => {}
            }
            let hash = topic.hash(id);
            sum.subtract(topic.hashed);
            sum.add(hash);
            (topic.hashed, topic.changed) = (hash, false);
        }
        let hash = self.hash_of_forgotten();
        sum.subtract(self.forgotten_hashed);
        sum.add(hash);
        self.forgotten_hashed = hash;
    }

    /// The sum of their hashes, computed from scratch.
    pub(super) fn hash(&self) -> u128 {
        let sum = self.hash_of_forgotten();
        self.known.iter().fold(sum, |sum, (id, topic)| sum.wrapping_add(topic.hash(*id)))
    }

    /// 0 until a topic was forgotten: until then the next number follows from the number of topics.
    fn hash_of_forgotten(&self) -> u128 {
        if self.next as usize == self.known.len() {
            return 0;
        }
        let TopicTotals { pushed, finished, deleted, expired } = self.forgotten;
        let mut element = Element::new(Kind::ForgottenTopics);
        element.word(self.next.into()).word(pushed).word(finished).word(deleted).word(expired).hash()
    }

    /// All topics, for a checkpoint.
    pub(super) fn save(&self) -> SavedTopics {
        let known = self.known.iter().map(|(id, topic)| topic.save(*id)).collect();
        SavedTopics { known, next: self.next, forgotten: self.forgotten }
    }

    /// Restores the saved topics, without their jobs. The saved state hash already includes them.
    pub(super) fn restore(&mut self, saved: &SavedTopics, stamp: Millis) {
        (self.stamp, self.restoring) = (stamp, true);
        for saved in &saved.known {
            let Some(name) = saved.name() else { continue };
            let (id, mut topic) = (saved.id, Topic::new(name));
            topic.paused = saved.paused.clone().map(Box::new);
            self.pauses.extend(topic.pause_ends().map(|ends| (ends, id)));
            (topic.totals, topic.idle_since) = (saved.totals, saved.idle_since);
            topic.rule = saved.rule.as_ref().and_then(SavedRule::rule);
            let groups = topic.group_policy();
            if saved.groups.is_some() || groups.is_on() {
                topic.groups = Some(Box::new(Groups::restore(saved.groups.as_ref(), groups)));
            }
            topic.hashed = topic.hash(id);
            self.idle.extend(topic.idle_since.map(|since| (since, id)));
            self.names.insert(saved.name.as_str().into(), id);
            self.known.insert(id, topic);
        }
        (self.next, self.forgotten) = (saved.next, saved.forgotten);
        self.forgotten_hashed = self.hash_of_forgotten();
    }

    /// Adds the spilled jobs to the counters once all resident jobs are restored. Fails with the topic whose resident jobs
    /// do not match the saved counters.
    pub(super) fn restore_delayed(&mut self, saved: &SavedTopics) -> Result<(), TopicId> {
        self.restoring = false;
        let stamp = self.stamp;
        for ((id, topic), saved) in self.known.iter_mut().zip(&saved.known) {
            if let Some(groups) = &mut topic.groups {
                groups.refresh_all(stamp);
            }
            if topic.delayed > saved.delayed || topic.bytes > saved.bytes {
                return Err(*id);
            }
            (topic.delayed, topic.bytes) = (saved.delayed, saved.bytes);
            let [ready, buried] = [topic.ready(), topic.buried.len()].map(|jobs| jobs as u64);
            let found = [ready, topic.reserved, buried, topic.schedules.len() as u64];
            if found != [saved.ready, saved.reserved, saved.buried, saved.schedules] {
                return Err(*id);
            }
        }
        let changed_by_time = |topic: &Topic| topic.groups.is_some() || topic.paused.is_some();
        let noted = self.known.iter().filter(|(_, topic)| changed_by_time(topic)).map(|(id, _)| *id);
        for id in noted.collect::<Vec<_>>() {
            self.note_deliverable(id);
        }
        Ok(())
    }

    /// The number of jobs that are ready or buried.
    pub(super) fn in_order(&self) -> usize {
        self.in_order
    }

    /// Bytes of memory of the orders.
    pub(super) fn memory_bytes(&self) -> usize {
        let groups = self.known.values().filter_map(|topic| topic.groups.as_ref());
        ReadyOrder::<Rank>::memory_bytes(self.in_order)
            + groups.map(|groups| groups.memory_bytes()).sum::<usize>()
    }

    /// An estimate of the topics' size in a checkpoint, in bytes.
    pub(super) fn saved_bytes(&self) -> usize {
        let groups = self.known.values().filter_map(|topic| topic.groups.as_ref());
        let paused = self.known.values().filter_map(|topic| topic.paused.as_ref());
        self.known.len() * size_of::<SavedTopic>()
            + groups.map(|groups| groups.saved_bytes()).sum::<usize>()
            + paused.map(|paused| paused.by.len()).sum::<usize>()
    }

    /// Sets the size of each topic's bodies, which was recounted.
    pub(super) fn set_bytes(&mut self, bytes: &BTreeMap<TopicId, u64>) {
        for (id, topic) in &mut self.known {
            topic.bytes = bytes.get(id).copied().unwrap_or_default();
        }
    }

    /// Updates whether a topic can deliver jobs, after a change to it.
    pub(super) fn note_deliverable(&mut self, id: TopicId) {
        let stamp = self.stamp;
        let topic = self.existing(id);
        let (can_deliver, until) = (topic.can_deliver(stamp), topic.waits_until(stamp));
        let wake_at = topic.groups.as_ref().and_then(|groups| groups.wakes_at());
        let throttled = std::mem::replace(&mut topic.throttled_until, until);
        let woken = std::mem::replace(&mut topic.groups_wake_at, wake_at);
        for (all, before, after) in
            [(&mut self.throttled, throttled, until), (&mut self.groups_wake, woken, wake_at)]
        {
            before.inspect(|before| _ = all.remove(&(*before, id)));
            all.extend(after.map(|after| (after, id)));
        }
        if can_deliver {
            self.deliverable.insert(id);
        } else {
            self.deliverable.remove(&id);
        }
    }

    /// Panics if a topic is listed under a time or as deliverable that does not exist, or otherwise than it says.
    pub(super) fn verify_listed(&self) {
        let throttled = self.known.iter().filter_map(|(id, topic)| Some((topic.throttled_until?, *id)));
        assert_eq!(self.throttled, throttled.collect(), "the topics whose rates hold jobs back");
        let paused = self.known.iter().filter_map(|(id, topic)| Some((topic.pause_ends()?, *id)));
        assert_eq!(self.pauses, paused.collect(), "the topics whose pause ends by itself");
        let woken = self.known.iter().filter_map(|(id, topic)| Some((topic.groups_wake_at?, *id)));
        assert_eq!(self.groups_wake, woken.collect(), "the topics whose groups time changes");
        assert!(self.deliverable.iter().all(|id| self.known.contains_key(id)), "topics that are gone");
    }

    fn touch(&mut self, id: TopicId) -> &mut Topic {
        if !self.existing(id).changed {
            self.existing(id).changed = true;
            self.changed.push(id);
        }
        self.existing(id)
    }
}

fn is_in_order(job: &Job) -> bool {
    matches!(job.state, JobState::Ready | JobState::Buried)
}
