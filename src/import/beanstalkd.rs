//! `adjourn import beanstalkd`: empties the tubes of a beanstalkd.
//!
//! A tube is paused while it is emptied, so that no worker reserves from it: then a job that was looked at is still there when it is
//! deleted. A job is deleted only when the queue has it. Its number here follows from its number there, so a repeat after a crash adds
//! nothing. The pause ends by itself soon after an import was killed.

use std::io;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use tokio::time::Instant;

use super::beanstalkd_client::{Beanstalkd, FoundJob, Stats};
use super::numbers::number_of;
use super::progress_bar;
use super::sink::{Counts, send};
use crate::connection::{ServerArgs, Session, failure, goodbye, refusal_text, runtime};
use crate::exit::{Exit, Failure};
use crate::output::print;
use adjourn_client::Client;
use adjourn_http::{BeanstalkdJob, ExportedJob, beanstalkd_job, escaped_topic};
use adjourn_protocol::{ErrorCode, PushResult};
use adjourn_types::{AttributesBuilder, TopicName};

pub(super) const EXAMPLES: &str = "\
Takes the jobs of each tube, buried ones first, then delayed ones, then those that are ready, in beanstalkd's order, and deletes them there once the
queue has them. What is left of a delay stays, to the second. Each tube is paused meanwhile. Run the command again to go on after a stop: no job is
pushed twice. Jobs that a worker has reserved cannot be seen: they stay, and the command says how many there are; let the workers finish, and run it
again. beanstalkd does not show how often a job was released, buried or kicked together with a reason: buried jobs have none here.

Example:
  adjourn import beanstalkd 10.0.0.5:11300 --dry-run
  adjourn import beanstalkd 10.0.0.5:11300 --tube orders --tube mails";

/// A tube is paused for this time, in seconds, and again before it is over.
const PAUSE_S: u32 = 60;
const PAUSE_AGAIN_AFTER: Duration = Duration::from_secs(20);
/// The states of jobs, in the order in which they are taken, with what shows the first one.
const STATES: [(&str, &str); 3] =
    [("buried", "peek-buried"), ("delayed", "peek-delayed"), ("ready", "peek-ready")];

/// What `adjourn import beanstalkd` is told.
#[derive(Debug, Args)]
pub(crate) struct BeanstalkdArgs {
    /// The address of beanstalkd, such as 10.0.0.5:11300
    #[arg(value_name = "ADDR")]
    from: String,
    /// Only this tube; may be repeated. The default is all tubes
    #[arg(long, value_name = "TUBE")]
    tube: Vec<String>,
    /// Count the jobs of each tube, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// An import under way.
struct Import<'a> {
    client: &'a Client,
    from: Beanstalkd,
    /// The server that jobs come from: another one after each of its starts.
    source: String,
    counts: Counts,
    /// Tubes with jobs whose delay is longer than the queue takes.
    too_far: Vec<String>,
    progress: ProgressBar,
}

/// Runs `adjourn import beanstalkd`.
pub(super) fn run(args: &BeanstalkdArgs) -> Result<(), Failure> {
    let lost =
        |error: io::Error| Failure::new(Exit::Refused, format_args!("beanstalkd at {}: {error}", args.from));
    let mut from = Beanstalkd::connect(&args.from).map_err(lost)?;
    let found = from.tubes().map_err(lost)?;
    if let Some(unknown) = args.tube.iter().find(|tube| !found.contains(tube)) {
        return Err(Failure::new(
            Exit::Usage,
            format_args!("beanstalkd has no tube {unknown:?}: it has {}", found.join(", ")),
        ));
    }
    let tubes: Vec<String> =
        found.into_iter().filter(|tube| args.tube.is_empty() || args.tube.contains(tube)).collect();
    if args.dry_run {
        return count(&mut from, &tubes).map_err(lost)?;
    }
    let server = from.stats("stats").map_err(lost)?;
    let source = server
        .map(|server| format!("{} {} {}", server.text("id"), server.text("hostname"), server.text("pid")));
    runtime()?.block_on(async {
        let client = args.server.connect(Session::EndsWithIt).await?;
        let progress = progress_bar();
        let source = source.unwrap_or_default();
        let mut import = Import {
            client: &client,
            from,
            source,
            counts: Counts::default(),
            too_far: Vec::new(),
            progress,
        };
        let mut outcome = Ok(0);
        for tube in &tubes {
            let Ok(reserved) = outcome else { break };
            outcome = import.tube(tube, &lost).await.map(|more| reserved + more);
        }
        goodbye(&client).await;
        import.progress.finish_and_clear();
        let Counts { pushed, buried, .. } = import.counts;
        print(|out| writeln!(out, "took over {pushed} jobs, {buried} of them buried"))?;
        let mut stays = Vec::new();
        let reserved = outcome?;
        if reserved > 0 {
            stays.push(format!(
                "{reserved} jobs are reserved by workers and stay: let the workers finish, and run this again"
            ));
        }
        if !import.too_far.is_empty() {
            let tubes = import.too_far.join(", ");
            stays.push(format!("{tubes}: jobs whose delay is longer than ten years stay"));
        }
        if stays.is_empty() { Ok(()) } else { Err(Failure::new(Exit::Nothing, stays.join("\n"))) }
    })
}

/// Says how many jobs of each state the tubes have.
fn count(from: &mut Beanstalkd, tubes: &[String]) -> io::Result<Result<(), Failure>> {
    let mut lines = Vec::new();
    for tube in tubes {
        if let Some(stats) = from.stats(&format!("stats-tube {tube}"))? {
            let jobs = |state: &str| stats.number(&format!("current-jobs-{state}"));
            lines.push(format!(
                "{tube}: {} ready, {} delayed, {} buried; {} reserved by workers, which stay",
                jobs("ready"),
                jobs("delayed"),
                jobs("buried"),
                jobs("reserved")
            ));
        }
    }
    Ok(print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}"))))
}

impl Import<'_> {
    /// Empties a tube. Returns how many of its jobs workers have reserved.
    async fn tube(&mut self, tube: &str, lost: &impl Fn(io::Error) -> Failure) -> Result<u64, Failure> {
        let topic = escaped_topic(tube)
            .map_err(|error| Failure::new(Exit::Usage, format_args!("tube {tube:?}: {error}")))?;
        self.from.ask(&format!("use {tube}")).map_err(lost)?;
        let mut paused = None;
        for (state, peek) in STATES {
            loop {
                if paused.is_none_or(|at: Instant| at.elapsed() > PAUSE_AGAIN_AFTER) {
                    self.from.ask(&format!("pause-tube {tube} {PAUSE_S}")).map_err(lost)?;
                    paused = Some(Instant::now());
                }
                let Some(job) = self.from.job(peek).map_err(lost)? else { break };
                let id = job.id;
                // It may become ready, or be kicked, meanwhile: then it is taken later.
                let Some(stats) = self.from.stats(&format!("stats-job {id}")).map_err(lost)? else {
                    continue;
                };
                if stats.text("state") != state {
                    continue;
                }
                let Some(exported) = exported(&topic, job, &stats) else {
                    // The first one is the one with the shortest delay.
                    self.too_far.push(tube.to_owned());
                    break;
                };
                self.take(id, exported).await?;
                self.from.ask(&format!("delete {id}")).map_err(lost)?;
                self.progress.inc(1);
            }
        }
        self.from.ask(&format!("pause-tube {tube} 0")).map_err(lost)?;
        let left = self.from.stats(&format!("stats-tube {tube}")).map_err(lost)?;
        Ok(left.map_or(0, |left| left.number("current-jobs-reserved")))
    }

    /// Pushes a job.
    async fn take(&mut self, id: u64, exported: ExportedJob) -> Result<(), Failure> {
        let number = number_of(&self.source, &id.to_string());
        let topic = exported.topic.clone();
        let sent = send(self.client, number, &topic, vec![exported]);
        let results = sent.done(self.client, &mut self.counts).await.map_err(|error| failure(&error))?;
        match results.first() {
            // It was pushed by an import that was killed: what is left of its delay is less by now.
            Some(PushResult::Refused(ErrorCode::SequenceReused, _)) => Ok(()),
            Some(PushResult::Refused(code, _)) => {
                let why = refusal_text(*code);
                let message = format!("job {id} of tube {topic}: {why}; it stays in beanstalkd");
                Err(Failure::new(Exit::Refused, message))
            }
            _ => Ok(()),
        }
    }
}

/// The job here for one of beanstalkd, as its port would push it. `None` if its delay is longer than the queue takes.
fn exported(topic: &TopicName, job: FoundJob, stats: &Stats) -> Option<ExportedJob> {
    let whole = |name: &str| u32::try_from(stats.number(name)).unwrap_or(u32::MAX);
    // It is shown in whole seconds, rounded down: a job is never early.
    let delay_s = if stats.text("state") == "delayed" { whole("time-left").saturating_add(1) } else { 0 };
    let theirs =
        BeanstalkdJob { priority: whole("pri"), delay_s, ttr_s: whole("ttr"), body: job.body.into() };
    let mut job = beanstalkd_job(theirs)?;
    if stats.text("state") == "buried" {
        job.attributes = AttributesBuilder::from(&job.attributes).buried("").build().ok()?;
    }
    Some(ExportedJob { topic: topic.clone(), job })
}
