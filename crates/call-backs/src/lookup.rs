//! Name lookup: the present addresses of a host.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;

/// Looks up the addresses of a host and a port.
type Ask = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// The system's lookup, or one for tests.
pub(super) struct Lookup(Box<Ask>);

impl Lookup {
    /// The lookup of the system.
    pub(super) fn of_system() -> Self {
        Self(Box::new(|host, port| Ok((host, port).to_socket_addrs()?.take(ADDRESSES_MAX).collect())))
    }

    /// A lookup by this function.
    #[cfg(test)]
    pub(super) fn of(ask: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Self(Box::new(ask))
    }

    /// The addresses of a host. May take long.
    pub(super) fn find(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        (self.0)(host, port)
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}
