//! Reads the records of a stretch, one after the other, from a file or from the archive.

use bytes::Bytes;

use super::super::folder::FolderFile;
use super::super::{LogBase, StorageError};
use super::layout::{Body, HEADER_BYTES, Header, Point, RECORD_MAGIC, RECORDS_AT, RecordError};

/// Bytes read at once.
const WINDOW_BYTES: usize = 256 << 10;

/// Reads records from a point on.
pub(crate) struct Cursor<'a> {
    source: &'a dyn FolderFile,
    salt: u32,
    point: Point,
    /// Bytes that were read of the source, from `window_at` on.
    window: Bytes,
    window_at: u64,
}

impl<'a> Cursor<'a> {
    /// Reads `source` from `point` on.
    pub(crate) fn new(source: &'a dyn FolderFile, salt: u32, point: Point) -> Self {
        Self { source, salt, point, window: Bytes::new(), window_at: 0 }
    }

    /// The point that it has reached.
    pub(crate) fn point(&self) -> Point {
        self.point
    }

    /// The next record; or why no record continues the last one.
    pub(crate) fn next(&mut self) -> Result<Result<Body, RecordError>, StorageError> {
        let Point { offset, sequence, chain, end } = self.point;
        let header = self.bytes(offset, HEADER_BYTES)?;
        let Some(header) = header.first_chunk().and_then(|header| Header::decode(self.salt, header)) else {
            return Ok(Err(RecordError::Checksum));
        };
        if header.sequence != sequence || header.chain != chain {
            return Ok(Err(RecordError::Chain));
        }
        let bytes = self.bytes(offset + HEADER_BYTES as u64, header.length)?;
        let body = match header.body(self.salt, &bytes) {
            Ok(body) if body.before.is_some_and(|before| before != end) => Err(RecordError::Chain),
            read => read,
        };
        if let Ok(body) = &body {
            self.point = Point {
                offset: offset + (HEADER_BYTES + header.length) as u64,
                sequence: sequence + 1,
                chain: header.crc,
                end: body.entries.iter().fold(end, LogBase::after),
            };
        }
        Ok(body)
    }

    /// `bytes` bytes at `offset`, or fewer at the end of the source.
    fn bytes(&mut self, offset: u64, bytes: usize) -> Result<Bytes, StorageError> {
        let within = |cursor: &Self| usize::try_from(offset.checked_sub(cursor.window_at)?).ok();
        if let Some(at) = within(self).filter(|at| at + bytes <= self.window.len()) {
            return Ok(self.window.slice(at..at + bytes));
        }
        // The length may be garbage: allocate no more than the source has.
        let there = self.source.bytes()?.saturating_sub(offset);
        let there = usize::try_from(there).unwrap_or(usize::MAX);
        let mut window = vec![0; bytes.max(WINDOW_BYTES).min(there)];
        let read = self.source.read_at(offset, &mut window)?;
        window.truncate(read);
        (self.window, self.window_at) = (window.into(), offset);
        Ok(self.window.slice(..bytes.min(self.window.len())))
    }
}

/// True if there is an intact record with this sequence, or a later one, anywhere from `offset` on. A record is written
/// after the one before is durable: so it proves that the records before it were there.
pub(crate) fn is_record_beyond(
    source: &dyn FolderFile,
    salt: u32,
    offset: u64,
    sequence: u64,
) -> Result<bool, StorageError> {
    let bytes = source.bytes()?.saturating_sub(offset.max(RECORDS_AT));
    let mut rest = vec![0; usize::try_from(bytes).unwrap_or(0)];
    let read = source.read_at(offset.max(RECORDS_AT), &mut rest)?;
    rest.truncate(read);
    let rest = Bytes::from(rest);
    let mut at = 0;
    let begins = |window: &[u8]| window == RECORD_MAGIC;
    while let Some(found) = rest.get(at..).and_then(|rest| rest.windows(RECORD_MAGIC.len()).position(begins))
    {
        at += found;
        let header = rest.get(at..).and_then(|rest| Header::decode(salt, rest.first_chunk()?));
        if let Some(header) = header.filter(|header| header.sequence >= sequence) {
            let body = at + HEADER_BYTES;
            let end = body.saturating_add(header.length);
            if end <= rest.len() && header.body(salt, &rest.slice(body..end)) != Err(RecordError::Checksum) {
                return Ok(true);
            }
        }
        at += 1;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::super::layout::encode_record;
    use super::*;
    use crate::folder::{Folder as _, SimulatedFolder};

    const SALT: u32 = 7;

    #[test]
    fn a_record_counts_only_where_it_continues_the_one_before() {
        let end = LogBase { index: 4, term: 2, crc: 9 };
        let first = Point { offset: RECORDS_AT, sequence: 10, chain: 1, end };
        let mut bytes = Vec::new();
        let second = encode_record(SALT, first, 4, None, &[], &mut bytes);
        let after = |point: Point| {
            let mut record = Vec::new();
            encode_record(SALT, point, 4, None, &[], &mut record);
            let mut file = vec![0; usize::try_from(RECORDS_AT).expect("small")];
            file.extend_from_slice(&bytes);
            file.extend_from_slice(&record);
            let folder = SimulatedFolder::new(0);
            folder.put("f", file);
            let file = folder.open("f").expect("no fault").expect("it is there");
            let mut cursor = Cursor::new(&file, SALT, first);
            assert!(cursor.next().expect("no fault").is_ok());
            let next = cursor.next().expect("no fault").map(|_| ());
            assert_eq!(cursor.point().sequence, if next.is_ok() { 12 } else { 11 });
            next
        };
        assert_eq!(after(second), Ok(()));
        // A record between them is missing; it is an old one; it continues another record of the same number.
        for wrong in [
            Point { sequence: second.sequence + 1, ..second },
            Point { sequence: first.sequence, ..second },
            Point { chain: second.chain ^ 1, ..second },
        ] {
            assert_eq!(after(wrong), Err(RecordError::Chain), "{wrong:?}");
        }
    }
}
