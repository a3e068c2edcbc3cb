//! Who takes part: a client that reads the headers of frames alone, and somebody who asks for one thing after the other.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use adjourn_protocol::{FrameDecoder, Hello, JobRef, NewJob, Push, Request, RequestId, VERSION, VERSION_MIN};
use adjourn_types::JobId;
use bytes::BytesMut;

use super::{Outcome, topic};

/// Jobs of a push, and leases of a reserve.
pub(super) const AT_ONCE: u32 = 1000;

/// How long somebody waited for each of the answers, the shortest first.
pub(super) struct Waits(Vec<Duration>);

impl Waits {
    /// Asks for the same thing again and again until it is over.
    fn of(mut client: Client, request: &Request, over: &AtomicBool) -> io::Result<Self> {
        let mut waits = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let asked = Instant::now();
            let answered = client.ask(request.clone());
            waits.push(asked.elapsed());
            match answered {
                // A server that was busy for longer than the heartbeat gives the connection up.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                answered => answered?,
            }
        }
        waits.sort_unstable();
        Ok(Self(waits))
    }

    /// Prints them under names that begin with `name`.
    pub(super) fn print(&self, name: &str) {
        let at = |share: usize| self.0.get((self.0.len() * share / 100).min(self.0.len().saturating_sub(1)));
        println!("{name}_asked {}", self.0.len());
        for (what, share) in [("p50", 50), ("p99", 99), ("longest", 100)] {
            println!("{name}_{what}_us {}", at(share).map_or(0, Duration::as_micros));
        }
    }
}

/// Somebody who asks for one thing after the other.
pub(super) struct Watch {
    over: Arc<AtomicBool>,
    watcher: thread::JoinHandle<io::Result<Waits>>,
}

impl Watch {
    /// Asks for job 1.
    pub(super) fn begin(server: SocketAddr) -> Outcome<Self> {
        Ok(Self::with(Client::greeted(server, "")?, Request::Get(JobRef::Id(JobId(1)))))
    }

    /// Asks for this.
    pub(super) fn with(client: Client, request: Request) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        Self { over, watcher: thread::spawn(move || Waits::of(client, &request, &ends)) }
    }

    /// Asks no more, and prints how long each answer took.
    pub(super) fn end(self, name: &str) -> Outcome<()> {
        self.over.store(true, Ordering::Relaxed);
        self.watcher.join().map_err(|_| "the watcher has failed")??.print(name);
        Ok(())
    }
}

/// A client that reads headers alone.
pub(super) struct Client {
    /// Where it writes and reads.
    pub(super) stream: TcpStream,
    decoder: FrameDecoder,
    buffer: BytesMut,
    next_id: u32,
}

impl Client {
    /// One that has said HELLO, with a token if there is one.
    pub(super) fn greeted(server: SocketAddr, token: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        let mut client =
            Self { stream, decoder: FrameDecoder::new(u32::MAX), buffer: BytesMut::new(), next_id: 1 };
        client.ask(Request::Hello(Hello {
            version_min: VERSION_MIN,
            version_max: VERSION,
            client_name: "siege".to_owned(),
            token: token.to_owned().into(),
            ..Hello::default()
        }))?;
        Ok(client)
    }

    /// Pushes this many jobs with bodies of this size.
    pub(super) fn push(&mut self, to: &str, jobs: u32, delay_ms: u64, body_bytes: usize) -> io::Result<()> {
        for _ in 0..jobs.div_ceil(AT_ONCE) {
            let job = NewJob::new(vec![b'x'; body_bytes]).after(delay_ms);
            let jobs = vec![job; AT_ONCE.min(jobs) as usize];
            self.ask(Request::Push(Push { topic: topic(to)?, sequence: 0, jobs, idempotency: None }))?;
        }
        Ok(())
    }

    /// Asks for one thing and waits until it is answered.
    pub(super) fn ask(&mut self, request: Request) -> io::Result<()> {
        let id = self.next_id;
        self.send(&[request])?;
        while self.receive()? != RequestId(id) {}
        Ok(())
    }

    /// Asks for several things at once. They have the numbers that follow each other.
    pub(super) fn send(&mut self, requests: &[Request]) -> io::Result<()> {
        let mut bytes = BytesMut::new();
        for request in requests {
            request.encode(RequestId(self.next_id), &mut bytes);
            self.next_id += 1;
        }
        self.stream.write_all(&bytes)
    }

    /// What the next frame answers.
    pub(super) fn receive(&mut self) -> io::Result<RequestId> {
        loop {
            if let Some(frame) = self.decoder.next(&mut self.buffer).map_err(io::Error::other)? {
                return Ok(frame.header.id);
            }
            let mut bytes = [0; 16 << 10];
            let read = self.stream.read(&mut bytes)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.buffer.extend_from_slice(bytes.get(..read).unwrap_or_default());
        }
    }
}
