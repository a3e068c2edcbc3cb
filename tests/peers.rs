//! Nodes and their sockets: several real ones in this process, and one that knows nothing but frames, so that it can also
//! say what no node should.

mod refused;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use adjourn_protocol::{ClusterReport, ErrorCode, ErrorReply, Request, Response, Role, Totals};
use adjourn_replica::PeerInfo;
use adjourn_server::config::Config;
use adjourn_server::peers::frames::{
    ClusterInfo, Greeting, PeerDecoder, PeerFrame, Purpose, Refusal, RefusalCode,
};
use adjourn_storage::Depth;
use adjourn_types::limits::PEER_FRAME_BYTES_MAX;
use adjourn_types::{FEATURE_LEVEL, Member};
use bytes::{Bytes, BytesMut};

use super::server_rig::{Node, Raw, hello, push};

/// A read that takes longer than this has failed. Nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at something that will be so.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A node that speaks frames, one read or write at a time.
struct RawPeer {
    stream: TcpStream,
    buffer: BytesMut,
}

impl RawPeer {
    /// Connects and says nothing.
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.set_nodelay(true).expect("set");
        Self { stream, buffer: BytesMut::new() }
    }

    /// Connects as a node of this cluster.
    fn greeted(address: SocketAddr, greeting: Greeting) -> Self {
        let mut peer = Self::connect(address);
        peer.send(&PeerFrame::Hello(greeting));
        let welcome = peer.receive();
        assert!(matches!(welcome, Some(PeerFrame::Welcome(_))), "{welcome:?}");
        peer.send(&PeerFrame::Ping);
        peer
    }

    /// Sends bytes as they are. Whether somebody still listens is not looked at.
    fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    fn send(&mut self, frame: &PeerFrame) {
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        self.send_bytes(&bytes);
    }

    /// The next frame; `None` when the other side has closed.
    fn receive(&mut self) -> Option<PeerFrame> {
        loop {
            let decoder = PeerDecoder::with_bytes_max(PEER_FRAME_BYTES_MAX);
            if let Some(frame) = decoder.next(&mut self.buffer).expect("frames") {
                return Some(frame);
            }
            let mut bytes = vec![0; 64 << 10];
            let read = self.stream.read(&mut bytes).unwrap_or(0);
            if read == 0 {
                return None;
            }
            self.buffer.extend_from_slice(bytes.get(..read).expect("read"));
        }
    }

    /// The next frame that is no PING and no bundle.
    fn answer(&mut self) -> Option<PeerFrame> {
        loop {
            match self.receive() {
                Some(PeerFrame::Ping | PeerFrame::Bundle(_)) => {}
                answer => return answer,
            }
        }
    }

    /// The refusal that comes next, and the end of the connection after it.
    fn refusal(&mut self) -> Refusal {
        let Some(PeerFrame::Refused(refusal)) = self.receive() else { panic!("it was not refused") };
        assert_eq!(self.receive(), None, "closed after {refusal}");
        refusal
    }
}

/// What the node at this address tells one that wants to join under this number.
fn cluster_of(address: SocketAddr, node: u64) -> Result<ClusterInfo, Refusal> {
    let mut peer = RawPeer::connect(address);
    peer.send(&PeerFrame::Join(node));
    match peer.receive() {
        Some(PeerFrame::Cluster(cluster)) => Ok(cluster),
        Some(PeerFrame::Refused(refusal)) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

/// What a node of this number and this copy of the data says of itself.
fn greeting(cluster_id: [u8; 16], node: u64, storage: u8) -> Greeting {
    let member = Member {
        node,
        storage_id: [storage; 16],
        peer_address: "127.0.0.1:1".to_owned(),
        client_address: "127.0.0.1:1".to_owned(),
    };
    Greeting {
        purpose: Purpose::Peer,
        cluster_id,
        about: PeerInfo { member, feature_level_max: FEATURE_LEVEL },
    }
}

/// Starts the first node of a cluster.
fn founder(data: &Path) -> Node {
    Node::start(data, found)
}

/// The configuration of such a node.
fn found(config: &mut Config) {
    config.peer_listen = Some("127.0.0.1:0".to_owned());
    config.found = true;
}

/// Starts a node that waits to be added to the cluster of `member`.
fn joiner(data: &Path, node: u64, member: &Node) -> Node {
    Node::start(data, |config| {
        config.node = node;
        config.peer_listen = Some("127.0.0.1:0".to_owned());
        config.join = vec![member.peer_address().to_string()];
    })
}

/// Looks until it is so.
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..PATIENCE.as_millis() / LOOK_EVERY.as_millis() {
        if let Some(found) = look() {
            return found;
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
    panic!("never: {what}");
}

/// A client of the leader among these nodes, as soon as one leads.
fn client_of(nodes: &[&Node]) -> Raw {
    eventually("one of them leads", || {
        nodes.iter().find_map(|node| {
            let mut client = Raw::connect(node.address);
            matches!(client.ask(Request::Hello(hello())), Response::Welcome(_)).then_some(client)
        })
    })
}

/// Adds the node at an address, or hears why not.
fn add(client: &mut Raw, address: &impl ToString) -> Result<(), ErrorReply> {
    let address = address.to_string();
    eventually("the cluster takes a change", || {
        match client.ask(Request::ClusterAdd { address: address.clone() }) {
            Response::Done => Some(Ok(())),
            Response::Error(error)
                if error.code == ErrorCode::Busy && !error.message.starts_with("cannot reach") =>
            {
                None
            }
            Response::Error(error) => Some(Err(error)),
            other => panic!("{other:?}"),
        }
    })
}

fn status(client: &mut Raw) -> ClusterReport {
    match client.ask(Request::ClusterStatus) {
        Response::Cluster(report) => *report,
        other => panic!("{other:?}"),
    }
}

/// Waits until every member votes and has caught up. Returns the report.
fn all_are_there(client: &mut Raw, members: usize) -> ClusterReport {
    eventually("all members vote and have everything", || {
        let report = status(client);
        let ready = report.members.iter().filter(|member| {
            member.role != Role::Learner && member.matched == Some(report.last) && member.is_connected
        });
        (ready.count() == members).then_some(report)
    })
}

fn totals(client: &mut Raw) -> Totals {
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
    stats.totals
}

#[test]
fn one_node_becomes_three_and_no_job_is_lost() {
    let data: Vec<_> = (0..3).map(|_| tempfile::tempdir().expect("a directory")).collect();
    let [one, two, three] = &data[..] else { panic!("three") };
    let first = founder(one.path());
    let mut client = client_of(&[&first]);
    assert!(matches!(client.ask(push("t", "before", 3_600_000)), Response::Pushed(_)));
    let second = joiner(two.path(), 2, &first);
    let third = joiner(three.path(), 3, &first);
    for node in [&second, &third] {
        add(&mut client, &node.peer_address()).expect("added");
    }
    let report = all_are_there(&mut client, 3);
    assert_eq!((report.leader, report.members.len()), (Some(1), 3));
    assert!(matches!(client.ask(push("t", "after", 3_600_000)), Response::Pushed(_)));
    assert_eq!(totals(&mut client).delayed, 2);
    let mut elsewhere = Raw::connect(second.address);
    let Response::Error(error) = elsewhere.ask(Request::Hello(hello())) else { panic!("it leads") };
    assert_eq!(error.code, ErrorCode::NotLeader);
    assert!(format!("{error:?}").contains(&first.address.to_string()), "{error:?} says where the leader is");
    for request in [Request::BackupRead { offset: 0, bytes: 1 }, Request::BackupEnd] {
        let Response::Error(error) = elsewhere.ask(request) else { panic!("it does not lead") };
        assert_eq!(error.code, ErrorCode::NotLeader);
    }
    for node in [first, second, third] {
        node.stop();
    }
}

#[test]
fn a_node_that_is_far_behind_pulls_the_checkpoint() {
    let (one, two) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let first = Node::start(one.path(), |config| {
        found(config);
        config.checkpoint_log_bytes = 64 << 10;
    });
    let mut client = client_of(&[&first]);
    for _ in 0..64 {
        assert!(matches!(client.ask(push("t", vec![7; 30_000], 7_200_000)), Response::Pushed(_)));
    }
    let second = joiner(two.path(), 2, &first);
    add(&mut client, &second.peer_address()).expect("added");
    let report = all_are_there(&mut client, 2);
    assert!(report.members.iter().all(|member| member.same_state != Some(false)), "{report:?}");
    second.stop();
    first.stop();
    // Its own log would not have made it take one.
    let inspection = adjourn_storage::inspect(two.path(), &one.path().join("scratch"), Depth::Whole)
        .expect("a data directory");
    assert_eq!(inspection.damage.len(), 0, "{:?}", inspection.damage);
    let checkpoint = inspection.checkpoint.expect("it was pulled");
    assert!(checkpoint.jobs > 0, "{checkpoint:?}");
    assert!(!two.path().join("incoming.pull").exists(), "what was pulled is not kept twice");
}

#[test]
fn parts_of_the_newest_checkpoint_are_handed_out_to_whoever_asks() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| {
        found(config);
        config.checkpoint_log_bytes = 64 << 10;
    });
    let mut client = client_of(&[&node]);
    for _ in 0..8 {
        assert!(matches!(client.ask(push("t", vec![7; 30_000], 7_200_000)), Response::Pushed(_)));
    }
    // A backup waits for a checkpoint, after which nothing changes.
    let Response::BackupReady(backup) = client.ask(Request::BackupBegin) else { panic!("no backup") };
    let cluster = cluster_of(node.peer_address(), 2).expect("a cluster");
    let pull = |offset: u64| {
        // Each part over a connection of its own: a pull goes on where it was cut off.
        let mut peer = RawPeer::greeted(node.peer_address(), greeting(cluster.cluster_id, 2, 2));
        peer.send(&PeerFrame::Fetch { index: backup.index, offset });
        match peer.answer() {
            Some(PeerFrame::Part { index, offset: at, total, data }) => {
                assert_eq!((index, at, total), (backup.index, offset, backup.bytes));
                data
            }
            other => panic!("{other:?}"),
        }
    };
    let mut pulled = Vec::new();
    while (pulled.len() as u64) < backup.bytes {
        let part: Bytes = pull(pulled.len() as u64);
        assert!(!part.is_empty());
        pulled.extend_from_slice(&part);
    }
    assert_eq!(pull(backup.bytes), "", "nothing is behind the end");
    let file = data.path().with_extension("backup");
    let footer = adjourn_storage::backup_file::footer(
        xxhash_rust::xxh3::xxh3_128(&pulled),
        backup.bytes + adjourn_storage::backup_file::FOOTER_BYTES,
    );
    std::fs::write(&file, [&pulled[..], &footer].concat()).expect("written");
    adjourn_storage::Backup::open(&file).and_then(|backup| backup.verify(|_| {})).expect("whole");
    std::fs::remove_file(&file).expect("removed");
    let mut peer = RawPeer::greeted(node.peer_address(), greeting(cluster.cluster_id, 2, 2));
    peer.send(&PeerFrame::Fetch { index: backup.index + 1, offset: 0 });
    assert_eq!(peer.answer(), Some(PeerFrame::Gone { index: backup.index + 1 }));
    node.stop();
}
