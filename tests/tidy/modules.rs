//! The modules of a crate: imports run one way, and a folder is small enough to look through.
//!
//! The root of a crate stands above its modules and below them: what it defines itself is no import of another module.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Finding, SourceFile, Tree, end_of_block, leading_name};

/// Imports that run back, by layer, where two modules are one concept.
const BACK: [(&str, &str, &str); 6] = [
    // Threads and tasks that post to each other.
    ("server", "checkpoint", "core"),
    ("server", "disk", "core"),
    ("server", "peers", "core"),
    // An error says what is damaged.
    ("storage", "error", "chunks"),
    ("storage", "error", "journal"),
    // Call-backs are settings of a policy.
    ("types", "call_back", "topic_policy"),
];

/// Past this number of source files, a folder has parts.
const FILES_MAX: usize = 25;
/// A list of files that are all alike needs no parts.
const ALL_ALIKE: &str = "tests/sim/invariants";

/// An import of another module of the same crate. A module stands for all that is in its folder.
struct Import<'a> {
    file: &'a SourceFile,
    at: usize,
    from: &'a str,
    to: &'a str,
}

/// Imports that run in a circle, within the crates.
pub(super) fn circles(tree: &Tree) -> Vec<Finding> {
    let mut layers: BTreeMap<String, Vec<&SourceFile>> = BTreeMap::new();
    for file in &tree.rust {
        if let Some(layer) = file.layer() {
            layers.entry(layer).or_default().push(file);
        }
    }
    layers.iter().flat_map(|(layer, files)| circles_of(layer, files)).collect()
}

fn circles_of(layer: &str, files: &[&SourceFile]) -> Vec<Finding> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    names.extend(files.iter().filter_map(|file| module(file)?.first().map(|name| (*name, *name))));
    for root in files.iter().filter(|file| file.path.ends_with("src/lib.rs")) {
        let shown = names_of_root(root, &names);
        names.extend(shown);
    }
    let imports: Vec<Import<'_>> = files.iter().flat_map(|file| imports(file, &names)).collect();
    let may = |import: &&Import<'_>| BACK.contains(&(layer, import.from, import.to));
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports.iter().filter(|import| !may(import)) {
        reached.entry(import.from).or_default().insert(import.to);
    }
    while extend(&mut reached) {}
    let comes_back = |import: &&Import<'_>| reached.get(import.to).is_some_and(|to| to.contains(import.from));
    let is_stale = |back: &&(&str, &str, &str)| {
        let (of, from, to) = **back;
        of == layer && !imports.iter().any(|import| (import.from, import.to) == (from, to))
    };
    let stale = BACK.iter().filter(is_stale).map(|(_, from, to)| Finding {
        path: "tests/tidy/modules.rs".to_owned(),
        line: 1,
        advice: format!("`{from}` does not import `{to}`: take it off the list"),
    });
    let found = imports.iter().filter(|import| !may(import)).filter(comes_back);
    let advice = |import: &Import<'_>| {
        format!(
            "`{}` imports `{}`, which imports it, perhaps through others: move what both need below both",
            import.from, import.to
        )
    };
    found.map(|import| import.file.finding(import.at, advice(import))).chain(stale).collect()
}

/// The names that the root of a crate takes from its modules, each with its module.
fn names_of_root<'a>(root: &'a SourceFile, modules: &BTreeMap<&'a str, &'a str>) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    for at in root.places_of("use") {
        let item = root.code.get(at + 3..).and_then(|rest| rest.split(';').next()).unwrap_or_default();
        let path = item.trim_start().trim_start_matches("self::");
        let Some(of) = modules.get(leading_name(path)) else { continue };
        let names = path.split(|c: char| !c.is_alphanumeric() && c != '_').skip(1);
        found.extend(names.filter(|name| name.starts_with(char::is_uppercase)).map(|name| (name, *of)));
    }
    found
}

/// Adds what is reached by one more step. Returns false if that is nothing.
fn extend(reached: &mut BTreeMap<&str, BTreeSet<&str>>) -> bool {
    let before = reached.clone();
    for to in reached.values_mut() {
        let more: Vec<&str> = to.iter().filter_map(|via| before.get(via)).flatten().copied().collect();
        to.extend(more);
    }
    *reached != before
}

/// The module of a file, by the names on the way to it; `None` for the root of a crate and for tests.
fn module(file: &SourceFile) -> Option<Vec<&str>> {
    let (_, inner) = file.path.split_once("src/")?;
    let path = inner.strip_suffix(".rs")?;
    let names = path.strip_suffix("/mod").unwrap_or(path).split('/').collect();
    (!file.is_of_tests() && path != "lib" && path != "main").then_some(names)
}

/// The imports of a file, and paths in its code, that lead to other modules. `names` has the module of each name.
fn imports<'a>(file: &'a SourceFile, names: &BTreeMap<&'a str, &'a str>) -> Vec<Import<'a>> {
    let Some(own) = module(file) else { return Vec::new() };
    let Some(from) = own.first() else { return Vec::new() };
    let places = |word: &'static str| {
        let of_product = file.places_of(word).into_iter().filter(|at| !file.is_test(*at));
        of_product.map(|at| file.code.split_at(at)).filter(|(before, _)| !before.ends_with(['$', ':']))
    };
    let of_root =
        places("crate").filter_map(|(before, rest)| Some((before.len(), rest.strip_prefix("crate::")?)));
    let above = places("super").filter_map(|(before, rest)| {
        let tail = rest.trim_start_matches("super::");
        let steps_up = (rest.len() - tail.len()) / "super::".len();
        (steps_up == own.len()).then_some((before.len(), tail))
    });
    let mut found = Vec::new();
    for (at, path) in of_root.chain(above) {
        let listed = path.get(..end_of_block(path, 0)).filter(|_| path.starts_with('{'));
        let items: Vec<&str> = listed.map_or(vec![path], |listed| listed.split(['{', ',']).collect());
        let targets = items.into_iter().map(|item| leading_name(item.trim_start()));
        let others = targets.filter_map(|name| names.get(name)).filter(|to| **to != *from);
        found.extend(others.map(|to| Import { file, at, from, to }));
    }
    found
}

/// Folders with too many source files.
pub(super) fn folders(tree: &Tree) -> Vec<Finding> {
    let mut files: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in &tree.rust {
        if let Some((folder, _)) = file.path.rsplit_once('/') {
            files.entry(folder).or_default().push(file);
        }
    }
    let many = files.into_iter().filter(|(folder, files)| *folder != ALL_ALIKE && files.len() > FILES_MAX);
    many.filter_map(|(folder, files)| {
        let advice = format!("{folder} has {} files: give it folders for its parts", files.len());
        Some(files.first()?.finding(0, advice))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let rust = files.iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        Tree { root: "".into(), rust, texts: Vec::new() }
    }

    #[test]
    fn imports_that_come_back_are_found() {
        let files = |third: &'static str| {
            tree(&[
                ("crates/a/src/lib.rs", "pub use one::{One, inner::Other};\npub struct Root;"),
                ("crates/a/src/one.rs", "use crate::two::Two;"),
                ("crates/a/src/two/mod.rs", "use super::{Root, three};"),
                ("crates/a/src/two/inner.rs", "use super::Two;\nuse super::super::Root;"),
                ("crates/a/src/three.rs", third),
                ("crates/a/src/three/tests.rs", "use crate::one::One;"),
            ])
        };
        let ways = [
            "use crate::one::One;",
            "use super::one;",
            "fn f() -> crate::one::One {}",
            "use crate::Other;",
            "#[cfg(test)]\nmod tests;\nuse super::{Root, One};",
        ];
        assert!(ways.map(|way| circles(&files(way)).len()) == [3; 5]);
        for not in ["use crate::Root;", "// crate::one", "#[cfg(test)]\nmod tests { use crate::one::One; }"] {
            assert_eq!(circles(&files(not)), [], "{not}");
        }
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        let types = |import| {
            tree(&[("crates/types/src/call_back.rs", import), ("crates/types/src/topic_policy.rs", "")])
        };
        let found = |import| circles(&types(import)).len();
        assert_eq!((found(""), found("use super::topic_policy::Setting;")), (1, 0));
    }

    #[test]
    fn a_folder_without_parts_is_found() {
        let paths: Vec<String> = (0..=FILES_MAX).map(|number| format!("src/x/{number}.rs")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        assert_eq!(
            (folders(&tree(&files)).len(), folders(&tree(files.split_last().expect("files").1)).len()),
            (1, 0)
        );
    }
}
