//! The repository as the rules see it: its text files, and its Rust files with comments and strings set apart.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A broken rule: where, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.advice)
    }
}

/// A text file.
pub(super) struct Text {
    /// From the root of the repository, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Text {
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub(super) fn finding(&self, at: usize, advice: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line: line_of(&self.text, at), advice: advice.into() }
    }

    pub(super) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// A Rust file. Places in `text` and in `code` are the same.
pub(super) struct SourceFile {
    pub(super) path: String,
    pub(super) text: String,
    /// `text` with everything in comments, strings and characters blanked out.
    pub(super) code: String,
    /// The places of items that only tests have.
    tests: Vec<Range<usize>>,
}

impl SourceFile {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let code = code_of(text);
        Self { path: path.to_owned(), text: text.to_owned(), tests: tests_of(&code), code }
    }

    pub(super) fn finding(&self, at: usize, advice: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line: line_of(&self.text, at), advice: advice.into() }
    }

    /// Where `word` stands in the code, not as a part of a longer name.
    pub(super) fn places_of(&self, word: &str) -> Vec<usize> {
        places(&self.code, word)
    }

    /// Whether the whole file is of tests.
    pub(super) fn is_of_tests(&self) -> bool {
        let parts = &mut self.path.split('/');
        parts.any(|part| part == "tests" || part == "tests.rs" || part.starts_with("test_"))
    }

    /// Whether `at` belongs to a test: to a file of tests, or to an item under `#[cfg(test)]`.
    pub(super) fn is_test(&self, at: usize) -> bool {
        self.is_of_tests() || self.tests.iter().any(|test| test.contains(&at))
    }

    /// The layer that this file belongs to: the name of its crate, or `cli`; `None` outside both.
    pub(super) fn layer(&self) -> Option<String> {
        layer_of(&self.path)
    }
}

/// The layer that a source file or a manifest belongs to.
pub(super) fn layer_of(path: &str) -> Option<String> {
    let (layer, rest) = match path.strip_prefix("crates/") {
        Some(inner) => inner.split_once('/').map(|(folder, rest)| (folder.replace('-', "_"), rest))?,
        None => ("cli".to_owned(), path),
    };
    (rest == "Cargo.toml" || rest.starts_with("src/")).then_some(layer)
}

/// Everything that the rules look at.
pub(super) struct Tree {
    pub(super) root: PathBuf,
    pub(super) rust: Vec<SourceFile>,
    /// Every text file, the Rust files among them.
    pub(super) texts: Vec<Text>,
}

impl Tree {
    /// Reads the repository. Files that git ignores and files that are not text are left out.
    pub(super) fn read() -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut texts = Vec::new();
        collect(&root, &root, &mut texts);
        texts.sort_by(|a, b| a.path.cmp(&b.path));
        let rust = texts
            .iter()
            .filter(|t| t.has_extension("rs"))
            .map(|t| SourceFile::new(&t.path, &t.text))
            .collect();
        Self { root, rust, texts }
    }

    pub(super) fn markdown(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(|text| text.has_extension("md"))
    }

    pub(super) fn text(&self, path: &str) -> &Text {
        self.texts.iter().find(|text| text.path == path).unwrap_or_else(|| panic!("{path} is missing"))
    }
}

/// Where a path that begins with the name of a layer may lead, from the root of the repository.
pub(super) fn layer_paths(path: &str) -> Vec<String> {
    let (layer, rest) = path.split_once('/').unwrap_or((path, ""));
    let folder =
        if layer == "cli" { "src".to_owned() } else { format!("crates/{}/src", layer.replace('_', "-")) };
    let inner = format!("{folder}/{rest}");
    let file = if rest.contains('.') { inner.clone() } else { format!("{inner}.rs") };
    vec![inner, file]
}

/// Where `word` stands in `code`, not as a part of a longer name.
pub(super) fn places(code: &str, word: &str) -> Vec<usize> {
    let is_name = |found: Option<char>| found.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (first, last) = (word.chars().next(), word.chars().next_back());
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| {
            let (before, after) = (&code[..*at], &code[at + word.len()..]);
            !(is_name(first) && is_name(before.chars().next_back())
                || is_name(last) && is_name(after.chars().next()))
        })
        .collect()
}

/// The name that `code` begins with; empty if it begins with none.
pub(super) fn leading_name(code: &str) -> &str {
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    &code[..end]
}

/// Where the bracket that opens at `open` closes, itself included; the end of `code` if it never does.
pub(super) fn end_of_block(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + at + 1;
        }
    }
    code.len()
}

/// The items that only tests have.
fn tests_of(code: &str) -> Vec<Range<usize>> {
    let begins = code.match_indices("#[cfg(test)]").map(|(at, _)| at);
    let ends = |at: usize| match code.get(at..).and_then(|item| item.find(['{', ';'])) {
        Some(length) if code.as_bytes().get(at + length) == Some(&b'{') => end_of_block(code, at + length),
        Some(length) => at + length,
        None => code.len(),
    };
    begins.map(|at| at..ends(at)).collect()
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn collect(root: &Path, folder: &Path, texts: &mut Vec<Text>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        let inner = path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        let name = inner.rsplit('/').next().unwrap_or(&inner);
        if path.is_dir() {
            let ignored = matches!(
                name,
                "target" | "corpus" | "artifacts" | "seeds" | "formats" | "adjourn-data" | "node_modules"
            );
            if !ignored && (!name.starts_with('.') || name == ".ci") {
                collect(root, &path, texts);
            }
        } else if !matches!(name, ".git" | "Cargo.lock" | "LICENSE")
            && let Ok(text) = fs::read_to_string(&path)
        {
            texts.push(Text { path: inner, text });
        }
    }
}

/// Blanks out comments, strings and characters, and keeps every line break and every place.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_name = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let hidden = hidden_bytes(rest, in_name);
        let shown = if hidden == 0 { first.len_utf8() } else { hidden };
        for c in rest[..shown].chars() {
            match c {
                c if hidden == 0 => code.push(c),
                '\n' => code.push('\n'),
                c => code.extend(std::iter::repeat_n(' ', c.len_utf8())),
            }
        }
        rest = &rest[shown..];
    }
    code
}

/// How many bytes of a comment, a string or a character `rest` begins with; 0 if it begins with code.
fn hidden_bytes(rest: &str, in_name: bool) -> usize {
    if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        block_comment_bytes(rest)
    } else if rest.starts_with('\'') {
        character_bytes(rest)
    } else if rest.starts_with('"') {
        string_bytes(rest)
    } else if !in_name && rest.starts_with(['r', 'b', 'c']) {
        let prefix = leading_name(rest);
        let quoted = &rest[prefix.len()..];
        match prefix {
            "b" | "c" if quoted.starts_with('"') => 1 + string_bytes(quoted),
            "b" if quoted.starts_with('\'') => 1 + character_bytes(quoted),
            "r" | "br" | "cr" => raw_string_bytes(quoted).map_or(0, |bytes| prefix.len() + bytes),
            _ => 0,
        }
    } else {
        0
    }
}

fn block_comment_bytes(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn string_bytes(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// 0 for a lifetime.
fn character_bytes(rest: &str) -> usize {
    let inner = &rest[1..];
    if inner.starts_with('\\') {
        return inner[2..].find('\'').map_or(rest.len(), |end| 1 + 2 + end + 1);
    }
    let width = inner.chars().next().map_or(0, char::len_utf8);
    if inner[width..].starts_with('\'') { 1 + width + 1 } else { 0 }
}

fn raw_string_bytes(quoted: &str) -> Option<usize> {
    let hashes = quoted.len() - quoted.trim_start_matches('#').len();
    let body = quoted[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&close).map_or(quoted.len(), |end| hashes + 1 + end + close.len()))
}

#[test]
fn comments_strings_and_characters_are_no_code() {
    let text = "a // b\nc /* d /* e */ \n f */ g \"h \\\" i\" 'j' '\\'' b'k' r#\"l\"# br\"m\" &'n str c\"o\"";
    let file = SourceFile::new("src/x.rs", text);
    assert_eq!(file.code.len(), text.len());
    assert_eq!(file.code.split_whitespace().collect::<Vec<_>>(), ["a", "c", "g", "&'n", "str"]);
    assert_eq!(file.code.matches('\n').count(), 2);
}

#[test]
fn places_are_whole_words() {
    assert_eq!(places("crate::a mycrate::b $crate::c", "crate::"), [0, 21]);
    assert_eq!(places("sleep sleeper asleep", "sleep"), [0]);
}

#[test]
fn a_file_belongs_to_the_layer_of_its_crate() {
    let layer = |path| SourceFile::new(path, "").layer();
    assert_eq!(layer("crates/call-backs/src/client.rs").as_deref(), Some("call_backs"));
    assert_eq!(layer("src/bench/push.rs").as_deref(), Some("cli"));
    assert_eq!((layer("tests/tidy.rs"), layer("crates/engine/build.rs")), (None, None));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_file_and_by_their_attribute() {
        let of = |path, text: &str| SourceFile::new(path, text).is_test(text.find("here").expect("a place"));
        let tests = ["#[cfg(test)]\nmod tests { here }", "#[cfg(test)]\nfn f() { here }"];
        assert!(tests.iter().all(|text| of("src/x.rs", text)));
        let product = ["here", "#[cfg(test)]\nmod tests;\nhere", "#[cfg(test)]\nfn f() {}\nhere"];
        assert!(!product.iter().any(|text| of("src/x.rs", text)));
        let files =
            ["tests/x.rs", "crates/a/src/tests.rs", "crates/a/src/tests/x.rs", "crates/a/src/test_files.rs"];
        assert!(files.iter().all(|path| of(path, "here")));
    }
}
