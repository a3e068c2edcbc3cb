//! Some replicas, each with two clocks and a disk that can hang, and wires between them that can be cut. Time goes on in
//! steps; a message, write or fetch of one step arrives in the next.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_engine::{Command, EntryBuilder};
use adjourn_protocol::{ErrorReply, Hello, NewJob, Push, Request, RequestId, Response, VERSION, VERSION_MIN};
use adjourn_raft::{MembershipChange, Message};
use adjourn_replica::{
    Arrival, Bundle, ConnectionId, Input, MemoryAccount, Notice, Now, Output, PeerInfo, Permit, Replica,
    ReplicaConfig,
};
use adjourn_storage::{EntryKind, LogEntry, PersistBatch, StorageError, Vote};
use adjourn_types::{FEATURE_LEVEL, Member, Millis, RetryDefaults, SessionSecret};

use super::copied;
use super::disk::Disk;

/// Length of a step.
const STEP_MS: u64 = 5;
/// Somebody leads within this time.
const ELECTED_MS: u64 = 5_000;
/// What all walls show at first.
pub(super) const EPOCH_MS: u64 = 1_790_000_000_000;

/// A node that was made known to all, and never became a member.
pub(crate) const KNOWN_ONLY: u64 = 9;

/// A node.
pub(crate) struct Node {
    replica: Option<Replica>,
    pub(crate) wall_ahead_ms: i64,
    /// What it can do, whatever it says.
    pub(crate) feature_level_max: u32,
    /// What it says to the others.
    feature_level_said: u32,
    /// Its disk accepts write batches and writes nothing.
    pub(crate) hangs: bool,
    ordered: Vec<(u64, PersistBatch)>,
    pub(crate) disk: Disk,
    /// A checkpoint is taken when the log has grown by so much.
    pub(crate) checkpoint_log_bytes: u64,
    /// Nothing comes of what it fetches.
    pub(crate) fetches_hang: bool,
    /// From whom it fetches a checkpoint, and which.
    pub(crate) fetch: Option<(u64, u64)>,
    /// How many it has fetched.
    pub(crate) fetched: u32,
    /// Its disk knows no later entry to be committed.
    pub(crate) commit_known: Option<u64>,
    pub(crate) answers: Vec<(ConnectionId, RequestId, Response)>,
    /// Connections that it ended.
    pub(crate) closed: Vec<ConnectionId>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) stopped: bool,
    pub(crate) failed: Option<StorageError>,
}

/// All of them.
pub(crate) struct Rig {
    pub(crate) nodes: BTreeMap<u64, Node>,
    pub(super) at_us: u64,
    /// Nodes whose process does not run for a while, and does not know.
    pub(crate) paused: BTreeSet<u64>,
    /// Directions in which nothing gets through.
    pub(crate) cut: BTreeSet<(u64, u64)>,
    /// What this node hears of the states of the others is wrong.
    pub(crate) misled: Option<u64>,
    on_the_way: Vec<(u64, u64, Bundle, Vec<Vec<u8>>)>,
    next_connection: u64,
}

fn member(node: u64) -> Member {
    let (peer_address, client_address) = (format!("peer-{node}"), client_address(node));
    Member { node, storage_id: [u8::try_from(node).expect("a small one"); 16], peer_address, client_address }
}

pub(crate) fn client_address(node: u64) -> String {
    format!("node-{node}")
}

/// A log that makes these nodes a cluster.
fn founding(voters: u64, client_address_of: fn(u64) -> String) -> Vec<LogEntry> {
    let mut builder = EntryBuilder::default();
    builder.push(&Command::Genesis { key_secret: [9; 16] });
    for node in (1..=voters).chain([KNOWN_ONLY]) {
        let Member { storage_id, peer_address, .. } = member(node);
        let (peer_address, client_address) = (&peer_address[..], &client_address_of(node)[..]);
        builder.push(&Command::MemberSet { node, storage_id, peer_address, client_address });
    }
    let changes =
        std::iter::once(MembershipChange::Alone(1)).chain((2..=voters).map(MembershipChange::Voter));
    let entries = std::iter::once((EntryKind::Normal, builder.finish(Millis(EPOCH_MS))))
        .chain(changes.map(|change| (EntryKind::ConfChange, change.encode())));
    let numbered = (1..).zip(entries);
    numbered.map(|(index, (kind, data))| LogEntry { index, term: 1, kind, data: data.into() }).collect()
}

impl Node {
    fn new(voters: u64) -> Self {
        Self {
            replica: None,
            wall_ahead_ms: 0,
            feature_level_max: FEATURE_LEVEL,
            feature_level_said: FEATURE_LEVEL,
            hangs: false,
            ordered: Vec::new(),
            disk: disk_with(founding(voters, client_address)),
            checkpoint_log_bytes: 64 << 20,
            fetches_hang: false,
            fetch: None,
            fetched: 0,
            commit_known: None,
            answers: Vec::new(),
            closed: Vec::new(),
            notices: Vec::new(),
            stopped: false,
            failed: None,
        }
    }
}

fn disk_with(entries: Vec<LogEntry>) -> Disk {
    let (commit, vote) = (entries.len() as u64, Some(Vote { term: 1, vote: 1 }));
    Disk::new(&PersistBatch { vote, entries, commit, ..PersistBatch::default() })
}

fn config(node: u64) -> ReplicaConfig {
    let Member { storage_id, peer_address, client_address, .. } = member(node);
    ReplicaConfig {
        node,
        cluster_id: [1; 16],
        storage_id,
        founder: false,
        peer_address,
        feature_level_max: FEATURE_LEVEL,
        entropy: storage_id.repeat(2).try_into().expect("twice as long"),
        server_name: "one of several".to_owned(),
        client_address,
        body_bytes_max: 1 << 20,
        heartbeat_ms: 10_000,
        retry_defaults: RetryDefaults::NONE,
        session_grace_ms: 300,
        zones: adjourn_calendar::ZoneData::bundled(),
        output_bytes_max: 1 << 20,
        uncommitted_bytes_max: 1 << 20,
        memory_max_bytes: 0,
        memory_account: MemoryAccount::default(),
        checkpoint_log_bytes: 64 << 20,
    }
}

impl Rig {
    /// So many voters that know each other, with these walls.
    pub(crate) fn of(walls_ahead_ms: &[i64]) -> Self {
        let mut rig = Self {
            nodes: BTreeMap::new(),
            at_us: 1_000_000,
            paused: BTreeSet::new(),
            cut: BTreeSet::new(),
            misled: None,
            on_the_way: Vec::new(),
            next_connection: 0,
        };
        let voters = walls_ahead_ms.len() as u64;
        for (node, wall_ahead_ms) in (1..).zip(walls_ahead_ms) {
            rig.nodes.insert(node, Node { wall_ahead_ms: *wall_ahead_ms, ..Node::new(voters) });
        }
        for node in 1..=voters {
            rig.start(node);
        }
        rig
    }

    /// So many voters with right clocks, who take a checkpoint when the log has grown by so much.
    pub(crate) fn taking_checkpoints(voters: usize, log_bytes: u64) -> Self {
        let mut rig = Self::of(&vec![0; voters]);
        for id in 1..=voters as u64 {
            rig.kill(id);
            rig.node(id).checkpoint_log_bytes = log_bytes;
            rig.start(id);
        }
        rig
    }

    /// So many voters with right clocks, of whom one has another state than the others: there a node that never was a member
    /// is known under another address.
    pub(crate) fn with_one_wrong(voters: usize, wrong: u64) -> Self {
        let elsewhere = |node| if node == KNOWN_ONLY { "elsewhere".to_owned() } else { client_address(node) };
        let mut rig = Self::of(&vec![0; voters]);
        rig.kill(wrong);
        rig.node(wrong).disk = disk_with(founding(voters as u64, elsewhere));
        rig.start(wrong);
        rig
    }

    /// One voter, who takes checkpoints as well, and a learner that never comes.
    pub(crate) fn with_a_learner(log_bytes: u64) -> Self {
        let mut rig = Self::taking_checkpoints(2, log_bytes);
        rig.kill(1);
        rig.kill(2);
        let mut log = founding(1, client_address);
        let learner = MembershipChange::Learner(2).encode().into();
        let index = log.len() as u64 + 1;
        log.push(LogEntry { index, term: 1, kind: EntryKind::ConfChange, data: learner });
        rig.node(1).disk = disk_with(log);
        rig.start(1);
        rig
    }

    pub(crate) fn node(&mut self, node: u64) -> &mut Node {
        self.nodes.get_mut(&node).expect("there is such a node")
    }

    fn now(&self, node: u64) -> Now {
        let wall = EPOCH_MS + self.at_us / 1000;
        let wall = Millis(wall.saturating_add_signed(self.nodes[&node].wall_ahead_ms));
        Now { elapsed_us: self.at_us, wall }
    }

    /// Starts a node from its disk, and connects it with the running nodes.
    pub(crate) fn start(&mut self, id: u64) {
        let now = self.now(id);
        let node = self.node(id);
        let Node { feature_level_max, checkpoint_log_bytes, .. } = *node;
        let config = ReplicaConfig { feature_level_max, checkpoint_log_bytes, ..config(id) };
        let (mut recovered, restored) = node.disk.open();
        recovered.commit = node.commit_known.unwrap_or(recovered.commit);
        let mut recovery = Replica::recover(config, recovered, restored);
        for entry in node.disk.log(recovery.first_index()) {
            recovery.replay(entry).expect("it was written before");
        }
        node.replica = Some(recovery.start(now));
        for other in self.nodes.keys().copied().filter(|other| *other != id).collect::<Vec<_>>() {
            for (one, other) in [(id, other), (other, id)] {
                let about = PeerInfo {
                    member: member(other),
                    feature_level_max: self.nodes[&other].feature_level_said,
                };
                self.hand(one, Input::PeerConnected { about });
            }
        }
    }

    /// Another version of a node takes its place, and says what it can do.
    pub(crate) fn change_version(&mut self, id: u64, level: u32) {
        self.kill(id);
        let node = self.node(id);
        (node.feature_level_max, node.feature_level_said) = (level, level);
        self.start(id);
    }

    /// A node is gone, with all that its disk has not done.
    pub(crate) fn kill(&mut self, id: u64) {
        self.end(id, Disk::close);
    }

    fn end(&mut self, id: u64, disk_ends: fn(&mut Disk)) {
        let node = self.node(id);
        node.replica = None;
        node.fetch = None;
        node.ordered.clear();
        disk_ends(&mut node.disk);
        for other in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.hand(other, Input::PeerLost { node: id });
        }
    }

    pub(crate) fn is_running(&self, id: u64) -> bool {
        self.nodes[&id].replica.is_some()
    }

    pub(crate) fn hand(&mut self, id: u64, input: Input) {
        let now = self.now(id);
        if let Some(replica) = &mut self.node(id).replica {
            replica.handle(now, input);
        }
    }

    /// One step.
    pub(crate) fn step(&mut self) {
        self.at_us += STEP_MS * 1000;
        for (from, to, mut bundle, messages) in std::mem::take(&mut self.on_the_way) {
            if !self.cut.contains(&(from, to)) {
                let read = |bytes: Vec<u8>| Message::decode(&bytes.into()).expect("members say such things");
                bundle.messages = messages.into_iter().map(read).collect();
                bundle.audited.1 ^= u128::from(self.misled == Some(to));
                self.hand(to, Input::Peer { from, bundle });
            }
        }
        for id in self.nodes.keys().copied().filter(|id| !self.paused.contains(id)).collect::<Vec<_>>() {
            let node = self.node(id);
            let done = if node.hangs { Vec::new() } else { std::mem::take(&mut node.ordered) };
            for (number, batch) in done {
                if !self.node(id).disk.persist(&batch) {
                    self.end(id, Disk::cut_power);
                    break;
                }
                self.hand(id, Input::Persisted { number });
            }
            self.fetch(id);
            self.poll(id);
        }
    }

    /// Brings a node the checkpoint that it fetches.
    fn fetch(&mut self, id: u64) {
        let reaches = |from| !self.cut.contains(&(id, from)) && !self.cut.contains(&(from, id));
        let node = &self.nodes[&id];
        let Some((from, index)) = node.fetch.filter(|(from, _)| !node.fetches_hang && reaches(*from)) else {
            return;
        };
        self.node(id).fetch = None;
        if let Some(files) = copied::files(&self.nodes[&from].disk.chunks, index) {
            let restored = copied::unpack(&self.nodes[&id].disk.chunks, &files).expect("it is whole");
            self.node(id).fetched += 1;
            self.hand(from, Input::SnapshotPulled { node: id });
            self.hand(id, Input::SnapshotFetched { index, restored: Box::new(restored) });
        } else {
            self.hand(from, Input::SnapshotRefused { node: id });
            self.hand(id, Input::SnapshotGone { index });
        }
    }

    pub(crate) fn poll(&mut self, id: u64) {
        let (now, mut outputs) = (self.now(id), Vec::new());
        let Some(replica) = &mut self.node(id).replica else { return };
        replica.poll(now, &mut outputs);
        for output in outputs {
            let node = self.node(id);
            match output {
                Output::Persist(order) => node.ordered.push((order.number, order.batch)),
                Output::Send { connection, responses, .. } => {
                    node.answers
                        .extend(responses.into_iter().map(|(id, response)| (connection, id, response)));
                }
                Output::Close { connection } => node.closed.push(connection),
                Output::Notice(notice) => node.notices.push(notice),
                Output::Stopped => node.stopped = true,
                Output::Failed(error) => node.failed = Some(error),
                Output::Peer { to, mut bundle } => {
                    let messages = std::mem::take(&mut bundle.messages);
                    let messages = messages.iter().map(Message::encode).collect();
                    self.on_the_way.push((id, to, bundle, messages));
                }
                Output::Fetch(wanted) => {
                    let entries = node.disk.read(wanted);
                    self.hand(id, Input::Fetched { entries });
                }
                Output::Cut { through } => node.disk.cut(through),
                Output::FetchSnapshot { from, index } => node.fetch = Some((from, index)),
                Output::Checkpoint(order) => {
                    if let Some(input) = node.disk.checkpoint(order) {
                        self.hand(id, input);
                    }
                }
                _ => {}
            }
        }
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        for _ in 0..ms / STEP_MS {
            self.step();
        }
    }

    /// Lets time pass until something is so.
    pub(crate) fn wait<T>(&mut self, what: &str, ms_max: u64, found: impl Fn(&Self) -> Option<T>) -> T {
        for _ in 0..ms_max / STEP_MS {
            if let Some(found) = found(self) {
                return found;
            }
            self.step();
        }
        panic!("{what}: not within {ms_max} ms")
    }

    /// Who said last that it leads, and has not taken it back.
    pub(crate) fn leader(&self) -> Option<u64> {
        let leads = |node: &Node| {
            let said = node.notices.iter().rev().find_map(|notice| match notice {
                Notice::Leading { term } => Some(Some(*term)),
                Notice::Following { .. } => Some(None),
                _ => None,
            });
            said.flatten().filter(|_| node.replica.is_some())
        };
        let leading = self.nodes.iter().filter_map(|(id, node)| Some((leads(node)?, *id)));
        leading.max().map(|(_, id)| id)
    }

    pub(crate) fn elect(&mut self) -> u64 {
        self.wait("somebody leads", ELECTED_MS, Self::leader)
    }

    /// Somebody else leads than this node.
    pub(crate) fn elect_another(&mut self, before: u64) -> u64 {
        self.wait("another leads", ELECTED_MS, |rig| rig.leader().filter(|leader| *leader != before))
    }

    /// Cuts a node off from all others.
    pub(crate) fn cut_off(&mut self, node: u64) {
        for other in self.nodes.keys().filter(|other| **other != node) {
            self.cut.extend([(node, *other), (*other, node)]);
        }
    }

    /// Ends that.
    pub(crate) fn join(&mut self, node: u64) {
        self.cut.retain(|(from, to)| ![*from, *to].contains(&node));
    }

    /// A client connects, and says nothing.
    pub(crate) fn open(&mut self, node: u64) -> ConnectionId {
        self.next_connection += 1;
        let connection = ConnectionId(self.next_connection);
        let arrival = Arrival::open(SessionSecret([3; 16]), "");
        self.hand(node, Input::Connected { connection, arrival });
        connection
    }

    /// A client connects and is welcomed.
    pub(crate) fn connect(&mut self, node: u64) -> ConnectionId {
        let connection = self.open(node);
        let hello = Hello { version_min: VERSION_MIN, version_max: VERSION, ..Hello::default() };
        self.hand_request(node, connection, 0, Request::Hello(hello));
        let answer = self.answer(node, connection, 0);
        assert!(matches!(answer, Response::Welcome(_)), "{answer:?}");
        connection
    }

    pub(crate) fn hand_request(&mut self, node: u64, connection: ConnectionId, id: u32, request: Request) {
        self.hand(
            node,
            Input::Requests {
                connection,
                from: None,
                requests: vec![(RequestId(id), request)],
                permit: Permit::default(),
            },
        );
    }

    /// The answer to a request, when it has come.
    pub(crate) fn answer(&mut self, node: u64, connection: ConnectionId, id: u32) -> Response {
        self.wait("an answer", ELECTED_MS, |rig| rig.answered(node, connection, id))
    }

    pub(crate) fn answered(&self, node: u64, connection: ConnectionId, id: u32) -> Option<Response> {
        let answers = &self.nodes[&node].answers;
        let of =
            |(to, of, _): &&(ConnectionId, RequestId, Response)| (*to, *of) == (connection, RequestId(id));
        answers.iter().find(of).map(|(.., answer)| answer.clone())
    }

    /// All that a node has said on a connection.
    pub(crate) fn said(&self, node: u64, connection: ConnectionId) -> Vec<(RequestId, Response)> {
        let answers = self.nodes[&node].answers.iter().filter(|(to, ..)| *to == connection);
        answers.map(|(_, id, response)| (*id, response.clone())).collect()
    }

    pub(crate) fn ask(&mut self, node: u64, connection: ConnectionId, id: u32, request: Request) -> Response {
        self.hand_request(node, connection, id, request);
        self.answer(node, connection, id)
    }

    pub(crate) fn push(&mut self, node: u64, connection: ConnectionId, id: u32, delay_ms: u64) {
        self.push_jobs(node, connection, id, vec![NewJob::new("body").after(delay_ms)]);
    }

    pub(crate) fn push_jobs(&mut self, node: u64, connection: ConnectionId, id: u32, jobs: Vec<NewJob>) {
        let push = Push { topic: "jobs".parse().expect("a name"), sequence: 0, jobs, idempotency: None };
        self.hand_request(node, connection, id, Request::Push(push));
    }
}

/// What a request was refused with.
pub(crate) fn refusal(response: Response) -> ErrorReply {
    match response {
        Response::Error(error) => error,
        other => panic!("{other:?} is no refusal"),
    }
}
