//! The client and a real server in one process: what users of the library rely on.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use adjourn_client::{Client, ClientConfig, Producer, ProducerConfig, Worker, WorkerConfig};
use adjourn_protocol::{Delivered, ErrorCode, JobRef, NewJob, PushResult, Reserve, Subscribe};
use adjourn_server::{Running, Server, config::Config};
use adjourn_types::{JobId, PolicyChange, RetryDefaults, TopicName};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};

/// A server and its data.
struct Node {
    running: Running,
    data: TempDir,
}

impl Node {
    async fn start() -> Self {
        let data = TempDir::new().unwrap();
        let running = Server::start(config(&data)).await.unwrap();
        Self { running, data }
    }

    fn config(&self) -> ClientConfig {
        ClientConfig::new(self.running.address().to_string())
    }

    async fn client(&self) -> Client {
        Client::connect(self.config()).await.unwrap()
    }

    /// The same data, after a stop or a crash.
    async fn restart(self, well: bool) -> Self {
        let Self { running, data } = self;
        if well {
            running.stop().await.unwrap();
        } else {
            // Its threads may need a moment to let go of the data.
            drop(running);
        }
        loop {
            match Server::start(config(&data)).await {
                Ok(running) => return Self { running, data },
                Err(error) if well => panic!("{error}"),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }
}

fn config(data: &TempDir) -> Config {
    let (data, listen) = (data.path().to_owned(), "127.0.0.1:0".to_owned());
    Config { data, listen, retry_defaults: RetryDefaults::NONE, ..Config::default() }
}

fn topic() -> TopicName {
    "orders".parse().unwrap()
}

fn reserve(jobs_max: u32) -> Reserve {
    Reserve { topics: vec![topic()], jobs_max, wait_ms: 20_000, weights: Vec::new() }
}

fn jobs(count: u32) -> Vec<NewJob> {
    (0..count).map(|n| NewJob::new(n.to_string())).collect()
}

fn ids(results: &[PushResult]) -> impl Iterator<Item = JobId> {
    results.iter().map(|result| match result {
        PushResult::Pushed(id) => *id,
        other => panic!("{other:?}"),
    })
}

#[tokio::test]
async fn a_pause_that_ends_before_the_rate_is_free_delays_no_longer_than_the_rate() {
    let node = Node::start().await;
    let client = node.client().await;
    let topic: TopicName = "t".parse().unwrap();
    let mut slow = PolicyChange::default();
    slow.set.per_second_max = Some(1);
    client.set_topic(&topic, slow).await.unwrap();
    client.push(&topic, vec![NewJob::new("a"), NewJob::new("b")]).await.unwrap();
    let reserve =
        |wait_ms| Reserve { topics: vec![topic.clone()], jobs_max: 1, wait_ms, weights: Vec::new() };
    assert_eq!(client.reserve(reserve(0)).await.unwrap().len(), 1);
    client.pause_for(&topic, Duration::from_millis(300)).await.unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(client.reserve(reserve(60_000)).await.unwrap().len(), 1);
    assert!(began.elapsed() < Duration::from_secs(30), "the end of the pause did not wake it");
}

#[tokio::test]
async fn one_job_is_reserved_in_a_topic_whose_pause_ends_by_itself() {
    let node = Node::start().await;
    let client = node.client().await;
    let topic: TopicName = "t".parse().unwrap();
    let [first, second] = [
        client.push_one(&topic, NewJob::new("a")).await.unwrap(),
        client.push_one(&topic, NewJob::new("b")).await.unwrap(),
    ];
    client.pause(&topic).await.unwrap();
    client.pause_for(&topic, Duration::from_millis(700)).await.unwrap();
    let settings = client.topic_settings(&topic).await.unwrap();
    assert!(settings.paused && (1..=700).contains(&settings.pause_left_ms), "{settings:?}");
    let job = client.reserve_job(JobRef::Id(second)).await.unwrap();
    assert_eq!((job.lease.job, &job.body[..]), (second, &b"b"[..]), "the pause does not hold it back");
    let refused = client.reserve_job(JobRef::Id(second)).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::Reserved));
    let began = tokio::time::Instant::now();
    let reserve = Reserve { topics: vec![topic.clone()], jobs_max: 9, wait_ms: 30_000, weights: Vec::new() };
    let jobs = client.reserve(reserve).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.lease.job).collect::<Vec<_>>(), [first]);
    assert!(began.elapsed() < Duration::from_secs(20), "it came when the pause ended");
    let settings = client.topic_settings(&topic).await.unwrap();
    assert_eq!((settings.paused, settings.pause_left_ms), (false, 0));
    client.bury(vec![job.lease]).await.unwrap();
    assert_eq!(client.reserve_job(JobRef::Id(second)).await.unwrap().attempts, 2, "a buried one, too");
    client.pause_for(&topic, Duration::from_mins(10)).await.unwrap();
    client.pause_for(&topic, Duration::ZERO).await.unwrap();
    assert!(!client.topic_settings(&topic).await.unwrap().paused);
    assert_eq!(
        client.reserve_job(JobRef::Id(JobId(99))).await.unwrap_err().code(),
        Some(ErrorCode::NotFound)
    );
}

#[tokio::test]
async fn jobs_are_pushed_reserved_in_order_and_finished() {
    let node = Node::start().await;
    let client = node.client().await;
    let pushed = client.push(&topic(), jobs(3)).await.unwrap();
    let reserved = client.reserve(reserve(10)).await.unwrap();
    let leases: Vec<_> = reserved.iter().map(|job| job.lease).collect();
    assert!(ids(&pushed).eq(leases.iter().map(|lease| lease.job)));
    assert_eq!(reserved.iter().map(|job| job.body.as_ref()).collect::<Vec<_>>(), [b"0", b"1", b"2"]);
    assert_eq!(client.finish(leases.clone()).await.unwrap(), [Ok(()); 3]);
    assert_eq!(
        client.finish(leases).await.unwrap(),
        [Ok(()); 3],
        "a repeated finish answers as the first did"
    );
    let totals = client.stats().await.unwrap().totals;
    assert_eq!((totals.pushed, totals.finished, totals.ready, totals.reserved), (3, 3, 0, 0));
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_subscription_holds_no_more_than_its_credit() {
    let node = Node::start().await;
    let client = node.client().await;
    client.push(&topic(), jobs(6)).await.unwrap();
    let order = Subscribe { topics: vec![topic()], credit_jobs: 2, credit_bytes: 1_000, weights: Vec::new() };
    let mut subscription = client.subscribe(order).await.unwrap();
    let mut held = vec![subscription.next().await.unwrap(), subscription.next().await.unwrap()];
    for left in (0..6).rev() {
        let totals = client.stats().await.unwrap().totals;
        assert_eq!(totals.reserved + totals.ready, left + 1);
        assert!(totals.reserved <= 2, "{totals:?}");
        client.finish(vec![held.remove(0).lease]).await.unwrap();
        if left >= 2 {
            held.push(subscription.next().await.unwrap());
        }
    }
    assert_eq!(client.stats().await.unwrap().totals.finished, 6);
}

#[tokio::test]
async fn a_worker_handles_what_a_producer_sends_and_tries_again_what_failed() {
    const JOBS: usize = 300;
    let node = Node::start().await;
    let client = node.client().await;
    let producer = Producer::new(&client, topic(), ProducerConfig::default());
    for n in 0..JOBS {
        drop(producer.send(NewJob::new(n.to_string())));
    }
    producer.flush().await.unwrap();
    let (done, mut dones) = mpsc::unbounded_channel();
    let handler = move |job: Delivered, _| {
        let done = done.clone();
        async move {
            if job.lease.job.0.is_multiple_of(10) && job.attempts == 1 {
                return Err("not the first time");
            }
            done.send(job.lease.job).unwrap();
            Ok(())
        }
    };
    let worker = Worker::start(&client, WorkerConfig::new(topic()), handler).await.unwrap();
    let mut seen = BTreeSet::new();
    while seen.len() < JOBS {
        assert!(seen.insert(dones.recv().await.unwrap()), "no job is handled twice");
    }
    worker.stop().await.unwrap();
    let totals = client.stats().await.unwrap().totals;
    assert_eq!((totals.finished, totals.ready, totals.reserved), (JOBS as u64, 0, 0));
}

#[tokio::test]
async fn a_lost_connection_keeps_session_and_leases() {
    let node = Node::start().await;
    let proxy = Proxy::start(node.running.address()).await;
    let client = proxy.client().await;
    client.push(&topic(), jobs(1)).await.unwrap();
    let reserved = client.reserve(reserve(1)).await.unwrap();
    let session = client.welcome().session;
    proxy.cut.notify_waiters();
    client.ping().await.unwrap();
    assert_eq!((client.reconnects(), client.welcome().session), (1, session));
    assert!(client.welcome().leases_kept);
    assert_eq!(client.finish(vec![reserved[0].lease]).await.unwrap(), [Ok(())]);
}

#[tokio::test]
async fn closing_gives_leases_back_unless_they_outlive_it() {
    let node = Node::start().await;
    let client = node.client().await;
    client.push(&topic(), jobs(1)).await.unwrap();
    client.reserve(reserve(1)).await.unwrap();
    client.close().await.unwrap();

    let config = ClientConfig { leases_outlive: true, ..node.config() };
    let outlived = Client::connect(config).await.unwrap();
    let again = outlived.reserve(reserve(1)).await.unwrap();
    assert_eq!(again[0].attempts, 2);
    outlived.close().await.unwrap();
    let other = node.client().await;
    assert_eq!(other.finish(vec![again[0].lease]).await.unwrap(), [Ok(())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_while_pushing_lose_nothing_and_double_nothing() {
    const PUSHES: usize = 600;
    const BATCH: u32 = 5;
    let mut node = Node::start().await;
    let proxy = Proxy::start(node.running.address()).await;
    let client = proxy.client().await;
    let (count, mut answers) = mpsc::unbounded_channel();
    let pusher = {
        let client = client.clone();
        tokio::spawn(async move {
            let mut window = std::collections::VecDeque::new();
            let mut seen = BTreeSet::new();
            for n in 0..PUSHES + 32 {
                if n < PUSHES {
                    let jobs = jobs(BATCH).into_iter().map(|job| job.after(3_600_000)).collect();
                    window.push_back(client.push_detached(&topic(), jobs).unwrap());
                }
                if window.len() > 32 || n >= PUSHES {
                    for id in ids(&window.pop_front().unwrap().await.unwrap()) {
                        assert!(seen.insert(id), "one id, one job");
                    }
                    count.send(()).unwrap();
                }
            }
            seen
        })
    };
    // One restart each time that a quarter is answered, so that each meets pushes under way.
    for well in [true, false, true] {
        for _ in 0..PUSHES / 4 {
            answers.recv().await.unwrap();
        }
        node = node.restart(well).await;
        proxy.server.send_replace(node.running.address());
    }
    let seen = pusher.await.unwrap();
    let expected = PUSHES * BATCH as usize;
    assert_eq!(seen.len(), expected);
    let totals = client.stats().await.unwrap().totals;
    assert_eq!((totals.pushed, totals.delayed), (expected as u64, expected as u64));
    assert!(client.reconnects() >= 3);
}

/// Waits until this number of reserves of all clients wait, which must come soon.
async fn until_waiting(watcher: &Client, reserves: u32) {
    let waiting = async || {
        let list = watcher.connections().await.unwrap();
        list.iter().map(|one| one.reserves).sum::<u32>()
    };
    let come = async { while waiting().await != reserves {} };
    tokio::time::timeout(Duration::from_secs(20), come).await.unwrap();
}

#[tokio::test]
async fn a_reserve_that_is_dropped_waits_no_longer() {
    let node = Node::start().await;
    let (client, watcher) = (node.client().await, node.client().await);
    tokio::select! {
        jobs = client.reserve(Reserve { wait_ms: 3_600_000, ..reserve(1) }) => panic!("{jobs:?}"),
        () = until_waiting(&watcher, 1) => {}
    }
    until_waiting(&watcher, 0).await;
    client.push(&topic(), jobs(1)).await.unwrap();
    let reserved = watcher.reserve(reserve(1)).await.unwrap();
    assert_eq!(watcher.leases().await.unwrap().len(), 1);
    assert_eq!(watcher.leases().await.unwrap()[0].lease, reserved[0].lease);
    assert_eq!((reserved[0].attempts, client.leases().await.unwrap()), (1, Vec::new()));
}

#[tokio::test]
async fn all_leases_are_found_page_by_page() {
    let node = Node::start().await;
    let client = node.client().await;
    let count = client.welcome().reserve_jobs_max + 10;
    client.push(&topic(), jobs(count)).await.unwrap();
    let mut held = client.reserve(reserve(count)).await.unwrap();
    held.extend(client.reserve(reserve(count)).await.unwrap());
    let leases = |jobs: &[Delivered]| jobs.iter().map(|job| job.lease).collect::<BTreeSet<_>>();
    let found = client.leases().await.unwrap();
    assert_eq!((found.len(), leases(&found)), (count as usize, leases(&held)));
    assert!(found.is_sorted_by_key(|job| job.lease.job));
}

#[tokio::test]
async fn a_client_that_is_disconnected_comes_back_with_its_session() {
    let node = Node::start().await;
    let config = ClientConfig { name: "billing".to_owned(), ..node.config() };
    let (client, operator) = (Client::connect(config).await.unwrap(), node.client().await);
    client.push(&topic(), jobs(1)).await.unwrap();
    let job = client.reserve(reserve(1)).await.unwrap().remove(0);
    let list = operator.connections().await.unwrap();
    let billing = list.iter().find(|one| one.client_name == "billing").unwrap();
    assert_eq!((billing.leases, billing.session), (1, Some(client.welcome().session)));
    operator.disconnect(billing.connection, false).await.unwrap();
    // Within the grace: it waits some seconds before it connects again.
    assert_eq!(client.finish(vec![job.lease]).await.unwrap(), [Ok(())]);
    assert_eq!(client.reconnects(), 1);
    let again = operator.disconnect(billing.connection, true).await.unwrap_err();
    assert_eq!(again.code(), Some(ErrorCode::NotFound));
}

/// Carries bytes between clients and a server. It can be cut, and turned to another server: so a server that starts
/// again need not get the port that it had, which something else may have taken.
struct Proxy {
    address: SocketAddr,
    cut: Arc<Notify>,
    server: watch::Sender<SocketAddr>,
}

impl Proxy {
    async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(Notify::new());
        let cuts = Arc::clone(&cut);
        let (server, servers) = watch::channel(server);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let (cuts, server) = (Arc::clone(&cuts), *servers.borrow());
                tokio::spawn(async move {
                    // A server that is down is a connection that ends at once.
                    let Ok(mut far) = TcpStream::connect(server).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        () = cuts.notified() => {}
                    }
                });
            }
        });
        Self { address, cut, server }
    }

    async fn client(&self) -> Client {
        Client::connect(ClientConfig::new(self.address.to_string())).await.unwrap()
    }
}
