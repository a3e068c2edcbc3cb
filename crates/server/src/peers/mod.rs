//! Connections to the other nodes of the cluster.
//!
//! ```text
//!   core --bundles--> send queue --> its connection <--> the other node
//!        ^                                            |
//!        +---- messages of other nodes, who is up ----+
//!        |                                            |
//!        +---- a fetched checkpoint <---- snapshot receiver and sender
//! ```
//!
//! Each other node has a task of its own, which [dials and holds](peer) the one connection to it. The core's
//! messages for it go into its [send queue](send_queue), where urgent ones overtake the rest and excess is dropped: the
//! core never waits. Checkpoints are [fetched](snapshot_receiver) by the node that needs them, and [sent](snapshot_sender) by the one
//! that has them.
//!
//! It promises nothing: any message may be lost. It knows nothing of the content of replicas' messages.

mod fetch_progress;
pub mod frames;

mod handshake;
mod join;
mod link;
mod listen;
mod partial_snapshot;
mod passage;
mod peer;
mod peer_directory;
mod send_queue;
mod snapshot_receiver;
mod snapshot_sender;
#[cfg(test)]
mod test_messages;
mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::checkpoint::ToCheckpoint;
use super::clock::Clock;
use super::core::{BRIEF_BYTES_MAX, CoreMailbox, ToCore};
use adjourn_replica::{Bundle, Input, PeerInfo, ProbeError};
use adjourn_transport::tls::Members;
use adjourn_types::Member;

use frames::Purpose;
use handshake::{Handshake, HandshakeError, Opening, lock};
pub use join::JoinError;
pub(super) use join::find_cluster;
pub(super) use passage::{Callers, Passage};
use peer::Peer;
use peer_directory::PeerDirectory;
use send_queue::WAITING_BYTES_MAX;
use snapshot_receiver::FetchRequest;
pub(super) use snapshot_receiver::SnapshotFiles;

/// The deadlines and intervals of the connections between nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// The deadline of a handshake.
    pub(super) handshake: Duration,
    /// A slot for an unauthenticated connection that was held for this long goes to another connection from the same address, if there is no other.
    pub(super) slot_patience: Duration,
    /// The longest time between two frames to another node.
    pub(super) ping: Duration,
    /// A node that sends or takes nothing for this time is treated as gone.
    pub(super) silence: Duration,
    /// The first pause before a node is dialled again.
    pub(super) backoff_min: Duration,
    /// The longest such pause, after repeated failures.
    pub(super) backoff_max: Duration,
    /// A part of a checkpoint that did not come within this time is asked for again.
    pub(super) part: Duration,
    /// A sender that sends no part for this long no longer has the checkpoint.
    pub(super) fetch_silence: Duration,
    /// The pause before a damaged checkpoint is fetched again.
    pub(super) fetch_retry: Duration,
    /// The shortest interval between two progress reports to the replica.
    pub(super) progress_every: Duration,
    /// How long a checkpoint is held open after the last request for it.
    pub(super) pin_idle: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            slot_patience: Duration::from_millis(100),
            ping: Duration::from_secs(1),
            silence: Duration::from_secs(3),
            backoff_min: Duration::from_millis(50),
            backoff_max: Duration::from_secs(1),
            part: Duration::from_secs(1),
            fetch_silence: Duration::from_mins(1),
            fetch_retry: Duration::from_secs(1),
            progress_every: Duration::from_secs(1),
            pin_idle: Duration::from_secs(30),
        }
    }
}

/// The parameters of the connections to other nodes.
pub(super) struct Options {
    /// The cluster that the data belongs to.
    pub(super) cluster_id: [u8; 16],
    /// The description of this node for others.
    pub(super) own: PeerInfo,
    /// Where fetched checkpoints are written.
    pub(super) places: SnapshotFiles,
    /// With it, nodes prove by certificates that they are members.
    pub(super) tls: Option<Arc<Members>>,
    /// The mailbox of the core.
    pub(super) core: CoreMailbox,
    /// The channel to the checkpoint thread.
    pub(super) checkpoint: Sender<ToCheckpoint>,
    /// The channel to the task that serves the callers of other members.
    pub(super) callers: mpsc::Sender<Callers>,
    /// The clock of the node.
    pub(super) clock: Clock,
    /// The deadlines and intervals.
    pub(super) timing: Timing,
    /// Cancelled when the node stops.
    pub(super) stopping: CancellationToken,
}

/// The core's handle of the connections to other nodes.
#[derive(Debug)]
pub(super) struct Peers {
    shared: Arc<PeersState>,
    fetches: mpsc::UnboundedSender<FetchRequest>,
    runtime: Handle,
}

/// The state that all tasks share.
#[derive(Debug)]
struct PeersState {
    node: u64,
    directory: Mutex<PeerDirectory>,
    opening: Opening,
    peers: Mutex<BTreeMap<u64, Arc<Peer>>>,
    core: CoreMailbox,
    /// The requests of other nodes for parts of a checkpoint.
    asked: mpsc::Sender<snapshot_sender::Asked>,
    /// The answers of other nodes to this one's requests.
    answers: mpsc::Sender<snapshot_receiver::Answer>,
    /// The channel for callers of other members.
    callers: mpsc::Sender<Callers>,
    /// True when this node's state is not trusted: then it sends no checkpoint.
    sends_no_snapshots: AtomicBool,
    clock: Clock,
    timing: Timing,
    stopping: CancellationToken,
}

/// The maximum number of waiting questions and answers about checkpoints. Further ones are dropped, and asked again.
const QUESTIONS_MAX: usize = 16;
/// Most connected nodes that are not members, as far as this node knows.
const STRANGERS_MAX: usize = 16;

impl Peers {
    /// Begins to listen and to connect, on the current runtime.
    pub(super) fn start(options: Options, listener: TcpListener) -> Self {
        let Options { cluster_id, own, places, tls, core, checkpoint, callers, clock, timing, stopping } =
            options;
        let (asked, to_sender) = mpsc::channel(QUESTIONS_MAX);
        let (answers, to_receiver) = mpsc::channel(QUESTIONS_MAX);
        let (fetches, requests) = mpsc::unbounded_channel();
        let shared = Arc::new(PeersState {
            node: own.member.node,
            directory: Mutex::new(PeerDirectory::new(cluster_id, own)),
            opening: Opening { tls, patience: timing.handshake },
            peers: Mutex::new(BTreeMap::new()),
            core,
            asked,
            answers,
            callers,
            sends_no_snapshots: AtomicBool::new(false),
            clock,
            timing,
            stopping,
        });
        tokio::spawn(listen::accept(listener, Arc::clone(&shared)));
        tokio::spawn(snapshot_sender::serve(Arc::clone(&shared), checkpoint, to_sender));
        tokio::spawn(snapshot_receiver::serve(Arc::clone(&shared), places, requests, to_receiver));
        Self { shared, fetches, runtime: Handle::current() }
    }

    /// Access to the other members, for callers.
    pub(super) fn passage(&self) -> Passage {
        Passage { shared: Arc::clone(&self.shared) }
    }

    /// Sends a bundle of the replica to another node. Never waits.
    pub(super) fn send(&self, to: u64, bundle: Bundle) {
        let Some(peer) = self.shared.peer(to) else {
            debug!(node = to, "the address of this node is unknown: messages to it are dropped");
            return;
        };
        if peer.send_queue.push(bundle, self.shared.clock.elapsed()) == Some(1) {
            warn!(
                node = to,
                waiting_bytes_max = WAITING_BYTES_MAX,
                "a node reads too slowly: some messages to it are dropped and sent again later"
            );
        }
    }

    /// Sets the members, the removed nodes and the feature level from here on.
    pub(super) fn members(&self, members: Vec<Member>, removed: Vec<u64>, feature_level: u32) {
        let shared = &self.shared;
        let others: Vec<Member> = {
            let mut directory = lock(&shared.directory);
            directory.update(members, removed, feature_level);
            directory.others().cloned().collect()
        };
        for Member { node, peer_address, .. } in others {
            let peer = shared.start_peer(node, &peer_address, &self.runtime);
            *lock(&peer.address) = peer_address;
            peer.is_member.store(true, Ordering::Relaxed);
        }
        let directory = lock(&shared.directory);
        lock(&shared.peers).retain(|node, peer| {
            let removed = directory.is_removed(*node);
            if removed {
                peer.ended.cancel();
            }
            !removed
        });
    }

    /// Finds out which node is at an address. The answer goes to the core.
    pub(super) fn probe(&self, address: String) {
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            let (directory, opening) = (&shared.directory, &shared.opening);
            let handshake = handshake::dial(&address, directory, Purpose::Probe, None, opening).await;
            let found =
                handshake.map(|Handshake { about, .. }| about).map_err(|error| probe_error(&address, error));
            shared.tell(Input::Probed { address, found });
        });
    }

    /// From here on this node sends no checkpoints.
    pub(super) fn stop_sending_snapshots(&self) {
        self.shared.sends_no_snapshots.store(true, Ordering::Relaxed);
    }

    /// Begins to fetch a checkpoint, and cancels any earlier fetch. The answer names `number`.
    pub(super) fn fetch_snapshot(&self, number: u64, from: u64, index: u64) {
        // A node that is stopping fetches nothing.
        let _ = self.fetches.send(FetchRequest { number, from, index });
    }
}

fn probe_error(address: &str, error: HandshakeError) -> ProbeError {
    let address = address.to_owned();
    match error {
        HandshakeError::Refused(refusal) | HandshakeError::Refuses(refusal) => {
            ProbeError::Refused { address, why: refusal.text }
        }
        HandshakeError::Unreachable(error) => ProbeError::Unreachable { address, why: error.to_string() },
        error @ (HandshakeError::Silent(_) | HandshakeError::Broken(_)) => {
            ProbeError::Unreachable { address, why: error.to_string() }
        }
        error @ HandshakeError::Unproven(_) => ProbeError::Unproven { address, why: error.to_string() },
    }
}

impl PeersState {
    /// The node of this number, if there is a task for it.
    fn peer(&self, node: u64) -> Option<Arc<Peer>> {
        lock(&self.peers).get(&node).cloned()
    }

    /// The same; starts a task for it if there is none.
    fn start_peer(self: &Arc<Self>, node: u64, address: &str, runtime: &Handle) -> Arc<Peer> {
        let mut peers = lock(&self.peers);
        if let Some(peer) = peers.get(&node) {
            return Arc::clone(peer);
        }
        let (peer, arriving) =
            Peer::new(node, address.to_owned(), self.clock.elapsed(), self.stopping.child_token());
        let peer = Arc::new(peer);
        peers.insert(node, Arc::clone(&peer));
        runtime.spawn(peer::talk(Arc::clone(&peer), arriving, Arc::clone(self)));
        peer
    }

    /// Accepts a connection that another node has dialled. Of the nodes that are not members, only the newest are
    /// kept.
    fn admit(self: &Arc<Self>, handshake: Handshake) {
        let Member { node, peer_address, .. } = &handshake.about.member;
        let known = self.peer(*node);
        if known.is_none() {
            let directory = lock(&self.directory);
            let mut peers = lock(&self.peers);
            let strangers = || peers.values().filter(|peer| !directory.has(peer.node));
            let oldest = strangers().min_by_key(|peer| peer.since).map(|peer| peer.node);
            if strangers().count() >= STRANGERS_MAX
                && let Some(peer) = oldest.and_then(|oldest| peers.remove(&oldest))
            {
                debug!(node = peer.node, "a node that is no member makes room for another");
                peer.ended.cancel();
            }
        }
        let peer = known.unwrap_or_else(|| self.start_peer(*node, peer_address, &Handle::current()));
        // If the node dials faster than its task looks, the connection is dropped.
        let _ = peer.arrivals.try_send(handshake);
    }

    /// Passes a bundle of another node to the core.
    fn hear(&self, from: u64, bundle: Bundle) {
        let is_brief = bundle.weight_bytes() <= BRIEF_BYTES_MAX;
        let message = ToCore::Input(Input::Peer { from, bundle });
        // If the core is gone, the bundle is dropped.
        let _ = if is_brief { self.core.send_brief(message) } else { self.core.send(message) };
    }

    fn tell(&self, input: Input) {
        self.send(ToCore::Input(input));
    }

    fn send(&self, message: ToCore) {
        // As above.
        let _ = self.core.send(message);
    }
}

#[cfg(test)]
mod tests;
