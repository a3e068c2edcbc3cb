//! From answers to a client's socket: waiting answers are encoded into one buffer and written together. The
//! remaining time of a lease is computed at that moment, however long its delivery has waited.

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::super::core::ToCore;
use super::super::outbox::{Gauge, Outgoing};
use super::ConnectionConfig;
use adjourn_protocol::{RequestId, Response};
use adjourn_replica::{ConnectionId, HeldMemory, Input};
use adjourn_transport::WriteHalf;

/// Messages taken from the outbox at once.
const MESSAGES_MAX: usize = 256;
/// A buffer that has reached this is written before more is encoded. One that grew far beyond it for one large answer
/// is freed.
const BUFFER_BYTES: usize = 256 << 10;
/// The writer reports written bytes to the replica in steps of this size, or of a part of the replica's limit for unwritten
/// bytes if that is less.
const REPORT_BYTES: usize = 256 << 10;
const REPORT_PART: usize = 4;

/// The writing half of a connection.
pub(super) struct Writer<'a> {
    output: WriteHalf<'a>,
    connection: ConnectionId,
    config: &'a ConnectionConfig,
    gauge: &'a Gauge,
    report_bytes: usize,
    unreported_bytes: usize,
    buffer: BytesMut,
    buffered: Buffered,
}

/// The contents of the buffer.
#[derive(Default)]
struct Buffered {
    answers: u32,
    bytes: usize,
    counted_bytes: usize,
    memory: Vec<HeldMemory>,
}

/// The client is gone, or does not read.
struct Lost;

impl<'a> Writer<'a> {
    /// A writer that has written nothing yet. It reports to the core which bytes are written, and which deliveries are not
    /// sent.
    pub(super) fn new(
        output: WriteHalf<'a>,
        connection: ConnectionId,
        config: &'a ConnectionConfig,
        gauge: &'a Gauge,
    ) -> Self {
        let report_bytes = REPORT_BYTES.min(config.output_bytes_max / REPORT_PART);
        let (buffer, buffered) = (BytesMut::new(), Buffered::default());
        Self { output, connection, config, gauge, report_bytes, unreported_bytes: 0, buffer, buffered }
    }

    /// Writes until it is told to close. True if everything was written.
    pub(super) async fn write(mut self, mut outgoing: UnboundedReceiver<Outgoing>) -> bool {
        let mut messages = Vec::new();
        let mut close = false;
        while !close && outgoing.recv_many(&mut messages, MESSAGES_MAX).await > 0 {
            for message in messages.drain(..) {
                let (responses, answers, memory) = match message {
                    Outgoing::Replica { responses, answers, memory } => (responses, answers, Some(memory)),
                    Outgoing::Own(responses) => {
                        let answers = u32::try_from(responses.len()).unwrap_or(u32::MAX);
                        (responses, answers, None)
                    }
                    Outgoing::Close => {
                        close = true;
                        break;
                    }
                };
                for (id, response) in responses {
                    self.encode(id, response, memory.is_some());
                    if self.buffer.len() >= BUFFER_BYTES && self.flush().await.is_err() {
                        return false;
                    }
                }
                self.buffered.answers += answers;
                self.buffered.memory.extend(memory);
            }
            if self.flush().await.is_err() {
                return false;
            }
        }
        self.output.shutdown().await.is_ok()
    }

    fn encode(&mut self, id: RequestId, mut response: Response, counted: bool) {
        // The core and the gauge have counted the whole response.
        let bytes = response.weight_bytes();
        self.buffered.bytes += bytes;
        self.buffered.counted_bytes += if counted { bytes } else { 0 };
        let unsent = response.age(self.config.clock.queue_ms());
        if self.config.clock.stands_still() {
            response.hide_deadlines();
        }
        if !unsent.is_empty() {
            self.tell(Input::NotSent { connection: self.connection, leases: unsent });
        }
        if response.is_worth_sending() {
            // The whole size at once: a buffer that doubles takes half as much again.
            self.buffer.reserve(bytes);
            response.encode(id, &mut self.buffer);
        }
    }

    fn tell(&self, input: Input) {
        // A core that is gone has nothing more to send.
        let _ = self.config.core.send(ToCore::Input(input));
    }

    async fn flush(&mut self) -> Result<(), Lost> {
        let silence_max = self.config.silence_max(self.gauge);
        while !self.buffer.is_empty() {
            match timeout(silence_max, self.output.write_buf(&mut self.buffer)).await {
                Ok(Ok(1..)) => {}
                Ok(_) | Err(_) => return Err(Lost),
            }
        }
        // TLS may have buffered more than the socket took.
        let Ok(Ok(())) = timeout(silence_max, self.output.flush()).await else { return Err(Lost) };
        if self.buffer.capacity() > 2 * BUFFER_BYTES {
            self.buffer = BytesMut::new();
        }
        let Buffered { answers, bytes, counted_bytes, memory: _ } = std::mem::take(&mut self.buffered);
        self.gauge.written(answers, bytes);
        self.unreported_bytes += counted_bytes;
        if self.unreported_bytes >= self.report_bytes {
            let bytes = std::mem::take(&mut self.unreported_bytes);
            self.tell(Input::Written { connection: self.connection, bytes });
        }
        Ok(())
    }
}
