//! Recognises whether a push under a used sequence number repeats the same job.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::command::NewJob;
use crate::topics::Topics;
use adjourn_types::{Attributes, TopicId, When};

/// 32 bits of a hash over everything that a push contains for one job, but for the headers of a trace.
pub(crate) type JobChecksum = u32;

impl Topics {
    /// The seed for checksums of a topic's jobs. It comes from the name, because a forgotten topic comes back under a new
    /// number.
    pub(crate) fn checksum_seed(&self, topic: TopicId) -> u64 {
        let name = self.find(topic).map(|topic| topic.name.as_str()).unwrap_or_default();
        xxh3_64_with_seed(name.as_bytes(), 0)
    }
}

/// The checksum of one job.
#[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
pub(crate) fn checksum_of(new: &NewJob<'_>, seed: u64) -> JobChecksum {
    let (due_kind, due_ms) = match new.due {
        When::After(delay_ms) => (1, delay_ms),
        When::At(at) => (2, at.0),
    };
    let mut head = [0; 19];
    let numbers = due_ms.to_le_bytes().into_iter().chain(new.priority.to_le_bytes());
    let numbers = numbers.chain(new.ttr_ms.to_le_bytes());
    let kinds = [due_kind, new.if_exists as u8, u8::from(new.key.is_some())];
    head.iter_mut().zip(numbers.chain(kinds)).for_each(|(place, byte)| *place = byte);
    // A program that pushes again does so under another span.
    let attributes = Attributes::without_trace(new.attributes);
    let parts = [&head[..], new.key.unwrap_or_default(), &attributes, new.body];
    let hash = parts.into_iter().fold(seed, |hash, part| xxh3_64_with_seed(part, hash));
    hash as JobChecksum
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::{AttributesBuilder, IfExists, Millis};

    fn headers(headers: &[(&str, &str)]) -> Attributes {
        let builder = AttributesBuilder::default().attempts_max(3);
        let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(name, value));
        builder.build().expect("good")
    }

    #[test]
    fn all_that_a_push_says_of_a_job_counts() {
        let [one, two, longer] = [&[("a", "1")][..], &[("a", "2")], &[("a", "1"), ("b", "")]].map(headers);
        let job = NewJob {
            due: When::After(5),
            priority: 1,
            ttr_ms: 2,
            if_exists: IfExists::Reject,
            key: None,
            attributes: one.as_bytes(),
            body: b"b",
        };
        let others = [
            NewJob { due: When::After(6), ..job },
            NewJob { due: When::At(Millis(5)), ..job },
            NewJob { priority: 2, ..job },
            NewJob { ttr_ms: 1, ..job },
            NewJob { if_exists: IfExists::Keep, ..job },
            NewJob { key: Some(b""), ..job },
            NewJob { key: Some(b"k"), ..job },
            NewJob { attributes: b"", ..job },
            NewJob { attributes: two.as_bytes(), ..job },
            NewJob { attributes: longer.as_bytes(), ..job },
            NewJob { body: b"c", ..job },
        ];
        let mut sums = vec![checksum_of(&job, 7), checksum_of(&job, 8)];
        sums.extend(others.iter().map(|other| checksum_of(other, 7)));
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), 13);
    }

    #[test]
    fn a_job_that_is_pushed_again_under_another_span_is_the_same() {
        let sum = |attributes: &Attributes| {
            let attributes = attributes.as_bytes();
            let (due, if_exists) = (When::After(0), IfExists::Reject);
            checksum_of(
                &NewJob { due, priority: 1, ttr_ms: 0, if_exists, key: None, attributes, body: b"b" },
                7,
            )
        };
        let plain = sum(&headers(&[("a", "1")]));
        assert_eq!(sum(&headers(&[("traceparent", "00-1"), ("a", "1")])), plain);
        assert_eq!(
            sum(&headers(&[("TraceParent", "00-2"), ("tracestate", "x"), ("a", "1"), ("baggage", "y")])),
            plain
        );
        assert_ne!(sum(&headers(&[("traceparents", "00-1"), ("a", "1")])), plain);
    }
}
