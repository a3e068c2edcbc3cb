//! The encoding is stable, and no other bytes are accepted.

#![expect(clippy::indexing_slicing, reason = "lengths are known here")]

use super::*;

const SALT: u32 = 0x5A17;
const BASE: LogBase = LogBase { index: 0x0102, term: 3, crc: 0xC0DE };
const POINT: Point = Point { offset: RECORDS_AT, sequence: 0x0607, chain: 0xABCD, end: BASE };

fn entry(index: u64, term: u64, bytes: usize) -> LogEntry {
    let data: Vec<u8> = (0..=250).cycle().take(bytes).collect();
    LogEntry { index, term, kind: EntryKind::Normal, data: data.into() }
}

fn record(vote: Option<Vote>, entries: &[LogEntry]) -> (Bytes, Point) {
    let mut out = b"what was there before".to_vec();
    let point = encode_record(SALT, POINT, 99, vote, entries, &mut out);
    assert_eq!(out.len(), record_bytes(vote, entries));
    assert_eq!(point.offset, RECORDS_AT + out.len() as u64);
    (out.into(), point)
}

fn read(record: &Bytes) -> Option<Result<Body, RecordError>> {
    let header = Header::decode(SALT, record.first_chunk()?)?;
    let body = record.slice(HEADER_BYTES..record.len().min(HEADER_BYTES + header.length));
    Some(header.body(SALT, &body))
}

#[test]
fn what_is_written_is_read() {
    let vote = Vote { term: 9, vote: 2 };
    let entries = [entry(0x0103, 3, 0), entry(0x0104, 4, 10), entry(0x0105, 4, 100_000)];
    for vote in [None, Some(vote)] {
        for count in 0..=entries.len() {
            let (bytes, point) = record(vote, &entries[..count]);
            let before = (count > 0).then_some(BASE);
            let body = Body { commit: 99, vote, before, entries: entries[..count].to_vec() };
            assert_eq!(read(&bytes), Some(Ok(body)));
            let end = entries[..count].iter().fold(BASE, LogBase::after);
            assert_eq!((point.sequence, point.end), (POINT.sequence + 1, end));
        }
    }
    let head =
        Head { number: 1, sequence: 2, chain: 3, base: BASE, vote: Vote { term: 4, vote: 5 }, commit: 6 };
    assert_eq!(Head::decode(SALT, &head.encode(SALT)), Some(head));
    let watermark = Watermark { number: 1, sequence: 2, index: 3, commit: 4 };
    assert_eq!(Watermark::decode(SALT, &watermark.encode(SALT)), Some(watermark));
}

#[test]
fn the_layout_stays() {
    let (bytes, _) = record(Some(Vote { term: 9, vote: 2 }), &[entry(0x0103, 4, 2)]);
    let header = b"ADJR\x01\0\x03\0\x07\x06\0\0\0\0\0\0\x3B\0\0\0\xCD\xAB\0\0";
    assert_eq!(bytes[..24], header[..]);
    let body = [
        &b"\x63\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"[..],
        b"\x02\x01\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\xDE\xC0\0\0",
        b"\0\x02\0\0\0\x04\0\0\0\0\0\0\0\0\x01",
    ];
    assert_eq!(bytes[HEADER_BYTES..], body.concat());
    assert_eq!(bytes[24..28], crc32c::crc32c_append(SALT, &bytes[HEADER_BYTES..]).to_le_bytes());
    assert_eq!(bytes[28..32], crc32c::crc32c_append(SALT, &bytes[..28]).to_le_bytes());
    let head = Head { number: 1, sequence: 2, chain: 3, base: BASE, vote: Vote::default(), commit: 6 };
    let block = head.encode(SALT);
    assert_eq!(block.len(), BLOCK_BYTES);
    assert_eq!(block[..12], *b"ADJH\x01\0\0\0\x01\0\0\0");
    assert_eq!(block[76..80], crc32c::crc32c_append(SALT, &block[..76]).to_le_bytes());
    let block = Watermark { number: 1, sequence: 2, index: 3, commit: 4 }.encode(SALT);
    assert_eq!(block.len(), BLOCK_BYTES);
    assert_eq!(block[..12], *b"ADJW\x01\0\0\0\x01\0\0\0");
    assert_eq!(block[40..44], crc32c::crc32c_append(SALT, &block[..40]).to_le_bytes());
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let (bytes, _) = record(Some(Vote { term: 9, vote: 2 }), &[entry(0x0103, 4, 60)]);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let read = read(&flipped.into());
        assert!(matches!(read, None | Some(Err(RecordError::Checksum))), "bit {bit}: {read:?}");
    }
    for length in 0..bytes.len() {
        let read = read(&bytes.slice(..length));
        assert!(matches!(read, None | Some(Err(RecordError::Checksum))), "{length} bytes: {read:?}");
    }
    let head = Head { number: 7, ..Head::unused() }.encode(SALT);
    let watermark = Watermark { number: 1, sequence: 2, index: 3, commit: 4 }.encode(SALT);
    for bit in 0..80 * 8 {
        let mut flipped = head.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Head::decode(SALT, &flipped), None, "bit {bit}");
        let mut flipped = watermark.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Watermark::decode(SALT, &flipped).is_none(), bit < 44 * 8, "bit {bit}");
    }
    assert_eq!(Head::decode(SALT, &head[..79]), None);
    assert_eq!(Head::decode(SALT + 1, &head), None, "that of another copy");
}

/// A record with correct checksums over changed bytes.
fn sealed(change: impl FnOnce(&mut [u8])) -> Option<Result<Body, RecordError>> {
    let mut bytes = record(Some(Vote { term: 9, vote: 2 }), &[entry(0x0103, 4, 60)]).0.to_vec();
    change(&mut bytes);
    let body = crc32c::crc32c_append(SALT, &bytes[HEADER_BYTES..]).to_le_bytes();
    bytes[24..28].copy_from_slice(&body);
    let header = crc32c::crc32c_append(SALT, &bytes[..28]).to_le_bytes();
    bytes[28..32].copy_from_slice(&header);
    read(&bytes.into())
}

#[test]
fn nonsense_under_right_checksums_is_refused() {
    assert!(matches!(sealed(|_| ()), Some(Ok(_))));
    assert_eq!(sealed(|record| record[4] = 2), Some(Err(RecordError::Version(2))));
    let malformed: [fn(&mut [u8]); 7] = [
        // Another group, no vote, no entries, an unknown flag.
        |record| record[5] = 1,
        |record| record[6] = 2,
        |record| record[6] = 1,
        |record| record[6] |= 4,
        // The kind, the length and the term of the entry.
        |record| record[76] = 2,
        |record| record[77] += 1,
        |record| record[81] = 2,
    ];
    for (nth, change) in malformed.into_iter().enumerate() {
        assert_eq!(sealed(change), Some(Err(RecordError::Malformed)), "{nth}");
    }
}

#[test]
fn an_entry_continues_all_before_it() {
    let root = LogBase { index: 0, term: 0, crc: 7 };
    let end = [entry(1, 1, 5), entry(2, 1, 6)].iter().fold(root, LogBase::after);
    let others = [
        [entry(1, 1, 5), entry(2, 1, 7)],
        [entry(1, 1, 4), entry(2, 1, 6)],
        [entry(1, 0, 5), entry(2, 1, 6)],
        [entry(1, 1, 5), LogEntry { kind: EntryKind::ConfChange, ..entry(2, 1, 6) }],
    ];
    for other in others {
        assert_ne!(other.iter().fold(root, LogBase::after).crc, end.crc);
    }
    assert_eq!((end.index, end.term), (2, 1));
}
