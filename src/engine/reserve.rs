//! Reserve: ready jobs become leases, in one order over several topics.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Engine;
use super::jobs::Slot;
use super::outcome::{Grant, Reject};
use super::ready::Rank;
use super::store::JobStore;
use crate::types::limits::DUE_PER_ENTRY_MAX;
use crate::types::{Fence, JobState, Lease, SessionId, TopicId};

/// Kept between calls for its memory alone.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    topics: Vec<TopicId>,
    /// The first job in turn of each topic.
    fronts: BinaryHeap<Reverse<(Rank, TopicId)>>,
}

impl Engine {
    /// Grants leases on ready jobs, by (priority, due, id) over all the topics, until there are `jobs_max` of them,
    /// or their bodies have `bytes_max` bytes. A topic that is paused or not known has none.
    pub(super) fn reserve(
        &mut self,
        session: SessionId,
        topics: &[TopicId],
        jobs_max: u32,
        bytes_max: u64,
        store: &mut impl JobStore,
    ) -> Result<Vec<Grant>, Reject> {
        let live = self.sessions.live(session).ok_or(Reject::SessionUnknown)?;
        // A lease that outlives its session is nobody's to give back.
        let holder = if live.leases_outlive { SessionId(0) } else { session };
        let mut scratch = std::mem::take(&mut self.reserving);
        scratch.topics.extend_from_slice(topics);
        scratch.topics.sort_unstable();
        scratch.topics.dedup();
        scratch.fronts.extend(scratch.topics.drain(..).filter_map(|topic| self.front(topic)));

        let mut grants = Vec::new();
        let (mut bytes, mut dropped) = (0, 0);
        while grants.len() < jobs_max as usize && bytes < bytes_max && dropped < DUE_PER_ENTRY_MAX {
            let Some(Reverse(((.., slot), topic))) = scratch.fronts.pop() else { break };
            // It may have expired, if more came due at once than one entry moves.
            if self.drop_expired(slot, store) {
                dropped += 1;
            } else {
                let grant = self.grant(slot, session, holder);
                bytes += u64::from(grant.body.body_bytes);
                grants.push(grant);
            }
            scratch.fronts.extend(self.front(topic));
        }
        scratch.fronts.clear();
        self.reserving = scratch;
        Ok(grants)
    }

    /// The first job in turn of a topic that is not paused.
    fn front(&self, topic: TopicId) -> Option<Reverse<(Rank, TopicId)>> {
        let found = self.topics.find(topic).filter(|found| !found.paused)?;
        found.ready.first().map(|rank| Reverse((*rank, topic)))
    }

    fn grant(&mut self, slot: Slot, session: SessionId, holder: SessionId) -> Grant {
        self.last_fence += 1;
        let fence = Fence(self.last_fence);
        let (clock, keeps_history) = (self.clock, self.keeps_history());
        self.change(slot, |job| {
            job.state = JobState::Reserved;
            if keeps_history {
                job.note_held(session, clock.stamp.0);
            }
            job.set_lease(fence, holder);
            job.since = clock.later(u64::from(job.ttr_ms)).at;
            job.attempts = job.attempts.saturating_add(1);
        });
        let job = &self.jobs[slot];
        Grant {
            lease: Lease { job: job.id, fence },
            topic: job.topic,
            priority: job.priority,
            attempts: job.attempts,
            due: clock.as_wall(job.due()),
            deadline: crate::types::Millis(job.since),
            body: job.body,
        }
    }
}
