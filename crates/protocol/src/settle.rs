//! Settling of leases: the fields of FINISH, RELEASE, TOUCH and BURY; SETTLED.

use bytes::{BufMut as _, BytesMut};

use super::codes::{RELEASE_BY_BACKOFF, RELEASE_NOT_STARTED, RELEASE_PARKED};
use super::decode_error::DecodeError;
use super::error::ErrorCode;
use super::field::{Field, Subject};
use super::layout::{frames, records};
use super::response::SettleResult;
use super::wire::{Fixed, Reader, in_range, not_longer, put_list, some_not_more, some_text, text16};
use adjourn_types::limits::{DELAY_MS_MAX, LEASES_MAX, REASON_BYTES_MAX};
use adjourn_types::{Fence, JobId, Lease};

/// A longer delay, which no server takes, would mean something else.
const AFTER_MS_MAX: u64 = RELEASE_PARKED - 1;
/// The same for work that was not begun.
const PARKED_MS_MAX: u64 = RELEASE_PARKED - 3;
/// In place of a result's code: no error.
const SETTLED: u16 = 0;

/// How a job is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseKind {
    /// The attempt failed: the next one is after the job's backoff, or at once without one.
    Backoff,
    /// The attempt failed. The next one begins after this delay in milliseconds.
    After(u64),
    /// The work was not begun: this counts as no attempt, and the job is ready at once.
    NotStarted,
    /// The work was not begun, and must not begin before this delay in milliseconds: this counts as no attempt.
    Parked(u64),
}

impl Field for Vec<Lease> {
    fn put(&self, out: &mut BytesMut) {
        put_list(out, records::Lease::FIXED_BYTES, self.len());
        for lease in self {
            records::Lease { job: lease.job.0, fence: lease.fence.0 }.put(out);
        }
    }

    fn take(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        let list = reader.list_of_some::<{ records::Lease::FIXED_BYTES }>(name, LEASES_MAX)?;
        reader.items(list, |reader, fields| {
            let records::Lease { job, fence } = records::Lease::take(reader, fields)?;
            Ok(Lease { job: JobId(job), fence: Fence(fence) })
        })
    }

    fn check(&self, name: &'static str, _: usize) -> Result<(), DecodeError> {
        some_not_more(self.len(), LEASES_MAX, name)
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Leases(self)
    }

    fn leases(&self) -> &[Lease] {
        self
    }

    fn detach(self) -> Self {
        self
    }
}

/// A reason at the end of a message, if there is one: older servers skip it.
impl Field for Option<String> {
    fn put(&self, out: &mut BytesMut) {
        if let Some(reason) = self {
            let reason = text16(reason);
            Fixed::<2>::new().length16(reason.len()).write(out);
            out.put_slice(reason);
        }
    }

    fn take(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        if reader.is_at_end() {
            return Ok(None);
        }
        some_text(&reader.bytes16(name)?, name)
    }

    fn check(&self, name: &'static str, _: usize) -> Result<(), DecodeError> {
        not_longer(self.as_ref().map_or(0, String::len), REASON_BYTES_MAX, name)
    }

    fn detach(self) -> Self {
        self
    }
}

impl Field for ReleaseKind {
    fn put(&self, out: &mut BytesMut) {
        out.put_u64_le(match *self {
            Self::Backoff => RELEASE_BY_BACKOFF,
            Self::After(delay_ms) => delay_ms.min(AFTER_MS_MAX),
            Self::NotStarted => RELEASE_NOT_STARTED,
            Self::Parked(delay_ms) => RELEASE_PARKED | delay_ms.min(PARKED_MS_MAX),
        });
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        Ok(match reader.u64("delay_ms")? {
            RELEASE_BY_BACKOFF => Self::Backoff,
            RELEASE_NOT_STARTED => Self::NotStarted,
            parked @ RELEASE_PARKED.. => Self::Parked(parked & !RELEASE_PARKED),
            delay_ms => Self::After(delay_ms),
        })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        let delay_ms = match *self {
            Self::After(delay_ms) => delay_ms.min(AFTER_MS_MAX),
            Self::Parked(delay_ms) => delay_ms.min(PARKED_MS_MAX),
            Self::Backoff | Self::NotStarted => return Ok(()),
        };
        in_range(delay_ms, 0..=DELAY_MS_MAX, "delay_ms")
    }

    fn detach(self) -> Self {
        self
    }
}

pub(super) fn encode_settled(results: &[SettleResult], out: &mut BytesMut) {
    let code = |result: &SettleResult| result.map_or_else(|code| code as u16, |()| SETTLED);
    let results = results.iter().map(|result| records::SettleResult { code: code(result) });
    frames::Settled { results }.put(out);
}

pub(super) fn decode_settled(reader: &mut Reader<'_>) -> Result<Vec<SettleResult>, DecodeError> {
    let settled = frames::Settled::take(reader, |records::SettleResult { code }| {
        Ok(match code {
            SETTLED => Ok(()),
            number => Err(ErrorCode::from_u16(number).unwrap_or(ErrorCode::Unknown)),
        })
    })?;
    Ok(settled.results)
}
