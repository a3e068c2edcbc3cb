//! What the state remembers is bounded, and what it forgets first: sessions, outcomes of pushes, topics.

use adjourn_engine::{
    Command, Engine, Entry, JobSelect, NewJob, Outcome, PushOutcome, Reject, RestoreError, StateMetadata,
    TopicOrder,
};
use adjourn_types::limits::{
    LAPSED_PRODUCERS_MAX, OUTCOMES_MAX, PRODUCER_WINDOW_MAX, SESSION_RETENTION_MS, SESSIONS_MAX,
    TOPIC_RETENTION_MS, TOPICS_MAX,
};
use adjourn_types::{
    GroupId, IfExists, JobId, Millis, PolicyChange, SessionId, SessionSecret, Setting, TopicId, When,
};

use crate::kept_bodies::KeptBodies;

const SECRET: SessionSecret = SessionSecret([3; 16]);
const BATCH: usize = 4096;

struct Queue {
    engine: Engine,
    bodies: KeptBodies,
    stamp: u64,
}

impl Queue {
    fn new() -> Self {
        let mut queue = Self { engine: Engine::new(GroupId(0)), bodies: KeptBodies::default(), stamp: 1000 };
        queue.apply(vec![Command::Genesis { key_secret: [1; 16] }]);
        queue
    }

    fn apply(&mut self, commands: Vec<Command<'_>>) -> Vec<Outcome> {
        let entry = Entry { stamp: Millis(self.stamp), commands };
        let Ok(applied) = self.engine.apply(&entry, &mut self.bodies);
        applied.outcomes
    }

    fn one(&mut self, command: Command<'_>) -> Outcome {
        self.apply(vec![command]).remove(0)
    }

    fn open(&mut self) -> Result<SessionId, Reject> {
        match self.one(Command::SessionOpen { secret: SECRET, leases_outlive: false, client: "" }) {
            Outcome::Session { session } => Ok(session),
            Outcome::Rejected(reject) => Err(reject),
            other => panic!("{other:?}"),
        }
    }

    /// Opens sessions, whose numbers follow each other, and returns the first.
    fn open_many(&mut self, count: usize) -> u64 {
        let first = self.open().expect("there is room").0;
        for batch in (1..count).collect::<Vec<_>>().chunks(BATCH) {
            let open = Command::SessionOpen { secret: SECRET, leases_outlive: false, client: "" };
            self.apply(batch.iter().map(|_| open.clone()).collect());
        }
        first
    }

    /// Pushes the same job again and again: it is kept.
    fn push(&mut self, session: u64, sequence: u64, jobs: usize) -> PushOutcome {
        match self.one(push_same(session, sequence, jobs)) {
            Outcome::Pushed(outcomes) => outcomes.first().copied().expect("one job at least"),
            other => panic!("{other:?}"),
        }
    }

    fn for_each(&mut self, sessions: std::ops::Range<u64>, command: impl Fn(u64) -> Command<'static>) {
        let sessions: Vec<u64> = sessions.collect();
        for batch in sessions.chunks(BATCH) {
            self.apply(batch.iter().map(|session| command(*session)).collect());
        }
    }

    fn lapse(&mut self, sessions: std::ops::Range<u64>) {
        self.for_each(sessions, |session| Command::SessionLapse { session: SessionId(session) });
    }

    fn resumes(&mut self, session: u64) -> bool {
        let session = SessionId(session);
        self.one(Command::SessionResume { session, secret: SECRET }) == Outcome::Session { session }
    }
}

/// Pushes under numbers whose outcomes are remembered; they add one job in all.
fn push_same(session: u64, sequence: u64, jobs: usize) -> Command<'static> {
    let job = NewJob {
        due: When::After(0),
        priority: 0,
        ttr_ms: 1,
        if_exists: IfExists::Keep,
        key: Some(b"the same"),
        attributes: &[],
        body: b"",
    };
    let topic = "t";
    Command::Push { session: SessionId(session), sequence, topic, jobs: vec![job; jobs] }
}

#[test]
fn sessions_that_pushed_are_not_forgotten_for_those_that_did_not() {
    let mut queue = Queue::new();
    let first = queue.open_many(SESSIONS_MAX);
    let pushed = queue.push(first, 1, 1);
    let end = first + SESSIONS_MAX as u64;
    queue.lapse(first..first + 1);
    queue.stamp += 1;
    queue.lapse(first + 1..end);
    // As many come and go.
    let more = queue.open_many(SESSIONS_MAX);
    queue.lapse(more..more + SESSIONS_MAX as u64);
    assert!(queue.resumes(first));
    assert_eq!(queue.push(first, 1, 1), pushed, "it is answered as it was");
    queue.engine.verify(&mut queue.bodies);
}

#[test]
fn no_session_is_opened_while_too_many_that_pushed_are_remembered() {
    let mut queue = Queue::new();
    for _ in 0..LAPSED_PRODUCERS_MAX / SESSIONS_MAX {
        let first = queue.open_many(SESSIONS_MAX);
        let sessions = first..first + SESSIONS_MAX as u64;
        queue.for_each(sessions.clone(), |session| push_same(session, 1, 1));
        queue.lapse(sessions);
    }
    assert_eq!(queue.engine.session_count(), LAPSED_PRODUCERS_MAX as u64);
    assert_eq!(queue.open(), Err(Reject::SessionQuota));
    let room_at = queue.engine.session_room_at().expect("one lapsed");
    assert_eq!(room_at.0, queue.stamp + SESSION_RETENTION_MS);
    assert!(queue.resumes(1), "the first is remembered");
    queue.lapse(1..2);
    queue.stamp = room_at.0;
    assert!(queue.open().is_ok());
    queue.engine.verify(&mut queue.bodies);
}

#[test]
fn a_full_table_of_live_sessions_takes_no_other() {
    let mut queue = Queue::new();
    let first = queue.open_many(SESSIONS_MAX);
    assert_eq!(queue.open(), Err(Reject::SessionQuota));
    assert_eq!(queue.engine.session_room_at(), None);
    queue.push(first, 1, 1);
    queue.lapse(first..first + 1);
    assert!(queue.open().is_ok(), "one that lapsed and pushed does not count");
    assert_eq!(queue.open(), Err(Reject::SessionQuota));
}

#[test]
fn the_producers_with_the_most_outcomes_forget_first() {
    let mut queue = Queue::new();
    let producers = OUTCOMES_MAX / PRODUCER_WINDOW_MAX;
    let small = queue.open_many(producers + 1);
    let large = small + 1..small + 1 + producers as u64;
    let pushed = queue.push(small, 1, 1);
    for session in large.clone() {
        for sequence in (1..=PRODUCER_WINDOW_MAX as u64).step_by(BATCH) {
            queue.push(session, sequence, BATCH);
        }
    }
    let first_of = |queue: &mut Queue, session| queue.push(session, 1, 1);
    assert_eq!(queue.push(small, 1, 1), pushed);
    let forgot = PushOutcome::Refused(Reject::OutcomeUnknown, None);
    let halved = large.clone().filter(|session| first_of(&mut queue, *session) == forgot).count();
    assert_eq!(halved, 1, "one makes room for the last");
    for session in large {
        let last = PRODUCER_WINDOW_MAX as u64;
        assert_ne!(queue.push(session, last, 1), forgot, "the newer half is remembered");
    }
    queue.engine.verify(&mut queue.bodies);
}

#[test]
fn a_producer_of_one_job_takes_little_memory() {
    let mut queue = Queue::new();
    let count = 4096;
    let first = queue.open_many(count);
    queue.push(first, 1, 1);
    let before = queue.engine.memory_bytes();
    queue.for_each(first + 1..first + count as u64, |session| push_same(session, 1, 1));
    let each = (queue.engine.memory_bytes() - before) / (count - 1);
    assert!((100..350).contains(&each), "{each} bytes");
}

/// Pushes one job to a topic, and deletes it.
fn pass(queue: &mut Queue, topic: &str) {
    let job = NewJob {
        due: When::After(0),
        priority: 0,
        ttr_ms: 1,
        if_exists: IfExists::Keep,
        key: None,
        attributes: &[],
        body: b"",
    };
    let (session, topic) = (SessionId(0), topic);
    let pushed = queue.one(Command::Push { session, sequence: 0, topic, jobs: vec![job] });
    let Outcome::Pushed(pushed) = pushed else { panic!("{pushed:?}") };
    let [PushOutcome::Pushed(job)] = pushed[..] else { panic!("{pushed:?}") };
    delete(queue, job);
}

fn delete(queue: &mut Queue, job: JobId) {
    let deleted = queue.one(Command::Delete { job: JobSelect::Id(job) });
    assert!(matches!(deleted, Outcome::Changed { .. }), "{deleted:?}");
}

fn pause(topic: &str, paused: bool) -> Command<'_> {
    Command::TopicPause { topic, paused, by: "", for_ms: None }
}

#[test]
fn a_topic_without_jobs_goes_after_a_while_and_leaves_its_counts() {
    let mut queue = Queue::new();
    pass(&mut queue, "idle");
    pass(&mut queue, "paused");
    let paused = "paused";
    assert_eq!(queue.one(pause(paused, true)), Outcome::Done);
    let job = push_same(0, 0, 1);
    queue.one(job.clone());
    queue.stamp += TOPIC_RETENTION_MS - 1;
    queue.apply(Vec::new());
    assert!(queue.engine.topic_id("idle").is_some(), "it is shown for a while");
    queue.stamp += 1;
    let entry = Entry { stamp: Millis(queue.stamp), commands: Vec::new() };
    let Ok(applied) = queue.engine.apply(&entry, &mut queue.bodies);
    assert_eq!(applied.topics_gone, [(TopicId(0), "idle".parse().expect("a name"))]);
    let names: Vec<String> = queue.engine.topics().map(|topic| topic.name.to_string()).collect();
    assert_eq!(names, ["paused", "t"], "one is paused, one has a job");
    let forgotten = queue.engine.forgotten_topics();
    assert_eq!((forgotten.pushed, forgotten.deleted), (1, 1));
    queue.engine.verify(&mut queue.bodies);

    pass(&mut queue, "idle");
    assert_eq!(queue.engine.topic_id("idle"), Some(TopicId(3)), "a number is not used again");
    assert_eq!(queue.one(pause(paused, false)), Outcome::Done);
    queue.stamp += TOPIC_RETENTION_MS;
    queue.apply(Vec::new());
    let names: Vec<String> = queue.engine.topics().map(|topic| topic.name.to_string()).collect();
    assert_eq!(names, ["t"]);
    queue.engine.verify(&mut queue.bodies);
}

#[test]
fn a_pause_of_no_topic_makes_none() {
    let mut queue = Queue::new();
    for paused in [true, false] {
        assert_eq!(queue.one(pause("t", paused)), Outcome::Rejected(Reject::NotFound));
    }
    assert_eq!(queue.engine.topics().count(), 0);
}

#[test]
fn the_topic_that_has_been_idle_for_longest_makes_room() {
    let mut queue = Queue::new();
    queue.one(push_same(0, 0, 1));
    let mut set = PolicyChange::default();
    set.set.ttr_ms = Some(1000);
    let (set, unset) =
        (set.encode(), PolicyChange { unset: [Setting::Ttr].into(), ..PolicyChange::default() });
    for nth in 1..TOPICS_MAX {
        queue.one(Command::TopicPolicy { topic: &format!("topic{nth}"), change: &set });
    }
    let full = queue.one(Command::TopicPolicy { topic: "another", change: &set });
    assert_eq!(full, Outcome::Rejected(Reject::TopicQuota), "all of them have something");
    for topic in ["topic1", "topic2"] {
        queue.one(Command::TopicPolicy { topic, change: &unset.encode() });
    }
    pass(&mut queue, "another");
    assert!(queue.engine.topic_id("t").is_some(), "it has a job");
    assert_eq!(queue.engine.topic_id("topic1"), None);
    assert!(queue.engine.topic_id("topic2").is_some());
    assert_eq!(queue.engine.topics().count(), TOPICS_MAX);
    queue.engine.verify(&mut queue.bodies);
}

#[test]
fn a_checkpoint_keeps_numbers_and_counts_of_topics() {
    let mut queue = Queue::new();
    pass(&mut queue, "gone");
    queue.stamp += TOPIC_RETENTION_MS;
    pass(&mut queue, "here");
    let metadata = queue.engine.metadata();
    let bytes = metadata.encode();
    assert_eq!(StateMetadata::decode(&bytes), Ok(metadata.clone()));
    for cut in 0..bytes.len() {
        let cut_off = StateMetadata::decode(bytes.get(..cut).expect("shorter"));
        assert_eq!(cut_off, Err(RestoreError::Malformed), "cut at {cut}");
    }
    let restored = metadata.restore(0).finish().expect("no jobs");
    restored.verify(&mut queue.bodies);
    assert_eq!(restored.state_hash(), queue.engine.state_hash());
    assert_eq!(restored.topic_id("here"), Some(TopicId(1)));
    assert_eq!(restored.forgotten_topics(), queue.engine.forgotten_topics());
    assert_eq!(restored.metadata(), queue.engine.metadata());
}

/// The entry that ends the lease would forget the topic to which the job goes.
#[test]
fn a_topic_that_a_dead_letter_comes_to_stays() {
    let mut queue = Queue::new();
    pass(&mut queue, "failed");
    let mut change = PolicyChange::default();
    change.set.attempts_max = Some(1);
    change.set.dead_letters = Some("failed".parse().expect("a name"));
    let change = change.encode();
    let topic = "orders";
    queue.one(Command::TopicPolicy { topic, change: &change });
    let job = NewJob {
        due: When::After(0),
        priority: 0,
        ttr_ms: 1000,
        if_exists: IfExists::Reject,
        key: None,
        attributes: &[],
        body: b"x",
    };
    queue.one(Command::Push { session: SessionId(0), sequence: 0, topic, jobs: vec![job] });
    let session = queue.open().expect("there is room");
    let topics = TopicOrder::OfJobs(vec![topic]);
    let granted = queue.one(Command::Reserve { session, topics, jobs_max: 1, bytes_max: 1 });
    assert!(matches!(granted, Outcome::Granted(grants) if grants.len() == 1));
    queue.stamp += TOPIC_RETENTION_MS;
    queue.apply(Vec::new());
    let failed = queue.engine.topic_id("failed").and_then(|id| queue.engine.topic(id));
    assert_eq!(failed.map(|topic| topic.ready), Some(1));
    queue.engine.verify(&mut queue.bodies);
}
