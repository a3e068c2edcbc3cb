//! A socket to another node, one frame at a time, for the duration of the handshake.

use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::frames::{PeerDecoder, PeerFrame, PeerFrameError};
use adjourn_transport::Stream;

/// The size of one read, in bytes, before the other side is known.
const READ_BYTES: usize = 4 << 10;

/// A socket, and the bytes that were read from it but not decoded yet.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) stream: Stream,
    pub(super) buffer: BytesMut,
    decoder: PeerDecoder,
}

/// Why there is no next frame.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// The socket failed.
    #[error("the connection was lost: {0}")]
    Io(#[from] io::Error),
    /// The other side has ended the connection.
    #[error("the other node closed the connection")]
    Closed,
    /// The bytes are not a valid frame.
    #[error(transparent)]
    Frame(#[from] PeerFrameError),
}

impl Wire {
    /// A socket from which frames of at most `frame_bytes_max` bytes are read.
    pub(super) fn new(stream: Stream, frame_bytes_max: usize) -> Self {
        Self { stream, buffer: BytesMut::new(), decoder: PeerDecoder::with_bytes_max(frame_bytes_max) }
    }

    /// Sets the maximum size of frames from here on.
    pub(super) fn set_frame_bytes_max(&mut self, frame_bytes_max: usize) {
        self.decoder = PeerDecoder::with_bytes_max(frame_bytes_max);
    }

    /// Waits for the next frame.
    pub(super) async fn read(&mut self) -> Result<PeerFrame, WireError> {
        loop {
            if let Some(frame) = self.decoder.next(&mut self.buffer)? {
                return Ok(frame);
            }
            self.buffer.reserve(READ_BYTES);
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(WireError::Closed);
            }
        }
    }

    /// Sends a frame.
    pub(super) async fn write(&mut self, frame: &PeerFrame) -> Result<(), WireError> {
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        self.stream.write_all(&bytes).await?;
        Ok(self.stream.flush().await?)
    }
}
