//! Finish, release, touch and bury: a consumer's actions on its leases. Job id and fence suffice, from any session.

use std::sync::Arc;

use super::Engine;
use super::command::Command;
use super::events::JobEventKind;
use super::finished::Finish;
use super::jobs::Slot;
use super::outcome::{Outcome, Reject};
use super::store::JobStore;
use crate::types::limits::REASON_BYTES_MAX;
use crate::types::{BuryReason, JobId, JobState, Lease, Millis, TopicId};

impl Engine {
    /// Carries out a command that settles leases.
    pub(super) fn settle(&mut self, command: &Command<'_>, store: &mut impl JobStore) -> Outcome {
        match command {
            Command::Finish { leases } => self.finish(leases, store),
            Command::Release { leases, delay_ms, attempted } => {
                self.release(leases, *delay_ms, *attempted, "", store)
            }
            Command::ReleaseBecause { leases, delay_ms, attempted, reason } => {
                self.release(leases, *delay_ms, *attempted, reason, store)
            }
            Command::Touch { leases, ttr_ms } => self.touch(leases, *ttr_ms),
            Command::Bury { leases } => self.bury(leases, "", store),
            Command::BuryBecause { leases, reason } => self.bury(leases, reason, store),
            _ => unreachable!("it settles no leases"),
        }
    }

    /// Jobs are done: they are gone, or remembered for a while. One that was finished under the same lease a short time ago is so still.
    fn finish(&mut self, leases: &[Lease], store: &mut impl JobStore) -> Outcome {
        let stamp = self.clock.stamp;
        each(leases, |lease| match self.held(lease) {
            Ok(slot) => {
                let (topic, attempts) = (self.jobs[slot].topic, self.jobs[slot].attempts);
                match self.retention_ms(slot) {
                    0 => {
                        let job = self.end(slot, store);
                        self.note_end(&job, JobEventKind::Finished);
                    }
                    retention_ms => self.change(slot, |job| job.set_finished(stamp, retention_ms)),
                }
                self.topics.totals(topic).finished += 1;
                let attempts = if self.keeps_history() { attempts } else { 0 };
                let finish = Finish { at: stamp, lease, topic, attempts };
                self.finished.remember(finish, &mut self.sum);
                Ok(())
            }
            Err(_) if self.was_finished(lease) => Ok(()),
            Err(reject) => Err(reject),
        })
    }

    /// How long a job is remembered that is finished now, in milliseconds; 0 for not at all.
    fn retention_ms(&self, slot: Slot) -> u64 {
        let job = &self.jobs[slot];
        match job.retention_ms() {
            0 => self.topic_policy(job.topic).and_then(|policy| policy.retention_ms).unwrap_or(0),
            own_ms => own_ms,
        }
    }

    /// Jobs are given back. Not attempted: the work was not begun, so it does not count, and a delay puts it off. A reason that is
    /// empty is none.
    fn release(
        &mut self,
        leases: &[Lease],
        delay_ms: Option<u64>,
        attempted: bool,
        reason: &str,
        store: &mut impl JobStore,
    ) -> Outcome {
        let reason = self.reason(reason);
        each(leases, |lease| {
            let slot = self.held(lease)?;
            self.note_reason(slot, reason.as_ref());
            if attempted {
                self.fail_attempt(slot, delay_ms, store);
            } else if !self.drop_expired(slot, store) {
                let clock = self.clock;
                self.change(slot, |job| {
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

    /// Leases start anew.
    fn touch(&mut self, leases: &[Lease], ttr_ms: Option<u32>) -> Outcome {
        each(leases, |lease| {
            let slot = self.held(lease)?;
            let clock = self.clock;
            self.change(slot, |job| job.since = clock.later(u64::from(ttr_ms.unwrap_or(job.ttr_ms))).at);
            Ok(())
        })
    }

    /// Jobs are set aside. A reason that is empty is none.
    fn bury(&mut self, leases: &[Lease], reason: &str, store: &mut impl JobStore) -> Outcome {
        let reason = self.reason(reason);
        each(leases, |lease| {
            let slot = self.held(lease)?;
            self.note_reason(slot, reason.as_ref());
            if !self.drop_expired(slot, store) {
                self.bury_job(slot, BuryReason::Consumer);
            }
            Ok(())
        })
    }

    /// The topic of a job that may be leased, or was finished not too long ago, by the time of `stamp`. Leases are on resident
    /// jobs: nothing is read.
    pub fn topic_of_leased(&self, job: JobId, stamp: Millis) -> Option<TopicId> {
        let resident = self.jobs.resident(job).map(|slot| self.jobs[slot].topic);
        resident.or_else(|| self.finished_job(job, stamp).map(|finished| finished.topic))
    }

    /// Whether this lease still holds its job.
    pub fn holds(&self, lease: Lease) -> bool {
        self.held(lease).is_ok()
    }

    /// The text as jobs keep it, unless the state keeps none.
    fn reason(&self, reason: &str) -> Option<Arc<str>> {
        let end = reason.floor_char_boundary(REASON_BYTES_MAX);
        let reason = reason.get(..end).filter(|reason| !reason.is_empty());
        reason.filter(|_| self.keeps_history()).map(Arc::from)
    }

    fn note_reason(&mut self, slot: Slot, reason: Option<&Arc<str>>) {
        if let Some(reason) = reason {
            self.change(slot, |job| job.set_reason(Arc::clone(reason)));
        }
    }

    fn held(&self, lease: Lease) -> Result<Slot, Reject> {
        let slot = self.jobs.resident(lease.job).ok_or(Reject::StaleLease)?;
        let job = &self.jobs[slot];
        let holds = job.state == JobState::Reserved && job.fence() == lease.fence;
        if holds { Ok(slot) } else { Err(Reject::StaleLease) }
    }
}

fn each(leases: &[Lease], one: impl FnMut(Lease) -> Result<(), Reject>) -> Outcome {
    Outcome::Settled(leases.iter().copied().map(one).collect())
}
