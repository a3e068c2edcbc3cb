//! The response decoder over any opcode and payload: it never panics, and what it accepts survives being encoded
//! and decoded again.
#![no_main]

use adjourn_protocol::{Frame, FrameDecoder, FrameHeader, RequestId, Response};
use adjourn_types::GroupId;
use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;

// The first byte is the opcode, the rest the payload.
fuzz_target!(|input: &[u8]| {
    let Some((opcode, payload)) = input.split_first() else { return };
    let header = FrameHeader { length: 0, opcode: *opcode, flags: 0, group: GroupId(0), id: RequestId(1) };
    let frame = Frame { header, payload: Bytes::copy_from_slice(payload) };
    match Response::decode(&frame) {
        Ok(response) => {
            let mut out = BytesMut::new();
            response.encode(RequestId(1), &mut out);
            let again = FrameDecoder::new(u32::MAX).next(&mut out).expect("valid").expect("whole");
            assert_eq!(Response::decode(&again), Ok(response));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
