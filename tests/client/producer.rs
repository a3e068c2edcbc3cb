//! A producer against a server made by hand.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use adjourn_client::{ClientError, Producer, ProducerConfig};
use adjourn_protocol::{ErrorCode, NewJob, Push, PushResult, Request, RequestId, Response, Welcome};
use adjourn_types::JobId;
use adjourn_types::limits::DELAY_MS_MAX;

use crate::client::fake::{FakeServer, Peer, pushed, welcome};

/// Long enough that nothing in these tests waits for it.
const NEVER_MS: u64 = 3_600_000;

async fn batch(peer: &mut Peer) -> (RequestId, Vec<NewJob>) {
    match peer.request().await {
        (id, Request::Push(Push { jobs, .. })) => (id, jobs),
        (_, other) => panic!("a batch was to come, not {other:?}"),
    }
}

#[tokio::test]
async fn jobs_are_sent_in_batches_and_each_hears_its_own_result() {
    let server = FakeServer::start().await;
    let (client, mut peer) = server.client(welcome()).await;
    let config = ProducerConfig { batch_jobs_max: 3, ..ProducerConfig::default() };
    let producer = Producer::new(&client, "t".parse().unwrap(), config);
    let tickets: Vec<_> = (0..5).map(|n| producer.send(NewJob::new(n.to_string()))).collect();
    let (id, jobs) = batch(&mut peer).await;
    assert_eq!(jobs.iter().map(|job| job.body.as_ref()).collect::<Vec<_>>(), [b"0", b"1", b"2"]);
    peer.send(id, pushed(1, 3)).await;
    let (id, jobs) = batch(&mut peer).await;
    assert_eq!(jobs.len(), 2, "the rest has lingered long enough");
    let refused = PushResult::Refused(ErrorCode::KeyExists, Some(JobId(77)));
    peer.send(id, Response::Pushed(vec![PushResult::Kept(JobId(9)), refused])).await;
    let mut results = Vec::new();
    for ticket in tickets {
        results.push(ticket.await.map_err(|error| error.code()));
    }
    let (ok, refused) = (|id| Ok(JobId(id)), Err(Some(ErrorCode::KeyExists)));
    assert_eq!(results, [ok(1), ok(2), ok(3), ok(9), refused]);
    let failure = producer.flush().await.unwrap_err();
    assert!(matches!(failure, ClientError::ItemRefused { job: Some(JobId(77)), .. }));
    producer.flush().await.unwrap();
}

#[tokio::test]
async fn a_job_that_would_spoil_its_batch_is_refused_alone_and_size_ends_a_batch() {
    let server = FakeServer::start().await;
    let small = Welcome { body_bytes_max: 100, frame_bytes_max: 300, ..welcome() };
    let (client, mut peer) = server.client(small).await;
    let config = ProducerConfig { linger_ms: NEVER_MS, ..ProducerConfig::default() };
    let producer = Producer::new(&client, "t".parse().unwrap(), config);
    let jobs = [NewJob::new(vec![0; 101]), NewJob::new("").after(DELAY_MS_MAX + 1)];
    for job in jobs {
        assert!(producer.send(job).await.is_err());
    }
    let tickets = [(); 3].map(|()| producer.send(NewJob::new(vec![0; 100])));
    let (id, jobs) = batch(&mut peer).await;
    assert_eq!(jobs.len(), 2, "a third would not fit");
    peer.send(id, pushed(1, 2)).await;
    drop(producer);
    let (id, jobs) = batch(&mut peer).await;
    assert_eq!(jobs.len(), 1, "what is left is sent when the producer goes");
    peer.send(id, pushed(3, 1)).await;
    for (ticket, id) in tickets.into_iter().zip(1..) {
        assert_eq!(ticket.await.unwrap(), JobId(id));
    }
}
