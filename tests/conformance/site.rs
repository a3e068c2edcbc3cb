//! What the clients of a soak talk to, and what happens to it: one server, or three nodes, each behind a proxy.

use super::nodes::{Nodes, Server};
use super::proxy::Proxy;

const ARGUMENTS: [&str; 4] = ["--session-grace-ms", "1500", "--heartbeat-ms", "500"];

pub(crate) enum Site {
    Server { server: Server, proxy: Proxy },
    Cluster(Nodes),
}

impl Site {
    /// One server.
    pub(crate) fn server() -> Self {
        let proxy = Proxy::start();
        let mut arguments = arguments();
        // Else clients learn from WELCOME how to get around it.
        arguments.extend(["--client-address".to_owned(), proxy.address.to_string()]);
        let server = Server::start(&arguments);
        proxy.lead_to(server.address);
        Self::Server { server, proxy }
    }

    /// Three nodes.
    pub(crate) fn cluster() -> Self {
        Self::Cluster(Nodes::start_proxied(&arguments()))
    }

    /// Where clients find it.
    pub(crate) fn addresses(&self) -> Vec<String> {
        match self {
            Self::Server { proxy, .. } => vec![proxy.address.to_string()],
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
