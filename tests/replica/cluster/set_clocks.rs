//! A wall clock that is set wrong and put right again: no job comes early, and none is ended by it.

use adjourn_protocol::{Delivered, JobRef, NewJob, PushResult, Request, Reserve, Response, TopicSet};
use adjourn_replica::ConnectionId;
use adjourn_types::{
    AttributesBuilder, JobId, JobState, Late, LateAction, Millis, PolicyChange, TopicPolicy, When,
};

use super::rig::{EPOCH_MS, Rig};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// A queue with one client, whose answers are waited for.
struct Asked {
    rig: Rig,
    node: u64,
    client: ConnectionId,
    request: u32,
}

impl Asked {
    fn new() -> Self {
        Self::of(1)
    }

    /// The leader of several nodes.
    fn of(nodes: usize) -> Self {
        let mut rig = Rig::of(&vec![0; nodes]);
        let node = rig.elect();
        rig.pass(3_000);
        let client = rig.connect(node);
        Self { rig, node, client, request: 0 }
    }

    fn ask(&mut self, request: Request) -> Response {
        self.request += 1;
        self.rig.ask(self.node, self.client, self.request, request)
    }

    /// Pushes a job that is due in `due_ms` by a right wall clock. It may expire some time later.
    fn push(&mut self, due_ms: u64, expires_ms: Option<u64>) -> JobId {
        let now = Millis(EPOCH_MS + self.rig.at_us / 1000);
        let mut job = NewJob { due: When::At(now.after(due_ms)), ..NewJob::new("x") };
        if let Some(expires_ms) = expires_ms {
            let expires = When::At(now.after(due_ms + expires_ms));
            job.attributes = AttributesBuilder::default().expires(expires).build().expect("valid");
        }
        self.request += 1;
        self.rig.push_jobs(self.node, self.client, self.request, vec![job]);
        let Response::Pushed(results) = self.rig.answer(self.node, self.client, self.request) else {
            panic!("it is pushed")
        };
        let [PushResult::Pushed(job)] = results[..] else { panic!("{results:?}") };
        job
    }

    fn reserve(&mut self, jobs_max: u32) -> Vec<Delivered> {
        let topics = vec!["jobs".parse().expect("a name")];
        let reserve = Reserve { topics, jobs_max, wait_ms: 0, weights: Vec::new() };
        match self.ask(Request::Reserve(reserve)) {
            Response::Reserved(jobs) => jobs,
            other => panic!("{other:?}"),
        }
    }

    fn state(&mut self, job: JobId) -> Option<JobState> {
        match self.ask(Request::Get(JobRef::Id(job))) {
            Response::Job(report) => report.state,
            _ => None,
        }
    }

    fn drop_late_jobs(&mut self, after_ms: u64) {
        let late = Some(Late { after_ms, then: LateAction::Drop });
        let change =
            PolicyChange { set: TopicPolicy { late, ..TopicPolicy::default() }, ..PolicyChange::default() };
        let set = TopicSet { topic: "jobs".parse().expect("a name"), change: Box::new(change) };
        assert!(matches!(self.ask(Request::TopicSet(set)), Response::Done), "it is set");
    }

    /// The clock is this far ahead for a moment.
    fn glitch(&mut self, ahead_ms: i64) {
        self.rig.node(self.node).wall_ahead_ms = ahead_ms;
        self.rig.pass(1_500);
        self.rig.node(self.node).wall_ahead_ms = 0;
        self.rig.pass(1_500);
    }
}

#[test]
fn a_clock_that_is_ahead_for_a_moment_brings_no_job_forward() {
    let mut asked = Asked::new();
    let job = asked.push(MINUTE_MS, None);
    asked.glitch(2 * HOUR_MS.cast_signed());
    assert_eq!(asked.state(job), Some(JobState::Delayed), "it waits again");
    assert_eq!(asked.reserve(1), Vec::new());
    asked.rig.pass(MINUTE_MS);
    assert_eq!(asked.reserve(1).len(), 1, "now it is due");
}

/// The leader is lost while all clocks are ahead. Of those that are right afterwards no two agree.
#[test]
fn a_time_that_no_clock_shows_any_more_brings_no_job_forward() {
    let mut asked = Asked::of(3);
    let job = asked.push(24 * HOUR_MS, None);
    for node in 1..=3 {
        asked.rig.node(node).wall_ahead_ms = 72 * HOUR_MS.cast_signed();
    }
    asked.rig.pass(1_500);
    let lost = asked.node;
    asked.rig.kill(lost);
    for (node, ahead_ms) in (1..=3).filter(|node| *node != lost).zip([0, HOUR_MS.cast_signed()]) {
        asked.rig.node(node).wall_ahead_ms = ahead_ms;
    }
    asked.node = asked.rig.elect_another(lost);
    asked.rig.pass(3_000);
    asked.client = asked.rig.connect(asked.node);
    assert_eq!(asked.state(job), Some(JobState::Delayed), "no clock shows that time");
    assert_eq!(asked.reserve(1), Vec::new());
}

/// More jobs than one entry moves, and consumers that ask meanwhile.
#[test]
fn many_jobs_wait_again_and_none_is_delivered_meanwhile() {
    let mut asked = Asked::new();
    let now = Millis(EPOCH_MS + asked.rig.at_us / 1000);
    for id in 101..=110 {
        let job = NewJob { due: When::At(now.after(HOUR_MS + u64::from(id))), ..NewJob::new("x") };
        asked.rig.push_jobs(asked.node, asked.client, id, vec![job; 1_000]);
        asked.rig.answer(asked.node, asked.client, id);
    }
    let counts = |asked: &mut Asked| match asked.ask(Request::Stats) {
        Response::Stats(stats) => (stats.totals.delayed, stats.totals.ready),
        other => panic!("{other:?}"),
    };
    asked.rig.node(asked.node).wall_ahead_ms = 2 * HOUR_MS.cast_signed();
    asked.rig.pass(5_000);
    assert_eq!(counts(&mut asked), (0, 10_000));
    asked.rig.node(asked.node).wall_ahead_ms = 0;
    for _ in 0..20 {
        assert_eq!(asked.reserve(100), Vec::new());
    }
    asked.rig.pass(1_500);
    assert_eq!(counts(&mut asked), (10_000, 0));
}

#[test]
fn a_clock_that_is_set_ahead_drops_no_job_for_being_late() {
    let mut asked = Asked::new();
    asked.drop_late_jobs(HOUR_MS);
    let job = asked.push(2 * HOUR_MS, None);
    asked.rig.node(asked.node).wall_ahead_ms = 24 * HOUR_MS.cast_signed();
    asked.rig.pass(3_000);
    assert_eq!(asked.state(job), Some(JobState::Ready), "it is due by the clock as it was set");
    assert_eq!(asked.reserve(1).len(), 1);
}

#[test]
fn a_clock_that_is_ahead_for_a_moment_ends_no_job_that_expires() {
    let mut asked = Asked::new();
    let job = asked.push(MINUTE_MS, Some(MINUTE_MS));
    asked.rig.node(asked.node).wall_ahead_ms = 24 * HOUR_MS.cast_signed();
    asked.rig.pass(1_500);
    assert_eq!(asked.reserve(1), Vec::new(), "it has expired by that clock");
    asked.rig.node(asked.node).wall_ahead_ms = 0;
    asked.rig.pass(1_500);
    assert_eq!(asked.state(job), Some(JobState::Delayed), "it is not due by the right one");
    asked.rig.pass(MINUTE_MS);
    assert_eq!(asked.reserve(1).len(), 1, "now it is due");
}

#[test]
fn a_job_that_expires_by_a_clock_that_was_set_ends_when_that_time_has_passed() {
    let mut asked = Asked::new();
    let job = asked.push(MINUTE_MS, Some(MINUTE_MS));
    asked.rig.node(asked.node).wall_ahead_ms = 24 * HOUR_MS.cast_signed();
    asked.rig.pass(2 * MINUTE_MS - 1_000);
    assert_eq!(asked.state(job), Some(JobState::Delayed));
    assert_eq!(asked.reserve(1), Vec::new());
    asked.rig.pass(3_000);
    assert_eq!(asked.state(job), None);
}
