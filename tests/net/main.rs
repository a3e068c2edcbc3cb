//! Three real nodes, each in a network namespace of its own, with clients in a fourth: cables that are pulled, packets
//! that are lost, disks that fill up, clocks that are set.
//!
//! This needs root and a few programs, so it is no part of `cargo test`: `make test-net` runs it, and it fails where it
//! cannot run. Everything that it makes lives in namespaces that end with it, however it ends.

mod clocks;
mod cuts;
mod disks;
#[path = "../cluster/load.rs"]
mod load;
mod namespaces;
#[path = "../cluster/report.rs"]
mod report;
#[path = "../cluster/rig.rs"]
mod rig;
mod server_rig;
mod wires;

use std::panic::catch_unwind;
use std::process::ExitCode;

/// The tests by name: `cargo test --test net -- clocks` runs one of them.
const TRIED: [(&str, fn()); 6] = [
    ("cuts", cuts::links_are_cut_narrowed_and_healed),
    ("full_disk", disks::the_disk_of_the_leader_is_nearly_full),
    ("full_log_of_the_leader", disks::the_log_of_the_leader_finds_no_room),
    ("full_log_of_a_follower", disks::the_log_of_a_follower_finds_no_room),
    ("clock_of_a_follower", clocks::the_clock_of_a_follower_is_set),
    ("clock_of_the_leader", clocks::the_clock_of_the_leader_is_set),
];

fn main() -> ExitCode {
    if let Err(reason) = namespaces::enter() {
        eprintln!("the tests with network namespaces cannot run here: {reason}");
        return ExitCode::FAILURE;
    }
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    let (mut tried, mut failed) = (0, Vec::new());
    for (name, run) in TRIED.into_iter().filter(|(name, _)| is_wanted(name)) {
        tried += 1;
        if catch_unwind(run).is_err() {
            failed.push(name);
        }
    }
    eprintln!("\n{tried} tried, {} failed {failed:?}", failed.len());
    if tried > 0 && failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
