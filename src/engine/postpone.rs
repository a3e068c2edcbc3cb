//! Postpone: a push under a key that lives changes the job that has it, and makes no new one.
//!
//! The job keeps its id, its attempts and its past; body, attributes, priority, ttr and due time are those of the push. So what
//! is pushed again and again becomes due when it was quiet for long enough, or when the cap of the last push says.

use super::Engine;
use super::clock::{Moment, Timeline};
use super::command::NewJob;
use super::jobs::Slot;
use super::outcome::PushOutcome;
use super::retry::Retry;
use super::store::{JobStore, Record};
use crate::types::{Attributes, JobState, Millis};

impl Engine {
    /// Whether a job can be postponed: it is neither reserved nor buried.
    pub(super) fn waits(&self, slot: Slot) -> bool {
        matches!(self.jobs[slot].state, JobState::Delayed | JobState::Ready)
    }

    /// The due time that a push wants for a job, or the latest that these attributes allow. They count from the job's first push,
    /// or from now if it is not known when that was.
    pub(super) fn no_later_than_the_cap(&self, slot: Slot, due: Moment, attributes: &[u8]) -> Moment {
        let Some(max_ms) = Attributes::postpone_max_of(attributes) else { return due };
        let first = match self.jobs[slot].pushed_at {
            0 => self.clock.stamp,
            pushed_at => Millis(pushed_at),
        };
        let cap = Moment { timeline: Timeline::Stamp, at: first.after(max_ms).0 };
        if self.clock.as_stamp(due) <= i128::from(cap.at) { due } else { cap }
    }

    /// Gives a job that [waits](Self::waits) everything that a push brings.
    pub(super) fn postpone(
        &mut self,
        slot: Slot,
        new: &NewJob<'_>,
        due: Moment,
        retry: Option<Retry>,
        store: &mut impl JobStore,
    ) -> PushOutcome {
        let (id, before) = (self.jobs[slot].id, self.jobs[slot].body);
        let body = store.keep(Record { key: new.key, attributes: new.attributes, body: new.body });
        let (clock, defaults) = (self.clock, self.defaults.current());
        let (ttr_ms, priority) = self.ttr_and_priority(self.jobs[slot].topic, new);
        self.change(slot, |job| {
            (job.body, job.priority, job.ttr_ms, job.defaults) = (body, priority, ttr_ms, defaults);
            job.set_retry(retry);
            job.set_due(due);
            job.set_waiting(clock);
        });
        self.renewed.insert(id);
        store.forget(before);
        PushOutcome::Postponed(id)
    }
}
