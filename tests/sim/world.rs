//! The world of one run: a queue of events in true time, and everybody to whom they happen.
//!
//! A run has four parts. In the turmoil clients work and things go wrong. Then everything heals, and all work must
//! come to its end. Then the inspector looks at every job. In the end everybody goes away, and the node must
//! fall silent.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use adjourn_protocol::{Request, RequestId, Response};
use adjourn_raft::Wanted;
use adjourn_replica::ConnectionId;
use adjourn_storage::PinnedBackup;
use adjourn_types::{JobId, Lease, SessionId};

use bytes::Bytes;

use super::clients::{Act, Board, Client};
use super::clocks::Agreed;
use super::cluster::{ClusterPlan, Cuts};
use super::disk;
use super::faults::Fault;
use super::invariants::{self, Invariant};
use super::network::Link;
use super::node::Node;
use super::peers::{Parcel, Wires};
use super::plan::Plan;
use super::random::Random;
use super::seen::{NodeId, Seen, When};
use super::strangers::Strangers;
use super::tally::{Tally, Teller};
use super::time::{MS, SECOND, Us};
use super::trace::Trace;

/// After everything has healed, all work must be over in this time: the longest lease, a grace, the longest backoff.
const HEALING: Us = 75 * SECOND;
/// The inspector needs no longer.
const INSPECTION: Us = 20 * SECOND;
/// After the last client is gone, sessions lapse in this time.
const LEAVING: Us = 9 * SECOND;
/// So long nothing happens in the end.
const SILENCE: Us = 20 * SECOND;
/// From the first look of the inspector to the end.
pub(super) const INSPECTED_TO_END: Us = INSPECTION + LEAVING + SILENCE;
/// Turns of a core without time going on: it spins.
const TURNS_AT_ONCE_MAX: u32 = 1000;

/// The node of a world with one.
pub(super) const NODE: NodeId = 1;

/// Something that will happen.
#[derive(Debug)]
pub(super) enum Event {
    ClientWakes {
        client: usize,
    },
    /// A connection reaches its node.
    Opens {
        link: ConnectionId,
    },
    /// Its client knows.
    Opened {
        link: ConnectionId,
    },
    ToNode {
        link: ConnectionId,
        requests: Vec<(RequestId, Request)>,
    },
    ToClient {
        link: ConnectionId,
        responses: Vec<(RequestId, Response)>,
    },
    /// What a node said is written to its client's socket.
    Writes {
        link: ConnectionId,
        responses: Vec<(RequestId, Response)>,
    },
    /// All of that is written, and the connection closed.
    Closes {
        link: ConnectionId,
    },
    NodeSeesEnd {
        link: ConnectionId,
    },
    ClientSeesEnd {
        link: ConnectionId,
    },
    Turn {
        node: NodeId,
        life: u64,
    },
    Written {
        node: NodeId,
        life: u64,
    },
    Watermark {
        node: NodeId,
        life: u64,
    },
    /// The checkpoint thread goes on.
    Checkpoints {
        node: NodeId,
        life: u64,
    },
    /// It asks the disk thread where the log stands at this entry.
    BaseAsked {
        node: NodeId,
        life: u64,
        index: u64,
    },
    /// The thread for chores ends one, or the disk thread takes the result.
    Chores {
        node: NodeId,
        life: u64,
    },
    Cuts {
        node: NodeId,
        life: u64,
    },
    /// Somebody looks whether all is in order.
    Audits {
        node: NodeId,
        life: u64,
    },
    Starts {
        node: NodeId,
    },
    /// Nodes look for each other.
    Dials,
    /// What a node said reaches another one.
    PeerSays {
        from: NodeId,
        to: NodeId,
        life: u64,
        parcel: Parcel,
    },
    /// A node notices that it is connected to another one no more.
    PeerEnds {
        node: NodeId,
        life: u64,
        peer: NodeId,
    },
    /// A leader has found out who is at an address.
    Probed {
        node: NodeId,
        life: u64,
        address: String,
    },
    /// The disk thread reads entries for a member who lags.
    Fetches {
        node: NodeId,
        life: u64,
        wanted: Wanted,
    },
    /// A node gets the next part of a checkpoint.
    FetchPart {
        node: NodeId,
        life: u64,
        index: u64,
    },
    /// Somebody reads a backup that a node holds.
    ReadsBackup {
        node: NodeId,
        life: u64,
        backup: Arc<PinnedBackup>,
    },
    /// Messages get through again in these directions.
    Mends {
        cuts: Cuts,
    },
    /// Somebody speaks as a node.
    Intrudes,
    Goes(Fault),
    Comes(Part),
}

/// A part of the run that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Healing,
    Inspection,
    Leaving,
    Silence,
    End,
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) invariant: &'static str,
    pub(super) what: String,
}

/// What a connection asked for, on its way to the core.
type HeldBack = (ConnectionId, Vec<(RequestId, Request)>);

/// Everything there is.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) now: Us,
    pub(super) random: Random,
    pub(super) nodes: BTreeMap<NodeId, Node>,
    pub(super) clients: Vec<Client>,
    pub(super) agreed: Agreed,
    /// By how much all wall clocks were set, those of nodes that come later included.
    pub(super) all_set_ms: i64,
    /// Each client's connection, and when it wakes.
    pub(super) ends: Vec<(Option<ConnectionId>, Us)>,
    pub(super) board: Board,
    pub(super) links: BTreeMap<ConnectionId, Link>,
    pub(super) wires: Wires,
    pub(super) strangers: Strangers,
    /// Who said last that it leads, and has not said since that it does not.
    pub(super) leading: Option<NodeId>,
    pub(super) sessions: BTreeMap<ConnectionId, SessionId>,
    pub(super) asked: BTreeMap<(ConnectionId, RequestId), Request>,
    /// What clients have sent, and when.
    pub(super) sent: BTreeMap<(ConnectionId, RequestId), (Us, Request)>,
    /// The newest lease of each job.
    pub(super) newest: BTreeMap<JobId, Lease>,
    /// To which node each push came first, by the body of its first job.
    pub(super) pushed_at: BTreeMap<Bytes, NodeId>,
    /// Requests that are held back, and for how many turns more.
    pub(super) held_back: (Vec<HeldBack>, u32),
    pub(super) next_link: u64,
    pub(super) part: Option<Part>,
    /// Which steps of the log's disk the rounds of cutting it were.
    pub(super) cut_steps: Vec<Range<u64>>,
    queue: BTreeMap<(Us, u64), Event>,
    next_event: u64,
    turns_at_once: (Us, u32),
    trace: Trace,
    teller: Teller,
    invariants: Vec<Box<dyn Invariant + Send>>,
    broken: Option<Broken>,
}

impl World {
    pub(super) fn new(plan: Plan) -> Self {
        let random = Random::new(plan.seed).fork(0x0057_4f52_4c44);
        let clients = Client::all(&plan);
        let strangers = Strangers::from(clients.len() - usize::try_from(plan.strangers).unwrap_or_default());
        let node = Node::new(NODE, &plan, random.fork(NODE));
        let mut world = Self {
            now: 0,
            nodes: [(NODE, node)].into(),
            agreed: Agreed::default(),
            all_set_ms: 0,
            ends: vec![(None, 0); clients.len()],
            clients,
            board: Board::default(),
            links: BTreeMap::new(),
            wires: Wires::default(),
            strangers,
            leading: None,
            sessions: BTreeMap::new(),
            asked: BTreeMap::new(),
            sent: BTreeMap::new(),
            newest: BTreeMap::new(),
            pushed_at: BTreeMap::new(),
            held_back: (Vec::new(), 0),
            next_link: 0,
            part: None,
            cut_steps: Vec::new(),
            queue: BTreeMap::new(),
            next_event: 0,
            turns_at_once: (0, 0),
            trace: Trace::new(plan.traced),
            teller: Teller::default(),
            invariants: invariants::all(&plan),
            broken: None,
            random,
            plan,
        };
        world.at(0, Event::Starts { node: NODE });
        for client in 0..world.clients.len() {
            let looks_after = world.clients[client].looks_after_cluster();
            let begins = world.plan.cluster.as_ref().filter(|_| !looks_after).map_or(0, ClusterPlan::begins);
            let wake = begins + world.random.below(50 * MS);
            world.wake_client(client, wake);
        }
        world.begin_cluster();
        world.begin_intrusions();
        world.at(world.plan.turmoil_us, Event::Comes(Part::Healing));
        world.plan_faults();
        world
    }

    /// Lives through all of it, or to the first invariant that does not hold.
    pub(super) fn run(&mut self) -> Result<(), Broken> {
        while let Some(((at, _), event)) = self.queue.pop_first() {
            self.now = at;
            if matches!(event, Event::Comes(Part::End)) {
                break;
            }
            self.happen(event);
            if let Some(broken) = &self.broken {
                return Err(broken.clone());
            }
        }
        Ok(())
    }

    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// How many writes, syncs and so on the disks have done.
    pub(super) fn disk_steps(&self, part: disk::Part) -> u64 {
        self.nodes.values().map(|node| node.disk.steps(part)).sum()
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.teller.tally
    }

    pub(super) fn at(&mut self, at: Us, event: Event) {
        self.next_event += 1;
        self.queue.insert((at, self.next_event), event);
    }

    pub(super) fn after(&mut self, pause: Us, event: Event) {
        self.at(self.now + pause, event);
    }

    /// Lets time pass in which nothing happens: whatever is to come comes so much later. No node is up.
    pub(super) fn postpone(&mut self, lasts: Us) {
        let queue = std::mem::take(&mut self.queue);
        self.queue = queue.into_iter().map(|((at, number), event)| ((at + lasts, number), event)).collect();
        for (_, wakes) in &mut self.ends {
            *wakes = wakes.saturating_add(lasts);
        }
    }

    /// Shows something to the trace and to every invariant. What strangers do and hear is none of theirs.
    pub(super) fn see(&mut self, seen: &Seen<'_>) {
        self.trace.line(self.now, || seen.to_string());
        match self.strangers.see(seen, &mut self.teller.tally) {
            Ok(false) => {}
            Ok(true) => return,
            Err(what) => return self.breaks("strangers", what),
        }
        let (wall, wall_max) = self.agreed_walls();
        let when = When { at: self.now, wall, wall_max };
        self.teller.see(when, seen);
        for invariant in &mut self.invariants {
            if let Err(what) = invariant.see(when, seen) {
                let broken = Broken { invariant: invariant.name(), what };
                self.trace.line(self.now, || format!("broken: {broken:?}"));
                self.broken.get_or_insert(broken);
            }
        }
    }

    pub(super) fn breaks(&mut self, invariant: &'static str, what: String) {
        self.broken.get_or_insert(Broken { invariant, what });
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::ClientWakes { client } => {
                if self.ends[client].1 == self.now {
                    let acts = self.clients[client].wake(self.now, true_wall(self.now), &self.board);
                    self.carry_out(client, acts);
                }
            }
            Event::Opens { link } => self.opens(link),
            Event::Opened { link } => self.opened(link),
            Event::ToNode { link, requests } => self.reach_node(link, requests),
            Event::ToClient { link, responses } => self.reach_client(link, responses),
            Event::Writes { link, responses } => self.write_down(link, responses),
            Event::Closes { link } => self.closes(link),
            Event::NodeSeesEnd { link } => self.node_sees_end(link),
            Event::ClientSeesEnd { link } => self.client_sees_end(link),
            Event::Turn { node, life } => {
                if self.turns_at_once.0 != self.now {
                    self.turns_at_once = (self.now, 0);
                }
                self.turns_at_once.1 += 1;
                if self.turns_at_once.1 > TURNS_AT_ONCE_MAX {
                    return self.breaks("silence", "the core spins".to_owned());
                }
                self.turn(node, life);
            }
            Event::Written { node, life } => self.written(node, life),
            Event::Watermark { node, life } => self.watermark(node, life),
            Event::Checkpoints { node, life } => self.checkpoint_step(node, life),
            Event::BaseAsked { node, life, index } => self.base_asked(node, life, index),
            Event::Cuts { node, life } => self.cuts(node, life),
            Event::Chores { node, life } => self.chore_step(node, life),
            Event::Audits { node, life } => {
                if self.life(node, life).is_some() {
                    self.audit(node);
                }
            }
            Event::Dials => self.dial(),
            Event::PeerSays { from, to, life, parcel } => self.hear_peer(from, to, life, parcel),
            Event::PeerEnds { node, life, peer } => self.peer_ends(node, life, peer),
            Event::Probed { node, life, address } => self.probed(node, life, address),
            Event::Fetches { node, life, wanted } => self.fetch(node, life, wanted),
            Event::FetchPart { node, life, index } => self.fetches(node, life, index),
            Event::ReadsBackup { node, life, backup } => self.read_backup(node, life, &backup),
            Event::Mends { cuts } => self.mend(&cuts),
            Event::Starts { node } => self.start(node),
            Event::Intrudes => self.intrude(),
            Event::Goes(fault) => self.go(fault),
            Event::Comes(part) => self.come(part),
        }
    }

    fn come(&mut self, part: Part) {
        self.part = Some(part);
        match part {
            Part::Healing => {
                self.heal();
                self.see(&Seen::Healed);
                self.clients.iter_mut().for_each(Client::drain);
                self.after(HEALING, Event::Comes(Part::Inspection));
            }
            Part::Inspection => {
                if let Some(busy) = (1..self.clients.len()).find(|client| !self.clients[*client].is_done()) {
                    let what =
                        format!("client {busy} has not come to its end {HEALING} us after all has healed");
                    return self.breaks("progress", what);
                }
                self.clients[0].inspect();
                self.after(INSPECTION, Event::Comes(Part::Leaving));
            }
            Part::Leaving => {
                if !self.clients[0].is_done() {
                    return self.breaks("progress", "the inspector still waits for an answer".to_owned());
                }
                for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                    self.audit(node);
                }
                self.see(&Seen::Inspected);
                self.nodes.values_mut().for_each(|node| node.disk.disarm());
                for client in 0..self.clients.len() {
                    self.ends[client].1 = Us::MAX;
                    if let (Some(link), _) = self.ends[client] {
                        self.hang_up(link);
                    }
                }
                self.after(LEAVING, Event::Comes(Part::Silence));
            }
            Part::Silence => {
                self.see(&Seen::Deserted);
                self.after(SILENCE, Event::Comes(Part::End));
            }
            Part::End => {}
        }
    }

    /// Does what a client wants done.
    pub(super) fn carry_out(&mut self, client: usize, acts: Vec<Act>) {
        self.board.wishes_done = self.board.wishes_done.max(self.clients[client].wishes_done());
        let mut acts = VecDeque::from(acts);
        while let Some(act) = acts.pop_front() {
            match act {
                Act::Connect(node) => self.connect(client, node),
                Act::Send(requests) => self.send_up(client, requests),
                Act::WakeAt(at) => self.wake_client(client, at),
                Act::HangUp => {
                    if let Some(link) = self.ends[client].0.take() {
                        self.hang_up(link);
                    }
                    acts.extend(self.clients[client].lost(self.now));
                }
            }
        }
    }

    pub(super) fn wake_client(&mut self, client: usize, at: Us) {
        if self.ends[client].1 == Us::MAX {
            return;
        }
        self.ends[client].1 = at;
        self.at(at, Event::ClientWakes { client });
    }
}

/// What a clock shows that is right.
pub(super) fn true_wall(now: Us) -> adjourn_types::Millis {
    super::time::WallClock::new(0, 0).show(now)
}
