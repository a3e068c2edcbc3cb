//! The data directory as a disk sees it: names, and files of blocks. Blocks are shared between images.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

/// What a disk writes as a whole.
pub(super) const BLOCK_BYTES: usize = 4096;

pub(super) type Block = Arc<[u8; BLOCK_BYTES]>;

/// One file or folder, whatever it is called. The system numbers them; a file system on a disk gives the number of a removed
/// file to another, so the time of its creation belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileId(u64, u128);

/// The directory that holds everything.
pub(super) const ROOT: FileId = FileId(0, 0);

/// A name and the folder that it is in, which may be called differently later.
pub(super) type Name = (FileId, OsString);

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Folder(FileId),
    File(FileId),
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) bytes: u64,
    /// As many as `bytes` needs; zeros after the end.
    pub(super) blocks: Vec<Block>,
}

/// A directory with everything in it.
#[derive(Clone, Debug, Default)]
pub(super) struct StateMetadata {
    pub(super) names: BTreeMap<Name, Node>,
    pub(super) contents: BTreeMap<FileId, Arc<Content>>,
}

impl StateMetadata {
    /// Reads a directory; blocks that are as in `before` are shared with it.
    pub(super) fn read(root: &Path, before: &StateMetadata) -> Self {
        let mut image = Self::default();
        image.read_folder(root, ROOT, before);
        image
    }

    /// What its files and folders are called in `other`, where the same names stand for copies of them.
    pub(super) fn numbers_in(&self, other: &Self) -> BTreeMap<FileId, FileId> {
        let mut numbers = BTreeMap::from([(ROOT, ROOT)]);
        self.number_folder(ROOT, other, &mut numbers);
        numbers
    }

    /// The same with other numbers; files that have none keep theirs.
    pub(super) fn renumbered(&self, numbers: &BTreeMap<FileId, FileId>) -> Self {
        let number = |id: FileId| numbers.get(&id).copied().unwrap_or(id);
        let node = |node| match node {
            Node::Folder(id) => Node::Folder(number(id)),
            Node::File(id) => Node::File(number(id)),
        };
        let names =
            self.names.iter().map(|((folder, name), of)| ((number(*folder), name.clone()), node(*of)));
        let contents = self.contents.iter().map(|(id, content)| (number(*id), Arc::clone(content)));
        Self { names: names.collect(), contents: contents.collect() }
    }

    fn number_folder(&self, folder: FileId, other: &Self, numbers: &mut BTreeMap<FileId, FileId>) {
        for (name, node) in self.in_folder(folder) {
            let copy = other.names.get(&(numbers[&folder], name.clone()));
            match (node, copy.expect("it was copied")) {
                (Node::File(id), Node::File(copy)) => _ = numbers.insert(*id, *copy),
                (Node::Folder(id), Node::Folder(copy)) => {
                    numbers.insert(*id, *copy);
                    self.number_folder(*id, other, numbers);
                }
                _ => panic!("a copy of {} is something else", name.display()),
            }
        }
    }

    fn in_folder(&self, folder: FileId) -> impl Iterator<Item = (&OsString, &Node)> {
        let names = self.names.range((folder, OsString::new())..);
        names.take_while(move |(name, _)| name.0 == folder).map(|((_, name), node)| (name, node))
    }

    /// Writes it all into the empty directory `root`. What lies in a folder that has no name is not there.
    pub(super) fn write(&self, root: &Path) {
        self.write_folder(root, ROOT);
    }

    /// What a path stands for, which is relative to the directory.
    pub(super) fn find(&self, path: &Path) -> Option<Node> {
        let down = |node, name: &OsStr| match node {
            Node::Folder(folder) => self.names.get(&(folder, name.to_owned())).copied(),
            Node::File(_) => None,
        };
        path.iter().try_fold(Node::Folder(ROOT), down)
    }

    fn write_folder(&self, path: &Path, folder: FileId) {
        for (name, node) in self.in_folder(folder) {
            let path = path.join(name);
            match node {
                Node::Folder(inner) => {
                    fs::create_dir_all(&path).expect("a folder is made");
                    self.write_folder(&path, *inner);
                }
                Node::File(id) => {
                    let content = self.contents.get(id).cloned().unwrap_or_default();
                    content.write(&path);
                }
            }
        }
    }

    fn read_folder(&mut self, path: &Path, folder: FileId, before: &StateMetadata) {
        for entry in fs::read_dir(path).expect("the folder is read") {
            let name = entry.expect("an entry").file_name();
            let path = path.join(&name);
            // sled removes files in the background.
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let born = metadata.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
            let id = FileId(metadata.ino(), born.map_or(0, |since| since.as_nanos()));
            if metadata.is_dir() {
                self.names.insert((folder, name), Node::Folder(id));
                self.read_folder(&path, id, before);
                continue;
            }
            let Ok(file) = File::open(&path) else { continue };
            let old = before.contents.get(&id).cloned().unwrap_or_default();
            self.contents.insert(id, Content::read(&file, &old));
            self.names.insert((folder, name), Node::File(id));
        }
    }
}

impl Content {
    fn read(file: &File, before: &Arc<Self>) -> Arc<Self> {
        const RUN_BYTES: usize = 256 * BLOCK_BYTES;
        let bytes = file.metadata().expect("its length").len();
        let mut content = Self { bytes, blocks: Vec::with_capacity(blocks_in(bytes)) };
        let mut changed = bytes != before.bytes;
        let mut run = vec![0; RUN_BYTES.min(blocks_in(bytes) * BLOCK_BYTES)];
        let mut at = 0;
        while at < bytes {
            let wanted = usize::try_from(bytes - at).unwrap_or(usize::MAX).min(RUN_BYTES);
            let end = wanted.next_multiple_of(BLOCK_BYTES);
            run[wanted..end].fill(0);
            file.read_exact_at(&mut run[..wanted], at).expect("the file is read");
            for block in run[..end].as_chunks::<BLOCK_BYTES>().0 {
                let old = before.blocks.get(content.blocks.len()).filter(|old| ***old == *block);
                changed |= old.is_none();
                content.blocks.push(old.map_or_else(|| Arc::new(*block), Arc::clone));
            }
            at += wanted as u64;
        }
        if changed { Arc::new(content) } else { Arc::clone(before) }
    }

    fn write(&self, path: &Path) {
        let file = File::create_new(path).expect("a file is made");
        file.set_len(self.bytes).expect("its length is set");
        let zeros = [0; BLOCK_BYTES];
        let mut run = Vec::new();
        let mut run_at = 0;
        let flush = |run: &mut Vec<u8>, at: usize| {
            let at = (at * BLOCK_BYTES) as u64;
            run.truncate(usize::try_from(self.bytes.saturating_sub(at)).unwrap_or(usize::MAX));
            file.write_all_at(run, at).expect("the file is written");
            run.clear();
        };
        for (at, block) in self.blocks.iter().enumerate() {
            if **block == zeros {
                flush(&mut run, run_at);
                continue;
            }
            if run.is_empty() {
                run_at = at;
            }
            run.extend_from_slice(&block[..]);
        }
        flush(&mut run, run_at);
    }
}

/// Number of blocks that hold this number of bytes.
pub(super) fn blocks_in(bytes: u64) -> usize {
    usize::try_from(bytes).expect("it fits into memory").div_ceil(BLOCK_BYTES)
}
