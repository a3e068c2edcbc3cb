//! A simulated folder in memory: it loses unsynced data, tears writes, flips bits, fails and fills up.
//!
//! A device has a folder of checkpoints, and the folders beside it while it [changes over](super::super::changeover) to a
//! checkpoint of another member. A folder is looked up by its name each time, as on a disk.
//!
//! Everything that changes the device (create, append, sync, rename, remove) is a **step**. A seed and the armed
//! faults determine what it does, so a run can be repeated to the byte. A power cut ([`SimulatedFolder::crash`])
//! leaves:
//!
//! - of the changes of names since the last sync of the folder, a random selection. A rename happens as a whole or
//!   not at all. The same holds for the names of folders;
//! - of each file, its synced data, and of the rest a prefix, in which a sector may be all zeros; of the overwritten
//!   sectors, a random selection.
//!
//! A failed sync of a file makes a random part durable in the same way, and the rest is **lost**: it is still
//! readable, and no later sync makes it durable.
//!
//! If a process dies while the power stays on ([`SimulatedFolder::kill`]), nothing is lost; a later power cut can still
//! lose what it did not sync.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::changeover::{self, CHUNKS, Folders, IDENTITY, IDENTITY_NEW, INCOMING};
use super::{Folder, JournalFolder, Path, PathBuf, StorageError};
use content::Content;
pub use fault::Fault;
pub(crate) use fault::Rng;
pub use files::{FaultyFile, FaultyWriter};

mod content;
mod fault;
mod files;

/// A folder in memory. Clones are the same folder.
#[derive(Clone)]
pub struct SimulatedFolder {
    device: Arc<Mutex<Device>>,
    name: Arc<str>,
    path: PathBuf,
}

/// The folders of a device.
pub(crate) struct SimulatedRoot(SimulatedFolder);

impl SimulatedFolder {
    /// An empty folder. `seed` decides what its power cuts leave.
    pub fn new(seed: u64) -> Self {
        let root = Root::from([(CHUNKS.to_owned(), 0)]);
        Self::of(Device {
            names: root.clone(),
            durable: root,
            aside: Vec::new(),
            entries: vec![Entries::default()],
            rng: Rng(seed),
            steps: 0,
            reads: 0,
            begun: BTreeSet::new(),
            not_begun: 0,
            armed: None,
            armed_read: None,
            failed: false,
            lies: false,
            capacity_bytes: u64::MAX,
        })
    }

    /// Where a checkpoint of another member is assembled, beside this folder; it exists after
    /// [`complete_install`](Self::complete_install).
    #[must_use]
    pub fn incoming(&self) -> Self {
        self.beside(INCOMING)
    }

    /// Completes an interrupted install and empties `incoming`, as a starting node does.
    pub fn complete_install(&self) -> Result<(), StorageError> {
        changeover::settle(&self.root()).map(drop)
    }

    pub(crate) fn install(&self) -> Result<(), StorageError> {
        let root = self.root();
        // A folder stands in for the identity file: only its name matters.
        root.make(IDENTITY_NEW)?;
        changeover::install(&root)
    }

    pub(crate) fn beside(&self, name: &str) -> Self {
        Self { name: name.into(), ..self.clone() }
    }

    pub(crate) fn root(&self) -> SimulatedRoot {
        SimulatedRoot(self.clone())
    }

    /// Arms a fault `steps` steps from now: 0 is the next one. A later fault replaces an earlier one. After a
    /// [`Fault::PowerCut`] or a [`Fault::Failure`] everything fails, reads included.
    pub fn arm(&self, steps: u64, fault: Fault) {
        let mut device = self.device();
        device.armed = Some((device.steps + steps, fault));
    }

    /// The step at which the device was found full, if that was its last fault.
    pub fn full_at(&self) -> Option<u64> {
        let device = self.device();
        let full = device.armed.filter(|(at, fault)| *at < device.steps && matches!(fault, Fault::Full));
        full.map(|(at, _)| at)
    }

    /// Makes one read fail: `reads` reads from now, 0 is the next one.
    pub fn arm_read(&self, reads: u64) {
        let mut device = self.device();
        device.armed_read = Some(device.reads + reads);
    }

    /// Number of reads.
    pub fn reads(&self) -> u64 {
        self.device().reads
    }

    /// Number of reads without a `will_read` before them: their callers waited for the disk.
    pub fn sudden_reads(&self) -> u64 {
        self.device().not_begun
    }

    /// Steps that were done or failed.
    pub fn steps(&self) -> u64 {
        self.device().steps
    }

    /// Limits the total size of the files from now on. A write beyond the limit is refused after as much of it was
    /// written as fits.
    pub fn set_capacity_bytes(&self, capacity_bytes: u64) {
        self.device().capacity_bytes = capacity_bytes;
    }

    /// From now on syncs do nothing and report success: a device that lies.
    pub fn lie_about_syncs(&self) {
        self.device().lies = true;
    }

    /// The content of a file.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        self.content(name).map(|content| locked(&content).bytes.clone())
    }

    /// Puts a durable file there. Replaces a file of this name.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        let content = Arc::new(Mutex::new(Content::durable(bytes)));
        let mut device = self.device();
        let Some(entries) = device.entries(&self.name) else { return };
        entries.names.insert(name.to_owned(), content.clone());
        entries.durable.insert(name.to_owned(), content);
    }

    /// Flips a bit of a file silently. False if it has no such bit.
    pub fn flip_bit(&self, name: &str, bit: u64) -> bool {
        let Some(content) = self.content(name) else { return false };
        let mut content = locked(&content);
        let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        let Some(byte) = content.bytes.get_mut(at) else { return false };
        *byte ^= 1 << (bit % 8);
        true
    }

    /// Truncates a file to `bytes` silently. False if it is not longer.
    pub fn cut(&self, name: &str, bytes: usize) -> bool {
        let Some(content) = self.content(name) else { return false };
        let mut content = locked(&content);
        let longer = bytes < content.bytes.len();
        content.bytes.truncate(bytes);
        content.synced = content.synced.min(bytes);
        longer
    }

    /// Cuts the power. Returns the remaining data; every call on this folder or on its files then fails.
    #[must_use]
    pub fn crash(&self) -> Self {
        let mut device = self.device();
        device.failed = true;
        let mut rng = device.rng;
        let mut root = device.durable.clone();
        for change in &device.aside {
            if rng.below(2) == 1 {
                change.carry_out(&mut root);
            }
        }
        let entries = device.entries.iter().map(|entries| entries.after_crash(&mut rng)).collect();
        device.rng = rng;
        let folder = device.reborn(&self.name);
        {
            let mut left = folder.device();
            left.entries = entries;
            (left.names, left.durable) = (root.clone(), root);
        }
        folder
    }

    /// Ends the process; the power stays. Returns all data, as durable as before.
    #[must_use]
    pub fn kill(&self) -> Self {
        let mut device = self.device();
        device.failed = true;
        let folder = device.reborn(&self.name);
        {
            let mut left = folder.device();
            left.names = std::mem::take(&mut device.names);
            left.durable = std::mem::take(&mut device.durable);
            left.aside = std::mem::take(&mut device.aside);
            left.entries = std::mem::take(&mut device.entries);
        }
        folder
    }

    fn of(device: Device) -> Self {
        Self {
            device: Arc::new(Mutex::new(device)),
            name: CHUNKS.into(),
            path: PathBuf::from("the simulated disk"),
        }
    }

    fn device(&self) -> MutexGuard<'_, Device> {
        locked(&self.device)
    }

    fn content(&self, name: &str) -> Option<SharedContent> {
        self.device().entries(&self.name)?.names.get(name).cloned()
    }

    /// Takes a step that changes the names in this folder.
    fn change(
        &self,
        action: &'static str,
        name: &str,
        change: impl FnOnce(&Names) -> Option<Change<String, SharedContent>>,
    ) -> Result<(), StorageError> {
        let mut device = self.step(action, name)?;
        let entries = device.entries(&self.name).ok_or_else(|| self.not_there(action, name))?;
        let change = change(&entries.names).ok_or_else(|| self.not_there(action, name))?;
        change.carry_out(&mut entries.names);
        entries.aside.push(change);
        Ok(())
    }

    fn step(&self, action: &'static str, name: &str) -> Result<MutexGuard<'_, Device>, StorageError> {
        let mut device = self.device();
        let armed = device.armed.filter(|(at, _)| *at == device.steps);
        device.steps += 1;
        device.failed |= matches!(armed, Some((_, Fault::PowerCut | Fault::Failure)));
        if device.failed {
            return Err(self.failure(action, name));
        }
        match armed {
            Some((_, Fault::Full)) if action == "sync" => {
                Err(StorageError::sync(&self.path.join(name), no_space()))
            }
            Some((_, Fault::Full)) => Err(self.full(action, name)),
            _ => Ok(device),
        }
    }

    fn read(&self, name: &str) -> Result<(), StorageError> {
        let mut device = self.device();
        let fails = device.armed_read == Some(device.reads);
        device.reads += 1;
        if device.failed || fails { Err(self.failure("read", name)) } else { Ok(()) }
    }

    fn failure(&self, action: &'static str, name: &str) -> StorageError {
        StorageError::io(
            action,
            &self.path.join(name),
            io::Error::other("the simulated disk was told to fail"),
        )
    }

    fn full(&self, action: &'static str, name: &str) -> StorageError {
        StorageError::io(action, &self.path.join(name), no_space())
    }

    fn not_there(&self, action: &'static str, name: &str) -> StorageError {
        StorageError::io(action, &self.path.join(name), io::ErrorKind::NotFound.into())
    }
}

impl Folder for SimulatedFolder {
    type File = FaultyFile;
    type Writer = FaultyWriter;

    fn path(&self) -> &Path {
        &self.path
    }

    fn create(&self, name: &str) -> Result<FaultyWriter, StorageError> {
        let content = SharedContent::default();
        self.change("create", name, |_| Some(Change::Create(name.to_owned(), content.clone())))?;
        Ok(FaultyWriter { folder: self.clone(), content, name: name.to_owned() })
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        self.change("rename to", to, |names| {
            names.get(from).map(|content| Change::Rename(from.to_owned(), to.to_owned(), content.clone()))
        })
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        self.change("remove", name, |names| {
            names.get(name).map(|content| Change::Remove(name.to_owned(), content.clone()))
        })
    }

    fn sync(&self) -> Result<(), StorageError> {
        let mut device = self.step("sync", "")?;
        let lies = device.lies;
        let entries = device.entries(&self.name).ok_or_else(|| self.not_there("sync", ""))?;
        if !lies {
            entries.aside.clear();
            entries.durable = entries.names.clone();
        }
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Option<FaultyFile>, StorageError> {
        self.read(name)?;
        Ok(self.content(name).map(|content| FaultyFile {
            folder: self.clone(),
            content,
            name: name.to_owned(),
        }))
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        Ok(self.device().free_bytes())
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.read("")?;
        let mut device = self.device();
        let entries = device.entries(&self.name).ok_or_else(|| self.not_there("read", ""))?;
        Ok(entries.names.keys().cloned().collect())
    }
}

impl Folders for SimulatedRoot {
    fn has(&self, name: &str) -> Result<bool, StorageError> {
        self.0.read(name)?;
        Ok(self.0.device().names.contains_key(name))
    }

    fn make(&self, name: &str) -> Result<(), StorageError> {
        let mut device = self.0.step("create", name)?;
        if !device.names.contains_key(name) {
            let place = device.entries.len();
            device.entries.push(Entries::default());
            device.change(Change::Create(name.to_owned(), place));
        }
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let mut device = self.0.step("rename to", to)?;
        match device.names.get(from) {
            // The identity is really a file, and a rename replaces files.
            Some(&place) if to == IDENTITY || !device.names.contains_key(to) => {
                device.change(Change::Rename(from.to_owned(), to.to_owned(), place));
            }
            _ => return Err(self.0.not_there("rename to", to)),
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        if !self.has(name)? {
            return Ok(());
        }
        let folder = self.0.beside(name);
        for file in folder.list()? {
            folder.remove(&file)?;
        }
        let mut device = self.0.step("remove", name)?;
        if let Some(&place) = device.names.get(name) {
            device.change(Change::Remove(name.to_owned(), place));
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        let mut device = self.0.step("sync", "")?;
        if !device.lies {
            device.aside.clear();
            device.durable = device.names.clone();
        }
        Ok(())
    }
}

impl JournalFolder for SimulatedFolder {
    type Fixed = FaultyFile;

    fn overwrite(&self, name: &str) -> Result<Option<FaultyFile>, StorageError> {
        self.open(name)
    }

    fn settle(&self, name: &str) -> Result<(), StorageError> {
        let device = self.step("sync", name)?;
        let lies = device.lies;
        drop(device);
        if let Some(content) = self.content(name).filter(|_| !lies) {
            locked(&content).settle();
        }
        Ok(())
    }
}

/// The names in a folder.
type Names = BTreeMap<String, SharedContent>;
type SharedContent = Arc<Mutex<Content>>;
/// The names of folders, and the index of each in [`Device::entries`].
type Root = BTreeMap<String, usize>;

/// The files and names of a folder.
#[derive(Default)]
struct Entries {
    /// The names as users of the folder see them.
    names: Names,
    /// The names at the last sync of the folder.
    durable: Names,
    /// The changes since then.
    aside: Vec<Change<String, SharedContent>>,
}

/// A device in use.
struct Device {
    /// The names of the folders, as their users see them.
    names: Root,
    /// These names at their last sync.
    durable: Root,
    /// The changes since then.
    aside: Vec<Change<String, usize>>,
    /// Every present and every removed folder.
    entries: Vec<Entries>,
    rng: Rng,
    steps: u64,
    reads: u64,
    /// The announced reads, by file and offset.
    begun: BTreeSet<(String, u64)>,
    /// Reads that were not announced.
    not_begun: u64,
    armed: Option<(u64, Fault)>,
    armed_read: Option<u64>,
    failed: bool,
    lies: bool,
    capacity_bytes: u64,
}

/// A change of a name.
enum Change<N, T> {
    Create(N, T),
    Rename(N, N, T),
    Remove(N, T),
}

/// The target of a name. A name can get another target of the same kind later.
trait Same: Clone {
    fn is(&self, other: &Self) -> bool;
}

impl Same for SharedContent {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other)
    }
}

impl Same for usize {
    fn is(&self, other: &Self) -> bool {
        self == other
    }
}

impl Device {
    fn entries(&mut self, folder: &str) -> Option<&mut Entries> {
        let place = *self.names.get(folder)?;
        self.entries.get_mut(place)
    }

    fn change(&mut self, change: Change<String, usize>) {
        change.carry_out(&mut self.names);
        self.aside.push(change);
    }

    fn free_bytes(&self) -> u64 {
        let files = self.entries.iter().flat_map(|entries| entries.names.values());
        let taken: u64 = files.map(|content| locked(content).bytes.len() as u64).sum();
        self.capacity_bytes.saturating_sub(taken)
    }

    /// An empty device with the same settings and with nothing armed, as after a start.
    fn reborn(&self, name: &str) -> SimulatedFolder {
        let folder = SimulatedFolder::new(0).beside(name);
        {
            let mut device = folder.device();
            device.rng = self.rng;
            device.lies = self.lies;
            device.capacity_bytes = self.capacity_bytes;
        }
        folder
    }
}

impl Entries {
    /// What a power cut leaves of a folder.
    fn after_crash(&self, rng: &mut Rng) -> Self {
        let mut names = self.durable.clone();
        for change in &self.aside {
            if rng.below(2) == 1 {
                change.carry_out(&mut names);
            }
        }
        let left = names.into_iter().map(|(name, content)| {
            let bytes = locked(&content).after_crash(rng);
            (name, Arc::new(Mutex::new(Content::durable(bytes))))
        });
        let names: Names = left.collect();
        Self { durable: names.clone(), names, aside: Vec::new() }
    }
}

impl<N: Ord + Clone, T: Same> Change<N, T> {
    fn carry_out(&self, names: &mut BTreeMap<N, T>) {
        match self {
            Self::Create(name, what) => _ = names.insert(name.clone(), what.clone()),
            Self::Rename(from, to, what) => {
                Self::drop_name(names, from, what);
                names.insert(to.clone(), what.clone());
            }
            Self::Remove(name, what) => Self::drop_name(names, name, what),
        }
    }

    /// Removes the name, unless it has another target by now.
    fn drop_name(names: &mut BTreeMap<N, T>, name: &N, what: &T) {
        if names.get(name).is_some_and(|found| found.is(what)) {
            names.remove(name);
        }
    }
}

fn no_space() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
