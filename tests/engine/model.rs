//! The engine against a naive model: the same random entries into both, and everything that can be seen compared after
//! each.

mod bulk;
mod commands;
pub(crate) mod drawn;
mod edits;
pub(crate) mod groups;
mod naive;
mod policies;
mod pushes;
mod schedules;
pub(crate) mod steps;

use std::collections::BTreeSet;

use adjourn_engine::{
    Applied, Command, Engine, Entry, JobSelect, NewJob, NewSchedule, Outcome, SessionStatus, StateMetadata,
    TopicOrder, TopicView,
};
use adjourn_types::limits::{DUE_BYTES_PER_ENTRY_MAX, DUE_PER_ENTRY_MAX};
use adjourn_types::{
    FEATURE_LEVEL, GroupId, IfExists, JobId, JobState, Millis, Overlap, SessionId, SessionSecret, TopicId,
    When,
};
use proptest::prelude::*;

use crate::kept_bodies::{KeptBodies, peek};
use naive::{Model, State};
use steps::{Action, Due, KEYS, Known, KnownSchedule, Step, TOPICS};

const START: u64 = 1_790_000_000_000;

struct Both {
    engine: Engine,
    bodies: KeptBodies,
    model: Model,
    known: Known,
    next_session: u64,
}

impl Both {
    fn new() -> Self {
        Self {
            engine: Engine::new(GroupId(0)),
            bodies: KeptBodies::default(),
            model: Model::default(),
            known: Known::default(),
            next_session: 1,
        }
    }

    fn step(&mut self, step: &Step) {
        let stamp = self.model.stamp.max(START).saturating_add_signed(step.elapsed_ms);
        self.compare_what_is_due(stamp);
        self.known.last_job = self.model.last_job;
        self.known.offset = self.model.offset;
        self.known.records = self.model.jobs.iter().map(|job| (JobId(job.id), job.record())).collect();
        self.known.versions =
            self.model.versions.iter().map(|(id, (version, _))| (JobId(*id), *version)).collect();
        self.known.wall = self.model.wall(stamp);
        let schedules = self.model.schedules.iter();
        self.known.schedules = schedules
            .map(|known| KnownSchedule {
                id: JobId(known.id),
                topic: TOPICS
                    .into_iter()
                    .find(|topic| self.model.topics.get(known.topic).is_some_and(|one| one.name == *topic))
                    .expect("drawn"),
                name: KEYS.into_iter().find(|name| known.name == *name).expect("drawn"),
                record_checksum: known.reference().checksum,
                before: known.as_before(),
            })
            .collect();
        let mut known = std::mem::take(&mut self.known);
        let entry =
            Entry { stamp: Millis(stamp), commands: known.commands(&step.actions, self.next_session) };
        let applied = self.apply(&entry);
        drop(entry);
        known.learn(&applied);
        self.known = known;
    }

    fn apply(&mut self, entry: &Entry<'_>) -> Applied {
        let expected = self.model.apply(entry);
        let Ok(mut applied) = self.engine.apply(entry, &mut self.bodies);
        for outcome in &mut applied.outcomes {
            if let Outcome::Changed { version, .. } = outcome {
                assert_ne!(std::mem::take(version), 0);
            }
        }
        assert_eq!(applied, expected, "{entry:?}");
        let opened = |command: &&Command<'_>| matches!(command, Command::SessionOpen { .. });
        self.next_session += entry.commands.iter().filter(opened).count() as u64;
        self.compare();
        applied
    }

    /// Goes on with an engine that was restored from a checkpoint.
    fn restore(&mut self) {
        self.engine.begin_capture(|_| true);
        let (metadata, mut jobs) = (self.engine.metadata(), Vec::new());
        while !self.engine.capture(100, u64::MAX, |job| jobs.push(job)) {}
        let mut restoring = StateMetadata::decode(&metadata.encode()).expect("it decodes").restore(0);
        // Slots, and what follows from them, are others then.
        for job in jobs.into_iter().rev() {
            restoring.resident(job.saved, job.place).expect("it fits");
        }
        let restored = restoring.finish().expect("all jobs are there");
        assert_eq!(restored.state_hash(), self.engine.state_hash());
        assert_eq!(restored.metadata(), metadata);
        self.engine = restored;
        self.compare();
    }

    fn compare_what_is_due(&mut self, stamp: u64) {
        let at = stamp.max(self.model.stamp);
        let mut due = Vec::new();
        self.engine.due_topics(Millis(stamp), &mut |topic| due.push(topic));
        assert_eq!(due, self.model.due_topics(at));
        assert_eq!(self.engine.is_overdue(Millis(stamp)), self.model.is_overdue(at));
        let (next, first) = (self.engine.next_deadline_after(Millis(at)), self.model.next_alarm(at));
        assert_eq!(next.is_some(), first.is_some(), "{next:?} {first:?}");
        if let (Some(next), Some(first)) = (next, first) {
            assert!(next.0 > at && next.0 <= first, "{next} {first}");
        }
    }

    fn compare(&mut self) {
        self.engine.verify(&mut self.bodies);
        assert_eq!(self.engine.stamp(), Millis(self.model.stamp));
        assert_eq!(self.engine.clock_offset_ms(), self.model.offset);
        assert_eq!(self.engine.has_genesis(), self.model.genesis);
        assert_eq!(self.engine.feature_level(), self.model.feature_level);
        let all = self.model.jobs.len() + self.model.schedules.len();
        assert_eq!(self.engine.jobs(), all as u64);
        assert_eq!(self.bodies.len(), all, "a record is kept for each job and schedule");
        self.compare_topics();
        self.compare_schedules();
        self.compare_sessions();
        // Of the skipped ids, only those at the end can have been issued.
        let (skips, pushed) = (self.model.last_job >> 40, self.model.last_job & ((1 << 40) - 1));
        for id in (0..=skips).flat_map(|skip| (0..=pushed + 1).map(move |sequence| skip << 40 | sequence)) {
            let Ok(view) = self.engine.job(&JobSelect::Id(JobId(id)), &mut self.bodies);
            let Some(job) = self.model.jobs.iter().find(|job| job.id == id) else {
                assert_eq!(view, None);
                continue;
            };
            let mut view = view.expect("it lives");
            let version = std::mem::take(&mut view.version);
            let state = job.without_place();
            if let Some((before, seen)) = self.model.versions.insert(id, (version, state.clone())) {
                assert_eq!(before == version, seen == state, "{seen:?} {state:?}");
            }
            assert_eq!(view, self.model.view(id));
            let kept = self.bodies.read(view.body);
            assert_eq!((&kept.key, &kept.attributes, &kept.body), (&job.key, &job.attributes, &job.body));
        }
        for finished in &self.model.finished {
            let found = self.engine.finished_job(finished.lease.job, self.engine.stamp());
            assert_eq!(found, self.model.finished_view(finished), "{finished:?}");
        }
        for (topic, key) in TOPICS.into_iter().flat_map(|topic| KEYS.map(|key| (topic, key))) {
            let select = JobSelect::Key { topic, key };
            let Ok(found) = self.engine.job(&select, &mut self.bodies);
            assert_eq!(found.map(|view| view.id.0), self.model.select(&select).ok());
        }
        for key in KEYS {
            for topics in [&TOPICS[..], &TOPICS[..1]] {
                let is_seen = |topic: &TopicView<'_>| topics.contains(&topic.name.as_str());
                let found = self.engine.oldest_with_key(key, is_seen).map(|job| job.0);
                assert_eq!(found, self.model.oldest(key, topics));
            }
        }
    }

    fn compare_schedules(&mut self) {
        assert!(self.model.are_links_sound());
        for schedule in &self.model.schedules {
            assert_eq!(self.engine.schedule(JobId(schedule.id)), Some(self.model.schedule_view(schedule)));
            let topic = &self.model.topics.get(schedule.topic).expect("it exists").name;
            assert_eq!(self.engine.schedule_id(topic, &schedule.name), Some(JobId(schedule.id)));
        }
        assert_eq!(self.engine.schedules_to_fire().collect::<Vec<_>>(), self.model.to_fire());
    }

    fn compare_topics(&mut self) {
        let numbers = 0..self.model.topics.len();
        let next: Vec<Option<_>> = numbers.clone().map(|number| self.model.next_of(number)).collect();
        let peeks: Vec<_> = numbers.map(|number| self.model.peek(number)).collect();
        let count = |topic: usize, wanted: fn(&State) -> bool| {
            let of_topic = self.model.jobs.iter().filter(|job| job.topic == topic);
            of_topic.filter(|job| wanted(&job.state)).count() as u64
        };
        for ((number, topic), (next, peek_of)) in
            self.model.topics.iter().enumerate().zip(next.iter().zip(peeks))
        {
            let id = TopicId(u32::try_from(number).expect("few topics"));
            if topic.gone {
                assert_eq!(self.engine.topic(id), None);
                continue;
            }
            let name = topic.name.parse().expect("a name");
            let view = TopicView {
                id,
                name: &name,
                paused: topic.paused.as_ref(),
                delayed: count(number, |state| matches!(state, State::Delayed)),
                ready: count(number, |state| matches!(state, State::Ready { .. })),
                reserved: count(number, |state| matches!(state, State::Reserved { .. })),
                buried: count(number, |state| matches!(state, State::Buried(_))),
                remembered: count(number, |state| matches!(state, State::Finished { .. })),
                schedules: self.model.schedules_of(id),
                pushed: topic.pushed,
                finished: topic.finished,
                deleted: topic.deleted,
                expired: topic.expired,
                ready_since: self.model.first_of(number).map(|rank| Millis(rank.1)),
            };
            assert_eq!(self.engine.topic(id), Some(view));
            assert_eq!(self.engine.topic_id(&topic.name), Some(id));
            let (now, ready) = (self.engine.stamp(), view.ready);
            let available = self.engine.available(id, 0, now);
            assert!(available <= ready, "{available} of {ready}");
            assert_eq!(available > 0, next.is_some(), "{topic:?}");
            assert!(topic.rule.is_there() || topic.paused.is_some() || available == ready);
            assert_eq!(self.engine.topic_bytes(id), self.model.bytes(number));
            let policy = Some(&topic.rule.policy).filter(|_| topic.rule.is_there());
            assert_eq!(self.engine.topic_policy(id), policy);
            let peeked = peek(&self.engine, id, &mut self.bodies);
            assert_eq!(peeked.map(|view| view.id.0), peek_of);
        }
        for number in 0..self.model.topics.len() {
            let id = TopicId(u32::try_from(number).expect("few topics"));
            if self.model.topics.get(number).is_some_and(|topic| !topic.gone) {
                self.model.compare_groups(&self.engine, number, id);
            }
        }
        let there = self.model.topics.iter().filter(|topic| !topic.gone);
        assert_eq!(self.engine.topics().count(), there.count());
        let pushed = self.engine.topics().map(|topic| topic.pushed).sum::<u64>();
        let ever = self.model.topics.iter().map(|topic| topic.pushed).sum::<u64>();
        assert_eq!(pushed + self.engine.forgotten_topics().pushed, ever);
    }

    fn compare_leases(&self, session: &naive::Session) {
        let held = self.model.jobs.iter().filter_map(|job| match job.state {
            State::Reserved { fence, deadline, session: holder }
                if holder == session.id && !session.outlive =>
            {
                Some((job.id, fence, deadline))
            }
            _ => None,
        });
        let held: BTreeSet<(u64, u64, u64)> = held.collect();
        let id = SessionId(session.id);
        for after in [0, 1, self.model.last_job.saturating_sub(2)] {
            let shown = self.engine.leases_of(id, JobId(after));
            let shown = shown.map(|grant| (grant.lease.job.0, grant.lease.fence.0, grant.deadline.0));
            assert!(shown.eq(held.iter().filter(|(job, ..)| *job > after).copied()), "session {id:?}");
        }
        assert_eq!(self.engine.lease_count(id), held.len());
    }

    fn compare_sessions(&self) {
        for session in &self.model.sessions {
            let leases_outlive = session.outlive;
            let status = match session.lapsed {
                None => SessionStatus::Live { leases_outlive },
                Some(_) => SessionStatus::Lapsed { leases_outlive },
            };
            let id = SessionId(session.id);
            assert_eq!(self.engine.session_matches(id, &session.secret), status);
            assert_eq!(self.engine.session_matches(id, &SessionSecret([255; 16])), SessionStatus::Unknown);
            self.compare_leases(session);
        }
        let live = self.model.sessions.iter().filter(|session| session.lapsed.is_none());
        assert!(self.engine.sessions().map(|view| view.id.0).eq(live.map(|session| session.id)));
        assert_eq!(self.engine.session_count(), self.model.sessions.len() as u64);
    }
}

impl Known {
    /// Keeps in mind what later steps may refer to.
    pub(crate) fn learn(&mut self, applied: &Applied) {
        for outcome in &applied.outcomes {
            if let Outcome::Changed { job, version, .. } = outcome {
                self.versions.insert(*job, *version);
            }
            if let Outcome::Granted(grants) | Outcome::GrantedByShares { grants, .. } = outcome {
                self.leases.extend(grants.iter().map(|grant| grant.lease));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_does_what_the_model_does(steps in drawn::steps()) {
        let mut both = Both::new();
        for (nth, step) in steps.iter().enumerate() {
            both.step(step);
            if nth % 5 == 4 {
                both.restore();
            }
        }
    }
}

/// A push of jobs with the same body, a delay for each.
fn push_after(delays_ms: impl Iterator<Item = u64>, body: &[u8]) -> Command<'_> {
    let job = |delay_ms| NewJob {
        due: When::After(delay_ms),
        priority: 0,
        ttr_ms: 1000,
        if_exists: IfExists::Reject,
        key: None,
        attributes: &[],
        body,
    };
    let jobs = delays_ms.map(job).collect();
    Command::Push { session: SessionId(0), sequence: 0, topic: "orders", jobs }
}

#[test]
fn what_is_due_moves_in_bounded_steps_and_in_order() {
    let mut both = Both::new();
    let count = DUE_PER_ENTRY_MAX + 10;
    // Pairs that are due together, the later ones first.
    let push = push_after((0..count).map(|nth| (count - nth) as u64 / 2 + 1), &[]);
    let mut engine = both.engine;
    let Ok(_) = engine.apply(&Entry { stamp: Millis(START), commands: vec![push] }, &mut both.bodies);
    let late = Millis(START + 1_000_000);
    let moved = |engine: &Engine| engine.topic(TopicId(0)).expect("made").ready;
    let mut due = 0;
    engine.due_topics(late, &mut |_| due += 1);
    assert_eq!(due, DUE_PER_ENTRY_MAX);
    let Ok(_) = engine.apply(&Entry { stamp: late, commands: Vec::new() }, &mut both.bodies);
    assert_eq!(moved(&engine), DUE_PER_ENTRY_MAX as u64);
    assert!(engine.is_overdue(late));
    // The first pushed job is due last; of the two jobs with the last due time that moved, the one with the lower id moved.
    for id in 1..=count as u64 {
        let Ok(view) = engine.job(&JobSelect::Id(JobId(id)), &mut both.bodies);
        let state = view.expect("lives").state;
        let waits = id <= 9 || id == 11;
        assert_eq!(state, if waits { JobState::Delayed } else { JobState::Ready }, "{id}");
    }
    let Ok(_) = engine.apply(&Entry { stamp: late, commands: Vec::new() }, &mut both.bodies);
    assert_eq!(moved(&engine), count as u64);
    assert!(!engine.is_overdue(late));
    engine.verify(&mut both.bodies);
}

#[test]
fn very_many_schedules_of_one_instant_delay_no_job_that_is_due_behind_it() {
    const SCHEDULES: u64 = 1_000;
    let mut both = Both::new();
    let mut engine = both.engine;
    let instant = Millis(START + 1_000);
    let names: Vec<_> = (0..SCHEDULES).map(u64::to_be_bytes).collect();
    let set = |name| NewSchedule {
        name,
        priority: 0,
        ttr_ms: 1000,
        overlap: Overlap::Skip,
        failures_max: 0,
        next: Some(instant),
        attributes: &[],
        body: b"x",
    };
    let sets =
        names.iter().map(|name| Command::ScheduleSet { topic: "reports", schedule: set(name), before: None });
    let commands = sets.chain([push_after([1_001].into_iter(), b"x")]).collect();
    let Ok(_) = engine.apply(&Entry { stamp: Millis(START), commands }, &mut both.bodies);
    // Few schedules have their turn in an entry that is made soon after the one before.
    let Ok(_) = engine.apply(&Entry { stamp: Millis(START + 999), commands: Vec::new() }, &mut both.bodies);
    let mut due = Vec::new();
    assert!(engine.due_topics(instant.after(1), &mut |topic| due.push(topic)), "schedules are to be fired");
    assert_eq!(due, [TopicId(1)]);
    let mut entries = 0;
    while engine.is_overdue(instant.after(1)) {
        let Ok(_) = engine.apply(&Entry { stamp: instant.after(1), commands: Vec::new() }, &mut both.bodies);
        entries += 1;
        assert_eq!(engine.topic(TopicId(1)).expect("made").ready, 1, "in entry {entries}");
    }
    assert!((4..=SCHEDULES).contains(&entries), "{entries} entries, each with a part of the schedules");
    assert_eq!(engine.schedules_to_fire().count() as u64, SCHEDULES);
    engine.verify(&mut both.bodies);
}

/// A late job that its topic made due anew, and that is ready: to be due now is no change.
#[test]
fn a_late_job_that_is_ready_keeps_its_version_when_it_is_made_due_now() {
    let mut both = Both::new();
    let step = |elapsed_ms, actions| Step { elapsed_ms, actions };
    let orders = TOPICS.iter().position(|topic| *topic == "orders").expect("one of them");
    let late_ones_per_second = 9;
    both.step(&step(0, vec![Action::FeatureLevel(FEATURE_LEVEL)]));
    both.apply(&Entry { stamp: Millis(START), commands: vec![push_after([10].into_iter(), b"x")] });
    both.step(&step(0, vec![Action::Policy(orders, late_ones_per_second)]));
    both.step(&step(700_000, Vec::new()));
    assert!(matches!(both.model.jobs.first().expect("pushed").state, State::Ready { .. }));
    both.step(&step(0, vec![Action::RescheduleIf(1, Due::After(0), true)]));
}

#[test]
fn large_bodies_move_in_smaller_steps() {
    let mut engine = Engine::new(GroupId(0));
    let mut bodies = KeptBodies::default();
    let body = vec![7; 1 << 20];
    let each = usize::try_from(DUE_BYTES_PER_ENTRY_MAX >> 20).expect("a few");
    let count = 2 * each + 3;
    let push = push_after((0..count).map(|nth| nth as u64 + 1), &body);
    let Ok(_) = engine.apply(&Entry { stamp: Millis(START), commands: vec![push] }, &mut bodies);
    let late = Millis(START + 1_000_000);
    for (moves, more) in [(each, true), (each, true), (3, false)] {
        let mut seen = 0;
        assert_eq!(engine.due_topics(late, &mut |_| seen += 1), more);
        assert_eq!(seen, moves);
        let before = engine.topic(TopicId(0)).expect("made").ready;
        let Ok(_) = engine.apply(&Entry { stamp: late, commands: Vec::new() }, &mut bodies);
        assert_eq!(engine.topic(TopicId(0)).expect("made").ready - before, moves as u64);
    }
    engine.verify(&mut bodies);
}

/// What no proposer would send: the log could still hold it.
#[test]
fn extreme_values_do_no_harm() {
    let mut engine = Engine::new(GroupId(255));
    let mut bodies = KeptBodies::default();
    let push = |session, due, attributes: &'static [u8]| Command::Push {
        session: SessionId(session),
        sequence: u64::MAX - 1,
        topic: "t",
        jobs: vec![
            NewJob {
                due,
                priority: u32::MAX,
                ttr_ms: 0,
                if_exists: IfExists::Reject,
                key: Some(b""),
                attributes,
                body: b"x",
            };
            3
        ],
    };
    let reserve = || Command::Reserve {
        session: SessionId(1),
        topics: TopicOrder::OfJobs(vec!["t", " no topic "]),
        jobs_max: u32::MAX,
        bytes_max: u64::MAX,
    };
    let whens =
        [0, 1, u64::MAX / 2, u64::MAX].into_iter().flat_map(|at| [When::After(at), When::At(Millis(at))]);
    let whens: Vec<When> = whens.collect();
    for stamp in [0, 1, 1 << 40, u64::MAX - 1, u64::MAX] {
        for offset_ms in [i64::MIN, -1, 0, i64::MAX] {
            let secret = SessionSecret::default();
            let mut commands = vec![Command::SessionOpen { secret, leases_outlive: false, client: "" }];
            commands.push(Command::ClockOffset { offset_ms });
            commands.push(Command::TopicPause {
                topic: " no topic ",
                paused: true,
                by: "",
                for_ms: Some(u64::MAX),
            });
            for due in &whens {
                commands.push(push(1, *due, &[]));
                commands.push(push(0, *due, &[9, 0, 255, 255, 1]));
                commands.push(reserve());
                let job = JobSelect::Key { topic: "t", key: b"" };
                commands.push(Command::Reschedule { job, due: *due, version: None });
                commands.push(Command::Delete { job });
            }
            let Ok(applied) = engine.apply(&Entry { stamp: Millis(stamp), commands }, &mut bodies);
            assert!(applied.outcomes.iter().any(|outcome| matches!(outcome, Outcome::Changed { .. })));
            for at in [0, stamp, u64::MAX] {
                engine.due_topics(Millis(at), &mut |_| {});
                engine.next_deadline_after(Millis(at));
                engine.prepare(Millis(at), 10);
            }
            engine.verify(&mut bodies);
        }
    }
}
