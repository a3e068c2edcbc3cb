//! Clients that take nothing of what they are sent: what that takes of the node's memory, and what others notice.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjourn_protocol::{JobRef, Request, Response, Subscribe};
use adjourn_replica::{Arrival, ConnectionId, Input};
use adjourn_types::{Access, JobId, SessionSecret};

use super::rig::{Rig, hello, jobs};

/// Connections of one token that read nothing.
const SILENT: u64 = 60;
/// A job's body.
const BODY_BYTES: usize = 200 << 10;
/// Jobs that wait: several times what the node has memory for.
const JOBS: u32 = 250;

fn arrive(rig: &mut Rig, number: u64, token: &str) -> ConnectionId {
    let access = Arc::new(Access { token: token.to_owned(), ..Access::open() });
    let arrival = Arrival { access, ..Arrival::open(SessionSecret([3; 16]), "10.0.0.9:1") };
    let client = rig.open_as(number, arrival);
    rig.ask(client, 0, Request::Hello(hello()));
    rig.settle();
    client
}

fn subscribe(rig: &mut Rig, client: ConnectionId) {
    let (topics, weights) = (jobs(), Vec::new());
    let subscribe = Subscribe { topics, credit_jobs: 1_000, credit_bytes: 64 << 20, weights };
    rig.ask(client, 1, Request::Subscribe(subscribe));
    rig.settle();
}

/// How many jobs were delivered to these.
fn delivered(rig: &Rig, to: impl Fn(ConnectionId) -> bool) -> usize {
    let of = |answer: &Response| if let Response::Deliver(jobs) = answer { jobs.len() } else { 0 };
    rig.answers.iter().filter(|(client, ..)| to(*client)).map(|(.., answer)| of(answer)).sum()
}

/// Lets the replica go on as often as it wants to at once.
fn run(rig: &mut Rig, given_back: &AtomicBool) {
    loop {
        rig.poll();
        rig.settle();
        if !given_back.swap(false, Ordering::Relaxed) {
            break;
        }
        rig.replica.handle(rig.at, Input::MemoryGivenBack);
    }
}

#[test]
fn subscribers_that_read_nothing_take_their_share_of_memory_and_no_more() {
    let mut rig = Rig::new();
    let given_back = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&given_back);
    rig.account.when_given_back(move || told.store(true, Ordering::Relaxed));
    let producer = arrive(&mut rig, 100, "producer");
    let silent: Vec<ConnectionId> = (1..=SILENT).map(|number| arrive(&mut rig, number, "silent")).collect();
    let reader = arrive(&mut rig, 101, "reader");
    rig.unwritten = Some(Vec::new());
    for client in &silent {
        subscribe(&mut rig, *client);
    }
    for job in 0..JOBS {
        rig.push(producer, 1 + job, "jobs", BODY_BYTES);
        run(&mut rig, &given_back);
    }
    let is_silent = |client: ConnectionId| client.0 <= SILENT;
    let taken = rig.account.taken();
    let shown = delivered(&rig, is_silent);
    assert!(shown > 0 && shown * BODY_BYTES <= taken, "{shown} jobs in {taken} bytes");
    assert!(taken <= rig.account.bytes_max() / 2, "{taken} bytes: others have room");
    // One of them asks for more, and waits; others are served.
    rig.ask(silent[0], 9, Request::Get(JobRef::Id(JobId(1))));
    assert!(!rig.is_answered(silent[0], 9));
    subscribe(&mut rig, reader);
    run(&mut rig, &given_back);
    assert!(delivered(&rig, |client| client == reader) > 0);
    let other = arrive(&mut rig, 102, "other");
    rig.ask(other, 9, Request::Get(JobRef::Id(JobId(1))));
    assert!(matches!(rig.answer(other, 9), Response::Job(_)));
    // They read, and get all the jobs that there are.
    rig.unwritten = None;
    for client in silent.iter().chain([&reader]) {
        rig.take(*client, 1 << 30);
    }
    run(&mut rig, &given_back);
    while delivered(&rig, |_| true) < JOBS as usize {
        let before = delivered(&rig, |_| true);
        for client in silent.iter().chain([&reader]) {
            rig.take(*client, 1 << 30);
        }
        run(&mut rig, &given_back);
        assert!(delivered(&rig, |_| true) > before, "{before} of {JOBS} jobs were delivered");
    }
    assert!(rig.is_answered(silent[0], 9));
    assert_eq!(rig.account.taken(), 0);
}
