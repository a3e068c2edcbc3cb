//! The load that `benches/peers` puts on Adjourn and on other queues: the same work for all, and no client library.
//!
//! Every connection has a thread and keeps a window of requests under way. `push` sends delayed jobs; `cycle` sends
//! jobs that are due at once, then reserves and finishes them all; `turns` pushes a job, reserves one and finishes it, one
//! request at a time. Prints one `NAME NUMBER` a line, for scripts: the number of jobs, and jobs per second.

mod adjourn;
mod beanstalkd;
mod connection;
mod http;
mod redis;

use std::io;
use std::thread;
use std::time::Instant;

use clap::{Args, Parser, Subcommand};

use adjourn::Adjourn;
use beanstalkd::Beanstalkd;
use connection::{Connection, Dialect, Due};
use http::Http;
use redis::Redis;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Parser)]
struct Root {
    #[command(subcommand)]
    target: Option<Target>,
    /// What `cargo bench` adds
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Target {
    /// Load on Adjourn
    Adjourn(Load),
    /// Load on Adjourn over HTTP
    Http(Load),
    /// Load on beanstalkd
    Beanstalkd(Load),
    /// Load on Redis: sorted sets of jobs, changed by scripts
    Redis(Load),
}

#[derive(Args, Clone)]
struct Load {
    /// HOST:PORT
    address: String,
    /// What to do
    #[arg(value_parser = ["push", "cycle", "turns"])]
    work: String,
    #[arg(long, default_value_t = 200_000)]
    jobs: usize,
    #[arg(long, default_value_t = 50)]
    connections: usize,
    /// Requests under way on each connection
    #[arg(long, default_value_t = 256)]
    window: usize,
    /// Jobs in a request, where the queue knows of that
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// Size of a body in bytes
    #[arg(long, default_value_t = 64)]
    body: usize,
}

fn main() -> Outcome<()> {
    match Root::parse().target {
        Some(Target::Adjourn(load)) => run::<Adjourn>(&load)?,
        Some(Target::Http(load)) => run::<Http>(&load)?,
        Some(Target::Beanstalkd(load)) => run::<Beanstalkd>(&Load { batch: 1, ..load })?,
        Some(Target::Redis(load)) => run::<Redis>(&load)?,
        None => println!("run benches/peers: it starts the servers that this puts a load on"),
    }
    Ok(())
}

fn run<D: Dialect>(load: &Load) -> Outcome<()> {
    let mut connections = (0..load.connections)
        .map(|_| Connection::<D>::open(&load.address, load.body))
        .collect::<io::Result<Vec<_>>>()?;
    let share = load.jobs.div_ceil(load.connections);
    println!("jobs {}", share * load.connections);
    if load.work == "turns" {
        timed("turns", &mut connections, |connection| connection.turns(share))?;
        return Ok(());
    }
    let is_cycle = load.work == "cycle";
    let due = if is_cycle { Due::Now } else { Due::InAnHour };
    let (pushed, push_seconds) =
        timed("push", &mut connections, |connection| connection.push(share, due, load.window, load.batch))?;
    if is_cycle {
        let (finished, finish_seconds) =
            timed("finish", &mut connections, |connection| connection.finish_all(load.window, load.batch))?;
        if finished != pushed {
            return Err(format!("{pushed} jobs were pushed, but {finished} were finished").into());
        }
        println!("whole {:.0}", rate(finished, push_seconds + finish_seconds));
    }
    Ok(())
}

/// Has every connection do `work`, and prints how many jobs per second that were. The number of jobs, and the seconds.
fn timed<D: Dialect>(
    name: &str,
    connections: &mut [Connection<D>],
    work: impl Fn(&mut Connection<D>) -> io::Result<usize> + Sync,
) -> Outcome<(usize, f64)> {
    let started = now();
    let jobs = on_each(connections, work)?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{name} {:.0}", rate(jobs, seconds));
    Ok((jobs, seconds))
}

/// Runs `work` on every connection at the same time, and adds up what each says.
fn on_each<D: Dialect>(
    connections: &mut [Connection<D>],
    work: impl Fn(&mut Connection<D>) -> io::Result<usize> + Sync,
) -> Outcome<usize> {
    thread::scope(|scope| {
        let threads: Vec<_> =
            connections.iter_mut().map(|connection| scope.spawn(|| work(connection))).collect();
        let mut sum = 0;
        for thread in threads {
            sum += thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(sum)
    })
}

#[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
fn rate(count: usize, seconds: f64) -> f64 {
    count as f64 / seconds
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}
