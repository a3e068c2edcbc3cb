//! Heartbeats, and the reasons to give up a connection.

use super::*;

#[test]
fn a_heartbeat_is_sent_in_silence_and_silence_ends_the_connection() {
    let mut client = Client::new(welcome());
    let start = client.now;
    let at = |ms| start + Duration::from_millis(ms);
    client.requests.heartbeats.stop_asking();
    assert_eq!(client.requests.beat(at(999)), Beat::Quiet(at(1_000)));
    assert_eq!(client.sent(), []);
    client.requests.heartbeats.heard(at(999));
    assert_eq!(client.requests.beat(at(1_000)), Beat::Quiet(at(2_000)));
    assert_eq!(client.sent(), [ping(0)]);
    assert_eq!(client.requests.beat(at(1_500)), Beat::Quiet(at(2_000)), "one is enough");
    assert_eq!(client.requests.beat(at(2_998)), Beat::Quiet(at(2_999)));
    assert_eq!(client.requests.beat(at(2_999)), Beat::Lost);
}

#[test]
fn each_heartbeat_has_an_id_of_its_own() {
    let mut client = Client::new(welcome());
    let start = client.now;
    let at = |s| start + Duration::from_secs(s);
    client.requests.heartbeats.stop_asking();
    for nth in 0..3 {
        let now = at(u64::from(nth) + 1);
        client.requests.heartbeats.heard(now);
        client.requests.beat(now);
        assert_eq!(client.sent(), [ping(nth)]);
    }
    let pong = || Response::Pong { now: adjourn_types::Millis(1), clock_ms: 0 };
    // The answers come in another order: each one proves its own request.
    client.answer(ping(1).0.0, pong());
    assert_eq!(client.requests.leases.proven(), at(2));
    client.answer(ping(0).0.0, pong());
    assert_eq!(client.requests.leases.proven(), at(2));
    client.refuse(ping(2).0.0, ErrorCode::NotLeader);
    assert!(client.requests.heartbeats.unanswered.is_empty());
    client.answer(ping(2).0.0, pong());
    assert_eq!(client.requests.leases.proven(), at(2), "it was refused");
}

#[test]
fn a_connection_that_is_only_slow_is_kept() {
    let mut client = Client::new(Welcome { heartbeat_ms: 0, ..welcome() });
    let start = client.now;
    let at = |s| start + Duration::from_secs(s);
    let push = client.push(1);
    for seconds in 0..60 {
        client.requests.heartbeats.heard(at(seconds));
        client.requests.heartbeats.moved(at(seconds));
        assert!(matches!(client.requests.beat(at(seconds + 4)), Beat::Quiet(_)), "{seconds} s");
    }
    assert_eq!(client.requests.beat(at(59 + 5)), Beat::Stuck, "nothing moves any more");
    drop(push);
}

#[test]
fn a_server_that_answers_heartbeats_alone_is_left() {
    for (heartbeat_ms, answer_max_ms) in [(0, 5_000), (1_000, 5_000), (10_000, 20_000)] {
        let mut client = Client::new(Welcome { heartbeat_ms, session_grace_ms: 60_000, ..welcome() });
        let start = client.now;
        let beat = |client: &mut Client, ms| {
            client.now = start + Duration::from_millis(ms);
            client.requests.heartbeats.heard(client.now);
            client.requests.heartbeats.spoken(client.now);
            client.requests.beat(client.now)
        };
        assert!(matches!(beat(&mut client, 60_000), Beat::Quiet(_)), "nothing was asked");
        let (push, poll) = (client.push(1), client.call(reserve(30_000)));
        let late = client.now + Duration::from_millis(answer_max_ms);
        match beat(&mut client, 60_000 + answer_max_ms - 1) {
            Beat::Quiet(until) => assert_eq!(until, late, "it is looked at when its time is over"),
            other => panic!("{other:?}"),
        }
        assert_eq!(beat(&mut client, 60_000 + answer_max_ms), Beat::Stuck);
        client.answer(1, pushed(1));
        assert!(
            matches!(beat(&mut client, 60_000 + answer_max_ms), Beat::Quiet(_)),
            "a poll waits on purpose"
        );
        assert_eq!(beat(&mut client, 90_000 + answer_max_ms), Beat::Stuck);
        client.reconnect(resumed());
        assert!(matches!(beat(&mut client, 90_001 + answer_max_ms), Beat::Quiet(_)), "sent anew");
        drop((push, poll));
    }
}
