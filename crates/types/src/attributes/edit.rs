//! An edit of a job's attributes: some are replaced, the others stay.

use super::{AttributeError, Attributes, AttributesBuilder, tag};

/// A set of the attributes that an edit can replace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AttributeSet(u8);

impl AttributeSet {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// All headers.
    pub const HEADERS: Self = Self(1);
    /// When the job expires.
    pub const EXPIRES: Self = Self(1 << 1);
    /// How often it may be attempted.
    pub const ATTEMPTS_MAX: Self = Self(1 << 2);
    /// The wait between attempts.
    pub const BACKOFF: Self = Self(1 << 3);
    /// How long it is remembered after it was finished.
    pub const DEDUPE_RETENTION: Self = Self(1 << 4);
    /// All of them.
    pub const ALL: Self = Self(Self::DEDUPE_RETENTION.0 * 2 - 1);

    /// True if this set has all attributes of the other one.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set and the other one together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has_tag(self, found: u16) -> bool {
        match found {
            tag::HEADER => self.has(Self::HEADERS),
            tag::EXPIRES => self.has(Self::EXPIRES),
            tag::ATTEMPTS_MAX => self.has(Self::ATTEMPTS_MAX),
            tag::BACKOFF => self.has(Self::BACKOFF),
            tag::DEDUPE_RETENTION => self.has(Self::DEDUPE_RETENTION),
            _ => false,
        }
    }
}

impl Attributes {
    /// This list, in which those of the set come from `new`. If `new` does not have one, the result has none either.
    pub fn edited(&self, set: AttributeSet, new: &Self) -> Result<Self, AttributeError> {
        let kept = self.iter().filter(|(found, _)| !set.has_tag(*found));
        let replaced = new.iter().filter(|(found, _)| set.has_tag(*found));
        let builder = kept
            .chain(replaced)
            .fold(AttributesBuilder::default(), |builder, (found, value)| builder.raw(found, value.to_vec()));
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Millis, When};

    #[test]
    fn only_attributes_of_the_set_are_replaced() {
        let old = AttributesBuilder::default()
            .header("a", "1")
            .header("b", "2")
            .expires(When::At(Millis(9)))
            .attempts_max(5)
            .raw(900, vec![7])
            .build()
            .expect("valid");
        let new = AttributesBuilder::default().header("c", "3").attempts_max(8).build().expect("valid");
        let set = AttributeSet::HEADERS.and(AttributeSet::EXPIRES);
        let edited = old.edited(set, &new).expect("valid");
        let expected =
            AttributesBuilder::default().header("c", "3").attempts_max(5).raw(900, vec![7]).build();
        assert_eq!(Ok(edited), expected);
        assert_eq!(old.edited(AttributeSet::NONE, &new), Ok(old.clone()));
        let bare = old.edited(AttributeSet::ALL, &Attributes::default()).expect("valid");
        assert_eq!(bare.iter().collect::<Vec<_>>(), [(900, [7].as_slice())], "what cannot be edited stays");
    }

    #[test]
    fn limits_hold_for_the_result() {
        let half =
            |name| AttributesBuilder::default().header(name, &"x".repeat(1023)).build().expect("valid");
        let [old, new] = ["a", "b"].map(half);
        assert_eq!(old.edited(AttributeSet::HEADERS, &new), Ok(new.clone()));
    }
}
