//! What a server takes at once.

use crate::error::{ClientError, Excess};
use adjourn_protocol::{Request, Welcome};
use adjourn_types::limits::{PRODUCER_WINDOW_MAX, REASON_BYTES_MAX};

/// Requests that the connection itself may add to those in flight: the members, and two heartbeats.
const OWN_REQUESTS: usize = 3;

/// The limits in the server's last WELCOME.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "the names are those of WELCOME")]
pub(crate) struct Limits {
    /// Largest length field of a request.
    pub(crate) frame_bytes_max: usize,
    /// Largest body.
    pub(crate) body_bytes_max: usize,
    /// Most jobs in a push.
    pub(crate) push_jobs_max: usize,
    /// Most leases in one request.
    pub(crate) leases_max: usize,
    /// Most jobs in a reserve.
    pub(crate) reserve_jobs_max: u32,
    /// Most requests on the wire. Some of the server's maximum is kept for the connection's own requests.
    pub(crate) in_flight_max: usize,
}

impl Limits {
    pub(super) fn of(welcome: &Welcome) -> Self {
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            frame_bytes_max: size(welcome.frame_bytes_max),
            body_bytes_max: size(welcome.body_bytes_max),
            push_jobs_max: size(welcome.push_jobs_max).clamp(1, PRODUCER_WINDOW_MAX),
            leases_max: size(welcome.leases_max).max(1),
            reserve_jobs_max: welcome.reserve_jobs_max,
            in_flight_max: size(welcome.in_flight_max).saturating_sub(OWN_REQUESTS).max(1),
        }
    }

    pub(super) fn check(&self, request: &Request) -> Result<(), ClientError> {
        let (what, found, max) = match request {
            Request::Push(push) => {
                self.check_bodies(&push.jobs)?;
                (Excess::Jobs, push.jobs.len(), self.push_jobs_max)
            }
            request => (Excess::Leases, request.leases().len(), self.leases_max),
        };
        check_reason(request)?;
        if found > max { Err(ClientError::TooLarge { what, found, max }) } else { Ok(()) }
    }

    /// Refuses a body over the limit.
    pub(crate) fn check_bodies(&self, jobs: &[adjourn_protocol::NewJob]) -> Result<(), ClientError> {
        let max = self.body_bytes_max;
        match jobs.iter().map(|job| job.body.len()).find(|found| *found > max) {
            Some(found) => Err(ClientError::TooLarge { what: Excess::Body, found, max }),
            None => Ok(()),
        }
    }
}

/// Refuses a reason over the limit: the server would refuse the whole request.
fn check_reason(request: &Request) -> Result<(), ClientError> {
    let (Request::Release { reason: Some(reason), .. } | Request::Bury { reason: Some(reason), .. }) =
        request
    else {
        return Ok(());
    };
    let (found, max) = (reason.len(), REASON_BYTES_MAX);
    if found > max { Err(ClientError::TooLarge { what: Excess::Reason, found, max }) } else { Ok(()) }
}
