//! The backup that a client reads over its connection: parts of files that are held open.
//!
//! One read at a time, beside the threads that serve connections, and none while much waits to be written: a
//! client that reads slowly is read for slowly. Dropping the pin is all there is to do at the end.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_blocking;
use tracing::warn;

use super::super::outbox::{Gauge, Outbox, ToBackup};
use crate::protocol::{BackupReady, ErrorCode, ErrorReply, Response};
use crate::storage::backup::FOOTER_BYTES;
use crate::storage::{PinnedBackup, StorageError};

/// No part is read while more bytes than these wait to be written.
const OUTPUT_BYTES_MAX: usize = 256 << 10;

/// Answers what is asked of the backup, for as long as the connection is served.
pub(super) async fn serve(mut asked: UnboundedReceiver<ToBackup>, outbox: &Outbox, gauge: &Gauge) {
    let mut pinned: Option<Arc<PinnedBackup>> = None;
    while let Some(what) = asked.recv().await {
        let (id, answer) = match what {
            ToBackup::Replaced => {
                pinned = None;
                continue;
            }
            ToBackup::Ready(id, backup) => {
                let answer = Response::BackupReady(ready(&backup));
                pinned = Some(backup);
                (id, answer)
            }
            ToBackup::Read { id, offset, bytes } => {
                gauge.wait_for_output(OUTPUT_BYTES_MAX).await;
                (id, read(&mut pinned, offset, bytes).await)
            }
            ToBackup::End(id) => {
                pinned = None;
                (id, Response::Done)
            }
        };
        if outbox.answer(vec![(id, answer)]).is_err() {
            break;
        }
    }
    std::future::pending::<()>().await;
}

fn ready(backup: &PinnedBackup) -> BackupReady {
    let header = backup.header();
    BackupReady {
        index: header.index,
        jobs: header.jobs,
        state_hash: header.state_hash,
        bytes: header.bytes - FOOTER_BYTES,
    }
}

async fn read(pinned: &mut Option<Arc<PinnedBackup>>, offset: u64, bytes: u32) -> Response {
    let Some(backup) = pinned.clone() else {
        return refused("this connection has no backup: begin one");
    };
    match spawn_blocking(move || part(&backup, offset, bytes)).await {
        Ok(Ok(data)) => Response::BackupData(data),
        Ok(Err(error)) => {
            warn!(%error, "a backup cannot be read");
            *pinned = None;
            refused("the files of the backup cannot be read: the server's log says why")
        }
        // The server ends, and does not begin to read any more.
        Err(_) => refused("the server is stopping"),
    }
}

fn part(backup: &PinnedBackup, offset: u64, bytes: u32) -> Result<Bytes, StorageError> {
    let mut part = vec![0; bytes as usize];
    let read = backup.read_at(offset, &mut part)?;
    part.truncate(read);
    Ok(part.into())
}

fn refused(message: &str) -> Response {
    Response::Error(ErrorReply::new(ErrorCode::NotFound, message))
}
