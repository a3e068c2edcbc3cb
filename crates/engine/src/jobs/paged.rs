//! A list in pages that never move: growing it copies nothing, apart from a first page that is not full, and allocates at
//! most one page ahead.

#![expect(clippy::indexing_slicing, reason = "a place that is held elsewhere is there")]

use std::ops::{Index, IndexMut};

/// Elements of one page.
pub(crate) const PAGE: usize = 1 << 14;

/// A list of pages; all but the last are full.
#[derive(Debug)]
pub(crate) struct Paged<T> {
    pages: Vec<Vec<T>>,
}

impl<T> Default for Paged<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T> Paged<T> {
    pub(crate) fn len(&self) -> usize {
        self.pages.last().map_or(0, |last| (self.pages.len() - 1) * PAGE + last.len())
    }

    pub(crate) fn push(&mut self, element: T) {
        if let Some(page) = self.pages.last_mut().filter(|page| page.len() < PAGE) {
            return page.push(element);
        }
        // The first page starts small: a short list needs little memory.
        let mut page = Vec::with_capacity(if self.pages.is_empty() { 0 } else { PAGE });
        page.push(element);
        self.pages.push(page);
    }

    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.pages.get(place / PAGE)?.get(place % PAGE)
    }

    /// Removes the elements from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.pages.truncate(len.div_ceil(PAGE));
        if let Some(last) = self.pages.last_mut().filter(|_| !len.is_multiple_of(PAGE)) {
            last.truncate(len % PAGE);
        }
    }

    /// All elements, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }

    /// Bytes of memory of the elements.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }
}

impl<T> Index<usize> for Paged<T> {
    type Output = T;

    fn index(&self, place: usize) -> &T {
        &self.pages[place / PAGE][place % PAGE]
    }
}

impl<T> IndexMut<usize> for Paged<T> {
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.pages[place / PAGE][place % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut list = Paged::default();
        for number in 0..3 * PAGE {
            assert_eq!(list.len(), number);
            list.push(number);
        }
        assert!(list.iter().copied().eq(0..3 * PAGE));
        list[PAGE] = 7;
        assert_eq!((list[PAGE], list[2 * PAGE], list.get(3 * PAGE)), (7, 2 * PAGE, None));
        for len in [3 * PAGE, 2 * PAGE + 1, 2 * PAGE, PAGE - 1, 0] {
            list.truncate(len);
            assert_eq!((list.len(), list.iter().count()), (len, len));
        }
    }
}
