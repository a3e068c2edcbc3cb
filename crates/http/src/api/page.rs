//! Pages of lists: where one ends, and that the next one is of the same list.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use ring::digest::{SHA256, digest};

use super::super::fields::{Field, Form, Text};
use super::super::problem::Problem;

/// The bytes of a cursor that stand for the conditions of its list.
const MARK_BYTES: usize = 6;

/// Where a list, or a bulk change, goes on. Opaque.
pub(super) enum Cursor {}

/// Not a cursor.
#[derive(Debug, thiserror::Error)]
#[error("expected the cursor of the page before")]
pub(super) struct CursorError;

impl Text for Cursor {
    type Value = Bytes;
    type Error = CursorError;
    const EXPECTED: &'static str = "the cursor of the page before";
    const EXAMPLE: &'static str = "AAUAAAAAAAAATXVKF6IBAAA";
    const FORM: Form = Form::Pattern("^[A-Za-z0-9_-]*$");

    fn of_text(text: &str) -> Result<Bytes, CursorError> {
        URL_SAFE_NO_PAD.decode(text).map(Bytes::from).map_err(|_| CursorError)
    }
}

/// The list that a cursor belongs to: its conditions and its order.
pub(super) struct Conditions([u8; MARK_BYTES]);

impl Conditions {
    /// The conditions that these bytes describe.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(digest(&SHA256, bytes).as_ref().first_chunk().copied().unwrap_or_default())
    }

    /// Where the page begins: what was taken from the [cursor](Self::cursor) of the page before. Empty for the first page.
    ///
    /// # Errors
    ///
    /// If the cursor is not one of this list.
    pub(super) fn open(&self, cursor: Option<Field<Cursor>>) -> Result<Bytes, Problem> {
        let Some(Field(cursor)) = cursor else { return Ok(Bytes::new()) };
        match cursor.split_first_chunk() {
            Some((mark, rest)) if *mark == self.0 => Ok(cursor.slice_ref(rest)),
            _ => {
                let detail = "it belongs to a list with other conditions: give those of the page before, or begin without a cursor";
                Err(Problem::at_pointer("/cursor", detail))
            }
        }
    }

    /// The cursor of a page that ends here; `None` after the last one.
    pub(super) fn cursor(&self, end: &[u8]) -> Option<String> {
        (!end.is_empty()).then(|| URL_SAFE_NO_PAD.encode([&self.0, end].concat()))
    }

    /// A page of a list that is complete in memory: the elements after the cursor, which names an element as `name` does, and the
    /// next cursor.
    ///
    /// # Errors
    ///
    /// If the cursor is not one of this list.
    pub(super) fn page<T>(
        &self,
        all: Vec<T>,
        name: impl Fn(&T) -> Vec<u8>,
        cursor: Option<Field<Cursor>>,
        limit: u32,
    ) -> Result<(Vec<T>, Option<String>), Problem> {
        let after = self.open(cursor)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut rest = all.into_iter().skip_while(|one| !after.is_empty() && name(one) <= after).peekable();
        let page: Vec<T> = rest.by_ref().take(limit).collect();
        let end = page.last().filter(|_| rest.peek().is_some()).map(name).unwrap_or_default();
        Ok((page, self.cursor(&end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cover_a_list_once() {
        let conditions = Conditions::of(b"topics");
        let (mut cursor, mut seen) = (None, Vec::new());
        loop {
            let all: Vec<u8> = (1..=7).collect();
            let read = cursor.as_deref().map(|text| Field(Cursor::of_text(text).expect("a cursor")));
            let (page, next) = conditions.page(all, |one| vec![*one], read, 3).expect("a page");
            seen.extend(page);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, (1..=7).collect::<Vec<u8>>());
    }

    #[test]
    fn a_cursor_belongs_to_its_conditions() {
        let (one, other) = (Conditions::of(b"one"), Conditions::of(b"other"));
        let cursor = one.cursor(b"end").expect("a cursor");
        let read = || Some(Field(Cursor::of_text(&cursor).expect("a cursor")));
        assert_eq!(one.open(read()).expect("its own"), "end");
        assert!(other.open(read()).is_err() && one.cursor(b"").is_none());
        assert!(one.open(Some(Field(Bytes::from_static(b"short")))).is_err());
    }
}
