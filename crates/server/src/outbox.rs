//! The queue from the core to one connection: unbounded for the sender, so that the core never waits, and counted at
//! both ends. Its content is bounded in effect: the replica grants and answers only as much as there is room for, and
//! the reader takes no request while too much is unsent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::tokens::ShownToken;
use adjourn_protocol::{RequestId, Response};
use adjourn_replica::HeldMemory;
use adjourn_storage::PinnedBackup;
use adjourn_types::limits::INPUT_BYTES_PER_CONNECTION_MAX;

/// Output for a connection's writer.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// From the replica, to be written in this order. The replica is told how much was written.
    Replica {
        /// Responses, each with the id of its request.
        responses: Vec<(RequestId, Response)>,
        /// How many of them answer a request.
        answers: u32,
        /// Their memory, held until they are written.
        memory: HeldMemory,
    },
    /// The connection's own answers, one to a request each.
    Own(Vec<(RequestId, Response)>),
    /// Write all earlier output, then close the connection.
    Close,
}

/// Requests to the part of a connection that sends a backup.
#[derive(Debug)]
pub(super) enum ToBackup {
    /// The backup for this request is ready.
    Ready(RequestId, Arc<PinnedBackup>),
    /// `BACKUP_READ`.
    Read {
        /// The request.
        id: RequestId,
        /// Where the part begins.
        offset: u64,
        /// Its length.
        bytes: u32,
    },
    /// `BACKUP_END`.
    End(RequestId),
    /// `BACKUP_BEGIN`: the previous backup is not needed any more.
    Replaced,
}

/// The receiving end of a connection.
#[derive(Debug)]
pub(super) struct Inbox {
    /// The responses to write.
    pub(super) outgoing: mpsc::UnboundedReceiver<Outgoing>,
    /// Requests for the connection's backup.
    pub(super) backups: mpsc::UnboundedReceiver<ToBackup>,
    /// The sizes of unanswered and unwritten work.
    pub(super) gauge: Arc<Gauge>,
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    sender: mpsc::UnboundedSender<Outgoing>,
    backups: mpsc::UnboundedSender<ToBackup>,
    gauge: Arc<Gauge>,
    /// The token of the client, once it is known.
    token: Option<ShownToken>,
}

/// What both ends of one connection share: the sizes of unanswered and unwritten work, and the heartbeat.
#[derive(Debug)]
pub(super) struct Gauge {
    in_flight_max: u32,
    output_bytes_max: usize,
    output_bytes: AtomicUsize,
    /// True after a backup on this connection: then requests for it are answered here, not by the core.
    has_backup: AtomicBool,
    /// Bytes of requests that the core has not taken yet.
    input_bytes: AtomicUsize,
    in_flight: AtomicU32,
    /// The heartbeat that the client's HELLO asked for; 0 for none.
    heartbeat_wish_ms: AtomicU32,
    written: Notify,
    drained: Notify,
    /// Cancelled when the connection must end at once, even with unsent answers.
    pub(super) cut: CancellationToken,
}

/// The connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

impl Outbox {
    /// Both ends for one connection.
    pub(super) fn new(in_flight_max: u32, output_bytes_max: usize) -> (Self, Inbox) {
        let (sender, outgoing) = mpsc::unbounded_channel();
        let (to_backup, backups) = mpsc::unbounded_channel();
        let gauge = Arc::new(Gauge {
            in_flight_max,
            output_bytes_max,
            output_bytes: AtomicUsize::new(0),
            has_backup: AtomicBool::new(false),
            input_bytes: AtomicUsize::new(0),
            in_flight: AtomicU32::new(0),
            heartbeat_wish_ms: AtomicU32::new(0),
            written: Notify::new(),
            drained: Notify::new(),
            cut: CancellationToken::new(),
        });
        let outbox = Self { sender, backups: to_backup, gauge: gauge.clone(), token: None };
        (outbox, Inbox { outgoing, backups, gauge })
    }

    /// The same for a client with this token.
    pub(super) fn of_client(self, token: ShownToken) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Charges the client for what an answer says.
    pub(super) fn charge(&self, answer: &Response) {
        if let Some(token) = &self.token {
            token.charge(answer);
        }
    }

    /// Sends a message about the connection's backup.
    pub(super) fn backup(&self, what: ToBackup) {
        if matches!(what, ToBackup::Ready(..)) {
            self.gauge.has_backup.store(true, Ordering::Release);
        }
        // A connection that is gone needs none.
        let _ = self.backups.send(what);
    }

    /// True if there was a backup on this connection.
    pub(super) fn has_backup(&self) -> bool {
        self.gauge.has_backup.load(Ordering::Acquire)
    }

    /// Sends responses of the replica.
    pub(super) fn send(
        &self,
        responses: Vec<(RequestId, Response)>,
        answers: u32,
        memory: HeldMemory,
    ) -> Result<(), Gone> {
        self.gauge.output_bytes.fetch_add(weight_bytes(&responses), Ordering::Relaxed);
        self.sender.send(Outgoing::Replica { responses, answers, memory }).map_err(|_| Gone)
    }

    /// Sends the connection's own answers.
    pub(super) fn answer(&self, answers: Vec<(RequestId, Response)>) -> Result<(), Gone> {
        self.gauge.output_bytes.fetch_add(weight_bytes(&answers), Ordering::Relaxed);
        self.sender.send(Outgoing::Own(answers)).map_err(|_| Gone)
    }

    /// Closes the connection once everything is sent.
    pub(super) fn close(&self) {
        // A connection that is gone needs no close.
        let _ = self.sender.send(Outgoing::Close);
    }

    /// Sends a last response, and closes the connection.
    pub(super) fn say_last(&self, id: RequestId, response: Response) {
        // A connection that is gone is closed anyway.
        let _ = self.answer(vec![(id, response)]);
        self.close();
    }

    /// Ends the connection at once.
    pub(super) fn cut(&self) {
        self.gauge.cut.cancel();
    }
}

impl Gauge {
    /// How many more requests may be taken; none at the maximum of unanswered requests, of unwritten output, or of
    /// input that the core has not taken.
    pub(super) fn room(&self) -> u32 {
        if self.output_bytes.load(Ordering::Relaxed) >= self.output_bytes_max
            || self.input_bytes() >= INPUT_BYTES_PER_CONNECTION_MAX
        {
            return 0;
        }
        self.in_flight_max.saturating_sub(self.in_flight.load(Ordering::Acquire))
    }

    /// Most requests that may be unanswered.
    pub(super) fn in_flight_max(&self) -> u32 {
        self.in_flight_max
    }

    /// Notes the heartbeat that the client's HELLO asks for.
    pub(super) fn wish_for_heartbeat(&self, ms: u32) {
        self.heartbeat_wish_ms.store(ms, Ordering::Relaxed);
    }

    /// The heartbeat that the client's HELLO asked for; 0 for none.
    pub(super) fn heartbeat_wish_ms(&self) -> u32 {
        self.heartbeat_wish_ms.load(Ordering::Relaxed)
    }

    /// Waits until there is room.
    pub(super) async fn wait_for_room(&self) {
        while self.room() == 0 {
            self.written.notified().await;
        }
    }

    /// Waits until every request is answered.
    pub(super) async fn wait_until_answered(&self) {
        while self.in_flight.load(Ordering::Acquire) > 0 {
            self.written.notified().await;
        }
    }

    /// Waits until at most `bytes_max` wait to be written. For one task at a time.
    pub(super) async fn wait_for_output(&self, bytes_max: usize) {
        while self.output_bytes.load(Ordering::Acquire) > bytes_max {
            self.drained.notified().await;
        }
    }

    /// Counts requests that now wait for their answer.
    pub(super) fn asked(&self, requests: u32) {
        self.in_flight.fetch_add(requests, Ordering::AcqRel);
    }

    /// Bytes of requests that the core has not taken yet.
    pub(super) fn input_bytes(&self) -> usize {
        self.input_bytes.load(Ordering::Acquire)
    }

    /// Counts requests that now wait for the core.
    pub(super) fn took_in(&self, bytes: usize) {
        self.input_bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Counts requests that the core has taken.
    pub(super) fn took_up(&self, bytes: usize) {
        self.input_bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.written.notify_one();
    }

    /// Counts answers and bytes that were written to the socket.
    pub(super) fn written(&self, answers: u32, bytes: usize) {
        self.output_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let fewer = |in_flight: u32| Some(in_flight.saturating_sub(answers));
        let _ = self.in_flight.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
        self.written.notify_one();
        self.drained.notify_one();
    }
}

fn weight_bytes(responses: &[(RequestId, Response)]) -> usize {
    responses.iter().map(|(_, response)| response.weight_bytes()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn room_returns_with_the_answers() {
        let (_outbox, Inbox { gauge, .. }) = Outbox::new(3, 1000);
        gauge.asked(2);
        assert_eq!(gauge.room(), 1);
        gauge.asked(1);
        assert_eq!(gauge.room(), 0);
        gauge.written(0, 0);
        assert_eq!(gauge.room(), 0, "what comes unasked answers nothing");
        let ((), ()) = tokio::join!(gauge.wait_for_room(), async { gauge.written(1, 0) });
        assert_eq!(gauge.room(), 1);
        gauge.written(9, 0);
        assert_eq!(gauge.room(), 3, "an answer too many leaves room for no more than before");
    }

    #[tokio::test]
    async fn there_is_no_room_while_too_much_is_not_written() {
        let (outbox, Inbox { gauge, outgoing: _receiver, .. }) = Outbox::new(9, 1000);
        let error = adjourn_protocol::ErrorReply::new(adjourn_protocol::ErrorCode::Busy, "x".repeat(999));
        let answers = vec![(RequestId(1), Response::Error(error))];
        let bytes = weight_bytes(&answers);
        assert_eq!((outbox.answer(answers), gauge.room()), (Ok(()), 0));
        let ((), ()) = tokio::join!(gauge.wait_for_room(), async { gauge.written(0, bytes) });
        assert_eq!(gauge.room(), 9);
    }
}
