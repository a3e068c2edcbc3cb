//! The frame decoder over arbitrary bytes in arbitrary pieces: the pieces make no difference, nothing panics,
//! and the buffer grows by what arrived alone.
#![no_main]

use adjourn_protocol::{Frame, FrameDecoder, FrameError};
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;

const FRAME_BYTES_MAX: u32 = 1 << 20;
/// What `FrameDecoder::prepare` may add to what has arrived, and the buffer's own rounding up.
const ROOM_BYTES_MAX: usize = 256 << 10;

// The first byte says how many bytes each read brings.
fuzz_target!(|input: &[u8]| {
    let Some((piece, stream)) = input.split_first() else { return };
    let whole = decode(stream, stream.len().max(1));
    let pieces = decode(stream, usize::from(*piece).max(1));
    assert_eq!(whole, pieces);
});

fn decode(stream: &[u8], piece_bytes: usize) -> (Vec<Frame>, Option<FrameError>) {
    let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
    let mut buffer = BytesMut::new();
    let mut frames = Vec::new();
    for piece in stream.chunks(piece_bytes) {
        decoder.prepare(&mut buffer);
        assert!(buffer.capacity() <= 2 * stream.len() + ROOM_BYTES_MAX, "{}", buffer.capacity());
        buffer.extend_from_slice(piece);
        loop {
            match decoder.next(&mut buffer) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}
