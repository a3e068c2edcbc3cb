//! The attributes that end a job: expiry, number of attempts, the wait between them, and retention after the finish.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::clock::{Clock, Moment};
use adjourn_types::{Attributes, Backoff, JobId, TopicPolicy};

/// The attributes that the engine acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Retry {
    pub(crate) expires: Option<Moment>,
    pub(crate) attempts_max: Option<u32>,
    pub(crate) backoff: Option<Backoff>,
    /// A hash of the encoded attributes, so that the state hash includes them.
    pub(crate) digest: u64,
    /// How long the job is remembered after it was finished, in milliseconds; 0 for not at all.
    pub(crate) retention_ms: u64,
}

impl Retry {
    /// Reads the settings from encoded attributes; `None` if they contain none.
    pub(crate) fn read(attributes: &[u8], clock: Clock) -> Option<Self> {
        if attributes.is_empty() {
            return None;
        }
        let policy = Attributes::policy_of(attributes);
        let retention_ms = Attributes::dedupe_retention_of(attributes);
        if policy == adjourn_types::Policy::default() && retention_ms == 0 {
            return None;
        }
        Some(Self {
            expires: policy.expires.map(|when| clock.resolve(when)),
            attempts_max: policy.attempts_max,
            backoff: policy.backoff,
            digest: xxh3_64(attributes),
            retention_ms,
        })
    }

    /// Completes a job's own settings with its topic's, for a job with this due time.
    pub(crate) fn with_defaults(
        own: Option<Self>,
        attributes: &[u8],
        policy: &TopicPolicy,
        due: Moment,
    ) -> Option<Self> {
        let (attempts_max, backoff) = (policy.attempts_max, policy.backoff.clone());
        let expires =
            policy.expires_after_ms.map(|after_ms| Moment { at: due.at.saturating_add(after_ms), ..due });
        let said = own.unwrap_or_else(|| Self { digest: xxh3_64(attributes), ..Self::default() });
        let mut filled = Self {
            expires: said.expires.or(expires),
            attempts_max: said.attempts_max.or(attempts_max),
            backoff: said.backoff.clone().or(backoff),
            ..said.clone()
        };
        if (filled.attempts_max, &filled.backoff) != (said.attempts_max, &said.backoff) {
            let Self { attempts_max, backoff, .. } = filled.clone();
            let taken = TopicPolicy { attempts_max, backoff, ..TopicPolicy::default() };
            let mut bytes = said.digest.to_le_bytes().to_vec();
            bytes.extend(taken.encode());
            filled.digest = xxh3_64(&bytes);
        }
        filled.some()
    }

    /// The settings; `None` if there are none.
    pub(crate) fn some(self) -> Option<Self> {
        let ends_by_itself = self.expires.is_some() || self.attempts_max.is_some();
        let says_nothing = !ends_by_itself && self.backoff.is_none() && self.retention_ms == 0;
        (!says_nothing).then_some(self)
    }
}

/// The wait after the `attempts`-th attempt of a job failed, in milliseconds: the backoff, less the jitter.
///
/// The jitter is derived from job id and attempt, so every replica computes the same.
pub fn wait_ms(backoff: &Backoff, job: JobId, attempts: u32) -> u64 {
    let wait_ms = backoff.wait_ms(attempts);
    let jitter_max_ms = wait_ms * u64::from(backoff.jitter_percent) / 100;
    let mut seed = [0; 12];
    let (id, attempt) = seed.split_at_mut(8);
    id.copy_from_slice(&job.0.to_le_bytes());
    attempt.copy_from_slice(&attempts.to_le_bytes());
    wait_ms.saturating_sub(xxh3_64(&seed) % (jitter_max_ms + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::BackoffCurve;

    #[test]
    fn jitter_takes_off_at_most_its_part_and_differs_between_jobs() {
        let backoff = Backoff { curve: BackoffCurve::Fixed(1000), jitter_percent: 20 };
        let waits: Vec<u64> = (1..200).map(|id| wait_ms(&backoff, JobId(id), 1)).collect();
        assert!(waits.iter().all(|wait| (800..=1000).contains(wait)), "{waits:?}");
        let (least, most) = (waits.iter().min(), waits.iter().max());
        assert!(least < Some(&820) && most > Some(&980), "{least:?} {most:?}");
        assert_eq!(wait_ms(&backoff, JobId(7), 1), wait_ms(&backoff, JobId(7), 1));
    }

    #[test]
    fn without_jitter_the_wait_is_the_curves() {
        let backoff = Backoff { curve: BackoffCurve::List(vec![0, 70]), jitter_percent: 0 };
        assert_eq!([1, 2, 3].map(|attempts| wait_ms(&backoff, JobId(1), attempts)), [0, 70, 70]);
    }
}
