//! Backups that go through pipes.

use std::collections::BTreeSet;

use adjourn::server::config::Config;

use super::*;
use crate::cli_commands::{Commands, Ended};

/// A command that reads this.
fn fed(arguments: &[&str], input: &[u8]) -> Ended {
    Commands::to(&"nobody:1").run(arguments, input)
}

#[test]
fn a_backup_goes_through_pipes_and_back() {
    let folder = tempfile::tempdir().expect("a directory");
    let node = Node::start(&folder.path().join("data"), |_| {});
    let mut client = Raw::greeted(node.address);
    let live = fill(&mut client);
    let address = node.address.to_string();
    let piped = adjourn(&["backup", "create", "-", "--server", &address]).output().expect("the binary");
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    drop(client);
    node.stop();

    let verified = fed(&["backup", "verify", "-"], &piped.stdout);
    assert_eq!(verified.code, Some(0), "{}", verified.errors);
    assert!(verified.out.starts_with("standard input is whole: "), "{}", verified.out);
    let inspected = fed(&["backup", "inspect", "-", "--json"], &piped.stdout);
    let inspected: serde_json::Value = serde_json::from_str(&inspected.out).expect("JSON");
    assert_eq!(inspected["checkpoint"]["jobs"], live.len());

    let restored = folder.path().join("restored");
    let ended = fed(&["restore", "-", "--data", text(&restored)], &piped.stdout);
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let left: Vec<String> = names(folder.path()).into_iter().collect();
    assert_eq!(left, ["data", "restored"], "nothing is left of what was kept");
    let node = Node::start(&restored, |_: &mut Config| {});
    let counted = stats(&mut Raw::greeted(node.address)).totals;
    let jobs = counted.delayed + counted.ready + counted.reserved + counted.buried;
    assert_eq!(jobs, live.len() as u64);
    node.stop();
}

#[test]
fn a_backup_that_was_cut_off_on_its_way_is_refused() {
    let sample = sample();
    let whole = std::fs::read(&sample.file).expect("a backup");
    let folder = tempfile::tempdir().expect("a directory");
    let restored = folder.path().join("restored");
    for length in [0, 100, whole.len() / 2, whole.len() - 1] {
        for arguments in [&["backup", "verify", "-"][..], &["restore", "-", "--data", text(&restored)]] {
            let ended = fed(arguments, &whole[..length]);
            assert!(
                matches!(ended.code, Some(6 | 7)),
                "{length} {arguments:?}: {:?} {}",
                ended.code,
                ended.errors
            );
        }
        assert!(!restored.exists(), "nothing is restored");
    }
}
