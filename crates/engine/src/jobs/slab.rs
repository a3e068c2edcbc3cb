//! Values by number. A free number is reused, the lowest first, so that the end empties and its memory can be freed. The
//! owner decides what a number means.

#![expect(clippy::indexing_slicing, reason = "a number that is held elsewhere is there")]

use std::ops::{Index, IndexMut};

use super::free::FreeNumbers;
use super::paged::{PAGE, Paged};

/// Values by number. A free place holds the default value.
#[derive(Debug)]
pub struct Slab<T> {
    places: Paged<T>,
    /// The number of used places on each page.
    used: Vec<u32>,
    /// Some may be behind the end: they are discarded before it grows again.
    free: FreeNumbers,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Paged::default(), used: Vec::new(), free: FreeNumbers::default(), len: 0 }
    }
}

impl<T: Default> Slab<T> {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a value. Returns its number.
    ///
    /// # Panics
    ///
    /// With 2^32 values.
    pub fn insert(&mut self, thing: T) -> u32 {
        let number = self.free.take_below(self.places.len()).unwrap_or_else(|| {
            self.places.push(T::default());
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 things fit into memory")
        });
        let page = number as usize / PAGE;
        if page == self.used.len() {
            self.used.push(0);
        }
        self.used[page] += 1;
        self.len += 1;
        self.places[number as usize] = thing;
        number
    }

    /// Removes a value.
    ///
    /// # Panics
    ///
    /// If no value has this number.
    pub fn remove(&mut self, number: u32) -> T {
        self.used[number as usize / PAGE] -= 1;
        self.len -= 1;
        self.free.insert(number);
        std::mem::take(&mut self.places[number as usize])
    }

    /// All places in order, free ones too.
    pub fn places(&self) -> impl Iterator<Item = &T> {
        self.places.iter()
    }

    /// True if pages at the end are empty. One of them is kept for new values.
    pub fn can_shrink(&self) -> bool {
        matches!(self.used[..], [.., 0, 0])
    }

    /// Frees the last page, if [possible](Self::can_shrink).
    pub fn shrink(&mut self) {
        if self.can_shrink() {
            self.used.pop();
            self.places.truncate(self.used.len() * PAGE);
        }
    }

    /// Bytes of memory of the places.
    pub fn memory_bytes(&self) -> usize {
        self.places.memory_bytes()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.places[number as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.places[number as usize]
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "a page has fewer than 2^32 places")]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_numbers_are_used_again_and_the_end_is_given_back() {
        const MANY: u32 = 3 * PAGE as u32 + 1;
        let mut slab = Slab::default();
        assert!((0..MANY).all(|number| slab.insert(number + 1) == number));
        assert!((0..MANY).filter(|number| number % 2 == 1).all(|number| slab.remove(number) == number + 1));
        assert_eq!((slab.insert(7), slab.insert(8), slab[1], slab[3]), (1, 3, 7, 8));
        slab[1] = 9;
        assert_eq!((slab.remove(1), slab.places().filter(|thing| **thing != 0).count()), (9, slab.len()));
        for number in (PAGE as u32..MANY).filter(|number| number % 2 == 0) {
            assert!(!slab.can_shrink());
            slab.remove(number);
        }
        let full = slab.memory_bytes();
        while slab.can_shrink() {
            slab.shrink();
        }
        assert!(slab.memory_bytes() < full, "one empty page is kept");
        assert_eq!((slab[0], slab.insert(5), slab.places().count()), (1, 1, 2 * PAGE));
    }
}
