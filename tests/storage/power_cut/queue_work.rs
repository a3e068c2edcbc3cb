//! What producers, consumers and time do to a queue, at random.

use std::sync::Arc;

use adjourn_engine::{Command, JobSelect, NewJob, Outcome, PushOutcome, TopicOrder};
use adjourn_storage::StorageError;
use adjourn_types::{IfExists, JobId, TopicName, When};
use proptest::prelude::{Rng as _, RngExt as _};
use proptest::test_runner::TestRng;

use super::queue::{Pushed, Queue};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
/// Spilled jobs are taken into memory so long before they are due.
const LOAD_AHEAD_MS: u64 = MINUTE_MS;
/// So many of them in one go.
const LOAD_BUDGET: usize = 16;
/// With more of them nothing is pushed.
const JOBS_MAX: u64 = 400;
const TOPICS: [&str; 2] = ["mail", "orders"];

impl Queue {
    /// One entry, or two.
    pub(super) fn work(&mut self, rng: &mut TestRng) -> Result<(), StorageError> {
        match rng.random_range(0..12) {
            0..4 if self.engine.jobs() < JOBS_MAX => self.push(rng),
            0..6 => self.delete(rng),
            6 => self.reschedule(rng),
            7 | 8 => self.consume(rng),
            _ => self.pass(rng),
        }
    }

    fn push(&mut self, rng: &mut TestRng) -> Result<(), StorageError> {
        let topic = TOPICS[rng.random_range(0..TOPICS.len())];
        let jobs: Vec<Pushed> = (0..rng.random_range(1..60)).map(|_| Pushed::random(topic, rng)).collect();
        let new = jobs.iter().map(|job| NewJob {
            due: self.due(rng),
            priority: rng.random_range(0..3),
            ttr_ms: rng.random_range(1_000..1_000_000),
            if_exists: IfExists::from_u8(rng.random_range(0..5)).expect("a mode"),
            key: job.key.as_deref(),
            attributes: &[],
            body: &job.body,
        });
        let new = new.collect();
        let push = Command::Push { session: adjourn_types::SessionId(0), sequence: 0, topic, jobs: new };
        let outcomes = self.apply(vec![push])?.outcomes;
        let [Outcome::Pushed(outcomes)] = &outcomes[..] else { panic!("{outcomes:?}") };
        for (outcome, job) in outcomes.iter().zip(jobs) {
            if let PushOutcome::Pushed(id) | PushOutcome::Replaced(id) | PushOutcome::Postponed(id) = outcome
            {
                self.pushed.insert(*id, Arc::new(job));
            }
        }
        Ok(())
    }

    /// Most of those that were pushed one after the other: of some chunks little is live then.
    fn delete(&mut self, rng: &mut TestRng) -> Result<(), StorageError> {
        let many = rng.random_range(5..100);
        let mut chosen = self.some(many, rng);
        chosen.retain(|_| rng.random_ratio(4, 5));
        let deleted = chosen.iter().map(|(id, job)| Command::Delete { job: selected(*id, job, rng) });
        let deleted = deleted.collect();
        for outcome in self.apply(deleted)?.outcomes {
            if let Outcome::Changed { job, .. } = outcome {
                self.pushed.remove(&job);
            }
        }
        Ok(())
    }

    fn reschedule(&mut self, rng: &mut TestRng) -> Result<(), StorageError> {
        let many = rng.random_range(1..20);
        let chosen = self.some(many, rng);
        let moved = chosen.iter().map(|(id, job)| {
            let job = selected(*id, job, rng);
            Command::Reschedule { job, due: self.due(rng), version: None }
        });
        let moved = moved.collect();
        self.apply(moved).map(drop)
    }

    /// Takes some ready jobs, and settles most of them.
    fn consume(&mut self, rng: &mut TestRng) -> Result<(), StorageError> {
        let session = self.engine.sessions().next().expect("one was opened").id;
        let names: Vec<_> = self.engine.topics().map(|topic| topic.name.clone()).collect();
        let topics = TopicOrder::OfJobs(names.iter().map(TopicName::as_str).collect());
        let reserve = Command::Reserve { session, topics, jobs_max: 20, bytes_max: 1 << 20 };
        let outcomes = self.apply(vec![reserve])?.outcomes;
        let [Outcome::Granted(grants)] = &outcomes[..] else { panic!("{outcomes:?}") };
        let mut leases = [(); 4].map(|()| Vec::new());
        for grant in grants {
            let record = self.records.record(grant.body)?;
            assert_eq!(record.body, self.pushed[&grant.lease.job].body, "what was pushed");
            leases[[0, 0, 0, 0, 1, 2, 3][rng.random_range(0..7)]].push(grant.lease);
        }
        let [finished, released, buried, _] = leases;
        for lease in &finished {
            self.pushed.remove(&lease.job);
        }
        let delay_ms = Some(rng.random_range(MINUTE_MS..5 * HOUR_MS));
        self.apply(vec![
            Command::Finish { leases: finished },
            Command::Release { leases: released, delay_ms, attempted: true, reason: "" },
            Command::Bury { leases: buried, reason: "" },
        ])?;
        Ok(())
    }

    /// Time passes. Spilled jobs are loaded before they are due, except when the node is late.
    fn pass(&mut self, rng: &mut TestRng) -> Result<(), StorageError> {
        self.now = self.now.after(rng.random_range(MINUTE_MS..3 * HOUR_MS));
        let spilled = self.engine.spilled_jobs();
        if rng.random_ratio(3, 4) {
            let ahead = self.now.after(LOAD_AHEAD_MS);
            while !self.engine.load_ahead(&mut self.records, ahead, LOAD_BUDGET)? {}
        }
        let not_loaded = self.engine.spilled_jobs();
        self.apply(Vec::new())?;
        let left = self.engine.spilled_jobs();
        self.counts
            .add("spilled jobs loaded ahead", usize::try_from(spilled - not_loaded).expect("they are few"));
        self.counts
            .add("spilled jobs loaded when due", usize::try_from(not_loaded - left).expect("they are few"));
        Ok(())
    }

    /// Up to `many` jobs that were pushed one after the other.
    fn some(&self, many: usize, rng: &mut TestRng) -> Vec<(JobId, Arc<Pushed>)> {
        let first = rng.random_range(0..=self.pushed.len());
        let some = self.pushed.iter().skip(first).take(many);
        some.map(|(id, job)| (*id, Arc::clone(job))).collect()
    }

    /// Soon or far ahead, on both timelines.
    fn due(&self, rng: &mut TestRng) -> When {
        let spilled = HOUR_MS + 5 * MINUTE_MS..15 * HOUR_MS;
        match rng.random_range(0..6) {
            0 => When::After(rng.random_range(0..5 * MINUTE_MS)),
            1 => When::After(rng.random_range(0..50 * MINUTE_MS)),
            2 => When::At(self.engine.wall(self.now).after(rng.random_range(spilled))),
            _ => When::After(rng.random_range(spilled)),
        }
    }
}

impl Pushed {
    /// Most are small. Some take several blocks of the disk, and a few more than a piece of a chunk.
    fn random(topic: &'static str, rng: &mut TestRng) -> Self {
        let bytes = match rng.random_range(0..250) {
            0 => rng.random_range(66_000..400_000),
            1..8 => rng.random_range(4_000..20_000),
            _ => rng.random_range(0..160),
        };
        let mut body = vec![0; bytes];
        rng.fill_bytes(&mut body);
        let key = rng.random_bool(0.5).then(|| format!("key {}", rng.random_range(0..300)).into_bytes());
        Self { topic, key, body }
    }
}

/// By its key, if it has one, or by its id.
fn selected<'a>(id: JobId, job: &'a Pushed, rng: &mut TestRng) -> JobSelect<'a> {
    match &job.key {
        Some(key) if rng.random_ratio(1, 3) => JobSelect::Key { topic: job.topic, key },
        _ => JobSelect::Id(id),
    }
}
