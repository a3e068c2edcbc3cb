//! Finish, release, touch and bury: a consumer's actions on its leases. Job id and fence suffice, from any session.

use std::sync::Arc;

use super::Applier;
use crate::command::Command;
use crate::events::JobEventKind;
use crate::job::held::some_text;
use crate::jobs::Slot;
use crate::outcome::{Outcome, Reject};
use crate::recent::finished::Finish;
use crate::store::JobStore;
use adjourn_types::limits::REASON_BYTES_MAX;
use adjourn_types::{BuryReason, JobEnd, Lease};

impl<S: JobStore> Applier<'_, S> {
    /// Carries out a command that settles leases.
    pub(super) fn settle(&mut self, command: &Command<'_>) -> Outcome {
        match command {
            Command::Finish { leases } => self.finish(leases),
            Command::Release { leases, delay_ms, attempted, reason } => {
                self.release(leases, *delay_ms, *attempted, reason)
            }
            Command::Touch { leases, ttr_ms } => self.touch(leases, *ttr_ms),
            Command::Bury { leases, reason } => self.bury(leases, reason),
            _ => unreachable!("it settles no leases"),
        }
    }

    /// Finishes jobs: they are removed, or remembered for a while. A repeated finish under the same lease succeeds for a
    /// while.
    fn finish(&mut self, leases: &[Lease]) -> Outcome {
        let stamp = self.engine.clock.stamp;
        each(leases, |lease| match self.engine.held(lease) {
            Some(slot) => {
                let (topic, attempts) = (self.engine.jobs[slot].topic, self.engine.jobs[slot].attempts);
                match self.engine.topics.retention_ms(&self.engine.jobs[slot]) {
                    0 => {
                        let job = self.end(slot, JobEnd::Finished);
                        self.engine.note_end(&job, JobEventKind::Finished);
                    }
                    retention_ms => {
                        self.engine.leave_schedule(slot, JobEnd::Finished);
                        self.engine.change(slot, |job| job.set_finished(stamp, retention_ms));
                    }
                }
                self.engine.topics.totals(topic).finished += 1;
                let finish = Finish { at: stamp, lease, topic, attempts };
                self.engine.finished.remember(finish, &mut self.engine.sum);
                Ok(())
            }
            None if self.engine.finished.has(lease, stamp) => Ok(()),
            None => Err(Reject::StaleLease),
        })
    }

    /// Gives jobs back. If not `attempted`, the work was not begun: the attempt is not counted, and `delay_ms` delays the
    /// job. An empty reason leaves the last one.
    fn release(&mut self, leases: &[Lease], delay_ms: Option<u64>, attempted: bool, reason: &str) -> Outcome {
        let reason = some_text(reason, REASON_BYTES_MAX);
        each(leases, |lease| {
            let slot = self.engine.held(lease).ok_or(Reject::StaleLease)?;
            self.note_reason(slot, reason.as_ref());
            if attempted {
                self.fail_attempt(slot, delay_ms);
            } else if !self.drop_expired(slot) {
                let clock = self.engine.clock;
                self.engine.change(slot, |job| {
                    job.attempts = job.attempts.saturating_sub(1);
                    match delay_ms {
                        None | Some(0) => job.set_waiting(clock),
                        Some(delay_ms) => job.put_off(clock, delay_ms),
                    }
                });
            }
            Ok(())
        })
    }

    /// Restarts the time of leases.
    fn touch(&mut self, leases: &[Lease], ttr_ms: Option<u32>) -> Outcome {
        each(leases, |lease| {
            let slot = self.engine.held(lease).ok_or(Reject::StaleLease)?;
            let clock = self.engine.clock;
            self.engine
                .change(slot, |job| job.since = clock.later(u64::from(ttr_ms.unwrap_or(job.ttr_ms))).at);
            Ok(())
        })
    }

    /// Buries jobs. An empty reason leaves the last one.
    fn bury(&mut self, leases: &[Lease], reason: &str) -> Outcome {
        let reason = some_text(reason, REASON_BYTES_MAX);
        each(leases, |lease| {
            let slot = self.engine.held(lease).ok_or(Reject::StaleLease)?;
            self.note_reason(slot, reason.as_ref());
            if !self.drop_expired(slot) {
                self.bury_job(slot, BuryReason::Consumer);
            }
            Ok(())
        })
    }

    fn note_reason(&mut self, slot: Slot, reason: Option<&Arc<str>>) {
        if let Some(reason) = reason {
            self.engine.change(slot, |job| job.set_reason(Arc::clone(reason)));
        }
    }
}

fn each(leases: &[Lease], one: impl FnMut(Lease) -> Result<(), Reject>) -> Outcome {
    Outcome::Settled(leases.iter().copied().map(one).collect())
}
