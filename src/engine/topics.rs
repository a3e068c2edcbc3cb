//! The topics: names, counters, and the order in which ready jobs are reserved and buried ones kicked.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::hash::{Element, Kind, Sum};
use super::image::TopicCounts;
use super::jobs::{Job, Slot};
use super::outcome::{Reject, TopicView};
use super::ready::{ReadyOrder, buried_rank_of, rank_of};
use crate::types::limits::TOPICS_MAX;
use crate::types::{JobState, Millis, TopicId, TopicName};

/// One topic.
#[derive(Debug)]
pub(super) struct Topic {
    name: TopicName,
    pub(super) paused: bool,
    pub(super) ready: ReadyOrder,
    pub(super) delayed: u64,
    pub(super) reserved: u64,
    pub(super) buried: ReadyOrder,
    pub(super) totals: Totals,
    /// What it adds to the state hash at the moment.
    hashed: u128,
    changed: bool,
}

/// What is counted for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) pushed: u64,
    pub(super) finished: u64,
    pub(super) deleted: u64,
    pub(super) expired: u64,
}

/// A topic as it is written to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedTopic {
    name: String,
    paused: bool,
    delayed: u64,
    ready: u64,
    reserved: u64,
    buried: u64,
    totals: Totals,
}

impl SavedTopic {
    /// Its name, if it is one.
    pub(super) fn name(&self) -> Option<TopicName> {
        self.name.parse().ok()
    }

    /// What it counts.
    pub(super) fn counts(&self) -> Option<TopicCounts> {
        let Self { paused, delayed, ready, reserved, buried, .. } = *self;
        Some(TopicCounts { name: self.name()?, paused, delayed, ready, reserved, buried })
    }
}

/// Every topic, by its number.
#[derive(Debug, Default)]
pub(super) struct Topics {
    known: Vec<Topic>,
    names: BTreeMap<Box<str>, TopicId>,
    changed: Vec<TopicId>,
    /// Those that have ready jobs and are not paused.
    serving: BTreeSet<TopicId>,
    /// Jobs that are ready or buried.
    in_order: usize,
}

impl Topics {
    pub(super) fn id(&self, name: &str) -> Option<TopicId> {
        self.names.get(name).copied()
    }

    pub(super) fn find(&self, id: TopicId) -> Option<&Topic> {
        self.known.get(id.0 as usize)
    }

    /// The number of the topic with this name, which is made if it is new.
    pub(super) fn intern(&mut self, name: &str) -> Result<TopicId, Reject> {
        if let Some(id) = self.id(name) {
            return Ok(id);
        }
        if self.known.len() >= TOPICS_MAX {
            return Err(Reject::TopicQuota);
        }
        // Names were checked before they were proposed; one that is none names nothing.
        let valid: TopicName = name.parse().map_err(|_| Reject::NotFound)?;
        let id = TopicId(u32::try_from(self.known.len()).map_err(|_| Reject::TopicQuota)?);
        self.known.push(Topic::new(valid));
        self.names.insert(name.into(), id);
        self.totals(id);
        Ok(id)
    }

    /// A topic that is known to exist, for a change that is not hashed.
    pub(super) fn existing(&mut self, id: TopicId) -> &mut Topic {
        match self.known.get_mut(id.0 as usize) {
            Some(topic) => topic,
            None => unreachable!("every job's topic exists"),
        }
    }

    /// What is counted of a topic, to be changed.
    pub(super) fn totals(&mut self, id: TopicId) -> &mut Totals {
        &mut self.touch(id).totals
    }

    pub(super) fn pause(&mut self, id: TopicId, paused: bool) {
        self.touch(id).paused = paused;
        self.note_serving(id);
    }

    /// Those that have a job to reserve, by number.
    pub(super) fn serving(&self) -> &BTreeSet<TopicId> {
        &self.serving
    }

    /// A job comes into the state that it is in now.
    pub(super) fn enter(&mut self, slot: Slot, job: &Job) {
        self.in_order += usize::from(is_in_order(job));
        let topic = self.existing(job.topic);
        match job.state {
            JobState::Delayed => topic.delayed += 1,
            JobState::Ready => {
                topic.ready.insert(rank_of(job, slot));
                if topic.ready.len() == 1 {
                    self.note_serving(job.topic);
                }
            }
            JobState::Reserved => topic.reserved += 1,
            JobState::Buried => topic.buried.insert(buried_rank_of(job, slot)),
        }
    }

    /// A job leaves the state that it is in.
    pub(super) fn leave(&mut self, slot: Slot, job: &Job) {
        self.in_order -= usize::from(is_in_order(job));
        let topic = self.existing(job.topic);
        match job.state {
            JobState::Delayed => topic.delayed -= 1,
            JobState::Ready => {
                topic.ready.remove(&rank_of(job, slot));
                if topic.ready.is_empty() {
                    self.note_serving(job.topic);
                }
            }
            JobState::Reserved => topic.reserved -= 1,
            JobState::Buried => topic.buried.remove(&buried_rank_of(job, slot)),
        }
    }

    pub(super) fn views(&self) -> impl Iterator<Item = TopicView<'_>> {
        (0..).zip(&self.known).map(|(id, topic)| topic.view(TopicId(id)))
    }

    /// Brings what changed into the state hash.
    pub(super) fn settle(&mut self, sum: &mut Sum) {
        for id in std::mem::take(&mut self.changed) {
            let topic = self.existing(id);
            let hash = topic.hash(id);
            sum.subtract(topic.hashed);
            sum.add(hash);
            (topic.hashed, topic.changed) = (hash, false);
        }
    }

    /// The hashes of all of them, from scratch.
    pub(super) fn hash(&self) -> u128 {
        (0..).zip(&self.known).fold(0, |sum, (id, topic)| sum.wrapping_add(topic.hash(TopicId(id))))
    }

    /// All of them, by number.
    pub(super) fn save(&self) -> Vec<SavedTopic> {
        self.known.iter().map(Topic::save).collect()
    }

    /// Takes back what was saved, without jobs. What it adds to the state hash is in the sum that comes with it.
    pub(super) fn restore(&mut self, saved: &[SavedTopic]) {
        for (id, saved) in (0..).map(TopicId).zip(saved) {
            let Some(name) = saved.name() else { continue };
            let mut topic = Topic::new(name);
            (topic.paused, topic.totals) = (saved.paused, saved.totals);
            topic.hashed = topic.hash(id);
            self.names.insert(saved.name.as_str().into(), id);
            self.known.push(topic);
        }
    }

    /// Counts the far jobs with the others, when all near ones are back. Fails with the topic whose near jobs are not
    /// those that were saved.
    pub(super) fn restore_delayed(&mut self, saved: &[SavedTopic]) -> Result<(), TopicId> {
        for ((id, topic), saved) in (0..).map(TopicId).zip(&mut self.known).zip(saved) {
            if topic.delayed > saved.delayed {
                return Err(id);
            }
            topic.delayed = saved.delayed;
            if topic.save() != *saved {
                return Err(id);
            }
        }
        Ok(())
    }

    /// Jobs that are ready or buried.
    pub(super) fn in_order(&self) -> usize {
        self.in_order
    }

    /// Bytes of memory that the orders take.
    pub(super) fn memory_bytes(&self) -> usize {
        ReadyOrder::memory_bytes(self.in_order)
    }

    fn note_serving(&mut self, id: TopicId) {
        if self.existing(id).serves() {
            self.serving.insert(id);
        } else {
            self.serving.remove(&id);
        }
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

impl Topic {
    fn new(name: TopicName) -> Self {
        Self {
            name,
            paused: false,
            ready: ReadyOrder::default(),
            delayed: 0,
            reserved: 0,
            buried: ReadyOrder::default(),
            totals: Totals::default(),
            hashed: 0,
            changed: false,
        }
    }

    fn save(&self) -> SavedTopic {
        SavedTopic {
            name: self.name.as_str().to_owned(),
            paused: self.paused,
            delayed: self.delayed,
            ready: self.ready.len() as u64,
            reserved: self.reserved,
            buried: self.buried.len() as u64,
            totals: self.totals,
        }
    }

    /// Whether it has a job to reserve.
    pub(super) fn serves(&self) -> bool {
        !self.paused && !self.ready.is_empty()
    }

    pub(super) fn view(&self, id: TopicId) -> TopicView<'_> {
        let Totals { pushed, finished, deleted, expired } = self.totals;
        TopicView {
            id,
            name: &self.name,
            paused: self.paused,
            delayed: self.delayed,
            ready: self.ready.len() as u64,
            reserved: self.reserved,
            buried: self.buried.len() as u64,
            pushed,
            finished,
            deleted,
            expired,
            ready_since: self.ready.first().map(|turn| Millis(turn.1)),
        }
    }

    fn hash(&self, id: TopicId) -> u128 {
        let Totals { pushed, finished, deleted, expired } = self.totals;
        let mut element = Element::new(Kind::Topic);
        element.pair(id.0, u32::from(self.paused)).word(pushed).word(finished).word(deleted).word(expired);
        element.wide(xxh3_128(self.name.as_str().as_bytes()));
        element.hash()
    }
}
