//! The groups of a topic's jobs in the model: every question is answered by looking at all jobs.

#![expect(clippy::indexing_slicing, reason = "a topic that a job names exists")]

use std::collections::{BTreeMap, BTreeSet};

use adjourn_engine::{Engine, GroupChange, GroupHold, GroupView, Reject};
use adjourn_types::{Attributes, GroupPolicy, Millis, OnBury, TopicId};

use super::naive::{Job, Model, State};

/// The names that steps draw from.
pub(crate) const GROUPS: [&str; 3] = ["ann", "bob", "eve"];

const SECOND_NS: u64 = 1_000_000_000;

/// What does not follow from the jobs.
#[derive(Clone, Debug)]
struct Group {
    turn: u64,
    used: u32,
    weight: u32,
    paused: bool,
    delivery_ns: u64,
}

impl Default for Group {
    fn default() -> Self {
        Self { turn: 0, used: 0, weight: 1, paused: false, delivery_ns: 0 }
    }
}

/// The groups of a topic. The empty name stands for jobs without a group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    last_turn: u64,
    known: BTreeMap<String, Group>,
}

/// Groups whose jobs were changed: a topic, a group of it, and the job, which may be elsewhere now.
pub(crate) type Regrouped = Vec<(usize, String, u64)>;

/// The job that is delivered first: whether it is not one that holds its group's place, priority, order and id.
type Rank = (bool, u32, u64, u64);

/// How many jobs of a group are ready, reserved, waiting for the next attempt, and buried.
struct Parts {
    first: Option<Rank>,
    ready: u64,
    reserved: u64,
    retrying: u64,
    buried: u64,
}

impl Group {
    fn end_turn_if_used(&mut self) {
        if self.used >= self.weight {
            (self.turn, self.used) = (0, 0);
        }
    }
}

impl Job {
    pub(crate) fn group(&self) -> &str {
        Attributes::group_of(&self.attributes).unwrap_or_default()
    }
}

impl Model {
    pub(super) fn group_policy(&self, topic: usize) -> GroupPolicy {
        self.topics[topic].rule.policy.groups
    }

    fn parts(&self, topic: usize, group: &str) -> Parts {
        let mut parts = Parts { first: None, ready: 0, reserved: 0, retrying: 0, buried: 0 };
        for job in self.jobs.iter().filter(|job| job.topic == topic && job.group() == group) {
            match job.state {
                State::Ready { order } => {
                    parts.ready += 1;
                    let rank = (!job.holds_place, job.priority, order, job.id);
                    parts.first = Some(parts.first.map_or(rank, |first| first.min(rank)));
                }
                State::Reserved { .. } => parts.reserved += 1,
                State::Delayed => parts.retrying += u64::from(job.holds_place),
                State::Buried(_) => parts.buried += u64::from(job.holds_place),
                State::Finished { .. } => {}
            }
        }
        parts
    }

    fn hold(&self, topic: usize, name: &str) -> Option<GroupHold> {
        let (policy, parts) = (self.group_policy(topic), self.parts(topic, name));
        if name.is_empty() || !policy.is_on() {
            return None;
        }
        let group = self.topics[topic].groups.known.get(name).cloned().unwrap_or_default();
        let rate = policy.per_second_max.map(|per_second| {
            let burst = policy.burst.unwrap_or(per_second / 10).max(1);
            let interval_ns = SECOND_NS.div_ceil(per_second.into());
            group.delivery_ns.saturating_sub(interval_ns * u64::from(burst - 1)).div_ceil(1_000_000)
        });
        let blocks = policy.on_bury != Some(OnBury::Continue) && parts.buried > 0;
        if group.paused {
            Some(GroupHold::Paused)
        } else if policy.fifo && parts.reserved > 0 {
            Some(GroupHold::Reserved)
        } else if policy.fifo && parts.retrying > 0 {
            Some(GroupHold::Retry)
        } else if policy.fifo && blocks {
            Some(GroupHold::Buried)
        } else if policy.leases_max.is_some_and(|max| parts.reserved >= max.into()) {
            Some(GroupHold::Leases)
        } else {
            rate.filter(|at| *at > self.stamp).map(|at| GroupHold::Rate(Millis(at)))
        }
    }

    /// Jobs of a job's group are about to change.
    pub(super) fn regroup(&mut self, id: u64) {
        self.follow_groups();
        let job = self.find(id);
        let noted = (job.topic, job.group().to_owned(), id);
        self.regrouped.push(noted);
    }

    /// Gives groups their turns after the change of a job.
    pub(super) fn follow_groups(&mut self) {
        for (topic, group, id) in std::mem::take(&mut self.regrouped) {
            self.refresh(topic, &group);
            let now = self.jobs.iter().find(|job| job.id == id);
            let now = now.map(|job| (job.topic, job.group().to_owned()));
            if let Some((now_topic, now_group)) = now.filter(|now| *now != (topic, group)) {
                self.refresh(now_topic, &now_group);
            }
        }
    }

    fn refresh(&mut self, topic: usize, name: &str) {
        let gives = self.group_policy(topic).is_on()
            && self.parts(topic, name).ready > 0
            && self.hold(topic, name).is_none();
        let groups = &mut self.topics[topic].groups;
        let group = groups.known.entry(name.to_owned()).or_default();
        if !gives {
            (group.turn, group.used) = (0, 0);
        } else if group.turn == 0 {
            groups.last_turn += 1;
            group.turn = groups.last_turn;
        }
    }

    /// Time has passed: rates allow more.
    pub(super) fn wake_groups(&mut self, before: u64) {
        for topic in 0..self.topics.len() {
            let names: Vec<String> = self.topics[topic].groups.known.keys().cloned().collect();
            let now = std::mem::replace(&mut self.stamp, before);
            let held = |name: &String| match self.hold(topic, name) {
                Some(GroupHold::Rate(at)) => Some((at, name.clone())),
                _ => None,
            };
            let mut woken: Vec<(Millis, String)> = names.iter().filter_map(held).collect();
            self.stamp = now;
            woken.sort();
            woken.retain(|(at, _)| at.0 <= now);
            for (_, name) in woken {
                self.refresh(topic, &name);
            }
        }
    }

    /// The settings of a topic changed from these.
    pub(super) fn refresh_groups(&mut self, topic: usize, before: GroupPolicy) {
        let policy = self.group_policy(topic);
        if before == policy {
            return;
        }
        if (before.per_second_max, before.burst) != (policy.per_second_max, policy.burst) {
            self.topics[topic].groups.known.values_mut().for_each(|group| group.delivery_ns = 0);
        }
        let of_jobs = self.jobs.iter().filter(|job| job.topic == topic).map(|job| job.group().to_owned());
        let known = self.topics[topic].groups.known.keys().cloned();
        for name in of_jobs.chain(known).collect::<BTreeSet<_>>() {
            self.refresh(topic, &name);
        }
    }

    pub(super) fn set_group(&mut self, topic: &str, name: &str, change: GroupChange) -> Result<(), Reject> {
        let topic = self.topic(topic, false)?;
        let known = self.topics[topic].groups.known.get(name);
        let is_set = known.is_some_and(|group| group.paused || group.weight != 1);
        if !self.group_policy(topic).is_on() && !is_set {
            return Err(Reject::NotFair);
        }
        let group = self.topics[topic].groups.known.entry(name.to_owned()).or_default();
        group.weight = change.weight.unwrap_or(group.weight);
        group.paused = change.paused.unwrap_or(group.paused);
        group.end_turn_if_used();
        self.refresh(topic, name);
        Ok(())
    }

    pub(super) fn any_group_set(&self, topic: usize) -> bool {
        self.topics[topic].groups.known.values().any(|group| group.paused || group.weight != 1)
    }

    /// The priority, order and id of the job that a topic gives next.
    pub(crate) fn next_of(&mut self, topic: usize) -> Option<(u32, u64, u64)> {
        self.follow_groups();
        if !self.has_room(topic) {
            return None;
        }
        if !self.group_policy(topic).is_on() {
            return self.first_of(topic);
        }
        let in_turn = self.topics[topic].groups.known.iter().filter(|(_, group)| group.turn > 0);
        let turn = |(name, group): (&String, &Group)| {
            let parts = self.parts(topic, name);
            let (_, priority, order, id) = parts.first.expect("it gives a job");
            (parts.reserved / u64::from(group.weight), group.turn, (priority, order, id))
        };
        in_turn.map(turn).min().map(|(.., rank)| rank)
    }

    /// The first ready job of a topic, whatever holds it back. In its group a job that holds the group's place comes first.
    pub(crate) fn first_of(&self, topic: usize) -> Option<(u32, u64, u64)> {
        let of_topic = self.jobs.iter().filter(|job| job.topic == topic);
        let groups: BTreeSet<&str> = of_topic.map(Job::group).collect();
        let first = |group: &str| self.parts(topic, group).first;
        let firsts = groups.into_iter().filter_map(first);
        firsts.map(|(_, priority, order, id)| (priority, order, id)).min()
    }

    /// The job that a peek shows.
    pub(crate) fn peek(&mut self, topic: usize) -> Option<u64> {
        let ready = self.next_of(topic).or_else(|| self.first_of(topic));
        let delayed = |job: &&Job| job.topic == topic && matches!(job.state, State::Delayed);
        let waits_for = |job: &Job| (self.as_stamp(Self::waits_for(job)), job.id);
        let first = self.jobs.iter().filter(delayed).map(waits_for).min();
        ready.map(|rank| rank.2).or(first.map(|first| first.1))
    }

    /// A job of a group is about to be delivered. Whether it then holds the group's place.
    pub(super) fn note_turn(&mut self, id: u64) -> bool {
        self.follow_groups();
        let (topic, name) = (self.find(id).topic, self.find(id).group().to_owned());
        let (policy, stamp) = (self.group_policy(topic), self.stamp);
        if !policy.is_on() {
            return false;
        }
        let group = self.topics[topic].groups.known.entry(name.clone()).or_default();
        group.used += 1;
        group.end_turn_if_used();
        if let Some(per_second) = policy.per_second_max.filter(|_| !name.is_empty()) {
            group.delivery_ns =
                group.delivery_ns.max(stamp * 1_000_000) + SECOND_NS.div_ceil(per_second.into());
        }
        policy.fifo && !name.is_empty()
    }

    /// Panics if the engine shows other groups.
    pub(crate) fn compare_groups(&mut self, engine: &Engine, topic: usize, id: TopicId) {
        self.follow_groups();
        for name in GROUPS {
            let parts = self.parts(topic, name);
            let group = self.topics[topic].groups.known.get(name).cloned().unwrap_or_default();
            let first = self.jobs.iter().find(|job| parts.first.is_some_and(|first| job.id == first.3));
            let order = first.map(|job| match job.state {
                State::Ready { order } => Millis(order),
                _ => unreachable!("it is ready"),
            });
            let expected = GroupView {
                name,
                ready: parts.ready,
                reserved: parts.reserved,
                weight: group.weight,
                paused: group.paused,
                hold: self.hold(topic, name),
                ready_since: order,
            };
            let found = engine.group(id, name);
            let exists = parts.ready + parts.reserved + parts.retrying + parts.buried > 0
                || group.paused
                || group.weight != 1;
            assert!(found.is_some() || !exists, "{expected:?}");
            if let Some(found) = found {
                assert_eq!(found, expected);
            }
        }
        let names: Vec<&str> = engine.groups_after(id, "", "").map(|group| group.name).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
}
