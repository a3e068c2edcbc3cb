//! The list of what `make mutants` breaks is up to date: each mutant has its place in the code.

mod list;

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_mutant_has_its_place_and_a_name_of_its_own() {
    let mutants = list::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants/mutants.toml"));
    let names: BTreeSet<&str> = mutants.iter().map(|mutant| &mutant.name[..]).collect();
    assert_eq!(names.len(), mutants.len());
    for mutant in &mutants {
        assert!(mutant.tests.starts_with("--"), "{} names no tests", mutant.name);
        assert!(mutant.survives.as_ref().is_none_or(|why| !why.is_empty()), "{} says why", mutant.name);
    }
}
