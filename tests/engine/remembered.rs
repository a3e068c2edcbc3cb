//! Jobs that are remembered after their finish: in the state and in a checkpoint.

use adjourn_engine::{
    CapturedJob, Command, Engine, Entry, JobSelect, NewJob, Outcome, PushOutcome, Reject, SavedJob,
    StateMetadata, TopicOrder,
};
use adjourn_types::limits::{DEDUPE_RETENTION_MS_MAX, DUE_PER_ENTRY_MAX, TOPIC_RETENTION_MS};
use adjourn_types::{
    AttributesBuilder, GroupId, IfExists, JobId, JobState, Millis, SessionId, SessionSecret, TopicId, When,
};

use crate::kept_bodies::KeptBodies;

const START: u64 = 1_790_000_000_000;
const DAY_MS: u64 = 86_400_000;

struct Queue {
    engine: Engine,
    bodies: KeptBodies,
    stamp: u64,
}

impl Queue {
    fn new() -> Self {
        let mut queue = Self { engine: Engine::new(GroupId(0)), bodies: KeptBodies::default(), stamp: START };
        queue.one(Command::Genesis { key_secret: [1; 16] });
        queue.one(Command::SessionOpen { secret: SessionSecret([3; 16]), leases_outlive: true, client: "" });
        queue
    }

    fn one(&mut self, command: Command<'_>) -> Outcome {
        let entry = Entry { stamp: Millis(self.stamp), commands: vec![command] };
        let Ok(applied) = self.engine.apply(&entry, &mut self.bodies);
        self.engine.verify(&mut self.bodies);
        applied.outcomes.into_iter().next().expect("one outcome")
    }

    /// Applies an entry that only fires due timers.
    fn pass(&mut self, later_ms: u64) {
        self.stamp += later_ms;
        let entry = Entry { stamp: Millis(self.stamp), commands: Vec::new() };
        let Ok(_) = self.engine.apply(&entry, &mut self.bodies);
        self.engine.verify(&mut self.bodies);
    }

    fn push(&mut self, if_exists: IfExists, key: &[u8], retention_ms: u64) -> PushOutcome {
        let attributes = AttributesBuilder::default().dedupe_retention(retention_ms).build().expect("built");
        let job = NewJob {
            due: When::After(0),
            priority: 0,
            ttr_ms: 60_000,
            if_exists,
            key: Some(key),
            attributes: attributes.as_bytes(),
            body: b"charge",
        };
        let topic = "orders";
        match self.one(Command::Push { session: SessionId(0), sequence: 0, topic, jobs: vec![job] }) {
            Outcome::Pushed(outcomes) => *outcomes.first().expect("one"),
            other => panic!("{other:?}"),
        }
    }

    /// Reserves the first jobs and finishes them.
    fn finish(&mut self, jobs_max: u32) {
        let (session, topics) = (SessionId(1), TopicOrder::OfJobs(vec!["orders"]));
        let reserve = Command::Reserve { session, topics, jobs_max, bytes_max: u64::MAX };
        let Outcome::Granted(grants) = self.one(reserve) else { panic!("no grants") };
        assert_eq!(grants.len(), jobs_max as usize);
        let leases = grants.iter().map(|grant| grant.lease).collect();
        let Outcome::Settled(results) = self.one(Command::Finish { leases }) else { panic!("settled") };
        assert!(results.iter().all(Result::is_ok));
    }

    fn state(&mut self, select: JobSelect<'_>) -> Option<(JobId, JobState)> {
        let Ok(view) = self.engine.job(&select, &mut self.bodies);
        view.map(|view| (view.id, view.state))
    }

    fn captured(&mut self) -> (Vec<CapturedJob>, Vec<u8>) {
        self.engine.begin_capture(|_| true);
        let (metadata, mut jobs) = (self.engine.metadata().encode(), Vec::new());
        while !self.engine.capture(100, u64::MAX, |job| jobs.push(job)) {}
        self.engine.end_capture();
        (jobs, metadata)
    }

    fn counts(&self) -> [u64; 4] {
        let view = self.engine.topic(TopicId(0)).expect("it is there");
        [view.remembered, view.finished, view.deleted, view.expired]
    }
}

const KEY: JobSelect<'_> = JobSelect::Key { topic: "orders", key: b"17" };

#[test]
fn a_finished_job_keeps_its_key_until_its_time_is_over() {
    let mut queue = Queue::new();
    let first = JobId(1);
    assert_eq!(queue.push(IfExists::Reject, b"17", DAY_MS), PushOutcome::Pushed(first));
    queue.finish(1);
    assert_eq!(queue.state(KEY), Some((first, JobState::Finished)));
    let refused = PushOutcome::Refused(Reject::KeyExists, Some(first));
    assert_eq!(queue.push(IfExists::Reject, b"17", 0), refused);
    assert_eq!(queue.push(IfExists::Keep, b"17", 0), PushOutcome::Kept(first));
    for command in [
        Command::Kick { job: KEY },
        Command::RunNow { job: KEY },
        Command::Reschedule { job: KEY, due: When::After(0), version: None },
    ] {
        assert_eq!(queue.one(command), Outcome::Rejected(Reject::WrongState));
    }
    assert_eq!(queue.counts(), [1, 1, 0, 0]);
    queue.pass(DAY_MS - 1);
    assert_eq!(queue.push(IfExists::Reject, b"17", 0), refused, "a millisecond before");
    assert!(queue.engine.topic(TopicId(0)).is_some(), "its topic is not idle");
    queue.pass(1);
    assert_eq!((queue.state(KEY), queue.counts()), (None, [0, 1, 0, 0]));
    assert_eq!(queue.bodies.len(), 0, "its record went with it");
    queue.pass(TOPIC_RETENTION_MS);
    assert_eq!(queue.engine.topic(TopicId(0)), None, "the topic was idle from then on");
}

#[test]
fn a_remembered_job_is_replaced_and_forgotten_on_demand() {
    let mut queue = Queue::new();
    for (nth, mode) in (1..).zip([IfExists::Replace, IfExists::ReplaceReserved, IfExists::Postpone]) {
        let before = queue.state(KEY).map(|(id, _)| id);
        let pushed = queue.push(mode, b"17", DAY_MS);
        let expected = PushOutcome::Replaced;
        assert_eq!(pushed, before.map_or(PushOutcome::Pushed(JobId(nth)), |_| expected(JobId(nth))));
        queue.finish(1);
    }
    assert_eq!(queue.counts(), [1, 3, 0, 0], "what was finished is counted once");
    let forgotten = queue.one(Command::Delete { job: KEY });
    assert!(matches!(forgotten, Outcome::Changed { job: JobId(3), state: JobState::Finished, .. }));
    assert_eq!((queue.state(KEY), queue.counts()), (None, [0, 3, 0, 0]));
}

#[test]
fn many_are_forgotten_in_steps_and_none_for_longer_than_the_limit() {
    let mut queue = Queue::new();
    let many = u32::try_from(DUE_PER_ENTRY_MAX + 3).expect("some");
    for nth in 0..many {
        queue.push_quietly(&nth.to_le_bytes(), u64::MAX);
    }
    queue.finish(many);
    queue.pass(DEDUPE_RETENTION_MS_MAX - 1);
    assert_eq!(queue.counts(), [many.into(), many.into(), 0, 0]);
    queue.pass(1);
    assert_eq!(queue.counts(), [3, many.into(), 0, 0]);
    queue.pass(0);
    assert_eq!(queue.counts(), [0, many.into(), 0, 0]);
}

#[test]
fn a_remembered_job_in_a_checkpoint() {
    let mut queue = Queue::new();
    queue.push(IfExists::Reject, b"17", DAY_MS);
    queue.pass(20);
    queue.finish(1);
    let (jobs, metadata) = queue.captured();
    let [captured] = &jobs[..] else { panic!("one job") };
    let mut bytes = Vec::new();
    captured.saved.encode(&mut bytes);
    let (saved, rest) = SavedJob::decode(&bytes).expect("it decodes");
    assert_eq!((&saved, rest), (&captured.saved, &[][..]));
    let mut restoring = StateMetadata::decode(&metadata).expect("it was just encoded").restore(0);
    restoring.resident(saved, captured.place).expect("it fits");
    let restored = restoring.finish().expect("all jobs are there");
    assert_eq!(restored.state_hash(), queue.engine.state_hash());
    queue.engine = restored;
    queue.pass(DAY_MS - 1);
    assert_eq!(queue.state(KEY), Some((JobId(1), JobState::Finished)));
    queue.pass(1);
    assert_eq!(queue.state(KEY), None);
}

impl Queue {
    /// A push after which nothing is verified.
    fn push_quietly(&mut self, key: &[u8], retention_ms: u64) {
        let attributes = AttributesBuilder::default().dedupe_retention(retention_ms).build().expect("built");
        let (due, if_exists) = (When::After(0), IfExists::Reject);
        let (attributes, key) = (attributes.as_bytes(), Some(key));
        let job = NewJob { due, priority: 0, ttr_ms: 60_000, if_exists, key, attributes, body: b"" };
        let topic = "orders";
        let push = Command::Push { session: SessionId(0), sequence: 0, topic, jobs: vec![job] };
        let Ok(_) =
            self.engine.apply(&Entry { stamp: Millis(self.stamp), commands: vec![push] }, &mut self.bodies);
    }
}
