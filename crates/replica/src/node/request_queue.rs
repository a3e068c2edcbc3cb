//! The requests of one connection that wait for their turns.

use std::collections::VecDeque;
use std::sync::Arc;

use super::push_parts::PushParts;
use crate::io::Permit;
use adjourn_protocol::{Kind, Request, RequestId};

/// The requests of a connection that are not taken up yet.
#[derive(Debug, Default)]
pub(super) struct RequestQueue {
    /// Waiting requests, in the batches in which they arrived.
    pub(super) batches: VecDeque<Batch>,
    /// A push before these that is proposed in parts.
    pub(super) parts: Option<PushParts>,
    /// The permit of a batch whose last request is being taken up.
    pub(super) permit: Option<Permit>,
    /// True if the connection is waiting in `askers`.
    pub(super) is_in_line: bool,
}

impl RequestQueue {
    /// True if a request waits for its turn. Behind a proposed part of a push, requests wait for it to be applied.
    pub(super) fn is_waiting(&self) -> bool {
        self.parts.as_ref().map_or(!self.batches.is_empty(), |parts| !parts.is_under_way())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.parts.is_none()
    }

    /// The first request, or the rest of a push.
    pub(super) fn take(&mut self) -> Option<Asked> {
        if let Some(parts) = self.parts.take() {
            return Some(Asked::Rest(parts));
        }
        self.permit = None;
        let first = self.batches.front_mut()?;
        let (request, asked) = first.requests.next()?;
        if first.requests.as_slice().is_empty() {
            self.permit = self.batches.pop_front().map(|batch| batch.permit);
        }
        Some(Asked::Request(request, asked))
    }

    /// The caller of the next request, if that is the first one of a batch of another caller.
    pub(super) fn take_caller(&mut self) -> Option<Arc<str>> {
        self.batches.front_mut().filter(|_| self.parts.is_none())?.from.take()
    }

    /// Drops requests that matter only to the client.
    pub(super) fn keep_what_outlives(&mut self) {
        for batch in &mut self.batches {
            let requests: Vec<_> = batch.requests.by_ref().filter(|(_, request)| outlives(request)).collect();
            batch.requests = requests.into_iter();
        }
        self.batches.retain(|batch| !batch.requests.as_slice().is_empty());
    }
}

/// A request to be taken up.
#[derive(Debug)]
pub(crate) enum Asked {
    Request(RequestId, Request),
    /// The rest of a push.
    Rest(PushParts),
}

#[derive(Debug)]
pub(super) struct Batch {
    pub(super) from: Option<Arc<str>>,
    pub(super) requests: std::vec::IntoIter<(RequestId, Request)>,
    /// Returned when the last of the requests was taken up.
    pub(super) permit: Permit,
}

/// True if a request is carried out even if its client is gone and gets no answer.
fn outlives(request: &Request) -> bool {
    let is_of_client = matches!(
        request,
        Request::Hello(_)
            | Request::Reserve(_)
            | Request::Subscribe(_)
            | Request::Credit { .. }
            | Request::Unsubscribe { .. }
            | Request::Cancel { .. }
            | Request::BackupBegin
    );
    request.opcode().kind() != Kind::Read && !is_of_client
}
