//! One other node: dialled if it is a member or there is a message for it, accepted when it dials, and held while
//! the connection lasts. Members are dialled before there is anything to send: an election must not wait for that,
//! and a member that has moved to another address is only found if it dials itself.
//!
//! There is one connection at a time. If both sides dial at once, both keep the one that the node with the lower
//! number dialled. If a side dials although there is a connection, that connection is broken, and the other side has
//! noticed first.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::PeersState;
use super::frames::{Purpose, RefusalCode};
use super::handshake::{self, Handshake, HandshakeError, lock};
use super::link::{self, LinkEnd};
use super::send_queue::SendQueue;
use adjourn_replica::Input;

/// The shared state of the connection to another node.
#[derive(Debug)]
pub(super) struct Peer {
    /// Its number.
    pub(super) node: u64,
    /// When this node began to connect to it.
    pub(super) since: Duration,
    /// The messages to send to it.
    pub(super) send_queue: SendQueue,
    /// The address at which it listens.
    pub(super) address: Mutex<String>,
    /// Connections that it has dialled.
    pub(super) arrivals: mpsc::Sender<Handshake>,
    /// True if it is a member.
    pub(super) is_member: AtomicBool,
    /// Cancelled when no connection to it is needed any more.
    pub(super) ended: CancellationToken,
}

/// Connections that one node may have dialled and that its task has not taken yet.
const ARRIVALS_MAX: usize = 4;

impl Peer {
    /// A node that is not connected, and the channel on which its connections arrive.
    pub(super) fn new(
        node: u64,
        address: String,
        since: Duration,
        ended: CancellationToken,
    ) -> (Self, mpsc::Receiver<Handshake>) {
        let (arrivals, arriving) = mpsc::channel(ARRIVALS_MAX);
        let (send_queue, address, is_member) =
            (SendQueue::default(), Mutex::new(address), AtomicBool::new(false));
        (Self { node, since, send_queue, address, arrivals, is_member, ended }, arriving)
    }
}

/// Connects to a node until no connection to it is needed any more.
pub(super) async fn talk(peer: Arc<Peer>, mut arriving: mpsc::Receiver<Handshake>, shared: Arc<PeersState>) {
    let mut attempts = Attempts { pause: Duration::ZERO, complaint: None };
    loop {
        let handshake = tokio::select! {
            biased;
            () = peer.ended.cancelled() => return,
            Some(handshake) = arriving.recv() => handshake,
            handshake = dial(&peer, &shared, &mut attempts) => handshake,
        };
        let since = shared.clock.elapsed();
        let mut next = Some(handshake);
        while let Some(handshake) = next {
            next = hold(handshake, &peer, &mut arriving, &shared).await;
        }
        if shared.clock.elapsed().saturating_sub(since) >= shared.timing.backoff_max {
            attempts = Attempts { pause: Duration::ZERO, complaint: None };
        }
    }
}

/// Attempts to reach a node since its last lasting connection.
struct Attempts {
    /// The pause before the next one.
    pause: Duration,
    /// The last logged problem.
    complaint: Option<Complaint>,
}

/// Holds a connection while it lasts. Returns the connection that replaces it, if one does.
async fn hold(
    handshake: Handshake,
    peer: &Peer,
    arriving: &mut mpsc::Receiver<Handshake>,
    shared: &PeersState,
) -> Option<Handshake> {
    let Handshake { wire, about, dialled } = handshake;
    let node = peer.node;
    info!(node, address = %about.member.peer_address, dialled, "connected to a node");
    lock(&peer.address).clone_from(&about.member.peer_address);
    shared.tell(Input::PeerConnected { about });
    let mut linked = pin!(link::serve(wire, node, &peer.send_queue, shared));
    let (end, next) = loop {
        tokio::select! {
            biased;
            () = peer.ended.cancelled() => break (LinkEnd::Stopped, None),
            Some(another) = arriving.recv() => {
                if takes_over(dialled, shared.node < node) {
                    break (LinkEnd::Closed, Some(another));
                }
                debug!(node, "another connection to a node is closed: one is enough");
            }
            end = &mut linked => break (end, None),
        }
    };
    // The frame being sent is lost, and the waiting ones may be outdated. Raft sends the messages again.
    peer.send_queue.clear();
    match &end {
        LinkEnd::Stopped => {}
        _ if next.is_some() => debug!(node, "a connection to a node takes the place of another"),
        end => warn!(node, reason = %end, "the connection to a node is lost"),
    }
    shared.tell(Input::PeerLost { node });
    next
}

/// True if a connection that the other node has dialled replaces the present one.
fn takes_over(dialled: bool, own_is_lower: bool) -> bool {
    // Of two connections that the same side dialled, the later one stays.
    !(dialled && own_is_lower)
}

/// Dials when there is a reason to, until a node answers.
async fn dial(peer: &Peer, shared: &PeersState, attempts: &mut Attempts) -> Handshake {
    let (directory, opening) = (&shared.directory, &shared.opening);
    loop {
        tokio::select! {
            () = peer.send_queue.wait() => {}
            () = until_wanted(peer, shared) => {}
        }
        tokio::time::sleep(attempts.pause).await;
        attempts.pause = (attempts.pause * 2).clamp(shared.timing.backoff_min, shared.timing.backoff_max);
        let address = lock(&peer.address).clone();
        match handshake::dial(&address, directory, Purpose::Peer, Some(peer.node), opening).await {
            Ok(handshake) => return handshake,
            Err(error) => Complaint::of(&error).say(&mut attempts.complaint, peer.node, &address, &error),
        }
        peer.send_queue.clear();
    }
}

/// Waits until a member should be dialled without a message for it. The node with the lower number dials first.
async fn until_wanted(peer: &Peer, shared: &PeersState) {
    let is_member = || peer.is_member.load(Ordering::Relaxed);
    if shared.node > peer.node || !is_member() {
        tokio::time::sleep(shared.timing.backoff_max).await;
        while !is_member() {
            tokio::time::sleep(shared.timing.backoff_max).await;
        }
    }
}

/// The kind of a problem with a node: logged once, and not at each dial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Complaint {
    Unreachable,
    Unproven,
    Silent,
    Refused(RefusalCode),
    Refuses(RefusalCode),
}

impl Complaint {
    fn of(error: &HandshakeError) -> Self {
        match error {
            HandshakeError::Unreachable(_) | HandshakeError::Broken(_) => Self::Unreachable,
            HandshakeError::Unproven(_) => Self::Unproven,
            HandshakeError::Silent(_) => Self::Silent,
            HandshakeError::Refused(refusal) => Self::Refused(refusal.code),
            HandshakeError::Refuses(refusal) => Self::Refuses(refusal.code),
        }
    }

    fn say(self, last: &mut Option<Self>, node: u64, address: &str, error: &HandshakeError) {
        if last.replace(self) == Some(self) {
            debug!(node, address, %error, "a node is not connected");
        } else {
            warn!(node, address, %error, "a node is not connected: retrying");
        }
    }
}
