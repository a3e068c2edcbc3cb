//! Builds a list of attributes.

use bytes::BufMut as _;

use super::{AttributeError, Attributes, Backoff, backoff_value, put, tag};
use crate::time::When;

/// Builds a list of attributes, in the order that the encoding requires.
#[derive(Clone, Debug, Default)]
pub struct AttributesBuilder {
    pub(super) elements: Vec<(u16, Vec<u8>)>,
    /// The first value that cannot be encoded.
    refused: Option<AttributeError>,
}

impl From<&Attributes> for AttributesBuilder {
    /// What the list has, to add more.
    fn from(attributes: &Attributes) -> Self {
        let elements = attributes.iter().map(|(found, value)| (found, value.to_vec())).collect();
        Self { elements, refused: None }
    }
}

impl AttributesBuilder {
    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let Ok(length) = u8::try_from(name.len()) else {
            self.refused.get_or_insert(AttributeError::HeaderName(name.len()));
            return self;
        };
        let mut bytes = vec![length];
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(value.as_bytes());
        self.raw(tag::HEADER, bytes)
    }

    /// Sets when the job expires.
    #[must_use]
    pub fn expires(self, when: When) -> Self {
        let (kind, millis) = match when {
            When::After(delay_ms) => (0, delay_ms),
            When::At(at) => (1, at.0),
        };
        let mut bytes = vec![kind];
        bytes.put_u64_le(millis);
        self.raw(tag::EXPIRES, bytes)
    }

    /// Sets how often the job may be attempted.
    #[must_use]
    pub fn attempts_max(self, attempts: u32) -> Self {
        self.raw(tag::ATTEMPTS_MAX, attempts.to_le_bytes().to_vec())
    }

    /// Sets the wait between attempts.
    #[must_use]
    pub fn backoff(self, backoff: &Backoff) -> Self {
        self.raw(tag::BACKOFF, backoff_value(backoff))
    }

    /// Sets how long the job and its key are remembered after it was finished.
    #[must_use]
    pub fn dedupe_retention(self, retention_ms: u64) -> Self {
        self.raw(tag::DEDUPE_RETENTION, retention_ms.to_le_bytes().to_vec())
    }

    /// Limits postponing: the job is due at the latest this long after its first push.
    #[must_use]
    pub fn postpone_max(self, max_ms: u64) -> Self {
        self.raw(tag::POSTPONE_MAX, max_ms.to_le_bytes().to_vec())
    }

    /// Sets the group that the job belongs to.
    #[must_use]
    pub fn group(self, group: &str) -> Self {
        self.raw(tag::GROUP, group.as_bytes().to_vec())
    }

    /// Sets that the push buries its job at once, and why; the text may be empty.
    #[must_use]
    pub fn buried(self, reason: &str) -> Self {
        self.raw(tag::BURIED, reason.as_bytes().to_vec())
    }

    /// Adds an attribute by its tag, with its encoded value.
    #[must_use]
    pub fn raw(mut self, tag: u16, value: Vec<u8>) -> Self {
        self.elements.push((tag, value));
        self
    }

    /// Encodes and validates the list.
    pub fn build(mut self) -> Result<Attributes, AttributeError> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        self.elements.sort_by_key(|(tag, _)| tag & !tag::CRITICAL);
        let mut bytes = Vec::new();
        for (tag, value) in self.elements {
            if value.len() > usize::from(u16::MAX) {
                return Err(AttributeError::TooLarge);
            }
            put(&mut bytes, tag, &value);
        }
        Attributes::new(bytes.into())
    }
}
