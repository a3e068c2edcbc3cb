//! How many call-backs a second a node makes, and whether dead destinations delay those of live ones.
//!
//! Works on a server that runs already with an empty queue, and may call this machine:
//!
//! ```text
//! adjourn serve --call-back-allow 127.0.0.0/8 --call-back-ports 1-65535
//! cargo bench --bench call_backs -- rate
//! cargo bench --bench call_backs -- dead
//! ```
//!
//! The receivers are in this process, so on a small machine they take their part of it. Prints one `NAME NUMBER` a line, for scripts.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

mod receiver;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjourn_client::{Client, ClientConfig};
use adjourn_json::setting_change;
use adjourn_protocol::NewJob;
use adjourn_types::{AttributesBuilder, Millis, PolicyChange, Setting, TopicName};
use clap::{Parser, Subcommand};
use tokio::time::{Instant, interval, sleep_until};

use receiver::Receiver;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Jobs of a push.
const AT_ONCE: usize = 500;
/// Jobs are pushed this long before they are due.
const AHEAD: Duration = Duration::from_secs(2);

/// How fast call-backs are, and how independent of each other
#[derive(Parser)]
struct Args {
    /// The server
    #[arg(long, default_value = "127.0.0.1:7440", global = true)]
    server: String,
    #[command(subcommand)]
    part: Part,
    /// What `cargo bench` adds
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Clone, Subcommand)]
enum Part {
    /// Many jobs of one topic are due at once, and are called to one destination
    Rate {
        /// Jobs
        #[arg(long, default_value_t = 50_000)]
        jobs: usize,
        /// Calls at the same time
        #[arg(long, default_value_t = 64)]
        concurrency: u32,
    },
    /// Jobs name destinations, of which half never answer: how late are the calls of the others, without these and with them
    Dead {
        /// Destinations
        #[arg(long, default_value_t = 10_000)]
        destinations: u32,
        /// Jobs for live destinations a second; as many are for dead ones
        #[arg(long, default_value_t = 500)]
        per_second: u32,
        /// How long each of the two runs takes
        #[arg(long, default_value_t = 20)]
        seconds: u32,
        /// How long a call may take, in milliseconds
        #[arg(long, default_value_t = 10_000)]
        timeout_ms: u32,
    },
}

fn main() -> Outcome<()> {
    let Args { server, part, .. } = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let client = Client::connect(ClientConfig::new(&server)).await?;
        match part {
            Part::Rate { jobs, concurrency } => rate(&client, jobs, concurrency).await,
            Part::Dead { destinations, per_second, seconds, timeout_ms } => {
                dead(&client, destinations, per_second, seconds, timeout_ms).await
            }
        }
    })
}

async fn rate(client: &Client, jobs: usize, concurrency: u32) -> Outcome<()> {
    let receiver = Receiver::answering("127.0.0.1:0").await?;
    let topic: TopicName = "rate".parse()?;
    let url = format!("http://127.0.0.1:{}/", receiver.port);
    let concurrency = concurrency.to_string();
    set(client, &topic, &[(Setting::CallBackUrl, &url), (Setting::CallBackConcurrency, &concurrency)])
        .await?;
    let due = after(AHEAD + Duration::from_secs(jobs as u64 / 20_000));
    let batch = vec![job(due); AT_ONCE];
    for left in (1..=jobs).rev().step_by(AT_ONCE) {
        let batch = batch.get(..left.min(AT_ONCE)).unwrap_or(&batch);
        client.push(&topic, batch.to_vec()).await?;
    }
    let begun = Instant::now() + until(due);
    sleep_until(begun).await;
    let mut late = receiver.take(jobs).await?;
    let took = begun.elapsed();
    println!("calls {jobs}");
    println!("calls_per_second {}", jobs as u128 * 1000 / took.as_millis().max(1));
    report("last", &mut late);
    Ok(())
}

async fn dead(
    client: &Client,
    destinations: u32,
    per_second: u32,
    seconds: u32,
    timeout_ms: u32,
) -> Outcome<()> {
    // Every address of 127.0.0.0/8 leads here: each is a destination.
    let (live, hanging) = (Receiver::answering("0.0.0.0:0").await?, Receiver::hanging("0.0.0.0:0").await?);
    let topic: TopicName = "dead".parse()?;
    let timeout = format!("{timeout_ms}ms");
    set(
        client,
        &topic,
        &[
            (Setting::CallBackOfJob, "true"),
            (Setting::CallBackTimeout, &timeout),
            (Setting::Backoff, "10s..10m"),
        ],
    )
    .await?;
    let half = destinations / 2;
    let address = |nth: u32| format!("127.{}.{}.{}", 1 + (nth >> 16), (nth >> 8) & 255, nth & 255);
    let url_of_live = |nth: u32| format!("http://{}:{}/", address(nth % half), live.port);
    let url_of_dead = |nth: u32| format!("http://{}:{}/", address(half + nth % half), hanging.port);
    // Each live destination is called once before it counts.
    let known = run(client, &topic, half.div_ceil(5), 5, |nth| vec![url_of_live(nth)]).await?;
    report("first_calls", &mut live.take(known).await?);
    let sent = run(client, &topic, per_second, seconds, |nth| vec![url_of_live(nth)]).await?;
    report("live_alone", &mut live.take(sent).await?);
    let both = |nth: u32| vec![url_of_live(nth), url_of_dead(nth)];
    let sent = run(client, &topic, per_second, seconds, both).await? / 2;
    report("live_beside_dead", &mut live.take(sent).await?);
    println!("calls_to_dead {}", hanging.connections());
    Ok(())
}

/// Pushes so many jobs each second, for each number those of these URLs. Returns how many they were.
async fn run(
    client: &Client,
    topic: &TopicName,
    per_second: u32,
    seconds: u32,
    urls: impl Fn(u32) -> Vec<String>,
) -> Outcome<usize> {
    const TICKS_PER_SECOND: u32 = 20;
    let mut ticks = interval(Duration::from_secs(1) / TICKS_PER_SECOND);
    let (mut sent, mut nth) = (0, 0);
    for tick in 1..=seconds * TICKS_PER_SECOND {
        ticks.tick().await;
        let due = after(AHEAD);
        let mut jobs = Vec::new();
        while nth < per_second * tick / TICKS_PER_SECOND {
            for url in urls(nth) {
                let attributes = AttributesBuilder::default().header("call-back", &url).build()?;
                jobs.push(NewJob { attributes, ..job(due) });
            }
            nth += 1;
        }
        sent += jobs.len();
        client.push(topic, jobs).await?;
    }
    Ok(sent)
}

/// One whose body says when it is due.
fn job(due: Millis) -> NewJob {
    NewJob::new(due.0.to_string()).at(due)
}

async fn set(client: &Client, topic: &TopicName, settings: &[(Setting, &str)]) -> Outcome<()> {
    let mut change = PolicyChange::default();
    for (setting, text) in settings {
        change.add(&setting_change(*setting, text)?);
    }
    Ok(client.set_topic(topic, change).await?)
}

/// Prints how late calls were.
fn report(name: &str, late_ms: &mut [u64]) {
    late_ms.sort_unstable();
    let at = |permille: usize| {
        late_ms.get(late_ms.len() * permille / 1000).or(late_ms.last()).copied().unwrap_or(0)
    };
    println!("{name}_calls {}", late_ms.len());
    println!("{name}_late_p50_ms {}", at(500));
    println!("{name}_late_p99_ms {}", at(990));
    println!("{name}_late_max_ms {}", at(1000));
}

fn after(time: Duration) -> Millis {
    Millis(now_ms() + u64::try_from(time.as_millis()).unwrap_or(0))
}

fn until(time: Millis) -> Duration {
    Duration::from_millis(time.0.saturating_sub(now_ms()))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
