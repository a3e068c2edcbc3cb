//! A node's storage at work, recorded: what was asked of it, and every moment at which the power may have been cut.

use std::path::Path;

use adjourn::storage::{Shrunk, Storage as _};
use proptest::test_runner::TestRng;

use super::cut::{Life, directory};
use super::disk::Image;
use super::fault::Fault;
use super::ledger::{self, Expectation, State, Step};
use super::recorder::{Moment, Recorder};
use super::workload::Workload;

/// From one start to one stop.
pub(super) struct StorageLife {
    steps: Vec<Step>,
    /// What is acknowledged before each step, and after the last.
    states: Vec<State>,
    moments: Vec<Moment>,
    /// How often the log has moved.
    pub(super) moves: usize,
}

impl StorageLife {
    /// Opens the storage on `disk`, which holds `state`, asks so many steps of it and closes it.
    pub(super) fn live(
        disk: &Image,
        mut state: State,
        (workload, steps): (Workload, usize),
        dice: &mut TestRng,
    ) -> Self {
        let root = directory();
        disk.write(root.path());
        let recorder = Recorder::start(root.path());
        let mut life = Self { steps: Vec::new(), states: vec![state.clone()], moments: Vec::new(), moves: 0 };
        let mut acknowledge = |step: Step| {
            state = state.after(&step);
            life.steps.push(step);
            life.states.push(state.clone());
            recorder.acknowledge();
            state.clone()
        };
        let mut storage = ledger::open(root.path()).expect("it opens");
        let mut now = acknowledge(Step::Open);
        storage.replay(storage.recovered().first_index, &mut |_| Ok(())).expect("it verifies");
        storage.set_move_bytes_min(1);
        for _ in 0..steps {
            let step = workload.step(&now, dice);
            match &step {
                Step::Persist(batch) => storage.persist(batch).expect("it is written"),
                Step::Checkpoint(base) => {
                    assert_eq!(storage.base_at(base.index).expect("it is there"), *base);
                    ledger::write_checkpoint(storage.chunks(), *base);
                }
                Step::Install { base, batch, .. } => {
                    ledger::write_checkpoint(&storage.incoming(), *base);
                    storage.persist(batch).expect("it is installed");
                }
                Step::Cut { through, rounds } => {
                    for _ in 0..*rounds {
                        storage.cut(*through).expect("it is cut");
                    }
                }
                Step::Shrink { steps } => {
                    for _ in 0..*steps {
                        let shrunk = storage.shrink(0).expect("it goes well");
                        life.moves += usize::from(matches!(shrunk, Shrunk::Moved { .. }));
                    }
                }
                _ => storage.write_watermark().expect("it is written"),
            }
            now = acknowledge(step);
        }
        drop(storage);
        acknowledge(Step::Close);
        life.moments = recorder.finish();
        life
    }

    fn expectation(&self, moment: &Moment) -> Expectation<'_> {
        let Moment { acknowledged, .. } = *moment;
        Expectation { state: &self.states[acknowledged], under_way: self.steps.get(acknowledged) }
    }
}

impl Life for StorageLife {
    type State = State;

    fn moments(&self) -> &[Moment] {
        &self.moments
    }

    fn under_way(&self, moment: &Moment) -> String {
        self.expectation(moment).under_way.map(|step| format!("{step:?}")).unwrap_or_default()
    }

    fn start(&self, moment: &Moment, root: &Path, thoroughly: bool) -> Result<State, Fault> {
        self.expectation(moment).check(root, thoroughly)
    }
}
