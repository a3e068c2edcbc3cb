//! A session with another member, the leader: requests go to it over the peers' port as a client would send them, and its
//! answers come back.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc::{Receiver, Sender, WeakSender, channel};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tracing::debug;

use super::leader_clock::LeaderClock;
use super::leases::{leases_of, release};
use super::waiting::Waiting;
use adjourn_protocol::frame::HEADER_BYTES;
use adjourn_protocol::{Applied, ErrorCode, ErrorReply, FrameDecoder, Request, RequestId, Response};
use adjourn_transport::{ReadHalf, Stream, WriteHalf};
use adjourn_types::limits::RESPONSE_BYTES_MAX;

/// Requests that may wait to be sent.
const UNSENT_MAX: usize = 1024;
/// Requests that are sent together.
const TOGETHER_MAX: usize = 256;
/// How often the member is pinged: the answer to a long poll may take long.
const PING_EVERY: Duration = Duration::from_secs(2);
/// The heartbeat for that interval, in milliseconds.
pub(super) const HEARTBEAT_MS: u32 = 3_000;
/// A member that sends nothing for this long counts as gone.
const SILENCE_MAX: Duration = Duration::from_secs(6);
/// The request id of PINGs and of released leases, whose answers are not awaited. No other request has it.
pub(super) const UNASKED: u32 = u32::MAX;
/// Bytes to reserve before a read.
const READ_BYTES: usize = 64 << 10;

/// The queue of requests to the member. The connection ends when it is dropped.
pub(super) type Line = Sender<(RequestId, Request)>;

/// Begins to talk to a member over a connection that it has accepted.
pub(super) fn talk(stream: Stream, unread: BytesMut, waiting: Arc<Waiting>, clock: Arc<LeaderClock>) -> Line {
    let (line, requests) = channel(UNSENT_MAX);
    let back = line.downgrade();
    tokio::spawn(async move {
        let mut stream = stream;
        let (input, output) = stream.split();
        let ended = tokio::select! {
            ended = hear(input, unread, &waiting, &clock, &back) => ended,
            ended = say(output, requests, &clock) => ended,
        };
        if let Err(error) = ended {
            debug!(%error, "the way to the leader has ended");
        }
        waiting.end();
    });
    line
}

/// Sends requests until the queue is dropped.
async fn say(
    mut output: WriteHalf<'_>,
    mut requests: Receiver<(RequestId, Request)>,
    clock: &LeaderClock,
) -> io::Result<()> {
    let (mut taken, mut bytes) = (Vec::new(), BytesMut::new());
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = pings.tick() => {
                clock.asked();
                Request::Ping.encode(RequestId(UNASKED), &mut bytes);
            }
            count = requests.recv_many(&mut taken, TOGETHER_MAX) => {
                for (number, request) in taken.drain(..) {
                    if matches!(request, Request::Hello(_)) {
                        clock.asked();
                    }
                    request.encode(number, &mut bytes);
                }
                if count == 0 {
                    Request::Goodbye.encode(RequestId(UNASKED), &mut bytes);
                    output.write_all(&bytes).await?;
                    return output.flush().await;
                }
            }
        }
        output.write_all(&bytes).await?;
        output.flush().await?;
        bytes.clear();
    }
}

/// Takes answers until the connection or the lead of the member ends.
async fn hear(
    mut input: ReadHalf<'_>,
    mut buffer: BytesMut,
    waiting: &Waiting,
    clock: &LeaderClock,
    back: &WeakSender<(RequestId, Request)>,
) -> io::Result<()> {
    let bytes_max = u32::try_from(RESPONSE_BYTES_MAX).unwrap_or(u32::MAX);
    let mut decoder = FrameDecoder::new(bytes_max);
    loop {
        while let Some(frame) = decoder.next(&mut buffer).map_err(io::Error::other)? {
            // A newer member may send unknown messages, or answers that this version cannot decode.
            let response = Response::decode(&frame).unwrap_or_else(|error| {
                let error = ErrorReply::new(ErrorCode::Unknown, format!("the leader's answer: {error}"));
                Response::Error(ErrorReply { applied: Applied::Unknown, ..error })
            });
            if leads_no_more(&response) {
                waiting.lock().has_ended = true;
            }
            if let Some(clock_ms) = shown_clock(frame.header.id, &response) {
                clock.answered(clock_ms);
            }
            if let Err(unsent) = waiting.hand_over(frame.header.id, response) {
                give_back(&unsent, back);
            }
        }
        buffer.reserve(READ_BYTES.max(HEADER_BYTES));
        match timeout(SILENCE_MAX, input.read_buf(&mut buffer)).await {
            Ok(Ok(1..)) => {}
            Ok(Ok(0)) => return Ok(()),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// The member's clock in an answer, if [`say`] has noted the request as a question for it.
fn shown_clock(number: RequestId, response: &Response) -> Option<u64> {
    match response {
        Response::Welcome(welcome) => Some(welcome.clock_ms),
        Response::Pong { clock_ms, .. } if number.0 == UNASKED => Some(*clock_ms),
        _ => None,
    }
}

/// True if the member does not lead any more: another session is needed.
fn leads_no_more(response: &Response) -> bool {
    match response {
        Response::GoingAway { .. } => true,
        Response::Error(error) => {
            matches!(
                error.code,
                ErrorCode::NotLeader | ErrorCode::NoLeader | ErrorCode::SessionUnknown | ErrorCode::Stopping
            )
        }
        _ => false,
    }
}

/// Gives back jobs for a caller that has left.
fn give_back(unsent: &Response, back: &WeakSender<(RequestId, Request)>) {
    let leases = leases_of(unsent);
    if !leases.is_empty()
        && let Some(back) = back.upgrade()
    {
        // If there is no room for it, the lease ends by itself.
        let _ = back.try_send((RequestId(UNASKED), release(leases)));
    }
}
