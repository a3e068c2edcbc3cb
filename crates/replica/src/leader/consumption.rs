//! What consumers get of each topic: how many want its jobs, and how late these come.

use std::collections::BTreeMap;

use super::waiters::Waiters;
use adjourn_engine::Grant;
use adjourn_types::{Millis, TopicId};

/// After this time the lateness of deliveries begins anew, in microseconds. What was before counts for as long again.
const WINDOW_US: u64 = 60_000_000;

/// How late jobs were at their first delivery, at most, for each topic that delivered some of late.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    now: BTreeMap<TopicId, u64>,
    before: BTreeMap<TopicId, u64>,
    /// When the window ends, on the monotonic clock.
    until_us: u64,
}

impl Lateness {
    /// Notes jobs that are delivered at this time of the wall clock.
    pub(super) fn note(&mut self, grants: &[Grant], now: Millis) {
        for grant in grants.iter().filter(|grant| grant.attempts == 1) {
            let late_ms = self.now.entry(grant.topic).or_default();
            *late_ms = (*late_ms).max(now.since(grant.due));
        }
    }

    /// Begins a new window if this one is over.
    pub(super) fn advance(&mut self, now_us: u64) {
        if now_us >= self.until_us {
            let over = std::mem::take(&mut self.now);
            // Without a delivery for two windows, what was before counts no more.
            self.before = if now_us >= self.until_us + WINDOW_US { BTreeMap::new() } else { over };
            self.until_us = now_us + WINDOW_US;
        }
    }

    fn of(&self, topic: TopicId) -> u64 {
        let windows = [&self.now, &self.before];
        windows.into_iter().filter_map(|window| window.get(&topic)).max().copied().unwrap_or_default()
    }
}

/// What consumers get of each topic, at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Consumption<'a> {
    pub(super) waiters: &'a Waiters,
    pub(super) lateness: &'a Lateness,
}

impl Consumption<'_> {
    /// How many consumers want jobs of a topic, and how late its jobs were, in milliseconds.
    pub(crate) fn of(&self, topic: TopicId) -> (u32, u64) {
        (self.waiters.of_topic(topic), self.lateness.of(topic))
    }

    /// Long polls and subscriptions, of all topics.
    pub(super) fn waiting(&self) -> usize {
        self.waiters.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_engine::{BodyRef, Place};
    use adjourn_types::{Fence, JobId, Lease};

    fn grant(topic: u32, due: u64, attempts: u32) -> Grant {
        Grant {
            lease: Lease { job: JobId(1), fence: Fence(1) },
            topic: TopicId(topic),
            priority: 0,
            attempts,
            due: Millis(due),
            deadline: Millis(0),
            body: BodyRef { place: Place(0), body_bytes: 0, checksum: 0 },
        }
    }

    #[test]
    fn the_latest_first_delivery_counts_for_one_window_or_two() {
        let mut lateness = Lateness::default();
        lateness.advance(0);
        lateness.note(&[grant(1, 90, 1), grant(1, 97, 1), grant(2, 0, 2), grant(3, 200, 1)], Millis(100));
        assert_eq!([1, 2, 3].map(|topic| lateness.of(TopicId(topic))), [10, 0, 0]);
        lateness.advance(WINDOW_US);
        lateness.note(&[grant(2, 95, 1)], Millis(100));
        assert_eq!([1, 2].map(|topic| lateness.of(TopicId(topic))), [10, 5]);
        lateness.advance(2 * WINDOW_US);
        assert_eq!([1, 2].map(|topic| lateness.of(TopicId(topic))), [0, 5]);
        lateness.advance(4 * WINDOW_US);
        assert_eq!([1, 2].map(|topic| lateness.of(TopicId(topic))), [0, 0]);
    }
}
