//! Nodes as processes of their own, on a network that can be cut.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use adjourn_protocol::{ClusterReport, ErrorCode, ErrorReply, Request, Response, Role};
use tempfile::TempDir;

use crate::server_rig::{Process, Raw, adjourn, hello};

/// What does not happen within this time does not happen.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The time, to measure how long something takes.
#[expect(clippy::disallowed_methods, reason = "real processes live in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Where nodes live, and what lies between them.
pub(crate) trait Network {
    /// Gives a node its place. What it knows it keeps in a folder under `data`.
    fn place(&self, number: u64, data: &Path) -> Place;
}

/// The place of a node.
pub(crate) struct Place {
    /// Where it listens for clients.
    pub(crate) listen: SocketAddr,
    /// Where it listens for the others.
    pub(crate) peer_listen: SocketAddr,
    /// Where clients find it.
    pub(crate) client_front: SocketAddr,
    /// Where the others find it.
    pub(crate) peer_front: SocketAddr,
    /// Where it can be asked past every cut.
    pub(crate) asked_at: SocketAddr,
    pub(crate) data: PathBuf,
    /// What starts a program in this place, in front of the program and its arguments.
    pub(crate) within: Vec<String>,
}

/// Some nodes.
pub(crate) struct Cluster<N> {
    // In the order in which they go: processes, what they live in, their data.
    pub(crate) nodes: Vec<Node>,
    pub(crate) network: N,
    data: TempDir,
    /// What each node is told that is started from here on.
    pub(crate) arguments: Vec<String>,
    asking: RefCell<BTreeMap<u64, Raw>>,
}

/// A node, whether it runs or not.
pub(crate) struct Node {
    pub(crate) number: u64,
    pub(crate) place: Place,
    pub(crate) process: Option<Process>,
    /// It was sent SIGSTOP.
    pub(crate) frozen: bool,
}

impl<N: Network> Cluster<N> {
    /// One node that has founded a cluster, with these arguments for each that comes.
    pub(crate) fn founded(network: N, arguments: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let (nodes, asking) = (Vec::new(), RefCell::default());
        let mut cluster = Self { nodes, network, data, arguments, asking };
        cluster.prepare(1);
        cluster.start(1);
        cluster.await_leader();
        cluster
    }

    /// Three members that vote.
    pub(crate) fn of_three(network: N, arguments: &[&str]) -> Self {
        let mut cluster = Self::founded(network, arguments);
        for number in [2, 3] {
            cluster.prepare(number);
            cluster.start(number);
            cluster.add(number).expect("it is added");
        }
        cluster.await_voters(3);
        cluster
    }

    /// Gives a node its place.
    pub(crate) fn prepare(&mut self, number: u64) {
        let place = self.network.place(number, self.data.path());
        let node = Node { number, place, process: None, frozen: false };
        self.nodes.push(node);
    }

    pub(crate) fn node(&mut self, number: u64) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.number == number).expect("it has a place")
    }

    /// Starts a node; one without data joins node 1.
    pub(crate) fn start(&mut self, number: u64) {
        let started = self.try_start(number);
        started.unwrap_or_else(|(code, log)| panic!("node {number} ended with {code:?}: {log}"));
    }

    pub(crate) fn try_start(&mut self, number: u64) -> Result<(), (Option<i32>, String)> {
        let join = self.node(1).place.peer_front.to_string();
        let arguments = self.arguments.clone();
        let node = self.node(number);
        let place = &node.place;
        let texts = [
            number.to_string(),
            place.data.to_str().expect("a path").to_owned(),
            place.listen.to_string(),
            place.client_front.to_string(),
            place.peer_listen.to_string(),
            place.peer_front.to_string(),
        ];
        let names = ["--node", "--data", "--listen", "--client-address", "--peer-listen", "--peer-address"];
        let mut command = within(&place.within, adjourn(&["serve"]));
        for (name, text) in names.into_iter().zip(&texts) {
            command.args([name, text]);
        }
        if number == 1 {
            command.arg("--found");
        } else {
            command.args(["--join", &join]);
        }
        // Other namespaces reach it.
        command.args(arguments).arg("--insecure");
        let process = Process::spawn(command)?;
        assert_eq!(process.address, node.place.listen);
        node.process = Some(process);
        Ok(())
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self, number: u64) {
        self.asking.borrow_mut().remove(&number);
        self.node(number).process.take().expect("it runs").kill();
    }

    /// Where clients find the nodes, with commas between.
    pub(crate) fn addresses(&self) -> String {
        let addresses: Vec<String> =
            self.nodes.iter().map(|node| node.place.client_front.to_string()).collect();
        addresses.join(",")
    }

    /// What a node says of the cluster, past every cut.
    pub(crate) fn report(&self, number: u64) -> Option<ClusterReport> {
        let node = self.nodes.iter().find(|node| node.number == number)?;
        node.process.as_ref().filter(|_| !node.frozen)?;
        // One connection for all questions: each HELLO to a leader opens a session.
        let kept = self.asking.borrow_mut().remove(&number);
        let mut raw = kept.or_else(|| {
            let mut raw = Raw::try_connect(node.place.asked_at)?;
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
    pub(crate) fn wait_for<T>(&self, what: &str, mut found: impl FnMut(&Self) -> Option<T>) -> T {
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
    pub(crate) fn leader_report(&self) -> Option<ClusterReport> {
        let reports = self.nodes.iter().filter_map(|node| self.report(node.number));
        reports.filter(|report| report.leader == Some(report.node)).max_by_key(|report| report.term)
    }

    pub(crate) fn await_leader(&self) -> u64 {
        self.wait_for("a leader", |cluster| cluster.leader_report().map(|report| report.node))
    }

    pub(crate) fn await_other_leader(&self, than: u64) -> u64 {
        self.wait_for("another leader", |cluster| {
            let leader = cluster.leader_report()?.node;
            (leader != than).then_some(leader)
        })
    }

    /// Waits until this number of members vote, and each of them is connected and has caught up.
    pub(crate) fn await_voters(&self, voters: usize) -> ClusterReport {
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
    pub(crate) fn await_same_state(&self) -> ClusterReport {
        self.wait_for("equal states", |cluster| {
            let report = cluster.leader_report()?;
            let newest = report.members.iter().map(|member| member.audited).max();
            let same = |member: &adjourn_protocol::MemberReport| {
                assert_ne!(member.same_state, Some(false), "the states differ: {report:#?}");
                member.same_state == Some(true) && Some(member.audited) == newest
            };
            report.members.iter().all(same).then(|| report.clone())
        })
    }

    /// Asks the leader for something until it is done, or refused for good.
    pub(crate) fn ask_leader(&self, request: &Request) -> Result<(), ErrorReply> {
        self.wait_for("an answer", |cluster| {
            let leader = cluster.leader_report()?.node;
            let node = cluster.nodes.iter().find(|node| node.number == leader)?;
            let mut raw = Raw::try_connect(node.place.asked_at)?;
            raw.send(&[Request::Hello(hello())])?;
            // A node that leads no longer refuses it.
            let Response::Welcome(_) = raw.receive()?.1 else { return None };
            raw.send(std::slice::from_ref(request))?;
            match raw.receive()?.1 {
                Response::Done => Some(Ok(())),
                Response::Error(error)
                    if error.code == ErrorCode::Invalid || error.message.starts_with("cannot reach") =>
                {
                    Some(Err(error))
                }
                Response::Error(error) if error.code.retryable() => None,
                other => panic!("{other:?}"),
            }
        })
    }

    /// Adds a node that runs.
    pub(crate) fn add(&mut self, number: u64) -> Result<(), ErrorReply> {
        let address = self.node(number).place.peer_front.to_string();
        let is_member = |report: ClusterReport| report.members.iter().any(|member| member.node == number);
        let was_member = self.leader_report().is_some_and(is_member);
        match self.ask_leader(&Request::ClusterAdd { address }) {
            // It was asked again, as the first answer was lost.
            Err(error) if !was_member && error.message.ends_with("is a member already") => Ok(()),
            added => added,
        }
    }
}

/// Has a program started by another one.
fn within(outer: &[String], program: Command) -> Command {
    let Some((first, others)) = outer.split_first() else { return program };
    let mut command = Command::new(first);
    command.args(others).arg(program.get_program()).args(program.get_args()).stdin(Stdio::null());
    for (name, _) in program.get_envs() {
        command.env_remove(name);
    }
    command
}
