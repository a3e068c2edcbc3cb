//! How a run ends: everything comes to rest, is checked, and what there is to say is printed as a table.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use super::load::{Ledger, Load};
use super::rig::{Cluster, Network};

/// Members compare their states after every entry whose index is a multiple of this.
const COMPARED_EVERY: u64 = 64;

/// The longest times without an acknowledged push, by cause.
#[derive(Default)]
pub(crate) struct Pauses(Vec<(&'static str, Vec<Duration>)>);

impl Pauses {
    /// After this nothing was acknowledged for so long.
    pub(crate) fn add(&mut self, cause: &'static str, pause: Duration) {
        match self.0.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, pauses)) => pauses.push(pause),
            None => self.0.push((cause, vec![pause])),
        }
    }

    /// A row for each cause, in the order in which they came: how often, and how long in milliseconds.
    fn rows(mut self) -> String {
        let mut rows = String::new();
        for (cause, pauses) in &mut self.0 {
            pauses.sort_unstable();
            let at = |percent: usize| {
                let place = (pauses.len() * percent / 100).min(pauses.len() - 1);
                pauses.get(place).map_or(0, Duration::as_millis)
            };
            let (times, [half, most, all]) = (pauses.len(), [at(50), at(90), at(100)]);
            let _ = writeln!(rows, "| {cause:<52} | {times:>9} | {half:>6} | {most:>6} | {all:>6} |");
        }
        rows
    }
}

/// Waits until everything is done, prints the events seen, and checks them. `told` has further counts to print.
pub(crate) fn finish<N: Network>(
    title: &str,
    cluster: &Cluster<N>,
    load: Load,
    pauses: Pauses,
    told: &[(&str, u64)],
) -> Ledger {
    let before = cluster.await_voters(cluster.nodes.len()).commit;
    cluster.wait_for("an entry after which all compare their states", |cluster| {
        cluster.leader_report().filter(|report| report.commit >= before + COMPARED_EVERY).map(drop)
    });
    let ledger = load.end();
    let report = cluster.await_same_state();
    let same = report.members.iter().map(|member| member.audited).max().unwrap_or(0);
    let told = told.iter().map(|(what, number)| ((*what).to_owned(), *number));
    let ours = [("state of all members equal at entry", same), ("term", report.term)];
    let ours = ours.map(|(what, number)| (what.to_owned(), number));
    let mut table = String::from("\n");
    let _ = writeln!(table, "| {title:<52} |     times | p50 ms | p90 ms | max ms |");
    let _ = writeln!(table, "|{:-<54}|----------:|-------:|-------:|-------:|", "");
    table.push_str(&pauses.rows());
    for (what, number) in told.chain(ledger.counts()).chain(ours) {
        let _ = writeln!(table, "| {what:<52} | {number:>9} |        |        |        |");
    }
    // Not through `println!`, which is kept from view while a test passes.
    std::io::stderr().lock().write_all(table.as_bytes()).expect("stderr");
    ledger.verify();
    ledger
}
