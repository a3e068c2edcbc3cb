//! The simulated logs by name: the authoritative one, and those beside it during a compaction.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;

use super::super::compaction::{self, CompactionBackend, LOG, LOG_MOVE, LOG_OLD, Which};
use super::super::install::Folders;
use super::super::value::Key;
use super::super::{LogBase, StorageError};
use super::{Device, Write};

/// Logs by the names of their folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Logs(BTreeMap<&'static str, Log>);

/// What a log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Log {
    values: BTreeMap<Key, Bytes>,
    /// All that was ever put there: a file that never gets shorter.
    file_bytes: u64,
}

/// The changes that one write makes to the logs.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Put(&'static str, Key, Bytes),
    Remove(Key),
    Make(&'static str),
    Rename(&'static str, &'static str),
    Drop(&'static str),
}

impl Logs {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self(BTreeMap::from([(LOG, Log::default())]))
    }

    /// What the log holds that counts.
    pub(super) fn log(&self) -> &BTreeMap<Key, Bytes> {
        self.values(LOG)
    }

    /// The same, to be spoilt.
    pub(super) fn log_mut(&mut self) -> &mut BTreeMap<Key, Bytes> {
        &mut self.0.entry(LOG).or_default().values
    }

    pub(super) fn carry_out(&mut self, change: Change) {
        match change {
            Change::Put(name, key, value) => {
                let log = self.0.entry(name).or_default();
                log.file_bytes += value.len() as u64;
                log.values.insert(key, value);
            }
            Change::Remove(key) => _ = self.log_mut().remove(&key),
            Change::Make(name) => _ = self.0.insert(name, Log::default()),
            Change::Rename(from, to) => {
                let log = self.0.remove(from).unwrap_or_else(|| unreachable!("{from} is there"));
                let gone = self.0.insert(to, log);
                assert!(gone.is_none(), "{to} was there already");
            }
            Change::Drop(name) => _ = self.0.remove(name),
        }
    }

    fn values(&self, name: &'static str) -> &BTreeMap<Key, Bytes> {
        static NONE: BTreeMap<Key, Bytes> = BTreeMap::new();
        self.0.get(name).map_or(&NONE, |log| &log.values)
    }
}

impl CompactionBackend for Device {
    fn file_bytes(&self) -> Result<u64, StorageError> {
        Ok(self.cache.0.get(LOG).map_or(0, |log| log.file_bytes))
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        Ok(self.disk.free_bytes)
    }

    fn values_from(
        &mut self,
        which: Which,
        from: Key,
        bytes_max: usize,
    ) -> Result<Vec<(Key, Bytes)>, StorageError> {
        let name = match which {
            Which::Log => LOG,
            Which::New => LOG_MOVE,
        };
        let (mut found, mut bytes) = (Vec::new(), 0);
        for (key, value) in self.cache.values(name).range(from..) {
            bytes += value.len();
            if !found.is_empty() && bytes > bytes_max {
                break;
            }
            found.push((*key, value.clone()));
        }
        Ok(found)
    }

    fn create_new(&mut self, _base: LogBase) -> Result<(), StorageError> {
        self.write(Write::Log(Change::Make(LOG_MOVE)))?;
        self.sync()
    }

    fn put_new(&mut self, values: &[(Key, Bytes)]) -> Result<(), StorageError> {
        for (key, value) in values {
            self.write(Write::Log(Change::Put(LOG_MOVE, *key, value.clone())))?;
        }
        self.sync()
    }

    fn reopen_new(&mut self) -> Result<(), StorageError> {
        Ok(())
    }

    fn swap_logs(&mut self) -> Result<(), StorageError> {
        compaction::swap(&Names(RefCell::new(self)))?;
        self.cutting = Some(self.base.index);
        Ok(())
    }

    fn remove_rest(&mut self) -> Result<bool, StorageError> {
        let Some(name) = [LOG_MOVE, LOG_OLD].into_iter().find(|name| self.cache.0.contains_key(name)) else {
            return Ok(true);
        };
        self.write(Write::Log(Change::Drop(name)))?;
        self.sync()?;
        Ok(false)
    }
}

/// The names of a device's logs.
pub(super) struct Names<'a>(pub(super) RefCell<&'a mut Device>);

impl Names<'_> {
    fn change(&self, change: Change) -> Result<(), StorageError> {
        self.0.borrow_mut().write(Write::Log(change))
    }
}

impl Folders for Names<'_> {
    fn has(&self, name: &'static str) -> Result<bool, StorageError> {
        Ok(self.0.borrow().cache.0.contains_key(name))
    }

    fn make(&self, name: &'static str) -> Result<(), StorageError> {
        self.change(Change::Make(name))
    }

    fn rename(&self, from: &'static str, to: &'static str) -> Result<(), StorageError> {
        self.change(Change::Rename(from, to))
    }

    fn remove(&self, name: &'static str) -> Result<(), StorageError> {
        self.change(Change::Drop(name))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.0.borrow_mut().sync()
    }
}
