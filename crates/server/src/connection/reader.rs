//! From a client's bytes to requests for the core.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{BufMut as _, BytesMut};
use tokio::io::AsyncReadExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout};

use super::super::core::{BRIEF_BYTES_MAX, ToCore};
use super::super::outbox::{Gauge, Outbox, ToBackup};
use super::super::tokens::AdmittedClient;
use super::super::unauthenticated::UnauthenticatedSlot;
use super::ConnectionConfig;
use super::greeting;
use super::input::{BUFFER_BYTES_MAX, BYTES_MIN, InputShare};
use adjourn_protocol::frame::{HEADER_BYTES, frame_bytes_max};
use adjourn_protocol::{ErrorCode, ErrorReply, Frame, FrameDecoder, Request, RequestId, Response};
use adjourn_replica::{Arrival, ConnectionId, Input, Permit};
use adjourn_transport::ReadHalf;
use adjourn_types::SessionSecret;
use adjourn_types::limits::FRAME_BYTES_MAX_BEFORE_HELLO;

/// Up to this many requests that were read together are brief work for the core.
const BRIEF_REQUESTS_MAX: usize = 4;

/// Why nothing more is read.
#[derive(Debug)]
pub(super) enum End {
    /// The client is gone.
    Gone,
    /// The server's core has ended: its last responses still have to be written.
    Stopped,
    /// The client gets this error under this request id, then the connection is closed.
    Refused(RequestId, ErrorReply),
    /// The client is told this, then the connection is closed; it may reconnect.
    Away(String),
}

/// The reading half of a connection.
pub(super) struct Reader<'a> {
    input: ReadHalf<'a>,
    connection: ConnectionId,
    config: &'a ConnectionConfig,
    outbox: &'a Outbox,
    gauge: &'a Gauge,
    share: &'a InputShare,
    decoder: FrameDecoder,
    buffer: BytesMut,
    /// The client, if a member vouches for it.
    vouched: Option<AdmittedClient>,
    /// Its slot, until it is authenticated.
    place: Option<UnauthenticatedSlot>,
    /// Its permit among authenticated clients, until its last frame is written.
    room: Option<OwnedSemaphorePermit>,
    /// Largest body, in bytes.
    body_bytes_max: usize,
    /// Room for the frame that is being read, if it is larger than the buffer may be.
    frame_room: Option<OwnedSemaphorePermit>,
    /// Bytes to reserve before a read; adapts to the size of the input.
    read_bytes: usize,
    /// When the frame that was begun must be complete.
    frame_by: Option<Instant>,
}

/// Frames that were read together.
#[derive(Default)]
struct Batch {
    requests: Vec<(RequestId, Request)>,
    /// The length of their frames.
    bytes: usize,
    /// Answers that need no core: errors of single frames.
    answers: Vec<(RequestId, Response)>,
}

impl<'a> Reader<'a> {
    /// A reader that has read nothing yet.
    pub(super) fn new(
        input: ReadHalf<'a>,
        connection: ConnectionId,
        config: &'a ConnectionConfig,
        outbox: &'a Outbox,
        gauge: &'a Gauge,
        share: &'a InputShare,
    ) -> Self {
        let before_hello = u32::try_from(FRAME_BYTES_MAX_BEFORE_HELLO).unwrap_or(u32::MAX);
        Self {
            input,
            connection,
            config,
            outbox,
            gauge,
            share,
            decoder: FrameDecoder::new(before_hello),
            buffer: BytesMut::new(),
            vouched: None,
            place: None,
            frame_by: None,
            room: None,
            body_bytes_max: config.body_bytes_max,
            frame_room: None,
            read_bytes: BYTES_MIN,
        }
    }

    /// Reads the greeting, announces the client to the core, and hands over requests until there is an end. A client that
    /// is not authenticated keeps its slot while this reader lives.
    pub(super) async fn serve(
        &mut self,
        secret: SessionSecret,
        address: SocketAddr,
        place: UnauthenticatedSlot,
        hello_by: Instant,
    ) -> End {
        (self.place, self.frame_by) = (Some(place), Some(hello_by));
        let Err(end) = self.converse(secret, &address.to_string()).await;
        end
    }

    /// The same for callers that a member vouches for; their first bytes were read already. They take no room from
    /// clients.
    pub(super) async fn serve_callers(
        &mut self,
        secret: SessionSecret,
        from: &str,
        client: AdmittedClient,
        unread: BytesMut,
    ) -> End {
        (self.vouched, self.buffer) = (Some(client), unread);
        self.frame_by = Some(Instant::now() + self.config.frame_deadline);
        let Err(end) = self.converse(secret, from).await;
        end
    }

    async fn converse(&mut self, secret: SessionSecret, address: &str) -> Result<Infallible, End> {
        let config = self.config;
        let (id, hello, client) = tokio::select! {
            hello = self.hello(address) => hello?,
            () = config.stopping.cancelled() => {
                let error = ErrorReply::new(ErrorCode::Stopping, "the server is stopping: connect to it later");
                return Err(End::Refused(RequestId(0), error));
            }
        };
        if self.place.is_some() {
            let Ok(room) = config.room.clone().try_acquire_owned() else {
                let message =
                    "the server has as many connections as it may have: try again, or raise connections_max";
                let error = ErrorReply { retry_after_ms: 1000, ..ErrorReply::new(ErrorCode::Busy, message) };
                return Err(End::Refused(id, error));
            };
            self.room = Some(room);
            self.place = None;
        }
        let (connection, access) = (self.connection, client.access());
        let outbox = self.outbox.clone().of_client(client.token());
        self.body_bytes_max = config.body_bytes_max.min(access.body_bytes_max);
        let (address, in_flight_max) = (address.to_owned(), self.gauge.in_flight_max());
        let arrival = Arrival { secret, access, address, in_flight_max, volatile_leases: false };
        self.tell(ToCore::Connected { connection, arrival, outbox })?;
        self.gauge.asked(1);
        let (requests, permit) = (vec![(id, hello)], Permit::default());
        self.tell(ToCore::Input(Input::Requests { connection, from: None, requests, permit }))?;
        // Before its WELCOME a client takes no memory: the bytes after its HELLO stay in the socket.
        self.gauge.wait_until_answered().await;
        self.frame_by = None;
        self.decoder.set_frame_bytes_max(frame_bytes_max(config.body_bytes_max));
        tokio::select! {
            biased;
            () = client.ended() => {
                Err(End::Away("the token was changed, revoked or has expired: connect again".to_owned()))
            }
            end = self.take_turns(&client) => end,
        }
    }

    /// Takes requests as they come, until there is an end.
    async fn take_turns(&mut self, client: &AdmittedClient) -> Result<Infallible, End> {
        loop {
            let room = self.gauge.room();
            if room == 0 {
                self.gauge.wait_for_room().await;
                // The server delayed the frame, not the client.
                self.frame_by = None;
                continue;
            }
            let room = match client.room(room) {
                Ok(room) => room,
                Err(wait) => {
                    sleep(wait).await;
                    // As above.
                    self.frame_by = None;
                    continue;
                }
            };
            if self.take_requests(room, client).await? {
                self.read(self.config.silence_max(self.gauge)).await?;
            }
        }
    }

    /// Waits for the first frame, which must be a HELLO that is acceptable.
    async fn hello(&mut self, address: &str) -> Result<(RequestId, Request, AdmittedClient), End> {
        loop {
            if let Some(frame) = self.next_frame()? {
                let id = frame.header.id;
                let admitted = greeting::check(&frame, self.config).and_then(|hello| {
                    let vouched = self.vouched.take().map(Ok);
                    let client = vouched.unwrap_or_else(|| self.config.tokens.admit(&hello.token))?;
                    Ok((hello, client))
                });
                let (hello, client) = admitted.map_err(|error| {
                    if error.code == ErrorCode::Unauthenticated {
                        self.config.audit.login_failed(address.to_owned(), error.message.clone());
                    }
                    End::Refused(id, error)
                })?;
                self.gauge.wish_for_heartbeat(hello.heartbeat_ms);
                return Ok((id, Request::Hello(hello), client));
            }
            self.read(self.config.frame_deadline).await?;
        }
    }

    /// Decodes at most `room` frames and hands them over. True if more bytes are needed to go on.
    async fn take_requests(&mut self, room: u32, client: &AdmittedClient) -> Result<bool, End> {
        let mut batch = Batch::default();
        let mut taken = 0;
        let mut end = Ok(());
        let mut starved = false;
        while taken < room {
            match self.next_frame() {
                Ok(Some(frame)) => {
                    taken += 1;
                    self.sort(&frame, &mut batch, client);
                }
                Ok(None) => {
                    starved = true;
                    break;
                }
                Err(error) => {
                    end = Err(error);
                    break;
                }
            }
        }
        self.gauge.asked(taken);
        client.took(taken);
        let frame_room = if taken > 0 { self.frame_room.take() } else { None };
        // First: a client may close once a GOODBYE among the requests is answered.
        if !batch.answers.is_empty() {
            self.outbox.answer(batch.answers).map_err(|_| End::Gone)?;
        }
        if !batch.requests.is_empty() {
            let permit = self.share.hand_over(batch.bytes, frame_room).await;
            let (connection, requests) = (self.connection, batch.requests);
            let is_brief = requests.len() <= BRIEF_REQUESTS_MAX && batch.bytes <= BRIEF_BYTES_MAX;
            let message = ToCore::Input(Input::Requests { connection, from: None, requests, permit });
            let core = &self.config.core;
            let sent = if is_brief { core.send_brief(message) } else { core.send(message) };
            sent.map_err(|_| End::Stopped)?;
        }
        end.map(|()| starved)
    }

    fn sort(&mut self, frame: &Frame, batch: &mut Batch, client: &AdmittedClient) {
        let id = frame.header.id;
        match Request::decode(frame, self.body_bytes_max) {
            Ok(request) if let Err(error) = client.bring(&request) => {
                batch.answers.push((id, Response::Error(error)));
            }
            Ok(Request::BackupRead { offset, bytes }) if self.outbox.has_backup() => {
                self.outbox.backup(ToBackup::Read { id, offset, bytes });
            }
            Ok(Request::BackupEnd) if self.outbox.has_backup() => self.outbox.backup(ToBackup::End(id)),
            Ok(request) => {
                if let Request::Hello(hello) = &request {
                    // The client repeats its HELLO because there was no leader before.
                    self.gauge.wish_for_heartbeat(hello.heartbeat_ms);
                }
                if request == Request::BackupBegin {
                    self.outbox.backup(ToBackup::Replaced);
                }
                batch.bytes += HEADER_BYTES + frame.payload.len();
                batch.requests.push((id, request));
            }
            Err(error) => batch.answers.push((id, Response::Error(error.into()))),
        }
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, End> {
        match self.decoder.next(&mut self.buffer) {
            Ok(Some(frame)) => {
                self.frame_by = None;
                Ok(Some(frame))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(End::Refused(error.id(), error.into())),
        }
    }

    /// Reads what there is, or waits for it: at most `silence_max`, and not beyond the deadline of a frame that
    /// was begun.
    async fn read(&mut self, silence_max: Duration) -> Result<(), End> {
        let bytes_max = self.room_to_read().await;
        let now = Instant::now();
        if !self.buffer.is_empty() {
            self.frame_by.get_or_insert(now + self.config.frame_deadline);
        }
        let frame_left = self.frame_by.map(|by| by.saturating_duration_since(now));
        let patience = frame_left.map_or(silence_max, |left| left.min(silence_max));
        self.decoder.prepare(&mut self.buffer);
        self.buffer.reserve(bytes_max.min(BUFFER_BYTES_MAX));
        let mut room = (&mut self.buffer).limit(bytes_max);
        match timeout(patience, self.input.read_buf(&mut room)).await {
            Ok(Ok(bytes @ 1..)) => {
                self.follow(bytes);
                Ok(())
            }
            Ok(_) => Err(End::Gone),
            Err(_) => Err(End::Away(self.too_slow())),
        }
    }

    /// How many bytes may be read next: the rest of a large frame that was begun, with room for it when this returns, or
    /// what fits into the buffer.
    async fn room_to_read(&mut self) -> usize {
        let (buffered, missing) = (self.buffer.len(), self.decoder.missing(&self.buffer));
        let (missing, buffer_bytes_max) = (missing.unwrap_or(BYTES_MIN), self.share.buffer_bytes_max());
        if self.frame_room.is_none() && buffered + missing > buffer_bytes_max.max(2 * BYTES_MIN) {
            self.frame_room = self.share.for_frame(buffered + missing).await;
            // As above.
            self.frame_by = None;
        }
        if self.frame_room.is_some() {
            return missing;
        }
        missing.max(self.read_bytes.min(buffer_bytes_max.saturating_sub(buffered)))
    }

    /// Adapts the size of reads: larger for a client that sends much, without a large buffer for one that does not.
    fn follow(&mut self, bytes: usize) {
        if bytes >= self.read_bytes {
            self.read_bytes = (self.read_bytes * 2).min(BUFFER_BYTES_MAX);
        } else if bytes < self.read_bytes / 4 {
            self.read_bytes = (self.read_bytes / 2).max(BYTES_MIN);
        }
    }

    fn too_slow(&self) -> String {
        if self.frame_by.is_some() {
            format!(
                "a frame must be complete, and HELLO be said, within {} ms",
                self.config.frame_deadline.as_millis()
            )
        } else {
            let silence_max = self.config.silence_max(self.gauge);
            format!("nothing was received for {} ms: send PING in time", silence_max.as_millis())
        }
    }

    fn tell(&self, message: ToCore) -> Result<(), End> {
        self.config.core.send(message).map_err(|_| End::Stopped)
    }
}
