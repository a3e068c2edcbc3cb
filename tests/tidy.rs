//! The house rules that a machine can check, checked on every file of the repository.
//!
//! Each rule is one small function from a [`SourceFile`](source::SourceFile) or a document to its findings, and
//! stands beside a test that shows it a bad snippet: a rule that cannot fail proves nothing. A finding names
//! the file and the line, and says what to do.

mod documents;
mod layers;
mod modules;
mod shape;
mod source;
mod words;

use source::{Finding, SourceFile, Tree};

#[test]
fn the_core_is_pure() {
    check_sources(&[layers::core_is_pure]);
}

#[test]
fn files_and_functions_stay_small() {
    check_sources(&[shape::file_length, shape::function_length]);
}

#[test]
fn imports_run_one_way_and_folders_stay_small() {
    let tree = Tree::read();
    report(modules::circles(&tree).into_iter());
    report(modules::folders(&tree).into_iter());
}

#[test]
fn modules_introduce_themselves() {
    check_sources(&[shape::opens_with_docs, shape::module_name]);
}

#[test]
fn code_is_finished_and_waits_for_events() {
    check_sources(&[
        words::unfinished,
        words::getter_prefix,
        words::prints,
        words::ignored_tests,
        words::waits,
    ]);
}

#[test]
fn texts_speak_of_the_product_alone() {
    check_texts(&[words::unfinished_notes, words::issue_numbers, words::machine_paths]);
}

#[test]
fn every_wait_that_is_allowed_still_exists() {
    let tree = Tree::read();
    report(words::stale_waits(&tree.rust).into_iter());
}

#[test]
fn documents_link_to_what_exists() {
    let tree = Tree::read();
    report(tree.markdown().flat_map(|text| documents::links(text, &tree.root)));
    report(tree.markdown().flat_map(documents::heading));
    report(tree.markdown().flat_map(documents::contents));
    report(documents::pages(&tree).into_iter());
}

#[test]
fn documents_name_what_exists() {
    let tree = Tree::read();
    let map = tree.text("ARCHITECTURE.md");
    let layers = layers::all(&tree);
    report(layers::dependencies(&tree).into_iter());
    report(documents::code_map(map, &layers).into_iter());
    report(tree.markdown().flat_map(|text| documents::paths(text, &tree, &layers)));
    report(tree.markdown().flat_map(documents::glossary));
    report(documents::feature_levels(tree.text("cluster/README.md")).into_iter());
    report(documents::levels_of_requests(tree.text("protocol.md")).into_iter());
}

#[test]
fn documents_miss_nothing_that_is_described() {
    let tree = Tree::read();
    let pages = tree.markdown().filter_map(|text| text.path.strip_prefix("docs/")?.strip_suffix(".md"));
    let pages: Vec<&str> = pages.filter(|page| !page.contains('/')).collect();
    assert!(pages.contains(&"metrics"));
    report(tree.markdown().flat_map(|text| documents::missing_features(text, &pages)));
}

#[test]
fn documents_name_the_commands_that_exist() {
    let tree = Tree::read();
    let commands = documents::subcommands();
    let targets = documents::make_targets(&tree.text("Makefile").text);
    report(tree.markdown().flat_map(|text| documents::unknown_commands(text, "adjourn", &commands)));
    report(tree.markdown().flat_map(|text| documents::unknown_commands(text, "make", &targets)));
    report(documents::unnamed_commands(tree.text("README.md"), &commands).into_iter());
}

fn check_sources(rules: &[fn(&SourceFile) -> Vec<Finding>]) {
    let tree = Tree::read();
    assert!(tree.rust.len() > 50, "only {} Rust files were found", tree.rust.len());
    report(rules.iter().flat_map(|rule| tree.rust.iter().flat_map(rule)));
}

fn check_texts(rules: &[fn(&source::Text) -> Vec<Finding>]) {
    let tree = Tree::read();
    report(rules.iter().flat_map(|rule| tree.texts.iter().flat_map(rule)));
}

fn report(findings: impl Iterator<Item = Finding>) {
    let lines: Vec<String> = findings.map(|finding| finding.to_string()).collect();
    assert!(lines.is_empty(), "{} finding(s):\n{}", lines.len(), lines.join("\n"));
}
