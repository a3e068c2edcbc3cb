//! The state hash: a sum over the hashes of everything in the state.
//!
//! An additive multiset hash: adding or removing an element costs its own hash and one addition, and the sum does
//! not depend on the order of changes. Each element is laid out in 64-bit words, little-endian, the first of them
//! its kind, and is hashed with XXH3-128. It detects replicas that have diverged because of a faulty machine or a
//! bug; it does not protect against a state that was forged on purpose.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::clock::Moment;
use super::job::Job;
use crate::recent::finished::Finish;
use crate::recent::idempotency::Remembered;
use adjourn_types::SessionId;

/// The running sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum(u128);

impl Sum {
    /// Adds an element of the state.
    pub(super) fn add(&mut self, element: u128) {
        self.0 = self.0.wrapping_add(element);
    }

    /// Removes an element.
    pub(super) fn subtract(&mut self, element: u128) {
        self.0 = self.0.wrapping_sub(element);
    }

    /// The sum including an element that is not counted in it.
    pub(super) fn with(self, scalars: u128) -> u128 {
        self.0.wrapping_add(scalars)
    }
}

/// What an element represents.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Scalars = 1,
    Job = 2,
    Topic = 3,
    Session = 4,
    Pushed = 5,
    Finished = 6,
    Member = 7,
    RemovedMember = 8,
    ForgottenTopics = 9,
    Idempotent = 10,
}

/// An element under construction. It writes whole words only: reading narrower stores back as words costs more than the
/// hash.
pub(super) struct Element {
    bytes: [u8; Self::BYTES],
    length: usize,
}

impl Element {
    const BYTES: usize = 24 * 8;

    pub(super) fn new(kind: Kind) -> Self {
        let mut element = Self { bytes: [0; Self::BYTES], length: 0 };
        element.word(kind as u64);
        element
    }

    #[inline]
    pub(super) fn word(&mut self, word: u64) -> &mut Self {
        let end = self.length + 8;
        match self.bytes.get_mut(self.length..end) {
            Some(place) => place.copy_from_slice(&word.to_le_bytes()),
            None => unreachable!("every element fits"),
        }
        self.length = end;
        self
    }

    #[inline]
    pub(super) fn pair(&mut self, low: u32, high: u32) -> &mut Self {
        self.word(u64::from(low) | u64::from(high) << 32)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    pub(super) fn wide(&mut self, value: u128) -> &mut Self {
        self.word(value as u64).word((value >> 64) as u64)
    }

    #[inline]
    pub(super) fn moment(&mut self, moment: Moment) -> &mut Self {
        self.word(moment.timeline.number().into()).word(moment.at)
    }

    pub(super) fn hash(&self) -> u128 {
        xxh3_128(self.bytes.get(..self.length).unwrap_or_default())
    }
}

/// The hash of a job. The place of its record is not included.
pub(super) fn of_job(job: &Job) -> u128 {
    const PAST: u32 = 1 << 17;
    const REASON: u32 = 1 << 18;
    const CHANGED: u32 = 1 << 19;
    let mut element = Element::new(Kind::Job);
    let past = job.past();
    let reason = past.and_then(|past| past.reason.as_ref());
    let flag = |is_there, flag| if is_there { flag } else { 0 };
    let parts = flag(past.is_some(), PAST) | flag(reason.is_some(), REASON) | flag(job.changes != 0, CHANGED);
    let kinds = u32::from(job.state as u8) | u32::from(job.buried as u8) << 8 | parts;
    let timeline = u32::from(job.due_timeline.number()) | u32::from(job.defaults) << 8;
    element.pair(kinds, timeline).word(job.due_at);
    element.word(job.id.0).word(job.pushed_at).word(job.since).word(job.fence().0).word(job.holder().0);
    element.pair(job.topic.0, job.priority).pair(job.ttr_ms, job.attempts);
    element.pair(job.body.body_bytes, job.body.checksum);
    if job.changes != 0 {
        element.word(job.changes.into());
    }
    if let Some(past) = past {
        element.word(past.reserved_first).word(past.reserved_last).word(past.held_by.0);
    }
    if let Some(reason) = reason {
        element.wide(xxh3_128(reason.as_bytes()));
    }
    if job.key_hash().is_some() || job.retry().is_some() {
        element.wide(job.key_hash().unwrap_or_default());
        if let Some(retry) = job.retry() {
            element.word(retry.digest);
            if let Some(expires) = retry.expires {
                element.moment(expires);
            }
            if retry.retention_ms != 0 {
                element.word(retry.retention_ms);
            }
        }
    }
    element.hash()
}

/// The hash of one remembered push.
pub(super) fn of_pushed(session: SessionId, sequence: u64, outcome: u64, checksum: u32) -> u128 {
    let mut element = Element::new(Kind::Pushed);
    element.word(session.0).word(sequence).word(outcome).word(checksum.into()).hash()
}

/// The hash of one remembered finish.
pub(super) fn of_finished(finish: &Finish) -> u128 {
    let Finish { at, lease, topic, attempts } = finish;
    let mut element = Element::new(Kind::Finished);
    element.word(at.0).word(lease.job.0).word(lease.fence.0).pair(topic.0, *attempts).hash()
}

/// The hash of one remembered push that carried a key.
pub(super) fn of_idempotent(remembered: &Remembered) -> u128 {
    let Remembered { at, owner, key, outcome, checksum } = remembered;
    let mut element = Element::new(Kind::Idempotent);
    element.word(at.0).word(*owner).wide(*key).word(*outcome).word((*checksum).into()).hash()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timeline;
    use crate::job::JobExtras;
    use crate::job::held::Past;
    use crate::job::retry::Retry;
    use crate::store::{BodyRef, Place};
    use adjourn_types::{BuryReason, Fence, JobId, JobState, Millis, TopicId};

    fn job() -> Job {
        Job {
            id: JobId(1),
            due_at: 2,
            since: 3,
            topic: TopicId(6),
            priority: 7,
            ttr_ms: 8,
            attempts: 9,
            changes: 0,
            body: BodyRef { place: Place(10), body_bytes: 11, checksum: 12 },
            due_timeline: Timeline::Stamp,
            state: JobState::Delayed,
            buried: BuryReason::Consumer,
            defaults: 0,
            pushed_at: 0,
            extras: None,
        }
    }

    fn retry(expires: u64, digest: u64) -> Retry {
        let expires = Some(Moment { timeline: Timeline::Stamp, at: expires });
        Retry { expires, digest, ..Retry::default() }
    }

    #[test]
    fn every_field_of_a_job_counts_but_the_place_of_its_body() {
        let past = || Past { reserved_first: 1, reserved_last: 2, held_by: SessionId(3), reason: None };
        let changes: [&dyn Fn(&mut Job); 29] = [
            &|job: &mut Job| job.id = JobId(99),
            &|job: &mut Job| job.due_timeline = Timeline::Wall,
            &|job: &mut Job| job.due_at = 99,
            &|job: &mut Job| job.since = 99,
            &|job: &mut Job| job.set_lease(Fence(99), SessionId(5)),
            &|job: &mut Job| job.set_lease(Fence(4), SessionId(99)),
            &|job: &mut Job| job.topic = TopicId(99),
            &|job: &mut Job| job.priority = 99,
            &|job: &mut Job| job.ttr_ms = 99,
            &|job: &mut Job| job.attempts = 99,
            &|job: &mut Job| job.changes = 99,
            &|job: &mut Job| job.defaults = 99,
            &|job: &mut Job| job.body.body_bytes = 99,
            &|job: &mut Job| job.body.checksum = 99,
            &|job: &mut Job| job.state = JobState::Buried,
            &|job: &mut Job| job.buried = BuryReason::AttemptsUsedUp,
            &|job: &mut Job| job.extras = JobExtras::new(Some(99), None),
            &|job: &mut Job| job.extras = JobExtras::new(Some(100), None),
            &|job: &mut Job| job.extras = JobExtras::new(None, Some(retry(1, 2))),
            &|job: &mut Job| job.extras = JobExtras::new(None, Some(retry(1, 3))),
            &|job: &mut Job| job.set_retention(99),
            &|job: &mut Job| job.set_finished(Millis(3), 99),
            &|job: &mut Job| job.pushed_at = 1,
            &|job: &mut Job| job.set_past(past()),
            &|job: &mut Job| job.set_past(Past { reserved_first: 99, ..past() }),
            &|job: &mut Job| job.set_past(Past { reserved_last: 99, ..past() }),
            &|job: &mut Job| job.set_past(Past { held_by: SessionId(99), ..past() }),
            &|job: &mut Job| job.set_past(Past { reason: Some("one".into()), ..past() }),
            &|job: &mut Job| job.set_past(Past { reason: Some("other".into()), ..past() }),
        ];
        let mut hashes = vec![of_job(&job())];
        for change in changes {
            let mut other = job();
            change(&mut other);
            assert!(!hashes.contains(&of_job(&other)), "{other:?}");
            hashes.push(of_job(&other));
        }
        let mut moved = job();
        moved.body.place = Place(99);
        assert_eq!(of_job(&moved), of_job(&job()));
    }
}
