//! The requests of one session that wait for their answers.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::protocol::{RequestId, Response};

/// Who waits for which answer.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Askers>);

/// Those who wait, by the number of their request.
#[derive(Debug, Default)]
pub(super) struct Askers {
    pub(super) by_number: BTreeMap<u32, Asker>,
    /// No answer comes any more.
    pub(super) has_ended: bool,
}

/// One who waits.
#[derive(Debug)]
pub(super) enum Asker {
    /// One answer ends the wait.
    Once(oneshot::Sender<Response>),
    /// Answers come until it is gone.
    Always(mpsc::UnboundedSender<Response>),
}

impl Waiting {
    pub(super) fn lock(&self) -> MutexGuard<'_, Askers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an answer over. Returns it if nobody waits for it.
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

    /// No answer comes any more.
    pub(super) fn end(&self) {
        let mut askers = self.lock();
        askers.has_ended = true;
        let waiting = mem::take(&mut askers.by_number);
        drop(askers);
        drop(waiting);
    }
}
