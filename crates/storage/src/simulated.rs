//! A simulated disk in memory: it loses unsynced data, tears writes, flips bits, fails and fills up.
//!
//! It follows the same [rules](super::durable) as the real disk, and stores the same bytes; only the device is
//! simulated. It is a [`SimulatedFolder`] with the log in it, where a file takes the place of a sled database. A seed and
//! the armed faults determine what the device does, so a run can be repeated to the byte. Without faults it is the memory in
//! which a server for tests keeps its data.
//!
//! If a process dies while the power stays on ([`SimulatedStorage::kill`]), nothing readable is lost, and nothing more
//! becomes durable: a power cut after the next start can still lose it.
//!
//! Its checkpoints are in another [`SimulatedFolder`]: a separate device, with steps and faults of its own. A test cuts
//! the power of both.

use std::path::{Path, PathBuf};

use super::archive::FileArchive;
use super::changeover::INCOMING;
use super::durable::{self, Durable, OnVolume, Volume};
use super::folder::{Fault, SimulatedFolder};
use super::journal::JournalSize;
use super::log::{Log, LogPlace};
use super::{LogBase, Recovered, Storage as _, StorageError, Vote};

/// The base of a log without a checkpoint, in a made-up cluster.
const ROOT: LogBase = LogBase { index: 0, term: 0, crc: 0xAD10 };
/// This copy of the data.
const STORAGE_ID: [u8; 16] = [0xAD; 16];
/// A small journal, so that its files are reused often.
const SIZE: JournalSize = JournalSize { file_bytes: 32 << 10, files_max: 3 };

/// A device that is not in use: what a power cut, or the end of a process, has left.
#[derive(Clone)]
pub struct SimulatedDisk {
    folder: SimulatedFolder,
    founding: Founding,
    free_bytes: u64,
}

/// How the directory was founded.
#[derive(Clone, Copy)]
struct Founding {
    root: LogBase,
    storage_id: [u8; 16],
    size: JournalSize,
}

/// A device in use.
pub struct SimulatedStorage {
    durable: Durable<Device>,
}

impl SimulatedDisk {
    /// A device with a directory that was just founded. `seed` decides what its power cuts leave.
    pub fn new(seed: u64) -> Self {
        Self::founded(seed, Founding { root: ROOT, storage_id: STORAGE_ID, size: SIZE })
    }

    /// A device for a server that keeps its data in memory: of this cluster, and with a journal as large as on a disk.
    pub fn of_server(cluster_id: [u8; 16], storage_id: [u8; 16]) -> Self {
        let (root, size) = (LogBase::root(cluster_id), JournalSize::default());
        Self::founded(0, Founding { root, storage_id, size })
    }

    fn founded(seed: u64, founding: Founding) -> Self {
        let disk = Self { folder: SimulatedFolder::new(seed), founding, free_bytes: 1 << 40 };
        let founded = Log::create(disk.place(), founding.root, Vote::default());
        founded.unwrap_or_else(|error| unreachable!("nothing is armed: {error}"));
        disk
    }

    /// Opens it like a starting node, and refuses what a node refuses. There is no checkpoint.
    pub fn open(self) -> Result<SimulatedStorage, StorageError> {
        self.open_after(None)
    }

    /// Opens it beside a checkpoint that stands for `base`. No checkpoint of another member can be installed.
    pub fn open_after(self, base: Option<LogBase>) -> Result<SimulatedStorage, StorageError> {
        self.open_with(base, None)
    }

    /// Opens it beside the folder of checkpoints, whose newest stands for `base`; the folder was
    /// [opened](SimulatedFolder::complete_install) by the same process.
    pub fn open_beside(
        self,
        chunks: &SimulatedFolder,
        base: Option<LogBase>,
    ) -> Result<SimulatedStorage, StorageError> {
        self.open_with(base, Some(chunks.clone()))
    }

    fn open_with(
        self,
        base: Option<LogBase>,
        chunks: Option<SimulatedFolder>,
    ) -> Result<SimulatedStorage, StorageError> {
        let (log, found) = Log::open(self.place(), base.unwrap_or(self.founding.root))?;
        let device = Device { disk: self, chunks };
        Ok(SimulatedStorage { durable: Durable::new(device, log, found, &path())? })
    }

    fn place(&self) -> LogPlace<SimulatedFolder, FileArchive<SimulatedFolder>> {
        LogPlace {
            path: path(),
            folder: self.folder.clone(),
            archive: FileArchive(self.folder.clone()),
            storage_id: self.founding.storage_id,
            size: self.founding.size,
        }
    }

    /// From now on syncs do nothing and report success: a device that lies.
    pub fn lie_about_syncs(&mut self) {
        self.folder.lie_about_syncs();
    }

    /// The files of the log.
    pub fn folder(&self) -> &SimulatedFolder {
        &self.folder
    }
}

impl SimulatedStorage {
    /// The data found at the start: where the log begins and ends, term and vote.
    pub fn recovered(&self) -> Recovered {
        self.durable.recovered()
    }

    /// Arms a fault `steps` steps from now: 0 is the next write or sync. A later fault replaces an earlier one.
    pub fn arm(&mut self, steps: u64, fault: Fault) {
        self.folder().arm(steps, fault);
    }

    /// Writes and syncs that were done.
    pub fn steps(&self) -> u64 {
        self.folder().steps()
    }

    /// Sets the result of [`Storage::free_bytes`](super::Storage::free_bytes).
    pub fn set_free_bytes(&mut self, free_bytes: u64) {
        self.durable.volume_mut().disk.free_bytes = free_bytes;
    }

    /// Runs all waiting chores, as their thread does, and takes the results.
    pub fn do_chores(&mut self) -> Result<(), StorageError> {
        while let Some(chore) = self.chore() {
            let done = chore.run();
            self.chore_done(done)?;
        }
        Ok(())
    }

    /// Cuts the power.
    #[must_use]
    pub fn crash(self) -> SimulatedDisk {
        let Device { disk, .. } = self.durable.into_volume();
        SimulatedDisk { folder: disk.folder.crash(), ..disk }
    }

    /// Ends the process; the power stays on.
    #[must_use]
    pub fn kill(self) -> SimulatedDisk {
        let Device { disk, .. } = self.durable.into_volume();
        SimulatedDisk { folder: disk.folder.kill(), ..disk }
    }

    /// The files of the log.
    pub fn folder(&self) -> &SimulatedFolder {
        &self.durable.volume().disk.folder
    }
}

impl OnVolume for SimulatedStorage {
    type Volume = Device;

    fn durable(&mut self) -> &mut Durable<Device> {
        &mut self.durable
    }

    fn volume(&self) -> &Device {
        self.durable.volume()
    }
}

/// A device in use.
pub(super) struct Device {
    disk: SimulatedDisk,
    /// The folder of checkpoints, if it is known.
    chunks: Option<SimulatedFolder>,
}

impl Volume for Device {
    type Folder = SimulatedFolder;
    type Archive = FileArchive<SimulatedFolder>;

    fn incoming(&self) -> Result<Option<LogBase>, StorageError> {
        let Some(chunks) = &self.chunks else { return Ok(None) };
        durable::base_in(&chunks.beside(INCOMING))
    }

    fn install(&self) -> Result<(), StorageError> {
        self.chunks.as_ref().map_or(Ok(()), SimulatedFolder::install)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        Ok(self.disk.free_bytes)
    }
}

fn path() -> PathBuf {
    Path::new("the simulated disk").to_owned()
}

#[cfg(test)]
mod tests;
