//! `ADVANCE`: how far a test moves the clock of a server whose clock stands still.

use bytes::BytesMut;

use super::codes::choices::step;
use super::decode_error::DecodeError;
use super::field::Field;
use super::layout::frames;
use super::wire::{Reader, in_range};
use adjourn_types::limits::DELAY_MS_MAX;

/// How far the clock moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// By this many milliseconds: 0 to [`DELAY_MS_MAX`].
    By(u64),
    /// To the time at which the next delayed job is due.
    ToNext,
}

impl Field for Advance {
    fn put(&self, out: &mut BytesMut) {
        let (step, by_ms) = match *self {
            Self::By(by_ms) => (step::BY, by_ms),
            Self::ToNext => (step::TO_NEXT, 0),
        };
        frames::Advance { step, by_ms }.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frames::Advance { step, by_ms } = frames::Advance::take(reader)?;
        match step {
            step::BY => Ok(Self::By(by_ms)),
            step::TO_NEXT => Ok(Self::ToNext),
            value => Err(DecodeError::Choice { field: "step", value }),
        }
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        match *self {
            Self::By(by_ms) => in_range(by_ms, 0..=DELAY_MS_MAX, "by_ms"),
            Self::ToNext => Ok(()),
        }
    }

    fn detach(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::RequestId;
    use crate::error::ErrorCode;
    use crate::frame::{Frame, FrameHeader};
    use crate::request::{Request, RequestOpcode};
    use adjourn_types::GroupId;

    fn decoded(step: u8, by_ms: u64) -> Result<Request, ErrorCode> {
        let payload: Bytes = [&[step][..], &by_ms.to_le_bytes()].concat().into();
        let header = FrameHeader {
            length: 17,
            opcode: RequestOpcode::Advance as u8,
            flags: 0,
            group: GroupId::ONLY,
            id: RequestId(1),
        };
        Request::decode(&Frame { header, payload }, 1024).map_err(|error| error.code())
    }

    #[test]
    fn a_step_has_its_own_limits() {
        assert_eq!(decoded(0, DELAY_MS_MAX), Ok(Request::Advance(Advance::By(DELAY_MS_MAX))));
        assert_eq!(decoded(0, DELAY_MS_MAX + 1), Err(ErrorCode::Invalid));
        assert_eq!(decoded(1, u64::MAX), Ok(Request::Advance(Advance::ToNext)), "it is not looked at");
        assert_eq!(decoded(2, 0), Err(ErrorCode::Unsupported));
    }
}
