//! The rules for the addresses that may be called.
//!
//! The address of the socket is checked at every connection, because a name may resolve to another address at any time. Two
//! kinds of address are never called, whatever the rules say: those from which cloud machines get their credentials, and
//! those on which this node itself listens: a call there would have rights that the owner of its topic does not have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::destination::Origin;
use adjourn_server::config::{Allowed, CallBackConfig, Egress, PortRange};

/// The rules of a node.
#[derive(Debug)]
pub(super) struct Guard {
    egress: Egress,
    allow: Vec<Allowed>,
    ports: Vec<PortRange>,
    /// The addresses on which this node listens.
    own: Vec<SocketAddr>,
}

/// Why a destination is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("calls to port {0} are not allowed: add it to call_back_ports")]
    Port(u16),
    #[error("calls to {host} are not allowed: add it, or its address {address}, to call_back_allow")]
    NotListed { host: String, address: IpAddr },
    #[error(
        "{host} has the address {address}, which is not public: add it to call_back_allow to allow calls"
    )]
    NotPublic { host: String, address: IpAddr },
    #[error(
        "{host} has the address {address}, from which cloud machines get their credentials: it is never called"
    )]
    Metadata { host: String, address: IpAddr },
    #[error(
        "{host} has the address {address}, where this node listens on port {port}: a node never calls itself"
    )]
    Own { host: String, address: IpAddr, port: u16 },
}

impl Guard {
    pub(super) fn new(config: &CallBackConfig) -> Self {
        let CallBackConfig { egress, allow, ports, .. } = config.clone();
        Self { egress, allow, ports, own: Vec::new() }
    }

    /// Forbids calls to the addresses on which this node listens.
    pub(super) fn never_call(&mut self, own: Vec<SocketAddr>) {
        self.own = own;
    }

    /// Checks that the port may be called, whatever the address.
    pub(super) fn check_port(&self, origin: &Origin) -> Result<(), Refusal> {
        let is_listed = self.ports.iter().any(|range| (range.first..=range.last).contains(&origin.port));
        if is_listed { Ok(()) } else { Err(Refusal::Port(origin.port)) }
    }

    /// Checks that this address of the host may be connected to.
    pub(super) fn check(&self, origin: &Origin, address: IpAddr) -> Result<(), Refusal> {
        let host = || origin.host.clone();
        // An IPv6 address may contain an IPv4 address: both are checked.
        let inner = embedded(address);
        let all = || std::iter::once(address).chain(inner);
        if all().any(is_metadata) {
            return Err(Refusal::Metadata { host: host(), address });
        }
        self.check_own(origin, address, None)?;
        if self.is_listed(&origin.host, address) {
            return Ok(());
        }
        match self.egress {
            Egress::Open => Ok(()),
            Egress::PublicOnly if all().all(is_public) => Ok(()),
            Egress::PublicOnly => Err(Refusal::NotPublic { host: host(), address }),
            Egress::Allowlist => Err(Refusal::NotListed { host: host(), address }),
        }
    }

    /// Refuses a connection to a port of this node. The connection's own address is a sign of that: a machine that connects
    /// to itself uses the address that it calls.
    pub(super) fn check_own(
        &self,
        origin: &Origin,
        address: IpAddr,
        from: Option<IpAddr>,
    ) -> Result<(), Refusal> {
        let called = address.to_canonical();
        let is_here = called.is_loopback()
            || called.is_unspecified()
            || from.is_some_and(|from| from.to_canonical() == called);
        let is_own =
            |own: &SocketAddr| own.port() == origin.port && (is_here || own.ip().to_canonical() == called);
        if self.own.iter().any(is_own) {
            return Err(Refusal::Own { host: origin.host.clone(), address, port: origin.port });
        }
        Ok(())
    }

    fn is_listed(&self, host: &str, address: IpAddr) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.allow.iter().any(|allowed| match allowed {
            Allowed::Name(name) => name == host,
            Allowed::Suffix(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
            Allowed::Network { address: network, bits } => is_within(address.to_canonical(), *network, *bits),
        })
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            differing.leading_zeros() >= bits.into()
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            differing.leading_zeros() >= bits.into()
        }
        _ => false,
    }
}

/// The IPv4 address in an IPv6 address: mapped, translated (RFC 6052) or tunnelled (RFC 3056).
fn embedded(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(outer) = address else { return None };
    let bits = outer.to_bits();
    let low = u32::try_from(bits & 0xffff_ffff).ok();
    let inner = match outer.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] => low,
        // The deprecated form of mapped addresses.
        [0, 0, 0, 0, 0, 0, ..] if bits > 1 => low,
        [0x2002, ..] => u32::try_from((bits >> 80) & 0xffff_ffff).ok(),
        _ => None,
    };
    inner.map(|inner| IpAddr::V4(Ipv4Addr::from_bits(inner)))
}

/// True for addresses from which machines get their credentials: link-local ones, and those that clouds chose elsewhere
/// (AWS and its EKS pods, Azure, Alibaba, Google, Oracle, Scaleway).
fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_link_local()
                || [
                    Ipv4Addr::new(100, 100, 100, 200),
                    Ipv4Addr::new(168, 63, 129, 16),
                    Ipv4Addr::new(192, 0, 0, 192),
                ]
                .contains(&address)
        }
        IpAddr::V6(address) => {
            address.is_unicast_link_local()
                || address.segments().starts_with(&[0xfd00, 0xec2])
                || [
                    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
                    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
                ]
                .contains(&address)
        }
    }
}

/// True for an address of the public internet: one in none of the registries of special addresses (RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            let is_special = address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || a == 0
                || (a == 100 && b & 0xc0 == 64)
                || (a == 192 && b == 0 && c == 0)
                || (a == 192 && b == 88 && c == 99)
                || (a == 198 && b & 0xfe == 18)
                || a >= 224;
            !is_special
        }
        IpAddr::V6(address) => match address.segments() {
            // The IPv4 address in it is checked separately.
            [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x2002, ..] => true,
            [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
            [0x3fff, second, ..] => second >= 0x1000,
            [first, ..] => first & 0xe000 == 0x2000,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(egress: Egress, allow: &[&str]) -> Guard {
        let allow = allow.iter().map(|text| text.parse().expect("a destination")).collect();
        Guard {
            egress,
            allow,
            ports: vec!["80".parse().expect("a port"), "8000-8099".parse().expect("a range")],
            own: Vec::new(),
        }
    }

    fn may(guard: &Guard, host: &str, address: &str) -> bool {
        let origin = Origin { is_secure: false, host: host.to_owned(), port: 80 };
        guard.check(&origin, address.parse().expect("an address")).is_ok()
    }

    #[test]
    fn without_more_nothing_may_be_called_but_what_is_listed() {
        let guard = guard(Egress::Allowlist, &["shop.example", "*.inside", "10.1.0.0/16", "fd00::/8"]);
        assert!(may(&guard, "shop.example", "1.1.1.1") && may(&guard, "shop.example.", "127.0.0.1"));
        assert!(
            may(&guard, "a.b.inside", "10.0.0.1")
                && may(&guard, "x", "10.1.255.1")
                && may(&guard, "x", "fdff::1")
        );
        assert!(may(&guard, "x", "::ffff:10.1.0.1"));
        for (host, address) in [
            ("x", "1.1.1.1"),
            ("inside", "1.1.1.1"),
            ("evilinside", "1.1.1.1"),
            ("shop.example.evil", "1.1.1.1"),
            ("x", "10.2.0.1"),
            ("x", "fe00::1"),
        ] {
            assert!(!may(&guard, host, address), "{host} {address}");
        }
    }

    #[test]
    fn metadata_are_never_called() {
        for egress in [Egress::Allowlist, Egress::PublicOnly, Egress::Open] {
            let guard = guard(egress, &["0.0.0.0/0", "::/0", "metadata"]);
            for address in [
                "169.254.169.254",
                "169.254.170.2",
                "::ffff:169.254.169.254",
                "64:ff9b::a9fe:a9fe",
                "2002:a9fe:a9fe::1",
                "::a9fe:a9fe",
                "fe80::1",
                "fd00:ec2::254",
                "fd00:ec2::23",
                "fd00:ec2:7::1",
                "fd20:ce::254",
                "fd00:42::42",
                "169.254.42.42",
                "100.100.100.200",
                "168.63.129.16",
                "192.0.0.192",
            ] {
                assert!(!may(&guard, "metadata", address), "{address}");
            }
            assert!(may(&guard, "metadata", "1.1.1.1"));
        }
    }

    #[test]
    fn public_addresses_are_those_of_no_registry() {
        let guard = guard(Egress::PublicOnly, &["10.0.0.7"]);
        for address in [
            "1.1.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "10.0.0.7",
        ] {
            assert!(may(&guard, "x", address), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.0.0.8",
            "172.16.0.1",
            "192.168.0.1",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "198.19.0.1",
            "192.88.99.1",
            "::",
            "::1",
            "fc00::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "::ffff:127.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:8::",
        ] {
            assert!(!may(&guard, "x", address), "{address}");
        }
    }

    #[test]
    fn where_the_node_listens_is_never_called() {
        let mut guard = guard(Egress::Open, &["0.0.0.0/0", "::/0"]);
        let own = ["127.0.0.1:80", "10.0.0.5:8000", "0.0.0.0:8001", "[::]:8002"];
        guard.never_call(own.map(|own| own.parse().expect("an address")).to_vec());
        let is_own = |port: u16, address: &str, from: Option<&str>| {
            let origin = Origin { is_secure: false, host: "x".to_owned(), port };
            let (address, from) =
                (address.parse().expect("an address"), from.map(|from| from.parse().expect("one")));
            guard.check(&origin, address).and_then(|()| guard.check_own(&origin, address, from)).is_err()
        };
        for (port, address, from) in [
            (80, "127.0.0.1", None),
            (80, "127.0.0.2", None),
            (80, "0.0.0.0", None),
            (80, "::1", None),
            (80, "::", None),
            (80, "::ffff:127.0.0.1", None),
            (8000, "10.0.0.5", None),
            (8000, "::ffff:10.0.0.5", None),
            (8001, "10.0.0.5", Some("10.0.0.5")),
            (8002, "10.0.0.5", Some("::ffff:10.0.0.5")),
            (8002, "2001:db8::5", Some("2001:db8::5")),
        ] {
            assert!(is_own(port, address, from), "{address} {port}");
        }
        for (port, address, from) in [
            (8042, "127.0.0.1", Some("127.0.0.1")),
            (80, "10.0.0.6", Some("10.0.0.5")),
            (8000, "10.0.0.6", Some("10.0.0.5")),
            (8001, "10.0.0.6", Some("10.0.0.5")),
        ] {
            assert!(!is_own(port, address, from), "{address} {port}");
        }
    }

    #[test]
    fn ports_are_listed() {
        let guard = guard(Egress::Open, &[]);
        let check = |port| guard.check_port(&Origin { is_secure: false, host: "x".to_owned(), port });
        assert_eq!((check(80), check(8042)), (Ok(()), Ok(())));
        assert_eq!((check(22), check(8100)), (Err(Refusal::Port(22)), Err(Refusal::Port(8100))));
    }
}
