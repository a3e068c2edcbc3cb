//! The groups of a topic as a checkpoint stores them: what does not follow from the jobs.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Groups;
use super::group::Group;
use crate::hash::Element;
use adjourn_types::limits::{GROUP_WEIGHT_MAX, GROUPS_SET_MAX};
use adjourn_types::{GroupName, GroupPolicy};

/// The groups of one topic in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedGroups {
    next_turn: u64,
    /// The jobs without a group.
    none: SavedGroup,
    /// By name.
    known: Vec<SavedGroup>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedGroup {
    name: String,
    turn: u64,
    used: u32,
    weight: u32,
    paused: bool,
    delivery_ns: u64,
}

impl SavedGroup {
    fn of(group: &Group) -> Self {
        let (name, extras) = (group.name.to_string(), group.extras());
        let (turn, used, delivery_ns) = (group.turn, group.used, extras.delivery_ns);
        Self { name, turn, used, weight: extras.weight, paused: extras.paused, delivery_ns }
    }

    /// The group, without its jobs.
    fn group(&self) -> Group {
        let mut group = Group::new(self.name.as_str().into());
        (group.turn, group.used) = (self.turn, self.used);
        group.change_extras(|extras| {
            (extras.weight, extras.paused, extras.delivery_ns) = (self.weight, self.paused, self.delivery_ns);
        });
        group
    }
}

impl SavedGroups {
    /// True if names are valid and ascend, and turns were issued once.
    pub(crate) fn is_valid(&self) -> bool {
        let is_named = |group: &SavedGroup| group.name.parse::<GroupName>().is_ok();
        let mut turns = BTreeSet::new();
        let mut is_possible = |group: &SavedGroup| {
            let is_new_turn = group.turn == 0 || (group.turn < self.next_turn && turns.insert(group.turn));
            is_new_turn && (1..=GROUP_WEIGHT_MAX).contains(&group.weight) && group.used < group.weight
        };
        is_possible(&self.none)
            && self.known.iter().all(|group| is_named(group) && is_possible(group))
            && self.known.is_sorted_by(|one, next| one.name < next.name)
            && self.known.iter().filter(|group| group.group().is_set()).count() <= GROUPS_SET_MAX
    }
}

impl Groups {
    /// True if something does not follow from the jobs.
    pub(crate) fn have_state(&self) -> bool {
        self.sum != 0 || self.next_turn != 1
    }

    /// Adds them to the topic's element of the state hash.
    pub(crate) fn hash(&self, element: &mut Element) {
        element.wide(self.sum).word(self.next_turn);
    }

    /// An estimate of their size in a checkpoint, in bytes.
    pub(crate) fn saved_bytes(&self) -> usize {
        self.names.len() * size_of::<SavedGroup>() + self.name_bytes
    }

    pub(crate) fn save(&self) -> SavedGroups {
        let known = self.names.values().map(|number| &self.all[*number]);
        let known = known.filter(|group| group.hash() != 0).map(SavedGroup::of).collect();
        SavedGroups { next_turn: self.next_turn, none: SavedGroup::of(&self.all[super::NO_GROUP]), known }
    }

    /// The saved groups, without their jobs: [`Self::refresh_all`] follows when all jobs have entered.
    pub(crate) fn restore(saved: Option<&SavedGroups>, policy: GroupPolicy) -> Self {
        let mut groups = Self::new(policy, 0, 0);
        let Some(saved) = saved else { return groups };
        groups.next_turn = saved.next_turn;
        groups.put(super::NO_GROUP, &saved.none);
        for saved in &saved.known {
            let number = groups.number(Some(&Arc::from(saved.name.as_str())));
            groups.put(number, saved);
        }
        groups
    }

    fn put(&mut self, number: super::GroupNumber, saved: &SavedGroup) {
        self.change(number, |group| *group = saved.group());
        self.set += usize::from(self.all[number].is_set());
    }
}
