//! The modules of a crate: imports run one way, and a folder is small enough to look through.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Finding, SourceFile, Tree, end_of_block, leading_name};

/// Threads and tasks that post to each other: each names the messages of the others.
const POST_TO_EACH_OTHER: (&str, [&str; 4]) = ("server", ["checkpoint", "core", "disk", "peers"]);

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
    let modules: BTreeSet<&str> = files.iter().filter_map(|file| module(file)?.first().copied()).collect();
    let imports: Vec<Import<'_>> = files.iter().flat_map(|file| imports(file, &modules)).collect();
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in &imports {
        reached.entry(import.from).or_default().insert(import.to);
    }
    while extend(&mut reached) {}
    let comes_back = |import: &&Import<'_>| reached.get(import.to).is_some_and(|to| to.contains(import.from));
    let may = |import: &&Import<'_>| {
        let (of, posting) = POST_TO_EACH_OTHER;
        of == layer && posting.contains(&import.from) && posting.contains(&import.to)
    };
    let found = imports.iter().filter(comes_back).filter(|import| !may(import));
    let advice = |import: &Import<'_>| {
        format!(
            "`{}` imports `{}`, which imports it, perhaps through others: move what both need below both",
            import.from, import.to
        )
    };
    found.map(|import| import.file.finding(import.at, advice(import))).collect()
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
    let names: Vec<&str> = path.strip_suffix("/mod").unwrap_or(path).split('/').collect();
    let is_test = names.iter().any(|name| *name == "tests" || name.starts_with("test_"));
    (!is_test && path != "lib" && path != "main").then_some(names)
}

/// The imports of a file, and paths in its code, that lead to other modules.
fn imports<'a>(file: &'a SourceFile, modules: &BTreeSet<&'a str>) -> Vec<Import<'a>> {
    let Some(names) = module(file) else { return Vec::new() };
    let Some(from) = names.first() else { return Vec::new() };
    let code = &file.code[..file.code.find("#[cfg(test)]").unwrap_or(file.code.len())];
    let places = |word: &'static str| {
        let all = file.places_of(word).into_iter().filter(|at| *at < code.len());
        all.filter(|at| !code[..*at].ends_with("::") && !code[..*at].ends_with('$'))
    };
    let of_root = places("crate").filter_map(|at| Some((at, code[at..].strip_prefix("crate::")?)));
    let above = places("super").filter_map(|at| {
        let rest = &code[at..];
        let tail = rest.trim_start_matches("super::");
        let steps_up = (rest.len() - tail.len()) / "super::".len();
        (steps_up == names.len()).then_some((at, tail))
    });
    let mut found = Vec::new();
    for (at, path) in of_root.chain(above) {
        let listed = path.get(..end_of_block(path, 0)).filter(|_| path.starts_with('{'));
        let items: Vec<&str> = listed.map_or(vec![path], |listed| listed.split(['{', ',']).collect());
        let targets = items.into_iter().map(|item| leading_name(item.trim_start()));
        let others = targets.filter_map(|name| modules.get(name)).filter(|to| **to != *from);
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
                ("crates/a/src/lib.rs", "use crate::one::One;"),
                ("crates/a/src/one.rs", "use crate::two::Two;"),
                ("crates/a/src/two/mod.rs", "use super::{Root, three};"),
                ("crates/a/src/two/inner.rs", "use super::Two;\nuse super::super::Root;"),
                ("crates/a/src/three.rs", third),
                ("crates/a/src/three/tests.rs", "use crate::one::One;"),
            ])
        };
        let ways = ["use crate::one::One;", "use super::one;", "fn f() -> crate::one::One {}"];
        assert!(ways.map(|way| circles(&files(way)).len()) == [3, 3, 3]);
        for not in ["use crate::Root;", "// crate::one", "#[cfg(test)]\nmod tests { use crate::one::One; }"] {
            assert_eq!(circles(&files(not)), [], "{not}");
        }
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
