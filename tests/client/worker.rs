//! A worker against a server made by hand.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use adjourn_client::{
    Cancellation, Cancelled, Client, ClientError, Excess, JobOutcome, Worker, WorkerConfig,
};
use adjourn_protocol::{
    Delivered, ErrorCode, ReleaseKind, Request, RequestId, Response, SettleResult, Welcome,
};
use adjourn_types::limits::REASON_BYTES_MAX;
use adjourn_types::{JobId, Lease};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::client::fake::{FakeServer, Peer, delivered, resumed, welcome};

/// Long enough that nothing in these tests waits for it.
const NEVER_MS: u32 = 3_600_000;

fn worker(concurrency: u32, prefetch: u32) -> WorkerConfig {
    WorkerConfig { concurrency, prefetch, ..WorkerConfig::new("t".parse().unwrap()) }
}

/// A worker that is about to get these jobs; and the id of its subscription.
async fn start<H, F>(
    client: &Client,
    peer: &mut Peer,
    config: WorkerConfig,
    jobs: Vec<Delivered>,
    handler: H,
) -> (Worker, RequestId)
where
    H: Fn(Delivered, Cancellation) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), &'static str>> + Send + 'static,
{
    let serve = async {
        let (id, request) = peer.request().await;
        assert!(matches!(request, Request::Subscribe(_)), "{request:?}");
        peer.send(id, Response::Subscribed).await;
        peer.send(id, Response::Deliver(jobs)).await;
        id
    };
    let (worker, id) = tokio::join!(Worker::start(client, config, handler), serve);
    (worker.unwrap(), id)
}

fn block_until_told(cancellation: &Cancellation) {
    while cancellation.why().is_none() {
        std::thread::yield_now();
    }
}

fn lease(job: u64) -> Vec<Lease> {
    vec![delivered(job, 1).lease]
}

fn settled(result: SettleResult) -> Response {
    Response::Settled(vec![result])
}

#[tokio::test]
async fn a_job_is_finished_or_released_as_its_handler_ends() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let jobs = (1..=3).map(|job| delivered(job, NEVER_MS)).collect();
    let handler = async |job: Delivered, _| match job.lease.job.0 {
        1 => Ok(()),
        2 => Err("out of paper"),
        _ => panic!("a handler may panic"),
    };
    let _worker = start(&client, &mut peer, worker(1, 8), jobs, handler).await;
    let expected = [
        Request::Finish { leases: lease(1) },
        because(2, "out of paper"),
        because(3, "the handler panicked: a handler may panic"),
    ];
    for expected in expected {
        let (id, request) = peer.request().await;
        assert_eq!(request, expected);
        peer.send(id, settled(Ok(()))).await;
    }
}

#[tokio::test]
async fn a_worker_consumes_while_its_subscription_stands() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (worker, _) = start(&client, &mut peer, worker(1, 0), Vec::new(), async |_, _| Ok(())).await;
    assert!(worker.is_consuming() && client.is_connected());
    drop(peer);
    let (_, mut peer) = server.again(resumed()).await;
    assert!(!worker.is_consuming(), "the connection is not there yet");
    let (id, request) = peer.request().await;
    assert!(matches!(request, Request::Subscribe(_)), "{request:?}");
    assert!(client.is_connected() && !worker.is_consuming(), "the server has not confirmed it");
    peer.send(id, Response::Subscribed).await;
    peer.send(id, Response::Deliver(vec![delivered(1, NEVER_MS)])).await;
    let (finish, _) = peer.request().await;
    assert!(worker.is_consuming());
    peer.send(finish, settled(Ok(()))).await;
}

/// A release after a failure.
fn because(job: u64, reason: &str) -> Request {
    let (leases, kind) = (lease(job), ReleaseKind::Backoff);
    Request::Release { leases, kind, reason: Some(reason.to_owned()) }
}

#[tokio::test]
async fn the_text_of_an_error_is_cut() {
    static LONG: LazyLock<String> = LazyLock::new(|| format!("x{}", "ü".repeat(REASON_BYTES_MAX)));
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let handler = async |_, _| Err(LONG.as_str());
    let _worker = start(&client, &mut peer, worker(1, 8), vec![delivered(1, NEVER_MS)], handler).await;
    let (id, request) = peer.request().await;
    assert_eq!(request, because(1, LONG.get(..REASON_BYTES_MAX - 1).expect("it is longer")));
    peer.send(id, settled(Ok(()))).await;
}

#[tokio::test]
async fn a_reason_that_is_too_long_is_refused_before_it_is_sent() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let long = "x".repeat(REASON_BYTES_MAX + 1);
    for refused in [
        client.bury_because(lease(1), &long).await,
        client.release_because(lease(1), ReleaseKind::Backoff, &long).await,
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, ClientError::TooLarge { what: Excess::Reason, .. }), "{error}");
    }
    let answer = async {
        let (id, request) = peer.request().await;
        assert_eq!(request, Request::Bury { leases: lease(1), reason: Some("why".to_owned()) });
        peer.send(id, settled(Ok(()))).await;
    };
    let (buried, ()) = tokio::join!(client.bury_because(lease(1), "why"), answer);
    assert_eq!(buried.unwrap(), [Ok(())]);
}

#[tokio::test]
async fn no_more_handlers_run_than_allowed() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let jobs = (1..=6).map(|job| delivered(job, NEVER_MS)).collect();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (Arc::clone(&running), Arc::clone(&most));
    let handler = move |_, _| {
        let (running, most) = (Arc::clone(&counts.0), Arc::clone(&counts.1));
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    };
    let _worker = start(&client, &mut peer, worker(2, 8), jobs, handler).await;
    for _ in 0..6 {
        let (id, _) = peer.request().await;
        peer.send(id, settled(Ok(()))).await;
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_long_handler_keeps_its_lease() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let enough = Arc::new(Notify::new());
    let waits = Arc::clone(&enough);
    let handler = move |_, _| {
        let waits = Arc::clone(&waits);
        async move {
            waits.notified().await;
            Ok(())
        }
    };
    let jobs = vec![delivered(1, 400)];
    let _worker = start(&client, &mut peer, worker(1, 0), jobs, handler).await;
    for _ in 0..2 {
        let (id, request) = peer.request().await;
        assert_eq!(request, Request::Touch { leases: lease(1), ttr_ms: None });
        peer.send(id, settled(Ok(()))).await;
    }
    enough.notify_one();
    assert_eq!(peer.request().await.1, Request::Finish { leases: lease(1) });
}

#[tokio::test]
async fn a_handler_whose_lease_is_lost_is_dropped_and_settles_nothing() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (alive, mut dropped) = mpsc::channel::<()>(1);
    let handler = move |job: Delivered, _| {
        let alive = alive.clone();
        async move {
            if job.lease.job == JobId(1) {
                std::future::pending::<()>().await;
            }
            drop(alive);
            Ok(())
        }
    };
    let jobs = vec![delivered(1, 200)];
    let (worker, subscription) = start(&client, &mut peer, worker(1, 1), jobs, handler).await;
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Touch { leases: lease(1), ttr_ms: None });
    peer.send(id, settled(Err(ErrorCode::StaleLease))).await;
    peer.send(subscription, Response::Deliver(vec![delivered(2, NEVER_MS)])).await;
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Finish { leases: lease(2) }, "its place is free for the next");
    peer.send(id, settled(Ok(()))).await;
    drop(worker);
    assert_eq!(dropped.recv().await, None, "no handler is left");
}

#[tokio::test]
async fn a_reconnect_without_the_leases_drops_the_handlers() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (alive, mut dropped) = mpsc::channel::<()>(1);
    let (begun, mut begins) = mpsc::unbounded_channel();
    let handler = move |_, _| {
        let alive = alive.clone();
        begun.send(()).unwrap();
        async move {
            let _alive = alive;
            std::future::pending().await
        }
    };
    let jobs = vec![delivered(1, NEVER_MS)];
    let (worker, _) = start(&client, &mut peer, worker(1, 0), jobs, handler).await;
    begins.recv().await.unwrap();
    drop(peer);
    let (_, mut peer) = server.again(Welcome { leases_kept: false, ..resumed() }).await;
    let (id, request) = peer.request().await;
    assert!(matches!(request, Request::Subscribe(_)));
    peer.send(id, Response::Subscribed).await;
    peer.send(id, Response::Deliver(vec![delivered(1, NEVER_MS)])).await;
    begins.recv().await.expect("the only place is free again");
    drop(worker);
    assert_eq!(dropped.recv().await, None);
}

#[tokio::test]
async fn stopping_waits_for_what_runs_and_gives_back_what_waits() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (begun, mut begins) = mpsc::unbounded_channel();
    let handler = move |_, _| {
        let (end, wait) = oneshot::channel();
        begun.send(end).unwrap();
        async move { wait.await.map_err(|_| "dropped") }
    };
    let jobs = vec![delivered(1, NEVER_MS), delivered(2, NEVER_MS)];
    let (worker, subscription) = start(&client, &mut peer, worker(1, 1), jobs, handler).await;
    let end = begins.recv().await.unwrap();
    let stop = tokio::spawn(worker.stop());
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Unsubscribe { subscription: subscription.0 });
    peer.send(id, Response::Done).await;
    assert_eq!(
        peer.request().await.1,
        Request::Release { leases: lease(2), kind: ReleaseKind::NotStarted, reason: None }
    );
    assert!(!stop.is_finished(), "a handler runs");
    end.send(()).unwrap();
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Finish { leases: lease(1) });
    assert!(!stop.is_finished(), "its job is not finished yet");
    peer.send(id, settled(Ok(()))).await;
    stop.await.unwrap().unwrap();
}

/// A server that gives leases back soon after it has lost a client.
fn hasty() -> Welcome {
    Welcome { session_grace_ms: 400, ..welcome() }
}

#[tokio::test]
async fn a_handler_is_told_that_its_connection_is_lost_before_the_server_gives_its_job_away() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(hasty()).await;
    let (told, mut reasons) = mpsc::unbounded_channel();
    let handler = move |_, cancellation: Cancellation| {
        let told = told.clone();
        async move {
            told.send(cancellation.cancelled().await).unwrap();
            std::future::pending().await
        }
    };
    let jobs = vec![delivered(1, NEVER_MS), delivered(2, NEVER_MS)];
    let (_worker, _) = start(&client, &mut peer, worker(1, 1), jobs, handler).await;
    // The network takes everything and brings nothing back.
    assert_eq!(reasons.recv().await, Some(Cancelled::ConnectionLost));
    drop(peer);
    let (_, mut peer) = server.again(Welcome { session_grace_ms: 400, ..resumed() }).await;
    let mut given_back = Vec::new();
    while given_back.len() < 2 {
        match peer.request().await {
            (_, Request::Subscribe(_)) => {}
            (id, Request::Release { leases, .. }) => {
                given_back.extend(leases.iter().map(|lease| lease.job.0));
                peer.send(id, settled(Ok(()))).await;
            }
            (_, other) => panic!("nothing is settled as if it were held: {other:?}"),
        }
    }
    given_back.sort_unstable();
    assert_eq!(given_back, [1, 2], "also what had waited in memory");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_blocking_handler_returns_after_the_loss_settles_nothing() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(hasty()).await;
    let (told, mut reasons) = mpsc::unbounded_channel();
    let handler = move |job: Delivered, cancellation: Cancellation| {
        let told = told.clone();
        async move {
            if job.lease.job == JobId(1) {
                block_until_told(&cancellation);
                told.send(cancellation.why()).unwrap();
            }
            Ok(())
        }
    };
    let jobs = vec![delivered(1, NEVER_MS)];
    let (_worker, _) = start(&client, &mut peer, worker(1, 0), jobs, handler).await;
    assert_eq!(reasons.recv().await, Some(Some(Cancelled::ConnectionLost)));
    drop(peer);
    let (_, mut peer) = server.again(Welcome { session_grace_ms: 400, ..resumed() }).await;
    let mut settling = Vec::new();
    while settling.is_empty() {
        match peer.request().await {
            (id, Request::Subscribe(_)) => peer.send(id, Response::Subscribed).await,
            (_, request) => settling.push(request),
        }
    }
    assert_eq!(settling, [Request::Release { leases: lease(1), kind: ReleaseKind::After(0), reason: None }]);
}

#[tokio::test]
async fn a_handler_hears_that_its_worker_stops_and_may_come_to_its_end() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (begun, mut begins) = mpsc::unbounded_channel();
    let handler = move |_, cancellation: Cancellation| {
        begun.send(()).unwrap();
        async move {
            assert_eq!(cancellation.cancelled().await, Cancelled::WorkerStops);
            Ok(())
        }
    };
    let jobs = vec![delivered(1, NEVER_MS)];
    let (worker, subscription) = start(&client, &mut peer, worker(1, 0), jobs, handler).await;
    begins.recv().await.unwrap();
    let stop = tokio::spawn(worker.stop());
    let mut expected =
        vec![Request::Unsubscribe { subscription: subscription.0 }, Request::Finish { leases: lease(1) }];
    while !expected.is_empty() {
        let (id, request) = peer.request().await;
        let answer = if matches!(request, Request::Finish { .. }) { settled(Ok(())) } else { Response::Done };
        expected.retain(|expected| *expected != request);
        peer.send(id, answer).await;
    }
    stop.await.unwrap().unwrap();
}

/// Takes what a stopping worker asks for until it asks for something else.
async fn after_unsubscribe(peer: &mut Peer, subscription: RequestId) -> (RequestId, Request) {
    loop {
        match peer.request().await {
            (id, Request::Unsubscribe { subscription: left }) => {
                assert_eq!(left, subscription.0);
                peer.send(id, Response::Done).await;
            }
            other => return other,
        }
    }
}

#[tokio::test]
async fn a_handler_says_when_its_job_is_tried_again_or_that_it_is_not() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let serve = async {
        let (id, _) = peer.request().await;
        peer.send(id, Response::Subscribed).await;
        let jobs = (1..=3).map(|job| delivered(job, NEVER_MS)).collect();
        peer.send(id, Response::Deliver(jobs)).await;
    };
    let handler = async |job: Delivered, _| match job.lease.job.0 {
        1 => Ok(JobOutcome::RetryAfter { delay_ms: 5_000, reason: "closed".to_owned() }),
        2 => Ok(JobOutcome::Bury("no such address".to_owned())),
        _ => Err("out of paper"),
    };
    let (worker, ()) = tokio::join!(Worker::start(&client, worker(1, 8), handler), serve);
    let _worker = worker.unwrap();
    let (leases, reason) = (lease(1), Some("closed".to_owned()));
    let expected = [
        Request::Release { leases, kind: ReleaseKind::After(5_000), reason },
        Request::Bury { leases: lease(2), reason: Some("no such address".to_owned()) },
        because(3, "out of paper"),
    ];
    for expected in expected {
        let (id, request) = peer.request().await;
        assert_eq!(request, expected);
        peer.send(id, settled(Ok(()))).await;
    }
}

#[tokio::test]
async fn no_lease_ends_while_its_job_waits_in_memory() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let handler = async |_, _| std::future::pending().await;
    let jobs = vec![delivered(1, NEVER_MS), delivered(2, 400)];
    let (_worker, _) = start(&client, &mut peer, worker(1, 1), jobs, handler).await;
    let (_, request) = peer.request().await;
    assert_eq!(
        request,
        Request::Release { leases: lease(2), kind: ReleaseKind::NotStarted, reason: None },
        "it was not begun: no attempt is lost"
    );
}

#[tokio::test]
async fn a_handler_that_hangs_is_cancelled_and_its_job_released() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (told, mut reasons) = mpsc::unbounded_channel();
    let handler = move |_, cancellation: Cancellation| {
        let told = told.clone();
        async move {
            told.send(cancellation.cancelled().await).unwrap();
            std::future::pending().await
        }
    };
    let config = WorkerConfig { run_ms_max: 50, ..worker(1, 0) };
    let (_worker, _) = start(&client, &mut peer, config, vec![delivered(1, NEVER_MS)], handler).await;
    let (_, request) = peer.request().await;
    assert_eq!(request, because(1, "the handler ran for longer than run_ms_max"));
    assert_eq!(reasons.recv().await, Some(Cancelled::TooLong));
}

/// It blocks its thread, so that it cannot be ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_done_too_late_is_not_done_again() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let handler = |_, cancellation: Cancellation| async move {
        tokio::task::block_in_place(|| block_until_told(&cancellation));
        Ok(())
    };
    // Long enough for a busy machine to begin the handler: one that was not begun is released.
    let config = WorkerConfig { run_ms_max: 400, ..worker(1, 0) };
    let (_worker, _) = start(&client, &mut peer, config, vec![delivered(1, NEVER_MS)], handler).await;
    let (_, request) = peer.request().await;
    assert_eq!(request, Request::Finish { leases: lease(1) });
}

#[tokio::test]
async fn a_stop_ends_though_a_handler_hangs() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (begun, mut begins) = mpsc::unbounded_channel();
    let handler = move |_, _| {
        begun.send(()).unwrap();
        std::future::pending()
    };
    let config = WorkerConfig { stop_timeout_ms: 50, ..worker(1, 0) };
    let jobs = vec![delivered(1, NEVER_MS)];
    let (worker, subscription) = start(&client, &mut peer, config, jobs, handler).await;
    begins.recv().await.unwrap();
    let stop = tokio::spawn(worker.stop());
    let (id, request) = after_unsubscribe(&mut peer, subscription).await;
    let (leases, reason) = (lease(1), Some("the worker stops".to_owned()));
    assert_eq!(request, Request::Release { leases, kind: ReleaseKind::After(0), reason });
    peer.send(id, settled(Ok(()))).await;
    stop.await.unwrap().unwrap();
}

#[tokio::test]
async fn closing_a_client_lets_its_workers_come_to_their_end_first() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (begun, mut begins) = mpsc::unbounded_channel();
    let handler = move |_, _| {
        let (end, wait) = oneshot::channel();
        begun.send(end).unwrap();
        async move { wait.await.map_err(|_| "dropped") }
    };
    let jobs = vec![delivered(1, NEVER_MS)];
    let (_worker, subscription) = start(&client, &mut peer, worker(1, 0), jobs, handler).await;
    let end = begins.recv().await.unwrap();
    let closing = client.clone();
    let close = tokio::spawn(async move { closing.close().await });
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Unsubscribe { subscription: subscription.0 }, "no GOODBYE over a handler");
    peer.send(id, Response::Done).await;
    end.send(()).unwrap();
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Finish { leases: lease(1) });
    peer.send(id, settled(Ok(()))).await;
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Goodbye);
    peer.send(id, Response::Done).await;
    close.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_over_a_handler_that_blocks_leaves_its_lease_alone() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let (begun, mut begins) = mpsc::unbounded_channel();
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let handler = move |_, _| {
        let (begun, wait) = (begun.clone(), Arc::clone(&wait));
        async move {
            begun.send(()).unwrap();
            // It ends with the test.
            let _ = wait.lock().unwrap().recv();
            Ok(())
        }
    };
    let config = WorkerConfig { stop_timeout_ms: 50, ..worker(1, 0) };
    let jobs = vec![delivered(1, NEVER_MS)];
    let (_worker, subscription) = start(&client, &mut peer, config, jobs, handler).await;
    begins.recv().await.unwrap();
    let close = tokio::spawn(async move { client.close().await });
    let (id, request) = peer.request().await;
    assert_eq!(request, Request::Unsubscribe { subscription: subscription.0 });
    peer.send(id, Response::Done).await;
    while let Some((_, request)) = peer.next().await {
        // What a connection asks for by itself.
        let gives_away = !matches!(request, Request::Ping | Request::ClusterStatus);
        assert!(!gives_away, "neither a release nor GOODBYE gives the job away: {request:?}");
    }
    close.await.unwrap().unwrap();
    drop(end);
}
