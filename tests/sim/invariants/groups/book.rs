//! The jobs of the topics with groups, and what was set there.

use std::collections::BTreeMap;

use adjourn_engine::JobEventKind;
use adjourn_types::{JobId, OnBury, Setting};

use super::super::super::clients::{GROUP_WEIGHT_MAX, IN_ORDER, LIMITED};
use super::log::{Event, Settings, Step};

/// A group and its topic.
pub(super) type GroupKey = (&'static str, &'static str);

/// What is known after some entries.
#[derive(Debug, Default)]
pub(super) struct Book {
    jobs: BTreeMap<JobId, Job>,
    groups: BTreeMap<(&'static str, String), GroupSettings>,
    on_bury: OnBury,
    rate: Option<Rate>,
    /// Topics whose settings this entry changes: nobody knows which events were before that.
    changed: Vec<&'static str>,
}

/// A job that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) group: GroupKey,
    pub(super) state: State,
    /// It was delivered where groups give one job at a time.
    pub(super) holds_place: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Delayed,
    Ready,
    Reserved,
    Buried,
}

/// The rate of each group in the topic with limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) per_second: u32,
    pub(super) burst: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct GroupSettings {
    weight: u32,
    paused: bool,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self { weight: 1, paused: false }
    }
}

impl Book {
    /// An entry begins.
    pub(super) fn begin(&mut self, step: &Step) {
        self.changed.clear();
        for settings in &step.settings {
            self.set(settings);
        }
        self.jobs.extend(step.pushed.iter().map(|(job, group)| {
            // Its topic is that of its first event.
            (*job, Job { group: ("", *group), state: State::Delayed, holds_place: false })
        }));
    }

    fn set(&mut self, settings: &Settings) {
        match settings {
            Settings::Topic { topic, set, unset } => {
                self.changed.push(*topic);
                self.on_bury = set.on_bury.unwrap_or(self.on_bury);
                let before = self.rate.filter(|_| !unset.contains(&Setting::GroupRate));
                let per_second = set.per_second_max.or(before.map(|rate| rate.per_second));
                let burst = before.and_then(|rate| rate.burst);
                let burst = set.burst.or(burst.filter(|_| !unset.contains(&Setting::GroupBurst)));
                if *topic == LIMITED {
                    self.rate = per_second.map(|per_second| Rate { per_second, burst });
                }
            }
            Settings::Group { topic, group, weight, paused } => {
                self.changed.push(*topic);
                let known = self.groups.entry((*topic, group.clone())).or_default();
                known.weight = weight.unwrap_or(known.weight);
                known.paused = paused.unwrap_or(known.paused);
            }
        }
    }

    /// Something has happened to a job.
    pub(super) fn note(&mut self, event: &Event) {
        let Some(job) = self.jobs.get_mut(&event.job) else { return };
        let state = match event.kind {
            JobEventKind::Pushed => {
                job.group.0 = event.topic;
                State::Delayed
            }
            JobEventKind::Delayed => State::Delayed,
            JobEventKind::Ready => State::Ready,
            JobEventKind::Reserved => {
                job.holds_place |= event.topic == IN_ORDER;
                State::Reserved
            }
            JobEventKind::Buried => State::Buried,
            // Nobody moves a job to these topics, so this one leaves.
            JobEventKind::Finished | JobEventKind::Deleted | JobEventKind::Expired | JobEventKind::Moved => {
                self.jobs.remove(&event.job);
                return;
            }
        };
        job.state = state;
    }

    pub(super) fn job(&self, job: JobId) -> Option<&Job> {
        self.jobs.get(&job)
    }

    /// The jobs of a group.
    pub(super) fn jobs_of(&self, group: GroupKey) -> impl Iterator<Item = (JobId, &Job)> {
        let of_group = move |(_, job): &(&JobId, &Job)| job.group == group;
        self.jobs.iter().filter(of_group).map(|(id, job)| (*id, job))
    }

    pub(super) fn count(&self, group: GroupKey, state: State) -> u32 {
        self.jobs_of(group).map(|(_, job)| u32::from(job.state == state)).sum()
    }

    /// The groups of a topic that have a job.
    pub(super) fn groups_of(&self, topic: &str) -> Vec<&'static str> {
        let of_topic = self.jobs.values().map(|job| job.group).filter(|group| group.0 == topic);
        let mut groups: Vec<&'static str> = of_topic.map(|group| group.1).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// The weight of a group, which nobody has asked to be higher than [`GROUP_WEIGHT_MAX`].
    pub(super) fn weight(&self, group: GroupKey) -> u32 {
        self.settings(group).weight.min(GROUP_WEIGHT_MAX)
    }

    pub(super) fn is_paused(&self, group: GroupKey) -> bool {
        self.settings(group).paused
    }

    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Whether a buried job blocks its group where groups give one job at a time.
    pub(super) fn buried_blocks(&self) -> bool {
        self.on_bury == OnBury::Block && !self.is_changed(IN_ORDER)
    }

    /// Whether this entry changes settings of a topic.
    pub(super) fn is_changed(&self, topic: &str) -> bool {
        self.changed.contains(&topic)
    }

    fn settings(&self, (topic, group): GroupKey) -> GroupSettings {
        self.groups.get(&(topic, group.to_owned())).copied().unwrap_or_default()
    }
}
