//! Two nodes' transports over real sockets, or one and a peer that breaks the rules.

use std::sync::mpsc::Receiver;

use tokio::net::TcpStream;

use super::super::core::CoreRunner;
use super::super::mailbox;
use super::frames::{PeerFrame, RefusalCode};
use super::test_messages::{about, append, bundle, heartbeat};
use super::wire::Wire;
use super::*;
use adjourn_storage::folder::{DiskFolder, SpareFolder};
use adjourn_transport::Stream;
use adjourn_transport::tls::{ClientFiles, MembersFiles, ServerFiles};
use adjourn_types::limits::PEER_FRAME_BYTES_MAX;

mod snapshots;
mod strangers;
#[path = "../../../transport/src/tls/test_certificates.rs"]
#[expect(dead_code, reason = "other tests ask for more")]
mod test_certificates;

const CLUSTER: [u8; 16] = [7; 16];
/// Anything that takes longer has failed. Tests do not wait for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node that has only its connections to others.
struct Rig {
    peers: Peers,
    address: String,
    core: CoreRunner,
    checkpoint: Receiver<ToCheckpoint>,
    callers: mpsc::Receiver<Callers>,
    stopping: CancellationToken,
    data: tempfile::TempDir,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

fn quick() -> Timing {
    Timing {
        backoff_min: Duration::from_millis(1),
        fetch_retry: Duration::from_millis(1),
        ..Timing::default()
    }
}

impl Rig {
    async fn start(node: u64, timing: Timing) -> Self {
        Self::start_in(node, timing, tempfile::tempdir().expect("a directory")).await
    }

    async fn start_in(node: u64, timing: Timing, data: tempfile::TempDir) -> Self {
        Self::start_sparing(node, timing, data, 0).await
    }

    /// Starts a node that leaves `spare_bytes` of the device free.
    async fn start_sparing(node: u64, timing: Timing, data: tempfile::TempDir, spare_bytes: u64) -> Self {
        Self::start_with(node, timing, data, spare_bytes, None).await
    }

    async fn start_with(
        node: u64,
        timing: Timing,
        data: tempfile::TempDir,
        spare_bytes: u64,
        tls: Option<Arc<Members>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (to_core, core) = mailbox::mailbox(Clock::start());
        let (to_checkpoint, checkpoint) = std::sync::mpsc::channel();
        let (callers, arriving) = mpsc::channel(1);
        let stopping = CancellationToken::new();
        let incoming = DiskFolder::new(&data.path().join("incoming")).expect("a folder");
        let incoming = SpareFolder::new(incoming, spare_bytes);
        let options = Options {
            cluster_id: CLUSTER,
            own: about(node, copy_of(node), &address),
            places: SnapshotFiles { file: data.path().join("pulled"), incoming },
            tls,
            core: to_core,
            checkpoint: to_checkpoint,
            callers,
            clock: Clock::start(),
            timing,
            stopping: stopping.clone(),
        };
        Self {
            peers: Peers::start(options, listener),
            address,
            core,
            checkpoint,
            callers: arriving,
            stopping,
            data,
        }
    }

    fn member(&self) -> Member {
        let node = self.peers.shared.node;
        about(node, copy_of(node), &self.address).member
    }

    /// The next message to the core. Blocks, as the core does: the runtime has other threads.
    fn told(&self) -> ToCore {
        self.core.recv_timeout(PATIENCE).expect("the core is told something")
    }

    /// The next message to the core that the predicate takes. Others are skipped.
    fn told_of<T>(&self, mut take: impl FnMut(Input) -> Option<T>) -> T {
        loop {
            if let ToCore::Input(input) | ToCore::SnapshotFetch { input, .. } = self.told()
                && let Some(taken) = take(input)
            {
                return taken;
            }
        }
    }

    fn connected(&self) -> u64 {
        self.told_of(|input| match input {
            Input::PeerConnected { about } => Some(about.member.node),
            _ => None,
        })
    }

    fn lost(&self) -> u64 {
        self.told_of(|input| if let Input::PeerLost { node } = input { Some(node) } else { None })
    }

    fn heard(&self) -> (u64, Bundle) {
        self.told_of(
            |input| if let Input::Peer { from, bundle } = input { Some((from, bundle)) } else { None },
        )
    }
}

/// Two connected nodes.
async fn two() -> (Rig, Rig) {
    let (one, two) = (Rig::start(1, quick()).await, Rig::start(2, quick()).await);
    for rig in [&one, &two] {
        rig.peers.members(vec![one.member(), two.member()], vec![], 1);
    }
    (one, two)
}

/// The copy of the data that a node has.
fn copy_of(node: u64) -> u8 {
    u8::try_from(node).expect("there are few nodes")
}

/// A peer that claims to be this node, and is accepted.
async fn let_in(rig: &Rig, node: u64) -> Wire {
    let stream = TcpStream::connect(&rig.address).await.expect("connected");
    let mut wire = Wire::new(Stream::Plain(stream), PEER_FRAME_BYTES_MAX);
    let own = about(node, copy_of(node), "127.0.0.1:1");
    let hello = PeerDirectory::new(CLUSTER, own).greeting(Purpose::Peer);
    wire.write(&PeerFrame::Hello(hello)).await.expect("sent");
    let welcome = wire.read().await;
    assert!(matches!(welcome, Ok(PeerFrame::Welcome(_))), "{welcome:?}");
    wire.write(&PeerFrame::Ping).await.expect("sent");
    wire
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_says_the_other_hears() {
    let (one, two) = two().await;
    one.peers.send(2, bundle(vec![heartbeat(1, 2)]));
    assert_eq!((one.connected(), two.connected()), (2, 1));
    let (from, heard) = two.heard();
    assert_eq!((from, heard.messages), (1, vec![heartbeat(1, 2)]));
    two.peers.send(1, bundle(vec![append(2, 1, &[b"entry"])]));
    let (from, heard) = one.heard();
    assert_eq!(
        (from, heard.messages, heard.audited),
        (2, vec![append(2, 1, &[b"entry"])], (64, u128::MAX - 1))
    );
    drop(two);
    assert_eq!(one.lost(), 2);
}

/// However the two races end, one connection stays, and later messages arrive.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_dials_at_once_one_stays() {
    for _ in 0..50 {
        let (one, two) = two().await;
        one.peers.send(2, bundle(vec![heartbeat(1, 2)]));
        two.peers.send(1, bundle(vec![heartbeat(2, 1)]));
        for (rig, other) in [(&one, 2), (&two, 1)] {
            assert_eq!(rig.connected(), other);
        }
        // Messages are lost when one connection replaces another. Raft would send them again, and so does this test.
        for (rig, other, to) in [(&one, &two, 2), (&two, &one, 1)] {
            let own = rig.peers.shared.node;
            loop {
                rig.peers.send(to, bundle(vec![append(own, to, &[b"again"])]));
                match other.core.recv_timeout(Duration::from_millis(50)) {
                    Some(ToCore::Input(Input::Peer { bundle, .. }))
                        if bundle.messages == [append(own, to, &[b"again"])] =>
                    {
                        break;
                    }
                    _ => {}
                }
            }
        }
        assert!(lock(&one.peers.shared.peers).len() == 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_that_the_lower_number_dialled_stays() {
    let rig = Rig::start(2, quick()).await;
    let mut first = let_in(&rig, 1).await;
    assert_eq!(rig.connected(), 1);
    // Dialled again by the same side: it must have lost the first.
    let mut second = let_in(&rig, 1).await;
    assert_eq!((rig.lost(), rig.connected()), (1, 1));
    while first.read().await.is_ok() {}
    rig.peers.send(1, bundle(vec![heartbeat(2, 1)]));
    let heard = loop {
        if let PeerFrame::Bundle(bundle) = second.read().await.expect("it stays") {
            break bundle.messages;
        }
    };
    assert_eq!(heard, [heartbeat(2, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_nothing_is_gone() {
    let short = Duration::from_millis(50);
    let rig = Rig::start(1, Timing { handshake: short, silence: 2 * short, ..quick() }).await;
    let mut mute = Wire::new(
        Stream::Plain(TcpStream::connect(&rig.address).await.expect("connected")),
        PEER_FRAME_BYTES_MAX,
    );
    let refused = mute.read().await;
    assert!(
        matches!(&refused, Ok(PeerFrame::Refused(refusal)) if refusal.code == RefusalCode::Malformed),
        "{refused:?}"
    );
    let mut falls_silent = let_in(&rig, 2).await;
    assert_eq!((rig.connected(), rig.lost()), (2, 2));
    while falls_silent.read().await.is_ok() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_nothing_to_say_stays_connected_all_the_same() {
    let short = Duration::from_millis(50);
    let timing = Timing { ping: short, silence: 20 * short, ..quick() };
    let rig = Rig::start(1, timing).await;
    let mut other = let_in(&rig, 2).await;
    for _ in 0..30 {
        assert_eq!(other.read().await.expect("it is kept"), PeerFrame::Ping);
        other.write(&PeerFrame::Ping).await.expect("sent");
    }
    assert_eq!(rig.connected(), 2);
    assert!(rig.core.try_recv().is_none(), "it was not lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_speaks_for_another_is_cut_off() {
    let rig = Rig::start(1, quick()).await;
    for (from, to) in [(3, 1), (2, 3)] {
        let mut liar = let_in(&rig, 2).await;
        assert_eq!(rig.connected(), 2);
        liar.write(&PeerFrame::Bundle(bundle(vec![heartbeat(from, to)]))).await.expect("sent");
        assert_eq!(rig.lost(), 2);
    }
}

/// The core never waits: a node that reads nothing is sent less, and its connection is closed in the end.
#[tokio::test(flavor = "multi_thread")]
async fn who_takes_nothing_is_sent_no_more_than_fits() {
    let rig = Rig::start(1, Timing { silence: Duration::from_millis(300), ..quick() }).await;
    let slow = let_in(&rig, 2).await;
    assert_eq!(rig.connected(), 2);
    let data = vec![0; 200 << 10];
    let peer = rig.peers.shared.peer(2).expect("it is talked to");
    let push =
        || peer.send_queue.push(bundle(vec![append(1, 2, &[&data])]), rig.peers.shared.clock.elapsed());
    assert!((0..10_000).any(|_| push().is_some()), "2 GB were taken in for a node that takes nothing");
    assert_eq!(rig.lost(), 2);
    drop(slow);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_removed_is_cut_off_and_not_let_in_again() {
    let (one, two) = two().await;
    one.peers.send(2, bundle(vec![heartbeat(1, 2)]));
    assert_eq!((one.connected(), two.connected()), (2, 1));
    one.peers.members(vec![one.member()], vec![2], 1);
    assert_eq!((one.lost(), two.lost()), (2, 1));
    let (directory, opening) = (&two.peers.shared.directory, &two.peers.shared.opening);
    let handshake = handshake::dial(&one.address, directory, Purpose::Peer, Some(1), opening).await;
    assert!(
        matches!(&handshake, Err(HandshakeError::Refused(refusal)) if refusal.code == RefusalCode::Removed),
        "{handshake:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_at_an_address_is_found_out() {
    let (one, two) = (Rig::start(1, quick()).await, Rig::start(2, quick()).await);
    let probe = |address: &str| {
        one.peers.probe(address.to_owned());
        one.told_of(|input| match input {
            Input::Probed { address: probed, found } => Some((probed, found)),
            _ => None,
        })
    };
    let (probed, found) = probe(&two.address);
    assert_eq!((probed, found), (two.address.clone(), Ok(about(2, 2, &two.address))));
    let (_, found) = probe("127.0.0.1:1");
    assert!(matches!(found, Err(ProbeError::Unreachable { .. })), "{found:?}");
    let (_, found) = probe(&one.address);
    assert!(matches!(found, Err(ProbeError::Refused { .. })), "{found:?}");
    assert!(two.core.try_recv().is_none(), "a probe leaves no connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_at_a_members_address_is_not_taken_for_it() {
    let (one, two) = (Rig::start(1, quick()).await, Rig::start(2, quick()).await);
    let elsewhere = Member { node: 3, storage_id: [3; 16], ..two.member() };
    one.peers.members(vec![one.member(), elsewhere], vec![], 1);
    let (directory, opening) = (&one.peers.shared.directory, &one.peers.shared.opening);
    let handshake = handshake::dial(&two.address, directory, Purpose::Peer, Some(3), opening).await;
    assert!(
        matches!(&handshake, Err(HandshakeError::Refuses(refusal)) if refusal.code == RefusalCode::OtherNode),
        "{handshake:?}"
    );
}
