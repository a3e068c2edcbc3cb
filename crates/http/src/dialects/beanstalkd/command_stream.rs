//! The two directions of a connection: what was sent and not carried out, and replies that are not written yet.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout_at};

use super::super::super::connection::HttpConnection;
use super::super::super::patience::Patient;
use super::input::{Input, Sent};

/// While a command waits, at most this much of what follows it is read, in bytes.
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// Room for it, in bytes.
const READ_AHEAD_BYTES: usize = 4 << 10;

/// The two directions of a connection.
pub(super) struct CommandStream {
    stream: Patient,
    connection: Arc<HttpConnection>,
    input: Input,
    /// Replies that are not written yet.
    pub(super) out: Vec<u8>,
    /// How long a command that was begun may take to arrive.
    deadline: Duration,
    /// The other side has ended: it may still read.
    has_ended: bool,
    /// There is memory for the body under way.
    has_memory: bool,
    /// When the command under way began to arrive.
    begun: Option<Instant>,
}

impl CommandStream {
    pub(super) fn new(stream: Patient, connection: Arc<HttpConnection>, deadline: Duration) -> Self {
        let (input, out) = (Input::new(), Vec::new());
        Self { stream, connection, input, out, deadline, has_ended: false, has_memory: false, begun: None }
    }

    /// A body may have at most so many bytes from now on.
    pub(super) fn set_body_bytes_max(&mut self, body_bytes_max: usize) {
        self.input.set_body_bytes_max(body_bytes_max);
    }

    /// Whether replies are to be written before another command is carried out.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() >= AHEAD_BYTES_MAX
    }

    /// The next thing that was sent, if it is there.
    pub(super) fn take(&mut self) -> Option<Sent> {
        let sent = self.input.next();
        if sent.is_some() {
            (self.has_memory, self.begun) = (false, None);
        }
        sent
    }

    /// Waits until more was sent. `false` if nothing more comes.
    pub(super) async fn read(&mut self) -> io::Result<bool> {
        let body_bytes = self.input.body_bytes();
        if body_bytes > 0 && !self.has_memory {
            self.has_memory = self.connection.take(body_bytes).is_ok();
            if !self.has_memory {
                self.input.refuse_body("OUT_OF_MEMORY\r\n");
            }
        }
        self.input.make_room();
        let by = (!self.input.is_between_commands())
            .then(|| *self.begun.get_or_insert_with(Instant::now) + self.deadline);
        let reading = self.stream.read_buf(&mut self.input.unread);
        let read = match by {
            Some(by) => {
                timeout_at(by, reading).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?
            }
            None => reading.await?,
        };
        self.has_ended = read == 0;
        Ok(read > 0)
    }

    /// True if the other side sends nothing more.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Reads what is sent meanwhile, and returns when the other side has ended.
    pub(super) async fn ended(&mut self) -> io::Result<()> {
        while !self.has_ended {
            // More cannot be kept, and without reading it is not seen when the other side ends.
            if self.input.unread.len() >= AHEAD_BYTES_MAX {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            self.input.unread.reserve(READ_AHEAD_BYTES);
            self.has_ended = self.stream.read_buf(&mut self.input.unread).await? == 0;
        }
        Ok(())
    }

    /// Writes the replies. The memory of what they answer is free then.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        if !self.out.is_empty() {
            self.stream.write_all(&self.out).await?;
            self.stream.flush().await?;
            self.out.clear();
            self.out.shrink_to(AHEAD_BYTES_MAX);
            drop(self.connection.answered(0));
            self.has_memory = false;
        }
        self.input.shrink(AHEAD_BYTES_MAX);
        Ok(())
    }
}
