//! The queue's defaults for retries, which the leader's configuration sets through the log.
//!
//! A job keeps the defaults that were in force when it was pushed. So the state keeps every set that ever was, and a job has
//! the number of its set: one byte, where its own copy would double the memory that it takes.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Engine;
use super::job::Job;
use super::outcome::{Outcome, Reject};
use super::retry::wait_ms;
use crate::types::{Backoff, RetryDefaults, TopicPolicy};

/// Names a set of defaults in a job; 0 for [`RetryDefaults::NONE`].
pub(super) type DefaultsNumber = u8;

/// Every set of defaults that was ever in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Defaults {
    /// By number, from 1; each once.
    sets: Vec<RetryDefaults>,
    current: DefaultsNumber,
}

impl Defaults {
    /// The number of the set in force.
    pub(super) fn current(&self) -> DefaultsNumber {
        self.current
    }

    /// The set with this number.
    pub(super) fn get(&self, number: DefaultsNumber) -> &RetryDefaults {
        let place = usize::from(number).checked_sub(1);
        place.and_then(|place| self.sets.get(place)).unwrap_or(&RetryDefaults::NONE)
    }

    /// Whether there is a set with this number.
    pub(super) fn has(&self, number: DefaultsNumber) -> bool {
        usize::from(number) <= self.sets.len()
    }

    /// Whether they can be those of a state.
    pub(super) fn are_valid(&self) -> bool {
        self.sets.len() <= usize::from(DefaultsNumber::MAX) && self.has(self.current)
    }

    /// What they add to the state hash.
    pub(super) fn digest(&self) -> u64 {
        self.sets.iter().fold(self.current.into(), |digest, set| {
            let RetryDefaults { attempts_max, backoff } = set.clone();
            let set = TopicPolicy { attempts_max, backoff, ..TopicPolicy::default() };
            xxh3_64_with_seed(&set.encode(), digest)
        })
    }

    fn set(&mut self, defaults: &RetryDefaults) -> Result<(), Reject> {
        let known = if *defaults == RetryDefaults::NONE {
            Some(0)
        } else {
            self.sets.iter().position(|set| set == defaults).map(|place| place + 1)
        };
        let number = known.unwrap_or(self.sets.len() + 1);
        self.current = DefaultsNumber::try_from(number).map_err(|_| Reject::DefaultsQuota)?;
        if known.is_none() {
            self.sets.push(defaults.clone());
        }
        Ok(())
    }
}

impl Engine {
    /// The defaults for the jobs that are pushed now.
    pub fn retry_defaults(&self) -> &RetryDefaults {
        self.defaults.get(self.defaults.current())
    }

    /// Changes the defaults for the jobs that are pushed from now on.
    pub(super) fn set_defaults(&mut self, defaults: &RetryDefaults) -> Result<Outcome, Reject> {
        self.defaults.set(defaults).map(|()| Outcome::Done)
    }

    /// After how many failed attempts a job is buried: as it says, or its topic said, or the queue.
    pub(super) fn attempts_max(&self, job: &Job) -> Option<u32> {
        let said = job.retry().and_then(|retry| retry.attempts_max);
        said.or(self.defaults.get(job.defaults).attempts_max)
    }

    /// How a job waits between attempts: as it says, or its topic said, or the queue.
    pub(super) fn backoff<'a>(&'a self, job: &'a Job) -> Option<&'a Backoff> {
        let said = job.retry().and_then(|retry| retry.backoff.as_ref());
        said.or(self.defaults.get(job.defaults).backoff.as_ref())
    }

    /// How long a job waits after its last attempt failed, in milliseconds.
    pub(super) fn backoff_ms(&self, job: &Job) -> u64 {
        self.backoff(job).map_or(0, |backoff| wait_ms(backoff, job.id, job.attempts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(attempts_max: u32) -> RetryDefaults {
        RetryDefaults { attempts_max: Some(attempts_max), backoff: None }
    }

    #[test]
    fn each_set_has_one_number_for_ever() {
        let mut defaults = Defaults::default();
        let digests: Vec<u64> = [attempts(5), attempts(6), attempts(5), RetryDefaults::NONE]
            .iter()
            .map(|set| {
                assert_eq!(defaults.set(set), Ok(()));
                assert_eq!(defaults.get(defaults.current()), set);
                defaults.digest()
            })
            .collect();
        assert_eq!((defaults.get(1), defaults.get(2)), (&attempts(5), &attempts(6)));
        assert!(defaults.current() == 0 && defaults.has(2) && !defaults.has(3) && defaults.are_valid());
        let different: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(different.len(), digests.len());
    }

    #[test]
    fn there_are_no_more_sets_than_numbers() {
        let mut defaults = Defaults::default();
        for number in 1..=u32::from(DefaultsNumber::MAX) {
            assert_eq!(defaults.set(&attempts(number)), Ok(()));
        }
        let before = defaults.clone();
        assert_eq!(defaults.set(&attempts(9999)), Err(Reject::DefaultsQuota));
        assert_eq!(defaults, before, "the last one stays in force");
        assert_eq!((defaults.set(&attempts(1)), defaults.current()), (Ok(()), 1));
    }
}
