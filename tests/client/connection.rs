//! The client over real sockets against a server made by hand: connecting, losing the connection, coming back.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use adjourn_client::{Client, ClientConfig, ClientError, ProtocolFault};
use adjourn_protocol::{
    ErrorCode, ErrorReply, GoingAway, JobRef, Leased, NewJob, PushResult, ReleaseKind, Request, RequestId,
    Reserve, Response, Resume, Subscribe, Welcome,
};
use adjourn_types::{JobId, Millis, SessionId, SessionSecret, TopicName};

use crate::client::fake::{FakeServer, delivered, pushed, resumed, welcome};

fn topic() -> TopicName {
    "t".parse().expect("a name")
}

fn job() -> Vec<NewJob> {
    vec![NewJob::new("body")]
}

fn reserve(wait_ms: u64) -> Reserve {
    Reserve { topics: vec![topic()], jobs_max: 1, wait_ms, weights: Vec::new() }
}

#[tokio::test]
async fn answers_out_of_order_reach_their_calls() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let tickets: Vec<_> = (0..3).map(|_| client.push_detached(&topic(), job()).unwrap()).collect();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(peer.push().await);
    }
    assert_eq!(ids.iter().map(|(_, sequence)| *sequence).collect::<Vec<_>>(), [1, 2, 3]);
    for (id, sequence) in ids.into_iter().rev() {
        peer.send(id, pushed(sequence * 10, 1)).await;
    }
    for (ticket, expected) in tickets.into_iter().zip([10, 20, 30]) {
        assert_eq!(ticket.await.unwrap(), [PushResult::Pushed(JobId(expected))]);
    }
}

#[tokio::test]
async fn a_resumed_session_gets_the_unanswered_pushes_again_under_their_numbers() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let tickets: Vec<_> = (0..3).map(|_| client.push_detached(&topic(), job()).unwrap()).collect();
    peer.push().await;
    let (second, _) = peer.push().await;
    peer.push().await;
    peer.send(second, pushed(20, 1)).await;
    drop(peer);

    let (hello, mut peer) = server.again(resumed()).await;
    let secret = SessionSecret([3; 16]);
    assert_eq!(hello.resume, Some(Resume { session: SessionId(9), secret }));
    for expected in [1, 3] {
        let (id, sequence) = peer.push().await;
        assert_eq!(sequence, expected);
        peer.send(id, pushed(sequence * 10, 1)).await;
    }
    for (ticket, expected) in tickets.into_iter().zip([10, 20, 30]) {
        assert_eq!(ticket.await.unwrap(), [PushResult::Pushed(JobId(expected))]);
    }
    let next = client.push_detached(&topic(), job()).unwrap();
    let (id, sequence) = peer.push().await;
    assert_eq!(sequence, 4);
    peer.send(id, pushed(40, 1)).await;
    next.await.unwrap();
    assert_eq!(client.reconnects(), 1);
}

#[tokio::test]
async fn a_client_without_a_session_repeats_its_pushes_under_their_keys() {
    let server = FakeServer::start().await;
    let config = ClientConfig { without_session: true, ..server.config() };
    let none = || Welcome { session: SessionId::NONE, ..welcome() };
    let (client, mut peer) = server.client_with(config, none()).await;
    let key = |push: &Request| match push {
        Request::Push(push) => (push.sequence, push.idempotency.expect("a key")),
        other => panic!("a push was to come, not {other:?}"),
    };
    let tickets = [(); 2].map(|()| client.push_detached(&topic(), job()).unwrap());
    let first = [key(&peer.request().await.1), key(&peer.request().await.1)];
    assert_eq!((first[0].0, first[0].1.list_jobs), (0, 1));
    assert_ne!(first[0].1.key, first[1].1.key);
    drop(peer);

    let (hello, mut peer) = server.again(none()).await;
    assert_eq!((hello.resume, hello.without_session), (None, true));
    for (number, before) in (1..).zip(first) {
        let (id, again) = peer.request().await;
        assert_eq!(key(&again), before);
        peer.send(id, pushed(number, 1)).await;
    }
    for (ticket, number) in tickets.into_iter().zip(1..) {
        assert_eq!(ticket.await.unwrap(), [PushResult::Pushed(JobId(number))]);
    }
    assert!(matches!(client.reserve(reserve(0)).await, Err(ClientError::NoSession)));
}

#[tokio::test]
async fn a_lost_session_leaves_pushes_unknown_and_repeats_the_rest() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let ticket = client.push_detached(&topic(), job()).unwrap();
    let reader = client.clone();
    let ping = tokio::spawn(async move { reader.topics().await });
    peer.push().await;
    assert_eq!(peer.request().await.1, Request::Topics);
    drop(peer);

    let (_, mut peer) = server.again(Welcome { session: SessionId(10), ..welcome() }).await;
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Topics, "the push is not sent again");
    peer.send(id, Response::Topics(Vec::new())).await;
    assert!(matches!(ticket.await, Err(ClientError::OutcomeUnknown)));
    assert_eq!(ping.await.unwrap().unwrap(), []);
    assert_eq!(client.welcome().session, SessionId(10));
}

/// Under the key there may be another job by then, which somebody else was told is there.
#[tokio::test]
async fn a_delete_by_key_is_not_sent_again() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let delete = |job: JobRef| {
        let client = client.clone();
        tokio::spawn(async move { client.delete(job).await })
    };
    let by_key = JobRef::Key { topic: topic(), key: "k".parse().expect("a key") };
    let (by_key, by_id) = (delete(by_key), delete(JobRef::Id(JobId(7))));
    peer.request().await;
    peer.request().await;
    drop(peer);

    let (_, mut peer) = server.again(resumed()).await;
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Delete(JobRef::Id(JobId(7))));
    let gone = ErrorReply::new(ErrorCode::NotFound, "no such job");
    peer.send(id, Response::Error(gone)).await;
    assert!(matches!(by_key.await.unwrap(), Err(ClientError::OutcomeUnknown)));
    assert!(matches!(by_id.await.unwrap(), Err(ClientError::Refused(_))));
}

#[tokio::test]
async fn a_silent_server_is_asked_and_then_left() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(Welcome { heartbeat_ms: 100, ..welcome() }).await;
    assert_eq!(peer.next().await.map(|(_, request)| request), Some(Request::Ping));
    // No answer. The first connection stays open on this side: only silence tells.
    let (hello, mut peer) = server.again(resumed()).await;
    assert!(hello.resume.is_some());
    tokio::spawn(async move {
        while let Some((id, _)) = peer.next().await {
            peer.send(id, Response::Pong { now: Millis(7), clock_ms: 0 }).await;
        }
    });
    assert_eq!(client.ping().await.unwrap(), Millis(7));
    assert_eq!(client.reconnects(), 1);
}

#[tokio::test]
async fn a_large_push_is_split_and_its_results_joined() {
    let server = FakeServer::start().await;
    let small = Welcome { push_jobs_max: 3, frame_bytes_max: 200, body_bytes_max: 100, ..welcome() };
    let (client, mut peer) = server.client(small).await;
    let sizes = [1, 1, 1, 1, 90, 90, 1];
    let jobs = sizes.into_iter().map(|bytes| NewJob::new(vec![b'x'; bytes])).collect();
    let serve = async {
        for (first, jobs) in [(1, 3), (4, 2), (6, 2)] {
            let (id, sequence) = peer.push().await;
            assert_eq!(sequence, first);
            peer.send(id, pushed(first, jobs)).await;
        }
    };
    let topic = topic();
    let (results, ()) = tokio::join!(client.push(&topic, jobs), serve);
    let ids: Vec<_> = (1..=7).map(|id| PushResult::Pushed(JobId(id))).collect();
    assert_eq!(results.unwrap(), ids);
    let large = client.push(&topic, vec![NewJob::new(vec![0; 101])]).await;
    assert!(matches!(large, Err(ClientError::TooLarge { found: 101, max: 100, .. })), "{large:?}");
}

#[tokio::test]
async fn what_is_no_adjourn_server_is_told_apart() {
    let server = FakeServer::start().await;
    let serve = async {
        let mut peer = server.accept().await;
        peer.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        peer
    };
    let (client, _peer) = tokio::join!(Client::connect(server.config()), serve);
    assert!(matches!(client, Err(ClientError::Protocol(ProtocolFault::Http))), "{client:?}");
}

#[tokio::test]
async fn garbage_ends_what_cannot_be_repeated_and_a_new_connection_is_made() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let ticket = client.push_detached(&topic(), job()).unwrap();
    peer.push().await;
    let kick = tokio::spawn({
        let client = client.clone();
        async move { client.kick(JobRef::Id(JobId(1))).await }
    });
    peer.request().await;
    peer.send_bytes(&[0xff; 64]).await;
    let error = kick.await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Protocol(ProtocolFault::Frame(_))) && error.outcome_unknown());

    let (_, mut peer) = server.again(resumed()).await;
    let (id, sequence) = peer.push().await;
    assert_eq!(sequence, 1, "the push goes on under its number");
    peer.send(id, pushed(1, 1)).await;
    assert_eq!(ticket.await.unwrap(), [PushResult::Pushed(JobId(1))]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_only() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let tickets = [(); 2].map(|()| client.push_detached(&topic(), job()).unwrap());
    let ((first, _), (second, _)) = (peer.push().await, peer.push().await);
    let [i0, i1, i2, i3] = first.0.to_le_bytes();
    peer.send_bytes(&[9, 0, 0, 0, 0x90, 0, 0, 0, i0, i1, i2, i3, 0xff]).await;
    peer.send(second, pushed(2, 1)).await;
    let [first, second] = tickets;
    assert!(matches!(first.await, Err(ClientError::Protocol(ProtocolFault::Decode(_)))));
    assert_eq!(second.await.unwrap(), [PushResult::Pushed(JobId(2))]);
    assert_eq!(client.reconnects(), 0);
}

#[tokio::test]
async fn jobs_for_a_dropped_reserve_are_released() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    {
        let mut call = pin!(client.reserve(reserve(60_000)));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    // Its request is on the way or was never sent: both are right, and this one decides which.
    let second = client.clone();
    let call = tokio::spawn(async move { second.reserve(reserve(60_000)).await });
    let (id, request) = peer.request().await;
    assert!(matches!(request, Request::Reserve(_)));
    call.abort();
    assert!(call.await.is_err());
    peer.send(id, Response::Reserved(vec![delivered(5, 60_000)])).await;
    loop {
        match peer.request().await.1 {
            Request::Release { leases, kind, .. } => {
                assert_eq!((leases, kind), (vec![delivered(5, 1).lease], ReleaseKind::NotStarted));
                break;
            }
            request => {
                assert!(matches!(request, Request::Reserve(_) | Request::Cancel { .. }), "{request:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_dropped_push_is_carried_out_and_later_calls_go_on() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    drop(client.push_detached(&topic(), job()).unwrap());
    let (first, _) = peer.push().await;
    let ticket = client.push_detached(&topic(), job()).unwrap();
    let (second, _) = peer.push().await;
    peer.send(first, pushed(1, 1)).await;
    peer.send(second, pushed(2, 1)).await;
    assert_eq!(ticket.await.unwrap(), [PushResult::Pushed(JobId(2))]);
}

#[tokio::test]
async fn another_cluster_at_the_address_ends_the_client() {
    let server = FakeServer::start().await;
    let (client, peer) = server.client(welcome()).await;
    let call = client.clone();
    let call = tokio::spawn(async move { call.reserve(reserve(60_000)).await });
    drop(peer);
    let (_, _peer) = server.again(Welcome { cluster_id: [2; 16], ..welcome() }).await;
    assert!(matches!(call.await.unwrap(), Err(ClientError::WrongCluster { found: [2, ..], .. })));
    assert!(matches!(client.stats().await, Err(ClientError::WrongCluster { .. })));
}

#[tokio::test]
async fn a_server_that_goes_away_answers_first_and_is_left() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let accepted = client.push_detached(&topic(), job()).unwrap();
    let (id, _) = peer.push().await;
    let message = "stopping".to_owned();
    peer.send(RequestId(0), Response::GoingAway { message, reason: GoingAway::NotLeader }).await;
    peer.send(id, pushed(1, 1)).await;
    assert_eq!(accepted.await.unwrap(), [PushResult::Pushed(JobId(1))]);
    let later = client.push_detached(&topic(), job()).unwrap();
    let (_, mut next) = server.again(resumed()).await;
    let (id, sequence) = next.push().await;
    assert_eq!(sequence, 2);
    next.send(id, pushed(2, 1)).await;
    later.await.unwrap();
    while let Some((_, request)) = peer.next().await {
        assert!(!matches!(request, Request::Push(_)), "nothing new is asked of a server that goes away");
    }
}

#[test]
fn calls_end_when_the_runtime_of_their_client_does() {
    let (own, other) = (tokio::runtime::Runtime::new().unwrap(), tokio::runtime::Runtime::new().unwrap());
    let (client, ticket, _peer) = own.block_on(async {
        let server = FakeServer::start().await;
        let (client, mut peer) = server.client(welcome()).await;
        let ticket = client.push_detached(&topic(), job()).unwrap();
        peer.push().await;
        (client, ticket, peer)
    });
    own.shutdown_background();
    let ended = other.block_on(async { tokio::time::timeout(Duration::from_secs(30), ticket).await });
    assert!(matches!(ended, Ok(Err(ClientError::OutcomeUnknown))), "{ended:?}");
    let later = other.block_on(client.topics());
    assert!(matches!(later, Err(ClientError::Closed)), "{later:?}");
}

/// The runtime ends before the client's task was run at all.
#[test]
fn calls_end_when_their_client_never_began() {
    let (own, other) = (
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        tokio::runtime::Runtime::new().unwrap(),
    );
    let server = other.block_on(FakeServer::start());
    let config = server.config();
    let peer = other.spawn(async move { server.again(welcome()).await });
    let client = own.block_on(Client::connect(config)).unwrap();
    drop(own);
    let ended =
        other.block_on(async { tokio::time::timeout(Duration::from_secs(30), client.topics()).await });
    assert!(matches!(ended, Ok(Err(ClientError::Closed))), "{ended:?}");
    other.block_on(peer).unwrap();
}

#[tokio::test]
async fn the_leader_is_followed() {
    let (follower, leader) = (FakeServer::start().await, FakeServer::start().await);
    let not_leader = || {
        let reply = ErrorReply::new(ErrorCode::NotLeader, "go there");
        Response::Error(ErrorReply { leader: Some(leader.address()), ..reply })
    };
    // At HELLO.
    let serve = async {
        let mut peer = follower.accept().await;
        let (id, _) = peer.next().await.unwrap();
        peer.send(id, not_leader()).await;
        leader.again(welcome()).await.1
    };
    let (client, peer) = tokio::join!(Client::connect(follower.config()), serve);
    let client = client.unwrap();
    // The leader is gone: back to where it began, and there it is another's turn.
    drop(peer);
    let (_, mut peer) = follower.again(resumed()).await;
    let ticket = client.push_detached(&topic(), job()).unwrap();
    let (id, _) = peer.push().await;
    peer.send(id, not_leader()).await;
    let (_, mut peer) = leader.again(resumed()).await;
    let (id, sequence) = peer.push().await;
    assert_eq!(sequence, 1);
    peer.send(id, pushed(1, 1)).await;
    ticket.await.unwrap();
}

#[tokio::test]
async fn a_call_waits_no_longer_than_allowed() {
    let server = FakeServer::start().await;
    let config = ClientConfig { request_timeout_ms: 20, ..server.config() };
    let (client, _peer) = server.client_with(config, welcome()).await;
    let topic = topic();
    let (push, stats) = tokio::join!(client.push(&topic, job()), client.stats());
    assert!(matches!(push, Err(ClientError::OutcomeUnknown)), "{push:?}");
    assert!(matches!(stats, Err(ClientError::Timeout { after_ms: 20 })), "{stats:?}");
}

#[tokio::test]
async fn close_says_goodbye_after_all_else_and_ends_every_clone() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let ticket = client.push_detached(&topic(), job()).unwrap();
    let closing = client.clone();
    let close = tokio::spawn(async move { closing.close().await });
    let (id, _) = peer.push().await;
    let (goodbye, request) = peer.request().await;
    assert_eq!(request, Request::Goodbye);
    assert!(matches!(client.ping().await, Err(ClientError::Closed)));
    peer.send(id, pushed(1, 1)).await;
    peer.send(goodbye, Response::Done).await;
    close.await.unwrap().unwrap();
    ticket.await.unwrap();
    assert_eq!(peer.next().await, None, "the connection is closed");
}

#[tokio::test]
async fn the_last_handle_closes_the_connection() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    drop(client.clone());
    let ticket = client.push_detached(&topic(), job()).unwrap();
    peer.push().await;
    drop(client);
    assert!(matches!(ticket.await, Err(ClientError::OutcomeUnknown)));
    assert_eq!(peer.next().await, None, "without GOODBYE: the session's grace begins");
}

#[tokio::test]
async fn a_client_that_cannot_connect_says_why() {
    let server = FakeServer::start().await;
    let address = server.address();
    drop(server);
    let error = Client::connect(ClientConfig::new(address.clone())).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot connect to {address}: ")), "{error}");

    let server = FakeServer::start().await;
    let serve = async {
        let mut peer = server.accept().await;
        let (id, _) = peer.next().await.unwrap();
        peer.send(id, Response::Error(ErrorReply::new(ErrorCode::Unauthenticated, "wrong token"))).await;
        peer
    };
    let (client, _peer) = tokio::join!(Client::connect(server.config()), serve);
    assert_eq!(client.unwrap_err().code(), Some(ErrorCode::Unauthenticated));

    let silent = FakeServer::start().await;
    let config = ClientConfig { connect_timeout_ms: 20, ..silent.config() };
    let error = Client::connect(config).await.unwrap_err();
    assert!(matches!(error, ClientError::CannotConnect { .. }), "{error:?}");
}

#[tokio::test]
async fn a_subscription_hands_out_jobs_survives_a_reconnect_and_gives_back_the_rest() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let order = Subscribe { topics: vec![topic()], credit_jobs: 4, credit_bytes: 1_000, weights: Vec::new() };
    let expected = Request::Subscribe(order.clone());
    let serve = async {
        let (id, request) = peer.request().await;
        assert_eq!(request, expected);
        peer.send(id, Response::Subscribed).await;
        peer.send(id, Response::Deliver(vec![delivered(1, 60_000)])).await;
    };
    let (subscription, ()) = tokio::join!(client.subscribe(order), serve);
    let mut subscription = subscription.unwrap();
    assert_eq!(subscription.next().await.unwrap().lease.job, JobId(1));
    drop(peer);

    let (_, mut peer) = server.again(resumed()).await;
    let (id, request) = peer.request().await;
    assert_eq!(request, expected);
    peer.send(id, Response::Subscribed).await;
    peer.send(id, Response::Deliver(vec![delivered(2, 60_000), delivered(3, 60_000)])).await;
    assert_eq!(subscription.next().await.unwrap().lease.job, JobId(2));
    drop(subscription);
    assert_eq!(peer.request().await.1, Request::Unsubscribe { subscription: id.0 });
    let leases = vec![delivered(3, 1).lease];
    assert_eq!(
        peer.request().await.1,
        Request::Release { leases, kind: ReleaseKind::NotStarted, reason: None }
    );
}

#[tokio::test]
async fn jobs_that_the_lost_connection_never_brought_are_given_back() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let serve = async {
        let (id, _) = peer.request().await;
        peer.send(id, Response::Reserved(vec![delivered(1, 60_000)])).await;
    };
    let (jobs, ()) = tokio::join!(client.reserve(reserve(0)), serve);
    assert_eq!(jobs.unwrap().len(), 1);
    drop(peer);
    let (_, mut peer) = server.again(resumed()).await;
    let Some((id, Request::Leases { after: JobId(0), .. })) = peer.next().await else {
        panic!("it asks first")
    };
    let jobs = vec![delivered(1, 60_000), delivered(2, 60_000)];
    peer.send(id, Response::Leased(Leased { has_more: false, jobs })).await;
    let (_, released) = peer.request().await;
    let leases = vec![delivered(2, 0).lease];
    assert_eq!(released, Request::Release { leases, kind: ReleaseKind::NotStarted, reason: None });
}

#[tokio::test]
async fn a_subscription_that_is_refused_says_why() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let order = Subscribe { topics: vec![topic()], credit_jobs: 4, credit_bytes: 1_000, weights: Vec::new() };
    let serve = async {
        let (id, _) = peer.request().await;
        peer.send(id, Response::Subscribed).await;
        peer.send(id, Response::Error(ErrorReply::new(ErrorCode::Quota, "no more"))).await;
    };
    let (subscription, ()) = tokio::join!(client.subscribe(order.clone()), serve);
    let mut subscription = subscription.unwrap();
    assert!(subscription.next().await.is_none());
    assert_eq!(subscription.failure().and_then(|error| error.code()), Some(ErrorCode::Quota));
    let serve = async {
        let (id, _) = peer.request().await;
        peer.send(id, Response::Error(ErrorReply::new(ErrorCode::Invalid, "no such topic"))).await;
    };
    let (refused, ()) = tokio::join!(client.subscribe(order), serve);
    assert_eq!(refused.unwrap_err().code(), Some(ErrorCode::Invalid));
}
