//! How a server divides its file descriptors.
//!
//! Storage comes first: without a descriptor for it the node could not go on. Sockets get the rest: connections,
//! unauthenticated connections and call-backs each have a share that the others cannot take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

use crate::exit::{Exit, Failure};
use adjourn_server::config::Config;

/// For the files of a large queue: usually a few hundred chunks, as many again for each of two backups, and the log.
const FILES_MAX: usize = 2048;
/// The same without backups.
const FILES_MIN: usize = 512;
/// For ports, links to other members, clients that are turned away, name lookups, alerts, the runtime.
const OTHERS: usize = 256;
/// With fewer sockets a server cannot work.
const SOCKETS_MIN: usize = 64;
/// Call-backs take this many descriptors for each call to the destinations of one reputation: there are two reputations,
/// and connections that are kept between calls.
const SOCKETS_PER_CALL: usize = 3;

/// Most sockets, by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sockets {
    /// For authenticated clients.
    connections: usize,
    /// For unauthenticated connections.
    unauthenticated: usize,
    call_backs: usize,
}

/// Raises the limit of descriptors as far as possible, and sets each part's share in the configuration.
pub(crate) fn divide(config: &mut Config) -> Result<(), Failure> {
    let ports = ports(config);
    let wanted = Sockets {
        connections: config.connections_max,
        unauthenticated: ports * config.unauthenticated_max,
        call_backs: SOCKETS_PER_CALL * config.call_backs.calls_per_reputation_max,
    };
    let allowed = raise(FILES_MAX + OTHERS + wanted.sum());
    let Some(sockets) = wanted.within(allowed) else {
        let needed = FILES_MIN + OTHERS + SOCKETS_MIN;
        let text = format_args!(
            "this process may open {allowed} files, and a server needs {needed}: raise the limit (`ulimit -n`, or LimitNOFILE in \
             the unit of systemd)"
        );
        return Err(Failure::new(Exit::Usage, text));
    };
    if sockets.connections < wanted.connections {
        warn!(
            allowed,
            connections = sockets.connections,
            connections_max = wanted.connections,
            "this process may open few files: it takes fewer connections than connections_max, so that storage always finds one. \
             Raise the limit (`ulimit -n`, or LimitNOFILE in the unit of systemd)"
        );
    }
    config.connections_max = sockets.connections;
    config.unauthenticated_max = (sockets.unauthenticated / ports).max(1);
    config.call_backs.calls_per_reputation_max = (sockets.call_backs / SOCKETS_PER_CALL).max(1);
    Ok(())
}

/// The number of ports with slots for unauthenticated connections, without the peers' port, which has few.
fn ports(config: &Config) -> usize {
    let others = [
        &config.http_listen,
        &config.console.listen,
        &config.ouqiang_listen,
        &config.youzan_listen,
        &config.php_delayqueue_listen,
        &config.beanstalkd_listen,
    ];
    1 + others.into_iter().flatten().count()
}

/// Raises the limit as far as the system allows. Returns it; `wanted` if there is none.
fn raise(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let count = |limit: Option<u64>| limit.map_or(wanted, |limit| usize::try_from(limit).unwrap_or(wanted));
    let raised = Rlimit { current: limit.maximum.or(Some(wanted as u64)), ..limit };
    let is_higher = count(raised.current) > count(limit.current);
    if is_higher && setrlimit(Resource::Nofile, raised).is_ok() {
        count(raised.current)
    } else {
        count(limit.current)
    }
}

impl Sockets {
    fn sum(self) -> usize {
        self.connections + self.unauthenticated + self.call_backs
    }

    /// Reduces the sockets to those that `allowed` descriptors leave room for; `None` if there are too few.
    fn within(self, allowed: usize) -> Option<Self> {
        if allowed >= FILES_MAX + OTHERS + self.sum() {
            return Some(self);
        }
        let files = (allowed / 4).clamp(FILES_MIN, FILES_MAX);
        let left = allowed.checked_sub(files + OTHERS).filter(|left| *left >= SOCKETS_MIN)?;
        let (unauthenticated, call_backs) =
            (self.unauthenticated.min(left / 4), self.call_backs.min(left / 4));
        Some(Self {
            connections: self.connections.min(left - unauthenticated - call_backs),
            unauthenticated,
            call_backs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Sockets = Sockets { connections: 4096, unauthenticated: 1024, call_backs: 6144 };

    #[test]
    fn storage_and_each_kind_of_socket_has_a_share() {
        assert_eq!(WANTED.within(65536), Some(WANTED));
        assert_eq!(
            WANTED.within(1024),
            Some(Sockets { connections: 128, unauthenticated: 64, call_backs: 64 })
        );
        for allowed in 832..20_000 {
            let sockets = WANTED.within(allowed).expect("enough");
            assert!(sockets.sum() + OTHERS + FILES_MIN <= allowed, "{allowed}: {sockets:?}");
            assert!(
                sockets.connections >= SOCKETS_MIN / 2 && sockets.unauthenticated >= SOCKETS_MIN / 4,
                "{sockets:?}"
            );
            let few = Sockets { connections: 10, ..WANTED }.within(allowed).expect("enough");
            assert_eq!(few.connections, 10);
        }
        assert_eq!(WANTED.within(831), None);
        assert_eq!(WANTED.within(0), None);
    }
}
