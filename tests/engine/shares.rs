//! What the state remembers for a while is shared: a flood of one owner makes nothing forgotten that is others'.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use adjourn_engine::{
    Command, Engine, Entry, NewJob, Outcome, PushOutcome, Reject, StateMetadata, TopicOrder,
};
use adjourn_types::limits::{FINISHED_WINDOW_MAX, IDEMPOTENT_LIST_JOBS_MAX, IDEMPOTENT_PUSHES_MAX};
use adjourn_types::{FEATURE_LEVEL, GroupId, IfExists, Lease, Millis, SessionId, SessionSecret, When};

use crate::kept_bodies::KeptBodies;

const BATCH: usize = 4096;
const FLOOD: usize = 3;

struct Queue {
    engine: Engine,
    bodies: KeptBodies,
    session: SessionId,
}

impl Queue {
    fn new() -> Self {
        let (engine, bodies) = (Engine::new(GroupId(0)), KeptBodies::default());
        let mut queue = Self { engine, bodies, session: SessionId(0) };
        queue.one(Command::Genesis { key_secret: [1; 16] });
        queue.one(Command::FeatureLevel { level: FEATURE_LEVEL });
        let open = Command::SessionOpen { secret: SessionSecret([3; 16]), leases_outlive: false, client: "" };
        let Outcome::Session { session } = queue.one(open) else { panic!("no session") };
        queue.session = session;
        queue
    }

    fn one(&mut self, command: Command<'_>) -> Outcome {
        let entry = Entry { stamp: Millis(1000), commands: vec![command] };
        let Ok(mut applied) = self.engine.apply(&entry, &mut self.bodies);
        applied.outcomes.remove(0)
    }

    fn push(&mut self, owner: u64, key: u128, jobs: usize) -> Vec<PushOutcome> {
        let (topic, list_jobs) = ("t", u32::try_from(jobs).expect("few"));
        match self.one(Command::PushIdempotent { owner, key, list_jobs, topic, jobs: vec![job(); jobs] }) {
            Outcome::Pushed(outcomes) => outcomes,
            other => panic!("{other:?}"),
        }
    }

    /// Leases on new jobs of a topic.
    fn reserve(&mut self, topic: &str, jobs: usize) -> Vec<Lease> {
        self.one(Command::Push { session: SessionId(0), sequence: 0, topic, jobs: vec![job(); jobs] });
        let (session, jobs_max) = (self.session, u32::try_from(jobs).expect("few"));
        let topics = TopicOrder::OfJobs(vec![topic]);
        match self.one(Command::Reserve { session, topics, jobs_max, bytes_max: 1 << 40 }) {
            Outcome::Granted(grants) => grants.iter().map(|grant| grant.lease).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn finish(&mut self, leases: &[Lease]) -> bool {
        match self.one(Command::Finish { leases: leases.to_vec() }) {
            Outcome::Settled(results) => results.iter().all(Result::is_ok),
            other => panic!("{other:?}"),
        }
    }
}

fn job() -> NewJob<'static> {
    NewJob {
        due: When::After(0),
        priority: 7,
        ttr_ms: 60_000,
        if_exists: IfExists::Reject,
        key: None,
        attributes: &[],
        body: b"body",
    }
}

#[test]
fn a_flood_of_idempotency_keys_makes_no_other_owner_push_twice() {
    let mut queue = Queue::new();
    let own = queue.push(1, 500, 100);
    let list = [0, 4096].map(|nth| queue.push(2, nth, IDEMPOTENT_LIST_JOBS_MAX / 2));
    for batch in 0..FLOOD * IDEMPOTENT_PUSHES_MAX / BATCH {
        queue.push(9, (batch * BATCH) as u128, BATCH);
    }
    assert_eq!(queue.push(1, 500, 100), own);
    assert_eq!([0, 4096].map(|nth| queue.push(2, nth, IDEMPOTENT_LIST_JOBS_MAX / 2)), list);
    // The flood meets its own bound: its first keys are forgotten, and the same ones of others are not touched.
    assert!(matches!(queue.push(9, 0, BATCH)[0], PushOutcome::Pushed(_)));
    assert_eq!(queue.push(1, 500, 100), own);
    queue.engine.verify(&mut queue.bodies);
}

#[test]
fn a_key_of_another_owner_is_neither_met_nor_seen() {
    let mut queue = Queue::new();
    let [one, other] = [1, 2].map(|owner| queue.push(owner, 500, 3));
    assert!(one.iter().chain(&other).all(|outcome| matches!(outcome, PushOutcome::Pushed(_))));
    assert_ne!(one, other);
    assert_eq!([1, 2].map(|owner| queue.push(owner, 500, 3)), [one, other]);
}

#[test]
fn a_key_is_for_one_list() {
    let mut queue = Queue::new();
    let first = queue.push(1, 500, 3);
    let reused = |jobs| vec![PushOutcome::Refused(Reject::SequenceReused, None); jobs];
    assert_eq!((queue.push(1, 500, 5), queue.push(1, 500, 2)), (reused(5), reused(2)));
    // A list that begins before it and reaches into it.
    assert_eq!(queue.push(1, 498, 4), reused(4));
    assert_eq!((queue.push(1, 500, 3), queue.engine.jobs()), (first, 3));
}

#[test]
fn many_finishes_in_one_topic_make_no_other_stale() {
    let mut queue = Queue::new();
    let own = queue.reserve("quiet", 10);
    assert!(queue.finish(&own));
    for _ in 0..FLOOD * FINISHED_WINDOW_MAX / BATCH {
        let leases = queue.reserve("flood", BATCH);
        assert!(queue.finish(&leases));
    }
    assert!(queue.finish(&own), "a repeat answers as the first did");
    assert!(queue.engine.finished_job(own[0].job, Millis(1000)).is_some());
    queue.engine.verify(&mut queue.bodies);
}

#[test]
fn what_is_remembered_comes_back_with_its_owners() {
    let mut queue = Queue::new();
    let own: Vec<_> = [1, 2].map(|owner| queue.push(owner, 500, 3)).into();
    let leases = queue.reserve("a", 3);
    assert!(queue.finish(&leases));
    let metadata = queue.engine.metadata();
    assert_eq!(StateMetadata::decode(&metadata.encode()), Ok(metadata));
    assert_eq!([1, 2].map(|owner| queue.push(owner, 500, 3)).to_vec(), own);
}
