//! A server made by hand: real sockets and the real codec, and a test that decides each answer.

use adjourn_client::{Client, ClientConfig};
use adjourn_protocol::{
    Applied, Delivered, ErrorCode, ErrorReply, FrameDecoder, Hello, Leased, PushResult, Request, RequestId,
    Response, Welcome,
};
use adjourn_types::{Attributes, Fence, JobId, Lease, Millis, SessionId, SessionSecret};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Where clients connect.
pub(crate) struct FakeServer {
    listener: TcpListener,
}

/// One connection, as the server sees it.
pub(crate) struct Peer {
    stream: TcpStream,
    decoder: FrameDecoder,
    buffer: BytesMut,
}

impl FakeServer {
    pub(crate) async fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.expect("a free port") }
    }

    pub(crate) fn address(&self) -> String {
        self.listener.local_addr().expect("a bound socket").to_string()
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> Peer {
        let (stream, _) = self.listener.accept().await.expect("a connection");
        Peer { stream, decoder: FrameDecoder::new(u32::MAX), buffer: BytesMut::new() }
    }

    /// A client that was just welcomed, and its connection.
    pub(crate) async fn client(&self, welcome: Welcome) -> (Client, Peer) {
        self.client_with(self.config(), welcome).await
    }

    pub(crate) async fn client_with(&self, config: ClientConfig, welcome: Welcome) -> (Client, Peer) {
        let serve = async {
            let mut peer = self.accept().await;
            peer.welcome(welcome).await;
            peer
        };
        let (client, peer) = tokio::join!(Client::connect(config), serve);
        (client.expect("a welcome"), peer)
    }

    /// The client's next connection, welcomed; and its HELLO.
    pub(crate) async fn again(&self, welcome: Welcome) -> (Hello, Peer) {
        let mut peer = self.accept().await;
        let hello = peer.welcome(welcome).await;
        (hello, peer)
    }

    /// Lets the next connection come and refuses its HELLO; the connection stays open.
    pub(crate) async fn refuse(&self, reply: ErrorReply) -> Peer {
        let mut peer = self.accept().await;
        let Some((id, Request::Hello(_))) = peer.next().await else { panic!("HELLO comes first") };
        peer.send(id, Response::Error(reply)).await;
        peer
    }

    pub(crate) fn config(&self) -> ClientConfig {
        ClientConfig { reconnect_wait_ms_max: 5, ..ClientConfig::new(self.address()) }
    }
}

impl Peer {
    /// The next request; `None` when the client has closed the connection.
    pub(crate) async fn next(&mut self) -> Option<(RequestId, Request)> {
        loop {
            if let Some(frame) = self.decoder.next(&mut self.buffer).expect("frames of the client are good") {
                let request = Request::decode(&frame, usize::MAX).expect("so are its requests");
                return Some((frame.header.id, request));
            }
            if !matches!(self.stream.read_buf(&mut self.buffer).await, Ok(1..)) {
                return None;
            }
        }
    }

    /// The next request, which must come; heartbeats are answered on the way, and so is the question for leases: there are none.
    pub(crate) async fn request(&mut self) -> (RequestId, Request) {
        loop {
            match self.next().await.expect("a request") {
                (id, Request::Ping) => self.send(id, Response::Pong { now: Millis(7), clock_ms: 0 }).await,
                (id, Request::Leases { .. }) => {
                    self.send(id, Response::Leased(Leased { has_more: false, jobs: Vec::new() })).await;
                }
                other => return other,
            }
        }
    }

    /// The id and the sequence of the next request, which must be a push.
    pub(crate) async fn push(&mut self) -> (RequestId, u64) {
        match self.request().await {
            (id, Request::Push(push)) => (id, push.sequence),
            (_, other) => panic!("a push was to come, not {other:?}"),
        }
    }

    pub(crate) async fn send(&mut self, id: RequestId, response: Response) {
        let mut out = BytesMut::new();
        response.encode(id, &mut out);
        self.send_bytes(&out).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the client reads");
    }

    async fn welcome(&mut self, welcome: Welcome) -> Hello {
        let Some((id, Request::Hello(hello))) = self.next().await else { panic!("HELLO comes first") };
        self.send(id, Response::Welcome(Box::new(welcome))).await;
        hello
    }
}

/// A usual welcome to a new session.
pub(crate) fn welcome() -> Welcome {
    Welcome {
        version: 1,
        server_name: "fake".to_owned(),
        cluster_id: [1; 16],
        session: SessionId(9),
        secret: SessionSecret([3; 16]),
        resumed: false,
        leases_kept: false,
        heartbeat_ms: 10_000,
        session_grace_ms: 10_000,
        frame_bytes_max: 1 << 20,
        body_bytes_max: 1 << 19,
        push_jobs_max: 4_096,
        leases_max: 4_096,
        reserve_jobs_max: 1_024,
        in_flight_max: 4_096,
        members: Vec::new(),
        clock_ms: 0,
    }
}

/// The same session, with its leases.
pub(crate) fn resumed() -> Welcome {
    Welcome { resumed: true, leases_kept: true, ..welcome() }
}

/// What a node says that does not lead and knows who does.
pub(crate) fn not_leader(leader: &str, applied: Applied) -> ErrorReply {
    let reply = ErrorReply::new(ErrorCode::NotLeader, "another node leads");
    ErrorReply { leader: Some(leader.to_owned()), applied, ..reply }
}

/// The answer of a node without a leader.
pub(crate) fn no_leader() -> ErrorReply {
    ErrorReply { retry_after_ms: 1, ..ErrorReply::new(ErrorCode::NoLeader, "nobody leads yet") }
}

/// Results of `jobs` pushed jobs, with ids from `first` on.
pub(crate) fn pushed(first: u64, jobs: u64) -> Response {
    Response::Pushed((first..first + jobs).map(|id| PushResult::Pushed(JobId(id))).collect())
}

/// A job under a lease of `ttr_left_ms`.
pub(crate) fn delivered(job: u64, ttr_left_ms: u32) -> Delivered {
    Delivered {
        lease: Lease { job: JobId(job), fence: Fence(job) },
        topic: "t".parse().expect("a name"),
        key: None,
        priority: 1_024,
        attempts: 1,
        due: Millis(0),
        ttr_left_ms,
        deadline_ms: 0,
        attributes: Attributes::default(),
        body: Bytes::from_static(b"body"),
    }
}
