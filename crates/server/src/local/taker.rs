//! Takes the core's answers for a session, and hands them to the callers that wait for them.

use std::mem;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;

use super::super::connection::ConnectionConfig;
use super::super::core::ToCore;
use super::super::outbox::{Gauge, Outgoing};
use super::leases::leases_of;
use super::waiting::Waiting;
use adjourn_protocol::{RequestId, Response};
use adjourn_replica::{ConnectionId, Input};

/// Messages taken from the outbox at once.
const MESSAGES_MAX: usize = 256;
/// Answers that were handed over are reported to the replica in steps of this part of its limit for unwritten bytes.
const REPORT_PART: usize = 4;

/// Takes the output of the core for one session.
pub(super) struct Taker {
    pub(super) config: Arc<ConnectionConfig>,
    pub(super) connection: ConnectionId,
    pub(super) gauge: Arc<Gauge>,
    pub(super) waiting: Arc<Waiting>,
    pub(super) unreported_bytes: usize,
}

impl Taker {
    /// Takes answers until the core ends the session, or is gone.
    pub(super) async fn run(mut self, mut outgoing: UnboundedReceiver<Outgoing>) {
        let mut messages = Vec::new();
        'taking: loop {
            let received = tokio::select! {
                biased;
                () = self.gauge.cut.cancelled() => 0,
                received = outgoing.recv_many(&mut messages, MESSAGES_MAX) => received,
            };
            if received == 0 {
                break;
            }
            for message in messages.drain(..) {
                match message {
                    // From here on the memory is charged to the callers.
                    Outgoing::Replica { responses, answers, memory: _ } => self.take(responses, answers),
                    Outgoing::Own(_) => {}
                    Outgoing::Close => break 'taking,
                }
            }
        }
        self.waiting.end();
    }

    fn take(&mut self, responses: Vec<(RequestId, Response)>, answers: u32) {
        let mut bytes = 0;
        for (number, response) in responses {
            bytes += response.weight_bytes();
            if matches!(response, Response::GoingAway { .. }) {
                // Requests that were sent before are still answered.
                self.waiting.lock().has_ended = true;
            } else if let Err(response) = self.waiting.hand_over(number, response) {
                let leases = leases_of(&response);
                if !leases.is_empty() {
                    self.tell(Input::NotSent { connection: self.connection, leases });
                }
            }
        }
        self.gauge.written(answers, bytes);
        self.unreported_bytes += bytes;
        if self.unreported_bytes >= self.config.output_bytes_max / REPORT_PART {
            let bytes = mem::take(&mut self.unreported_bytes);
            self.tell(Input::Written { connection: self.connection, bytes });
        }
    }

    fn tell(&self, input: Input) {
        // A core that is gone needs no reports.
        let _ = self.config.core.send(ToCore::Input(input));
    }
}
