//! The same log gives the same state: on an engine that only applies, on one that is asked and prepared in between,
//! keeps its bodies elsewhere, and is captured and spills its jobs again and again, and on one that reads the log as it was
//! written. Each capture, restored, is the state of the moment at which it began.

use std::collections::BTreeMap;

use adjourn_engine::{
    Applied, CapturedJob, Engine, Entry, EntryBuilder, IDS_SKIPPED, JobSelect, Outcome, PartialMetadata,
    Place, SESSION_OUTCOMES, SavedJob, StateMetadata,
};
use adjourn_types::{GroupId, JobId, Millis, ScheduleBefore, TopicId};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::engine::model::drawn::steps;
use crate::engine::model::steps::{Action, KEYS, Known, KnownSchedule, Step, TOPICS};
use crate::kept_bodies::{KeptBodies, peek};

const START: u64 = 1_790_000_000_000;

/// Derived work between two entries, which must not show.
#[derive(Clone, Copy, Debug)]
struct Between {
    ahead_ms: u64,
    budget: usize,
    ask: bool,
    capture: usize,
}

fn between() -> impl Strategy<Value = Between> {
    let ahead_ms = prop_oneof![0..100_u64, 0..5_000_u64, 0..100_000_000_u64];
    (ahead_ms, 0..50_usize, any::<bool>(), 0..8_usize).prop_map(|(ahead_ms, budget, ask, capture)| Between {
        ahead_ms,
        budget,
        ask,
        capture,
    })
}

/// A capture under way, and the state when it began.
struct Capture {
    /// Of the state when it began, and as it is captured.
    metadata: Vec<u8>,
    captured_metadata: PartialMetadata,
    hash: u128,
    spilled: KeptBodies,
    captured: Vec<CapturedJob>,
}

/// Captures, one after the other: each is of the pages that changed since the one before.
#[derive(Default)]
struct Checkpoints {
    /// The resident jobs of each page, as they were when it was captured last.
    pages: BTreeMap<u32, Vec<(SavedJob, Place)>>,
    under_way: Option<Capture>,
    steps: usize,
}

impl Checkpoints {
    fn begin(&mut self, engine: &mut Engine, store: &KeptBodies) -> Capture {
        let (metadata, hash) = (engine.metadata().encode(), engine.state_hash());
        let unchanged = engine.begin_capture(|_| false);
        self.pages.retain(|page, _| unchanged.contains(page));
        let captured_metadata = engine.partial_metadata();
        Capture { metadata, captured_metadata, hash, spilled: store.clone(), captured: Vec::new() }
    }

    /// Goes on with the capture that is under way, or begins one. Says how many jobs were spilled.
    fn step(&mut self, engine: &mut Engine, store: &mut KeptBodies, budget: usize) -> usize {
        // Now and then the one that is under way is given up, as when there is no space.
        self.steps += 1;
        let under_way = self.under_way.take().filter(|_| !self.steps.is_multiple_of(5));
        let mut under_way = under_way.unwrap_or_else(|| self.begin(engine, store));
        let sessions = engine.capture_sessions(budget * SESSION_OUTCOMES);
        if !sessions.is_empty() {
            under_way.captured_metadata.push(&sessions);
        } else if engine.capture(budget, u64::MAX, |job| under_way.captured.push(job)) {
            return self.end(under_way, engine, store);
        }
        self.under_way = Some(under_way);
        0
    }

    /// The state that it restores is the one that was captured. Then its jobs are spilled.
    fn end(&mut self, mut capture: Capture, engine: &mut Engine, store: &mut KeptBodies) -> usize {
        assert_eq!(
            capture.captured_metadata.finish(),
            capture.metadata,
            "each session as it was at that moment"
        );
        let metadata = StateMetadata::decode(&capture.metadata).expect("it was just encoded");
        let mut restoring = metadata.restore(0);
        let captured = capture.captured.iter().map(|job| (&job.saved, job.place));
        let unchanged = self.pages.values().flatten().map(|(saved, place)| (saved, *place));
        for (saved, place) in unchanged.chain(captured) {
            let mut bytes = Vec::new();
            saved.encode(&mut bytes);
            let (saved, _) = SavedJob::decode(&bytes).expect("it was just encoded");
            restoring.resident(saved, place).expect("it fits");
        }
        for (id, key_hash, place) in capture.spilled.spilled_jobs() {
            restoring.spilled(id, key_hash, place).expect("it was given out");
        }
        let restored = restoring.finish().expect("all jobs are there");
        assert_eq!(restored.state_hash(), capture.hash, "the state of that moment");
        restored.verify(&mut capture.spilled);
        assert_eq!(restored.metadata().encode(), capture.metadata);
        engine.keep_captured();
        let mut jobs_spilled = 0;
        for job in capture.captured {
            let may_spill = job.spillable.is_some();
            let (page, saved) = (job.page, job.saved.clone());
            let (place, is_spilled) = store.write(engine, job);
            if !may_spill {
                self.pages.entry(page).or_default().push((saved, place));
            }
            jobs_spilled += usize::from(is_spilled);
        }
        jobs_spilled
    }
}

fn disturb(engine: &mut Engine, store: &mut KeptBodies, between: Between) {
    let ahead = engine.stamp().after(between.ahead_ms);
    let Ok(_) = engine.load_ahead(store, ahead, between.budget);
    engine.prepare(ahead, between.budget);
    if between.ask {
        engine.due_topics(ahead, &mut |_| {});
        engine.is_overdue(ahead);
        engine.next_deadline_after(ahead);
        peek(engine, TopicId(0), store);
        let Ok(_) = engine.job(&JobSelect::Id(JobId(1)), store);
    }
}

/// Where a body lies is the one thing that may differ.
fn without_places(mut applied: Applied) -> Applied {
    for outcome in &mut applied.outcomes {
        if let Outcome::Granted(grants) | Outcome::GrantedByShares { grants, .. } = outcome {
            for grant in grants {
                grant.body.place = Place(0);
            }
        }
    }
    applied
}

fn same_log(steps: &[Step], between: &[Between]) -> usize {
    let (mut checkpoints, mut jobs_spilled) = (Checkpoints::default(), 0);
    let [mut plain, mut disturbed, mut decoding] = [(); 3].map(|()| Engine::new(GroupId(0)));
    let (mut bodies, mut elsewhere, mut again) =
        (KeptBodies::default(), KeptBodies::falling(), KeptBodies::default());
    let mut known = Known::default();
    let mut next_session = 1;
    for (step, between) in steps.iter().zip(between.iter().cycle()) {
        let stamp = Millis(plain.stamp().0.max(START).saturating_add_signed(step.elapsed_ms));
        known.wall = plain.wall(stamp).0;
        known.offset = plain.clock_offset_ms();
        let youngest = known.last_job + 1;
        let records = (0..12).filter_map(|back| {
            let id = JobId(youngest.saturating_sub(back));
            let Ok(view) = plain.job(&JobSelect::Id(id), &mut bodies);
            Some((id, bodies.read(view?.body).clone()))
        });
        known.records = records.collect();
        let names = TOPICS.into_iter().flat_map(|topic| KEYS.map(|name| (topic, name)));
        let schedules = names.filter_map(|(topic, name)| {
            let view = plain.schedule(plain.schedule_id(topic, name)?)?;
            let before = ScheduleBefore { schedule: view.id, version: view.version, next: view.next };
            Some(KnownSchedule { id: view.id, topic, name, record_checksum: view.body.checksum, before })
        });
        known.schedules = schedules.collect();
        let entry = Entry { stamp, commands: known.commands(&step.actions, next_session) };
        let mut builder = EntryBuilder::default();
        entry.commands.iter().for_each(|command| builder.push(command));
        let bytes = builder.finish(stamp);
        let decoded = Entry::decode(&bytes).expect("it was just encoded");
        disturb(&mut disturbed, &mut elsewhere, *between);
        jobs_spilled += checkpoints.step(&mut disturbed, &mut elsewhere, between.capture);

        let Ok(applied) = plain.apply(&entry, &mut bodies);
        drop(entry);
        assert_eq!(decoding.apply(&decoded, &mut again), Ok(applied.clone()));
        let Ok(other) = disturbed.apply(&decoded, &mut elsewhere);
        assert_eq!(without_places(other), without_places(applied.clone()));
        assert_eq!(disturbed.jobs(), elsewhere.len() as u64, "a record is kept for each job");
        let hash = plain.state_hash();
        assert_eq!(decoding.state_hash(), hash, "read from the log");
        assert_eq!(disturbed.state_hash(), hash, "disturbed");

        known.learn(&applied);
        known.last_job += step.actions.iter().filter(|action| matches!(action, Action::SkipIds)).count()
            as u64
            * IDS_SKIPPED;
        for outcome in &applied.outcomes {
            match outcome {
                Outcome::Session { session } => next_session = next_session.max(session.0 + 1),
                Outcome::Pushed(jobs) => known.last_job += jobs.len() as u64,
                _ => {}
            }
        }
    }
    disturbed.verify(&mut elsewhere);
    jobs_spilled
}

#[test]
fn three_engines_agree_at_each_index() {
    let jobs_spilled = std::cell::Cell::new(0);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(
        &(steps(), proptest::collection::vec(between(), 1..20)),
        |(steps, between)| {
            jobs_spilled.set(jobs_spilled.get() + same_log(&steps, &between));
            Ok(())
        },
    );
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(jobs_spilled.get() > 100, "{} jobs were spilled: too few to prove anything", jobs_spilled.get());
}

#[test]
fn the_hash_tells_states_apart() {
    let mut hashes = std::collections::BTreeSet::new();
    let mut engine = Engine::new(GroupId(0));
    let mut bodies = KeptBodies::default();
    hashes.insert(engine.state_hash());
    let commands = crate::engine::golden::commands(
        "genesis | open | push t body=a | push t body=a | push t body=a after=5 | reserve 1 t | reserve 1 t | \
         touch 2-2 ttr=900 | finish 1-1 | bury 2-2 | kick 2 | pause t | unpause t | lapse 1 | resume 1 | offset 7",
    );
    for (nth, command) in (1..).zip(commands) {
        let entry = Entry { stamp: Millis(100), commands: vec![command.as_command()] };
        let Ok(_) = engine.apply(&entry, &mut bodies);
        // Pause and unpause, lapse and resume lead back to where they came from.
        let back = [13, 15].contains(&nth);
        assert_eq!(hashes.insert(engine.state_hash()), !back, "after command {nth}");
    }
}
