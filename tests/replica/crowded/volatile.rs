//! Leases that end with their connection: only what grants them may be lost.

use adjourn_protocol::{JobRef, NewJob, Push, Request, Reserve, Response, TopicSet};
use adjourn_replica::{Arrival, ConnectionId};
use adjourn_types::{Late, LateAction, Lease, PolicyChange, SessionSecret, TopicPolicy, When};

use super::rig::{Rig, hello, jobs};

fn rig() -> (Rig, [ConnectionId; 3]) {
    let mut rig = Rig::new();
    let [producer, other] = [1, 2].map(|number| rig.connect(number));
    let arrival = Arrival { volatile_leases: true, ..Arrival::open(SessionSecret([4; 16]), "10.0.0.8:1") };
    let caller = rig.open_as(3, arrival);
    rig.ask(caller, 0, Request::Hello(hello()));
    rig.settle();
    assert!(rig.volatile.is_empty(), "its session is as durable as any");
    (rig, [producer, other, caller])
}

fn reserve(wait_ms: u64) -> Request {
    Request::Reserve(Reserve { topics: jobs(), jobs_max: 1, wait_ms, weights: Vec::new() })
}

#[track_caller]
fn lease(rig: &Rig, connection: ConnectionId, id: u32) -> Lease {
    match rig.answer(connection, id) {
        Response::Reserved(jobs) => jobs.first().expect("a job").lease,
        other => panic!("{other:?}"),
    }
}

/// Whether the order that this request leads to may be lost; it is carried out then.
#[track_caller]
fn may_be_lost(rig: &mut Rig, connection: ConnectionId, id: u32, request: Request) -> bool {
    assert!(rig.orders.is_empty(), "nothing is under way");
    rig.ask(connection, id, request);
    let [order] = *rig.orders.make_contiguous() else { panic!("{:?}", rig.orders) };
    rig.settle();
    rig.volatile.contains(&order)
}

#[test]
fn a_reserve_may_be_lost_and_nothing_else() {
    let (mut rig, [producer, other, caller]) = rig();
    for id in 1..=4 {
        rig.push(producer, id, "jobs", 1);
        rig.settle();
    }
    assert!(may_be_lost(&mut rig, caller, 1, reserve(0)));
    let held = lease(&rig, caller, 1);
    assert!(!may_be_lost(&mut rig, other, 1, reserve(0)), "a lease that others know of");
    assert!(may_be_lost(&mut rig, caller, 2, reserve(1000)));
    let job = rig.pushed(producer, 4);
    assert!(
        !may_be_lost(&mut rig, caller, 3, Request::ReserveJob(JobRef::Id(job))),
        "it may have been buried"
    );
    let touch = Request::Touch { leases: vec![held], ttr_ms: None };
    assert!(!may_be_lost(&mut rig, caller, 4, touch));
    assert!(!may_be_lost(&mut rig, caller, 5, Request::Finish { leases: vec![held] }));
    assert!(!may_be_lost(&mut rig, caller, 6, Request::Goodbye), "the jobs that it gives back");
}

#[test]
fn an_entry_with_another_command_is_not_lost() {
    let (mut rig, [producer, _, caller]) = rig();
    // What gathers while the disk is busy is one entry.
    rig.push(producer, 1, "jobs", 1);
    rig.settle();
    rig.push(producer, 2, "other", 1);
    rig.push(producer, 3, "other", 1);
    rig.ask(caller, 1, reserve(0));
    rig.push(producer, 4, "other", 1);
    rig.settle();
    assert_eq!(lease(&rig, caller, 1).job, rig.pushed(producer, 1));
    assert!(rig.volatile.is_empty());
    // So are a job and the reserve that waited for it.
    rig.ask(caller, 2, reserve(10_000));
    rig.push(producer, 5, "jobs", 1);
    rig.settle();
    assert_eq!(lease(&rig, caller, 2).job, rig.pushed(producer, 5));
    assert!(rig.volatile.is_empty());
}

#[test]
fn an_entry_in_which_time_moves_jobs_is_not_lost() {
    let (mut rig, [producer, _, caller]) = rig();
    let mut job = NewJob::new("x");
    job.due = When::After(50);
    let push = Push { topic: jobs().remove(0), sequence: 0, jobs: vec![job], idempotency: None };
    rig.ask(producer, 1, Request::Push(push));
    rig.settle();
    rig.ask(caller, 1, reserve(10_000));
    assert!(!rig.is_answered(caller, 1), "it is not due");
    rig.pass(60);
    rig.settle();
    assert_eq!(lease(&rig, caller, 1).job, rig.pushed(producer, 1));
    assert!(rig.volatile.is_empty());
}

#[test]
fn a_job_that_could_be_late_after_a_crash_is_not_lost() {
    let (mut rig, [producer, other, caller]) = rig();
    let set =
        TopicPolicy { late: Some(Late { after_ms: 1000, then: LateAction::Drop }), ..TopicPolicy::default() };
    let change = Box::new(PolicyChange { set, ..PolicyChange::default() });
    rig.ask(other, 1, Request::TopicSet(TopicSet { topic: jobs().remove(0), change }));
    rig.settle();
    rig.push(producer, 1, "jobs", 1);
    rig.settle();
    assert!(!may_be_lost(&mut rig, caller, 1, reserve(0)));
}
