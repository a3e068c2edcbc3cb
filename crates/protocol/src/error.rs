//! The answer to a refused request: codes, and whether a repeat is safe.

pub use super::codes::ErrorCode;

impl ErrorCode {
    /// The code with this number, if it is one of this version's.
    pub fn from_u16(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| *code as u16 == number)
    }
}

/// The known effect of a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Applied {
    /// Nothing was changed.
    No = 0,
    /// It may have been applied, now or later.
    Unknown = 1,
}

/// The answer to a request that failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ErrorReply {
    /// The reason.
    pub code: ErrorCode,
    /// Its known effect.
    pub applied: Applied,
    /// The mark *retryable*. For an unknown code there is no other sign.
    pub is_retryable: bool,
    /// Try again after this many milliseconds; 0 means unknown.
    pub retry_after_ms: u32,
    /// The leader's client address, when the code is `NotLeader` and it is known.
    pub leader: Option<String>,
    /// One sentence for a person: the error and its remedy.
    pub message: String,
}

impl ErrorReply {
    /// An error without effect.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let (applied, is_retryable) = (Applied::No, code.retryable());
        Self { code, applied, is_retryable, retry_after_ms: 0, leader: None, message: message.into() }
    }

    /// True if the same request may succeed later without a change: by its mark, or because it states when.
    pub fn retryable(&self) -> bool {
        self.is_retryable || self.retry_after_ms > 0
    }
}
