//! Watches the syncs of a data directory, and keeps the durable and the written data at each. It can let one fail.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use adjourn_storage::sync::{self, Done};
use proptest::prelude::RngExt as _;
use proptest::test_runner::TestRng;

use super::device::{Device, is_summary};
use super::disk::{FileId, Node};

/// A moment at which the power may be cut, or the process may die.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) device: Device,
    /// How many steps of the workload were acknowledged.
    pub(super) acknowledged: usize,
    /// The file or directory that was about to be synced; empty after a step.
    pub(super) before_sync_of: PathBuf,
}

/// Number of syncs of a short life.
const SYNCS: usize = 24;

/// A sync that is to fail: this many from now, with a random part of it on the disk.
pub(super) type Failure = (usize, TestRng);

/// Records while it lives. One at a time in a thread.
pub(super) struct Recorder {
    state: Rc<RefCell<State>>,
}

struct State {
    root: PathBuf,
    device: Device,
    acknowledged: usize,
    moments: Vec<Moment>,
    failure: Option<Failure>,
}

impl Recorder {
    /// Writes the readable content of a device into the empty directory `root`, and begins with it. One sync may fail on purpose.
    pub(super) fn start(root: &Path, device: &Device, failure: Option<Failure>) -> Self {
        let (device, root) = (device.moved_to(root), root.to_owned());
        let state = State { root, device, acknowledged: 0, moments: Vec::new(), failure };
        let state = Rc::new(RefCell::new(state));
        let watched = Rc::clone(&state);
        sync::watch(Some(Box::new(move |done, path| {
            let mut state = watched.borrow_mut();
            match done {
                Done::Dropped => state.dropped(path),
                Done::Synced => return state.synced(path),
            }
            Ok(())
        })));
        Self { state }
    }

    /// A step has returned: the caller takes for durable what it asked for.
    pub(super) fn acknowledge(&self) {
        let mut state = self.state.borrow_mut();
        state.acknowledged += 1;
        state.look();
        state.keep(PathBuf::new());
    }

    /// Every moment so far.
    pub(super) fn finish(self) -> Vec<Moment> {
        std::mem::take(&mut self.state.borrow_mut().moments)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        sync::watch(None);
    }
}

impl State {
    fn look(&mut self) {
        self.device.look(&self.root);
        for (name, node) in &self.device.written.names {
            // sled syncs its summary itself before it gives it its name.
            if let Node::File(id) = node
                && is_summary(name)
                && let Some(content) = self.device.written.contents.get(id)
            {
                self.device.durable.contents.entry(*id).or_insert_with(|| Arc::clone(content));
            }
        }
    }

    fn keep(&mut self, before_sync_of: PathBuf) {
        let Self { device, acknowledged, .. } = self;
        self.moments.push(Moment { device: device.clone(), acknowledged: *acknowledged, before_sync_of });
    }

    fn dropped(&mut self, path: &Path) {
        self.look();
        if let Some((_, Node::File(id))) = self.node(path) {
            self.device.drop_lost(id, path);
        }
        self.look();
    }

    fn synced(&mut self, path: &Path) -> io::Result<()> {
        self.look();
        let Some((name, node)) = self.node(path) else { return Ok(()) };
        self.keep(name);
        let failing = match &mut self.failure {
            Some((0, _)) => self.failure.take().map(|(_, rng)| rng),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        match (node, failing) {
            (Node::File(id), None) => self.device.sync_file(id),
            (Node::Folder(folder), None) => self.names_are_durable(folder),
            (node, Some(mut rng)) => {
                if let Node::File(id) = node {
                    self.device.fail_to_sync_file(id, &mut rng);
                }
                self.keep(PathBuf::new());
                return Err(io::Error::other("told to fail"));
            }
        }
        Ok(())
    }

    /// What a path stands for, with its name in the directory; `None` if it is not in there.
    fn node(&self, path: &Path) -> Option<(PathBuf, Node)> {
        let name = path.strip_prefix(&self.root).ok()?;
        let node = self.device.written.find(name).expect("what is synced has a name");
        Some((name.to_owned(), node))
    }

    fn names_are_durable(&mut self, folder: FileId) {
        let Device { durable, written, .. } = &mut self.device;
        durable.names.retain(|(inside, _), _| *inside != folder);
        let names = written.names.iter().filter(|((inside, _), _)| *inside == folder);
        durable.names.extend(names.map(|(name, node)| (name.clone(), *node)));
    }
}

/// In every other life, one of its first syncs fails.
pub(super) fn failure(rng: &mut TestRng) -> Option<Failure> {
    let at = rng.random_range(0..2 * SYNCS);
    (at < SYNCS).then(|| (at, rng.clone()))
}
