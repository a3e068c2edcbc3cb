//! One topic: its counters, its jobs in order, and whether it can deliver one.

use std::collections::{BTreeMap, BTreeSet};

use super::TopicTotals;
use super::groups::{GroupNumber, GroupView, Groups};
use super::hold::Hold;
use super::policy::Rule;
use super::ready::{Rank, ReadyOrder, rank_of};
use super::saved_topics::SavedTopic;
use crate::hash::{Element, Kind};
use crate::job::Job;
use crate::job::in_group::GroupPart;
use crate::jobs::Slot;
use crate::outcome::{Paused, TopicView};
use adjourn_types::{GroupPolicy, JobId, Millis, TopicId, TopicName};

/// One topic.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: TopicName,
    pub(crate) paused: Option<Box<Paused>>,
    pub(super) idle_since: Option<Millis>,
    /// Its ready jobs that belong to no group.
    pub(super) ready: ReadyOrder,
    /// The groups of its jobs; `None` while no group means anything.
    pub(super) groups: Option<Box<Groups>>,
    pub(crate) delayed: u64,
    pub(super) reserved: u64,
    pub(crate) buried: ReadyOrder,
    /// Finished jobs that are still remembered.
    pub(super) remembered: u64,
    /// Schedules, which are no jobs.
    pub(crate) schedules: BTreeMap<JobId, Slot>,
    pub(super) totals: TopicTotals,
    pub(super) rule: Option<Box<Rule>>,
    /// The size of its jobs' bodies.
    pub(crate) bytes: u64,
    /// Set while only rates, its own or those of groups, or a pause that ends by itself hold jobs back: when they allow one.
    pub(super) throttled_until: Option<Millis>,
    /// When time alone changes one of its groups.
    pub(super) groups_wake_at: Option<Millis>,
    /// Its current share of the state hash.
    pub(super) hashed: u128,
    pub(super) changed: bool,
}

impl Topic {
    pub(super) fn new(name: TopicName) -> Self {
        Self {
            name,
            paused: None,
            idle_since: None,
            ready: ReadyOrder::default(),
            groups: None,
            delayed: 0,
            reserved: 0,
            buried: ReadyOrder::default(),
            remembered: 0,
            schedules: BTreeMap::new(),
            totals: TopicTotals::default(),
            rule: None,
            bytes: 0,
            throttled_until: None,
            groups_wake_at: None,
            hashed: 0,
            changed: false,
        }
    }

    pub(super) fn save(&self, id: TopicId) -> SavedTopic {
        SavedTopic {
            id,
            name: self.name.as_str().to_owned(),
            paused: self.paused.as_deref().cloned(),
            delayed: self.delayed,
            ready: self.ready() as u64,
            reserved: self.reserved,
            buried: self.buried.len() as u64,
            schedules: self.schedules.len() as u64,
            totals: self.totals,
            idle_since: self.idle_since,
            bytes: self.bytes,
            rule: self.rule.as_ref().map(|rule| rule.save()),
            groups: self.groups.as_ref().filter(|groups| groups.have_state()).map(|groups| groups.save()),
        }
    }

    /// True if it has no job, no schedule, no policy, no group with settings, and is not paused.
    pub(crate) fn is_idle(&self) -> bool {
        let any_set = self.groups.as_ref().is_some_and(|groups| groups.any_set());
        self.paused.is_none() && self.rule.is_none() && !any_set && self.is_empty()
    }

    /// The number of its ready jobs.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len() + self.groups.as_ref().map_or(0, |groups| groups.ready())
    }

    /// The number of its jobs, without finished ones.
    pub(crate) fn jobs(&self) -> u64 {
        self.delayed + self.reserved + (self.ready() + self.buried.len()) as u64
    }

    /// The number of its jobs, including finished ones that are still remembered.
    pub(crate) fn all_jobs(&self) -> u64 {
        self.jobs() + self.remembered
    }

    /// True if it has no job and no schedule.
    pub(crate) fn is_empty(&self) -> bool {
        self.all_jobs() == 0 && self.schedules.is_empty()
    }

    /// The rank of the job that reserve takes next at the current stamp.
    pub(crate) fn next(&self, stamp: Millis) -> Option<Rank> {
        if self.is_paused(stamp) || self.room(stamp) == 0 {
            return None;
        }
        match &self.groups {
            None => self.ready.first().copied(),
            Some(groups) => groups.next(self.ready.first()),
        }
    }

    /// The rank of its first ready job, whatever holds it back: see [`Groups::first`].
    pub(crate) fn first_ready(&self) -> Option<Rank> {
        match &self.groups {
            None => self.ready.first().copied(),
            Some(groups) => groups.first(self.ready.first()),
        }
    }

    /// True if reserve can get a job at this stamp.
    pub(crate) fn can_deliver(&self, stamp: Millis) -> bool {
        self.next(stamp).is_some()
    }

    /// How many jobs a reserve at this stamp could get, if `coming` more were ready by then.
    pub(super) fn available(&self, coming: u64, stamp: Millis) -> u64 {
        if self.is_paused(stamp) {
            return 0;
        }
        let ungrouped = self.ready.len();
        let ready =
            self.groups.as_ref().map_or(ungrouped as u64, |groups| groups.available(ungrouped, stamp));
        (ready + coming).min(self.room(stamp))
    }

    /// How many jobs a reserve at this stamp could get, if enough were ready.
    pub(super) fn room(&self, stamp: Millis) -> u64 {
        self.rule.as_ref().map_or(u64::MAX, |rule| rule.room(self.reserved, stamp))
    }

    /// When its pause ends by itself.
    pub(super) fn pause_ends(&self) -> Option<Millis> {
        self.paused.as_ref()?.until
    }

    /// True if no job may be delivered at this stamp.
    fn is_paused(&self, stamp: Millis) -> bool {
        self.paused.as_ref().is_some_and(|paused| paused.lasts(stamp))
    }

    /// If only rates, or a pause that ends, hold jobs back at this stamp: when they allow one.
    pub(super) fn waits_until(&self, stamp: Millis) -> Option<Millis> {
        let pause_ends = match &self.paused {
            Some(paused) => paused.until?,
            None => Millis(0),
        };
        if self.ready() == 0 {
            return Some(pause_ends).filter(|at| *at > stamp);
        }
        let own = self.rule.as_ref().map_or(Some(Millis(0)), |rule| rule.free_at(self.reserved))?;
        let of_groups = match &self.groups {
            Some(groups) if groups.next(self.ready.first()).is_none() => groups.free_at()?,
            _ => Millis(0),
        };
        Some(pause_ends.max(own).max(of_groups)).filter(|at| *at > stamp)
    }

    /// What the groups of its jobs mean.
    pub(super) fn group_policy(&self) -> GroupPolicy {
        self.rule.as_ref().map(|rule| rule.policy().groups).unwrap_or_default()
    }

    /// Its groups, for a job of a group or for settings. Where they take turns they are there already.
    pub(super) fn groups(&mut self) -> &mut Groups {
        let (ready, reserved) = (self.ready.len(), self.reserved);
        self.groups.get_or_insert_with(|| Box::new(Groups::new(GroupPolicy::default(), ready, reserved)))
    }

    /// Counts a job that comes or goes in its group, if groups mean something here or it is the first job of one that
    /// counts. Returns the group, which is to be refreshed.
    pub(super) fn regroup(&mut self, slot: Slot, job: &Job, comes: bool) -> Option<GroupNumber> {
        let part = job.group_part()?;
        if self.groups.is_none() && job.group().is_none() {
            return None;
        }
        Some(self.groups().count(slot, job, part, comes))
    }

    /// Adds a ready job that belongs to no group, or takes it out.
    pub(super) fn order_ungrouped(&mut self, slot: Slot, job: &Job, comes: bool) {
        match (job.group(), comes) {
            (None, true) => self.ready.insert(rank_of(job, slot)),
            (None, false) => self.ready.remove(&rank_of(job, slot)),
            (Some(_), _) => {}
        }
    }

    /// The ranks of all ready jobs.
    pub(crate) fn ready_ranks(&self) -> BTreeSet<Rank> {
        let grouped = self.groups.iter().flat_map(|groups| groups.ready_ranks());
        self.ready.iter().chain(grouped).copied().collect()
    }

    /// Panics if its groups are not those of `jobs`, which names each job's group and part.
    pub(crate) fn verify_groups(&self, jobs: &BTreeMap<(&str, GroupPart), u32>, stamp: Millis) {
        if let Some(groups) = &self.groups {
            groups.verify(jobs, stamp);
        } else {
            assert!(!self.group_policy().is_on(), "groups take turns");
            assert!(jobs.keys().all(|(name, _)| name.is_empty()), "a group counts");
        }
    }

    /// What holds back all its jobs.
    pub(crate) fn holds(&self, stamp: Millis) -> Vec<Hold> {
        let paused =
            self.paused.as_deref().filter(|paused| paused.lasts(stamp)).cloned().map(Hold::TopicPaused);
        let limit = self.rule.as_ref().and_then(|rule| rule.hold(self.reserved, stamp));
        paused.into_iter().chain(limit).collect()
    }

    /// What holds back the group whose ready job comes first.
    pub(crate) fn hold_of_first_group(&self, stamp: Millis) -> Option<Hold> {
        let (hold, reserved) = self.groups.as_ref()?.hold_of_first(stamp)?;
        Some(Hold::Group(hold, reserved))
    }

    /// At least how many jobs, and how many other groups, come before a ready job.
    pub(crate) fn before(&self, slot: Slot, job: &Job) -> (u64, u64) {
        let ungrouped = self.ready.count_before(&rank_of(job, slot));
        self.groups.as_ref().map_or((ungrouped as u64, 0), |groups| groups.before(slot, job, ungrouped))
    }

    /// Its groups whose names begin like this and come after the other text, by name.
    pub(crate) fn groups_after<'a>(
        &'a self,
        prefix: &'a str,
        after: &str,
        stamp: Millis,
    ) -> impl Iterator<Item = GroupView<'a>> {
        self.groups.as_ref().map(|groups| groups.views(prefix, after, stamp)).into_iter().flatten()
    }

    /// How many groups it has.
    pub(crate) fn group_count(&self) -> usize {
        self.groups.as_ref().map_or(0, |groups| groups.len())
    }

    /// Forgets its groups if it is as it would be without them.
    pub(super) fn drop_groups_if_gone(&mut self) {
        self.groups = self.groups.take().filter(|groups| !groups.are_gone());
    }

    /// A group of its jobs.
    pub(crate) fn group(&self, name: &str, stamp: Millis) -> Option<GroupView<'_>> {
        self.groups.as_ref()?.find(name, stamp)
    }

    pub(crate) fn view(&self, id: TopicId) -> TopicView<'_> {
        let TopicTotals { pushed, finished, deleted, expired } = self.totals;
        TopicView {
            id,
            name: &self.name,
            paused: self.paused.as_deref(),
            delayed: self.delayed,
            ready: self.ready() as u64,
            reserved: self.reserved,
            buried: self.buried.len() as u64,
            remembered: self.remembered,
            schedules: self.schedules.len() as u64,
            pushed,
            finished,
            deleted,
            expired,
            ready_since: self.first_ready().map(|rank| Millis(rank.1)),
        }
    }

    pub(super) fn hash(&self, id: TopicId) -> u128 {
        let TopicTotals { pushed, finished, deleted, expired } = self.totals;
        let mut element = Element::new(Kind::Topic);
        element
            .pair(id.0, u32::from(self.paused.is_some()))
            .word(pushed)
            .word(finished)
            .word(deleted)
            .word(expired);
        element.text(self.name.as_str());
        if let Some(paused) = &self.paused {
            element.word(paused.since.0).word(paused.until.map_or(0, |until| until.0)).text(&paused.by);
        }
        if let Some(since) = self.idle_since {
            element.word(since.0);
        }
        if let Some(rule) = &self.rule {
            rule.hash(&mut element);
        }
        if let Some(groups) = self.groups.as_ref().filter(|groups| groups.have_state()) {
            groups.hash(&mut element);
        }
        element.hash()
    }
}
