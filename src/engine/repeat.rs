//! Whether a push that comes under a used sequence number is the same one again.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::command::NewJob;
use super::topics::Topics;
use crate::types::limits::{PRIORITY_DEFAULT, PRIORITY_UNSAID, TTR_MS_DEFAULT};
use crate::types::{TopicId, When};

/// 32 bits of a hash over all that a push says of one job; 0 is not known.
pub(super) type JobChecksum = u32;

impl Topics {
    /// What the checksums of jobs of a topic begin with. It is made of the name: a topic that was forgotten comes back under
    /// another number.
    pub(super) fn checksum_seed(&self, topic: TopicId) -> Option<u64> {
        let topic = self.find(topic)?;
        Some(xxh3_64_with_seed(topic.name.as_str().as_bytes(), 0))
    }
}

/// The checksum of one job; 0 without a seed.
///
/// A job that leaves its priority or its time to run to the topic has the checksum of one that says the usual ones: that is
/// what a leader proposes for it while some members do not know policies, and a repeat may come when all do.
#[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
pub(super) fn checksum_of(new: &NewJob<'_>, seed: Option<u64>) -> JobChecksum {
    let Some(seed) = seed else { return 0 };
    let (due_kind, due_ms) = match new.due {
        When::After(delay_ms) => (1, delay_ms),
        When::At(at) => (2, at.0),
    };
    let priority = if new.priority == PRIORITY_UNSAID { PRIORITY_DEFAULT } else { new.priority };
    let ttr_ms = if new.ttr_ms == 0 { TTR_MS_DEFAULT } else { new.ttr_ms };
    let mut head = [0; 19];
    let numbers = due_ms.to_le_bytes().into_iter().chain(priority.to_le_bytes());
    let numbers = numbers.chain(ttr_ms.to_le_bytes());
    let kinds = [due_kind, new.if_exists as u8, u8::from(new.key.is_some())];
    head.iter_mut().zip(numbers.chain(kinds)).for_each(|(place, byte)| *place = byte);
    let parts = [&head[..], new.key.unwrap_or_default(), new.attributes, new.body];
    let hash = parts.into_iter().fold(seed, |hash, part| xxh3_64_with_seed(part, hash));
    (hash as JobChecksum).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{IfExists, Millis};

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
        let mut sums = vec![checksum_of(&job, Some(7)), checksum_of(&job, Some(8))];
        sums.extend(others.iter().map(|other| checksum_of(other, Some(7))));
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), 11);
        assert_eq!(checksum_of(&job, None), 0);
    }

    #[test]
    fn what_is_left_to_the_topic_is_as_older_leaders_propose_it() {
        let unsaid = NewJob {
            due: When::After(5),
            priority: PRIORITY_UNSAID,
            ttr_ms: 0,
            if_exists: IfExists::Reject,
            key: None,
            attributes: b"",
            body: b"b",
        };
        let proposed = NewJob { priority: PRIORITY_DEFAULT, ttr_ms: TTR_MS_DEFAULT, ..unsaid };
        assert_eq!(checksum_of(&unsaid, Some(7)), checksum_of(&proposed, Some(7)));
    }
}
