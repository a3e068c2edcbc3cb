//! Frames: where one message ends and the next begins.
//!
//! A frame is a header of 12 bytes and a payload, little-endian:
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 0 to 3 | length `u32` | bytes that follow this field: 8 and the payload |
//! | 4 | opcode `u8` | which message |
//! | 5 | flags `u8` | sent as 0, ignored when read |
//! | 6 | group `u8` | sent as 0 |
//! | 7 | reserved `u8` | sent as 0, ignored when read |
//! | 8 to 11 | request id `u32` | matches answers to requests |
//!
//! **Memory.** [`FrameDecoder`] never allocates by the value of a length field: the driver reads into a buffer
//! of its own, which [`FrameDecoder::prepare`] grows in bounded steps, as bytes really arrive. A payload, and
//! the values decoded from it (topics, keys, attributes, bodies), are slices of that buffer and keep all of
//! it alive. **Code that keeps a piece for longer than it takes to handle the frame copies it**: on the server the log
//! entry and the body store, in a client the user who collects jobs (`Bytes::copy_from_slice`).

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::RequestId;
use super::error::{ErrorCode, ErrorReply};
use adjourn_types::GroupId;
use adjourn_types::limits::{BODY_BYTES_CEILING, FRAME_OVERHEAD_BYTES_MAX};

/// Bytes of a frame before its payload.
pub const HEADER_BYTES: usize = 12;
/// The bytes of the header that the length field counts.
const COUNTED_HEADER_BYTES: usize = HEADER_BYTES - LENGTH_BYTES;
const LENGTH_BYTES: usize = 4;
/// The least free room in a buffer for a read.
const READ_BYTES_MIN: usize = 4 << 10;
/// The most by which a buffer grows before more bytes have arrived.
const READ_BYTES_STEP: usize = 64 << 10;

/// The largest length field that a server with this setting accepts once HELLO has succeeded.
pub fn frame_bytes_max(body_bytes_max: usize) -> u32 {
    let body_bytes_max = body_bytes_max.min(BODY_BYTES_CEILING);
    u32::try_from(body_bytes_max + FRAME_OVERHEAD_BYTES_MAX).unwrap_or(u32::MAX)
}

/// The header before each payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes after the length field.
    pub length: u32,
    /// The message.
    pub opcode: u8,
    /// No flag is known yet: ignored.
    pub flags: u8,
    /// The group of the message.
    pub group: GroupId,
    /// Matches answers to requests.
    pub id: RequestId,
}

/// One received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The header before the payload.
    pub header: FrameHeader,
    /// The payload, a slice of the buffer that it was read into.
    pub payload: Bytes,
}

/// The end of a frame cannot be found, or is too far away: answer with an ERROR and close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length does not even cover the header.
    #[error("a frame of length {length}: the least is {COUNTED_HEADER_BYTES}")]
    TooShort {
        /// The value of the length field.
        length: u32,
    },
    /// The length is over the maximum. The payload was not read.
    #[error("a frame of length {length}: the most is {max}")]
    TooLarge {
        /// The value of the length field.
        length: u32,
        /// The limit.
        max: u32,
        /// The frame's request id.
        id: RequestId,
    },
}

/// Splits a stream of bytes into frames.
#[derive(Clone, Copy, Debug)]
pub struct FrameDecoder {
    frame_bytes_max: u32,
}

impl FrameHeader {
    /// Decodes a header if `bytes` contain one. It is not checked: [`FrameDecoder`] does that.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let ([opcode, flags, group, _reserved], rest) = rest.split_first_chunk()?;
        let (id, _) = rest.split_first_chunk()?;
        Some(Self {
            length: u32::from_le_bytes(*length),
            opcode: *opcode,
            flags: *flags,
            group: GroupId(*group),
            id: RequestId(u32::from_le_bytes(*id)),
        })
    }
}

impl FrameError {
    /// The error code for the peer.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TooShort { .. } => ErrorCode::Malformed,
            Self::TooLarge { .. } => ErrorCode::TooLarge,
        }
    }

    /// The request id of the ERROR; 0 if the frame's own is not known.
    pub fn id(&self) -> RequestId {
        match self {
            Self::TooShort { .. } => RequestId(0),
            Self::TooLarge { id, .. } => *id,
        }
    }
}

impl From<FrameError> for ErrorReply {
    fn from(error: FrameError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl FrameDecoder {
    /// A decoder that accepts frames with a length field of at most `frame_bytes_max`.
    pub fn new(frame_bytes_max: u32) -> Self {
        Self { frame_bytes_max }
    }

    /// Changes the maximum from the next frame on, after HELLO has succeeded.
    pub fn set_frame_bytes_max(&mut self, frame_bytes_max: u32) {
        self.frame_bytes_max = frame_bytes_max;
    }

    /// Takes the next frame out of `buffer`, or `None` until more has arrived. A buffer that is not empty then
    /// holds a frame that was started and must be completed in time.
    ///
    /// An error is final: the bytes stay in the buffer, and the connection must be closed.
    pub fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        let Some((length, _)) = buffer.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length);
        if (length as usize) < COUNTED_HEADER_BYTES {
            return Err(FrameError::TooShort { length });
        }
        let Some(header) = FrameHeader::read(buffer) else { return Ok(None) };
        if length > self.frame_bytes_max {
            return Err(FrameError::TooLarge { length, max: self.frame_bytes_max, id: header.id });
        }
        let whole_bytes = LENGTH_BYTES.saturating_add(length as usize);
        if buffer.len() < whole_bytes {
            return Ok(None);
        }
        let mut payload = buffer.split_to(whole_bytes).freeze();
        payload.advance(HEADER_BYTES);
        Ok(Some(Frame { header, payload }))
    }

    /// How many bytes of the started frame are missing; `None` while its header is incomplete.
    pub fn missing(&self, buffer: &BytesMut) -> Option<usize> {
        let header = FrameHeader::read(buffer)?;
        let length = header.length.min(self.frame_bytes_max) as usize;
        Some((LENGTH_BYTES + length).saturating_sub(buffer.len()))
    }

    /// Makes room in `buffer` for the next read: for the rest of the frame that was started, but never for more
    /// than a bounded step beyond what has arrived.
    pub fn prepare(&self, buffer: &mut BytesMut) {
        let wanted = self.missing(buffer).unwrap_or(READ_BYTES_MIN);
        buffer.reserve(wanted.clamp(READ_BYTES_MIN, READ_BYTES_STEP));
    }
}

/// Appends one frame to `out`; `payload` writes the part after the header. Returns the frame's bytes.
pub(super) fn write(
    out: &mut BytesMut,
    opcode: u8,
    id: RequestId,
    payload: impl FnOnce(&mut BytesMut),
) -> usize {
    let start = out.len();
    let [i0, i1, i2, i3] = id.0.to_le_bytes();
    out.put_slice(&[0, 0, 0, 0, opcode, 0, 0, 0, i0, i1, i2, i3]);
    payload(out);
    let whole_bytes = out.len() - start;
    let length = u32::try_from(whole_bytes - LENGTH_BYTES).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(start..start + LENGTH_BYTES) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    whole_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u32 = 100;

    fn frame(length: u32, payload: &[u8]) -> BytesMut {
        let mut bytes = BytesMut::new();
        bytes.put_u32_le(length);
        bytes.put_slice(&[0x02, 0xFF, 0, 0xFF, 7, 0, 0, 0]);
        bytes.put_slice(payload);
        bytes
    }

    fn next(mut buffer: BytesMut) -> Result<Option<Frame>, FrameError> {
        FrameDecoder::new(MAX).next(&mut buffer)
    }

    #[test]
    fn lengths_at_the_edges() {
        for length in 0..8 {
            assert_eq!(next(frame(length, b"")), Err(FrameError::TooShort { length }));
        }
        let empty = next(frame(8, b"")).expect("valid").expect("whole");
        assert_eq!((empty.header.id, empty.header.flags, empty.payload), (RequestId(7), 0xFF, Bytes::new()));
        assert_eq!(next(frame(MAX, &[1; 91])), Ok(None), "a byte is missing");
        let full = next(frame(MAX, &[1; 92])).expect("valid").expect("whole");
        assert_eq!(full.payload.len(), 92);
        for length in [MAX + 1, u32::MAX] {
            let refused = FrameError::TooLarge { length, max: MAX, id: RequestId(7) };
            assert_eq!(next(frame(length, b"")), Err(refused), "refused from its header alone");
        }
    }

    #[test]
    fn frames_follow_each_other_and_the_maximum_may_change() {
        let mut buffer = frame(9, b"a");
        buffer.extend_from_slice(&frame(9, b"b"));
        buffer.extend_from_slice(&frame(10, b"cc"));
        let mut decoder = FrameDecoder::new(9);
        let mut payloads = Vec::new();
        while let Ok(Some(frame)) = decoder.next(&mut buffer) {
            payloads.push(frame.payload);
        }
        assert_eq!(payloads, ["a", "b"]);
        decoder.set_frame_bytes_max(10);
        assert_eq!(decoder.next(&mut buffer).expect("valid").expect("whole").payload, "cc");
        assert!(buffer.is_empty());
    }

    #[test]
    fn the_buffer_grows_by_what_arrives() {
        let decoder = FrameDecoder::new(8 << 20);
        let mut buffer = frame(8 << 20, b"");
        decoder.prepare(&mut buffer);
        assert!(buffer.capacity() <= 2 * READ_BYTES_STEP, "{}", buffer.capacity());
        let mut large = frame((8 << 20) + 1, b"");
        decoder.prepare(&mut large);
        assert!(large.capacity() <= 2 * READ_BYTES_STEP, "{}", large.capacity());
    }
}
