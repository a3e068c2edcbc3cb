//! One change to many jobs, a bounded number per command.
//!
//! The proposer has found jobs that match a filter. Some may have changed by the time the command is applied: so
//! each is checked again, and skipped if it no longer matches.

use super::Engine;
use super::command::{BulkChange, Command, Conditions, JobSelect, TopicSelect};
use super::jobs::Found;
use super::outcome::{Outcome, Reject};
use super::store::JobStore;
use crate::types::{Filter, JobId, JobState, Lease, Millis, States, When};

impl<'a> Conditions<'a> {
    /// The conditions of a filter that may change while a job lives, but its topic, which a command names by itself. Its key
    /// does not change.
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

    pub(super) fn filter(&self) -> Filter {
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
    /// Carries out a command that does the same to many jobs.
    pub(super) fn change_jobs(
        &mut self,
        command: &Command<'_>,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Result<Outcome, Reject> {
        match command {
            Command::Bulk { change, jobs, conditions } => {
                Ok(self.change_many(*change, None, jobs, conditions, store, ended))
            }
            Command::BulkIn { topic, change, jobs, conditions } => {
                Ok(self.change_many(*change, Some(*topic), jobs, conditions, store, ended))
            }
            Command::Move { from, to, jobs, conditions } => self.move_many(*from, *to, jobs, conditions),
            _ => unreachable!("it names no jobs to be changed together"),
        }
    }

    /// Changes each of these jobs that is there, in this topic if one is named, meets the conditions and may be changed so. They
    /// were loaded.
    fn change_many(
        &mut self,
        change: BulkChange,
        topic: Option<TopicSelect<'_>>,
        jobs: &[JobId],
        conditions: &Conditions<'_>,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Outcome {
        let filter = conditions.filter();
        let mut changed = 0;
        let Ok(topic) = self.known_or_all(topic) else { return Outcome::ChangedMany { jobs: 0 } };
        for id in jobs {
            let Some(Found::Resident(slot)) = self.jobs.find(*id) else { continue };
            let is_done = match change {
                BulkChange::Reschedule { due } => self.is_due_at(slot, due),
                BulkChange::RunNow => self.jobs[slot].state == JobState::Ready,
                BulkChange::Delete | BulkChange::Kick => false,
            };
            if is_done || !self.meets(&filter, topic, &self.jobs[slot]) {
                continue;
            }
            let job = JobSelect::Id(*id);
            let outcome: Result<Outcome, Reject> = match change {
                BulkChange::Delete => self.delete(&job, store, ended),
                BulkChange::Kick => self.kick(&job),
                BulkChange::RunNow => self.run_now(&job),
                BulkChange::Reschedule { due } => self.reschedule(&job, When::At(due), None),
            };
            changed += u32::from(outcome.is_ok());
        }
        Outcome::ChangedMany { jobs: changed }
    }

    fn is_due_at(&self, slot: super::jobs::Slot, due: Millis) -> bool {
        self.jobs[slot].due() == self.clock.resolve(When::At(due))
    }
}
