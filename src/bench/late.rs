//! `adjourn bench late`: how long after their due time jobs are delivered.
//!
//! Jobs are pushed some time ahead, at a fixed rate, each with a due time on the wall clock; subscribed
//! consumers compare the wall clock with the due time in the body. A job is early if it arrived
//! before that time, by however little. Run it on the server's machine: it compares clocks.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::consume::{BodyStamp, Consumers, Seen};
use super::load::Tally;
use super::report::{Deliveries, JSON_HELP, Phase, Report};
use super::{LoadArgs, clock, close, progress, show};
use crate::connection::{Session, goodbye, runtime};
use crate::exit::Failure;
use crate::usage::whole;
use adjourn_client::Client;
use adjourn_json::values::delay_ms;
use adjourn_protocol::NewJob;
use adjourn_types::limits::PUSH_JOBS_MAX;
use adjourn_types::{Millis, TopicName};

/// The interval between pushes, in milliseconds.
const TICK_MS: u64 = 10;

const LATE_EXAMPLE: &str = "\
Run it on the server's machine: due times are compared with this machine's wall clock.

Example:
  adjourn bench late
  adjourn bench late --rate 10000 --jobs 100000 --json
  adjourn bench late --rate 16667 --jobs 1000000 --delay 63m";

/// What `adjourn bench late` is told.
#[derive(Debug, Args)]
#[command(after_help = format!("{JSON_HELP}\n\n{LATE_EXAMPLE}"))]
pub(super) struct LateBenchArgs {
    /// How many jobs
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole(1..=u64::MAX))]
    jobs: u64,
    /// How many of them are due per second
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<u32>(1..=1_000_000))]
    rate: u32,
    /// How long before its due time each job is pushed
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = delay_ms)]
    delay: u64,
    #[command(flatten)]
    load: LoadArgs,
}

/// Runs `adjourn bench late`.
pub(super) fn run(args: &LateBenchArgs) -> Result<(), Failure> {
    let topic = args.load.jobs.topic()?;
    let report = runtime()?.block_on(measure(args, &topic))?;
    show(&report, args.load.json)
}

async fn measure(args: &LateBenchArgs, topic: &TopicName) -> Result<Report, Failure> {
    let producer = args.load.link.server.connect(Session::EndsWithIt).await?;
    let clients = args.load.link.connect().await?;
    let bar = progress("late", args.jobs);
    let seen = Arc::new(Seen::none_of(args.jobs, bar.clone()));
    let consumers = Consumers::start(&clients, topic, &seen).await?;

    let started = clock::instant();
    let schedule = Schedule { first_due_us: clock::wall_us() + args.delay * 1000, rate: args.rate };
    let pushed = push_ahead(&producer, topic, args, schedule).await;
    // Jobs count as missing only after they are due, however far ahead they were pushed.
    tokio::time::sleep(schedule.time_left(args.jobs, clock::wall_us())).await;
    seen.wait_for(pushed.done).await;
    let consumed = consumers.stop().await;
    let elapsed = consumed.last_answer.map_or(Duration::ZERO, |last| last - started);
    let elapsed = elapsed.saturating_sub(Duration::from_millis(args.delay));
    bar.finish_and_clear();
    close(clients).await;
    goodbye(&producer).await;

    let whole = Phase::new(seen.distinct(), elapsed, "delivered after the due time by", &consumed.lateness);
    let deliveries = Deliveries {
        rate_per_second: Some(args.rate),
        early: consumed.early,
        twice: consumed.twice,
        missing: pushed.done.saturating_sub(seen.distinct()),
    };
    let mut errors = pushed.errors;
    errors.merge(&consumed.finished.errors);
    Ok(Report { deliveries: Some(deliveries), ..args.load.report("late", topic, args.jobs, whole, errors) })
}

/// The due times of the jobs.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    first_due_us: u64,
    rate: u32,
}

impl Schedule {
    /// The due time of the job with this number: evenly spread, in whole milliseconds.
    fn due(self, number: u64) -> Millis {
        let offset_us = u128::from(number) * 1_000_000 / u128::from(self.rate);
        let due_us = self.first_due_us.saturating_add(u64::try_from(offset_us).unwrap_or(u64::MAX));
        Millis(due_us.div_ceil(1000))
    }

    /// The time until the last of `jobs` jobs is due.
    fn time_left(self, jobs: u64, now_us: u64) -> Duration {
        let last_us = self.due(jobs.saturating_sub(1)).0.saturating_mul(1000);
        Duration::from_micros(last_us.saturating_sub(now_us))
    }
}

/// Pushes each job about `args.delay` before it is due, without waiting for earlier answers.
async fn push_ahead(client: &Client, topic: &TopicName, args: &LateBenchArgs, schedule: Schedule) -> Tally {
    let mut tick = tokio::time::interval(Duration::from_millis(TICK_MS));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut answers = JoinSet::new();
    let mut number = 0;
    while number < args.jobs {
        tick.tick().await;
        let horizon = Millis(clock::wall_us() / 1000).after(args.delay).after(TICK_MS);
        let mut jobs = Vec::new();
        while number < args.jobs && jobs.len() < PUSH_JOBS_MAX && schedule.due(number) <= horizon {
            let due = schedule.due(number);
            let body = BodyStamp { number, due_ms: due.0 }.body(args.load.jobs.body);
            jobs.push(NewJob::new(body).at(due));
            number += 1;
        }
        if jobs.is_empty() {
            continue;
        }
        let (sent, count) = (clock::instant(), jobs.len() as u64);
        let ticket = client.push_detached(topic, jobs);
        answers.spawn(async move {
            let mut tally = Tally::new();
            match ticket {
                Ok(ticket) => tally.pushed(sent, count, &ticket.await),
                Err(error) => tally.failed(&error, count),
            }
            tally
        });
    }
    Tally::sum(answers).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dues_are_spread_evenly_and_rounded_up() {
        let schedule = Schedule { first_due_us: 1_000_001, rate: 2000 };
        assert_eq!([0, 1, 2, 3].map(|number| schedule.due(number).0), [1001, 1001, 1002, 1002]);
        assert_eq!(schedule.due(2_000_000).0, 1001 + 1_000_000);
        assert_eq!(schedule.time_left(4, 1_001_500), Duration::from_micros(500));
        assert_eq!(schedule.time_left(4, 1_002_001), Duration::ZERO);
    }
}
