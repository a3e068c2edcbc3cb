//! `kill -9` at any moment, again and again, on the real binary under load: acknowledged data stays.
//!
//! One thread per round speaks for a producer, another for a consumer. The process is killed after a number of
//! acknowledgements that comes from a seed, with more of both kinds under way. (The system's page cache survives
//! such a kill: another test covers power cuts.)
//!
//! The producer numbers its pushes, in one session for all rounds: what had no answer is pushed again under its number, and so
//! is some of what had one. Each push makes one job.
//!
//! Some jobs are due in hours, and most of these are deleted after a while. Checkpoints come so often that each life has
//! some: kills hit them, and the cutting of the log and the writing anew of chunks that follow.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use adjourn_protocol::{
    ErrorCode, Hello, JobRef, NewJob, Push, PushResult, Request, RequestId, Reserve, Response, Resume,
};
use adjourn_types::JobId;
use bytes::Bytes;
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use super::server_rig::{Process, Raw, adjourn, hello, topic};

const SETTINGS: [&str; 6] =
    ["--session-grace-ms", "0", "--checkpoint-log-bytes", "65536", "--default-backoff", "none"];
const ROUNDS: usize = 50;
const ACKNOWLEDGEMENTS_MAX: usize = 4000;
const PUSHES_IN_FLIGHT: usize = 64;
/// So far ahead that a checkpoint takes the job out of memory.
const FAR_MS: u64 = 2 * 3_600_000;
/// One job in this many is spilled.
const FAR_EVERY: usize = 8;
/// One spilled job in this many stays. So half of each chunk is soon dead, and somebody needs the rest.
const STAYS_EVERY: usize = 4;
/// The number of other jobs that stay live: long enough for a checkpoint to take them.
const DOOMED_MAX: usize = 64;

/// The number of pushes answered last that are pushed again in the next round.
const REPEATED: usize = 16;

/// What becomes of a job.
#[derive(Clone)]
enum Fate {
    Runs,
    /// It is due in hours, and has this body.
    Stays(Bytes),
    /// The same, and it is deleted some time.
    IsDeleted(Bytes),
}

/// What a client has seen; the test's ledger takes it in.
enum Seen {
    Pushed(JobId, Fate),
    Delivered(JobId, Bytes),
    /// The FINISH or DELETE is on its way: from now on the job may be gone.
    Finishing(Vec<JobId>),
    Finished(Vec<JobId>),
}

#[derive(Default)]
struct Ledger {
    pushed: BTreeSet<JobId>,
    /// Those of them that are due in hours, with their bodies.
    spilled: BTreeMap<JobId, Bytes>,
    /// Those of these whose deletion has not begun.
    doomed: BTreeSet<JobId>,
    finishing: BTreeSet<JobId>,
    finished: BTreeSet<JobId>,
    deliveries: BTreeMap<JobId, u32>,
    /// The job of each body; no two bodies are alike.
    bodies: BTreeMap<Bytes, JobId>,
}

impl Ledger {
    /// Records an event and returns its number of acknowledgements.
    fn note(&mut self, seen: Seen) -> usize {
        match seen {
            Seen::Pushed(job, fate) => {
                assert!(self.pushed.insert(job), "the id {job:?} was given out twice");
                if let Fate::Stays(body) | Fate::IsDeleted(body) = &fate {
                    self.spilled.insert(job, body.clone());
                }
                if matches!(fate, Fate::IsDeleted(_)) {
                    self.doomed.insert(job);
                }
                1
            }
            Seen::Delivered(job, body) => {
                let first = *self.bodies.entry(body).or_insert(job);
                assert_eq!(first, job, "one push has made two jobs");
                assert!(!self.finished.contains(&job), "{job:?} was finished, and came back");
                *self.deliveries.entry(job).or_default() += 1;
                0
            }
            Seen::Finishing(jobs) => {
                for job in &jobs {
                    self.doomed.remove(job);
                }
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
    let mut pushes = Pushes { next: 1, ..Pushes::default() };
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[50; 32]);
    for round in 0..ROUNDS {
        let server = Process::start(data.path(), &SETTINGS);
        spilled_jobs(server.address, &ledger);
        let until = 1 + rng.next_u32() as usize % ACKNOWLEDGEMENTS_MAX;
        pushes = under_load(server, (round, pushes), until, &mut ledger);
    }
    let server = Process::start(data.path(), &SETTINGS);
    let mut left = spilled_jobs(server.address, &ledger);
    left.extend(drain(server.address, &mut ledger));
    let lost: Vec<_> =
        ledger.pushed.iter().filter(|job| !left.contains(job) && !ledger.finishing.contains(job)).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    assert!(pushes.repeated > ROUNDS, "only {} pushes were repeated that had an answer", pushes.repeated);
    let deleted = ledger.finished.iter().filter(|job| ledger.spilled.contains_key(job)).count();
    let run = ledger.finished.len() - deleted;
    assert!(run > ROUNDS && deleted > ROUNDS, "the clients did nothing: {run}, {deleted}");
    assert!(ledger.deliveries.len() >= run);
    assert_eq!(server.terminate().code(), Some(0));
    checkpoints_were_taken(data.path());
}

/// There were checkpoints in most lives, the log was cut behind them, and chunks were written anew.
fn checkpoints_were_taken(data: &Path) {
    let inspected = || -> serde_json::Value {
        let output = adjourn(&["inspect", "--json"]).arg(data).output().expect("the binary");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let found = inspected();
    let checkpoint = &found["checkpoint"];
    assert!(checkpoint["number"].as_u64() > Some(ROUNDS as u64), "{found}");
    assert_eq!(found["damage"], serde_json::json!([]));
    // Each chunk has a job that stays: so it is in place unless the server has written the job to another chunk.
    let chunks = checkpoint["chunks"].as_array().expect("a list");
    let number = |chunk: &serde_json::Value| {
        let name = chunk["name"].as_str().and_then(|name| name.strip_prefix("chunk-")).expect("a name");
        usize::from_str_radix(name, 16).expect("a number")
    };
    let [first, .., last] = &chunks[..] else { panic!("{found}") };
    assert!(number(first) > 1 && number(last) > 2 * chunks.len(), "{found}");
    // Without the manifest a log counts from its first entry on, if that is there.
    fs::remove_file(data.join("chunks/manifest")).expect("removed");
    let damage = inspected()["damage"].to_string();
    assert!(damage.contains("manifest"), "the log was not cut: {damage}");
}

/// Loads the server until this number of acknowledgements were seen, kills it, and records the other events seen before
/// the connections broke.
fn under_load(
    server: Process,
    (round, mut pushes): (usize, Pushes),
    until: usize,
    ledger: &mut Ledger,
) -> Pushes {
    let (sender, seen) = mpsc::channel();
    let (producer, consumer) = (pushes.resume(server.address), Raw::greeted(server.address));
    let doomed = ledger.doomed.iter().copied().collect();
    let producer = thread::spawn({
        let sender = sender.clone();
        move || {
            produce(producer, round, &mut pushes, doomed, &sender);
            pushes
        }
    });
    let consumer = thread::spawn(move || consume(consumer, &sender));
    let mut acknowledgements = 0;
    while acknowledgements < until {
        acknowledgements += ledger.note(seen.recv().expect("a client that is alive"));
    }
    server.kill();
    note_rest(&seen, ledger);
    consumer.join().expect("a client without complaint");
    producer.join().expect("a client without complaint")
}

fn note_rest(seen: &Receiver<Seen>, ledger: &mut Ledger) {
    for seen in seen {
        ledger.note(seen);
    }
}

/// What the producer knows of its pushes, whatever became of the server.
#[derive(Default)]
struct Pushes {
    session: Option<Resume>,
    /// The number of the next one.
    next: u64,
    /// Those without an answer, by their numbers.
    open: BTreeMap<u64, (Request, Fate)>,
    /// The last ones that were answered, and with which job.
    answered: VecDeque<(Request, JobId)>,
    /// How often one was repeated that had an answer.
    repeated: usize,
}

impl Pushes {
    /// Connects, and goes on with the session, if there is one.
    fn resume(&mut self, address: SocketAddr) -> Raw {
        let mut client = Raw::connect(address);
        let welcome = client.greet(Hello { resume: self.session, ..hello() });
        assert_eq!(welcome.resumed, self.session.is_some(), "the session outlives the process");
        self.session = welcome.resume();
        client
    }

    /// The requests to repeat, first of all.
    fn again(&self) -> (Vec<Request>, Vec<Sent>) {
        let answered = self.answered.iter().map(|(push, job)| (push.clone(), Sent::Again(*job)));
        let open = self.open.iter().map(|(number, (push, _))| (push.clone(), Sent::Push(*number)));
        answered.chain(open).unzip()
    }

    /// The next one of a round, and what becomes of its job.
    fn push(&mut self, round: usize, number: usize, at: usize) -> (Request, Sent) {
        let body = Bytes::from(format!("{round}/{number}/{at} {}", "x".repeat(300)));
        let (name, delay_ms, fate) = match at {
            at if !at.is_multiple_of(FAR_EVERY) => ("kill", at as u64 % 3, Fate::Runs),
            at if at.is_multiple_of(FAR_EVERY * STAYS_EVERY) => ("far", FAR_MS, Fate::Stays(body.clone())),
            at => ("far", FAR_MS + at as u64 * 60_000, Fate::IsDeleted(body.clone())),
        };
        let jobs = vec![NewJob::new(body).after(delay_ms)];
        let push = Request::Push(Push { topic: topic(name), sequence: self.next, jobs, idempotency: None });
        self.open.insert(self.next, (push.clone(), fate));
        self.next += 1;
        (push, Sent::Push(self.next - 1))
    }

    /// A push was answered; returns what becomes of its job.
    fn is_answered(&mut self, number: u64, job: JobId) -> Fate {
        let (push, fate) = self.open.remove(&number).expect("it was open");
        self.answered.push_back((push, job));
        self.answered.drain(..self.answered.len().saturating_sub(REPEATED));
        fate
    }
}

/// What a producer waits for the answer to.
#[derive(Clone, Copy)]
enum Sent {
    /// A push with this number.
    Push(u64),
    /// One that was answered with this job before.
    Again(JobId),
    Delete(JobId),
}

/// Pushes jobs, many in flight, and deletes the oldest of those that are to be deleted, until the connection breaks.
fn produce(
    mut client: Raw,
    round: usize,
    pushes: &mut Pushes,
    mut doomed: VecDeque<JobId>,
    seen: &Sender<Seen>,
) {
    let mut in_flight: BTreeMap<RequestId, Sent> = BTreeMap::new();
    for number in 0.. {
        let (mut requests, mut sent) = if number == 0 {
            pushes.again()
        } else {
            (0..PUSHES_IN_FLIGHT / 2).map(|at| pushes.push(round, number, at)).unzip()
        };
        let deleted: Vec<JobId> = doomed.drain(..doomed.len().saturating_sub(DOOMED_MAX)).collect();
        requests.extend(deleted.iter().map(|job| Request::Delete(JobRef::Id(*job))));
        sent.extend(deleted.iter().map(|job| Sent::Delete(*job)));
        let _ = seen.send(Seen::Finishing(deleted));
        let Some(RequestId(first)) = client.send(&requests) else { return };
        in_flight.extend((first..).map(RequestId).zip(sent));
        while in_flight.len() > PUSHES_IN_FLIGHT / 2 {
            let Some((id, response)) = client.receive() else { return };
            let sent = in_flight.remove(&id).expect("asked for");
            match (sent, response) {
                (Sent::Push(number), Response::Pushed(results)) => {
                    let [PushResult::Pushed(job)] = results[..] else { panic!("{results:?}") };
                    let fate = pushes.is_answered(number, job);
                    if matches!(fate, Fate::IsDeleted(_)) {
                        doomed.push_back(job);
                    }
                    let _ = seen.send(Seen::Pushed(job, fate));
                }
                (Sent::Again(job), Response::Pushed(results)) => {
                    assert_eq!(results, [PushResult::Pushed(job)], "it was answered before");
                    pushes.repeated += 1;
                }
                (Sent::Delete(job), Response::Changed { .. }) => {
                    let _ = seen.send(Seen::Finished(vec![job]));
                }
                (_, response) => panic!("{response:?}"),
            }
        }
    }
}

/// Reserves jobs and finishes them, a reserve ahead of the finish, until the connection breaks.
fn consume(mut client: Raw, seen: &Sender<Seen>) {
    let reserve = || {
        Request::Reserve(Reserve {
            topics: vec![topic("kill")],
            jobs_max: 64,
            wait_ms: 60_000,
            weights: Vec::new(),
        })
    };
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
                for job in jobs {
                    let _ = seen.send(Seen::Delivered(job.lease.job, job.body));
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

/// Reads every spilled job, and names those that are there: each as it was pushed, and none that was deleted.
fn spilled_jobs(address: SocketAddr, ledger: &Ledger) -> BTreeSet<JobId> {
    const READS: usize = 500;
    let mut client = Raw::greeted(address);
    let spilled: Vec<(&JobId, &Bytes)> = ledger.spilled.iter().collect();
    let mut found = BTreeSet::new();
    for some in spilled.chunks(READS) {
        let reads: Vec<Request> = some.iter().map(|(job, _)| Request::Get(JobRef::Id(**job))).collect();
        let RequestId(first) = client.send(&reads).expect("a server");
        let mut asked: BTreeMap<_, _> = (first..).map(RequestId).zip(some).collect();
        while !asked.is_empty() {
            let (id, response) = client.receive().expect("an answer");
            let (job, body) = asked.remove(&id).expect("asked for");
            match response {
                Response::Job(report) => {
                    assert!(!ledger.finished.contains(job), "{job:?} was deleted, and came back");
                    assert_eq!(report.body, *body, "{job:?}");
                    found.insert(**job);
                }
                Response::Error(error) if error.code == ErrorCode::NotFound => {
                    assert!(ledger.finishing.contains(job), "{job:?} is lost");
                }
                other => panic!("{other:?}"),
            }
        }
    }
    found
}

/// Finishes everything that is left and due, and names it.
fn drain(address: SocketAddr, ledger: &mut Ledger) -> BTreeSet<JobId> {
    let mut client = Raw::greeted(address);
    let mut left = BTreeSet::new();
    loop {
        let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
        let due = stats.topics.iter().find(|report| report.topic == topic("kill")).expect("it is there");
        let totals = due.totals;
        if totals.delayed + totals.ready + totals.reserved == 0 {
            return left;
        }
        let reserve =
            Reserve { topics: vec![topic("kill")], jobs_max: 1024, wait_ms: 1000, weights: Vec::new() };
        let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
        let leases: Vec<_> = jobs.iter().map(|job| job.lease).collect();
        for job in jobs {
            let id = job.lease.job;
            ledger.note(Seen::Delivered(id, job.body));
            assert!(left.insert(id), "{id:?} came twice under a live lease");
        }
        if !leases.is_empty() {
            assert!(matches!(client.ask(Request::Finish { leases }), Response::Settled(_)));
        }
    }
}
