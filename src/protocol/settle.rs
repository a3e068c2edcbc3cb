//! FINISH, RELEASE, TOUCH and BURY; SETTLED.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::error::ErrorCode;
use super::push::decode_ttr;
use super::request::{ReleaseKind, Request};
use super::response::SettleResult;
use super::wire::{Fixed, Reader, in_range, put_list, put_text16};
use crate::types::limits::{DELAY_MS_MAX, LEASES_MAX, REASON_BYTES_MAX};
use crate::types::{Fence, JobId, Lease};

const LEASE_FIXED_BYTES: usize = 16;
const RESULT_FIXED_BYTES: usize = 2;
/// In place of a RELEASE's delay: as the job's backoff says.
const DELAY_BY_BACKOFF: u64 = u64::MAX;
/// In place of a RELEASE's delay: the work was not begun.
const NOT_STARTED: u64 = u64::MAX - 1;
/// In place of a result's code: no error.
const SETTLED: u16 = 0;

pub(super) fn encode_leases(leases: &[Lease], out: &mut BytesMut) {
    put_list(out, LEASE_FIXED_BYTES, leases.len());
    for lease in leases {
        Fixed::<LEASE_FIXED_BYTES>::new().u64(lease.job.0).u64(lease.fence.0).write(out);
    }
}

pub(super) fn decode_leases(reader: &mut Reader<'_>) -> Result<Vec<Lease>, DecodeError> {
    let list = reader.list_of_some::<LEASE_FIXED_BYTES>("leases", LEASES_MAX)?;
    reader.items(list, |_, mut fields| {
        Ok(Lease { job: JobId(fields.u64("job")?), fence: Fence(fields.u64("fence")?) })
    })
}

/// A reason stands behind everything else, and only if there is one: older servers skip it.
fn encode_reason(reason: Option<&str>, out: &mut BytesMut) {
    if let Some(reason) = reason {
        put_text16(out, reason);
    }
}

fn decode_reason(reader: &mut Reader<'_>) -> Result<Option<String>, DecodeError> {
    reader.late_text16(REASON_BYTES_MAX, "reason")
}

pub(super) fn encode_bury(leases: &[Lease], reason: Option<&str>, out: &mut BytesMut) {
    encode_leases(leases, out);
    encode_reason(reason, out);
}

pub(super) fn decode_bury(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    Ok(Request::Bury { leases: decode_leases(reader)?, reason: decode_reason(reader)? })
}

pub(super) fn encode_release(leases: &[Lease], kind: ReleaseKind, reason: Option<&str>, out: &mut BytesMut) {
    out.put_u64_le(match kind {
        ReleaseKind::Backoff => DELAY_BY_BACKOFF,
        ReleaseKind::After(delay_ms) => delay_ms,
        ReleaseKind::NotStarted => NOT_STARTED,
    });
    encode_leases(leases, out);
    encode_reason(reason, out);
}

pub(super) fn decode_release(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    let kind = match reader.u64("delay_ms")? {
        DELAY_BY_BACKOFF => ReleaseKind::Backoff,
        NOT_STARTED => ReleaseKind::NotStarted,
        delay_ms => ReleaseKind::After(in_range(delay_ms, 0, DELAY_MS_MAX, "delay_ms")?),
    };
    Ok(Request::Release { leases: decode_leases(reader)?, kind, reason: decode_reason(reader)? })
}

pub(super) fn encode_touch(leases: &[Lease], ttr_ms: Option<u32>, out: &mut BytesMut) {
    out.put_u32_le(ttr_ms.unwrap_or(0));
    encode_leases(leases, out);
}

pub(super) fn decode_touch(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    let ttr_ms = decode_ttr(reader.u32("ttr_ms")?)?;
    Ok(Request::Touch { leases: decode_leases(reader)?, ttr_ms: (ttr_ms != 0).then_some(ttr_ms) })
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
