//! How a session of this process is opened.

use std::sync::Arc;

use super::IN_FLIGHT_MAX;
use adjourn_replica::Arrival;
use adjourn_types::{Access, SessionSecret};

/// Connections to the leader that are opened at a time: members need its port, too.
pub(super) const OPENING_MAX: usize = 16;

/// Whose session is opened.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) client_name: &'a str,
    pub(super) address: &'a str,
    /// Leases run to their deadline whatever happens to the session.
    pub(super) leases_outlive: bool,
    /// Nobody outside this process learns of its leases, and they end with the session.
    pub(super) volatile_leases: bool,
}

impl Opening<'_> {
    /// The client that the core is told of.
    pub(super) fn arrival(self, access: Arc<Access>, secret: [u8; 16]) -> Arrival {
        Arrival {
            secret: SessionSecret(secret),
            access,
            address: self.address.to_owned(),
            in_flight_max: IN_FLIGHT_MAX,
            volatile_leases: self.volatile_leases,
        }
    }

    /// All callers of HTTP with one token.
    pub(super) const SHARED: Self =
        Self { client_name: "http", address: "http", leases_outlive: true, volatile_leases: false };
}
