//! Valid, truncated, changed and random frames.

#![expect(clippy::indexing_slicing, reason = "lengths are known here")]

use proptest::prelude::*;

use super::super::test_messages::{about, append, bundle, heartbeat};
use super::*;
use adjourn_types::limits::PEER_FRAME_BYTES_MAX;

fn greeting(purpose: Purpose) -> Greeting {
    Greeting { purpose, cluster_id: [7; 16], about: about(2, 9, "two.example:7441") }
}

fn frames() -> Vec<PeerFrame> {
    let members = vec![about(1, 1, "").member, about(2, 2, "[::1]:7441").member];
    vec![
        PeerFrame::Hello(greeting(Purpose::Peer)),
        PeerFrame::Hello(greeting(Purpose::Probe)),
        PeerFrame::Hello(greeting(Purpose::Callers)),
        PeerFrame::Welcome(greeting(Purpose::Peer)),
        PeerFrame::Refused(Refusal::new(RefusalCode::DataLost, "its data was lost")),
        PeerFrame::Refused(Refusal::new(RefusalCode::Busy, "")),
        PeerFrame::Refused(Refusal::new(RefusalCode::FeatureLevel, "upgrade it")),
        PeerFrame::Join(3),
        PeerFrame::Cluster(ClusterInfo { cluster_id: [7; 16], members }),
        PeerFrame::Cluster(ClusterInfo { cluster_id: [8; 16], members: Vec::new() }),
        PeerFrame::Ping,
        PeerFrame::Bundle(bundle(vec![])),
        PeerFrame::Bundle(bundle(vec![heartbeat(1, 2), append(1, 2, &[b"one", b"", b"three"])])),
        PeerFrame::Fetch { index: 12, offset: u64::MAX },
        PeerFrame::Part { index: 12, offset: 3, total: 9, data: Bytes::from_static(b"sixsix") },
        PeerFrame::Part { index: 12, offset: 9, total: 9, data: Bytes::new() },
        PeerFrame::Gone { index: 12 },
        PeerFrame::Vouch(Access::open()),
        PeerFrame::Vouch(Access {
            token: "shop".to_owned(),
            grants: vec![
                "push,read:orders.*".parse().expect("a grant"),
                "consume:mails".parse().expect("a grant"),
            ],
            body_bytes_max: 4096,
            sessions_max: 2,
            topics_max: 7,
        }),
    ]
}

fn encoded(frame: &PeerFrame) -> BytesMut {
    let mut bytes = BytesMut::new();
    frame.encode(&mut bytes);
    bytes
}

fn decoder() -> PeerDecoder {
    PeerDecoder::with_bytes_max(PEER_FRAME_BYTES_MAX)
}

/// A frame with any payload, and correct length and checksum.
fn sealed(kind: u8, payload: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    bytes.put_u32_le(u32::try_from(payload.len() + KIND_BYTES + CRC_BYTES).expect("short"));
    bytes.put_u8(kind);
    bytes.put_slice(payload);
    let crc = crc32c::crc32c(&bytes);
    bytes.put_u32_le(crc);
    bytes
}

#[test]
fn what_is_sent_is_read_however_it_arrives() {
    let mut stream = BytesMut::new();
    for frame in frames() {
        frame.encode(&mut stream);
    }
    for piece_bytes in [1, 7, 1000] {
        let (mut buffer, mut read) = (BytesMut::new(), Vec::new());
        for piece in stream.chunks(piece_bytes) {
            buffer.extend_from_slice(piece);
            while let Some(frame) = decoder().next(&mut buffer).expect("a frame") {
                read.push(frame);
            }
        }
        assert_eq!((read, buffer.len()), (frames(), 0));
    }
}

#[test]
fn a_frame_that_is_cut_short_is_waited_for() {
    for frame in frames() {
        let whole = encoded(&frame);
        for bytes in 0..whole.len() {
            let mut cut = BytesMut::from(&whole[..bytes]);
            assert_eq!(decoder().next(&mut cut), Ok(None), "{bytes} of {frame:?}");
            assert_eq!(cut.len(), bytes, "what has arrived stays");
        }
    }
}

#[test]
fn no_byte_can_change() {
    for frame in frames() {
        let whole = encoded(&frame);
        for at in 0..whole.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= change;
                // A length that has grown waits for bytes that never come; with more bytes everything is refused.
                changed.extend_from_slice(&[0; 256]);
                let read = decoder().next(&mut changed);
                assert!(matches!(read, Err(_) | Ok(None)), "byte {at} of {frame:?}: {read:?}");
            }
        }
    }
}

#[test]
fn a_payload_that_is_too_short_or_too_long_makes_no_sense() {
    for frame in frames() {
        let whole = encoded(&frame);
        let payload = &whole[LENGTH_BYTES + KIND_BYTES..whole.len() - CRC_BYTES];
        let kind = frame.kind();
        // In these the rest is a list, or data, which may be shorter.
        let ends_anywhere = matches!(kind, kind::CLUSTER | kind::BUNDLE | kind::PART);
        for bytes in (0..payload.len()).filter(|_| !ends_anywhere) {
            let read = decoder().next(&mut sealed(kind, &payload[..bytes]));
            assert_eq!(read, Err(PeerFrameError::Malformed(kind)), "{bytes} of {frame:?}");
        }
        let longer = [payload, &[0]].concat();
        let read = decoder().next(&mut sealed(kind, &longer));
        match kind {
            kind::HELLO | kind::WELCOME | kind::JOIN => assert_eq!(read, Ok(Some(frame))),
            _ => assert_eq!(read, Err(PeerFrameError::Malformed(kind)), "{frame:?}"),
        }
    }
}

#[test]
fn lengths_have_limits_before_anything_is_waited_for() {
    let mut request = BytesMut::from(&b"GET / HTTP/1.1\r\n"[..]);
    let read = PeerDecoder::new().next(&mut request);
    assert!(matches!(read, Err(PeerFrameError::TooLong { bytes_max: 4096, .. })), "{read:?}");
    for length in 0..5_u32 {
        let read = decoder().next(&mut BytesMut::from(&length.to_le_bytes()[..]));
        assert_eq!(read, Err(PeerFrameError::TooShort(length)));
    }
    assert_eq!(decoder().next(&mut sealed(0, b"")), Err(PeerFrameError::Kind(0)));
    assert_eq!(decoder().next(&mut sealed(12, b"")), Err(PeerFrameError::Kind(12)));
}

#[test]
fn versions_are_told_apart_before_the_rest_is_looked_at() {
    let versions = |min: u16, max: u16| [&MAGIC[..], &min.to_le_bytes(), &max.to_le_bytes()].concat();
    for kind in [kind::HELLO, kind::WELCOME, kind::JOIN] {
        let (min, max) = (VERSION + 1, VERSION + 3);
        let read = decoder().next(&mut sealed(kind, &versions(min, max)));
        assert_eq!(read, Err(PeerFrameError::Version { min, max }));
        let read = decoder().next(&mut sealed(kind, &versions(0, 0)));
        assert_eq!(read, Err(PeerFrameError::Version { min: 0, max: 0 }));
    }
    let read = decoder().next(&mut sealed(kind::JOIN, &[&versions(1, 1)[..], &[0; 8]].concat()));
    assert_eq!(read, Err(PeerFrameError::Version { min: 1, max: 1 }), "its frames name no group");
    let later = [&versions(VERSION, VERSION + 9)[..], &3_u64.to_le_bytes(), b"and more"].concat();
    assert_eq!(decoder().next(&mut sealed(kind::JOIN, &later)), Ok(Some(PeerFrame::Join(3))));
}

#[test]
fn a_frame_of_another_group_is_refused() {
    let mut named = Vec::new();
    for frame in frames().into_iter().filter(|frame| kind::names_group(frame.kind())) {
        let whole = encoded(&frame);
        let mut payload = whole[LENGTH_BYTES + KIND_BYTES..whole.len() - CRC_BYTES].to_vec();
        assert_eq!(payload[0], 0, "{frame:?}");
        for group in [1, u8::MAX] {
            payload[0] = group;
            let read = decoder().next(&mut sealed(frame.kind(), &payload));
            assert_eq!(read, Err(PeerFrameError::Group(group)), "{frame:?}");
        }
        named.push(frame.kind());
    }
    named.dedup();
    assert_eq!(named, [kind::BUNDLE, kind::FETCH, kind::PART, kind::GONE]);
}

#[test]
fn texts_have_limits() {
    let long = PeerFrame::Refused(Refusal::new(RefusalCode::Busy, "é".repeat(TEXT_BYTES_MAX)));
    let Ok(Some(PeerFrame::Refused(read))) = decoder().next(&mut encoded(&long)) else { panic!("a frame") };
    assert_eq!(read.text, "é".repeat(TEXT_BYTES_MAX / 2));
    let mut payload = vec![9, 9];
    payload.extend_from_slice(&u16::try_from(TEXT_BYTES_MAX + 1).expect("short").to_le_bytes());
    payload.extend_from_slice(&vec![b'x'; TEXT_BYTES_MAX + 1]);
    let read = decoder().next(&mut sealed(kind::REFUSED, &payload));
    assert_eq!(read, Err(PeerFrameError::Malformed(kind::REFUSED)));
    let later = sealed(kind::REFUSED, &[99, 99, 2, 0, b'n', b'o']).to_vec();
    let read = decoder().next(&mut BytesMut::from(&later[..]));
    assert_eq!(read, Ok(Some(PeerFrame::Refused(Refusal::new(RefusalCode::Unknown, "no")))));
}

#[test]
fn what_a_bundle_carries_is_checked() {
    let good = encoded(&PeerFrame::Bundle(bundle(vec![heartbeat(1, 2)])));
    let mut payload = good[LENGTH_BYTES + KIND_BYTES..good.len() - CRC_BYTES].to_vec();
    // The message begins with its kind, after the group, the clocks and its length.
    let kind_at = 1 + 48 + 4;
    payload[kind_at] = 99;
    let read = decoder().next(&mut sealed(kind::BUNDLE, &payload));
    assert_eq!(read, Err(PeerFrameError::Message(MessageError::Kind(99))));
}

proptest! {
    /// Decoding never panics, and an accepted frame encodes to the same bytes.
    #[test]
    fn noise_is_refused_or_means_something(
        kind in 0_u8..12,
        payload in proptest::collection::vec(any::<u8>(), 0..200),
        begins in any::<bool>(),
    ) {
        let versions = [&MAGIC[..], &VERSION_MIN.to_le_bytes(), &VERSION.to_le_bytes()].concat();
        let payload = if begins { [&versions[..], &payload].concat() } else { payload };
        let _ = decoder().next(&mut BytesMut::from(&payload[..]));
        if let Ok(Some(frame)) = decoder().next(&mut sealed(kind, &payload)) {
            prop_assert_eq!(decoder().next(&mut encoded(&frame)), Ok(Some(frame)));
        }
    }
}
