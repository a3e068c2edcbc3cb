//! An edit of a job's attributes: some are replaced, the others stay.

use super::{AttributeError, Attributes, AttributesBuilder, split_header, tag};

/// The header that says what the body is.
pub const CONTENT_TYPE: &str = "content-type";

/// A set of the attributes that an edit can replace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AttributeSet(u8);

impl AttributeSet {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// All headers but the content type, which belongs to the body.
    pub const HEADERS: Self = Self(1);
    /// When the job expires.
    pub const EXPIRES: Self = Self(1 << 1);
    /// How often it may be attempted.
    pub const ATTEMPTS_MAX: Self = Self(1 << 2);
    /// The wait between attempts.
    pub const BACKOFF: Self = Self(1 << 3);
    /// How long it is remembered after it was finished.
    pub const DEDUPE_RETENTION: Self = Self(1 << 4);
    /// The header `content-type`.
    pub const CONTENT_TYPE: Self = Self(1 << 5);
    /// The group that it belongs to.
    pub const GROUP: Self = Self(1 << 6);
    /// All of them.
    pub const ALL: Self = Self(Self::GROUP.0 * 2 - 1);

    /// True if this set has all attributes of the other one.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set and the other one together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has_attribute(self, (found, value): (u16, &[u8])) -> bool {
        match found {
            tag::HEADER if split_header(value).is_some_and(is_content_type) => self.has(Self::CONTENT_TYPE),
            tag::HEADER => self.has(Self::HEADERS),
            tag::EXPIRES => self.has(Self::EXPIRES),
            tag::ATTEMPTS_MAX => self.has(Self::ATTEMPTS_MAX),
            tag::BACKOFF => self.has(Self::BACKOFF),
            tag::DEDUPE_RETENTION => self.has(Self::DEDUPE_RETENTION),
            tag::GROUP => self.has(Self::GROUP),
            _ => false,
        }
    }
}

fn is_content_type((name, _): (&str, &str)) -> bool {
    name.eq_ignore_ascii_case(CONTENT_TYPE)
}

impl Attributes {
    /// What the body is, if a header says so.
    pub fn content_type(&self) -> Option<&str> {
        self.headers().find(|header| is_content_type(*header)).map(|(_, value)| value)
    }

    /// This list, in which those of the set come from `new`. If `new` does not have one, the result has none either.
    pub fn edited(&self, set: AttributeSet, new: &Self) -> Result<Self, AttributeError> {
        let kept = self.iter().filter(|attribute| !set.has_attribute(*attribute));
        let replaced = new.iter().filter(|attribute| set.has_attribute(*attribute));
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
    fn the_content_type_is_apart_from_the_other_headers() {
        let all = |content_type, header| {
            let all = AttributesBuilder::default().header("Content-Type", content_type);
            all.header("a", header).build().expect("valid")
        };
        let (old, new) = (all("x", "1"), all("y", "2"));
        let edited = |set| {
            let edited = old.edited(set, &new).expect("valid");
            let header = edited.headers().find(|(name, _)| *name == "a");
            (edited.content_type().map(str::to_owned), header.map(|(_, value)| value.to_owned()))
        };
        let both = |content_type: &str, header: &str| (Some(content_type.into()), Some(header.into()));
        assert_eq!(edited(AttributeSet::HEADERS), both("x", "2"));
        assert_eq!(edited(AttributeSet::CONTENT_TYPE), both("y", "1"));
        assert_eq!(edited(AttributeSet::HEADERS.and(AttributeSet::CONTENT_TYPE)), both("y", "2"));
    }

    #[test]
    fn limits_hold_for_the_result() {
        let half =
            |name| AttributesBuilder::default().header(name, &"x".repeat(1023)).build().expect("valid");
        let [old, new] = ["a", "b"].map(half);
        assert_eq!(old.edited(AttributeSet::HEADERS, &new), Ok(new.clone()));
    }
}
