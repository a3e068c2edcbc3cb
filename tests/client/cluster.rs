//! The client and a cluster whose nodes are made by hand: it finds the leader, follows it, and pushes nothing twice.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use adjourn_client::{Client, ClientConfig, ClientError};
use adjourn_protocol::{
    Applied, ClusterReport, ErrorCode, ErrorReply, GoingAway, Hello, Member, MemberReport, NewJob,
    PushResult, Request, RequestId, Reserve, Response, Role, SettleResult, Subscribe, Welcome,
};
use adjourn_types::{JobId, Lease, SessionId, TopicName};

use crate::client::fake::{FakeServer, Peer, delivered, no_leader, not_leader, pushed, resumed, welcome};

fn topic() -> TopicName {
    "t".parse().expect("a name")
}

fn job() -> Vec<NewJob> {
    vec![NewJob::new("body")]
}

/// An address on which no process listens any more.
async fn nobody() -> String {
    FakeServer::start().await.address()
}

/// A client that knows several addresses.
fn config(addresses: &[&str]) -> ClientConfig {
    ClientConfig { reconnect_wait_ms_max: 5, ..ClientConfig::new(addresses.join(",")) }
}

/// A welcome that names these members.
fn of_members(members: &[&FakeServer]) -> Welcome {
    let member =
        |(node, server): (u64, &&FakeServer)| Member { node, address: server.address(), leader: node == 1 };
    Welcome { members: (1..).zip(members).map(member).collect(), ..welcome() }
}

async fn going_away(peer: &mut Peer) {
    let message = "another node leads".to_owned();
    peer.send(RequestId(0), Response::GoingAway { message, reason: GoingAway::NotLeader }).await;
}

fn report(node: u64, leader: Option<u64>) -> ClusterReport {
    let member = MemberReport {
        node,
        role: Role::Voter,
        peer_address: "a:2".to_owned(),
        client_address: "a:1".to_owned(),
        is_connected: true,
        matched: Some(7),
        applied: Some(7),
        ahead_ms: Some(-1),
        audited: 64,
        same_state: Some(true),
    };
    ClusterReport {
        node,
        cluster_id: [1; 16],
        leader,
        term: 3,
        last: 8,
        commit: 7,
        feature_level: 1,
        members: vec![member],
    }
}

#[tokio::test]
async fn the_first_connection_finds_the_leader_behind_a_dead_a_silent_and_a_following_node() {
    let (silent, follower, leader) =
        (FakeServer::start().await, FakeServer::start().await, FakeServer::start().await);
    let addresses = [&nobody().await, &silent.address(), &follower.address()].map(String::clone);
    let config =
        ClientConfig { connect_timeout_ms: 2_000, ..config(&addresses.each_ref().map(String::as_str)) };
    let serve = async {
        let _refused = follower.refuse(not_leader(&leader.address(), Applied::No)).await;
        leader.again(welcome()).await
    };
    let (client, (hello, _peer)) = tokio::join!(Client::connect(config), serve);
    assert_eq!((client.unwrap().welcome().session, hello.resume), (SessionId(9), None));
}

#[tokio::test]
async fn while_nobody_leads_the_client_asks_again() {
    let server = FakeServer::start().await;
    let serve = async {
        for _ in 0..2 {
            let _refused = server.refuse(no_leader()).await;
        }
        server.again(welcome()).await.1
    };
    let (client, mut peer) = tokio::join!(Client::connect(server.config()), serve);
    let client = client.unwrap();
    let ticket = client.push_detached(&topic(), job()).unwrap();
    let (id, _) = peer.push().await;
    peer.send(id, Response::Error(ErrorReply { applied: Applied::Unknown, ..no_leader() })).await;
    let _refused = server.refuse(no_leader()).await;
    let (_, mut peer) = server.again(resumed()).await;
    let (id, sequence) = peer.push().await;
    assert_eq!(sequence, 1);
    peer.send(id, pushed(1, 1)).await;
    assert_eq!(ticket.await.unwrap(), [PushResult::Pushed(JobId(1))]);
}

#[tokio::test]
async fn a_leader_that_is_named_and_does_not_answer_is_passed_over() {
    let (old, silent, new) =
        (FakeServer::start().await, FakeServer::start().await, FakeServer::start().await);
    for hint in [nobody().await, silent.address()] {
        let config = ClientConfig { connect_timeout_ms: 100, ..old.config() };
        let (client, mut peer) = old.client_with(config, of_members(&[&old, &new])).await;
        let ticket = client.push_detached(&topic(), job()).unwrap();
        let (id, _) = peer.push().await;
        peer.send(id, Response::Error(not_leader(&hint, Applied::No))).await;
        // The one that was configured does not know better. The other was learned from WELCOME.
        let _refused = old.refuse(not_leader(&hint, Applied::No)).await;
        let (hello, mut peer) = new.again(resumed()).await;
        assert_eq!(hello.resume.map(|resume| resume.session), Some(SessionId(9)));
        let (id, sequence) = peer.push().await;
        assert_eq!(sequence, 1);
        peer.send(id, pushed(1, 1)).await;
        ticket.await.unwrap();
    }
}

#[tokio::test]
async fn while_nobody_leads_that_is_what_a_client_says_that_gives_up() {
    let server = FakeServer::start().await;
    let addresses = [server.address(), nobody().await];
    let config =
        ClientConfig { connect_timeout_ms: 100, ..config(&addresses.each_ref().map(String::as_str)) };
    let refuse = async {
        for _ in 0..u32::MAX {
            let _refused = server.refuse(no_leader()).await;
        }
    };
    let error = tokio::select! {
        client = Client::connect(config) => client.unwrap_err(),
        () = refuse => unreachable!("it refuses for ever"),
    };
    assert_eq!(error.code(), Some(ErrorCode::NoLeader), "not that another address cannot be reached");
}

/// A queue as it is behind every leader: it takes each number of a session once.
#[derive(Default)]
struct Taken(BTreeMap<u64, JobId>);

impl Taken {
    fn take(&mut self, sequence: u64) -> Response {
        let id = JobId(100 + self.0.len() as u64);
        Response::Pushed(vec![PushResult::Pushed(*self.0.entry(sequence).or_insert(id))])
    }
}

#[tokio::test]
async fn pushes_survive_a_failover_in_their_order_and_none_makes_a_second_job() {
    let (old, new) = (FakeServer::start().await, FakeServer::start().await);
    let (client, mut peer) = old.client(of_members(&[&old, &new])).await;
    let tickets: Vec<_> = (0..6).map(|_| client.push_detached(&topic(), job()).unwrap()).collect();
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(peer.push().await.0);
    }
    let mut queue = Taken::default();
    let [first, second, third, fourth, fifth, _] = ids.try_into().unwrap();
    let answer = queue.take(1);
    peer.send(first, answer).await;
    // Two were proposed: the new leader has the one and not the other.
    queue.take(2);
    for (id, applied) in [(fourth, Applied::No), (second, Applied::Unknown), (third, Applied::Unknown)] {
        peer.send(id, Response::Error(not_leader(&new.address(), applied))).await;
    }
    peer.send(fifth, Response::Error(not_leader(&new.address(), Applied::No))).await;
    // The answer to the last is lost with the connection.
    drop(peer);
    let later = client.push_detached(&topic(), job()).unwrap();

    let (_, mut peer) = new.again(resumed()).await;
    let mut order = Vec::new();
    for _ in 0..6 {
        let (id, sequence) = peer.push().await;
        order.push(sequence);
        peer.send(id, queue.take(sequence)).await;
    }
    assert_eq!(order, [2, 3, 4, 5, 6, 7]);
    let mut jobs = Vec::new();
    for ticket in tickets.into_iter().chain([later]) {
        jobs.extend(ticket.await.unwrap());
    }
    assert_eq!(jobs, (100..107).map(|id| PushResult::Pushed(JobId(id))).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_reserve_and_a_finish_follow_the_leader() {
    let (old, new) = (FakeServer::start().await, FakeServer::start().await);
    let (client, mut peer) = old.client(welcome()).await;
    let reserve = Reserve { topics: vec![topic()], jobs_max: 1, wait_ms: 60_000, weights: Vec::new() };
    let leases = vec![delivered(1, 60_000).lease];
    let serve = async {
        for (applied, expected) in [(Applied::No, "Reserve"), (Applied::Unknown, "Finish")] {
            let (id, request) = peer.request().await;
            assert!(format!("{request:?}").starts_with(expected), "{request:?}");
            peer.send(id, Response::Error(not_leader(&new.address(), applied))).await;
        }
        going_away(&mut peer).await;
        let (_, mut peer) = new.again(resumed()).await;
        let (poll, request) = peer.request().await;
        assert!(matches!(request, Request::Reserve(_)), "{request:?}");
        let (finish, request) = peer.request().await;
        assert!(matches!(request, Request::Finish { .. }), "{request:?}");
        peer.send(finish, Response::Settled(vec![Ok(())])).await;
        peer.send(poll, Response::Reserved(vec![delivered(2, 60_000)])).await;
        peer
    };
    let (jobs, settled, _peer) = tokio::join!(client.reserve(reserve), client.finish(leases), serve);
    assert_eq!(jobs.unwrap().first().map(|job| job.lease.job), Some(JobId(2)));
    assert_eq!(settled.unwrap(), [SettleResult::Ok(())]);
}

#[tokio::test]
async fn an_open_subscription_follows_the_leader_and_its_leases_are_good_there() {
    let (old, new) = (FakeServer::start().await, FakeServer::start().await);
    let (client, mut peer) = old.client(welcome()).await;
    let order = Subscribe { topics: vec![topic()], credit_jobs: 4, credit_bytes: 1_000, weights: Vec::new() };
    let expected = Request::Subscribe(order.clone());
    let serve = async {
        let (id, request) = peer.request().await;
        assert_eq!(request, expected);
        peer.send(id, Response::Subscribed).await;
        peer.send(id, Response::Deliver(vec![delivered(1, 60_000), delivered(2, 60_000)])).await;
        id
    };
    let (subscription, id) = tokio::join!(client.subscribe(order), serve);
    let mut subscription = subscription.unwrap();
    let held: Lease = subscription.next().await.unwrap().lease;
    peer.send(id, Response::Error(not_leader(&new.address(), Applied::No))).await;
    going_away(&mut peer).await;

    let (_, mut at_new) = new.again(resumed()).await;
    let (again, request) = at_new.request().await;
    assert_eq!((again, request), (id, expected));
    at_new.send(again, Response::Subscribed).await;
    at_new.send(again, Response::Deliver(vec![delivered(3, 60_000)])).await;
    for job in [2, 3] {
        assert_eq!(subscription.next().await.unwrap().lease.job, JobId(job));
    }
    let serve = async {
        let (id, request) = at_new.request().await;
        assert_eq!(request, Request::Finish { leases: vec![held] });
        at_new.send(id, Response::Settled(vec![Ok(())])).await;
    };
    let (settled, ()) = tokio::join!(client.finish(vec![held]), serve);
    assert_eq!(settled.unwrap(), [SettleResult::Ok(())]);
    assert!(subscription.failure().is_none());
    assert_eq!(peer.next().await, None, "the old leader is left");
}

#[tokio::test]
async fn changes_of_the_cluster_are_asked_for_once() {
    let (old, new) = (FakeServer::start().await, FakeServer::start().await);
    let (client, mut peer) = old.client(welcome()).await;
    let asked = [
        Request::ClusterStatus,
        Request::ClusterAdd { address: "new:2".to_owned() },
        Request::ClusterTransfer { node: 0 },
        Request::ClusterRemove { node: 2 },
    ];
    let serve = async {
        for expected in &asked[..3] {
            let (id, request) = peer.request().await;
            assert_eq!(request, *expected);
            let is_status = request == Request::ClusterStatus;
            let answer =
                if is_status { Response::Cluster(Box::new(report(1, Some(1)))) } else { Response::Done };
            peer.send(id, answer).await;
        }
        let (id, request) = peer.request().await;
        assert_eq!(request, asked[3]);
        peer.send(id, Response::Error(not_leader(&new.address(), Applied::Unknown))).await;
        let (_, mut peer) = new.again(resumed()).await;
        let (id, request) = peer.request().await;
        assert_eq!(request, Request::Topics, "what may have been done is not done again");
        peer.send(id, Response::Topics(Vec::new())).await;
        peer
    };
    let ask = async {
        assert_eq!(client.cluster_status().await.unwrap(), report(1, Some(1)));
        client.cluster_add("new:2").await.unwrap();
        client.cluster_transfer(None).await.unwrap();
        let error = client.cluster_remove(2).await.unwrap_err();
        assert!(error.outcome_unknown() && error.code() == Some(ErrorCode::NotLeader), "{error:?}");
        client.topics().await.unwrap();
    };
    tokio::join!(ask, serve);
}

/// Answers `CLUSTER_STATUS`, which must come next.
async fn tell(peer: &mut Peer, answer: ClusterReport) {
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::ClusterStatus);
    peer.send(id, Response::Cluster(Box::new(answer))).await;
}

#[tokio::test]
async fn any_node_is_asked_directly_whether_or_not_it_leads() {
    let server = FakeServer::start().await;
    let addresses = [nobody().await, server.address()];
    let config = config(&addresses.each_ref().map(String::as_str));
    for (refusal, leader) in [(not_leader("a:1", Applied::No), Some(2)), (no_leader(), None)] {
        let serve = async {
            let mut peer = server.refuse(refusal).await;
            tell(&mut peer, report(3, leader)).await;
            assert_eq!(peer.next().await, None, "there is no session to end");
        };
        let (found, ()) = tokio::join!(Client::cluster_status_of(&config), serve);
        assert_eq!(found.unwrap(), report(3, leader));
    }
    let serve = async {
        let (hello, mut peer): (Hello, Peer) = server.again(welcome()).await;
        tell(&mut peer, report(1, Some(1))).await;
        let (id, request) = peer.request().await;
        assert_eq!((hello.resume, request), (None, Request::Goodbye));
        peer.send(id, Response::Done).await;
    };
    let (found, ()) = tokio::join!(Client::cluster_status_of(&config), serve);
    assert_eq!(found.unwrap(), report(1, Some(1)));
}

#[tokio::test]
async fn a_node_that_lays_leadership_down_is_asked_once_more_and_a_refusal_is_told() {
    let server = FakeServer::start().await;
    let serve = async {
        drop(server.refuse(no_leader()).await);
        tell(&mut server.refuse(no_leader()).await, report(1, None)).await;
    };
    let config = server.config();
    let (found, ()) = tokio::join!(Client::cluster_status_of(&config), serve);
    assert_eq!(found.unwrap().leader, None);

    let refusal = ErrorReply::new(ErrorCode::Unauthenticated, "wrong token");
    let (found, _peer) = tokio::join!(Client::cluster_status_of(&config), server.refuse(refusal));
    assert_eq!(found.unwrap_err().code(), Some(ErrorCode::Unauthenticated));

    let gone = ClientConfig::new(nobody().await);
    assert!(matches!(Client::cluster_status_of(&gone).await, Err(ClientError::CannotConnect { .. })));
}
