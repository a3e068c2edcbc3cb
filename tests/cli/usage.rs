//! The command line without a server: help, mistakes, and a server that is not there.

use std::net::TcpListener;

use crate::server_rig::{Process, adjourn};

/// The standard output of a command that must succeed.
fn help_of(arguments: &[&str]) -> String {
    let output = adjourn(arguments).arg("--help").output().expect("the binary");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    let help = String::from_utf8(output.stdout).expect("text");
    assert!(!help.contains('\u{a0}'), "{arguments:?}");
    let examples = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    for line in examples.take_while(|line| !line.is_empty()) {
        assert!(line.starts_with("  "), "{arguments:?}: an example is broken: {line}");
    }
    help
}

/// The names under "Commands:" in a help.
fn commands_of(help: &str) -> Vec<String> {
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

#[test]
fn every_command_has_a_help_with_an_example() {
    let commands = commands_of(&help_of(&[]));
    for expected in ["serve", "demo", "recover", "push", "reserve", "finish", "run-now", "stats", "bench"] {
        assert!(commands.iter().any(|name| name == expected), "{expected} is not among {commands:?}");
    }
    for command in &commands {
        assert!(help_of(&[command]).contains("Example"), "adjourn {command} --help");
    }
    assert_eq!(commands_of(&help_of(&["backup"])), ["create", "verify", "inspect"]);
    for command in ["create", "verify", "inspect"] {
        assert!(help_of(&["backup", command]).contains("Example"), "adjourn backup {command} --help");
    }
    let changes = ["status", "add", "remove", "transfer", "step-down"];
    assert_eq!(commands_of(&help_of(&["cluster"])), changes);
    for command in changes {
        assert!(help_of(&["cluster", command]).contains("Example"), "adjourn cluster {command} --help");
    }
    let schedules = commands_of(&help_of(&["schedule"]));
    assert_eq!(
        schedules,
        ["next", "set", "show", "list", "delete", "pause", "resume", "backfill", "run", "apply"]
    );
    for command in &schedules {
        assert!(help_of(&["schedule", command]).contains("Example"), "adjourn schedule {command} --help");
    }
    let groups = commands_of(&help_of(&["group"]));
    assert_eq!(groups, ["set", "pause", "resume"]);
    for command in &groups {
        assert!(help_of(&["group", command]).contains("Example"), "adjourn group {command} --help");
    }
    let benches = commands_of(&help_of(&["bench"]));
    assert_eq!(benches, ["push", "drain", "cycle", "late", "keys", "list", "churn"]);
    for bench in &benches {
        assert!(help_of(&["bench", bench]).contains("Example"), "adjourn bench {bench} --help");
    }
}

#[test]
fn a_group_of_commands_shows_its_help_and_an_argument_that_is_no_text_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    for group in [&[][..], &["topic"], &["group"], &["schedule"], &["backup"], &["cluster"]] {
        let output = adjourn(group).output().expect("the binary");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && errors.contains("Usage:"), "{group:?}: {errors}");
        assert!(!errors.contains('\u{a0}'), "{group:?}: {errors}");
    }
    let mut command = adjourn(&["serve", "--heartbeat-ms", "abc", "--data"]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"\xff")).output().expect("the binary");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn the_version_is_the_packages() {
    let output = adjourn(&["--version"]).output().expect("the binary");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("adjourn {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn mistakes_say_what_was_expected() {
    for (arguments, expected) in [
        (&["push", "orders", "--delay", "90"][..], "for example 1500ms, 60s, 10m or 3d"),
        (&["push", "orders", "--at", "tomorrow"], "for example 2030-12-24T18:00:00Z"),
        (&["push", "orders", "--backoff", "10m..1s"], "for example 1s..10m"),
        (&["push", "orders", "--header", "a"], "for example content-type=text/plain"),
        (&["push", "no topic"], "a topic name has 1 to 200 characters"),
        (&["push", "orders", "--ttr", "1ms"], "expected a duration between 100ms and 7d"),
        (&["push", "orders", "body", "--lines"], "with --lines the bodies come from standard input"),
        (&["push", "orders", "--lines", "--key", "k"], "cannot be used with"),
        (&["finish", "42"], "for example 42-7"),
        (&["finish"], "<LEASE>"),
        (&["get"], "<ID|TOPIC>"),
        (&["get", "orders"], "give an id, or a topic and a key"),
        (&["get", "no topic", "k"], "a topic name has 1 to 200 characters"),
        (&["kick", "orders", "k", "--max", "9"], "cannot be used with"),
        (&["reschedule", "1"], "<--delay <DURATION>|--at <TIME>>"),
        (&["reserve", "orders", "--max", "0"], "expected a whole number from 1 to 1024"),
        (&["cluster", "add", "10.0.0.2"], "HOST:PORT"),
        (&["cluster", "remove", "0"], "NODE"),
        (&["cluster", "transfer"], "<NODE>"),
        (&["bench", "push", "--delay", "2d..1d"], "the smaller duration first"),
        (&["bench", "drain"], "--topic <TOPIC>"),
        (&["bench", "keys"], "--topic <TOPIC>"),
        (&["bench", "keys", "--topic", "orders", "--jobs", "9", "--cancels", "10"], "can be cancelled once"),
        (&["bench", "churn", "--alive", "8191"], "give --alive 8192 or more"),
        (&["bench", "churn", "--data", "no/such/directory"], "cannot read no/such/directory"),
    ] {
        let output = adjourn(arguments).output().expect("the binary");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_variable_that_does_not_exist_is_named_by_every_command() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let warned = |name: &str| {
        let mut count = adjourn(&["count", "--server", &server.address.to_string()]);
        let output = count.env(name, "127.0.0.1:1").output().expect("the binary");
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"0\n"[..]), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    assert_eq!(
        warned("ADJOURN_SERVR"),
        "adjourn: warning: ADJOURN_SERVR is not a variable of Adjourn: do you mean ADJOURN_SERVER?\n"
    );
    assert!(
        warned("ADJOURN_COLOUR").contains("ADJOURN_COLOUR is not a variable of Adjourn: the help of each")
    );
    assert_eq!(warned("ADJOURN_DEFAULT_ATTEMPTS_MAX"), "");
}

#[test]
fn a_server_that_is_told_something_wrong_ends_with_2() {
    let data = tempfile::tempdir().expect("a directory");
    for (arguments, expected) in [
        (&["--join", "127.0.0.1:1"][..], "set peer_listen"),
        (&["--audit-log", "/nowhere/audit.log"], "cannot open the audit log /nowhere/audit.log"),
        (&["--tokens-file", "/nowhere/tokens.toml"], "cannot read the tokens in /nowhere/tokens.toml"),
        (&["--tls-cert", "/nowhere/a.pem", "--tls-key", "/nowhere/a.key"], "cannot read /nowhere/a.pem"),
        (
            &["--listen", "127.0.0.1:0", "--peer-listen", "0.0.0.0:0", "--insecure", "--found"],
            "set peer_address",
        ),
    ] {
        let (code, log) = Process::try_start(data.path(), arguments).err().expect("it does not start");
        assert!(code == Some(2) && log.contains(expected), "{arguments:?}: {code:?} {log}");
    }
    let mut old = adjourn(&["serve", "--listen", "127.0.0.1:0"]);
    let output = old.env("ADJOURN_AUTH_TOKENS_FILE", "hunter2").current_dir(data.path()).output();
    let output = output.expect("the binary");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && !errors.contains("hunter2"), "{errors}");
    assert!(errors.contains("is replaced by ADJOURN_TOKENS_FILE"), "{errors}");
}

#[test]
fn a_server_that_is_not_there_has_its_own_exit_code() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    // No process listens there any more.
    let server = port.to_string();
    for arguments in [
        &["stats"][..],
        &["push", "orders", "--lines"],
        &["cluster", "status"],
        &["cluster", "step-down"],
        &["bench", "push", "--jobs", "1"],
    ] {
        let output = adjourn(arguments).args(["--server", &server]).output().expect("the binary");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {errors}");
        assert!(errors.contains(&server) && errors.contains("adjourn serve"), "{arguments:?}: {errors}");
    }
}
