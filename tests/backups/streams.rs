//! Backups that go through pipes.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use adjourn_server::config::Config;

use super::*;
use crate::cli::commands::{Commands, Ended};

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
    assert!(verified.out.starts_with("standard input is intact: "), "{}", verified.out);
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

#[test]
fn what_comes_through_a_pipe_leaves_no_file_behind() {
    let sample = sample();
    let folder = tempfile::tempdir().expect("a directory");
    let left = || std::fs::read_dir(folder.path()).expect("a directory").count();
    let mut verify = adjourn(&["backup", "verify", "-"]);
    verify.env("TMPDIR", folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = verify.spawn().expect("the binary");
    // More than a pipe holds: when it is written, most of it is kept.
    running.stdin.as_mut().expect("piped").write_all(&vec![7; 1 << 20]).expect("it reads");
    assert_eq!(left(), 0, "it has no name");
    running.kill().expect("killed");
    running.wait().expect("ended");
    assert_eq!(left(), 0);
    let mut broken = std::fs::read(&sample.file).expect("a backup");
    *broken.last_mut().expect("not empty") ^= 1;
    let ended = fed(&["backup", "verify", "-"], &broken);
    assert_eq!(ended.code, Some(7));
    assert!(ended.errors.contains("the backup standard input is damaged"), "{}", ended.errors);
}

#[test]
fn what_is_packed_is_to_be_unpacked_first() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("packed");
    let data = folder.path().join("restored");
    for (begin, what) in [
        (&b"\x28\xb5\x2f\xfd rest"[..], "compressed by zstd, not a plain backup: decompress it first"),
        (b"\x1f\x8b rest", "compressed by gzip"),
        (b"age-encryption.org/v1 rest", "encrypted by age, not a plain backup: decrypt it first"),
        (b"-----BEGIN AGE ENCRYPTED FILE-----", "encrypted by age"),
        (b"Salted__ rest", "encrypted by openssl"),
    ] {
        std::fs::write(&file, begin).expect("written");
        let named = run(&["backup", "verify", text(&file)]).with(6);
        assert!(named.contains(&format!("{} is {what}", text(&file))), "{named}");
        for arguments in [&["backup", "inspect", "-"][..], &["restore", "-", "--data", text(&data)]] {
            let ended = fed(arguments, begin);
            assert_eq!(ended.code, Some(6), "{arguments:?}");
            assert!(ended.errors.contains(&format!("standard input is {what}")), "{}", ended.errors);
        }
    }
    assert!(run(&["backup", "verify", text(folder.path())]).with(6).contains("is a folder"));
    assert!(!data.exists());
}

#[test]
fn a_named_pipe_is_read_as_standard_input_is() {
    let sample = sample();
    let folder = tempfile::tempdir().expect("a directory");
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).expect("made");
    let whole = std::fs::read(&sample.file).expect("a backup");
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, whole).expect("it reads")
    });
    let verified = run(&["backup", "verify", text(&pipe)]).well();
    assert!(verified.starts_with(&format!("{} is intact", text(&pipe))), "{verified}");
    writer.join().expect("written");
    let server = ["--server", "127.0.0.1:1"];
    let refused = run(&[&["backup", "create", text(&pipe)], &server[..]].concat()).with(2);
    assert!(refused.contains("is not a file: use - to write the backup to standard output"), "{refused}");
}

#[test]
fn a_reader_that_fails_is_no_failed_disk() {
    let folder = tempfile::tempdir().expect("a directory");
    let node = Node::start(&folder.path().join("data"), |_| {});
    let mut client = Raw::greeted(node.address);
    fill(&mut client);
    let address = node.address.to_string();
    let mut create = adjourn(&["backup", "create", "-", "--server", &address]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let failed = create.stdout(writer).output().expect("the binary");
    let errors = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{errors}");
    assert!(errors.contains("standard output was closed before the backup was whole"), "{errors}");

    let shell = |redirected: &str| {
        let command = format!("exec \"$0\" backup create - --server {address} {redirected}");
        let output = Command::new("sh").args(["-c", &command, env!("CARGO_BIN_EXE_adjourn")]).output();
        said(&output.expect("a shell"))
    };
    assert!(shell(">&-").with(2).contains("standard output is closed"));
    shell("> /dev/null").well();
    drop(client);
    node.stop();
}
