//! `kill -9` at any moment, again and again, on the real binary under load: what was acknowledged stays.
//!
//! One thread per round speaks for a producer, another for a consumer. The process is killed after a number of
//! acknowledgements that comes from a seed, with more of both kinds under way. (The system's page cache survives
//! such a kill: what a power cut would leave is another test's matter.)

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use adjourn::protocol::{NewJob, Push, PushResult, Request, RequestId, Reserve, Response};
use adjourn::types::JobId;
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use super::server_rig::{Process, Raw, topic};

const ROUNDS: usize = 50;
const ACKNOWLEDGEMENTS_MAX: usize = 4000;
const PUSHES_IN_FLIGHT: usize = 64;

/// What a client has seen; the test's ledger takes it in.
enum Seen {
    Pushed(JobId),
    Delivered(JobId),
    /// The FINISH is on its way: from now on the job may be gone.
    Finishing(Vec<JobId>),
    Finished(Vec<JobId>),
}

#[derive(Default)]
struct Ledger {
    pushed: BTreeSet<JobId>,
    finishing: BTreeSet<JobId>,
    finished: BTreeSet<JobId>,
    deliveries: BTreeMap<JobId, u32>,
}

impl Ledger {
    /// Takes in what was seen and says how many acknowledgements it is.
    fn note(&mut self, seen: Seen) -> usize {
        match seen {
            Seen::Pushed(job) => {
                assert!(self.pushed.insert(job), "the id {job:?} was given out twice");
                1
            }
            Seen::Delivered(job) => {
                assert!(!self.finished.contains(&job), "{job:?} was finished, and came back");
                *self.deliveries.entry(job).or_default() += 1;
                0
            }
            Seen::Finishing(jobs) => {
                self.finishing.extend(jobs);
                0
            }
            Seen::Finished(jobs) => {
                let acknowledgements = jobs.len();
                self.finished.extend(jobs);
                acknowledgements
            }
        }
    }
}

#[test]
fn whatever_was_acknowledged_survives_fifty_kills() {
    let data = tempfile::tempdir().expect("a directory");
    let mut ledger = Ledger::default();
    let mut dice = TestRng::from_seed(RngAlgorithm::ChaCha, &[50; 32]);
    for round in 0..ROUNDS {
        let server = Process::start(data.path(), &["--session-grace-ms", "0"]);
        let until = 1 + dice.next_u32() as usize % ACKNOWLEDGEMENTS_MAX;
        under_load(server, round, until, &mut ledger);
    }
    let server = Process::start(data.path(), &["--session-grace-ms", "0"]);
    let left = drain(server.address, &mut ledger);
    let lost: Vec<_> =
        ledger.pushed.iter().filter(|job| !left.contains(job) && !ledger.finishing.contains(job)).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    assert!(ledger.finished.len() > ROUNDS, "the consumers did nothing");
    assert!(ledger.deliveries.len() >= ledger.finished.len());
    assert_eq!(server.terminate().code(), Some(0));
}

/// Loads the server until so many acknowledgements were seen, kills it, and notes what else was seen before
/// the connections broke.
fn under_load(server: Process, round: usize, until: usize, ledger: &mut Ledger) {
    let (sender, seen) = mpsc::channel();
    let [producer, consumer] = [(); 2].map(|()| Raw::greeted(server.address));
    let clients = [
        thread::spawn({
            let sender = sender.clone();
            move || produce(producer, round, &sender)
        }),
        thread::spawn(move || consume(consumer, &sender)),
    ];
    let mut acknowledgements = 0;
    while acknowledgements < until {
        acknowledgements += ledger.note(seen.recv().expect("a client that is alive"));
    }
    server.kill();
    note_rest(&seen, ledger);
    for client in clients {
        client.join().expect("a client without complaint");
    }
}

fn note_rest(seen: &Receiver<Seen>, ledger: &mut Ledger) {
    for seen in seen {
        ledger.note(seen);
    }
}

/// Pushes jobs, many in flight, until the connection breaks.
fn produce(mut client: Raw, round: usize, seen: &Sender<Seen>) {
    let some = |number: usize| -> Vec<Request> {
        let job = |at: usize| NewJob::new(format!("{round}/{number}/{at}")).after(at as u64 % 3);
        let push = |at| Push { topic: topic("kill"), sequence: 0, jobs: vec![job(at)] };
        (0..PUSHES_IN_FLIGHT / 2).map(|at| Request::Push(push(at))).collect()
    };
    let mut in_flight = 0;
    for number in 0.. {
        let requests = some(number);
        if client.send(&requests).is_none() {
            return;
        }
        in_flight += requests.len();
        while in_flight > PUSHES_IN_FLIGHT / 2 {
            let Some((_, response)) = client.receive() else { return };
            let Response::Pushed(results) = response else { panic!("{response:?}") };
            in_flight -= 1;
            for result in results {
                let PushResult::Pushed(job) = result else { panic!("{result:?}") };
                let _ = seen.send(Seen::Pushed(job));
            }
        }
    }
}

/// Reserves jobs and finishes them, a reserve ahead of the finish, until the connection breaks.
fn consume(mut client: Raw, seen: &Sender<Seen>) {
    let reserve = || Request::Reserve(Reserve { topics: vec![topic("kill")], jobs_max: 16, wait_ms: 60_000 });
    if client.send(&[reserve()]).is_none() {
        return;
    }
    let mut finishing: BTreeMap<RequestId, Vec<JobId>> = BTreeMap::new();
    while let Some((id, response)) = client.receive() {
        match response {
            Response::Reserved(jobs) => {
                assert!(!jobs.is_empty(), "nothing came for a minute, although somebody pushes");
                let leases: Vec<_> = jobs.iter().map(|job| job.lease).collect();
                let ids: Vec<_> = leases.iter().map(|lease| lease.job).collect();
                for id in &ids {
                    let _ = seen.send(Seen::Delivered(*id));
                }
                let _ = seen.send(Seen::Finishing(ids.clone()));
                let Some(sent) = client.send(&[Request::Finish { leases }, reserve()]) else { return };
                finishing.insert(sent, ids);
            }
            Response::Settled(results) => {
                let jobs = finishing.remove(&id).expect("asked for");
                let done = jobs.into_iter().zip(results).filter(|(_, result)| result.is_ok());
                let _ = seen.send(Seen::Finished(done.map(|(job, _)| job).collect()));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Finishes everything that is left, and names it.
fn drain(address: SocketAddr, ledger: &mut Ledger) -> BTreeSet<JobId> {
    let mut client = Raw::greeted(address);
    let mut left = BTreeSet::new();
    loop {
        let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
        let totals = stats.totals;
        if totals.delayed + totals.ready + totals.reserved == 0 {
            return left;
        }
        let reserve = Reserve { topics: vec![topic("kill")], jobs_max: 1024, wait_ms: 1000 };
        let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
        let leases: Vec<_> = jobs.iter().map(|job| job.lease).collect();
        for lease in &leases {
            ledger.note(Seen::Delivered(lease.job));
            assert!(left.insert(lease.job), "{:?} came twice under a live lease", lease.job);
        }
        if !leases.is_empty() {
            assert!(matches!(client.ask(Request::Finish { leases }), Response::Settled(_)));
        }
    }
}
