//! The journal: files of a fixed size that are overwritten in turn. A commit is one write and one sync.
//!
//! A file holds one **stretch** of the log at a time: a head and the records of commits. The file was filled with zeros
//! and synced before its first use, so a write changes only its blocks, and a sync waits for no metadata of the file
//! system. [`log`](super::log) decides which stretch goes into which file.

use super::StorageError;
use super::folder::{FixedFile as _, FolderFile, FolderWriter as _, JournalFolder};
use layout::{BLOCK_BYTES, Head, RECORDS_AT, WATERMARK_AT, Watermark};

pub mod layout;
pub(super) mod reader;

/// Bytes that are written at once to fill a new file.
const FILL_BYTES: usize = 1 << 20;
/// Prefix of the name of a file.
const PREFIX: &str = "journal-";

/// How much space a journal takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalSize {
    /// The size of a file. The first two files of a new log have 1 MiB at most; a commit that needs more than `file_bytes`
    /// gets a larger file.
    pub file_bytes: u64,
    /// From this number of files on, the oldest stretches are archived. There are at most twice as many files, unless the
    /// disk has no room for the archive.
    pub files_max: usize,
}

impl Default for JournalSize {
    fn default() -> Self {
        Self { file_bytes: 8 << 20, files_max: 16 }
    }
}

/// The files of a journal, and the watermark in one of them.
pub(super) struct Files<F: JournalFolder> {
    folder: F,
    salt: u32,
    slots: Vec<Slot<F>>,
    /// The newest watermark that this process wrote, and the file that has it.
    watermark: Option<(u32, Watermark)>,
}

/// One file.
pub(super) struct Slot<F: JournalFolder> {
    /// Its number, from 0.
    pub(super) id: u32,
    pub(super) file: F::Fixed,
    /// Its length.
    pub(super) bytes: u64,
    /// The head in it; `None` if that cannot be read.
    pub(super) head: Option<Head>,
    /// True if nothing in it is needed.
    pub(super) is_free: bool,
    /// True while another thread reads it: then nothing is written to it.
    is_lent: bool,
}

impl<F: JournalFolder> Slot<F> {
    /// The number of its stretch; 0 for none.
    fn number(&self) -> u64 {
        self.head.map_or(0, |head| head.number)
    }

    /// Makes its readable content durable, and reads the head again.
    fn settle(&mut self, folder: &F, salt: u32) -> Result<(), StorageError> {
        folder.settle(&name(self.id))?;
        self.head = read_head(&self.file, salt)?;
        self.bytes = self.file.bytes()?;
        Ok(())
    }
}

impl<F: JournalFolder> Files<F> {
    /// A journal without files.
    pub(super) fn none(folder: F, salt: u32) -> Self {
        Self { folder, salt, slots: Vec::new(), watermark: None }
    }

    /// Opens every file. Makes the newest one durable, and those that were never used: only they may hold unsynced data,
    /// because a file's head is written when the last record of the file before is durable.
    pub(super) fn open(folder: F, salt: u32) -> Result<Self, StorageError> {
        let mut files = Self::none(folder, salt);
        for name in files.folder.list()? {
            let Some(id) = name.strip_prefix(PREFIX).and_then(|id| id.parse().ok()) else { continue };
            files.add(id)?;
        }
        // The process that made an unused file may have failed to sync it.
        for slot in files.slots.iter_mut().filter(|slot| slot.number() == 0) {
            slot.settle(&files.folder, salt)?;
        }
        while let Some(newest) = files.slots.iter_mut().max_by_key(|slot| slot.number()) {
            let before = newest.head;
            newest.settle(&files.folder, salt)?;
            if newest.head == before {
                break;
            }
        }
        Ok(files)
    }

    pub(super) fn slots(&self) -> &[Slot<F>] {
        &self.slots
    }

    /// Opens a file for another thread to read. Nothing is written to it until it is [returned](Self::returned).
    pub(super) fn lend(&mut self, id: u32) -> Result<F::File, StorageError> {
        let file = self.folder.existing(&name(id))?;
        self.slot_mut(id).is_lent = true;
        Ok(file)
    }

    /// Ends the loan of the file with this stretch. Returns the number of the file.
    pub(super) fn returned(&mut self, number: u64) -> Option<u32> {
        let slot = self.slots.iter_mut().find(|slot| slot.number() == number)?;
        slot.is_lent = false;
        Some(slot.id)
    }

    /// The file of this number.
    pub(super) fn slot(&self, id: u32) -> &Slot<F> {
        let found = self.slots.iter().find(|slot| slot.id == id);
        found.unwrap_or_else(|| unreachable!("journal file {id} is in use"))
    }

    fn slot_mut(&mut self, id: u32) -> &mut Slot<F> {
        let found = self.slots.iter_mut().find(|slot| slot.id == id);
        found.unwrap_or_else(|| unreachable!("journal file {id} is in use"))
    }

    /// A free file with room for `bytes` bytes of records.
    pub(super) fn free(&self, bytes: u64) -> Option<u32> {
        let fits = |slot: &&Slot<F>| slot.is_free && slot.bytes >= RECORDS_AT + bytes;
        self.slots.iter().find(fits).map(|slot| slot.id)
    }

    /// Frees a file with nothing needed in it. Removes it if it has another size than `size` says, or if there are too
    /// many files. A watermark in it is first made durable in another file.
    pub(super) fn set_free(&mut self, id: u32, size: JournalSize) -> Result<(), StorageError> {
        let goes = self.slot(id).bytes != size.file_bytes || self.slots.len() > size.files_max;
        if !goes {
            self.slot_mut(id).is_free = true;
            return Ok(());
        }
        self.slots.retain(|slot| slot.id != id);
        if let Some((_, watermark)) = self.watermark.take_if(|(holder, _)| *holder == id) {
            self.write_watermark(watermark)?;
        }
        self.folder.remove(&name(id))
    }

    /// A new file with a number other than `other`; it is not one of the files until it is [added](Self::add).
    pub(super) fn next(&self, bytes: u64, other: Option<u32>) -> NewFile<F> {
        let is_new = |id: &u32| Some(*id) != other && self.slots.iter().all(|slot| slot.id != *id);
        let id = (0..u32::MAX).find(is_new).unwrap_or(u32::MAX);
        NewFile { folder: self.folder.clone(), salt: self.salt, id, bytes }
    }

    /// Opens a file.
    pub(super) fn add(&mut self, id: u32) -> Result<(), StorageError> {
        let Some(file) = self.folder.overwrite(&name(id))? else { return Ok(()) };
        let bytes = file.bytes()?;
        let head = read_head(&file, self.salt)?;
        self.slots.push(Slot { id, file, bytes, head, is_free: false, is_lent: false });
        Ok(())
    }

    /// Begins a stretch in a free file. Durable when it returns.
    pub(super) fn begin(&mut self, id: u32, head: Head) -> Result<(), StorageError> {
        let block = head.encode(self.salt);
        let slot = self.slot_mut(id);
        slot.file.write_at(0, &block)?;
        slot.file.sync()?;
        (slot.head, slot.is_free) = (Some(head), false);
        Ok(())
    }

    /// The newest watermark in any file; `None` if there is none. It may not be durable.
    pub(super) fn found_watermark(&self) -> Result<Option<Watermark>, StorageError> {
        let mut newest: Option<Watermark> = None;
        for slot in &self.slots {
            let mut block = [0; BLOCK_BYTES];
            slot.file.read_at(WATERMARK_AT, &mut block)?;
            let found = Watermark::decode(self.salt, &block);
            newest = newest.into_iter().chain(found).max_by_key(Watermark::order);
        }
        Ok(newest)
    }

    /// The newest watermark that this process wrote. It is durable.
    pub(super) fn watermark(&self) -> Option<Watermark> {
        self.watermark.map(|(_, watermark)| watermark)
    }

    /// Writes the watermark. Durable when it returns. It goes into another file than the newest stretch if there is one, so
    /// that the loss of either file is noticed. With a third file, it does not overwrite the watermark before, which then
    /// survives a torn write.
    pub(super) fn write_watermark(&mut self, watermark: Watermark) -> Result<(), StorageError> {
        let newest = self.slots.iter().map(Slot::number).max();
        let holder = self.watermark.map(|(holder, _)| holder);
        let unfit = |slot: &&Slot<F>| (Some(slot.number()) == newest, Some(slot.id) == holder);
        let Some(slot) = self.slots.iter().filter(|slot| !slot.is_lent).min_by_key(unfit) else {
            return Ok(());
        };
        let Slot { id, file, .. } = slot;
        file.write_at(WATERMARK_AT, &watermark.encode(self.salt))?;
        file.sync()?;
        self.watermark = Some((*id, watermark));
        Ok(())
    }
}

/// A file that is to be made.
#[derive(Debug)]
pub(super) struct NewFile<F> {
    folder: F,
    salt: u32,
    pub(super) id: u32,
    bytes: u64,
}

impl<F: JournalFolder> NewFile<F> {
    /// Makes it, with its name. Durable when it returns.
    pub(super) fn make(self) -> Result<(), StorageError> {
        let name = name(self.id);
        let made = || -> Result<(), StorageError> {
            let mut file = self.folder.create(&name)?;
            let mut next = Head::unused().encode(self.salt);
            let mut left = self.bytes;
            while left > 0 {
                next.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                file.append(&next)?;
                left -= next.len() as u64;
                next = vec![0; FILL_BYTES.min(usize::try_from(left).unwrap_or(usize::MAX))];
            }
            file.sync()?;
            self.folder.sync()
        };
        made().inspect_err(|error| {
            if error.is_shortage_or_late() {
                // If this fails, the next start finds a file that it can use.
                let _ = self.folder.remove(&name);
            }
        })
    }
}

fn name(id: u32) -> String {
    format!("{PREFIX}{id:02}")
}

fn read_head<T: FolderFile>(file: &T, salt: u32) -> Result<Option<Head>, StorageError> {
    let mut block = [0; BLOCK_BYTES];
    file.read_at(0, &mut block)?;
    Ok(Head::decode(salt, &block))
}
