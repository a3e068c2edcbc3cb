//! Words that must not be in the repository: unfinished work, matters of other places, hidden races.

use super::source::{Finding, SourceFile, Text, leading_name, places};

/// Waits in tests that are no races: (file, why).
const WAITS_ALLOWED: [(&str, &str); 4] = [
    (
        "tests/client/chaos.rs",
        "handlers take time, wires hang for a time, and the end is polled for: nothing is hoped to have happened meanwhile",
    ),
    ("benches/siege/tenants.rs", "a load lasts for a time"),
    (
        "crates/server/src/disk.rs",
        "the system does not tell when a disk has space again, or a process a descriptor",
    ),
    (
        "crates/storage/src/chunks/manifest.rs",
        "the system does not tell when a process has a descriptor again",
    ),
];

/// Nothing is left to be written later.
pub(super) fn unfinished(file: &SourceFile) -> Vec<Finding> {
    const ADVICE: &str = "finish it, or leave it out";
    ["todo!", "unimplemented!", "dbg!"]
        .iter()
        .flat_map(|word| file.places_of(word))
        .map(|at| file.finding(at, ADVICE))
        .collect()
}

/// The same, in comments and documents.
pub(super) fn unfinished_notes(text: &Text) -> Vec<Finding> {
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")]
        .iter()
        .flat_map(|word| places(&text.text, word))
        .map(|at| text.finding(at, "do it, or say in README.md what is not there yet"))
        .collect()
}

/// A field's reader is named like the field. `get_mut` beside `get` is what collections call theirs.
pub(super) fn getter_prefix(file: &SourceFile) -> Vec<Finding> {
    file.places_of("fn")
        .into_iter()
        .map(|at| (at, leading_name(file.code[at + 2..].trim_start())))
        .filter(|(_, name)| name.starts_with("get_") && *name != "get_mut")
        .map(|(at, name)| file.finding(at, format!("call `{name}` what it returns, without `get_`")))
        .collect()
}

/// Only the command line prints; everything else logs.
pub(super) fn prints(file: &SourceFile) -> Vec<Finding> {
    if file.layer().is_none_or(|layer| layer == "cli") {
        return Vec::new();
    }
    ["println!", "print!", "eprintln!", "eprint!"]
        .iter()
        .flat_map(|word| file.places_of(word))
        .map(|at| file.finding(at, "only the command line prints: use tracing"))
        .collect()
}

/// A test that does not run proves nothing.
pub(super) fn ignored_tests(file: &SourceFile) -> Vec<Finding> {
    file.places_of("#[ignore")
        .into_iter()
        .map(|at| file.finding(at, "make the test pass, or delete it"))
        .collect()
}

/// A test waits for what happens, never for time to pass. Nothing else sleeps on a thread either.
pub(super) fn waits(file: &SourceFile) -> Vec<Finding> {
    if WAITS_ALLOWED.iter().any(|(path, _)| *path == file.path) {
        return Vec::new();
    }
    wait_places(file)
        .into_iter()
        .map(|at| file.finding(at, "wait for the event, or give the reason in tests/tidy/words.rs"))
        .collect()
}

/// An exception that is no longer needed goes away.
pub(super) fn stale_waits(files: &[SourceFile]) -> Vec<Finding> {
    let waits = |path: &str| files.iter().any(|file| file.path == path && !wait_places(file).is_empty());
    WAITS_ALLOWED
        .iter()
        .filter(|(path, reason)| !waits(path) || reason.is_empty())
        .map(|(path, _)| Finding {
            path: (*path).to_owned(),
            line: 1,
            advice: "does not wait: take it off the list in tests/tidy/words.rs".to_owned(),
        })
        .collect()
}

/// The repository speaks of the product, not of where it is discussed.
pub(super) fn issue_numbers(text: &Text) -> Vec<Finding> {
    const ADVICE: &str = "say what it is about instead of a number";
    let is_rust = text.has_extension("rs");
    let hashes = text.text.match_indices('#').filter(|(at, _)| {
        let line = text.text[..*at].rsplit('\n').next().unwrap_or_default();
        let begins = line.is_empty() || line.ends_with([' ', '(']) && !line.ends_with("](");
        begins && (!is_rust || line.contains("//"))
    });
    let words = ["issue ", "Issue "].into_iter().flat_map(|word| text.text.match_indices(word));
    hashes
        .chain(words)
        .filter(|(at, word)| text.text[at + word.len()..].starts_with(|c: char| c.is_ascii_digit()))
        .map(|(at, _)| text.finding(at, ADVICE))
        .collect()
}

/// The repository works wherever it is cloned.
pub(super) fn machine_paths(text: &Text) -> Vec<Finding> {
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")]
        .iter()
        .flat_map(|path| text.text.match_indices(path))
        .filter(|(at, _)| !text.text[..*at].ends_with(|c: char| c.is_alphanumeric() || "_-.>}*".contains(c)))
        .map(|(at, path)| {
            text.finding(at, format!("`{path}` exists on one machine only: use a relative path"))
        })
        .collect()
}

fn wait_places(file: &SourceFile) -> Vec<usize> {
    let mut found: Vec<usize> = file.places_of("thread::sleep");
    for word in ["time::sleep", "sleep"] {
        found.extend(file.places_of(word).into_iter().filter(|at| file.is_test(*at)));
    }
    found.sort_unstable();
    // `thread::sleep` is found once as a path and once as a word.
    found.dedup_by_key(|at| file.code[..*at].matches('\n').count());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rule: fn(&SourceFile) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
        rule(&SourceFile::new(path, text)).iter().map(|finding| finding.line).collect()
    }

    fn in_text(rule: fn(&Text) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
        rule(&Text::new(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn what_is_unfinished_is_found() {
        assert_eq!(of(unfinished, "src/x.rs", "fn f() {\n  todo!()\n}"), [2]);
        assert_eq!(of(unfinished, "src/x.rs", "let s = \"todo!()\";"), [0; 0]);
        assert_eq!(in_text(unfinished_notes, "src/x.rs", concat!("a\n// TO", "DO: more")), [2]);
        assert_eq!(in_text(unfinished_notes, "README.md", concat!("FIX", "ME")), [1]);
    }

    #[test]
    fn a_getter_is_found() {
        assert_eq!(of(getter_prefix, "src/x.rs", "fn get_job() {}"), [1]);
        assert_eq!(of(getter_prefix, "src/x.rs", "fn get(job: JobId) {}\nfn target_x() {}"), [0; 0]);
    }

    #[test]
    fn printing_is_found() {
        assert_eq!(of(prints, "crates/server/src/x.rs", "fn f() { println!() }"), [1]);
        assert_eq!(of(prints, "src/x.rs", "fn f() { println!() }"), [0; 0]);
        assert_eq!(of(prints, "crates/server/src/x.rs", "//! println!()\nfn f() {}"), [0; 0]);
    }

    #[test]
    fn an_ignored_test_is_found() {
        assert_eq!(of(ignored_tests, "tests/x.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}"), [2]);
    }

    #[test]
    fn a_wait_is_found() {
        assert_eq!(of(waits, "tests/x.rs", "a\nstd::thread::sleep(d);"), [2]);
        assert_eq!(of(waits, "tests/x.rs", "use tokio::time::sleep;\nsleep(d).await;"), [1, 2]);
        assert_eq!(
            of(waits, "crates/server/src/x.rs", "thread::sleep(d);\ntokio::time::sleep(d).await;"),
            [1]
        );
        assert_eq!(of(waits, "src/x.rs", "#[cfg(test)]\nmod tests { fn f() { sleep(d) } }"), [2]);
    }

    #[test]
    fn an_issue_number_is_found() {
        assert_eq!(in_text(issue_numbers, "a.md", concat!("see #", "12\n(iss", "ue 3)")), [1, 2]);
        assert_eq!(in_text(issue_numbers, "a.rs", concat!("x // as in #", "7")), [1]);
        assert_eq!(in_text(issue_numbers, "a.rs", "format!(\"{:#06x}\", 1)"), [0; 0]);
        assert_eq!(in_text(issue_numbers, "a.md", "[x](#1-words) # 1. Words"), [0; 0]);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        assert_eq!(in_text(machine_paths, "a.md", concat!("cd /ro", "ot/x")), [1]);
        assert_eq!(in_text(machine_paths, "a.md", "net/work/x, /var/lib/adjourn"), [0; 0]);
    }
}
