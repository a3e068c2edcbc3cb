//! Tokens for real: made by the command line, shown to a node that is a process, revoked while it runs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use adjourn_protocol::{
    ErrorCode, GoingAway, Hello, IfVersion, JobTemplate, NewJob, Push, Request, Response, ScheduleFill,
    ScheduleSet,
};
use adjourn_types::{Millis, ScheduleRules};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::cli::commands::{Commands, Ended};
use crate::server_rig::{Process, Raw, adjourn, hello, push, topic};

/// A node with tokens.
struct Rig {
    folder: TempDir,
    server: Process,
}

impl Rig {
    fn start(tokens: &[&[&str]], arguments: &[&str]) -> (Self, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.toml");
        let secrets = tokens.iter().map(|token| create(&file.to_string_lossy(), token)).collect();
        let (data, audit) = (folder.path().join("data"), folder.path().join("audit.log"));
        let (file, audit) = (file.to_string_lossy().into_owned(), audit.to_string_lossy().into_owned());
        let own = ["--tokens-file", &file, "--audit-log", &audit];
        let server = Process::start(&data, &[&own[..], arguments].concat());
        (Self { folder, server }, secrets)
    }

    fn file(&self) -> String {
        self.folder.path().join("tokens.toml").to_str().unwrap().to_owned()
    }

    /// A client that shows this.
    fn client(&self, secret: &str) -> Raw {
        let mut client = Raw::connect(self.server.address);
        client.greet(with(secret));
        client
    }

    fn run(&self, secret: &str, arguments: &[&str]) -> Ended {
        Commands::to(&self.server.address).run(&[arguments, &["--token", secret]].concat(), b"")
    }

    /// What the audit log says, when the server has ended.
    fn audited(self) -> Vec<Value> {
        assert!(self.server.terminate().success());
        let text = std::fs::read_to_string(self.folder.path().join("audit.log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn with(secret: &str) -> Hello {
    Hello { token: secret.to_owned().into(), ..hello() }
}

/// `adjourn token`.
fn token(file: &str, arguments: &[&str]) -> Ended {
    let ended = adjourn(&["token"]).args(arguments).args(["--file", file]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: ended.status.code(), out: text(ended.stdout), errors: text(ended.stderr) }
}

/// Makes a token; its secret.
fn create(file: &str, arguments: &[&str]) -> String {
    let ended = token(file, &[&["create"], arguments].concat());
    assert_eq!((ended.code, ended.errors.as_str()), (Some(0), ""));
    ended.out.trim_end().to_owned()
}

#[test]
fn the_file_is_managed_by_commands() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml").to_str().unwrap().to_owned();
    let secret =
        create(&file, &["shop", "--allow", "push:orders.*", "--allow", "read", "--jobs-per-second", "100"]);
    assert!(secret.starts_with("adjourn_") && secret.len() == 72, "{secret}");
    create(&file, &["mail", "--allow", "consume:mail", "--expires-in", "90d"]);
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&secret[8..]), "the secret stands nowhere");
    let listed = token(&file, &["list"]).out;
    assert!(listed.contains("push:orders.* read:*") && listed.contains("jobs/s 100"), "{listed}");
    let json: Value = serde_json::from_str(&token(&file, &["list", "--json"]).out).unwrap();
    assert_eq!((&json["tokens"][0]["name"], &json["tokens"][0]["sha256"]), (&"shop".into(), &Value::Null));
    for (arguments, code, reason) in [
        (&["create", "shop", "--allow", "read"][..], 1, "has a token called shop"),
        (&["create", "x", "--allow", "write"], 2, "expected push, consume, read, manage or admin"),
        (&["create", "x", "--allow", "admin:orders"], 2, "admin is a right to the whole server"),
        (&["create", "x"], 2, "--allow"),
        (&["create", "a b", "--allow", "read"], 2, "a token's name has"),
        (&["revoke", "nobody"], 3, "has no token called nobody"),
    ] {
        let ended = token(&file, arguments);
        assert!(ended.code == Some(code) && ended.errors.contains(reason), "{arguments:?}: {}", ended.errors);
    }
    assert_eq!(token(&file, &["revoke", "shop"]).code, Some(0));
    assert!(!token(&file, &["list"]).out.contains("shop"));
}

#[test]
fn commands_that_change_the_file_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml").to_str().unwrap().to_owned();
    create(&file, &["old", "--allow", "push"]);
    let names: Vec<String> = (0..12).map(|number| format!("token-{number}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| create(&file, &[name, "--allow", "push"]));
        }
        scope.spawn(|| assert_eq!(token(&file, &["revoke", "old"]).code, Some(0)));
    });
    let listed: Value = serde_json::from_str(&token(&file, &["list", "--json"]).out).unwrap();
    let mut found: Vec<&str> =
        listed["tokens"].as_array().unwrap().iter().map(|token| token["name"].as_str().unwrap()).collect();
    found.sort_unstable();
    let mut wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn the_file_keeps_its_comments_its_mode_and_the_link_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("tokens.toml"), folder.path().join("link"));
    symlink("tokens.toml", &link).unwrap();
    let link_text = link.to_str().unwrap();
    create(link_text, &["shop", "--allow", "push"]);
    let made = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, made.replace("[[token]]", "# Of the shop.\n[[token]]")).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    create(link_text, &["mail", "--allow", "push"]);
    assert_eq!(token(link_text, &["revoke", "mail"]).code, Some(0));
    assert!(
        std::fs::read_to_string(&file).unwrap().contains("\n# Of the shop.\n[[token]]\nname = \"shop\"\n")
    );
    assert!(link.is_symlink());
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
}

/// A user that has nothing, and what it may run.
const NOBODY: u32 = 65534;

#[test]
fn the_file_stays_that_of_the_servers_user() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root gives files to other users");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let text = file.to_str().unwrap();
    create(text, &["shop", "--allow", "push"]);
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let owner = |path: &Path| {
        let found = std::fs::metadata(path).unwrap();
        (found.uid(), found.gid(), found.mode() & 0o777)
    };
    for (user, group) in [(0, NOBODY), (NOBODY, NOBODY)] {
        chown(&file, Some(user), Some(group)).unwrap();
        create(text, &[&format!("of-{user}"), "--allow", "push"]);
        assert_eq!(owner(&file), (user, group, 0o640));
    }
    // Another user may put a file in its place, and not give it its owner.
    chown(&file, Some(0), Some(NOBODY)).unwrap();
    let before = std::fs::read_to_string(&file).unwrap();
    // The binary may be where others cannot go.
    let program = folder.path().join("adjourn");
    std::fs::copy(env!("CARGO_BIN_EXE_adjourn"), &program).unwrap();
    let mut other = std::process::Command::new(&program);
    other.args(["token", "revoke", "shop", "--file", text]).uid(NOBODY).gid(NOBODY);
    let refused = other.output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("it belongs to user 0, group 65534"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    assert_eq!(owner(&file), (0, NOBODY, 0o640));
}

#[test]
fn a_token_may_do_what_it_grants() {
    let shop = ["shop", "--allow", "push:orders.*"];
    let operator = ["operator", "--allow", "push,consume,read,manage,admin"];
    let (rig, secrets) = Rig::start(&[&shop, &operator], &[]);
    let [shop, operator] = secrets.as_slice() else { panic!("two") };
    assert_eq!(rig.run(shop, &["push", "orders.eu", "x"]).code, Some(0));
    for arguments in [&["push", "mail", "x"][..], &["stats"], &["reserve", "orders.eu"], &["connections"]] {
        let ended = rig.run(shop, arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}");
        let told = "adjourn: FORBIDDEN: the token shop has no right to";
        assert!(ended.errors.starts_with(told), "{}", ended.errors);
    }
    assert_eq!(rig.run(operator, &["push", "mail", "x"]).code, Some(0));
    assert_eq!(rig.run(operator, &["pause", "mail"]).code, Some(0));
    for unknown in ["", "adjourn_0", &shop[..70]] {
        let mut client = Raw::connect(rig.server.address);
        client.send(&[Request::Hello(with(unknown))]);
        assert_eq!(client.refusal().code, ErrorCode::Unauthenticated, "{unknown:?}");
    }
    let stranger = rig.run("adjourn_0", &["stats"]);
    let told = "adjourn: UNAUTHENTICATED: the token is unknown: ask the operator of the server for another\n";
    assert_eq!((stranger.code, stranger.errors.as_str()), (Some(1), told));
    let shop = shop.clone();
    let audited = rig.audited();
    let events: Vec<(&str, &str)> = audited
        .iter()
        .map(|line| (line["event"].as_str().unwrap(), line["request"].as_str().unwrap_or_default()))
        .collect();
    let denied = ["PUSH", "STATS", "RESERVE", "CONNECTIONS"].map(|request| ("denied", request));
    let expected = [&denied[..], &[("allowed", "PAUSE")], &[("login_failed", ""); 4]].concat();
    assert_eq!(events, expected);
    assert!(audited[0]["token"] == "shop" && audited[0]["about"] == "topic mail", "{}", audited[0]);
    assert!(audited.iter().all(|line| !line.to_string().contains(&shop[8..20])), "no secret is logged");
}

/// The log of a server until it listens.
fn log_of_start(data: &Path, arguments: &[&str]) -> String {
    let mut serve = adjourn(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    let mut server = serve.args(arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut log = Vec::new();
    for line in lines {
        let is_ready = line.contains("listening");
        log.push(line);
        if is_ready {
            break;
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    log.join("\n")
}

#[test]
fn a_limit_of_memory_that_leaves_no_room_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let start = |arguments: &[&str]| log_of_start(&folder.path().join("data"), arguments);
    let warning = "memory_max_bytes leaves no room for jobs";
    assert!(start(&["--memory-max-bytes", "33554432"]).contains(warning));
    assert!(start(&["--memory-max-bytes", "67108864", "--body-bytes-max", "8388608"]).contains(warning));
    assert!(!start(&["--memory-max-bytes", "67108864"]).contains(warning));
    assert!(!start(&[]).contains(warning));
}

#[test]
fn a_file_without_tokens_locks_everybody_out_and_the_log_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("tokens.toml"));
    std::fs::write(&file, "# Nobody yet.\n").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let arguments = ["--tokens-file", file.to_str().unwrap()];
    let log = log_of_start(&data, &arguments);
    assert!(log.contains("WARN no token is in the file: every client is refused"), "{log}");
    assert!(!log.contains("every user of this machine"), "{log}");
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let log = log_of_start(&data, &arguments);
    assert!(log.contains("every user of this machine may read tokens_file"), "{log}");
    create(file.to_str().unwrap(), &["shop", "--allow", "push"]);
    let log = log_of_start(&data, &arguments);
    assert!(log.contains("listening") && !log.contains("no token is"), "{log}");
}

#[test]
fn commands_need_no_right_but_the_one_that_they_are_for() {
    let admin = ["admin", "--allow", "admin"];
    let cleaner = ["cleaner", "--allow", "manage:a.*"];
    let mover = ["mover", "--allow", "manage:a.1", "--allow", "push:b"];
    let all = ["all", "--allow", "push,consume,read,manage"];
    let (rig, secrets) = Rig::start(&[&admin, &cleaner, &mover, &all], &[]);
    let [admin, cleaner, mover, all] = secrets.as_slice() else { panic!("four") };
    let push = |topic: &str| assert_eq!(rig.run(all, &["push", topic, "x", "--delay", "1h"]).code, Some(0));
    let ok = |secret: &str, arguments: &[&str]| {
        let ended = rig.run(secret, arguments);
        assert_eq!((ended.code, ended.errors.as_str()), (Some(0), ""), "{arguments:?}");
        ended.out
    };
    push("a.1");
    assert_eq!(
        ok(cleaner, &["reschedule", "--topic", "a.1", "--delay", "2h"]),
        "{\"changed\":1,\"skipped\":0}\n"
    );
    assert_eq!(ok(mover, &["move", "--topic", "a.1", "--to", "b"]), "{\"changed\":1,\"skipped\":0}\n");
    push("a.1");
    assert_eq!(ok(cleaner, &["delete", "--topic", "a.1"]), "{\"changed\":1,\"skipped\":0}\n");
    push("a.1");
    assert_eq!(ok(cleaner, &["topic", "clear", "a.1"]), "{\"deleted\":1}\n");
    push("a.1");
    ok(cleaner, &["topic", "delete", "a.1", "--force"]);
    for (arguments, reason) in [
        (&["delete", "--topic", "a.1", "--dry-run"][..], "the token cleaner has no right to read on a.1"),
        (&["delete", "--topic", "b"], "the token cleaner has no right to manage on b"),
        (&["move", "--topic", "a.1", "--to", "b"], "the token cleaner has no right to push on b"),
    ] {
        let ended = rig.run(cleaner, arguments);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ended.errors.contains(reason) && !ended.errors.contains("continue with"), "{}", ended.errors);
    }
    assert!(ok(admin, &["cluster", "status", "--json"]).contains("\"leader\":1"));
    ok(admin, &["connections"]);
    let backup = rig.folder.path().join("queue.backup");
    ok(admin, &["backup", "create", backup.to_str().unwrap()]);
    // It gets as far as the leader, which cannot reach that node.
    let added = rig.run(admin, &["cluster", "add", "127.0.0.1:1", "--wait"]);
    assert!(!added.errors.contains("has no right"), "{}", added.errors);
}

#[test]
fn the_connections_of_a_revoked_token_end_and_a_changed_one_resumes_its_session() {
    let (rig, secrets) = Rig::start(&[&["shop", "--allow", "push"], &["mail", "--allow", "push"]], &[]);
    let [shop, mail] = secrets.as_slice() else { panic!("two") };
    let mut changed = Raw::connect(rig.server.address);
    let welcome = changed.greet(with(shop));
    let (mut revoked, mut other) = (rig.client(mail), rig.client(shop));
    let going_away = |client: &mut Raw| match client.receive() {
        Some((_, Response::GoingAway { message, reason: GoingAway::Unknown })) => message,
        other => panic!("{other:?}"),
    };
    token(&rig.file(), &["revoke", "mail"]);
    rig.server.signal(Signal::HUP);
    assert!(going_away(&mut revoked).contains("revoked"));
    assert!(other.is_alive(), "the other token is as it was");
    let mut again = Raw::connect(rig.server.address);
    again.send(&[Request::Hello(with(mail))]);
    assert_eq!(again.refusal().code, ErrorCode::Unauthenticated);
    // Nobody tells the server this time.
    let text = std::fs::read_to_string(rig.file()).unwrap();
    std::fs::write(rig.file(), text.replace("push:*", "push,read:*")).unwrap();
    going_away(&mut changed);
    let mut resumed = Raw::connect(rig.server.address);
    let resume = welcome.resume();
    let welcome = resumed.greet(Hello { resume, ..with(shop) });
    assert!(welcome.resumed && welcome.leases_kept);
    assert!(matches!(resumed.ask(Request::Stats), Response::Stats(_)));
    assert!(rig.server.terminate().success());
}

#[test]
fn a_file_that_cannot_be_used_changes_nothing() {
    let (rig, secrets) = Rig::start(&[&["shop", "--allow", "push"]], &[]);
    let mut client = rig.client(&secrets[0]);
    let text = std::fs::read_to_string(rig.file()).unwrap();
    std::fs::write(rig.file(), text.replace("allow", "alow")).unwrap();
    rig.server.signal(Signal::HUP);
    assert!(client.is_alive() && rig.client(&secrets[0]).is_alive());
    assert!(rig.server.terminate().success());
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("bad.toml");
    std::fs::write(&file, text.replace("allow", "alow")).unwrap();
    let (code, log) =
        Process::try_start(data.path(), &["--tokens-file", file.to_str().unwrap()]).err().unwrap();
    assert!(code == Some(2) && log.contains("there is no key alow: do you mean allow?"), "{code:?}: {log}");
}

#[test]
fn a_token_has_its_limits() {
    let limited =
        ["shop", "--allow", "push", "--connections", "2", "--body-bytes", "100", "--jobs-per-second", "5"];
    let (rig, secrets) = Rig::start(&[&limited, &["mail", "--allow", "push"]], &[]);
    let [shop, mail] = secrets.as_slice() else { panic!("two") };
    let mut first = Raw::connect(rig.server.address);
    assert_eq!(first.greet(with(shop)).body_bytes_max, 100);
    let _second = rig.client(shop);
    let mut third = Raw::connect(rig.server.address);
    third.send(&[Request::Hello(with(shop))]);
    assert_eq!(third.refusal().code, ErrorCode::Busy);
    let refusal = |response: Response| match response {
        Response::Error(error) => (error.code, error.retry_after_ms),
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(first.ask(push("t", vec![0; 101], 0))).0, ErrorCode::TooLarge);
    let jobs = vec![NewJob::new("x"); 50];
    assert!(matches!(
        first.ask(Request::Push(Push {
            topic: topic("t"),
            sequence: 1,
            jobs: jobs.clone(),
            idempotency: None
        })),
        Response::Pushed(_)
    ));
    let (code, retry_after_ms) = refusal(first.ask(push("t", "x", 2)));
    assert_eq!(code, ErrorCode::Busy);
    assert!((1_000..10_000).contains(&retry_after_ms), "{retry_after_ms}");
    let mut other = rig.client(mail);
    assert!(matches!(
        other.ask(Request::Push(Push { topic: topic("t"), sequence: 1, jobs, idempotency: None })),
        Response::Pushed(_)
    ));
    assert!(rig.server.terminate().success());
}

#[test]
fn an_address_has_no_more_connections_than_it_may() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path(), &["--connections-per-address-max", "3"]);
    let mut clients = [(); 3].map(|()| Raw::greeted(server.address));
    let mut fourth = Raw::connect(server.address);
    assert_eq!(fourth.refusal().code, ErrorCode::Busy);
    assert!(clients.iter_mut().all(Raw::is_alive));
    assert!(server.terminate().success());
}

#[test]
fn silent_connections_keep_nobody_out() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path(), &["--connections-max", "8"]);
    // Half of them begin a HELLO.
    let silent: Vec<TcpStream> = (0..1200)
        .map(|number| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            if number % 2 == 0 {
                // It may have been turned away already.
                let _ = stream.write_all(&[58, 0, 0, 0, 1]);
            }
            stream
        })
        .collect();
    // Somebody from elsewhere comes in.
    let mut other = Raw::over(from("127.0.0.9", server.address));
    other.greet(hello());
    assert!(other.is_alive());
    let given_up = silent.into_iter().filter(is_closed).count();
    assert!(given_up > 100, "{given_up} of 1200 were given up for others");
    assert!(server.terminate().success());
}

/// A connection from this address of the loopback.
pub(crate) fn from(address: &str, to: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(address.parse().unwrap(), 0))?;
        socket.connect(to).await?.into_std()
    });
    let stream = stream.unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}

fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut byte = [0];
    !matches!(stream.read(&mut byte), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn what_a_backfill_pushes_counts_for_the_limits_of_its_token() {
    let grants = ["--allow", "push", "--allow", "read"];
    let (rig, secrets) = Rig::start(
        &[
            &["operator", "--allow", "manage", "--allow", "push"],
            &[&["shop", "--body-bytes", "100", "--jobs-per-second", "5"], &grants[..]].concat(),
        ],
        &[],
    );
    let [operator, shop] = secrets.as_slice() else { panic!("two") };
    let mut operator = rig.client(operator);
    for (name, body_bytes) in [("small", 100), ("large", 101)] {
        let rules = ScheduleRules { when: "0 9 * * *".to_owned(), ..ScheduleRules::default() };
        let template = JobTemplate { body: vec![0; body_bytes].into(), ..JobTemplate::default() };
        let (topic, name, rules) = (topic("t"), name.to_owned(), Box::new(rules));
        let set = ScheduleSet { topic, name, rules, template, if_version: IfVersion::Any };
        assert!(matches!(operator.ask(Request::ScheduleSet(set)), Response::Scheduled { .. }));
    }
    let fill = |name: &str, is_dry_run| {
        let (from, to) = (Millis(1_704_067_200_000), Millis(1_704_067_200_000 + 50 * 86_400_000));
        Request::ScheduleFill(ScheduleFill { topic: topic("t"), name: name.to_owned(), from, to, is_dry_run })
    };
    let refusal = |response: Response| match response {
        Response::Error(error) => (error.code, error.retry_after_ms),
        other => panic!("{other:?}"),
    };
    let mut client = rig.client(shop);
    assert_eq!(refusal(client.ask(fill("large", false))).0, ErrorCode::TooLarge);
    // To count them costs nothing.
    for _ in 0..3 {
        let Response::ScheduleFilled(counted) = client.ask(fill("large", true)) else { panic!("counted") };
        assert_eq!((counted.instants, counted.jobs(), counted.bytes), (50, 0, 0));
    }
    let Response::ScheduleFilled(filled) = client.ask(fill("small", false)) else { panic!("filled") };
    assert_eq!((filled.pushed, filled.bytes), (50, 5_000));
    for request in [push("t", "x", 0), fill("small", false)] {
        let (code, retry_after_ms) = refusal(client.ask(request));
        assert_eq!(code, ErrorCode::Busy);
        assert!((1_000..10_000).contains(&retry_after_ms), "{retry_after_ms}");
    }
    assert!(rig.server.terminate().success());
}
