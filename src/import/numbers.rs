//! The numbers under which jobs are pushed: the same job has the same one in every attempt.

use std::num::{NonZeroU128, ParseIntError};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use adjourn_server::entropy::{self, NoEntropy};

/// Numbers that follow each other, from one drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Numbers(u128);

impl Numbers {
    /// Draws the first one.
    pub(super) fn draw() -> Result<Self, NoEntropy> {
        let drawn = u128::from_le_bytes(entropy::draw()?);
        // Room for those of a large file.
        Ok(Self(drawn & !(u128::from(u64::MAX) >> 16) | 1))
    }

    /// One of them, from 0.
    pub(super) fn nth(self, nth: u64) -> NonZeroU128 {
        after(NonZeroU128::new(self.0).unwrap_or(NonZeroU128::MIN), nth)
    }
}

/// The first one, in hexadecimal digits.
impl From<Numbers> for String {
    fn from(Numbers(first): Numbers) -> Self {
        format!("{first:032x}")
    }
}

impl TryFrom<String> for Numbers {
    type Error = ParseIntError;

    fn try_from(text: String) -> Result<Self, ParseIntError> {
        u128::from_str_radix(&text, 16).map(Self)
    }
}

/// The number that follows `first` after `nth` steps.
pub(super) fn after(first: NonZeroU128, nth: u64) -> NonZeroU128 {
    NonZeroU128::new(first.get().wrapping_add(nth.into())).unwrap_or(NonZeroU128::MIN)
}

/// The number of the job with this name in a source.
pub(super) fn number_of(source: &str, job: &str) -> NonZeroU128 {
    let named = [source.as_bytes(), b"\0", job.as_bytes()].concat();
    NonZeroU128::new(xxh3_128(&named)).unwrap_or(NonZeroU128::MIN)
}
