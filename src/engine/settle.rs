//! Finish, release, touch and bury: what a consumer does with its leases. Job id and fence suffice, from any session.

use super::Engine;
use super::jobs::Slot;
use super::outcome::{Outcome, Reject};
use super::store::JobStore;
use crate::types::{BuryReason, JobState, Lease};

impl Engine {
    /// Jobs are done. One that was finished under the same lease a short time ago is so still.
    pub(super) fn finish(&mut self, leases: &[Lease], store: &mut impl JobStore) -> Outcome {
        let stamp = self.clock.stamp;
        settle(leases, |lease| match self.held(lease) {
            Ok(slot) => {
                let job = self.end(slot, store);
                self.topics.totals(job.topic).finished += 1;
                self.finished.remember(lease, stamp, &mut self.sum);
                Ok(())
            }
            Err(_) if self.finished.remembers(lease, stamp) => Ok(()),
            Err(reject) => Err(reject),
        })
    }

    /// Jobs are given back. Not attempted: the grant never arrived, so it does not count.
    pub(super) fn release(
        &mut self,
        leases: &[Lease],
        delay_ms: Option<u64>,
        attempted: bool,
        store: &mut impl JobStore,
    ) -> Outcome {
        settle(leases, |lease| {
            let slot = self.held(lease)?;
            if attempted {
                self.fail_attempt(slot, delay_ms, store);
            } else if !self.drop_expired(slot, store) {
                let clock = self.clock;
                self.change(slot, |job| {
                    job.attempts = job.attempts.saturating_sub(1);
                    job.set_ready(clock.as_stamp(job.due()));
                });
            }
            Ok(())
        })
    }

    /// Leases start anew.
    pub(super) fn touch(&mut self, leases: &[Lease], ttr_ms: Option<u32>) -> Outcome {
        settle(leases, |lease| {
            let slot = self.held(lease)?;
            let clock = self.clock;
            self.change(slot, |job| job.since = clock.later(u64::from(ttr_ms.unwrap_or(job.ttr_ms))).at);
            Ok(())
        })
    }

    /// Jobs are set aside.
    pub(super) fn bury(&mut self, leases: &[Lease], store: &mut impl JobStore) -> Outcome {
        settle(leases, |lease| {
            let slot = self.held(lease)?;
            if !self.drop_expired(slot, store) {
                self.change(slot, |job| job.set_buried(BuryReason::Consumer));
            }
            Ok(())
        })
    }

    /// Whether this lease still holds its job.
    pub fn holds(&self, lease: Lease) -> bool {
        self.held(lease).is_ok()
    }

    fn held(&self, lease: Lease) -> Result<Slot, Reject> {
        let slot = self.jobs.near(lease.job).ok_or(Reject::StaleLease)?;
        let job = &self.jobs[slot];
        let holds = job.state == JobState::Reserved && job.fence() == lease.fence;
        if holds { Ok(slot) } else { Err(Reject::StaleLease) }
    }
}

fn settle(leases: &[Lease], one: impl FnMut(Lease) -> Result<(), Reject>) -> Outcome {
    Outcome::Settled(leases.iter().copied().map(one).collect())
}
