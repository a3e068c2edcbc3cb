//! The configuration file: what it may say, and what it is told when it says something else.

use std::fs;
use std::path::PathBuf;

use adjourn_server::config::{Config, ConfigError, Settings};
use adjourn_types::{Backoff, BackoffCurve, RetryDefaults};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/adjourn.example.toml");

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("adjourn.toml");
    fs::write(&path, text).expect("a file");
    (directory, path)
}

fn refusal(text: &str) -> String {
    let (_directory, path) = file(text);
    Config::load(Some(&path), Settings::default()).expect_err(text).to_string()
}

/// The lines of the example with a key, each a comment without a space: `#node = 1`.
fn example_keys() -> Vec<String> {
    let example = fs::read_to_string(EXAMPLE).expect("the example");
    let lines = example.lines().filter_map(|line| line.strip_prefix('#'));
    let is_key = |line: &&str| line.starts_with(|first: char| first.is_ascii_lowercase());
    lines.filter(is_key).map(str::to_owned).collect()
}

#[test]
fn the_example_as_it_is_sets_no_key() {
    assert_eq!(Settings::read(EXAMPLE.as_ref()).expect("valid"), Settings::default());
}

#[test]
fn the_example_holds_the_defaults() {
    let (_directory, path) = file(&example_keys().join("\n"));
    let config = Config::load(Some(&path), Settings::default()).expect("valid");
    assert_eq!(config, Config::default());
}

#[test]
fn the_example_names_every_key() {
    let mut known = Settings::keys();
    let lines = example_keys();
    let mut named: Vec<&str> =
        lines.iter().map(|line| line.split_once(" = ").expect("a key and its value").0).collect();
    known.sort_unstable();
    named.sort_unstable();
    assert!(known.len() > 10);
    assert_eq!(named, known);
}

#[test]
fn every_key_has_the_flag_and_the_variable_of_its_name() {
    let command = <Settings as clap::Args>::augment_args(clap::Command::new(""));
    let mut variables = 0;
    for flag in command.get_arguments() {
        let key = flag.get_id().as_str();
        assert_eq!(flag.get_long(), Some(key.replace('_', "-").as_str()), "{key}");
        if let Some(variable) = flag.get_env() {
            assert_eq!(variable.to_str(), Some(format!("ADJOURN_{}", key.to_uppercase()).as_str()), "{key}");
            variables += 1;
        }
    }
    assert!(variables > Settings::keys().len(), "the keys of the file, and found");
}

#[test]
fn the_cluster_s_configurations_are_valid_and_name_each_other() {
    let load = |node: u64| {
        let path = format!("{}/cluster/node{node}.toml", env!("CARGO_MANIFEST_DIR"));
        Config::load(Some(path.as_ref()), Settings::default()).expect("valid")
    };
    let nodes = [1, 2, 3].map(load);
    for (node, config) in (1..).zip(&nodes) {
        assert_eq!(config.node, node);
        assert_eq!(config.client_address.as_ref(), Some(&config.listen));
        assert_eq!(config.peer_address, config.peer_listen);
        let others = nodes.iter().filter(|other| other.node != node).flat_map(|other| &other.peer_listen);
        let expected: Vec<String> = if node == 1 { Vec::new() } else { others.cloned().collect() };
        assert_eq!(config.join, expected, "node {node}: one founds the cluster, the others join it");
    }
    let mut addresses: Vec<&String> =
        nodes.iter().flat_map(|config| [&config.listen].into_iter().chain(&config.peer_listen)).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 6, "each address once");
}

#[test]
fn every_mistake_is_shown_with_its_line_and_its_reason() {
    let cases = [
        ("# ours\nno_such_key = 1\n", "line 2", "there is no key no_such_key: adjourn.example.toml"),
        ("node = 1\nlog_levle = \"info\"\n", "line 2", "do you mean log_level?"),
        ("node = 1\nbody_bytes_max = 9000000\n", "line 2", "from 1024 to 8388608, found 9000000"),
        ("\n\nheartbeat_ms = -1\n", "line 3", "from 100 to 600000, found -1"),
        ("connections_max = 0", "line 1", "from 1 to 1000000, found 0"),
        ("listen = \"7440\"", "line 1", "expected HOST:PORT"),
        ("node = 1\nclient_address = \"here\"", "line 2", "expected HOST:PORT"),
        ("log_level = \"loud\"", "line 1", "expected error, warn, info, debug or trace, found \"loud\""),
        ("log_format = \"xml\"", "line 1", "expected text or json, found \"xml\""),
        ("node = \"one\"", "line 1", "from 1 to 65535, found \"one\""),
        ("node = 1\nnode = 2", "line 2", "duplicate key"),
        ("data = ", "line 1", "string values must be quoted"),
        ("server_name = \"\"", "line 1", "1 to 64 bytes"),
        ("default_attempts_max = 0", "line 1", "expected none, or a whole number from 1"),
        ("node = 1\ndefault_attempts_max = \"many\"", "line 2", "expected none, or a whole number from 1"),
        ("node = 1\nhttp_cors_origins = [\"*\"]", "line 2", "* is refused, as it would let every page ask"),
        ("http_cors_origins = [\"https://a.example/\"]", "line 1", "found \"https://a.example/\""),
        ("http_keep_alive_ms = 75", "line 1", "from 1000 to 3600000, found 75"),
        ("default_backoff = \"1h..1s\"", "line 1", "waits such as 10s, 1s..1h~20%"),
    ];
    for (text, line, reason) in cases {
        let refused = refusal(text);
        assert!(refused.contains(line) && refused.contains(reason), "{text:?}: {refused}");
    }
}

#[test]
fn retries_have_defaults_or_none() {
    let read = |text: &str| {
        let (_directory, path) = file(text);
        Config::load(Some(&path), Settings::default()).expect("valid").retry_defaults
    };
    assert_eq!(read(""), RetryDefaults::default());
    assert_eq!(read("default_attempts_max = \"none\"\ndefault_backoff = \"none\""), RetryDefaults::NONE);
    let curve = BackoffCurve::List(vec![1_000, 60_000]);
    let backoff = Some(Backoff { curve, jitter_percent: 5 });
    let expected = RetryDefaults { attempts_max: Some(7), backoff };
    assert_eq!(read("default_attempts_max = 7\ndefault_backoff = \"1s,1m~5%\""), expected);
}

#[test]
fn a_source_above_wins_key_by_key() {
    let (_directory, path) = file("node = 7\nserver_name = \"from the file\"");
    let flags = Settings { node: Some("8".parse().expect("a number")), ..Settings::default() };
    let config = Config::load(Some(&path), flags).expect("valid");
    assert_eq!((config.node, config.server_name.as_str()), (8, "from the file"));
    assert_eq!(config.listen, Config::default().listen);
}

#[test]
fn a_grace_that_is_over_before_a_loss_is_noticed_does_not_fit() {
    let fits = |session_grace_ms, heartbeat_ms| {
        Config { session_grace_ms, heartbeat_ms, ..Config::default() }.grace_fits_heartbeat()
    };
    assert!(Config::default().grace_fits_heartbeat());
    assert_eq!(
        [fits(3_000, 10_000), fits(0, 100), fits(8_999, 3_000), fits(9_000, 3_000)],
        [false, false, false, true]
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error =
        Config::load(Some("/nowhere/adjourn.toml".as_ref()), Settings::default()).expect_err("missing");
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error:?}");
    assert!(error.to_string().contains("/nowhere/adjourn.toml"), "{error}");
}
