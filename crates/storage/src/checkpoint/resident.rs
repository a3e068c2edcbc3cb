//! The page files of a checkpoint: the entries of resident jobs, one file for each changed page of the engine's
//! slab.
//!
//! Jobs arrive page by page. If the place of a job's row is not known yet, its page waits in memory for the chunk
//! with that row.

use std::collections::BTreeSet;

use super::super::StorageError;
use super::super::chunks::{PageWriter, PagesId, PagesSummary};
use super::super::folder::Folder;
use super::super::records::row;
use adjourn_engine::{Engine, PAGE_SLOTS_MAX, Place};

/// A page file of the newest checkpoint. It stays while nothing on its page changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFile {
    /// The expected content of the file.
    pub summary: PagesSummary,
    /// Chunks with the rows of its jobs.
    chunks: BTreeSet<u32>,
    /// Some of its jobs can be spilled, but could not be this time.
    again: bool,
}

impl PageFile {
    /// The number of its page.
    pub fn page(&self) -> u32 {
        self.summary.id.page
    }

    /// True if an unchanged page must be written again: some of its rows move, or some of its jobs were not spilled.
    fn is_outdated(&self, rewritten: &[u32]) -> bool {
        self.again || rewritten.iter().any(|chunk| self.chunks.contains(chunk))
    }
}

/// Begins to capture the jobs on pages that changed or have rows in `rewritten` chunks. Returns those of the last page
/// files that remain valid.
pub fn begin_capture(engine: &mut Engine, last: &[PageFile], rewritten: &[u32]) -> Vec<PageFile> {
    let outdated = last.iter().filter(|file| file.is_outdated(rewritten)).map(PageFile::page);
    let outdated: BTreeSet<u32> = outdated.collect();
    let unchanged = engine.begin_capture(|page| outdated.contains(&page));
    last.iter().filter(|file| unchanged.contains(&file.page())).cloned().collect()
}

/// Bytes of memory that a page of common jobs takes at most.
pub(super) const PAGE_BYTES_MAX: usize = PAGE_SLOTS_MAX * 96;

/// The page files that a checkpoint writes.
pub(super) struct ResidentPages<F: Folder> {
    folder: F,
    checkpoint: u32,
    /// The page whose jobs are being added.
    open: Option<OpenPage>,
    /// Complete pages that wait for places of rows.
    waiting: Vec<OpenPage>,
    waiting_bytes: usize,
    /// Written pages, kept to reuse their memory.
    spare: Vec<OpenPage>,
    files: Vec<PageFile>,
}

#[derive(Default)]
struct OpenPage {
    page: u32,
    /// For each job its place and the job.
    entries: Vec<u8>,
    /// The end of each entry.
    ends: Vec<usize>,
    /// The entries without a place: where each begins, and the number of its row.
    unplaced: Vec<(u32, u32)>,
    again: bool,
}

/// Where an entry's job has its row.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowAt {
    /// At this place.
    Is(Place),
    /// In the next chunk: its number among the gathered rows.
    Gathered(u32),
}

impl RowAt {
    /// Resolves a gathered row, now that the rows are at `places`.
    pub(super) fn place(&mut self, places: &[Place]) {
        if let Self::Gathered(nth) = *self {
            *self = Self::Is(place_of(places, nth));
        }
    }
}

fn place_of(places: &[Place], nth: u32) -> Place {
    places.get(nth as usize).copied().unwrap_or_else(|| unreachable!("its row was gathered before it"))
}

impl<F: Folder> ResidentPages<F> {
    pub(super) fn new(folder: F, checkpoint: u32) -> Self {
        let (waiting, spare, files) = (Vec::new(), Vec::new(), Vec::new());
        Self { folder, checkpoint, open: None, waiting, waiting_bytes: 0, spare, files }
    }

    /// Adds a job to a page. With `again`, the next checkpoint writes the page again.
    pub(super) fn enter(
        &mut self,
        page: u32,
        saved: &[u8],
        row_at: RowAt,
        again: bool,
    ) -> Result<(), StorageError> {
        if self.open.as_ref().is_none_or(|open| open.page != page) {
            self.close()?;
        }
        let spare = &mut self.spare;
        let open = self.open.get_or_insert_with(|| OpenPage { page, ..spare.pop().unwrap_or_default() });
        open.again |= again;
        open.push(saved, row_at);
        Ok(())
    }

    /// Memory that the waiting pages take, in bytes.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Tells the pages the places of all gathered rows, and writes the pages that waited for them.
    pub(super) fn place(&mut self, places: &[Place]) -> Result<(), StorageError> {
        self.waiting_bytes = 0;
        if let Some(open) = &mut self.open {
            open.place(places);
        }
        for mut waiting in std::mem::take(&mut self.waiting) {
            waiting.place(places);
            self.write(waiting)?;
        }
        Ok(())
    }

    /// The written files, durable except for their names. No page may be waiting.
    pub(super) fn finish(mut self) -> Result<Vec<PageFile>, StorageError> {
        self.close()?;
        debug_assert!(self.waiting.is_empty(), "every row is in a chunk");
        Ok(self.files)
    }

    fn close(&mut self) -> Result<(), StorageError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if open.unplaced.is_empty() {
            return self.write(open);
        }
        self.waiting_bytes += open.memory_bytes();
        self.waiting.push(open);
        Ok(())
    }

    fn write(&mut self, mut page: OpenPage) -> Result<(), StorageError> {
        let id = PagesId { checkpoint: self.checkpoint, page: page.page };
        let mut writer = PageWriter::create(&self.folder, id)?;
        let mut chunks = BTreeSet::new();
        let mut last = None;
        for entry in page.entries() {
            let chunk = entry_place(entry).and_then(row).map(|(chunk, _)| chunk);
            if chunk != last {
                chunks.extend(chunk);
                last = chunk;
            }
            writer.push(entry)?;
        }
        self.files.push(PageFile { summary: writer.finish()?, chunks, again: page.again });
        page.clear();
        self.spare.push(page);
        Ok(())
    }
}

impl OpenPage {
    fn push(&mut self, saved: &[u8], row_at: RowAt) {
        let place = match row_at {
            RowAt::Is(place) => place,
            RowAt::Gathered(nth) => {
                let begin = u32::try_from(self.entries.len()).expect("a page has far fewer bytes than 4 GiB");
                self.unplaced.push((begin, nth));
                Place(0)
            }
        };
        self.entries.extend_from_slice(&place.0.to_le_bytes());
        self.entries.extend_from_slice(saved);
        self.ends.push(self.entries.len());
    }

    fn place(&mut self, places: &[Place]) {
        for (begin, nth) in self.unplaced.drain(..) {
            if let Some(place) = self.entries.get_mut(begin as usize..).and_then(<[u8]>::first_chunk_mut::<8>)
            {
                *place = place_of(places, nth).0.to_le_bytes();
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = &[u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).filter_map(|(begin, end)| self.entries.get(begin..*end))
    }

    /// Clears it, but keeps the memory for the next page.
    fn clear(&mut self) {
        self.entries.clear();
        self.ends.clear();
        self.again = false;
    }

    fn memory_bytes(&self) -> usize {
        let unplaced = self.unplaced.capacity() * size_of::<(u32, u32)>();
        self.entries.capacity() + self.ends.capacity() * size_of::<usize>() + unplaced
    }
}

/// The place that an entry begins with.
fn entry_place(entry: &[u8]) -> Option<Place> {
    entry.first_chunk().map(|place| Place(u64::from_le_bytes(*place)))
}
