//! The log of one group: entries, term and vote, and how far is committed; durable when a call returns.
//!
//! It is a sequence of **stretches**. A stretch is what one file of the [journal](super::journal) holds: a head, which
//! says what the stretch continues, and the records of commits. Within it, entries follow each other. Anything else
//! begins a new stretch: a full file, a replaced end of the log, a checkpoint ahead of the log. So the heads alone say
//! which part of a stretch is valid: up to where a later one begins.
//!
//! A commit is written into the newest stretch. The file of a stretch that lies before the newest checkpoint is reused.
//! If there is no such file, the oldest stretch goes into the [archive](super::archive). That, and making new files,
//! takes long: a [`Chore`] for another thread.
//!
//! # What a start accepts
//!
//! - Every stretch from the checkpoint on is there. The newest is read to its end; a scan, which a start does next, reads
//!   the others. Each record must continue the one before: a hole or a bad record is damage.
//! - The newest stretch ends where no record follows. A record there that is torn was never acknowledged. But a record
//!   is written when the one before is durable: so if any later one is there, the bad one was acknowledged, and is
//!   damage. The file of a stretch whose head is bad is searched likewise.
//! - The last record has no later one to prove that. Hence the **watermark**, which says that it is durable. It is
//!   written at most 100 ms later; and at once after the very first entries, so that a log that had entries is never
//!   accepted as empty, and when a stretch begins. It is in another file than the stretch, as soon as there is another:
//!   so a newest file that is gone, or cut short, is noticed. A log that ends before its watermark has lost acknowledged
//!   data.
//!
//! One loss stays undetected: that of exactly the records of the last 100 ms before a crash, cleanly, from the end.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::path::PathBuf;

use super::archive::Archive;
use super::folder::{FixedFile as _, FolderFile, JournalFolder};
use super::journal::layout::{self, Head, Point, RECORDS_AT, RecordError, Watermark};
use super::journal::reader::{Cursor, is_record_beyond};
use super::journal::{Files, JournalSize};
use super::{Damage, LogBase, LogEntry, StorageError, Vote};
pub use chore::Chore;
use chore::UnderWay;

mod chore;

/// A point where reading can begin is noted every this many bytes.
const POINT_EVERY_BYTES: u64 = 64 << 10;

/// Called for each entry of a scan; it may end the scan.
pub(super) type Visit<'a> = dyn FnMut(LogEntry) -> Result<ControlFlow<()>, StorageError> + 'a;

/// An open log.
pub(super) struct Log<F: JournalFolder, A: Archive> {
    /// The data directory, for messages.
    path: PathBuf,
    salt: u32,
    size: JournalSize,
    files: Files<F>,
    archive: A,
    /// In order, beginning with the one that has the first needed entry.
    stretches: VecDeque<Stretch>,
    /// Archived stretches that are no longer needed.
    leftovers: Vec<u64>,
    /// Where the next record goes, in the newest stretch.
    next: Point,
    /// Entries up to this one are not needed.
    base: LogBase,
    vote: Vote,
    commit: u64,
    under_way: Option<UnderWay>,
    /// True if the last chore had enough space.
    has_room: bool,
    /// The stretch of the archive that was read last.
    opened: Option<(u64, A::Stretch)>,
    buffer: Vec<u8>,
}

/// A part of the log.
#[derive(Clone, Debug)]
struct Stretch {
    head: Head,
    home: Home,
    /// Points where reading can begin, in ascending order: the first record, and some of the later ones.
    points: Vec<Point>,
    /// An upper bound of the end of its last record.
    bytes: u64,
}

/// Where a stretch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// In this file of the journal.
    File(u32),
    Archive,
}

/// The log's end, as found at a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Index of the last entry that is there; below the base if the checkpoint is ahead.
    pub(super) last: u64,
    /// Index of the last entry that the watermark says was durable; 0 without one.
    pub(super) durable: u64,
}

/// The place and the owner of a log.
#[derive(Clone, Debug)]
pub(super) struct LogPlace<F, A> {
    /// The data directory, for messages.
    pub(super) path: PathBuf,
    pub(super) folder: F,
    pub(super) archive: A,
    /// The copy of the data that it belongs to.
    pub(super) storage_id: [u8; 16],
    pub(super) size: JournalSize,
}

impl Stretch {
    fn new(head: Head, home: Home, bytes: u64) -> Self {
        Self { head, home, points: vec![head.point()], bytes }
    }
}

impl<F: JournalFolder, A: Archive> Log<F, A> {
    /// Creates a log that begins after `base`, with this term and vote. All of it is durable except for the folder's
    /// name.
    pub(super) fn create(place: LogPlace<F, A>, base: LogBase, vote: Vote) -> Result<Self, StorageError> {
        let mut log = Self::empty(place, base);
        (log.vote, log.commit) = (vote, base.index);
        log.begin_stretch(base, 0)?;
        Ok(log)
    }

    /// Opens a log that begins after `base`, and finds its end.
    pub(super) fn open(place: LogPlace<F, A>, base: LogBase) -> Result<(Self, Found), StorageError> {
        let (log, found, obstacle) = Self::find(place, base)?;
        if let Some(obstacle) = obstacle {
            return Err(obstacle);
        }
        Ok((log, found))
    }

    /// Opens a log that may be damaged. Returns what can be read of it from `base` on, and what hides the rest.
    pub(super) fn find(
        place: LogPlace<F, A>,
        base: LogBase,
    ) -> Result<(Self, Found, Option<StorageError>), StorageError> {
        place.folder.sync()?;
        let (folder, archived) = (place.folder.clone(), archived(&place)?);
        let mut log = Self::empty(place, base);
        log.files = Files::open(folder, log.salt)?;
        let mut stretches = archived;
        for slot in log.files.slots() {
            if let Some(head) = slot.head.filter(|head| head.number > 0) {
                let in_file = || Stretch::new(head, Home::File(slot.id), slot.bytes);
                stretches.entry(head.number).or_insert_with(in_file);
            }
        }
        let Some(newest) = stretches.keys().next_back().copied() else {
            let obstacle = Some(log.damaged(Damage::LogMissing));
            return Ok((log, Found { last: 0, durable: 0 }, obstacle));
        };
        let first = stretches.values().rev().find(|stretch| stretch.head.base.index <= base.index);
        let Some(first) = first.map(|stretch| stretch.head.number) else {
            let obstacle = Some(log.damaged(Damage::Hole { index: base.index + 1 }));
            return Ok((log, Found { last: 0, durable: 0 }, obstacle));
        };
        for number in first..=newest {
            match stretches.remove(&number) {
                Some(stretch) => log.stretches.push_back(stretch),
                None => break,
            }
        }
        let (found, obstacle) = log.find_end(newest)?;
        if found.last >= base.index && log.end_at(base.index)? != base {
            log.stretches.clear();
            log.next.end = base;
            let obstacle = log.damaged(Damage::Replaced { index: base.index });
            return Ok((log, found, Some(obstacle)));
        }
        if obstacle.is_none() {
            // The watermark found may not be durable: the process that wrote it may have failed to sync it.
            log.write_watermark()?;
            let archived = |stretch: &Stretch| stretch.home == Home::Archive;
            log.let_go(stretches.into_values().filter(archived))?;
            log.free_unused()?;
        }
        Ok((log, found, obstacle))
    }

    fn empty(place: LogPlace<F, A>, base: LogBase) -> Self {
        let LogPlace { path, folder, archive, storage_id, size } = place;
        let salt = crc32c::crc32c(&storage_id);
        let next = Point { offset: RECORDS_AT, sequence: 1, chain: 0, end: base };
        Self {
            path,
            salt,
            size,
            files: Files::none(folder, salt),
            archive,
            stretches: VecDeque::new(),
            leftovers: Vec::new(),
            next,
            base,
            vote: Vote::default(),
            commit: 0,
            under_way: None,
            has_room: true,
            opened: None,
            buffer: Vec::new(),
        }
    }

    /// Reads the last stretch to its end, and looks for evidence that the log went on.
    fn find_end(&mut self, newest: u64) -> Result<(Found, Option<StorageError>), StorageError> {
        let Some(mut stretch) = self.stretches.pop_back() else { unreachable!("there is a stretch") };
        (self.vote, self.commit) = (stretch.head.vote, stretch.head.commit);
        let (number, salt) = (stretch.head.number, self.salt);
        let (mut vote, mut commit) = (self.vote, self.commit);
        let source = self.source(&stretch)?;
        let mut cursor = Cursor::new(source, salt, stretch.head.point());
        let end = loop {
            match cursor.next()? {
                Ok(body) => (vote, commit) = (body.vote.unwrap_or(vote), commit.max(body.commit)),
                Err(end) => break end,
            }
            note_point(&mut stretch.points, cursor.point());
        };
        let next = cursor.point();
        let is_bad = match end {
            RecordError::Malformed | RecordError::Version(_) => true,
            RecordError::Checksum | RecordError::Chain => {
                is_record_beyond(source, salt, next.offset, next.sequence + 1)?
            }
        };
        (self.next, self.vote, self.commit) = (next, vote, commit);
        self.stretches.push_back(stretch);
        let last = next.end.index;
        let bad = is_bad.then(|| self.damaged(Damage::Record { index: last + 1, source: end }));
        let watermark = self.files.found_watermark()?.filter(|watermark| watermark.number >= number);
        let watermark = watermark.unwrap_or(Watermark { number, sequence: 0, index: 0, commit: 0 });
        self.commit = self.commit.max(watermark.commit).max(self.base.index).min(last.max(self.base.index));
        let found = Found { last, durable: watermark.index.max(self.newest_head().base.index) };
        let obstacle = if bad.is_some() {
            bad
        } else if number < newest || self.is_beyond_elsewhere()? {
            Some(self.damaged(Damage::Hole { index: last + 1 }))
        } else if watermark.sequence >= self.next.sequence && watermark.index > last {
            Some(StorageError::ShortLog { path: self.path.clone(), last, durable: watermark.index })
        } else if watermark.number > number {
            Some(self.damaged(Damage::Hole { index: last + 1 }))
        } else if watermark.sequence >= self.next.sequence {
            Some(self.damaged(Damage::Tail))
        } else {
            None
        };
        Ok((found, obstacle))
    }

    /// True if a file with a bad head has records that continue the log.
    fn is_beyond_elsewhere(&self) -> Result<bool, StorageError> {
        for slot in self.files.slots().iter().filter(|slot| slot.head.is_none()) {
            if is_record_beyond(&slot.file, self.salt, RECORDS_AT, self.next.sequence)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The entry that the log begins after.
    pub(super) fn base(&self) -> LogBase {
        self.base
    }

    /// Its last entry; before the base if a checkpoint is ahead of it.
    pub(super) fn end(&self) -> LogBase {
        self.next.end
    }

    /// Term and vote.
    pub(super) fn vote(&self) -> Vote {
        self.vote
    }

    /// The commit index.
    pub(super) fn commit_index(&self) -> u64 {
        self.commit
    }

    /// The end that the log would have without the entries from `index` on.
    pub(super) fn end_before(&mut self, index: u64) -> Result<LogBase, StorageError> {
        let last = index - 1;
        if last == self.base.index {
            return Ok(self.base);
        }
        let is_there = (self.base.index..=self.end().index).contains(&last);
        if is_there { self.end_at(last) } else { Err(self.damaged(Damage::Hole { index: last })) }
    }

    /// The entry at `index`, which is there.
    fn end_at(&mut self, index: u64) -> Result<LogBase, StorageError> {
        let mut end = self.end();
        if index == end.index {
            return Ok(end);
        }
        let holds = |stretch: &&Stretch| stretch.head.base.index <= index;
        let Some(stretch) = self.stretches.iter().rev().find(holds).cloned() else {
            return Err(self.damaged(Damage::Hole { index }));
        };
        end = point_before(&stretch, index + 1).end;
        self.read_from(&stretch, index + 1, index, |entry_end, _| {
            end = entry_end;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(end)
    }

    /// Makes a commit durable: term and vote if they changed, and entries, which follow each other. They replace existing
    /// entries from the first one's index on.
    pub(super) fn commit(
        &mut self,
        vote: Option<Vote>,
        entries: &[LogEntry],
        commit: u64,
    ) -> Result<(), StorageError> {
        let last = entries.last().map_or(self.end().index, |entry| entry.index);
        let commit = commit.min(last).max(self.commit);
        if vote.is_none() && entries.is_empty() {
            if commit == self.commit {
                return Ok(());
            }
            self.commit = commit;
            return self.write_watermark();
        }
        let has_watermark = self.files.watermark().is_some_and(|watermark| watermark.index > 0);
        let is_first = !has_watermark && !entries.is_empty();
        let bytes = layout::record_bytes(vote, entries) as u64;
        let before = entries.first().map_or(last, |entry| entry.index.saturating_sub(1));
        debug_assert!(before >= self.base.index, "entry {before} is below the base");
        let end = self.end_before(before + 1)?;
        if end != self.end() || self.room().is_none_or(|room| room < bytes) {
            self.begin_stretch(end, bytes)?;
        }
        let Point { offset, .. } = self.next;
        let next = layout::encode_record(self.salt, self.next, commit, vote, entries, &mut self.buffer);
        let file = &self.files.slot(self.newest_file()).file;
        file.write_at(offset, &self.buffer)?;
        file.sync()?;
        (self.next, self.vote, self.commit) = (next, vote.unwrap_or(self.vote), commit);
        if let Some(stretch) = self.stretches.back_mut() {
            note_point(&mut stretch.points, self.next);
        }
        if is_first { self.write_watermark() } else { Ok(()) }
    }

    /// Updates the watermark, if it lags behind the durable end of the log.
    pub(super) fn write_watermark(&mut self) -> Result<(), StorageError> {
        let Some(Stretch { head, home: Home::File(_), .. }) = self.stretches.back() else { return Ok(()) };
        let sequence = self.next.sequence - 1;
        let watermark =
            Watermark { number: head.number, sequence, index: self.end().index, commit: self.commit };
        if self.files.watermark() == Some(watermark) { Ok(()) } else { self.files.write_watermark(watermark) }
    }

    /// Truncates the log: removes the entries from `index` on, which is after the base. Durable when it returns.
    pub(super) fn remove_end(&mut self, index: u64) -> Result<(), StorageError> {
        let end = self.end_before(index)?;
        self.begin_stretch(end, 0)
    }

    /// Makes the log begin after `base`, the entry of a checkpoint that is in place. A log that reaches it has that
    /// entry, and keeps what follows; a shorter log ends at it. Durable when it returns.
    pub(super) fn rebase(&mut self, base: LogBase) -> Result<(), StorageError> {
        self.commit = self.commit.max(base.index);
        if base.index > self.end().index {
            self.base = base;
            self.begin_stretch(base, 0)?;
        }
        self.cut(base.index)?;
        debug_assert_eq!(self.base, base, "the log has another entry there");
        Ok(())
    }

    /// Drops the entries up to `through`, which are no longer needed.
    pub(super) fn cut(&mut self, through: u64) -> Result<(), StorageError> {
        if through > self.base.index {
            self.base = self.end_before(through + 1)?;
        }
        while self.stretches.get(1).is_some_and(|second| second.head.base.index <= self.base.index) {
            let first = self.stretches.pop_front();
            self.let_go(first)?;
        }
        Ok(())
    }

    /// Calls `visit` with the entries from `first` on, and checks that each continues the one before, until `visit`
    /// ends the scan.
    pub(super) fn scan(&mut self, first: u64, visit: &mut Visit<'_>) -> Result<(), StorageError> {
        let mut next = first;
        while next <= self.end().index {
            let holds = |stretch: &Stretch| stretch.head.base.index < next;
            let Some(stretch) = self.stretches.iter().rfind(|stretch| holds(stretch)).cloned() else {
                return Err(self.damaged(Damage::Hole { index: next }));
            };
            let later = self.stretches.iter().filter(|later| later.head.number > stretch.head.number);
            let base = later.map(|later| later.head.base).min_by_key(|base| base.index);
            let base = base.unwrap_or(self.end());
            let (mut end, mut flow) = (None, ControlFlow::Continue(()));
            self.read_from(&stretch, next, base.index, |entry_end, entry| {
                end = Some(entry_end);
                if entry.index >= next {
                    flow = visit(entry)?;
                }
                Ok(flow)
            })?;
            if flow.is_break() {
                return Ok(());
            }
            if end != Some(base) {
                return Err(self.damaged(Damage::Record { index: base.index, source: RecordError::Chain }));
            }
            next = base.index + 1;
        }
        Ok(())
    }

    /// Calls `visit` with the entries of a stretch up to `last`, and the end of the log after each. Begins at `first`,
    /// or at an earlier entry.
    fn read_from(
        &mut self,
        stretch: &Stretch,
        first: u64,
        last: u64,
        mut visit: impl FnMut(LogBase, LogEntry) -> Result<ControlFlow<()>, StorageError>,
    ) -> Result<(), StorageError> {
        let (point, salt, path) = (point_before(stretch, first), self.salt, self.path.clone());
        let mut cursor = Cursor::new(self.source(stretch)?, salt, point);
        let mut end = point.end;
        while end.index < last {
            let damage = |source| Damage::Record { index: end.index + 1, source };
            let bad = |source| StorageError::Damaged { path: path.clone(), damage: damage(source) };
            for entry in cursor.next()?.map_err(bad)?.entries {
                end = end.after(&entry);
                if visit(end, entry)?.is_break() || end.index == last {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The file with the bytes of a stretch.
    fn source(&mut self, stretch: &Stretch) -> Result<&dyn FolderFile, StorageError> {
        let number = match stretch.home {
            Home::File(id) => return Ok(&self.files.slot(id).file),
            Home::Archive => stretch.head.number,
        };
        // The stretch opened before is closed first.
        let opened = match self.opened.take().filter(|(opened, _)| *opened == number) {
            Some((_, opened)) => opened,
            None => self.archive.open(number)?,
        };
        Ok(&self.opened.insert((number, opened)).1)
    }

    /// Frees the memory that scans took.
    pub(super) fn forget_read(&mut self) {
        self.opened = None;
    }

    /// How many bytes are left in the file of the newest stretch; `None` if that is archived, or there is none.
    fn room(&self) -> Option<u64> {
        match self.stretches.back()?.home {
            Home::File(id) => Some(self.files.slot(id).bytes.saturating_sub(self.next.offset)),
            Home::Archive => None,
        }
    }

    fn newest_file(&self) -> u32 {
        match self.stretches.back() {
            Some(Stretch { home: Home::File(id), .. }) => *id,
            _ => unreachable!("what is written begins in a file"),
        }
    }

    fn newest_head(&self) -> Head {
        self.stretches.back().map_or(Head::unused(), |newest| newest.head)
    }

    /// Begins a stretch that continues `base`, in a file with room for `bytes`. Durable when it returns. Changes nothing if
    /// there is no such file and no space for one.
    fn begin_stretch(&mut self, base: LogBase, bytes: u64) -> Result<(), StorageError> {
        let id = self.free_file(bytes)?;
        let Self { next: Point { sequence, chain, .. }, vote, commit, .. } = *self;
        let head = Head { number: self.newest_head().number + 1, sequence, chain, base, vote, commit };
        self.files.begin(id, head)?;
        if let Some(full) = self.stretches.back_mut() {
            full.bytes = self.next.offset;
        }
        self.next = head.point();
        self.stretches.push_back(Stretch::new(head, Home::File(id), self.files.slot(id).bytes));
        if self.files.slots().len() > 1 { self.write_watermark() } else { Ok(()) }
    }

    fn damaged(&self, damage: Damage) -> StorageError {
        StorageError::Damaged { path: self.path.clone(), damage }
    }
}

/// The stretches in the archive.
fn archived<F: JournalFolder, A: Archive>(
    place: &LogPlace<F, A>,
) -> Result<BTreeMap<u64, Stretch>, StorageError> {
    let salt = crc32c::crc32c(&place.storage_id);
    let mut stretches = BTreeMap::new();
    for number in place.archive.list()? {
        let head = match place.archive.head(number) {
            Ok(block) => Head::decode(salt, &block),
            // A stretch that is incomplete is noticed when it is needed.
            Err(StorageError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(head) = head.filter(|head| head.number == number) {
            stretches.insert(number, Stretch::new(head, Home::Archive, 0));
        }
    }
    Ok(stretches)
}

fn note_point(points: &mut Vec<Point>, point: Point) {
    if points.last().is_none_or(|last| point.offset >= last.offset + POINT_EVERY_BYTES) {
        points.push(point);
    }
}

/// The last point before entry `index`.
fn point_before(stretch: &Stretch, index: u64) -> Point {
    let before = stretch.points.partition_point(|point| point.end.index < index);
    stretch.points.get(before.saturating_sub(1)).copied().unwrap_or(stretch.head.point())
}

#[cfg(test)]
mod tests;
