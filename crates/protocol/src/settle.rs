//! Settling of leases: the fields of FINISH, RELEASE, TOUCH and BURY; SETTLED.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::error::ErrorCode;
use super::field::{Field, Subject};
use super::response::SettleResult;
use super::wire::{Fixed, Reader, in_range, not_longer, put_list, put_text16, some_not_more};
use adjourn_types::limits::{DELAY_MS_MAX, LEASES_MAX, REASON_BYTES_MAX};
use adjourn_types::{Fence, JobId, Lease};

const LEASE_FIXED_BYTES: usize = 16;
const RESULT_FIXED_BYTES: usize = 2;
/// A RELEASE's delay that stands for the job's backoff.
const DELAY_BY_BACKOFF: u64 = u64::MAX;
/// A RELEASE's delay that stands for work that was not begun.
const NOT_STARTED: u64 = u64::MAX - 1;
/// Added to a RELEASE's delay if the work was not begun.
const PARKED: u64 = 1 << 63;
/// A longer delay, which no server takes, would mean something else.
const AFTER_MS_MAX: u64 = PARKED - 1;
/// The same for work that was not begun.
const PARKED_MS_MAX: u64 = PARKED - 3;
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
        put_list(out, LEASE_FIXED_BYTES, self.len());
        for lease in self {
            Fixed::<LEASE_FIXED_BYTES>::new().u64(lease.job.0).u64(lease.fence.0).write(out);
        }
    }

    fn take(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        let list = reader.list_of_some::<LEASE_FIXED_BYTES>(name, LEASES_MAX)?;
        reader.items(list, |_, mut fields| {
            Ok(Lease { job: JobId(fields.u64("job")?), fence: Fence(fields.u64("fence")?) })
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
            put_text16(out, reason);
        }
    }

    fn take(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        reader.late_text16(usize::MAX, name)
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
            Self::Backoff => DELAY_BY_BACKOFF,
            Self::After(delay_ms) => delay_ms.min(AFTER_MS_MAX),
            Self::NotStarted => NOT_STARTED,
            Self::Parked(delay_ms) => PARKED | delay_ms.min(PARKED_MS_MAX),
        });
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        Ok(match reader.u64("delay_ms")? {
            DELAY_BY_BACKOFF => Self::Backoff,
            NOT_STARTED => Self::NotStarted,
            parked @ PARKED.. => Self::Parked(parked & !PARKED),
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
    put_list(out, RESULT_FIXED_BYTES, results.len());
    for result in results {
        out.put_u16_le(result.map_or_else(|code| code as u16, |()| SETTLED));
    }
}

pub(super) fn decode_settled(reader: &mut Reader<'_>) -> Result<Vec<SettleResult>, DecodeError> {
    let list = reader.list::<RESULT_FIXED_BYTES>("results", usize::MAX)?;
    reader.items(list, |_, mut fields| {
        Ok(match fields.u16("code")? {
            SETTLED => Ok(()),
            number => Err(ErrorCode::from_u16(number).unwrap_or(ErrorCode::Unknown)),
        })
    })
}
