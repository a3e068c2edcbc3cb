//! `adjourn inspect` on directories that are healthy, damaged and in use; and that it changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::server_rig::{Node, Process, Raw};
use super::{create, fill, run, text};

/// A directory with a checkpoint and some entries behind it.
fn directory() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let data = folder.path().join("data");
    let node = Node::start(&data, |_| {});
    let mut client = Raw::greeted(node.address);
    fill(&mut client);
    create(node.address, &folder.path().join("queue.backup"));
    super::push_all(&mut client, "soon", [adjourn_protocol::NewJob::new("later").after(1000)]);
    drop(client);
    node.stop();
    folder
}

/// Every file below a folder, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(contents(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), fs::read(&path).expect("a file"));
        }
    }
    found
}

fn inspect(data: &Path, arguments: &[&str], code: i32) -> serde_json::Value {
    let before = contents(data);
    let scratch = tempfile::tempdir().expect("a directory");
    let mut command = super::adjourn(&["inspect", text(data), "--json"]);
    let output = command.args(arguments).env("TMPDIR", scratch.path()).output().expect("the binary");
    assert_eq!(fs::read_dir(scratch.path()).expect("there").count(), 0, "the copy of the log went");
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(contents(data) == before, "something was changed");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

#[test]
fn a_healthy_directory_is_shown_as_it_is() {
    let folder = directory();
    let data = folder.path().join("data");
    fs::write(data.join("chunks/chunk-00000009"), "nobody lists it").expect("written");
    for arguments in [&[][..], &["--quick"]] {
        let found = inspect(&data, arguments, 0);
        assert_eq!((&found["node"], &found["damage"]), (&1.into(), &serde_json::json!([])));
        let (checkpoint, log) = (&found["checkpoint"], &found["log"]);
        assert_eq!((&checkpoint["number"], &checkpoint["jobs"]), (&1.into(), &350.into()));
        assert_eq!(log["base"], checkpoint["index"]);
        assert!(log["last"].as_u64() > log["base"].as_u64() && log["entry_bytes"].as_u64() > Some(0));
        assert_eq!(found["durable"], log["last"]);
        assert_eq!(checkpoint["topics"]["far"]["delayed"], 120);
        let chunk = &checkpoint["chunks"][0];
        assert_eq!((&chunk["rows"], &chunk["live"], &chunk["far"]), (&350.into(), &350.into(), &120.into()));
        assert_eq!(chunk["topics"]["soon"], 120);
        let pages = checkpoint["pages"].as_array().expect("a list");
        let entries: u64 = pages.iter().filter_map(|pages| pages["entries"].as_u64()).sum();
        assert_eq!(entries, 230);
        assert_eq!(found["unlisted"], serde_json::json!([{"name": "chunk-00000009", "bytes": 15}]));
    }
    let shown = run(&["inspect", text(&data)]).well();
    for expected in
        ["chunk-00000001", "pages-00000001-00000000", "350 jobs", "Not listed", "Nothing is damaged"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn damage_is_told_file_by_file() {
    let folder = directory();
    let data = folder.path().join("data");
    let (chunk, pages) = (data.join("chunks/chunk-00000001"), data.join("chunks/pages-00000001-00000000"));
    let (whole, whole_pages) = (fs::read(&chunk).expect("there"), fs::read(&pages).expect("there"));

    // In a row: a start does not read it.
    let mut bytes = whole.clone();
    bytes[500] ^= 1;
    fs::write(&chunk, &bytes).expect("written");
    let found = inspect(&data, &[], 7);
    let told = found["damage"][0].as_str().expect("a text");
    assert!(told.contains("chunk-00000001 is damaged: its block at byte 20"), "{told}");
    assert!(told.contains("120 of topic"), "which jobs: {told}");
    inspect(&data, &["--quick"], 0);

    // Gone, and another file cut short: both are told.
    fs::remove_file(&chunk).expect("removed");
    fs::write(&pages, &whole_pages[..whole_pages.len() - 1]).expect("cut");
    for arguments in [&[][..], &["--quick"]] {
        let found = inspect(&data, arguments, 7);
        let told = found["damage"].to_string();
        assert!(
            told.contains("chunk-00000001 is missing")
                && told.contains("pages-00000001-00000000 is cut short"),
            "{told}"
        );
    }
    fs::write(&chunk, &whole).expect("put back");
    fs::write(&pages, &whole_pages).expect("put back");
    inspect(&data, &[], 0);

    // The identity, the manifest and the log.
    for (name, expected) in
        [("identity", "identity"), ("chunks/manifest", "manifest"), ("log/journal-00", "log")]
    {
        let path = data.join(name);
        let whole = fs::read(&path).expect("there");
        fs::write(&path, vec![0; whole.len()]).expect("spoilt");
        let found = inspect(&data, &[], 7);
        assert!(found["damage"].to_string().contains(expected), "{name}: {}", found["damage"]);
        fs::write(&path, &whole).expect("put back");
    }
    fs::remove_dir_all(data.join("log")).expect("removed");
    let found = inspect(&data, &[], 7);
    assert!(found["damage"].to_string().contains("the log is missing"), "{}", found["damage"]);
}

#[test]
fn a_directory_in_use_or_without_data_is_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let data = folder.path().join("data");
    let none = run(&["inspect", text(&data)]).with(6);
    assert!(none.contains("there is no data"), "{none}");
    let server = Process::start(&data, &[]);
    let in_use = run(&["inspect", text(&data)]).with(6);
    assert!(in_use.contains(&format!("in use by process {}", server.id())), "{in_use}");
    server.kill();
    // Without a checkpoint, and after a kill.
    let found = inspect(&data, &[], 0);
    assert!(found["checkpoint"].is_null() && found["log"]["last"].as_u64() > Some(0), "{found}");
}
