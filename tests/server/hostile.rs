//! Clients that break the rules: each gets an error or is disconnected, and no other client notices.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::time::{Duration, Instant};

use adjourn_protocol::frame::frame_bytes_max;
use adjourn_protocol::{ErrorCode, Hello, Request, RequestId, Reserve, Response, Subscribe};
use adjourn_types::limits::{BODY_BYTES_MAX_DEFAULT, FRAME_BYTES_MAX_BEFORE_HELLO, SUBSCRIPTIONS_MAX};
use bytes::{BufMut as _, BytesMut};
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use crate::server_rig::{Node, Raw, hello, push, topic};

const PING: u8 = 0x02;

/// A frame whose length field says `length`, whatever follows.
fn frame(length: u32, opcode: u8, id: u32, payload: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    bytes.put_u32_le(length);
    bytes.put_slice(&[opcode, 0, 0, 0]);
    bytes.put_u32_le(id);
    bytes.put_slice(payload);
    bytes
}

/// A node, and a well-behaved client that watches it.
fn watched() -> (tempfile::TempDir, Node, Raw) {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| {});
    let watcher = Raw::greeted(node.address);
    (data, node, watcher)
}

#[test]
fn lengths_that_cannot_be_are_refused_before_hello() {
    let (_data, node, mut watcher) = watched();
    let most = u32::try_from(FRAME_BYTES_MAX_BEFORE_HELLO).expect("small");
    for (length, code) in [
        (0, ErrorCode::Malformed),
        (7, ErrorCode::Malformed),
        (most + 1, ErrorCode::TooLarge),
        (u32::MAX, ErrorCode::TooLarge),
    ] {
        let mut client = Raw::connect(node.address);
        client.send_bytes(&frame(length, 1, 1, b""));
        assert_eq!(client.refusal().code, code, "length {length}");
    }
    assert!(watcher.is_alive());
    node.stop();
}

#[test]
fn lengths_that_cannot_be_are_refused_after_hello() {
    let (_data, node, mut watcher) = watched();
    let most = frame_bytes_max(BODY_BYTES_MAX_DEFAULT);
    for (length, code) in
        [(0, ErrorCode::Malformed), (most + 1, ErrorCode::TooLarge), (u32::MAX, ErrorCode::TooLarge)]
    {
        let mut client = Raw::greeted(node.address);
        client.send_bytes(&frame(length, PING, 2, &[0; 512]));
        assert_eq!(client.refusal().code, code, "length {length}");
    }
    // The largest frame that may be is read, and skipped but for what PING needs: nothing.
    let mut client = Raw::greeted(node.address);
    client.send_bytes(&frame(most, PING, 2, &vec![0xA5; most as usize - 8]));
    assert!(matches!(client.receive(), Some((RequestId(2), Response::Pong { .. }))));
    assert!(client.is_alive() && watcher.is_alive());
    node.stop();
}

#[test]
fn the_first_frame_must_be_hello() {
    let (_data, node, mut watcher) = watched();
    for request in [Request::Ping, Request::Stats, push("t", "body", 0)] {
        let mut client = Raw::connect(node.address);
        client.send(&[request]);
        assert_eq!(client.refusal().code, ErrorCode::Unauthenticated);
    }
    let mut browser = Raw::connect(node.address);
    browser.send_bytes(b"GET / HTTP/1.1\r\nHost: queue\r\n\r\n");
    assert_eq!(browser.refusal().code, ErrorCode::TooLarge);
    assert!(watcher.is_alive());
    node.stop();
}

#[test]
fn versions_that_are_not_spoken_are_refused() {
    let (_data, node, _watcher) = watched();
    for (version_min, version_max) in [(2, 9), (0, 0), (9, 1)] {
        let mut client = Raw::connect(node.address);
        client.send(&[Request::Hello(Hello { version_min, version_max, ..hello() })]);
        let refusal = client.refusal();
        assert_eq!(refusal.code, ErrorCode::Unsupported, "{version_min} to {version_max}");
    }
    let mut newer = Raw::connect(node.address);
    assert_eq!(newer.greet(Hello { version_min: 0, version_max: 900, ..hello() }).version, 1);
    node.stop();
}

#[test]
fn requests_may_follow_hello_at_once_whatever_their_size() {
    let (_data, node, _watcher) = watched();
    let mut client = Raw::connect(node.address);
    client.send(&[Request::Hello(hello()), push("eager", vec![1; 1 << 20], 0), Request::Ping]);
    assert!(matches!(client.receive(), Some((RequestId(1), Response::Welcome(_)))));
    let mut others = [client.receive(), client.receive()].map(|answer| answer.expect("an answer").0.0);
    others.sort_unstable();
    assert_eq!(others, [2, 3]);
    node.stop();
}

#[test]
fn a_frame_that_makes_no_sense_costs_nothing_but_its_answer() {
    let (_data, node, _watcher) = watched();
    let mut client = Raw::greeted(node.address);
    // A PUSH of one job to a topic whose name is too long.
    let push = [&[0; 8][..], &[201], &[b'a'; 201], &[26, 0, 1, 0, 0, 0], &[0; 26]].concat();
    for (opcode, payload, code) in [
        (0xEE, &b""[..], ErrorCode::Unsupported),
        (0x00, b"", ErrorCode::Unsupported),
        (0x10, b"", ErrorCode::Malformed),
        (0x10, &[0xFF; 40], ErrorCode::Malformed),
        (0x10, &push, ErrorCode::TooLarge),
    ] {
        let length = u32::try_from(payload.len()).expect("small") + 8;
        client.send_bytes(&frame(length, opcode, 77, payload));
        let Some((RequestId(77), Response::Error(error))) = client.receive() else { panic!("no error") };
        assert_eq!(error.code, code, "{opcode:#x}: {error}");
    }
    assert!(client.is_alive());
    node.stop();
}

#[test]
fn whoever_is_slow_with_a_frame_or_with_hello_is_closed() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.frame_deadline_ms = 100);
    let mut mute = Raw::connect(node.address);
    assert!(mute.farewell().contains("HELLO"));
    let mut halting = Raw::greeted(node.address);
    halting.send_bytes(&frame(200, PING, 2, &[0; 20]));
    assert!(halting.farewell().contains("100 ms"));
    assert!(Raw::greeted(node.address).is_alive());
    node.stop();
}

#[test]
fn whoever_is_silent_is_closed() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.heartbeat_ms = 100);
    let mut silent = Raw::greeted(node.address);
    assert!(silent.farewell().contains("PING"));
    node.stop();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "real connections live in real time")]
fn whoever_takes_nothing_is_closed_by_the_heartbeat_that_was_agreed_on() {
    let (_data, node, mut watcher) = watched();
    let pushed = watcher.ask(push("large", vec![1; 1 << 20], 0));
    assert!(matches!(pushed, Response::Pushed(_)));
    let mut stuck = Raw::connect(node.address);
    // The server's own is a hundred times as long.
    stuck.greet(Hello { heartbeat_ms: 100, ..hello() });
    stuck.send(&vec![Request::Peek { topic: topic("large") }; 40]);
    let begun = Instant::now();
    while watcher.connections().len() > 1 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it is still connected");
    }
    node.stop();
}

#[test]
fn frames_cut_short_by_the_end_of_the_stream_are_dropped() {
    let (_data, node, mut watcher) = watched();
    let mut whole = BytesMut::new();
    push("cut", "a body that is not whole", 0).encode(RequestId(9), &mut whole);
    for end in 0..whole.len() {
        let mut client = Raw::greeted(node.address);
        client.send_bytes(&whole[..end]);
        client.finish_sending();
        assert_eq!(client.receive(), None, "cut at {end}");
    }
    let Response::Stats(stats) = watcher.ask(Request::Stats) else { panic!("no stats") };
    assert_eq!(stats.totals.pushed, 0, "nothing of them was taken for a job");
    node.stop();
}

#[test]
fn random_bytes_harm_nobody() {
    let (_data, node, mut watcher) = watched();
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    for round in 0..200 {
        let mut client = if round % 2 == 0 { Raw::connect(node.address) } else { Raw::greeted(node.address) };
        let mut noise = vec![0; 1 + rng.next_u32() as usize % 600];
        rng.fill_bytes(&mut noise);
        if round % 4 == 3 {
            // Well delimited, so that it reaches the decoders of payloads.
            let opcode = noise[0] & 0x3F;
            let length = u32::try_from(noise.len()).expect("small") + 8;
            noise = frame(length, opcode, 5, &noise).to_vec();
        }
        client.send_bytes(&noise);
        client.finish_sending();
        while client.receive().is_some() {}
    }
    assert!(watcher.is_alive());
    node.stop();
}

#[test]
fn one_connection_too_many_is_told_so() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.connections_max = 2);
    let mut first = Raw::greeted(node.address);
    let mut second = Raw::greeted(node.address);
    let mut third = Raw::connect(node.address);
    third.send(&[Request::Hello(hello())]);
    assert_eq!(third.refusal().code, ErrorCode::Busy);
    assert!(first.is_alive() && second.is_alive());
    node.stop();
}

#[test]
fn more_in_flight_than_allowed_only_waits() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.in_flight_max = 4);
    let mut client = Raw::greeted(node.address);
    let requests: Vec<Request> = (0..500)
        .map(|number| match number % 3 {
            0 => Request::Ping,
            1 => push("many", "body", 1000),
            _ => Request::Reserve(Reserve {
                topics: vec![topic("none")],
                jobs_max: 1,
                wait_ms: 0,
                weights: Vec::new(),
            }),
        })
        .collect();
    let RequestId(first) = client.send(&requests).expect("a server");
    let mut answered: Vec<u32> = requests.iter().map(|_| client.receive().expect("an answer").0.0).collect();
    answered.sort_unstable();
    assert_eq!(answered, (first..first + 500).collect::<Vec<_>>());
    node.stop();
}

#[test]
fn subscriptions_have_an_end() {
    let (_data, node, mut watcher) = watched();
    let mut client = Raw::greeted(node.address);
    let subscribe = || {
        Request::Subscribe(Subscribe {
            topics: vec![topic("many")],
            credit_jobs: 1,
            credit_bytes: 1,
            weights: Vec::new(),
        })
    };
    for _ in 0..SUBSCRIPTIONS_MAX {
        assert_eq!(client.ask(subscribe()), Response::Subscribed);
    }
    let Response::Error(refused) = client.ask(subscribe()) else { panic!("one too many") };
    assert_eq!(refused.code, ErrorCode::Quota);
    assert!(client.is_alive() && watcher.is_alive());
    node.stop();
}

#[test]
fn a_connection_full_of_long_polls_is_still_heard() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |config| config.in_flight_max = 8);
    let mut client = Raw::greeted(node.address);
    let poll = || {
        Request::Reserve(Reserve {
            topics: vec![topic("none")],
            jobs_max: 1,
            wait_ms: 3_600_000,
            weights: Vec::new(),
        })
    };
    client.send(&[poll(), poll(), poll(), poll()]);
    for _ in 0..20 {
        let Response::Error(refused) = client.ask(poll()) else { panic!("one too many") };
        assert_eq!(refused.code, ErrorCode::Busy);
    }
    assert!(client.is_alive());
    client.finish_sending();
    assert_eq!(client.receive(), None, "its end is heard, too");
    node.stop();
}
