//! Why a job cannot be called back, and the limits of a request.

use hyper::header::HeaderName;

use super::destination::NotADestination;
use adjourn_types::limits::BODY_BYTES_CEILING;

/// The header of a job that names the URL.
pub(super) const URL_HEADER: &str = "call-back";
/// The largest body that is sent, in bytes: a template may contain the job's body more than once.
pub(super) const BODY_BYTES_MAX: usize = 2 * BODY_BYTES_CEILING;
/// The maximum of a topic's header values together, filled in: each may contain the job's body, in bytes.
pub(super) const HEADERS_BYTES_MAX: usize = 32 << 10;

/// Why a job cannot be called back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoCallRequest {
    #[error("the job has no URL: it needs the header {URL_HEADER}")]
    NoUrl,
    #[error("{0}")]
    Destination(#[from] NotADestination),
    #[error("the body must be a JSON object, because its fields are sent as a form")]
    NoForm,
    #[error("the header {0} cannot be sent with this job")]
    Header(HeaderName),
    #[error("the job has no value for {{{0}}} in the path of the URL")]
    NoValue(&'static str),
    #[error("the body to be sent is larger than {BODY_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the headers to be sent are larger than {HEADERS_BYTES_MAX} bytes")]
    HeadersTooLarge,
}
