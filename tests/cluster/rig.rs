//! Nodes as processes of their own, each behind fronts that can be cut off.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use adjourn::protocol::{ClusterReport, ErrorCode, ErrorReply, Request, Response, Role};
use tempfile::TempDir;

use super::proxy::{Gates, Guests, front};
use crate::server_rig::{Process, Raw, adjourn, hello};

/// What does not happen within this time does not happen.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// The time, to measure how long something takes.
#[expect(clippy::disallowed_methods, reason = "real processes live in real time")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Some nodes.
pub(super) struct Cluster {
    data: TempDir,
    pub(super) gates: Gates,
    pub(super) nodes: Vec<Node>,
    arguments: Vec<String>,
    asking: RefCell<BTreeMap<u64, Raw>>,
}

/// A node, whether it runs or not.
pub(super) struct Node {
    pub(super) number: u64,
    listen: SocketAddr,
    peer_listen: SocketAddr,
    /// Where clients find it.
    pub(super) client_front: SocketAddr,
    /// Where the others find it.
    pub(super) peer_front: SocketAddr,
    pub(super) data: PathBuf,
    pub(super) process: Option<Process>,
    /// It was sent SIGSTOP.
    pub(super) frozen: bool,
}

impl Cluster {
    /// One node that has founded a cluster, with these arguments for each that comes.
    pub(super) fn founded(arguments: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let (gates, asking) = (Gates::default(), RefCell::default());
        let mut cluster = Self { data, gates, nodes: Vec::new(), arguments, asking };
        cluster.prepare(1);
        cluster.start(1);
        cluster.await_leader();
        cluster
    }

    /// Three members that vote.
    pub(super) fn of_three(arguments: &[&str]) -> Self {
        let mut cluster = Self::founded(arguments);
        for number in [2, 3] {
            cluster.prepare(number);
            cluster.start(number);
            cluster.add(number).expect("it is added");
        }
        cluster.await_voters(3);
        cluster
    }

    /// Gives a node its place.
    pub(super) fn prepare(&mut self, number: u64) {
        let (listen, peer_listen) = (free_port(), free_port());
        let client_front = front(&self.gates, number, listen, Guests::Clients);
        let peer_front = front(&self.gates, number, peer_listen, Guests::Nodes);
        let data = self.data.path().join(format!("node-{number}"));
        let (process, frozen) = (None, false);
        let node = Node { number, listen, peer_listen, client_front, peer_front, data, process, frozen };
        self.nodes.push(node);
    }

    pub(super) fn node(&mut self, number: u64) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.number == number).expect("it has a place")
    }

    /// Starts a node; one without data joins node 1.
    pub(super) fn start(&mut self, number: u64) {
        let started = self.try_start(number);
        started.unwrap_or_else(|(code, log)| panic!("node {number} ended with {code:?}: {log}"));
    }

    pub(super) fn try_start(&mut self, number: u64) -> Result<(), (Option<i32>, String)> {
        let join = self.node(1).peer_front.to_string();
        let arguments = self.arguments.clone();
        let node = self.node(number);
        let texts = [
            number.to_string(),
            node.data.to_str().expect("a path").to_owned(),
            node.listen.to_string(),
            node.client_front.to_string(),
            node.peer_listen.to_string(),
            node.peer_front.to_string(),
        ];
        let names = ["--node", "--data", "--listen", "--client-address", "--peer-listen", "--peer-address"];
        let mut command = adjourn(&["serve"]);
        for (name, text) in names.into_iter().zip(&texts) {
            command.args([name, text]);
        }
        if number != 1 {
            command.args(["--join", &join]);
        }
        command.args(arguments);
        node.process = Some(Process::spawn(command)?);
        Ok(())
    }

    /// `kill -9`.
    pub(super) fn kill(&mut self, number: u64) {
        self.asking.borrow_mut().remove(&number);
        self.node(number).process.take().expect("it runs").kill();
    }

    /// Where clients find the nodes, with commas between.
    pub(super) fn addresses(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(|node| node.client_front.to_string()).collect();
        addresses.join(",")
    }

    /// What a node says of the cluster, past every cut.
    pub(super) fn report(&self, number: u64) -> Option<ClusterReport> {
        let node = self.nodes.iter().find(|node| node.number == number)?;
        node.process.as_ref().filter(|_| !node.frozen)?;
        // One connection for all questions: each HELLO to a leader opens a session.
        let kept = self.asking.borrow_mut().remove(&number);
        let mut raw = kept.or_else(|| {
            let mut raw = Raw::try_connect(node.listen)?;
            raw.send(&[Request::Hello(hello())])?;
            raw.receive()?;
            Some(raw)
        })?;
        raw.send(&[Request::ClusterStatus])?;
        loop {
            if let Response::Cluster(report) = raw.receive()?.1 {
                self.asking.borrow_mut().insert(number, raw);
                return Some(*report);
            }
        }
    }

    /// Waits for what a condition finds.
    pub(super) fn wait_for<T>(&self, what: &str, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let begun = now();
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            let reports: Vec<_> = self.nodes.iter().map(|node| self.report(node.number)).collect();
            assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}: {reports:#?}");
        }
    }

    /// The report of a member that leads, and is followed by a majority.
    pub(super) fn leader_report(&self) -> Option<ClusterReport> {
        let reports = self.nodes.iter().filter_map(|node| self.report(node.number));
        reports.filter(|report| report.leader == Some(report.node)).max_by_key(|report| report.term)
    }

    pub(super) fn await_leader(&self) -> u64 {
        self.wait_for("a leader", |cluster| cluster.leader_report().map(|report| report.node))
    }

    /// Waits until so many vote, and each of them is connected and has caught up.
    pub(super) fn await_voters(&self, voters: usize) -> ClusterReport {
        self.wait_for("voters that have caught up", |cluster| {
            let report = cluster.leader_report()?;
            let found = report.members.iter().filter(|member| member.role != Role::Learner).count();
            let up = report.members.iter().all(|member| {
                member.is_connected && member.matched.is_some_and(|matched| matched + 64 >= report.last)
            });
            (found == voters && up).then_some(report)
        })
    }

    /// Waits until all that vote have the same state after the same entry.
    pub(super) fn await_same_state(&self) -> ClusterReport {
        self.wait_for("equal states", |cluster| {
            let report = cluster.leader_report()?;
            let newest = report.members.iter().map(|member| member.audited).max();
            let same = |member: &adjourn::protocol::MemberReport| {
                assert_ne!(member.same_state, Some(false), "the states differ: {report:#?}");
                member.same_state == Some(true) && Some(member.audited) == newest
            };
            report.members.iter().all(same).then(|| report.clone())
        })
    }

    /// Asks the leader for something until it is done, or refused for good.
    pub(super) fn ask_leader(&self, request: &Request) -> Result<(), ErrorReply> {
        self.wait_for("an answer", |cluster| {
            let leader = cluster.leader_report()?.node;
            let node = cluster.nodes.iter().find(|node| node.number == leader)?;
            let mut raw = Raw::try_connect(node.listen)?;
            raw.send(&[Request::Hello(hello())])?;
            raw.receive()?;
            raw.send(std::slice::from_ref(request))?;
            match raw.receive()?.1 {
                Response::Done => Some(Ok(())),
                Response::Error(error) if error.code == ErrorCode::Invalid => Some(Err(error)),
                Response::Error(error) if error.code.retryable() => None,
                other => panic!("{other:?}"),
            }
        })
    }

    /// Adds a node that runs.
    pub(super) fn add(&mut self, number: u64) -> Result<(), ErrorReply> {
        let address = self.node(number).peer_front.to_string();
        self.ask_leader(&Request::ClusterAdd { address })
    }
}

/// A port of the loopback that is free at this moment.
fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}
