//! A power cut: at a moment of a recorded life, with a disk that it may leave.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use proptest::test_runner::TestRng;
use tempfile::TempDir;

use super::compose::{self, Change, Choice};
use super::disk::Image;
use super::fault::Fault;
use super::recorder::Moment;

/// From one start to one stop, recorded: what was asked, and every moment at which the power may have been cut.
pub(super) trait Life: Sized {
    /// What a disk holds.
    type State: Default;

    /// Every moment, in order.
    fn moments(&self) -> &[Moment];

    /// What was under way then, in words.
    fn under_way(&self, moment: &Moment) -> String;

    /// Starts from what a cut at this moment has left in `root`, and compares. Returns what it holds.
    fn start(&self, moment: &Moment, root: &Path, thoroughly: bool) -> Result<Self::State, Fault>;

    /// The moments at which something is written and not synced, with what it is; and every eighth of the others,
    /// at which the disk is the same whatever gets to it.
    fn telling_moments(&self) -> Vec<(usize, Vec<Change>)> {
        let moments = self.moments().iter().map(compose::changes).enumerate();
        moments.filter(|(at, changes)| !changes.is_empty() || at % 8 == 0).collect()
    }

    /// The disk on which those changes are that are chosen.
    fn cut<'a>(
        &'a self,
        at: usize,
        changes: &'a [Change],
        choice: Choice,
        dice: &mut TestRng,
    ) -> Cut<'a, Self> {
        let image = compose::compose(&self.moments()[at], changes, &choice, dice);
        Cut { life: self, at, changes, choice, image }
    }
}

/// A disk that one power cut may leave.
pub(super) struct Cut<'a, L> {
    life: &'a L,
    /// When: the number of the moment.
    at: usize,
    pub(super) changes: &'a [Change],
    pub(super) choice: Choice,
    pub(super) image: Image,
}

impl<L: Life> Cut<'_, L> {
    /// Starts from this disk. Returns what it holds.
    pub(super) fn try_out(&self, thoroughly: bool) -> Result<L::State, Fault> {
        let root = directory();
        self.image.write(root.path());
        let moment = &self.life.moments()[self.at];
        let started = catch_unwind(AssertUnwindSafe(|| self.life.start(moment, root.path(), thoroughly)));
        started.unwrap_or(Err(Fault::Panicked))
    }

    /// The moment in words.
    pub(super) fn moment(&self) -> String {
        let moment = &self.life.moments()[self.at];
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
