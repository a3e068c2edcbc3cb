//! Replicas of one cluster, in the cases that decide who leads and who is told what: clocks that differ, disks that hang,
//! leadership that moves or is lost.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

#[path = "../sim/copied.rs"]
mod copied;
mod disk;
mod history;
mod levels;
mod lost_state;
mod rig;
mod schedules;
mod set_clocks;
mod state_trust;

use adjourn_protocol::{
    Applied, ErrorCode, ErrorReply, JobRef, NewJob, PushResult, Request, RequestId, Reserve, Response, Role,
    Subscribe,
};
use adjourn_replica::{ConnectionId, Input, Notice};
use adjourn_types::{FEATURE_LEVEL, JobId};

use rig::{KNOWN_ONLY, Rig, client_address, refusal};

fn serves(rig: &mut Rig, node: u64) -> bool {
    let connection = rig.connect(node);
    rig.push(node, connection, 1, 0);
    matches!(rig.answer(node, connection, 1), Response::Pushed(_))
}

/// How often each of the nodes laid leadership down.
fn lost(rig: &Rig) -> usize {
    let lost = |notice: &&Notice| matches!(notice, Notice::Following { .. });
    rig.nodes.values().map(|node| node.notices.iter().filter(lost).count()).sum()
}

#[test]
fn clocks_that_all_differ_stop_nobody() {
    let mut rig = Rig::of(&[0, 600, 1200]);
    let first = rig.elect();
    rig.pass(5_000);
    assert_eq!((rig.leader(), lost(&rig)), (Some(first), 0), "nobody's clock is better");
    rig.kill(first);
    let second = rig.elect_another(first);
    assert!(serves(&mut rig, second));
}

#[test]
fn a_clock_that_differs_from_a_majority_does_not_lead() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    rig.node(first).wall_ahead_ms = 60_000;
    let second = rig.elect_another(first);
    assert!(rig.node(first).notices.iter().any(|notice| matches!(notice, Notice::ClockOutside { .. })));
    assert!(serves(&mut rig, second));
}

#[test]
fn of_two_clocks_that_are_off_alike_none_takes_over_from_the_other() {
    let mut rig = Rig::of(&[0, 0, 0, 0, 0]);
    let first = rig.elect();
    let also_wrong = first % 5 + 1;
    rig.pass(1_500);
    rig.node(also_wrong).wall_ahead_ms = 60_000;
    rig.pass(1_500);
    rig.node(first).wall_ahead_ms = 60_000;
    let second = rig.elect_another(first);
    assert!(second != also_wrong && serves(&mut rig, second));
}

#[test]
fn of_two_clocks_that_are_off_each_in_its_way_none_leads() {
    let mut rig = Rig::of(&[0, 0, 0, 0, 0]);
    let first = rig.elect();
    let also_wrong = if first == 5 { 4 } else { 5 };
    rig.pass(1_500);
    rig.node(also_wrong).wall_ahead_ms = -120_000;
    rig.pass(1_500);
    rig.node(first).wall_ahead_ms = -60_000;
    let second = rig.elect_another(first);
    assert!(second != also_wrong && serves(&mut rig, second));
}

#[test]
fn a_leader_whose_disk_hangs_gives_way() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    let connection = rig.connect(first);
    rig.node(first).hangs = true;
    rig.push(first, connection, 1, 0);
    let second = rig.elect_another(first);
    let told = refusal(rig.answer(first, connection, 1));
    assert_eq!((told.code, told.applied), (ErrorCode::NotLeader, Applied::Unknown));
    assert_eq!(told.leader, Some(client_address(second)));
    assert!(serves(&mut rig, second));
    rig.pass(3_000);
    assert_eq!(rig.leader(), Some(second), "it does not come back while its disk hangs");
    rig.node(first).hangs = false;
    rig.pass(1_000);
    rig.kill(second);
    let third = rig.elect_another(second);
    assert!(serves(&mut rig, third));
}

/// A session ends while a reserve of its is on its way; then its node is cut off, and lays leadership down.
fn an_end_behind_a_reserve(rig: &mut Rig) -> u64 {
    let first = rig.elect();
    let (producer, consumer) = (rig.connect(first), rig.connect(first));
    rig.push(first, producer, 1, 0);
    rig.answer(first, producer, 1);
    rig.cut_off(first);
    rig.hand_request(first, consumer, 1, subscribe());
    rig.poll(first);
    rig.hand_request(first, consumer, 2, Request::Goodbye);
    let second = rig.elect_another(first);
    rig.wait("it notices", 2_000, |rig| {
        rig.nodes[&first]
            .notices
            .iter()
            .rev()
            .find(|notice| matches!(notice, Notice::Following { .. }))
            .map(drop)
    });
    assert_eq!(refusal(rig.answer(first, consumer, 2)).applied, Applied::No);
    rig.cut.clear();
    assert!(serves(rig, second));
    first
}

#[test]
fn a_stop_ends_after_leadership_was_lost_with_an_end_of_a_session_waiting() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = an_end_behind_a_reserve(&mut rig);
    rig.hand(first, Input::Stop);
    rig.wait("the stop ends", 2_000, |rig| rig.nodes[&first].stopped.then_some(()));
}

/// Its disk has still to write what the leader said, and gets more as long as there is load.
#[test]
fn a_follower_stops_though_its_disk_is_busy() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    let follower = first % 3 + 1;
    rig.node(follower).hangs = true;
    assert!(serves(&mut rig, first));
    rig.hand(follower, Input::Stop);
    rig.wait("the stop ends", 1_000, |rig| rig.nodes[&follower].stopped.then_some(()));
}

/// A reserve that waits for a minute.
fn reserve() -> Request {
    Request::Reserve(Reserve {
        topics: vec!["jobs".parse().expect("a name")],
        jobs_max: 1,
        wait_ms: 60_000,
        weights: Vec::new(),
    })
}

fn subscribe() -> Request {
    let topics = vec!["jobs".parse().expect("a name")];
    Request::Subscribe(Subscribe { topics, credit_jobs: 9, credit_bytes: 1 << 20, weights: Vec::new() })
}

/// The one job of the queue that `leader` leads comes when more than `after_ms` have passed, and at most `until_ms`.
fn delivers_between(rig: &mut Rig, leader: u64, after_ms: u64, until_ms: u64) {
    let consumer = rig.connect(leader);
    rig.hand_request(leader, consumer, 1, reserve());
    rig.pass(after_ms);
    assert_eq!(rig.answered(leader, consumer, 1), None);
    rig.pass(until_ms - after_ms);
    let answered = rig.answered(leader, consumer, 1);
    assert!(matches!(&answered, Some(Response::Reserved(jobs)) if jobs.len() == 1), "{answered:?}");
}

/// The last words of a node on a connection: an error for this request, and that the connection ends, as it does.
fn last_words(rig: &Rig, node: u64, connection: ConnectionId, id: u32) -> ErrorReply {
    let said = rig.said(node, connection);
    let [.., (to, Response::Error(error)), (RequestId(0), Response::GoingAway { .. })] = &said[..] else {
        panic!("{said:?}")
    };
    let errors = said.iter().filter(|(_, response)| matches!(response, Response::Error(_)));
    assert_eq!((*to, errors.count()), (RequestId(id), 1), "{said:?}");
    assert!(rig.nodes[&node].closed.contains(&connection));
    error.clone()
}

#[test]
fn a_step_down_says_at_once_who_leads() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    rig.pass(500);
    let (operator, consumer, standing) = (rig.connect(first), rig.connect(first), rig.connect(first));
    rig.hand_request(first, consumer, 1, reserve());
    let subscribed = rig.ask(first, standing, 2, subscribe());
    assert!(matches!(subscribed, Response::Subscribed), "{subscribed:?}");
    let second = first % 3 + 1;
    let done = rig.ask(first, operator, 3, Request::ClusterTransfer { node: second });
    assert!(matches!(done, Response::Done), "{done:?}");
    for (connection, waited_for) in [(consumer, 1), (standing, 2)] {
        let told = last_words(&rig, first, connection, waited_for);
        let expected = (ErrorCode::NotLeader, Applied::No, Some(client_address(second)));
        assert_eq!((told.code, told.applied, told.leader), expected);
    }
    rig.wait("it leads", 100, |rig| rig.leader().filter(|leader| *leader == second));
}

#[test]
fn leadership_is_not_handed_to_a_member_that_is_down() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    let second = first % 3 + 1;
    rig.kill(second);
    rig.pass(1_500);
    let operator = rig.connect(first);
    rig.hand_request(first, operator, 1, Request::ClusterTransfer { node: second });
    rig.push(first, operator, 2, 0);
    rig.pass(50);
    let pushed = rig.answered(first, operator, 2);
    assert!(matches!(pushed, Some(Response::Pushed(_))), "nobody waits for it: {pushed:?}");
    let told = refusal(rig.answer(first, operator, 1));
    assert_eq!((told.code, told.applied), (ErrorCode::Invalid, Applied::No));
    assert!(told.message.contains(&format!("node {second} is down")), "{told}");
    rig.start(second);
    rig.pass(500);
    let done = rig.ask(first, operator, 3, Request::ClusterTransfer { node: second });
    assert!(matches!(done, Response::Done), "{done:?}");
}

#[test]
fn leadership_that_is_lost_was_not_handed_over() {
    for steps in 0..20 {
        let mut rig = Rig::of(&[0, 0, 0]);
        let first = rig.elect();
        let operator = rig.connect(first);
        rig.pass(500);
        rig.cut_off(first);
        rig.pass(5 * steps);
        rig.hand_request(first, operator, 1, Request::ClusterTransfer { node: first % 3 + 1 });
        let told = refusal(rig.answer(first, operator, 1));
        assert!(matches!(told.code, ErrorCode::Busy | ErrorCode::NoLeader), "{told}");
    }
}

#[test]
fn a_member_that_answers_is_up_at_any_moment() {
    for ticks in 0..24 {
        let mut rig = Rig::of(&[0, 0, 0]);
        let first = rig.elect();
        let operator = rig.connect(first);
        rig.pass(500 + 25 * ticks);
        let done = rig.ask(first, operator, 1, Request::ClusterTransfer { node: 0 });
        assert!(matches!(done, Response::Done), "after {ticks} half ticks: {done:?}");
    }
}

/// What there is to read, of the queue's only job.
fn reads(job: JobId) -> [Request; 4] {
    let topic = || "jobs".parse().expect("a name");
    [Request::Get(JobRef::Id(job)), Request::Peek { topic: topic() }, Request::Topics, Request::Stats]
}

#[test]
fn a_leader_that_was_followed_while_it_was_paused_shows_nothing() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    let reader = rig.connect(first);
    rig.push(first, reader, 1, 0);
    let Response::Pushed(results) = rig.answer(first, reader, 1) else { panic!("it leads") };
    let [PushResult::Pushed(job)] = results[..] else { panic!("{results:?}") };
    rig.pass(1_000);
    rig.cut_off(first);
    rig.paused.insert(first);
    let second = rig.elect_another(first);
    let operator = rig.connect(second);
    let deleted = rig.ask(second, operator, 1, Request::Delete(JobRef::Id(job)));
    assert!(matches!(deleted, Response::Changed { .. }), "{deleted:?}");
    rig.paused.clear();
    for (id, request) in (2..).zip(reads(job)) {
        rig.hand_request(first, reader, id, request);
    }
    rig.pass(2_000);
    for id in 2..6 {
        let told = refusal(rig.answered(first, reader, id).expect("an answer"));
        assert!(matches!(told.code, ErrorCode::NotLeader | ErrorCode::NoLeader), "{told}");
    }
}

#[test]
fn a_start_goes_by_the_last_members_that_must_be_committed() {
    let mut rig = Rig::of(&[0, 0, 0]);
    rig.elect();
    rig.kill(1);
    rig.cut_off(1);
    let node = rig.node(1);
    // That it was alone, and no further: its disk did not come to write that the others are members.
    node.commit_known = Some(2);
    node.notices.clear();
    rig.start(1);
    rig.pass(3_000);
    let leads = |notice: &Notice| matches!(notice, Notice::Leading { .. });
    assert!(!rig.node(1).notices.iter().any(leads), "it has elected itself");
}

#[test]
fn a_node_that_comes_back_with_a_wrong_clock_brings_nothing_forward() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    let connection = rig.connect(first);
    rig.push(first, connection, 1, 30_000);
    rig.answer(first, connection, 1);
    rig.pass(1_000);
    let (second, third) = (first % 3 + 1, (first + 1) % 3 + 1);
    (1..=3).for_each(|node| rig.kill(node));
    rig.node(third).wall_ahead_ms = 3_600_000;
    rig.start(third);
    rig.pass(900);
    rig.start(second);
    assert_eq!(rig.elect_another(first), third, "it began to wait sooner");
    delivers_between(&mut rig, third, 25_000, 30_000);
}

#[test]
fn a_member_that_lacks_entries_brings_nothing_forward() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    let (second, third) = (first % 3 + 1, (first + 1) % 3 + 1);
    rig.pass(1_000);
    rig.cut_off(third);
    // The restarted nodes do not know how much time has passed. The one that was cut off does.
    (1..=3).for_each(|node| rig.node(node).wall_ahead_ms = -3_600_000);
    let restart = |rig: &mut Rig, down_ms| {
        rig.kill(first);
        rig.kill(second);
        rig.pass(down_ms);
        for node in [first, second] {
            rig.node(node).notices.clear();
            rig.start(node);
        }
    };
    restart(&mut rig, 8_000);
    let leader = rig.elect();
    let connection = rig.connect(leader);
    rig.push(leader, connection, 1, 6_000);
    rig.answer(leader, connection, 1);
    rig.pass(500);
    restart(&mut rig, 0);
    rig.join(third);
    let leader = rig.elect();
    delivers_between(&mut rig, leader, 2_000, 7_000);
}

/// Who votes, as this node knows it.
fn voters(rig: &mut Rig, node: u64) -> Vec<u64> {
    let connection = rig.connect(node);
    let answer = rig.ask(node, connection, 1, Request::ClusterStatus);
    let Response::Cluster(report) = answer else { panic!("{answer:?}") };
    let voters = report.members.iter().filter(|member| member.role != Role::Learner);
    voters.map(|member| member.node).collect()
}

/// What an operator is told who asks this leader for a removal that cannot be. Nothing comes of it.
fn refused_removal(rig: &mut Rig, leader: u64, node: u64) -> String {
    let (voted, lost_before) = (voters(rig, leader), lost(rig));
    let operator = rig.connect(leader);
    let told = refusal(rig.ask(leader, operator, 1, Request::ClusterRemove { node }));
    assert_eq!((told.code, told.applied), (ErrorCode::Invalid, Applied::No), "{told}");
    rig.pass(2_000);
    assert_eq!((rig.leader(), lost(rig)), (Some(leader), lost_before));
    assert_eq!(voters(rig, leader), voted);
    assert!(serves(rig, leader));
    told.message
}

#[test]
fn the_only_member_is_not_removed() {
    let mut rig = Rig::of(&[0]);
    let leader = rig.elect();
    let told = refused_removal(&mut rig, leader, leader);
    assert!(told.contains(&format!("node {leader} is the only one that votes: add another")), "{told}");
}

#[test]
fn the_leader_is_not_removed_before_another_leads() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    rig.pass(500);
    let told = refused_removal(&mut rig, first, first);
    assert!(told.contains(&format!("node {first} leads: move leadership first")), "{told}");
    let operator = rig.connect(first);
    let done = rig.ask(first, operator, 1, Request::ClusterTransfer { node: 0 });
    assert!(matches!(done, Response::Done), "{done:?}");
    let second = rig.elect_another(first);
    rig.pass(500);
    let operator = rig.connect(second);
    let done = rig.ask(second, operator, 1, Request::ClusterRemove { node: first });
    assert!(matches!(done, Response::Done), "{done:?}");
    assert!(!voters(&mut rig, second).contains(&first) && serves(&mut rig, second));
}

#[test]
fn a_removal_that_leaves_no_majority_is_refused() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let leader = rig.elect();
    let (up, down) = (leader % 3 + 1, (leader + 1) % 3 + 1);
    rig.kill(down);
    rig.pass(1_500);
    let told = refused_removal(&mut rig, leader, up);
    assert!(told.contains(&format!("without node {up}, 1 of 2 voters are up")), "{told}");
    for node in [down, up] {
        let operator = rig.connect(leader);
        let done = rig.ask(leader, operator, 1, Request::ClusterRemove { node });
        assert!(matches!(done, Response::Done), "first that which is down, as it was told: {done:?}");
    }
    assert_eq!(voters(&mut rig, leader), [leader]);
    assert!(serves(&mut rig, leader));
}

#[test]
fn a_node_that_is_known_and_never_was_a_member_can_be_removed() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let leader = rig.elect();
    let operator = rig.connect(leader);
    let done = rig.ask(leader, operator, 2, Request::ClusterRemove { node: KNOWN_ONLY });
    assert!(matches!(done, Response::Done), "{done:?}");
    let again = refusal(rig.ask(leader, operator, 3, Request::ClusterRemove { node: KNOWN_ONLY }));
    assert!(again.message.contains("is not a member"), "{again}");
}

#[test]
fn who_cannot_do_what_the_cluster_does_ends() {
    let mut rig = Rig::of(&[0, 0, 0]);
    rig.kill(3);
    let leader = rig.elect();
    rig.node(3).feature_level_max = FEATURE_LEVEL - 1;
    rig.start(3);
    let error = rig.wait("it notices", 10_000, |rig| rig.nodes[&3].failed.as_ref().map(ToString::to_string));
    assert!(error.contains(&format!("the cluster is at feature level {FEATURE_LEVEL}")), "{error}");
    assert!(serves(&mut rig, leader));
}

/// Three voters. The third is down, and lacks entries that the others' logs do not have any more. Returns who leads, the
/// second and the third.
fn one_far_behind() -> (Rig, u64, u64, u64) {
    let mut rig = Rig::taking_checkpoints(3, 512);
    let first = rig.elect();
    let (second, third) = (first % 3 + 1, (first + 1) % 3 + 1);
    rig.kill(third);
    rig.pass(1_500);
    let producer = rig.connect(first);
    for id in 1..=30 {
        rig.push_jobs(first, producer, id, vec![NewJob::new(vec![1; 1_000])]);
        rig.answer(first, producer, id);
    }
    rig.pass(500);
    (rig, first, second, third)
}

/// Starts a node that is offered a checkpoint and receives none of it.
fn start_to_fetch(rig: &mut Rig, node: u64) {
    rig.node(node).fetches_hang = true;
    rig.start(node);
    rig.wait("it is offered a checkpoint", 3_000, |rig| rig.nodes[&node].fetch);
    rig.node(node).fetches_hang = false;
}

#[test]
fn a_member_that_was_restarted_is_offered_the_checkpoint_anew() {
    let (mut rig, first, second, third) = one_far_behind();
    start_to_fetch(&mut rig, third);
    rig.kill(third);
    rig.start(third);
    rig.kill(second);
    assert!(serves(&mut rig, first), "nothing is committed without the third");
}

#[test]
fn a_leader_that_does_not_serve_yet_offers_the_checkpoint_anew() {
    let (mut rig, first, second, third) = one_far_behind();
    rig.kill(first);
    start_to_fetch(&mut rig, third);
    rig.kill(third);
    rig.start(third);
    assert_eq!(rig.elect_another(first), second);
    assert!(serves(&mut rig, second), "its first entry waits for the third");
}

#[test]
fn a_member_whose_word_that_it_has_the_checkpoint_is_lost_goes_on() {
    let (mut rig, first, second, third) = one_far_behind();
    start_to_fetch(&mut rig, third);
    rig.pass(5);
    rig.cut.insert((third, first));
    rig.pass(100);
    rig.cut.clear();
    rig.kill(second);
    assert!(serves(&mut rig, first), "nothing is committed without the third");
}

#[test]
fn a_leader_that_was_followed_answers_no_ping_of_a_session() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let first = rig.elect();
    let connection = rig.connect(first);
    assert!(matches!(rig.ask(first, connection, 1, Request::Ping), Response::Pong { .. }));
    let follower = first % 3 + 1;
    let stranger = rig.open(follower);
    assert!(matches!(rig.ask(follower, stranger, 1, Request::Ping), Response::Pong { .. }), "it lives");
    rig.cut_off(first);
    rig.hand_request(first, connection, 2, Request::Ping);
    rig.elect_another(first);
    let refused = refusal(rig.answer(first, connection, 2));
    assert_eq!(refused.code, ErrorCode::NoLeader);
}
