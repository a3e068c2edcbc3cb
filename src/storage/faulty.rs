//! The disk's twin in memory: it forgets what was not synced, tears, flips bits, fails and fills up.
//!
//! It goes by the same [rules](super::durable) as the disk, and keeps the same bytes, in the same encodings; only
//! the device is made up. What the device does is decided by a seed and by the faults that are armed, so a run can
//! be repeated to the byte.
//!
//! # The device
//!
//! Every write and every sync is a **step**. A write is kept aside until the sync of its file; a power cut
//! ([`FaultyStorage::crash`]) keeps of what was aside what the dice say:
//!
//! - of the log, a prefix of the values written and removed since its last sync, in their order, which is what sled
//!   leaves of a round;
//! - of a small file's slot, all of the write, none of it, or its first bytes only.
//!
//! A process that dies and leaves the power on ([`FaultyStorage::kill`]) loses nothing of what was written.

#![expect(clippy::indexing_slicing, reason = "there are two files of two slots, and a slot has its length")]

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use bytes::Bytes;

use super::directory::{VOTE_MAGIC, WATERMARK_MAGIC};
use super::durable::{Durable, End, Media, SmallFile};
use super::log::ROUND_BYTES_MAX;
use super::slots::{self, SLOT_BYTES, Slot, Values};
use super::value::{self, Assembler, Key, Value};
use super::{Damage, LogEntry, PersistBatch, Recovered, Storage, StorageError};
use crate::types::GroupId;

const GROUP: GroupId = GroupId(0);
const FIRST_INDEX: u64 = 1;
/// Where an empty log ends; the cluster is made up, too.
const ROOT: End = End { index: 0, term: 0, crc: 0xAD10 };

/// What goes wrong at an armed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power goes before the step is done. Nothing after it happens either.
    PowerCut,
    /// The system reports an error. A write was not done; of a sync nobody knows.
    Failure,
    /// There is no room left.
    Full,
}

/// A device at rest: what a power cut, or the end of a process, left of it.
#[derive(Clone, Debug)]
pub struct FaultyDisk {
    log: BTreeMap<Key, Bytes>,
    files: [[Slot; 2]; 2],
    dice: Dice,
    lies: bool,
    free_bytes: u64,
}

/// The twin: a device in use.
pub struct FaultyStorage {
    durable: Durable<Device>,
}

impl FaultyDisk {
    /// A device with a directory that was just founded. `seed` decides what its power cuts leave.
    pub fn new(seed: u64) -> Self {
        let files = [SmallFile::Vote, SmallFile::Watermark]
            .map(|file| [slots::encode(magic(file), 1, [0, 0, 0]), [0; SLOT_BYTES]]);
        Self { log: BTreeMap::new(), files, dice: Dice(seed), lies: false, free_bytes: 1 << 40 }
    }

    /// Opens it, as a node that starts does; refuses what a node refuses.
    pub fn open(self) -> Result<FaultyStorage, StorageError> {
        let device = Device::open(self)?;
        Ok(FaultyStorage { durable: Durable::new(device, path())? })
    }

    /// From now on a sync does nothing and says that it did: a device that lies.
    pub fn lie_about_syncs(&mut self) {
        self.lies = true;
    }

    /// Flips a bit in the `nth` value of the log, wherever the dice say. False if there is no such value.
    pub fn flip_bit(&mut self, nth: usize) -> bool {
        let Some(value) = self.log.values_mut().nth(nth) else { return false };
        let at = self.dice.below(value.len());
        let bit = self.dice.below(8);
        let mut bytes = value.to_vec();
        bytes[at] ^= 1 << bit;
        *value = bytes.into();
        true
    }

    /// Loses the entries from `index` on, without a word.
    pub fn lose_from(&mut self, index: u64) {
        self.log.split_off(&Key::first(index));
    }

    /// Loses one entry in the middle, without a word.
    pub fn lose_entry(&mut self, index: u64) {
        self.log.retain(|key, _| key.index != index);
    }

    /// Spoils both slots of the file that holds the vote.
    pub fn spoil_vote(&mut self) {
        for slot in &mut self.files[place(SmallFile::Vote)] {
            slot[0] ^= 0xFF;
        }
    }
}

impl FaultyStorage {
    /// What was found: where the log begins and ends, term and vote.
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
        self.durable.media().steps
    }

    /// How much [`Storage::free_bytes`] says is free.
    pub fn set_free_bytes(&mut self, free_bytes: u64) {
        self.durable.media_mut().disk.free_bytes = free_bytes;
    }

    /// The power goes now.
    #[must_use]
    pub fn crash(self) -> FaultyDisk {
        self.durable.into_media().crash()
    }

    /// The process goes now; the power stays.
    #[must_use]
    pub fn kill(self) -> FaultyDisk {
        let Device { mut disk, aside, .. } = self.durable.into_media();
        for write in aside {
            disk.carry_out(write);
        }
        disk
    }
}

impl Storage for FaultyStorage {
    fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
        self.durable.persist(batch)
    }

    fn write_watermark(&mut self) -> Result<(), StorageError> {
        self.durable.write_watermark()
    }

    fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.durable.replay(first, visit)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        Ok(self.durable.media().disk.free_bytes)
    }
}

/// A device in use.
struct Device {
    /// What is durable.
    disk: FaultyDisk,
    /// The log with all that is written, synced or not.
    cache: BTreeMap<Key, Bytes>,
    /// What is written and not synced, in order.
    aside: Vec<Write>,
    end: End,
    /// Where each small file stands.
    newest: [Newest; 2],
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

/// One write.
enum Write {
    Put(Key, Bytes),
    Remove(Key),
    Slot(SmallFile, usize, Slot),
}

impl Device {
    fn open(disk: FaultyDisk) -> Result<Self, StorageError> {
        let find = |file, damage| {
            let newest = slots::newest(&disk.files[place(file)], magic(file));
            let (slot, sequence, values) = newest.ok_or_else(|| damaged(damage))?;
            Ok(Newest { slot, sequence, values })
        };
        let newest = [find(SmallFile::Vote, Damage::Vote)?, find(SmallFile::Watermark, Damage::Watermark)?];
        let cache = disk.log.clone();
        let mut device = Self { disk, cache, aside: Vec::new(), end: ROOT, newest, steps: 0, armed: None };
        device.end = device.find_end()?;
        Ok(device)
    }

    /// Reads the whole log; the first parts of an entry whose last one is not there count as not written.
    fn find_end(&self) -> Result<End, StorageError> {
        let mut end = ROOT;
        self.read(FIRST_INDEX, ROOT, &mut |entry, crc| {
            end = End { index: entry.index, term: entry.term, crc };
            Ok(())
        })?;
        Ok(end)
    }

    fn read(
        &self,
        first: u64,
        before: End,
        visit: &mut dyn FnMut(LogEntry, u32) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut assembler = Assembler::new(GROUP, first, before.term, before.crc);
        for (key, bytes) in self.cache.range(Key::first(first)..) {
            if *key != assembler.next() {
                return Err(damaged(Damage::Hole { index: assembler.next().index }));
            }
            let bad = |source| damaged(Damage::Value { index: key.index, source });
            let value = Value::decode(bytes).map_err(bad)?;
            if let Some(entry) = assembler.take(&value).map_err(bad)? {
                visit(entry, value.crc)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, write: Write) -> Result<(), StorageError> {
        self.step("write")?;
        match &write {
            Write::Put(key, value) => _ = self.cache.insert(*key, value.clone()),
            Write::Remove(key) => _ = self.cache.remove(key),
            Write::Slot(..) => {}
        }
        self.aside.push(write);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.step("sync")?;
        if !self.disk.lies {
            for write in std::mem::take(&mut self.aside) {
                self.disk.carry_out(write);
            }
        }
        Ok(())
    }

    fn step(&mut self, action: &'static str) -> Result<(), StorageError> {
        let armed = self.armed.filter(|(at, _)| *at <= self.steps);
        self.steps += 1;
        match armed {
            None => Ok(()),
            Some((_, Fault::Full)) => Err(StorageError::DiskFull { action, path: path() }),
            Some((_, Fault::PowerCut | Fault::Failure)) => {
                Err(StorageError::io(action, &path(), io::Error::other("the twin was told to fail")))
            }
        }
    }

    /// Keeps of what is aside what the dice say.
    fn crash(self) -> FaultyDisk {
        let Self { mut disk, aside, .. } = self;
        let in_log = aside.iter().filter(|write| !matches!(write, Write::Slot(..))).count();
        let mut kept_of_log = disk.dice.below(in_log + 1);
        for write in aside {
            match write {
                Write::Slot(file, slot, bytes) => {
                    let written = match disk.dice.below(3) {
                        0 => 0,
                        1 => SLOT_BYTES,
                        _ => disk.dice.below(SLOT_BYTES),
                    };
                    let place = &mut disk.files[place(file)][slot];
                    place[..written].copy_from_slice(&bytes[..written]);
                }
                write if kept_of_log > 0 => {
                    kept_of_log -= 1;
                    disk.carry_out(write);
                }
                _ => {}
            }
        }
        disk
    }
}

impl Media for Device {
    fn first_index(&self) -> u64 {
        FIRST_INDEX
    }

    fn end(&self) -> End {
        self.end
    }

    fn end_before(&mut self, index: u64) -> Result<End, StorageError> {
        let Some((key, bytes)) = self.cache.range(..Key::first(index)).next_back() else { return Ok(ROOT) };
        let bad = |source| damaged(Damage::Value { index: key.index, source });
        let value = Value::decode(bytes).map_err(bad)?;
        Ok(End { index: key.index, term: value.term, crc: value.crc })
    }

    fn append(&mut self, entries: &[LogEntry]) -> Result<(), StorageError> {
        let Some(first) = entries.first() else { return Ok(()) };
        let before = self.end_before(first.index)?;
        let behind: Vec<Key> = self.cache.range(Key::first(first.index)..).map(|(key, _)| *key).collect();
        // The last one first, so that a prefix of the log stays whenever the power goes.
        for key in behind.into_iter().rev() {
            self.write(Write::Remove(key))?;
        }
        self.end = before;
        let mut round_bytes = 0;
        for entry in entries {
            let mut values = Vec::new();
            let crc = value::encode(GROUP, entry, self.end.crc, |key, value| values.push((key, value)));
            for (key, value) in values {
                if round_bytes + value.len() > ROUND_BYTES_MAX {
                    self.sync()?;
                    round_bytes = 0;
                }
                round_bytes += value.len();
                self.write(Write::Put(key, value.into()))?;
            }
            self.end = End { index: entry.index, term: entry.term, crc };
        }
        self.sync()
    }

    fn scan(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let (before, last) = (self.end_before(first)?, self.end.index);
        self.read(first, before, &mut |entry, _| if entry.index <= last { visit(entry) } else { Ok(()) })
    }

    fn values(&self, file: SmallFile) -> Values {
        self.newest[place(file)].values
    }

    fn write(&mut self, file: SmallFile, values: Values) -> Result<(), StorageError> {
        let Newest { slot, sequence, .. } = self.newest[place(file)];
        let newest = Newest { slot: 1 - slot, sequence: sequence + 1, values };
        let bytes = slots::encode(magic(file), newest.sequence, values);
        self.write(Write::Slot(file, newest.slot, bytes))?;
        self.sync()?;
        self.newest[place(file)] = newest;
        Ok(())
    }

    fn abandon(&mut self) {}
}

impl FaultyDisk {
    fn carry_out(&mut self, write: Write) {
        match write {
            Write::Put(key, value) => _ = self.log.insert(key, value),
            Write::Remove(key) => _ = self.log.remove(&key),
            Write::Slot(file, slot, bytes) => self.files[place(file)][slot] = bytes,
        }
    }
}

/// `SplitMix64`, after Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
#[derive(Clone, Copy, Debug)]
struct Dice(u64);

impl Dice {
    /// Any number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound as u64).unwrap_or(0)
    }
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
    PathBuf::from("the twin")
}

fn damaged(damage: Damage) -> StorageError {
    StorageError::Damaged { path: path(), damage }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{EntryKind, StorageErrorKind, Vote};

    fn entry(index: u64, term: u64) -> LogEntry {
        let bytes = if index.is_multiple_of(3) { 100_000 } else { 100 };
        LogEntry { index, term, kind: EntryKind::Normal, data: vec![index.to_le_bytes()[0]; bytes].into() }
    }

    fn batch(indices: std::ops::RangeInclusive<u64>, term: u64, commit: u64) -> PersistBatch {
        let vote = (*indices.start() == 1).then_some(Vote { term, vote: 1 });
        PersistBatch { vote, entries: indices.map(|index| entry(index, term)).collect(), commit }
    }

    fn replayed(storage: &mut FaultyStorage) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        let mut visit = |entry: LogEntry| {
            assert_eq!(entry.data, self::entry(entry.index, entry.term).data);
            found.push((entry.index, entry.term));
            Ok(())
        };
        storage.replay(1, &mut visit).expect("it verifies");
        found
    }

    /// Appends, takes back and appends again; returns what was acknowledged when the armed fault struck.
    fn work(storage: &mut FaultyStorage) -> Vec<(u64, u64)> {
        let mut acknowledged = Vec::new();
        let steps = [batch(1..=4, 1, 0), batch(5..=8, 1, 4), batch(7..=9, 2, 6), batch(10..=10, 2, 9)];
        for step in steps {
            let first = step.entries.first().map_or(0, |entry| entry.index);
            if storage.persist(&step).is_err() || storage.write_watermark().is_err() {
                // What was to be overwritten may be gone: nobody was promised it any more.
                acknowledged.retain(|(index, _)| *index < first);
                break;
            }
            acknowledged.retain(|(index, _)| *index < first);
            acknowledged.extend(step.entries.iter().map(|entry| (entry.index, entry.term)));
        }
        acknowledged
    }

    #[test]
    fn a_power_cut_at_every_step_keeps_what_was_acknowledged() {
        let mut whole = FaultyDisk::new(0).open().expect("empty");
        work(&mut whole);
        let steps = whole.steps();
        assert!(steps > 20, "{steps}");
        for seed in 0..20 {
            for step in 0..steps {
                let mut storage = FaultyDisk::new(seed).open().expect("empty");
                storage.arm(step, Fault::PowerCut);
                let acknowledged = work(&mut storage);
                assert!(matches!(storage.write_watermark(), Err(StorageError::FailedBefore { .. })));
                let mut again = storage.crash().open().expect("nothing acknowledged is missing");
                let found = replayed(&mut again);
                assert_eq!(found.get(..acknowledged.len()), Some(&acknowledged[..]), "step {step}");
                assert_eq!(again.recovered().last_index, found.len() as u64);
                assert!(again.recovered().commit <= again.recovered().last_index);
            }
        }
    }

    #[test]
    fn a_device_that_lies_loses_what_was_acknowledged() {
        let mut missing = 0;
        for seed in 0..100 {
            let mut disk = FaultyDisk::new(seed);
            disk.lie_about_syncs();
            let mut storage = disk.open().expect("empty");
            let acknowledged = work(&mut storage);
            missing += match storage.crash().open() {
                Ok(mut storage) => usize::from(!replayed(&mut storage).starts_with(&acknowledged)),
                Err(error) => usize::from(error.kind() == StorageErrorKind::Damaged),
            };
        }
        assert!(missing > 50, "{missing}");
    }

    #[test]
    fn what_a_process_wrote_outlives_it() {
        let mut storage = FaultyDisk::new(1).open().expect("empty");
        let acknowledged = work(&mut storage);
        storage.arm(3, Fault::Failure);
        let more = batch(11..=20, 3, 10);
        assert!(storage.persist(&more).is_err());
        let mut again = storage.kill().open().expect("whole");
        assert!(replayed(&mut again).starts_with(&acknowledged));
        assert_eq!(again.recovered().vote, Vote { term: 1, vote: 1 });
    }

    #[test]
    fn damage_is_found() {
        let disk = |spoil: &dyn Fn(&mut FaultyDisk)| {
            let mut storage = FaultyDisk::new(3).open().expect("empty");
            work(&mut storage);
            let mut disk = storage.crash();
            spoil(&mut disk);
            disk.open().map(drop)
        };
        assert!(disk(&|_| {}).is_ok());
        for nth in 0..12 {
            let found = disk(&|disk| assert!(disk.flip_bit(nth)));
            assert!(matches!(found, Err(StorageError::Damaged { .. })), "{nth}: {found:?}");
        }
        let short = disk(&|disk| disk.lose_from(9));
        assert!(matches!(short, Err(StorageError::ShortLog { last: 8, durable: 10, .. })), "{short:?}");
        let hole = disk(&|disk| disk.lose_entry(5));
        assert!(matches!(hole, Err(StorageError::Damaged { damage: Damage::Hole { index: 5 }, .. })));
        let vote = disk(&FaultyDisk::spoil_vote);
        assert!(matches!(vote, Err(StorageError::Damaged { damage: Damage::Vote, .. })));
    }

    #[test]
    fn a_full_device_says_so() {
        let mut storage = FaultyDisk::new(1).open().expect("empty");
        storage.set_free_bytes(7);
        assert_eq!(storage.free_bytes().expect("a number"), 7);
        storage.arm(0, Fault::Full);
        assert!(matches!(storage.persist(&batch(1..=1, 1, 0)), Err(StorageError::DiskFull { .. })));
    }

    #[test]
    fn the_same_seed_leaves_the_same() {
        let left = |seed| {
            let mut storage = FaultyDisk::new(seed).open().expect("empty");
            storage.arm(16, Fault::PowerCut);
            work(&mut storage);
            let disk = storage.crash();
            (disk.log, disk.files)
        };
        assert_eq!(left(5), left(5));
        assert!((0..20).any(|seed| left(seed) != left(5)));
    }
}
