//! The unanswered requests, each in a slot whose index is its request id.
//!
//! A slab: ids are found by index, freed slots are reused, and nothing is hashed. A slot is freed only when no
//! answer for it can arrive on the present connection.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::feed::Feed;
use crate::ticket::Outcome;
use adjourn_protocol::{Request, RequestId};

/// One request without an answer, or one open subscription.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    /// Counts requests in the order in which they were accepted.
    pub(crate) serial: u64,
    /// When it was accepted.
    pub(crate) accepted: Instant,
    /// The request. A push gets its sequence when it is first sent.
    pub(crate) request: Request,
    /// True if it was sent on the present connection.
    pub(crate) on_wire: bool,
    /// When it was last sent; before that, when it was accepted.
    pub(crate) sent: Instant,
    /// The number of copies sent whose effect is unknown.
    pub(crate) doubts: u32,
    /// How often it was on the wire when the server broke the protocol.
    pub(crate) faults: u8,
    /// How often the server cut its wait short.
    pub(crate) cut_short: u8,
    /// The caller that waits for the answer; `None` after the answer, or when no caller waits.
    pub(crate) waiter: Option<oneshot::Sender<Outcome>>,
    /// The feed for the jobs of a subscription.
    pub(crate) feed: Option<Arc<Feed>>,
}

/// All open requests.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    places: Vec<Option<OpenRequest>>,
    free: Vec<u32>,
}

impl OpenRequests {
    /// Adds a request. Returns its id.
    pub(crate) fn insert(&mut self, open: OpenRequest) -> RequestId {
        if let Some(place) = self.free.pop() {
            if let Some(slot) = self.places.get_mut(place as usize) {
                *slot = Some(open);
            }
            return RequestId(place + 1);
        }
        self.places.push(Some(open));
        RequestId(u32::try_from(self.places.len()).unwrap_or(u32::MAX))
    }

    pub(crate) fn get_mut(&mut self, id: RequestId) -> Option<&mut OpenRequest> {
        self.places.get_mut(place(id)?)?.as_mut()
    }

    /// Removes a request; its id may be reused.
    pub(crate) fn remove(&mut self, id: RequestId) -> Option<OpenRequest> {
        let open = self.places.get_mut(place(id)?)?.take()?;
        self.free.push(id.0 - 1);
        Some(open)
    }

    /// Every open request, in no order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (RequestId, &mut OpenRequest)> {
        (1..).zip(&mut self.places).filter_map(|(id, slot)| Some((RequestId(id), slot.as_mut()?)))
    }
}

fn place(id: RequestId) -> Option<usize> {
    id.0.checked_sub(1).and_then(|place| usize::try_from(place).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(serial: u64) -> OpenRequest {
        let now = Instant::now();
        OpenRequest {
            serial,
            accepted: now,
            request: Request::Ping,
            on_wire: false,
            sent: now,
            doubts: 0,
            faults: 0,
            cut_short: 0,
            waiter: None,
            feed: None,
        }
    }

    #[test]
    fn ids_start_at_one_and_are_used_again() {
        let mut slots = OpenRequests::default();
        assert_eq!([slots.insert(open(1)), slots.insert(open(2))], [RequestId(1), RequestId(2)]);
        assert_eq!(slots.remove(RequestId(1)).map(|open| open.serial), Some(1));
        for unknown in [0, 1, 3, u32::MAX] {
            assert!(slots.remove(RequestId(unknown)).is_none(), "{unknown}");
        }
        assert_eq!(slots.insert(open(3)), RequestId(1));
        assert_eq!(
            slots.iter_mut().map(|(id, open)| (id.0, open.serial)).collect::<Vec<_>>(),
            [(1, 3), (2, 2)]
        );
    }
}
