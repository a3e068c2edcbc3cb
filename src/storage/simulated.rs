//! A simulated disk in memory: it loses unsynced data, tears writes, flips bits, fails and fills up.
//!
//! It follows the same [rules](super::durable) as the real disk, and stores the same bytes, in the same encodings;
//! only the device is simulated. A seed and the armed faults determine what the device does, so a run can be
//! repeated to the byte.
//!
//! # The device
//!
//! Every write and every sync is a **step**. Written data is readable at once, and durable after a sync. A power cut
//! ([`SimulatedStorage::crash`]) keeps a random part of the data written since the last sync:
//!
//! - of the log, a prefix of the values written and removed since its last sync, in their order, which is what sled
//!   leaves of a round; likewise of the log that a [compaction] writes, and of their names;
//! - of a small file's slot, all of the write, none of it, or only its first bytes.
//!
//! A failed sync makes a random part durable in the same way, and the rest is **lost**: it is still readable, and no
//! later sync makes it durable. A start drops it, like a node that [settles](super::sync::settle) its files, and
//! syncs the rest.
//!
//! If a process dies while the power stays on ([`SimulatedStorage::kill`]), nothing readable is lost, and nothing more
//! becomes durable: a power cut after the next start can still lose it.
//!
//! Its checkpoints are in a [`SimulatedFolder`]: a separate device, with steps and faults of its own. A test that cuts
//! the power cuts that of both.

#![expect(clippy::indexing_slicing, reason = "there are two files of two slots, and a slot has its length")]

use std::cell::RefCell;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use bytes::Bytes;

use super::compaction::{self, CompactionBackend as _, LOG};
use super::directory::{VOTE_MAGIC, WATERMARK_MAGIC};
use super::durable::{self, Durable, LogBackend, SmallFile, Visit};
use super::extent::{self, Extent, Head, Heads};
use super::folder::SimulatedFolder;
use super::install;
use super::log::{ROUND_BYTES_MAX, ROUND_REMOVALS_MAX, removals_along};
use super::slot_file::{self, Values};
use super::value::{self, Assembler, Key, Value};
use super::{Damage, LogBase, LogEntry, PersistBatch, Recovered, Shrunk, Storage, StorageError};
use crate::types::GroupId;
use cached::{Cached, Contents, Write};
use logs::{Change, Logs, Names};

mod cached;
mod logs;

const GROUP: GroupId = GroupId(0);
/// What a log begins after without a checkpoint; the cluster is made up, too.
const ROOT: LogBase = LogBase { index: 0, term: 0, crc: 0xAD10 };

/// The effect of an armed fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power goes before the step is done. Nothing after it happens either.
    PowerCut,
    /// The system reports an error. A failed write has no effect; the effect of a failed sync is unknown.
    Failure,
    /// There is no room left.
    Full,
}

/// A device at rest: what a power cut, or the end of a process, left of it.
#[derive(Clone, Debug)]
pub struct SimulatedDisk {
    durable: Contents,
    cached: Cached,
    rng: Rng,
    lies: bool,
    free_bytes: u64,
}

/// A device in use.
pub struct SimulatedStorage {
    durable: Durable<Device>,
}

impl SimulatedDisk {
    /// A device with a directory that was just founded. `seed` decides what its power cuts leave.
    pub fn new(seed: u64) -> Self {
        let (durable, cached) = (Contents::founded(), Cached::default());
        Self { durable, cached, rng: Rng(seed), lies: false, free_bytes: 1 << 40 }
    }

    /// Opens it, as a node that starts does; refuses what a node refuses. There is no checkpoint.
    pub fn open(self) -> Result<SimulatedStorage, StorageError> {
        self.open_after(None)
    }

    /// Opens it beside a checkpoint that stands for `base`. None of another member can be installed.
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
        let device = Device::open(self, base.unwrap_or(ROOT), chunks)?;
        let mut durable = Durable::new(device, path())?;
        while !durable.media_mut().remove_rest()? {}
        Ok(SimulatedStorage { durable })
    }

    /// From now on a sync does nothing and says that it did: a device that lies.
    pub fn lie_about_syncs(&mut self) {
        self.lies = true;
    }

    /// Flips a bit in the `nth` value of the log, at a random place. False if there is no such value.
    pub fn flip_bit(&mut self, nth: usize) -> bool {
        let Some(value) = self.durable.logs.log_mut().values_mut().nth(nth) else { return false };
        let mut bytes = value.to_vec();
        let at = self.rng.below(bytes.len());
        bytes[at] ^= 1 << self.rng.below(8);
        *value = bytes.into();
        true
    }

    /// Loses the entries from `index` on, without a word.
    pub fn lose_from(&mut self, index: u64) {
        self.durable.logs.log_mut().split_off(&Key::first(index));
    }

    /// Loses one entry in the middle, without a word.
    pub fn lose_entry(&mut self, index: u64) {
        self.durable.logs.log_mut().retain(|key, _| key.index != index);
    }

    /// As [`settle`](super::sync::settle) does it for files. Nothing is armed yet that could strike it.
    fn settle(&mut self) {
        self.cached.drop_lost();
        if !self.lies {
            self.cached.sync(&mut self.durable);
        }
    }

    /// Spoils both slots of the file that holds the vote.
    pub fn spoil_vote(&mut self) {
        for slot in &mut self.durable.files[place(SmallFile::Vote)] {
            slot[0] ^= 0xFF;
        }
    }
}

impl SimulatedStorage {
    /// The data found at the start: where the log begins and ends, term and vote.
    pub fn recovered(&self) -> Recovered {
        self.durable.recovered()
    }

    /// Arms a fault `steps` steps from now: 0 is the next write or sync. A later one takes the place of an earlier.
    pub fn arm(&mut self, steps: u64, fault: Fault) {
        let device = self.durable.media_mut();
        device.armed = Some((device.steps + steps, fault));
    }

    /// Writes and syncs that were done.
    pub fn steps(&self) -> u64 {
        self.durable.backend().steps
    }

    /// From now on the log stays where it is while no more bytes than these were ever put there.
    pub fn set_move_bytes_min(&mut self, bytes: u64) {
        self.durable.set_move_bytes_min(bytes);
    }

    /// How much [`Storage::free_bytes`] says is free.
    pub fn set_free_bytes(&mut self, free_bytes: u64) {
        self.durable.media_mut().disk.free_bytes = free_bytes;
    }

    /// The power goes now.
    #[must_use]
    pub fn crash(self) -> SimulatedDisk {
        let Device { mut disk, .. } = self.durable.into_media();
        disk.cached.crash(&mut disk.durable, &mut disk.rng);
        disk
    }

    /// The process goes now; the power stays.
    #[must_use]
    pub fn kill(self) -> SimulatedDisk {
        self.durable.into_media().disk
    }
}

impl Storage for SimulatedStorage {
    fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
        self.durable.persist(batch)
    }

    fn write_watermark(&mut self) -> Result<(), StorageError> {
        self.durable.write_watermark()
    }

    fn base_at(&mut self, index: u64) -> Result<LogBase, StorageError> {
        self.durable.base_at(index)
    }

    fn cut(&mut self, through: u64) -> Result<bool, StorageError> {
        self.durable.cut(through)
    }

    fn shrink(&mut self, spare_bytes: u64) -> Result<Shrunk, StorageError> {
        self.durable.shrink(spare_bytes)
    }

    fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.durable.replay(first, visit)
    }

    fn read(&mut self, first: u64, last: u64, bytes_max: u64) -> Result<Vec<LogEntry>, StorageError> {
        self.durable.read(first, last, bytes_max)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        Ok(self.durable.backend().disk.free_bytes)
    }
}

/// A device in use.
struct Device {
    disk: SimulatedDisk,
    /// The logs as they are read.
    cache: Logs,
    base: LogBase,
    /// Entries up to this one are to be removed, and some of them may be there yet.
    cutting: Option<u64>,
    extent: Extent,
    /// Where each small file stands.
    newest: [Newest; 2],
    /// Where checkpoints are, if they are in reach.
    chunks: Option<SimulatedFolder>,
    steps: u64,
    armed: Option<(u64, Fault)>,
}

/// The newest slot of a small file.
#[derive(Clone, Copy)]
struct Newest {
    slot: usize,
    sequence: u64,
    values: Values,
}

impl Device {
    fn open(
        mut disk: SimulatedDisk,
        base: LogBase,
        chunks: Option<SimulatedFolder>,
    ) -> Result<Self, StorageError> {
        disk.settle();
        let Contents { logs: cache, files } = disk.cached.over(&disk.durable);
        let find = |file, damage| {
            let newest = slot_file::newest(&files[place(file)], magic(file));
            let (slot, sequence, values) = newest.ok_or_else(|| damaged(damage))?;
            Ok(Newest { slot, sequence, values })
        };
        let newest = [find(SmallFile::Vote, Damage::Vote)?, find(SmallFile::Watermark, Damage::Watermark)?];
        let (cutting, extent) = (None, Extent::empty(base));
        let mut device = Self { disk, cache, base, cutting, extent, newest, chunks, steps: 0, armed: None };
        compaction::complete(&Names(RefCell::new(&mut device)))?;
        device.extent = Extent::find(&mut device, base)?;
        // A disk finds out when it is read; here that costs nothing.
        device.read(base.index + 1, base, &mut |_| Ok(ControlFlow::Continue(())))?;
        Ok(device)
    }

    fn read(&self, first: u64, before: LogBase, visit: &mut Visit<'_>) -> Result<(), StorageError> {
        let mut assembler = Assembler::new(GROUP, first, before.term, before.crc);
        for (key, bytes) in self.cache.log().range(Key::first(first)..) {
            if *key != assembler.next() {
                return Err(damaged(Damage::Hole { index: assembler.next().index }));
            }
            let bad = |source| damaged(Damage::Value { index: key.index, source });
            let value = Value::decode(bytes).map_err(bad)?;
            if let Some(entry) = assembler.take(&value).map_err(bad)?
                && visit(entry)?.is_break()
            {
                break;
            }
        }
        Ok(())
    }

    fn write(&mut self, write: Write) -> Result<(), StorageError> {
        self.step("write")?;
        if let Write::Log(change) = &write {
            self.cache.carry_out(change.clone());
        }
        self.disk.cached.write(write);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        let stepped = self.step("sync");
        let SimulatedDisk { durable, cached, rng, lies, .. } = &mut self.disk;
        match &stepped {
            Ok(()) if *lies => {}
            Ok(()) => cached.sync(durable),
            // The power goes before anything of the sync is done.
            Err(_) if matches!(self.armed, Some((_, Fault::PowerCut))) => {}
            Err(_) => cached.fail(durable, rng),
        }
        stepped
    }

    fn step(&mut self, action: &'static str) -> Result<(), StorageError> {
        let armed = self.armed.filter(|(at, _)| *at <= self.steps);
        self.steps += 1;
        match armed {
            None => Ok(()),
            Some((_, Fault::Full)) => Err(StorageError::DiskFull { action, path: path() }),
            Some((_, Fault::PowerCut | Fault::Failure)) => Err(StorageError::io(
                action,
                &path(),
                io::Error::other("the simulated disk was told to fail"),
            )),
        }
    }

    /// Removes the existing entries from `index` on; not synced.
    fn write_end(&mut self, index: u64) -> Result<(), StorageError> {
        let before = self.end_before(index)?;
        let behind: Vec<Key> = self.cache.log().range(Key::first(index)..).map(|(key, _)| *key).collect();
        // The last one first, so that a prefix of the log stays whenever the power goes.
        for key in behind.into_iter().rev() {
            self.write(Write::Log(Change::Remove(key)))?;
        }
        (self.extent.end, self.extent.remains) = (before, false);
        Ok(())
    }

    /// Removes the first values that are to be cut, at most `count`; not synced. Returns whether there were any.
    fn write_removals(&mut self, count: usize) -> Result<bool, StorageError> {
        let Some(through) = self.cutting.filter(|_| count > 0) else { return Ok(false) };
        let keys = self.cache.log().range(..Key::first(through + 1)).map(|(key, _)| *key);
        let keys: Vec<Key> = keys.take(count + 1).collect();
        self.cutting = self.cutting.filter(|_| keys.len() > count);
        for key in keys.iter().take(count) {
            self.write(Write::Log(Change::Remove(*key)))?;
        }
        Ok(!keys.is_empty())
    }
}

impl LogBackend for Device {
    fn base(&self) -> LogBase {
        self.base
    }

    fn end(&self) -> LogBase {
        self.extent.end
    }

    fn last_found(&self) -> u64 {
        self.extent.last_found
    }

    fn end_before(&mut self, index: u64) -> Result<LogBase, StorageError> {
        let base = self.base;
        extent::end_before(self, base, index)
    }

    fn append(&mut self, entries: &[LogEntry]) -> Result<(), StorageError> {
        let Some(first) = entries.first() else { return Ok(()) };
        self.write_end(first.index)?;
        let (mut count, mut round_bytes) = (0, 0);
        for entry in entries {
            let mut values = Vec::new();
            let crc =
                value::encode(GROUP, entry, self.extent.end.crc, |key, value| values.push((key, value)));
            for (key, value) in values {
                if round_bytes + value.len() > ROUND_BYTES_MAX {
                    self.sync()?;
                    round_bytes = 0;
                }
                round_bytes += value.len();
                count += 1;
                self.write(Write::Log(Change::Put(LOG, key, value.into())))?;
            }
            self.extent.end = LogBase { index: entry.index, term: entry.term, crc };
        }
        self.write_removals(removals_along(count, round_bytes))?;
        self.sync()
    }

    fn cut(&mut self, through: u64) -> Result<bool, StorageError> {
        if through > self.base.index {
            self.base = self.end_before(through + 1)?;
        }
        self.cutting = Some(through);
        if self.write_removals(ROUND_REMOVALS_MAX)? {
            self.sync()?;
        }
        Ok(self.cutting.is_none())
    }

    fn scan(&mut self, first: u64, visit: &mut Visit<'_>) -> Result<(), StorageError> {
        let last = self.extent.end.index;
        if first > last {
            return Ok(());
        }
        let before = self.end_before(first)?;
        self.read(first, before, &mut |entry| {
            let flow = if entry.index < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            Ok(if visit(entry)?.is_break() { ControlFlow::Break(()) } else { flow })
        })
    }

    fn incoming(&self) -> Result<Option<LogBase>, StorageError> {
        let Some(chunks) = &self.chunks else { return Ok(None) };
        durable::base_in(&chunks.beside(install::INCOMING))
    }

    fn remove_end(&mut self, index: u64) -> Result<(), StorageError> {
        self.write_end(index)?;
        self.sync()
    }

    fn install(&mut self, base: LogBase) -> Result<(), StorageError> {
        if let Some(chunks) = &self.chunks {
            install::install(&chunks.root())?;
        }
        (self.base, self.extent) = (base, Extent::empty(base));
        Ok(())
    }

    fn values(&self, file: SmallFile) -> Values {
        self.newest[place(file)].values
    }

    fn write(&mut self, file: SmallFile, values: Values) -> Result<(), StorageError> {
        let Newest { slot, sequence, .. } = self.newest[place(file)];
        let newest = Newest { slot: 1 - slot, sequence: sequence + 1, values };
        let bytes = slot_file::encode(magic(file), newest.sequence, values);
        self.write(Write::Slot(file, newest.slot, bytes))?;
        self.sync()?;
        self.newest[place(file)] = newest;
        Ok(())
    }

    fn forget_read(&mut self) -> Result<(), StorageError> {
        Ok(())
    }

    fn abandon(&mut self) {}
}

impl Heads for Device {
    fn head_from(&mut self, key: Key) -> Result<Option<Head>, StorageError> {
        head(self.cache.log().range(key..).next())
    }

    fn head_before(&mut self, key: Option<Key>) -> Result<Option<Head>, StorageError> {
        head(match key {
            Some(key) => self.cache.log().range(..key).next_back(),
            None => self.cache.log().last_key_value(),
        })
    }

    fn damaged(&self, damage: Damage) -> StorageError {
        damaged(damage)
    }
}

/// `SplitMix64`, after Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rng(pub(super) u64);

impl Rng {
    /// Any number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound as u64).unwrap_or(0)
    }
}

fn head(found: Option<(&Key, &Bytes)>) -> Result<Option<Head>, StorageError> {
    let Some((key, bytes)) = found else { return Ok(None) };
    let bad = |source| damaged(Damage::Value { index: key.index, source });
    Head::decode(GROUP, *key, bytes).map(Some).map_err(bad)
}

fn place(file: SmallFile) -> usize {
    match file {
        SmallFile::Vote => 0,
        SmallFile::Watermark => 1,
    }
}

fn magic(file: SmallFile) -> [u8; 4] {
    match file {
        SmallFile::Vote => VOTE_MAGIC,
        SmallFile::Watermark => WATERMARK_MAGIC,
    }
}

fn path() -> PathBuf {
    PathBuf::from("the simulated disk")
}

fn damaged(damage: Damage) -> StorageError {
    StorageError::Damaged { path: path(), damage }
}

#[cfg(test)]
mod tests;
