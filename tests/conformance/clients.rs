//! The clients that are there: each has a harness, and maybe a list of what it does not pass yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::harness::Harness;

/// A client whose harness runs.
pub(crate) struct Client {
    /// The language.
    pub(crate) name: String,
    /// What the harness says of itself.
    pub(crate) about: Value,
    /// Scenarios that it does not pass yet, each with the reason.
    pub(crate) skips: BTreeMap<String, String>,
    program: PathBuf,
    arguments: Vec<String>,
}

/// A client, or why its harness does not run.
pub(crate) type Found = Result<Client, (String, String)>;

/// The argument with which this binary is the harness of the Rust client.
pub(crate) const RUST_HARNESS: &str = "--harness-of-rust";

/// The Rust client and all in `clients/`; only those that `ADJOURN_CONFORMANCE` names, if it is set. `ADJOURN_CLIENTS` names another
/// folder.
pub(crate) fn find() -> Vec<Found> {
    let wanted = std::env::var("ADJOURN_CONFORMANCE").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("ADJOURN_CLIENTS").map_or_else(|| root.join("clients"), PathBuf::from);
    let mut clients =
        vec![("rust".to_owned(), std::env::current_exe().expect("this binary"), root.to_owned())];
    let mut others: Vec<_> =
        std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).collect();
    others.sort_by_key(std::fs::DirEntry::file_name);
    for other in others {
        let harness = other.path().join("conformance");
        if harness.is_file() {
            clients.push((other.file_name().to_string_lossy().into_owned(), harness, other.path()));
        }
    }
    for name in &wanted {
        assert!(clients.iter().any(|(found, ..)| found == name), "there is no harness of {name}");
    }
    clients.retain(|(name, ..)| wanted.is_empty() || wanted.contains(&name.as_str()));
    clients.into_iter().map(|(name, program, home)| open(name, program, &home)).collect()
}

fn open(name: String, program: PathBuf, home: &Path) -> Found {
    let arguments = if name == "rust" { vec![RUST_HARNESS.to_owned()] } else { Vec::new() };
    let skips = if name == "rust" { BTreeMap::new() } else { skips(&home.join("conformance.toml")) };
    let mut client = Client { name, about: Value::Null, skips, program, arguments };
    match client.start().and_then(about) {
        Ok(about) => {
            client.about = about;
            Ok(client)
        }
        Err(why) => Err((client.name, why)),
    }
}

/// What a harness says of itself. A text that begins with `skipped: ` says that it cannot run here.
fn about(mut harness: Harness) -> Result<Value, String> {
    match harness.ask(&json!({ "do": "about" })) {
        Ok(answer) if answer["ok"]["levels"].is_array() => {
            harness.finish()?;
            Ok(answer["ok"].clone())
        }
        Ok(answer) => Err(format!("`about` is answered with {answer}")),
        Err(why) => Err(harness.cannot_run().map_or(why, |reason| format!("skipped: {reason}"))),
    }
}

/// The list of scenarios that a client does not pass yet.
fn skips(path: &Path) -> BTreeMap<String, String> {
    let Ok(text) = std::fs::read_to_string(path) else { return BTreeMap::new() };
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let skips = table.get("skip").and_then(toml::Value::as_table).into_iter().flatten();
    let reasons = skips.map(|(name, reason)| {
        let reason = reason.as_str().filter(|reason| !reason.is_empty());
        (name.clone(), reason.unwrap_or_else(|| panic!("{name}: a skip has a reason")).to_owned())
    });
    reasons.collect()
}

impl Client {
    /// Starts its harness.
    pub(crate) fn start(&self) -> Result<Harness, String> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        Harness::start(command)
    }

    /// Whether it says that it supports a level.
    pub(crate) fn supports(&self, level: &str) -> bool {
        self.about["levels"].as_array().is_some_and(|levels| levels.iter().any(|one| one == level))
    }
}
