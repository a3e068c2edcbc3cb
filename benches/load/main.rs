//! The load that `benches/peers` puts on other queues, as like as can be to the one of `adjourn bench`.
//!
//! Every connection has a thread and keeps a window of requests under way. `push` sends delayed jobs; `cycle` sends
//! jobs that are due at once, then reserves and finishes them all. `disk` measures what a durable write costs
//! without any queue. Prints one `NAME NUMBER` a line, for scripts.

mod beanstalkd;
mod connection;
mod disk;
mod redis;

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use clap::{Args, Parser, Subcommand};

use beanstalkd::Beanstalkd;
use connection::{Connection, Dialect, Due};
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
    /// Write and sync 4 KiB again and again: writes per second, and percentiles in microseconds
    Disk {
        /// Where
        folder: PathBuf,
    },
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
    #[arg(value_parser = ["push", "cycle"])]
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
        Some(Target::Disk { folder }) => disk::measure(&folder)?,
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
    let (due, cycle) = if load.work == "cycle" { (Due::Now, true) } else { (Due::InAnHour, false) };
    let share = load.jobs.div_ceil(load.connections);

    let started = now();
    let pushed =
        on_each(&mut connections, |connection| connection.push(share, due, load.window, load.batch))?;
    let push_seconds = started.elapsed().as_secs_f64();
    println!("push {:.0}", rate(pushed, push_seconds));
    if cycle {
        let started = now();
        let finished =
            on_each(&mut connections, |connection| connection.finish_all(load.window, load.batch))?;
        let finish_seconds = started.elapsed().as_secs_f64();
        if finished != pushed {
            return Err(format!("{pushed} jobs were pushed, but {finished} were finished").into());
        }
        println!("finish {:.0}", rate(finished, finish_seconds));
        println!("whole {:.0}", rate(finished, push_seconds + finish_seconds));
    }
    Ok(())
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
