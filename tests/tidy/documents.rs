//! What documents say about the repository: links, headings, and the names of commands.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::source::{Finding, Text};

/// Every link inside the repository leads to a file, and to a heading if it names one.
pub(super) fn links(text: &Text, root: &Path) -> Vec<Finding> {
    let folder = root.join(&text.path).parent().map(Path::to_owned).unwrap_or_default();
    text.text
        .match_indices("](")
        .filter_map(|(at, _)| {
            let target = text.text[at + 2..].split([')', ' ', '\n']).next().unwrap_or_default();
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { root.join(&text.path) } else { folder.join(file) };
            if target.contains("://") || target.starts_with("mailto:") {
                None
            } else if !path.exists() {
                Some(text.finding(at, format!("`{file}` does not exist: correct the link")))
            } else if !anchor.is_empty() && !anchors(&std::fs::read_to_string(&path).ok()?).contains(anchor) {
                Some(text.finding(at, format!("`{target}` names no heading: correct the link")))
            } else {
                None
            }
        })
        .collect()
}

/// A document begins with its one title.
pub(super) fn heading(text: &Text) -> Vec<Finding> {
    let titles: Vec<usize> =
        headings(&text.text).filter(|(_, line)| line.starts_with("# ")).map(|h| h.0).collect();
    match titles.as_slice() {
        [0] => Vec::new(),
        [0, second, ..] => vec![text.finding(*second, "a document has one title: make this `##`")],
        _ => vec![text.finding(0, "begin the document with its title: `# ...`")],
    }
}

/// The subcommands of the binary, as it tells them.
pub(super) fn subcommands() -> BTreeSet<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_adjourn")).arg("--help").output().expect("the binary runs");
    let help = String::from_utf8(help.stdout).expect("text");
    commands_in(&help)
}

/// The targets of a Makefile.
pub(super) fn make_targets(makefile: &str) -> BTreeSet<String> {
    makefile
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, rest)| is_command(name) && !rest.starts_with('='))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Where a code span or a code block calls `program` with a first word that it does not know.
pub(super) fn unknown_commands(text: &Text, program: &str, known: &BTreeSet<String>) -> Vec<Finding> {
    calls(text, program)
        .filter(|(_, name)| !known.contains(*name))
        .map(|(at, name)| text.finding(at, format!("`{program} {name}` does not exist: correct the name")))
        .collect()
}

/// The commands that a document never names.
pub(super) fn unnamed_commands(text: &Text, known: &BTreeSet<String>) -> Vec<Finding> {
    let called: BTreeSet<&str> = calls(text, "adjourn").map(|(_, name)| name).collect();
    known
        .iter()
        .filter(|name| !called.contains(name.as_str()) && *name != "help")
        .map(|name| text.finding(0, format!("`adjourn {name}` exists: say in a line what it is for")))
        .collect()
}

/// (place, first word) of every call of `program` in code: after a back quote, a prompt, a pipe or a path, or first in its line.
fn calls<'a>(text: &'a Text, program: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let call = format!("{program} ");
    let places: Vec<usize> = text.text.match_indices(&call).map(|(at, _)| at).collect();
    places.into_iter().filter_map(move |at| {
        let line = text.text[..at].rsplit('\n').next().unwrap_or_default();
        let fenced = text.text[..at - line.len()].matches("\n```").count() % 2 == 1;
        let before = line.trim_end();
        let begins = line.ends_with('`')
            || fenced && (before.is_empty() || before.ends_with(['$', '|', ';', '&', '/']));
        let after = &text.text[at + call.len()..];
        let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(after.len());
        (begins && is_command(&after[..end])).then(|| (at, &after[..end]))
    })
}

fn commands_in(help: &str) -> BTreeSet<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

fn is_command(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// (place, line) of every heading outside code blocks.
fn headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut at, mut fenced) = (0, false);
    text.split_inclusive('\n').filter_map(move |line| {
        let begin = at;
        at += line.len();
        fenced ^= line.trim_start().starts_with("```");
        (!fenced && line.starts_with('#')).then(|| (begin, line.trim_end()))
    })
}

/// The anchors that a renderer gives to headings.
fn anchors(text: &str) -> BTreeSet<String> {
    headings(text)
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let of = |text| links(&Text::new("README.md", text), root).len();
        assert_eq!((of("[a](nowhere.md)"), of("[a](Cargo.toml)"), of("[a](https://x.org/)")), (1, 0, 0));
        assert_eq!((of("[a](protocol.md#no-such-heading)"), of("[a](#nor-this)")), (1, 1));
    }

    #[test]
    fn anchors_are_made_as_renderers_make_them() {
        assert_eq!(anchors("# A b\n```\n# no\n```\n## 3.1 `HELLO`, done"), names(&["a-b", "31-hello-done"]));
    }

    #[test]
    fn a_document_without_its_title_is_found() {
        let of = |text| heading(&Text::new("x.md", text)).len();
        assert_eq!((of("text\n# Title"), of("# A\n# B"), of("# A\n```\n# c\n```\n## B")), (1, 1, 0));
    }

    #[test]
    fn a_command_that_does_not_exist_is_found() {
        let of = |text| unknown_commands(&Text::new("x.md", text), "adjourn", &names(&["push"])).len();
        assert_eq!((of("use `adjourn pull`"), of("use `adjourn push x`"), of("adjourn jobs")), (1, 0, 0));
        assert_eq!((of("\n```\nadjourn pull\n```\n"), of("\n```\n$ adjourn pull\n```\n")), (1, 1));
        assert_eq!(of("\n```\n  a | adjourn pull\n  let adjourn do\n```\nadjourn pulls"), 1);
    }

    #[test]
    fn a_command_that_is_never_named_is_found() {
        let text = Text::new("README.md", "`adjourn push`");
        assert_eq!(unnamed_commands(&text, &names(&["push", "peek", "help"])).len(), 1);
    }

    #[test]
    fn commands_are_read_from_help_and_targets_from_a_makefile() {
        let help = "Usage\n\nCommands:\n  push    Push\n            more\n  run-now  Run\n\nOptions:\n  -h";
        assert_eq!(commands_in(help), names(&["push", "run-now"]));
        assert_eq!(make_targets("A := b\ntest: lint\n\tcargo x\n.PHONY: test"), names(&["test"]));
    }
}
