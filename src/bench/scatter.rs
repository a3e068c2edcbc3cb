//! Numbers that look random but are the same in every run: for the delay of each job, and the order of requests.

use adjourn_json::values::DelayRange;

/// Rounds of [`Shuffle`]: four make a Feistel network a permutation that looks random (Luby and Rackoff 1988).
const ROUNDS: u64 = 4;

/// An order in which each number below a bound occurs once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shuffle {
    bound: u64,
    half_bits: u32,
}

impl Shuffle {
    /// An order of the numbers below `bound`.
    pub(super) fn below(bound: u64) -> Self {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        Self { bound, half_bits: bits.div_ceil(2).max(1) }
    }

    /// The number at `place`, both below the bound.
    pub(super) fn at(self, place: u64) -> u64 {
        debug_assert!(place < self.bound, "{place} is not below {}", self.bound);
        // The network permutes more numbers, at most four times as many. From a number beyond the bound it is applied
        // again, and finally reaches one below the bound: at the latest `place` itself.
        let mut number = self.permuted(place);
        while number >= self.bound {
            number = self.permuted(number);
        }
        number
    }

    fn permuted(self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits & mask, number & mask);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ (scattered(right << 3 | round) & mask));
        }
        left << self.half_bits | right
    }
}

/// The delay of one job, in milliseconds: evenly spread, and the same in every run.
pub(super) fn spread(range: DelayRange, number: u64) -> u64 {
    let width = u128::from(range.max_ms - range.min_ms) + 1;
    let offset = (u128::from(scattered(number)) * width) >> 64;
    range.min_ms + u64::try_from(offset).unwrap_or(0)
}

/// A number's value in a sequence without visible order: the output step of `SplitMix64` (Steele, Lea, Flood 2014).
pub(super) fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn delays_are_spread_over_the_whole_range_and_no_further() {
        let range = DelayRange { min_ms: 1000, max_ms: 1009 };
        let mut counts = BTreeMap::new();
        for number in 0..10_000 {
            *counts.entry(spread(range, number)).or_insert(0) += 1;
        }
        assert!(counts.keys().copied().eq(1000..=1009), "{counts:?}");
        assert!(counts.values().all(|count| (900..1100).contains(count)), "{counts:?}");
        let one = DelayRange { min_ms: 5, max_ms: 5 };
        assert!((0..100).all(|number| spread(one, number) == 5));
    }

    #[test]
    fn a_shuffle_has_each_number_once_and_in_no_order() {
        for bound in [1, 2, 3, 5, 64, 1000, 1025] {
            let shuffle = Shuffle::below(bound);
            let order: Vec<u64> = (0..bound).map(|place| shuffle.at(place)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..bound), "{order:?}");
            assert!(bound < 5 || !order.is_sorted(), "{order:?}");
        }
    }
}
