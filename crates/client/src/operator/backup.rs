//! A backup of the whole queue, read part by part.

use bytes::Bytes;

use crate::calls::Client;
use crate::error::ClientError;
use crate::ticket::Ticket;
use adjourn_protocol::{BackupReady, ErrorCode, ErrorReply, Request};

/// A backup that the server holds ready for this client's connection: the bytes of a backup file up to its footer.
///
/// It ends with the connection, and with the next call of [`Client::backup`]. Then reads fail with
/// [`ClientError::OutcomeUnknown`] or with a refusal ([`NotFound`](ErrorCode::NotFound)), and another backup has to be
/// taken.
#[derive(Debug)]
pub struct Backup {
    client: Client,
    ready: BackupReady,
    /// The serial of the request that began it.
    serial: u64,
}

/// The ticket for the bytes of one read.
pub type BackupTicket = Ticket<Bytes>;

impl Client {
    /// Takes a backup: waits until the server has written a checkpoint, up to an hour. It contains everything that was
    /// answered before this call.
    pub async fn backup(&self) -> Result<Backup, ClientError> {
        let (_, serial, answer) = self.shared().submit_named(Request::BackupBegin)?;
        Ok(Backup { client: self.clone(), ready: Ticket::new(answer).await?, serial })
    }
}

impl Backup {
    /// The backup's facts, and the number of bytes to read.
    pub fn ready(&self) -> BackupReady {
        self.ready
    }

    /// Reads up to `bytes` bytes from `offset` on, at most
    /// [`BACKUP_READ_BYTES_MAX`](adjourn_types::limits::BACKUP_READ_BYTES_MAX): the ticket is the answer. To read fast,
    /// hold a few.
    pub fn read(&self, offset: u64, bytes: u32) -> Result<BackupTicket, ClientError> {
        if !self.is_newest() {
            let replaced = "another backup was begun over this connection: read that one";
            return Err(ClientError::Refused(ErrorReply::new(ErrorCode::NotFound, replaced)));
        }
        self.client.submit(Request::BackupRead { offset, bytes })
    }

    /// Ends the backup: the server drops its pin.
    pub async fn end(self) -> Result<(), ClientError> {
        if !self.is_newest() {
            return Ok(());
        }
        self.client.ask(Request::BackupEnd).await
    }

    fn is_newest(&self) -> bool {
        self.client.shared().lock().numbers.newest_backup == self.serial
    }
}
