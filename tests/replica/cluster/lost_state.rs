//! A member that has lost its state puts a checkpoint of the leader in place of it. Its log is committed to the end and
//! agrees with the checkpoint: whenever the power goes meanwhile, the log keeps every entry that the member acknowledged.

use adjourn_protocol::{ErrorCode, JobRef, NewJob, PushResult, Request, Response};
use adjourn_replica::Notice;
use adjourn_types::JobId;

use super::rig::{Rig, refusal};
use super::serves;

/// Beyond the horizon: such a job is spilled after the next checkpoint.
const FAR_MS: u64 = 2 * HOUR_MS;
const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
/// Steps of an install in the folders, to choose from.
const INSTALL_STEPS: u64 = 9;

/// Three members of which one has lost its state.
struct Scene {
    rig: Rig,
    leader: u64,
    follower: u64,
    away: u64,
    /// Its delete was acknowledged.
    deleted: JobId,
}

fn has_lost_its_state(notice: &Notice) -> bool {
    matches!(notice, Notice::StateLost { .. })
}

/// A follower cannot read its state any more, and the power goes at a step of the install of another one.
fn cut_in_the_install(step: u64, third_is_there: bool) -> Scene {
    let mut rig = Rig::taking_checkpoints(3, 64 << 10);
    let leader = rig.elect();
    let producer = rig.connect(leader);
    let jobs = (0..10).map(|_| NewJob::new(vec![7; 8 << 10]).after(FAR_MS)).collect();
    rig.push_jobs(leader, producer, 1, jobs);
    let Response::Pushed(pushed) = rig.answer(leader, producer, 1) else { panic!("it is taken") };
    let Some(PushResult::Pushed(deleted)) = pushed.get(5).copied() else { panic!("it is taken") };
    rig.pass(3_000);
    let follower = leader % 3 + 1;
    let away = follower % 3 + 1;
    if !third_is_there {
        rig.cut_off(away);
    }
    rig.nodes[&follower].disk.spoil(&(20_000..90_000).step_by(1024).collect::<Vec<_>>());
    rig.node(follower).disk.install_cut_at = Some(step);
    // What is acknowledged from here on is durable on the leader and the follower, perhaps nowhere else.
    let producer = rig.connect(leader);
    let answer = rig.ask(leader, producer, 2, Request::Delete(JobRef::Id(deleted)));
    assert!(matches!(answer, Response::Changed { .. }), "{answer:?}");
    rig.wait("the power goes in the install", 20_000, |rig| (!rig.is_running(follower)).then_some(()));
    assert!(rig.nodes[&follower].notices.iter().any(has_lost_its_state));
    Scene { rig, leader, follower, away, deleted }
}

#[test]
fn the_power_may_go_at_every_step_of_the_install() {
    for step in 0..INSTALL_STEPS {
        let Scene { mut rig, leader, follower, deleted, .. } = cut_in_the_install(step, true);
        rig.start(follower);
        rig.pass(10_000);
        let failed = rig.nodes[&follower].failed.as_ref();
        assert!(failed.is_none(), "step {step}: it ends: {failed:?}");
        let operator = rig.connect(leader);
        rig.hand_request(leader, operator, 1, Request::ClusterTransfer { node: follower });
        let leads = |rig: &Rig| rig.leader().filter(|next| *next == follower);
        rig.wait("it has a state and leads", 10_000, leads);
        assert!(serves(&mut rig, follower));
        let client = rig.connect(follower);
        let gone = refusal(rig.ask(follower, client, 2, Request::Get(JobRef::Id(deleted))));
        assert_eq!(gone.code, ErrorCode::NotFound, "step {step}");
    }
}

#[test]
fn what_was_acknowledged_survives_without_the_leader() {
    for step in 0..INSTALL_STEPS {
        let Scene { mut rig, leader, follower, away, deleted } = cut_in_the_install(step, false);
        rig.kill(leader);
        rig.start(follower);
        rig.join(away);
        let next = rig.elect_another(leader);
        assert!(serves(&mut rig, next), "step {step}");
        let leads_away = |rig: &Rig| rig.leader().filter(|next| *next == away);
        if next != away {
            rig.pass(2_000);
            let operator = rig.connect(next);
            rig.hand_request(next, operator, 1, Request::ClusterTransfer { node: away });
            rig.wait("the one that was away leads", 10_000, leads_away);
        }
        let client = rig.connect(away);
        let gone = refusal(rig.ask(away, client, 7, Request::Get(JobRef::Id(deleted))));
        assert_eq!(gone.code, ErrorCode::NotFound, "step {step}: the acknowledged delete is lost");
        rig.start(leader);
        rig.pass(8_000);
        assert!(rig.nodes[&leader].failed.is_none(), "step {step}: {:?}", rig.nodes[&leader].failed);
    }
}

/// In a quiet cluster the leader's newest checkpoint may be the one that this member has and cannot read.
#[test]
fn a_member_may_get_the_checkpoint_that_it_had() {
    let Scene { mut rig, follower, .. } = cut_in_the_install(INSTALL_STEPS - 1, true);
    rig.start(follower);
    // Nothing of a chunk can be read, its index neither: that shows at the start.
    let spoil = |rig: &Rig| rig.nodes[&follower].disk.spoil(&(0..90_000).step_by(64).collect::<Vec<_>>());
    rig.pass(10_000);
    for round in 1..=2 {
        let fetched = rig.nodes[&follower].fetched;
        rig.kill(follower);
        spoil(&rig);
        rig.node(follower).notices.clear();
        rig.start(follower);
        rig.wait("it has another state", 20_000, |rig| {
            (rig.nodes[&follower].fetched > fetched).then_some(())
        });
        assert!(rig.nodes[&follower].notices.iter().any(has_lost_its_state), "round {round}");
        rig.pass(3_000);
        let failed = rig.nodes[&follower].failed.as_ref();
        assert!(failed.is_none(), "round {round}: {failed:?}");
    }
}

/// The newest log is that of a member without a state, so that it leads for a moment. It does not know that the clocks were set
/// before, and must not take that for time that has passed.
#[test]
fn a_leader_without_a_state_tells_no_time() {
    let mut rig = Rig::taking_checkpoints(3, 64 << 10);
    let leader = rig.elect();
    let producer = rig.connect(leader);
    let jobs = (0..10).map(|_| NewJob::new(vec![7; 8 << 10]).after(FAR_MS)).collect();
    rig.push_jobs(leader, producer, 1, jobs);
    rig.pass(3_000);
    for node in 1..=3 {
        rig.node(node).wall_ahead_ms = HOUR_MS.cast_signed();
    }
    rig.pass(3_000);
    rig.push(leader, producer, 2, MINUTE_MS);
    rig.answer(leader, producer, 2);
    rig.pass(1_000);
    rig.cut_off(leader);
    rig.push(leader, producer, 3, 0);
    rig.pass(100);
    for node in 1..=3 {
        rig.kill(node);
    }
    rig.join(leader);
    rig.nodes[&leader].disk.spoil(&(0..90_000).step_by(64).collect::<Vec<_>>());
    rig.node(leader).notices.clear();
    let other = leader % 3 + 1;
    rig.start(leader);
    rig.start(other);
    rig.wait("the other one leads", 20_000, |rig| (rig.leader() == Some(other)).then_some(()));
    assert!(rig.nodes[&leader].notices.iter().any(has_lost_its_state));
    let led = |notice: &Notice| *notice == Notice::Follows { leader };
    assert!(rig.nodes[&other].notices.iter().any(led), "it led before, for it has the newest log");
    let client = rig.connect(other);
    let Response::Stats(stats) = rig.ask(other, client, 9, Request::Stats) else { panic!("it answers") };
    assert_eq!(stats.totals.delayed, 11, "no hour has passed: {stats:?}");
}
