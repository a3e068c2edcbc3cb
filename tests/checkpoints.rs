//! Checkpoints on the real binary: jobs that are on the disk alone answer like all others, whatever happens to the process;
//! damage to their files is told; a node that may take no more memory refuses pushes alone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use adjourn::protocol::{
    ErrorCode, ErrorReply, JobRef, JobReport, NewJob, Push, PushResult, Request, Reserve, Response, Totals,
};
use adjourn::types::Key;
use rustix::process::Signal;

use super::server_rig::{Process, Raw, hello, topic};

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
    match client.ask(Request::Push(Push { topic: topic("orders"), sequence: 0, jobs })) {
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
fn far_jobs_answer_like_all_others_across_kills() {
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
        let reserve = Reserve { topics: vec![topic("orders")], jobs_max: 100, wait_ms: 30_000 };
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

#[test]
fn a_start_names_the_chunk_that_is_missing_or_short_and_what_was_in_it() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &SMALL);
    fill(&server, data.path());
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
        // Not in the first block: the first far job is looked at when the server starts.
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
    let push = Push { topic: topic("orders"), sequence: 0, jobs: vec![job(1)] };
    let Response::Error(error) = client.ask(Request::Push(push)) else { panic!("it was taken") };
    assert_eq!((error.code, error.code.retryable()), (ErrorCode::Busy, true), "{error}");
    let reserve = Reserve { topics: vec![topic("orders")], jobs_max: 10, wait_ms: 0 };
    let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
    let leases = jobs.iter().map(|job| job.lease).collect();
    let Response::Settled(settled) = client.ask(Request::Finish { leases }) else { panic!("not finished") };
    assert_eq!(settled.len(), 10);
    assert_eq!(totals(&mut client).finished, 10);
    assert_eq!(server.terminate().code(), Some(0));
}
