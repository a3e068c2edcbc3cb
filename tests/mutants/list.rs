//! The list of mutants: the replaced text, its place, and the tests that must fail.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// One line or more of the code, and its replacement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// The problem.
    pub(crate) name: String,
    /// Path of the source file.
    pub(crate) file: String,
    /// What stands there, once.
    pub(crate) from: String,
    /// The replacement.
    pub(crate) to: String,
    /// What `cargo test` is told.
    pub(crate) tests: String,
    /// Why no test can catch it, if that is so.
    pub(crate) survives: Option<String>,
}

#[derive(Debug, Deserialize)]
struct List {
    mutant: Vec<Mutant>,
}

impl Mutant {
    /// The text of its file with it; `None` if there is no such place, or another one.
    pub(crate) fn in_place(&self, text: &str) -> Option<String> {
        let is_there_once = text.matches(&self.from).count() == 1 && self.from != self.to;
        is_there_once.then(|| text.replacen(&self.from, &self.to, 1))
    }
}

/// All of them. Each has its place in the code.
pub(crate) fn read(path: &Path) -> Vec<Mutant> {
    let text = fs::read_to_string(path).expect("the list");
    let List { mutant } = toml::from_str(&text).expect("a list of mutants");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for mutant in &mutant {
        let text = fs::read_to_string(root.join(&mutant.file)).expect("a file of the tree");
        assert!(mutant.in_place(&text).is_some(), "{} has lost its place in {}", mutant.name, mutant.file);
    }
    mutant
}
