//! The folder's twin in memory: it forgets what was not synced, tears, flips bits, fails and fills up.
//!
//! Everything that changes the device (create, append, sync, rename, remove) is a **step**. What it does is decided
//! by a seed and by the faults that are armed, so a run can be repeated to the byte. A power cut
//! ([`FaultyFolder::crash`]) leaves:
//!
//! - of the names that changed since the last sync of the folder, each change or not, one by one as the dice say. A
//!   rename happens as a whole or not at all;
//! - of each file, what was synced, and of the rest a prefix, in which a sector may be all zeros.
//!
//! A process that dies and leaves the power on ([`FaultyFolder::kill`]) loses nothing; what it did not sync can be lost
//! to a power cut after it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::faulty::{Dice, Fault};
use super::{Folder, FolderFile, FolderWriter, Path, PathBuf, StorageError};

const SECTOR_BYTES: usize = 512;

/// A folder in memory. Clones are the same folder.
#[derive(Clone)]
pub struct FaultyFolder {
    device: Arc<Mutex<Device>>,
    path: PathBuf,
}

/// A file in memory that is open for reading.
pub struct FaultyFile {
    folder: FaultyFolder,
    content: Shared,
    name: String,
}

/// A file in memory that is being written.
pub struct FaultyWriter {
    folder: FaultyFolder,
    content: Shared,
    name: String,
}

impl FaultyFolder {
    /// An empty folder. `seed` decides what its power cuts leave.
    pub fn new(seed: u64) -> Self {
        Self::of(Device {
            names: Names::new(),
            durable: Names::new(),
            aside: Vec::new(),
            dice: Dice(seed),
            steps: 0,
            reads: 0,
            armed: None,
            armed_read: None,
            failed: false,
            lies: false,
            capacity_bytes: u64::MAX,
        })
    }

    /// Arms a fault `steps` steps from now: 0 is the next one. A later fault takes the place of an earlier one. After a
    /// [`Fault::PowerCut`] or a [`Fault::Failure`] everything fails, reads included.
    pub fn arm(&self, steps: u64, fault: Fault) {
        let mut device = self.device();
        device.armed = Some((device.steps + steps, fault));
    }

    /// The read that is `reads` from now fails, and none after it: 0 is the next one.
    pub fn arm_read(&self, reads: u64) {
        let mut device = self.device();
        device.armed_read = Some(device.reads + reads);
    }

    /// Steps that were done or failed.
    pub fn steps(&self) -> u64 {
        self.device().steps
    }

    /// From now on the files may have so many bytes together. What does not fit is refused, after as much of it was
    /// written as fits.
    pub fn set_capacity_bytes(&self, capacity_bytes: u64) {
        self.device().capacity_bytes = capacity_bytes;
    }

    /// From now on a sync does nothing and says that it did: a device that lies.
    pub fn lie_about_syncs(&self) {
        self.device().lies = true;
    }

    /// What is in a file.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let device = self.device();
        device.names.get(name).map(|content| locked(content).bytes.clone())
    }

    /// Puts a file there as if it had always been there, and in the place of one that has the name.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        let content = Arc::new(Mutex::new(Content { synced: bytes.len(), bytes }));
        let mut device = self.device();
        device.names.insert(name.to_owned(), content.clone());
        device.durable.insert(name.to_owned(), content);
    }

    /// Flips a bit of a file, without a word. False if it has no such bit.
    pub fn flip_bit(&self, name: &str, bit: u64) -> bool {
        let device = self.device();
        let Some(content) = device.names.get(name) else { return false };
        let mut content = locked(content);
        let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        let Some(byte) = content.bytes.get_mut(at) else { return false };
        *byte ^= 1 << (bit % 8);
        true
    }

    /// Cuts a file down to `bytes`, without a word. False if it is not longer.
    pub fn cut(&self, name: &str, bytes: usize) -> bool {
        let device = self.device();
        let Some(content) = device.names.get(name) else { return false };
        let mut content = locked(content);
        let longer = bytes < content.bytes.len();
        content.bytes.truncate(bytes);
        content.synced = content.synced.min(bytes);
        longer
    }

    /// The power goes now. Returns what is left; whoever has this folder or a file of it finds that everything fails.
    #[must_use]
    pub fn crash(&self) -> Self {
        let mut device = self.device();
        device.failed = true;
        let mut dice = device.dice;
        let mut names = device.durable.clone();
        for change in &device.aside {
            if dice.below(2) == 1 {
                change.carry_out(&mut names);
            }
        }
        let left = names.iter().map(|(name, content)| (name.clone(), locked(content).after_crash(&mut dice)));
        let left = left.collect();
        device.dice = dice;
        device.reborn(left)
    }

    /// The process goes now; the power stays. Returns what is left: everything, as durable as it was.
    #[must_use]
    pub fn kill(&self) -> Self {
        let mut device = self.device();
        device.failed = true;
        let folder = device.reborn(Vec::new());
        {
            let mut left = folder.device();
            left.names = std::mem::take(&mut device.names);
            left.durable = std::mem::take(&mut device.durable);
            left.aside = std::mem::take(&mut device.aside);
        }
        folder
    }

    fn of(device: Device) -> Self {
        Self { device: Arc::new(Mutex::new(device)), path: PathBuf::from("the twin") }
    }

    fn device(&self) -> MutexGuard<'_, Device> {
        locked(&self.device)
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
        StorageError::io(action, &self.path.join(name), io::Error::other("the twin was told to fail"))
    }

    fn full(&self, action: &'static str, name: &str) -> StorageError {
        StorageError::io(action, &self.path.join(name), no_space())
    }

    fn not_there(&self, action: &'static str, name: &str) -> StorageError {
        StorageError::io(action, &self.path.join(name), io::ErrorKind::NotFound.into())
    }
}

impl Folder for FaultyFolder {
    type File = FaultyFile;
    type Writer = FaultyWriter;

    fn path(&self) -> &Path {
        &self.path
    }

    fn create(&self, name: &str) -> Result<FaultyWriter, StorageError> {
        let mut device = self.step("create", name)?;
        let content = Shared::default();
        device.change(Change::Create(name.to_owned(), content.clone()));
        Ok(FaultyWriter { folder: self.clone(), content, name: name.to_owned() })
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let mut device = self.step("rename to", to)?;
        let Some(content) = device.names.get(from).cloned() else {
            return Err(self.not_there("rename to", to));
        };
        device.change(Change::Rename(from.to_owned(), to.to_owned(), content));
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let mut device = self.step("remove", name)?;
        let Some(content) = device.names.get(name).cloned() else {
            return Err(self.not_there("remove", name));
        };
        device.change(Change::Remove(name.to_owned(), content));
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        let mut device = self.step("sync", "")?;
        if !device.lies {
            device.aside.clear();
            device.durable = device.names.clone();
        }
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Option<FaultyFile>, StorageError> {
        self.read(name)?;
        let content = self.device().names.get(name).cloned();
        Ok(content.map(|content| FaultyFile { folder: self.clone(), content, name: name.to_owned() }))
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        Ok(self.device().free_bytes())
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.read("")?;
        Ok(self.device().names.keys().cloned().collect())
    }
}

impl std::fmt::Debug for FaultyFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("FaultyFile").field(&self.name).finish()
    }
}

impl FolderFile for FaultyFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        self.folder.read(&self.name)?;
        let content = locked(&self.content);
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = content.bytes.get(offset..).unwrap_or_default();
        let read = there.iter().zip(buffer.iter_mut());
        let bytes = read.len();
        read.for_each(|(from, to)| *to = *from);
        Ok(bytes)
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        self.folder.read(&self.name)?;
        Ok(locked(&self.content).bytes.len() as u64)
    }
}

impl FolderWriter for FaultyWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let device = self.folder.step("write", &self.name)?;
        let free_bytes = usize::try_from(device.free_bytes()).unwrap_or(usize::MAX);
        let fits = bytes.get(..free_bytes).unwrap_or(bytes);
        locked(&self.content).bytes.extend_from_slice(fits);
        if fits.len() < bytes.len() { Err(self.folder.full("write", &self.name)) } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        let device = self.folder.step("sync", &self.name)?;
        if !device.lies {
            let mut content = locked(&self.content);
            content.synced = content.bytes.len();
        }
        Ok(())
    }
}

type Names = BTreeMap<String, Shared>;
type Shared = Arc<Mutex<Content>>;

/// What is in a file.
#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    /// So many of them are durable.
    synced: usize,
}

/// A device in use.
struct Device {
    /// As those see them who use it.
    names: Names,
    /// As they were at the last sync of the folder.
    durable: Names,
    /// What changed since.
    aside: Vec<Change>,
    dice: Dice,
    steps: u64,
    reads: u64,
    armed: Option<(u64, Fault)>,
    armed_read: Option<u64>,
    failed: bool,
    lies: bool,
    capacity_bytes: u64,
}

/// What happens to names.
enum Change {
    Create(String, Shared),
    Rename(String, String, Shared),
    Remove(String, Shared),
}

impl Device {
    fn change(&mut self, change: Change) {
        change.carry_out(&mut self.names);
        self.aside.push(change);
    }

    fn free_bytes(&self) -> u64 {
        let taken: u64 = self.names.values().map(|content| locked(content).bytes.len() as u64).sum();
        self.capacity_bytes.saturating_sub(taken)
    }

    /// The same device with these files and nothing armed, as it is found after a start.
    fn reborn(&self, files: Vec<(String, Vec<u8>)>) -> FaultyFolder {
        let folder = FaultyFolder::new(0);
        {
            let mut device = folder.device();
            device.dice = self.dice;
            device.lies = self.lies;
            device.capacity_bytes = self.capacity_bytes;
        }
        for (name, bytes) in files {
            folder.put(&name, bytes);
        }
        folder
    }
}

impl Change {
    fn carry_out(&self, names: &mut Names) {
        match self {
            Self::Create(name, content) => _ = names.insert(name.clone(), content.clone()),
            Self::Rename(from, to, content) => {
                Self::drop_name(names, from, content);
                names.insert(to.clone(), content.clone());
            }
            Self::Remove(name, content) => Self::drop_name(names, name, content),
        }
    }

    /// Takes the name from this file; another one that has it keeps it.
    fn drop_name(names: &mut Names, name: &str, content: &Shared) {
        if names.get(name).is_some_and(|found| Arc::ptr_eq(found, content)) {
            names.remove(name);
        }
    }
}

impl Content {
    fn after_crash(&self, dice: &mut Dice) -> Vec<u8> {
        let kept = self.synced + dice.below(self.bytes.len() - self.synced + 1);
        let mut left = self.bytes.get(..kept).unwrap_or_default().to_vec();
        let unsynced = left.get_mut(self.synced..).unwrap_or_default();
        // The system wrote the length, and the data behind, before this sector.
        if dice.below(3) == 0 && !unsynced.is_empty() {
            let at = dice.below(unsynced.len());
            unsynced.iter_mut().skip(at).take(SECTOR_BYTES).for_each(|byte| *byte = 0);
        }
        left
    }
}

fn no_space() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
