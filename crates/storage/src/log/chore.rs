//! Long work on a log that commits need not wait for: making files for the journal, and moving stretches into the archive
//! or out of it. One piece at a time runs on another thread, while commits go on.

use super::super::StorageError;
use super::super::archive::Archive;
use super::super::folder::JournalFolder;
use super::super::journal::JournalSize;
use super::super::journal::layout::RECORDS_AT;
use super::{Home, Log, Stretch};

/// Bytes of the first two files.
const FIRST_BYTES: u64 = 1 << 20;
/// While a chore is under way, commits may make up to this many times the usual number of files.
const FILES_FACTOR: usize = 2;

/// A piece of such work.
pub struct Chore(Box<dyn FnOnce() -> Result<(), StorageError> + Send>);

/// The chore that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnderWay {
    /// Makes this file.
    File(u32),
    /// Puts this stretch into the archive.
    Archive(u64),
    /// Removes this stretch from the archive.
    Remove(u64),
}

impl Chore {
    /// A chore that calls `work`.
    pub fn new(work: impl FnOnce() -> Result<(), StorageError> + Send + 'static) -> Self {
        Self(Box::new(work))
    }

    /// Does the work.
    pub fn run(self) -> Result<(), StorageError> {
        (self.0)()
    }
}

impl std::fmt::Debug for Chore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Chore")
    }
}

impl<F: JournalFolder, A: Archive> Log<F, A> {
    /// The next chore, if there is one and none is under way.
    pub(crate) fn chore(&mut self) -> Option<Chore> {
        if self.under_way.is_some() {
            return None;
        }
        let (what, chore) = self.spare_file().or_else(|| self.remove_one())?;
        self.under_way = Some(what);
        Some(chore)
    }

    /// Takes the result of the chore: it is done, or there was no space for it.
    pub(crate) fn chore_done(&mut self, done: Result<(), StorageError>) -> Result<(), StorageError> {
        let under_way = self.under_way.take();
        if let Some(UnderWay::Archive(number)) = under_way {
            return self.is_archived(number, done, self.file_size());
        }
        let has_room = self.has_room(done)?;
        let Some(UnderWay::File(id)) = under_way.filter(|_| has_room) else { return Ok(()) };
        let added = self.files.add(id);
        // A file that cannot be opened now is made anew when it is needed.
        if self.has_room(added)? { self.files.set_free(id, self.file_size()) } else { Ok(()) }
    }

    /// Notes whether there was space for a chore. Without it the log goes on as long as it has files; a commit that finds
    /// none waits. Space that only a sync misses is no failure: nothing relies on a chore's files yet.
    fn has_room(&mut self, done: Result<(), StorageError>) -> Result<bool, StorageError> {
        self.has_room = !done.as_ref().is_err_and(StorageError::is_shortage_or_late);
        if self.has_room {
            done?;
        }
        Ok(self.has_room)
    }

    /// A file with room for `bytes` bytes of records. If there is none, makes one at once; or archives the oldest stretch
    /// at once, if the maximum number of files is reached because a chore that archives takes too long. Changes nothing if
    /// there is no space for either.
    pub(super) fn free_file(&mut self, bytes: u64) -> Result<u32, StorageError> {
        if let Some(id) = self.files.free(bytes) {
            return Ok(id);
        }
        let files_max = self.size.files_max * if self.under_way.is_some() { FILES_FACTOR } else { 1 };
        if self.files.slots().len() >= files_max {
            if let Some((number, chore)) = self.archive_oldest() {
                // Its file is reused at once: it must not be removed as one too many.
                let size = JournalSize { files_max: self.files.slots().len(), ..self.file_size() };
                self.is_archived(number, chore.run(), size)?;
            }
            if let Some(id) = self.files.free(bytes) {
                return Ok(id);
            }
        }
        let taken = match self.under_way {
            Some(UnderWay::File(id)) => Some(id),
            _ => None,
        };
        let file = self.files.next(self.file_size().file_bytes.max(RECORDS_AT + bytes), taken);
        let id = file.id;
        file.make().and_then(|()| self.files.add(id)).map_err(StorageError::before_any_change)?;
        Ok(id)
    }

    /// Releases stretches that are no longer needed.
    pub(super) fn let_go(
        &mut self,
        stretches: impl IntoIterator<Item = Stretch>,
    ) -> Result<(), StorageError> {
        self.has_room = true;
        for stretch in stretches {
            match stretch.home {
                Home::File(id) if self.under_way != Some(UnderWay::Archive(stretch.head.number)) => {
                    self.files.set_free(id, self.file_size())?;
                }
                // Another thread reads it: it is freed when that thread is done.
                Home::File(_) => {}
                Home::Archive => self.leftovers.push(stretch.head.number),
            }
        }
        Ok(())
    }

    /// The size of files from now on. The first two are small: a new node does not wait for the disk, and a small queue
    /// needs no more.
    fn file_size(&self) -> JournalSize {
        let is_new = self.stretches.back().is_none_or(|newest| newest.head.number == 1);
        let file_bytes = if is_new { FIRST_BYTES.min(self.size.file_bytes) } else { self.size.file_bytes };
        JournalSize { file_bytes, ..self.size }
    }

    /// Frees the files without a needed stretch.
    pub(super) fn free_unused(&mut self) -> Result<(), StorageError> {
        let holds = |id: u32| self.stretches.iter().any(|stretch| stretch.home == Home::File(id));
        let unused: Vec<u32> =
            self.files.slots().iter().map(|slot| slot.id).filter(|id| !holds(*id)).collect();
        let size = self.file_size();
        unused.into_iter().try_for_each(|id| self.files.set_free(id, size))
    }

    /// Keeps one file free, within the maximum number: a full file is followed by another at once.
    fn spare_file(&mut self) -> Option<(UnderWay, Chore)> {
        if !self.has_room || self.files.free(0).is_some() {
            return None;
        }
        if self.files.slots().len() < self.size.files_max {
            let file = self.files.next(self.file_size().file_bytes, None);
            return Some((UnderWay::File(file.id), Chore::new(|| file.make())));
        }
        self.archive_oldest().map(|(number, chore)| (UnderWay::Archive(number), chore))
    }

    /// A chore that archives the oldest stretch in a file, and its number; but not the one that a chore is archiving.
    fn archive_oldest(&mut self) -> Option<(u64, Chore)> {
        let older = self.stretches.len().saturating_sub(1);
        let in_file = |stretch: &Stretch| match stretch.home {
            Home::File(_) if self.under_way == Some(UnderWay::Archive(stretch.head.number)) => None,
            Home::File(id) => Some((id, stretch.head.number, stretch.bytes)),
            Home::Archive => None,
        };
        let (id, number, bytes) = self.stretches.iter().take(older).find_map(in_file)?;
        let (archive, file) = (self.archive.clone(), self.files.lend(id));
        let written = move || archive.write(number, &file?, bytes);
        Some((number, Chore::new(written)))
    }

    /// Takes the result of archiving a stretch: it is done, or there was no space for it.
    fn is_archived(
        &mut self,
        number: u64,
        done: Result<(), StorageError>,
        size: JournalSize,
    ) -> Result<(), StorageError> {
        let file = self.files.returned(number);
        let is_there = self.has_room(done)?;
        let found = self.stretches.iter_mut().find(|stretch| stretch.head.number == number);
        match found {
            Some(_) if !is_there => return Ok(()),
            Some(stretch) => stretch.home = Home::Archive,
            // The stretch was released meanwhile.
            None => self.leftovers.push(number),
        }
        file.map_or(Ok(()), |id| self.files.set_free(id, size))
    }

    fn remove_one(&mut self) -> Option<(UnderWay, Chore)> {
        let number = self.leftovers.pop()?;
        let archive = self.archive.clone();
        Some((UnderWay::Remove(number), Chore::new(move || archive.remove(number))))
    }
}
