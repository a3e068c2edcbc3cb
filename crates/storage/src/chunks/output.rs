//! A file while it is written: in pieces with a sync after each, under a temporary name, hashed on the way.

use xxhash_rust::xxh3::Xxh3;

use super::super::StorageError;
use super::super::folder::{Folder, FolderFile, FolderWriter as _};
use super::NEW;

/// Bytes that are written and synced at once: few enough that a log on the same disk never waits long.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// A file that is being written.
pub(super) struct Output<F: Folder> {
    folder: F,
    name: String,
    writer: F::Writer,
    /// Bytes not written yet: less than a piece.
    buffer: Vec<u8>,
    hasher: Box<Xxh3>,
    bytes: u64,
}

impl<F: Folder> Output<F> {
    /// Begins a file that will have this name.
    pub(super) fn create(folder: &F, name: String) -> Result<Self, StorageError> {
        let writer = folder.create(&format!("{name}{NEW}"))?;
        let hasher = Box::new(Xxh3::new());
        Ok(Self { folder: folder.clone(), name, writer, buffer: Vec::new(), hasher, bytes: 0 })
    }

    /// Adds bytes at the end.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> Result<(), StorageError> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        while self.buffer.len() + bytes.len() >= PIECE_BYTES {
            let (now, later) = bytes.split_at(PIECE_BYTES - self.buffer.len());
            self.buffer.extend_from_slice(now);
            self.write_piece()?;
            bytes = later;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Bytes that were put so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// XXH3, 128 bits, of the bytes that were put so far.
    pub(super) fn hash(&self) -> u128 {
        self.hasher.digest128()
    }

    /// Makes the file's data durable. Nothing may be put after it.
    pub(super) fn seal(&mut self) -> Result<(), StorageError> {
        if self.buffer.is_empty() { Ok(()) } else { self.write_piece() }
    }

    /// Makes the file durable and renames it; a sync of the folder makes the name durable.
    pub(super) fn finish(mut self) -> Result<(), StorageError> {
        self.seal()?;
        self.folder.rename(&format!("{}{NEW}", self.name), &self.name)
    }

    fn write_piece(&mut self) -> Result<(), StorageError> {
        self.writer.append(&self.buffer)?;
        self.writer.sync()?;
        self.buffer.clear();
        Ok(())
    }
}

/// Writes the content of `source` to the file `name`, from beginning to end; as durable as after
/// [`Output::finish`]. `progress` is told how many bytes were written since the last time.
pub(crate) fn copy<F: Folder>(
    folder: &F,
    name: &str,
    source: &impl FolderFile,
    mut progress: impl FnMut(u64),
) -> Result<(), StorageError> {
    let mut output = Output::create(folder, name.to_owned())?;
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let read = source.read_at(output.bytes(), &mut buffer)?;
        output.put(buffer.get(..read).unwrap_or_default())?;
        progress(read as u64);
        if read < PIECE_BYTES {
            return output.finish();
        }
    }
}
