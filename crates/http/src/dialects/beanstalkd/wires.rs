//! The two directions of a connection: what was sent and not carried out, and replies that are not written yet.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::super::super::connection::HttpConnection;
use super::super::super::patience::Patient;
use super::input::{Input, Sent};

/// While a command waits, at most this much of what follows it is read, in bytes.
const AHEAD_BYTES_MAX: usize = 64 << 10;

/// The two directions of a connection.
pub(super) struct Wires {
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
}

impl Wires {
    pub(super) fn new(
        stream: Patient,
        connection: Arc<HttpConnection>,
        body_bytes_max: usize,
        deadline: Duration,
    ) -> Self {
        let (input, out) = (Input::new(body_bytes_max), Vec::new());
        Self { stream, connection, input, out, deadline, has_ended: false, has_memory: false }
    }

    /// The next thing that was sent, if it is there.
    pub(super) fn take(&mut self) -> Option<Sent> {
        let sent = self.input.next();
        if sent.is_some() {
            self.has_memory = false;
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
        let is_begun = !self.input.is_between_commands();
        let reading = self.stream.read_buf(&mut self.input.unread);
        let read = if is_begun {
            timeout(self.deadline, reading).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?
        } else {
            reading.await?
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
            if self.input.unread.len() >= AHEAD_BYTES_MAX {
                return std::future::pending().await;
            }
            self.input.make_room();
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
        Ok(())
    }
}
