//! The core thread: it owns the replica, hands in what happened, and sends out what is to be done about it.
//!
//! It takes all inputs that wait before it asks for outputs, so the busier it is the larger its batches are. It never
//! waits for a connection, nor for a write or a sync. A job that is on the disk alone it reads itself, mostly from what
//! the system keeps in memory. With nothing to do it sleeps until an input or the next deadline comes.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::checkpoint::ToCheckpoint;
use super::clock::Clock;
use super::disk::ToDisk;
use super::outbox::{Gone, Outbox, ToBackup};
use crate::protocol::{RequestId, Response};
use crate::replica::{ConnectionId, Input, Notice, Output, Replica};
use crate::storage::StorageError;
use crate::types::SessionSecret;

/// What the core thread is told.
#[derive(Debug)]
pub(super) enum ToCore {
    /// A client has said a valid HELLO.
    Connected {
        /// Who.
        connection: ConnectionId,
        /// Random bytes, should it open a session.
        secret: SessionSecret,
        /// The way to it.
        outbox: Outbox,
    },
    /// Whatever else the replica is to know.
    Input(Input),
    /// End now. Nothing that is not durable yet will be.
    Abort,
    /// As before: this is why.
    Failed(StorageError),
}

/// The core thread's own state.
pub(super) struct Core {
    replica: Replica,
    outboxes: BTreeMap<ConnectionId, Outbox>,
    disk: Sender<ToDisk>,
    checkpoint: Sender<ToCheckpoint>,
    clock: Clock,
    /// What cannot be read is not logged before: clients may ask for it as often as they like.
    next_unreadable: Duration,
    /// Told once, when requests are taken.
    serving: Option<oneshot::Sender<()>>,
}

/// What is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Stopped,
    Aborted,
}

/// Inputs handled before outputs are asked for: a bound on how long the first of them waits.
const INPUTS_PER_POLL_MAX: usize = 1024;

/// What cannot be read is logged so often at most.
const UNREADABLE_LINE_EVERY: Duration = Duration::from_secs(10);

impl Core {
    /// A core over a replica that was started.
    pub(super) fn new(
        replica: Replica,
        disk: Sender<ToDisk>,
        checkpoint: Sender<ToCheckpoint>,
        clock: Clock,
        serving: oneshot::Sender<()>,
    ) -> Self {
        let (outboxes, next_unreadable) = (BTreeMap::new(), Duration::ZERO);
        Self { replica, outboxes, disk, checkpoint, clock, next_unreadable, serving: Some(serving) }
    }

    /// Runs until the replica has stopped, or until it is told to abort.
    pub(super) fn run(mut self, inputs: &Receiver<ToCore>) {
        let mut outputs = Vec::new();
        let last = loop {
            // First of all: a replica that starts has something to do.
            let turn = self.turn(&mut outputs);
            if turn != Next::GoOn {
                break turn;
            }
            let turn = self.wait(inputs);
            if turn != Next::GoOn {
                break turn;
            }
        };
        // Whoever connected in the meantime hears of the end like the others.
        for late in inputs.try_iter() {
            if let ToCore::Connected { connection, outbox, .. } = late {
                self.outboxes.insert(connection, outbox);
            }
        }
        let farewell: fn(&Outbox) = if last == Next::Stopped { Outbox::close } else { Outbox::cut };
        self.outboxes.values().for_each(farewell);
        // A disk thread that is gone has failed, and says so itself.
        let _ = self.disk.send(ToDisk::Finish);
        let _ = self.checkpoint.send(ToCheckpoint::Finish);
    }

    /// Waits for an input or the next deadline, then handles every input that waits.
    fn wait(&mut self, inputs: &Receiver<ToCore>) -> Next {
        let wake = Duration::from_micros(self.replica.next_wake_us());
        let mut next = match inputs.recv_timeout(wake.saturating_sub(self.clock.elapsed())) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => return Next::GoOn,
            Err(RecvTimeoutError::Disconnected) => return Next::Aborted,
        };
        let now = self.clock.now();
        let mut left = INPUTS_PER_POLL_MAX;
        while let Some(input) = next {
            match input {
                ToCore::Abort => return Next::Aborted,
                ToCore::Failed(error) => return self.fail(error),
                ToCore::Connected { connection, secret, outbox } => {
                    self.outboxes.insert(connection, outbox);
                    self.replica.handle(now, Input::Connected { connection, secret });
                }
                // Once per connection: one that was found gone has been reported already.
                ToCore::Input(Input::Disconnected { connection })
                    if self.outboxes.remove(&connection).is_none() => {}
                ToCore::Input(Input::Requests { connection, .. })
                    if !self.outboxes.contains_key(&connection) => {}
                ToCore::Input(input) => self.replica.handle(now, input),
            }
            left -= 1;
            next = if left == 0 { None } else { inputs.try_recv().ok() };
        }
        Next::GoOn
    }

    /// Asks for outputs and carries them out, until there are none.
    fn turn(&mut self, outputs: &mut Vec<Output>) -> Next {
        loop {
            self.replica.poll(self.clock.now(), outputs);
            if outputs.is_empty() {
                return Next::GoOn;
            }
            let mut stopped = false;
            let mut failed = None;
            let mut gone = Vec::new();
            for output in outputs.drain(..) {
                match output {
                    Output::Send { connection, responses, answers } => {
                        if self.send(connection, responses, answers).is_err() {
                            gone.push(connection);
                        }
                    }
                    Output::Persist(order) => {
                        // As above: its failure reaches this thread as `Abort`.
                        let _ = self.disk.send(ToDisk::Persist(order));
                    }
                    Output::Close { connection } => {
                        if let Some(outbox) = self.outboxes.get(&connection) {
                            outbox.close();
                        }
                    }
                    Output::Checkpoint(order) => {
                        // As above.
                        let _ = self.checkpoint.send(ToCheckpoint::Order(order));
                    }
                    Output::Backup { connection, request, backup } => {
                        if let Some(outbox) = self.outboxes.get(&connection) {
                            outbox.backup(ToBackup::Ready(request, backup));
                        }
                    }
                    Output::Cut { through } => _ = self.disk.send(ToDisk::Cut { through }),
                    Output::Failed(error) => failed = Some(error),
                    Output::Notice(notice) => self.notice(&notice),
                    Output::Stopped => stopped = true,
                }
            }
            if let Some(error) = failed {
                return self.fail(error);
            }
            if stopped {
                return Next::Stopped;
            }
            if gone.is_empty() {
                return Next::GoOn;
            }
            let now = self.clock.now();
            for connection in gone {
                self.outboxes.remove(&connection);
                self.replica.handle(now, Input::Disconnected { connection });
            }
        }
    }

    /// The node ends for this reason: the disk thread ends with it.
    fn fail(&self, error: StorageError) -> Next {
        // One that is gone has failed before.
        let _ = self.disk.send(ToDisk::Fail(error));
        Next::Aborted
    }

    fn send(
        &self,
        connection: ConnectionId,
        responses: Vec<(RequestId, Response)>,
        answers: u32,
    ) -> Result<(), Gone> {
        self.outboxes.get(&connection).map_or(Ok(()), |outbox| outbox.send(responses, answers))
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Leading { term } => {
                info!(term, "leading");
                if let Some(serving) = self.serving.take() {
                    // A start that was given up listens no longer.
                    let _ = serving.send(());
                }
            }
            Notice::Following { term } => info!(term, "no longer leading"),
            Notice::Unreadable { what } => {
                let now = self.clock.elapsed();
                if now >= self.next_unreadable {
                    error!("a client was told UNREADABLE: {what}");
                    self.next_unreadable = now + UNREADABLE_LINE_EVERY;
                }
            }
            Notice::ClockStepped { by_ms } => {
                warn!(
                    by_ms,
                    "the wall clock was set: absolute due times follow it, delays and leases do not"
                );
            }
        }
    }
}
