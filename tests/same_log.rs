//! The same log gives the same state: on an engine that only applies, on one that is asked and prepared in between and
//! keeps its bodies elsewhere, and on one that reads the log as it was written.

use adjourn::engine::{Applied, Engine, Entry, EntryBuilder, IDS_SKIPPED, JobSelect, Outcome};
use adjourn::types::{GroupId, JobId, Millis, TopicId};
use proptest::prelude::*;

use crate::engine_model::steps::{Action, Known, Step, steps};
use crate::kept_bodies::KeptBodies;

const START: u64 = 1_790_000_000_000;

/// Derived work between two entries, which must not show.
#[derive(Clone, Copy, Debug)]
struct Between {
    ahead_ms: u64,
    budget: usize,
    ask: bool,
}

fn between() -> impl Strategy<Value = Between> {
    let ahead_ms = prop_oneof![0..100_u64, 0..5_000_u64, 0..100_000_000_u64];
    (ahead_ms, 0..50_usize, any::<bool>()).prop_map(|(ahead_ms, budget, ask)| Between {
        ahead_ms,
        budget,
        ask,
    })
}

fn disturb(engine: &mut Engine, between: Between) {
    let ahead = engine.stamp().after(between.ahead_ms);
    engine.prepare(ahead, between.budget);
    if between.ask {
        engine.due_topics(ahead, &mut |_| {});
        engine.is_overdue(ahead);
        engine.next_deadline_after(ahead);
        engine.peek(TopicId(0));
        engine.job(&JobSelect::Id(JobId(1)));
    }
}

/// Where a body lies is the one thing that may differ.
fn without_places(mut applied: Applied) -> Applied {
    for outcome in &mut applied.outcomes {
        if let Outcome::Granted(grants) = outcome {
            for grant in grants {
                grant.body.place = 0;
            }
        }
    }
    applied
}

fn same_log(steps: &[Step], between: &[Between]) {
    let [mut plain, mut disturbed, mut decoding] = [(); 3].map(|()| Engine::new(GroupId(0)));
    let (mut bodies, mut elsewhere, mut again) =
        (KeptBodies::default(), KeptBodies::falling(), KeptBodies::default());
    let mut known = Known::default();
    let mut next_session = 1;
    for (step, between) in steps.iter().zip(between.iter().cycle()) {
        let stamp = Millis(plain.stamp().0.max(START).saturating_add_signed(step.elapsed_ms));
        known.wall = plain.wall(stamp).0;
        known.offset = plain.clock_offset_ms();
        let entry = Entry { stamp, commands: known.commands(&step.actions, next_session) };
        let mut builder = EntryBuilder::default();
        entry.commands.iter().for_each(|command| builder.push(command));
        let bytes = builder.finish(stamp);
        let decoded = Entry::decode(&bytes).expect("it was just encoded");
        disturb(&mut disturbed, *between);

        let applied = plain.apply(&entry, &mut bodies);
        drop(entry);
        assert_eq!(decoding.apply(&decoded, &mut again), applied);
        let other = disturbed.apply(&decoded, &mut elsewhere);
        assert_eq!(without_places(other), without_places(applied.clone()));
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
    disturbed.verify();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn three_engines_agree_at_each_index(
        steps in steps(),
        between in proptest::collection::vec(between(), 1..20),
    ) {
        same_log(&steps, &between);
    }
}

#[test]
fn the_hash_tells_states_apart() {
    let mut hashes = std::collections::BTreeSet::new();
    let mut engine = Engine::new(GroupId(0));
    let mut bodies = KeptBodies::default();
    hashes.insert(engine.state_hash());
    let commands = crate::engine_golden::commands(
        "genesis | open | push t body=a | push t body=a | push t body=a after=5 | reserve 1 t | reserve 1 t | \
         touch 2-2 ttr=900 | finish 1-1 | bury 2-2 | kick 2 | pause t | unpause t | lapse 1 | resume 1 | offset 7",
    );
    for (nth, command) in (1..).zip(commands) {
        let entry = Entry { stamp: Millis(100), commands: vec![command.as_command()] };
        engine.apply(&entry, &mut bodies);
        // Pause and unpause, lapse and resume lead back to where they came from.
        let back = [13, 15].contains(&nth);
        assert_eq!(hashes.insert(engine.state_hash()), !back, "after command {nth}");
    }
}
