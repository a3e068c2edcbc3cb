//! A node's storage at work, recorded: what was asked of it, and every moment at which the power may have been cut.

use std::path::Path;

use adjourn::storage::{Shrunk, Storage as _};
use proptest::test_runner::TestRng;
use tempfile::TempDir;

use super::compose::{self, Change, Choice};
use super::disk::Image;
use super::ledger::{self, Expectation, Fault, State, Step};
use super::recorder::{Moment, Recorder};
use super::workload::Workload;

/// From one start to one stop.
pub(super) struct Life {
    steps: Vec<Step>,
    /// What is acknowledged before each step, and after the last.
    states: Vec<State>,
    moments: Vec<Moment>,
    /// How often the log has moved.
    pub(super) moves: usize,
}

/// A disk that one power cut may leave.
pub(super) struct Cut<'a> {
    pub(super) life: &'a Life,
    /// When: the number of the moment.
    pub(super) at: usize,
    pub(super) changes: &'a [Change],
    pub(super) choice: Choice,
    pub(super) image: Image,
}

impl Life {
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

    /// The moments at which something is written and not synced, with what it is; and every eighth of the others,
    /// at which the disk is the same whatever gets to it.
    pub(super) fn telling_moments(&self) -> Vec<(usize, Vec<Change>)> {
        let moments = self.moments.iter().map(compose::changes).enumerate();
        moments.filter(|(at, changes)| !changes.is_empty() || at % 8 == 0).collect()
    }

    /// The disk on which those changes are that are chosen.
    pub(super) fn cut<'a>(
        &'a self,
        at: usize,
        changes: &'a [Change],
        choice: Choice,
        dice: &mut TestRng,
    ) -> Cut<'a> {
        let image = compose::compose(&self.moments[at], changes, &choice, dice);
        Cut { life: self, at, changes, choice, image }
    }
}

impl Cut<'_> {
    /// Starts from this disk. Returns what it holds.
    pub(super) fn try_out(&self, thoroughly: bool) -> Result<State, Fault> {
        let root = directory();
        self.image.write(root.path());
        self.expectation().check(root.path(), thoroughly)
    }

    /// The moment in words.
    pub(super) fn moment(&self) -> String {
        let moment = &self.life.moments[self.at];
        let step = self.expectation().under_way.map(|step| format!("{step:?}")).unwrap_or_default();
        let step: String = step.chars().take(200).collect();
        let name = moment.before_sync_of.display();
        format!("moment {}, before the sync of {name:?}, under way {step}", self.at)
    }

    fn expectation(&self) -> Expectation<'_> {
        let acknowledged = self.life.moments[self.at].acknowledged;
        Expectation { state: &self.life.states[acknowledged], under_way: self.life.steps.get(acknowledged) }
    }
}

/// In memory if the system has a place for that: these disks' own syncs make nothing durable.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    directory.expect("a directory")
}
