//! Watches the syncs of a data directory, and keeps at each what is durable and what is only written.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use adjourn::storage::sync;

use super::disk::{FileId, Image, Name, Node};

/// A moment at which the power may be cut: all of `durable` is there then, and any part of what differs in `written`.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) durable: Image,
    pub(super) written: Image,
    /// How many steps of the workload were acknowledged.
    pub(super) acknowledged: usize,
    /// What was about to become durable; empty after a step.
    pub(super) before_sync_of: PathBuf,
}

/// Records while it lives. One at a time in a thread.
pub(super) struct Recorder {
    state: Rc<RefCell<State>>,
}

struct State {
    root: PathBuf,
    durable: Image,
    written: Image,
    acknowledged: usize,
    moments: Vec<Moment>,
}

impl Recorder {
    /// Begins with what lies in `root`, all of it durable.
    pub(super) fn start(root: &Path) -> Self {
        let durable = Image::read(root, &Image::default());
        let written = durable.clone();
        let root = root.to_owned();
        let state = State { root, durable, written, acknowledged: 0, moments: Vec::new() };
        let state = Rc::new(RefCell::new(state));
        let watched = Rc::clone(&state);
        sync::watch(Some(Box::new(move |path| watched.borrow_mut().synced(path))));
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
        self.written = Image::read(&self.root, &self.written);
        for (name, node) in &self.written.names {
            // sled syncs its summary itself before it gives it its name.
            if let Node::File(id) = node
                && is_summary(name)
                && let Some(content) = self.written.contents.get(id)
            {
                self.durable.contents.entry(*id).or_insert_with(|| Arc::clone(content));
            }
        }
    }

    fn keep(&mut self, before_sync_of: PathBuf) {
        self.moments.push(Moment {
            durable: self.durable.clone(),
            written: self.written.clone(),
            acknowledged: self.acknowledged,
            before_sync_of,
        });
    }

    fn synced(&mut self, path: &Path) {
        let Ok(name) = path.strip_prefix(&self.root) else { return };
        self.look();
        self.keep(name.to_owned());
        match self.written.find(name) {
            Some(Node::File(id)) => {
                let content = self.written.contents.get(&id).expect("it was read");
                self.durable.contents.insert(id, Arc::clone(content));
            }
            Some(Node::Folder(folder)) => self.names_are_durable(folder),
            None => panic!("a file is synced that has no name"),
        }
    }

    fn names_are_durable(&mut self, folder: FileId) {
        self.durable.names.retain(|(inside, _), _| *inside != folder);
        let written = self.written.names.iter().filter(|((inside, _), _)| *inside == folder);
        self.durable.names.extend(written.map(|(name, node)| (name.clone(), *node)));
    }
}

/// Whether sled will read it as a summary of its log.
pub(super) fn is_summary((_, name): &Name) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("snap.") && !name.ends_with(".generating")
}
