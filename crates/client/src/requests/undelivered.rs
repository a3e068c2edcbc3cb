//! Leases that the server holds for this client although their jobs never arrived, because the connection broke
//! before.
//!
//! After a session is resumed, LEASES shows the leases that it holds, and the client gives back at once, without an
//! attempt, those whose jobs it never received. Fences tell them apart: they only grow, and a connection delivers its
//! jobs in the order in which they were granted. So on earlier connections all leases up to the highest received
//! fence have arrived; and all jobs that the new connection has granted arrive before the LEASED that shows them.

use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::requests::{Answers, Requests};
use adjourn_protocol::{Delivered, ErrorCode, Leased, Request, RequestId, Response};
use adjourn_types::{Fence, JobId, Lease};

/// The leases received so far, and whether more pages are being fetched.
#[derive(Debug, Default)]
pub(crate) struct Undelivered {
    /// All leases up to this fence have arrived.
    through: Fence,
    /// Higher fences of leases that have arrived, while it is unknown whether others are missing.
    since: BTreeSet<Fence>,
    /// True if a session was resumed, and not all of its leases were checked since.
    is_open: bool,
    /// The LEASES under way for that.
    asking: Option<RequestId>,
    /// True if this client has asked for jobs.
    consumes: bool,
    /// True if the server does not know CANCEL.
    refuses_cancel: bool,
}

impl Undelivered {
    /// Notes a request that is sent.
    pub(crate) fn note_request(&mut self, request: &Request) {
        self.consumes |= matches!(request, Request::Reserve(_) | Request::Subscribe(_));
    }

    /// Notes jobs that arrived.
    pub(crate) fn came(&mut self, jobs: &[Delivered]) {
        for fence in jobs.iter().map(|job| job.lease.fence) {
            if self.is_open {
                self.since.insert(fence);
            } else {
                self.through = self.through.max(fence);
            }
        }
    }

    /// Ends the check: no leases are missing, or it is unknown which.
    pub(crate) fn close(&mut self) {
        self.through = self.since.last().copied().unwrap_or_default().max(self.through);
        self.since.clear();
        self.is_open = false;
    }

    /// Notes that a request has ended.
    pub(crate) fn ended(&mut self, id: RequestId) {
        self.asking.take_if(|asking| *asking == id);
    }

    /// True if this is the LEASES of the check.
    pub(crate) fn is_asking(&self, id: RequestId) -> bool {
        self.asking == Some(id)
    }

    fn is_unseen(&self, lease: Lease) -> bool {
        lease.fence > self.through && !self.since.contains(&lease.fence)
    }
}

impl Requests {
    /// Begins a check on a connection that resumed the session, if its leases were kept.
    pub(crate) fn look_for_unseen(&mut self, now: Instant, leases_kept: bool) {
        self.undelivered.refuses_cancel = false;
        if !leases_kept {
            return self.undelivered.close();
        }
        if self.undelivered.consumes {
            self.undelivered.is_open = true;
            self.ask_for_leases(now, JobId(0));
        }
    }

    /// Sends LEASES before all waiting requests.
    fn ask_for_leases(&mut self, now: Instant, after: JobId) {
        let jobs_max = self.limits().reserve_jobs_max.max(1);
        if let Ok(id) = self.enter(now, Request::Leases { after, jobs_max }, None, None) {
            self.line.rotate_right(1);
            self.undelivered.asking = Some(id);
        }
    }

    /// Handles the answer to LEASES.
    pub(crate) fn leased(&mut self, now: Instant, id: RequestId, leased: Leased, answers: &mut Answers) {
        let mut leased = leased;
        if !self.undelivered.is_asking(id) {
            leased.jobs.retain(|job| !answers.stray.contains(&job.lease) && !self.settles(job.lease));
            if self.open.get_mut(id).is_some_and(|open| open.is_awaited()) {
                self.undelivered.came(&leased.jobs);
            }
            // Jobs that are now too late for the caller may have been handed out before: they are not given back.
            drop(self.leases.age(now, &mut leased.jobs));
            return self.finish(id, Ok(Response::Leased(leased)), answers);
        }
        let asked = self.open.get_mut(id).map(|open| open.request.clone());
        let undelivered: Vec<Lease> = leased
            .jobs
            .iter()
            .map(|job| job.lease)
            .filter(|lease| self.undelivered.is_unseen(*lease))
            .collect();
        if !undelivered.is_empty() {
            tracing::info!(
                jobs = undelivered.len(),
                "jobs that never came over the lost connection are given back"
            );
        }
        answers.stray.extend(undelivered);
        self.finish(id, Ok(Response::Done), answers);
        if !leased.has_more {
            return self.undelivered.close();
        }
        let before = if let Some(Request::Leases { after, .. }) = asked { after } else { JobId(0) };
        self.ask_for_leases(now, leased.jobs.last().map_or(before, |job| job.lease.job));
    }

    /// Ends the check if the server refuses LEASES.
    pub(crate) fn leases_refused(&mut self, id: RequestId) {
        if self.undelivered.is_asking(id) {
            self.undelivered.close();
        }
    }

    /// Ends the wait of a reserve whose caller has left, so that the server grants it nothing. `serial` shows that the id
    /// still belongs to that reserve.
    pub(crate) fn cancel(&mut self, now: Instant, id: RequestId, serial: u64) {
        let is_waiting = self.open.get_mut(id).is_some_and(|open| open.serial == serial && open.on_wire);
        if is_waiting && !self.undelivered.refuses_cancel {
            self.accept_unheard(now, Request::Cancel { request: id.0 });
        }
    }

    /// An older server refuses CANCEL: then the reserve goes on, and its jobs are given back when they come.
    pub(crate) fn cancel_refused(&mut self, code: ErrorCode) {
        self.undelivered.refuses_cancel |= code == ErrorCode::Unsupported;
    }

    /// True if an unanswered request settles this lease.
    fn settles(&mut self, lease: Lease) -> bool {
        self.open.iter_mut().any(|(_, open)| match &open.request {
            Request::Finish { leases } | Request::Release { leases, .. } | Request::Bury { leases, .. } => {
                leases.contains(&lease)
            }
            _ => false,
        })
    }
}
