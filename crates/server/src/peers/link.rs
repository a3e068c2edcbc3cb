//! One connection to another node, while it lasts: sends the frames in the send queue, and dispatches those that arrive.
//!
//! Both sides send something at least once a second. A side that sends or reads nothing for longer than
//! [`Timing::silence`] counts as gone.
//!
//! [`Timing::silence`]: super::Timing::silence

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::frames::{PeerDecoder, PeerFrame, PeerFrameError, Refusal};
use super::send_queue::SendQueue;
use super::snapshot_receiver::Answer;
use super::snapshot_sender::Asked;
use super::{PeersState, wire::Wire};
use adjourn_transport::{ReadHalf, WriteHalf};
use adjourn_types::limits::PEER_FRAME_BYTES_MAX;

/// The size of one read, in bytes.
const READ_BYTES: usize = 64 << 10;
/// The approximate size of one write, in bytes; a frame is never split.
const WRITE_BYTES: usize = 256 << 10;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkEnd {
    /// The socket failed.
    #[error("it was lost: {0}")]
    Io(#[from] io::Error),
    /// The other side has ended it.
    #[error("the other node closed it")]
    Closed,
    /// Nothing arrived for too long.
    #[error("nothing was received for {} ms", .0.as_millis())]
    Silent(Duration),
    /// The other side read nothing for too long.
    #[error("nothing could be sent for {} ms", .0.as_millis())]
    Stuck(Duration),
    /// An invalid frame arrived.
    #[error(transparent)]
    Frame(#[from] PeerFrameError),
    /// A frame arrived that is addressed to another node, or is not valid here.
    #[error("an unexpected frame was received after the handshake")]
    OutOfPlace,
    /// The other side refuses this node after the handshake.
    #[error("the other node refuses this one: {0}")]
    Refused(Refusal),
    /// This node ends.
    #[error("this node is stopping")]
    Stopped,
}

/// Serves a connection to `node` until it ends. Returns the reason.
pub(super) async fn serve(mut wire: Wire, node: u64, send_queue: &SendQueue, shared: &PeersState) -> LinkEnd {
    let (input, output) = wire.stream.split();
    let reader = Reader { input, buffer: wire.buffer, node, shared };
    tokio::select! {
        Err(end) = reader.read() => end,
        Err(end) = write(output, send_queue, shared) => end,
        else => LinkEnd::Closed,
    }
}

struct Reader<'a> {
    input: ReadHalf<'a>,
    buffer: BytesMut,
    node: u64,
    shared: &'a PeersState,
}

impl Reader<'_> {
    async fn read(mut self) -> Result<std::convert::Infallible, LinkEnd> {
        let decoder = PeerDecoder::with_bytes_max(PEER_FRAME_BYTES_MAX);
        let silence = self.shared.timing.silence;
        loop {
            while let Some(frame) = decoder.next(&mut self.buffer)? {
                self.take(frame)?;
            }
            self.buffer.reserve(READ_BYTES);
            match timeout(silence, self.input.read_buf(&mut self.buffer)).await {
                Ok(Ok(0)) => return Err(LinkEnd::Closed),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(LinkEnd::Silent(silence)),
            }
        }
    }

    fn take(&self, frame: PeerFrame) -> Result<(), LinkEnd> {
        let (node, shared) = (self.node, self.shared);
        match frame {
            PeerFrame::Ping => {}
            PeerFrame::Bundle(bundle) => {
                let own = shared.node;
                if bundle.messages.iter().any(|message| (message.from(), message.to()) != (node, own)) {
                    return Err(LinkEnd::OutOfPlace);
                }
                shared.hear(node, bundle);
            }
            // Requests and answers beyond these queues are dropped: the other node asks again.
            PeerFrame::Fetch { index, offset } => _ = shared.asked.try_send(Asked { node, index, offset }),
            PeerFrame::Part { index, offset, total, data } => {
                _ = shared.answers.try_send(Answer::Part { node, index, offset, total, data });
            }
            PeerFrame::Gone { index } => _ = shared.answers.try_send(Answer::Gone { node, index }),
            PeerFrame::Refused(refusal) => return Err(LinkEnd::Refused(refusal)),
            PeerFrame::Hello(_)
            | PeerFrame::Welcome(_)
            | PeerFrame::Join(_)
            | PeerFrame::Cluster(_)
            | PeerFrame::Vouch(_) => return Err(LinkEnd::OutOfPlace),
        }
        Ok(())
    }
}

async fn write(
    mut output: WriteHalf<'_>,
    send_queue: &SendQueue,
    shared: &PeersState,
) -> Result<std::convert::Infallible, LinkEnd> {
    let mut buffer = BytesMut::new();
    let silence = shared.timing.silence;
    loop {
        match timeout(shared.timing.ping, send_queue.wait()).await {
            Ok(()) => send_queue.encode(&mut buffer, WRITE_BYTES, shared.clock.elapsed()),
            Err(_) => PeerFrame::Ping.encode(&mut buffer),
        }
        while !buffer.is_empty() {
            match timeout(silence, output.write_buf(&mut buffer)).await {
                Ok(Ok(1..)) => {}
                Ok(Ok(0)) => return Err(LinkEnd::Closed),
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(LinkEnd::Stuck(silence)),
            }
        }
        // TLS may have buffered more than the socket took.
        timeout(silence, output.flush()).await.map_err(|_| LinkEnd::Stuck(silence))??;
        if buffer.capacity() > 2 * WRITE_BYTES {
            buffer = BytesMut::new();
        }
    }
}
