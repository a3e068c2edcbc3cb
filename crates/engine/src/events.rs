//! Events: what happens to jobs, for clients that watch.
//!
//! They are derived from changes of the state and are not part of it. While no client watches, none are made.

use super::clock::Clock;
use super::job::Job;
use super::topics::Topics;
use adjourn_types::{JobId, JobState, Millis, TopicName};

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEvent {
    /// The job.
    pub job: JobId,
    /// Its topic. A move makes two events, one for the old topic and one for the new.
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
    /// It was pushed: now delayed, or ready if a `Ready` event follows.
    Pushed,
    /// It waits for a due time, or for a new one.
    Delayed,
    /// It is ready for a consumer.
    Ready,
    /// A consumer leased it.
    Reserved,
    /// It was set aside.
    Buried,
    /// It was finished.
    Finished,
    /// It was deleted or replaced.
    Deleted,
    /// It was dropped because it expired or was late.
    Expired,
    /// It was moved from this topic, or to it.
    Moved,
}

/// The events since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Events {
    is_watched: bool,
    events: Vec<JobEvent>,
}

impl JobEventKind {
    /// The event's name for clients.
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

    fn of_state(state: JobState) -> Option<Self> {
        Some(match state {
            JobState::Delayed => Self::Delayed,
            JobState::Ready => Self::Ready,
            JobState::Reserved => Self::Reserved,
            JobState::Buried => Self::Buried,
            JobState::Finished => Self::Finished,
            JobState::Scheduled => return None,
        })
    }
}

impl Events {
    /// Starts or stops making events.
    pub(super) fn watch(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    /// The events since the last call, in order.
    pub(super) fn take(&mut self) -> Vec<JobEvent> {
        std::mem::take(&mut self.events)
    }

    /// The state of a job before a change, for [`Self::note_change`]; `None` if no client watches.
    pub(super) fn before_change(&self, job: &Job, clock: Clock) -> Option<(JobState, Millis)> {
        self.is_watched.then(|| (job.state, clock.as_wall(job.due())))
    }

    /// Notes a change of a job, if it changed its state or its due time while delayed.
    pub(super) fn note_change(
        &mut self,
        before: Option<(JobState, Millis)>,
        job: &Job,
        clock: Clock,
        topics: &Topics,
    ) {
        let Some((state_before, due_before)) = before else { return };
        let is_postponed = job.state == JobState::Delayed && clock.as_wall(job.due()) != due_before;
        if (job.state != state_before || is_postponed)
            && let Some(kind) = JobEventKind::of_state(job.state)
        {
            self.note(kind, job, clock, topics);
        }
    }

    /// Notes what happened to a job, if a client watches.
    pub(super) fn note(&mut self, kind: JobEventKind, job: &Job, clock: Clock, topics: &Topics) {
        if !self.is_watched {
            return;
        }
        let (due, now) = (clock.as_wall(job.due()), clock.as_wall(clock.later(0)));
        let topic = topics.find(job.topic).map(|topic| topic.name.clone());
        self.events.extend(topic.map(|topic| JobEvent {
            job: job.id,
            topic,
            kind,
            attempts: job.attempts,
            due,
            at: now,
        }));
    }
}
