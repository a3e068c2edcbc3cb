//! Real servers: one, or three with failover.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::rig::{Cluster, Network, Place};
use super::server_rig::Process;

/// One server, which can be ended and started again on its data.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    process: Option<Process>,
    arguments: Vec<String>,
    data: TempDir,
}

/// Three members on the loopback.
pub(crate) struct Nodes(Cluster<Loopback>);

struct Loopback;

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

impl Nodes {
    pub(crate) fn start(arguments: &[String]) -> Self {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Self(Cluster::of_three(Loopback, &arguments))
    }

    /// Where clients find the nodes.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.0.nodes.iter().map(|node| node.place.client_front.to_string()).collect()
    }

    /// Where clients find a node that does not lead.
    pub(crate) fn follower(&self) -> String {
        let leader = self.0.await_leader();
        let node = self.0.nodes.iter().find(|node| node.number != leader).expect("three nodes");
        node.place.client_front.to_string()
    }

    pub(crate) fn kill_leader(&mut self) {
        let leader = self.0.await_leader();
        self.0.kill(leader);
    }

    /// SIGTERM to the leader.
    pub(crate) fn stop_leader(&mut self) {
        let leader = self.0.await_leader();
        let mut process = self.0.node(leader).process.take().expect("it runs");
        kill_process(Pid::from_child(&process.child), Signal::TERM).expect("signalled");
        let status = process.child.wait().expect("ended");
        assert!(status.success(), "the leader ended with {status}");
    }

    /// SIGSTOP to the leader: it says nothing, and its connections stay.
    pub(crate) fn freeze_leader(&mut self) {
        let leader = self.0.await_leader();
        self.signal(leader, Signal::STOP);
        self.0.node(leader).frozen = true;
    }

    /// Everyone runs again.
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

impl Network for Loopback {
    fn place(&self, number: u64, data: &Path) -> Place {
        let (listen, peer_listen) = (free_port(), free_port());
        Place {
            listen,
            peer_listen,
            client_front: listen,
            peer_front: peer_listen,
            asked_at: listen,
            data: data.join(format!("node-{number}")),
            within: Vec::new(),
        }
    }
}

/// A port of the loopback that is free at this moment.
fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

fn start(data: &Path, arguments: &[String], listen: &str) -> Process {
    let mut command = super::server_rig::adjourn(&["serve", "--data", data.to_str().expect("a path")]);
    command.args(["--listen", listen]).args(arguments);
    let started = Process::spawn(command);
    started.unwrap_or_else(|(code, log)| panic!("the server ended with {code:?}: {log}"))
}
