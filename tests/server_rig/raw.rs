//! A client that knows nothing but frames.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use adjourn_protocol::{FrameDecoder, Hello, Request, RequestId, Response, VERSION};
use bytes::BytesMut;

/// A read that takes longer than this has failed. Nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client that speaks frames, one read or write at a time.
pub(crate) struct Raw {
    pub(super) stream: TcpStream,
    decoder: FrameDecoder,
    buffer: BytesMut,
    next_id: u32,
}

impl Raw {
    /// Connects and says nothing.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).expect("connected"))
    }

    /// As [`Self::connect`], over this connection.
    pub(crate) fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.set_write_timeout(Some(PATIENCE)).expect("set");
        stream.set_nodelay(true).expect("set");
        Self { stream, decoder: FrameDecoder::new(u32::MAX), buffer: BytesMut::new(), next_id: 1 }
    }

    /// As [`Self::connect`], if somebody listens there.
    pub(crate) fn try_connect(address: SocketAddr) -> Option<Self> {
        TcpStream::connect(address).ok()?;
        Some(Self::connect(address))
    }

    /// Sends requests in one write and returns the id of the first; the others follow. False when the server
    /// no longer takes anything.
    pub(crate) fn send(&mut self, requests: &[Request]) -> Option<RequestId> {
        let first = RequestId(self.next_id);
        let mut bytes = BytesMut::new();
        for request in requests {
            request.encode(RequestId(self.next_id), &mut bytes);
            self.next_id += 1;
        }
        self.stream.write_all(&bytes).ok().map(|()| first)
    }

    /// The next frame; `None` when the server has closed.
    pub(crate) fn receive(&mut self) -> Option<(RequestId, Response)> {
        loop {
            if let Some(frame) = self.decoder.next(&mut self.buffer).expect("frames") {
                return Some((frame.header.id, Response::decode(&frame).expect("a response")));
            }
            let mut bytes = [0; 16 << 10];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(read) => self.buffer.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nothing came for too long"),
                Err(_) => return None,
            }
        }
    }
}

/// A HELLO that any server without tokens accepts.
pub(crate) fn hello() -> Hello {
    Hello { version_min: VERSION, version_max: VERSION, client_name: "test".to_owned(), ..Hello::default() }
}
