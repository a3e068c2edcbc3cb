//! Reserve: ready jobs become leases, in one order over several topics or by the topics' shares.
//!
//! Shares follow smooth weighted round-robin, as in nginx's upstream balancer (`ngx_http_upstream_get_peer`): at
//! each turn every topic that has a job adds its weight to its standing; the topic with the highest standing gives a
//! job and subtracts the sum of these weights. So topics of the weights 5, 1, 1 come as `a a b a c a a`. The
//! standings come with the command and return with its outcome: they are not part of the state.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::Applier;
use crate::command::{Share, TopicOrder};
use crate::jobs::Slot;
use crate::outcome::{Grant, Outcome, Reject};
use crate::store::JobStore;
use crate::topics::policy::Verdict;
use crate::topics::ready::Rank;
use adjourn_types::limits::DUE_PER_ENTRY_MAX;
use adjourn_types::{JobState, SessionId, TopicId};

/// Limit on how far a topic gets ahead or behind, in weights. Topics that follow the rules never come near it.
const STANDING_MAX: i64 = 1 << 40;

/// A share whose topic may have a job to grant.
struct Candidate {
    topic: TopicId,
    weight: i64,
    /// Its place in the list of shares.
    nth: usize,
    /// The topic's first job; `None` if it has none.
    front: Option<Slot>,
}

/// The result of trying to deliver a ready job.
enum Delivery {
    /// It is granted.
    InTime,
    /// It was dropped, or waits again.
    Gone,
    /// It was buried, or moved to its topic's dead letters.
    Buried,
    /// It is late or not due any more, and this entry has already put away as many such jobs as it may.
    NotNow,
}

/// A reserve in progress.
struct Granting {
    /// Who opened the session.
    client: Option<Arc<str>>,
    /// The session that gives the leases back when it ends; 0 if they outlive it.
    holder: SessionId,
    jobs_max: u32,
    bytes_max: u64,
    grants: Vec<Grant>,
    /// The size of their bodies.
    bytes: u64,
    /// Jobs that were put away instead of granted.
    gone: usize,
}

impl Granting {
    fn wants_more(&self) -> bool {
        self.grants.len() < self.jobs_max as usize
            && self.bytes < self.bytes_max
            && self.gone < DUE_PER_ENTRY_MAX
    }
}

/// Buffers that are kept between calls to save allocations.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    topics: Vec<TopicId>,
    /// The first job of each topic.
    fronts: BinaryHeap<Reverse<(Rank, TopicId)>>,
}

impl<S: JobStore> Applier<'_, S> {
    /// Grants leases on ready jobs until there are `jobs_max` of them, or their bodies reach `bytes_max` bytes. Paused and
    /// unknown topics have no jobs.
    pub(super) fn reserve(
        &mut self,
        session: SessionId,
        topics: &TopicOrder<'_>,
        jobs_max: u32,
        bytes_max: u64,
    ) -> Result<Outcome, Reject> {
        let (holder, client) = self.holder(session)?;
        let granting =
            Granting { client, holder, jobs_max, bytes_max, grants: Vec::new(), bytes: 0, gone: 0 };
        Ok(match topics {
            TopicOrder::OfJobs(topics) => self.reserve_in_order(topics, granting),
            TopicOrder::OfShares(shares) => self.reserve_weighted(shares, granting),
        })
    }

    /// The session that gives a lease back when it ends, and who opened it.
    fn holder(&mut self, session: SessionId) -> Result<(SessionId, Option<Arc<str>>), Reject> {
        let live = self.engine.sessions.live(session).ok_or(Reject::SessionUnknown)?;
        let holder = if live.leases_outlive { SessionId::NONE } else { session };
        Ok((holder, live.client.clone()))
    }

    /// Grants a lease on one job, whatever holds it back; one that is delayed or buried becomes due first.
    pub(super) fn reserve_job(&mut self, session: SessionId, slot: Slot) -> Result<Outcome, Reject> {
        let (holder, client) = self.holder(session)?;
        if self.drop_expired(slot) {
            return Err(Reject::NotFound);
        }
        match self.engine.jobs[slot].state {
            JobState::Ready if self.engine.clock.reached(self.engine.jobs[slot].due()) => {}
            JobState::Ready | JobState::Delayed | JobState::Buried => self.make_due(slot),
            JobState::Reserved => return Err(Reject::Reserved),
            JobState::Finished | JobState::Scheduled => return Err(Reject::WrongState),
        }
        Ok(Outcome::Granted(vec![self.grant(slot, client, holder)]))
    }

    /// Grants jobs by (priority, due, id) over all the topics.
    fn reserve_in_order(&mut self, topics: &[&str], mut granting: Granting) -> Outcome {
        let mut scratch = std::mem::take(&mut self.engine.reserving);
        scratch.topics.extend(topics.iter().filter_map(|topic| self.engine.topics.id(topic)));
        scratch.topics.sort_unstable();
        scratch.topics.dedup();
        scratch.fronts.extend(scratch.topics.iter().filter_map(|topic| self.front(*topic)));

        while granting.wants_more()
            && let Some(Reverse(((.., slot), topic))) = scratch.fronts.pop()
        {
            match self.deliver(slot, &mut granting) {
                Delivery::InTime | Delivery::Gone => scratch.fronts.extend(self.front(topic)),
                Delivery::Buried => {
                    // It may now be a dead letter in another one of these topics.
                    scratch.fronts.clear();
                    scratch.fronts.extend(scratch.topics.iter().filter_map(|topic| self.front(*topic)));
                }
                Delivery::NotNow => break,
            }
        }
        scratch.fronts.clear();
        scratch.topics.clear();
        self.engine.reserving = scratch;
        Outcome::Granted(granting.grants)
    }

    /// Grants jobs of the topics in turn, by their weights.
    fn reserve_weighted(&mut self, shares: &[Share<'_>], mut granting: Granting) -> Outcome {
        let mut standings: Vec<i64> =
            shares.iter().map(|share| share.standing.clamp(-STANDING_MAX, STANDING_MAX)).collect();
        let mut candidates: Vec<Candidate> = shares
            .iter()
            .enumerate()
            .filter_map(|(nth, share)| {
                let topic = self.engine.topics.id(share.topic)?;
                Some(Candidate { topic, weight: share.weight.into(), nth, front: self.front_slot(topic) })
            })
            .collect();
        while granting.wants_more()
            && let Some((topic, slot, nth)) = furthest_ahead(&candidates, &standings)
        {
            match self.deliver(slot, &mut granting) {
                Delivery::InTime => take_turn(&candidates, &mut standings, nth),
                Delivery::Gone => {}
                Delivery::Buried => {
                    for candidate in &mut candidates {
                        candidate.front = self.front_slot(candidate.topic);
                    }
                    continue;
                }
                Delivery::NotNow => break,
            }
            let front = self.front_slot(topic);
            let same = candidates.iter_mut().filter(|candidate| candidate.topic == topic);
            same.for_each(|candidate| candidate.front = front);
        }
        let moved = |(standing, share): (i64, &Share<'_>)| standing.saturating_sub(share.standing);
        let advances = standings.into_iter().zip(shares).map(moved).collect();
        Outcome::GrantedByShares { grants: granting.grants, advances }
    }

    /// Grants a ready job, unless it is expired, late or not due any more: timers beyond an entry's limit fire later.
    fn deliver(&mut self, slot: Slot, granting: &mut Granting) -> Delivery {
        let delivery = self.before_delivery(slot);
        match delivery {
            Delivery::InTime => {
                let grant = self.grant(slot, granting.client.clone(), granting.holder);
                granting.bytes += u64::from(grant.body.body_bytes);
                granting.grants.push(grant);
            }
            Delivery::Gone | Delivery::Buried => granting.gone += 1,
            Delivery::NotNow => {}
        }
        delivery
    }

    fn front_slot(&self, topic: TopicId) -> Option<Slot> {
        self.front(topic).map(|Reverse(((.., slot), _))| slot)
    }

    /// Decides about a ready job before its delivery: an expired one is dropped, one that is too late for its topic is
    /// dropped or buried, and one that is not due any more, or may have expired, waits. An entry puts away at most
    /// [`DUE_PER_ENTRY_MAX`] jobs, not counting expired ones.
    fn before_delivery(&mut self, slot: Slot) -> Delivery {
        if self.drop_expired(slot) {
            return Delivery::Gone;
        }
        let job = &self.engine.jobs[slot];
        let is_due = self.engine.clock.reached(job.due()) && !job.is_expired(self.engine.clock);
        let verdict =
            if is_due { self.engine.topics.when_granted(job, self.engine.clock) } else { Verdict::InTime };
        if is_due && verdict == Verdict::InTime {
            return Delivery::InTime;
        }
        if self.put_away >= DUE_PER_ENTRY_MAX {
            return Delivery::NotNow;
        }
        self.put_away += 1;
        if !is_due {
            self.engine.put_away(slot);
            return Delivery::Gone;
        }
        self.carry_out_verdict(slot, verdict);
        if verdict == Verdict::Bury { Delivery::Buried } else { Delivery::Gone }
    }

    /// The first job of a topic, if the topic may deliver now.
    fn front(&self, topic: TopicId) -> Option<Reverse<(Rank, TopicId)>> {
        let next = self.engine.topics.find(topic)?.next(self.engine.clock.stamp)?;
        Some(Reverse((next, topic)))
    }

    fn grant(&mut self, slot: Slot, client: Option<Arc<str>>, holder: SessionId) -> Grant {
        let fence = self.engine.numbers.next_fence();
        let clock = self.engine.clock;
        self.engine.topics.note_grant_of_group(&self.engine.jobs[slot]);
        let holds_place = self.engine.topics.is_in_order(&self.engine.jobs[slot]);
        self.engine.change(slot, |job| {
            job.set_holds_place(holds_place || job.holds_place());
            job.state = JobState::Reserved;
            job.note_held(client, clock.stamp.0);
            job.set_lease(fence, holder);
            job.since = clock.later(u64::from(job.ttr_ms)).at;
            job.attempts = job.attempts.saturating_add(1);
        });
        let grant = self.engine.granted(slot);
        self.engine.topics.note_grant(grant.topic);
        grant
    }
}

/// The candidate that is furthest ahead; the first one of equals. Returns its topic, its job and its place in the list of
/// shares.
fn furthest_ahead(candidates: &[Candidate], standings: &[i64]) -> Option<(TopicId, Slot, usize)> {
    let mut best: Option<(i64, (TopicId, Slot, usize))> = None;
    for candidate in candidates {
        let Some(slot) = candidate.front else { continue };
        let ahead = standings.get(candidate.nth).copied().unwrap_or(0) + candidate.weight;
        if best.is_none_or(|(most, _)| ahead > most) {
            best = Some((ahead, (candidate.topic, slot, candidate.nth)));
        }
    }
    best.map(|(_, turn)| turn)
}

/// Charges a granted job to this share, and credits every topic that has a job with its weight.
fn take_turn(candidates: &[Candidate], standings: &mut [i64], nth: usize) {
    let mut all = 0;
    for candidate in candidates.iter().filter(|candidate| candidate.front.is_some()) {
        all += candidate.weight;
        if let Some(standing) = standings.get_mut(candidate.nth) {
            *standing += candidate.weight;
        }
    }
    if let Some(standing) = standings.get_mut(nth) {
        *standing -= all;
    }
}
