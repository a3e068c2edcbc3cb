//! Ports for servers of tests.

use std::net::{SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// A port of the loopback that is free at this moment, and that the system gives to nobody who asks for any port: a node that
/// was ended finds it free again.
pub(crate) fn free_port() -> SocketAddr {
    const PORTS: Range<u32> = 10_000..30_000;
    static TRIED: AtomicU32 = AtomicU32::new(0);
    loop {
        // Other processes begin elsewhere.
        let tried = std::process::id().wrapping_mul(64).wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + tried % (PORTS.end - PORTS.start);
        let address = SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).expect("a port")));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}
