//! From the server's bytes to answers: everything that one read returned is decoded first and then handled under one
//! lock.

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::Loss;
use crate::requests::Answers;
use crate::shared::ClientState;
use adjourn_protocol::{DecodeError, FrameDecoder, FrameError, RequestId, Response};

/// The maximum of one read, and the size of the buffers that delivered jobs keep alive, in bytes.
const READ_BYTES: usize = 16 << 10;

/// The receiving side of a connection.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    from: R,
    decoder: FrameDecoder,
    buffer: BytesMut,
}

type Answer = (RequestId, Result<Response, DecodeError>);

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Continues after the bytes in `buffer`.
    pub(crate) fn new(from: R, decoder: FrameDecoder, buffer: BytesMut) -> Self {
        Self { from, decoder, buffer }
    }

    /// Hands answers to the calls until the connection is lost.
    pub(crate) async fn run(&mut self, shared: &ClientState) -> Loss {
        let mut frames = Vec::new();
        let mut answers = Answers::default();
        loop {
            let end = self.cut(&mut frames);
            let is_partial = !self.buffer.is_empty();
            let drained = shared.change_with(&mut answers, |requests, now, answers| {
                requests.heartbeats.heard(now);
                if is_partial {
                    requests.heartbeats.moved(now);
                }
                for (id, response) in frames.drain(..) {
                    requests.answer(now, id, response, answers);
                }
                if requests.wire.connection == crate::requests::Connection::Draining {
                    shared.draining.notify_one();
                }
                requests.drained()
            });
            if let Err(fault) = end {
                return Loss::Fault(fault.into());
            }
            if drained {
                return Loss::Drained;
            }
            match self.fill().await {
                Ok(0) => return Loss::Closed,
                Ok(_) => {}
                Err(error) => return Loss::Failed(error),
            }
        }
    }

    /// The next frame; `None` when the server closed the connection before it was complete.
    pub(crate) async fn frame(&mut self) -> Result<Option<Answer>, Loss> {
        loop {
            match self.decoder.next(&mut self.buffer) {
                Ok(Some(frame)) => return Ok(Some((frame.header.id, Response::decode(&frame)))),
                Ok(None) => {}
                Err(fault) => return Err(Loss::Fault(fault.into())),
            }
            if self.fill().await.map_err(Loss::Failed)? == 0 {
                return Ok(None);
            }
        }
    }

    /// The bytes that were read and not decoded yet.
    pub(crate) fn into_buffer(self) -> BytesMut {
        self.buffer
    }

    fn cut(&mut self, frames: &mut Vec<Answer>) -> Result<(), FrameError> {
        while let Some(frame) = self.decoder.next(&mut self.buffer)? {
            frames.push((frame.header.id, Response::decode(&frame)));
        }
        Ok(())
    }

    async fn fill(&mut self) -> std::io::Result<usize> {
        self.decoder.prepare(&mut self.buffer);
        self.buffer.reserve(READ_BYTES);
        self.from.read_buf(&mut self.buffer).await
    }
}
