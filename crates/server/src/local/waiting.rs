//! The requests of one session that wait for their answers.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};

use adjourn_protocol::{RequestId, Response};

/// The waiting requests of a session.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Askers>);

/// The callers that wait, by the number of their request.
#[derive(Debug, Default)]
pub(super) struct Askers {
    pub(super) by_number: BTreeMap<u32, Asker>,
    /// True if no more answers come.
    pub(super) has_ended: bool,
}

/// A caller that waits.
#[derive(Debug)]
pub(super) enum Asker {
    /// For one answer, which ends the wait.
    Once(oneshot::Sender<Response>),
    /// For answers until it is dropped.
    Always(mpsc::UnboundedSender<Response>),
}

impl Waiting {
    pub(super) fn lock(&self) -> MutexGuard<'_, Askers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an answer over. Returns it if no caller waits for it.
    pub(super) fn hand_over(&self, number: RequestId, answer: Response) -> Result<(), Response> {
        let mut askers = self.lock();
        match askers.by_number.get(&number.0) {
            Some(Asker::Always(asker)) => asker.send(answer).map_err(|unsent| unsent.0),
            Some(Asker::Once(_)) => match askers.by_number.remove(&number.0) {
                Some(Asker::Once(asker)) => asker.send(answer),
                _ => Err(answer),
            },
            None => Err(answer),
        }
    }

    /// Ends all waits: no more answers come.
    pub(super) fn end(&self) {
        let mut askers = self.lock();
        askers.has_ended = true;
        let waiting = mem::take(&mut askers.by_number);
        drop(askers);
        drop(waiting);
    }
}
