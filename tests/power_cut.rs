//! Power cuts on the real files: every disk that one may leave behind opens, with everything acknowledged in it.
//!
//! A [recorder] keeps, at each sync, what is durable and what is only written. Disks are [put together](compose)
//! from the first and any part of the second: nothing, everything, each block or segment alone or missing, each
//! prefix, and what the dice say; names and lengths too. Each is opened, read, written to and opened again. A sync
//! that is left out shows, because what it would have made durable may then be missing.
//!
//! `ADJOURN_POWER_CUTS` is how many times as many disks as usual are opened, `ADJOURN_POWER_CUT_SEED` another seed
//! than usual: `make power-cuts`.

#![expect(clippy::indexing_slicing, reason = "places come from the lengths")]

mod compose;
mod disk;
mod ledger;
mod life;
mod recorder;
mod tally;
mod workload;

use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use compose::{Change, Choice};
use disk::Image;
use ledger::State;
use life::Life;
use tally::Tally;
use workload::Workload;

/// How much a test does.
#[derive(Clone, Copy, Debug)]
struct Plan {
    workload: Workload,
    /// Power cuts in a row, each on the disk that the one before left.
    generations: usize,
    /// Steps between two cuts.
    steps: usize,
    /// Disks that are opened, over all generations.
    disks: usize,
}

#[test]
fn while_a_directory_is_founded() {
    run(Plan { workload: Workload::Small, generations: 8, steps: 0, disks: 400 });
}

#[test]
fn small_entries_votes_and_watermarks() {
    run(Plan { workload: Workload::Small, generations: 1, steps: 100, disks: 300 });
}

#[test]
fn large_entries_over_several_segments() {
    run(Plan { workload: Workload::Large, generations: 1, steps: 50, disks: 200 });
}

#[test]
fn suffixes_that_are_replaced() {
    run(Plan { workload: Workload::Cuts, generations: 1, steps: 60, disks: 250 });
}

#[test]
fn small_cuts_in_a_row() {
    run(Plan { workload: Workload::Small, generations: 25, steps: 4, disks: 250 });
}

#[test]
fn large_cuts_in_a_row() {
    run(Plan { workload: Workload::Cuts, generations: 25, steps: 6, disks: 250 });
}

#[test]
fn beginnings_that_are_cut_off() {
    run(Plan { workload: Workload::Beginnings, generations: 1, steps: 80, disks: 300 });
}

#[test]
fn beginnings_that_are_cut_off_in_a_row() {
    run(Plan { workload: Workload::Beginnings, generations: 25, steps: 10, disks: 250 });
}

#[test]
fn logs_that_move() {
    run(Plan { workload: Workload::Moves, generations: 1, steps: 320, disks: 400 });
}

#[test]
fn logs_that_move_in_a_row() {
    run(Plan { workload: Workload::Moves, generations: 25, steps: 16, disks: 250 });
}

#[test]
fn checkpoints_of_other_members() {
    run(Plan { workload: Workload::Installs, generations: 1, steps: 60, disks: 400 });
}

#[test]
fn checkpoints_of_other_members_in_a_row() {
    run(Plan { workload: Workload::Installs, generations: 25, steps: 8, disks: 250 });
}

fn run(plan: Plan) {
    let times: usize = variable("ADJOURN_POWER_CUTS").unwrap_or(1);
    let seed: u64 = variable("ADJOURN_POWER_CUT_SEED").unwrap_or(1);
    let mut bytes = [plan.workload as u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8] = u8::try_from(plan.generations).expect("a small number");
    let mut dice = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut tally = Tally::default();
    let (mut disk, mut state) = (Image::default(), State::default());
    let disks = (plan.disks * times).div_ceil(plan.generations);
    for generation in 0..plan.generations {
        let life = Life::live(&disk, state, (plan.workload, plan.steps), &mut dice);
        tally.moves += life.moves;
        let moments = life.telling_moments();
        for number in 0..disks {
            // All the moments in turn, as often as it takes; fewer if there are more moments than disks.
            let (at, changes) = if disks < moments.len() {
                &moments[number * moments.len() / disks]
            } else {
                &moments[number % moments.len()]
            };
            let choice = choose(changes, number * 2 / moments.len(), &mut dice);
            let cut = life.cut(*at, changes, choice, &mut dice);
            tally.take(&cut, generation, cut.try_out(number % 4 == 0));
        }
        // Of a founding the first half alone: the next generation founds again.
        let until = if plan.steps == 0 { moments.len() / 2 } else { moments.len() };
        let (at, changes) = &moments[dice.random_range(0..until)];
        let cut = life.cut(*at, changes, compose::random(changes, &mut dice), &mut dice);
        let Some(found) = tally.take(&cut, generation, cut.try_out(true)) else { break };
        (disk, state) = (cut.image, found);
    }
    tally.verdict(seed, plan.disks);
    let expected = matches!(plan.workload, Workload::Moves);
    assert_eq!(tally.moves > 5, expected, "{} moves", tally.moves);
}

/// What gets to the disk: at the first visits to a moment nothing, and all of it.
fn choose(changes: &[Change], visit: usize, dice: &mut TestRng) -> Choice {
    if visit < 2 && dice.random() {
        return compose::extremes(changes)[usize::from(dice.random::<bool>())].clone();
    }
    compose::random(changes, dice)
}

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}
