//! Why a call failed, and what to do about it.

pub(crate) mod tls_fault;

use std::io;
use std::sync::Arc;

use adjourn_protocol::{Applied, DecodeError, ErrorCode, ErrorReply, FrameError, Response, ResponseOpcode};
use adjourn_transport::tls::TlsError;
use adjourn_types::JobId;
use tls_fault::TlsFault;

/// Why a call failed. Cheap to clone: one cause may end many calls.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection could be made. Nothing was sent.
    #[error("cannot connect to {server}: {source}. {}", connect_advice(.source))]
    CannotConnect {
        /// The address that was tried last.
        server: String,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The address cannot be used.
    #[error("{found:?} is not the address of a server: {reason}")]
    Address {
        /// The text that was given.
        found: String,
        /// The problem, and what to do.
        reason: &'static str,
    },
    /// The files for TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server refused the request as a whole. [`ErrorReply::applied`] says whether it may have had an effect.
    #[error("the server refused the request: {0}")]
    Refused(ErrorReply),
    /// One job or lease was refused; nothing was changed for it.
    #[error("refused: {code}{}. {}", job_named(*.job), advice(*.code))]
    ItemRefused {
        /// The reason.
        code: ErrorCode,
        /// For `KeyExists` and `Reserved` the existing job.
        job: Option<JobId>,
    },
    /// The request was sent, but its answer is lost: it may or may not have been carried out.
    #[error(
        "the answer was lost: the request may or may not have been carried out. Look for the job by its key, or \
         push it again under a key with if-exists keep"
    )]
    OutcomeUnknown,
    /// No answer came in time. A request that changes jobs may have been carried out; a push that was
    /// sent ends with [`Self::OutcomeUnknown`] instead.
    #[error(
        "no answer within {after_ms} ms: the server cannot be reached or is overloaded. Try again, or allow more \
         time with request_timeout_ms"
    )]
    Timeout {
        /// The time waited.
        after_ms: u64,
    },
    /// The client was closed: by `close`, when its last handle was dropped, when its runtime ended, or when another
    /// connection took over its session.
    #[error("the client is closed: connect a new one")]
    Closed,
    /// The client was connected without a session, and this call needs one. Nothing was sent.
    #[error("this client has no session: leave out without_session to reserve jobs")]
    NoSession,
    /// More than the server takes at once. Nothing was sent.
    #[error("{}", too_large(*.what, *.found, *.max))]
    TooLarge {
        /// The part that is too large.
        what: Excess,
        /// Its size.
        found: usize,
        /// The server's limit.
        max: usize,
    },
    /// After a reconnect another cluster answered at the address: another queue. The client is closed.
    #[error(
        "another cluster answers at this address: {} instead of {}. Correct the address, or connect a new client",
        hex(.found),
        hex(.expected)
    )]
    WrongCluster {
        /// The cluster that the client was connected to.
        expected: [u8; 16],
        /// The cluster that answered.
        found: [u8; 16],
    },
    /// The other side breaks the protocol. A request that was sent may have been carried out.
    #[error("{}", protocol_text(.0))]
    Protocol(ProtocolFault),
}

/// The part that was too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// A job's body, in bytes.
    Body,
    /// A request as a whole, in bytes.
    Frame,
    /// The jobs of one push.
    Jobs,
    /// The leases of one request.
    Leases,
    /// The reason of a release or a bury, in bytes.
    Reason,
}

/// How the other side broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolFault {
    /// It answers in HTTP.
    #[error("HTTP")]
    Http,
    /// Its bytes cannot be split into frames.
    #[error(transparent)]
    Frame(FrameError),
    /// An answer cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// An answer does not fit its request.
    #[error("an answer of another kind than the request: {0:?}")]
    Unexpected(ResponseOpcode),
    /// An answer has another number of items than the request.
    #[error("an answer of {found} items to a request of {asked}")]
    Items {
        /// The number of items in the request.
        asked: usize,
        /// The number of items in the answer.
        found: usize,
    },
}

/// What the length of a frame would be if the server answered in HTTP.
const HTTP: u32 = u32::from_le_bytes(*b"HTTP");

impl From<FrameError> for ProtocolFault {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::TooLarge { length: HTTP, .. } => Self::Http,
            error => Self::Frame(error),
        }
    }
}

impl ClientError {
    /// The server gave an answer that does not fit the request.
    #[expect(clippy::needless_pass_by_value, reason = "the other side of a conversion")]
    pub(super) fn unexpected(other: Response) -> Self {
        Self::Protocol(ProtocolFault::Unexpected(other.opcode()))
    }

    /// The server's code, if the server refused.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused(reply) => Some(reply.code),
            Self::ItemRefused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// True if the request may have been carried out in spite of the error.
    pub fn outcome_unknown(&self) -> bool {
        match self {
            Self::OutcomeUnknown | Self::Timeout { .. } | Self::Protocol(_) => true,
            Self::Refused(reply) => reply.applied == Applied::Unknown,
            Self::ItemRefused { code, .. } => *code == ErrorCode::OutcomeUnknown,
            Self::CannotConnect { .. }
            | Self::Address { .. }
            | Self::Tls(_)
            | Self::Closed
            | Self::NoSession
            | Self::TooLarge { .. }
            | Self::WrongCluster { .. } => false,
        }
    }
}

fn too_large(what: Excess, found: usize, max: usize) -> String {
    let (what, unit, remedy) = match what {
        Excess::Body => ("body", "bytes", "send less, or raise body_bytes_max of the server"),
        Excess::Frame => ("request", "bytes", "send less at once"),
        Excess::Jobs => ("request", "jobs", "send fewer at once"),
        Excess::Leases => ("request", "leases", "send fewer at once"),
        Excess::Reason => ("reason", "bytes", "shorten it"),
    };
    format!("the {what} has {found} {unit}, and the server takes at most {max}: {remedy}")
}

fn protocol_text(fault: &ProtocolFault) -> String {
    if *fault == ProtocolFault::Http {
        return "an HTTP server answers at this address. Give the address for clients: `listen` in the server's configuration, \
                port 7440 by default"
            .to_owned();
    }
    format!(
        "the server does not speak the protocol as this client does: {fault}. Check the address and the versions"
    )
}

fn connect_advice(source: &io::Error) -> &'static str {
    TlsFault::of(source).map_or("Is the server running, and is this its address?", TlsFault::advice)
}

fn job_named(job: Option<JobId>) -> String {
    job.map_or_else(String::new, |job| format!(", for job {job}"))
}

fn advice(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::KeyExists => "Take that job, or push with if-exists keep or replace",
        ErrorCode::Reserved => "Wait until its consumer has settled it",
        ErrorCode::StaleLease => "Drop the work: the lease is over, and another consumer may have the job",
        ErrorCode::SequenceReused => "Give each job of a session a number of its own",
        ErrorCode::ExpiresBeforeDue => "Let it expire later, or be due earlier",
        ErrorCode::OutcomeUnknown => "It may or may not have been pushed: look for it by its key",
        code if code.retryable() => "Try again a little later",
        _ => "Correct the request",
    }
}

fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_to_do() {
        let refused = ClientError::ItemRefused { code: ErrorCode::KeyExists, job: Some(JobId(17)) };
        assert_eq!(
            refused.to_string(),
            "refused: KEY_EXISTS, for job 17. Take that job, or push with if-exists keep or replace"
        );
        let large = ClientError::TooLarge { what: Excess::Body, found: 9, max: 8 };
        assert_eq!(
            large.to_string(),
            "the body has 9 bytes, and the server takes at most 8: send less, or raise body_bytes_max of the server"
        );
        let wrong = ClientError::WrongCluster { expected: [0x11; 16], found: [2; 16] };
        assert!(wrong.to_string().contains("02020202020202020202020202020202 instead of 1111"));
    }
}
