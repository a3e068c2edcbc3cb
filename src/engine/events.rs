//! Events: what happens to jobs, for those who watch.
//!
//! They are derived from the state's changes and are no part of it: nothing depends on them, and while nobody watches none are made.

use super::Engine;
use super::job::Job;
use super::jobs::Slot;
use crate::types::{JobId, JobState, Millis, TopicName};

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEvent {
    /// The job.
    pub job: JobId,
    /// Its topic; a move is told twice, of the old one and of the new one.
    pub topic: TopicName,
    /// What happened.
    pub kind: JobEventKind,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it is, or was, due, by the wall clock.
    pub due: Millis,
    /// When it happened, by the wall clock.
    pub at: Millis,
}

/// What can happen to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEventKind {
    /// It is new: delayed, or ready if `Ready` comes right after.
    Pushed,
    /// It waits for a due time, or for another one than before.
    Delayed,
    /// It waits for a consumer.
    Ready,
    /// A consumer has a lease on it.
    Reserved,
    /// It is set aside.
    Buried,
    /// It is done.
    Finished,
    /// It was deleted or replaced.
    Deleted,
    /// It was dropped because it expired, or because it was late.
    Expired,
    /// It went from this topic to another, or came from one.
    Moved,
}

/// The events since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Events {
    is_watched: bool,
    events: Vec<JobEvent>,
}

impl JobEventKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pushed => "pushed",
            Self::Delayed => "delayed",
            Self::Ready => "ready",
            Self::Reserved => "reserved",
            Self::Buried => "buried",
            Self::Finished => "finished",
            Self::Deleted => "deleted",
            Self::Expired => "expired",
            Self::Moved => "moved",
        }
    }

    fn of_state(state: JobState) -> Self {
        match state {
            JobState::Delayed => Self::Delayed,
            JobState::Ready => Self::Ready,
            JobState::Reserved => Self::Reserved,
            JobState::Buried => Self::Buried,
            JobState::Finished => Self::Finished,
        }
    }
}

impl Engine {
    /// Makes events from here on, or makes none any more.
    pub fn watch_jobs(&mut self, is_watched: bool) {
        self.events.is_watched = is_watched;
    }

    /// The events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<JobEvent> {
        std::mem::take(&mut self.events.events)
    }

    /// What a change of this job is compared with, if anybody watches.
    pub(super) fn before_change(&self, slot: Slot) -> Option<(JobState, Millis)> {
        self.events.is_watched.then(|| {
            let job = &self.jobs[slot];
            (job.state, self.clock.as_wall(job.due()))
        })
    }

    /// Notes a change of a job, unless it is none to those who watch.
    pub(super) fn note_change(&mut self, slot: Slot, before: Option<(JobState, Millis)>) {
        let Some((state_before, due_before)) = before else { return };
        let job = &self.jobs[slot];
        let is_postponed = job.state == JobState::Delayed && self.clock.as_wall(job.due()) != due_before;
        if job.state != state_before || is_postponed {
            let event = self.event(job, JobEventKind::of_state(job.state));
            self.events.events.extend(event);
        }
    }

    /// Notes a new job.
    pub(super) fn note_pushed(&mut self, slot: Slot) {
        self.note_event(slot, JobEventKind::Pushed);
        if self.jobs[slot].state == JobState::Ready {
            self.note_event(slot, JobEventKind::Ready);
        }
    }

    /// Notes what happened to a job that is there.
    pub(super) fn note_event(&mut self, slot: Slot, kind: JobEventKind) {
        if self.events.is_watched {
            let event = self.event(&self.jobs[slot], kind);
            self.events.events.extend(event);
        }
    }

    /// Notes how a job ended.
    pub(super) fn note_end(&mut self, job: &Job, kind: JobEventKind) {
        if self.events.is_watched {
            let event = self.event(job, kind);
            self.events.events.extend(event);
        }
    }

    fn event(&self, job: &Job, kind: JobEventKind) -> Option<JobEvent> {
        let (due, now) = (self.clock.as_wall(job.due()), self.clock.as_wall(self.clock.later(0)));
        let topic = self.topics.find(job.topic)?.name.clone();
        Some(JobEvent { job: job.id, topic, kind, attempts: job.attempts, due, at: now })
    }
}
