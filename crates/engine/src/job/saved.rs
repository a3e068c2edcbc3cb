//! A job as a chunk or a page stores it: all hashed fields, and none about its location.

use bincode::Options as _;
use serde::{Deserialize, Serialize};

use super::held::{Past, some_text};
use super::retry::Retry;
use super::schedule::{OfSchedule, Schedule};
use super::{DefaultsNumber, Job, JobExtras, KeyHash};
use crate::clock::Moment;
use crate::place::{BodyRef, Place};
use adjourn_types::limits::{
    CLIENT_BYTES_MAX, DEDUPE_RETENTION_MS_MAX, PRIORITY_DEFAULT, REASON_BYTES_MAX, TTR_MS_DEFAULT,
};
use adjourn_types::{
    BuryReason, Fence, GroupName, JobId, JobState, SCHEDULE_HISTORY_MAX, SessionId, TopicId,
};

/// The state of one job.
///
/// Encoded in bincode 1.3 with varint integers, in the order of the fields. The enclosing format carries the version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedJob {
    id: JobId,
    topic: TopicId,
    state: JobState,
    buried: BuryReason,
    due: Moment,
    since: u64,
    fence: Fence,
    holder: SessionId,
    priority: u32,
    ttr_ms: u32,
    attempts: u32,
    changes: u32,
    defaults: DefaultsNumber,
    body_bytes: u32,
    checksum: u32,
    key_hash: Option<KeyHash>,
    retry: Option<Retry>,
    history: SavedHistory,
    of_schedule: Option<OfSchedule>,
    in_group: Option<SavedInGroup>,
}

/// The group of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedInGroup {
    name: String,
    holds_place: bool,
}

/// When it was pushed, reserved and edited, and who held it; 0 for never. Times are stamps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SavedHistory {
    pushed_at: u64,
    reserved_first: u64,
    reserved_last: u64,
    edited: u64,
    /// Empty for none.
    held_by: String,
    /// Text; empty for none.
    reason: Vec<u8>,
}

/// The bytes are not a saved job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a saved job cannot be decoded")]
pub struct SavedJobError;

impl SavedJob {
    pub(crate) fn new(job: &Job) -> Self {
        Self {
            id: job.id,
            topic: job.topic,
            state: job.state,
            buried: job.buried,
            due: job.due(),
            since: job.since,
            fence: job.fence(),
            holder: job.holder(),
            priority: job.priority,
            ttr_ms: job.ttr_ms,
            attempts: job.attempts,
            changes: job.changes,
            defaults: job.defaults,
            body_bytes: job.body.body_bytes,
            checksum: job.body.checksum,
            key_hash: job.key_hash(),
            retry: job.retry().cloned(),
            history: SavedHistory::of(job),
            of_schedule: job.of_schedule().cloned(),
            in_group: SavedInGroup::of(job),
        }
    }

    /// The job in memory; its record is at `place`.
    pub(crate) fn into_job(self, place: Place) -> Job {
        let mut job = Job {
            id: self.id,
            due_at: self.due.at,
            since: self.since,
            topic: self.topic,
            priority: self.priority,
            ttr_ms: self.ttr_ms,
            attempts: self.attempts,
            changes: self.changes,
            body: BodyRef { place, body_bytes: self.body_bytes, checksum: self.checksum },
            due_timeline: self.due.timeline,
            state: self.state,
            buried: self.buried,
            defaults: self.defaults,
            pushed_at: self.history.pushed_at,
            extras: JobExtras::new(self.key_hash, self.retry),
        };
        job.set_lease(self.fence, self.holder);
        job.set_past(self.history.past());
        if self.of_schedule.is_some() {
            job.set_of_schedule(self.of_schedule);
        }
        if let Some(SavedInGroup { name, holds_place }) = self.in_group {
            job.set_in_group(Some(name.into()), holds_place);
        }
        job
    }

    /// Its id.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// The fence of its lease; 0 if it is not reserved.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// The number of the queue's retry defaults at its push.
    pub(crate) fn defaults(&self) -> DefaultsNumber {
        self.defaults
    }

    /// Its topic.
    pub fn topic(&self) -> TopicId {
        self.topic
    }

    /// Its state.
    pub fn state(&self) -> JobState {
        self.state
    }

    /// When it is, or was, due.
    pub fn due(&self) -> Moment {
        self.due
    }

    /// The hash of its topic and key, if it has a key.
    pub fn key_hash(&self) -> Option<u128> {
        self.key_hash.map(KeyHash::get)
    }

    /// Its due time, or an earlier expiry; `None` if it is not delayed.
    pub fn delayed_until(&self) -> Option<Moment> {
        let delayed = self.state == JobState::Delayed;
        if delayed { self.clone().into_job(Place(0)).timer() } else { None }
    }

    /// The length of its body, in bytes.
    pub fn body_bytes(&self) -> u32 {
        self.body_bytes
    }

    /// The CRC32C of key, attributes and body.
    pub fn checksum(&self) -> u32 {
        self.checksum
    }

    /// A delayed placeholder for an unreadable job. Its record is empty and has this checksum.
    pub fn stand_in(id: JobId, topic: TopicId, key_hash: Option<u128>, due: Moment, checksum: u32) -> Self {
        Self {
            id,
            topic,
            state: JobState::Delayed,
            buried: BuryReason::Consumer,
            due,
            since: 0,
            fence: Fence(0),
            holder: SessionId::NONE,
            priority: PRIORITY_DEFAULT,
            ttr_ms: TTR_MS_DEFAULT,
            attempts: 0,
            changes: 0,
            defaults: 0,
            body_bytes: 0,
            checksum,
            key_hash: key_hash.and_then(KeyHash::new),
            retry: None,
            history: SavedHistory::default(),
            of_schedule: None,
            in_group: None,
        }
    }

    /// Replaces its record by an empty one with this checksum.
    pub fn lose_record(&mut self, checksum: u32) {
        (self.body_bytes, self.checksum) = (0, checksum);
    }

    /// True if its retention is within the limit, and a finished job has one.
    fn remembers_what_it_may(&self) -> bool {
        let retention_ms = self.retry.as_ref().map_or(0, |retry| retry.retention_ms);
        retention_ms <= DEDUPE_RETENTION_MS_MAX && (retention_ms > 0 || self.state != JobState::Finished)
    }

    /// True if it is a schedule exactly if its state says so, with a history and a note within their limits.
    fn is_schedule_as_said(&self) -> bool {
        let schedule = match &self.of_schedule {
            Some(OfSchedule::Schedule(schedule)) => Some(schedule),
            _ => None,
        };
        let is_within = |schedule: &Schedule| {
            schedule.history.len() <= SCHEDULE_HISTORY_MAX && schedule.pause_note.len() <= REASON_BYTES_MAX
        };
        schedule.is_some() == (self.state == JobState::Scheduled) && schedule.is_none_or(is_within)
    }

    /// Its share of the state hash.
    pub fn hash(&self) -> u128 {
        self.clone().into_job(Place(0)).hash()
    }

    /// Appends its encoding to `bytes`.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let written = options().serialize_into(bytes, self);
        written.unwrap_or_else(|error| unreachable!("a job in memory always encodes: {error}"));
    }

    /// Decodes a job at the beginning of `bytes`. Returns it and the rest.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), SavedJobError> {
        let mut rest = bytes;
        let mut decoder = bincode::Deserializer::with_reader(&mut rest, options());
        let saved = Self::deserialize(&mut decoder).map_err(|_| SavedJobError)?;
        let is_in_valid_group = saved.in_group.as_ref().is_none_or(SavedInGroup::is_valid);
        if !saved.history.is_valid()
            || !saved.remembers_what_it_may()
            || !saved.is_schedule_as_said()
            || !is_in_valid_group
        {
            return Err(SavedJobError);
        }
        Ok((saved, rest))
    }
}

impl SavedInGroup {
    fn of(job: &Job) -> Option<Self> {
        let name = job.group()?.to_string();
        Some(Self { name, holds_place: job.holds_place() })
    }

    fn is_valid(&self) -> bool {
        self.name.parse::<GroupName>().is_ok()
    }
}

impl SavedHistory {
    fn of(job: &Job) -> Self {
        let past = job.past().cloned().unwrap_or_default();
        Self {
            pushed_at: job.pushed_at,
            reserved_first: past.reserved_first,
            reserved_last: past.reserved_last,
            edited: past.edited,
            held_by: past.held_by.as_deref().unwrap_or_default().to_owned(),
            reason: past.reason.map(|reason| reason.as_bytes().to_vec()).unwrap_or_default(),
        }
    }

    fn past(&self) -> Past {
        let reason = std::str::from_utf8(&self.reason).ok().filter(|reason| !reason.is_empty());
        Past {
            reserved_first: self.reserved_first,
            reserved_last: self.reserved_last,
            edited: self.edited,
            held_by: some_text(&self.held_by, CLIENT_BYTES_MAX),
            reason: reason.map(Into::into),
        }
    }

    fn is_valid(&self) -> bool {
        let fits = self.reason.len() <= REASON_BYTES_MAX && self.held_by.len() <= CLIENT_BYTES_MAX;
        fits && std::str::from_utf8(&self.reason).is_ok()
    }
}

/// The encoding of the state. A forged length cannot cause a large allocation: serde limits what it reserves.
pub(crate) fn options() -> impl bincode::Options {
    bincode::DefaultOptions::new().with_varint_encoding().allow_trailing_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Timeline;
    use crate::job::schedule::Schedule;
    use adjourn_types::{
        Backoff, BackoffCurve, Fired, Firing, JobEnd, Millis, Overlap, PausedBy, SkipReason,
    };

    fn moments() -> impl Strategy<Value = Moment> {
        (any::<bool>(), any::<u64>()).prop_map(|(wall, at)| Moment {
            timeline: if wall { Timeline::Wall } else { Timeline::Stamp },
            at,
        })
    }

    fn retries() -> impl Strategy<Value = Retry> {
        let curve = prop_oneof![
            any::<u32>().prop_map(BackoffCurve::Fixed),
            (any::<u32>(), any::<u32>())
                .prop_map(|(step_ms, max_ms)| BackoffCurve::Linear { step_ms, max_ms }),
            proptest::collection::vec(any::<u32>(), 1..5).prop_map(BackoffCurve::List),
        ];
        let backoff =
            (curve, 0..=100_u8).prop_map(|(curve, jitter_percent)| Backoff { curve, jitter_percent });
        (
            proptest::option::of(moments()),
            proptest::option::of(any::<u32>()),
            proptest::option::of(backoff),
            any::<u64>(),
            prop_oneof![Just(0), 1..=DEDUPE_RETENTION_MS_MAX],
        )
            .prop_map(|(expires, attempts_max, backoff, digest, retention_ms)| Retry {
                expires,
                attempts_max,
                backoff,
                digest,
                retention_ms,
            })
    }

    const STATES: [JobState; 6] = [
        JobState::Delayed,
        JobState::Ready,
        JobState::Reserved,
        JobState::Buried,
        JobState::Finished,
        JobState::Scheduled,
    ];

    fn firings() -> impl Strategy<Value = Vec<Firing>> {
        let end = proptest::option::of(proptest::sample::select(vec![JobEnd::Finished, JobEnd::Expired]));
        let what = prop_oneof![
            (any::<u64>(), end).prop_map(|(job, end)| Fired::Pushed { job: JobId(job), end }),
            any::<[u64; 2]>().prop_map(|[last, instants]| Fired::Skipped {
                last: Millis(last),
                instants,
                reason: SkipReason::Overlap,
            }),
        ];
        let firing = (any::<[u64; 2]>(), what).prop_map(|([instant, at], what)| Firing {
            instant: Millis(instant),
            at: Millis(at),
            what,
        });
        proptest::collection::vec(firing, 0..=SCHEDULE_HISTORY_MAX)
    }

    fn jobs() -> impl Strategy<Value = Job> {
        let numbers = (any::<[u64; 4]>(), any::<[u32; 8]>(), any::<u8>());
        let kinds = (
            proptest::sample::select(&STATES[..]),
            0..2_u8,
            proptest::option::of((any::<[u32; 5]>(), firings())),
        );
        let extras = (proptest::option::of(any::<KeyHash>()), proptest::option::of(retries()));
        let reason = proptest::option::of("[a-zü]{1,40}");
        let history = prop_oneof![Just(([0; 5], None)), (any::<[u64; 5]>(), reason)];
        (numbers, kinds, moments(), extras, history).prop_map(
            |(
                ([id, since, fence, holder], numbers, defaults),
                (state, buried, of_schedule),
                due,
                (key_hash, retry),
                history,
            )| {
                let ([pushed_at, reserved_first, reserved_last, edited, held_by], reason) = history;
                let [topic, priority, ttr_ms, attempts, changes, body_bytes, checksum, place] = numbers;
                let mut job = Job {
                    id: JobId(id),
                    due_at: due.at,
                    since,
                    topic: TopicId(topic),
                    priority,
                    ttr_ms,
                    attempts,
                    changes,
                    body: BodyRef { place: Place(place.into()), body_bytes, checksum },
                    due_timeline: due.timeline,
                    state,
                    buried: BuryReason::from_u8(buried).expect("a reason"),
                    defaults,
                    pushed_at,
                    extras: JobExtras::new(key_hash, retry),
                };
                job.set_lease(Fence(fence), SessionId(holder));
                let (held_by, reason) = ((held_by % 2 == 0).then(|| "mailer".into()), reason.map(Into::into));
                job.set_past(Past { reserved_first, reserved_last, edited, held_by, reason });
                let of_schedule =
                    of_schedule.map(|([version, failures_max, failures, running, fired], history)| {
                        OfSchedule::Schedule(Schedule {
                            version,
                            overlap: Overlap::QueueOne,
                            failures_max,
                            failures,
                            fired: fired.into(),
                            running,
                            paused: Some(PausedBy::Failures),
                            pause_note: "why".into(),
                            is_over: running % 2 == 0,
                            history: history.into(),
                        })
                    });
                match (job.state, of_schedule) {
                    (JobState::Scheduled, None) => {
                        job.set_of_schedule(Some(OfSchedule::Schedule(Schedule::default())));
                    }
                    (JobState::Scheduled, some) => job.set_of_schedule(some),
                    (_, Some(_)) => job.set_of_schedule(Some(OfSchedule::JobOf(JobId(since)))),
                    (_, None) => {}
                }
                if job.state == JobState::Finished && job.retention_ms() == 0 {
                    job.set_retention(1);
                }
                in_group(job)
            },
        )
    }

    /// Some are in a group, and some of those hold its place.
    fn in_group(mut job: Job) -> Job {
        let group = Some(format!("group {}", job.attempts).into());
        job.set_in_group(group.filter(|_| !job.priority.is_multiple_of(3)), job.priority % 3 == 2);
        job
    }

    #[test]
    fn what_no_job_can_be_is_refused() {
        let job = |change: fn(&mut SavedJob)| {
            let due = Moment { timeline: Timeline::Stamp, at: 1 };
            let mut saved = SavedJob::stand_in(JobId(1), TopicId(1), None, due, 7);
            saved.history.pushed_at = 1;
            change(&mut saved);
            let mut bytes = Vec::new();
            saved.encode(&mut bytes);
            SavedJob::decode(&bytes).map(|(decoded, _)| assert_eq!(decoded, saved))
        };
        assert_eq!(job(|_| {}), Ok(()));
        assert_eq!(job(|saved| saved.history.reason = vec![b'x'; REASON_BYTES_MAX]), Ok(()));
        assert_eq!(job(|saved| saved.history.reason = vec![b'x'; REASON_BYTES_MAX + 1]), Err(SavedJobError));
        assert_eq!(job(|saved| saved.history.reason = vec![0xff]), Err(SavedJobError));
        assert_eq!(job(|saved| saved.state = JobState::Finished), Err(SavedJobError));
        let remembered = |saved: &mut SavedJob| {
            saved.retry = Some(Retry { retention_ms: 1, ..Retry::default() });
            saved.state = JobState::Finished;
        };
        assert_eq!(job(remembered), Ok(()));
        let longer = |saved: &mut SavedJob| {
            saved.retry = Some(Retry { retention_ms: DEDUPE_RETENTION_MS_MAX + 1, ..Retry::default() });
        };
        assert_eq!(job(longer), Err(SavedJobError));
        assert_eq!(job(|saved| saved.state = JobState::Scheduled), Err(SavedJobError), "without a schedule");
        assert_eq!(job(|saved| saved.of_schedule = Some(schedule(0))), Err(SavedJobError), "but delayed");
        let full = |saved: &mut SavedJob| {
            (saved.state, saved.of_schedule) = (JobState::Scheduled, Some(schedule(SCHEDULE_HISTORY_MAX)));
        };
        assert_eq!(job(full), Ok(()));
        let too_full = |saved: &mut SavedJob| {
            (saved.state, saved.of_schedule) =
                (JobState::Scheduled, Some(schedule(SCHEDULE_HISTORY_MAX + 1)));
        };
        assert_eq!(job(too_full), Err(SavedJobError));
        for (name, is_valid) in [("a".to_owned(), true), (String::new(), false), ("x".repeat(256), false)] {
            let (mut saved, due) = (Vec::new(), Moment { timeline: Timeline::Stamp, at: 1 });
            let mut one = SavedJob::stand_in(JobId(1), TopicId(1), None, due, 7);
            one.in_group = Some(SavedInGroup { name, holds_place: true });
            one.encode(&mut saved);
            assert_eq!(SavedJob::decode(&saved).is_ok(), is_valid);
        }
    }

    fn schedule(firings: usize) -> OfSchedule {
        let what = Fired::Skipped { last: Millis(1), instants: 1, reason: SkipReason::Missed };
        let firing = Firing { instant: Millis(1), at: Millis(1), what };
        let history = std::iter::repeat_n(firing, firings).collect();
        OfSchedule::Schedule(Schedule { history, ..Schedule::default() })
    }

    proptest! {
        #[test]
        fn what_is_saved_comes_back_with_the_same_hash(job in jobs(), tail in any::<[u8; 3]>()) {
            let mut bytes = Vec::new();
            SavedJob::new(&job).encode(&mut bytes);
            let length = bytes.len();
            bytes.extend(tail);
            let (saved, rest) = SavedJob::decode(&bytes).expect("it decodes");
            prop_assert_eq!(rest, &tail);
            prop_assert_eq!(saved.hash(), job.hash());
            let back = saved.into_job(job.body.place);
            prop_assert_eq!(format!("{back:?}"), format!("{job:?}"));
            for cut in 0..length {
                prop_assert_eq!(SavedJob::decode(bytes.get(..cut).expect("shorter")), Err(SavedJobError));
            }
        }
    }
}
