//! The backup that a client reads over its connection: parts of files that are held open.
//!
//! One read at a time, outside the threads that serve connections, and none while much output is unsent: a slow
//! client slows its own reads. The end of a backup only drops the pin. It comes by itself when nothing is read for
//! long, because pinned files take space.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{info, warn};

use super::super::outbox::{Gauge, Outbox, ToBackup};
use adjourn_protocol::{BackupReady, ErrorCode, ErrorReply, Response};
use adjourn_storage::backup_file::FOOTER_BYTES;
use adjourn_storage::{PinnedBackup, StorageError};
use adjourn_types::limits::BACKUP_IDLE_MS_MAX;

/// No part is read while more bytes than this wait to be written.
const OUTPUT_BYTES_MAX: usize = 256 << 10;

/// Answers the requests for the backup for as long as the connection is served.
pub(super) async fn serve(mut asked: UnboundedReceiver<ToBackup>, outbox: &Outbox, gauge: &Gauge) {
    let mut pinned: Option<Arc<PinnedBackup>> = None;
    loop {
        let next = if pinned.is_some() {
            timeout(Duration::from_millis(BACKUP_IDLE_MS_MAX), asked.recv()).await
        } else {
            Ok(asked.recv().await)
        };
        let Ok(next) = next else {
            info!("a client stopped reading its backup, and must start again");
            pinned = None;
            continue;
        };
        let Some(what) = next else { break };
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
        return refused(
            ErrorCode::NotFound,
            "this connection has no backup, or has not read on for long: begin one",
        );
    };
    match spawn_blocking(move || part(&backup, offset, bytes)).await {
        Ok(Ok(data)) => Response::BackupData(data),
        Ok(Err(error)) => {
            warn!(%error, "a backup cannot be read");
            *pinned = None;
            refused(
                ErrorCode::Unreadable,
                "the files of the backup cannot be read: the server's log says why",
            )
        }
        // The runtime is ending, and begins no more reads.
        Err(_) => refused(ErrorCode::Stopping, "the server is stopping"),
    }
}

fn part(backup: &PinnedBackup, offset: u64, bytes: u32) -> Result<Bytes, StorageError> {
    let mut part = vec![0; bytes as usize];
    let read = backup.read_at(offset, &mut part)?;
    part.truncate(read);
    Ok(part.into())
}

fn refused(code: ErrorCode, message: &str) -> Response {
    Response::Error(ErrorReply::new(code, message))
}

#[cfg(test)]
mod tests {
    use super::super::super::outbox::{Inbox, Outgoing};
    use super::*;
    use adjourn_engine::Engine;
    use adjourn_protocol::RequestId;
    use adjourn_storage::folder::SimulatedFolder;
    use adjourn_storage::{BackupOrigin, CheckpointBegin, CheckpointWriter, LogBase};
    use adjourn_types::{GroupId, Millis};

    fn pinned() -> Arc<PinnedBackup> {
        let folder = SimulatedFolder::new(0);
        let begin = CheckpointBegin {
            number: 1,
            index: 1,
            term: 1,
            voters: vec![1],
            learners: vec![],
            state_hash: 0,
            jobs: 0,
            metadata: Engine::new(GroupId(0)).metadata().into(),
            chunks: vec![],
            rewrite: vec![],
            pages: vec![],
            next_chunk: 1,
            chunk_bytes: 1 << 20,
            records: 0,
            pin: true,
        };
        let writer = CheckpointWriter::begin(folder.clone(), begin).expect("begun");
        let sealed = writer.seal(LogBase { index: 1, term: 1, crc: 0 }).expect("sealed");
        sealed.publish().expect("written");
        let origin = BackupOrigin { cluster_id: [1; 16], node: 1, created_at: Millis(1) };
        Arc::new(PinnedBackup::open(&folder, origin, &[]).expect("pinned"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_backup_that_is_not_read_on_is_let_go_of() {
        let (outbox, Inbox { mut outgoing, backups, gauge }) = Outbox::new(8, 1 << 20);
        let backup = pinned();
        let held = Arc::downgrade(&backup);
        let own = outbox.clone();
        let serving = tokio::spawn(async move { serve(backups, &own, &gauge).await });
        let mut answer = async || match outgoing.recv().await {
            Some(Outgoing::Own(mut answers)) => answers.pop().map(|(_, response)| response),
            _ => None,
        };
        outbox.backup(ToBackup::Ready(RequestId(1), backup));
        assert!(matches!(answer().await, Some(Response::BackupReady(_))));
        for number in 2..5 {
            tokio::time::advance(Duration::from_millis(BACKUP_IDLE_MS_MAX - 1)).await;
            outbox.backup(ToBackup::Read { id: RequestId(number), offset: 0, bytes: 8 });
            let data = answer().await;
            assert!(matches!(&data, Some(Response::BackupData(data)) if data == "ADJBCKUP"), "{data:?}");
        }
        assert!(held.upgrade().is_some());
        tokio::time::advance(Duration::from_millis(BACKUP_IDLE_MS_MAX + 1)).await;
        for _ in 0..100 {
            // Until the other task has read the clock.
            tokio::task::yield_now().await;
        }
        assert!(held.upgrade().is_none());
        outbox.backup(ToBackup::Read { id: RequestId(5), offset: 0, bytes: 8 });
        let refused = answer().await;
        assert!(
            matches!(&refused, Some(Response::Error(error)) if error.code == ErrorCode::NotFound),
            "{refused:?}"
        );
        serving.abort();
    }
}
