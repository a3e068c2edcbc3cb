//! Jobs moved to another topic: resident and spilled, over checkpoints, with keys that are found and keys that are not.

use super::*;
use adjourn_engine::{Conditions, JobView, KeyedJob};
use adjourn_types::{Filter, JobId, ListOrder};

/// A job and its key.
type Keyed = (JobId, Option<Vec<u8>>);

impl Queue {
    /// Pushes a job to each topic, with the key `k`.
    fn push_keyed(&mut self, topics: &[&str], delay_ms: u64) {
        for topic in topics {
            let jobs = vec![NewJob { key: Some(b"k"), ..new_job(delay_ms, b"x") }];
            self.apply(Command::Push { session: SessionId::NONE, sequence: 0, topic, jobs });
        }
    }

    /// The jobs of a topic with their keys, as the leader selects them.
    fn keyed(&mut self, topic: &str) -> Vec<Keyed> {
        let filter = Filter { topic: Some(topic.parse().expect("a name")), ..Filter::default() };
        let listing = Listing::page(&self.engine, filter, ListOrder::Due, None, 1000);
        let (mut keys, Some(mut listing)) = (Vec::new(), listing) else { return Vec::new() };
        loop {
            match self.engine.list(&mut listing, &mut 10_000, &mut self.records).expect("read") {
                Listed::Job(view) => {
                    let key = self.records.record(view.body).expect("read").key;
                    keys.push((view.id, key.map(|key| key.to_vec())));
                }
                Listed::NotYet => {}
                Listed::End { .. } => return keys,
            }
        }
    }

    fn move_all(&mut self, from: &str, to: &str) -> Outcome {
        let keys = self.keyed(from);
        self.move_these(from, to, &keys)
    }

    fn move_these(&mut self, from: &str, to: &str, keys: &[Keyed]) -> Outcome {
        let jobs = keys.iter().map(|(job, key)| KeyedJob { job: *job, key: key.as_deref() }).collect();
        let filter = Filter::default();
        let conditions = Conditions::of(&filter);
        let (from, to) = (Some(from), to);
        let outcome = self.apply(Command::Move { from, to, jobs, conditions });
        self.engine.verify(&mut self.records);
        outcome
    }

    fn by_key(&mut self, topic: &str) -> Option<JobView> {
        let job = JobSelect::Key { topic, key: b"k" };
        self.engine.job(&job, &mut self.records).expect("read")
    }

    /// Checks that the files are consistent.
    fn is_whole(&self) {
        let manifest = Manifest::read(&self.folder).expect("read").expect("there is one");
        let damage = audit(&self.folder, &manifest, Depth::Whole, |_| {}).expect("read");
        assert!(damage.is_empty(), "{damage:?}");
    }

    fn count(&self, topic: &str) -> u64 {
        let filter = Filter { topic: Some(topic.parse().expect("a name")), ..Filter::default() };
        self.engine.count_by_state(&filter).expect("by state")
    }
}

fn moved(jobs: u32, in_the_way: u32) -> Outcome {
    Outcome::Moved { jobs, in_the_way }
}

#[test]
fn spilled_jobs_move_and_are_spilled_again_in_their_new_topic() {
    let mut queue = Queue::new();
    queue.push_to("t", 200, 5 * DAY_MS, 10);
    queue.push_keyed(&["t"], 3 * DAY_MS);
    queue.checkpoint(Vec::new());
    assert_eq!(queue.engine.spilled_jobs(), 201);
    let before = queue.by_key("t").expect("it is there");
    assert_eq!(queue.move_all("t", "other"), moved(201, 0));
    assert_eq!((queue.count("t"), queue.count("other"), queue.by_key("t")), (0, 201, None));
    // Their rows have the old topic: a start must not use that.
    let restored = restore(&queue.folder).expect("whole").expect("there is one");
    assert_ne!(restored.engine.state_hash(), queue.engine.state_hash());
    // Jobs whose rows are rewritten at the same time are spilled one checkpoint later.
    queue.checkpoint(queue.numbers());
    queue.checkpoint(Vec::new());
    assert_eq!(queue.engine.spilled_jobs(), 201);
    let after = queue.by_key("other").expect("it is there");
    let to = queue.engine.topic_id("other").expect("it was made");
    assert_eq!(after, JobView { topic: to, version: after.version, body: after.body, ..before });
    assert_eq!(queue.keyed("other").len(), 201);
    assert!(queue.keyed("t").is_empty());
    // The queue may forget the old topic: the rows that name it belong to no topic.
    assert_eq!(queue.apply(Command::TopicDelete { topic: "t" }), Outcome::Done);
    queue.checkpoint(Vec::new());
    queue.is_whole();
}

#[test]
fn resident_jobs_move_while_their_rows_stay_where_they_are() {
    let mut queue = Queue::new();
    queue.push_to("t", 50, 1000, 10);
    queue.push_keyed(&["t"], 1000);
    queue.checkpoint(Vec::new());
    assert_eq!(queue.engine.spilled_jobs(), 0);
    assert_eq!(queue.move_all("t", "other"), moved(51, 0));
    assert_eq!(queue.apply(Command::TopicDelete { topic: "t" }), Outcome::Done);
    // First only a new page, then new rows.
    queue.checkpoint(Vec::new());
    queue.is_whole();
    queue.checkpoint(queue.numbers());
    queue.is_whole();
    assert_eq!((queue.count("other"), queue.keyed("other").len()), (51, 51));
}

#[test]
fn a_job_stays_whose_key_lives_in_the_other_topic() {
    let mut queue = Queue::new();
    queue.push_keyed(&["t", "other"], 3 * DAY_MS);
    queue.push_to("t", 3, 3 * DAY_MS, 10);
    queue.checkpoint(Vec::new());
    assert_eq!(queue.move_all("t", "other"), moved(3, 1));
    let [here, there] = ["t", "other"].map(|topic| queue.by_key(topic).expect("it is there").id);
    assert_eq!((here, there), (JobId(1), JobId(2)));
    // A key that is not the job's changes nothing, and neither does a topic in which it is not.
    assert_eq!(queue.move_these("t", "third", &[(here, Some(b"wrong".to_vec()))]), moved(0, 0));
    assert_eq!(queue.move_these("t", "third", &[(here, None)]), moved(0, 0));
    assert_eq!(queue.move_these("other", "third", &[(here, Some(b"k".to_vec()))]), moved(0, 0));
    assert_eq!(queue.engine.topic_id("third"), None, "no job went there");
}

#[test]
fn a_job_that_is_not_found_by_its_key_is_kept_and_can_be_found_again() {
    for delay_ms in [0, 3 * DAY_MS] {
        let mut queue = Queue::new();
        queue.push_keyed(&["t"], delay_ms);
        queue.push_to("dead", 1, delay_ms, 10);
        queue.checkpoint(Vec::new());
        queue.engine.move_without_key(JobId(1), "dead", &mut queue.records);
        queue.engine.verify(&mut queue.records);
        assert_eq!([queue.by_key("t"), queue.by_key("dead")], [None, None]);
        // Its key is shown, also from a checkpoint, and may be used again.
        queue.push_keyed(&["t"], delay_ms);
        queue.checkpoint(Vec::new());
        queue.checkpoint(queue.numbers());
        queue.is_whole();
        let restored = restore(&queue.folder).expect("whole").expect("there is one");
        (queue.engine, queue.records) = (restored.engine, restored.records);
        let shown = queue.keyed("dead");
        assert!(shown.contains(&(JobId(1), Some(b"k".to_vec()))), "{shown:?}");
        let filter = Filter { key_prefix: Some("k".into()), ..Filter::default() };
        let mut listing =
            Listing::page(&queue.engine, filter, ListOrder::Key, None, 10).expect("there is one");
        let mut listed = Vec::new();
        while let Listed::Job(view) =
            queue.engine.list(&mut listing, &mut 1_000_000, &mut queue.records).expect("read")
        {
            listed.push(view.id);
        }
        assert_eq!(listed, [JobId(1), JobId(3)]);

        assert_eq!(queue.move_these("dead", "t", &shown), moved(1, 1), "the key lives there again");
        assert_eq!(queue.move_these("dead", "free", &shown), moved(1, 0));
        assert_eq!(queue.by_key("free").map(|view| view.id), Some(JobId(1)));
        queue.checkpoint(Vec::new());
        assert_eq!(queue.by_key("free").map(|view| view.id), Some(JobId(1)));
    }
}
