//! A log during its [compaction](super::super::compaction): unchanged values are read from one and written to another.

use bytes::Bytes;

use super::super::extent::Extent;
use super::super::{LogBase, StorageError};
use super::{Key, Log, Path, Round};

impl Log {
    /// Bytes of its file.
    pub(in crate::storage) fn file_bytes(&self) -> Result<u64, StorageError> {
        let file = self.file.metadata();
        Ok(file.map_err(|error| StorageError::io("read", &self.path.join("db"), error))?.len())
    }

    /// Values from `from` on, in the order of their keys: the first one in any case, and no further one with which
    /// they would exceed `bytes_max` bytes. None at the end. They are not verified.
    pub(in crate::storage) fn values_from(
        &mut self,
        from: Key,
        bytes_max: usize,
    ) -> Result<Vec<(Key, Bytes)>, StorageError> {
        let mut found = Vec::new();
        self.read_some(from, bytes_max, &mut found)?;
        self.reopen_if_due()?;
        found.into_iter().map(|(key, value)| Ok((self.key(&key)?, Bytes::copy_from_slice(&value)))).collect()
    }

    /// Adds values as they are, which are one round at most. Durable when it returns. Where the log ends is not known
    /// any more until it [counts](Self::counts_from).
    pub(in crate::storage) fn put(&mut self, values: &[(Key, Bytes)]) -> Result<(), StorageError> {
        let mut round = Round::default();
        for (key, value) in values {
            round.bytes += value.len();
            round.batch.insert(&key.encode(), &value[..]);
        }
        self.commit(round)
    }

    /// Closes it and opens it again: later reads come from the disk.
    pub(in crate::storage) fn read_anew(&mut self) -> Result<(), StorageError> {
        self.reopen()
    }

    /// Its folder is `path` now. It begins after `base` and ends with `end`.
    ///
    /// sled is not told about the new path, and need not be: it uses its folder only when it is opened, and for blobs, and
    /// there are no blobs.
    pub(in crate::storage) fn counts_from(&mut self, path: &Path, base: LogBase, end: LogBase) {
        path.clone_into(&mut self.path);
        // More may have been cut of the one that it was made of.
        (self.base, self.cutting) = (base, Some(base.index));
        self.extent = Extent { end, remains: false, last_found: end.index };
    }
}
