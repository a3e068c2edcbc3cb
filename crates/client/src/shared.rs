//! The state that the client's handles and its connection task share, behind a lock, and the notifications between
//! them.
//!
//! A caller adds its encoded request to the state, and wakes the task only if the task waits for output. So requests
//! of many callers share one buffer and one write.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use super::cancelled::Cancelled;
use super::error::ClientError;
use super::requests::limits::Limits;
use super::requests::{Answers, Connection, Requests};
use super::ticket::Outcome;
use crate::requests::feed::Feed;
use crate::workers::Workers;
use adjourn_protocol::{ReleaseKind, Request, RequestId, Response, Subscribe, Welcome};
use adjourn_types::Lease;

/// The shared state and its notifications.
#[derive(Debug)]
pub(super) struct ClientState {
    requests: Mutex<Requests>,
    /// Signalled when there is something to write.
    pub(super) output: Notify,
    /// Signalled when the connection must be drained.
    pub(super) draining: Notify,
    /// Signals that all users of the connection are gone.
    pub(super) stopping: Notify,
    /// Signalled when a job must be given back before the next planned check of the clock.
    pub(super) sooner: Notify,
    /// The workers, which stop before the session ends.
    pub(super) workers: Workers,
}

/// The clones of a client share it. Dropping it stops the connection task.
pub(super) struct Handle {
    shared: Arc<ClientState>,
}

impl ClientState {
    pub(super) fn new(requests: Requests) -> Self {
        Self {
            requests: Mutex::new(requests),
            output: Notify::new(),
            draining: Notify::new(),
            stopping: Notify::new(),
            sooner: Notify::new(),
            workers: Workers::default(),
        }
    }

    pub(super) fn welcome(&self) -> Arc<Welcome> {
        Arc::clone(&self.lock().welcome)
    }

    pub(super) fn reconnects(&self) -> u64 {
        self.lock().reconnects
    }

    pub(super) fn is_connected(&self) -> bool {
        self.lock().wire.connection == Connection::Up
    }

    pub(super) fn limits(&self) -> Limits {
        self.lock().limits()
    }

    /// Changes each time that all of the session's leases are lost.
    pub(super) fn leases_lost(&self) -> watch::Receiver<Option<Cancelled>> {
        self.lock().leases.lost()
    }

    /// True if the leases that this client holds may be over by now.
    pub(super) fn leases_are_over(&self) -> bool {
        self.change(|requests, now, _| requests.leases.are_over(now))
    }

    /// Passes a request to the connection.
    pub(super) fn submit(&self, request: Request) -> Result<oneshot::Receiver<Outcome>, ClientError> {
        self.change(|requests, now, _| requests.accept(now, request))
    }

    /// Like [`Self::submit`]; also returns the id and the serial for [`Self::cancel`].
    pub(super) fn submit_named(
        &self,
        request: Request,
    ) -> Result<(RequestId, u64, oneshot::Receiver<Outcome>), ClientError> {
        self.change(|requests, now, _| requests.accept_named(now, request))
    }

    /// Ends the wait of a reserve whose caller has left.
    pub(super) fn cancel(&self, id: RequestId, serial: u64) {
        self.change(|requests, now, _| requests.cancel(now, id, serial));
    }

    /// Passes a subscription to the connection.
    pub(super) fn subscribe(
        &self,
        subscribe: Subscribe,
        feed: Arc<Feed>,
    ) -> Result<(RequestId, oneshot::Receiver<Outcome>), ClientError> {
        self.change(|requests, now, _| requests.subscribe(now, subscribe, feed))
    }

    /// Ends a subscription whose feed was left.
    pub(super) fn unsubscribe(&self, id: RequestId) {
        self.change(|requests, now, _| requests.unsubscribe(now, id));
    }

    /// Passes GOODBYE to the connection.
    pub(super) fn close(&self) -> Result<oneshot::Receiver<Outcome>, ClientError> {
        self.change(|requests, now, _| requests.close(now))
    }

    /// Releases jobs that no caller wants. Does not wait for the answer.
    pub(super) fn give_back(&self, leases: &[Lease], kind: ReleaseKind) {
        if leases.is_empty() {
            return;
        }
        self.change(|requests, now, _| {
            for part in leases.chunks(requests.limits().leases_max) {
                let release = Request::Release { leases: part.to_vec(), kind, reason: None };
                requests.accept_unheard(now, release);
            }
        });
    }

    /// Changes the state, sends what can be sent, and notifies the waiting callers after unlocking.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Requests, Instant, &mut Answers) -> T) -> T {
        let mut answers = Answers::default();
        self.change_with(&mut answers, change)
    }

    /// Like [`Self::change`], with a buffer that is reused.
    pub(super) fn change_with<T>(
        &self,
        answers: &mut Answers,
        change: impl FnOnce(&mut Requests, Instant, &mut Answers) -> T,
    ) -> T {
        let mut requests = self.lock();
        let now = Instant::now();
        requests.look(now, wall(), answers);
        let changed = change(&mut requests, now, answers);
        requests.pump(now, answers);
        let write = requests.wire.writer_waits && !requests.wire.out.is_empty();
        if write {
            requests.wire.writer_waits = false;
        }
        drop(requests);
        if write {
            self.output.notify_one();
        }
        self.tell(answers);
        changed
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, answers: &mut Answers) {
        for (waiter, outcome) in answers.ended.drain(..) {
            if let Err(Ok(Response::Reserved(jobs))) = waiter.send(outcome) {
                answers.stray.extend(jobs.iter().map(|job| job.lease));
            }
        }
        if std::mem::take(&mut answers.look_sooner) {
            self.sooner.notify_one();
        }
        if !answers.stray.is_empty() {
            self.give_back(&std::mem::take(&mut answers.stray), ReleaseKind::NotStarted);
        }
    }
}

/// The machine's wall clock, which goes on while the machine sleeps.
#[expect(clippy::disallowed_methods, reason = "the client's edge")]
fn wall() -> SystemTime {
    SystemTime::now()
}

impl Handle {
    pub(super) fn new(shared: Arc<ClientState>) -> Self {
        Self { shared }
    }

    pub(super) fn shared(&self) -> &Arc<ClientState> {
        &self.shared
    }

    /// Ends the connection task.
    pub(super) fn stop(&self) {
        self.shared.stopping.notify_one();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let welcome = self.shared.welcome();
        f.debug_struct("Client")
            .field("server", &welcome.server_name)
            .field("session", &welcome.session)
            .finish_non_exhaustive()
    }
}
