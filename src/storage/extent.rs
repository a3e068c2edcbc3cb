//! The beginning and the end of a log, derived from the values that exist and a checkpoint.
//!
//! The beginning of a log is truncated in the order of its keys, and only up to a durable checkpoint: its **base**.
//! So values at or below the base may be there completely, partly, or not at all; they are not needed and are
//! ignored, but they must not contradict the base. Values above it must be there, and continue it:
//!
//! - The first value above the base is the first part of the next entry, and continues the base's checksum.
//! - The entry at the base, if its last part is still there, is the one that the checkpoint represents.
//! - If all values end before the base, the **checkpoint is ahead of the log**: the log is only the base, and those
//!   values are removed before anything is appended.
//!
//! This reads only a few values. A [scan](super::durable::LogBackend::scan) checks that all the others are there.

use super::value::{Key, Value, ValueError};
use super::{Damage, LogBase, StorageError};
use crate::types::GroupId;

/// A value without its payload, checked by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    key: Key,
    term: u64,
    previous: u32,
    crc: u32,
    /// No further part of its entry follows.
    last: bool,
}

/// The values of a log in the order of their keys.
pub(super) trait Heads {
    /// The first value at `key` or above it.
    fn head_from(&mut self, key: Key) -> Result<Option<Head>, StorageError>;
    /// The last value below `key`; the last of all without one.
    fn head_before(&mut self, key: Option<Key>) -> Result<Option<Head>, StorageError>;
    /// An error that names this log.
    fn damaged(&self, damage: Damage) -> StorageError;
}

/// The ends of a log, as found at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Where the log ends: at its base or above it.
    pub(super) end: LogBase,
    /// Behind the end lie the first parts of an entry that was never completed.
    pub(super) remains: bool,
    /// Index of the last whole entry that is there; below the base if the checkpoint is ahead.
    pub(super) last_found: u64,
}

impl Head {
    /// Reads the value under `key`.
    pub(super) fn decode(group: GroupId, key: Key, bytes: &[u8]) -> Result<Self, ValueError> {
        let Value { term, previous, crc, last, .. } = match Value::decode(bytes)? {
            value if value.key == key && value.group == group => value,
            _ => return Err(ValueError::Place),
        };
        Ok(Self { key, term, previous, crc, last })
    }

    /// Where a log ends whose last value this is, if it can be.
    fn end(self) -> Option<LogBase> {
        self.last.then_some(LogBase { index: self.key.index, term: self.term, crc: self.crc })
    }
}

impl Extent {
    /// A log in which nothing lies.
    pub(super) fn empty(base: LogBase) -> Self {
        Self { end: base, remains: false, last_found: base.index }
    }

    /// Looks at a log's end, and on both sides of its base.
    pub(super) fn find(log: &mut impl Heads, base: LogBase) -> Result<Self, StorageError> {
        let next = Key::first(base.index + 1);
        let Some(last) = log.head_before(None)? else { return Ok(Self::empty(base)) };
        let last_found = last.key.index - u64::from(!last.last);
        if last_found < base.index {
            return Ok(Self { last_found, ..Self::empty(base) });
        }
        let at_base = log.head_before(Some(next))?.and_then(Head::end);
        if at_base.is_some_and(|found| found.index == base.index && found != base) {
            return Err(log.damaged(Damage::Replaced { index: base.index }));
        }
        if let Some(above) = log.head_from(next)? {
            if above.key != next {
                return Err(log.damaged(Damage::Hole { index: next.index }));
            }
            if above.previous != base.crc || above.term < base.term {
                return Err(log.damaged(Damage::Value { index: next.index, source: ValueError::Chain }));
            }
        }
        let end = match last.end() {
            Some(end) => end,
            None => end_before(log, base, last.key.index)?,
        };
        Ok(Self { end, remains: !last.last, last_found })
    }
}

/// Where the log would end if everything from `index` on were gone: at its base, or at an entry that is there.
pub(super) fn end_before(log: &mut impl Heads, base: LogBase, index: u64) -> Result<LogBase, StorageError> {
    if index == base.index + 1 {
        return Ok(base);
    }
    let found = log.head_before(Some(Key::first(index)))?.and_then(Head::end);
    let hole = || log.damaged(Damage::Hole { index: index.saturating_sub(1) });
    found.filter(|end| end.index + 1 == index).ok_or_else(hole)
}
