//! A queue at work, recorded, and what a disk must hold after a power cut: all of the checkpoint that was acknowledged
//! last, or of the one that was under way.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use adjourn_storage::audit::audit;
use adjourn_storage::chunks::{self, Manifest};
use adjourn_storage::folder::DiskFolder;
use adjourn_storage::{Depth, checkpoint};
use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use super::cut::{Beginning, Life, directory};
use super::device::Device;
use super::fault::Fault;
use super::queue::{Counts, Queue, Taken};
use super::recorder::{Moment, Recorder};

/// The newest checkpoint, if there is one.
pub(super) type State = Option<Arc<Taken>>;

/// From one start to one stop.
pub(super) struct QueueLife<'a> {
    steps: Vec<Step>,
    /// The acknowledged state before each step, and after the last.
    states: Vec<State>,
    moments: Vec<Moment>,
    before: Option<(Rc<Self>, Moment)>,
    /// Counts of cuts and of the states found afterwards.
    counts: &'a RefCell<Counts>,
}

/// Something that the queue does.
#[derive(Debug)]
enum Step {
    Open,
    /// It takes and gives jobs; nothing of that is written.
    Work,
    Checkpoint(Arc<Taken>),
    /// A checkpoint that comes to nothing.
    GiveUp,
}

impl<'a> QueueLife<'a> {
    /// Starts the queue on a device, where this checkpoint is the newest, and lets it take `steps` steps. Its syncs go
    /// well: a checkpoint that fails has no jobs to compare with.
    pub(super) fn live(
        Beginning { device, state, before, .. }: Beginning<Self>,
        steps: usize,
        counts: &'a RefCell<Counts>,
        rng: &mut TestRng,
    ) -> Self {
        let root = directory();
        let recorder = Recorder::start(root.path(), &device, None);
        let (states, moments) = (vec![state.clone()], Vec::new());
        let mut life = Self { steps: Vec::new(), states, moments, before, counts };
        let expected = match &life.before {
            Some((before, died)) => before.promised(died).0.expected(before.promised(died).1),
            None => vec![state],
        };
        let (mut queue, mut state) = open(root.path(), &expected).expect("it starts");
        life.states = vec![state.clone()];
        life.steps.push(Step::Open);
        life.states.push(state.clone());
        recorder.acknowledge();
        for _ in 0..steps {
            let step = Step::take(&mut queue, rng);
            if let Step::Checkpoint(taken) = &step {
                state = Some(Arc::clone(taken));
            }
            life.steps.push(step);
            life.states.push(state.clone());
            recorder.acknowledge();
        }
        queue.verify().expect("all is as it was pushed");
        counts.borrow_mut().merge(&queue.counts);
        life.moments = recorder.finish();
        life
    }

    fn step(&self, moment: &Moment) -> Option<&Step> {
        self.steps.get(moment.acknowledged)
    }

    /// What may be there after a cut at this moment.
    fn expected(&self, moment: &Moment) -> Vec<State> {
        let mut expected = vec![self.states[moment.acknowledged].clone()];
        if let Some(Step::Checkpoint(taken)) = self.step(moment) {
            expected.push(Some(Arc::clone(taken)));
        }
        expected
    }

    fn count(&self, moment: &Moment, found: &State) {
        let mut counts = self.counts.borrow_mut();
        let name = moment.before_sync_of.file_name().unwrap_or_default().to_string_lossy();
        match name.split(['-', '.']).next().unwrap_or_default() {
            "chunk" => counts.add("cuts before the sync of a chunk", 1),
            "pages" => counts.add("cuts before the sync of a page file", 1),
            "manifest" => counts.add("cuts before the sync of a manifest", 1),
            "chunks" => counts.add("cuts before the sync of the folder", 1),
            _ => {}
        }
        let Device { durable, written, .. } = &moment.device;
        let unlinked = durable.names.keys().filter(|name| !written.names.contains_key(*name));
        for (_, name) in unlinked {
            match name.to_str().unwrap_or_default().split_once('-') {
                Some(("chunk", number)) if !number.contains('.') => {
                    counts.add("chunks whose unlinking was struck", 1);
                }
                Some(("pages", number)) if !number.contains('.') => {
                    counts.add("page files whose unlinking was struck", 1);
                }
                _ => {}
            }
        }
        if let Some(Step::Checkpoint(taken)) = self.step(moment) {
            let is_new = found.as_ref().is_some_and(|found| found.number == taken.number);
            counts.add(if is_new { "the new checkpoint was found" } else { "the one before was found" }, 1);
            counts.add(
                "the first checkpoint was struck",
                usize::from(self.states[moment.acknowledged].is_none()),
            );
        }
    }
}

impl Life for QueueLife<'_> {
    type State = State;

    fn moments(&self) -> &[Moment] {
        &self.moments
    }

    fn before(&self) -> Option<&(Rc<Self>, Moment)> {
        self.before.as_ref()
    }

    fn has_failed(&self) -> bool {
        false
    }

    fn under_way(&self, moment: &Moment) -> String {
        match self.step(moment) {
            None => String::new(),
            Some(Step::Checkpoint(taken)) => format!("checkpoint {}", taken.number),
            Some(step) => format!("{step:?}"),
        }
    }

    fn start(&self, moment: &Moment, root: &Path, _thoroughly: bool) -> Result<State, Fault> {
        let (queue, found) = open(root, &self.expected(moment))?;
        self.count(moment, &found);
        // It takes little time: each of them.
        go_on(queue, moment.acknowledged, root)?;
        Ok(found)
    }
}

impl Step {
    /// Takes one at random.
    fn take(queue: &mut Queue, rng: &mut TestRng) -> Self {
        match rng.random_range(0..10) {
            0..4 => Self::Checkpoint(queue.checkpoint(rng).expect("it is written")),
            4 => {
                queue.give_up(rng).expect("what was written goes");
                Self::GiveUp
            }
            _ => {
                queue.work(rng).expect("it is applied");
                Self::Work
            }
        }
    }
}

/// Starts a queue on the disk in `root`, as a node does. One of these checkpoints is there, and all of it.
fn open(root: &Path, expected: &[State]) -> Result<(Queue, State), Fault> {
    let folder = DiskFolder::new(&root.join("chunks"))?;
    let restored = checkpoint::restore(&folder)?;
    let number = restored.as_ref().map_or(0, |restored| restored.number);
    let number_of = |state: &State| state.as_ref().map_or(0, |taken| taken.number);
    let Some(found) = expected.iter().find(|state| number_of(state) == number).cloned() else {
        let expected: Vec<u32> = expected.iter().map(number_of).collect();
        return Err(Fault::Wrong(format!(
            "there is checkpoint {number}, not one of {expected:?}; 0 stands for none"
        )));
    };
    let manifest = Manifest::read(&folder)?;
    if let Some(manifest) = &manifest
        && let Some(damage) = audit(&folder, manifest, Depth::Whole, |_| {})?.into_iter().next()
    {
        return Err(Fault::Refused(damage));
    }
    checkpoint::sweep(&folder)?;
    let left = chunks::unlisted(&folder, manifest.as_ref())?;
    if !left.is_empty() {
        return Err(Fault::Wrong(format!("{left:?} lie there and count for nothing")));
    }
    let queue = match (restored, &found) {
        (Some(restored), Some(taken)) => Queue::restore(folder, restored, taken)?,
        _ => Queue::found(folder)?,
    };
    Ok((queue, found))
}

/// Lets the queue, which had taken `steps` steps, do more, take another checkpoint and start again.
fn go_on(mut queue: Queue, steps: usize, root: &Path) -> Result<(), Fault> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(steps as u64).to_le_bytes());
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    queue.work(&mut rng)?;
    let taken = queue.checkpoint(&mut rng)?;
    drop(queue);
    open(root, &[Some(taken)]).map(drop)
}
