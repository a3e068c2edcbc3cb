//! The state hash: a sum over the hashes of everything in the state.
//!
//! An additive multiset hash: adding or removing an element costs its own hash and one addition, and the sum does
//! not depend on the order of changes. Each element is laid out in 64-bit words, little-endian, the first of them
//! its kind, and is hashed with XXH3-128. It detects replicas that have diverged because of a faulty machine or a
//! bug; it does not protect against a state that was forged on purpose.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::clock::Moment;

/// The running sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum(u128);

impl Sum {
    /// Adds an element of the state.
    pub(super) fn add(&mut self, element: u128) {
        self.0 = self.0.wrapping_add(element);
    }

    /// Removes an element.
    pub(super) fn subtract(&mut self, element: u128) {
        self.0 = self.0.wrapping_sub(element);
    }

    /// The sum including an element that is not counted in it.
    pub(super) fn with(self, scalars: u128) -> u128 {
        self.0.wrapping_add(scalars)
    }
}

/// What an element represents.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Scalars = 1,
    Job = 2,
    Topic = 3,
    Session = 4,
    Pushed = 5,
    Finished = 6,
    Member = 7,
    RemovedMember = 8,
    ForgottenTopics = 9,
    Idempotent = 10,
    FairGroup = 11,
}

/// An element under construction. It writes whole words only: reading narrower stores back as words costs more than the
/// hash.
pub(super) struct Element {
    bytes: [u8; Self::BYTES],
    length: usize,
}

impl Element {
    const BYTES: usize = 29 * 8;

    pub(super) fn new(kind: Kind) -> Self {
        let mut element = Self { bytes: [0; Self::BYTES], length: 0 };
        element.word(kind as u64);
        element
    }

    #[inline]
    pub(super) fn word(&mut self, word: u64) -> &mut Self {
        let end = self.length + 8;
        match self.bytes.get_mut(self.length..end) {
            Some(place) => place.copy_from_slice(&word.to_le_bytes()),
            None => unreachable!("every element fits"),
        }
        self.length = end;
        self
    }

    #[inline]
    pub(super) fn pair(&mut self, low: u32, high: u32) -> &mut Self {
        self.word(u64::from(low) | u64::from(high) << 32)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    pub(super) fn wide(&mut self, value: u128) -> &mut Self {
        self.word(value as u64).word((value >> 64) as u64)
    }

    /// The hash of a text, whatever its length.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.wide(xxh3_128(text.as_bytes()))
    }

    #[inline]
    pub(super) fn moment(&mut self, moment: Moment) -> &mut Self {
        self.word(moment.timeline.number().into()).word(moment.at)
    }

    pub(super) fn hash(&self) -> u128 {
        xxh3_128(self.bytes.get(..self.length).unwrap_or_default())
    }
}
