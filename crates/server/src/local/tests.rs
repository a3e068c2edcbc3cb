//! Sessions of this process, with a whole node behind them, and the connection to another member.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{advance, interval, timeout};

use super::super::{Config, Server};
use super::*;
use adjourn_protocol::{Delivered, FrameDecoder, JobRef, NewJob, Push, PushResult, ReleaseKind, Reserve};
use adjourn_types::{Attributes, Fence, JobId, JobState, Millis, SessionSecret};

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
        // Answers come in the order of the core: this caller has the job, and never takes it.
        session.ask(None, Request::Ping).await.expect("an answer");
    }
    let back = async { while shown(&session).await != (JobState::Ready, 0) {} };
    timeout(Duration::from_secs(30), back).await.expect("it goes back");
    drop(session);
    running.stop().await.expect("it stops");
}

async fn shown(session: &Arc<LocalSession>) -> (JobState, u32) {
    match session.ask(None, Request::Get(JobRef::Id(JobId(1)))).await.expect("a job") {
        Response::Job(job) => (job.state.expect("a state"), job.attempts),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_the_session_of_another_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let config = Config { data, listen: "127.0.0.1:0".to_owned(), ..Config::default() };
    let running = Server::start(config).await.expect("it starts");
    let local = running.local();
    let access = |token: &str| Arc::new(Access { token: token.to_owned(), ..Access::open() });
    let (slow, quick) = (access("slow"), access("quick"));
    // As while the search for a leader hangs.
    let of_slow = local.sessions.of("slow");
    let opening = of_slow.lock().await;
    let opened = timeout(Duration::from_secs(30), local.session(&quick)).await;
    let session = opened.expect("it waits for nobody").expect("it leads");
    {
        let mut waits = pin!(local.session(&slow));
        poll_fn(|context| {
            assert!(waits.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(opening);
        waits.await.expect("it leads");
    }
    let again = local.session(&quick).await.expect("it leads");
    assert!(Arc::ptr_eq(&session, &again));
    drop((session, again, local));
    running.stop().await.expect("it stops");
}

#[tokio::test(start_paused = true)]
async fn a_member_is_pinged_though_requests_do_not_pause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let stream = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a stream");
    let (mut member, _) = listener.accept().await.expect("a stream");
    let line = member::talk(Stream::Plain(stream), BytesMut::new(), Arc::default(), Arc::default());
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

/// The leader, as the test plays it.
struct Leader {
    stream: TcpStream,
    bytes: BytesMut,
    decoder: FrameDecoder,
}

impl Leader {
    /// The next request other than PING.
    async fn asked(&mut self) -> (RequestId, Request) {
        loop {
            while let Some(frame) = self.decoder.next(&mut self.bytes).expect("frames") {
                match Request::decode(&frame, 0).expect("a request") {
                    Request::Ping => {}
                    request => return (frame.header.id, request),
                }
            }
            assert!(self.stream.read_buf(&mut self.bytes).await.expect("bytes") > 0, "it is still there");
        }
    }

    async fn answer(&mut self, number: RequestId, response: Response) {
        let mut bytes = BytesMut::new();
        response.encode(number, &mut bytes);
        self.stream.write_all(&bytes).await.expect("sent");
    }
}

/// A session with a leader whose clock shows 10 s.
async fn led() -> (Arc<LocalSession>, Leader) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let stream = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a stream");
    let (leader, _) = listener.accept().await.expect("a stream");
    let mut leader = Leader { stream: leader, bytes: BytesMut::new(), decoder: FrameDecoder::new(1 << 20) };
    let greeting = async {
        let (number, hello) = leader.asked().await;
        assert!(matches!(hello, Request::Hello(_)), "{hello:?}");
        leader.answer(number, Response::Welcome(Box::new(welcome()))).await;
    };
    let access = Arc::new(Access::open());
    let session = LocalSession::with_member(Stream::Plain(stream), BytesMut::new(), access, Opening::SHARED);
    let (session, ()) = tokio::join!(session, greeting);
    (session.expect("greeted"), leader)
}

fn welcome() -> Welcome {
    Welcome {
        version: VERSION,
        server_name: String::new(),
        cluster_id: [1; 16],
        session: adjourn_types::SessionId(1),
        secret: SessionSecret([1; 16]),
        resumed: false,
        leases_kept: false,
        heartbeat_ms: member::HEARTBEAT_MS,
        session_grace_ms: 3_000,
        frame_bytes_max: 1 << 20,
        body_bytes_max: 1 << 20,
        push_jobs_max: 1_024,
        leases_max: 1_024,
        reserve_jobs_max: 1_024,
        in_flight_max: 1_024,
        members: Vec::new(),
        clock_ms: 10_000,
    }
}

/// A job whose lease ends at this time of the leader's clock. The leader saw a second left.
fn leased(fence: u64, deadline_ms: u64) -> Response {
    let job = Delivered {
        lease: Lease { job: JobId(1), fence: Fence(fence) },
        topic: "t".parse().expect("a name"),
        key: None,
        priority: 0,
        attempts: 1,
        due: Millis(0),
        ttr_left_ms: 1_000,
        deadline_ms,
        attributes: Attributes::default(),
        body: "".into(),
    };
    Response::Reserved(vec![job])
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_may_have_ended_under_way_is_given_back_and_not_shown() {
    let (session, mut leader) = led().await;
    let asking = tokio::spawn(async move { session.ask(None, reserve()).await });
    let (number, asked) = leader.asked().await;
    assert!(matches!(asked, Request::Reserve(_)), "{asked:?}");
    // The follower is frozen, or the network is slow.
    advance(Duration::from_millis(1_500)).await;
    leader.answer(number, leased(7, 11_000)).await;
    let (_, release) = leader.asked().await;
    let Request::Release { kind: ReleaseKind::NotStarted, leases, .. } = release else {
        panic!("{release:?}")
    };
    assert_eq!(leases, [Lease { job: JobId(1), fence: Fence(7) }]);
    // The caller has some of its 30 seconds left, and waits for another job.
    let (number, again) = leader.asked().await;
    let Request::Reserve(Reserve { wait_ms: 28_000..=28_500, .. }) = again else { panic!("{again:?}") };
    leader.answer(number, leased(8, 12_500)).await;
    let Ok(Response::Reserved(jobs)) = asking.await.expect("it ends") else { panic!("no jobs") };
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!(job.lease.fence, Fence(8));
    assert!((900..=1_000).contains(&job.ttr_left_ms), "what is left of it now: {}", job.ttr_left_ms);
}
