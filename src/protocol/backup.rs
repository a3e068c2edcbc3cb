//! `BACKUP_BEGIN`, `BACKUP_READ` and `BACKUP_END`; `BACKUP_READY` and `BACKUP_DATA`.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::decode_error::DecodeError;
use super::request::Request;
use super::response::BackupReady;
use super::wire::{Fixed, Reader, in_range};
use crate::types::limits::BACKUP_READ_BYTES_MAX;

pub(super) fn encode_read(offset: u64, bytes: u32, out: &mut BytesMut) {
    Fixed::<12>::new().u64(offset).u32(bytes).write(out);
}

pub(super) fn decode_read(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    let offset = reader.u64("offset")?;
    let bytes = in_range(reader.u32("bytes")?, 1, BACKUP_READ_BYTES_MAX, "bytes")?;
    Ok(Request::BackupRead { offset, bytes })
}

pub(super) fn encode_ready(ready: &BackupReady, out: &mut BytesMut) {
    let BackupReady { index, jobs, state_hash, bytes } = *ready;
    Fixed::<40>::new().u64(index).u64(jobs).array(state_hash.to_le_bytes()).u64(bytes).write(out);
}

pub(super) fn decode_ready(reader: &mut Reader<'_>) -> Result<BackupReady, DecodeError> {
    Ok(BackupReady {
        index: reader.u64("index")?,
        jobs: reader.u64("jobs")?,
        state_hash: u128::from_le_bytes(reader.array("state_hash")?),
        bytes: reader.u64("bytes")?,
    })
}

pub(super) fn encode_data(data: &Bytes, out: &mut BytesMut) {
    out.put_u32_le(u32::try_from(data.len()).unwrap_or(u32::MAX));
    out.put_slice(data);
}

pub(super) fn decode_data(reader: &mut Reader<'_>) -> Result<Bytes, DecodeError> {
    let bytes = reader.u32("data")? as usize;
    reader.bytes(bytes, usize::MAX, "data")
}
