//! The decoder of frames between nodes over arbitrary bytes: nothing panics, and what is accepted survives being encoded
//! and decoded again. Once as they are, and once as the payload of a frame whose length and checksum are right.
#![no_main]

use adjourn_server::peers::frames::{PeerDecoder, PeerFrame, VERSION, VERSION_MIN};
use adjourn_types::limits::PEER_FRAME_BYTES_MAX;
use bytes::{BufMut as _, BytesMut};
use libfuzzer_sys::fuzz_target;

// The first byte is the kind; with its highest bit set, magic and versions stand before the rest.
fuzz_target!(|input: &[u8]| {
    let _ = decode(&mut BytesMut::from(input));
    let Some((kind, payload)) = input.split_first() else { return };
    let mut greeting = BytesMut::new();
    if kind & 0x80 != 0 {
        greeting.put_slice(b"ADJPEERS");
        greeting.put_u16_le(VERSION_MIN);
        greeting.put_u16_le(VERSION);
    }
    greeting.put_slice(payload);
    let mut frame = BytesMut::new();
    frame.put_u32_le(u32::try_from(greeting.len() + 5).expect("short"));
    frame.put_u8(kind & 0x7f);
    frame.put_slice(&greeting);
    let crc = crc32c::crc32c(&frame);
    frame.put_u32_le(crc);
    if let Some(accepted) = decode(&mut frame) {
        let mut again = BytesMut::new();
        accepted.encode(&mut again);
        assert_eq!(decode(&mut again), Some(accepted));
    }
});

fn decode(bytes: &mut BytesMut) -> Option<PeerFrame> {
    PeerDecoder::with_bytes_max(PEER_FRAME_BYTES_MAX).next(bytes).ok().flatten()
}
