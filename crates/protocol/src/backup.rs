//! `BACKUP_READY` and `BACKUP_DATA`, the answers to `BACKUP_BEGIN` and `BACKUP_READ`.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::decode_error::DecodeError;
use super::response::BackupReady;
use super::wire::{Fixed, Reader};

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
