//! A power cut, or the end of a process: a moment of a recorded life, with the data that is read afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;

use proptest::test_runner::TestRng;
use tempfile::TempDir;

use super::compose::{self, Change, Choice};
use super::device::Device;
use super::disk::StateMetadata;
use super::fault::Fault;
use super::recorder::{Failure, Moment};

/// A recording from one start to one stop: the requests, and every moment at which the power may have been cut.
pub(super) trait Life: Sized {
    /// What a disk holds.
    type State: Default;

    /// Every moment, in order.
    fn moments(&self) -> &[Moment];

    /// The previous life and the moment of its end, if its process died and left the power on. Until this life has
    /// started, only the data of that moment is promised.
    fn before(&self) -> Option<&(Rc<Self>, Moment)>;

    /// Whether a sync failed, which ended it.
    fn has_failed(&self) -> bool;

    /// The step under way at that moment, in words.
    fn under_way(&self, moment: &Moment) -> String;

    /// Whose promises count at a moment of this life: its own, or until it has started, those of the one before.
    fn promised<'a>(&'a self, moment: &'a Moment) -> (&'a Self, &'a Moment) {
        let (mut life, mut moment) = (self, moment);
        while moment.acknowledged == 0
            && let Some((before, died)) = life.before()
        {
            (life, moment) = (before, died);
        }
        (life, moment)
    }

    /// Starts from what a cut at this moment has left in `root`, and compares. Returns what it holds.
    fn start(&self, moment: &Moment, root: &Path, thoroughly: bool) -> Result<Self::State, Fault>;

    /// The moments at which something is written and not synced, with what it is; and every eighth of the others,
    /// at which the disk is the same whatever gets to it.
    fn telling_moments(&self) -> Vec<(usize, Vec<Change>)> {
        let moments = self.moments().iter().map(|moment| compose::changes(&moment.device)).enumerate();
        moments.filter(|(at, changes)| !changes.is_empty() || at % 8 == 0).collect()
    }

    /// The disk on which those changes are that are chosen.
    fn cut<'a>(
        &'a self,
        at: usize,
        changes: &'a [Change],
        choice: Choice,
        rng: &mut TestRng,
    ) -> Cut<'a, Self> {
        let moment = &self.moments()[at];
        let image = compose::compose(&moment.device, changes, &choice, rng);
        Cut { life: self, at, moment, changes, choice, image }
    }
}

/// What a life begins with.
pub(super) struct Beginning<L: Life> {
    pub(super) device: Device,
    /// What a start finds there, after a power cut.
    pub(super) state: L::State,
    /// See [`Life::before`]: then what a start finds there is for the start to see.
    pub(super) before: Option<(Rc<L>, Moment)>,
    /// A sync that fails.
    pub(super) failure: Option<Failure>,
}

/// A disk that one power cut may leave, or the end of a process.
pub(super) struct Cut<'a, L> {
    life: &'a L,
    /// When: the number of the moment.
    at: usize,
    pub(super) moment: &'a Moment,
    pub(super) changes: &'a [Change],
    pub(super) choice: Choice,
    pub(super) image: StateMetadata,
}

impl<L: Life> Cut<'_, L> {
    /// Starts from this disk. Returns what it holds.
    pub(super) fn try_out(&self, thoroughly: bool) -> Result<L::State, Fault> {
        let root = directory();
        self.image.write(root.path());
        let (life, moment) = self.life.promised(self.moment);
        let started = catch_unwind(AssertUnwindSafe(|| life.start(moment, root.path(), thoroughly)));
        started.unwrap_or(Err(Fault::Panicked))
    }

    /// The moment in words.
    pub(super) fn in_words(&self) -> String {
        let moment = self.moment;
        let step: String = self.life.under_way(moment).chars().take(200).collect();
        let name = moment.before_sync_of.display();
        let Self { at, .. } = self;
        let acknowledged = moment.acknowledged;
        format!(
            "moment {at}, before the sync of {name:?}, {acknowledged} steps acknowledged, under way {step}"
        )
    }
}

/// In memory if the system has a place for that: these disks' own syncs make nothing durable.
pub(super) fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    directory.expect("a directory")
}
