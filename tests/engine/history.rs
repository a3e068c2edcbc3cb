//! What the state keeps of a job's past: when it was pushed and reserved, by whom, the reason of its last release or bury, and
//! for a short time that it was finished.

use adjourn_engine::{
    CapturedJob, Command, Engine, Entry, FinishedView, JobSelect, JobTemplate, JobView, NewFiring, NewJob,
    NewSchedule, Outcome, Reject, SavedJob, SkippedInstants, StateMetadata, Tick, TopicOrder,
};
use adjourn_types::limits::{FINISHED_WINDOW_MS, REASON_BYTES_MAX};
use adjourn_types::{
    AttributesBuilder, GroupId, IfExists, JobHistory, JobId, Lease, Millis, Overlap, PolicyChange,
    RetryDefaults, SessionId, SessionSecret, SkipReason, TopicId, When,
};

use crate::kept_bodies::KeptBodies;
use crate::storage::formats::frozen;

const SECRET: SessionSecret = SessionSecret([3; 16]);
const SESSION: SessionId = SessionId(1);
/// Who opened it.
const CLIENT: &str = "10.0.0.7:5000, token mail, \"mailer\"";
const HOUR_MS: u64 = 3_600_000;
const START: u64 = 1_790_000_000_000;

struct Queue {
    engine: Engine,
    bodies: KeptBodies,
    stamp: u64,
}

impl Queue {
    /// A founded queue with a live session, and a wall clock that is 5 ms ahead of the stamp.
    fn new() -> Self {
        let mut queue = Self { engine: Engine::new(GroupId(0)), bodies: KeptBodies::default(), stamp: START };
        queue.one(Command::Genesis { key_secret: [1; 16] });
        queue.one(Command::ClockOffset { offset_ms: 5 });
        let opened = queue.one(Command::SessionOpen { secret: SECRET, leases_outlive: true, client: CLIENT });
        assert_eq!(opened, Outcome::Session { session: SESSION });
        queue
    }

    fn one(&mut self, command: Command<'_>) -> Outcome {
        let entry = Entry { stamp: Millis(self.stamp), commands: vec![command] };
        let Ok(applied) = self.engine.apply(&entry, &mut self.bodies);
        applied.outcomes.into_iter().next().expect("one outcome")
    }

    fn at(&mut self, later_ms: u64) -> &mut Self {
        self.stamp = START + later_ms;
        self
    }

    fn push(&mut self) {
        let topic = "orders";
        self.one(Command::Push { session: SessionId(0), sequence: 0, topic, jobs: vec![new_job()] });
    }

    fn reserve(&mut self) -> Lease {
        let topics = TopicOrder::OfJobs(vec!["orders"]);
        let reserve = Command::Reserve { session: SESSION, topics, jobs_max: 1, bytes_max: 1 };
        let Outcome::Granted(grants) = self.one(reserve) else { panic!("no grants") };
        grants.first().expect("a job").lease
    }

    fn release(&mut self, lease: Lease, delay_ms: u64, reason: &str) {
        let (leases, delay_ms) = (vec![lease], Some(delay_ms));
        let settled = self.one(Command::Release { leases, delay_ms, attempted: true, reason });
        assert_eq!(settled, Outcome::Settled(vec![Ok(())]));
    }

    fn view(&mut self, id: u64) -> JobView {
        let Ok(view) = self.engine.job(&JobSelect::Id(JobId(id)), &mut self.bodies);
        view.expect("it lives")
    }

    fn history(&mut self, id: u64) -> JobHistory {
        self.view(id).history
    }

    /// What a checkpoint writes now of the resident jobs, and all else of the state.
    fn captured(&mut self) -> (Vec<CapturedJob>, Vec<u8>) {
        self.engine.begin_capture(|_| true);
        let (metadata, mut jobs) = (self.engine.metadata().encode(), Vec::new());
        while !self.engine.capture(100, u64::MAX, |job| jobs.push(job)) {}
        (jobs, metadata)
    }

    /// The same state, read from a checkpoint; with its delayed jobs spilled.
    fn restored(mut self) -> Self {
        let (hash, (jobs, metadata)) = (self.engine.state_hash(), self.captured());
        self.engine.end_capture();
        for job in jobs {
            self.bodies.write(&mut self.engine, job);
        }
        let (resident, _) = self.captured();
        let mut restoring = StateMetadata::decode(&metadata).expect("it was just encoded").restore(0);
        for job in &resident {
            let mut bytes = Vec::new();
            job.saved.encode(&mut bytes);
            let (saved, rest) = SavedJob::decode(&bytes).expect("it was just encoded");
            assert_eq!((&saved, rest), (&job.saved, &[][..]));
            restoring.resident(saved, job.place).expect("it fits");
        }
        for (id, key_hash, place) in self.bodies.spilled_jobs() {
            restoring.spilled(id, key_hash, place).expect("it fits");
        }
        self.engine = restoring.finish().expect("all jobs are there");
        assert_eq!(self.engine.state_hash(), hash);
        self.engine.verify(&mut self.bodies);
        self
    }
}

fn new_job() -> NewJob<'static> {
    NewJob {
        due: When::After(0),
        priority: 0,
        ttr_ms: 60_000,
        if_exists: IfExists::Reject,
        key: None,
        attributes: &[],
        body: b"body",
    }
}

/// A stamp so long after the start, as the wall clock shows it.
fn wall(later_ms: u64) -> Millis {
    Millis(START + later_ms + 5)
}

#[test]
fn a_job_remembers_its_past() {
    let mut queue = Queue::new();
    queue.at(10).push();
    let mut expected = JobHistory { pushed: Some(wall(10)), ..JobHistory::default() };
    assert_eq!(queue.history(1), expected);

    let lease = queue.at(20).reserve();
    (expected.reserved_first, expected.reserved_last) = (Some(wall(20)), Some(wall(20)));
    expected.held_by = Some(CLIENT.to_owned());
    assert_eq!(queue.history(1), expected);

    queue.at(30).release(lease, 0, "the shop does not answer");
    expected.reason = Some("the shop does not answer".to_owned());
    assert_eq!(queue.history(1), expected);

    let lease = queue.at(40).reserve();
    expected.reserved_last = Some(wall(40));
    queue.one(Command::Bury { leases: vec![lease], reason: "" });
    assert_eq!(queue.history(1), expected, "without a reason the last one stays");
    queue.one(Command::Kick { job: JobSelect::Id(JobId(1)) });
    assert_eq!(queue.history(1), expected, "a kick keeps it");

    let lease = queue.at(50).reserve();
    let stale = Lease { fence: adjourn_types::Fence(1), ..lease };
    let refused = queue.one(Command::Bury { leases: vec![stale], reason: "stale" });
    assert_eq!(refused, Outcome::Settled(vec![Err(Reject::StaleLease)]));
    queue.one(Command::Bury { leases: vec![lease], reason: "no such address" });
    expected.reserved_last = Some(wall(50));
    expected.reason = Some("no such address".to_owned());
    assert_eq!(queue.history(1), expected);
    queue.engine.verify(&mut queue.bodies);

    let mut queue = queue.restored();
    assert_eq!(queue.history(1), expected, "a resident job");
    queue.one(Command::Kick { job: JobSelect::Id(JobId(1)) });
    let lease = queue.at(60).reserve();
    queue.release(lease, 2 * HOUR_MS, &"ü".repeat(REASON_BYTES_MAX));
    expected.reserved_last = Some(wall(60));
    expected.reason = Some("ü".repeat(REASON_BYTES_MAX / 2));
    let mut queue = queue.restored();
    assert_eq!(queue.engine.spilled_jobs(), 1);
    assert_eq!(queue.history(1), expected, "a spilled job");
    queue.one(Command::RunNow { job: JobSelect::Id(JobId(1)) });
    assert_eq!(queue.history(1), expected, "one that came back");
}

#[test]
fn a_reason_takes_memory_once_it_is_there() {
    let mut queue = Queue::new();
    for _ in 0..100 {
        queue.push();
    }
    let before = queue.engine.memory_bytes();
    let leases: Vec<Lease> = (0..100).map(|_| queue.reserve()).collect();
    let reason = "x".repeat(REASON_BYTES_MAX);
    queue.one(Command::Bury { leases, reason: &reason });
    let grown = queue.engine.memory_bytes() - before;
    assert!((100 * REASON_BYTES_MAX..100 * (REASON_BYTES_MAX + 300)).contains(&grown), "{grown}");
    for id in 1..=100 {
        queue.one(Command::Delete { job: JobSelect::Id(JobId(id)) });
    }
    assert!(queue.engine.memory_bytes() < before + 100 * 300, "it is given back");
}

#[test]
fn the_rate_of_a_group_is_the_same_after_a_restart() {
    let mut queue = Queue::new();
    let mut set = PolicyChange::default();
    (set.set.groups.fair, set.set.groups.per_second_max) = (true, Some(2));
    queue.one(Command::TopicPolicy { topic: "orders", change: &set.encode() });
    let attributes = AttributesBuilder::default().group("tenant-7").build().expect("built");
    let job = NewJob { attributes: attributes.as_bytes(), ..new_job() };
    for sequence in 1..=2 {
        let (topic, jobs) = ("orders", vec![job]);
        queue.one(Command::Push { session: SESSION, sequence, topic, jobs });
    }
    let lease = queue.reserve();
    // Held for longer than its rate lasts: while there is a job, the rate is not forgotten.
    let mut queue = queue.restored();
    queue.at(5_000).one(Command::ClockOffset { offset_ms: 5 });
    let mut queue = queue.restored();
    queue.one(Command::Finish { leases: vec![lease] });
    let lease = queue.reserve();
    let mut queue = queue.restored();
    queue.at(5_001);
    queue.one(Command::Finish { leases: vec![lease] });
    queue.at(60_000).one(Command::ClockOffset { offset_ms: 5 });
    queue.restored();
}

#[test]
fn a_finished_job_is_shown_for_a_while() {
    let mut queue = Queue::new();
    queue.push();
    let lease = queue.reserve();
    queue.release(lease, 0, "again");
    let lease = queue.at(100).reserve();
    queue.one(Command::Finish { leases: vec![lease] });
    let at = Millis(START + 105);
    let expected = FinishedView { topic: TopicId(0), attempts: 2, at };
    let seen = |queue: &Queue, later_ms| {
        let stamp = Millis(START + 100 + later_ms);
        queue.engine.finished_job(JobId(1), stamp)
    };
    assert_eq!(seen(&queue, 0), Some(expected));
    let gone = JobSelect::Id(JobId(1));
    for command in [
        Command::Delete { job: gone },
        Command::Reschedule { job: gone, due: When::After(0), version: None },
        Command::RunNow { job: gone },
        Command::Kick { job: gone },
    ] {
        assert_eq!(queue.one(command), Outcome::Rejected(Reject::NotFound));
    }
    let mut queue = queue.restored();
    assert_eq!(queue.one(Command::Finish { leases: vec![lease] }), Outcome::Settled(vec![Ok(())]));
    assert_eq!(seen(&queue, FINISHED_WINDOW_MS - 1), Some(expected), "also after a restart");
    assert_eq!(seen(&queue, FINISHED_WINDOW_MS), None, "though no entry has forgotten it yet");
}

/// Sets a schedule, and fires it once.
fn fire_a_schedule(queue: &mut Queue) {
    let new = NewSchedule {
        name: b"nightly",
        priority: 7,
        ttr_ms: 30_000,
        overlap: Overlap::Skip,
        failures_max: 3,
        next: Some(Millis(1)),
        attributes: &[],
        body: b"report",
    };
    let set = Command::ScheduleSet { topic: "reports", schedule: new, before: None };
    let Outcome::ScheduleSet { schedule, .. } = queue.one(set) else { panic!("it is refused") };
    let skipped =
        SkippedInstants { first: Millis(1), last: Millis(2), instants: 2, reason: SkipReason::Missed };
    let tick = Tick { instant: Millis(1), skipped: Some(skipped), next: Some(Millis(4)), left: None };
    let firing = NewFiring { instant: Millis(3), due: Millis(3), key: Some(b"nightly@3") };
    let record_checksum = queue.engine.schedule(schedule).expect("it was set").body.checksum;
    let template = JobTemplate { attributes: &[], body: b"report" };
    let fire = Command::ScheduleFire {
        schedule,
        record_checksum,
        tick: Some(tick),
        firings: vec![firing],
        template,
    };
    assert!(matches!(&queue.one(fire), Outcome::Fired(jobs) if matches!(jobs[..], [Ok(_)])));
}

/// As it is under `tests/formats/`: all that a state can have, and jobs in several states.
#[test]
fn the_state_in_its_format() {
    let mut queue = Queue::new();
    let defaults = RetryDefaults { attempts_max: Some(25), backoff: None };
    queue.one(Command::RetryDefaults { defaults });
    let (peer_address, client_address) = ("10.0.0.3:7441", "10.0.0.3:7440");
    queue.one(Command::MemberSet { node: 3, storage_id: [0x5a; 16], peer_address, client_address });
    queue.at(10).push();
    queue.push();
    let (one, two) = (queue.at(20).reserve(), queue.at(300).reserve());
    queue.at(301).one(Command::Finish { leases: vec![two] });
    queue.release(one, 100, "später");
    let mut set = PolicyChange::default();
    set.set.per_second_max = Some(7);
    queue.one(Command::TopicPolicy { topic: "mails", change: &set.encode() });
    queue.one(Command::TopicPause { topic: "mails", paused: true, by: "ops", for_ms: None });
    let attributes = AttributesBuilder::default().dedupe_retention(HOUR_MS).attempts_max(3).build();
    let attributes = attributes.expect("built");
    let job = NewJob { key: Some(b"17"), attributes: attributes.as_bytes(), ..new_job() };
    queue.one(Command::Push { session: SESSION, sequence: 9, topic: "orders", jobs: vec![job] });
    let (owner, key, topic) = (5, 7, "mails");
    queue.one(Command::PushIdempotent { owner, key, list_jobs: 1, topic, jobs: vec![new_job()] });
    let remembered = queue.reserve();
    queue.one(Command::Finish { leases: vec![remembered] });
    queue.one(Command::ClockOffset { offset_ms: 5_000 });
    fire_a_schedule(&mut queue);
    let (jobs, today) = queue.captured();
    let mut bytes = Vec::new();
    for job in &jobs {
        job.saved.encode(&mut bytes);
    }
    let old = frozen("jobs-v1.bin", || bytes.clone());
    assert_eq!(bytes, old, "the encoder writes other bytes");
    let metadata = frozen("state-v1.bin", || today.clone());
    assert_eq!(today, metadata, "the encoder writes other bytes");
    let mut restoring = StateMetadata::decode(&metadata).expect("it decodes").restore(0);
    let mut rest = &old[..];
    for job in &jobs {
        let (saved, behind) = SavedJob::decode(rest).expect("it decodes");
        assert_eq!(saved, job.saved);
        restoring.resident(saved, job.place).expect("it fits");
        rest = behind;
    }
    let restored = restoring.finish().expect("all jobs are there");
    assert_eq!(restored.state_hash(), queue.engine.state_hash());
    assert_eq!(restored.metadata(), queue.engine.metadata());
    restored.verify(&mut queue.bodies);
}
