//! From answers to a client's socket: those that wait are encoded into one buffer and written together.

use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::WriteHalf;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::super::outbox::{Gauge, Outgoing};
use crate::protocol::{RequestId, Response};

/// Messages taken from the outbox at once.
const MESSAGES_MAX: usize = 256;
/// A buffer that has reached this is written before more is encoded; one that grew far beyond it for one large answer
/// is given back.
const BUFFER_BYTES: usize = 256 << 10;
/// The replica is told of what was written in lumps of this size, or of a part of what it lets be unwritten if that
/// is less.
const REPORT_BYTES: usize = 256 << 10;
const REPORT_PART: usize = 4;

/// The writing half of a connection.
pub(super) struct Writer<'a, Report> {
    output: WriteHalf<'a>,
    gauge: &'a Gauge,
    /// A client that takes nothing for so long is gone.
    silence_max: Duration,
    report: Report,
    report_bytes: usize,
    unreported_bytes: usize,
    buffer: BytesMut,
    buffered: Buffered,
}

/// What is in the buffer.
#[derive(Default)]
struct Buffered {
    answers: u32,
    bytes: usize,
    counted_bytes: usize,
}

/// The client is gone, or takes nothing.
struct Lost;

impl<'a, Report: Fn(usize)> Writer<'a, Report> {
    /// A writer that tells `report` how much of what the replica sent is written. `output_bytes_max` is what the replica
    /// lets be unwritten.
    pub(super) fn new(
        output: WriteHalf<'a>,
        gauge: &'a Gauge,
        silence_max: Duration,
        output_bytes_max: usize,
        report: Report,
    ) -> Self {
        let report_bytes = REPORT_BYTES.min(output_bytes_max / REPORT_PART);
        let (buffer, buffered) = (BytesMut::new(), Buffered::default());
        Self { output, gauge, silence_max, report, report_bytes, unreported_bytes: 0, buffer, buffered }
    }

    /// Writes until it is told to close. Says whether everything was written.
    pub(super) async fn write(mut self, mut outgoing: UnboundedReceiver<Outgoing>) -> bool {
        let mut messages = Vec::new();
        let mut close = false;
        while !close && outgoing.recv_many(&mut messages, MESSAGES_MAX).await > 0 {
            for message in messages.drain(..) {
                let (responses, answers, counted) = match message {
                    Outgoing::Replica { responses, answers } => (responses, answers, true),
                    Outgoing::Own(responses) => {
                        let answers = u32::try_from(responses.len()).unwrap_or(u32::MAX);
                        (responses, answers, false)
                    }
                    Outgoing::Close => {
                        close = true;
                        break;
                    }
                };
                for (id, response) in responses {
                    self.encode(id, &response, counted);
                    if self.buffer.len() >= BUFFER_BYTES && self.flush().await.is_err() {
                        return false;
                    }
                }
                self.buffered.answers += answers;
            }
            if self.flush().await.is_err() {
                return false;
            }
        }
        self.output.shutdown().await.is_ok()
    }

    fn encode(&mut self, id: RequestId, response: &Response, counted: bool) {
        let bytes = response.weight_bytes();
        self.buffered.bytes += bytes;
        self.buffered.counted_bytes += if counted { bytes } else { 0 };
        response.encode(id, &mut self.buffer);
    }

    async fn flush(&mut self) -> Result<(), Lost> {
        while !self.buffer.is_empty() {
            match timeout(self.silence_max, self.output.write_buf(&mut self.buffer)).await {
                Ok(Ok(1..)) => {}
                Ok(_) | Err(_) => return Err(Lost),
            }
        }
        if self.buffer.capacity() > 2 * BUFFER_BYTES {
            self.buffer = BytesMut::new();
        }
        let Buffered { answers, bytes, counted_bytes } = std::mem::take(&mut self.buffered);
        self.gauge.written(answers, bytes);
        self.unreported_bytes += counted_bytes;
        if self.unreported_bytes >= self.report_bytes {
            (self.report)(std::mem::take(&mut self.unreported_bytes));
        }
        Ok(())
    }
}
