//! Who is turned away at a node's door, and what they are told.

use super::*;

#[test]
fn whoever_is_no_member_and_cannot_be_one_is_told_why() {
    let data = tempfile::tempdir().expect("a directory");
    let node = founder(data.path());
    let address = node.peer_address();
    let cluster_id = cluster_of(address, 2).expect("a cluster").cluster_id;
    let refused = |greeting: Greeting| {
        let mut peer = RawPeer::connect(address);
        peer.send(&PeerFrame::Hello(greeting));
        peer.refusal()
    };
    let other_cluster = refused(greeting([9; 16], 2, 2));
    assert_eq!(other_cluster.code, RefusalCode::OtherCluster);
    assert!(other_cluster.text.contains("cluster 09090909"), "{other_cluster}");
    assert_eq!(refused(greeting(cluster_id, 1, 2)).code, RefusalCode::SameNumber);
    assert_eq!(cluster_of(address, 1).map_err(|refusal| refusal.code), Err(RefusalCode::SameNumber));
    let mut stranger = RawPeer::greeted(address, greeting(cluster_id, 2, 2));
    assert_eq!(
        stranger.answer_to_ping(),
        Some(PeerFrame::Ping),
        "it may be a member that this node does not know yet"
    );
    node.stop();
}

#[test]
fn what_is_no_frame_or_comes_too_early_ends_the_connection() {
    let data = tempfile::tempdir().expect("a directory");
    let node = founder(data.path());
    let address = node.peer_address();
    let cluster_id = cluster_of(address, 2).expect("a cluster").cluster_id;
    let mut browser = RawPeer::connect(address);
    browser.send_bytes(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n");
    assert_eq!(browser.refusal().code, RefusalCode::Malformed);
    let mut early = RawPeer::connect(address);
    early.send(&PeerFrame::Fetch { index: 1, offset: 0 });
    assert_eq!(early.refusal().code, RefusalCode::Malformed);
    let mut later = RawPeer::connect(address);
    later.send_bytes(&sealed(b"\x01ADJPEERS\x03\0\x04\0and what this version does not know"));
    let refusal = later.refusal();
    assert_eq!(refusal.code, RefusalCode::Version);
    assert!(refusal.text.contains("versions 3 to 4") && refusal.text.contains("upgrade"), "{refusal}");
    // Frames after the handshake must be valid, too.
    let of_another_group = sealed(b"\x08\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    for bytes in [&[0xff; 64][..], &of_another_group] {
        let mut peer = RawPeer::greeted(address, greeting(cluster_id, 2, 2));
        peer.send_bytes(bytes);
        assert_eq!(peer.answer(), None);
    }
    let mut peer = RawPeer::greeted(address, greeting(cluster_id, 2, 2));
    peer.send(&PeerFrame::Join(3));
    assert_eq!(peer.answer(), None);
    let mut client = client_of(&[&node]);
    assert!(client.is_alive(), "nobody else notices");
    node.stop();
}

#[test]
fn what_cannot_be_added_is_refused_with_the_reason() {
    let data: Vec<_> = (0..3).map(|_| tempfile::tempdir().expect("a directory")).collect();
    let [one, two, three] = &data[..] else { panic!("three") };
    let first = founder(one.path());
    let mut client = client_of(&[&first]);
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").to_string()
    };
    let absent = add(&mut client, &nobody).expect_err("refused");
    assert!(absent.message.contains(&nobody) && absent.message.contains("cannot reach"), "{absent}");
    assert_eq!((absent.code, absent.retryable()), (ErrorCode::Busy, true), "it may be starting");
    let no_address = add(&mut client, &"nowhere").expect_err("refused");
    assert_eq!((no_address.code, no_address.retryable()), (ErrorCode::Invalid, false), "{no_address}");
    let mut refused = |address: String| add(&mut client, &address).expect_err("refused").message;
    let other_cluster = Node::start(two.path(), |config| {
        config.node = 2;
        found(config);
    });
    let text = refused(other_cluster.peer_address().to_string());
    assert!(text.contains("belongs to cluster"), "{text}");
    assert!(!refused(first.peer_address().to_string()).is_empty());
    let third = joiner(three.path(), 3, &first);
    add(&mut client, &third.peer_address()).expect("added");
    let text = add(&mut client, &third.peer_address()).expect_err("twice").message;
    assert!(text.contains("node 3 is a member already"), "{text}");
    all_are_there(&mut client, 2);
    for node in [first, other_cluster, third] {
        node.stop();
    }
}

#[test]
fn a_member_whose_data_is_gone_does_not_come_back_under_its_number() {
    let (one, two) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let first = founder(one.path());
    let mut client = client_of(&[&first]);
    let second = joiner(two.path(), 2, &first);
    add(&mut client, &second.peer_address()).expect("added");
    all_are_there(&mut client, 2);
    second.stop();
    let emptied = tempfile::tempdir().expect("a directory");
    let refused = Node::try_start(emptied.path(), |config| {
        config.node = 2;
        config.peer_listen = Some("127.0.0.1:0".to_owned());
        config.join = vec![first.peer_address().to_string()];
    });
    let text = refused.err().expect("refused").to_string();
    assert!(text.contains("its data was lost") && text.contains("another number"), "{text}");
    // Nor does it found another cluster, unless it is told to.
    let alone = Node::try_start(emptied.path(), |config| {
        config.node = 2;
        config.peer_listen = Some("127.0.0.1:0".to_owned());
    });
    let text = alone.err().expect("refused").to_string();
    assert!(text.contains("--found") && text.contains("its data is lost"), "{text}");
    // Nor does a copy that says it is of the cluster.
    let cluster_id = cluster_of(first.peer_address(), 3).expect("a cluster").cluster_id;
    let mut copy = RawPeer::connect(first.peer_address());
    copy.send(&PeerFrame::Hello(greeting(cluster_id, 2, 99)));
    assert_eq!(copy.refusal().code, RefusalCode::DataLost);
    // The one with its data does, wherever it is: it has another port now.
    let again = Node::start(two.path(), |config| {
        config.node = 2;
        config.peer_listen = Some("127.0.0.1:0".to_owned());
    });
    all_are_there(&mut client_of(&[&first, &again]), 2);
    first.stop();
    again.stop();
}

#[test]
fn a_node_that_cannot_do_what_the_cluster_does_is_refused() {
    let data = tempfile::tempdir().expect("a directory");
    let node = founder(data.path());
    // It has raised the level before it answers.
    assert!(matches!(client_of(&[&node]).ask(push("t", vec![7], 0)), Response::Pushed(_)));
    let cluster_id = cluster_of(node.peer_address(), 2).expect("a cluster").cluster_id;
    let mut older = greeting(cluster_id, 2, 2);
    older.about.feature_level_max = FEATURE_LEVEL - 1;
    let mut peer = RawPeer::connect(node.peer_address());
    peer.send(&PeerFrame::Hello(older));
    let Refusal { code, text } = peer.refusal();
    assert_eq!(code, RefusalCode::FeatureLevel);
    let too_low = format!(
        "node 2 goes up to feature level {}, and the cluster is at {FEATURE_LEVEL}",
        FEATURE_LEVEL - 1
    );
    assert!(text.contains(&too_low), "{text}");
    node.stop();
}

/// A frame of this kind and payload, with length and checksum as they should be.
fn sealed(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).expect("short");
    let mut frame = [&length.to_le_bytes()[..], content].concat();
    let crc = crc32c::crc32c(&frame);
    frame.extend_from_slice(&crc.to_le_bytes());
    frame
}

impl RawPeer {
    /// PING comes in each second, whatever is sent.
    fn answer_to_ping(&mut self) -> Option<PeerFrame> {
        self.receive()
    }
}
