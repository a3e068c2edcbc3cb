//! Frames through the server's own codec, from JSON and to JSON.

use adjourn_protocol::{DecodeError, ErrorCode, Frame, FrameDecoder, Request, Response};
use adjourn_types::limits::BODY_BYTES_CEILING;
use bytes::BytesMut;
use serde_json::{Value, json};

use super::layout::{Side, layouts};
use super::wire::{self, Newer};

/// Why the codec refuses a frame: the code that the server would answer, and a text.
pub(crate) type Refused = (ErrorCode, String);

/// The JSON of what the codec reads from these bytes.
pub(crate) fn decode(side: Side, bytes: &[u8]) -> Result<Value, Refused> {
    match there_and_back(side, bytes) {
        Ok(again) => wire::read(side, &again).map_err(|fault| (ErrorCode::Malformed, fault.to_string())),
        Err(Ok(opcode)) => {
            let id = frame_of(bytes)?.header.id.0;
            Ok(json!({ "request_id": id, "opcode": opcode, "fields": {} }))
        }
        Err(Err(refused)) => Err(refused),
    }
}

/// The bytes that the codec makes of this JSON.
pub(crate) fn encode(side: Side, frame: &Value) -> Result<Vec<u8>, Refused> {
    let bytes = wire::write(side, frame, Newer::default());
    let bytes = bytes.map_err(|fault| (ErrorCode::Malformed, fault.to_string()))?;
    there_and_back(side, &bytes)
        .map_err(|why| why.map_or_else(|refused| refused, |_| (ErrorCode::Unsupported, "opcode".to_owned())))
}

/// Decoded, and encoded again; the opcode, if it is a response that nobody knows.
fn there_and_back(side: Side, bytes: &[u8]) -> Result<Vec<u8>, Result<u8, Refused>> {
    let frame = frame_of(bytes).map_err(Err)?;
    let refused = |error: DecodeError| match error {
        DecodeError::Opcode(opcode) if side == Side::Response => Ok(opcode),
        error => Err((error.code(), error.to_string())),
    };
    let mut out = BytesMut::new();
    match side {
        Side::Request => {
            Request::decode(&frame, BODY_BYTES_CEILING).map_err(refused)?.encode(frame.header.id, &mut out)
        }
        Side::Response => Response::decode(&frame).map_err(refused)?.encode(frame.header.id, &mut out),
    };
    Ok(out.to_vec())
}

fn frame_of(bytes: &[u8]) -> Result<Frame, Refused> {
    let mut buffer = BytesMut::from(bytes);
    let frame = FrameDecoder::new(u32::MAX).next(&mut buffer);
    let frame = frame.map_err(|error| (error.code(), error.to_string()))?;
    let frame = frame.filter(|_| buffer.is_empty());
    frame.ok_or_else(|| (ErrorCode::Malformed, "not one whole frame".to_owned()))
}

/// Every frame that the codec knows has a layout, and the other way round.
pub(crate) fn layouts_are_complete() -> Result<(), String> {
    use adjourn_protocol::{RequestOpcode, ResponseOpcode};
    let requests = RequestOpcode::ALL.iter().map(|known| (Side::Request, *known as u8, known.name()));
    let responses = ResponseOpcode::ALL.iter().map(|known| (Side::Response, *known as u8, known.name()));
    let known: Vec<_> = requests.chain(responses).collect();
    let listed: Vec<_> = layouts().iter().map(|one| (one.side, one.opcode, one.name.as_str())).collect();
    let missing = known.iter().filter(|one| !listed.contains(one));
    let foreign = listed.iter().filter(|one| !known.contains(one));
    let wrong: Vec<_> = missing.chain(foreign).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("conformance/frames.txt and the codec: {wrong:?}")) }
}
