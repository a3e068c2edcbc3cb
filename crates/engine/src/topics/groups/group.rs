//! One group of a topic: its counters, its place among the groups, and what holds it back.

use std::sync::Arc;

use crate::hash::{Element, Kind};
use crate::job::in_group::GroupPart;
use crate::topics::policy::{Pace, millis};
use adjourn_types::{GroupPolicy, Millis, OnBury};

/// A group that has a job that is ready or reserved, or settings, or that is not forgotten yet.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(super) name: Arc<str>,
    /// Its place among groups with equally many leases for their weights; 0 while it is not in turn.
    pub(super) turn: u64,
    /// How many jobs it has given at this turn.
    pub(super) used: u32,
    /// Jobs that can be delivered, if nothing holds the group back.
    pub(super) ready: u32,
    pub(super) reserved: u32,
    /// How many jobs it would give now: see [`Self::room`]. 0 while it is not listed.
    pub(super) deliverable: u32,
    /// Fields that most groups do not need.
    pub(super) extras: Option<Box<GroupExtras>>,
}

/// Fields that most groups do not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupExtras {
    /// How many jobs it gives at a turn, and how many leases count as one.
    pub(super) weight: u32,
    pub(super) paused: bool,
    /// Jobs that hold its place and wait for their next attempt.
    pub(super) retrying: u32,
    /// Jobs that hold its place and are buried.
    pub(super) buried: u32,
    /// Its rate: when the next delivery would come if deliveries were evenly spread, as a stamp in nanoseconds; 0 if that
    /// is not ahead.
    pub(super) delivery_ns: u64,
    /// When time alone changes it: its rate allows a job, or nothing is left of it.
    pub(super) wakes_at: Option<Wake>,
}

/// A change that time alone brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// Its rate allows the next job.
    Free(Millis),
    /// Its rate is to be remembered no longer.
    Forgotten(Millis),
}

/// Why a group gives no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupHold {
    /// It is paused.
    Paused,
    /// Its jobs are delivered one at a time, and one of them is reserved.
    Reserved,
    /// Its jobs are delivered one at a time, and one of them waits for its next attempt.
    Retry,
    /// Its jobs are delivered one at a time, and one of them is buried.
    Buried,
    /// It has as many leases as the topic allows a group.
    Leases,
    /// It has used up its rate until this stamp.
    Rate(Millis),
}

impl Default for GroupExtras {
    fn default() -> Self {
        Self { weight: 1, paused: false, retrying: 0, buried: 0, delivery_ns: 0, wakes_at: None }
    }
}

impl Group {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self { name, ..Self::default() }
    }

    pub(super) fn extras(&self) -> GroupExtras {
        self.extras.as_deref().copied().unwrap_or_default()
    }

    /// Changes the fields that most groups do not need, and frees them if they are back at their defaults.
    pub(super) fn change_extras(&mut self, change: impl FnOnce(&mut GroupExtras)) {
        let mut extras = self.extras();
        change(&mut extras);
        if extras == GroupExtras::default() {
            self.extras = None;
        } else {
            **self.extras.get_or_insert_default() = extras;
        }
    }

    /// Counts a job that comes or goes.
    pub(super) fn count(&mut self, part: GroupPart, comes: bool) {
        let add = |count: &mut u32| {
            debug_assert!(comes || *count > 0, "a job that goes has come");
            *count = if comes { *count + 1 } else { count.saturating_sub(1) };
        };
        match part {
            GroupPart::Ready => add(&mut self.ready),
            GroupPart::Reserved => add(&mut self.reserved),
            GroupPart::Retrying => self.change_extras(|extras| add(&mut extras.retrying)),
            GroupPart::Buried => self.change_extras(|extras| add(&mut extras.buried)),
        }
    }

    /// Ends its turn if it has given as many jobs as its weight.
    pub(super) fn end_turn_if_used(&mut self) {
        if self.used >= self.extras().weight {
            (self.turn, self.used) = (0, 0);
        }
    }

    /// Its leases for its weight: the group with the lowest load comes first.
    pub(super) fn load(&self) -> u32 {
        self.reserved / self.extras().weight
    }

    /// True if an operator has set something for it.
    pub(super) fn is_set(&self) -> bool {
        let extras = self.extras();
        extras.paused || extras.weight != 1
    }

    /// True if nothing is left of it.
    pub(super) fn is_gone(&self) -> bool {
        self.ready == 0 && self.reserved == 0 && self.extras.is_none()
    }

    /// What holds it back at this stamp.
    pub(crate) fn hold(&self, policy: &GroupPolicy, stamp: Millis) -> Option<GroupHold> {
        let extras = self.extras();
        if extras.paused {
            return Some(GroupHold::Paused);
        }
        if policy.fifo {
            if self.reserved > 0 {
                return Some(GroupHold::Reserved);
            }
            if extras.retrying > 0 {
                return Some(GroupHold::Retry);
            }
            if extras.buried > 0 && policy.on_bury.unwrap_or_default() == OnBury::Block {
                return Some(GroupHold::Buried);
            }
        }
        if policy.leases_max.is_some_and(|leases_max| self.reserved >= leases_max) {
            return Some(GroupHold::Leases);
        }
        let free_at = pace_of(policy)?.free_at(extras.delivery_ns);
        (free_at > stamp).then_some(GroupHold::Rate(free_at))
    }

    /// How many jobs it would give at this stamp. With a rate it may be less: time alone does not change this number.
    pub(super) fn room(&self, policy: &GroupPolicy, stamp: Millis) -> u32 {
        if self.ready == 0 || self.hold(policy, stamp).is_some() {
            return 0;
        }
        let in_order = if policy.fifo { 1 } else { u32::MAX };
        let leases = policy.leases_max.map_or(u32::MAX, |leases_max| leases_max - self.reserved);
        let burst = policy.per_second_max.map_or(u32::MAX, |per_second| burst_of(policy, per_second));
        self.ready.min(in_order).min(leases).min(burst)
    }

    /// Its share of the sum of its topic's groups. What follows from its jobs is not included.
    pub(super) fn hash(&self) -> u128 {
        let extras = self.extras();
        if self.turn == 0 && extras.delivery_ns == 0 && !self.is_set() {
            return 0;
        }
        let mut element = Element::new(Kind::FairGroup);
        element.text(&self.name).word(self.turn).word(extras.delivery_ns);
        element.pair(self.used, extras.weight).word(extras.paused.into()).hash()
    }
}

/// The rate of each group.
pub(super) fn pace_of(policy: &GroupPolicy) -> Option<Pace> {
    let per_second = policy.per_second_max?;
    Some(Pace::with_burst(per_second, burst_of(policy, per_second)))
}

/// How many jobs a group may give at once.
fn burst_of(policy: &GroupPolicy, per_second: u32) -> u32 {
    policy.burst.unwrap_or(per_second / 10).max(1)
}

/// When a group without jobs has no rate left to remember.
pub(super) fn forgotten_at(delivery_ns: u64) -> Option<Millis> {
    (delivery_ns > 0).then(|| millis(delivery_ns))
}
