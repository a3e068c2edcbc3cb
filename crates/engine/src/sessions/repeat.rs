//! Recognises whether a push under a used sequence number repeats the same job.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::command::NewJob;
use crate::topics::Topics;
use adjourn_types::{TopicId, When};

/// 32 bits of a hash over everything that a push contains for one job.
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
    let parts = [&head[..], new.key.unwrap_or_default(), new.attributes, new.body];
    let hash = parts.into_iter().fold(seed, |hash, part| xxh3_64_with_seed(part, hash));
    hash as JobChecksum
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::{IfExists, Millis};

    #[test]
    fn all_that_a_push_says_of_a_job_counts() {
        let job = NewJob {
            due: When::After(5),
            priority: 1,
            ttr_ms: 2,
            if_exists: IfExists::Reject,
            key: None,
            attributes: b"a",
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
            NewJob { attributes: b"ab", body: b"", ..job },
            NewJob { body: b"c", ..job },
        ];
        let mut sums = vec![checksum_of(&job, 7), checksum_of(&job, 8)];
        sums.extend(others.iter().map(|other| checksum_of(other, 7)));
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), 11);
    }
}
