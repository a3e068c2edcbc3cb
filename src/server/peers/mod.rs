//! Connections to the other nodes of the cluster.
//!
//! ```text
//!   core thread --bundles--> send queue (lanes) --> its connection <--> the other node
//!        ^                                            |
//!        +---- messages of other nodes, who is up ----+
//!        |                                            |
//!        +---- a pulled checkpoint <---- pull, offers (parts of checkpoints)
//! ```
//!
//! Each other node has a task of its own, which [dials and holds](peer) the one connection to it. The core's
//! messages for it go into its [send queue](lanes), where urgent ones overtake the rest and excess is dropped: the
//! core never waits. Checkpoints are [pulled](pull) by the node that needs them, and [served](offers) by the one
//! that has them.
//!
//! It promises nothing: any message may be lost. It knows nothing of the content of replicas' messages.

pub mod frames;

mod handshake;
mod join;
mod lanes;
mod link;
mod listen;
mod offers;
mod peer;
mod pull;
mod pulled;
mod roster;
#[cfg(test)]
mod said;
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
use super::core::ToCore;
use crate::replica::{Bundle, Input, PeerInfo, ProbeError};
use crate::types::Member;

use frames::Purpose;
use handshake::{MeetError, Met, lock};
pub use join::JoinError;
pub(super) use join::find_cluster;
use lanes::WAITING_BYTES_MAX;
use peer::Peer;
pub(super) use pull::Places;
use pull::PullOrder;
use roster::Roster;

/// How long things may take between nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Until two nodes know each other.
    pub(super) handshake: Duration,
    /// Something is said at least so often.
    pub(super) ping: Duration,
    /// Who says nothing for so long, or takes nothing, is gone.
    pub(super) silence: Duration,
    /// Before a node is dialled again: at first.
    pub(super) backoff_min: Duration,
    /// The same, when that did not help for long.
    pub(super) backoff_max: Duration,
    /// A part of a checkpoint that did not come within this time is asked for again.
    pub(super) part: Duration,
    /// Who sends no part for so long has gone with its checkpoint.
    pub(super) pull_silence: Duration,
    /// Before a checkpoint is pulled again that was of no use.
    pub(super) pull_again: Duration,
    /// The replica is told at most so often that a checkpoint is pulled.
    pub(super) pulled_every: Duration,
    /// A checkpoint that nobody asks for is held open for so long.
    pub(super) pin_idle: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            ping: Duration::from_secs(1),
            silence: Duration::from_secs(3),
            backoff_min: Duration::from_millis(50),
            backoff_max: Duration::from_secs(1),
            part: Duration::from_secs(1),
            pull_silence: Duration::from_mins(1),
            pull_again: Duration::from_secs(1),
            pulled_every: Duration::from_secs(1),
            pin_idle: Duration::from_secs(30),
        }
    }
}

/// What the way to the other nodes begins with.
pub(super) struct Options {
    /// The cluster that the data belongs to.
    pub(super) cluster_id: [u8; 16],
    /// What this node says of itself.
    pub(super) own: PeerInfo,
    /// Where checkpoints go that are pulled.
    pub(super) places: Places,
    /// To the core thread.
    pub(super) core: Sender<ToCore>,
    /// To the checkpoint thread.
    pub(super) checkpoint: Sender<ToCheckpoint>,
    /// What time it is.
    pub(super) clock: Clock,
    /// How long things may take.
    pub(super) timing: Timing,
    /// Cancelled when the node stops.
    pub(super) stopping: CancellationToken,
}

/// The core's end.
#[derive(Debug)]
pub(super) struct Peers {
    shared: Arc<Shared>,
    pulls: mpsc::UnboundedSender<PullOrder>,
    runtime: Handle,
}

/// What all tasks share.
#[derive(Debug)]
struct Shared {
    node: u64,
    roster: Mutex<Roster>,
    peers: Mutex<BTreeMap<u64, Arc<Peer>>>,
    core: Sender<ToCore>,
    /// What other nodes ask of checkpoints.
    asked: mpsc::Sender<offers::Asked>,
    /// What other nodes answer to that.
    answers: mpsc::Sender<pull::Answer>,
    /// No checkpoint of this node is for others.
    offers_nothing: AtomicBool,
    clock: Clock,
    timing: Timing,
    stopping: CancellationToken,
}

/// Questions and answers about checkpoints that wait to be looked at: whoever has one in hand needs no more.
const QUESTIONS_MAX: usize = 16;
/// Nodes that are talked to and are not members: those that this node does not know of yet.
const STRANGERS_MAX: usize = 16;

impl Peers {
    /// Begins to listen and to talk, on the runtime that this is called on.
    pub(super) fn start(options: Options, listener: TcpListener) -> Self {
        let Options { cluster_id, own, places, core, checkpoint, clock, timing, stopping } = options;
        let (asked, to_offer) = mpsc::channel(QUESTIONS_MAX);
        let (answers, to_pull) = mpsc::channel(QUESTIONS_MAX);
        let (pulls, orders) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            node: own.member.node,
            roster: Mutex::new(Roster::new(cluster_id, own)),
            peers: Mutex::new(BTreeMap::new()),
            core,
            asked,
            answers,
            offers_nothing: AtomicBool::new(false),
            clock,
            timing,
            stopping,
        });
        tokio::spawn(listen::accept(listener, Arc::clone(&shared)));
        tokio::spawn(offers::serve(Arc::clone(&shared), checkpoint, to_offer));
        tokio::spawn(pull::serve(Arc::clone(&shared), places, orders, to_pull));
        Self { shared, pulls, runtime: Handle::current() }
    }

    /// Hands over what the replica says to another node. Never waits.
    pub(super) fn send(&self, to: u64, bundle: Bundle) {
        let Some(peer) = self.shared.peer(to) else {
            debug!(node = to, "nobody knows where this node is: what is said to it is dropped");
            return;
        };
        if peer.lanes.push(bundle, self.shared.clock.elapsed()) == Some(1) {
            warn!(
                node = to,
                waiting_bytes_max = WAITING_BYTES_MAX,
                "a node takes what is sent to it too slowly: some of it is dropped and sent again later"
            );
        }
    }

    /// From here on these are the members, and those were.
    pub(super) fn members(&self, members: Vec<Member>, removed: Vec<u64>, feature_level: u32) {
        let shared = &self.shared;
        let others: Vec<Member> = {
            let mut roster = lock(&shared.roster);
            roster.update(members, removed, feature_level);
            roster.others().cloned().collect()
        };
        for Member { node, peer_address, .. } in others {
            let peer = shared.meet(node, &peer_address, &self.runtime);
            *lock(&peer.address) = peer_address;
            peer.is_member.store(true, Ordering::Relaxed);
        }
        let roster = lock(&shared.roster);
        lock(&shared.peers).retain(|node, peer| {
            let removed = roster.is_removed(*node);
            if removed {
                peer.ended.cancel();
            }
            !removed
        });
    }

    /// Finds out who is at an address. The answer goes to the core.
    pub(super) fn probe(&self, address: String) {
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            let (roster, patience) = (&shared.roster, shared.timing.handshake);
            let met = handshake::dial(&address, roster, Purpose::Probe, None, patience).await;
            let found = met.map(|Met { about, .. }| about).map_err(|error| probe_error(&address, error));
            shared.tell(Input::Probed { address, found });
        });
    }

    /// From here on no checkpoint of this node is for others.
    pub(super) fn offer_nothing(&self) {
        self.shared.offers_nothing.store(true, Ordering::Relaxed);
    }

    /// Begins to pull a checkpoint, in the place of any that is being pulled. The answer names `number`.
    pub(super) fn pull(&self, number: u64, from: u64, index: u64) {
        // A node that ends pulls nothing any more.
        let _ = self.pulls.send(PullOrder { number, from, index });
    }
}

fn probe_error(address: &str, error: MeetError) -> ProbeError {
    let address = address.to_owned();
    match error {
        MeetError::Refused(refusal) | MeetError::Refuses(refusal) => {
            ProbeError::Refused { address, why: refusal.text }
        }
        MeetError::Unreachable(error) => ProbeError::Unreachable { address, why: error.to_string() },
        error @ (MeetError::Silent(_) | MeetError::Broken(_)) => {
            ProbeError::Unreachable { address, why: error.to_string() }
        }
    }
}

impl Shared {
    /// The node of this number, if it is talked to.
    fn peer(&self, node: u64) -> Option<Arc<Peer>> {
        lock(&self.peers).get(&node).cloned()
    }

    /// The same; if it is not talked to, it is from here on.
    fn meet(self: &Arc<Self>, node: u64, address: &str, runtime: &Handle) -> Arc<Peer> {
        let mut peers = lock(&self.peers);
        if let Some(peer) = peers.get(&node) {
            return Arc::clone(peer);
        }
        let (peer, arriving) = Peer::new(node, address.to_owned(), self.stopping.child_token());
        let peer = Arc::new(peer);
        peers.insert(node, Arc::clone(&peer));
        runtime.spawn(peer::talk(Arc::clone(&peer), arriving, Arc::clone(self)));
        peer
    }

    /// Takes a connection in that another node has dialled, unless too many are connected that nobody knows: then
    /// it is given back.
    fn admit(self: &Arc<Self>, met: Met) -> Option<Met> {
        let Member { node, peer_address, .. } = &met.about.member;
        let known = self.peer(*node);
        if known.is_none() {
            let roster = lock(&self.roster);
            let strangers = lock(&self.peers).keys().filter(|node| !roster.has(**node)).count();
            if strangers >= STRANGERS_MAX {
                return Some(met);
            }
        }
        let peer = known.unwrap_or_else(|| self.meet(*node, peer_address, &Handle::current()));
        // One that sends more than are looked at has enough of them.
        let _ = peer.arrivals.try_send(met);
        None
    }

    fn tell(&self, input: Input) {
        self.send(ToCore::Input(input));
    }

    fn send(&self, message: ToCore) {
        // A core that is gone has nobody left to talk to.
        let _ = self.core.send(message);
    }
}

#[cfg(test)]
mod tests;
