//! Real servers: one, or three with failover.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::ports::free_port;
use super::proxy::Proxy;
use super::rig::{Cluster, Network, Place};
use super::server_rig::Process;
use super::tls::Tls;

/// One server, which can be ended and started again on its data.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    process: Option<Process>,
    arguments: Vec<String>,
    data: TempDir,
}

/// Three members on the loopback.
pub(crate) struct Nodes<'a>(Cluster<Loopback<'a>>);

#[derive(Default)]
struct Loopback<'a> {
    /// Clients find each node behind a front that speaks TLS.
    tls: Option<&'a Tls>,
    /// Each node has a proxy, and clients are told to find it there.
    is_proxied: bool,
    proxies: RefCell<BTreeMap<u64, Proxy>>,
}

impl Server {
    pub(crate) fn start(arguments: &[String]) -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let arguments = arguments.to_vec();
        let process = start(data.path(), &arguments, "127.0.0.1:0");
        Self { address: process.address, process: Some(process), arguments, data }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    /// SIGTERM; it must end in order.
    pub(crate) fn stop(&mut self) -> Result<(), String> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        kill_process(Pid::from_child(&process.child), Signal::TERM).map_err(|error| error.to_string())?;
        let status = process.child.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
    }

    /// On the same data and at the same address.
    pub(crate) fn start_again(&mut self) {
        self.kill();
        self.process = Some(start(self.data.path(), &self.arguments, &self.address.to_string()));
    }
}

impl<'a> Nodes<'a> {
    pub(crate) fn start(arguments: &[String], tls: Option<&'a Tls>) -> Self {
        Self::on(Loopback { tls, ..Loopback::default() }, arguments)
    }

    /// Nodes with a proxy in front of each.
    pub(crate) fn start_proxied(arguments: &[String], tls: Option<&'a Tls>) -> Self {
        Self::on(Loopback { tls, is_proxied: true, ..Loopback::default() }, arguments)
    }

    fn on(network: Loopback<'a>, arguments: &[String]) -> Self {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Self(Cluster::of_three(network, &arguments))
    }

    /// The proxy in front of the n-th node.
    pub(crate) fn with_proxy<T>(&self, nth: usize, act: impl FnOnce(&Proxy) -> T) -> Option<T> {
        self.0.network.proxies.borrow().values().nth(nth).map(act)
    }

    /// Where clients find the nodes.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.0.nodes.iter().map(|node| node.place.client_front.to_string()).collect()
    }

    /// Where clients find a node that does not lead.
    pub(crate) fn follower_address(&self) -> String {
        let follower = self.followers()[0];
        let node = self.0.nodes.iter().find(|node| node.number == follower).expect("three nodes");
        node.place.client_front.to_string()
    }

    /// The node that leads.
    pub(crate) fn leader(&self) -> u64 {
        self.0.await_leader()
    }

    /// The nodes that do not lead.
    pub(crate) fn followers(&self) -> Vec<u64> {
        let leader = self.leader();
        let numbers = self.0.nodes.iter().map(|node| node.number);
        numbers.filter(|number| *number != leader).collect()
    }

    pub(crate) fn kill(&mut self, number: u64) {
        self.0.kill(number);
    }

    /// SIGTERM; it must end in order.
    pub(crate) fn stop(&mut self, number: u64) {
        let mut process = self.0.node(number).process.take().expect("it runs");
        kill_process(Pid::from_child(&process.child), Signal::TERM).expect("signalled");
        let status = process.child.wait().expect("ended");
        assert!(status.success(), "node {number} ended with {status}");
    }

    /// SIGSTOP: it says nothing, and its connections stay.
    pub(crate) fn freeze(&mut self, number: u64) {
        self.signal(number, Signal::STOP);
        self.0.node(number).frozen = true;
    }

    /// Everyone runs again, and has caught up.
    pub(crate) fn mend(&mut self) {
        let numbers: Vec<u64> = self.0.nodes.iter().map(|node| node.number).collect();
        for number in numbers {
            if self.0.node(number).frozen {
                self.signal(number, Signal::CONT);
                self.0.node(number).frozen = false;
            }
            if self.0.node(number).process.is_none() {
                self.0.start(number);
            }
        }
        self.0.await_voters(3);
    }

    fn signal(&mut self, number: u64, signal: Signal) {
        let process = self.0.node(number).process.as_ref().expect("it runs");
        kill_process(Pid::from_child(&process.child), signal).expect("signalled");
    }
}

impl Network for Loopback<'_> {
    fn place(&self, number: u64, data: &Path) -> Place {
        let (listen, peer_listen) = (free_port(), free_port());
        let proxy = self.is_proxied.then(Proxy::start);
        let reached = proxy.as_ref().map_or(listen, |proxy| proxy.address);
        let client_front = self.tls.map_or(reached, |tls| tls.front(reached));
        if let Some(proxy) = proxy {
            proxy.lead_to(listen);
            self.proxies.borrow_mut().insert(number, proxy);
        }
        Place {
            listen,
            peer_listen,
            client_front,
            peer_front: peer_listen,
            asked_at: listen,
            data: data.join(format!("node-{number}")),
            within: Vec::new(),
        }
    }
}

fn start(data: &Path, arguments: &[String], listen: &str) -> Process {
    let mut command = super::server_rig::adjourn(&["serve", "--data", data.to_str().expect("a path")]);
    command.args(["--listen", listen]).args(arguments);
    let started = Process::spawn(command);
    started.unwrap_or_else(|(code, log)| panic!("the server ended with {code:?}: {log}"))
}
