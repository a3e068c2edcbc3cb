//! A node, or several, under a seed: virtual clocks, a network that delays and breaks, a disk that loses unsynced data,
//! clients of all kinds, and invariants that watch everything that can be seen from outside.
//!
//! A whole run happens in one thread and in virtual time: [`world`] takes one event after the other from a queue. What
//! happens is drawn from the seed alone, so a failure says its seed, and the same seed does the same again, to the
//! byte. The node is the real one: [`Replica`](adjourn_replica::Replica) over the simulated disk. Only what the server's
//! threads would do stands here (`node`, `checkpoint`).
//!
//! `ADJOURN_SIM_SEED=7` runs one seed and prints its trace. `ADJOURN_SIM_SEEDS=10000` runs that number of seeds, beginning with
//! `ADJOURN_SIM_BASE`. `ADJOURN_SIM_CLUSTER_SEED` and so on do the same for the other kinds of runs: see [`seeds`].
//! `ADJOURN_SIM_ALL_PAIRS=1` tries a power cut at each step of the start after each failed step of a checkpoint, and not at one of them.
//! `ADJOURN_SIM_TRACES=FILE` adds the hash of each trace to a file, to compare two builds that are to do the same.

#![expect(
    clippy::indexing_slicing,
    reason = "a place that is not there is a fault of the simulation: it may end the test"
)]

mod backups;
mod checkpoint;
mod chores;
mod chunks;
mod clients;
mod clocks;
mod cluster;
mod copied;
mod disk;
mod faults;
mod forgery;
mod invariants;
#[path = "../kept_bodies/store.rs"]
mod kept_bodies;
mod mutants;
mod network;
mod node;
mod peers;
mod plan;
mod random;
mod seeds;
mod seen;
mod snapshots;
mod strangers;
mod tally;
mod time;
mod trace;
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use adjourn_storage::Fault;

use disk::Part;
use mutants::Mutant;
use plan::Plan;
use seeds::Seeds;
use tally::Tally;
use trace::Trace;
use world::{Broken, World};

/// The approximate number of steps in the folder at a start: unlisted files are removed.
const STEPS_OF_START: u64 = 4;
/// If this is set, all pairs of a failure and a power cut are tried, and not one of each [`STEPS_OF_START`].
const ALL_PAIRS: &str = "ADJOURN_SIM_ALL_PAIRS";
/// A mutant must be caught by one of this number of first seeds.
const MUTANT_SEEDS: u64 = 1_000;

/// What a run came to.
struct Run {
    broken: Option<Broken>,
    trace: Trace,
    /// Steps of the log's disk and of the folder.
    disk_steps: [u64; 2],
    cut_steps: Vec<Range<u64>>,
    tally: Tally,
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
    let disk_steps = [Part::Log, Part::Chunks].map(|part| world.disk_steps(part));
    Run {
        broken,
        trace: world.trace().clone(),
        disk_steps,
        cut_steps: world.cut_steps.clone(),
        tally: world.tally().clone(),
    }
}

/// Runs a plan; a failure is run once more for its trace.
fn must_hold(plan: &Plan) -> Result<Tally, String> {
    let is_traced = Seeds::are_traces_wanted();
    let Run { broken, tally, trace, .. } = run(Plan { traced: is_traced, ..plan.clone() });
    if is_traced {
        Seeds::of(plan).note_trace(plan.seed, &trace);
    }
    let Some(broken) = broken else { return Ok(tally) };
    let again = run(Plan { traced: true, ..plan.clone() });
    let seed = plan.seed;
    let pace = plan.pace;
    let strikes = &plan.strikes;
    // Where faults strike in turn, each run is the same: the whole test repeats it.
    let repeat = if strikes.is_empty() {
        Seeds::of(plan).command(seed)
    } else {
        "cargo test --release --test sim power_cut".to_owned()
    };
    let end = again.trace.end();
    Err(format!(
        "{end}\n\n{pace:?} seed {seed} with strikes {strikes:?} breaks `{}`: {}\nRepeat it with: {repeat}",
        broken.invariant, broken.what,
    ))
}

/// The one run that was of interest: its name says why.
fn holds(plan: &Plan) {
    let held = must_hold(plan);
    assert!(held.is_ok(), "{}", held.err().unwrap_or_default());
}

/// Tries the plan of each of `numbers` on all cores; the first failure by number. Returns what has happened in all of them.
fn all_hold(numbers: Range<u64>, plan: impl Fn(u64) -> Plan + Sync) -> Tally {
    let next = AtomicU64::new(numbers.start);
    let tally = Mutex::new(Tally::default());
    let work = || {
        let mut failed = None;
        while failed.is_none() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                break;
            }
            match must_hold(&plan(number)) {
                Ok(run) => *tally.lock().expect("panics are caught") += &run,
                Err(text) => failed = Some((number, text)),
            }
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
    tally.into_inner().expect("panics are caught")
}

/// Runs the one seed that is wanted, if there is one, and shows what happens.
fn repeats(seeds: Seeds, plan: impl Fn(u64) -> Plan) -> bool {
    let Some(seed) = seeds.only() else { return false };
    let one = run(Plan { traced: true, ..plan(seed) });
    println!("{}\n{:?}", one.trace.text(), one.tally);
    assert_eq!(one.broken, None);
    true
}

#[test]
fn every_invariant_holds() {
    if repeats(seeds::NODE, |seed| Plan::drawn(seed).with_every_client()) {
        return;
    }
    let seeds = seeds::NODE.all();
    let tally = all_hold(seeds.clone(), |seed| Plan::drawn(seed).with_every_client());
    println!("{tally:?}");
    let Tally { brought_forward, not_started, firings, grouped, taken_back, .. } = tally;
    let rarest = brought_forward.min(not_started).min(firings / 10).min(grouped / 10).min(taken_back * 40);
    let often = rarest >= seeds.end - seeds.start;
    assert!(often || !seeds::NODE.are_usual(&seeds), "too little has happened: {tally:?}");
}

#[test]
fn every_invariant_holds_in_a_cluster() {
    if repeats(seeds::CLUSTER, |seed| Plan::of_nodes(seed).with_every_client()) {
        return;
    }
    let seeds = seeds::CLUSTER.all();
    let tally = all_hold(seeds.clone(), |seed| Plan::of_nodes(seed).with_every_client());
    println!("{tally:?}");
    let (Tally { kicked, kicks_refused, .. }, runs) = (&tally, seeds.end - seeds.start);
    let often = kicked * 20 >= runs && kicks_refused * 60 >= runs;
    assert!(often || !seeds::CLUSTER.are_usual(&seeds), "too little is kicked: {tally:?}");
    let Tally { states_lost, agreeing_installs, .. } = tally;
    let often = states_lost * 20 >= runs && agreeing_installs * 60 >= runs;
    assert!(often || !seeds::CLUSTER.are_usual(&seeds), "too few states are lost: {tally:?}");
}

#[test]
fn a_power_cut_at_every_write_and_sync_loses_nothing() {
    let [steps, _] = run(Plan::short(1)).disk_steps;
    assert!(steps > 200, "only {steps} steps");
    all_hold(0..steps, |step| Plan::short(1).struck(&[(Part::Log, step, Fault::PowerCut)]));
}

#[test]
fn every_invariant_holds_for_hours_with_spilled_jobs() {
    if repeats(seeds::SLOW, |seed| Plan::slow(seed).with_every_client()) {
        return;
    }
    let seeds = seeds::SLOW.all();
    let tally = all_hold(seeds.clone(), |seed| Plan::slow(seed).with_every_client());
    println!("{tally:?}");
    let often = tally.each_at_least(seeds.end - seeds.start);
    assert!(often || !seeds::SLOW.are_usual(&seeds), "too little has happened: {tally:?}");
}

#[test]
fn every_invariant_holds_in_a_cluster_for_hours_with_spilled_jobs() {
    if repeats(seeds::SLOW_CLUSTER, |seed| Plan::of_nodes_for_hours(seed).with_every_client()) {
        return;
    }
    let seeds = seeds::SLOW_CLUSTER.all();
    let tally = all_hold(seeds.clone(), |seed| Plan::of_nodes_for_hours(seed).with_every_client());
    println!("{tally:?}");
    let Tally { installs, leaders, memory_refusals, .. } = tally;
    let runs = seeds.end - seeds.start;
    let often = tally.each_at_least(runs) && leaders >= 4 * runs && installs.min(memory_refusals) * 2 >= runs;
    assert!(often || !seeds::SLOW_CLUSTER.are_usual(&seeds), "too little has happened: {tally:?}");
}

/// A turn granted a lease and deleted its job, and said the one after the other.
#[test]
fn a_job_that_is_deleted_in_the_turn_of_its_grant_is_not_held() {
    holds(&Plan::of_nodes(4_106_510_110));
}

/// A list whose search ended when there was no room went behind all reads that had come after it.
#[test]
fn a_list_keeps_its_place_when_its_search_ends_late() {
    holds(&Plan::of_nodes(83_666_212));
}

/// The leader's disk hangs while another member is down: no entry becomes durable, and so no session lapses.
#[test]
fn a_session_lapses_when_the_leaders_disk_no_longer_hangs() {
    holds(&Plan::of_nodes(243_563_839));
}

/// A rule took what was due late in the silence for a write without a reason.
#[test]
fn a_job_that_is_due_late_in_the_silence_is_moved() {
    holds(&Plan::slow(598_933_374));
}

/// The clock of a machine that joined while all clocks were ahead for a moment went back with them, and was behind ever after.
#[test]
fn a_machine_that_joins_has_the_clock_of_the_others() {
    holds(&Plan::of_nodes(369_873_234));
}

/// Power failed twice while a checkpoint was installed, and the log that it replaced ended where the checkpoint stands.
#[test]
fn a_log_that_ends_where_a_checkpoint_is_installed_is_gone() {
    holds(&Plan::of_nodes(41_721_263));
}

/// A leader was lost while all clocks were three days ahead for a moment; of those that were up later no two agreed.
#[test]
fn a_time_that_no_clock_shows_is_not_believed() {
    holds(&Plan::of_nodes_for_hours(74_391_262));
}

/// All clocks were set ahead while the first node was the only voter and the others were not up yet: it goes by its own.
#[test]
fn an_only_voter_goes_by_its_own_clock() {
    holds(&Plan::of_nodes(699_898_195));
}

/// Of two voters one has lost its state and waits for a checkpoint; the leader that it asked starts again.
#[test]
fn a_member_without_a_state_helps_the_next_leader() {
    holds(&Plan::of_nodes(2_797_161_523));
}

#[test]
fn a_power_cut_at_every_step_of_checkpoints_and_cuts_loses_nothing() {
    let (seed, Run { disk_steps: [_, steps], cut_steps, tally, .. }) = eventful();
    // Of a round the first steps, the last ones, and one between them: those in the middle are all alike.
    let few = |round: &Range<u64>| {
        let Range { start, end } = *round;
        let between = u64::midpoint(start, end);
        (start..end).filter(move |step| *step < start + 4 || *step + 4 >= end || *step == between)
    };
    let of_cuts = cut_steps.iter().flat_map(few).map(|step| (Part::Log, step, Fault::PowerCut));
    let of_chunks = (0..steps).map(|step| (Part::Chunks, step, Fault::PowerCut));
    let strikes: Vec<_> = of_cuts.chain(of_chunks).collect();
    println!("seed {seed}, {} strikes, {tally:?}", strikes.len());
    all_hold(0..strikes.len() as u64, |number| {
        Plan::short_slow(seed).struck(&[strikes[usize::try_from(number).expect("it is a place")]])
    });
}

#[test]
fn a_failure_in_a_checkpoint_and_a_power_cut_in_the_next_start_lose_nothing() {
    let (seed, Run { disk_steps: [_, steps], .. }) = eventful();
    let pairs = if std::env::var_os(ALL_PAIRS).is_some() { STEPS_OF_START } else { 1 };
    all_hold(0..steps * pairs, |number| {
        let (step, nth) = (number / pairs, number % pairs);
        let later = (step + nth) % STEPS_OF_START;
        let failure = (Part::Chunks, step, Fault::Failure);
        Plan::short_slow(seed).struck(&[failure, (Part::Chunks, step + 1 + later, Fault::PowerCut)])
    });
}

/// A short run in which all that belongs to a checkpoint happens, and not too often.
fn eventful() -> (u64, Run) {
    let runs = (0..MUTANT_SEEDS).map(|seed| (seed, run(Plan::short_slow(seed))));
    let enough = |run: &Run| {
        let Tally { cuts, chores, rows_rewritten, spilled_deleted, spilled_moved, spilled_replaced, .. } =
            run.tally;
        cuts >= 4
            && chores >= 1
            && rows_rewritten >= 4
            && spilled_deleted + spilled_moved + spilled_replaced >= 4
    };
    let eventful = runs.filter(|(_, run)| enough(run)).take(4);
    eventful.min_by_key(|(_, run)| run.disk_steps[1]).expect("some seed has a bit of everything")
}

#[test]
fn the_same_seed_does_the_same_to_the_byte() {
    is_the_same_again(12, Plan::drawn);
}

#[test]
fn the_same_seed_does_the_same_to_the_byte_in_a_cluster() {
    is_the_same_again(6, Plan::of_nodes);
}

fn is_the_same_again(seeds: u64, plan: impl Fn(u64) -> Plan) {
    let trace = |seed| run(Plan { traced: true, ..plan(seed) }).trace.text().to_owned();
    let mut before = String::new();
    for seed in 0..seeds {
        let first = trace(seed);
        assert!(first.lines().count() > 1000, "seed {seed} does something");
        assert!(first == trace(seed), "seed {seed} did something else the second time");
        assert!(first != before, "seed {seed} and the one before do the same");
        before = first;
    }
}

#[test]
fn every_mutant_is_caught() {
    all_are_caught(&Mutant::ALL, Plan::drawn);
}

#[test]
fn every_mutant_of_clusters_is_caught() {
    all_are_caught(&Mutant::OF_CLUSTERS, Plan::of_nodes);
}

#[test]
fn every_mutant_of_checkpoints_is_caught() {
    all_are_caught(&Mutant::OF_CHECKPOINTS, Plan::slow);
}

fn all_are_caught(mutants: &[(Mutant, &[&str])], plan: impl Fn(u64) -> Plan) {
    for (mutant, catchers) in mutants {
        let caught = (0..MUTANT_SEEDS).find_map(|seed| {
            let broken = run(plan(seed).with(*mutant)).broken?;
            Some((seed, broken))
        });
        let (seed, broken) =
            caught.unwrap_or_else(|| panic!("{mutant:?} is not caught by {MUTANT_SEEDS} seeds"));
        assert!(catchers.contains(&broken.invariant), "{mutant:?} at seed {seed}: {broken:?}");
        let what: String = broken.what.chars().take(100).collect();
        let line = format!("{mutant:?}: caught at seed {seed} by `{}`: {what}\n", broken.invariant);
        seeds::say(&line);
    }
}
