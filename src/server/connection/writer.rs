//! From answers to a client's socket: all that wait are encoded into one buffer and written together.

use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::WriteHalf;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::super::outbox::{Gauge, Outgoing, is_answer, weight};

/// Messages taken from the outbox for one write.
const MESSAGES_PER_WRITE_MAX: usize = 256;
/// A buffer that grew beyond this for a large answer is given back.
const BUFFER_KEPT_BYTES_MAX: usize = 256 << 10;

/// Writes until it is told to close. Says whether everything was written; it was not if the client is gone, or
/// took nothing for `silence_max`.
pub(super) async fn write(
    mut output: WriteHalf<'_>,
    mut outgoing: UnboundedReceiver<Outgoing>,
    gauge: &Gauge,
    silence_max: Duration,
) -> bool {
    let mut messages = Vec::new();
    let mut buffer = BytesMut::new();
    let mut close = false;
    while !close && outgoing.recv_many(&mut messages, MESSAGES_PER_WRITE_MAX).await > 0 {
        let mut answers = 0;
        let mut bytes = 0;
        for message in messages.drain(..) {
            let Outgoing::Answers(responses) = message else {
                close = true;
                break;
            };
            bytes += weight(&responses);
            for (id, response) in responses {
                answers += u32::from(is_answer(&response));
                response.encode(id, &mut buffer);
            }
        }
        while !buffer.is_empty() {
            match timeout(silence_max, output.write_buf(&mut buffer)).await {
                Ok(Ok(1..)) => {}
                Ok(_) | Err(_) => return false,
            }
        }
        if buffer.capacity() > BUFFER_KEPT_BYTES_MAX {
            buffer = BytesMut::new();
        }
        gauge.written(answers, bytes);
    }
    output.shutdown().await.is_ok()
}
