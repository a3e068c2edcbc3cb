//! Why bytes are not a valid list of attributes. The messages name an attribute as users write it, in HTTP and on the
//! command line.

use std::fmt;

use super::tag;
use crate::NameError;
use crate::limits::{ATTRIBUTES_BYTES_MAX, BACKOFF_LIST_MAX, HEADERS_BYTES_MAX, REASON_BYTES_MAX};

/// Why bytes are not a valid list of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttributeError {
    /// More than the limit in all.
    #[error(
        "a job's attributes take at most {ATTRIBUTES_BYTES_MAX} bytes: shorten them, or move data to the body"
    )]
    TooLarge,
    /// More headers than the limit.
    #[error("a job's headers take at most {HEADERS_BYTES_MAX} bytes: shorten them, or move data to the body")]
    HeadersTooLarge,
    /// The name of a header is too long: its length is one byte.
    #[error("the name of a header takes at most 255 bytes, not {0}")]
    HeaderName(usize),
    /// The list is truncated, out of order, or has an attribute twice.
    #[error("{} comes twice, or is cut short or out of order", Name(*.0))]
    Order(u16),
    /// A value is not valid.
    #[error("{}", malformed(*.0))]
    Malformed(u16),
    /// A critical attribute that this version does not know.
    #[error("attribute {0:#06x} is critical and not known to this server: use a newer server")]
    Unsupported(u16),
    /// The jobs of a schedule cannot have this one.
    #[error("{} is for a push: a schedule cannot have it, leave it out", Name(*.0))]
    NotOfSchedule(u16),
    /// A number of milliseconds is greater than its limit.
    #[error("{name} is at most {1} ms", name = Name(*.0))]
    OutOfRange(u16, u64),
    /// An attribute of a kind that this version does not know.
    #[error("{name} is of kind {1}, which is not known to this server: use a newer server", name = Name(*.0))]
    UnknownKind(u16, u8),
}

/// An attribute as users know it.
struct Name(u16);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            tag::HEADER => "a header",
            tag::EXPIRES => "expires",
            tag::ATTEMPTS_MAX => "attempts_max",
            tag::BACKOFF => "backoff",
            tag::GROUP => "group",
            tag::DEDUPE_RETENTION => "remember",
            tag::POSTPONE_MAX => "postpone_max",
            tag::BURIED => "buried",
            other => return write!(f, "attribute {other:#06x}"),
        })
    }
}

fn malformed(attribute: u16) -> String {
    match attribute {
        tag::HEADER => {
            "a header is malformed: its name has 1 to 255 bytes, and both name and value are UTF-8".to_owned()
        }
        tag::EXPIRES => "expires must be a time, or a duration of at most 10 years".to_owned(),
        tag::ATTEMPTS_MAX => "attempts_max must be at least 1".to_owned(),
        tag::BACKOFF => {
            format!("backoff must have 1 to {BACKOFF_LIST_MAX} waits, and a jitter of at most 100 percent")
        }
        tag::GROUP => NameError::Group.to_string(),
        tag::BURIED => format!("buried is a reason of at most {REASON_BYTES_MAX} bytes of UTF-8"),
        other => format!("{} is malformed", Name(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_users_write() {
        for (error, message) in [
            (
                AttributeError::Order(tag::ATTEMPTS_MAX),
                "attempts_max comes twice, or is cut short or out of order",
            ),
            (AttributeError::Malformed(tag::ATTEMPTS_MAX), "attempts_max must be at least 1"),
            (AttributeError::OutOfRange(tag::DEDUPE_RETENTION, 9), "remember is at most 9 ms"),
            (AttributeError::Malformed(900), "attribute 0x0384 is malformed"),
        ] {
            assert_eq!(error.to_string(), message);
        }
        let known = [tag::HEADER, tag::EXPIRES, tag::ATTEMPTS_MAX, tag::BACKOFF, tag::DEDUPE_RETENTION];
        for tag in known.into_iter().chain([tag::POSTPONE_MAX, tag::GROUP, tag::BURIED]) {
            for error in [AttributeError::Malformed(tag), AttributeError::UnknownKind(tag, 9)] {
                assert!(!error.to_string().contains("0x"), "{error}");
            }
        }
    }
}
