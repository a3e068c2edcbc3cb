//! Frames through the server's own codec, from JSON and to JSON.

use std::collections::BTreeSet;

use adjourn_generate as schema;
use adjourn_generate::Side;
use adjourn_protocol::{
    ANY_REQUEST, DecodeError, ErrorCode, Frame, FrameDecoder, GoingAway, Repeat, Request, RequestOpcode,
    Response, ResponseOpcode, Role,
};
use adjourn_types::limits::BODY_BYTES_CEILING;
use adjourn_types::{BuryReason, IfExists, JobState, ListOrder, Right, Setting};
use bytes::BytesMut;
use serde_json::{Value, json};

use super::schema::schema;
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

/// What the schema says of requests, responses, errors and settings is what the codec knows.
pub(crate) fn is_as_the_schema_says() -> Result<(), String> {
    let requests = RequestOpcode::ALL.iter().map(|known| {
        let refusals: Vec<&str> = known.refusals().iter().map(|code| code.name()).collect();
        let right = known.right().map(Right::name);
        let repeat = match known.repeat() {
            Repeat::Safe => schema::Repeat::Safe,
            Repeat::SafeById => schema::Repeat::SafeById,
            Repeat::Unsafe => schema::Repeat::Unsafe,
        };
        format!(
            "{} {} {:?} {repeat:?} {right:?} {} {refusals:?}",
            *known as u8,
            known.name(),
            known.answer().name(),
            known.level()
        )
    });
    let said = schema().requests.iter().map(|frame| {
        let answer = frame.answer.as_deref().unwrap_or_default();
        let (repeat, right) = (frame.repeat, frame.right.as_deref());
        format!(
            "{} {} {answer:?} {repeat:?} {right:?} {} {:?}",
            frame.opcode, frame.name, frame.level, frame.errors
        )
    });
    same("requests", requests, said)?;
    let responses = ResponseOpcode::ALL.iter().map(|known| format!("{} {}", *known as u8, known.name()));
    same(
        "responses",
        responses,
        schema().responses.iter().map(|frame| format!("{} {}", frame.opcode, frame.name)),
    )?;
    let errors = ErrorCode::ALL.iter().map(|code| {
        let is_for_any = ANY_REQUEST.contains(code);
        format!("{} {code} {} {is_for_any}", *code as u16, code.retryable())
    });
    let said = schema()
        .errors
        .iter()
        .map(|code| format!("{} {} {} {}", code.number, code.name, code.is_retryable, code.is_for_any));
    same("errors", errors, said)?;
    choices()?;
    let flag = |setting: &Setting| setting.name().replace('_', "-");
    let settings = Setting::ALL.iter().map(|setting| format!("{} {}", *setting as u16, flag(setting)));
    let said = schema().settings.iter();
    same(
        "settings",
        settings,
        said.map(|one| format!("{} {}", one.tag, one.cli.as_deref().unwrap_or_default())),
    )
}

/// Whether a number is one of an enum's.
type IsKnown = fn(u8) -> bool;

/// The enums have the numbers that the schema gives to its choices.
fn choices() -> Result<(), String> {
    let known: [(&str, IsKnown); 6] = [
        ("if_exists", |number| IfExists::from_u8(number).is_some()),
        ("state", |number| JobState::from_u8(number).is_some()),
        ("buried", |number| number == 0 || BuryReason::from_u8(number - 1).is_some()),
        ("order", |number| ListOrder::from_u8(number).is_some()),
        ("role", |number| Role::from_u8(number).is_some()),
        ("going_away", |number| GoingAway::from_u8(number) as u8 == number),
    ];
    for (name, is_known) in known {
        let choice = schema().choices.iter().find(|choice| choice.name == name);
        let said = choice.iter().flat_map(|choice| &choice.values).map(|value| value.number.to_string());
        same(name, (0..=u8::MAX).filter(|number| is_known(*number)).map(|number| number.to_string()), said)?;
    }
    Ok(())
}

fn same(
    what: &str,
    known: impl Iterator<Item = String>,
    said: impl Iterator<Item = String>,
) -> Result<(), String> {
    let (known, said): (BTreeSet<String>, BTreeSet<String>) = (known.collect(), said.collect());
    let only_here: Vec<_> = known.symmetric_difference(&said).collect();
    if only_here.is_empty() { Ok(()) } else { Err(format!("the codec's {what} and schema/: {only_here:?}")) }
}
