//! A member whose state cannot be relied on: a majority has another one, or its disk cannot read it.

use adjourn_protocol::{ErrorCode, JobRef, NewJob, PushResult, Request, Response};
use adjourn_replica::Notice;
use adjourn_types::JobId;

use super::rig::{Rig, client_address, refusal};
use super::serves;

/// Beyond the horizon: such a job is spilled after the next checkpoint.
const FAR_MS: u64 = 2 * 3_600_000;
/// So large that a chunk of some jobs has several blocks.
const BODY_BYTES: usize = 8 << 10;
/// So much of a log makes a checkpoint due: less than some jobs.
const LOG_BYTES: u64 = 64 << 10;

/// Whether a node says that the state of a member is its own, as far as it knows.
fn same_state(rig: &mut Rig, node: u64, of: u64) -> Option<bool> {
    let connection = rig.open(node);
    let Response::Cluster(report) = rig.ask(node, connection, 1, Request::ClusterStatus) else {
        panic!("a status is a report")
    };
    let member = report.members.iter().find(|member| member.node == of).expect("it is a member");
    member.same_state
}

fn was_told(rig: &Rig, node: u64, what: fn(&Notice) -> bool) -> Option<()> {
    rig.nodes[&node].notices.iter().any(what).then_some(())
}

fn is_outvoted(notice: &Notice) -> bool {
    matches!(notice, Notice::StateOutvoted { .. })
}

fn has_lost_its_state(notice: &Notice) -> bool {
    matches!(notice, Notice::StateLost { .. })
}

/// Leadership goes to another member, which serves.
fn step_down(rig: &mut Rig, leader: u64, to: u64) -> u64 {
    rig.pass(1_500);
    let operator = rig.connect(leader);
    rig.hand_request(leader, operator, 1, Request::ClusterTransfer { node: to });
    let next = rig.elect_another(leader);
    assert!(serves(rig, next));
    next
}

#[test]
fn who_is_outvoted_does_not_lead() {
    for wrong in 1..=3 {
        let mut rig = Rig::with_one_wrong(3, wrong);
        rig.wait("it learns that it is outvoted", 2_000, |rig| was_told(rig, wrong, is_outvoted));
        let mut leader = rig.elect();
        assert!(serves(&mut rig, leader));
        assert_eq!(same_state(&mut rig, wrong, wrong), Some(false));
        assert_eq!(same_state(&mut rig, leader, wrong), Some(false));
        let client = rig.open(wrong);
        let told = refusal(rig.ask(wrong, client, 1, Request::Stats));
        assert_eq!((told.code, told.leader), (ErrorCode::NotLeader, Some(client_address(leader))));
        for _ in 0..3 {
            leader = step_down(&mut rig, leader, 0);
            assert!(leader != wrong);
        }
        rig.kill(wrong);
        rig.node(wrong).notices.clear();
        rig.start(wrong);
        leader = step_down(&mut rig, leader, 0);
        assert!(leader != wrong, "what it replays tells it again");
        assert!(was_told(&rig, wrong, is_outvoted).is_some());
    }
}

#[test]
fn a_leader_that_is_outvoted_gives_way() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    let client = rig.connect(first);
    rig.pass(1_500);
    rig.misled = Some(first);
    let second = rig.elect_another(first);
    assert!(was_told(&rig, first, is_outvoted).is_some());
    assert!(rig.nodes[&first].closed.contains(&client));
    assert!(serves(&mut rig, second));
    rig.kill(second);
    let third = rig.elect_another(second);
    assert!(third != first && serves(&mut rig, third));
}

#[test]
fn of_two_that_differ_nobody_is_outvoted() {
    let mut rig = Rig::with_one_wrong(2, 2);
    let leader = rig.elect();
    rig.pass(2_000);
    let other = 3 - leader;
    assert_eq!(rig.leader(), Some(leader), "nobody can know who is wrong");
    assert!(serves(&mut rig, leader));
    assert_eq!([same_state(&mut rig, leader, other), same_state(&mut rig, other, leader)], [Some(false); 2]);
}

/// Voters whose disks have some spilled jobs, in chunks of several blocks. Returns who leads, and the jobs.
fn spilled_jobs(voters: usize) -> (Rig, u64, Vec<JobId>) {
    let mut rig = Rig::taking_checkpoints(voters, LOG_BYTES);
    let (leader, jobs) = push_spilled_jobs(&mut rig);
    (rig, leader, jobs)
}

fn push_spilled_jobs(rig: &mut Rig) -> (u64, Vec<JobId>) {
    let leader = rig.elect();
    let producer = rig.connect(leader);
    let jobs = (0..10).map(|_| NewJob::new(vec![7; BODY_BYTES]).after(FAR_MS)).collect();
    rig.push_jobs(leader, producer, 1, jobs);
    let Response::Pushed(pushed) = rig.answer(leader, producer, 1) else { panic!("it is taken") };
    let id = |result: &PushResult| match result {
        PushResult::Pushed(id) => *id,
        refused => panic!("{refused:?}"),
    };
    let jobs = pushed.iter().map(id).collect();
    rig.pass(500);
    (leader, jobs)
}

/// A part of each chunk that a node has cannot be read from here on: of the first block, or of one that was never read.
fn spoil(rig: &Rig, node: u64, first: bool) {
    rig.nodes[&node].disk.spoil(&[if first { 200 } else { 40_000 }]);
}

/// All jobs but the last are deleted.
fn delete(rig: &mut Rig, leader: u64, jobs: &[JobId]) {
    let producer = rig.connect(leader);
    for (id, job) in (2..).zip(&jobs[..jobs.len() - 1]) {
        rig.hand_request(leader, producer, id, Request::Delete(JobRef::Id(*job)));
        rig.pass(20);
    }
}

/// Checks that a node has all of the state again: it may lead, and finds the remaining jobs.
fn recovers(rig: &mut Rig, leader: u64, node: u64, jobs: &[JobId]) {
    rig.wait("its state is here", 20_000, |rig| (rig.nodes[&node].fetched > 0).then_some(()));
    if leader != node {
        rig.pass(3_000);
        assert_eq!(step_down(rig, leader, node), node);
    }
    assert_eq!(same_state(rig, node, node), Some(true));
    let client = rig.connect(node);
    let last = *jobs.last().expect("there are some");
    let found = rig.ask(node, client, 1, Request::Get(JobRef::Id(last)));
    assert!(matches!(&found, Response::Job(job) if job.body.len() == BODY_BYTES), "{found:?}");
    let gone = refusal(rig.ask(node, client, 2, Request::Get(JobRef::Id(jobs[0]))));
    assert_eq!(gone.code, ErrorCode::NotFound);
}

#[test]
fn a_follower_that_cannot_read_its_state_gets_that_of_the_leader() {
    let (mut rig, leader, jobs) = spilled_jobs(3);
    let follower = leader % 3 + 1;
    spoil(&rig, follower, false);
    delete(&mut rig, leader, &jobs);
    assert!(was_told(&rig, follower, has_lost_its_state).is_some());
    assert_eq!(rig.leader(), Some(leader), "the others take no notice");
    recovers(&mut rig, leader, follower, &jobs);
}

#[test]
fn a_leader_that_cannot_read_its_state_gives_way() {
    let (mut rig, first, jobs) = spilled_jobs(3);
    rig.pass(1_500);
    spoil(&rig, first, false);
    delete(&mut rig, first, &jobs);
    assert!(was_told(&rig, first, has_lost_its_state).is_some());
    let second = rig.elect_another(first);
    delete(&mut rig, second, &jobs);
    recovers(&mut rig, second, first, &jobs);
}

#[test]
fn of_two_members_one_gets_the_state_of_the_other() {
    let (mut rig, leader, jobs) = spilled_jobs(2);
    let follower = leader % 2 + 1;
    spoil(&rig, follower, false);
    delete(&mut rig, leader, &jobs);
    assert!(was_told(&rig, follower, has_lost_its_state).is_some());
    recovers(&mut rig, leader, follower, &jobs);
}

#[test]
fn a_member_starts_without_a_state_that_it_cannot_read() {
    for first in [true, false] {
        let (mut rig, leader, jobs) = spilled_jobs(3);
        let follower = leader % 3 + 1;
        rig.kill(follower);
        spoil(&rig, follower, first);
        delete(&mut rig, leader, &jobs);
        rig.start(follower);
        recovers(&mut rig, leader, follower, &jobs);
    }
}

/// Checks that a node that cannot read its state ends: no other node has it.
fn ends(rig: &mut Rig, leader: u64, jobs: &[JobId]) {
    spoil(rig, leader, false);
    delete(rig, leader, jobs);
    let failed = rig.nodes[&leader].failed.as_ref().expect("nobody else has it");
    assert!(failed.is_unreadable(), "{failed}");
}

#[test]
fn a_node_alone_that_cannot_read_its_state_ends() {
    let (mut rig, leader, jobs) = spilled_jobs(1);
    ends(&mut rig, leader, &jobs);
}

#[test]
fn the_only_voter_ends_too_though_it_has_a_learner() {
    let mut rig = Rig::with_a_learner(LOG_BYTES);
    let (leader, jobs) = push_spilled_jobs(&mut rig);
    ends(&mut rig, leader, &jobs);
}

#[test]
fn a_member_that_cannot_read_its_new_checkpoint_gets_that_of_another_one() {
    let mut rig = Rig::taking_checkpoints(3, LOG_BYTES);
    let follower = rig.elect() % 3 + 1;
    rig.node(follower).disk.spoils = true;
    let (leader, jobs) = push_spilled_jobs(&mut rig);
    assert!(was_told(&rig, follower, has_lost_its_state).is_some());
    rig.node(follower).disk.spoils = false;
    delete(&mut rig, leader, &jobs);
    recovers(&mut rig, leader, follower, &jobs);
}

#[test]
fn whoever_has_the_newest_log_passes_it_on_whatever_its_state_is() {
    let mut rig = Rig::with_one_wrong(3, 3);
    rig.wait("it learns that it is outvoted", 10_000, |rig| was_told(rig, 3, is_outvoted));
    let leader = rig.elect_another(3);
    let behind = 3 - leader;
    rig.cut_off(behind);
    let producer = rig.connect(leader);
    rig.push(leader, producer, 1, 0);
    assert!(matches!(rig.answer(leader, producer, 1), Response::Pushed(_)), "the wrong one has it, too");
    rig.kill(leader);
    rig.join(behind);
    rig.nodes.get_mut(&behind).expect("a node").notices.clear();
    let next = rig.wait("another leads", 15_000, |rig| rig.leader().filter(|next| *next == behind));
    let client = rig.connect(next);
    let Response::Stats(stats) = rig.ask(next, client, 2, Request::Stats) else { panic!("it serves") };
    assert_eq!(stats.totals.ready, 1, "what was acknowledged is there");
}
