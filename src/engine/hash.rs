//! The state hash: a sum over the hashes of everything in the state.
//!
//! An additive multiset hash: adding or removing an element costs its own hash and one addition, and the sum does
//! not depend on the order of what happened. Each element is laid out in a fixed form, little-endian, begins with a byte that
//! says what it is, and is hashed with XXH3-128. It finds replicas that have come apart, by fault of a machine or of
//! ours; it does not protect against somebody who writes the state by hand.

use xxhash_rust::xxh3::xxh3_128;

use super::clock::{Line, Moment};
use super::jobs::Job;
use crate::types::{Lease, Millis, SessionId};

/// The running sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum(u128);

impl Sum {
    /// Something is in the state.
    pub(super) fn add(&mut self, element: u128) {
        self.0 = self.0.wrapping_add(element);
    }

    /// Something is no longer.
    pub(super) fn subtract(&mut self, element: u128) {
        self.0 = self.0.wrapping_sub(element);
    }

    /// What the sum is when these single values are counted in.
    pub(super) fn with(self, scalars: u128) -> u128 {
        self.0.wrapping_add(scalars)
    }
}

/// What an element is.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    Scalars = 1,
    Job = 2,
    Topic = 3,
    Session = 4,
    Pushed = 5,
    Finished = 6,
}

/// An element being laid out.
pub(super) struct Element {
    bytes: [u8; Self::BYTES],
    length: usize,
}

impl Element {
    const BYTES: usize = 176;

    pub(super) fn new(kind: Kind) -> Self {
        let mut element = Self { bytes: [0; Self::BYTES], length: 0 };
        element.put(&[kind as u8]);
        element
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        match self.bytes.get_mut(self.length..end) {
            Some(place) => place.copy_from_slice(bytes),
            None => unreachable!("every element fits"),
        }
        self.length = end;
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.put(&value.to_le_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.put(&value.to_le_bytes());
        self
    }

    pub(super) fn u8(mut self, value: u8) -> Self {
        self.put(&[value]);
        self
    }

    pub(super) fn u128(mut self, value: u128) -> Self {
        self.put(&value.to_le_bytes());
        self
    }

    pub(super) fn moment(self, moment: Moment) -> Self {
        self.u8(match moment.line {
            Line::Stamp => 1,
            Line::Wall => 2,
        })
        .u64(moment.at)
    }

    pub(super) fn hash(&self) -> u128 {
        xxh3_128(self.bytes.get(..self.length).unwrap_or_default())
    }
}

/// The hash of a job's record. Where its body lies does not count.
pub(super) fn of_job(job: &Job) -> u128 {
    let mut element = Element::new(Kind::Job)
        .u64(job.id.0)
        .moment(job.due)
        .u64(job.since)
        .u64(job.fence.0)
        .u64(job.holder.0)
        .u32(job.topic.0)
        .u32(job.priority)
        .u32(job.ttr_ms)
        .u32(job.attempts)
        .u32(job.body.body_bytes)
        .u32(job.body.checksum)
        .u8(job.state as u8)
        .u8(job.buried as u8);
    if job.rare.is_some() {
        element = element.u128(job.identity().unwrap_or_default());
        if let Some(retry) = job.retry() {
            element = element.u64(retry.digest);
            if let Some(expires) = retry.expires {
                element = element.moment(expires);
            }
        }
    }
    element.hash()
}

/// The hash of one remembered push.
pub(super) fn of_pushed(session: SessionId, sequence: u64, outcome: u64) -> u128 {
    Element::new(Kind::Pushed).u64(session.0).u64(sequence).u64(outcome).hash()
}

/// The hash of one remembered finish, the `number`-th there was.
pub(super) fn of_finished(number: u64, stamp: Millis, lease: Lease) -> u128 {
    Element::new(Kind::Finished).u64(number).u64(stamp.0).u64(lease.job.0).u64(lease.fence.0).hash()
}
