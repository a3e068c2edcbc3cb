//! What documents say about the repository, against the repository: links, headings and contents; layers, commands, files and
//! feature levels. Tests elsewhere compare the lists that need a running node: routes and metrics (`tests/http`), frames, limits, errors
//! and rights (`tests/protocol/document.rs`), keys of the configuration (`tests/server/config.rs`).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use adjourn_protocol::RequestOpcode;
use adjourn_types::FEATURE_LEVEL;

use super::layers::Layers;
use super::source::{Finding, Text, Tree, layer_paths, places};

/// The first page of the architecture is read in one sitting; its chapters have the details.
const ARCHITECTURE_BYTES_MAX: usize = 12 << 10;
/// A document of this length needs a table of contents.
const CONTENTS_FROM_BYTES: usize = 64 << 10;
const CONTENTS: &str = "## Contents";
const GLOSSARY: &str = "docs/words.md";
/// Folders of the repository that documents name paths in.
const FOLDERS: [&str; 11] = [
    "src",
    "crates",
    "schema",
    "tests",
    "docs",
    "benches",
    "clients",
    "cluster",
    "conformance",
    "examples",
    "fuzz",
];

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

/// A table of contents has every section and subsection, in order; a long document has one.
pub(super) fn contents(text: &Text) -> Vec<Finding> {
    let sections: Vec<(usize, String)> = headings(&text.text)
        .filter(|(_, line)| line.starts_with("## ") || line.starts_with("### "))
        .filter(|(_, line)| *line != CONTENTS)
        .map(|(at, line)| (at, anchor(line)))
        .collect();
    let Some((at, listed)) = listed_sections(&text.text) else {
        let is_long = text.text.len() >= CONTENTS_FROM_BYTES;
        return is_long
            .then(|| text.finding(0, format!("a long document: add `{CONTENTS}`")))
            .into_iter()
            .collect();
    };
    let missing = sections.iter().filter(|(_, anchor)| !listed.contains(&anchor.as_str()));
    let mut found: Vec<Finding> = missing
        .map(|(at, anchor)| text.finding(*at, format!("the table of contents lacks `#{anchor}`: add it")))
        .collect();
    if found.is_empty() && !sections.iter().map(|(_, anchor)| anchor.as_str()).eq(listed) {
        found.push(text.finding(at, "the table of contents has another order than the document"));
    }
    found
}

/// The first page of the architecture stays short, and its chapters and it lead to each other. A reader of documents finds every page of `docs/`.
pub(super) fn pages(tree: &Tree) -> Vec<Finding> {
    let first = tree.text("ARCHITECTURE.md");
    let is_linked_in = |text: &Text, path: &str| {
        let file = path.rsplit('/').next().unwrap_or(path);
        text.path != path
            && text.text.match_indices(file).any(|(at, _)| {
                text.text[..at].rsplit_once("](").is_some_and(|(_, before)| !before.contains([')', '\n']))
            })
    };
    let mut found = too_long(first, ARCHITECTURE_BYTES_MAX);
    for page in tree.markdown().filter(|text| text.path.starts_with("docs/")) {
        let is_chapter = page.path.starts_with("docs/design/");
        if !tree
            .markdown()
            .any(|text| (!is_chapter || text.path == first.path) && is_linked_in(text, &page.path))
        {
            let from = if is_chapter { &first.path } else { "any document" };
            found.push(page.finding(0, format!("no link leads here from {from}: add one")));
        }
        if is_chapter && !is_linked_in(page, &first.path) {
            found.push(page.finding(0, format!("a chapter links back to {}: add the link", first.path)));
        }
    }
    found
}

fn too_long(text: &Text, bytes_max: usize) -> Vec<Finding> {
    let bytes = text.text.len();
    let advice = format!("{bytes} bytes, at most {bytes_max}: move details to a chapter under docs/design/");
    if bytes > bytes_max { vec![text.finding(0, advice)] } else { Vec::new() }
}

/// A word is defined in one place.
pub(super) fn glossary(text: &Text) -> Vec<Finding> {
    if text.path == GLOSSARY {
        return Vec::new();
    }
    let is_glossary = |line: &&str| line.starts_with("| word ");
    let places = text.text.lines().find(is_glossary).and_then(|line| text.text.find(line));
    places
        .map(|at| text.finding(at, format!("{GLOSSARY} defines words: add them there")))
        .into_iter()
        .collect()
}

/// The code map has each layer that there is, with the layers that it imports.
pub(super) fn code_map(text: &Text, layers: &Layers) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut above: BTreeSet<&str> = BTreeSet::new();
    for (at, row) in table(&text.text, "| layer |") {
        let [layer, imports, ..] = row.as_slice() else { continue };
        let layer = layer.trim_matches('`');
        let imports: BTreeSet<&str> = match *imports {
            "none" => BTreeSet::new(),
            "all above" => above.clone(),
            names => names.split(", ").collect(),
        };
        above.insert(layer);
        match layers.get(layer) {
            None => found.push(text.finding(at, format!("`{layer}` is not a layer: remove the row"))),
            Some(allowed) if !allowed.iter().map(String::as_str).eq(imports.iter().copied()) => {
                let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
                found.push(text.finding(at, format!("`{layer}` imports {}", allowed.join(", "))));
            }
            Some(_) => {}
        }
    }
    let missing = layers.keys().filter(|name| !above.contains(name.as_str()));
    found.extend(
        missing.map(|name| text.finding(0, format!("the code map lacks the layer `{name}`: add it"))),
    );
    found
}

/// The table of feature levels ends with that of this version.
pub(super) fn feature_levels(text: &Text) -> Vec<Finding> {
    let listed: Vec<String> = table(&text.text, "| level |")
        .filter_map(|(_, row)| row.first().map(|cell| (*cell).to_owned()))
        .collect();
    let expected: Vec<String> = (0..=FEATURE_LEVEL).map(|level| level.to_string()).collect();
    let advice = format!("the table has the feature levels {listed:?}, the code 0 to {FEATURE_LEVEL}");
    if listed == expected { Vec::new() } else { vec![text.finding(0, advice)] }
}

/// The protocol names the feature level of each request that needs one, and of no other.
pub(super) fn levels_of_requests(text: &Text) -> Vec<Finding> {
    let claim =
        |level: u32| format!("It needs [feature level](cluster/README.md#restart-and-upgrade) {level}");
    let claims = |opcode: &RequestOpcode| {
        let paragraph =
            text.text.split("\n\n").filter(|part| part.starts_with(&format!("{} ", opcode.name())));
        let words = paragraph.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
        words.filter(|words| words.contains(&claim(opcode.level()))).count()
    };
    let above_zero = || RequestOpcode::ALL.iter().filter(|opcode| opcode.level() > 0);
    let made = text.text.matches("[feature level](cluster/README.md#restart-and-upgrade)").count();
    let mut found: Vec<Finding> = above_zero()
        .filter(|opcode| claims(opcode) != 1)
        .map(|opcode| {
            text.finding(0, format!("the paragraph of {} lacks: {}", opcode.name(), claim(opcode.level())))
        })
        .collect();
    if made != above_zero().count() {
        found.push(text.finding(0, "another number of requests needs a feature level"));
    }
    found
}

/// A list of missing features names none that has a page in `docs/`.
pub(super) fn missing_features(text: &Text, pages: &[&str]) -> Vec<Finding> {
    let lower = text.text.to_ascii_lowercase();
    let lists = lower.match_indices("not there yet").map(|(at, _)| {
        let lines = lower[at..].lines().skip(1).skip_while(|line| line.is_empty());
        (at, lines.take_while(|line| line.starts_with(['-', ' '])).collect::<Vec<_>>().join(" "))
    });
    lists
        .flat_map(|(at, list)| pages.iter().map(move |page| (at, places(&list, page).len(), page)))
        .filter(|(_, named, _)| *named > 0)
        .map(|(at, _, page)| {
            text.finding(at, format!("docs/{page}.md describes `{page}`: take it off the list"))
        })
        .collect()
}

/// A path in a code span leads to a file or a folder: from the root, from the document, or from the folder of a layer. A name of a
/// Rust file alone is that of some file.
pub(super) fn paths(text: &Text, tree: &Tree, layers: &Layers) -> Vec<Finding> {
    let folder = tree.root.join(&text.path).parent().map(Path::to_owned).unwrap_or_default();
    let exists = |path: &str| {
        folder.join(path).exists()
            || tree.root.join(path).exists()
            || layer_paths(path).iter().any(|path| tree.root.join(path).exists())
    };
    code_spans(&text.text)
        .filter(|(_, span)| span.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c)))
        .filter(|(_, span)| {
            if let Some((first, rest)) = span.split_once('/') {
                // A placeholder such as `clients/LANGUAGE/test` is not a path.
                let leads_there = FOLDERS.contains(&first) || layers.contains_key(first);
                leads_there && !rest.contains(|c: char| c.is_ascii_uppercase()) && !exists(span)
            } else {
                let is_rust = Path::new(span).extension().is_some_and(|found| found == "rs");
                is_rust && !tree.rust.iter().any(|file| file.path.rsplit('/').next() == Some(*span))
            }
        })
        .map(|(at, span)| text.finding(at, format!("`{span}` does not exist: correct the path")))
        .collect()
}

/// The subcommands of the binary, as it tells them; those of a subcommand behind its name.
pub(super) fn subcommands() -> BTreeSet<String> {
    let outer = commands_in(&help_of(&[]));
    let inner = outer.iter().filter(|name| *name != "help").flat_map(|name| {
        commands_in(&help_of(&[name])).into_iter().map(move |inner| format!("{name} {inner}"))
    });
    let inner: Vec<String> = inner.collect();
    outer.into_iter().chain(inner).collect()
}

fn help_of(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjourn"));
    let help = command.args(words).arg("--help").output().expect("the binary runs");
    String::from_utf8(help.stdout).expect("text")
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

/// Where a code span or a code block calls `program` with a first word that it does not know, or a second one.
pub(super) fn unknown_commands(text: &Text, program: &str, known: &BTreeSet<String>) -> Vec<Finding> {
    let has_inner =
        |name: &str| known.iter().any(|known| known.split_once(' ').is_some_and(|(first, _)| first == name));
    calls(text, program)
        .filter_map(|(at, name)| {
            let after =
                text.text[at + program.len() + 1 + name.len()..].strip_prefix(' ').unwrap_or_default();
            let end = after.find([' ', '`', '\n']).unwrap_or(after.len());
            let both = format!("{name} {}", &after[..end]);
            let called = if has_inner(name) && is_command(&after[..end]) { both } else { name.to_owned() };
            (!known.contains(&called)).then_some((at, called))
        })
        .map(|(at, called)| {
            text.finding(at, format!("`{program} {called}` does not exist: correct the name"))
        })
        .collect()
}

/// The commands that a document never names.
pub(super) fn unnamed_commands(text: &Text, known: &BTreeSet<String>) -> Vec<Finding> {
    let called: BTreeSet<&str> = calls(text, "adjourn").map(|(_, name)| name).collect();
    known
        .iter()
        .filter(|name| !called.contains(name.as_str()) && *name != "help" && !name.contains(' '))
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
    headings(text).map(|(_, line)| anchor(line)).collect()
}

fn anchor(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    title
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Where a table of contents begins, and the anchors that it links to: a section of its own or a paragraph.
fn listed_sections(text: &str) -> Option<(usize, Vec<&str>)> {
    let (at, end) = if let Some((at, _)) = headings(text).find(|(_, line)| *line == CONTENTS) {
        (at, headings(text).map(|(next, _)| next).find(|next| *next > at))
    } else {
        let at = text.find("\nContents: ")?;
        (at, text[at + 1..].find("\n\n").map(|end| at + 1 + end))
    };
    let list = &text[at..end.unwrap_or(text.len())];
    Some((at, list.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect()))
}

/// (place, cells) of each row of the first table whose heading begins with `heading`.
fn table<'a>(text: &'a str, heading: &str) -> impl Iterator<Item = (usize, Vec<&'a str>)> {
    let begin = text.find(&format!("\n{heading}")).map_or(text.len(), |at| at + 1);
    let mut at = begin;
    let rows = text[begin..].split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line.trim_end())
    });
    rows.take_while(|(_, line)| line.starts_with('|'))
        .skip(2)
        .map(|(at, line)| (at, line.trim_matches('|').split('|').map(str::trim).collect()))
}

/// (place, content) of each code span outside code blocks.
fn code_spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut at, mut fenced) = (0, false);
    let lines = text.split_inclusive('\n').filter_map(move |line| {
        let begin = at;
        at += line.len();
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((begin, line))
    });
    lines.flat_map(|(begin, line)| {
        let mut at = begin;
        line.split('`').enumerate().filter_map(move |(number, part)| {
            at += part.len() + 1;
            (number % 2 == 1).then_some((at - part.len() - 1, part))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// The lines that a rule finds something in.
    fn lines(found: &[Finding]) -> Vec<usize> {
        found.iter().map(|finding| finding.line).collect()
    }

    /// A repository of these documents.
    fn tree(texts: &[(&str, &str)]) -> Tree {
        let texts = texts.iter().map(|(path, text)| Text::new(path, text)).collect();
        Tree { root: env!("CARGO_MANIFEST_DIR").into(), rust: Vec::new(), texts }
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
    fn a_section_without_its_entry_is_found() {
        let of = |text: &str| lines(&contents(&Text::new("x.md", text)));
        let sections = "## A\n### B c\n";
        assert_eq!(of(&format!("# X\n## Contents\n[a](#a) [b](#b-c)\n{sections}")), [0; 0]);
        assert_eq!(of(&format!("# X\n\nContents: [a](#a)\n[b](#b-c)\n\n{sections}")), [0; 0]);
        assert_eq!(of(&format!("# X\n## Contents\n[a](#a)\n{sections}[b](#b-c)")), [5]);
        assert_eq!(of(&format!("# X\n## Contents\n[b](#b-c) [a](#a)\n{sections}")), [2]);
        assert_eq!((of("# X\n## A"), of(&"# X\n".repeat(20_000))), (vec![], vec![1]));
    }

    #[test]
    fn a_page_that_no_link_leads_to_is_found() {
        let first = ("ARCHITECTURE.md", "[a](docs/design/a.md)");
        let a = ("docs/design/a.md", "[back](../../ARCHITECTURE.md)");
        let of = |texts: &[(&str, &str)]| pages(&tree(texts)).len();
        assert_eq!(of(&[first, a]), 0);
        assert_eq!(of(&[first, ("docs/design/a.md", "ARCHITECTURE.md")]), 1);
        assert_eq!(of(&[first, a, ("docs/design/b.md", a.1), ("README.md", "[b](docs/design/b.md)")]), 1);
        assert_eq!(of(&[first, a, ("docs/c.md", "[me](c.md)")]), 1);
        assert_eq!(of(&[first, a, ("docs/c.md", ""), ("README.md", "[c](docs/c.md#d)")]), 0);
        assert_eq!(of(&[("ARCHITECTURE.md", &format!("{}{}", first.1, "x".repeat(13_000))), a]), 1);
    }

    fn layers(all: &[(&str, &[&str])]) -> Layers {
        all.iter().map(|(layer, imports)| ((*layer).to_owned(), names(imports))).collect()
    }

    #[test]
    fn a_second_glossary_is_found() {
        let of = |path| lines(&glossary(&Text::new(path, "a\n\n| word | meaning |\n|---|---|")));
        assert_eq!((of("README.md"), of(GLOSSARY)), (vec![3], vec![]));
    }

    #[test]
    fn a_code_map_that_is_not_the_code_is_found() {
        let layers = layers(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]);
        let of = |rows: &str| {
            let map = Text::new("x.md", &format!("x\n| layer | imports |\n|---|---|\n{rows}"));
            code_map(&map, &layers)
        };
        let right = "| `a` | none | x |\n| `b` | a | y |\n| `c` | all above | z |\n";
        assert_eq!(of(right), []);
        assert_eq!(lines(&of(&right.replace("| a |", "| none |"))), [5]);
        assert_eq!(lines(&of(&right.replace("| `b` | a | y |\n", "").replace("all above", "a, b"))), [1]);
        assert_eq!(lines(&of(&format!("{right}| `d` | none | x |"))), [7]);
        assert_eq!(code_map(&Text::new("x.md", ""), &layers).len(), 3);
    }

    #[test]
    fn a_feature_level_that_is_not_documented_is_found() {
        let of = |rows: &str| {
            feature_levels(&Text::new("x.md", &format!("x\n| level | features |\n|---|---|\n{rows}"))).len()
        };
        let rows: Vec<String> = (0..=FEATURE_LEVEL).map(|level| format!("| {level} | x |\n")).collect();
        let rows = rows.concat();
        assert_eq!((of(&rows), of("| 0 | x |\n"), of(&format!("{rows}| 99 | x |"))), (0, 1, 1));
        let claim = "It needs [feature level](cluster/README.md#restart-and-upgrade)";
        let of = |text: &str| levels_of_requests(&Text::new("x.md", text)).len();
        assert_eq!(of(&format!("x\n\nKICK_MANY kicks.\n{claim} 1: y")), 0);
        assert_eq!((of(""), of(&format!("x\n\nKICK_MANY kicks. {claim} 2: y"))), (2, 1));
        assert_eq!(of(&format!("KICK_MANY kicks. {claim} 1\n\nPUSH pushes. {claim} 1")), 1);
    }

    #[test]
    fn a_feature_that_is_said_to_be_missing_and_is_described_is_found() {
        let of = |text: &str| lines(&missing_features(&Text::new("x.md", text), &["metrics", "call-backs"]));
        assert_eq!(of("a\nNot there yet:\n\n- Metrics for scrapers.\n\nMore."), [2]);
        assert_eq!(of("## What is not there yet\n- a\n  call-backs"), [1]);
        assert_eq!(of("Not there yet:\n\n- Schedules.\n\nMetrics. Call-backs are there."), [0; 0]);
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        let layers = layers(&[("types", &[])]);
        let mut tree = tree(&[]);
        tree.rust.push(super::super::source::SourceFile::new("src/a/here.rs", ""));
        let of = |text| lines(&paths(&Text::new("docs/x.md", text), &tree, &layers));
        assert_eq!(
            of("`tests/tidy.rs`, `types/limits.rs`, `types/limits`, `types`, `http.md`, `here.rs`"),
            [0; 0]
        );
        assert_eq!(of("`tests/gone.rs`\n`types/gone.rs`\n`gone.rs`\n`src/gone/`"), [1, 2, 3, 4]);
        assert_eq!(of("`clients/LANGUAGE/test` a/b `other/x`\n```\n`src/gone`\n```\n"), [0; 0]);
    }

    #[test]
    fn a_command_that_does_not_exist_is_found() {
        let of = |text| unknown_commands(&Text::new("x.md", text), "adjourn", &names(&["push"])).len();
        assert_eq!((of("use `adjourn pull`"), of("use `adjourn push x`"), of("adjourn jobs")), (1, 0, 0));
        assert_eq!((of("\n```\nadjourn pull\n```\n"), of("\n```\n$ adjourn pull\n```\n")), (1, 1));
        assert_eq!(of("\n```\n  a | adjourn pull\n  let adjourn do\n```\nadjourn pulls"), 1);
        let known = names(&["push", "topic", "topic set"]);
        let of = |text| unknown_commands(&Text::new("x.md", text), "adjourn", &known).len();
        assert_eq!(
            (of("`adjourn topic get x`"), of("`adjourn push a`, `adjourn topic set x`, `adjourn topic`")),
            (1, 0)
        );
    }

    #[test]
    fn a_command_that_is_never_named_is_found() {
        let text = Text::new("README.md", "`adjourn push`");
        assert_eq!(unnamed_commands(&text, &names(&["push", "peek", "peek all", "help"])).len(), 1);
    }

    #[test]
    fn commands_are_read_from_help_and_targets_from_a_makefile() {
        let help = "Usage\n\nCommands:\n  push    Push\n            more\n  run-now  Run\n\nOptions:\n  -h";
        assert_eq!(commands_in(help), names(&["push", "run-now"]));
        assert_eq!(make_targets("A := b\ntest: lint\n\tcargo x\n.PHONY: test"), names(&["test"]));
    }
}
