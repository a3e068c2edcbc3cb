//! Two clients with a token each: what one asks for, and how long the other waits for its pushes meanwhile.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use adjourn_protocol::{List, NewJob, Push, Request, Subscribe};
use adjourn_types::limits::{CREDIT_BYTES_MAX, CREDIT_JOBS_MAX};
use adjourn_types::{Fence, Filter, JobId, Key, Lease, ListOrder};
use bytes::Bytes;
use clap::ValueEnum;

use super::client::{Client, Watch};
use super::{Outcome, topic};

/// Jobs are due in this time: so a checkpoint spills them.
const FAR_MS: u64 = 3 * 3_600_000;
/// Leases of a FINISH.
const LEASES: usize = 4096;
/// Large jobs of the other tenant.
const LARGE_JOBS: u32 = 8;
/// Jobs of a PUSH that names keys of spilled jobs.
const KEYED_JOBS: usize = 1_200;
/// Large jobs that are ready for subscribers.
const SUBSCRIBED_JOBS: u32 = 800;
/// How long subscribers do not read.
const UNREAD_FOR: Duration = Duration::from_secs(10);

/// What the first tenant does
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Attack {
    /// Two connections send six FINISH frames each, with one spilled job of the other tenant 4,096 times
    Leases,
    /// 600 pushes in one write that are refused, as the token makes no more topics; there are very many
    RefusedPushes,
    /// 600 LISTs in one write without a topic; there are very many topics
    Lists,
    /// 100 TOPICS in one write; there are very many topics
    Topics,
    /// One push of 1,200 jobs with the keys of spilled jobs
    Keys,
    /// 24 connections subscribe to large jobs and read none of them
    Subscribers,
}

/// Who takes part.
#[derive(clap::Args, Clone)]
pub(super) struct Tenants {
    /// What the first tenant does
    #[arg(long)]
    attack: Attack,
    /// The token of the first tenant, which has all rights to topics that begin with `first.`
    #[arg(long)]
    first: String,
    /// The token of the other one, which has them to topics that begin with `other.`
    #[arg(long)]
    other: String,
    /// A token that may push to all topics and makes as many as it likes
    #[arg(long)]
    admin: String,
    /// Topics of the first tenant, where there are to be very many
    #[arg(long, default_value_t = 60_000)]
    topics: u32,
    /// Bytes of each job with a key
    #[arg(long, default_value_t = 256 << 10)]
    keyed_bytes: usize,
    /// How long the other tenant pushes before the attack begins, in seconds
    #[arg(long, default_value_t = 5)]
    calm_seconds: u64,
}

/// Prints how long the pushes of the other tenant take before the attack and during it.
pub(super) fn run(server: SocketAddr, tenants: &Tenants) -> Outcome<()> {
    prepare(server, tenants)?;
    let watch = |name| -> Outcome<Watch> {
        let jobs = vec![NewJob::new("small").after(FAR_MS)];
        let push = Push { topic: topic("other.small")?, sequence: 0, jobs, idempotency: None };
        let client = Client::greeted(server, &tenants.other).map_err(|error| format!("{name}: {error}"))?;
        Ok(Watch::with(client, Request::Push(push)))
    };
    let calm = watch("calm")?;
    thread::sleep(Duration::from_secs(tenants.calm_seconds));
    calm.end("calm")?;
    let others = watch("others")?;
    let begun = Instant::now();
    let rounds: Vec<_> = (0..connections(tenants.attack))
        .map(|_| {
            let tenants = tenants.clone();
            thread::spawn(move || attack(server, &tenants))
        })
        .collect();
    for round in rounds {
        round.join().map_err(|_| "a thread has failed")??;
    }
    println!("attack_ms {}", begun.elapsed().as_millis());
    others.end("others")
}

fn connections(attack: Attack) -> u32 {
    match attack {
        Attack::Leases => 2,
        Attack::Subscribers => 24,
        _ => 1,
    }
}

/// Pushes what the attack is about.
fn prepare(server: SocketAddr, tenants: &Tenants) -> Outcome<()> {
    match tenants.attack {
        Attack::Leases => {
            let mut other = Client::greeted(server, &tenants.other)?;
            for _ in 0..LARGE_JOBS {
                other.push("other.large", 1, FAR_MS, 1_000_000)?;
            }
        }
        Attack::RefusedPushes | Attack::Lists | Attack::Topics => {
            let mut admin = Client::greeted(server, &tenants.admin)?;
            let one = |n| -> io::Result<Request> {
                let jobs = vec![NewJob::new("one").after(FAR_MS)];
                let topic = topic(&format!("first.{n}"))?;
                Ok(Request::Push(Push { topic, sequence: 0, jobs, idempotency: None }))
            };
            for first in (0..tenants.topics).step_by(100) {
                let pushes = (first..first + 100).map(one).collect::<io::Result<Vec<_>>>()?;
                admin.send(&pushes)?;
                for _ in 0..pushes.len() {
                    admin.receive()?;
                }
            }
        }
        Attack::Keys => {
            let mut first = Client::greeted(server, &tenants.first)?;
            for nth in 0..KEYED_JOBS {
                first.ask(keyed(nth..nth + 1, tenants.keyed_bytes)?)?;
            }
        }
        Attack::Subscribers => {
            let mut first = Client::greeted(server, &tenants.first)?;
            for _ in 0..SUBSCRIBED_JOBS {
                first.push("first.large", 1, 0, 1_000_000)?;
            }
        }
    }
    Ok(())
}

fn attack(server: SocketAddr, tenants: &Tenants) -> io::Result<()> {
    let requests = match tenants.attack {
        Attack::Leases => {
            let leases = vec![Lease { job: JobId(1), fence: Fence(1) }; LEASES];
            vec![Request::Finish { leases }; 6]
        }
        Attack::RefusedPushes => {
            let jobs = vec![NewJob::new("no")];
            let push = Push { topic: topic("first.of-its-own")?, sequence: 0, jobs, idempotency: None };
            vec![Request::Push(push); 600]
        }
        Attack::Lists => {
            let list = List {
                filter: Filter::default(),
                order: ListOrder::Due,
                jobs_max: 1,
                with_bodies: false,
                cursor: Bytes::new(),
            };
            vec![Request::List(list); 600]
        }
        Attack::Topics => vec![Request::Topics; 100],
        Attack::Keys => vec![keyed(0..KEYED_JOBS, 16)?],
        Attack::Subscribers => {
            let topics = vec![topic("first.large")?];
            vec![Request::Subscribe(Subscribe {
                topics,
                credit_jobs: CREDIT_JOBS_MAX,
                credit_bytes: CREDIT_BYTES_MAX,
                weights: Vec::new(),
            })]
        }
    };
    let mut client = Client::greeted(server, &tenants.first)?;
    client.send(&requests)?;
    if matches!(tenants.attack, Attack::Subscribers) {
        thread::sleep(UNREAD_FOR);
        return Ok(());
    }
    for _ in 0..requests.len() {
        match client.receive() {
            // A server that was busy for longer than the heartbeat gives the connection up.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            answered => _ = answered?,
        }
    }
    Ok(())
}

/// Pushes jobs whose keys are numbers.
fn keyed(numbers: std::ops::Range<usize>, body_bytes: usize) -> io::Result<Request> {
    let job = |nth: usize| -> io::Result<NewJob> {
        let key = Key::new(nth.to_string().into()).map_err(io::Error::other)?;
        Ok(NewJob { key: Some(key), ..NewJob::new(vec![b'x'; body_bytes]).after(FAR_MS) })
    };
    let jobs = numbers.map(job).collect::<io::Result<_>>()?;
    Ok(Request::Push(Push { topic: topic("first.keyed")?, sequence: 0, jobs, idempotency: None }))
}
