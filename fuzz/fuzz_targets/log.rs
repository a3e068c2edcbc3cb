//! The decoders of the log over arbitrary bytes: they never panic, and what they accept survives being encoded and
//! decoded again. The first byte says which: an entry; or a head, a watermark or records of the journal, as they are
//! and with their checksums made right.
#![no_main]

use adjourn_engine::Entry;
use adjourn_engine::entry::EntryBuilder;
use adjourn_storage::LogBase;
use adjourn_storage::journal::layout::{self, BLOCK_BYTES, HEADER_BYTES, Head, Header, Point, Watermark};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

const SALT: u32 = 0xAD10;
/// Bytes of a head and of a watermark before their checksums.
const HEAD_BYTES: usize = 76;
const WATERMARK_BYTES: usize = 40;
/// Where the length of a record stands in its header, and where the checksum of its body.
const LENGTH_AT: usize = 16;
const BODY_CRC_AT: usize = 24;
const HEADER_CRC_AT: usize = 28;

fuzz_target!(|input: &[u8]| match input.split_first() {
    Some((b'h', block)) => head(block),
    Some((b'w', block)) => watermark(block),
    Some((b'r', pieces)) => records(pieces),
    _ => entry(input),
});

fn entry(input: &[u8]) {
    if let Ok(entry) = Entry::decode(input) {
        let mut builder = EntryBuilder::default();
        for command in &entry.commands {
            builder.push(command);
        }
        let bytes = builder.finish(entry.stamp);
        assert_eq!(Entry::decode(&bytes), Ok(entry));
    }
}

fn head(block: &[u8]) {
    // As it is: nearly always a wrong checksum. Made right: everything behind the checksum is reached.
    let _ = Head::decode(SALT, block);
    let Some(sealed) = sealed(block, HEAD_BYTES) else { return };
    if let Some(head) = Head::decode(SALT, &sealed) {
        assert_eq!(head.encode(SALT), sealed);
    }
}

fn watermark(block: &[u8]) {
    let _ = Watermark::decode(SALT, block);
    let Some(sealed) = sealed(block, WATERMARK_BYTES) else { return };
    if let Some(watermark) = Watermark::decode(SALT, &sealed) {
        assert_eq!(watermark.encode(SALT), sealed);
    }
}

/// The block of these first `covered` bytes, with a right checksum behind them.
fn sealed(block: &[u8], covered: usize) -> Option<Vec<u8>> {
    let mut bytes = block.get(..covered)?.to_vec();
    bytes.extend_from_slice(&crc32c::crc32c_append(SALT, &bytes).to_le_bytes());
    bytes.resize(BLOCK_BYTES, 0);
    Some(bytes)
}

/// Records one after the other, each with its length in two bytes before it.
fn records(mut pieces: &[u8]) {
    while let Some((length, rest)) = pieces.split_first_chunk() {
        let (piece, rest) = rest.split_at(rest.len().min(u16::from_le_bytes(*length).into()));
        pieces = rest;
        record(piece);
        if let Some(right) = with_checksums(piece) {
            record(&right);
        }
    }
}

fn record(bytes: &[u8]) {
    let Some((header, body)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return };
    let Some(header) = Header::decode(SALT, header) else { return };
    let Ok(read) = header.body(SALT, &Bytes::copy_from_slice(body)) else { return };
    let Header { sequence, chain, .. } = header;
    if sequence == u64::MAX {
        return;
    }
    let end = read.before.unwrap_or(LogBase { index: 0, term: 0, crc: 0 });
    let point = Point { offset: 0, sequence, chain, end };
    let mut again = Vec::new();
    let next = layout::encode_record(SALT, point, read.commit, read.vote, &read.entries, &mut again);
    assert_eq!((next.sequence, next.offset), (sequence + 1, again.len() as u64));
    assert_eq!(next.end.index, end.index + read.entries.len() as u64);
    assert_eq!(again.len(), layout::record_bytes(read.vote, &read.entries));
    assert_eq!(again.len(), bytes.len(), "no byte was passed over");
    let (header, body) = again.split_first_chunk::<HEADER_BYTES>().expect("a record");
    let header = Header::decode(SALT, header).expect("what was written");
    assert_eq!(header.body(SALT, &Bytes::copy_from_slice(body)), Ok(read));
}

fn with_checksums(piece: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = piece.to_vec();
    let (header, body) = bytes.split_at_mut_checked(HEADER_BYTES)?;
    let length = u32::try_from(body.len()).ok()?;
    header[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&length.to_le_bytes());
    header[BODY_CRC_AT..HEADER_CRC_AT].copy_from_slice(&crc32c::crc32c_append(SALT, body).to_le_bytes());
    let crc = crc32c::crc32c_append(SALT, &header[..HEADER_CRC_AT]);
    header[HEADER_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    Some(bytes)
}
