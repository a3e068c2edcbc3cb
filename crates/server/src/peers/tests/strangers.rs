//! Nodes that are not members, and how far they get.

use std::collections::BTreeSet;

use tokio::net::TcpSocket;

use super::test_certificates::{Certificates, Flaw};
use super::*;
use adjourn_transport::tls::{Connector, node_name};
use adjourn_types::Access;

/// The certificate of a node, for this number.
fn certificate_of(certificates: &Certificates, node: u64) -> Arc<Members> {
    let files = certificates.member(&format!("node-{node}"), &node_name(node), node);
    Arc::new(Members::new(files, node).expect("a certificate"))
}

async fn secure_rig(node: u64, certificates: &Certificates) -> Rig {
    let data = tempfile::tempdir().expect("a directory");
    Rig::start_with(node, quick(), data, 0, Some(certificate_of(certificates, node))).await
}

/// The result of a handshake with a node that claims this number, with this certificate.
async fn say(rig: &Rig, node: u64, tls: Option<Arc<Members>>) -> Result<Handshake, HandshakeError> {
    let directory = Mutex::new(PeerDirectory::new(CLUSTER, about(node, copy_of(node), "127.0.0.1:1")));
    let opening = Opening { tls, patience: PATIENCE };
    handshake::dial(&rig.address, &directory, Purpose::Peer, None, &opening).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_with_certificates_talk_and_carry_large_messages() {
    let certificates = Certificates::new();
    let (one, two) = (secure_rig(1, &certificates).await, secure_rig(2, &certificates).await);
    for rig in [&one, &two] {
        rig.peers.members(vec![one.member(), two.member()], vec![], 1);
    }
    let large = vec![7; 1 << 20];
    one.peers.send(2, bundle(vec![append(1, 2, &[&large])]));
    assert_eq!((one.connected(), two.connected()), (2, 1));
    assert_eq!(two.heard().1.messages, vec![append(1, 2, &[&large])]);
    two.peers.send(1, bundle(vec![heartbeat(2, 1)]));
    assert_eq!(one.heard().1.messages, vec![heartbeat(2, 1)]);
}

/// The result of a node with this number that vouches for callers.
async fn vouch(rig: &Rig, node: u64, tls: Option<Arc<Members>>) -> Result<Handshake, HandshakeError> {
    let directory = Mutex::new(PeerDirectory::new(CLUSTER, about(node, copy_of(node), "127.0.0.1:1")));
    let opening = Opening { tls, patience: PATIENCE };
    let mut handshake = handshake::dial(&rig.address, &directory, Purpose::Callers, None, &opening).await?;
    handshake.wire.write(&PeerFrame::Vouch(Access::open())).await?;
    Ok(handshake)
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_but_a_member_vouches_for_callers() {
    let certificates = Certificates::new();
    let mut rig = secure_rig(1, &certificates).await;
    let second = about(2, copy_of(2), "127.0.0.1:1").member;
    rig.peers.members(vec![rig.member(), second], vec![], 1);
    let refused = |vouched: Result<Handshake, HandshakeError>| match vouched {
        Err(HandshakeError::Refused(refusal)) => refusal.code,
        other => panic!("{other:?}"),
    };
    // A node with a certificate that was not added yet, and a member under another's number.
    let third = certificate_of(&certificates, 3);
    assert_eq!(refused(vouch(&rig, 3, Some(third)).await), RefusalCode::NotProven);
    let second = certificate_of(&certificates, 2);
    assert_eq!(refused(vouch(&rig, 3, Some(Arc::clone(&second))).await), RefusalCode::NotProven);
    assert!(vouch(&rig, 2, None).await.is_err());
    let _kept = vouch(&rig, 2, Some(second)).await.expect("a member");
    let callers = rig.callers.recv().await.expect("it is let in");
    assert_eq!((callers.node, callers.access), (2, Access::open()));
    assert!(rig.callers.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_says_no_number_but_its_own() {
    let certificates = Certificates::new();
    let rig = secure_rig(1, &certificates).await;
    let said = say(&rig, 3, Some(certificate_of(&certificates, 2))).await;
    assert!(
        matches!(&said, Err(HandshakeError::Refused(refusal)) if refusal.code == RefusalCode::NotProven),
        "{said:?}"
    );
    assert!(say(&rig, 2, Some(certificate_of(&certificates, 2))).await.is_ok());
    assert_eq!(rig.connected(), 2);
    // A node that wants to join is checked in the same way.
    let opening = Opening { tls: Some(certificate_of(&certificates, 5)), patience: PATIENCE };
    let joined = handshake::ask_cluster(&rig.address, 4, &opening).await;
    assert!(
        matches!(&joined, Err(HandshakeError::Refused(refusal)) if refusal.code == RefusalCode::NotProven),
        "{joined:?}"
    );
    assert!(handshake::ask_cluster(&rig.address, 5, &opening).await.is_ok());
    // So is a node that is dialled.
    let (data, tls) = (tempfile::tempdir().expect("a directory"), certificate_of(&certificates, 9));
    let liar = Rig::start_with(8, quick(), data, 0, Some(tls)).await;
    let said = say(&liar, 2, Some(certificate_of(&certificates, 2))).await;
    assert!(
        matches!(&said, Err(HandshakeError::Refuses(refusal)) if refusal.code == RefusalCode::NotProven),
        "{said:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_certificate_of_the_ca_no_frame_is_read() {
    let (certificates, foreign) = (Certificates::new(), Certificates::new());
    let rig = secure_rig(1, &certificates).await;
    for tls in [None, Some(certificate_of(&foreign, 2))] {
        let said = say(&rig, 2, tls).await;
        assert!(said.is_err(), "{said:?}");
    }
    // A client with a certificate of the same CA is not a node.
    let (certificate, key) = certificates.sign("shop", "shop", 9, Flaw::None);
    let mut files = certificates.client();
    (files.certificate, files.key) = (Some(certificate), Some(key));
    let stream = TcpStream::connect(&rig.address).await.expect("connected");
    let connector = Connector::new(&files).expect("a client");
    let secured = connector.connect("node-1.adjourn:1", stream).await.expect("of the CA");
    let mut wire = Wire::new(secured, PEER_FRAME_BYTES_MAX);
    let hello = PeerDirectory::new(CLUSTER, about(2, 2, "127.0.0.1:1")).greeting(Purpose::Peer);
    wire.write(&PeerFrame::Hello(hello)).await.expect("sent");
    let refused = wire.read().await;
    assert!(
        matches!(&refused, Ok(PeerFrame::Refused(refusal)) if refusal.code == RefusalCode::NotProven),
        "{refused:?}"
    );
    assert!(rig.core.try_recv().is_none(), "the core has heard of nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_sockets_keep_no_node_out() {
    let rig = Rig::start(1, Timing { handshake: PATIENCE, ..quick() }).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.9:0".parse().expect("an address")).expect("an address of the loopback");
        silent.push(socket.connect(rig.address.parse().expect("an address")).await.expect("connected"));
    }
    for node in 2..10 {
        assert!(say(&rig, node, None).await.is_ok(), "node {node}");
        assert_eq!(rig.connected(), node);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_numbers_keep_no_node_out() {
    let rig = Rig::start(1, quick()).await;
    let mut strangers = Vec::new();
    for node in 100..100 + u64::try_from(STRANGERS_MAX).expect("few") {
        strangers.push(let_in(&rig, node).await);
        assert_eq!(rig.connected(), node);
    }
    let _another = let_in(&rig, 200).await;
    let change = || {
        rig.told_of(|input| match input {
            Input::PeerConnected { about } => Some((about.member.node, true)),
            Input::PeerLost { node } => Some((node, false)),
            _ => None,
        })
    };
    let changes = BTreeSet::from([change(), change()]);
    assert_eq!(changes, BTreeSet::from([(100, false), (200, true)]), "the oldest makes room");
    let member = Member { node: 3, storage_id: [copy_of(3); 16], ..rig.member() };
    rig.peers.members(vec![rig.member(), member], vec![], 1);
    let _member = let_in(&rig, 3).await;
    assert_eq!(rig.connected(), 3);
}
