//! What the clients of a soak talk to, and what happens to it: one server, or three nodes, each behind a proxy.

use std::net::SocketAddr;

use super::nodes::{Nodes, Server};
use super::proxy::Proxy;
use super::tls::Tls;

const ARGUMENTS: [&str; 4] = ["--session-grace-ms", "1500", "--heartbeat-ms", "500"];

pub(crate) enum Site<'a> {
    /// Clients find the proxy at the address.
    Server {
        server: Server,
        proxy: Proxy,
        address: SocketAddr,
    },
    Cluster(Nodes<'a>),
}

impl<'a> Site<'a> {
    /// One server.
    pub(crate) fn server(tls: Option<&'a Tls>) -> Self {
        let proxy = Proxy::start();
        let address = tls.map_or(proxy.address, |tls| tls.front(proxy.address));
        let mut arguments = arguments();
        // Else clients learn from WELCOME how to get around it.
        arguments.extend(["--client-address".to_owned(), address.to_string()]);
        let server = Server::start(&arguments);
        proxy.lead_to(server.address);
        Self::Server { server, proxy, address }
    }

    /// Three nodes.
    pub(crate) fn cluster(tls: Option<&'a Tls>) -> Self {
        Self::Cluster(Nodes::start_proxied(&arguments(), tls))
    }

    /// Where clients find it.
    pub(crate) fn addresses(&self) -> Vec<String> {
        match self {
            Self::Server { address, .. } => vec![address.to_string()],
            Self::Cluster(nodes) => nodes.addresses(),
        }
    }

    /// How many proxies there are.
    pub(crate) fn proxies(&self) -> usize {
        self.addresses().len()
    }

    /// Does something with a proxy.
    pub(crate) fn with_proxy(
        &self,
        nth: usize,
        act: impl FnOnce(&Proxy) -> Result<(), String>,
    ) -> Result<(), String> {
        match self {
            Self::Server { proxy, .. } => act(proxy),
            Self::Cluster(nodes) => {
                nodes.with_proxy(nth, act).unwrap_or_else(|| Err("no such proxy".to_owned()))
            }
        }
    }

    /// Hurts a server, in one of six ways. A server comes back at once, a node before the next one is hurt.
    pub(crate) fn hurt(&mut self, which: usize) -> Result<(), String> {
        match self {
            Self::Server { server, .. } => {
                if which.is_multiple_of(2) {
                    server.kill();
                } else {
                    server.stop()?;
                }
                server.start_again();
            }
            Self::Cluster(nodes) => {
                // A majority is always there, so the clients always get on.
                nodes.mend();
                let node = if which < 3 { nodes.leader() } else { nodes.followers()[0] };
                match which % 3 {
                    0 => nodes.kill(node),
                    1 => nodes.stop(node),
                    _ => nodes.freeze(node),
                }
            }
        }
        Ok(())
    }

    /// Everything runs, and everything passes.
    pub(crate) fn mend(&mut self) -> Result<(), String> {
        for nth in 0..self.proxies() {
            self.with_proxy(nth, |proxy| proxy.obey("flow"))?;
        }
        if let Self::Cluster(nodes) = self {
            nodes.mend();
        }
        Ok(())
    }
}

fn arguments() -> Vec<String> {
    ARGUMENTS.map(str::to_owned).to_vec()
}
