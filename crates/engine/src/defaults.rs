//! The queue's defaults for retries, which the leader's configuration sets through the log.
//!
//! A job keeps the defaults that were in force when it was pushed. So the state keeps every set of defaults that was ever
//! in force, and a job stores the number of its set: one byte, where a copy would double its memory.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::job::{DefaultsNumber, Job};
use super::outcome::Reject;
use crate::job::retry::wait_ms;
use adjourn_types::{Backoff, RetryDefaults, TopicPolicy};

/// Every set of defaults that was ever in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Defaults {
    /// The sets by number, from 1; each set once.
    sets: Vec<RetryDefaults>,
    current: DefaultsNumber,
}

/// What happens to a job whose attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFailure {
    /// It has no attempt left.
    Bury,
    /// It is ready at once, behind the other ready jobs; or when it is due, if that is later.
    Retry,
    /// It is delayed for this many milliseconds.
    Wait(u64),
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

    /// True if a set with this number exists.
    pub(super) fn has(&self, number: DefaultsNumber) -> bool {
        usize::from(number) <= self.sets.len()
    }

    /// True if this is consistent, for decoding a state.
    pub(super) fn are_valid(&self) -> bool {
        self.sets.len() <= usize::from(DefaultsNumber::MAX) && self.has(self.current)
    }

    /// Their share of the state hash.
    pub(super) fn digest(&self) -> u64 {
        self.sets.iter().fold(self.current.into(), |digest, set| {
            let RetryDefaults { attempts_max, backoff } = set.clone();
            let set = TopicPolicy { attempts_max, backoff, ..TopicPolicy::default() };
            xxh3_64_with_seed(&set.encode(), digest)
        })
    }

    /// How many failed attempts bury a job: set by the job, else by its topic, else by the queue.
    pub(super) fn attempts_max(&self, job: &Job) -> Option<u32> {
        let said = job.retry().and_then(|retry| retry.attempts_max);
        said.or(self.get(job.defaults).attempts_max)
    }

    /// How a job waits between attempts: set by the job, else by its topic, else by the queue.
    pub(super) fn backoff<'a>(&'a self, job: &'a Job) -> Option<&'a Backoff> {
        let said = job.retry().and_then(|retry| retry.backoff.as_ref());
        said.or(self.get(job.defaults).backoff.as_ref())
    }

    /// What happens to a reserved job that has not expired when its attempt fails now. It is retried after `delay_ms`;
    /// `None` uses its backoff.
    pub(super) fn after_failure(&self, job: &Job, delay_ms: Option<u64>) -> AfterFailure {
        if self.attempts_max(job).is_some_and(|attempts_max| job.attempts >= attempts_max) {
            return AfterFailure::Bury;
        }
        let backoff_ms = || self.backoff(job).map_or(0, |backoff| wait_ms(backoff, job.id, job.attempts));
        match delay_ms.unwrap_or_else(backoff_ms) {
            0 => AfterFailure::Retry,
            wait_ms => AfterFailure::Wait(wait_ms),
        }
    }

    /// Sets the defaults for jobs that are pushed from now on.
    pub(super) fn set(&mut self, defaults: &RetryDefaults) -> Result<(), Reject> {
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
