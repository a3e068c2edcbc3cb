//! Takes over a data directory of format 1, whose log was one sled database, with small files for the vote and for the
//! watermark beside it.
//!
//! The entries after the newest checkpoint are copied into a new log, to which the directory
//! [changes over](super::changeover), with an identity of the new format. Then the old files are removed. If the process ends
//! before that, the old log stays as `log.lost-1`.
//!
//! A directory that its own version would refuse, or would have to complete first, is refused and keeps its data.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use value::{Assembler, Key, Value};

use super::changeover::{self, CHUNKS, CHUNKS_OLD, Folders as _, LOG, LOG_NEW};
use super::directory::Directory;
use super::identity::Identity;
use super::journal::JournalSize;
use super::log::Log;
use super::{LogBase, LogEntry, StorageError, Vote, durable, sync};
use crate::types::GroupId;

mod slots;
mod value;

/// The file with term and vote.
pub(super) const VOTE: &str = "vote";
/// The file that says how far the log was durable.
pub(super) const WATERMARK: &str = "watermark";
/// A copy of the log that was being made.
pub(super) const LOG_MOVE: &str = "log.move";
/// A log whose copy has taken its place.
pub(super) const LOG_OLD: &str = "log.old";
/// The mark of a recovery that was begun.
const RECOVERING: &str = "recovering";

const GROUP: GroupId = GroupId::ONLY;
const SEGMENT_BYTES: usize = 8 << 20;
/// Bytes of entries that are written at once.
const COPY_BYTES: usize = 1 << 20;

/// Takes over a directory whose identity is of the older format.
pub(super) fn take_over(
    directory: &Directory,
    identity: Identity,
    size: JournalSize,
) -> Result<(), StorageError> {
    directory.sync()?;
    if changeover::is_decided(directory)? {
        if !directory.has(LOG)? || !directory.has(LOG_NEW)? {
            // A start does the rest.
            return Ok(());
        }
        // Nothing else was done. Its own version does not know of the decision, and may have written to the log since.
        changeover::undecide(directory)?;
    }
    copy(directory, identity, size).inspect_err(|_| {
        // As far as that goes: the next attempt removes it.
        let _ = directory.remove(LOG_NEW);
    })?;
    match directory.change_over(identity)?.kept {
        Some(old) => directory.remove(&old),
        None => Ok(()),
    }
}

/// Removes what the old format alone has, from a directory that is of this one.
pub(super) fn tidy(directory: &Directory) -> Result<(), StorageError> {
    for name in [VOTE, WATERMARK] {
        let path = directory.path().join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StorageError::io("remove", &path, error));
            }
            _ => {}
        }
    }
    [LOG_OLD, LOG_MOVE].into_iter().try_for_each(|name| directory.remove(name))
}

/// Makes the new log.
fn copy(directory: &Directory, identity: Identity, size: JournalSize) -> Result<(), StorageError> {
    let refused =
        |why: &str| StorageError::NotTakenOver { path: directory.path().to_owned(), why: why.to_owned() };
    let is_installing = directory.has(CHUNKS_OLD)? && !directory.has(CHUNKS)?;
    if directory.has(RECOVERING)? || !directory.has(LOG)? || is_installing {
        return Err(refused("a change was begun there and not finished"));
    }
    let [vote, watermark] =
        [(VOTE, *b"ADJV"), (WATERMARK, *b"ADJW")].map(|(name, magic)| -> Result<_, StorageError> {
            let path = directory.path().join(name);
            sync::settle(&path)?;
            let file = fs::read(&path).map_err(|error| StorageError::io("read", &path, error))?;
            slots::read(&file, magic).ok_or_else(|| refused(&format!("both copies in {name} are bad")))
        });
    let ([term, vote, _], [durable, commit, crc]) = (vote?, watermark?);
    let base = durable::base_in(&directory.chunks()?)?.unwrap_or(LogBase::root(identity.cluster_id));
    let mut log = Log::create(directory.new_log(identity, size)?, base, Vote { term, vote })?;
    let (mut gathered, mut bytes) = (Vec::new(), 0);
    let found = read(directory, base, |entry| {
        bytes += entry.data.len();
        gathered.push(entry);
        if bytes >= COPY_BYTES {
            bytes = 0;
            log.commit(None, &std::mem::take(&mut gathered), commit)?;
        }
        Ok(())
    })?;
    log.commit(None, &gathered, commit)?;
    let last = log.end().index;
    if found.obstacle.is_some() || durable > last {
        let why =
            found.obstacle.unwrap_or_else(|| format!("its log ends at entry {last}, and had {durable}"));
        return Err(refused(&why));
    }
    if durable > base.index && !found.ends.contains(&(durable, crc)) {
        return Err(refused("its log is not the one that was written last"));
    }
    log.write_watermark()
}

/// What was read of a log.
#[derive(Default)]
struct Found {
    /// Why no more could be read; `None` at the end of the log.
    obstacle: Option<String>,
    /// Index of each entry, and the checksum of its last value.
    ends: Vec<(u64, u64)>,
}

/// Hands the entries after `base` to `visit`, each verified.
fn read(
    directory: &Directory,
    base: LogBase,
    mut visit: impl FnMut(LogEntry) -> Result<(), StorageError>,
) -> Result<Found, StorageError> {
    let path = directory.path().join(LOG);
    let fail = |error| StorageError::io("read", &path, error);
    for entry in fs::read_dir(&path).map_err(fail)? {
        let file = entry.map_err(fail)?.path();
        if file.is_file() {
            sync::settle(&file)?;
        }
    }
    let config = sled::Config::new().path(&path).segment_size(SEGMENT_BYTES).flush_every_ms(None);
    let mut found = Found::default();
    let mut assembler = Assembler::new(GROUP, base.index + 1, base.term, base.crc);
    let read = catch_unwind(AssertUnwindSafe(|| -> Result<(), StorageError> {
        let db = match config.open() {
            Ok(db) => db,
            Err(error) => {
                found.obstacle = Some(format!("its log cannot be opened: {error}"));
                return Ok(());
            }
        };
        for item in db.range(Key::first(base.index + 1).encode()..) {
            let value = item.map_err(|error| error.to_string());
            let taken = value.and_then(|(_, bytes)| {
                let value = Value::decode(&bytes).map_err(|error| error.to_string())?;
                let entry = assembler.take(&value).map_err(|error| error.to_string())?;
                Ok(entry.map(|entry| (entry, value.crc)))
            });
            match taken {
                Ok(Some((entry, crc))) => {
                    found.ends.push((entry.index, u64::from(crc)));
                    visit(entry)?;
                }
                Ok(None) => {}
                Err(why) => {
                    found.obstacle = Some(format!("log entry {}: {why}", assembler.next().index));
                    return Ok(());
                }
            }
        }
        Ok(())
    }));
    match read {
        Ok(read) => read?,
        Err(_) => found.obstacle = Some("its log makes no sense".to_owned()),
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
