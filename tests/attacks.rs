//! Attacks that were tried, each against a node that is a process of its own, and what became of them.
//!
//! | | attack | outcome |
//! |---|---|---|
//! | 1 | come without a token, or with one that is nearly right | refused |
//! | 2 | ask for something before HELLO | refused, closed |
//! | 3 | announce a frame of 4 GiB before HELLO | refused; no memory is taken |
//! | 4 | resume a session with a guessed secret | a new session; the leases stay with their owner |
//! | 5 | resume a session with its secret, but a token without rights | its leases are stale to the thief |
//! | 6 | finish the leases of others by guessing fences | stale, all of them |
//! | 7 | read jobs of others by their ids | never there, all of them |
//! | 8 | delete jobs that others will push next | never there; the jobs come to their owners |
//! | 9 | read others' jobs with the cursor of a list of theirs | the list shows none of them |
//! | 10 | move others' jobs to a topic of one's own | refused |
//! | 11 | have one's own jobs moved to others as dead letters | refused |
//! | 12 | take a backup, or read that of another connection | refused; there is none |
//! | 13 | close connections, add and remove members | refused |
//! | 14 | open sessions until others lose theirs | refused; another's leases are kept |
//! | 15 | open connections and say nothing | given up; others come in |
//! | 16 | begin handshakes of TLS and leave them | given up; jobs are delivered on time to others |
//! | 17 | speak plain HTTP to a port of TLS | told to use TLS, closed |
//! | 18 | show a client certificate of another CA | refused |
//! | 19 | speak as a node without a certificate | no frame is read; the leader stays |
//! | 20 | speak as a node with the certificate of a client | refused: it proves no number |
//! | 21 | ask for large answers over HTTP and read none | a few are held for the token; it is refused more, and nobody else |
//! | 22 | announce large bodies over HTTP and send none | they take no memory; others push |
//! | 23 | have a browser ask, under a name that was made to lead here | refused wherever no token is needed |
//! | 24 | have a browser ask from another site | refused, and no answer may be used there |
//! | 25 | have thousands of others' jobs looked up, and hang up | stale or never there; others are answered between |
//! | 26 | use another's idempotency key before it does, or look whether it was used | each token has keys of its own |
//! | 27 | push jobs under keys until others' keys are forgotten | the flood forgets its own |
//! | 28 | have dead letters make more topics than the token may | refused |
//!
//! Those with call-backs are in `tests/call_backs/bounds.rs`:
//!
//! | | attack | outcome |
//! |---|---|---|
//! | 29 | have another's secret sign one's own calls | it signs for its topics alone |
//! | 30 | read and consume by a call-back, with the right to manage alone | refused |
//! | 31 | take a reserved job from its holder by a push that replaces it | refused without the right to manage |
//! | 32 | have the node call its own ports | not called |
//! | 33 | leave the path of a topic's URL by a job's key | buried, with the reason |

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

mod http;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use adjourn_protocol::{
    Advance, Bulk, Change, ErrorCode, Hello, Idempotency, JobRef, List, NewJob, Push, PushResult, Request,
    Reserve, Response, Resume, TopicSet, Welcome,
};
use adjourn_types::limits::{IDEMPOTENT_PUSHES_MAX, LEASES_MAX, PUSH_JOBS_MAX};
use adjourn_types::{
    Fence, Filter, JobId, Lease, ListOrder, PolicyChange, SessionId, SessionSecret, TopicPolicy, When,
};
use tempfile::TempDir;

use super::cluster::now;
use super::server_rig::{Process, Raw, adjourn, hello, topic};
use crate::cli::commands::Commands;

/// What takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A shop that owns topics, a thief that owns others, and the node that both reach.
struct Scene {
    _folder: TempDir,
    server: Process,
    shop: String,
    thief: String,
}

impl Scene {
    fn new() -> Self {
        Self::with(&[])
    }

    /// The same, with more arguments for the server.
    fn with(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.toml").to_str().unwrap().to_owned();
        let create = |arguments: &[&str]| {
            let made = adjourn(&["token", "create", "--file", &file]).args(arguments).output().unwrap();
            String::from_utf8(made.stdout).unwrap().trim_end().to_owned()
        };
        let shop = create(&["shop", "--allow", "push,consume,read,manage:shop.*"]);
        let thief = create(&[
            "thief",
            "--allow",
            "push,consume,read,manage:thief.*",
            "--sessions",
            "20",
            "--topics",
            "3",
        ]);
        let data = folder.path().join("data");
        let server = Process::start(&data, &[&["--tokens-file", &file], more].concat());
        Self { _folder: folder, server, shop, thief }
    }

    fn greet(&self, token: &str, resume: Option<Resume>) -> (Raw, Welcome) {
        let mut client = Raw::connect(self.server.address);
        let welcome = client.greet(Hello { token: token.to_owned().into(), resume, ..hello() });
        (client, welcome)
    }

    fn shop(&self) -> Raw {
        self.greet(&self.shop, None).0
    }

    fn thief(&self) -> Raw {
        self.greet(&self.thief, None).0
    }
}

fn push(client: &mut Raw, name: &str, delay_ms: u64) -> JobId {
    let job = NewJob { due: When::After(delay_ms), ..NewJob::new("body") };
    match client.ask(Request::Push(Push {
        topic: topic(name),
        sequence: 0,
        jobs: vec![job],
        idempotency: None,
    })) {
        Response::Pushed(results) => match results[0] {
            PushResult::Pushed(job) => job,
            ref other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn reserve(client: &mut Raw, name: &str) -> Vec<Lease> {
    let (topics, weights) = (vec![topic(name)], Vec::new());
    match client.ask(Request::Reserve(Reserve { topics, jobs_max: 9, wait_ms: 5_000, weights })) {
        Response::Reserved(jobs) => jobs.iter().map(|job| job.lease).collect(),
        other => panic!("{other:?}"),
    }
}

/// Whether each lease was good.
fn finish(client: &mut Raw, leases: Vec<Lease>) -> Vec<bool> {
    match client.ask(Request::Finish { leases }) {
        Response::Settled(results) => results.iter().map(Result::is_ok).collect(),
        other => panic!("{other:?}"),
    }
}

fn refusal(client: &mut Raw, request: Request) -> ErrorCode {
    match client.ask(request) {
        Response::Error(error) => error.code,
        other => panic!("{other:?}"),
    }
}

fn filter(name: &str) -> Filter {
    Filter { topic: Some(topic(name)), ..Filter::default() }
}

#[test]
fn a01_no_token_or_nearly_the_right_one() {
    let scene = Scene::new();
    let nearly = [&scene.shop[..71], &format!("{}0", scene.shop), &scene.shop.to_uppercase(), "", "adjourn_"];
    for token in nearly {
        let mut client = Raw::connect(scene.server.address);
        client.send(&[Request::Hello(Hello { token: token.to_owned().into(), ..hello() })]);
        assert_eq!(client.refusal().code, ErrorCode::Unauthenticated, "{token:?}");
    }
    assert!(scene.shop().is_alive());
}

#[test]
fn a02_requests_before_hello() {
    let scene = Scene::new();
    for request in
        [Request::Stats, Request::BackupBegin, Request::Get(JobRef::Id(JobId(1))), Request::ClusterStatus]
    {
        let mut client = Raw::connect(scene.server.address);
        client.send(&[request]);
        assert_eq!(client.refusal().code, ErrorCode::Unauthenticated);
    }
}

#[test]
fn a03_a_frame_that_would_take_all_memory() {
    let scene = Scene::new();
    for _ in 0..100 {
        let mut client = Raw::connect(scene.server.address);
        client.send_bytes(&[0xFF; 64]);
        assert_eq!(client.refusal().code, ErrorCode::TooLarge);
    }
    assert!(scene.shop().is_alive());
}

#[test]
fn a04_a_session_with_a_guessed_secret() {
    let scene = Scene::new();
    let (mut shop, welcome) = scene.greet(&scene.shop, None);
    push(&mut shop, "shop.a", 0);
    let leases = reserve(&mut shop, "shop.a");
    for guess in [[0; 16], [1; 16], [0xFF; 16]] {
        let resume = Resume { session: welcome.session, secret: SessionSecret(guess) };
        let (_, told) = scene.greet(&scene.thief, Some(resume));
        assert!(!told.resumed && told.session != welcome.session);
    }
    assert_eq!(finish(&mut shop, leases), [true]);
}

#[test]
fn a05_a_session_with_its_secret_and_without_rights() {
    let scene = Scene::new();
    let (mut shop, welcome) = scene.greet(&scene.shop, None);
    push(&mut shop, "shop.a", 0);
    let leases = reserve(&mut shop, "shop.a");
    let resume = welcome.resume();
    let (mut thief, told) = scene.greet(&scene.thief, resume);
    assert!(!told.resumed && told.session != welcome.session);
    assert_eq!(finish(&mut thief, leases.clone()), [false]);
    let (mut shop, _) = scene.greet(&scene.shop, resume);
    assert_eq!(finish(&mut shop, leases), [true]);
}

#[test]
fn a06_leases_with_guessed_fences() {
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    let job = push(&mut shop, "shop.a", 0);
    let leases = reserve(&mut shop, "shop.a");
    let guesses = (0..1000).map(|fence| Lease { job, fence: Fence(fence) }).collect();
    assert!(finish(&mut thief, guesses).iter().all(|is_good| !is_good));
    assert_eq!(finish(&mut shop, leases), [true]);
}

#[test]
fn a07_the_jobs_of_others_by_their_ids() {
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    let job = push(&mut shop, "shop.a", 60_000);
    for id in 0..=job.0 + 10 {
        let job = JobRef::Id(JobId(id));
        let (get, delete) = (Request::Get(job.clone()), Request::Delete(job.clone()));
        for request in [get, delete, Request::RunNow(job)] {
            assert_eq!(refusal(&mut thief, request), ErrorCode::NotFound);
        }
    }
    assert!(matches!(shop.ask(Request::Get(JobRef::Id(job))), Response::Job(_)));
}

#[test]
fn a08_jobs_that_others_will_push_next() {
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    let mut next = push(&mut shop, "shop.a", 60_000).0 + 1;
    for _ in 0..50 {
        let deletes: Vec<Request> =
            (next..next + 3).map(|id| Request::Delete(JobRef::Id(JobId(id)))).collect();
        thief.send(&deletes);
        next = push(&mut shop, "shop.a", 60_000).0 + 1;
        for _ in deletes {
            assert!(
                matches!(thief.receive(), Some((_, Response::Error(error))) if error.code == ErrorCode::NotFound)
            );
        }
    }
    let counted = shop.ask(Request::Count(filter("shop.a").into()));
    assert!(matches!(counted, Response::Counted { jobs: 51, .. }), "{counted:?}");
}

#[test]
fn a09_the_cursor_of_anothers_list() {
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    (0..4).for_each(|_| _ = push(&mut shop, "shop.a", 60_000));
    let list = |filter: Filter, cursor: bytes::Bytes| {
        Request::List(List { filter, order: ListOrder::Due, jobs_max: 2, with_bodies: true, cursor })
    };
    let Response::Jobs { jobs, cursor } = shop.ask(list(filter("shop.a"), bytes::Bytes::new())) else {
        panic!()
    };
    assert!(jobs.len() == 2 && !cursor.is_empty());
    assert_eq!(refusal(&mut thief, list(filter("shop.a"), cursor.clone())), ErrorCode::Forbidden);
    let Response::Jobs { jobs, .. } = thief.ask(list(Filter::default(), cursor)) else { panic!() };
    assert!(jobs.is_empty());
}

#[test]
fn a10_others_jobs_moved_to_ones_own_topic() {
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    push(&mut shop, "shop.a", 60_000);
    for filter in [filter("shop.a"), Filter::default()] {
        let change = Change::Move { to: topic("thief.a") };
        let steal = Request::Bulk(Bulk { change, filter, jobs_max: 9, cursor: bytes::Bytes::new() });
        assert_eq!(refusal(&mut thief, steal), ErrorCode::Forbidden);
    }
}

#[test]
fn a11_dead_letters_for_others() {
    let scene = Scene::new();
    let mut thief = scene.thief();
    let set = TopicPolicy { dead_letters: Some(topic("shop.a")), ..TopicPolicy::default() };
    let change = Box::new(PolicyChange { set, ..PolicyChange::default() });
    let set = Request::TopicSet(TopicSet { topic: topic("thief.a"), change });
    assert_eq!(refusal(&mut thief, set), ErrorCode::Forbidden);
}

#[test]
fn a12_backups() {
    let scene = Scene::new();
    let mut thief = scene.thief();
    assert_eq!(refusal(&mut thief, Request::BackupBegin), ErrorCode::Forbidden);
    assert_eq!(refusal(&mut thief, Request::BackupRead { offset: 0, bytes: 100 }), ErrorCode::NotFound);
}

#[test]
fn a13_what_only_an_operator_may() {
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    for request in [
        Request::Connections { after: 0, connections_max: 9 },
        Request::Disconnect { connection: 1, ends_session: true },
        Request::Advance(Advance::By(1)),
        Request::ClusterAdd { address: "127.0.0.1:1".to_owned() },
        Request::ClusterRemove { node: 1 },
        Request::ClusterTransfer { node: 0 },
        Request::Pause { topic: topic("shop.a"), for_ms: None },
    ] {
        assert_eq!(refusal(&mut thief, request), ErrorCode::Forbidden);
    }
    assert!(shop.is_alive());
}

#[test]
fn a14_a_flood_of_sessions() {
    let scene = Scene::new();
    let (mut shop, welcome) = scene.greet(&scene.shop, None);
    push(&mut shop, "shop.a", 0);
    let leases = reserve(&mut shop, "shop.a");
    drop(shop);
    let opened = (0..200).filter(|_| {
        let mut client = Raw::connect(scene.server.address);
        client.send(&[Request::Hello(Hello { token: scene.thief.clone().into(), ..hello() })]);
        matches!(client.receive(), Some((_, Response::Welcome(_))))
    });
    assert_eq!(opened.count(), 20);
    let (mut shop, told) = scene.greet(&scene.shop, welcome.resume());
    assert!(told.leases_kept && told.session != SessionId(0));
    assert_eq!(finish(&mut shop, leases), [true]);
}

#[test]
fn a15_connections_that_say_nothing() {
    let scene = Scene::new();
    let silent: Vec<TcpStream> =
        (0..1500).filter_map(|_| TcpStream::connect(scene.server.address).ok()).collect();
    let mut stranger = Raw::over(crate::server::tokens::from("127.0.0.9", scene.server.address));
    stranger.greet(Hello { token: scene.shop.clone().into(), ..hello() });
    assert!(stranger.is_alive());
    drop(silent);
}

/// A node with TLS, and the folder of certificates.
fn secure(arguments: &[&str]) -> (TempDir, Process) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for what in [&["node", "1", "--host", "localhost"][..], &["client", "thief"]] {
        assert!(adjourn(&["cert"]).args(what).args(["--dir", &path("")]).output().unwrap().status.success());
    }
    let (certificate, key) = (path("node-1.pem"), path("node-1.key"));
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    let arguments: Vec<String> = arguments.iter().map(|text| text.replace("CERTS", &path(""))).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = Process::start(&folder.path().join("data"), &[&tls[..], &arguments].concat());
    (folder, server)
}

#[test]
fn a16_handshakes_that_are_left() {
    let (folder, server) = secure(&[]);
    let address = format!("adjourns://localhost:{}", server.address.port());
    let ca = folder.path().join("ca.pem").to_str().unwrap().to_owned();
    let left: Vec<TcpStream> = (0..1500)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(server.address).ok()?;
            // The head of a handshake record, and nothing of it.
            stream.write_all(&[0x16, 3, 1, 2, 0]).ok().map(|()| stream)
        })
        .collect();
    let commands = Commands::to(&address);
    // The attacker and this client share an address: it comes in when its own oldest places are a second old.
    let begun = now();
    while commands.run(&["push", "t", "body", "--tls-ca", &ca], b"").code != Some(0) {
        assert!(begun.elapsed() < Duration::from_mins(1), "it comes in");
    }
    let reserved = commands.ok(&["reserve", "t", "--tls-ca", &ca]);
    assert!(reserved.contains("body"), "{reserved}");
    drop(left);
}

#[test]
fn a17_http_on_a_port_of_tls() {
    let (_folder, server) = secure(&[]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: queue\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("this server speaks TLS alone"));
}

#[test]
fn a18_a_client_certificate_of_another_ca() {
    let (folder, server) = secure(&["--tls-client-ca", "CERTSca.pem"]);
    let foreign = tempfile::tempdir().unwrap();
    let other = |name: &str| foreign.path().join(name).to_str().unwrap().to_owned();
    assert!(adjourn(&["cert", "client", "thief", "--dir", &other("")]).output().unwrap().status.success());
    let ca = folder.path().join("ca.pem").to_str().unwrap().to_owned();
    let told = Commands::to(&format!("adjourns://localhost:{}", server.address.port())).run(
        &["stats", "--tls-ca", &ca, "--tls-cert", &other("thief.pem"), "--tls-key", &other("thief.key")],
        b"",
    );
    assert!(told.code != Some(0), "{}", told.out);
}

/// The first byte of an alert of TLS.
const ALERT: u8 = 0x15;
/// The arguments of a member with certificates.
const MEMBER: [&str; 9] = [
    "--peer-listen",
    "127.0.0.1:0",
    "--found",
    "--peer-tls-cert",
    "CERTSnode-1.pem",
    "--peer-tls-key",
    "CERTSnode-1.key",
    "--peer-tls-ca",
    "CERTSca.pem",
];

/// A node that tries to join the cluster at this address; what it says.
fn join(address: &str, arguments: &[&str]) -> String {
    let data = tempfile::tempdir().unwrap();
    let own = ["--node", "2", "--peer-listen", "127.0.0.1:0", "--join", address];
    let joined = Process::try_start(data.path(), &[&own[..], arguments].concat());
    joined.err().expect("it does not join").1
}

/// Where the members of a node find it.
fn peer_address(folder: &TempDir, server: &Process) -> String {
    let ca = folder.path().join("ca.pem").to_str().unwrap().to_owned();
    let commands = Commands::to(&format!("adjourns://localhost:{}", server.address.port()));
    let begun = now();
    // A node that has just founded its cluster has yet to say where it is.
    loop {
        let report = commands.json(&["cluster", "status", "--json", "--tls-ca", &ca]);
        assert!(!report["leader"].is_null());
        match report["members"][0]["peer_address"].as_str().unwrap() {
            "" => assert!(begun.elapsed() < PATIENCE, "{report}"),
            address => return address.to_owned(),
        }
    }
}

#[test]
fn a19_a_node_without_a_certificate() {
    let (folder, server) = secure(&MEMBER);
    let peers = peer_address(&folder, &server);
    // Bytes that look like frames of a newer term.
    for _ in 0..100 {
        let mut stream = TcpStream::connect(&peers).unwrap();
        stream
            .write_all(&[0x20, 0, 0, 0, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])
            .unwrap();
        let mut answer = Vec::new();
        // It may be reset.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.first().is_none_or(|record| *record == ALERT), "{answer:?}");
    }
    assert_eq!(peer_address(&folder, &server), peers, "it leads on");
}

#[test]
fn a20_a_node_with_the_certificate_of_a_client() {
    let (folder, server) = secure(&MEMBER);
    let peers = peer_address(&folder, &server);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // The node itself notices that it has no certificate for its number.
    let (certificate, key, ca) = (path("thief.pem"), path("thief.key"), path("ca.pem"));
    let said = join(&peers, &["--peer-tls-cert", &certificate, "--peer-tls-key", &key, "--peer-tls-ca", &ca]);
    assert!(said.contains("it is not for node-2.adjourn"), "{said}");
    // What a node says to one that does not look is tested beside its handshake.
    assert_eq!(peer_address(&folder, &server), peers, "it leads on");
}

#[test]
fn a25_thousands_of_others_jobs_looked_up() {
    const FRAMES: usize = 40;
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    let jobs: Vec<JobId> = (0..20).map(|_| push(&mut shop, "shop.a", 3 * 3_600_000)).collect();
    let named: Vec<Lease> =
        jobs.iter().cycle().take(LEASES_MAX).map(|job| Lease { job: *job, fence: Fence(1) }).collect();
    thief.send(&vec![Request::Finish { leases: named.clone() }; FRAMES]);
    for _ in 0..FRAMES {
        push(&mut shop, "shop.a", 0);
        let settled = thief.receive();
        let stale = |results: &[Result<(), ErrorCode>]| {
            results.len() == LEASES_MAX && results.iter().all(|result| *result == Err(ErrorCode::StaleLease))
        };
        assert!(matches!(&settled, Some((_, Response::Settled(results))) if stale(results)), "{settled:?}");
    }
    let deletes: Vec<Request> =
        jobs.iter().cycle().take(5_000).map(|job| Request::Delete(JobRef::Id(*job))).collect();
    thief.send(&deletes);
    drop(thief);
    push(&mut shop, "shop.a", 0);
    let counted = shop.ask(Request::Count(filter("shop.a").into()));
    let all = (jobs.len() + FRAMES + 1) as u64;
    assert!(matches!(counted, Response::Counted { jobs, .. } if jobs == all), "{counted:?}");
}

/// Pushes a list of jobs under an idempotency key.
fn push_under(client: &mut Raw, key: u128, name: &str, jobs: usize) -> Vec<PushResult> {
    let list_jobs = u32::try_from(jobs).unwrap();
    let idempotency = std::num::NonZeroU128::new(key).map(|key| Idempotency { key, list_jobs });
    let jobs = vec![NewJob::new("body").after(3_600_000); jobs];
    match client.ask(Request::Push(Push { topic: topic(name), sequence: 0, jobs, idempotency })) {
        Response::Pushed(results) => results,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a26_anothers_idempotency_key() {
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    assert!(matches!(push_under(&mut thief, 99, "thief.a", 1)[..], [PushResult::Pushed(_)]));
    let own = push_under(&mut shop, 99, "shop.a", 1);
    assert!(matches!(own[..], [PushResult::Pushed(_)]), "{own:?}");
    assert_eq!(push_under(&mut shop, 99, "shop.a", 1), own);
    assert!(matches!(push_under(&mut thief, 100, "thief.a", 1)[..], [PushResult::Pushed(_)]));
}

#[test]
fn a27_a_flood_of_idempotency_keys() {
    let scene = Scene::new();
    let (mut shop, mut thief) = (scene.shop(), scene.thief());
    let own = push_under(&mut shop, 7, "shop.a", 10);
    for batch in 0..=(IDEMPOTENT_PUSHES_MAX / PUSH_JOBS_MAX) as u128 {
        push_under(&mut thief, 1 << 64 | batch << 20, "thief.a", PUSH_JOBS_MAX);
    }
    assert_eq!(push_under(&mut shop, 7, "shop.a", 10), own);
}

#[test]
fn a28_topics_made_by_dead_letters() {
    let scene = Scene::new();
    let mut thief = scene.thief();
    let mut allowed = 0;
    for number in 0..20 {
        let to = Some(topic(&format!("thief.dead{number}")));
        let set = TopicPolicy { dead_letters: to, ..TopicPolicy::default() };
        let change = Box::new(PolicyChange { set, ..PolicyChange::default() });
        let set = Request::TopicSet(TopicSet { topic: topic("thief.a"), change });
        match thief.ask(set) {
            Response::Done => allowed += 1,
            Response::Error(error) => assert_eq!(error.code, ErrorCode::Quota),
            other => panic!("{other:?}"),
        }
        push(&mut thief, "thief.a", 0);
        let leases = reserve(&mut thief, "thief.a");
        assert!(matches!(thief.ask(Request::Bury { leases, reason: None }), Response::Settled(_)));
    }
    let Response::Topics(topics) = thief.ask(Request::Topics) else { panic!("topics") };
    assert!(topics.len() <= 3 && allowed >= 1, "{} topics", topics.len());
}
