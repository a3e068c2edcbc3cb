//! The free numbers of a list. The lowest is used first, so that the end of the list empties and its memory can be freed.
//!
//! A bitmap of the numbers, and above it a bitmap of its words that are not 0.

#![expect(clippy::indexing_slicing, reason = "words are where the bits above say that they are")]

/// A set of free numbers.
#[derive(Debug, Default)]
pub(crate) struct FreeNumbers {
    words: Vec<u64>,
    summary: Vec<u64>,
    /// The words of the summary before this one are 0.
    first: usize,
}

impl FreeNumbers {
    /// Marks a number as free.
    pub(crate) fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / 64 + 1, 0);
        }
        self.words[word] |= 1 << (number % 64);
        self.summary[word / 64] |= 1 << (word % 64);
        self.first = self.first.min(word / 64);
    }

    /// Takes the lowest number if it is below `end`. If it is not, clears the set: the list ends there.
    pub(crate) fn take_below(&mut self, end: usize) -> Option<u32> {
        while *self.summary.get(self.first)? == 0 {
            self.first += 1;
        }
        let word = self.first * 64 + self.summary[self.first].trailing_zeros() as usize;
        let number = word * 64 + self.words[word].trailing_zeros() as usize;
        if number >= end {
            *self = Self::default();
            return None;
        }
        // Clears the lowest bit.
        self.words[word] &= self.words[word] - 1;
        if self.words[word] == 0 {
            self.summary[self.first] &= self.summary[self.first] - 1;
        }
        u32::try_from(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lowest_comes_first(steps in proptest::collection::vec(proptest::option::of(0..20_000_u32), 1..300)) {
            let (mut free, mut expected) = (FreeNumbers::default(), BTreeSet::new());
            for step in steps {
                if let Some(number) = step {
                    free.insert(number);
                    expected.insert(number);
                } else {
                    prop_assert_eq!(free.take_below(20_000), expected.pop_first());
                }
            }
            while let Some(number) = expected.pop_first() {
                prop_assert_eq!(free.take_below(20_000), Some(number));
            }
            prop_assert_eq!(free.take_below(20_000), None);
        }
    }

    #[test]
    fn what_lies_behind_the_end_is_forgotten() {
        let mut free = FreeNumbers::default();
        for number in [5, 70, 9000] {
            free.insert(number);
        }
        assert_eq!(free.take_below(70), Some(5));
        assert_eq!(free.take_below(70), None);
        assert_eq!(free.take_below(10_000), None);
    }
}
