//! One change to many jobs, a bounded number per command.
//!
//! The proposer has found jobs that match a filter. Some may have changed by the time the command is applied: so
//! each is checked again, and skipped if it no longer matches.

use super::Engine;
use super::command::{BulkChange, Conditions, JobSelect};
use super::jobs::Found;
use super::outcome::{Outcome, Reject};
use super::store::JobStore;
use crate::types::{Filter, JobId, Lease, Millis, States, When};

impl<'a> Conditions<'a> {
    /// The conditions of a filter that may change while a job lives. Its topic and its key do not.
    pub fn of(filter: &'a Filter) -> Self {
        Self {
            states: filter.states.bits(),
            due_from: filter.due_from,
            due_before: filter.due_before,
            attempts_min: filter.attempts_min,
            attempts_max: filter.attempts_max,
            buried: filter.buried,
            reason: filter.reason.as_deref(),
        }
    }

    fn filter(&self) -> Filter {
        Filter {
            states: States::from_bits(self.states).unwrap_or_default(),
            due_from: self.due_from,
            due_before: self.due_before,
            attempts_min: self.attempts_min,
            attempts_max: self.attempts_max,
            buried: self.buried,
            reason: self.reason.map(str::to_owned),
            ..Filter::default()
        }
    }
}

impl Engine {
    /// Changes each of these jobs that is there, meets the conditions and may be changed so. They were brought near.
    pub(super) fn change_many(
        &mut self,
        change: BulkChange,
        jobs: &[JobId],
        conditions: &Conditions<'_>,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Outcome {
        let filter = conditions.filter();
        let mut changed = 0;
        for id in jobs {
            let Some(Found::Near(slot)) = self.jobs.find(*id) else { continue };
            let is_done = matches!(change, BulkChange::Reschedule { due } if self.is_due_at(slot, due));
            if is_done || !self.meets(&filter, None, &self.jobs[slot]) {
                continue;
            }
            let job = JobSelect::Id(*id);
            let outcome: Result<Outcome, Reject> = match change {
                BulkChange::Delete => self.delete(&job, store, ended),
                BulkChange::Kick => self.kick(&job),
                BulkChange::RunNow => self.run_now(&job),
                BulkChange::Reschedule { due } => self.reschedule(&job, When::At(due)),
            };
            changed += u32::from(outcome.is_ok());
        }
        Outcome::ChangedMany { jobs: changed }
    }

    fn is_due_at(&self, slot: super::jobs::Slot, due: Millis) -> bool {
        self.jobs[slot].due() == self.clock.resolve(When::At(due))
    }
}
