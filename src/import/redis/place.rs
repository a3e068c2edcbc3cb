//! Where an old queue keeps jobs, and what is found there.

use adjourn_protocol::NewJob;
use adjourn_types::limits::DELAY_MS_MAX;
use adjourn_types::{Millis, TopicName, When};

/// What kind of key it is, and the order in which the old queue serves its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A sorted set, lowest score first.
    Scores,
    /// A list whose first element is the next one.
    Head,
    /// A list whose last element is the next one.
    Tail,
    /// The fields of a hash, in no order.
    Fields,
    /// All keys, in no order.
    Keys,
}

impl Order {
    /// Whether a cursor goes through it, which stays right when entries leave.
    pub(super) fn is_scanned(self) -> bool {
        matches!(self, Self::Fields | Self::Keys)
    }

    /// The type of such a key.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Scores => "zset",
            Self::Head | Self::Tail => "list",
            Self::Fields => "hash",
            Self::Keys => "string",
        }
    }
}

/// What its jobs wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Their time.
    Delayed,
    /// A worker.
    Waiting,
    /// Workers have them, or did when they died.
    Held,
}

/// A key, or all keys, where jobs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) key: Vec<u8>,
    pub(super) order: Order,
    pub(super) state: State,
    /// The old queue's name for the queue; empty if the key holds jobs of several.
    pub(super) queue: String,
}

/// An element of a place, with its score in a sorted set.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) score: String,
}

/// Entries that were read together.
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    /// In a place without order, from where to go on; 0 at the end.
    pub(super) cursor: Option<u64>,
}

/// What becomes of an entry.
pub(super) enum Found {
    /// It is taken.
    Job(Box<FoundJob>),
    /// It stays, for this reason.
    Stays(String),
    /// It stays: a worker has it.
    Held,
    /// It is no job, or was found elsewhere.
    Nothing,
}

/// A job that is to be taken.
pub(super) struct FoundJob {
    pub(super) topic: TopicName,
    pub(super) job: NewJob,
    /// What the script compares, so that it takes the job only as it was read.
    pub(super) read: Vec<Vec<u8>>,
}

impl Found {
    pub(super) fn stays(why: &str) -> Self {
        Self::Stays(why.to_owned())
    }
}

/// The unit of a score that is a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Unit {
    /// Seconds since 1970
    S,
    /// Milliseconds since 1970
    Ms,
}

/// The topic of a queue with this name.
pub(super) fn topic_named(name: &str) -> Result<TopicName, String> {
    name.parse().map_err(|error| format!("{name:?} cannot be the name of a topic: {error}"))
}

/// When a job with this score is due; why it cannot be taken, if that is too far ahead. A fraction of a millisecond counts as one.
pub(super) fn due(score: &str, unit: Unit, now_ms: u64) -> Result<When, String> {
    let score: f64 = score.parse().map_err(|_| format!("its score is {score:?}"))?;
    let micros = score * if unit == Unit::S { 1e6 } else { 1e3 };
    let millis = (micros.round() / 1e3).ceil();
    #[expect(
        clippy::cast_precision_loss,
        reason = "times in milliseconds have fewer bits than a float holds"
    )]
    let (now, last) = (now_ms as f64, (now_ms + DELAY_MS_MAX) as f64);
    if millis <= now {
        Ok(When::After(0))
    } else if millis <= last {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between two times"
        )]
        Ok(When::At(Millis(millis as u64)))
    } else {
        Err("it is due in more than ten years, if its time is in the right unit".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_never_early() {
        const NOW_MS: u64 = 1_796_043_108_000;
        let of = |score: &str, unit| due(score, unit, NOW_MS);
        for past in ["-inf", "-5", "0", "1796043108", "1796043107.9999999"] {
            assert_eq!(of(past, Unit::S), Ok(When::After(0)), "{past}");
        }
        for (score, unit, expected) in [
            ("1796043108.25", Unit::S, 1_796_043_108_250),
            ("1796043108.0001", Unit::S, 1_796_043_108_001),
            ("1900000000", Unit::S, 1_900_000_000_000),
            ("1900000000000", Unit::Ms, 1_900_000_000_000),
            ("1900000000000.5", Unit::Ms, 1_900_000_000_001),
        ] {
            assert_eq!(of(score, unit), Ok(When::At(Millis(expected))), "{score}");
        }
        for far in ["inf", "1.0000000000000001e+300", "2111403109"] {
            assert!(of(far, Unit::S).is_err(), "{far}");
        }
        assert!(of("", Unit::S).is_err());
    }
}
