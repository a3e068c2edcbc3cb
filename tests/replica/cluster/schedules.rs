//! Schedules while members die, hang, are cut off, and clocks are set: each instant has one firing or a reason, and none has
//! two.

use std::num::NonZeroU32;

use adjourn_protocol::{
    Hello, IfVersion, JobTemplate, Request, Response, ScheduleReport, ScheduleSet, VERSION, VERSION_MIN,
};
use adjourn_types::{Fired, Firing, Millis, Missed, Overlap, ScheduleRules, SkipReason, TopicName};
use proptest::prelude::*;

use super::rig::Rig;

const SECOND_MS: u64 = 1_000;
/// The schedule with this name fires every second.
const OFTEN: &str = "often";
/// This one skips an instant while its first job has not ended, which is always.
const ONCE: &str = "once";

/// What goes wrong, and for how long.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    KillLeader,
    CutOffLeader,
    PauseLeader,
    HangLeadersDisk,
    KillAll,
    /// Every wall clock is set by so much.
    SetClocks(i64),
    SetAgain,
}

fn trouble() -> impl Strategy<Value = (Trouble, u64)> {
    let trouble = prop_oneof![
        3 => Just(Trouble::KillLeader),
        2 => Just(Trouble::CutOffLeader),
        2 => Just(Trouble::PauseLeader),
        2 => Just(Trouble::HangLeadersDisk),
        1 => Just(Trouble::KillAll),
        2 => (-4_000..20_000_i64).prop_map(Trouble::SetClocks),
        2 => Just(Trouble::SetAgain),
    ];
    (trouble, 100..2_500_u64)
}

fn topic() -> TopicName {
    "ticks".parse().expect("a name")
}

fn set(name: &str) -> Request {
    let overlap = if name == OFTEN { Overlap::Allow } else { Overlap::Skip };
    Request::ScheduleSet(ScheduleSet {
        topic: topic(),
        name: name.to_owned(),
        rules: Box::new(ScheduleRules {
            when: "@every 1s".to_owned(),
            origin: Some(Millis(SECOND_MS)),
            missed: Missed::All,
            missed_max: NonZeroU32::new(4),
            overlap,
            ..ScheduleRules::default()
        }),
        template: JobTemplate { body: name.to_owned().into(), ..JobTemplate::default() },
        if_version: IfVersion::Any,
    })
}

struct Queue {
    rig: Rig,
    /// What the schedules had fired when they were looked at last.
    fired: u64,
}

impl Queue {
    fn new() -> Self {
        let mut queue = Self { rig: Rig::of(&[0, 0, 0]), fired: 0 };
        for name in [OFTEN, ONCE] {
            assert!(matches!(queue.ask(&set(name)), Response::Scheduled { version: 1, .. }));
        }
        // Each has fired once, whatever happens to the clocks then.
        queue.rig.pass(2 * SECOND_MS);
        queue
    }

    /// Asks whoever leads, until it is answered by a leader.
    fn ask(&mut self, request: &Request) -> Response {
        loop {
            let leader = self.rig.elect();
            self.rig.pass(SECOND_MS);
            if self.rig.leader() != Some(leader) {
                continue;
            }
            let client = self.rig.open(leader);
            let hello = Hello { version_min: VERSION_MIN, version_max: VERSION, ..Hello::default() };
            if !matches!(self.rig.ask(leader, client, 0, Request::Hello(hello)), Response::Welcome(_)) {
                // It leads no more, or does not serve yet.
                continue;
            }
            match self.rig.ask(leader, client, 1, request.clone()) {
                Response::Error(error) if error.code.retryable() => {}
                answer => return answer,
            }
        }
    }

    fn show(&mut self, name: &str) -> ScheduleReport {
        match self.ask(&Request::ScheduleShow { topic: topic(), name: name.to_owned() }) {
            Response::Schedule(report) => *report,
            other => panic!("{other:?}"),
        }
    }

    fn suffer(&mut self, (trouble, lasts_ms): (Trouble, u64)) {
        let leader = self.rig.elect();
        match trouble {
            Trouble::KillLeader => self.rig.kill(leader),
            Trouble::CutOffLeader => self.rig.cut_off(leader),
            Trouble::PauseLeader => _ = self.rig.paused.insert(leader),
            Trouble::HangLeadersDisk => self.rig.node(leader).hangs = true,
            Trouble::KillAll => (1..=3).for_each(|node| self.rig.kill(node)),
            Trouble::SetClocks(by_ms) => {
                (1..=3).for_each(|node| self.rig.node(node).wall_ahead_ms += by_ms);
            }
            Trouble::SetAgain => _ = self.ask(&set(OFTEN)),
        }
        self.rig.pass(lasts_ms);
        self.rig.cut.clear();
        self.rig.paused.clear();
        self.rig.node(leader).hangs = false;
        for node in 1..=3 {
            if !self.rig.is_running(node) {
                self.rig.start(node);
            }
        }
    }

    /// The instants that a schedule remembers follow each other without a gap, and no job was in the way of another one.
    fn check(&mut self) {
        let often = self.show(OFTEN);
        follow(&often.history);
        assert!(often.state.fired >= self.fired, "{often:?}");
        self.fired = often.state.fired;
        assert_eq!(often.state.fired, u64::from(often.state.running), "each has a job, which nobody takes");
        let once = self.show(ONCE);
        assert_eq!((once.state.fired, once.state.running), (1, 1));
        // The job is remembered for longer than what came behind it.
        once.history.split(|firing| firing.what.running_job().is_some()).for_each(follow);
        assert_eq!(once.history.iter().filter(|firing| firing.what.running_job().is_some()).count(), 1);
    }
}

fn follow(history: &[Firing]) {
    let mut next = None;
    for firing in history {
        assert!(next.is_none_or(|next| next == firing.instant), "{next:?}: {history:?}");
        let last = match firing.what {
            Fired::Pushed { .. } => firing.instant,
            Fired::Skipped { last, reason, .. } => {
                assert_ne!(reason, SkipReason::KeyTaken, "an instant has two jobs: {history:?}");
                last
            }
        };
        next = Some(last.after(SECOND_MS));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn each_instant_has_one_firing_or_a_reason(troubles in proptest::collection::vec(trouble(), 1..10)) {
        let mut queue = Queue::new();
        for trouble in troubles {
            queue.suffer(trouble);
            queue.check();
        }
        let before = queue.show(OFTEN).state.fired;
        queue.rig.pass(60 * SECOND_MS);
        prop_assert!(queue.show(OFTEN).state.fired > before, "it goes on");
    }
}
