//! `adjourn demo`: the whole life cycle of three jobs, printed as it happens.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::connection;
use super::exit::{Exit, Failure};
use super::output::show;
use super::serve::{self, Started, StopSignals};
use crate::serve::descriptors;
use crate::serve::logging;
use adjourn_client::{Client, ClientConfig, ClientError, Subscription};
use adjourn_protocol::{Delivered, NewJob, Subscribe};
use adjourn_server::Running;
use adjourn_server::config::{Config, ConsoleConfig, HostPort, LogFormat, LogLevel};
use adjourn_types::{JobId, Millis, TopicName};

const EXAMPLES: &str = "\
Examples:
  adjourn demo
  adjourn demo --data /tmp/demo --listen 127.0.0.1:0 --exit";

const TOPIC: &str = "demo";
const DELAYS_MS: [u64; 3] = [1000, 2000, 3000];
const DEFAULT_LISTEN: &str = "127.0.0.1:7440";
const DEFAULT_CONSOLE: &str = "127.0.0.1:7480";

/// What `adjourn demo` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DemoArgs {
    /// Data directory; created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "./adjourn-data")]
    data: PathBuf,
    /// Address that clients connect to; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", default_value = DEFAULT_LISTEN)]
    listen: HostPort,
    /// Address of the console, for a browser; the default is 127.0.0.1:7480, or with another --listen a port that the system chooses
    #[arg(long, value_name = "HOST:PORT")]
    console: Option<HostPort>,
    /// Exit after the third job
    #[arg(long)]
    exit: bool,
}

/// Runs a node, shows how three jobs pass through it, and serves until a signal comes.
pub(super) fn run(args: DemoArgs) -> Result<(), Failure> {
    let log = logging::start(LogLevel::Warn, LogFormat::Text)?;
    // Who chooses another port may have several demos.
    let console = if args.listen.0 == DEFAULT_LISTEN { DEFAULT_CONSOLE } else { "127.0.0.1:0" };
    let listen = args.console.map_or_else(|| console.to_owned(), |console| console.0);
    let console = ConsoleConfig { listen: Some(listen), ..ConsoleConfig::default() };
    let mut config = Config { data: args.data, listen: args.listen.0, console, ..Config::default() };
    descriptors::divide(&mut config)?;
    let runtime = serve::runtime(config.worker_threads)?;
    let outcome = runtime.block_on(demonstrate(config, args.exit));
    runtime.shutdown_background();
    log.finish();
    outcome
}

async fn demonstrate(config: Config, exit: bool) -> Result<(), Failure> {
    // Closing the terminal ends it, too.
    let mut signals = StopSignals::listen()?.and_hangup()?;
    let data = config.data.clone();
    show(format_args!("Starting a node. Its data is in {}.", data.display()));
    let Started { mut running, console, .. } = Box::pin(serve::start(config)).await?;
    let address = running.address();
    show(format_args!("It listens on {address}."));
    if let Some(console) = console {
        show(format_args!("Its console is at http://{console}/console: open it in a browser.\n"));
    }
    tokio::select! {
        done = three_jobs(reachable(address)) => done?,
        ended = running.ended() => return ended.map_err(serve::failure),
        _ = signals.next() => return serve::stop(running, &mut signals).await,
    }
    if !exit {
        show(what_next(address, &data));
        serve_on(&mut running, &mut signals).await?;
    }
    serve::stop(running, &mut signals).await?;
    show(format_args!("Stopped. The jobs that are left are safe in {}.", data.display()));
    Ok(())
}

async fn serve_on(running: &mut Running, signals: &mut StopSignals) -> Result<(), Failure> {
    tokio::select! {
        ended = running.ended() => ended.map_err(serve::failure),
        _ = signals.next() => Ok(()),
    }
}

/// Pushes three jobs and consumes them.
async fn three_jobs(address: SocketAddr) -> Result<(), Failure> {
    let failed = |error: ClientError| connection::failure(&error);
    let client = Client::connect(ClientConfig::new(address.to_string())).await.map_err(failed)?;
    let topic: TopicName = TOPIC.parse().map_err(|error| Failure::new(Exit::Refused, error))?;
    let subscribe = Subscribe {
        topics: vec![topic.clone()],
        credit_jobs: 16,
        credit_bytes: 1 << 20,
        weights: Vec::new(),
    };
    let mut jobs = client.subscribe(subscribe).await.map_err(failed)?;
    let mut waiting = Vec::new();
    for delay_ms in DELAYS_MS {
        let job = NewJob::new(format!("hello after {} s", delay_ms / 1000)).after(delay_ms);
        let id = client.push_one(&topic, job).await.map_err(failed)?;
        show(format_args!("pushed    job {id}: due in {} s", delay_ms / 1000));
        waiting.push(id);
    }
    show("");
    while !waiting.is_empty() {
        let job = next(&mut jobs).await?;
        let late = lateness(job.due);
        client.finish(vec![job.lease]).await.map_err(failed)?;
        report(&job, late, &mut waiting);
    }
    drop(jobs);
    client.close().await.map_err(failed)
}

async fn next(jobs: &mut Subscription) -> Result<Delivered, Failure> {
    match jobs.next().await {
        Some(job) => Ok(job),
        None => Err(jobs.failure().map_or_else(
            || Failure::new(Exit::OutcomeUnknown, "the server ended the subscription"),
            |error| connection::failure(&error),
        )),
    }
}

fn report(job: &Delivered, late: Option<Duration>, waiting: &mut Vec<JobId>) {
    let id = job.lease.job;
    let body = String::from_utf8_lossy(&job.body);
    let ours = waiting.contains(&id);
    waiting.retain(|other| *other != id);
    match late {
        _ if !ours => {
            show(format_args!("delivered job {id}: {body:?}, left here by an earlier run, finished"));
        }
        Some(late) => {
            show(format_args!(
                "delivered job {id}: {body:?}, {:.1} ms late, finished",
                late.as_secs_f64() * 1000.0
            ));
        }
        None => {
            show(format_args!("delivered job {id}: {body:?}, finished; the clock was set back meanwhile"));
        }
    }
}

/// How long ago `due` was; `None` if it is still ahead by the wall clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the demo shows how late a job comes: it reads the clock for that"
)]
fn lateness(due: Millis) -> Option<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    now.checked_sub(Duration::from_millis(due.0))
}

/// The address at which the demo's own client reaches a node that listens on `address`.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    address
}

fn what_next(address: SocketAddr, data: &Path) -> String {
    let program = std::env::args().next().unwrap_or_else(|| "adjourn".to_owned());
    let server = if address.to_string() == DEFAULT_LISTEN {
        String::new()
    } else {
        format!("  export ADJOURN_SERVER={}\n", reachable(address))
    };
    format!(
        "
The node goes on serving. In another terminal, type:

{server}  {program} push mails 'hello' --delay 5s
  {program} reserve mails --wait 10s       # prints the job and its lease
  {program} finish LEASE                   # the lease that it printed
  {program} stats

Ctrl-C ends it; the jobs stay in {}.",
        data.display()
    )
}
