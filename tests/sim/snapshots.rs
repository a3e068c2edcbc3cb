//! Checkpoints that one node fetches from another: what the transport does for a node that is too far behind for entries.
//!
//! The sender holds the files from the first moment on; the fetch continues after a broken connection. When all
//! parts have arrived they are written beside the node's own checkpoint, and read.

use adjourn_replica::Input;
use adjourn_storage::{Restored, StorageError};

use super::copied::{Files, files, unpack};
use super::disk::Part;
use super::mutants::Mutant;
use super::seen::{NodeId, Seen};
use super::time::{MS, Us};
use super::world::{Event, World};

/// Between two parts.
const PART_PAUSE: (Us, Us) = (MS, 300 * MS);
/// The maximum number of parts of a fetch.
const PARTS_MAX: u64 = 8;

/// A checkpoint on its way.
#[derive(Debug)]
pub(super) struct Fetch {
    from: NodeId,
    index: u64,
    /// The content of its files, once the sender holds them.
    files: Option<Files>,
    parts_left: u64,
}

impl World {
    pub(super) fn fetch_ordered(&mut self, node: NodeId, life: u64, from: NodeId, index: u64) {
        let parts_left = self.random.below(PARTS_MAX);
        let Some(found) = self.life(node, life) else { return };
        found.fetch = Some(Fetch { from, index, files: None, parts_left });
        self.fetch_later(node, life, index);
    }

    fn fetch_later(&mut self, node: NodeId, life: u64, index: u64) {
        let pause = self.random.within(PART_PAUSE);
        self.after(pause, Event::FetchPart { node, life, index });
    }

    /// The next part of a fetch.
    pub(super) fn fetches(&mut self, node: NodeId, life: u64, index: u64) {
        let Some(found) = self.life(node, life) else { return };
        let Some(mut fetch) = found.fetch.take_if(|fetch| fetch.index == index) else { return };
        let from = fetch.from;
        let reaches = self.wires.are_joined(node, from)
            && self.nodes.get(&from).is_some_and(|owner| owner.life.is_some());
        if reaches {
            if fetch.files.is_none() {
                let owner = &self.nodes[&from].disk.chunks.folder;
                let Some(files) = files(owner, index) else {
                    self.hand(from, Input::SnapshotRefused { node });
                    return self.hand(node, Input::SnapshotGone { index });
                };
                fetch.files = Some(files);
            }
            self.hand(from, Input::SnapshotPulled { node });
            fetch.parts_left = fetch.parts_left.saturating_sub(1);
            if let (0, Some(files)) = (fetch.parts_left, &fetch.files) {
                return self.unpack(node, index, files);
            }
        }
        if let Some(found) = self.life(node, life) {
            found.fetch = Some(fetch);
        }
        self.fetch_later(node, life, index);
    }

    fn unpack(&mut self, node: NodeId, index: u64, files: &Files) {
        match unpack(&self.nodes[&node].disk.chunks.folder, files) {
            Ok(mut restored) => {
                if self.plan.mutant == Mutant::SessionsLeftBehind {
                    forget_sessions(&mut restored);
                }
                if let Some(life) = self.node(node).life.as_mut() {
                    life.fetched = Some(restored.base);
                }
                self.see(&Seen::Fetched { node, index });
                self.hand(node, Input::SnapshotFetched { index, restored: Box::new(restored) });
            }
            Err(StorageError::DiskFull { .. }) => self.hand(node, Input::SnapshotGone { index }),
            Err(_) => {
                let why = self.node(node).disk.why(Part::Chunks);
                self.end(node, why);
            }
        }
    }
}

/// All sessions are closed, as if the checkpoint had none.
fn forget_sessions(restored: &mut Restored) {
    let sessions: Vec<_> = restored.engine.sessions().map(|session| session.id).collect();
    let commands = sessions.into_iter().map(|session| adjourn_engine::Command::SessionClose { session });
    let entry = adjourn_engine::Entry { stamp: restored.engine.stamp(), commands: commands.collect() };
    let _outcomes = restored.engine.apply(&entry, &mut restored.records);
}
