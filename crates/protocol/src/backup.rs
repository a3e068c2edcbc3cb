//! `BACKUP_READY` and `BACKUP_DATA`, the answers to `BACKUP_BEGIN` and `BACKUP_READ`.

use bytes::{Bytes, BytesMut};

use super::decode_error::DecodeError;
use super::layout::frames;
use super::response::BackupReady;
use super::wire::Reader;

pub(super) fn encode_ready(ready: &BackupReady, out: &mut BytesMut) {
    let BackupReady { index, jobs, state_hash, bytes } = *ready;
    frames::BackupReady { index, jobs, state_hash, bytes }.put(out);
}

pub(super) fn decode_ready(reader: &mut Reader<'_>) -> Result<BackupReady, DecodeError> {
    let frames::BackupReady { index, jobs, state_hash, bytes } = frames::BackupReady::take(reader)?;
    Ok(BackupReady { index, jobs, state_hash, bytes })
}

pub(super) fn encode_data(data: &[u8], out: &mut BytesMut) {
    frames::BackupData { data }.put(out);
}

pub(super) fn decode_data(reader: &mut Reader<'_>) -> Result<Bytes, DecodeError> {
    Ok(frames::BackupData::take(reader)?.data)
}
