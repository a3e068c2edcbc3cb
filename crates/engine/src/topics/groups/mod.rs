//! The groups of a topic's jobs: which one gives the next job.
//!
//! Without group settings of the topic, the first job of all groups comes first, by (priority, due, id). With settings,
//! groups take turns. The group with the fewest leases for its weight gives the next job, so that one with long jobs has
//! no more consumers than the others. Equal groups follow each other in a ring, as in deficit round robin (Shreedhar and
//! Varghese, 1995) with one job as the unit: at its turn a group gives as many jobs as its weight says, then it goes to the
//! end.
//!
//! Only groups that may give a job are in turn. One that reaches a limit leaves, and comes back at the end when a job of it
//! ends, or when its rate allows. So a delivery looks at no group that gives nothing; it costs O(log n) for n groups,
//! because they are sorted by their leases.
//!
//! A group exists while it has a job that is ready or reserved, settings, or a rate to remember. A delayed job only knows
//! its group's name. A group's number has no meaning outside: it is not part of the state.

pub(crate) mod group;
pub(crate) mod saved;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::policy::nanos;
use super::ready::{Rank, ReadyOrder, rank_of};
use crate::job::Job;
use crate::job::in_group::GroupPart;
use crate::jobs::Slot;
use crate::jobs::slab::Slab;
use crate::outcome::Reject;
use adjourn_types::limits::GROUPS_SET_MAX;
use adjourn_types::{GroupPolicy, JobId, Millis};
use group::{Group, GroupHold, Wake, forgotten_at, pace_of};

/// The number of a group in its topic.
pub(crate) type GroupNumber = u32;

/// The jobs without a group take turns as one group. No limit holds them back, and their order is the topic's.
pub(crate) const NO_GROUP: GroupNumber = 0;

/// Groups before a job are counted up to this number.
const COUNTED_MAX: usize = 1000;

/// The place of a ready job: its group, true if it does not hold the group's place, and its rank.
type GroupRank = (GroupNumber, bool, Rank);

/// The groups of one topic.
#[derive(Debug)]
pub(crate) struct Groups {
    policy: GroupPolicy,
    all: Slab<Group>,
    names: BTreeMap<Arc<str>, GroupNumber>,
    /// The ready jobs of all groups.
    ready: ReadyOrder<GroupRank>,
    /// The first ready job of each group.
    fronts: BTreeSet<(Rank, GroupNumber)>,
    /// The groups that may give a job, by their load and their turn. Empty if groups do not take turns.
    turns: BTreeSet<(u32, u64, GroupNumber)>,
    /// The groups with a ready job that only their rate holds back, by the time at which it allows one.
    held_by_rate: BTreeSet<(Millis, GroupNumber)>,
    /// The groups without a job whose rate is remembered, by the time until which it is.
    remembered: BTreeSet<(Millis, GroupNumber)>,
    /// How many jobs the groups in turn would give.
    deliverable: u64,
    /// The lengths of all names.
    name_bytes: usize,
    /// The turn that the next group gets.
    next_turn: u64,
    /// How many groups have settings.
    set: usize,
    /// The sum of the groups' hashes.
    sum: u128,
}

/// A change to the settings of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GroupChange {
    /// Its new weight, 1 to [`GROUP_WEIGHT_MAX`](adjourn_types::limits::GROUP_WEIGHT_MAX).
    pub weight: Option<u32>,
    /// True to pause it, false to resume it.
    pub paused: Option<bool>,
}

/// A group as readers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Jobs that wait for a consumer.
    pub ready: u64,
    /// Jobs under a lease.
    pub reserved: u64,
    /// How many jobs it gives at a turn.
    pub weight: u32,
    /// True if an operator paused it.
    pub paused: bool,
    /// What holds it back.
    pub hold: Option<GroupHold>,
    /// The place in the order of its first ready job, as a stamp.
    pub ready_since: Option<Millis>,
}

impl Groups {
    /// No groups, in a topic with jobs without a group.
    pub(crate) fn new(policy: GroupPolicy, ready: usize, reserved: u64) -> Self {
        let count = |jobs| u32::try_from(jobs).unwrap_or(u32::MAX);
        let mut all = Slab::default();
        let (ready, reserved) = (count(ready as u64), count(reserved));
        let number = all.insert(Group { ready, reserved, ..Group::default() });
        debug_assert_eq!(number, NO_GROUP, "it is the first one");
        Self {
            policy,
            all,
            names: BTreeMap::new(),
            ready: ReadyOrder::default(),
            fronts: BTreeSet::new(),
            turns: BTreeSet::new(),
            held_by_rate: BTreeSet::new(),
            remembered: BTreeSet::new(),
            deliverable: 0,
            name_bytes: 0,
            next_turn: 1,
            set: 0,
            sum: 0,
        }
    }

    /// True if the topic is as it would be without them.
    pub(crate) fn are_gone(&self) -> bool {
        !self.policy.is_on() && self.names.is_empty()
    }

    /// How many jobs of groups are ready.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// True if an operator has set something for a group.
    pub(crate) fn any_set(&self) -> bool {
        self.set > 0
    }

    /// Counts a job that comes or goes, in the order too if it is ready. [`Self::refresh`] follows.
    pub(crate) fn count(&mut self, slot: Slot, job: &Job, part: GroupPart, comes: bool) -> GroupNumber {
        let number = self.number(job.group());
        if part == GroupPart::Ready && number != NO_GROUP {
            let before = self.front(number);
            let rank = (number, !job.holds_place(), rank_of(job, slot));
            if comes {
                self.ready.insert(rank);
            } else {
                self.ready.remove(&rank);
            }
            self.note_front(number, before);
        }
        self.unlist(number);
        self.all[number].count(part, comes);
        number
    }

    /// Puts a group in turn or takes it out, after a change to it; and forgets it if nothing is left of it.
    pub(crate) fn refresh(&mut self, number: GroupNumber, stamp: Millis) {
        self.unlist(number);
        let policy = self.policy_of(number);
        let deliverable = if self.policy.is_on() { self.all[number].room(&policy, stamp) } else { 0 };
        let next_turn = self.next_turn;
        self.change(number, |group| {
            group.deliverable = deliverable;
            if deliverable == 0 {
                (group.turn, group.used) = (0, 0);
            } else if group.turn == 0 {
                group.turn = next_turn;
            }
            // Only here, because a group with a job is not looked at when this time comes.
            let has_job = group.ready + group.reserved > 0;
            if !has_job && group.extras().delivery_ns <= nanos(stamp) {
                group.change_extras(|extras| extras.delivery_ns = 0);
            }
        });
        if number != NO_GROUP && self.all[number].is_gone() {
            let group = self.all.remove(number);
            self.name_bytes -= group.name.len();
            self.names.remove(&group.name);
            return;
        }
        let wakes_at = self.next_wake(number, &policy, stamp);
        self.all[number].change_extras(|extras| extras.wakes_at = wakes_at);
        match wakes_at {
            Some(Wake::Free(at)) => _ = self.held_by_rate.insert((at, number)),
            Some(Wake::Forgotten(at)) => _ = self.remembered.insert((at, number)),
            None => {}
        }
        let group = &self.all[number];
        if deliverable > 0 {
            self.next_turn += u64::from(group.turn == next_turn);
            self.deliverable += u64::from(deliverable);
            self.turns.insert((group.load(), group.turn, number));
        }
    }

    /// Looks again at the groups that time alone has changed by this stamp.
    pub(crate) fn wake(&mut self, stamp: Millis) {
        let is_over = |first: Option<&(Millis, GroupNumber)>| first.copied().filter(|(at, _)| *at <= stamp);
        while let Some((_, number)) = is_over(self.remembered.first()) {
            self.refresh(number, stamp);
        }
        let mut woken = Vec::new();
        while let Some((at, number)) = is_over(self.held_by_rate.first()) {
            self.unlist(number);
            woken.push((at, Arc::clone(&self.all[number].name), number));
        }
        // Numbers differ between replicas, so names decide who comes first.
        woken.sort_unstable();
        for (.., number) in woken {
            self.refresh(number, stamp);
        }
    }

    /// When time alone changes a group next.
    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        let forgotten = self.remembered.first().map(|(at, _)| *at);
        forgotten.into_iter().chain(self.free_at()).min()
    }

    /// When a rate next allows a job of a group that has one.
    pub(crate) fn free_at(&self) -> Option<Millis> {
        self.held_by_rate.first().map(|(at, _)| *at)
    }

    /// Counts a delivery of a job of this group against its turn and its rate. The job is still ready; when it has left,
    /// [`Self::refresh`] follows.
    pub(crate) fn note_grant(&mut self, group: Option<&Arc<str>>, stamp: Millis) {
        if !self.policy.is_on() {
            return;
        }
        let number = self.number(group);
        let pace = pace_of(&self.policy_of(number));
        self.unlist(number);
        self.change(number, |group| {
            group.used += 1;
            group.end_turn_if_used();
            if let Some(pace) = pace {
                group.change_extras(|extras| extras.delivery_ns = pace.after_one(extras.delivery_ns, stamp));
            }
        });
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Follows a change of the topic's settings: it looks at each group once. A rate that changes starts afresh.
    pub(crate) fn set_policy(&mut self, policy: GroupPolicy, stamp: Millis) {
        let before = std::mem::replace(&mut self.policy, policy);
        if before == policy {
            return;
        }
        if (before.per_second_max, before.burst) != (policy.per_second_max, policy.burst) {
            for number in self.numbers() {
                self.unlist(number);
                self.change(number, |group| group.change_extras(|extras| extras.delivery_ns = 0));
            }
        }
        self.refresh_all(stamp);
        if !policy.is_on() {
            self.next_turn = 1;
        }
    }

    /// Changes the settings of a group. Where groups mean nothing, only those that it still has.
    pub(crate) fn set(&mut self, name: &str, change: GroupChange, stamp: Millis) -> Result<(), Reject> {
        let known = self.names.get(name).copied();
        let is_set = known.is_some_and(|number| self.all[number].is_set());
        if !self.policy.is_on() && !is_set {
            return Err(Reject::NotFair);
        }
        let sets = change.paused == Some(true) || change.weight.is_some_and(|weight| weight != 1);
        if self.set >= GROUPS_SET_MAX && sets && !is_set {
            return Err(Reject::GroupQuota);
        }
        let number = known.unwrap_or_else(|| self.number(Some(&name.into())));
        self.unlist(number);
        let was_set = usize::from(self.all[number].is_set());
        self.change(number, |group| {
            group.change_extras(|extras| {
                extras.weight = change.weight.unwrap_or(extras.weight);
                extras.paused = change.paused.unwrap_or(extras.paused);
            });
            group.end_turn_if_used();
        });
        self.set = self.set - was_set + usize::from(self.all[number].is_set());
        self.refresh(number, stamp);
        Ok(())
    }

    /// The rank of the job that is delivered next, if `ungrouped` is the first one without a group.
    pub(crate) fn next(&self, ungrouped: Option<&Rank>) -> Option<Rank> {
        if !self.policy.is_on() {
            return self.first(ungrouped);
        }
        let (.., number) = *self.turns.first()?;
        if number == NO_GROUP { ungrouped.copied() } else { self.front(number) }
    }

    /// The rank of the first ready job by (priority, due, id), whatever holds its group back. In its group a job that holds the
    /// group's place comes before the others, also where groups are in order no more.
    pub(crate) fn first(&self, ungrouped: Option<&Rank>) -> Option<Rank> {
        let grouped = self.fronts.first().map(|(rank, _)| rank);
        ungrouped.into_iter().chain(grouped).min().copied()
    }

    /// How many jobs a reserve at this stamp could get, with so many ready jobs without a group.
    pub(crate) fn available(&self, ungrouped: usize, stamp: Millis) -> u64 {
        if !self.policy.is_on() {
            return (ungrouped + self.ready.len()) as u64;
        }
        let free = self.held_by_rate.range(..=(stamp, GroupNumber::MAX));
        self.deliverable + free.count() as u64
    }

    /// At least how many jobs, and how many other groups, come before a ready job, which has `ungrouped` jobs without a group
    /// before it.
    pub(crate) fn before(&self, slot: Slot, job: &Job, ungrouped: usize) -> (u64, u64) {
        let (number, rank) = (self.known_number(job.group()), rank_of(job, slot));
        let of_group = (number, !job.holds_place(), rank);
        let of_group = self.ready.count_before(&of_group) - self.ready.count_before(&least(number));
        let own = if number == NO_GROUP { ungrouped } else { of_group };
        if self.policy.is_on() {
            let group = &self.all[number];
            let ahead = self.turns.range(..(group.load(), group.turn, number));
            let groups = if group.turn == 0 { 0 } else { ahead.take(COUNTED_MAX).count() };
            return (own as u64, groups as u64);
        }
        let others = self.fronts.range(..(rank, 0)).take(COUNTED_MAX);
        let others = others.filter(|(_, other)| *other != number).count();
        let ungrouped = if number == NO_GROUP { 0 } else { ungrouped };
        ((own + ungrouped) as u64, others as u64)
    }

    /// What holds back the group whose ready job comes first.
    pub(crate) fn hold_of_first(&self, stamp: Millis) -> Option<(GroupHold, u64)> {
        let (_, number) = self.fronts.first()?;
        let group = &self.all[*number];
        Some((group.hold(&self.policy, stamp)?, group.reserved.into()))
    }

    /// The groups whose names begin like this and come after the other text, by name.
    pub(crate) fn views<'a>(
        &'a self,
        prefix: &'a str,
        after: &str,
        stamp: Millis,
    ) -> impl Iterator<Item = GroupView<'a>> {
        let from = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
        let named = self.names.range::<str, _>((from, Bound::Unbounded));
        let begin_so = named.take_while(move |(name, _)| name.starts_with(prefix));
        begin_so.map(move |(_, number)| self.view(*number, stamp))
    }

    /// The group with this name.
    pub(crate) fn find(&self, name: &str, stamp: Millis) -> Option<GroupView<'_>> {
        Some(self.view(*self.names.get(name)?, stamp))
    }

    /// Bytes of memory of the groups.
    pub(crate) fn memory_bytes(&self) -> usize {
        /// A name's place in the tree, and its allocation with two counts.
        const NAME_BYTES: usize = size_of::<(Arc<str>, GroupNumber)>() * 3 / 2 + 32;
        let listed = self.fronts.len() * size_of::<(Rank, GroupNumber)>()
            + self.turns.len() * size_of::<(u32, u64, GroupNumber)>();
        self.all.memory_bytes()
            + self.names.len() * NAME_BYTES
            + self.name_bytes
            + listed * 3 / 2
            + ReadyOrder::<GroupRank>::memory_bytes(self.ready.len())
    }

    /// The ready jobs of groups, in no particular order.
    pub(crate) fn ready_ranks(&self) -> impl Iterator<Item = &Rank> {
        self.ready.iter().map(|(.., rank)| rank)
    }

    fn view(&self, number: GroupNumber, stamp: Millis) -> GroupView<'_> {
        let (group, extras) = (&self.all[number], self.all[number].extras());
        let hold = if self.policy.is_on() { group.hold(&self.policy, stamp) } else { None };
        GroupView {
            name: &group.name,
            ready: group.ready.into(),
            reserved: group.reserved.into(),
            weight: extras.weight,
            paused: extras.paused,
            hold,
            ready_since: self.front(number).map(|rank| Millis(rank.1)),
        }
    }

    /// The number of the group with this name, created if it is new.
    fn number(&mut self, name: Option<&Arc<str>>) -> GroupNumber {
        let Some(name) = name else { return NO_GROUP };
        if let Some(number) = self.names.get(name.as_ref()) {
            return *number;
        }
        let number = self.all.insert(Group::new(Arc::clone(name)));
        self.names.insert(Arc::clone(name), number);
        self.name_bytes += name.len();
        number
    }

    /// The number of a group that may not be known.
    fn known_number(&self, name: Option<&Arc<str>>) -> GroupNumber {
        name.and_then(|name| self.names.get(name.as_ref())).copied().unwrap_or(NO_GROUP)
    }

    /// The limits of a group.
    fn policy_of(&self, number: GroupNumber) -> GroupPolicy {
        if number == NO_GROUP { GroupPolicy::default() } else { self.policy }
    }

    /// The rank of a group's first ready job: one that holds its place, or the first by (priority, due, id).
    fn front(&self, number: GroupNumber) -> Option<Rank> {
        self.ready.first_from(&least(number)).filter(|(of, ..)| *of == number).map(|(.., rank)| *rank)
    }

    fn note_front(&mut self, number: GroupNumber, before: Option<Rank>) {
        let front = self.front(number);
        if front != before {
            if let Some(before) = before {
                self.fronts.remove(&(before, number));
            }
            self.fronts.extend(front.map(|front| (front, number)));
        }
    }

    /// What time alone changes next of a group.
    fn next_wake(&self, number: GroupNumber, policy: &GroupPolicy, stamp: Millis) -> Option<Wake> {
        let group = &self.all[number];
        if group.ready + group.reserved == 0 {
            return forgotten_at(group.extras().delivery_ns).map(Wake::Forgotten);
        }
        match group.hold(policy, stamp) {
            Some(GroupHold::Rate(free_at)) if group.ready > 0 && self.policy.is_on() => {
                Some(Wake::Free(free_at))
            }
            _ => None,
        }
    }

    /// Takes a group out of the sorted sets, before a change to what they are sorted by.
    fn unlist(&mut self, number: GroupNumber) {
        let group = &mut self.all[number];
        let deliverable = std::mem::take(&mut group.deliverable);
        if deliverable > 0 {
            self.turns.remove(&(group.load(), group.turn, number));
            self.deliverable -= u64::from(deliverable);
        }
        match group.extras().wakes_at {
            Some(Wake::Free(at)) => _ = self.held_by_rate.remove(&(at, number)),
            Some(Wake::Forgotten(at)) => _ = self.remembered.remove(&(at, number)),
            None => return,
        }
        self.all[number].change_extras(|extras| extras.wakes_at = None);
    }

    /// Changes a group, and the sum.
    fn change(&mut self, number: GroupNumber, change: impl FnOnce(&mut Group)) {
        let group = &mut self.all[number];
        let before = group.hash();
        change(group);
        self.sum = self.sum.wrapping_sub(before).wrapping_add(group.hash());
    }

    /// Refreshes every group: by name, because numbers differ between replicas. Also when all jobs of a checkpoint have
    /// entered.
    pub(crate) fn refresh_all(&mut self, stamp: Millis) {
        self.numbers().into_iter().for_each(|number| self.refresh(number, stamp));
    }

    /// All groups, by name.
    fn numbers(&self) -> Vec<GroupNumber> {
        [NO_GROUP].into_iter().chain(self.names.values().copied()).collect()
    }
}

/// The least rank of a group.
fn least(number: GroupNumber) -> GroupRank {
    (number, false, (0, 0, JobId(0), 0))
}
