//! Sessions of this process, with a whole node behind them, and the line to another member.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::BytesMut;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{interval, timeout};

use super::super::{Config, Server};
use super::*;
use crate::protocol::{FrameDecoder, JobRef, NewJob, Push, PushResult, Reserve, Subscribe};
use crate::types::limits::TTR_MS_MIN;
use crate::types::{JobId, JobState, TopicName};

fn reserve() -> Request {
    let topics = vec!["t".parse().expect("a name")];
    Request::Reserve(Reserve { topics, jobs_max: 1, wait_ms: 30_000, weights: Vec::new() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_comes_as_its_asker_leaves_goes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let config = Config { data, listen: "127.0.0.1:0".to_owned(), ..Config::default() };
    let running = Server::start(config).await.expect("it starts");
    let session = running.local().own_session(Arc::new(Access::open()), "test").await.expect("it leads");
    {
        let mut waits = pin!(session.ask(None, reserve()));
        poll_fn(|context| {
            assert!(waits.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        let push = Push {
            topic: "t".parse().expect("a name"),
            sequence: 0,
            jobs: vec![NewJob::new("")],
            idempotency: None,
        };
        let pushed = session.ask(None, Request::Push(push)).await.expect("pushed");
        let Response::Pushed(results) = pushed else { panic!("{pushed:?}") };
        assert!(matches!(results[..], [PushResult::Pushed(JobId(1))]), "{results:?}");
        while shown(&session).await != (JobState::Reserved, 1) {}
        // Answers come in the order of the core: its asker has the job, and never looks.
        session.ask(None, Request::Ping).await.expect("an answer");
    }
    let back = async { while shown(&session).await != (JobState::Ready, 0) {} };
    timeout(Duration::from_secs(30), back).await.expect("it goes back");
    drop(session);
    running.stop().await.expect("it stops");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_runs_while_its_job_is_on_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let config = Config { data, listen: "127.0.0.1:0".to_owned(), ..Config::default() };
    let running = Server::start(config).await.expect("it starts");
    let local = running.local();
    let session = local.own_session(Arc::new(Access::open()), "test").await.expect("it leads");
    let topic: TopicName = "t".parse().expect("a name");
    let (topics, weights) = (vec![topic.clone()], Vec::new());
    let subscribe = Subscribe { topics, credit_jobs: 1, credit_bytes: 1, weights };
    let mut jobs = session.subscribe(Request::Subscribe(subscribe)).await.expect("subscribed");
    let job = NewJob { ttr_ms: TTR_MS_MIN, ..NewJob::new("") };
    let push = Push { topic, sequence: 0, jobs: vec![job], idempotency: None };
    session.ask(None, Request::Push(push)).await.expect("pushed");
    // It was handed over, and is looked at when its lease has ended, as after a stop of the process.
    let ends = async {
        while shown(&session).await != (JobState::Reserved, 1) {}
        while shown(&session).await == (JobState::Reserved, 1) {}
    };
    timeout(Duration::from_secs(30), ends).await.expect("its lease ends");
    assert!(matches!(jobs.next().await, Some(Response::Subscribed)));
    let Some(Response::Deliver(delivered)) = jobs.next().await else { panic!("no job") };
    assert!(delivered.iter().all(|job| job.ttr_left_ms > 0), "it was held when it was handed over");
    assert_eq!(delivered.iter().map(|job| local.lease_left(job)).collect::<Vec<_>>(), [Duration::ZERO]);
    drop((jobs, session));
    running.stop().await.expect("it stops");
}

async fn shown(session: &Arc<LocalSession>) -> (JobState, u32) {
    match session.ask(None, Request::Get(JobRef::Id(JobId(1)))).await.expect("a job") {
        Response::Job(job) => (job.state.expect("a state"), job.attempts),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_is_pinged_though_requests_do_not_pause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let stream = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a stream");
    let (mut member, _) = listener.accept().await.expect("a stream");
    let line = member::talk(Stream::Plain(stream), BytesMut::new(), Arc::default());
    let asking = tokio::spawn(async move {
        let mut ticks = interval(Duration::from_secs(1));
        for number in 1..=5 {
            ticks.tick().await;
            line.send((RequestId(number), reserve())).await.expect("it listens");
        }
    });
    asking.await.expect("asked");
    let mut bytes = BytesMut::new();
    while member.read_buf(&mut bytes).await.expect("bytes") > 0 {}
    let mut decoder = FrameDecoder::new(1 << 20);
    let mut pings = 0;
    while let Some(frame) = decoder.next(&mut bytes).expect("frames") {
        pings += u32::from(matches!(Request::decode(&frame, 0), Ok(Request::Ping)));
    }
    assert_eq!(pings, 2);
}
