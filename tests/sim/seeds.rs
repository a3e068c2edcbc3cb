//! Which seeds a test runs: always the same ones, unless the environment names others.
//!
//! Each kind of run has variables of its own, which begin alike: `_SEED` names one seed, whose trace is shown; `_SEEDS` says
//! how many there are, and `_BASE` which is the first.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use super::plan::Plan;
use super::trace::Trace;

/// Names a file for the hash of each run's trace, a line each: two builds that do the same write the same lines, in some order.
const TRACES: &str = "ADJOURN_SIM_TRACES";

/// The seeds of one kind of run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    /// What the names of its variables begin with.
    name: &'static str,
    /// How many there are in a usual test run.
    usual: u64,
}

/// One node.
pub(super) const NODE: Seeds = Seeds { name: "ADJOURN_SIM", usual: 150 };
/// One that plays for hours, with checkpoints and spilled jobs.
pub(super) const SLOW: Seeds = Seeds { name: "ADJOURN_SIM_SLOW", usual: 8 };
/// Several nodes.
pub(super) const CLUSTER: Seeds = Seeds { name: "ADJOURN_SIM_CLUSTER", usual: 40 };
/// Several nodes, between nights of hours, with checkpoints and spilled jobs.
pub(super) const SLOW_CLUSTER: Seeds = Seeds { name: "ADJOURN_SIM_SLOW_CLUSTER", usual: 12 };

impl Seeds {
    /// Those that a plan's seed is one of.
    pub(super) fn of(plan: &Plan) -> Self {
        match (plan.pace.is_long(), &plan.cluster) {
            (true, Some(_)) => SLOW_CLUSTER,
            (false, Some(_)) => CLUSTER,
            (true, None) => SLOW,
            (false, None) => NODE,
        }
    }

    /// The only one that is wanted, if there is one.
    pub(super) fn only(self) -> Option<u64> {
        number(&format!("{}_SEED", self.name))
    }

    /// All of them; says which these are.
    pub(super) fn all(self) -> Range<u64> {
        let first = number(&format!("{}_BASE", self.name)).unwrap_or(0);
        let count = number(&format!("{}_SEEDS", self.name)).unwrap_or(self.usual);
        say(&format!("{}: {count} seeds from {first}\n", self.name));
        first..first + count
    }

    /// Whether these are the usual seeds, or more: then every required event happens. Other seeds may miss rare ones.
    pub(super) fn are_usual(self, seeds: &Range<u64>) -> bool {
        seeds.start == 0 && seeds.end >= self.usual
    }

    /// Whether the traces of runs are wanted: see [`Self::note_trace`].
    pub(super) fn are_traces_wanted() -> bool {
        std::env::var_os(TRACES).is_some()
    }

    /// Adds a line with the hash of a run's trace to the file of [`TRACES`].
    pub(super) fn note_trace(self, seed: u64, trace: &Trace) {
        let path = std::env::var_os(TRACES).expect("traces are wanted");
        let hash = xxh3_128(trace.text().as_bytes());
        let line = format!("{} {seed} {hash:032x}\n", self.name);
        let mut file =
            OpenOptions::new().create(true).append(true).open(path).expect("a file for the traces");
        file.write_all(line.as_bytes()).expect("the file takes a line");
    }

    /// The command that repeats one.
    pub(super) fn command(self, seed: u64) -> String {
        format!("{}_SEED={seed} cargo test --release --test sim", self.name)
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

/// Shows a line, and not through `println!`, which is kept from view while a test passes.
pub(super) fn say(line: &str) {
    std::io::stderr().lock().write_all(line.as_bytes()).expect("stderr");
}
