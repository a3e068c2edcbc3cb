//! How the disks came out, and a few examples of each fault.

use std::collections::BTreeMap;

use super::compose::Change;
use super::cut::{Cut, Life};
use super::fault::Fault;

/// So many of each kind of fault are told in full.
const EXAMPLES: usize = 3;

#[derive(Default)]
pub(super) struct Tally {
    opened: usize,
    faults: BTreeMap<String, usize>,
    examples: Vec<String>,
}

impl Tally {
    /// Counts a disk. Returns what it held if it was right.
    pub(super) fn take<L: Life>(
        &mut self,
        cut: &Cut<'_, L>,
        generation: usize,
        result: Result<L::State, Fault>,
    ) -> Option<L::State> {
        let fault = match result {
            Ok(state) => {
                self.opened += 1;
                return Some(state);
            }
            Err(fault) => fault,
        };
        let seen = self.faults.entry(fault.kind()).or_default();
        *seen += 1;
        if *seen <= EXAMPLES {
            let others = cut.changes.iter().filter(|change| !matches!(change, Change::Block(..)));
            self.examples.push(format!(
                "{fault:?}\n  generation {generation}, {}\n  {} changes, of which {:?}; {:?}",
                cut.in_words(),
                cut.changes.len(),
                others.collect::<Vec<_>>(),
                cut.choice
            ));
        }
        None
    }

    /// Fails if a disk was not right, or if too few were tried.
    pub(super) fn verdict(&self, seed: u64, disks: usize) {
        let Self { opened, faults, examples } = self;
        assert!(
            faults.is_empty(),
            "seed {seed}: {opened} disks opened, but {faults:#?}\n{}",
            examples.join("\n")
        );
        assert!(*opened >= disks, "only {opened} disks were opened, of {disks}");
    }
}
