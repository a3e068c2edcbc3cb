//! The way from the core to one connection: unbounded for the sender, so that the core never waits, and counted,
//! so that a client that does not read is cut off instead of filling the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::protocol::{RequestId, Response};

/// What goes to a connection's writer.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// Answers, to be written in this order.
    Answers(Vec<(RequestId, Response)>),
    /// Write what came before, then close the connection.
    Close,
}

/// The sender's end.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    sender: mpsc::UnboundedSender<Outgoing>,
    gauge: Arc<Gauge>,
    output_bytes_max: usize,
}

/// What is under way on one connection, seen from both ends.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    output_bytes: AtomicUsize,
    in_flight: AtomicU32,
    answered: Notify,
    /// Cancelled when the connection is to end at once, unsent answers and all.
    pub(super) cut: CancellationToken,
}

/// More waits to be sent than is allowed, or the connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CutOff;

impl Outbox {
    /// An outbox, and what its connection needs to empty it.
    pub(super) fn new(output_bytes_max: usize) -> (Self, mpsc::UnboundedReceiver<Outgoing>, Arc<Gauge>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let gauge = Arc::new(Gauge::default());
        (Self { sender, gauge: gauge.clone(), output_bytes_max }, receiver, gauge)
    }

    /// Hands over answers. When those before them were already too much, the connection is cut off instead.
    pub(super) fn send(&self, answers: Vec<(RequestId, Response)>) -> Result<(), CutOff> {
        let bytes = weight(&answers);
        let before = self.gauge.output_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before > self.output_bytes_max {
            self.cut();
            return Err(CutOff);
        }
        self.sender.send(Outgoing::Answers(answers)).map_err(|_| CutOff)
    }

    /// Lets the connection end once everything is sent.
    pub(super) fn close(&self) {
        // A connection that is gone already needs no farewell.
        let _ = self.sender.send(Outgoing::Close);
    }

    /// Ends the connection at once.
    pub(super) fn cut(&self) {
        self.gauge.cut.cancel();
    }
}

impl Gauge {
    /// How many more requests may be taken while at most `in_flight_max` wait for their answer.
    pub(super) fn room(&self, in_flight_max: u32) -> u32 {
        in_flight_max.saturating_sub(self.in_flight.load(Ordering::Acquire))
    }

    /// Waits until there is room.
    pub(super) async fn wait_for_room(&self, in_flight_max: u32) {
        while self.room(in_flight_max) == 0 {
            self.answered.notified().await;
        }
    }

    /// Counts requests that now wait for their answer.
    pub(super) fn asked(&self, requests: u32) {
        self.in_flight.fetch_add(requests, Ordering::AcqRel);
    }

    /// Counts what was written to the socket.
    pub(super) fn written(&self, answers: u32, bytes: usize) {
        self.output_bytes.fetch_sub(bytes, Ordering::Relaxed);
        if answers > 0 {
            self.in_flight.fetch_sub(answers, Ordering::AcqRel);
            self.answered.notify_one();
        }
    }
}

/// Whether a response answers a request, or comes unasked.
pub(super) fn is_answer(response: &Response) -> bool {
    !matches!(response, Response::Deliver(_) | Response::GoingAway { .. })
}

/// About how many bytes answers hold in memory and on the wire: exact for bodies, roughly for the rest.
pub(super) fn weight(answers: &[(RequestId, Response)]) -> usize {
    answers.iter().map(|(_, response)| response_weight(response)).sum()
}

fn response_weight(response: &Response) -> usize {
    const FRAME_BYTES: usize = 48;
    const ITEM_BYTES: usize = 16;
    const JOB_BYTES: usize = 256;
    FRAME_BYTES
        + match response {
            Response::Reserved(jobs) | Response::Deliver(jobs) => {
                jobs.iter().map(|job| JOB_BYTES + job.body.len()).sum()
            }
            Response::Job(job) => JOB_BYTES + job.body.len(),
            Response::Pushed(results) => ITEM_BYTES * results.len(),
            Response::Settled(results) => ITEM_BYTES * results.len(),
            Response::Topics(topics) => JOB_BYTES * topics.len(),
            Response::Stats(stats) => JOB_BYTES * (1 + stats.topics.len()),
            Response::Welcome(_) => JOB_BYTES,
            Response::GoingAway { message } => message.len(),
            Response::Error(error) => error.message.len(),
            Response::Pong { .. } | Response::Done | Response::Subscribed | Response::Changed { .. } => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(count: u32) -> Vec<(RequestId, Response)> {
        (0..count).map(|id| (RequestId(id), Response::Done)).collect()
    }

    #[test]
    fn a_reader_that_is_too_slow_is_cut_off_and_a_quick_one_is_not() {
        let (outbox, mut receiver, gauge) = Outbox::new(1000);
        let bytes = weight(&answers(10));
        for _ in 0..100 {
            assert_eq!(outbox.send(answers(10)), Ok(()));
            assert!(receiver.try_recv().is_ok());
            gauge.written(0, bytes);
        }
        let sent = (0..100).take_while(|_| outbox.send(answers(10)).is_ok()).count();
        assert_eq!(sent, 1000 / bytes + 1);
        assert!(gauge.cut.is_cancelled());
    }

    #[tokio::test]
    async fn room_returns_with_the_answers() {
        let gauge = Gauge::default();
        gauge.asked(3);
        assert_eq!((gauge.room(5), gauge.room(3), gauge.room(2)), (2, 0, 0));
        let ((), ()) = tokio::join!(gauge.wait_for_room(3), async { gauge.written(1, 0) });
        assert_eq!(gauge.room(3), 1);
    }
}
