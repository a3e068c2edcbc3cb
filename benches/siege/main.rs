//! What one client can cost the others: how long somebody else waits meanwhile, and how much memory the server takes.
//!
//! Works on a server that runs already, alone or the leader of a cluster, with an empty queue. Prints one `NAME NUMBER` a line, for
//! scripts. Of what the server says only the headers of frames are read: so servers of other versions can be compared.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use adjourn_protocol::{NewJob, Push, Request, RequestId, Reserve, Subscribe};
use adjourn_types::TopicName;
use bytes::BytesMut;
use clap::{Parser, Subcommand};
use client::{AT_ONCE, Client, Watch};
use tenants::Tenants;

mod client;
mod tenants;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// How long others wait while one client asks for a lot
#[derive(Parser)]
struct Siege {
    /// The server
    #[arg(long, default_value = "127.0.0.1:7440", global = true)]
    server: SocketAddr,
    #[command(subcommand)]
    part: Part,
    /// What `cargo bench` adds
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Clone, Subcommand)]
enum Part {
    /// Connections pipeline PEEKs of a topic with one delayed job, among many of another
    Peeks {
        /// Delayed jobs of the other topic
        #[arg(long, default_value_t = 164_000)]
        jobs: u32,
        /// Connections
        #[arg(long, default_value_t = 1)]
        connections: u32,
        /// PEEKs of each
        #[arg(long, default_value_t = 1024)]
        peeks: u32,
    },
    /// A session goes that holds very many leases
    Lapse {
        /// Leases
        #[arg(long, default_value_t = 1_000_000)]
        leases: u32,
        /// The server's `session_grace_ms`
        #[arg(long, default_value_t = 10_000)]
        grace_ms: u64,
    },
    /// Connections push large jobs without a pause, while another one pipelines PEEKs
    Pushes {
        /// The server's process
        #[arg(long)]
        pid: u32,
        /// Connections
        #[arg(long, default_value_t = 8)]
        connections: u32,
        /// How long
        #[arg(long, default_value_t = 15)]
        seconds: u64,
    },
    /// A tenant asks for what costs much, another one pushes; benches/tenants starts the servers for it
    Tenants(Tenants),
}

fn main() -> Outcome<()> {
    let Siege { server, part, .. } = Siege::parse();
    match part {
        Part::Peeks { jobs, connections, peeks } => besiege_with_peeks(server, jobs, connections, peeks),
        Part::Lapse { leases, grace_ms } => lapse(server, leases, grace_ms),
        Part::Pushes { pid, connections, seconds } => {
            push_large_jobs(server, pid, connections, Duration::from_secs(seconds))
        }
        Part::Tenants(tenants) => tenants::run(server, &tenants),
    }
}

fn besiege_with_peeks(server: SocketAddr, jobs: u32, connections: u32, peeks: u32) -> Outcome<()> {
    let mut client = Client::greeted(server, "")?;
    client.push("common", jobs, 3_600_000, 16)?;
    client.push("rare", 1, 3_600_000, 16)?;
    let watch = Watch::begin(server)?;
    let begun = Instant::now();
    let threads: Vec<_> = (0..connections)
        .map(|_| {
            thread::spawn(move || -> io::Result<u32> {
                let mut client = Client::greeted(server, "")?;
                client.send(&vec![peek("rare")?; peeks as usize])?;
                let mut answered = 0;
                while answered < peeks && client.receive().is_ok() {
                    answered += 1;
                }
                Ok(answered)
            })
        })
        .collect();
    let mut answered = 0;
    for peeker in threads {
        answered += peeker.join().map_err(|_| "a thread has failed")??;
    }
    println!("peeks_ms {}", begun.elapsed().as_millis());
    println!("peeks_answered {answered}");
    watch.end("others")
}

fn lapse(server: SocketAddr, leases: u32, grace_ms: u64) -> Outcome<()> {
    let mut holder = Client::greeted(server, "")?;
    holder.push("held", leases, 0, 16)?;
    let topics = vec![topic("held")?];
    for _ in 0..leases.div_ceil(AT_ONCE) {
        let topics = topics.clone();
        holder.ask(Request::Reserve(Reserve {
            topics,
            jobs_max: AT_ONCE,
            wait_ms: 0,
            weights: Vec::new(),
        }))?;
    }
    let watch = Watch::begin(server)?;
    drop(holder);
    // Others work while it lapses, and somebody wants the jobs.
    let mut next = Client::greeted(server, "")?;
    next.ask(Request::Subscribe(Subscribe {
        topics,
        credit_jobs: 1,
        credit_bytes: 1 << 20,
        weights: Vec::new(),
    }))?;
    let until = Instant::now() + Duration::from_millis(grace_ms) + Duration::from_secs(5);
    while Instant::now() < until {
        next.ask(Request::Ping)?;
    }
    watch.end("others")
}

fn push_large_jobs(server: SocketAddr, pid: u32, connections: u32, time: Duration) -> Outcome<()> {
    let mut client = Client::greeted(server, "")?;
    client.push("common", 50_000, 3_600_000, 16)?;
    client.push("rare", 1, 3_600_000, 16)?;
    let over = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for _ in 0..connections {
        let over = Arc::clone(&over);
        threads.push(thread::spawn(move || -> io::Result<()> {
            let mut client = Client::greeted(server, "")?;
            let job = NewJob::new(vec![b'x'; 64 << 10]).after(3_600_000);
            let push = Push { topic: topic("large")?, sequence: 0, jobs: vec![job], idempotency: None };
            client.stream.set_nonblocking(true)?;
            let mut bytes = BytesMut::new();
            Request::Push(push).encode(RequestId(1), &mut bytes);
            let mut sent = 0;
            let mut read = [0; 16 << 10];
            while !over.load(Ordering::Relaxed) {
                match client.stream.write(bytes.get(sent..).unwrap_or_default()) {
                    Ok(written) => sent = (sent + written) % bytes.len(),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                    Err(_) => break,
                }
                while matches!(client.stream.read(&mut read), Ok(1..)) {}
            }
            Ok(())
        }));
    }
    let watch = Watch::begin(server)?;
    let until = Instant::now() + time;
    let mut peak_kib = 0;
    while Instant::now() < until {
        client.send(&vec![peek("rare")?; 256])?;
        for _ in 0..256 {
            client.receive()?;
            peak_kib = peak_kib.max(resident_kib(pid)?);
        }
    }
    over.store(true, Ordering::Relaxed);
    for pusher in threads {
        pusher.join().map_err(|_| "a thread has failed")??;
    }
    println!("peak_mib {}", peak_kib / 1024);
    watch.end("others")
}

/// What a process has in memory, in KiB.
fn resident_kib(pid: u32) -> Outcome<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn peek(name: &str) -> io::Result<Request> {
    Ok(Request::Peek { topic: topic(name)? })
}

fn topic(name: &str) -> io::Result<TopicName> {
    name.parse().map_err(io::Error::other)
}
