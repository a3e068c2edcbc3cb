//! A server over its life: slow readers, an orderly stop, a start after it, a directory that is taken.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use adjourn_protocol::{
    ErrorCode, JobRef, NewJob, Push, PushResult, Request, RequestId, Reserve, Response, Subscribe, Totals,
};
use adjourn_types::{JobId, JobState, Lease};

use rustix::process::{Pid, Signal, kill_process};

use crate::server_rig::{Node, Process, Raw, adjourn, push, topic};

/// Reserves until nothing is left at once.
fn take_all(client: &mut Raw, name: &str) -> Vec<(Lease, bytes::Bytes)> {
    let mut taken = Vec::new();
    loop {
        let reserve = Reserve { topics: vec![topic(name)], jobs_max: 64, wait_ms: 0, weights: Vec::new() };
        let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
        if jobs.is_empty() {
            return taken;
        }
        taken.extend(jobs.into_iter().map(|job| (job.lease, job.body)));
    }
}

fn totals(client: &mut Raw) -> Totals {
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
    stats.totals
}

/// Sockets buffer this number of unread bytes, on both sides, and not twice as many.
const SOCKETS_BYTES: usize = 16 << 20;

#[test]
fn what_a_slow_reader_is_told_of_is_not_over() {
    const BODY_BYTES: usize = 1 << 20;
    const JOBS: usize = 2 * SOCKETS_BYTES / BODY_BYTES;
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.output_bytes_max = 2 * JOBS * BODY_BYTES);
    let mut producer = Raw::greeted(node.address);
    for _ in 0..JOBS {
        let mut job = NewJob::new(vec![7; BODY_BYTES]);
        job.ttr_ms = 2_000;
        let push =
            Request::Push(Push { topic: topic("big"), sequence: 0, jobs: vec![job], idempotency: None });
        assert!(matches!(producer.ask(push), Response::Pushed(_)));
    }
    let mut slow = Raw::greeted(node.address);
    let topics = vec![topic("big")];
    let (credit_jobs, credit_bytes) = (65_536, 256 << 20);
    let subscribe = Request::Subscribe(Subscribe { topics, credit_jobs, credit_bytes, weights: Vec::new() });
    let RequestId(subscription) = slow.send(&[subscribe]).expect("a server");
    // All of them are on their way to the slow one.
    while totals(&mut producer).reserved < JOBS as u64 {}
    slow.send(&[Request::Unsubscribe { subscription }]);
    // Its leases end, and others get the jobs. What it then reads was written before that, or is not there.
    let mut held = BTreeSet::new();
    while held.len() < JOBS {
        let reserve =
            Reserve { topics: vec![topic("big")], jobs_max: 8, wait_ms: 30_000, weights: Vec::new() };
        let Response::Reserved(jobs) = producer.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
        held.extend(jobs.iter().map(|job| job.lease.job));
        let finish = Request::Finish { leases: jobs.iter().map(|job| job.lease).collect() };
        assert!(matches!(producer.ask(finish), Response::Settled(_)));
    }
    let ping = slow.send(&[Request::Ping]).expect("a server");
    let (mut told, mut deadline_ms) = (0, 0);
    let clock_ms = loop {
        match slow.receive().expect("it is still connected") {
            (id, Response::Pong { clock_ms, .. }) if id == ping => break clock_ms,
            (_, Response::Deliver(jobs)) => {
                assert!(!jobs.is_empty());
                told += jobs.len();
                deadline_ms = jobs.iter().map(|job| job.deadline_ms).fold(deadline_ms, u64::max);
            }
            _ => {}
        }
    };
    assert!(told * BODY_BYTES <= SOCKETS_BYTES, "{told} jobs were sent, most of which others hold");
    assert!(deadline_ms > 0 && deadline_ms < clock_ms, "by the server's clock it sees that those are over");
    node.stop();
}

#[test]
fn a_slow_reader_keeps_what_it_was_sent_and_others_get_the_rest() {
    const JOBS: usize = 300;
    const BODY_BYTES: usize = 100 << 10;
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.output_bytes_max = 1 << 20);
    // Its credit is for everything, and it reads none of it: 30 MB do not fit into the sockets' own buffers.
    let mut slow = Raw::greeted(node.address);
    slow.send(&[Request::Subscribe(Subscribe {
        topics: vec![topic("big")],
        credit_jobs: 65_536,
        credit_bytes: 256 << 20,
        weights: Vec::new(),
    })]);
    let mut producer = Raw::greeted(node.address);
    for number in 0..JOBS {
        let body = vec![u8::try_from(number % 251).expect("small"); BODY_BYTES];
        assert!(matches!(producer.ask(push("big", body, 0)), Response::Pushed(_)));
    }
    let mut quick = Raw::greeted(node.address);
    let mut seen: BTreeSet<JobId> = take_all(&mut quick, "big").iter().map(|(lease, _)| lease.job).collect();
    assert!(!seen.is_empty(), "the slow one has them all");
    // However long it takes to begin, it is not cut off.
    while seen.len() < JOBS {
        let (_, response) = slow.receive().expect("it is still connected");
        let Response::Deliver(jobs) = response else { continue };
        assert!(jobs.iter().all(|job| seen.insert(job.lease.job)), "a job was leased twice");
    }
    assert!(slow.is_alive());
    node.stop();
}

#[test]
fn reads_that_nobody_reads_wait_and_are_all_answered() {
    const READS: usize = 500;
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.output_bytes_max = 1 << 20);
    let mut client = Raw::greeted(node.address);
    let Response::Pushed(pushed) = client.ask(push("read", vec![7; 200_000], 60_000)) else {
        panic!("refused")
    };
    let [PushResult::Pushed(id)] = pushed[..] else { panic!("{pushed:?}") };
    client.send(&vec![Request::Get(JobRef::Id(id)); READS]);
    let mut watcher = Raw::greeted(node.address);
    assert!(watcher.is_alive(), "nobody else waits for it");
    for _ in 0..READS {
        let (_, response) = client.receive().expect("an answer");
        assert!(matches!(response, Response::Job(job) if job.body.len() == 200_000));
    }
    node.stop();
}

#[test]
fn a_stop_answers_what_was_accepted_and_a_start_finds_it() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| {});
    let mut client = Raw::greeted(node.address);
    let requests: Vec<Request> = (0..900).map(|number| push("kept", number.to_string(), 60_000)).collect();
    client.send(&requests);
    // The stop comes while they are under way.
    let first = client.receive();
    let stop = std::thread::spawn(move || node.stop());
    let mut pushed = BTreeSet::new();
    let mut unanswered = requests.len();
    let mut going_away = false;
    for (_, response) in first.into_iter().chain(std::iter::from_fn(|| client.receive())) {
        match response {
            Response::Pushed(results) => {
                unanswered -= 1;
                for result in results {
                    let PushResult::Pushed(id) = result else { panic!("{result:?}") };
                    pushed.insert(id);
                }
            }
            Response::Error(error) => {
                assert_eq!(error.code, ErrorCode::Stopping, "{error}");
                unanswered -= 1;
            }
            Response::GoingAway { .. } => going_away = true,
            other => panic!("{other:?}"),
        }
    }
    stop.join().expect("an orderly stop");
    assert!(going_away);
    assert!(unanswered < requests.len());

    let node = Node::start(data.path(), |_| {});
    let mut client = Raw::greeted(node.address);
    assert_eq!(totals(&mut client).delayed, pushed.len() as u64, "what was acknowledged, and no more");
    for id in pushed {
        assert!(is_there(&mut client, id), "{id} is gone");
    }
    node.stop();
}

#[test]
fn a_disk_that_is_nearly_full_takes_no_job_and_gives_out_every_one() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| {});
    let pushed = Raw::greeted(node.address).ask(push("full", "body", 0));
    assert!(matches!(pushed, Response::Pushed(_)));
    node.stop();

    let node = Node::start(data.path(), |config| config.disk_free_min_bytes = 1 << 50);
    let mut client = Raw::greeted(node.address);
    let Response::Error(refused) = client.ask(push("full", "one more", 0)) else { panic!("accepted") };
    assert_eq!(refused.code, ErrorCode::DiskFull);
    let leases: Vec<Lease> = take_all(&mut client, "full").into_iter().map(|(lease, _)| lease).collect();
    assert_eq!(leases.len(), 1);
    let settled = client.ask(Request::Finish { leases });
    assert_eq!(settled, Response::Settled(vec![Ok(())]));
    node.stop();

    let node = Node::start(data.path(), |_| {});
    let mut client = Raw::greeted(node.address);
    assert!(matches!(client.ask(push("full", "one more", 0)), Response::Pushed(_)), "there is space again");
    node.stop();
}

fn is_there(client: &mut Raw, id: JobId) -> bool {
    match client.ask(Request::Get(JobRef::Id(id))) {
        Response::Job(job) => job.id == id && job.state != Some(JobState::Finished),
        Response::Error(error) if error.code == ErrorCode::NotFound => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn jobs_outlive_many_starts() {
    let data = tempfile::tempdir().expect("a directory");
    for round in 0..5_u64 {
        let node = Node::start(data.path(), |_| {});
        let mut client = Raw::greeted(node.address);
        assert_eq!(totals(&mut client).ready, round);
        assert!(matches!(client.ask(push("rounds", round.to_string(), 0)), Response::Pushed(_)));
        node.stop();
    }
    let node = Node::start(data.path(), |_| {});
    let bodies: Vec<_> = take_all(&mut Raw::greeted(node.address), "rounds");
    assert_eq!(bodies.iter().map(|(_, body)| &body[..]).collect::<Vec<_>>(), [b"0", b"1", b"2", b"3", b"4"]);
    node.stop();
}

/// The exit code and the last words of a server that is expected not to start.
fn serve_fails(data: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    match Process::try_start(data, arguments) {
        Ok(server) => panic!("it listens on {}", server.address),
        Err(failed) => failed,
    }
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let (code, message) = serve_fails(data.path(), &[]);
    assert_eq!(code, Some(6), "{message}");
    assert!(message.contains(data.path().to_str().expect("a path")), "{message}");
    assert!(Raw::greeted(server.address).is_alive());
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn an_address_in_use_is_named() {
    let data = tempfile::tempdir().expect("a directory");
    let other = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let address = server.address.to_string();
    let (code, message) = serve_fails(other.path(), &["--listen", &address]);
    assert_eq!(code, Some(4), "{message}");
    assert!(message.contains(&address), "{message}");
}

#[test]
fn mistakes_in_the_configuration_end_with_the_usage_code() {
    let data = tempfile::tempdir().expect("a directory");
    let file = data.path().join("adjourn.toml");
    std::fs::write(&file, "node = 1\nlisten = 7440\n").expect("a file");
    let file = file.to_str().expect("a path");
    let (code, message) = serve_fails(data.path(), &["--config", file]);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("line 2"), "{message}");
    let (code, message) = serve_fails(data.path(), &["--heartbeat-ms", "1"]);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("from 100 to 600000"), "{message}");
}

#[test]
fn flags_win_over_the_environment_and_it_over_the_file() {
    let root = tempfile::tempdir().expect("a directory");
    let [config, file, environment, flag] =
        ["adjourn.toml", "file", "environment", "flag"].map(|name| root.path().join(name));
    std::fs::write(&config, format!("data = {file:?}\nlisten = \"127.0.0.1:0\"\nnode = 1\n"))
        .expect("a file");
    let server = |arguments: &[&str], variable: Option<&Path>| {
        let mut command = adjourn(&["serve", "--config", config.to_str().expect("a path")]);
        command.args(arguments);
        if let Some(data) = variable {
            command.env("ADJOURN_DATA", data);
        }
        Process::spawn(command).expect("it listens").terminate()
    };
    assert!(server(&[], None).success());
    assert!(file.is_dir() && !environment.exists());
    assert!(server(&[], Some(&environment)).success());
    assert!(environment.is_dir() && !flag.exists());
    assert!(server(&["--data", flag.to_str().expect("a path")], Some(&environment)).success());
    assert!(flag.is_dir());
}

#[test]
fn the_demo_delivers_three_jobs_and_ends() {
    let data = tempfile::tempdir().expect("a directory");
    let path = data.path().to_str().expect("a path");
    for run in 0..2 {
        let demo = adjourn(&["demo", "--exit", "--listen", "127.0.0.1:0", "--data", path]).output();
        let demo = demo.expect("the binary");
        let text = String::from_utf8_lossy(&demo.stdout);
        assert_eq!(demo.status.code(), Some(0), "run {run}: {}", String::from_utf8_lossy(&demo.stderr));
        let delivered = text.lines().filter(|line| line.starts_with("delivered job"));
        let bodies = ["hello after 1 s", "hello after 2 s", "hello after 3 s"];
        for (line, body) in delivered.clone().zip(bodies) {
            assert!(line.contains(body) && line.contains(" ms late, finished"), "run {run}: {line}");
        }
        assert_eq!(delivered.count(), 3, "run {run}: {text}");
    }
}

#[test]
fn a_demo_stops_well_when_its_terminal_is_closed() {
    let data = tempfile::tempdir().expect("a directory");
    let path = data.path().to_str().expect("a path");
    let mut demo = adjourn(&["demo", "--listen", "127.0.0.1:0", "--data", path]);
    let mut demo = demo.stdout(std::process::Stdio::piped()).spawn().expect("the binary");
    let mut lines = BufReader::new(demo.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("It listens on")));
    kill_process(Pid::from_child(&demo), Signal::HUP).expect("signalled");
    assert_eq!(demo.wait().expect("ended").code(), Some(0));
}

#[test]
fn a_demo_whose_address_is_taken_says_what_to_do() {
    let data = tempfile::tempdir().expect("a directory");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = taken.local_addr().expect("bound").to_string();
    let path = data.path().to_str().expect("a path");
    let demo = adjourn(&["demo", "--listen", &address, "--data", path]).output().expect("the binary");
    assert_eq!(demo.status.code(), Some(4));
    let text = String::from_utf8_lossy(&demo.stderr);
    assert!(text.contains(&address) && text.contains("--listen"), "{text}");
}

#[test]
fn a_request_that_comes_after_a_stop_costs_no_answer_before_it() {
    const JOBS: usize = 30;
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.output_bytes_max = 64 << 20);
    let mut watcher = Raw::greeted(node.address);
    let mut slow = Raw::greeted(node.address);
    for _ in 0..JOBS {
        assert!(matches!(watcher.ask(push("big", vec![1; 1_000_000], 0)), Response::Pushed(_)));
    }
    // More than the sockets' buffers hold.
    slow.send(&[Request::Subscribe(Subscribe {
        topics: vec![topic("big")],
        credit_jobs: 1000,
        credit_bytes: 256 << 20,
        weights: Vec::new(),
    })]);
    while totals(&mut watcher).reserved < JOBS as u64 {}
    let stop = std::thread::spawn(move || node.stop());
    assert!(matches!(watcher.receive(), Some((_, Response::GoingAway { .. }))));
    assert_eq!(watcher.receive(), None, "the core has ended");
    slow.send(&[Request::Stats]);
    let (mut received, mut going_away) = (0, false);
    while let Some((_, response)) = slow.receive() {
        match response {
            Response::Deliver(jobs) => received += jobs.len(),
            Response::GoingAway { .. } => going_away = true,
            _ => {}
        }
    }
    assert_eq!((received, going_away), (JOBS, true));
    stop.join().expect("an orderly stop");
}
