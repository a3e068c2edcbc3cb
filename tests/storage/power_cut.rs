//! Power cuts on the real files: every disk that one may leave behind opens, with everything acknowledged in it.
//!
//! A [recorder] keeps, at each sync, the durable data and the data that is only written. Disks are [put together](compose)
//! from the first and any part of the second: nothing, everything, each block or segment alone or missing, each
//! prefix, and a random part; names and lengths too. Each is opened, read, written to and opened again. A sync
//! that is left out shows, because the data that it would have made durable may then be missing.
//!
//! Of lives in a row, some end with a power cut. In others a sync fails, or the process is killed, and the next one starts
//! with the content of the system's [cache](device): the power may be cut after that.
//!
//! There are two kinds of [lives](cut::Life). A node's [storage](life), whose checkpoints are of nothing, is asked for
//! everything that a node asks of it. A [queue](queue_life) with jobs takes checkpoints with all their files.
//!
//! `ADJOURN_POWER_CUTS` is how many times as many disks as usual are opened, `ADJOURN_POWER_CUT_SEED` another seed
//! than usual: `make power-cuts`.

#![expect(clippy::indexing_slicing, reason = "places come from the lengths")]

mod compose;
mod cut;
mod device;
mod disk;
mod fault;
mod ledger;
mod life;
mod queue;
mod queue_life;
mod queue_work;
mod recorder;
mod tally;
mod workload;

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use compose::{Change, Choice};
use cut::{Beginning, Cut, Life};
use device::Device;
use life::{LogCounts, StorageLife};
use queue::Counts;
use queue_life::QueueLife;
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
fn large_entries_in_files_of_their_own() {
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
fn logs_with_an_archive() {
    run(Plan { workload: Workload::Chores, generations: 1, steps: 100, disks: 250 });
}

#[test]
fn logs_with_an_archive_in_a_row() {
    run(Plan { workload: Workload::Chores, generations: 12, steps: 20, disks: 120 });
}

#[test]
fn checkpoints_of_other_members() {
    run(Plan { workload: Workload::Installs, generations: 1, steps: 60, disks: 400 });
}

#[test]
fn checkpoints_of_other_members_in_a_row() {
    run(Plan { workload: Workload::Installs, generations: 25, steps: 8, disks: 250 });
}

#[test]
fn checkpoints_of_a_queue() {
    run_queue(Series { kind: 100, generations: 1, disks: 800, early: false }, 200);
}

#[test]
fn checkpoints_of_a_queue_in_a_row() {
    run_queue(Series { kind: 101, generations: 25, disks: 500, early: false }, 12);
}

/// What a queue must have done, and what a power cut must have struck, for its tests to prove anything.
const HAPPENS_IN_A_QUEUE: [(&str, u64); 20] = [
    ("chunks written", 50),
    ("chunks carried over", 50),
    ("chunks rewritten", 5),
    ("chunks unlinked", 5),
    ("page files written", 10),
    ("page files carried over", 1),
    ("page files unlinked", 5),
    ("jobs that were spilled", 50),
    ("spilled jobs loaded ahead", 10),
    ("spilled jobs loaded when due", 1),
    ("checkpoints given up", 1),
    ("cuts before the sync of a chunk", 10),
    ("cuts before the sync of a page file", 10),
    ("cuts before the sync of a manifest", 1),
    ("cuts before the sync of the folder", 5),
    ("chunks whose unlinking was struck", 1),
    ("page files whose unlinking was struck", 1),
    ("the new checkpoint was found", 1),
    ("the one before was found", 1),
    ("the first checkpoint was struck", 1),
];

fn run(plan: Plan) {
    let Plan { workload, generations, steps, disks } = plan;
    let (mut chores, mut archived, mut installs) = (0, 0, [0; 2]);
    // Of a founding the first half alone: the next generation founds again.
    let series = Series { kind: workload as u8, generations, disks, early: steps == 0 };
    series.strike(|beginning, rng| {
        let life = StorageLife::live(beginning, (workload, steps), rng);
        let LogCounts { chores: done, archived: moved, installs: [agreeing, conflicting] } = life.counts;
        (chores, archived) = (chores + done, archived + moved);
        installs = [installs[0] + agreeing, installs[1] + conflicting];
        life
    });
    if matches!(workload, Workload::Chores) {
        assert!(chores > 10 && archived > 5, "{chores} chores, {archived} times in the archive");
    }
    if matches!(workload, Workload::Installs) {
        assert!(installs.iter().all(|seen| *seen >= 2), "{installs:?} checkpoints that agree, and conflict");
    }
}

/// Lets a queue take this number of steps between two cuts.
fn run_queue(series: Series, steps: usize) {
    let counts = RefCell::new(Counts::default());
    series.strike(|beginning, rng| QueueLife::live(beginning, steps, &counts, rng));
    counts.into_inner().expect(seed(), &HAPPENS_IN_A_QUEUE);
}

/// Power cuts, one after the other.
#[derive(Clone, Copy, Debug)]
struct Series {
    /// The strikes have an rng of their own.
    kind: u8,
    /// Lives, each on the disk that the cut before left.
    generations: usize,
    /// Disks that are opened, over all generations.
    disks: usize,
    /// A life starts from the data in the first half of the previous one.
    early: bool,
}

/// Tells where a life was when something panics.
struct Whereabouts {
    seed: u64,
    generation: usize,
}

impl Drop for Whereabouts {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, generation {}", self.seed, self.generation);
        }
    }
}

impl Series {
    /// Records each life and opens the disks that power cuts may leave. Fails if one is not right.
    fn strike<L: Life>(&self, mut record: impl FnMut(Beginning<L>, &mut TestRng) -> L) {
        let times: usize = variable("ADJOURN_POWER_CUTS").unwrap_or(1);
        let seed = seed();
        let mut bytes = [self.kind; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8] = u8::try_from(self.generations).expect("a small number");
        let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut tally = Tally::default();
        let (mut device, mut state, mut before) = (Device::default(), L::State::default(), None);
        let disks = (self.disks * times).div_ceil(self.generations);
        for generation in 0..self.generations {
            let _whereabouts = Whereabouts { seed, generation };
            let failure = (self.generations > 1).then(|| recorder::failure(&mut rng)).flatten();
            let life = record(Beginning { device, state, before, failure }, &mut rng);
            let moments = life.telling_moments();
            for number in 0..disks {
                // All the moments in turn, as often as it takes; fewer if there are more moments than disks.
                let (at, changes) = if disks < moments.len() {
                    &moments[number * moments.len() / disks]
                } else {
                    &moments[number % moments.len()]
                };
                let choice = choose(changes, number * 2 / moments.len(), &mut rng);
                let cut = life.cut(*at, changes, choice, &mut rng);
                tally.take(&cut, generation, cut.try_out(number % 4 == 0));
            }
            let cut = self.end(&life, &moments, &mut rng);
            if matches!(cut.choice, Choice::Read) {
                let died = cut.moment.clone();
                (device, state) = (died.device.clone(), L::State::default());
                before = Some((Rc::new(life), died));
            } else {
                let Some(found) = tally.take(&cut, generation, cut.try_out(true)) else { break };
                (device, state, before) = (Device::cut_off(&cut.image), found, None);
            }
        }
        tally.verdict(seed, self.disks);
    }

    /// How a life ends: with its process, if a sync has failed; else with the power, or by a kill, at any moment.
    fn end<'a, L: Life>(
        &self,
        life: &'a L,
        moments: &'a [(usize, Vec<Change>)],
        rng: &mut TestRng,
    ) -> Cut<'a, L> {
        if life.has_failed() {
            return life.cut(life.moments().len() - 1, &[], Choice::Read, rng);
        }
        let until = if self.early { moments.len() / 2 } else { moments.len() };
        let (at, changes) = &moments[rng.random_range(0..until)];
        let dies = self.generations > 1 && rng.random();
        let choice = if dies { Choice::Read } else { compose::random(changes, rng) };
        life.cut(*at, changes, choice, rng)
    }
}

/// What gets to the disk: at the first visits to a moment nothing, and all of it.
fn choose(changes: &[Change], visit: usize, rng: &mut TestRng) -> Choice {
    if visit < 2 && rng.random() {
        return compose::extremes(changes)[usize::from(rng.random::<bool>())].clone();
    }
    compose::random(changes, rng)
}

fn seed() -> u64 {
    variable("ADJOURN_POWER_CUT_SEED").unwrap_or(1)
}

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}
