//! One node under a seed: virtual clocks, a network that delays and breaks, a disk that forgets what was not synced,
//! clients of all kinds, and invariants that watch everything that can be seen from outside.
//!
//! A whole run happens in one thread and in virtual time: [`world`] takes one event after the other from a queue. What
//! happens is drawn from the seed alone, so a failure says its seed, and the same seed does the same again, to the
//! byte. The node is the real one: [`Replica`](adjourn::replica::Replica) over the twin of the disk. Only what the server's
//! threads would do stands here (`node`).
//!
//! `ADJOURN_SIM_SEED=7` runs one seed and prints its trace. `ADJOURN_SIM_SEEDS=10000` runs so many.

#![expect(
    clippy::indexing_slicing,
    reason = "a place that is not there is a fault of the simulation: it may end the test"
)]

mod clients;
mod disk;
mod faults;
mod invariants;
mod mutants;
mod network;
mod node;
mod plan;
mod random;
mod seen;
mod time;
mod trace;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mutants::Mutant;
use plan::Plan;
use trace::Trace;
use world::{Broken, World};

/// Seeds of a usual test run.
const SEEDS: u64 = 300;
/// A mutant must be caught by one of the first so many seeds.
const MUTANT_SEEDS: u64 = 60;

/// What a run came to.
struct Run {
    broken: Option<Broken>,
    trace: Trace,
    disk_steps: u64,
}

fn run(plan: Plan) -> Run {
    let mut world = World::new(plan);
    let lived = catch_unwind(AssertUnwindSafe(|| world.run()));
    let broken = match lived {
        Ok(result) => result.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(Broken { invariant: "no panic", what: text.unwrap_or_default() })
        }
    };
    Run { broken, trace: world.trace().clone(), disk_steps: world.disk_steps() }
}

/// Runs a plan; a failure is run once more for its trace.
fn must_hold(plan: &Plan) -> Result<(), String> {
    let Some(broken) = run(plan.clone()).broken else { return Ok(()) };
    let again = run(Plan { traced: true, ..plan.clone() });
    let seed = plan.seed;
    let cut = plan.power_cut.map_or_else(String::new, |step| format!(", with the power cut at step {step}"));
    let end = again.trace.end();
    Err(format!(
        "{end}\n\nseed {seed}{cut} breaks `{}`: {}\nRepeat it with: ADJOURN_SIM_SEED={seed} cargo test --test all sim::",
        broken.invariant, broken.what,
    ))
}

/// Tries each of `plans` on all cores; the first failure by number.
fn all_hold(count: u64, plan: impl Fn(u64) -> Plan + Sync) {
    let next = AtomicU64::new(0);
    let work = || {
        let mut failed = None;
        while failed.is_none() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            failed = must_hold(&plan(number)).err().map(|text| (number, text));
        }
        failed
    };
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let failed = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().expect("panics are caught")).min()
    });
    if let Some((_, text)) = failed {
        panic!("{text}");
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

#[test]
fn every_invariant_holds() {
    if let Some(seed) = number("ADJOURN_SIM_SEED") {
        let one = run(Plan { traced: true, ..Plan::drawn(seed) });
        println!("{}", one.trace.text());
        assert_eq!(one.broken, None);
        return;
    }
    all_hold(number("ADJOURN_SIM_SEEDS").unwrap_or(SEEDS), Plan::drawn);
}

#[test]
fn a_power_cut_at_every_write_and_sync_loses_nothing() {
    let steps = run(Plan::short(1)).disk_steps;
    assert!(steps > 200, "only {steps} steps");
    all_hold(steps, |step| Plan { power_cut: Some(step), ..Plan::short(1) });
}

#[test]
fn the_same_seed_does_the_same_to_the_byte() {
    let trace = |seed| run(Plan { traced: true, ..Plan::drawn(seed) }).trace.text().to_owned();
    for seed in 0..12 {
        let first = trace(seed);
        assert!(first.lines().count() > 1000, "seed {seed} does something");
        assert!(first == trace(seed), "seed {seed} did something else the second time");
        assert!(first != trace(seed + 1), "seeds {seed} and the next do the same");
    }
}

#[test]
fn every_mutant_is_caught() {
    for (mutant, catchers) in Mutant::ALL {
        let caught = (0..MUTANT_SEEDS).find_map(|seed| {
            let broken = run(Plan::drawn(seed).with(mutant)).broken?;
            Some((seed, broken))
        });
        let (seed, broken) =
            caught.unwrap_or_else(|| panic!("{mutant:?} is not caught by {MUTANT_SEEDS} seeds"));
        assert!(catchers.contains(&broken.invariant), "{mutant:?} at seed {seed}: {broken:?}");
        println!("{mutant:?}: caught at seed {seed} by `{}`: {}", broken.invariant, broken.what);
    }
}
