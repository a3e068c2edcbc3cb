//! How a session of this process is opened.

/// Connections to the leader that are opened at a time: members need its port, too.
pub(super) const OPENING_MAX: usize = 16;

/// Whose session is opened.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) client_name: &'a str,
    pub(super) address: &'a str,
    /// Leases run to their deadline whatever happens to the session.
    pub(super) leases_outlive: bool,
}

impl Opening<'_> {
    /// All callers of HTTP with one token.
    pub(super) const SHARED: Self = Self { client_name: "http", address: "http", leases_outlive: true };
}
