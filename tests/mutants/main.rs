//! Does a test notice when the product is broken? Lines of the code are replaced, one at a time, in a copy of the tree, and
//! the tests run that should see it.
//!
//! The list is in `mutants.toml`, beside this. `make mutants` tries some of it, drawn by a seed; `make mutants MUTANTS=NAME`
//! tries those whose name has that in it. A mutant that no test catches is a survivor: it fails the run, unless the list says
//! why it survives. This is no part of `cargo test`: each mutant takes a build.

mod list;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use list::Mutant;

/// The number of mutants tried when none is named.
const TRIED: usize = 6;
/// What a build needs of the tree.
const COPIED: [&str; 13] = [
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "adjourn.example.toml",
    "benches",
    "clippy.toml",
    "cluster",
    "crates",
    "docs",
    "protocol.md",
    "schema",
    "src",
    "tests",
];
/// A test run that takes longer has hung: the mutant is noticed.
const SECONDS_MAX: &str = "900";

/// What became of a mutant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Caught,
    Survived,
    DoesNotBuild,
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mutants, seed) = (list::read(&root.join("tests/mutants/mutants.toml")), seed());
    let wanted = std::env::var("MUTANTS").unwrap_or_default();
    let chosen = match wanted.parse() {
        Ok(count) => drawn(mutants, seed, count),
        Err(_) if wanted.is_empty() => drawn(mutants, seed, TRIED),
        Err(_) => mutants.into_iter().filter(|mutant| mutant.name.contains(&wanted)).collect(),
    };
    eprintln!("{} mutants, seed {seed}: MUTANT_SEED={seed} make mutants repeats them", chosen.len());
    let copy = root.join("target/mutants");
    fs::create_dir_all(copy.join("tree")).expect("a folder");
    for name in COPIED {
        copy_changed(&root.join(name), &copy.join("tree").join(name));
    }
    let (mut unexpected, mut passed_without) = (0, BTreeSet::new());
    for mutant in &chosen {
        let fate = try_out(mutant, &copy, &mut passed_without);
        let (word, is_expected) = match (fate, &mutant.survives) {
            (Fate::Caught, None) => ("caught", true),
            (Fate::Survived, Some(_)) => ("survives, as it may", true),
            (Fate::Survived, None) => ("SURVIVES", false),
            (Fate::Caught, Some(_)) => ("IS CAUGHT: take the reason for its survival out", false),
            (Fate::DoesNotBuild, _) => ("DOES NOT BUILD, or its tests fail without it", false),
        };
        unexpected += u32::from(!is_expected);
        eprintln!("{}: {word}", mutant.name);
    }
    if unexpected == 0 && !chosen.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn seed() -> u64 {
    let given = std::env::var("MUTANT_SEED").ok().map(|seed| seed.parse().expect("MUTANT_SEED is a number"));
    given.unwrap_or_else(|| getrandom::u32().expect("a random number").into())
}

/// Some of them, by a seed.
fn drawn(mut mutants: Vec<Mutant>, seed: u64, count: usize) -> Vec<Mutant> {
    let mut state = seed;
    let mut drawn = Vec::new();
    while drawn.len() < count && !mutants.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = (state >> 33) % mutants.len() as u64;
        drawn.push(mutants.swap_remove(usize::try_from(place).expect("a place")));
    }
    drawn
}

/// Runs the tests of a mutant: with the code as it is, unless they have passed so before, then with the mutant in it.
fn try_out<'m>(mutant: &'m Mutant, copy: &Path, passed_without: &mut BTreeSet<&'m str>) -> Fate {
    let path = copy.join("tree").join(&mutant.file);
    let before = fs::read_to_string(&path).expect("a file of the tree");
    if !passed_without.contains(&mutant.tests[..]) && !test(mutant, copy) {
        return Fate::DoesNotBuild;
    }
    passed_without.insert(&mutant.tests);
    fs::write(&path, mutant.in_place(&before).expect("the list was checked")).expect("written");
    let fate = match (build(mutant, copy), test(mutant, copy)) {
        (false, _) => Fate::DoesNotBuild,
        (true, true) => Fate::Survived,
        (true, false) => Fate::Caught,
    };
    fs::write(&path, before).expect("written");
    fate
}

fn build(mutant: &Mutant, copy: &Path) -> bool {
    cargo(mutant, copy, &["--no-run"])
}

fn test(mutant: &Mutant, copy: &Path) -> bool {
    cargo(mutant, copy, &[])
}

/// Whether it ends well. What it says goes to a file.
fn cargo(mutant: &Mutant, copy: &Path, more: &[&str]) -> bool {
    let log = fs::File::create(copy.join(format!("{}.log", mutant.name))).expect("a log");
    let mut command = Command::new("timeout");
    command.args([SECONDS_MAX, "cargo", "test", "--quiet", "--locked"]).args(more);
    command.args(mutant.tests.split_whitespace());
    command.current_dir(copy.join("tree")).env("CARGO_TARGET_DIR", copy.join("build"));
    command.stdout(log.try_clone().expect("a log")).stderr(log);
    command.status().expect("cargo runs").success()
}

/// Copies changed files, and removes files that are gone: cargo builds by the times of files.
fn copy_changed(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("a folder");
        let names = |folder: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).expect("a folder");
            entries.map(|entry| entry.expect("an entry").file_name().into()).collect()
        };
        for gone in names(to).iter().filter(|name| !from.join(name).exists()) {
            let gone = to.join(gone);
            if gone.is_dir() { fs::remove_dir_all(gone) } else { fs::remove_file(gone) }.expect("removed");
        }
        names(from).iter().for_each(|name| copy_changed(&from.join(name), &to.join(name)));
        return;
    }
    let bytes = fs::read(from).expect("a file");
    if fs::read(to).ok().as_ref() != Some(&bytes) {
        let mut file = fs::File::create(to).expect("a file");
        file.write_all(&bytes).expect("written");
    }
}
