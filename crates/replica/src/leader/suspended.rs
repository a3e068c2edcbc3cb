//! The topics whose calls are suspended: their only destination failed, and gets no call for a while. The service that
//! makes the calls reports that again and again while it lasts; WHY shows it.

use std::collections::BTreeMap;

use adjourn_types::TopicName;

/// A report counts for this long, in microseconds. The service reports twice a second.
const REPORT_US: u64 = 2_000_000;

/// The topics whose calls are suspended.
#[derive(Debug, Default)]
pub(crate) struct SuspendedCalls(BTreeMap<TopicName, Suspended>);

/// Times are on the queue's clock.
#[derive(Debug)]
struct Suspended {
    until_us: u64,
    reported_us: u64,
}

impl SuspendedCalls {
    /// Notes that the calls of a topic are suspended until this time.
    pub(super) fn note(&mut self, topic: TopicName, until_us: u64, queue_us: u64) {
        self.0.retain(|_, suspended| suspended.counts(queue_us));
        self.0.insert(topic, Suspended { until_us, reported_us: queue_us });
    }

    /// How much longer the calls of a topic are suspended, in milliseconds.
    pub(super) fn left_ms(&self, topic: &TopicName, queue_us: u64) -> Option<u64> {
        let suspended = self.0.get(topic).filter(|suspended| suspended.counts(queue_us))?;
        Some((suspended.until_us - queue_us).div_ceil(1000))
    }
}

impl Suspended {
    fn counts(&self, queue_us: u64) -> bool {
        queue_us < self.until_us && queue_us < self.reported_us + REPORT_US
    }
}
