//! A set of rows of one chunk: one bit each.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const WORD_BITS: u32 = u64::BITS;

/// A set of rows of one chunk, one bit each; knows how many are set.
///
/// Rows that the chunk does not have are never set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    rows: u32,
    count: u32,
}

impl Bits {
    /// A set of no rows, of a chunk with `rows` rows.
    pub fn new(rows: u32) -> Self {
        Self { words: vec![0; words_for(rows)], rows, count: 0 }
    }

    /// A set of all `rows` rows of a chunk.
    pub fn full(rows: u32) -> Self {
        let mut bits = Self { words: vec![u64::MAX; words_for(rows)], rows, count: rows };
        if let Some(last) = bits.words.last_mut() {
            *last &= spare_mask(rows);
        }
        bits
    }

    /// How many rows the chunk has.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// How many rows are set.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether a row is set.
    pub fn get(&self, row: u32) -> bool {
        self.words.get(word_of(row)).is_some_and(|word| word & bit_of(row) != 0)
    }

    /// Sets a row. False if it was set before, or if there is no such row.
    pub fn set(&mut self, row: u32) -> bool {
        debug_assert!(row < self.rows, "row {row} of {}", self.rows);
        if row >= self.rows || self.get(row) {
            return false;
        }
        if let Some(word) = self.words.get_mut(word_of(row)) {
            *word |= bit_of(row);
            self.count += 1;
        }
        true
    }

    /// Clears a row. False if it was not set.
    pub fn clear(&mut self, row: u32) -> bool {
        let was_set = self.get(row);
        if was_set && let Some(word) = self.words.get_mut(word_of(row)) {
            *word &= !bit_of(row);
            self.count -= 1;
        }
        was_set
    }

    /// The first row from `from` on that is set.
    pub fn next_set(&self, from: u32) -> Option<u32> {
        let first = word_of(from);
        let words = self.words.get(first..)?.iter().copied();
        let mut mask = u64::MAX << (from % WORD_BITS);
        for (word, nth) in words.zip(first..) {
            let left = word & std::mem::replace(&mut mask, u64::MAX);
            if left != 0 {
                return Some(u32::try_from(nth).ok()? * WORD_BITS + left.trailing_zeros());
            }
        }
        None
    }

    /// How many rows from `from` to `end`, without `end`, are set.
    pub fn count_between(&self, from: u32, end: u32) -> u32 {
        let end = end.min(self.rows);
        if from >= end {
            return 0;
        }
        let (first, last) = (word_of(from), word_of(end - 1));
        let words = self.words.get(first..=last).unwrap_or_default().iter().zip(first..);
        let masked = words.map(|(word, nth)| {
            let from_mask = if nth == first { u64::MAX << (from % WORD_BITS) } else { u64::MAX };
            let end_mask =
                if nth == last { u64::MAX >> (WORD_BITS - 1 - (end - 1) % WORD_BITS) } else { u64::MAX };
            word & from_mask & end_mask
        });
        masked.map(u64::count_ones).sum()
    }

    /// The rows that are set, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut from = Some(0);
        std::iter::from_fn(move || {
            let row = self.next_set(from?)?;
            from = row.checked_add(1);
            Some(row)
        })
    }

    /// True if both sets are for equally many rows, and every row that is set here is set in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.rows == other.rows && self.words.iter().zip(&other.words).all(|(here, there)| here & !there == 0)
    }
}

/// The serialized form: the number of rows, and the words, little-endian.
#[derive(Serialize, Deserialize)]
struct Written<'a> {
    rows: u32,
    #[serde(with = "serde_bytes", borrow)]
    words: std::borrow::Cow<'a, [u8]>,
}

impl Serialize for Bits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Written { rows: self.rows, words: words.into() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let rows = written.rows;
        let (words, rest) = written.words.as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let spare = words.last().is_some_and(|last| last & !spare_mask(rows) != 0);
        if words.len() != words_for(rows) || !rest.is_empty() || spare {
            return Err(de::Error::custom("a set of rows has as many bits as the chunk has rows"));
        }
        let count = words.iter().map(|word| word.count_ones()).sum();
        Ok(Self { words, rows, count })
    }
}

fn words_for(rows: u32) -> usize {
    rows.div_ceil(WORD_BITS) as usize
}

fn word_of(row: u32) -> usize {
    (row / WORD_BITS) as usize
}

fn bit_of(row: u32) -> u64 {
    1 << (row % WORD_BITS)
}

/// The bits of the last word that stand for rows.
fn spare_mask(rows: u32) -> u64 {
    match rows % WORD_BITS {
        0 => u64::MAX,
        used => !(u64::MAX << used),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bincode::Options as _;
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set(u32),
        Clear(u32),
    }

    fn steps(rows: u32) -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![(0..rows).prop_map(Step::Set), (0..rows).prop_map(Step::Clear)];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn it_is_a_set((rows, steps) in (1_u32..300).prop_flat_map(|rows| (Just(rows), steps(rows)))) {
            let (mut bits, mut model) = (Bits::new(rows), BTreeSet::new());
            for step in steps {
                match step {
                    Step::Set(row) => prop_assert_eq!(bits.set(row), model.insert(row)),
                    Step::Clear(row) => prop_assert_eq!(bits.clear(row), model.remove(&row)),
                }
                prop_assert_eq!(bits.count() as usize, model.len());
            }
            prop_assert_eq!(bits.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            for row in 0..rows + 70 {
                prop_assert_eq!(bits.get(row), model.contains(&row));
                prop_assert_eq!(bits.next_set(row), model.range(row..).next().copied());
                let (half, all) = (row / 2, rows + 70);
                for (from, end) in [(0, row), (half, row), (row, all), (row, row)] {
                    prop_assert_eq!(bits.count_between(from, end) as usize, model.range(from..end).count());
                }
            }
            let bytes = bincode::DefaultOptions::new().serialize(&bits).expect("it encodes");
            let again: Bits = bincode::DefaultOptions::new().deserialize(&bytes).expect("it decodes");
            prop_assert_eq!(&again, &bits);
            prop_assert!(bits.is_subset(&Bits::full(rows)));
            prop_assert_eq!(Bits::full(rows).is_subset(&bits), bits.count() == rows);
        }
    }

    #[test]
    fn all_rows_and_none() {
        for rows in [0, 1, 63, 64, 65, 128] {
            assert!(Bits::full(rows).iter().eq(0..rows));
            assert_eq!(Bits::full(rows).count(), rows);
            assert_eq!(Bits::new(rows).next_set(0), None);
        }
    }

    #[test]
    fn what_is_no_set_of_so_many_rows_is_refused() {
        let decode = |rows: u32, words: &[u8]| {
            let bytes = bincode::DefaultOptions::new().serialize(&Written { rows, words: words.into() });
            bincode::DefaultOptions::new().deserialize::<Bits>(&bytes.expect("it encodes")).is_ok()
        };
        assert!(decode(64, &[0xff; 8]) && decode(0, &[]) && decode(3, &[7, 0, 0, 0, 0, 0, 0, 0]));
        assert!(!decode(3, &[8, 0, 0, 0, 0, 0, 0, 0]), "a row that is not there");
        assert!(!decode(64, &[0; 7]) && !decode(64, &[0; 9]) && !decode(65, &[0; 8]) && !decode(0, &[0; 8]));
        assert!(!decode(u32::MAX, &[0; 8]));
    }
}
