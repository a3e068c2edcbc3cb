//! Checkpoints on the real binary: jobs that are on the disk alone answer like all others, whatever happens to the process;
//! of those that were cancelled nothing stays; damage to their files is told; a node that may take no more memory refuses
//! pushes alone.

mod unreadable;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use adjourn_protocol::{
    ErrorCode, ErrorReply, JobRef, JobReport, NewJob, Push, PushResult, ReleaseKind, Request, Reserve,
    Response, Totals,
};
use adjourn_types::{Key, Lease};
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use rustix::process::Signal;

use crate::server_rig::{Process, Raw, hello, topic};

const JOBS: u32 = 3000;
const DAY_MS: u64 = 86_400_000;
/// So small that some hundred jobs make a checkpoint due.
const SMALL: [&str; 2] = ["--checkpoint-log-bytes", "65536"];

fn key(number: u32) -> Key {
    Key::new(bytes::Bytes::from(format!("order {number}"))).expect("a key")
}

fn body(number: u32) -> Vec<u8> {
    format!("body of {number}, {}", "x".repeat(150)).into_bytes()
}

fn by_key(number: u32) -> JobRef {
    JobRef::Key { topic: topic("orders"), key: key(number) }
}

fn job(number: u32) -> NewJob {
    NewJob { key: Some(key(number)), ..NewJob::new(body(number)).after(2 * DAY_MS + u64::from(number)) }
}

fn push_all(client: &mut Raw, jobs: Vec<NewJob>) -> Vec<PushResult> {
    match client.ask(Request::Push(Push { topic: topic("orders"), sequence: 0, jobs, idempotency: None })) {
        Response::Pushed(results) => results,
        other => panic!("{other:?}"),
    }
}

fn get(client: &mut Raw, job: JobRef) -> Result<JobReport, ErrorReply> {
    match client.ask(Request::Get(job)) {
        Response::Job(report) => Ok(*report),
        Response::Error(error) => Err(error),
        other => panic!("{other:?}"),
    }
}

fn totals(client: &mut Raw) -> Totals {
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
    stats.totals
}

fn state_hash(client: &mut Raw) -> u128 {
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
    stats.state_hash
}

/// Pushes jobs that are due in two days, and goes on with small requests until a checkpoint has taken them.
fn fill(server: &Process, data: &Path) {
    let mut client = Raw::greeted(server.address);
    for first in (0..JOBS).step_by(100) {
        let results = push_all(&mut client, (first..first + 100).map(job).collect());
        assert!(results.iter().all(|result| matches!(result, PushResult::Pushed(_))));
    }
    let size = |path: PathBuf| fs::metadata(path).map_or(0, |found| found.len());
    let written = || chunks(data).into_iter().map(size).sum::<u64>();
    while written() < u64::from(JOBS) * 150 {
        assert!(client.is_alive());
    }
}

fn chunks(data: &Path) -> Vec<PathBuf> {
    let Ok(names) = fs::read_dir(data.join("chunks")) else { return Vec::new() };
    let paths = names.map(|entry| entry.expect("an entry").path());
    let is_chunk = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix("chunk-").is_some_and(|number| number.len() == 8)
    };
    let mut chunks: Vec<PathBuf> = paths.filter(is_chunk).collect();
    chunks.sort_unstable();
    chunks
}

#[test]
fn spilled_jobs_answer_like_all_others_across_kills() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &SMALL);
    fill(&server, data.path());
    let before = state_hash(&mut Raw::greeted(server.address));
    server.kill();

    let server = Process::start(data.path(), &SMALL);
    let mut client = Raw::greeted(server.address);
    assert_eq!(totals(&mut client).delayed, u64::from(JOBS));
    for number in 0..JOBS {
        let report = get(&mut client, by_key(number)).expect("it lives");
        assert_eq!((report.key, report.body.to_vec()), (Some(key(number)), body(number)));
    }
    let Response::Job(first) = client.ask(Request::Peek { topic: topic("orders") }) else { panic!("a job") };
    assert_eq!(first.key, Some(key(0)), "the first of them is due first");
    assert_ne!(before, state_hash(&mut client), "sessions came and went");

    // One third is cancelled, one runs now, one stays. A key that lives is refused.
    for number in 0..JOBS {
        match number % 3 {
            0 => assert!(matches!(client.ask(Request::Delete(by_key(number))), Response::Changed { .. })),
            1 => assert!(matches!(client.ask(Request::RunNow(by_key(number))), Response::Changed { .. })),
            _ => {
                let [PushResult::Refused(ErrorCode::KeyExists, Some(_))] =
                    push_all(&mut client, vec![job(number)])[..]
                else {
                    panic!("the key {number} lives")
                };
            }
        }
    }
    server.kill();

    let server = Process::start(data.path(), &SMALL);
    let mut client = Raw::greeted(server.address);
    let mut delivered = BTreeSet::new();
    while delivered.len() < JOBS as usize / 3 {
        let reserve =
            Reserve { topics: vec![topic("orders")], jobs_max: 100, wait_ms: 30_000, weights: Vec::new() };
        let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
        assert!(!jobs.is_empty(), "{} came", delivered.len());
        for job in &jobs {
            let key = job.key.clone().expect("a key");
            let number: u32 = std::str::from_utf8(key.as_bytes())
                .expect("text")
                .replace("order ", "")
                .parse()
                .expect("a number");
            assert_eq!((number % 3, job.body.to_vec()), (1, body(number)));
            assert!(delivered.insert(number), "{number} came twice");
        }
        let leases = jobs.iter().map(|job| job.lease).collect();
        assert!(matches!(client.ask(Request::Finish { leases }), Response::Settled(_)));
    }
    let left = totals(&mut client);
    assert_eq!((left.delayed, left.ready, left.reserved), (u64::from(JOBS) / 3, 0, 0));
    for number in 0..JOBS {
        assert_eq!(get(&mut client, by_key(number)).is_ok(), number % 3 == 2, "{number}");
    }
    assert_eq!(server.terminate().code(), Some(0));
}

/// A job whose key and body stand nowhere else.
struct Secret {
    key: String,
    body: [u8; 64],
}

impl Secret {
    fn new(seed: u8) -> Self {
        let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
        let key = format!("{:016x}{:016x}", rng.next_u64(), rng.next_u64());
        let mut body = [0; 64];
        rng.fill_bytes(&mut body);
        Self { key, body }
    }

    fn key(&self) -> Key {
        Key::new(self.key.clone().into()).expect("a key")
    }

    fn job(&self, delay_ms: u64) -> NewJob {
        NewJob { key: Some(self.key()), ..NewJob::new(self.body.to_vec()).after(delay_ms) }
    }

    fn by_key(&self) -> JobRef {
        JobRef::Key { topic: topic("orders"), key: self.key() }
    }

    /// The files of the checkpoint in which its key stands, and those in which its body does.
    fn places(&self, data: &Path) -> [Vec<String>; 2] {
        [self.key.as_bytes(), &self.body].map(|bytes| {
            let entries =
                fs::read_dir(data.join("chunks")).expect("a folder").map(|entry| entry.expect("an entry"));
            let holds = |entry: &fs::DirEntry| {
                fs::read(entry.path()).expect("a file").windows(bytes.len()).any(|window| window == bytes)
            };
            entries.filter(holds).map(|entry| entry.file_name().into_string().expect("text")).collect()
        })
    }
}

/// Has a checkpoint taken, of everything that was answered before.
fn checkpoint(client: &mut Raw) {
    let Response::BackupReady(_) = client.ask(Request::BackupBegin) else { panic!("no backup") };
    assert_eq!(client.ask(Request::BackupEnd), Response::Done);
}

#[test]
fn a_cancelled_job_leaves_no_trace_in_chunks_that_are_written_anew() {
    const OTHERS: u32 = 100;
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &SMALL);
    let mut client = Raw::greeted(server.address);
    let [far, near, kept] = [1, 2, 3].map(Secret::new);
    let mut jobs: Vec<NewJob> = (0..OTHERS).map(job).collect();
    jobs.extend([far.job(2 * DAY_MS + 50), near.job(600_000), kept.job(2 * DAY_MS + 51)]);
    push_all(&mut client, jobs);
    checkpoint(&mut client);
    let [chunk] = &chunks(data.path())[..] else { panic!("not in one chunk") };
    for secret in [&far, &near, &kept] {
        let written = secret.places(data.path());
        assert!(
            written.iter().all(|files| matches!(&files[..], [file] if chunk.ends_with(file))),
            "{written:?}"
        );
    }

    // More than half of the chunk goes with them, so the rest of it is written anew.
    let cancelled = (0..OTHERS).filter(|number| number % 4 != 0).map(by_key);
    for job in cancelled.chain([far.by_key(), near.by_key()]) {
        assert!(matches!(client.ask(Request::Delete(job)), Response::Changed { .. }));
    }
    checkpoint(&mut client);
    assert!(!chunk.exists(), "it is not needed");
    assert_eq!(get(&mut client, kept.by_key()).expect("it lives").body, kept.body[..]);
    assert_eq!(server.terminate().code(), Some(0));
    for secret in [&far, &near] {
        assert_eq!(secret.places(data.path()), [vec![], Vec::<String>::new()]);
    }
    assert!(kept.places(data.path()).iter().all(|files| files.len() == 1));
}

#[test]
fn a_start_names_the_chunk_that_is_missing_or_short_and_what_was_in_it() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &SMALL);
    fill(&server, data.path());
    // The newest chunk may be of a checkpoint that is not complete: a start does without it.
    checkpoint(&mut Raw::greeted(server.address));
    assert_eq!(server.terminate().code(), Some(0));
    let chunk = chunks(data.path()).pop().expect("a chunk");
    let name = chunk.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    let bytes = fs::read(&chunk).expect("read");
    let refused = |what: &str| {
        let Err((code, log)) = Process::try_start(data.path(), &[]).map(Process::kill) else {
            panic!("it started with a chunk that {what}")
        };
        assert_eq!(code, Some(7), "{log}");
        assert!(
            log.contains(&name) && log.contains(what) && log.contains("of topic orders, due from"),
            "{log}"
        );
    };
    fs::remove_file(&chunk).expect("removed");
    refused("is missing");
    let (half, _) = bytes.split_at(bytes.len() / 2);
    fs::write(&chunk, half).expect("written");
    refused("is cut short");
    fs::write(&chunk, &bytes).expect("written");
    assert_eq!(Process::start(data.path(), &[]).terminate().code(), Some(0));
}

#[test]
fn a_row_that_is_damaged_is_told_who_asks_for_it_and_ends_the_process_that_needs_it() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &SMALL);
    fill(&server, data.path());
    assert_eq!(server.terminate().code(), Some(0));
    let mut spoilt = Vec::new();
    for chunk in chunks(data.path()) {
        // Not in the first block: the first spilled job is looked at when the server starts.
        let file = fs::File::options().read(true).write(true).open(&chunk).expect("opened");
        let mut byte = [0];
        if file.metadata().expect("its length").len() > 60_000 {
            file.read_exact_at(&mut byte, 40_000).expect("read");
            file.write_all_at(&[byte[0] ^ 1], 40_000).expect("written");
            let name = chunk.file_name().and_then(|name| name.to_str()).expect("a name");
            spoilt.push(name.to_owned());
        }
    }
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::connect(server.address);
    client.greet(hello());
    let mut unreadable = Vec::new();
    for number in 0..JOBS {
        match get(&mut client, by_key(number)) {
            Ok(report) => assert_eq!(report.body.to_vec(), body(number)),
            Err(error) => {
                assert_eq!((error.code, error.code.retryable()), (ErrorCode::Unreadable, false));
                let named = spoilt.iter().any(|name| error.message.contains(name));
                assert!(named && error.message.contains("from a backup"), "{error}");
                unreadable.push(number);
            }
        }
    }
    assert!(unreadable.len() > 10 && unreadable.len() < JOBS as usize / 2, "{}", unreadable.len());
    // What needs such a job to go on cannot.
    let needed = unreadable.pop().expect("some are");
    client.send(&[Request::RunNow(by_key(needed))]);
    while client.receive().is_some() {}
    assert_eq!(server.wait().code(), Some(7));
}

#[test]
fn with_no_memory_left_pushes_are_refused_and_nothing_else() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    let ready = (0..10).map(|number| NewJob::new(body(number))).collect();
    assert_eq!(push_all(&mut client, ready).len(), 10);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(0));

    // So little that what a checkpoint would take does not fit.
    let server = Process::start(data.path(), &["--memory-max-bytes", "50331648"]);
    let mut client = Raw::greeted(server.address);
    let push = Push { topic: topic("orders"), sequence: 0, jobs: vec![job(1)], idempotency: None };
    let Response::Error(error) = client.ask(Request::Push(push)) else { panic!("it was taken") };
    assert_eq!((error.code, error.code.retryable()), (ErrorCode::Busy, true), "{error}");
    let reserve = Reserve { topics: vec![topic("orders")], jobs_max: 10, wait_ms: 0, weights: Vec::new() };
    let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
    let leases = jobs.iter().map(|job| job.lease).collect();
    let Response::Settled(settled) = client.ask(Request::Finish { leases }) else { panic!("not finished") };
    assert_eq!(settled.len(), 10);
    assert_eq!(totals(&mut client).finished, 10);
    assert_eq!(server.terminate().code(), Some(0));
}

/// The length of a job's body, when memory is to be filled.
const LARGE_BYTES: usize = 16 << 10;

/// A figure of a process in bytes, as the system has it.
fn process_bytes(server: &Process, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let figure =
        |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.strip_suffix("kB")?.trim().parse().ok();
    status.lines().find_map(figure).map(|kib: u64| kib << 10).expect("a figure")
}

fn large_push(jobs: usize) -> Request {
    let job = NewJob::new(vec![7; LARGE_BYTES]);
    Request::Push(Push { topic: topic("large"), sequence: 0, jobs: vec![job; jobs], idempotency: None })
}

fn large_reserve(jobs_max: u32) -> Request {
    Request::Reserve(Reserve { topics: vec![topic("large")], jobs_max, wait_ms: 0, weights: Vec::new() })
}

/// How many jobs were pushed; none if they were refused for want of memory.
fn pushed(response: &Response) -> usize {
    match response {
        Response::Pushed(results) => {
            assert!(results.iter().all(|result| matches!(result, PushResult::Pushed(_))), "{results:?}");
            results.len()
        }
        Response::Error(error) => {
            assert_eq!((error.code, error.code.retryable()), (ErrorCode::Busy, true), "{error}");
            assert!(error.message.contains("memory") && error.retry_after_ms > 0, "{error}");
            0
        }
        other => panic!("{other:?}"),
    }
}

/// Pushes until a push is refused. Returns how many jobs were taken. 8 MiB are under way at once, and count before they are
/// applied.
fn push_until_refused(client: &mut Raw, jobs_max: usize) -> usize {
    let some = [(); 32].map(|()| large_push(16));
    let mut taken = 0;
    loop {
        client.send(&some).expect("a server");
        let answers = some.each_ref().map(|_| pushed(&client.receive().expect("an answer").1));
        taken += answers.iter().sum::<usize>();
        if answers.contains(&0) {
            return taken;
        }
        assert!(taken < jobs_max, "{taken} jobs are more than there is memory for");
    }
}

/// Asks for everything that must work without memory, between two pushes. Finishes a job and deletes one. Returns how many
/// jobs the pushes came to: none if there was no memory all the time.
fn all_but_pushes(client: &mut Raw) -> usize {
    let Response::Reserved(jobs) = client.ask(large_reserve(4)) else { panic!("no jobs") };
    let leases: Vec<Lease> = jobs.iter().map(|job| job.lease).collect();
    let [one, two, three, four] = leases[..] else { panic!("{leases:?}") };
    assert_eq!(
        client.ask(Request::Bury { leases: vec![four], reason: None }),
        Response::Settled(vec![Ok(())])
    );
    let requests = [
        large_push(1),
        Request::Get(JobRef::Id(one.job)),
        Request::Stats,
        large_reserve(1),
        Request::Finish { leases: vec![one] },
        Request::Release { leases: vec![two], kind: ReleaseKind::Backoff, reason: None },
        Request::Bury { leases: vec![three], reason: None },
        Request::Kick(JobRef::Id(four.job)),
        Request::Delete(JobRef::Id(two.job)),
        large_push(1),
    ];
    // In one piece, so that they meet the node as the pushes around them do.
    client.send(&requests).expect("a server");
    let answers: BTreeMap<_, _> = requests.iter().map(|_| client.receive().expect("an answer")).collect();
    let answers: Vec<Response> = answers.into_values().collect();
    let [before, job, stats, reserved, finished, released, buried, kicked, deleted, after] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert!(matches!(job, Response::Job(report) if report.body.len() == LARGE_BYTES), "{job:?}");
    assert!(matches!(stats, Response::Stats(_)), "{stats:?}");
    assert!(matches!(reserved, Response::Reserved(jobs) if jobs.len() == 1), "{reserved:?}");
    for settled in [finished, released, buried] {
        assert_eq!(*settled, Response::Settled(vec![Ok(())]));
    }
    for changed in [kicked, deleted] {
        assert!(matches!(changed, Response::Changed { .. }), "{changed:?}");
    }
    pushed(before) + pushed(after)
}

#[test]
fn a_node_stays_below_its_limit_of_memory_and_takes_pushes_again_when_jobs_have_gone() {
    /// Beyond what a node without jobs takes: what it keeps free for a checkpoint and for requests, and as much again.
    const ROOM_BYTES: u64 = 160 << 20;
    const TRIES_MAX: usize = 300_000;
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    assert!(Raw::greeted(server.address).is_alive());
    let limit_bytes = process_bytes(&server, "VmRSS") + ROOM_BYTES;
    assert_eq!(server.terminate().code(), Some(0));

    // Nothing but the limit makes a checkpoint due.
    let limit = limit_bytes.to_string();
    let arguments = ["--memory-max-bytes", &limit, "--checkpoint-log-bytes", "1073741824"];
    let server = Process::start(data.path(), &arguments);
    let mut client = Raw::greeted(server.address);
    let jobs_max = usize::try_from(limit_bytes).expect("it fits") / LARGE_BYTES;
    let mut taken = push_until_refused(&mut client, jobs_max);
    assert!(taken > 100, "it is short from the beginning");
    // A checkpoint takes jobs out of memory meanwhile: then there may be room for a moment.
    let mut rounds = 1;
    loop {
        let more = all_but_pushes(&mut client);
        if more == 0 {
            break;
        }
        taken += more + push_until_refused(&mut client, jobs_max);
        rounds += 1;
        assert!(rounds < 100, "there is room all the time");
    }
    let now = totals(&mut client);
    assert_eq!((now.pushed, now.finished, now.deleted), (taken as u64, rounds, rounds));
    assert_eq!(now.delayed + now.ready + now.reserved + now.buried, taken as u64 - 2 * rounds);

    // Nearly all jobs go.
    loop {
        let Response::Reserved(jobs) = client.ask(large_reserve(64)) else { panic!("no jobs") };
        if jobs.is_empty() {
            break;
        }
        let leases = jobs.iter().map(|job| job.lease).collect();
        assert!(matches!(client.ask(Request::Finish { leases }), Response::Settled(_)));
    }
    let mut tries = 0;
    while pushed(&client.ask(large_push(1))) == 0 {
        tries += 1;
        assert!(tries < TRIES_MAX, "{} of {limit} bytes are in use", process_bytes(&server, "VmRSS"));
    }
    let most = process_bytes(&server, "VmHWM");
    assert!(most < limit_bytes, "it took {most} bytes and may take {limit}");
    assert_eq!(server.terminate().code(), Some(0));
}
