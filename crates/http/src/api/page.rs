//! Pages of lists: where one ends, and that the next one is of the same list.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::fields::{Field, Form, Text, Whole, schema, schema_limit};
use super::super::problem::{Place, Problem};

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

/// The page that a query asks for, of a list without conditions.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery<const MAX: u64, const DEFAULT: u32> {
    /// At most this many elements.
    #[param(schema_with = schema_limit::<MAX, DEFAULT>, required = false)]
    limit: Option<Whole<1, MAX>>,
    /// The cursor of the page before.
    #[param(schema_with = schema::<Cursor>, required = false)]
    cursor: Option<Field<Cursor>>,
}

impl<const MAX: u64, const DEFAULT: u32> PageQuery<MAX, DEFAULT> {
    /// At most how many elements.
    pub(super) fn limit(&self) -> u32 {
        self.limit.map_or(DEFAULT, Whole::narrow)
    }

    /// Where the page begins in this list: see [`Conditions::open`].
    ///
    /// # Errors
    ///
    /// If the cursor is not one of this list.
    pub(super) fn after(self, list: &Conditions) -> Result<Bytes, Problem> {
        list.open(self.cursor).map_err(|problem| problem.elsewhere(Place::Parameter))
    }

    /// The page of a list that is complete in memory, and the next cursor. A cursor is the name of an element, as `name` makes it;
    /// the list is in the order of these names.
    ///
    /// # Errors
    ///
    /// If the cursor is not one of this list.
    pub(super) fn of<T>(
        self,
        list: &Conditions,
        all: Vec<T>,
        name: impl Fn(&T) -> Vec<u8>,
    ) -> Result<(Vec<T>, Option<String>), Problem> {
        let limit = usize::try_from(self.limit()).unwrap_or(usize::MAX);
        let after = self.after(list)?;
        let mut rest = all.into_iter().skip_while(|one| !after.is_empty() && name(one) <= after).peekable();
        let page: Vec<T> = rest.by_ref().take(limit).collect();
        let end = page.last().filter(|_| rest.peek().is_some()).map(name).unwrap_or_default();
        Ok((page, list.cursor(&end)))
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
            let query = PageQuery::<3, 3> { limit: None, cursor: read };
            let (page, next) = query.of(&conditions, all, |one| vec![*one]).expect("a page");
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
