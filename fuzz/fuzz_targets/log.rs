//! The decoders of the log over arbitrary bytes: they never panic, and what they accept survives being encoded and
//! decoded again. The first byte says which: an entry, or values with their checksums made right.
#![no_main]

use adjourn::engine::Entry;
use adjourn::engine::entry::EntryBuilder;
use adjourn::storage::value::{self, Assembler, HEADER_BYTES, Value};
use libfuzzer_sys::fuzz_target;

/// Where the checksum stands in a value.
const CRC_AT: usize = HEADER_BYTES - 4;

fuzz_target!(|input: &[u8]| match input.split_first() {
    Some((b'v', pieces)) => values(pieces),
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

/// Values one after the other, each with its length in two bytes before it.
fn values(mut pieces: &[u8]) {
    let mut assembler: Option<Assembler> = None;
    while let Some((length, rest)) = pieces.split_first_chunk() {
        let (piece, rest) = rest.split_at(rest.len().min(u16::from_le_bytes(*length).into()));
        pieces = rest;
        // As it is: nearly always a wrong checksum. Made right: everything behind the checksum is reached.
        let _ = Value::decode(piece);
        let sealed = sealed(piece);
        let Ok(read) = Value::decode(&sealed) else { continue };
        let here = || Assembler::new(read.group, read.key.index, read.term, read.previous);
        let Ok(Some(entry)) = assembler.get_or_insert_with(here).take(&read) else { continue };
        if read.key.part == 0 {
            let mut again = Vec::new();
            value::encode(read.group, &entry, read.previous, |_, value| again.push(value));
            assert_eq!(again, [sealed.into_boxed_slice()]);
        }
    }
}

fn sealed(piece: &[u8]) -> Vec<u8> {
    let mut bytes = piece.to_vec();
    if let Some(payload) = piece.get(HEADER_BYTES..) {
        let crc = value::checksum(&piece[..CRC_AT], payload);
        bytes[CRC_AT..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    }
    bytes
}
