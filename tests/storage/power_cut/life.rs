//! A node's storage at work, recorded: the requests to it, and every moment at which the power may have been cut.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use adjourn_storage::{Chore, DiskStorage, JournalSize, Storage as _, StorageError};
use proptest::test_runner::TestRng;

use super::cut::{Beginning, Life, directory};
use super::fault::Fault;
use super::ledger::{self, Expectation, State, Step};
use super::recorder::{Moment, Recorder};
use super::workload::Workload;

/// What happened to the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogCounts {
    /// Pieces of work that were done beside the commits.
    pub(super) chores: usize,
    /// Stretches that went into the archive, or left it.
    pub(super) archived: usize,
    /// Checkpoints of other members with which the log agrees, and with which it does not.
    pub(super) installs: [usize; 2],
}

/// From one start to one stop.
pub(super) struct StorageLife {
    steps: Vec<Step>,
    /// The acknowledged state before each step, and after the last.
    states: Vec<State>,
    moments: Vec<Moment>,
    before: Option<(Rc<Self>, Moment)>,
    has_failed: bool,
    size: JournalSize,
    /// What happened to the log.
    pub(super) counts: LogCounts,
}

impl StorageLife {
    /// Opens the storage on a device, which holds `state`, asks for this number of steps and closes it. Ends early if a
    /// sync fails.
    pub(super) fn live(
        Beginning { device, state, before, failure }: Beginning<Self>,
        (workload, steps): (Workload, usize),
        rng: &mut TestRng,
    ) -> Self {
        let root = directory();
        let recorder = Recorder::start(root.path(), &device, failure);
        let (states, moments) = (vec![state], Vec::new());
        let mut life = Self {
            steps: Vec::new(),
            states,
            moments,
            before,
            has_failed: false,
            size: workload.size(),
            counts: LogCounts::default(),
        };
        let lived = life.work(root.path(), (workload, steps), &recorder, rng);
        life.has_failed = lived.is_err();
        life.moments = recorder.finish();
        if let Err(error) = lived {
            assert!(matches!(error, StorageError::Io { action: "sync", .. }), "{error}");
        }
        life
    }

    /// Fails when a sync does: then its last step is not acknowledged.
    fn work(
        &mut self,
        root: &Path,
        (workload, steps): (Workload, usize),
        recorder: &Recorder,
        rng: &mut TestRng,
    ) -> Result<(), StorageError> {
        self.steps.push(Step::Open);
        let mut storage = ledger::open(root, self.size)?;
        if let Some((before, died)) = &self.before {
            let (life, moment) = before.promised(died);
            self.states = vec![match life.expectation(moment).verify(&mut storage, true) {
                Ok(found) => found,
                Err(Fault::Refused(error)) => return Err(error),
                Err(fault) => panic!("{fault:?}: what was acknowledged before is not there"),
            }];
        }
        self.acknowledge(recorder);
        storage.replay(storage.recovered().first_index, &mut |_| Ok(()))?;
        for _ in 0..steps {
            let stretches = archived(root);
            let step = workload.step(&self.states[self.states.len() - 1], rng);
            self.steps.push(step.clone());
            self.carry_out(&mut storage, &step)?;
            self.counts.archived += usize::from(archived(root) != stretches);
            self.acknowledge(recorder);
        }
        self.steps.push(Step::Close);
        drop(storage);
        self.acknowledge(recorder);
        Ok(())
    }

    fn carry_out(&mut self, storage: &mut DiskStorage, step: &Step) -> Result<(), StorageError> {
        match step {
            Step::Persist(batch) => storage.persist(batch)?,
            Step::Checkpoint(base) => {
                assert_eq!(storage.base_at(base.index).expect("it is there"), *base);
                ledger::write_checkpoint(storage.chunks(), *base)?;
            }
            Step::Install { theirs, base, batch } => {
                let agrees = self.states[self.states.len() - 1].agrees(theirs);
                self.counts.installs[usize::from(!agrees)] += 1;
                ledger::write_checkpoint(&storage.incoming(), *base)?;
                storage.persist(batch)?;
            }
            Step::Cut { through } => storage.cut(*through)?,
            Step::Chore { meanwhile } => {
                let chore = storage.chore();
                self.counts.chores += usize::from(chore.is_some());
                // A thread of its own would do it while the batch is written; the watch on syncs sees this thread alone.
                let done = chore.map(Chore::run);
                if let Some(batch) = meanwhile {
                    storage.persist(batch)?;
                }
                if let Some(done) = done {
                    storage.chore_done(done)?;
                }
            }
            _ => storage.write_watermark()?,
        }
        Ok(())
    }

    fn acknowledge(&mut self, recorder: &Recorder) {
        let (step, state) = (&self.steps[self.steps.len() - 1], &self.states[self.states.len() - 1]);
        self.states.push(state.after(step));
        recorder.acknowledge();
    }

    fn expectation(&self, moment: &Moment) -> Expectation<'_> {
        let Moment { acknowledged, .. } = *moment;
        Expectation {
            state: &self.states[acknowledged],
            under_way: self.steps.get(acknowledged),
            size: self.size,
        }
    }
}

impl Life for StorageLife {
    type State = State;

    fn moments(&self) -> &[Moment] {
        &self.moments
    }

    fn before(&self) -> Option<&(Rc<Self>, Moment)> {
        self.before.as_ref()
    }

    fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn under_way(&self, moment: &Moment) -> String {
        self.expectation(moment).under_way.map(|step| format!("{step:?}")).unwrap_or_default()
    }

    fn start(&self, moment: &Moment, root: &Path, thoroughly: bool) -> Result<State, Fault> {
        self.expectation(moment).check(root, thoroughly)
    }
}

/// The names of the stretches in the archive.
fn archived(root: &Path) -> Vec<OsString> {
    let names = fs::read_dir(root.join("log")).expect("the folder of the log");
    let mut names: Vec<OsString> = names.map(|entry| entry.expect("an entry").file_name()).collect();
    names.retain(|name| name.to_string_lossy().starts_with("stretch-"));
    names.sort();
    names
}
