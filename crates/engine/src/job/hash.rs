//! The state hash of a job.

use super::{Job, KeyHash};
use crate::hash::{Element, Kind};

impl Job {
    /// Its share of the state hash. The place of its record is not included.
    pub(crate) fn hash(&self) -> u128 {
        const PAST: u32 = 1 << 17;
        const REASON: u32 = 1 << 18;
        const CHANGED: u32 = 1 << 19;
        const OF_SCHEDULE: u32 = 1 << 20;
        const IN_GROUP: u32 = 1 << 21;
        const HOLDS_PLACE: u32 = 1 << 22;
        let mut element = Element::new(Kind::Job);
        let past = self.past();
        let reason = past.and_then(|past| past.reason.as_ref());
        let flag = |is_there, flag| if is_there { flag } else { 0 };
        let of_schedule = self.of_schedule();
        let parts = flag(past.is_some(), PAST)
            | flag(reason.is_some(), REASON)
            | flag(self.changes != 0, CHANGED)
            | flag(of_schedule.is_some(), OF_SCHEDULE)
            | flag(self.group().is_some(), IN_GROUP)
            | flag(self.holds_place(), HOLDS_PLACE);
        let kinds = u32::from(self.state as u8) | u32::from(self.buried as u8) << 8 | parts;
        let timeline = u32::from(self.due_timeline.number()) | u32::from(self.defaults) << 8;
        element.pair(kinds, timeline).word(self.due_at);
        element
            .word(self.id.0)
            .word(self.pushed_at)
            .word(self.since)
            .word(self.fence().0)
            .word(self.holder().0);
        element.pair(self.topic.0, self.priority).pair(self.ttr_ms, self.attempts);
        element.pair(self.body.body_bytes, self.body.checksum);
        if self.changes != 0 {
            element.word(self.changes.into());
        }
        if let Some(past) = past {
            element.word(past.reserved_first).word(past.reserved_last).word(past.edited);
            element.text(past.held_by.as_deref().unwrap_or_default());
        }
        if let Some(reason) = reason {
            element.text(reason);
        }
        if let Some(of_schedule) = of_schedule {
            element.wide(of_schedule.digest());
        }
        if let Some(group) = self.group() {
            element.text(group);
        }
        if self.key_hash().is_some() || self.retry().is_some() {
            element.wide(self.key_hash().map_or(0, KeyHash::get));
            if let Some(retry) = self.retry() {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Moment, Timeline};
    use crate::job::JobExtras;
    use crate::job::held::Past;
    use crate::job::retry::Retry;
    use crate::job::schedule::{OfSchedule, Schedule};
    use crate::place::{BodyRef, Place};
    use adjourn_types::{BuryReason, Fence, JobId, JobState, Millis, SessionId, TopicId};

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
        let past = || Past {
            reserved_first: 1,
            reserved_last: 2,
            edited: 4,
            held_by: Some("a".into()),
            reason: None,
        };
        let schedule = |failures, running| {
            Some(OfSchedule::Schedule(Schedule { failures, running, ..Schedule::default() }))
        };
        let changes: [&dyn Fn(&mut Job); 38] = [
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
            &|job: &mut Job| job.extras = JobExtras::new(KeyHash::new(99), None),
            &|job: &mut Job| job.extras = JobExtras::new(KeyHash::new(100), None),
            &|job: &mut Job| job.extras = JobExtras::new(None, Some(retry(1, 2))),
            &|job: &mut Job| job.extras = JobExtras::new(None, Some(retry(1, 3))),
            &|job: &mut Job| job.set_retention(99),
            &|job: &mut Job| job.set_finished(Millis(3), 99),
            &|job: &mut Job| job.pushed_at = 1,
            &|job: &mut Job| job.set_past(past()),
            &|job: &mut Job| job.set_past(Past { reserved_first: 99, ..past() }),
            &|job: &mut Job| job.set_past(Past { reserved_last: 99, ..past() }),
            &|job: &mut Job| job.set_past(Past { edited: 99, ..past() }),
            &|job: &mut Job| job.set_past(Past { held_by: Some("b".into()), ..past() }),
            &|job: &mut Job| job.set_past(Past { reason: Some("one".into()), ..past() }),
            &|job: &mut Job| job.set_past(Past { reason: Some("other".into()), ..past() }),
            &|job: &mut Job| job.set_of_schedule(Some(OfSchedule::JobOf(JobId(1)))),
            &|job: &mut Job| job.set_of_schedule(Some(OfSchedule::JobOf(JobId(2)))),
            &|job: &mut Job| job.set_of_schedule(schedule(0, 0)),
            &|job: &mut Job| job.set_of_schedule(schedule(1, 0)),
            &|job: &mut Job| job.set_of_schedule(schedule(0, 1)),
            &|job: &mut Job| job.set_in_group(Some("a".into()), false),
            &|job: &mut Job| job.set_in_group(Some("b".into()), false),
            &|job: &mut Job| job.set_in_group(Some("b".into()), true),
        ];
        let mut hashes = vec![job().hash()];
        for change in changes {
            let mut other = job();
            change(&mut other);
            assert!(!hashes.contains(&other.hash()), "{other:?}");
            hashes.push(other.hash());
        }
        let mut moved = job();
        moved.body.place = Place(99);
        assert_eq!(moved.hash(), job().hash());
    }
}
