//! Why the payload of a well-delimited frame is refused.
//!
//! Such a frame does not end the connection: the server answers it with an ERROR under its request id and continues
//! to read. A frame whose end cannot be found is a [`FrameError`](super::FrameError) instead.

use super::error::{ErrorCode, ErrorReply};
use adjourn_types::{AttributeError, NameError, PolicyError};

/// Why a payload is not a valid request or response. Fields are named as in `protocol.md`, except where users of HTTP or of the
/// command line know them by other words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No message of this version has the opcode.
    #[error("opcode {0:#04x} is not known here: use a newer server, or ask for an older version")]
    Opcode(u8),
    /// The frame is for a group that does not exist.
    #[error("there is no group {0}: send 0")]
    Group(u8),
    /// A request under id 0, which is reserved for frames that the server sends unasked.
    #[error("request id 0 is the server's own: count from 1")]
    RequestIdZero,
    /// HELLO does not start with the protocol's mark.
    #[error("HELLO does not start with ADJ1: this port speaks the Adjourn protocol")]
    Magic,
    /// The payload ends too early.
    #[error("the payload ends before {0}")]
    Truncated(&'static str),
    /// A text is not UTF-8.
    #[error("{0} is not UTF-8")]
    NotText(&'static str),
    /// A list that must have an element has none.
    #[error("there are no {0}: send at least one")]
    Empty(&'static str),
    /// The fixed part of a list's items is shorter than this version's.
    #[error("the items of {field} have {bytes} fixed bytes, at least {min} are needed")]
    ItemTooShort {
        /// Which list.
        field: &'static str,
        /// The stated length.
        bytes: usize,
        /// The lowest valid length.
        min: usize,
    },
    /// The number of a choice is not known.
    #[error("{value} is no {field} that is known here")]
    Choice {
        /// Which field.
        field: &'static str,
        /// The invalid value.
        value: u8,
    },
    /// A list has more items than its limit.
    #[error("{count} {field}, at most {max} are accepted: send several requests")]
    TooMany {
        /// Which list.
        field: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// A text or bytes are longer than their limit.
    #[error("{field} of {bytes} bytes, at most {max} are accepted: {}", shorter(field))]
    TooLong {
        /// Which field.
        field: &'static str,
        /// Its length.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// A number is out of its range.
    #[error("{} is {value}, it must be from {min} to {max}", words(field))]
    OutOfRange {
        /// Which field.
        field: &'static str,
        /// The invalid value.
        value: u64,
        /// The least it may be.
        min: u64,
        /// The most it may be.
        max: u64,
    },
    /// A condition of a filter is not known.
    #[error("a filter has no condition {0} that is known here: leave it out, or use a newer server")]
    Condition(u16),
    /// A condition of a filter comes twice, or before one with a lower tag.
    #[error("condition {0} of the filter is out of order: write each once, in rising order of the tags")]
    ConditionOrder(u16),
    /// A condition's value has the wrong length.
    #[error("{bytes} bytes are no value of condition {tag} of a filter")]
    ConditionLength {
        /// Which condition.
        tag: u16,
        /// The length of its value.
        bytes: usize,
    },
    /// There is a weight for some topics, and none for others.
    #[error("{weights} weights for {topics} topics: send one for each topic, or none")]
    Weights {
        /// How many weights there are.
        weights: usize,
        /// How many topics there are.
        topics: usize,
    },
    /// A topic's name or a key is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The attributes of a job are not valid.
    #[error(transparent)]
    Attributes(#[from] AttributeError),
    /// The settings of a topic are not valid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl DecodeError {
    /// The error code for the peer.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Opcode(_)
            | Self::Group(_)
            | Self::Choice { .. }
            | Self::Condition(_)
            | Self::Policy(PolicyError::Unsupported(_))
            | Self::Attributes(AttributeError::Unsupported(_) | AttributeError::UnknownKind(..)) => {
                ErrorCode::Unsupported
            }
            Self::RequestIdZero
            | Self::Magic
            | Self::Truncated(_)
            | Self::NotText(_)
            | Self::Empty(_)
            | Self::ItemTooShort { .. }
            | Self::ConditionOrder(_)
            | Self::ConditionLength { .. }
            | Self::Policy(PolicyError::Malformed(_))
            | Self::Attributes(AttributeError::Order(_) | AttributeError::Malformed(_)) => {
                ErrorCode::Malformed
            }
            Self::TooMany { .. }
            | Self::TooLong { .. }
            | Self::Attributes(
                AttributeError::TooLarge | AttributeError::HeadersTooLarge | AttributeError::HeaderName(_),
            ) => ErrorCode::TooLarge,
            Self::OutOfRange { .. }
            | Self::Weights { .. }
            | Self::Name(_)
            | Self::Attributes(AttributeError::OutOfRange(..) | AttributeError::NotOfSchedule(_))
            | Self::Policy(
                PolicyError::OutOfRange { .. }
                | PolicyError::Url(_)
                | PolicyError::Condition(_)
                | PolicyError::Template(_),
            ) => ErrorCode::Invalid,
        }
    }
}

/// The remedy for a field that is too long.
fn shorter(field: &str) -> &'static str {
    match field {
        "body" => "send less, or raise body_bytes_max of the server or of the token",
        _ => "send less",
    }
}

/// A field in the words of users.
fn words(field: &'static str) -> &'static str {
    match field {
        "jobs_max" => "the number of jobs to ask for",
        field => field,
    }
}

impl From<DecodeError> for ErrorReply {
    fn from(error: DecodeError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_limit_and_the_remedy() {
        let long = DecodeError::TooLong { field: "body", bytes: 9, max: 8 };
        assert_eq!(
            long.to_string(),
            "body of 9 bytes, at most 8 are accepted: send less, or raise body_bytes_max of the server or of the token"
        );
        let none = DecodeError::OutOfRange { field: "jobs_max", value: 0, min: 1, max: 1024 };
        assert_eq!(none.to_string(), "the number of jobs to ask for is 0, it must be from 1 to 1024");
    }
}
